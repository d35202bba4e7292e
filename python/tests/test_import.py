"""scda import: what goes over unchanged, compared with what the libraries of HDF5 and NetCDF read, and what is left out, and told."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda
from arrays import names
from conftest import SECONDS

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")
xr = pytest.importorskip("xarray")

from scda import _hdf5_items, _importer, _progress  # noqa: E402
from scda._import import convert  # noqa: E402


def write_netcdf(path: Path) -> None:
    """Every type of attribute, a record dimension, packed data, flags, coordinates."""
    with netCDF4.Dataset(path, "w") as nc:
        nc.title, nc.plain, nc.empty, nc.text_nan = "ein Fluß", "plain", "", "NaN"
        nc.n, nc.levels, nc.x, nc.nan = np.int16(3), np.array([1, 2, 3], "i4"), np.float32(0.1), np.nan
        nc.inf, nc.nans = np.float32(-np.inf), np.array([1.0, np.nan])
        nc.setncattr_string("string", "a")
        nc.setncattr_string("strings", ["a", "bé"])
        nc.big = np.uint64(2**63)
        for name, size in (("time", None), ("x", 4), ("y", 3), ("unused", 7)):
            nc.createDimension(name, size)
        more = {"zlib": True, "shuffle": True, "chunksizes": (1, 3, 4)}
        nc.createVariable("time", "f8", ("time",))[:] = [0, 1, 2.5]
        nc["time"].units, nc["time"].calendar = "days since 2000-01-01", "standard"
        nc.createVariable("x", "f4", ("x",))[:] = range(4)
        nc["x"].units = "m"
        flags = nc.createVariable("flags", "i1", ("time", "y", "x"), fill_value=-1, **more)
        flags.flag_values, flags.flag_meanings = np.array([0, 1, 2], "i1"), "dry wet ice"
        flags.valid_range = np.array([0, 2], "i1")
        flags[:] = np.arange(36).reshape(3, 3, 4) % 3
        packed = nc.createVariable("packed", "i2", ("time", "y", "x"))
        packed.set_auto_maskandscale(False)
        packed.scale_factor, packed.add_offset, packed.missing_value = np.float32(0.5), 2.0, np.int16(-9)
        packed[:] = np.arange(36).reshape(3, 3, 4) - 10
        nc.createVariable("u", "f8", ("y",), fill_value=np.nan)[:] = [1, np.nan, 3]
        nc["u"].valid_min = 0.0
        nc.createVariable("crs", "i4", ())[...] = 7
        group = nc.createGroup("sub")
        group.note = "n"
        group.createDimension("z", 2)
        group.createDimension("grows", None)
        group.createVariable("w", "f4", ("time", "z"))[:] = np.arange(6.0).reshape(3, 2)
        group["w"].small = np.uint8(2)


def test_netcdf_is_the_same_in_xarray(tmp_path: Path) -> None:
    old, new = tmp_path / "old.nc", tmp_path / "new.scda"
    write_netcdf(old)
    assert convert(str(old), str(new), tell=pytest.fail) == 0
    for group in ("/", "sub"):
        for decode in (True, False):
            options = {"group": group, "decode_cf": decode}
            with xr.open_dataset(old, engine="netcdf4", **options) as a, xr.open_dataset(new, engine="scda", **options) as b:
                for name in ("imported", "scda_json"):
                    b.attrs.pop(name, None)
                # Coordinates of the groups around it, too.
                xr.testing.assert_identical(a.load(), b.load().drop_vars(set(b.coords) - set(a.coords)))
                assert b.encoding["unlimited_dims"] == {"time"}
    with scda.open(new) as f:
        assert f.attrs["scda_dimensions"]["unused"] == 7 and f["flags"].dims == ("time", "y", "x")


def odd_hdf5(path: Path) -> None:
    """What no dataset can be, beside what can."""
    with h5py.File(path, "w") as h:
        h["good"] = np.arange(3)
        h["good"].attrs["latin"] = np.bytes_("Überfluß".encode("latin-1"))
        h["good"].attrs["bytes"] = np.bytes_(b"\x81\xff\x01")
        h["good"].attrs["table"] = np.zeros(2, "i4,f8")
        h["good"].attrs["ref"] = h["good"].ref
        h["g/table"] = np.zeros(2, "i4,f8")
        h.create_dataset("g/lists", 2, h5py.regionref_dtype)
        h["g/empty"] = h5py.Empty("f4")
        h["g/texts"] = ["a", "b"]
        h["g/" + "long " * 20] = [1.5]
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((4,))
        properties.set_filter(39999, h5py.h5z.FLAG_OPTIONAL, (1,))
        space = h5py.h5s.create_simple((4,))
        packed = h5py.h5d.create(h.id, b"packed", h5py.h5t.STD_I32LE, space, properties)
        packed.write_direct_chunk((0,), b"no such filter here", 0)
        h["last"] = 7


def test_import_goes_on(tmp_path: Path) -> None:
    odd_hdf5(tmp_path / "f.h5")
    command = [sys.executable, "-m", "scda", "import", "f.h5", "f.scda"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=tmp_path)
    assert done.returncode == 3 and done.stdout == "", done
    lines = done.stderr.splitlines()
    for line, (what, why) in zip(
        lines,
        [
            ("'g/lists'", "found region references"),
            ("'packed'", r"found filter 39999 \(without a name\), which is not available in this HDF5"),
        ],
    ):
        assert re.fullmatch(f"scda: f.h5: {what}: {why}.*; it is left out", line), line
    assert lines[2:] == ["scda: f.h5: 2 objects were left out; f.scda has everything else"]
    with scda.open(tmp_path / "f.scda", verify=True) as f:
        assert len(f["g"]) == 4 and f["g/empty"].shape == (0,) and int(f["last"][...]) == 7
        assert f["good"].attrs["latin"] == "Überfluß" and f.attrs["imported"]["complete"] is False
    done = subprocess.run([*command, "-f", "--strict"], capture_output=True, text=True, timeout=SECONDS, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "'g/lists'" in done.stderr, done
    done = subprocess.run(
        [*command, "-f", "--without", "good", "--without", "packed", "--without", "g/[elt]*"], cwd=tmp_path
    )
    assert done.returncode == 0


def test_names_that_are_no_utf_8_are_left_out(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as h:
        h["good"] = 1
        space = h5py.h5s.create_simple((1,))
        h5py.h5d.create(h.id, b"caf\xe9", h5py.h5t.STD_I32LE, space)
        h5py.h5a.create(h["good"].id, b"\xe9t\xe9", h5py.h5t.STD_I32LE, space).write(np.zeros(1, "i4"))
    told: list[str] = []
    assert convert(str(tmp_path / "f.h5"), str(tmp_path / "f.scda"), tell=told.append) == 2
    assert all("not valid UTF-8; it is left out" in line for line in told)
    with scda.open(tmp_path / "f.scda") as f:
        assert names(f) == ["good"] and f["good"].attrs == {}


def test_attributes_beyond_the_limit_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_importer, "_MOST_ATTRIBUTE_BYTES", 1000)
    with h5py.File(tmp_path / "f.h5", "w") as h:
        h["u"] = 1
        h["u"].attrs.update({"small": 1, "large": np.arange(1000), "units": "m"})
    told: list[str] = []
    assert convert(str(tmp_path / "f.h5"), str(tmp_path / "f.scda"), tell=told.append) == 1
    assert len(told) == 1 and "'u': attribute 'large': found" in told[0]
    with scda.open(tmp_path / "f.scda") as f:
        assert f["u"].attrs == {"small": 1, "units": "m"} and f.attrs["imported"]["complete"] is True


LONG = "a/long path of groups/that has/more than fifty-eight bytes/" + "é" * 30


@pytest.mark.parametrize("seal", [True, False])
def test_long_names(seal: bool, tmp_path: Path) -> None:
    """They are found by the full name, and listed by it."""
    group = LONG.rpartition("/")[0]
    other = LONG[:-1] + "x"
    with scda.create(tmp_path / "f.scda", seal=seal) as w:
        w.group(group, {"title": "long"})
        w.dataset(LONG, np.arange(3.0), attrs={"units": "m"})
        w.dataset(other, np.arange(4.0), chunks=2)
        w.dataset(LONG, np.arange(3.0) + 1, attrs={"units": "m"})
        w.dataset("a/short", 1)
    with scda.open(tmp_path / "f.scda") as f:
        assert names(f) == [LONG, other, "a/short"] and names(f[group]) == [
            LONG[len(group) + 1 :],
            other[len(group) + 1 :],
        ]
        assert f[LONG, 1][...].tolist() == [1, 2, 3] and f[LONG.encode(), 0].name == LONG
        assert len(f.records(LONG)) == 2 and LONG in f and LONG[:-1] not in f
        assert f[LONG, 0].attrs == {"units": "m"} and f[group].attrs == {"title": "long"}
        assert f.read_datasets([other])[other].tolist() == [0, 1, 2, 3]
        section = f[LONG, 0].section
        assert len(section.user) <= 58 and re.fullmatch(r"a/long path of .*~[0-9a-f]{16}", section.user_text)
        metadata = json.loads(f.sections[section.index - 1].read())
        assert metadata["attributes"] == {"scda_name": LONG, "units": "m"}
    with h5py.File(tmp_path / "f.h5", "w") as h:
        h[LONG] = [1.0, 2.0]
        h[group].attrs["title"] = "long"
    convert(str(tmp_path / "f.h5"), str(tmp_path / "g.scda"), tell=pytest.fail)
    with scda.open(tmp_path / "g.scda") as f:
        assert names(f) == [LONG] and f[LONG][1] == 2 and f[group].attrs["title"] == "long"


@pytest.mark.parametrize("ending", ["h5", "nc"])
def test_groups_go_through_xarray(ending: str, tmp_path: Path) -> None:
    """What the file itself has is a dataset that NetCDF can have; groups are opened by their names, or all as a tree."""
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("x", np.arange(6.0), dims=["x"])
        w.dataset("u", np.arange(6.0), dims=["x"])
        w.dataset("a/u", np.arange(6.0), dims=["x"])
        w.dataset("a/b/v", np.arange(3.0))
        w.dataset("a/b/c/deep", np.arange(3.0))
    engine = {"h5": "h5netcdf", "nc": "netcdf4"}[ending]
    for group, found in (("/", ["u"]), ("a", ["u"]), ("a/b", ["v"])):
        with xr.open_dataset(tmp_path / "f.scda", group=group) as ds:
            assert list(ds.data_vars) == found
            ds.to_netcdf(tmp_path / "out.nc", engine=engine)
            with xr.open_dataset(tmp_path / "out.nc", engine=engine) as again:
                xr.testing.assert_identical(again.load(), ds.load())
    with xr.open_datatree(tmp_path / "f.scda", engine="scda") as tree:
        assert {"/", "/a", "/a/b", "/a/b/c"} == set(tree.groups)
        tree.to_netcdf(tmp_path / "tree.nc", engine=engine)


def test_progress_is_shown_on_a_terminal(tmp_path: Path) -> None:
    command = ["import", "f.h5", "g.scda"]
    with h5py.File(tmp_path / "f.h5", "w") as h:
        h.create_dataset("u", data=np.ones((512, 1024)), chunks=(64, 1024), compression=1)
        h["v"] = np.ones((512, 1024))
    program = (
        "import sys, scda._progress as p; p._PATIENCE = p._INTERVAL = 0\n"
        "from scda.__main__ import main; sys.exit(main())"
    )
    line = [sys.executable, "-c", program, *command]
    ours, theirs = pty.openpty()
    running = subprocess.Popen(line, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert running.wait(SECONDS) == 0
    name = re.escape(command[1].encode())
    assert re.search(rb"\r\x1b\[K" + name + rb"  +[0-9]+ %  [0-9]+ MiB  [0-9]+ MiB/s", shown), shown
    assert shown.endswith(b"\r\x1b[K"), shown
    (tmp_path / command[2]).unlink()
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, timeout=SECONDS)
    assert done.returncode == 0 and done.stdout == done.stderr == b""


def test_a_line_of_progress_fits() -> None:
    for text, columns, expected in (
        ("f.h5  10 %", 80, "f.h5  10 %"),
        ("f.h5  10 %", 5, " 10 %"),
        ("語 10 %", 6, " 10 %"),
    ):
        assert _progress._cut(text, columns) == expected
    assert shutil.get_terminal_size().columns > 0


def test_fill_values_of_texts_survive(tmp_path: Path) -> None:
    """Also if they are longer than all texts that were written."""
    with h5py.File(tmp_path / "a.h5", "w") as h:
        for name, kind in (("utf", h5py.string_dtype()), ("ascii", h5py.string_dtype("ascii")), ("fixed", "S9")):
            h.create_dataset(name, (4,), kind, chunks=(2,), fillvalue=b"nothing")[1] = b"a"
        h.create_dataset("whole", (2,), h5py.string_dtype(), fillvalue="nöthing")[...] = ["a", "b"]
        h.create_dataset("plain", (2,), h5py.string_dtype())[0] = "a"
        h.create_dataset("struct", (2,), "i4,S3", fillvalue=np.array((7, b"abc"), "i4,S3"))
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as nc:
        nc.createDimension("x", 3)
        nc.createVariable("s", str, ("x",), fill_value="none")[1] = "a"
    for ending, found in (("h5", ["ascii", "fixed", "plain", "struct", "utf", "whole"]), ("nc", ["s"])):
        old, new = tmp_path / f"a.{ending}", tmp_path / f"{ending}.scda"
        assert convert(str(old), str(new), tell=pytest.fail) == 0
        # HDF5 makes fill values of texts only in a file that it may write.
        with h5py.File(old, "r+") as a, scda.open(new) as f:
            for name in found:
                text = isinstance(a[name].fillvalue, bytes) and f[name].dtype.kind in "UO"
                fill = a[name].fillvalue.decode() if text else a[name].fillvalue
                items = a[name].asstr()[()] if text else a[name][()]
                assert f[name].fill_value == fill and f[name][...].tolist() == items.tolist(), name


def test_groups_of_netcdf_keep_their_dimensions_and_types(tmp_path: Path) -> None:
    """Also a dimension that only groups below have, and what a dimension that grew has not."""
    struct = np.dtype([("n", "i4"), ("text", "S1", (5,))])
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as d:
        d.createDimension("x", 3)
        d.createDimension("step", None)
        d.createDimension("unused", 2)
        low = d.createGroup("a").createGroup("low")
        colour = d["a"].createEnumType("u2", "colour", {"red": 1, "blue": 3})
        row = low.createVLType("i2", "row")
        pair = low.createCompoundType(struct, "pair")
        low.createVariable("c", colour, ("x",))[:] = [1, 3, 3]
        low.createVariable("p", pair, ("x",))[:] = np.array([(1, list("abc") + ["", ""])] * 3, struct)
        lists = low.createVariable("l", row, ("step",))
        lists[0] = np.array([1, 2], "i2")
        low.createVariable("t", "f4", ("step", "x"))[:] = np.ones((4, 3))
    assert convert(str(tmp_path / "a.nc"), str(tmp_path / "f.scda"), strict=True) == 0
    with scda.open(tmp_path / "f.scda") as f:
        assert f.attrs["scda_dimensions"] == {"step": None, "unused": 2, "x": 3}
        assert f["a/low/c"][:].tolist() == [1, 3, 3] and f["a/low/c"].attrs["scda_enum"] == {"red": 1, "blue": 3}
        assert f["a/low/p"].dtype.names == ("n", "text") and f["a/low/p"][0]["n"] == 1
        offsets, values = f["a/low/l"].to_ragged()
        assert (offsets.tolist(), values.tolist()) == ([0, 2, 2, 2, 2], [1, 2]) and f["a/low/t"].shape == (4, 3)


def write_bools(path: Path, others: list[int]) -> None:
    """Bools of HDF5, and int8 that says that it is bool, with other bytes among them."""
    raw = np.array([0, 1, *others], "i1")
    with h5py.File(path, "w") as file:
        for name, options in {"plain": {}, "chunked": {"chunks": (2,), "compression": "gzip"}}.items():
            made = file.create_dataset(name, raw.shape, "?", **options)
            made.id.write(h5py.h5s.ALL, h5py.h5s.ALL, raw.view("?"), mtype=made.id.get_type())
        file.create_dataset("never", (3,), "?", chunks=(3,), fillvalue=True)
        file.create_dataset("int8", data=raw).attrs["dtype"] = "bool"


@pytest.mark.parametrize("others", [[], [2], [-127, 0]])
def test_bools_with_other_values_are_kept_as_integers(others: list[int], tmp_path: Path) -> None:
    write_bools(tmp_path / "a.h5", others)
    assert scda.import_(tmp_path / "a.h5", tmp_path / "a.scda", strict=True) == []
    with scda.open(tmp_path / "a.scda") as f:
        for each in ("plain", "chunked", "int8"):
            assert f[each][...].tolist() == [0, 1, *others] and f[each].dtype == ("i1" if others else "?")
        assert f["never"].dtype == "?" and f["never"][...].all() and ("scda_enum" in f["plain"].attrs) == bool(others)
        assert f["int8"].attrs.get("dtype") == ("bool" if others else None)


def test_classic_netcdf_is_refused(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC"):
        pass
    with pytest.raises(scda.FormatError, match="byte 0: found a classic format of NetCDF, .* .nccopy -k nc4 OLD.nc NEW.nc"):
        scda.import_(tmp_path / "a.nc", tmp_path / "a.scda")


def test_steps_of_a_mask_that_were_never_written(tmp_path: Path) -> None:
    """They are NetCDF's fill value, -127."""
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("time", None)
        for name in ("wet", "dry"):
            file.createVariable(name, "i1", ("time",)).setncattr("dtype", "bool")
            file[name][:2] = [0, 1]
        file.createVariable("time", "f8", ("time",))[:] = range(4)
        file["dry"][2:] = 0
    scda.import_(tmp_path / "a.nc", tmp_path / "a.scda", strict=True)
    with scda.open(tmp_path / "a.scda") as f:
        assert f["wet"][...].tolist() == [0, 1, -127, -127] and f["wet"].attrs["dtype"] == "bool"
        assert f["dry"].dtype == "?" and f["dry"][:].tolist() == [False, True, False, False]


def test_numbers_of_a_type_of_their_own_are_reported(tmp_path: Path) -> None:
    """Their values are kept, their type is not; a struct with other values than bools is left out."""
    brain = h5py.h5t.IEEE_F32LE.copy()
    brain.set_fields(15, 7, 8, 0, 7)
    brain.set_size(2)
    brain.set_ebias(127)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        made = h5py.h5d.create(file.id, b"brain", brain, h5py.h5s.create_simple((2,)))
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1, -2], "f4"))
        raw = np.array([(1, 0), (2, 0)], [("a", "i1"), ("b", "i1")])
        bools = file.create_dataset("bools", (2,), [("a", "?"), ("b", "i1")])
        bools.id.write(h5py.h5s.ALL, h5py.h5s.ALL, raw.view("V2").view([("a", "?"), ("b", "i1")]), mtype=bools.id.get_type())
    lines = scda.import_(tmp_path / "a.h5", tmp_path / "a.scda")
    expected = ["'bools': found the bool 2, expected 0 or 1", "'brain': found .* 2 bytes, 8 bits.*exponent"]
    assert len(lines) == len(expected) and all(re.search(*pair) for pair in zip(expected, sorted(lines))), lines
    with scda.open(tmp_path / "a.scda") as f:
        assert list(f) == ["brain"] and f["brain"][...].tolist() == [1, -2]
    with pytest.raises(scda.ArgumentError, match="'brain': found .* exponent"):
        scda.import_(tmp_path / "a.h5", tmp_path / "b.scda", strict=True, without=["bools"])


def objects(items: list[Any]) -> Any:
    made = np.empty(len(items), object)
    made[:] = items
    return made


def write_lists(path: Path) -> None:
    points = np.dtype([("x", ">f8"), ("n", "i2", (2,))], align=True)
    kinds: dict[str, tuple[Any, list[Any]]] = {
        "integers": (np.int32, [[1, 2, 3], [], [-4]]),
        "big": (np.dtype(">f4"), [[0.5], [np.nan, -0.0], []]),
        "bools": (np.bool_, [[True, False], [], [True]]),
        "colours": (h5py.enum_dtype({"red": 1, "blue": 2}, "u1"), [[1, 2], [2], []]),
        "complex": (np.complex128, [[1 + 2j], [], [3j]]),
        "words": (np.dtype("S3"), [[b"abc", b"d"], [], [b""]]),
        "points": (points, [np.array([(1.5, (1, 2)), (2.5, (3, 4))], points), np.zeros(0, points), np.ones(1, points)]),
    }
    with h5py.File(path, "w") as h:
        for name, (base, lists) in kinds.items():
            kind = h5py.vlen_dtype(base)
            h.create_dataset(name, data=objects([np.array(each, base) for each in lists]), dtype=kind)
        # Shapes, chunks, compression, room to grow; one item; none; never written.
        matrix = np.empty((2, 3), object)
        for number in range(6):
            matrix[number // 3, number % 3] = np.arange(number, dtype="i8")
        more = {"chunks": (1, 3), "maxshape": (None, 3), "compression": "gzip"}
        h.create_dataset("matrix", data=matrix, dtype=h5py.vlen_dtype("i8"), **more)
        one = h.create_dataset("one", (), h5py.vlen_dtype("f8"))
        one[()] = np.array([1.0, 2.0])
        h.create_dataset("none", (0,), h5py.vlen_dtype("f8"), maxshape=(None,))
        h.create_dataset("unwritten", (3,), h5py.vlen_dtype("f8"))
        h["t/named"] = h5py.vlen_dtype("i4")
        h.create_dataset("of a named type", (2,), h["t/named"])[0] = [1, 2]
        h.attrs["text"] = "kept"


def test_lists_of_hdf5(tmp_path: Path) -> None:
    write_lists(tmp_path / "a.h5")
    assert convert(str(tmp_path / "a.h5"), str(tmp_path / "f.scda"), tell=pytest.fail) == 0
    with scda.open(tmp_path / "f.scda") as f:
        for name, expected in (("integers", [1, 2, 3, -4]), ("complex", [1 + 2j, 3j]), ("big", [0.5, np.nan, -0.0])):
            offsets, values = f[name].to_ragged()
            assert repr(values.tolist()) == repr(expected) and len(offsets) == 4 and offsets[-1] == len(values), name
        assert f["matrix"].to_ragged()[0].tolist() == [0, 0, 1, 3, 6, 10, 15]
        assert f["one"].to_ragged()[1].tolist() == [1, 2] and f["words"].to_ragged()[1].tobytes() == b"abcd\0\0\0\0\0"
        with pytest.raises(ValueError, match="element 0: found 12 bytes, expected a multiple of 8"):
            f["integers"].to_ragged("<f8")
        assert np.frombuffer(f["big"][0], "<f4").tolist() == [0.5] and f["points"][0][:8] == np.float64(1.5).tobytes()


def test_lists_in_other_items_are_left_out(tmp_path: Path) -> None:
    member = [("id", "i4"), ("list", h5py.vlen_dtype("u2"))]
    with h5py.File(tmp_path / "a.h5", "w") as h:
        h.create_dataset("lists of lists", (2,), h5py.vlen_dtype(h5py.vlen_dtype("i8")))
        h.create_dataset("lists of texts", (2,), h5py.vlen_dtype(h5py.string_dtype()))
        h.create_dataset("structs", (2,), np.dtype(member))
        h["good"] = [1, 2]
    lines = scda.import_(tmp_path / "a.h5", tmp_path / "a.scda")
    assert len(lines) == 3 and all(re.search("'(lists of|structs).*': found lists of", line) for line in lines), lines
    with scda.open(tmp_path / "a.scda") as f:
        assert list(f) == ["good"]


def test_texts_that_differ_much_in_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each as long as the longest one would take too much: they have any length."""
    monkeypatch.setattr(_hdf5_items, "_MOST_TEXT_BYTES", 1000)
    with h5py.File(tmp_path / "a.h5", "w") as h:
        h["texts"] = ["a"] * 1000 + ["ä" * 5000]
        h["bytes"] = objects([b"a"] * 1000 + [b"\xff" * 5000])
        table = np.zeros(1001, np.dtype([("n", "i4"), ("text", h5py.string_dtype())]))
        table["text"] = [b"a"] * 1000 + [b"b" * 5000]
        h["table"] = table
    told: list[str] = []
    assert convert(str(tmp_path / "a.h5"), str(tmp_path / "f.scda"), tell=told.append) == 1
    assert "'table': found texts of very different lengths in a compound type" in told[0]
    with scda.open(tmp_path / "f.scda") as f:
        assert f["texts"][1000] == "ä" * 5000 and f["bytes"][1000] == b"\xff" * 5000


def test_types_and_lengths_of_netcdf(tmp_path: Path) -> None:
    """Structs in structs, enumerations; and a dimension that may grow, of which variables have been written as far as they are."""
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as nc:
        nc.createDimension("x", 3)
        nc.createDimension("t", None)
        inner = nc.createCompoundType(np.dtype([("a", "f4"), ("b", "i2", (2,))], align=True), "inner")
        outer = nc.createCompoundType(np.dtype([("i", "i8"), ("in", inner.dtype)], align=True), "outer")
        cloud = nc.createEnumType(np.uint8, "cloud", {"clear": 0, "cumulus": 1, "missing": 255})
        table = np.zeros(3, outer.dtype)
        table["i"], table["in"]["b"] = [1, 2, 3], [[1, 2], [3, 4], [5, 6]]
        nc.createVariable("table", outer, ("x",))[:] = table
        nc.createVariable("clouds", cloud, ("t", "x"), fill_value=255)[:] = np.array([[0, 1, 255]], "u1")
        nc.createVariable("plain", "f8", ("t", "x"), fill_value=-1.0)[:] = np.ones((2, 3))
        nc.createVariable("packed", "i4", ("t",), zlib=True, chunksizes=(2,))[:] = [7]
        nc.createVariable("none", "i2", ("x", "t"))
        group = nc.createGroup("g")
        group.createVariable("long", "i8", ("t",), fill_value=-9)[:] = np.arange(5)
    assert convert(str(tmp_path / "a.nc"), str(tmp_path / "f.scda"), tell=pytest.fail) == 0
    with scda.open(tmp_path / "f.scda") as f:
        assert f["table"]["in"]["b"].tolist() == [[1, 2], [3, 4], [5, 6]] and f["table"]["i"].tolist() == [1, 2, 3]
        assert f["clouds"].attrs["scda_enum"] == {"clear": 0, "cumulus": 1, "missing": 255}
        assert f["none"].shape == (3, 5) and f["g/long"][:].tolist() == list(range(5))
    with xr.open_dataset(tmp_path / "f.scda", engine="scda", mask_and_scale=False) as ds:
        assert ds.sizes["t"] == 5 and ds.plain[:, 0].values.tolist() == [1, 1, -1, -1, -1]
        assert ds.packed.values.tolist()[0] == 7 and ds.clouds.values[1:].min() == 255


def test_attributes_of_hdf5(tmp_path: Path) -> None:
    """Of all types, in JSON; and as xarray gets them."""
    types = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "?")
    with h5py.File(tmp_path / "a.h5", "w") as h:
        h["u"] = np.arange(3.0)
        attrs = h["u"].attrs
        for dtype in types:
            attrs[f"scalar {dtype}"], attrs[f"one {dtype}"] = np.array(1, dtype)[()], np.ones(1, dtype)
            attrs[f"none {dtype}"], attrs[f"null {dtype}"] = np.ones((0, 2), dtype), h5py.Empty(dtype)
            attrs[f"matrix {dtype}"] = np.arange(6).reshape(2, 3).astype(dtype)
        attrs["nan"], attrs["text nan"], attrs["empty"] = np.float32(np.nan), "NaN", ""
        attrs["fixed é"], attrs["texts"] = np.array("é".encode(), "S9"), ["a", "é"]
        attrs["null text"], attrs["opaque"] = h5py.Empty("S1"), np.void(b"abc")
    assert convert(str(tmp_path / "a.h5"), str(tmp_path / "a.scda"), tell=pytest.fail) == 0
    with scda.open(tmp_path / "a.scda") as f:
        found = f["u"].attrs
        for dtype in types:
            one = [1.0, 0.0] if dtype[0] == "c" else dtype == "?" or 1
            assert found[f"scalar {dtype}"] == found[f"one {dtype}"] == one, dtype
            assert found[f"none {dtype}"] == found[f"null {dtype}"] == [] and np.shape(found[f"matrix {dtype}"])[:2] == (2, 3)
        assert np.isnan(found["nan"])
        assert (found["text nan"], found["empty"], found["null text"]) == ("NaN", "", "")
        assert (found["fixed é"], found["texts"], found["opaque"]) == ("é", ["a", "é"], [97, 98, 99])
        assert found["scda_types"]["scalar f4"] == "float32" and found["scda_types"]["text nan"] == "string"
    with xr.open_dataset(tmp_path / "a.scda", engine="scda") as ds:
        attrs = ds.u.attrs
        assert np.isnan(attrs["nan"]) and attrs["text nan"] == "NaN" and attrs["scalar i2"].dtype == "i2"
        assert attrs["none f4"] == "[]"


def test_types_of_hdf5(tmp_path: Path) -> None:
    """Structs, enumerations and texts in them, arrays, texts, references, no data space, both byte orders."""
    colour = h5py.enum_dtype({"red": 1, "blue": 2}, "u1")
    member = [("x", ">f8", (3,)), ("name", "S4"), ("on", "?"), ("colour", colour), ("text", h5py.string_dtype())]
    with h5py.File(tmp_path / "a.h5", "w") as h:
        h["t/named"] = np.dtype("i4,f8")
        h.create_dataset("table", (2,), h["t/named"], chunks=(1,), maxshape=(None,))[...] = [(1, 2.5), (3, 4)]
        h.create_dataset("mixed", (2,), np.dtype(member))["name"] = b"abcd"
        h.create_dataset("aligned", data=np.zeros(3, np.dtype("i1,f8", align=True)))
        h.create_dataset("rows", (4,), np.dtype(("i2", (2, 3))))[...] = np.arange(24).reshape(4, 2, 3)
        h["texts"], h["empty"], h["big"] = ["a", "äöü", ""], h5py.Empty("f4"), np.arange(3, dtype=">i4")
        h.create_dataset("to", data=[h["texts"].ref, h["t"].ref, h5py.Reference()], dtype=h5py.ref_dtype)
        h["table"].attrs["struct"] = np.array([(1, 2)], "i4,>f8")
        h["table"].attrs["bytes"], h["table"].attrs["to"] = np.bytes_(b"\x81\xff\x01"), h["texts"].ref
        lists = np.array([None, None])
        lists[:] = [np.array([b"a", b"b"], "S1"), np.array([b"c"], "S1")]
        h["table"].attrs.create("MATLAB_fields", lists, dtype=h5py.vlen_dtype("S1"))
    assert convert(str(tmp_path / "a.h5"), str(tmp_path / "a.scda"), tell=pytest.fail) == 0
    with scda.open(tmp_path / "a.scda") as f:
        assert f["table"][...].tolist() == [(1, 2.5), (3, 4)] and f["table"].attrs["scda_max_shape"] == [None]
        assert str(f["mixed"][0].tolist()) == "(array([0., 0., 0.]), b'abcd', False, 0, '')" and f["aligned"].dtype == "i1,f8"
        assert f["rows"][...].tolist() == np.arange(24).reshape(4, 2, 3).tolist() and f["big"][:].tolist() == [0, 1, 2]
        assert f["texts"][...].tolist() == ["a", "äöü", ""] and f["to"][...].tolist() == ["/texts", "/t", ""]
        assert f["empty"].shape == (0,) and f["empty"].attrs == {"scda_max_shape": None}
        attrs = f["table"].attrs
        assert attrs["struct"] == [[1, 2]] and attrs["bytes"] == [0x81, 0xFF, 1] and attrs["to"] == "/texts"
        assert attrs["MATLAB_fields"] == [["a", "b"], ["c"]]


