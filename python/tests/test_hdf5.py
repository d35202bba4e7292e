"""scda import of HDF5, NetCDF-4 and .npz, compared with numpy."""

from __future__ import annotations

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
from arrays import TYPES, names, random_items, random_shape
from conftest import SECONDS

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")
xr = pytest.importorskip("xarray")

from scda import _temporary  # noqa: E402
from scda._commands import new_file  # noqa: E402
from scda._import import convert  # noqa: E402

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
    monkeypatch.setattr(_temporary, "_MOST_HELD", held)
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
        types = {"scda_types": {"a": "float32"}}
        attrs = dict(f["contiguous"].attrs)
        assert np.isnan(attrs.pop("b")) and attrs == {"a": 0.5, "c": "text", "d": [1, 2], "e": True, **types}
        assert f["enumeration"].attrs == {"scda_enum": {"a": 1, "b": 2}}
        assert f["gzip"].fill_value == 3 and f["unwritten"].fill_value == 2.5
        for name in ("all fill", "unwritten"):
            assert f[name].section.sizes().tolist() == [0, 0]
    # Every reader of the format reads it.
    done = subprocess.run([sys.executable, "-c", "import scda; scda.verify('f.scda')"], cwd=tmp_path, timeout=SECONDS)
    assert done.returncode == 0


def test_what_scda_has_not(tmp_path: Path) -> None:
    path = tmp_path / "f.h5"
    for name, options, words in (
        ("refs", {"shape": 2, "dtype": h5py.regionref_dtype}, "'g/refs': found region references"),
        ("table", {"shape": 2, "dtype": [("a", h5py.regionref_dtype)]}, "'g/table': found region references"),
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
    with scda.open(tmp_path / "f.scda") as f:
        links = {"loop": {"hard": "/"}, "out": {"external": ["other.h5", "/x"]}, "soft": {"soft": "/a/b"}}
        assert told == [] and f["a"].attrs == {"odd": [[0, 0], [0, 0]], "even": 2, "scda_links": links}


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
        (content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :], "f.h5: 'a': "),
        (content[:4], "f.h5: byte 0: expected the beginning of a file of HDF5"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(scda.FormatError, match=words):
            convert(str(path), out)
        assert [entry.name for entry in tmp_path.iterdir()] == ["f.h5"]
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


def test_errors_of_the_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    foreign(Path("f.h5"))
    Path("bad.h5").write_bytes(Path("f.h5").read_bytes()[:-9])
    with scda.create("words.scda") as w:
        w.dataset("words", ["a", "b"], dtype=str)
    for run, error, path in (
        (lambda: scda.import_("bad.h5", "x.scda"), scda.FormatError, "bad.h5"),
        (lambda: scda.vtk("none", "x.vtkhdf", copy=True), scda.NoSuchFileError, str(Path("none").absolute())),
        (lambda: scda.vtk("none", "x.vtkhdf"), scda.NoSuchFileError, "none"),
        (lambda: scda.vtk("words.scda", "none/x.vtkhdf"), scda.NoSuchFileError, None),
        (lambda: scda.vtk("words.scda", "f.h5"), scda.ExistsError, "f.h5"),
        (lambda: scda.vtk("words.scda", "x.vtkhdf", group="x"), scda.ArgumentError, "words.scda"),
    ):
        with pytest.raises(scda.Error) as raised:
            run()
        assert type(raised.value) is error and (path is None or raised.value.path == path), raised.value
    with pytest.raises(scda.ArgumentError, match="^words.scda: found no forest; for other meshes"):
        scda.vtk("words.scda")
    assert {entry.name for entry in Path().iterdir()} == {"f.h5", "bad.h5", "words.scda"}


def test_what_is_not_left_out_is_said_once(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "odd.h5", "w") as h:
        h["be"] = [1, 2]
        h["be"].attrs["ld"] = np.zeros(2, "g")
    with pytest.raises(scda.ArgumentError) as raised:
        convert(str(tmp_path / "odd.h5"), str(tmp_path / "o.scda"), strict=True)
    assert re.fullmatch(r"\S+odd.h5: 'be': attribute 'ld': found \w+; JSON has no such type; without strict=True it is left out", str(raised.value))


def test_the_commands(tmp_path: Path) -> None:
    def run(line: str, code: int = 0, python: tuple[str, ...] = ("-m", "scda")) -> str:
        command = [sys.executable, *python, *line.split()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=tmp_path)
        assert done.returncode == code and done.stdout == "" and "Traceback" not in done.stderr, done
        return done.stderr

    arrays = foreign(tmp_path / "f.h5")
    assert run("import f.h5 a.scda") == ""
    assert "the file exists" in run("import f.h5 a.scda", 2)
    assert "is the file that is being read" in run("import -f f.h5 f.h5", 2)
    run("import -f f.h5 a.scda --no-seal --without big/*")
    with scda.open(tmp_path / "a.scda") as f:
        assert not f.sealed and sorted(names(f)) == sorted(name for name in arrays if not name.startswith("big/"))
    (tmp_path / "bad.h5").write_bytes((tmp_path / "f.h5").read_bytes()[:-9])
    assert "scda: bad.h5: " in run("import bad.h5 b.scda", 1)
    assert "scda: none.h5: No such file" in run("import none.h5 b.scda", 2)
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "h5py.py").write_text("raise ModuleNotFoundError(\"No module named 'h5py'\", name='h5py')")
    program = "import sys; sys.path.insert(0, 'none'); from scda.__main__ import main; sys.exit(main())"
    for line in ("vtk a.scda", "import f.h5 b.scda"):
        hint = run(line, 2, ("-c", program))
        assert "h5py" in hint and "pip install h5py" in hint
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.scda", "bad.h5", "f.h5", "none"]


@pytest.mark.parametrize("error", ["RuntimeError('odd')", "KeyError('odd')", "TypeError('odd')", "MemoryError('odd')"])
def test_errors_of_hdf5_are_told(error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("a", np.arange(10))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("scda._vtk.write", lambda *_, **more: exec(f"raise {error}"))
    of = scda.OutOfMemoryError if "Memory" in error else scda.ArgumentError
    with pytest.raises(scda.Error, match=f"^f.scda: {error.partition('(')[0]}: ") as raised:
        scda.vtk("f.scda", "f.vtkhdf")
    assert (type(raised.value), raised.value.path) == (of, "f.scda")
    assert [entry.name for entry in tmp_path.iterdir()] == ["f.scda"]


def test_a_signal_leaves_no_incomplete_file(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("a", np.arange(10))
    program = (
        "import os, sys, scda._vtk\nnumber = int(sys.argv.pop())\n"
        "scda._vtk.write = lambda *_, **more: os.kill(os.getpid(), number)\n"
        "from scda.__main__ import main; sys.exit(main())"
    )
    for number, code in ((1, 129), (2, 130), (15, 143)):
        command = [sys.executable, "-c", program, "vtk", "f.scda", str(number)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=tmp_path)
        assert done.returncode == code and done.stderr == "", done
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
