"""scda import and scda export: items of any length, there and back, as the tool of HDF5 shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda
from arrays import names

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")

from scda import _hdf5_items  # noqa: E402
from scda._export import export  # noqa: E402
from scda._import import convert  # noqa: E402


def objects(items: list[Any]) -> Any:
    made = np.empty(len(items), object)
    made[:] = items
    return made


def there_and_back(folder: Path, old: Path, ending: str) -> Path:
    new = folder / f"new.{ending}"
    assert convert(str(old), str(folder / "f.scda"), tell=pytest.fail) == 0
    assert export(folder / "f.scda", str(new), netcdf=ending == "nc", tell=pytest.fail) == 0
    # The file that was exported becomes the same datasets.
    assert convert(str(new), str(folder / "g.scda"), tell=pytest.fail) == 0
    with scda.open(folder / "f.scda") as f, scda.open(folder / "g.scda", verify=True) as g:
        assert sorted(names(f)) == sorted(names(g))
        for name in names(f):
            attrs = [{key: value for key, value in each[name].attrs.items() if key != "scda_type_path"} for each in (f, g)]
            assert repr(f[name]) == repr(g[name]) and attrs[0] == attrs[1], name
            assert repr(f[name][...].tolist()) == repr(g[name][...].tolist()), name
    return new


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
        nested = h5py.vlen_dtype(h5py.vlen_dtype("i8"))
        lists = objects([np.array([1, 2]), np.array([3])]), objects([])
        h.create_dataset("lists of lists", data=objects(list(lists)), dtype=nested)
        texts = [objects(["a", "äöü"]), objects([]), objects([""])]
        h.create_dataset("lists of texts", data=objects(texts), dtype=h5py.vlen_dtype(h5py.string_dtype()))
        member = [("id", "i4"), ("list", h5py.vlen_dtype("u2")), ("text", h5py.string_dtype())]
        table = np.zeros(2, np.dtype(member))
        table[0], table[1] = (1, np.array([7, 8], "u2"), b"some text"), (2, np.array([], "u2"), b"")
        h["structs with lists"] = table
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


def same(one: Any, other: Any) -> bool:
    if getattr(one, "dtype", np.dtype("u1")).names:
        return one.dtype == other.dtype and all(same(one[name], other[name]) for name in one.dtype.names)
    if isinstance(one, np.ndarray) and one.dtype.hasobject:
        return one.shape == other.shape and all(map(same, one.reshape(-1), other.reshape(-1)))
    return bool(np.asarray(one).dtype == np.asarray(other).dtype and np.asarray(one).tobytes() == np.asarray(other).tobytes())


def test_lists_of_hdf5(tmp_path: Path) -> None:
    write_lists(tmp_path / "a.h5")
    new = there_and_back(tmp_path, tmp_path / "a.h5", "h5")
    with h5py.File(tmp_path / "a.h5") as a, h5py.File(new) as b:
        assert sorted(a) == sorted(b) and len(a) > 15
        for name in (each for each in a if each != "t"):
            one, other = a[name], b[name]
            assert one.id.get_type().equal(other.id.get_type()), name
            assert (one.shape, one.maxshape) == (other.shape, other.maxshape), name
            assert one.chunks in (None, other.chunks), name  # in scda, all of these are in chunks
            assert same(one[()], other[()]), (name, one[()], other[()])
        assert b["of a named type"].id.get_type().committed()
    with scda.open(tmp_path / "f.scda") as f:
        for name, expected in (("integers", [1, 2, 3, -4]), ("complex", [1 + 2j, 3j]), ("big", [0.5, np.nan, -0.0])):
            offsets, values = f[name].to_ragged()
            assert repr(values.tolist()) == repr(expected) and len(offsets) == 4 and offsets[-1] == len(values), name
        assert f["matrix"].to_ragged()[0].tolist() == [0, 0, 1, 3, 6, 10, 15]
        assert f["one"].to_ragged()[1].tolist() == [1, 2] and f["words"].to_ragged()[1].tobytes() == b"abcd\0\0\0\0\0"
        with pytest.raises(ValueError, match="element 0: found 12 bytes, expected a multiple of 8"):
            f["integers"].to_ragged("<f8")
        assert np.frombuffer(f["big"][0], "<f4").tolist() == [0.5] and f["points"][0][:8] == np.float64(1.5).tobytes()
        assert f["structs with lists"][0].hex() == "01000000" + "0200000000000000" + "07000800" + "0900000000000000" + b"some text".hex()


def test_lists_of_netcdf(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as nc:
        nc.createDimension("station", 3)
        for name, kind in (("i", np.int32), ("f", np.float64)):
            ragged = nc.createVariable(f"ragged {name}", nc.createVLType(kind, f"list of {name}"), ("station",))
            ragged.units = "m"
            for number in range(3):
                ragged[number] = np.arange(number, dtype=kind)
    new = there_and_back(tmp_path, tmp_path / "a.nc", "nc")
    with netCDF4.Dataset(tmp_path / "a.nc") as a, netCDF4.Dataset(new) as b:
        assert list(a.vltypes) == list(b.vltypes) == ["list of i", "list of f"]
        for name in a.variables:
            assert a[name].dimensions == b[name].dimensions and b[name].units == "m"
            assert a[name].datatype.name == b[name].datatype.name
            assert same(a[name][...], b[name][...]), name


@pytest.mark.parametrize("data", [b"", b"\1", b"\xff" * 8, b"\1" + bytes(7), b"\2" + bytes(15), bytes(9), b"\1" + bytes(7) + b"\xff" * 8])
def test_bytes_that_do_not_have_their_type(data: bytes, tmp_path: Path) -> None:
    types = [{"list": {"list": "int64"}}, {"list": {"array": {"list": "int8"}, "shape": [100_000_000]}}, {"list": "string"}]
    types += [{"struct": [["a", "int16", 0], ["b", {"list": "float64"}, 8]], "bytes": 24}, {"array": "string", "shape": [3]}]
    with scda.create(tmp_path / "f.scda") as w:
        for number, of in enumerate(types):
            w.dataset(f"d{number}", objects([data]), attrs={"scda_type": of})
    told: list[str] = []
    lost = export(tmp_path / "f.scda", str(tmp_path / "f.h5"), netcdf=False, tell=told.append)
    assert lost == len(told) and all("it is left out" in line for line in told), told
    with h5py.File(tmp_path / "f.h5") as h:
        assert len(h) == len(types) - lost


@pytest.mark.parametrize("ending", ["h5", "nc"])
def test_bytes_of_any_length(ending: str, tmp_path: Path) -> None:
    """Those of scda are lists of bytes in HDF5, and come back as what they were; and so do texts."""
    data = objects([b"a\0b", b"", b"\xff" * 300]), objects(["ä" * 300, "", "b"])
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("bytes", data[0], attrs={"units": "1"})
        w.dataset("texts", data[1], codec="zstd", level=7)
        w.dataset("odd", data[0], attrs={"scda_type": {"list": "float64"}})
        w.dataset("other", data[0], attrs={"scda_type": "float64"})
    told: list[str] = []
    assert export(tmp_path / "f.scda", str(tmp_path / f"f.{ending}"), netcdf=ending == "nc", tell=told.append) == 1
    assert "'odd': item 0: found 3 bytes after" in told[0], told
    convert(str(tmp_path / f"f.{ending}"), str(tmp_path / "g.scda"), tell=pytest.fail)
    with scda.open(tmp_path / "g.scda") as g:
        assert g["bytes"][...].tolist() == data[0].tolist() and g["bytes"].attrs == {"units": "1"}
        assert g["texts"][...].tolist() == data[1].tolist() and g["texts"].dtype.hasobject
        with pytest.raises(TypeError, match="found items of the type string, expected bytes of any length"):
            g["texts"].to_ragged()
        assert g["bytes"].to_ragged()[0].tolist() == [0, 3, 3, 303]
        assert g["texts"]._description.level == 7 and g["other"][...].tolist() == data[0].tolist()


def test_texts_that_differ_much_in_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each as long as the longest one would take too much: they have any length."""
    monkeypatch.setattr(_hdf5_items, "_MOST_TEXT_BYTES", 1000)
    with h5py.File(tmp_path / "a.h5", "w") as h:
        h["texts"] = ["a"] * 1000 + ["ä" * 5000]
        h["bytes"] = objects([b"a"] * 1000 + [b"\xff" * 5000])
        table = np.zeros(1001, np.dtype([("n", "i4"), ("text", h5py.string_dtype())]))
        table["text"] = [b"a"] * 1000 + [b"b" * 5000]
        h["table"] = table
    new = there_and_back(tmp_path, tmp_path / "a.h5", "h5")
    with h5py.File(tmp_path / "a.h5") as a, h5py.File(new) as b, scda.open(tmp_path / "f.scda") as f:
        for name in a:
            assert a[name].id.get_type().equal(b[name].id.get_type()) and same(a[name][()], b[name][()]), name
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
    new = there_and_back(tmp_path, tmp_path / "a.nc", "nc")
    with netCDF4.Dataset(tmp_path / "a.nc") as a, netCDF4.Dataset(new) as b:
        assert list(a.enumtypes) == list(b.enumtypes) and list(a.cmptypes) == list(b.cmptypes)
        assert {n: (len(d), d.isunlimited()) for n, d in b.dimensions.items()} == {"x": (3, False), "t": (5, True)}
        for one, other in ((a, b), (a["g"], b["g"])):
            assert list(one.variables) == list(other.variables) and (one is a or not other.dimensions)
            for name in one.variables:
                x, y = one[name], other[name]
                assert x.dimensions == y.dimensions and x.shape == y.shape and x.ncattrs() == y.ncattrs(), name
                kinds = [getattr(each.datatype, "name", each.datatype) for each in (x, y)]
                assert kinds[0] == kinds[1] and repr(x[...]) == repr(y[...]), name
    xr = pytest.importorskip("xarray")
    with xr.open_dataset(tmp_path / "f.scda", engine="scda", mask_and_scale=False) as ds:
        assert ds.sizes["t"] == 5 and ds.plain[:, 0].values.tolist() == [1, 1, -1, -1, -1]
        assert ds.packed.values.tolist()[0] == 7 and ds.clouds.values[1:].min() == 255
