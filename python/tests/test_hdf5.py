"""scda export and scda import: HDF5, NetCDF-4 and .npz, compared with numpy, and read by others."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda
from arrays import TYPES, names, random_items, random_layout, random_shape
from conftest import SECONDS

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")
xr = pytest.importorskip("xarray")

from scda import _import_hdf5, _spool, _zarr_arrays  # noqa: E402
from scda.__main__ import new_file  # noqa: E402
from scda._export import export  # noqa: E402
from scda._import import convert  # noqa: E402

NO_NETCDF = ("float16",)


def stored(dataset: scda.Dataset) -> Any:
    """The metadata without what export and import may change, and the bytes in the file."""
    metadata = _zarr_arrays.raw_metadata(dataset)
    section = dataset.section
    metadata.pop("dimension_names", None)
    return metadata, section.kind, list(section)


def random_file(path: Path, generator: np.random.Generator, netcdf: bool) -> dict[str, list[Any]]:
    arrays: dict[str, list[Any]] = {}
    with scda.create(path) as w:
        for number, dtype in enumerate(TYPES):
            if netcdf and (np.dtype(dtype).kind == "V" or np.dtype(dtype).name in NO_NETCDF):
                continue
            shape = random_shape(generator)
            layout = random_layout(generator, shape)
            if layout.get("encode") == "auto":
                layout = {}
            options: dict[str, Any] = {"attrs": {"number": number}, **layout}
            if shape and generator.integers(2):
                options["dims"] = [None if generator.integers(3) == 0 else f"d{number}{k}" for k in range(len(shape))]
            if np.dtype(dtype).kind in "iu":
                options["fill_value"] = int(generator.integers(0, 100))
            elif generator.integers(2):
                item = random_items(generator, dtype, (1,)).astype(np.dtype(dtype).newbyteorder("="))[0]
                options["fill_value"] = item.item() if np.dtype(dtype).kind == "V" else item
            name = f"group {number % 3}/n{number}"
            arrays[name] = [random_items(generator, dtype, shape) for _ in range(int(generator.integers(1, 4)))]
            for array in arrays[name]:
                w.dataset(name, array, **options)
    return arrays


@pytest.mark.parametrize("ending", ["h5", "nc"])
@pytest.mark.parametrize("seed", range(6))
def test_there_and_back(ending: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:
        monkeypatch.setattr(_spool, "_MOST_HELD", 100)  # in temporary files
    arrays = random_file(tmp_path / "f.scda", np.random.default_rng(seed), ending == "nc")
    assert export(tmp_path / "f.scda", str(tmp_path / f"f.{ending}"), netcdf=ending == "nc") == 0
    convert(str(tmp_path / f"f.{ending}"), str(tmp_path / "g.scda"), tell=pytest.fail)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["f.scda", f"f.{ending}", "g.scda"])
    scda.verify(tmp_path / "g.scda")
    kept = 0
    with (
        h5py.File(tmp_path / f"f.{ending}") as h,
        scda.open(tmp_path / "f.scda") as f,
        scda.open(tmp_path / "g.scda") as g,
    ):
        assert sorted(names(g)) == sorted(arrays)
        for name, items in arrays.items():
            expected = items[0] if len(items) == 1 else np.stack(items)
            expected = expected.astype(expected.dtype.newbyteorder("="))
            found = h[name][()]
            assert found.shape == expected.shape and found.tobytes() == expected.tobytes(), name
            assert len(g.records(name)) == len(items)
            for one, other, array in zip(f.records(name), g.records(name), items):
                assert other.shape == one.shape and other.dtype == one.dtype, name
                assert np.asarray(other).tobytes() == array.astype(one.dtype).tobytes(), name
                fills = [np.asarray(each.fill_value, one.dtype).tobytes() for each in (one, other)]
                assert fills[0] == fills[1] and other.dims == one.dims, name
                attrs = dict(other.attrs)
                if ending == "nc" and one.dtype.kind == "f" and one.fill_value != 0:
                    assert attrs.pop("_FillValue") is not None
                assert attrs == one.attrs
                fits = bool(one.chunks) and all(c <= n for c, n in zip(one.chunks, one.shape))
                if fits and one.section.kind == "varray" and 0 not in one.shape:
                    kept += 1
                    mine, theirs = stored(one), stored(other)
                    mine[0]["attributes"] = theirs[0]["attributes"]
                    assert mine == theirs, name
    assert kept > 1


@pytest.mark.parametrize("fill", [np.nan, np.inf, 1e20])
def test_fill_values_are_of_the_type_of_the_data(fill: float, tmp_path: Path) -> None:
    """Else netCDF's library opens no file for writing."""
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("u", np.arange(3, dtype="f4"), fill_value=fill)
    export(tmp_path / "f.scda", str(tmp_path / "f.nc"), netcdf=True)
    with h5py.File(tmp_path / "f.nc") as h:
        assert h["u"].attrs["_FillValue"].dtype == np.float32
    with netCDF4.Dataset(tmp_path / "f.nc", "a") as nc:
        np.testing.assert_array_equal(nc["u"].getncattr("_FillValue"), np.float32(fill))


@pytest.fixture
def series(tmp_path: Path) -> Path:
    path = tmp_path / "series.scda"
    with scda.create(path) as w:
        w.group("/", {"title": "a flow", "levels": [1, 2, 3], "names": ["a", "é"], "mixed": [1, "a", None], "on": True})
        w.group("flow", {"scheme": {"name": "hydro"}, "nul": "\0", "big": 2**63, "huge": 2**64, "none": [], "x": 0.5})
        w.dataset("x", np.arange(6.0), attrs={"units": "m"}, dims=["x"])
        w.block("a block", b"that is no dataset")
        for step in range(3):
            w.dataset("time", 0.5 * step, attrs={"units": "days since 2000-01-01"})
            rho = np.arange(24.0, dtype="f4").reshape(4, 6) + step
            w.dataset("p", rho, dims=("y", "x"), chunks=(2, 6), fill_value=5, attrs={"_FillValue": 5, "note": "ß"})
            w.dataset("flow/rho", rho, dims=("y", "z"))
            w.dataset("flow/on", rho > 3, dims=("y", "z"))
            w.dataset("cells", np.arange(step + 1))
        w.dataset("z", np.array([1 + 2j, np.nan]), dims=("two",))
    return path


def check_series(ds: Any, flow: Any) -> None:
    expected = np.arange(24.0, dtype="f4").reshape(4, 6) + np.arange(3.0, dtype="f4")[:, None, None]
    np.testing.assert_array_equal(flow.rho.values, expected)
    assert flow.rho.dims == ("time", "y", "z") and flow.on.dtype == bool
    np.testing.assert_array_equal(
        flow.on.values, expected - np.arange(3)[:, None, None] > 3 - np.arange(3)[:, None, None]
    )
    assert ds.p.dims == ("time", "y", "x") and set(ds.coords) == {"time", "x"}
    assert ds.time.values[1] == np.datetime64("2000-01-01T12:00")
    expected[expected == 5] = np.nan
    np.testing.assert_array_equal(ds.p.values, expected)
    assert ds.p.attrs == {"note": "ß", "scda_records": 3, "scda_codec": "zstd 1 shuffle"} and ds.attrs["title"] == "a flow"


def test_netcdf_is_read_by_others(series: Path, tmp_path: Path) -> None:
    assert export(series, str(tmp_path / "f.nc"), netcdf=True, without=["z"]) == 1
    with xr.open_dataset(tmp_path / "f.nc", engine="netcdf4") as ds:
        with xr.open_dataset(tmp_path / "f.nc", engine="netcdf4", group="flow") as flow:
            check_series(ds, flow)
            assert list(ds.attrs["names"]) == ["a", "é"] and list(ds.attrs["levels"]) == [1, 2, 3]
    export(series, str(tmp_path / "z.nc"), netcdf=True)
    with netCDF4.Dataset(tmp_path / "z.nc", auto_complex=True) as nc:
        assert nc.dimensions["time"].isunlimited() and not nc.dimensions["y"].isunlimited()
        assert list(nc.groups) == ["cells", "flow"] and nc["z"].dimensions == ("two",)
        assert nc["z"][:].tobytes() == np.array([1 + 2j, np.nan]).tobytes()
        assert nc["p"].filters()["zlib"] and nc["p"].filters()["shuffle"] and nc["p"].chunking() == [1, 2, 6]
        assert nc["flow/rho"].dimensions == ("time", "y", "z") and nc["p"]._FillValue == 5
        assert [nc[f"cells/{k}"][:].tolist() for k in range(3)] == [[0], [0, 1], [0, 1, 2]]


def test_frames_of_blosc_are_copied_as_they_are(tmp_path: Path) -> None:
    # Alone: netCDF4 has a filter of its own, for its own HDF5, and tells others of it.
    if importlib.util.find_spec("hdf5plugin") is None:
        pytest.skip("hdf5plugin is missing")
    program = Path(__file__).with_name("blosc_program.py")
    env = {name: value for name, value in os.environ.items() if name != "HDF5_PLUGIN_PATH"}
    subprocess.run([sys.executable, str(program), str(tmp_path)], check=True, timeout=SECONDS, env=env)


def test_what_netcdf_writes_is_read(tmp_path: Path) -> None:
    """A file by NetCDF's own library, through xarray, and back."""
    ds = xr.Dataset(
        {
            "t": (("time", "y", "x"), np.arange(24, dtype=">f4").reshape(2, 3, 4), {"units": "K"}),
            "mask": (("y", "x"), np.eye(3, 4) > 0),
            "n": 7,
        },
        {"time": [0, 1], "x": [1.0, 2, 3, 4]},
        {"title": "a field"},
    )
    encoding = {"t": {"zlib": True, "shuffle": True, "chunksizes": (1, 2, 4), "_FillValue": 3.0}}
    ds.to_netcdf(tmp_path / "f.nc", engine="netcdf4", encoding=encoding, unlimited_dims=["time"])
    convert(str(tmp_path / "f.nc"), str(tmp_path / "f.scda"), tell=pytest.fail)
    with xr.open_dataset(tmp_path / "f.scda", engine="scda") as found, xr.open_dataset(tmp_path / "f.nc") as expected:
        del found.attrs["imported"], found.attrs["scda_json"]
        xr.testing.assert_identical(found.load(), expected.load())
    with scda.open(tmp_path / "f.scda") as f:
        assert f["t"].chunks == (1, 2, 4) and f["t"].fill_value == 3 and f["mask"].dtype == bool and names(f)[0] == "t"


def test_coordinates_of_groups_around(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("x", [0.0, 1.0, 2.0])
        w.dataset("y", [0.0, 1.0], dims=["y"])
        w.dataset("a/y", [5.0, 6.0], dims=["y"])
        for step in range(3):
            w.dataset("time", float(step))
            w.dataset("a/b/rho", np.full((2, 3), step), dims=("y", "x"))
            w.dataset("c/rho", np.full((4, 3), step), dims=("y", "x"))
    export(tmp_path / "f.scda", str(tmp_path / "f.nc"), netcdf=True)
    with netCDF4.Dataset(tmp_path / "f.nc") as nc:
        assert list(nc.dimensions) == ["x", "y", "time"] and list(nc["a"].dimensions) == ["y"]
        assert not nc["a/b"].dimensions and list(nc["c"].dimensions) == ["y"]
        assert nc["a/b/rho"].get_dims()[1].group().path == "/a" and nc["c/rho"].dimensions == ("time", "y", "x")
    export(tmp_path / "f.scda", str(tmp_path / "tree.nc"), netcdf=True, without=["c/*", "y"])
    tree = xr.open_datatree(tmp_path / "tree.nc", engine="netcdf4")
    assert tree["a/b"].coords["y"].values.tolist() == [5, 6] and tree["a/b"].coords["x"].values.tolist() == [0, 1, 2]
    tree.close()
    with xr.open_dataset(tmp_path / "f.scda", engine="scda", group="a/b") as ds:
        assert set(ds.coords) == {"time", "y", "x"}


def test_attributes(series: Path, tmp_path: Path) -> None:
    export(series, str(tmp_path / "f.h5"), netcdf=False)
    with h5py.File(tmp_path / "f.h5") as h:
        assert h.attrs["title"] == "a flow" and h.attrs["levels"].tolist() == [1, 2, 3]
        assert json.loads(h.attrs["mixed"]) == [1, "a", None] and h["flow"].attrs["big"] == 2**63
        assert h["p"].attrs["_FillValue"].dtype == np.float32
        assert h["p"].dims[2][0] == h["x"] and h["p"].dims[1].label == "y" and h["p"].maxshape == (None, 4, 6)
    convert(str(tmp_path / "f.h5"), str(tmp_path / "g.scda"), tell=pytest.fail)
    with scda.open(series) as f, scda.open(tmp_path / "g.scda") as g:
        assert g.attrs == f.attrs and g["flow"].attrs == f["flow"].attrs
        for name in ("p", "time", "flow/rho"):
            assert g[name, 2].attrs == f[name, 2].attrs and g[name, 2].dims == f[name, 2].dims
        assert [each[...].tolist() for each in g.records("cells")] == [[0], [0, 1], [0, 1, 2]]
    with scda.create(tmp_path / "bad.scda") as w:
        w.dataset("a/b", 1, attrs={"CLASS": 1, "scda_json": 1})
    told: list[str] = []
    assert export(tmp_path / "bad.scda", str(tmp_path / "bad.h5"), netcdf=False, tell=told.append) == 1
    assert "'a/b': attribute 'scda_json': found a name that HDF5" in told[0]
    with h5py.File(tmp_path / "bad.h5") as h:
        assert list(h["a/b"].attrs) == ["CLASS", "scda_places"]


def test_what_netcdf_has_not(tmp_path: Path) -> None:
    for name, array, words in (
        ("half", np.zeros(2, "f2"), "'g/half': found float16, which NetCDF has not"),
        ("!", np.zeros(2), "'g/!': found a name that NetCDF has not"),
    ):
        with scda.create(tmp_path / "f.scda") as w:
            w.dataset(f"g/{name}", array)
            w.dataset("good", 1)
        with pytest.raises(ValueError, match=f"{words}.*; without strict=True it is left out"):
            export(tmp_path / "f.scda", str(tmp_path / "f.nc"), netcdf=True, strict=True)
        told: list[str] = []
        assert export(tmp_path / "f.scda", str(tmp_path / "f.nc"), netcdf=True, tell=told.append) == len(told) == 1
        assert re.search(f"{words}.*; it is left out", told[0])
        with netCDF4.Dataset(tmp_path / "f.nc") as nc:
            assert list(nc.variables) == ["good"] and not nc["g"].variables
        export(tmp_path / "f.scda", str(tmp_path / "f.h5"), netcdf=False)
        export(tmp_path / "f.scda", str(tmp_path / "f.nc"), netcdf=True, without=["g/*"])
        with netCDF4.Dataset(tmp_path / "f.nc") as nc:
            assert list(nc.variables) == ["good"]


def foreign(path: Path) -> dict[str, Any]:
    """A file with what h5py makes."""
    generator = np.random.default_rng(7)
    data = generator.integers(0, 9, (20, 30)).astype("i4")
    arrays: dict[str, Any] = {}
    with h5py.File(path, "w", userblock_size=1024) as h:

        def add(name: str, items: Any, **options: Any) -> None:
            h.create_dataset(name, data=items, **options)
            arrays[name] = np.asarray(items)

        add("contiguous", data)
        add("big/contiguous", data.astype(">i4"))
        add("big/gzip", data.astype(">f8"), chunks=(7, 8), compression="gzip", compression_opts=7, shuffle=True)
        add("gzip", data, chunks=(7, 8), compression="gzip", fillvalue=3)
        add("bytes", data.astype("u1"), chunks=(7, 8), compression="gzip", shuffle=True)
        add("shuffle", data, chunks=(7, 8), shuffle=True)
        add("chunks", data, chunks=(7, 8))
        add("lzf", data, chunks=(7, 8), compression="lzf")
        add("checked", data, chunks=(7, 8), compression="gzip", shuffle=True, fletcher32=True)
        add("scalar", 3.5)
        add("none", np.zeros((0, 3)))
        add("no rows", np.zeros((0, 3)), chunks=(2, 3), compression="gzip", maxshape=(None, 3))
        add("bools", data > 4, chunks=(20, 30), compression="gzip")
        add("complex", data * (1 + 2j), chunks=(5, 5), compression="gzip", shuffle=True)
        add("opaque", np.frombuffer(b"abcdefghi", "V3"))
        add("enumeration", data, dtype=h5py.enum_dtype({"a": 1, "b": 2}, "i4"))
        add("all fill", np.full((20, 30), 7), chunks=(10, 30), compression="gzip", shuffle=True, fillvalue=7)
        h.create_dataset("unwritten", (20, 30), "f8", chunks=(10, 30), compression="gzip", fillvalue=2.5)
        arrays["unwritten"] = np.full((20, 30), 2.5)
        # Chunks without one or both of their filters.
        masks = h.create_dataset("masks", (20, 30), "i4", chunks=(10, 30), compression="gzip", shuffle=True)
        shuffled = np.frombuffer(data[:10].tobytes(), "u1").reshape(-1, 4).T.tobytes()
        masks.id.write_direct_chunk((0, 0), shuffled, filter_mask=2)
        masks.id.write_direct_chunk((10, 0), zlib.compress(data[10:].tobytes()), filter_mask=1)
        arrays["masks"] = data
        h["contiguous"].attrs.update(
            {"a": np.float32(0.5), "b": np.nan, "c": b"text", "d": [1, 2], "e": np.bool_(True)}
        )
    return arrays


@pytest.mark.parametrize("held", [0, 64 << 20])
def test_files_of_others(held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_spool, "_MOST_HELD", held)
    arrays = foreign(tmp_path / "f.h5")
    convert(str(tmp_path / "f.h5"), str(tmp_path / "f.scda"), tell=pytest.fail)
    with scda.open(tmp_path / "f.scda", verify=True) as f, h5py.File(tmp_path / "f.h5") as h:
        assert sorted(names(f)) == sorted(arrays) and f.user_text == "f.h5"
        for name, array in arrays.items():
            found = f[name]
            assert found.shape == array.shape and found.dtype == array.dtype.newbyteorder("="), name
            assert np.array_equal(found[...], array), name
            has_filters = h[name].id.get_create_plist().get_nfilters() > 0
            assert found.chunks == (h[name].chunks if has_filters else None), name
        types = {"scda_types": {"a": "float32", "c": "string ascii"}}
        assert f["contiguous"].attrs == {"a": 0.5, "b": "NaN", "c": "text", "d": [1, 2], "e": True, **types}
        assert f["enumeration"].attrs == {"scda_enum": {"a": 1, "b": 2}}
        assert f["gzip"].fill_value == 3 and f["unwritten"].fill_value == 2.5
        # Chunks that are as they were; and those that are all fill values are not there.
        for name in ("big/gzip", "gzip", "bytes", "bools", "complex"):
            sizes = f[name].section.sizes()
            if name == "bools":
                assert len(sizes) == 1
            first = h[name].id.read_direct_chunk((0, 0))[1]
            assert f[name].section[0] == first, name
        for name in ("all fill", "unwritten"):
            assert f[name].section.sizes().tolist() == [0, 0]
    # Every reader of the format reads it.
    done = subprocess.run([sys.executable, "-c", "import scda; scda.verify('f.scda')"], cwd=tmp_path, timeout=SECONDS)
    assert done.returncode == 0


def test_what_scda_has_not(tmp_path: Path) -> None:
    path = tmp_path / "f.h5"
    for name, options, words in (
        ("refs", {"shape": 2, "dtype": h5py.regionref_dtype}, "'g/refs': found references to regions"),
        ("table", {"shape": 2, "dtype": [("a", h5py.regionref_dtype)]}, "'g/table': found references to regions"),
        ("line\n", {"data": 1}, "found control characters in the name"),
    ):
        with h5py.File(path, "w") as h:
            h.create_dataset(f"g/{name}", **options)
            h["good"] = [1, 2]
        with pytest.raises(ValueError, match=f"{words}.*; without strict=True it is left out"):
            convert(str(path), str(tmp_path / "f.scda"), strict=True)
        assert not (tmp_path / "f.scda").exists()
        told: list[str] = []
        assert convert(str(path), str(tmp_path / "f.scda"), tell=told.append) == 1
        assert len(told) == 1 and re.search(f"f.h5: .*{words}.*; it is left out", told[0]), told
        with scda.open(tmp_path / "f.scda") as f:
            assert names(f) == ["good"] and f.attrs["imported"]["complete"] is False
        (tmp_path / "f.scda").unlink()
        assert convert(str(path), str(tmp_path / "f.scda"), without=["g/[tlre]*"], tell=pytest.fail) == 0
        with scda.open(tmp_path / "f.scda") as f:
            assert names(f) == ["good"] and f.attrs["imported"]["complete"] is False
        (tmp_path / "f.scda").unlink()


def test_strings_are_kept(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as h:
        h.attrs["title"] = "a flow"
        h["g/text"] = "a string"
        h["g/texts"] = [b"abc", b"d"]
        h["g/u"] = [1, 2]
    xr.Dataset({"station": ("s", ["a", "bc"]), "u": ("s", [1, 2])}).to_netcdf(tmp_path / "f.nc")
    np.savez(tmp_path / "f.npz", names=np.array(["a", "bc"]), more=np.array([b"a"]), u=[1, 2])
    for ending, texts in (
        ("h5", {"g/text": "a string", "g/texts": ["abc", "d"]}),
        ("nc", {"station": ["a", "bc"]}),
        ("npz", {"names": ["a", "bc"], "more": [b"a"]}),
    ):
        convert(str(tmp_path / f"f.{ending}"), str(tmp_path / "f.scda"), strict=True)
        with scda.open(tmp_path / "f.scda") as f:
            assert f.attrs["imported"]["complete"] is True and (ending != "h5" or f.attrs["title"] == "a flow")
            for name, wanted in texts.items():
                assert f[name][...].tolist() == wanted, name
        for new in ("h5", "nc"):
            assert export(tmp_path / "f.scda", str(tmp_path / f"new.{new}"), netcdf=new == "nc", tell=pytest.fail) == 0
            convert(str(tmp_path / f"new.{new}"), str(tmp_path / "again.scda"), strict=True)
            with scda.open(tmp_path / "f.scda") as f, scda.open(tmp_path / "again.scda") as g:
                for name in texts:
                    assert g[name].dtype == f[name].dtype and g[name][...].tolist() == f[name][...].tolist()
        if ending == "nc":
            with xr.open_dataset(tmp_path / "new.nc", engine="netcdf4") as ds:
                assert ds["station"].values.tolist() == ["a", "bc"]


def test_links_and_odd_attributes_are_kept(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as h:
        h["a/b"] = 1
        h["a/soft"] = h5py.SoftLink("/a/b")
        h["a/out"] = h5py.ExternalLink("other.h5", "/x")
        h["a/loop"] = h["/"]
        h["a"].attrs["odd"] = np.zeros(2, "i4,f8")
        h["a"].attrs["even"] = 2
    told: list[str] = []
    convert(str(tmp_path / "f.h5"), str(tmp_path / "f.scda"), tell=told.append)
    assert told == [] and export(tmp_path / "f.scda", str(tmp_path / "g.h5"), netcdf=False, tell=pytest.fail) == 0
    with h5py.File(tmp_path / "g.h5") as h:
        assert h["a"].get("soft", getlink=True).path == "/a/b" and h["a/loop"] == h["/"]
        assert h["a"].get("out", getlink=True).filename == "other.h5"
        assert h["a"].attrs["odd"].dtype == np.dtype("i4,f8") and h["a"].attrs["even"] == 2
    export(tmp_path / "f.scda", str(tmp_path / "g.nc"), netcdf=True, tell=told.append)
    assert len(told) == 3 and all("found a link, which NetCDF has not" in line for line in told)


@pytest.mark.parametrize(
    ("marker", "found"),
    [
        ('["a"]', [1]),
        ("a", [1]),
        (np.bytes_(b"a"), [1]),
        (["a", "b"], [1]),
        (np.array([b"a", b"b"]), [1]),
        ('["a", "none", 3]', [1]),
        ("b", "[1]"),
        ("[" * 100_000, "[1]"),
        (7, "[1]"),
    ],
)
def test_an_odd_list_of_json_attributes_costs_no_other(marker: Any, found: Any, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as h:
        h["u"] = 1
        h["u"].attrs.update({"scda_json": marker, "a": "[1]", "b": "no JSON", "c": 3})
    convert(str(tmp_path / "f.h5"), str(tmp_path / "f.scda"), tell=pytest.fail)
    with scda.open(tmp_path / "f.scda") as f:
        assert f["u"].attrs == {"a": found, "b": "no JSON", "c": 3}
    with h5py.File(tmp_path / "f.h5", "a") as h:
        h["u"].attrs["scda_json"] = np.zeros(2, "i4,f8")
    told: list[str] = []
    convert(str(tmp_path / "f.h5"), str(tmp_path / "g.scda"), tell=told.append)
    assert told == []
    with scda.open(tmp_path / "g.scda") as f:
        assert f["u"].attrs == {"a": "[1]", "b": "no JSON", "c": 3}


def test_records_that_were_never_written_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight records of 1 GiB each: few chunks in each are many together."""
    with h5py.File(tmp_path / "f.h5", "w") as h:
        h.create_dataset("u", (8, 1 << 27), "f8").attrs["scda_records"] = 8
    for most in (8 * 1024, 8 * 1024 - 1):
        monkeypatch.setattr(_import_hdf5, "_MOST_CHUNKS", most)
        if most == 8 * 1024:
            convert(str(tmp_path / "f.h5"), str(tmp_path / "f.scda"), tell=pytest.fail)
        else:
            with pytest.raises(ValueError, match="'u': found 8192 chunks .*expected at most 8191; without strict=True"):
                convert(str(tmp_path / "f.h5"), str(tmp_path / "g.scda"), strict=True)
    with scda.open(tmp_path / "f.scda") as f:
        assert len(f.records("u")) == 8


def test_damaged_files(tmp_path: Path) -> None:
    data = np.random.default_rng(1).integers(0, 9, (50, 60)).astype("i4")
    path, out = tmp_path / "f.h5", str(tmp_path / "f.scda")
    with h5py.File(path, "w") as h:
        dataset = h.create_dataset("a", data=data, chunks=(50, 60), compression="gzip", shuffle=True)
        info = dataset.id.get_chunk_info(0)
    content = path.read_bytes()
    middle = info.byte_offset + info.size // 2
    for damaged, words in (
        (content[:-3], "f.h5: .*(truncated|open)"),
        (content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :], r"f.h5: 'a': chunk at \(0, 0\)"),
        (content[:4], "f.h5: byte 0: neither"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(scda.FormatError, match=words):
            convert(str(path), out)
        assert [entry.name for entry in tmp_path.iterdir()] == ["f.h5"]
    # A chunk of another size.
    with h5py.File(path, "w") as h:
        dataset = h.create_dataset("a", (50, 60), "i4", chunks=(50, 60), compression="gzip")
        dataset.id.write_direct_chunk((0, 0), zlib.compress(bytes(10**6)))
    with pytest.raises(scda.FormatError, match=r"chunk at \(0, 0\): not a zlib stream of 12000 bytes"):
        convert(str(path), out)
    # Whatever byte is wrong: what h5py says, or other data.
    generator = np.random.default_rng(2)
    for _ in range(150):
        odd = bytearray(content)
        odd[int(generator.integers(0, info.byte_offset))] = int(generator.integers(256))
        path.write_bytes(odd)
        try:
            convert(str(path), out, tell=lambda _: None)
            os.remove(out)
        except (ValueError, scda.Error):
            assert not os.path.exists(out)


def test_npz(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    arrays = {f"a/{k}": random_items(generator, dtype, random_shape(generator)) for k, dtype in enumerate(TYPES)}
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "f.npz", fortran=np.asfortranarray(np.arange(6.0).reshape(2, 3)), **arrays)
        convert(str(tmp_path / "f.npz"), str(tmp_path / "f.scda"), seal=False)
        with scda.open(tmp_path / "f.scda") as f:
            assert not f.sealed and f.attrs["imported"]["format"] == "NPZ"
            assert f["fortran"][1].tolist() == [3, 4, 5] and sorted(names(f)) == sorted(["fortran", *arrays])
            for name, array in arrays.items():
                assert f[name].shape == array.shape
                assert np.asarray(f[name]).tobytes() == array.astype(f[name].dtype).tobytes()
        (tmp_path / "f.scda").unlink()
    np.savez(tmp_path / "f.npz", **{"names\n": np.zeros(1, "i4,f8"), "good": [1]})
    with pytest.raises(ValueError, match="f.npz: 'names.n': found control characters in the name; without strict=True it is left out"):
        convert(str(tmp_path / "f.npz"), str(tmp_path / "f.scda"), strict=True)
    convert(str(tmp_path / "f.npz"), str(tmp_path / "f.scda"), without=["names?"])
    content = (tmp_path / "f.npz").read_bytes()
    (tmp_path / "f.npz").write_bytes(content[:100])
    with pytest.raises(scda.FormatError, match="f.npz"):
        convert(str(tmp_path / "f.npz"), str(tmp_path / "g.scda"))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["f.npz", "f.scda"]


def test_other_codecs(tmp_path: Path) -> None:
    """Metadata of other programs: codecs with a name alone, another size of shuffled items, one that the library has not."""
    data = np.arange(200, dtype="<i4")
    with scda.create(tmp_path / "mine.scda") as w:
        w.dataset("a", data, chunks=100, codec="zlib")
    with scda.open(tmp_path / "mine.scda") as f:
        chunks, metadata = list(f["a"].section), json.loads(f.sections[0].read())
    shuffle, zip_ = metadata["codecs"][1:]
    halves = [np.frombuffer(half.tobytes(), "u1").reshape(-1, 2).T.tobytes() for half in (data[:100], data[100:])]
    shuffle2 = {"name": "numcodecs.shuffle", "configuration": {"elementsize": 2}}
    for codecs, elements, is_copied in (
        ([shuffle, "numcodecs.zlib"], chunks, True),
        ([shuffle, zip_], chunks, True),
        ([shuffle2, zip_], [zlib.compress(half) for half in halves], False),
        ([shuffle], [zlib.decompress(chunk) for chunk in chunks], True),
        ([shuffle, {"name": "numcodecs.bz2", "configuration": {"level": 1}}], chunks, None),
    ):
        metadata["codecs"][1:] = codecs
        with scda.create(tmp_path / "f.scda") as w:
            w.block("scda dataset 00", json.dumps(metadata).encode())
            w.varray("a", elements)
        if is_copied is None:
            with pytest.raises(scda.UnsupportedError, match="bz2"):
                export(tmp_path / "f.scda", str(tmp_path / "f.h5"), netcdf=False)
            continue
        export(tmp_path / "f.scda", str(tmp_path / "f.h5"), netcdf=False)
        with h5py.File(tmp_path / "f.h5") as h:
            assert np.array_equal(h["a"][:], data) and h["a"].chunks == (100,)
            assert (h["a"].id.read_direct_chunk((100,))[1] == elements[1]) is is_copied


def test_errors_of_the_functions(series: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(series.parent)
    scda.export("series.scda", "f.h5")
    Path("bad.h5").write_bytes(Path("f.h5").read_bytes()[:-9])
    with scda.create("words.scda") as w:
        w.dataset("words", ["a", "b"], dtype=str)
    for run, error, path in (
        (lambda: scda.export("none", "x.h5"), scda.NoSuchFileError, str(Path("none").absolute())),
        (lambda: scda.export("series.scda", "none/x.h5"), scda.NoSuchFileError, None),
        (lambda: scda.export("series.scda", "f.h5"), scda.ExistsError, "f.h5"),
        (lambda: scda.export("series.scda", "x.nc", strict=True), scda.ArgumentError, str(Path("series.scda").absolute())),
        (lambda: scda.import_("bad.h5", "x.scda"), scda.FormatError, "bad.h5"),
        (lambda: scda.vtk("none", "x.vtkhdf", copy=True), scda.NoSuchFileError, str(Path("none").absolute())),
        (lambda: scda.vtk("none", "x.vtkhdf"), scda.NoSuchFileError, "none"),
        (lambda: scda.vtk("series.scda", "x.vtkhdf", group="x"), scda.ArgumentError, "series.scda"),
    ):
        with pytest.raises(scda.Error) as raised:
            run()
        assert type(raised.value) is error and (path is None or raised.value.path == path), raised.value
    with pytest.raises(scda.ArgumentError, match="^words.scda: TypeError: Object dtype"):
        scda.vtk("words.scda")
    assert {entry.name for entry in Path().iterdir()} == {"series.scda", "f.h5", "bad.h5", "words.scda"}


def test_what_is_not_left_out_is_said_once(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "odd.h5", "w") as h:
        h["be"] = [1, 2]
        h["be"].attrs["ld"] = np.zeros(2, "g")
    with pytest.raises(scda.ArgumentError) as raised:
        convert(str(tmp_path / "odd.h5"), str(tmp_path / "o.scda"), strict=True)
    assert re.fullmatch(r"\S+odd.h5: 'be': attribute 'ld': found \w+; without strict=True it is left out", str(raised.value))


def test_the_commands(series: Path) -> None:
    def run(line: str, code: int = 0, python: tuple[str, ...] = ("-m", "scda")) -> str:
        command = [sys.executable, *python, *line.split()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=series.parent)
        assert done.returncode == code and done.stdout == "" and "Traceback" not in done.stderr, done
        return done.stderr

    assert run("export series.scda f.h5") == ""
    told = run("export series.scda f.nc --without z --without cells", 3)
    assert "found a block section that belongs to no dataset; it is left out" in told, told
    assert told.endswith("scda: series.scda: 1 left out, all else is in f.nc\n")
    assert "without --strict" in run("export -f series.scda f.nc --without z --without cells --strict", 2)
    assert run("export series.scda f.h5", 2) == "scda: f.h5: the file exists; --force replaces it\n"
    assert run("export -f series.scda f.h5 --without *") == ""
    assert "expected one of .h5 .hdf5 .hdf .nc .nc4" in run("export series.scda f.txt", 2)
    assert "none.scda" in run("export none.scda g.h5", 2)
    assert run("import f.nc a.scda") == ""
    assert "the file exists" in run("import f.nc a.scda", 2)
    assert "is the file to read itself" in run("import -f f.nc f.nc", 2)
    run("import -f f.nc a.scda --no-seal --without flow/*")
    with scda.open(series.parent / "a.scda") as f:
        assert not f.sealed and names(f) == ["x", "time", "p"]
    (series.parent / "bad.h5").write_bytes((series.parent / "f.h5").read_bytes()[:-9])
    assert "scda: bad.h5: " in run("import bad.h5 b.scda", 1)
    assert "scda: none.h5: No such file" in run("import none.h5 b.scda", 2)
    (series.parent / "none").mkdir()
    (series.parent / "none" / "h5py.py").write_text("raise ModuleNotFoundError(\"No module named 'h5py'\", name='h5py')")
    program = "import sys; sys.path.insert(0, 'none'); from scda.__main__ import main; sys.exit(main())"
    for line in ("export series.scda g.h5", "import f.nc b.scda"):
        hint = run(line, 2, ("-c", program))
        assert "h5py" in hint and "pip install h5py" in hint
    found = sorted(entry.name for entry in series.parent.iterdir())
    assert found == ["a.scda", "bad.h5", "f.h5", "f.nc", "none", "series.scda"]


@pytest.mark.parametrize("error", ["RuntimeError('odd')", "KeyError('odd')", "TypeError('odd')", "MemoryError('odd')"])
def test_errors_of_hdf5_are_told(error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("a", np.arange(10))
    program = (
        "import sys, scda._export\n"
        f"def fail(*_, **more): raise {error}\n"
        "scda._export.write_attributes = fail\n"
        "from scda.__main__ import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", program, "export", "f.scda", "f.h5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=tmp_path)
    told = f"f.scda: {error.partition('(')[0]}: "
    assert done.returncode == 2 and done.stderr.startswith(f"scda: {told}"), done
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("scda._export.write_attributes", lambda *_, **more: exec(f"raise {error}"))
    of = scda.OutOfMemoryError if "Memory" in error else scda.ArgumentError
    with pytest.raises(scda.Error, match=f"^{told}") as raised:
        scda.export("f.scda", "f.h5")
    assert (type(raised.value), raised.value.path) == (of, "f.scda")
    assert [entry.name for entry in tmp_path.iterdir()] == ["f.scda"]


def test_one_file_is_written_twice_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is complete last is the file; none writes into, or removes, what the other is writing."""
    monkeypatch.chdir(tmp_path)
    with new_file("f.h5", True, "f.scda") as first:
        with new_file("f.h5", True, "f.scda") as second:
            assert first != second
            Path(first).write_text("first")
            Path(second).write_text("second")
        assert Path("f.h5").read_text() == "second"
        with pytest.raises(ValueError, match="odd"), new_file("f.h5", True, "f.scda") as third:
            Path(third).write_text("third")
            raise ValueError("odd")
    assert Path("f.h5").read_text() == "first" and [entry.name for entry in tmp_path.iterdir()] == ["f.h5"]


def test_a_signal_leaves_no_incomplete_file(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("a", np.arange(10))
    program = (
        "import os, sys, scda._export\nnumber = int(sys.argv.pop())\n"
        "scda._export.write_attributes = lambda *_, **more: os.kill(os.getpid(), number)\n"
        "from scda.__main__ import main; sys.exit(main())"
    )
    for number, code in ((1, 129), (2, 130), (15, 143)):
        command = [sys.executable, "-c", program, "export", "f.scda", "f.h5", str(number)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=tmp_path)
        assert done.returncode == code and done.stderr == "", done
        assert [entry.name for entry in tmp_path.iterdir()] == ["f.scda"]


POINT = np.dtype([("a", "i4"), ("b", "f8"), ("t", "S3")])
FILLS: dict[str, tuple[Any, Any]] = {
    "moments": (np.arange(4).astype("M8[s]"), np.datetime64(7, "s")),
    "no moments": (np.arange(4).astype("M8[ns]"), np.datetime64("NaT", "ns")),
    "spans": (np.arange(4).astype("m8[ms]"), np.timedelta64(-5, "ms")),
    "points": (np.zeros(4, POINT), np.array((-1, np.nan, b"no"), POINT)[()]),
    "nested": (np.zeros(4, [("v", "f4", (2,)), ("p", POINT)]), ((1, 2), (3, 4.0, b"q"))),
    "arrays": (np.zeros(4, [("v", "i2", (3,))]), ([1, 2, 3],)),
    "yes": (np.zeros(4, bool), True),
    "texts": (np.array(["a"] * 4), "é"),
}
# Those that one of the formats has not.
BYTES = {"letters": (np.array([b"ab"] * 4, "S4"), b"none"), "any length": ([b"a"] * 4, b"none")}


@pytest.mark.parametrize("chunks", [None, 2])
@pytest.mark.parametrize(("ending", "lost"), [("h5", ["any length"]), ("nc", ["letters", "any length"])])
def test_fill_values_of_all_types(ending: str, lost: list[str], chunks: Any, tmp_path: Path) -> None:
    """They come back, or the export says that they do not; the items do in any case."""
    with scda.create(tmp_path / "f.scda") as w:
        for name, (data, fill) in {**FILLS, **BYTES}.items():
            dtype = bytes if isinstance(data, list) else data.dtype
            if dtype is not bytes and dtype.names:
                fill = np.array(fill, dtype)[()]
            w.dataset(name, data, dtype=dtype, fill_value=fill, chunks=None if dtype is bytes else chunks)
    told = scda.export(tmp_path / "f.scda", tmp_path / f"f.{ending}")
    assert len(told) == len(lost) and all(f"'{name}': found a fill value" in line for name, line in zip(lost, told)), told
    with h5py.File(tmp_path / f"f.{ending}") as h:
        assert h["moments"].fillvalue == 7 and h["points"].fillvalue["a"] == -1 and h["arrays"].fillvalue["v"].tolist() == [1, 2, 3]
    scda.import_(tmp_path / f"f.{ending}", tmp_path / "g.scda")
    with scda.open(tmp_path / "f.scda") as a, scda.open(tmp_path / "g.scda") as b:
        for name in a:
            assert a[name].dtype == b[name].dtype, name
            items = [str(each[name][...].tolist()) for each in (a, b)]
            assert items[0] == items[1], name
            assert b[name]._description.fill == (b"\0" * len(b[name]._description.fill) if name in lost else a[name]._description.fill), name
