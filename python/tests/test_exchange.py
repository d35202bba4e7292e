"""scda export and scda import: what goes over unchanged, compared by the libraries of HDF5 and NetCDF, and what is left out, and told."""

from __future__ import annotations

import ctypes
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda
from arrays import names
from conftest import SECONDS
from forests import Brick, Quadrants, begin, towards

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")
xr = pytest.importorskip("xarray")

from scda import _hdf5, _importer, _progress  # noqa: E402
from scda._export import export  # noqa: E402
from scda._import import convert  # noqa: E402

CLASSIC = ("NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA")


def library_of_netcdf() -> Any:
    """That of C, which the package netCDF4 has loaded."""
    maps = Path("/proc/self/maps").read_text()
    found = {line.split()[-1] for line in maps.splitlines() if "libnetcdf" in line}
    assert len(found) == 1, found
    return ctypes.CDLL(found.pop())


def attributes_by_c(path: Path) -> dict[tuple[str, str], tuple[int, int, bytes]]:
    """Each attribute of a NetCDF file as C programs get it: its type, its length, and its bytes."""
    c = library_of_netcdf()
    found: dict[tuple[str, str], tuple[int, int, bytes]] = {}

    def ok(code: int) -> None:
        assert code == 0, (path, code)

    def visit(group: int, prefix: str) -> None:
        count, total = ctypes.c_int(), ctypes.c_int()
        ok(c.nc_inq_nvars(group, ctypes.byref(total)))
        for variable in range(-1, total.value):
            name = ctypes.create_string_buffer(300)
            if variable < 0:
                ok(c.nc_inq_natts(group, ctypes.byref(count)))
            else:
                ok(c.nc_inq_varname(group, variable, name))
                ok(c.nc_inq_varnatts(group, variable, ctypes.byref(count)))
            for number in range(count.value):
                attribute, kind, length = ctypes.create_string_buffer(300), ctypes.c_int(), ctypes.c_size_t()
                ok(c.nc_inq_attname(group, variable, number, attribute))
                ok(c.nc_inq_att(group, variable, attribute, ctypes.byref(kind), ctypes.byref(length)))
                if kind.value == 12:  # NC_STRING
                    texts = (ctypes.c_char_p * length.value)()
                    ok(c.nc_get_att_string(group, variable, attribute, texts))
                    data = b"\0".join(text or b"" for text in texts)
                else:
                    room = ctypes.create_string_buffer(8 * length.value + 1)
                    get = c.nc_get_att_text if kind.value == 2 else c.nc_get_att
                    ok(get(group, variable, attribute, room))
                    width = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}[kind.value]
                    data = room.raw[: width * length.value]
                found[prefix + name.value.decode(), attribute.value.decode()] = kind.value, length.value, data
        groups, ids = ctypes.c_int(), (ctypes.c_int * 100)()
        ok(c.nc_inq_grps(group, ctypes.byref(groups), ids))
        for each in ids[: groups.value]:
            name = ctypes.create_string_buffer(300)
            ok(c.nc_inq_grpname(each, name))
            visit(each, f"{prefix}{name.value.decode()}/")

    number = ctypes.c_int()
    ok(c.nc_open(os.fsencode(path), 0, ctypes.byref(number)))
    visit(number.value, "")
    ok(c.nc_close(number))
    return found


def write_netcdf(path: Path, kind: str) -> None:
    """Every type of attribute, a record dimension, packed data, flags, coordinates."""
    is_classic = kind in CLASSIC
    with netCDF4.Dataset(path, "w", format=kind) as nc:
        nc.title, nc.plain, nc.empty, nc.text_nan = "ein Fluß", "plain", "", "NaN"
        nc.n, nc.levels, nc.x, nc.nan = np.int16(3), np.array([1, 2, 3], "i4"), np.float32(0.1), np.nan
        nc.inf, nc.nans = np.float32(-np.inf), np.array([1.0, np.nan])
        if not is_classic:
            nc.setncattr_string("string", "a")
            nc.setncattr_string("strings", ["a", "bé"])
            nc.big = np.uint64(2**63)
        for name, size in (("time", None), ("x", 4), ("y", 3), ("unused", 7)):
            nc.createDimension(name, size)
        more = {} if is_classic else {"zlib": True, "shuffle": True, "chunksizes": (1, 3, 4)}
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
        if not is_classic:
            group = nc.createGroup("sub")
            group.note = "n"
            group.createDimension("z", 2)
            group.createDimension("grows", None)
            group.createVariable("w", "f4", ("time", "z"))[:] = np.arange(6.0).reshape(3, 2)
            group["w"].small = np.uint8(2)


@pytest.mark.parametrize("kind", ["NETCDF4", *CLASSIC])
def test_netcdf_there_and_back(kind: str, tmp_path: Path) -> None:
    old, middle, new, again = (tmp_path / name for name in ("old.nc", "middle.scda", "new.nc", "again.scda"))
    write_netcdf(old, kind)
    assert convert(str(old), str(middle), tell=pytest.fail) == 0
    assert export(middle, str(new), netcdf=True) == 0
    assert convert(str(new), str(again), tell=pytest.fail) == 0
    wanted = attributes_by_c(old)
    if kind in CLASSIC:  # netCDF4 writes one byte 0 for it, which is the end of a text of C
        assert wanted["", "empty"] == (2, 1, b"\0")
        wanted["", "empty"] = 2, 0, b""
    assert len(wanted) > 20 and attributes_by_c(new) == wanted
    with netCDF4.Dataset(old) as a, netCDF4.Dataset(new) as b:
        sizes = [{n: (len(d), d.isunlimited()) for n, d in nc.dimensions.items()} for nc in (a, b)]
        assert sizes[0] == sizes[1] and sizes[0]["time"] == (3, True) and sizes[0]["unused"] == (7, False)
        assert kind in CLASSIC or b["sub"].dimensions["grows"].isunlimited()
        for name in a.variables:
            assert a[name].dtype == b[name].dtype and a[name].dimensions == b[name].dimensions
    for group in ("/", "sub")[: 1 if kind in CLASSIC else 2]:
        for decode in (True, False):
            options = {"group": group, "decode_cf": decode}
            with xr.open_dataset(old, engine="netcdf4", **options) as a:
                with xr.open_dataset(new, engine="netcdf4", **options) as b:
                    xr.testing.assert_identical(a.load(), b.load())
                    assert all("_FillValue" not in b[name].encoding for name in b.coords)
                with xr.open_dataset(middle, engine="scda", **options) as c:
                    for name in ("imported", "scda_json"):
                        c.attrs.pop(name, None)
                    # Coordinates of the groups around it, too.
                    xr.testing.assert_identical(a.load(), c.load().drop_vars(set(c.coords) - set(a.coords)))
                    assert c.encoding["unlimited_dims"] == {"time"}
    with scda.open(middle) as f, scda.open(again) as g:
        assert sorted(names(f)) == sorted(names(g))
        for name in names(f):
            assert f[name].attrs == g[name].attrs and f[name].dims == g[name].dims, name


def write_hdf5(path: Path) -> None:
    with h5py.File(path, "w", track_order=True) as h:
        data = np.arange(24, dtype="i4").reshape(4, 6)
        h.create_dataset("chunks", data=data, chunks=(2, 6), maxshape=(None, 6), compression="gzip", shuffle=True)
        h.create_dataset("grows", data=data.astype(">f8"), chunks=(4, 3), maxshape=(8, None), fillvalue=np.nan)
        h.create_dataset("states", data=data % 3, dtype=h5py.enum_dtype({"A": 0, "B": 1, "C": 2}, "i4"))
        h.create_group("empty group")
        for where in (h, h["chunks"]):
            for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "?"):
                where.attrs[f"scalar {dtype}"] = np.array(1, dtype)[()]
                where.attrs[f"one {dtype}"] = np.ones(1, dtype)
                where.attrs[f"none {dtype}"] = np.ones((0, 2), dtype)
                where.attrs[f"matrix {dtype}"] = np.arange(6).reshape(2, 3).astype(dtype)
                where.attrs[f"null {dtype}"] = h5py.Empty(dtype)
            where.attrs["nan"], where.attrs["text nan"] = np.float32(np.nan), "NaN"
            where.attrs["text"], where.attrs["empty"] = "é", ""
            where.attrs["fixed"], where.attrs["fixed é"] = np.bytes_("abc"), np.array("é".encode(), "S9")
            where.attrs["texts"], where.attrs["one text"] = ["a", "é"], np.array(["a"], object)
            where.attrs["fixed texts"] = np.array([b"abc", b"d"])
            where.attrs["null text"], where.attrs["opaque"] = h5py.Empty("S1"), np.void(b"abc")
            where.attrs["valid_range"], where.attrs["flag_values"] = np.array([0, 9], "i2"), [0.5]


def test_hdf5_there_and_back(tmp_path: Path) -> None:
    write_hdf5(tmp_path / "a.h5")
    assert convert(str(tmp_path / "a.h5"), str(tmp_path / "a.scda"), tell=pytest.fail) == 0
    export(tmp_path / "a.scda", str(tmp_path / "b.h5"), netcdf=False)
    with h5py.File(tmp_path / "a.h5") as a, h5py.File(tmp_path / "b.h5") as b:
        assert list(b["empty group"]) == []
        for name in ("/", "chunks"):
            assert list(a[name].attrs) == list(b[name].attrs)
            for key in a[name].attrs:
                one, other = (h[name].attrs.get_id(key) for h in (a, b))
                assert one.shape == other.shape, (key, one.shape, other.shape)
                spaces = [each.get_space().get_simple_extent_type() for each in (one, other)]
                assert spaces[0] == spaces[1], key
                kinds = [h5py.check_string_dtype(each.dtype) for each in (one, other)]
                if kinds[0] is None:
                    assert one.dtype == other.dtype, key
                else:
                    assert (kinds[0].length is None) == (kinds[1].length is None), key
                if spaces[0] != h5py.h5s.NULL:
                    values = [np.asarray(h[name].attrs[key]) for h in (a, b)]
                    assert values[0].tolist() == values[1].tolist() or "nan" in key, key
        assert np.isnan(b.attrs["nan"]) and b.attrs["text nan"] == "NaN"
        for name in ("chunks", "grows", "states"):
            assert a[name].maxshape == b[name].maxshape and np.array_equal(a[name][...], b[name][...])
        assert h5py.check_enum_dtype(b["states"].dtype) == {"A": 0, "B": 1, "C": 2} and np.isnan(b["grows"].fillvalue)
    # NetCDF has them as flags.
    export(tmp_path / "a.scda", str(tmp_path / "c.nc"), netcdf=True)
    with netCDF4.Dataset(tmp_path / "c.nc") as nc:
        assert nc["states"].flag_values.tolist() == [0, 1, 2] and nc["states"].flag_meanings == "A B C"
        assert nc["states"].flag_values.dtype == np.int32


def test_texts_are_of_fixed_length_in_netcdf(tmp_path: Path) -> None:
    """As `nc_get_att_text` reads them; those that programs in C cannot, lists, stay `NC_STRING`."""
    with scda.create(tmp_path / "f.scda") as w:
        w.group("/", {"title": "a", "empty": "", "list": ["a", "b"], "object": {"a": 1}})
        attrs = {
            "units": "m",
            "valid_range": [0, 5],
            "flag_values": [1, 2],
            "missing_value": "NaN",
            "n": 1,
            "x": "Infinity",
        }
        w.dataset("u", np.arange(3.0, dtype="f4"), dims=["x"], fill_value=-1, attrs=attrs)
        w.dataset("x", np.arange(3.0), dims=["x"], fill_value=9)
    export(tmp_path / "f.scda", str(tmp_path / "f.nc"), netcdf=True)
    found = attributes_by_c(tmp_path / "f.nc")
    assert found["", "title"] == (2, 1, b"a") and found["", "empty"] == (2, 0, b"")
    assert found["", "list"] == (12, 2, b"a\0b") and found["", "object"][0] == found["", "scda_json"][0] == 2
    assert found["u", "units"] == (2, 1, b"m") and found["u", "valid_range"][:2] == (5, 2)
    assert found["u", "flag_values"][0] == found["u", "missing_value"][0] == found["u", "_FillValue"][0] == 5
    assert found["u", "n"][0] == 10 and found["u", "x"] == (6, 1, np.array(np.inf).tobytes())
    assert ("x", "_FillValue") not in found


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
            ("'g/lists'", "found references to regions"),
            ("'packed'", r"found filter 39999 \(without a name\), which HDF5 has not here"),
        ],
    ):
        assert re.fullmatch(f"scda: f.h5: {what}: {why}.*; it is left out", line), line
    assert lines[2:] == ["scda: f.h5: 2 left out, all else is in f.scda"]
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
    assert all("no UTF-8; it is left out" in line for line in told)
    with scda.open(tmp_path / "f.scda") as f:
        assert names(f) == ["good"] and f["good"].attrs == {}


def test_a_damaged_export_is_no_surprise(tmp_path: Path) -> None:
    """Its attributes, too, may say anything: an error in words, or other data."""
    write_forest(tmp_path / "f.scda")
    export(tmp_path / "f.scda", str(tmp_path / "f.h5"), netcdf=False)
    with h5py.File(tmp_path / "f.h5", "r+") as h:
        sections = json.loads(h.attrs["scda_sections"])
        for odd in (
            "[",
            "7",
            "[[]]",
            '[[0, "block", "!", "", false]]',
            '[["a", "group", {}]]',
            '[[1, "inline", "", ""]]',
        ):
            h.attrs["scda_sections"] = odd
            h.flush()
            convert(str(tmp_path / "f.h5"), str(tmp_path / "g.scda"), tell=pytest.fail)
            with scda.open(tmp_path / "g.scda") as g:
                assert len(scda.Forest(g)) == 4 and "about this file" not in g
        reserved = [[0, "block", "c2NkYSBkYXRhc2V0IDAw", "e30=", False]]  # "scda dataset 00"
        h.attrs["scda_sections"] = json.dumps(reserved + sections)
        h["forest/time"].attrs["scda_places"] = np.array([3.5] * 4)
        h["total"].attrs["scda_record_attributes"] = "[1, 2, 3, 4]"
    convert(str(tmp_path / "f.h5"), str(tmp_path / "g.scda"), tell=pytest.fail)
    with scda.open(tmp_path / "g.scda", verify=True) as g:
        assert "about this file" in g and len(g.sections.find("scda dataset 00")) == sum(len(g.records(n)) for n in names(g))


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


@pytest.mark.parametrize("ending", [".h5", ".nc"])
def test_attributes_beyond_those_of_hdf5_are_left_out(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_hdf5, "MOST_ATTRIBUTES", 3)
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("u", 1.0, attrs={"a": 1, "b": [], "c": "text", "d": 2, "e": 3})
    told = scda.export(tmp_path / "f.scda", tmp_path / f"f{ending}")
    assert len(told) == 1 and "'u': the end of the attributes, 'd' to 'e': found 5, expected at most 3" in told[0]
    with h5py.File(tmp_path / f"f{ending}") as h:
        assert {"a", "b", "c"} <= set(h["u"].attrs) and not {"d", "e"} & set(h["u"].attrs)


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
    for ending in ("h5", "nc"):
        export(tmp_path / "f.scda", str(tmp_path / f"f.{ending}"), netcdf=ending == "nc")
        with h5py.File(tmp_path / f"f.{ending}") as h:
            assert h[LONG][1].tolist() == [1, 2, 3] and h[group].attrs["title"] in ("long", b"long")
        convert(str(tmp_path / f"f.{ending}"), str(tmp_path / f"{ending}.scda"), tell=pytest.fail)
        with scda.open(tmp_path / f"{ending}.scda") as f:
            assert sorted(names(f)) == sorted([LONG, other, "a/short"]) and len(f.records(LONG)) == 2
            assert f[other].chunks == (2,) and f[group].attrs["title"] == "long"


def write_forest(path: Path) -> None:
    """Steps with meshes that change, or not, fields that come and go, and values of the program's own."""
    brick = Brick(2, 2)
    with scda.create(path, "a forest") as w:
        w.block("about this file", b"a forest, for whoever reads this\n", encode=True)
        begin(w, 2)
        brick.write(w)
        w.inline("note", b"%-31s\n" % b"steps follow")
        for step in range(4):
            w.dataset("forest/time", 0.5 * step, attrs={"units": "s"})
            if step != 2:
                mesh = Quadrants(2, 2, towards(0.3 * step, 0.4, finest=2 + step % 3))
                mesh.write(w)
            n = len(mesh)
            w.dataset(
                "forest/fields/depth", np.arange(n) * 1.0, dims=["quadrant"], attrs={"units": "m", "mesh": f"{step}"}
            )
            if step > 0:
                w.dataset(
                    "forest/fields/u", np.arange(n * 4.0).reshape(-1, 4), dims=["quadrant", "corner"], chunks=(7, 4)
                )
            w.dataset("forest/fields/c:count", np.full(n, 2), dims=["quadrant"], attrs={"sample_dimension": "c:sample"})
            w.dataset("forest/fields/c", np.zeros(2 * n), dims=["c:sample"])
            w.dataset("forest/data", np.zeros(n, "V5"), attrs={"byte_order": "little"})
            w.dataset("total", np.zeros(3) + step, attrs={"step": step, "units": "kg"})


def test_a_forest_survives_hdf5(tmp_path: Path) -> None:
    write_forest(tmp_path / "f.scda")
    assert export(tmp_path / "f.scda", str(tmp_path / "f.h5"), netcdf=False) == 0
    assert convert(str(tmp_path / "f.h5"), str(tmp_path / "g.scda"), tell=pytest.fail) == 0
    with scda.open(tmp_path / "f.scda") as f, scda.open(tmp_path / "g.scda", verify=True) as g:
        assert [(s.kind, s.user) for s in f.sections] == [(s.kind, s.user) for s in g.sections] and f.user == g.user
        assert g["about this file"].read() == f["about this file"].read() and g["about this file"].compressed
        for name in names(f):
            for one, other in zip(f.records(name), g.records(name)):
                assert list(one.attrs.items()) == list(other.attrs.items()) and one.dims == other.dims
                assert one.dtype == other.dtype and one.chunks == other.chunks
                assert np.array_equal(one[...], other[...])
        forests = scda.Forest(f), scda.Forest(g)
        assert forests[0].fields == forests[1].fields and len(forests[0]) == len(forests[1]) == 4
        for one, other in zip(*forests):
            assert one.time == other.time and len(one.mesh) == len(other.mesh)
            for field in forests[0].fields:
                pair = one.field(field), other.field(field)
                assert (pair[0] is None) == (pair[1] is None)
    assert (tmp_path / "f.scda").read_bytes() == (tmp_path / "g.scda").read_bytes()


@pytest.mark.parametrize("ending", ["h5", "nc"])
def test_what_was_added_later_is_exported(ending: str, tmp_path: Path) -> None:
    path, out, again = tmp_path / "f.scda", str(tmp_path / f"f.{ending}"), tmp_path / "again.scda"
    data = np.arange(40.0).reshape(8, 5)
    with scda.create(path) as w:
        w.dataset("rho", data[:3], chunks=(2, 5))
        w.commit()
        w.dataset("rho", data[3:4], extends=True)
        w.dataset("rho", data[4:], extends=True, text=True)
        w["rho"].attrs["units"] = "K"
    told: list[str] = []
    assert export(path, out, netcdf=ending == "nc", strict=True, tell=told.append) == 0 and told == []
    with h5py.File(out) as h:
        assert np.array_equal(h["rho"][:], data) and h["rho"].attrs["units"] in ("K", b"K")
    scda.import_(out, again)
    with scda.open(again) as f:
        assert [s.user for s in f.sections if not s.user.startswith(b"scda ")] == ([b"rho"] if ending == "h5" else [b"/", b"rho"])

    # A set of streams is one thing that has no place, and nothing of it is.
    with scda.append(path) as w:
        with w.streams("log") as log:
            log.write(b"a line\n")
    assert export(path, out, netcdf=ending == "nc", tell=told.append) == 1
    assert told == [f"{path}: 'log': found streams, which HDF5 and NetCDF have not; it is left out"]
    if ending == "h5":
        with h5py.File(out) as h:
            assert json.loads(h.attrs["scda_sections"]) == []


def test_many_attributes_take_a_moment(tmp_path: Path) -> None:
    """4 MiB of them: small ones, and lists, in all records."""
    small = {f"attribute {number}": f"a text of some letters {number}" for number in range(20_000)}
    with scda.create(tmp_path / "f.scda") as w:
        w.group("/", {"numbers": list(range(100_000)), "object": {str(k): k for k in range(50_000)}})
        w.dataset("u", 1, attrs=small)
        for step in range(10):
            w.dataset("v", 1, attrs={"text": "x" * 100_000, "numbers": [0.5] * 1000, "step": step})
    for ending in ("h5", "nc"):
        before = time.monotonic()
        export(tmp_path / "f.scda", str(tmp_path / f"f.{ending}"), netcdf=ending == "nc")
        assert time.monotonic() - before < 30
        with h5py.File(tmp_path / f"f.{ending}") as h:
            assert h.attrs["numbers"].shape == (100_000,) and len(h["u"].attrs) >= 20_000
    convert(str(tmp_path / "f.h5"), str(tmp_path / "g.scda"), tell=pytest.fail)
    with scda.open(tmp_path / "g.scda") as g:
        assert g["u"].attrs == small and g["v", 3].attrs["step"] == 3


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
    for group, names in (("/", ["u"]), ("a", ["u"]), ("a/b", ["v"])):
        with xr.open_dataset(tmp_path / "f.scda", group=group) as ds:
            assert list(ds.data_vars) == names
            ds.to_netcdf(tmp_path / "out.nc", engine=engine)
            with xr.open_dataset(tmp_path / "out.nc", engine=engine) as again:
                xr.testing.assert_identical(again.load(), ds.load())
    with xr.open_datatree(tmp_path / "f.scda", engine="scda") as tree:
        assert {"/", "/a", "/a/b", "/a/b/c"} == set(tree.groups)
        tree.to_netcdf(tmp_path / "tree.nc", engine=engine)


@pytest.mark.parametrize("command", [["export", "f.scda", "g.h5"], ["import", "f.h5", "g.scda"]])
def test_progress_is_shown_on_a_terminal(command: list[str], tmp_path: Path) -> None:
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("u", np.zeros((512, 1024)), chunks=(64, 1024))
        w.dataset("v", np.zeros((512, 1024)))
    export(tmp_path / "f.scda", str(tmp_path / "f.h5"), netcdf=False)
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


def test_types_of_hdf5_there_and_back(tmp_path: Path) -> None:
    """Structs, enumerations and texts in them, arrays, texts, references, no data space, both byte orders, types with names."""
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
    assert export(tmp_path / "a.scda", str(tmp_path / "b.h5"), netcdf=False, tell=pytest.fail) == 0
    with h5py.File(tmp_path / "a.h5") as a, h5py.File(tmp_path / "b.h5") as b:
        assert sorted(a) == sorted(b) and b["t/named"].id.equal(a["t/named"].id) and b["table"].id.get_type().committed()
        for name in (each for each in a if each != "t"):
            one, other = a[name], b[name]
            assert one.id.get_type().equal(other.id.get_type()) and one.shape == other.shape, name
            assert sorted(one.attrs) == sorted(other.attrs), name
            if name != "to":
                assert repr(one[()]) == repr(other[()]), name
            for key in one.attrs:
                assert one.attrs.get_id(key).get_type().equal(other.attrs.get_id(key).get_type()), key
                assert key == "to" or repr(one.attrs[key]) == repr(other.attrs[key]), key
        assert [b[each].name if each else None for each in b["to"]] == ["/texts", "/t", None]
        assert b[b["table"].attrs["to"]].name == "/texts"


@pytest.mark.parametrize("new", ["h5", "nc"])
def test_texts_of_any_length_are_exported(new: str, tmp_path: Path) -> None:
    kept = {"t": ["a", "äöü", "x" * 100, ""], "z": [["a", "b"], ["c", "hä"]], "s": "one", "g/e": []}
    with scda.create(tmp_path / "a.scda") as w:
        w.dataset("t", np.array(kept["t"], object), codec="zstd", level=9)
        w.dataset("z", np.array(kept["z"], object), chunks=(1, 2), fill_value="hä", dims=["p", "q"])
        w.dataset("s", np.array(kept["s"], object))
        w.dataset("g/e", [], dtype=str)
        w.dataset("nul", np.array(["a\0b"], object))
        w.dataset("bytes", np.array([b"a", b"\xff\0"], object))
        for items in (["a"], ["bcd"]):
            w.dataset("r", np.array(items, object))
    told: list[str] = []
    assert export(tmp_path / "a.scda", str(tmp_path / f"b.{new}"), netcdf=new == "nc", tell=told.append) == 1
    assert "'nul': found a text with a NUL" in told[0], told
    with h5py.File(tmp_path / f"b.{new}") as h:
        assert "nul" not in h and h5py.check_string_dtype(h["t"].dtype).length is None
        assert h["r"].asstr()[...].tolist() == [["a"], ["bcd"]]
        for name, texts in kept.items():
            found = h[name].asstr()[()]
            assert (found if name == "s" else found.tolist()) == texts, name
        assert h["z"].fillvalue.decode() == "hä"
    assert convert(str(tmp_path / f"b.{new}"), str(tmp_path / "c.scda"), tell=pytest.fail) == 0
    with scda.open(tmp_path / "c.scda") as f:
        for name, texts in kept.items():
            assert f[name][...].tolist() == texts, name
        assert f["z"].fill_value == "hä" and f["t"].fill_value == ""
    with pytest.raises(ValueError, match="a.scda: .*; without strict=True it is left out"):
        export(tmp_path / "a.scda", str(tmp_path / "d.h5"), netcdf=False, strict=True)


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
    for ending, names in (("h5", ["ascii", "fixed", "plain", "struct", "utf", "whole"]), ("nc", ["s"])):
        old, new = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
        assert convert(str(old), str(tmp_path / f"{ending}.scda"), tell=pytest.fail) == 0
        assert export(tmp_path / f"{ending}.scda", str(new), netcdf=ending == "nc", tell=pytest.fail) == 0
        # HDF5 makes fill values of texts only in a file that it may write.
        with h5py.File(old, "r+") as a, h5py.File(new) as b:
            for name in names:
                assert a[name].fillvalue == b[name].fillvalue and a[name][()].tolist() == b[name][()].tolist(), name
                fills = [each[name].id.get_create_plist().fill_value_defined() for each in (a, b)]
                assert fills[0] == fills[1], name
    with netCDF4.Dataset(tmp_path / "b.nc") as nc:
        assert nc["s"][:].tolist() == ["none", "a", "none"] and nc["s"]._FillValue == "none"
    with scda.create(tmp_path / "nul.scda") as w:
        w.dataset("t", np.array(["a"], object), fill_value="a\0b")
        w.dataset("c", np.array([b"abc"]), fill_value=b"a\0b")
    told: list[str] = []
    assert export(tmp_path / "nul.scda", str(tmp_path / "nul.h5"), netcdf=False, tell=told.append) == 2
    assert all(f"{name!r}: found a fill value with a NUL" in line for name, line in zip("tc", told)), told
    with h5py.File(tmp_path / "nul.h5") as h:
        assert h["t"][0] == b"a" and h["c"][0] == b"abc"


def test_types_that_are_none_cost_no_export(tmp_path: Path) -> None:
    """Whatever a file says of types of HDF5: the export goes on, and its file can be imported."""
    odd: list[Any] = [5, [], {}, None, "char", "char 0", "bits7", "string", "reference", {"list": "reference"}]
    odd += [{"enum": "float64", "names": {"a": 1}}, {"enum": "int8", "names": [1]}, {"array": "int32", "shape": [-1]}]
    odd += [{"struct": [], "bytes": 4}, {"struct": [["a", "int32", 100]], "bytes": 4}, {"opaque": 0, "tag": ""}]
    for number, of in enumerate(odd):
        path = tmp_path / f"{number}.scda"
        types = {"z": {"type": of, "shape": [2]}, "text": {"type": of, "shape": "2"}}
        links = {"x": of, "y": {"soft": of}, "q": {"external": [of, of]}, "h": {"hard": of}}
        attrs = {"scda_named_types": {"n": of}, "scda_links": links, "scda_dimensions": of, "scda_types": types}
        with scda.create(path) as w:
            w.group("/", {**attrs, "z": [1, 2], "text": ["a\0", "b"]})
            for name, data in (("i", np.arange(3)), ("t", np.array([b"a"])), ("s", np.zeros(2, "i4,f8"))):
                w.dataset(name, data, attrs={name: of for name in ("scda_type", "scda_type_path", "scda_enum")})
        for new in ("h5", "nc"):
            told: list[str] = []
            export(path, str(tmp_path / f"{number}.{new}"), netcdf=new == "nc", tell=told.append)
            is_lost = any("'a': found a reference to this, which is not in" in line for line in told)
            assert is_lost is (new == "h5" and "reference" in str(of))
            convert(str(tmp_path / f"{number}.{new}"), str(tmp_path / f"{number}-{new}.scda"), tell=lambda _: None)
            with scda.open(tmp_path / f"{number}-{new}.scda") as f:
                assert f["i"][...].tolist() == [0, 1, 2] and len(f["s"]) == 2
                assert is_lost and of == "reference" or f["t"][...].astype("U").tolist() == ["a"]


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
    assert export(tmp_path / "f.scda", str(tmp_path / "b.nc"), netcdf=True, strict=True) == 0
    found = []
    for name in ("a.nc", "b.nc"):
        with netCDF4.Dataset(tmp_path / name) as d:
            d.set_auto_mask(False)
            low = d["a/low"]
            sizes = [{n: (len(dim), dim.isunlimited()) for n, dim in each.dimensions.items()} for each in (d, d["a"], low)]
            types = [str(v.datatype) for v in low.variables.values()]
            values = [np.asarray(v[...]).tolist() for v in low.variables.values()]
            attrs = [v.ncattrs() for v in low.variables.values()]
            found.append((sizes, list(low.variables), types, attrs, str(values)))
    assert found[0] == found[1]
    assert found[1][0] == [{"step": (4, True), "unused": (2, False), "x": (3, False)}, {}, {}]


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
    assert scda.export(tmp_path / "a.scda", tmp_path / "b.h5", strict=True) == []
    scda.import_(tmp_path / "b.h5", tmp_path / "b.scda", strict=True)
    for name in ("a.scda", "b.scda"):
        with scda.open(tmp_path / name) as f:
            for each in ("plain", "chunked", "int8"):
                assert f[each][...].tolist() == [0, 1, *others] and f[each].dtype == ("i1" if others else "?")
            assert f["never"].dtype == "?" and f["never"][...].all() and ("scda_enum" in f["plain"].attrs) == bool(others)
            assert f["int8"].attrs.get("dtype") == ("bool" if others else None)
    with h5py.File(tmp_path / "b.h5") as file:
        assert file["chunked"].dtype == "?" and file["chunked"][...].view("i1").tolist() == [0, 1, *others]


@pytest.mark.parametrize("kind", ["NETCDF4", *CLASSIC])
def test_steps_of_a_mask_that_were_never_written(kind: str, tmp_path: Path) -> None:
    """They are NetCDF's fill value, -127."""
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format=kind) as file:
        file.createDimension("time", None)
        for name in ("wet", "dry"):
            file.createVariable(name, "i1", ("time",)).setncattr("dtype", "bool")
            file[name][:2] = [0, 1]
        file.createVariable("time", "f8", ("time",))[:] = range(4)
        file["dry"][2:] = 0
    scda.import_(tmp_path / "a.nc", tmp_path / "a.scda", strict=True)
    scda.export(tmp_path / "a.scda", tmp_path / "b.nc", strict=True)
    with scda.open(tmp_path / "a.scda") as f, netCDF4.Dataset(tmp_path / "b.nc") as file:
        file.set_auto_mask(False)
        assert f["wet"][...].tolist() == file["wet"][:].tolist() == [0, 1, -127, -127] and f["wet"].attrs["dtype"] == "bool"
        assert f["dry"].dtype == "?" and file["dry"][:].tolist() == [0, 1, 0, 0]


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
    expected = ["'bools': found 2 among bools", "'brain': found .* 2 bytes, 8 bits.*exponent"]
    assert len(lines) == len(expected) and all(re.search(*pair) for pair in zip(expected, sorted(lines))), lines
    with scda.open(tmp_path / "a.scda") as f:
        assert list(f) == ["brain"] and f["brain"][...].tolist() == [1, -2]
    with pytest.raises(scda.ArgumentError, match="'brain': found .* exponent"):
        scda.import_(tmp_path / "a.h5", tmp_path / "b.scda", strict=True, without=["bools"])


def test_names_in_other_forms_of_unicode(tmp_path: Path) -> None:
    """NetCDF's library looks for all names in the form NFC."""
    with scda.create(tmp_path / "a.scda") as w:
        for number, name in enumerate(["a\u0304", "\u0101", "o\u0308", "i\u0308/x", "\xef/y", "i\u0308/z/q"]):
            w.dataset(name, np.full(2, float(number)), dims=["e\u0301"])
        w.dataset("v", 0.0, attrs={"e\u0301": 1, "\u00e9": 2, "u\u0308": 3})
    lines = scda.export(tmp_path / "a.scda", tmp_path / "a.nc")
    found = ["'a\\u0304', which NetCDF takes for that of '\\u0101'", "'o\\u0308', which NetCDF has", "'i\\u0308', which NetCDF takes", "'e\\u0301': found .* another one", "'u\\u0308': found"]
    assert len(lines) == len(found) and all(re.search(text.replace("\\", "\\\\"), " ".join(lines)) for text in found), lines
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        assert set(file.variables) == {"\u0101", "\xf6", "v"} and file["\u0101"][0] == 1 and file["\xf6"][0] == 2
        assert list(file.groups) == ["\xef"] and set(file["\xef"].variables) == {"y"} and file["\xef/y"].dimensions == ("\xe9",)
        assert (file["v"].getncattr("\xe9"), file["v"].getncattr("\xfc")) == (2, 3)
    assert scda.export(tmp_path / "a.scda", tmp_path / "a.h5") == []
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["a\u0304"][0] == 0 and file["i\u0308/z/q"][0] == 5
