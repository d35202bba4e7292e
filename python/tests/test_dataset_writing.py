"""Datasets as they are written, one and several, and what is added to them later."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda
from arrays import TYPES, in_memory, names, part, random_boxes, random_items, random_layout, random_shape, same


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("codec", ["zstd", "lz4", "pcodec", "zlib", "text"])
def test_rounded_numbers_keep_their_bound(tmp_path: Path, codec: str, dtype: str) -> None:
    numbers = np.linspace(-3, 5, 4001) ** 3
    array = (numbers + 1j * numbers[::-1] if dtype[0] == "c" else numbers).astype(dtype)
    array[7], array[8], array[9] = np.nan, -np.inf, 3.14159
    options: dict[str, Any] = {"text": True} if codec == "text" else {"codec": codec}
    with scda.create(tmp_path / "f") as w:
        w.dataset("exact", array, chunks=1000, **options)
        w.dataset("relative", array, chunks=1000, max_relative_error=1e-2, fill_value=array[9], **options)
        w.dataset("absolute", array, chunks=1000, max_absolute_error=0.5, **options)
        with pytest.raises(ValueError, match="max_relative_error: found it with encode=False"):
            w.dataset("a", array, encode=False, max_relative_error=1e-2)
    with scda.open(tmp_path / "f") as f:
        same(f["exact"][...], array)
        relative, absolute = f["relative"], f["absolute"]
        assert relative.attrs == {"_QuantizeBitRoundNumberOfSignificantBits": 6, "scda_max_relative_error": 1e-2}
        assert absolute.attrs == {"scda_max_absolute_error": 0.5}
        for found in (relative[...], absolute[...]):
            same(found[7:9], array[7:9])
        assert relative[9] == array[9]
        real = {"c8": "f4", "c16": "f8"}.get(dtype, dtype)
        parts, near, at_most = (
            np.delete(a, [7, 8]).view(real).astype("f8") for a in (array, relative[...], absolute[...])
        )
        assert (np.abs(near - parts) <= 1e-2 * np.abs(parts)).all() and (near != parts).any()
        assert (np.abs(at_most - parts) <= 0.5).all() and (at_most != parts).any()


def test_gaps_have_the_fill_value(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f") as w:
        for chunks in (None, 4):
            for dtype, fill in [("i2", -7), ("?", True), ("f4", np.nan), ("f8", -0.0), ("f2", np.inf), ("c8", 1 - 2j),
                                ("V3", b"abc"), ("u8", (1 << 64) - 1), ("f4", np.float64(0.1)), ("i4", None)]:  # fmt: skip
                ones = np.zeros(2, dtype)
                w.dataset("a", ones, start=3, shape=9, chunks=chunks, fill_value=fill)
                w.dataset("none", shape=(2, 0, 3), dtype=dtype, fill_value=fill)
                w.dataset("fill", shape=3, dtype=dtype, fill_value=fill, chunks=chunks)
    with scda.open(tmp_path / "f") as f:
        for a, none, fill in zip(f.records("a"), f.records("none"), f.records("fill")):
            expected = np.full(9, a.fill_value, a.dtype)
            assert np.asarray(fill).tobytes() == expected[:3].tobytes() and none[...].shape == (2, 0, 3)
            expected[3:5] = np.zeros(2, a.dtype)
            assert a[...].tobytes() == expected.tobytes() and a.dtype == none.dtype == fill.dtype
        fills = [d.fill_value for d in f.records("a")][:10]
        assert [str(fill) for fill in fills] == [
            *("-7", "True", "nan", "-0.0", "inf", "(1-2j)"), str(np.void(b"abc")), "18446744073709551615", "0.1", "0"
        ]  # fmt: skip


def test_fill_values_of_every_type(tmp_path: Path) -> None:
    struct = np.dtype([("x", "<u1"), ("s", "<U3"), ("t", "<M8[s]"), ("a", [("b", "<f4"), ("c", "?")], (2,)), ("v", "V2")], align=True)
    inner = np.array([(0.1, True), (2, False)], struct["a"].base)
    time = np.datetime64("2000-01-01T12:00:00", "ms")
    fills: list[tuple[Any, Any]] = [
        ("U2", "é"),
        ("U2", np.str_("ab")),
        ("S3", "abc"),
        ("S3", np.array(b"a")),
        ("M8[s]", time),
        ("M8[s]", "2000-01-01T12:00"),
        ("M8[s]", datetime.datetime(2000, 1, 1)),
        ("M8[s]", "NaT"),
        ("M8[25s]", 7),
        ("m8[ms]", np.timedelta64(3, "s")),
        (struct, (1, "ab", time.astype("M8[s]"), inner, np.void(b"ab"))),
        (struct, np.array([(1, "ab", time, inner, np.void(b"ab"))], struct)[0]),
        (struct, np.array((1, "ab", time, inner, np.void(b"ab")), struct)),
        ([("x", "f4"), ("y", "i2", (2, 3))], 3),
        # As numpy broadcasts them.
        *(([("y", "i2", (2, 3))], (rows,)) for rows in (3, [1, 2, 3], [[1, 2, 3]], [[1], [2]], [[1, 2, 3], [4, 5, 6]], np.arange(3), (7,))),
        ([("y", "S2", (2, 2))], ([b"a", "bc"],)),
        ([("y", "M8[s]", (2, 2))], ([time, "NaT"],)),
        *(([("y", "u1,f4", (2,))], (rows,)) for rows in ((1, 2.5), [(1, 2.5)], [(1, 2.5), (3, 4)])),
        # What numpy takes for padding.
        ("S2", b"ab\0\0"),
        ("S2", np.array(b"ab", "S9")),
        ("U1", "a\0"),
        ("U1", "\0\0"),
        ("S4", b"a\0b\0"),
    ]
    with scda.create(tmp_path / "f") as w:
        for number, (dtype, fill) in enumerate(fills):
            w.dataset(f"{number}", shape=2, dtype=dtype, fill_value=fill)
    with scda.open(tmp_path / "f") as f:
        for number, (dtype, fill) in enumerate(fills):
            d = f[f"{number}"]
            expected = np.full(2, np.array(fill, d.dtype))
            assert d[...].tobytes() == expected.tobytes() and d.fill_value.tobytes() == expected[0].tobytes()


def test_a_field_is_a_dataset(tmp_path: Path) -> None:
    array = np.arange(24, dtype=">i8").reshape(4, 3, 2)
    for name, options in {
        "plain": {},
        "auto": {"encode": "auto"},
        "chunks": {"chunks": (3, 3, 1), "dims": list("xyz")},
    }.items():
        with scda.create(tmp_path / "field") as w:
            w.field(name, array, **options)  # type: ignore[arg-type]
        with scda.create(tmp_path / "dataset") as w:
            w.dataset(name, array, **options)  # type: ignore[arg-type]
        assert (tmp_path / "field").read_bytes() == (tmp_path / "dataset").read_bytes()


@pytest.mark.parametrize(
    "error, message, arguments, options",
    [
        (TypeError, "raw bytes", ("a", np.zeros(3, "g")), {}),
        (TypeError, "raw bytes", ("a", np.zeros(3, [("x", "g")])), {}),
        (TypeError, "expected numbers", ("a", np.zeros(3, [("x", object)])), {}),
        (TypeError, "expected numbers", ("a", [None]), {}),
        (TypeError, "masked", ("a", np.ma.masked_equal([1, 2], 2)), {}),
        (TypeError, "name: found bytes", (b"a", 1), {}),
        (ValueError, "shape is missing", ("a",), {"dtype": "f8"}),
        (ValueError, "shape is missing", ("a", [1]), {"start": 0}),
        (ValueError, "dtype is missing", ("a",), {"shape": 3}),
        (ValueError, "together with data", ("a", [1]), {"boxes": []}),
        (ValueError, "found the types", ("a",), {"boxes": [(0, [1]), (1, [1.0])], "shape": 3}),
        (ValueError, "expected a part of", ("a", [1, 2]), {"start": 2, "shape": 3}),
        (ValueError, "found 1 dimensions", ("a", [1, 2]), {"shape": (3, 3)}),
        (ValueError, "dims: found", ("a", [1, 2]), {"dims": ("x", "y")}),
        (ValueError, "encode=False", ("a", [1, 2]), {"encode": False, "level": 2}),
        (ValueError, "encode: found 'yes'", ("a", [1, 2]), {"encode": "yes"}),
        (ValueError, "text: found", ("a", [1, 2]), {"encode": "auto", "text": True}),
        (TypeError, "text: found", ("a", [1, 2]), {"text": 1}),
        (TypeError, "shuffle: found", ("a", [1, 2]), {"shuffle": 1}),
        (scda.ArgumentError, "level: found 10", ("a", [1, 2]), {"level": 10}),
        (TypeError, "attrs: found list", ("a", [1, 2]), {"attrs": [1]}),
        (TypeError, "attrs: found the key 1", ("a", [1, 2]), {"attrs": {1: 2}}),
        (TypeError, "attrs: 'a': found <object", ("a", [1, 2]), {"attrs": {"a": object()}}),
        (TypeError, "attrs: 'a': found .*, expected numbers, strings, lists, dicts, bools or None, as in JSON", ("a", 1), {"attrs": {"a": np.longdouble(1)}}),
        (TypeError, "attrs: 'a': found .*, expected numbers, strings, lists, dicts, bools or None, as in JSON", ("a", 1), {"attrs": {"a": [np.zeros(2, "G")]}}),
        (ValueError, "attrs: 'a': .* surrogates not allowed", ("a", 1), {"attrs": {"x": 1, "a": "\udc80"}}),
        (ValueError, "attrs: '.udc80': .* surrogates not allowed", ("a", 1), {"attrs": {"\udc80": 1}}),
        (ValueError, "fill_value: found 300", ("a", np.zeros(2, "u1")), {"fill_value": 300}),
        (ValueError, "fill_value: found 2,", ("a", np.zeros(2, "?")), {"fill_value": 2}),
        (ValueError, "fill_value: found 1e\\+30", ("a", np.zeros(2, "f2")), {"fill_value": 1e30}),
        (TypeError, "fill_value: found 1j", ("a", np.zeros(2, "f2")), {"fill_value": 1j}),
        (TypeError, "found 1.5, expected an integer", ("a", np.zeros(2, "i2")), {"fill_value": 1.5}),
        (TypeError, "fill_value: found 'x'", ("a", np.zeros(2)), {"fill_value": "x"}),
        (TypeError, "fill_value: found 3, expected bytes", ("a", np.zeros(2, "V3")), {"fill_value": 3}),
        (ValueError, "fill_value: found 2 bytes", ("a", np.zeros(2, "V3")), {"fill_value": b"ab"}),
        (ValueError, "fill_value: found 'xyz', expected a text that fits into <U2", ("a", ["ab"]), {"fill_value": "xyz"}),
        (ValueError, "fill_value: found b'xyz', expected", ("a", np.array([b"ab"])), {"fill_value": b"xyz"}),
        (TypeError, "fill_value: found 12, expected a text", ("a", ["ab"]), {"fill_value": 12}),
        (
            *(ValueError, "found .*, expected a time that datetime64\\[s\\]", ("a", np.zeros(2, "M8[s]"))),
            {"fill_value": np.datetime64("2000-01-01T00:00:00.5")},
        ),
        (ValueError, "expected a time that", ("a", np.zeros(2, "M8[ns]")), {"fill_value": np.datetime64("3000", "Y")}),
        (ValueError, "expected a time that", ("a", np.zeros(2, "m8[s]")), {"fill_value": np.timedelta64(1500, "ms")}),
        (TypeError, "expected one time", ("a", np.zeros(2, "m8[s]")), {"fill_value": [1, 2]}),
        (ValueError, "fill_value: found 'xyz'", ("a", np.zeros(2, "u1,U2")), {"fill_value": (1, "xyz")}),
        (ValueError, "fill_value: found 300", ("a", np.zeros(2, "u1,U2")), {"fill_value": (300, "xy")}),
        (ValueError, "found 1 members, expected 2", ("a", np.zeros(2, "u1,U2")), {"fill_value": (3,)}),
        (ValueError, "found 3 items in a member", ("a", np.zeros(2, [("x", "u1", 2)])), {"fill_value": ([1, 2, 3],)}),
        (ValueError, "found 2 items in a member", ("a", np.zeros(2, [("x", "u1", (2, 3))])), {"fill_value": ([1, 2],)}),
        (ValueError, "found 0 items in a member", ("a", np.zeros(2, [("x", "u1", (2, 3))])), {"fill_value": ([],)}),
        (TypeError, "expected one number", ("a", np.zeros(2, [("x", "u1", (2,))])), {"fill_value": ([[1, 2]],)}),
        (ValueError, "fill_value: found b'abc.x00'", ("a", np.array([b"ab"])), {"fill_value": b"abc\0"}),
        (scda.ArgumentError, "name of a dataset", ("a//b", 1), {}),
        (scda.ArgumentError, "reserved", ("scda dataset 00", 1), {}),
        (scda.ArgumentError, "in two boxes", ("a",), {"boxes": [(0, [1]), (0, [1])], "shape": 3}),
        (scda.ArgumentError, "chunk", ("a", [1, 2]), {"chunks": (1, 1)}),
        (scda.RangeError, "63 bits", ("a",), {"shape": (1 << 40, 1 << 40), "dtype": "f8"}),
    ],
)
def test_what_cannot_be_written(error: Any, message: str, arguments: Any, options: Any, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        with scda.create(tmp_path / "f") as w:
            w.dataset(*arguments, **options)
    assert not (tmp_path / "f").exists()


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_several_datasets_are_the_same_as_one_after_the_other(threads: int, seed: int, tmp_path: Path) -> None:
    generator = np.random.default_rng([seed, threads])
    all_of_them: dict[str, Any] = {}
    for number, dtype in enumerate(TYPES):
        shape = random_shape(generator)
        array, options = random_items(generator, dtype, shape), random_layout(generator, shape)
        kind = generator.integers(3)
        if kind == 0:
            all_of_them[f"a/{number}"] = array
        elif kind == 1:
            all_of_them[f"a/{number}"] = {"data": in_memory(generator, array), "attrs": {"n": number}, **options}
        else:
            boxes = [(start, part(array, (start, count))) for start, count in random_boxes(generator, shape, 9)]
            all_of_them[f"a/{number}"] = {"boxes": boxes, "shape": shape, "dtype": dtype, **options}
    with scda.create(tmp_path / "several", threads=threads) as w:
        w.datasets({})
        w.datasets(all_of_them, encode=True)
    with scda.create(tmp_path / "one by one", threads=threads) as w:
        for name, value in all_of_them.items():
            w.dataset(name, **{"encode": True, **(value if isinstance(value, dict) else {"data": value})})
    assert (tmp_path / "several").read_bytes() == (tmp_path / "one by one").read_bytes()


@pytest.mark.parametrize(
    "error, message, datasets, options",
    [
        (TypeError, "^datasets: found a list, expected a dict", [("a", 1)], {}),
        (TypeError, "^b: chunk: found an argument that dataset", {"a": 1, "b": {"data": 1, "chunk": 1}}, {}),
        (TypeError, "^a: colour: found an argument that dataset", {"a": 1}, {"colour": 1}),
        (TypeError, "^b: dtype: found", {"a": 1, "b": [object()]}, {}),
        (ValueError, "^b: data: found the shape", {"a": {"data": [1], "start": 2}, "b": [1, 2]}, {"shape": 3, "start": 2}),
        (scda.ArgumentError, "level: found 10", {"a": 1, "b": {"data": 1, "level": 10}}, {"level": 1}),
        (scda.ArgumentError, "name of a dataset", {"a": [1], "b//c": [2]}, {"encode": True}),
        (scda.ArgumentError, "in two boxes", {"a": [1], "b": {"boxes": [(0, [1]), (0, [1])], "shape": 3}}, {"chunks": 1}),
    ],
)
def test_what_several_datasets_cannot_be(error: Any, message: str, datasets: Any, options: Any, tmp_path: Path) -> None:
    with pytest.raises(error) as caught:
        with scda.create(tmp_path / "f") as w:
            w.datasets(datasets, **options)
    assert re.search(message, str(caught.value)), caught.value
    assert not (tmp_path / "f").exists()


def test_a_mistake_of_the_caller_leaves_the_writer_open(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f") as w:
        with pytest.raises(TypeError):
            w.dataset("a", [object()])
        with pytest.raises(ValueError, match="no dimension"):
            w.field("a", 1.0)
        with pytest.raises(TypeError):
            w.datasets({"b": 1, "c": [object()]})
        with pytest.raises(TypeError):
            w.group(b"a", {})  # type: ignore[arg-type]
        w.dataset("a", 1)
    with scda.open(tmp_path / "f") as f:
        assert names(f) == ["a"] and f["a"][()] == 1


def without_superblock(data):
    """All but what leads HDF5 to the last view."""
    return data[:512] + data[560:]


def test_rows_are_added_later(tmp_path: Path) -> None:
    path = tmp_path / "a.scda"
    data = np.arange(60.0).reshape(10, 6)
    words = np.array(["a", "", "bé"], dtype=object)
    long = "group/" * 12 + "x"
    with scda.create(path) as w:
        w.dataset("rho", data[:2], attrs={"units": "m"}, dims=["t", "x"], fill_value=-1.0)
        w.dataset(long, [0])
        w.dataset("words", words[:1], dtype=str)
        w.dataset("rho", data[2:5], extends=True, chunks=(2, 4), fill_value=-1.0)
    before = path.read_bytes()
    with scda.append(path) as w:
        w.dataset("rho", data[5:9, ::-1][:, ::-1], extends=True, fill_value=-1.0)
        w.dataset("rho", data[9:, 1:], shape=(1, 6), start=(0, 1), extends=True, fill_value=-1.0, encode="auto")
        w.datasets({long: [1, 2]}, extends=True)
        w.field("words", words[1:], dtype=str, extends=True)
        w["rho"].attrs["units"] = "K"
        for wrong, words_of in (
            ({"data": data[:1]}, "the fill value differs"),
            ({"data": data[:1, 1:], "fill_value": -1.0}, r"expected \[rows, 6\]"),
            ({"data": data[:1].astype("f4"), "fill_value": -1.0}, "found float32, expected float64"),
        ):
            with pytest.raises(scda.ArgumentError, match=words_of):
                w.dataset("rho", extends=True, **wrong)
        with pytest.raises(scda.NotFoundError, match="there is no dataset of this name"):
            w.dataset("none", [1], extends=True)
        for option in ({"attrs": {"a": 1}}, {"dims": ["t", "x"]}):
            with pytest.raises(ValueError, match="with extends=True"):
                w.dataset("rho", data[:1], extends=True, fill_value=-1.0, **option)
        with pytest.raises(TypeError, match="extends: found 1"):
            w.dataset("rho", data[:1], extends=1)  # type: ignore[arg-type]
    assert without_superblock(path.read_bytes()).startswith(without_superblock(before))
    expected = data.copy()
    expected[9, 0] = -1
    with scda.open(path) as f:
        rho = f["rho"]
        assert rho.shape == (10, 6) and dict(rho.attrs) == {"units": "K"} and rho.dims == ("t", "x")
        assert np.array_equal(rho[:], expected) and np.array_equal(rho[1:9:3, [5, 0]], expected[1:9:3, [5, 0]])
        assert f[long][:].tolist() == [0, 1, 2] and f["words"][:].tolist() == words.tolist()
        assert len(f.records("rho")) == 1
    with pytest.raises(scda.UsageError, match="opened with params.seal"), scda.create(path, seal=False) as w:
        w.dataset("rho", [1])
        w.dataset("rho", [2], extends=True)


def test_attributes_are_set_later(tmp_path: Path) -> None:
    path = tmp_path / "a.scda"
    with scda.create(path) as w:
        for step in range(2):
            w.dataset("rho", np.arange(3.0) + step, attrs={"step": step})
        w["rho"].attrs["units"] = "kg m-3"
    before = path.read_bytes()
    long = "group/" * 12 + "x"
    with scda.append(path) as w:
        w.dataset(long, [1])
        w[long].attrs["a"] = np.float32(0.5)
        w.set_attrs("rho", {"units": "K", "step": None}, record=0)
        w["rho"].attrs.update({"b": [1, 2]})
        del w["rho"].attrs["step"]
        w["/"].attrs["title"] = "later"
        with pytest.raises(TypeError, match="del removes"):
            w["rho"].attrs["c"] = None
        with pytest.raises(scda.NotFoundError, match="there is no record 2"):
            w.set_attrs("rho", {}, record=2)
        with pytest.raises(KeyError):
            w["none"].attrs["c"] = 1
        with pytest.raises(TypeError, match="open for writing"):
            w["rho"][0]
    assert without_superblock(path.read_bytes()).startswith(without_superblock(before))
    with scda.open(path) as f:
        assert [dict(record.attrs) for record in f.records("rho")] == [{"units": "K"}, {"units": "kg m-3", "b": [1, 2]}]
        assert f[long].attrs["a"] == 0.5 and f.attrs["title"] == "later"
    with pytest.raises(scda.UsageError, match="opened with params.seal"), scda.create(path, seal=False) as w:
        w.dataset("rho", [1])
        w["rho"].attrs["c"] = 1


def test_numbers_that_json_has_not(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    attrs = {
        "a": np.nan, "b": -np.inf, "list": [1, np.inf, 2.5], "array": np.array([[np.nan, 1], [2, -np.inf]]), "text": "NaN",
        "texts": ["NaN", "x"], "inner": {"a": np.float32(np.nan)}, "scda_types": {"text": "string"},
    }
    with scda.create(path) as w:
        w.dataset("d", [1], attrs=attrs)
        w["d"].attrs["later"] = np.inf
        w.group("g", {"a": np.nan})
    with scda.open(path) as f:
        found = f["d"].attrs
        assert np.isnan(found["a"]) and found["b"] == -np.inf and found["list"] == [1, np.inf, 2.5] and found["later"] == np.inf
        assert np.array_equal(found["array"], attrs["array"], equal_nan=True)
        assert (found["text"], found["texts"], found["inner"]) == ("NaN", ["NaN", "x"], {"a": "NaN"})
        assert np.isnan(f["g"].attrs["a"])
    # The JSON is what other programs write, and it is written again as it was read.
    with scda.create(tmp_path / "g.scda") as w:
        w.dataset("d", [1], attrs=found)
    with scda.open(tmp_path / "g.scda") as f:
        assert repr(f["d"].attrs) == repr(found)
    circle: list[object] = [np.nan]
    circle.append(circle)
    with scda.create(path) as w, pytest.raises(ValueError, match="attrs: 'a': Circular"):
        w.dataset("d", [1], attrs={"a": circle})
