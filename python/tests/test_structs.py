"""Structs, times, and texts of fixed length."""

from pathlib import Path

import numpy as np
import pytest

import scda

PARTICLE = np.dtype([("x", "f8", (3,)), ("mass", "f4"), ("alive", "?"), ("id", "u8"), ("name", "S6")])


def particles(n, dtype=PARTICLE):
    a = np.zeros(n, dtype)
    a["x"] = np.arange(3 * n).reshape(n, 3) / 7
    a["mass"], a["alive"], a["id"] = np.arange(n) + 0.5, np.arange(n) % 3 == 0, np.arange(n) << 40
    a["name"] = [b"ion" if i % 2 else b"e-" for i in range(n)]
    return a


ARRAYS = {
    "structs": particles(7),
    "gaps": particles(7, np.dtype(PARTICLE.descr, align=True)),
    "nested": np.array([(1, (2, 3.5)), (4, (5, 6.5))], [("a", "i2"), ("b", [("c", "u1"), ("d", "f8")])]),
    "seconds": np.array(["2020-01-01T00:00:01", "NaT", "1969-12-31"], "M8[s]"),
    "spans": np.array([1, -20], "m8[10us]"),
    "texts": np.array([["a", "żółw"], ["", "\U0001f40c"]], "U5"),
    "bytes": np.array([b"ab", b"", b"a\0b"], "S4"),
    "times in structs": np.array([("2020-01-01", "x"), ("NaT", "yz")], [("t", "M8[D]"), ("s", "U2")]),
    "matrices": np.ones((2, 3), [("m", "i4", (2, 2))]),
}


@pytest.mark.parametrize("encode", [False, True, "auto"])
def test_there_and_back(tmp_path, encode):
    with scda.create(tmp_path / "f") as w:
        for name, array in ARRAYS.items():
            w.dataset(name, array, encode=encode)
    with scda.open(tmp_path / "f") as f:
        for name, array in ARRAYS.items():
            found = f[name][...]
            assert found.shape == array.shape and found.dtype.names == array.dtype.names
            # As text, NaT is itself, too.
            assert repr(found.tolist()) == repr(array.tolist())
        assert f["seconds"].dtype == np.dtype("M8[s]") and f["spans"].dtype == np.dtype("m8[10us]")
        assert f["seconds"][...].view("i8").tolist() == ARRAYS["seconds"].view("i8").tolist()
        assert f["structs"].dtype == PARTICLE and f["gaps"].dtype == PARTICLE
        assert f["gaps"][2:4]["x"].tolist() == ARRAYS["gaps"]["x"][2:4].tolist()
        assert f["structs"][3]["name"] == b"ion"
        assert f["matrices"].dtype["m"].shape == (2, 2)
        few = f["structs"].astype([("id", "u4"), ("mass", "f8")])[:1]
        assert few.dtype.names == ("id", "mass") and few["mass"].tolist() == [0.5]
        with pytest.raises(scda.RangeError):
            f["structs"].astype([("id", "u4")])[1:]


def test_fill_values(tmp_path):
    with scda.create(tmp_path / "f") as w:
        w.dataset("t", np.array(["2020-01-01"], "M8[D]"), shape=(3,), start=(1,), fill_value=np.datetime64("NaT"), encode=True)
        w.dataset("s", particles(1), shape=(2,), start=(1,), fill_value=particles(3)[2], encode=True)
        w.dataset("u", np.array(["a"]), shape=(2,), start=(1,), fill_value="é")
        w.dataset("b", np.array([b"a"], "S2"), shape=(2,), start=(1,), fill_value=b"zz")
    with scda.open(tmp_path / "f") as f:
        assert np.isnat(f["t"][...]).tolist() == [True, False, True] and np.isnat(f["t"].fill_value)
        assert f["s"][0] == particles(3)[2] and f["s"][1] == particles(1)[0]
        assert f["u"][...].tolist() == ["é", "a"] and f["b"][...].tolist() == [b"zz", b"a"]


def test_what_no_dataset_has(tmp_path):
    for array in (np.array([object()]), np.zeros(2, [("o", object)]), np.zeros(2, [("x", np.longdouble)]), np.zeros(2, "g")):
        with pytest.raises(TypeError), scda.create(tmp_path / "f") as w:
            w.dataset("a", array)


def test_a_struct_whose_members_are_numbered_is_no_array(tmp_path: Path) -> None:
    """In a struct, it is one (docs/datasets.md)."""
    one, two = np.array([(1.5,), (2.5,)], [("0", "f8")]), np.array([(1, 2), (3, 4)], [("0", "i2"), ("1", "i2")])
    inner = np.array([((1, 2),), ((3, 4),)], [("x", two.dtype)])
    with scda.create(tmp_path / "f.scda") as w:
        for name, data in (("one", one), ("two", two), ("inner", inner)):
            w.dataset(name, data)
    with scda.open(tmp_path / "f.scda") as f:
        for name, data in (("one", one), ("two", two)):
            assert f[name].dtype == data.dtype and f[name][:].tolist() == data.tolist()
            assert f[name][1] == data[1]
        assert f["inner"].dtype == np.dtype([("x", "i2", (2,))]) and f["inner"][1]["x"].tolist() == [3, 4]
