"""scda import and scda export: files as other programs write them, there and back, compared by the library of HDF5."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
import scda

h5py = pytest.importorskip("h5py")
pd = pytest.importorskip("pandas")
tables = pytest.importorskip("tables")

from scda import _hdf5_types  # noqa: E402
from scda._export import export  # noqa: E402
from scda._import import convert  # noqa: E402


def write_pytables(path: Path) -> None:
    class Nested(tables.IsDescription):  # type: ignore[misc]
        x = tables.Float32Col(shape=(2,))
        on = tables.BoolCol()

    class Particle(tables.IsDescription):  # type: ignore[misc]
        name = tables.StringCol(16, pos=0)
        at = tables.Time64Col(pos=1)
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


def differences(one: Any, other: Any, path: str = "/") -> list[str]:
    """How one object of HDF5 differs from another: types, shapes, values, attributes, links."""
    found = []
    if list(sorted(one.attrs)) != list(sorted(other.attrs)):
        found.append(f"{path}: attributes {sorted(set(one.attrs) ^ set(other.attrs))}")
    for name in set(one.attrs) & set(other.attrs):
        a, b = one.attrs.get_id(name), other.attrs.get_id(name)
        if not a.get_type().equal(b.get_type()) or a.shape != b.shape or not same(one, one.attrs[name], other, other.attrs[name]):
            what = [(each.shape, _hdf5_types.describe(each.get_type())) for each in (a, b)]
            found.append(f"{path}: attribute {name}: {one.attrs[name]!r} {other.attrs[name]!r} {what}")
    if isinstance(one, h5py.Dataset):
        is_alike = (one.shape, one.maxshape, one.chunks) == (other.shape, other.maxshape, other.chunks)
        if not is_alike or not one.id.get_type().equal(other.id.get_type()):
            what = [(each.shape, each.maxshape, each.chunks, _hdf5_types.describe(each.id.get_type())) for each in (one, other)]
            found.append(f"{path}: {what}")
        elif one.shape is not None and not same(one, items(one), other, items(other)):
            found.append(f"{path}: {items(one)} {items(other)}")
        elif fill(one) != fill(other):
            found.append(f"{path}: fill value {fill(one)} {fill(other)}")
        return found
    if sorted(one) != sorted(other):
        found.append(f"{path}: {sorted(set(one) ^ set(other))}")
    for name in set(one) & set(other):
        links = [each.get(name, getlink=True) for each in (one, other)]
        if type(links[0]) is not type(links[1]):
            found.append(f"{path}{name}: {links}")
        elif isinstance(links[0], h5py.HardLink):
            found += differences(one[name], other[name], f"{path}{name}/")
    return found


def items(dataset: Any) -> Any:
    """All of them, as h5py has them; of a type that numpy has not their bytes."""
    try:
        return dataset[()]
    except TypeError:
        kind = dataset.id.get_type()
        raw = np.zeros(dataset.shape, f"V{kind.get_size()}")
        dataset.id.read(h5py.h5s.ALL, h5py.h5s.ALL, raw, mtype=kind)
        return raw


def fill(dataset: Any) -> Any:
    try:
        return repr(dataset.fillvalue)
    except TypeError:
        return None


def same(one: Any, a: Any, other: Any, b: Any) -> bool:
    """Whether values are alike, bit by bit; references where they lead."""
    if isinstance(a, h5py.Reference):
        return bool(one.file[a].name == other.file[b].name) if a else not b
    if isinstance(a, h5py.Empty):
        return bool(a == b)
    if isinstance(a, np.ndarray) and a.dtype.hasobject or isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(one, x, other, y) for x, y in zip(a, b))
    return repr(a) == repr(b) and np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("write", [write_pytables, write_pandas, write_matlab])
def test_files_of_others(write: Callable[[Path], None], tmp_path: Path) -> None:
    write(tmp_path / "a.h5")
    assert convert(str(tmp_path / "a.h5"), str(tmp_path / "f.scda"), strict=True) == 0
    assert export(tmp_path / "f.scda", str(tmp_path / "b.h5"), netcdf=False, strict=True) == 0
    scda.verify(tmp_path / "f.scda")
    with h5py.File(tmp_path / "a.h5") as a, h5py.File(tmp_path / "b.h5") as b:
        assert not (found := differences(a, b)), "\n".join(found)
        assert a.userblock_size == b.userblock_size
        with open(tmp_path / "a.h5", "rb") as one, open(tmp_path / "b.h5", "rb") as other:
            assert one.read(a.userblock_size) == other.read(a.userblock_size)


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
    assert export(tmp_path / "f.scda", str(tmp_path / "b.h5"), netcdf=False, strict=True) == 0
    scda.verify(tmp_path / "f.scda")
    with h5py.File(tmp_path / "a.h5") as a, h5py.File(tmp_path / "b.h5") as b:
        found = [_hdf5_types.describe(each["u"].id.get_type()) for each in (a, b)]
        assert found[0] == found[1] and a["u"].maxshape == b["u"].maxshape
        assert fill(a["u"]) == fill(b["u"])
        for attribute in a["u"].attrs:
            one, other = (each["u"].attrs.get_id(attribute) for each in (a, b))
            assert one.shape == other.shape, attribute
            assert one.get_space().get_simple_extent_type() == other.get_space().get_simple_extent_type(), attribute
            assert _hdf5_types.describe(one.get_type()) == _hdf5_types.describe(other.get_type()), attribute
        if a["u"].size and found[0] != {"list": "int16"}:
            raw = []
            for each in (a, b):
                raw.append(np.zeros(a["u"].shape, f"V{a['u'].id.get_type().get_size()}"))
                each["u"].id.read(h5py.h5s.ALL, h5py.h5s.ALL, raw[-1], mtype=each["u"].id.get_type())
            one, other = (np.frombuffer(each.tobytes(), _hdf5_types.layout(found[0])) for each in raw)
            assert np.array_equal(one, other)  # gaps are no data


def test_scales_labels_and_their_names(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as h:
        for path, mark in (("x", "x"), ("far/x", ""), ("far/y", "lengths"), ("plane", "plane"), ("near/x", "x")):
            h.create_dataset(path, data=np.ones((2, 2) if path == "plane" else 2)).make_scale(mark)
        of = {"usual": [["x"]], "near/usual": [["near/x"]], "two": [["x", "far/y"]], "other": [["far/x"], ["x"]], "more": [["plane"]]}
        for path, scales in of.items():
            made = h.create_dataset(path, data=np.zeros((2,) * len(scales)))
            for d, each in enumerate(scales):
                for scale in each:
                    made.dims[d].attach_scale(h[scale])
        h["other"].dims[1].label = "a label"
        h.create_dataset("own", data=[1.0, 2.0]).dims[0].label = "own"
        h.create_dataset("label", data=[1.0, 2.0]).dims[0].label = "only this"
    assert convert(str(tmp_path / "a.h5"), str(tmp_path / "f.scda"), strict=True) == 0
    assert export(tmp_path / "f.scda", str(tmp_path / "b.h5"), netcdf=False, strict=True) == 0
    with scda.open(tmp_path / "f.scda") as f:
        assert "scda_scales" not in f["near/usual"].attrs and "scda_scales" not in f["label"].attrs
        assert f["far/y"].attrs["scda_scales"] == {"name": "lengths", "dimensions": [{}]}
        assert f["other"].attrs["scda_scales"] == {"dimensions": [{"scales": ["/far/x"]}, {"label": "a label", "scales": ["/x"]}]}
    found = []
    for name in ("a.h5", "b.h5"):
        with h5py.File(tmp_path / name) as h:
            paths = [path for path in ("x", "far/x", "far/y", "plane", "near/x", *of, "own", "label")]
            marks = [h5py.h5ds.get_scale_name(h[path].id) if h[path].is_scale else None for path in paths]
            dims = [[(dim.label, [scale.name for scale in dim.values()]) for dim in h[path].dims] for path in paths]
            found.append((marks, dims))
    assert found[0] == found[1]
    # What no import has written is told, and costs nothing else.
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("u", [1, 2], attrs={"scda_scales": {"dimensions": [{"scales": ["/none"]}, 3]}})
    told: list[str] = []
    assert export(tmp_path / "f.scda", str(tmp_path / "c.h5"), netcdf=False, tell=told.append) == 1
    assert "'u': dimensions with scales: " in told[0]
    with h5py.File(tmp_path / "c.h5") as h:
        assert h["u"][:].tolist() == [1, 2]


def test_attributes_with_the_names_of_ours_are_told(tmp_path: Path) -> None:
    long = "n" * 60
    with h5py.File(tmp_path / "a.h5", "w") as h:
        h.attrs["imported"] = "yesterday"
        for name in ("u", long):
            h[name] = [1, 2]
            h[name].attrs["scda_types"], h[name].attrs["scda_name"], h[name].attrs["of"] = 7, "mine", h["u"].ref
    told: list[str] = []
    convert(str(tmp_path / "a.h5"), str(tmp_path / "f.scda"), tell=told.append)
    reason = "found a name that scda uses itself; it is left out"
    mine = [("/", "imported"), (long, "scda_name"), (long, "scda_types"), ("u", "scda_types")]
    assert sorted(told) == sorted(f"{tmp_path}/a.h5: {path!r}: attribute {name!r}: {reason}" for path, name in mine)
    with scda.open(tmp_path / "f.scda") as f:
        assert f["u"].attrs["scda_name"] == "mine" and f[long][:].tolist() == [1, 2] and list(f) == [long, "u"]
    with pytest.raises(ValueError, match="attrs: found 'scda_name', which is the name itself"):
        with scda.create(tmp_path / "g.scda") as w:
            w.dataset(long, [1, 2], attrs={"scda_name": "mine"})
    # A reference to what is not in the new file is told once.
    told.clear()
    with scda.open(tmp_path / "f.scda") as f, scda.create(tmp_path / "g.scda") as w:
        w.dataset("v", ["/u"] * 3, attrs={"scda_type": "reference"})
    export(tmp_path / "g.scda", str(tmp_path / "b.h5"), netcdf=False, tell=told.append)
    assert told == [f"{tmp_path}/g.scda: '/u': found a reference to this, which is not in the new file; it is left out"]
