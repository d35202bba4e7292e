"""References for Zarr readers, and the store, read by stock zarr and xarray, and compared with numpy."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda
from arrays import expect_missing, random_file, random_key, write_missing
from conftest import SECONDS
from scda import _zarr_arrays
from test_docs import run_python

zarr = pytest.importorskip("zarr", "3")
fsspec = pytest.importorskip("fsspec")
xr = pytest.importorskip("xarray")

pytestmark = pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3")


@pytest.mark.parametrize("seal", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_any_array_and_any_index(
    seal: bool, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_zarr_arrays, "CHUNK_BYTES", 1000)  # data in one piece are several chunks
    generator = np.random.default_rng(seed)

    def change(layout: dict[str, Any]) -> dict[str, Any]:
        return {} if layout.get("encode") == "auto" else layout  # of which each record may be another one

    arrays = random_file(tmp_path / "f.scda", generator, seal, change)
    group = zarr.open_group(scda.ZarrStore(tmp_path / "f.scda"), mode="r")
    assert sorted(group["a"].array_keys()) == sorted(name[2:] for name in arrays)
    for name, array in arrays.items():
        found = group[name]
        assert found.shape == array.shape and found.dtype == array.dtype.newbyteorder("="), name
        for key in [..., *(random_key(generator, array.shape) for _ in range(5))]:
            keys = key if isinstance(key, tuple) else (key,)
            if None in keys or any(isinstance(k, slice) and (k.step or 1) < 0 for k in keys):
                continue  # which zarr has not
            expected = np.asarray(array[key]).astype(found.dtype)
            got = np.asarray(found[key])
            assert got.shape == expected.shape and got.tobytes() == expected.tobytes(), (name, key)


@pytest.fixture
def series(tmp_path: Path) -> Path:
    path = tmp_path / "series.scda"
    with scda.create(path) as w:
        w.group("/", {"title": "a flow", "text": "{{x}} é"})
        w.group("flow", {"scheme": "hydro"})
        w.group("empty/group", {"is": True})
        w.dataset("x", np.arange(6.0), attrs={"units": "m"}, dims=["x"])
        for step in range(3):
            w.dataset("time", 0.5 * step, attrs={"units": "days since 2000-01-01"})
            rho = np.arange(24.0).reshape(4, 6) + step
            w.dataset("flow/rho", rho, dims=("y", "x"), chunks=(4, 5), attrs={"_FillValue": 5.0}, fill_value=1e30)
            w.dataset("p", rho, dims=("y", "x"), chunks=(2, 6))
            w.dataset("cells", np.arange(step + 1))
            w.dataset("zeros", np.zeros((4, 6)), dims=("y", "x"), chunks=(2, 6), attrs={"step": step})
    return path


def test_a_series_with_xarray(series: Path) -> None:
    expected = np.arange(24.0).reshape(4, 6) + np.arange(3.0)[:, None, None]
    store = scda.ZarrStore(series)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Numcodecs")
        ds = xr.open_zarr(store)
    assert ds.attrs == {"title": "a flow", "text": "{{x}} é"} and set(ds.coords) == {"time", "x"}
    assert ds.time.values[1] == np.datetime64("2000-01-01T12:00") and ds.x.attrs == {"units": "m"}
    assert ds.p.dims == ("time", "y", "x") and ds.p.chunks == ((1, 1, 1), (2, 2), (6,))
    np.testing.assert_array_equal(ds.p.values, expected)
    assert ds.zeros.attrs == {} and not ds.zeros.values.any()
    flow = xr.open_zarr(store, group="flow")
    assert flow.attrs == {"scheme": "hydro"} and flow.rho.dims == ("time", "y", "x")
    expected[expected == 5] = np.nan
    np.testing.assert_array_equal(flow.rho.values, expected)
    group = zarr.open_group(store, mode="r")
    assert group["empty/group"].attrs.asdict() == {"is": True}
    assert [group[f"cells/{k}"][:].tolist() for k in range(3)] == [[0], [0, 1], [0, 1, 2]]
    assert group["flow/rho"].fill_value == 1e30 and group["flow/rho"].attrs["_FillValue"] == "AAAAAAAAFEA="


@pytest.mark.filterwarnings("ignore:variable 'several' has multiple fill values")
def test_missing_values_are_of_the_type_of_the_data(tmp_path: Path) -> None:
    write_missing(tmp_path / "f.scda")
    with xr.open_dataset(scda.ZarrStore(tmp_path / "f.scda"), engine="zarr") as ds:
        expect_missing(ds)


def test_a_last_chunk_that_reaches_past_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_zarr_arrays, "CHUNK_BYTES", 1 << 16)
    data = np.arange(8 * 100_003.0).reshape(-1, 8)
    for seal in (False, True):
        with scda.create(tmp_path / "f.scda", seal=seal) as w:
            w.dataset("a", data)
        assert np.array_equal(zarr.open_group(scda.ZarrStore(tmp_path / "f.scda"), mode="r")["a"][:], data)


def test_names_that_exclude_each_other(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("a", 1)
        w.dataset("a/b", 2)
        w.dataset("c", [1])
        w.dataset("c", [1, 2])
        w.dataset("c/1", 2)
    with pytest.raises(ValueError, match="dataset 'a': found a group of this name"):
        scda.ZarrStore(tmp_path / "f.scda", without=["c*"])
    with pytest.raises(ValueError, match="dataset 'c/1': found it beside records of 'c' that differ"):
        scda.ZarrStore(tmp_path / "f.scda", without=["a"])
    group = zarr.open_group(scda.ZarrStore(tmp_path / "f.scda", without=["a", "c/*"]), mode="r")
    assert group["a/b"][()] == 2 and group["c/1"][:].tolist() == [1, 2]


def test_the_store(series: Path) -> None:
    from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
    from zarr.core.buffer import default_buffer_prototype as prototype

    store = scda.ZarrStore(series)

    def run(awaitable: Any) -> Any:
        return asyncio.run(awaitable)

    async def listed(keys: Any) -> list[str]:
        return [key async for key in keys]

    def get(key: str, part: Any = None) -> Any:
        found = run(store.get(key, prototype(), part))
        return None if found is None else found.to_bytes()

    keys = run(listed(store.list()))
    assert len(keys) == len(set(keys)) and "p/c/2/1/0" in keys and "zarr.json" in keys and "zeros/c/0/0/0" not in keys
    content = series.read_bytes()
    for key in keys:
        whole = get(key)
        if key.endswith("zarr.json"):
            assert json.loads(whole)["zarr_format"] == 3
        else:
            assert whole in content  # as the file has it
        assert run(store.exists(key)) and run(store.getsize(key)) == len(whole)
        assert get(key, RangeByteRequest(3, 7)) == whole[3:7]
        assert get(key, OffsetByteRequest(5)) == whole[5:]
        assert get(key, SuffixByteRequest(6)) == whole[-6:]
        assert get(key, SuffixByteRequest(10**6)) == whole
    parts = run(store.get_partial_values(prototype(), [("zarr.json", RangeByteRequest(0, 1)), ("no", None)]))
    assert parts[0].to_bytes() == b"{" and parts[1] is None
    missing = [
        "a",
        "p/c/3/0/0",
        "p/c/0/2/0",
        "p/c/0/0",
        "p/c/0/0/0/0",
        "p/c/-1/0/0",
        "p/c/00/0/0",
        "p/c",
        "p/c/",
        "c/0",
    ]
    for key in [*missing, "zeros/c/0/0/0", "time/c/x", "time/c/²", "flow", "p/"]:
        assert get(key) is None and not run(store.exists(key)), key
        with pytest.raises(FileNotFoundError):
            run(store.getsize(key))
    for prefix in ("", "p", "p/c/1", "flow/", "nothing"):
        assert sorted(run(listed(store.list_prefix(prefix)))) == sorted(key for key in keys if key.startswith(prefix))
    top = ["cells", "empty", "flow", "p", "time", "x", "zarr.json", "zeros"]
    assert sorted(run(listed(store.list_dir("")))) == top
    assert sorted(run(listed(store.list_dir("p/c/1")))) == sorted(run(listed(store.list_dir("p/c/1/")))) == ["0", "1"]
    assert sorted(run(listed(store.list_dir("p")))) == ["c", "zarr.json"]
    # It is for reading.
    assert store.read_only and not store.supports_writes and not store.supports_deletes
    buffer = prototype().buffer.from_bytes(b"x")
    for change in (store.set("p/c/0/0/0", buffer), store.delete("zarr.json"), store.set_if_not_exists("a", buffer)):
        with pytest.raises(ValueError, match="read-only"):
            run(change)
    for mode in ("a", "w", "r+"):
        with pytest.raises(ValueError, match="read-only"):
            zarr.open_group(store, mode=mode)
    assert series.read_bytes() == content
    # Other processes open it again.
    again = pickle.loads(pickle.dumps(store))
    assert again == store and again != scda.ZarrStore(series, without=["p"]) and str(series) in f"{store} {store!r}"
    assert zarr.open_group(again, mode="r")["p"][1, 0, 0] == 1
    store.close()
    with pytest.raises(scda.UsageError, match="closed"):
        get("p/c/0/0/0")
    with pytest.raises(FileNotFoundError):
        scda.ZarrStore(series.parent / "none.scda")


def test_structs_times_and_texts_as_stock_zarr_has_them(tmp_path: Path) -> None:
    arrays = {
        "structs": np.array([(1, 2.5, b"ab"), (-3, 4.5, b"c")], [("i", "i2"), ("x", "f8"), ("name", "S3")]),
        "nested": np.array([(1, (2, 3.5)), (4, (5, 6.5))], [("a", "i2"), ("b", [("c", "u1"), ("d", "f8")])]),
        "seconds": np.array(["2020-01-01T00:00:01", "1969-12-31"], "M8[s]"),
        "spans": np.array([1, -20], "m8[10us]"),
        "texts": np.array([["a", "żółw"], ["", "b"]], "U5"),
        "bytes": np.array([b"ab", b""], "S4"),
    }
    with scda.create(tmp_path / "f.scda") as w:
        for name, array in arrays.items():
            w.dataset(name, array, encode=True)
            w.dataset(f"plain/{name}", array)
    group = zarr.open_group(scda.ZarrStore(tmp_path / "f.scda"), mode="r")
    for name, array in arrays.items():
        for found in (group[name], group[f"plain/{name}"]):
            assert found.dtype == array.dtype and repr(found[:].tolist()) == repr(array.tolist())


def test_foreign_bytes_are_left_as_they_are(tmp_path: Path) -> None:
    """Arrays whose metadata another program wrote: big-endian."""
    data = np.arange(6, dtype=">i4").reshape(2, 3)
    with scda.create(tmp_path / "mine.scda") as w:
        w.dataset("a", data)
    with scda.open(tmp_path / "mine.scda") as f:
        text = f.sections[0].read().replace(b'"little"', b'"big"')
    with scda.create(tmp_path / "f.scda") as w:
        w.block("scda dataset 00", text)
        w.array("a", data.tobytes(), size=12)
    assert zarr.open_group(scda.ZarrStore(tmp_path / "f.scda"), mode="r")["a"][:].tolist() == data.tolist()


def test_codecs_that_the_library_has_not(tmp_path: Path) -> None:
    numcodecs = pytest.importorskip("numcodecs")
    data = np.arange(100, dtype="<i4")
    with scda.create(tmp_path / "mine.scda") as w:
        w.dataset("a", data, chunks=100, codec="zlib", shuffle=False)
    zlib, bz2 = b'"numcodecs.zlib"', b'"numcodecs.bz2"'
    with scda.open(tmp_path / "mine.scda") as f:
        text = f.sections[0].read().replace(zlib, bz2)
        assert bz2 in text
    with scda.create(tmp_path / "f.scda") as w:
        w.block("scda dataset 00", text)
        w.varray("a", [numcodecs.BZ2(2).encode(data.tobytes())])
    assert zarr.open_group(scda.ZarrStore(tmp_path / "f.scda"), mode="r")["a"][:].tolist() == data.tolist()
    with scda.open(tmp_path / "f.scda") as f, pytest.raises(scda.UnsupportedError, match="bz2"):
        f["a"][:]


def test_without_zarr() -> None:
    program = "import sys; sys.modules['zarr'] = None; import scda; scda.ZarrStore"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS)
    assert "ModuleNotFoundError: scda.ZarrStore needs zarr-python 3: pip install 'zarr>=3.1'" in done.stderr
    with pytest.raises(AttributeError, match="no attribute 'Store'"):
        scda.Store  # noqa: B018


def test_the_page(folder: Path) -> None:
    assert run_python("docs/python.md", "zarr") == 1


def test_texts_of_any_length(tmp_path):
    names, raw = np.array(["Merkur", "Vénus", ""], object), np.array([b"\xff", b"", b"ab"], object)
    with scda.create(tmp_path / "f") as w:
        for codec in ("zstd", "lz4", "zlib"):
            w.dataset(codec, names, codec=codec, chunks=2)
        w.dataset("plain", names)
        w.dataset("bytes", raw)
    group = zarr.open_group(scda.ZarrStore(tmp_path / "f"), mode="r")
    for name in ("zstd", "lz4", "zlib", "plain"):
        assert group[name][:].tolist() == names.tolist()
    assert group["bytes"][:].tolist() == raw.tolist()


def test_rows_that_were_added_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_zarr_arrays, "CHUNK_BYTES", 100)
    path = tmp_path / "f.scda"
    data = np.arange(70, dtype="i2").reshape(10, 7)
    words = ["a", "", "bé", "d"]
    with scda.create(path) as w:
        for rows, options in ((data[:3], {}), (data[3:4], {"chunks": (1, 4)}), (data[4:], {"encode": True})):
            w.dataset("rho", rows, extends=len(rows) != 3, **options)
        w.dataset("words", words[:1], dtype=str)
        w.dataset("words", words[1:], dtype=str, extends=True)
        w.dataset("plain", data)
    group = zarr.open_group(scda.ZarrStore(path), mode="r")
    assert np.array_equal(group["rho"][:], data) and np.array_equal(group["rho"][2:8:2, 3], data[2:8:2, 3])
    assert group["words"][:].tolist() == words and np.array_equal(group["plain"][:], data)


def zarr_folder(path: Path, version: int) -> Any:
    xr = pytest.importorskip("xarray")
    generator = np.random.default_rng(version)
    holes = np.where(generator.random((5, 6)) < 0.3, np.nan, 3.5)
    ds = xr.Dataset(
        {
            "rho": (("time", "y", "x"), generator.random((2, 5, 6)), {"units": "kg", "levels": [1, 2]}),
            "packed": (("y", "x"), holes, {}, {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1}),
            "holes": (("y", "x"), holes, {}, {"_FillValue": 1e20, "chunks": (2, 6)}),
            "flag": ("x", np.arange(6) > 2),
            "name": ("x", np.array(list("abcdéf"), object)),
        },
        coords={"time": np.array(["2000-01-01", "2000-01-02"], "M8[ns]"), "x": np.arange(6.0), "n": 7},
        attrs={"title": "a folder"},
    )
    ds.to_zarr(path, zarr_format=version)
    ds.isel(time=0).to_zarr(path, zarr_format=version, group="deep/er", mode="a")
    return ds


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("version", [2, 3])
def test_a_zarr_folder_is_imported(version: int, tmp_path: Path) -> None:
    xr = pytest.importorskip("xarray")
    ds = zarr_folder(tmp_path / "a.zarr", version)
    assert scda.import_(tmp_path / "a.zarr", tmp_path / "a.scda", strict=True, without=["none"]) == []
    with xr.open_dataset(tmp_path / "a.scda", engine="scda") as found:
        xr.testing.assert_identical(found.drop_attrs(deep=False).assign_attrs(ds.attrs).load(), ds)
        assert found.attrs["title"] == "a folder" and found.holes.encoding["chunksizes"] == (2, 6)
    with xr.open_dataset(tmp_path / "a.scda", engine="scda", group="deep/er") as found:
        xr.testing.assert_identical(found.load(), ds.isel(time=0))
    assert scda.check(tmp_path / "a.scda", strict=True)


def test_arrays_of_zarr_of_all_kinds(tmp_path: Path) -> None:
    root = zarr.open_group(tmp_path / "a.zarr", mode="w")
    arrays: dict[str, Any] = {
        "plain": np.arange(30, dtype=">i4").reshape(10, 3),
        "scalar": np.array(2.5),
        "empty": np.empty((0, 3), "f4"),
        "complex": np.ones(3, "c8") * 1j,
        "struct": np.array([(1, 2.5), (3, 4.5)], [("a", "i4"), ("b", "f8")]),
        "times": np.array(["2000-01-01", "NaT"], "M8[s]"),
    }
    for name, array in arrays.items():
        made = root.create_array(name, shape=array.shape, dtype=array.dtype, chunks=tuple(max(1, n // 2) for n in array.shape), compressors=None)
        made[...] = array
    for name, codec in {"gzip": zarr.codecs.GzipCodec(), "lz4": zarr.codecs.BloscCodec(cname="lz4")}.items():
        root.create_array(f"group/{name}", shape=(10,), dtype="f8", chunks=(4,), compressors=codec)[...] = np.arange(10.0)
    root.create_array("huge", shape=(1 << 40,), dtype="f8", chunks=(1 << 20,))
    root["group"].attrs["of"] = {"what": [1, None]}
    lines = scda.import_(tmp_path / "a.zarr", tmp_path / "a.scda")
    assert len(lines) == 1 and "'huge': found 8796093022208 bytes in a folder of" in lines[0]
    with scda.open(tmp_path / "a.scda") as f:
        for name, array in arrays.items():
            assert f[name].dtype == array.dtype.newbyteorder("=") and f[name][...].tolist() == array.tolist(), name
            assert f[name].chunks is None
        assert f["group"].attrs["of"] == {"what": [1, None]} and f.attrs["imported"]["format"] == "Zarr" and not f.attrs["imported"]["complete"]
        for name, codec in {"gzip": "zlib", "lz4": "lz4"}.items():
            assert f[f"group/{name}"]._description.codec == codec and f[f"group/{name}"].chunks == (4,)
    one = zarr.create_array(tmp_path / "one.zarr", shape=(4,), dtype="i4")
    one[:] = 3
    scda.import_(tmp_path / "one.zarr", tmp_path / "one.scda")
    with scda.open(tmp_path / "one.scda") as f:
        assert f["one"][...].tolist() == [3] * 4


def test_a_zarr_folder_of_a_stranger(tmp_path: Path) -> None:
    """It has no other files of the user's, no pipes, and errors for what is damaged."""
    made = zarr.create_array(tmp_path / "a.zarr", shape=(8,), dtype="u1", chunks=(4,), compressors=None)
    made[:] = 1
    (tmp_path / "secret").write_bytes(b"mine")
    chunk = tmp_path / "a.zarr" / "c" / "1"
    for name in ("link", "pipe"):
        chunk.unlink()
        chunk.symlink_to(tmp_path / "secret") if name == "link" else os.mkfifo(chunk)
        with pytest.raises(scda.FormatError, match="c/1: found a link or a special file"):
            scda.import_(tmp_path / "a.zarr", tmp_path / "a.scda")
    chunk.unlink()
    chunk.write_bytes(b"1")
    with pytest.raises(scda.FormatError, match="'a'"):
        scda.import_(tmp_path / "a.zarr", tmp_path / "a.scda")
    (tmp_path / "a.zarr" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "array"}')
    with pytest.raises(scda.FormatError, match="a.zarr"):
        scda.import_(tmp_path / "a.zarr", tmp_path / "a.scda")
    assert not (tmp_path / "a.scda").exists()
