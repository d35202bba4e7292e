"""scda import: files as other programs write them, compared with what h5py reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
import scda

h5py = pytest.importorskip("h5py")
pd = pytest.importorskip("pandas")
tables = pytest.importorskip("tables")

from scda._import import convert  # noqa: E402


def write_pytables(path: Path) -> None:
    class Nested(tables.IsDescription):  # type: ignore[misc]
        x = tables.Float32Col(shape=(2,))
        on = tables.BoolCol()

    class Particle(tables.IsDescription):  # type: ignore[misc]
        name = tables.StringCol(16, pos=0)
        at = tables.Float64Col(pos=1)
        colour = tables.EnumCol(tables.Enum({"red": 3, "blue": 7}), "blue", base="uint8")
        z = tables.ComplexCol(16)
        more = Nested()

    with tables.open_file(path, "w", title="a file of PyTables") as h:
        table = h.create_table("/", "particles", Particle, "some particles", filters=tables.Filters(5, "zlib", True, fletcher32=True))
        for number in range(30):
            row = table.row
            row["name"], row["at"], row["z"], row["more/x"], row["colour"] = f"p{number}", 1e9 + number, 1j * number, number, 3
            row.append()
        table.flush()
        table.cols.at.create_index()
        group = h.create_group("/", "arrays", "arrays of all kinds")
        h.create_array(group, "plain", np.arange(6).reshape(2, 3))
        h.create_array(group, "texts", [b"a", b"bcd"])
        grown = h.create_earray(group, "grown", tables.Int16Atom(shape=(3,)), (0,), filters=tables.Filters(1, "blosc"))
        grown.append(np.arange(30, dtype="i2").reshape(10, 3))
        h.create_carray(group, "chunks", tables.Float64Atom(dflt=-1.0), (50, 4), filters=tables.Filters(9, "zlib"))[3:5] = 2.5
        lists = h.create_vlarray(group, "lists", tables.Int32Atom())
        words = h.create_vlarray(group, "words", tables.VLUnicodeAtom())
        things = h.create_vlarray(group, "things", tables.ObjectAtom())
        for number in range(4):
            lists.append(list(range(number)))
            words.append("ä" * number)
            things.append({"n": number})
        h.create_soft_link(group, "soft", "/arrays/plain")
        h.root.particles.attrs.settings = {"a": [1, 2]}
        h.root.particles.attrs.dt = np.float32(0.1)


def write_pandas(path: Path) -> None:
    times = pd.date_range("2024-02-28", periods=5, freq="6h")
    frame = pd.DataFrame({"n": range(5), "x": np.linspace(0, 1, 5), "word": list("abcde"), "on": [True, False] * 2 + [True]}, index=times)
    frame["kind"] = pd.Categorical(["u", "v", "u", "u", "v"])
    with pd.HDFStore(path, "w", complevel=4, complib="zlib") as store:
        store.put("fixed", frame.drop(columns="kind"))
        store.put("table", frame, format="table", data_columns=["x"])
        store.append("series", frame.x)


def write_matlab(path: Path) -> None:
    """As version 7.3 of MATLAB's files is described: the first index varies fastest, so shapes are turned round."""
    with h5py.File(path, "w", userblock_size=512, libver=("earliest", "v108")) as h:

        def put(where: Any, name: str, data: Any, kind: str, **attrs: Any) -> Any:
            made = where.create_dataset(name, data=data)
            made.attrs["MATLAB_class"] = np.bytes_(kind)
            for key, value in attrs.items():
                made.attrs[key] = value
            return made

        def text(where: Any, name: str, value: str) -> Any:
            letters = np.array([[ord(letter)] for letter in value], "u2")
            return put(where, name, letters, "char", MATLAB_int_decode=np.int32(2))

        put(h, "matrix", np.arange(6.0).reshape(3, 2), "double")
        h.create_dataset("packed", data=np.eye(40), chunks=(10, 40), compression=3).attrs["MATLAB_class"] = np.bytes_("double")
        put(h, "z", np.array([[(1.0, -2.0)]], [("real", "f8"), ("imag", "f8")]), "double")
        put(h, "flag", np.array([[1]], "u1"), "logical", MATLAB_int_decode=np.int32(1))
        put(h, "nothing", np.array([0, 0], "u8"), "double", MATLAB_empty=np.uint8(1))
        text(h, "title", "Überfluß")
        kept = h.create_group("#refs#")
        cell = [text(kept, "b", "one"), put(kept, "c", np.array([[2.0]]), "double")]
        put(h, "cell", np.array([[each.ref] for each in cell], h5py.ref_dtype), "cell")
        record = h.create_group("record")
        record.attrs["MATLAB_class"] = np.bytes_("struct")
        names = np.empty(2, object)
        names[:] = [np.array(list(name.encode()), "u1").view("S1") for name in ("id", "name")]
        record.attrs.create("MATLAB_fields", names, dtype=h5py.vlen_dtype("S1"))
        put(record, "id", np.array([[7.0]]), "double")
        text(record, "name", "seven")
        sparse = h.create_group("sparse")
        sparse.attrs["MATLAB_class"], sparse.attrs["MATLAB_sparse"] = np.bytes_("double"), np.uint64(3)
        for name, data in (("data", [1.0, 2.0]), ("ir", np.array([0, 2], "u8")), ("jc", np.array([0, 1, 2], "u8"))):
            sparse[name] = data
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Wed Nov 25 2026 HDF5 schema 1.00 .".ljust(116))
        file.write(bytes(8) + b"\x00\x02IM")


def plain(value: Any, file: Any) -> Any:
    """What h5py has, as scda has it: references are paths, texts are decoded."""
    if isinstance(value, h5py.Reference):
        return file[value].name if value else ""
    if isinstance(value, np.ndarray) and value.dtype.hasobject and value.dtype.names is None:
        return [plain(each, file) for each in value]
    return value.decode() if isinstance(value, bytes) else value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


@pytest.mark.parametrize("write", [write_pytables, write_pandas, write_matlab])
def test_files_of_others(write: Callable[[Path], None], tmp_path: Path) -> None:
    write(tmp_path / "a.h5")
    assert convert(str(tmp_path / "a.h5"), str(tmp_path / "f.scda"), strict=True) == 0
    scda.verify(tmp_path / "f.scda")
    with h5py.File(tmp_path / "a.h5") as a, scda.open(tmp_path / "f.scda") as f:
        seen: list[str] = []

        def compare(name: str, item: Any) -> None:
            if not isinstance(item, h5py.Dataset):
                return
            seen.append(name)
            found = f[name]
            attrs = {key for key in item.attrs if key not in ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME")}
            assert attrs | {"CLASS"} == {key for key in found.attrs if not key.startswith("scda_")} | {"CLASS"}, name
            if "scda_type" in found.attrs:
                lists = [np.asarray(each).astype(np.asarray(each).dtype.newbyteorder("<")).tobytes() for each in item[()]]
                assert found[...].tolist() == lists, name
            elif item.id.get_type().get_class() == h5py.h5t.COMPOUND:
                assert found.dtype.names is not None and len(found) == len(item), name
            else:
                assert found[...].tolist() == plain(item[()], a), name

        a.visititems(compare)
        assert len(seen) >= 5 and sorted(seen) == sorted(f._datasets())


def of_type(path: Path, kind: Any, data: bytes, shape: Any, **how: Any) -> None:
    """A dataset `u` of this type, written byte by byte, with an attribute of each shape."""
    with h5py.File(path, "w") as h:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if "fill" in how:
            properties.set_fill_value(how["fill"])
        if "chunks" in how:
            properties.set_chunk(how["chunks"])
        space = h5py.h5s.create_simple(shape, how.get("most"))
        dataset = h5py.h5d.create(h.id, b"u", kind, space, properties)
        if data:
            dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.frombuffer(data, f"V{kind.get_size()}").reshape(shape), mtype=kind)
        space = h5py.h5s.create(h5py.h5s.NULL)
        h5py.h5a.create(dataset, b"none", kind, space)
        for name, of in (("one", ()), ("two", (2, 1)), ("empty", (2, 0, 3))):
            space = h5py.h5s.create_simple(of) if of else h5py.h5s.create(h5py.h5s.SCALAR)
            attribute = h5py.h5a.create(dataset, name.encode(), kind, space)
            if data and name != "empty":
                raw = data[: kind.get_size()] * max(1, int(np.prod(of)))
                attribute.write(np.frombuffer(raw, f"V{kind.get_size()}").reshape(of), mtype=kind)


def text(size: int, pad: int) -> Any:
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(size)
    kind.set_strpad(pad)
    return kind


def opaque(size: int) -> Any:
    kind = h5py.h5t.create(h5py.h5t.OPAQUE, size)
    kind.set_tag("tåg".encode())
    return kind


def complex_of(part: Any) -> Any:
    kind = h5py.h5t.create(h5py.h5t.COMPOUND, 2 * part.get_size())
    kind.insert(b"r", 0, part)
    kind.insert(b"i", part.get_size(), part)
    return kind


def enumeration(of: Any) -> Any:
    kind = h5py.h5t.enum_create(of)
    kind.enum_insert("größer".encode(), 3)
    return kind


def with_gap() -> Any:
    """One byte has no order, but HDF5 keeps one; and a tag of which numpy knows nothing."""
    kind = h5py.h5t.create(h5py.h5t.COMPOUND, 9)
    kind.insert(b"x", 3, h5py.h5t.STD_I8BE)
    kind.insert(b"tagged", 5, opaque(3))
    return kind


SPACES, FEW = h5py.h5t.STR_SPACEPAD, {"most": (10,), "chunks": (3,)}
TYPES = {
    # Fortran writes such texts; h5py has the fill value.
    "spaces": lambda path: of_type(path, text(4, SPACES), b"ab  cd  ", (2,), fill=np.array(b"x   ")),
    "no spaces": lambda path: of_type(path, text(4, SPACES), b"", (0, 3)),
    "few": lambda path: of_type(path, h5py.h5t.STD_I32LE, np.arange(5, dtype="<i4").tobytes(), (5,), **FEW),
    "tagged": lambda path: of_type(path, opaque(3), b"abcdef", (2,)),
    "complex": lambda path: of_type(path, complex_of(h5py.h5t.IEEE_F32BE), np.arange(4, dtype=">f4").tobytes(), (2,)),
    "enumeration": lambda path: of_type(path, enumeration(h5py.h5t.STD_I32BE), b"\0\0\0\3" * 2, (2,)),
    "gap": lambda path: of_type(path, with_gap(), bytes(range(1, 19)), (2,)),
    "array": lambda path: of_type(path, h5py.h5t.array_create(enumeration(h5py.h5t.STD_I8BE), (3,)), b"\3" * 6, (2, 1), chunks=(1, 1)),
    "lists": lambda path: of_type(path, h5py.h5t.vlen_create(h5py.h5t.STD_I16LE), b"", (3, 0, 2)),
}


@pytest.mark.parametrize("name", TYPES)
def test_types_and_attributes_of_each_shape(name: str, tmp_path: Path) -> None:
    TYPES[name](tmp_path / "a.h5")
    assert convert(str(tmp_path / "a.h5"), str(tmp_path / "f.scda"), strict=True) == 0
    scda.verify(tmp_path / "f.scda")
    with h5py.File(tmp_path / "a.h5") as a, scda.open(tmp_path / "f.scda") as f:
        inner = a["u"].id.get_type().get_array_dims() if name == "array" else ()
        assert f["u"].shape == (*a["u"].shape, *inner) and set(f["u"].attrs) >= {"none", "one", "two", "empty"}
        assert np.size(f["u"].attrs["empty"]) == 0 and (len(f["u"].attrs["two"]), len(f["u"].attrs["two"][0])) == (2, 1)
        if name in VALUES:
            assert f["u"][...].tolist() == VALUES[name]


VALUES: dict[str, Any] = {
    "spaces": [b"ab", b"cd"],
    "few": [0, 1, 2, 3, 4],
    "tagged": [b"abc", b"def"],
    "complex": [1j, 2 + 3j],
    "enumeration": [3, 3],
    "gap": [(4, b"\6\7\x08"), (13, b"\x0f\x10\x11")],
    "array": [[[3, 3, 3]], [[3, 3, 3]]],
}


def test_names_of_dimensions(tmp_path: Path) -> None:
    """Those of scales, wherever they are; else labels."""
    with h5py.File(tmp_path / "a.h5", "w") as h:
        for path, mark in (("x", "x"), ("far/y", "lengths")):
            h.create_dataset(path, data=np.ones(2)).make_scale(mark)
        made = h.create_dataset("u", data=np.zeros((2, 2, 2, 3)))
        made.dims[0].attach_scale(h["x"])
        made.dims[1].attach_scale(h["far/y"])
        made.dims[2].label = "a label"
        h.create_dataset("own", data=[1.0, 2.0]).dims[0].label = "own"
    assert convert(str(tmp_path / "a.h5"), str(tmp_path / "f.scda"), strict=True) == 0
    with scda.open(tmp_path / "f.scda") as f:
        assert f["u"].dims == ("x", "y", "a label", None) and f["own"].dims == ("own",) and f["far/y"].dims == ("y",)


def test_attributes_with_the_names_of_ours_are_told(tmp_path: Path) -> None:
    long = "n" * 60
    with h5py.File(tmp_path / "a.h5", "w") as h:
        h.attrs["imported"] = "yesterday"
        for name in ("u", long):
            h[name] = [1, 2]
            h[name].attrs["scda_types"], h[name].attrs["scda_name"], h[name].attrs["of"] = 7, "mine", h["u"].ref
    told: list[str] = []
    convert(str(tmp_path / "a.h5"), str(tmp_path / "f.scda"), tell=told.append)
    reason = "found a name that scda reserves; it is left out"
    mine = [("/", "imported"), (long, "scda_name"), (long, "scda_types"), ("u", "scda_types")]
    assert sorted(told) == sorted(f"{tmp_path}/a.h5: {path!r}: attribute {name!r}: {reason}" for path, name in mine)
    with scda.open(tmp_path / "f.scda") as f:
        assert f["u"].attrs["scda_name"] == "mine" and f[long][:].tolist() == [1, 2] and list(f) == [long, "u"]
    with pytest.raises(ValueError, match="attrs: found 'scda_name', which is reserved for names"):
        with scda.create(tmp_path / "g.scda") as w:
            w.dataset(long, [1, 2], attrs={"scda_name": "mine"})
