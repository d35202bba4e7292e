"""Datasets, on one process: what was written is read, as numpy has it."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda
from arrays import TYPES, in_memory, names, part, random_boxes, random_items, random_key, random_layout, random_shape
from conftest import VECTORS
from scda import _selection
from scda._lookup import SectionLookup

STORE = VECTORS / "zarr" / "store.zarr"
STORED = [
    str(path.parent.relative_to(STORE)) for path in sorted(STORE.rglob("zarr.json")) if (path.parent / "c").exists()
]


def same(found: Any, expected: Any) -> None:
    """Byte for byte, whatever the byte order in memory."""
    assert type(found) is type(expected)
    assert found.shape == expected.shape and found.dtype == expected.dtype.newbyteorder("=")
    assert found.tobytes() == expected.astype(expected.dtype.newbyteorder("=")).tobytes()


@pytest.mark.parametrize("seal", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_any_array_any_boxes_and_any_index(
    seal: bool, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(seed)
    # Steps are read in batches: many small ones.
    monkeypatch.setattr(_selection, "BATCH_BYTES", int(generator.choice([16, 1000, 1 << 24])))
    monkeypatch.setattr(_selection, "_FAR_BYTES", int(generator.choice([16, 1 << 16])))
    arrays = {}
    with scda.create(tmp_path / "f", seal=seal) as w:
        for number, dtype in enumerate(TYPES):
            shape = random_shape(generator)
            array, options = random_items(generator, dtype, shape), random_layout(generator, shape)
            arrays[f"a/{number}"] = array, options.get("chunks")
            if generator.integers(2):
                w.dataset(f"a/{number}", in_memory(generator, array), **options)
            else:
                boxes = random_boxes(generator, shape, 9)
                given = [(box[0], in_memory(generator, part(array, box))) for box in boxes]
                w.dataset(f"a/{number}", boxes=given, shape=shape, dtype=dtype, **options)
    with scda.open(tmp_path / "f") as f:
        assert names(f) == list(arrays) and f.sealed == seal
        assert names(f["a"]) == [name[2:] for name in arrays]
        for name, (array, chunks) in arrays.items():
            d = f[name]
            assert isinstance(d, scda.Dataset) and name in f and d.name == name
            assert (d.shape, d.ndim, d.size, d.nbytes) == (array.shape, array.ndim, array.size, array.nbytes)
            assert d.chunks == chunks or chunks is None
            same(np.asarray(d), array)
            same(d[...], array)
            if d.chunks is None and array.size and array.ndim:
                same(np.array(d.section.to_numpy(d.dtype, d.shape[1:])), array)
            for _ in range(30):
                key = random_key(generator, array.shape)
                same(d[key], array[key])
            boxes = [random_boxes(generator, array.shape, 9)[0] for _ in range(3)]
            for found, box in zip(d.read_boxes(boxes), boxes):
                same(found, part(array, box))
            if array.ndim:
                assert len(d) == len(array)
                rows = list(d)
                assert len(rows) == len(array)
                for found, row in zip(rows, array):
                    assert found.tobytes() == row.astype(row.dtype.newbyteorder("=")).tobytes()
                same(d.read_partition(), array)


def test_steps_are_read_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No call of the core reads much more than a batch, and none reads what lies far between two indices."""
    array = np.arange(1 << 20, dtype="<i4").reshape(64, 1 << 14)
    with scda.create(tmp_path / "f") as w:
        w.dataset("plain", array)
        w.dataset("chunks", array, chunks=(16, 1 << 10))
    monkeypatch.setattr(_selection, "BATCH_BYTES", 1 << 17)
    cases: list[tuple[str, Any, int]] = [
        ("plain", np.s_[::2, ::2], 1 << 22),
        ("plain", np.s_[::2], 1 << 21),
        ("plain", np.s_[5, ::3], 1 << 16),
        ("plain", np.s_[5, :: 1 << 13], 1 << 16),
        ("chunks", np.s_[::16, ::2], 1 << 18),
        ("chunks", np.s_[3::2, 5::700], 1 << 22),
        ("chunks", np.s_[::-32, ::1024], 1 << 10),
    ]
    for name, key, most_read in cases:
        read: list[int] = []
        with scda.open(tmp_path / "f") as f:
            d = f[name]

            def counting(
                self: Any, core: Any, boxes: Any, items: Any, read: list[int] = read, original: Any = scda.Dataset._read_part
            ) -> None:
                read.append(4 * sum(int(np.prod(count)) for _, count in boxes))
                original(self, core, boxes, items)

            with monkeypatch.context() as patch:
                patch.setattr(scda.Dataset, "_read_part", counting)
                same(d[key], array[key])
        assert max(read) <= 1 << 17 and sum(read) <= most_read, (name, key, read)
    # Several datasets at once.
    with scda.open(tmp_path / "f") as f:
        core, read = f._core, []

        class Counting:
            def __getattr__(self, name: str) -> Any:
                return getattr(core, name)

            def read_datasets(self, parts: Any) -> None:
                read.append(sum(items.nbytes for *_, items in parts))
                core.read_datasets(parts)

        f._core = Counting()  # type: ignore[assignment]
        keys = {("plain", k): np.s_[k::13, ::2] for k in (0, -1)}
        found = f.read_datasets({**keys, "chunks": np.s_[::16, ::2]})
        for (_, k), index in keys.items():
            same(found["plain", k], array[index])
        same(found["chunks"], array[::16, ::2])
        assert len(read) > 2 and max(read) <= 1 << 17, read
        read.clear()
        few = f.read_datasets({("plain", 0): np.s_[:1, ::2], ("plain", -1): np.s_[1, :9:2], "chunks": np.s_[3, :99]})
        assert len(read) == 1 and few["chunks"].tolist() == array[3, :99].tolist(), read


def test_what_is_said_of_a_dataset(tmp_path: Path) -> None:
    attrs = {"units": "m s⁻¹", "range": [0, 1.5], "nested": {"a": None, "b": True}, "": "empty"}
    with scda.create(tmp_path / "f", "datasets") as w:
        w.group("/", {"title": "a test"})
        w.dataset("flow/v", np.zeros((4, 3), ">f4"), attrs=attrs, dims=("x", None), fill_value=np.nan)
        w.dataset("flow/p", np.ones(5), chunks=2, attrs={"n": np.int16(3), "list": np.arange(2.0)})
        w.dataset("flow/deep/bool", True, fill_value=True)
        w.dataset("odd", [1], attrs={"units": "a\n" + "b" * 99}, dims=["\x1b"])
        w.group("flow", {"version": 1})
        w.group("flow/", {"version": 2})
        w.array("plain", np.zeros(3))
    with scda.open(tmp_path / "f") as f:
        assert f.attrs == {"title": "a test"} and names(f) == ["flow/v", "flow/p", "flow/deep/bool", "odd"]
        v = f["flow/v"]
        assert v.attrs == attrs and v.dims == ("x", None) and v.chunks is None and np.isnan(v.fill_value)
        assert v.dtype == np.dtype("f4") and v.dtype.isnative and v.section.kind == "array" and v
        with pytest.raises(TypeError, match="assignment"):
            v.attrs["units"] = "changed"  # type: ignore[index]
        assert v.attrs == attrs
        assert f["flow/p"].attrs == {"n": 3, "list": [0.0, 1.0]} and f["flow/p"].dims == (None,)
        assert f["flow/p"].chunks == (2,) and f["flow/p"].fill_value == 0.0
        flag = f["flow/deep/bool"]
        assert flag[()] is np.True_ and flag[...].shape == () and flag.fill_value is np.True_ and flag.shape == ()
        with pytest.raises(TypeError, match="no dimensions"):
            len(flag)
        with pytest.raises(TypeError, match="no dimensions"):
            iter(flag).__next__()
        flow = f["flow"]
        assert flow.attrs == {"version": 2} and names(flow) == ["v", "p", "deep/bool"] and list(flow) == ["v", "p", "deep"] and flow.name == "flow"
        assert flow["v"].name == "flow/v" and "v" in flow and "rho" not in flow and flow["p", -1].name == "flow/p"
        assert list(flow["deep"]) == ["bool"] and flow["deep"].attrs == {} and len(flow.records("v")) == 1
        assert names(f["/"]) == names(f) and f["/"].attrs == f.attrs and "none" not in f
        # Sections are what they were.
        assert isinstance(f["plain"], scda.Section) and isinstance(f.sections.find("flow/v", 0), scda.Section)
        assert repr(v) == "<scda dataset 'flow/v': float32 (x: 4, 3), m s⁻¹>"
        assert repr(f["flow/p"]) == "<scda dataset 'flow/p': float64 (5,), chunks (2,)>"
        assert repr(f["odd"]) == r"<scda dataset 'odd': int64 (\x1b: 1,), a\n" + "b" * 38 + "…>"
        assert repr(flow) == "<scda group 'flow'>" and repr(f.records("flow/v")) == "<scda records 'flow/v': 1>"
        lines = str(f).splitlines()
        assert lines[1].split()[-1] == "dataset" and any(line.endswith("float32 (x: 4, 3), m s⁻¹") for line in lines)
        assert "float64 (5,)" in f._repr_html_()
        with pytest.raises(KeyError, match="there are.*'plain'") as error:
            f["rho"]
        assert "scda dataset" not in str(error.value)


@pytest.mark.parametrize("seal", [False, True])
def test_records(seal: bool, tmp_path: Path) -> None:
    scda.create(tmp_path / "f", seal=seal).close()
    for start in (0, 3):
        with scda.append(tmp_path / "f", seal=seal) as w:
            for step in range(start, min(start + 3, 5)):
                w.array("time", np.array([step], "<i4"))
                # They need not have one shape.
                w.dataset("g/rho", np.full(step, float(step)), attrs={"step": step})
                if seal:
                    w.commit()
    with scda.append(tmp_path / "f", seal=seal) as w:
        w.dataset("once", 1)
    with scda.open(tmp_path / "f", verify=seal) as f:
        rho = f.records("g/rho")
        assert len(rho) == 5 and [d.shape for d in rho] == [(n,) for n in range(5)]
        assert rho[3][0] == f["g/rho", 3][0] == f["g/rho", -2][0] == rho[-2][0] == f["g"]["rho", -2][0] == 3.0
        assert [d.attrs["step"] for d in rho[1::2]] == [1, 3] and names(f) == ["g/rho", "once"]
        assert f["time", -1].read() == np.array([4], "<i4").tobytes()
        assert len(f.records("rho")) == 0 and f["once", 0][()] == f["once", -1][()] == 1
        for record in (5, -6):
            with pytest.raises(IndexError, match=f"no record {record} of .*there are 5"):
                f["g/rho", record]
            with pytest.raises(IndexError, match=f"no record {record} of .*there are 5"):
                rho[record]
        with pytest.raises(TypeError, match=r"'g/rho' has 5 records: f\['g/rho'\] is the last one, and numpy.stack"):
            rho[...]
        with pytest.raises(AttributeError, match=r"no attribute 'shape'; instead: those of one record, such as f\[name\].shape"):
            rho.shape
        assert f["g/rho"].shape == f["g"]["rho"].shape == (4,) and f["g"]["rho"].name == "g/rho"
        with pytest.raises(KeyError, match="5 sections have this user string.*is the last"):
            f["time"]
        with pytest.raises(KeyError, match="no dataset, group or section has this name"):
            f["velocity", 0]
        with pytest.raises(TypeError, match="number of a record"):
            f["g/rho", 0, 1]  # type: ignore[index]


def test_looking_up_reads_the_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = [f"field {n}" for n in range(300)]
    for seal in (False, True):
        with scda.create(tmp_path / "f", seal=seal) as w:
            for name in fields:
                w.dataset(name, np.arange(3))
        with scda.open(tmp_path / "f") as f:
            assert names(f) == fields
            sections: list[int] = []
            get = SectionLookup.get

            def counting(finder: SectionLookup, index: int) -> Any:
                sections.append(index)
                return get(finder, index)

            monkeypatch.setattr(SectionLookup, "get", counting)
            for name in fields:
                assert f[name][1] == 1
            assert names(f) == fields
            monkeypatch.undo()
            assert len(set(sections)) <= len(fields) + 5, len(set(sections))


@pytest.mark.parametrize("seal", [False, True])
def test_datasets_are_read_in_turn_with_anything_else(seal: bool, tmp_path: Path) -> None:
    with scda.create(tmp_path / "f", seal=seal) as w:
        for name in "abc":
            w.dataset(name, np.arange(6) + ord(name), chunks=2)
            w.varray(f"of {name}", [name.encode()] * 3)
    with scda.open(tmp_path / "f") as f:
        a, b, c = (f[name] for name in "abc")
        for start in range(6):
            assert (a[start], b[5 - start]) == (ord("a") + start, ord("b") + 5 - start)
            assert f["of b"][1] == b"b" and b[start] == ord("b") + start
            assert len(f.sections) == 9 and f.sections.find("b", -1) is b.section and len(f["b"].section) and b[0] == ord("b")
            assert c[start] == ord("c") + start and names(f) == ["a", "b", "c"] and c[0] == ord("c")


def test_damage_of_one_chunk(tmp_path: Path) -> None:
    array = np.arange(4000).reshape(4, 1000)
    with scda.create(tmp_path / "f", seal=False) as w:
        w.dataset("a", array, chunks=(1, 1000), codec="zlib")
        w.dataset("b", array)
    with scda.open(tmp_path / "f") as f:
        section = f["a"].section
        offset = section.data_offset + int(section.sizes()[:2].sum()) + 1
    data = bytearray((tmp_path / "f").read_bytes())
    data[offset] ^= 0xFF
    (tmp_path / "f").write_bytes(data)
    with scda.open(tmp_path / "f") as f:
        a = f["a"]
        with pytest.raises(scda.DecodeError, match="chunk 2") as error:
            a[...]
        assert error.value.offset == offset - 1
        same(a[:2], array[:2])
        same(f["b"][2], array[2])
        with pytest.raises(scda.DecodeError, match="chunk 2"):
            a[::2]
        same(a[::-2], array[::-2])  # not that chunk


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


@pytest.mark.parametrize("seal", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_several_datasets_are_read_as_one_after_the_other(
    seal: bool, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng([seed, seal])
    monkeypatch.setattr(_selection, "BATCH_BYTES", int(generator.choice([16, 1000, 1 << 24])))
    with scda.create(tmp_path / "f", seal=seal) as w:
        for number, dtype in enumerate([*TYPES, *TYPES[::5]]):
            shape = random_shape(generator)
            w.dataset(f"a/{number % len(TYPES)}", random_items(generator, dtype, shape), **random_layout(generator, shape))
    with scda.open(tmp_path / "f") as f:
        keys: list[Any] = [(name, k) for name in names(f) for k in range(len(f.records(name)))]
        keys = [keys[k] if generator.integers(2) else (keys[k][0], -1) for k in generator.permutation(len(keys))]
        keys = list(dict.fromkeys(keys))
        found = f.read_datasets(keys)
        assert list(found) == keys
        for key in keys:
            same(found[key], f[key][...])
        last = f.read_datasets(names(f), record=-1)
        assert list(last) == names(f)
        for name in last:
            same(last[name], f[name, -1][...])
        for _ in range(5):
            parts = {key: random_key(generator, f[key].shape) for key in keys}
            for key, items in f.read_datasets(parts).items():
                same(items, f[key][parts[key]])
        for name, items in f.read_datasets(names(f)).items():
            same(items, f[name, -1][...])
        assert f.read_datasets([]) == f.read_datasets({}) == {}


def test_what_several_datasets_are_read_by(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f") as w:
        w.array("section", np.arange(3.0))
        w.dataset("a", np.arange(6).reshape(2, 3))
        w.dataset("b*", 1)
        for step in range(3):
            w.dataset("b", [step, step])
    cases: list[tuple[Any, str, Any, Any]] = [
        (TypeError, "names: found 'a', expected a list of names, or a dict", "a", -1),
        (TypeError, "names: found b'a'", [b"a"], -1),
        (TypeError, r"names: found \('a', 0, 0\)", [("a", 0, 0)], -1),
        (TypeError, "cannot be interpreted as an integer", ["a"], "last"),
        (KeyError, "'none': no dataset, group or section has this name; there are", ["a", "none"], -1),
        (KeyError, "'none': no dataset, group or section has this name", ["a", "none"], -1),
        (KeyError, r"'a\?': no dataset, group or section has", ["a?"], -1),
        (KeyError, r"'\[a\]': no dataset has exactly this name", ["[a]"], -1),
        (IndexError, "there is no record 3 of 'b'; there are 3", [("b", 3)], -1),
        (IndexError, "there is no record -4 of 'b'; there are 3", ["b"], -4),
        (scda.FormatError, "section", ["section"], -1),
        (IndexError, "index 9", {"a": np.s_[0, 9], "b*": ()}, -1),
        (IndexError, "several", {"a": (..., ...)}, -1),
    ]
    with scda.open(tmp_path / "f") as f:
        for error, message, names, record in cases:
            with pytest.raises(error, match=message):
                f.read_datasets(names, record)
        # It is still open.
        found = f.read_datasets({"b*": (), ("b", 1): 0, ("b", -1): ..., "a": np.s_[::-1, ::2]})
        assert found["b*"] == 1 and found["b", 1] == 1 and found["b", -1].tolist() == [2, 2]
        # Without a number, the last one of its name.
        assert f.read_datasets(["b"])["b"].tolist() == [2, 2] and f.read_datasets(["b"], 0)["b"].tolist() == [0, 0]
        assert found["a"].tolist() == [[3, 5], [0, 2]]
        assert f["a"][1, 1] == 4 and f.read_datasets(["a"])["a"][1, 2] == 5
    with pytest.raises(scda.UsageError, match="closed"):
        f.read_datasets(["a"])
    with scda.open(tmp_path / "f", decode=False) as f:
        with pytest.raises(ValueError, match="decode=False"):
            f.read_datasets(["a"])


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


def test_what_is_no_index(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f") as w:
        w.dataset("a", np.arange(6).reshape(2, 3))
    with scda.open(tmp_path / "f") as f:
        a = f["a"]
        arrays: list[Any] = [True, np.array(True), "x", 1.5, (0, (1,))]
        for key in arrays:
            with pytest.raises(IndexError, match="and a list of integers or bools"):
                a[key]
        for key in ((0, 0, 0), (..., ...), 2, -3, (0, 3), np.array([]), np.empty(0, "?"), (0, np.array([]))):
            with pytest.raises(IndexError, match="found"):
                a[key]
        with pytest.raises(ValueError, match="expected a part"):
            a.read_boxes([((0, 0), (3, 1))])
        with pytest.raises(ValueError, match="copy=False"):
            a.__array__(copy=False)
        with pytest.raises(ValueError, match="counts: found"):
            a.read_partition([3])
        assert a[np.int64(1), np.array(2)] == 5
        assert np.asarray(a, "f4").dtype == np.dtype("f4")
    with pytest.raises(scda.UsageError, match="closed"):
        a[...]
    with scda.open(tmp_path / "f", decode=False) as f:
        assert isinstance(f["a"], scda.Section)
        for read in (lambda: names(f), lambda: f.attrs, lambda: f.records("a")):
            with pytest.raises(ValueError, match="decode=False"):
                read()


def test_what_only_looks_like_a_dataset(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f") as w:
        w.block("scda dataset 00", b'{"zarr_format": 3, "node_type": "array"}')
        w.array("damaged", np.zeros(3))
        w.array("plain", np.zeros(3))
        w.block("no group/", b"{}")
        w.dataset("good", 7)
        w.block("scda dataset 00", b"{}")
        w.block("/", b"{}")
    with scda.open(tmp_path / "f") as f:
        with pytest.raises(scda.FormatError, match="shape") as error:
            f["damaged"]
        assert error.value.offset is not None
        with pytest.raises(scda.FormatError, match="no metadata precede it"):
            f.records("plain")[0]
        with pytest.raises(scda.FormatError, match="is not a group"):
            scda.Group(f, "no group").attrs
        with pytest.raises(scda.FormatError, match="is not a group"):
            f.attrs
        no_text: Any = b"good"
        for look in (lambda: f.records(no_text), lambda: f["/"].records(no_text)):
            with pytest.raises(TypeError, match="expected a str"):
                look()
        assert names(f) == ["damaged", "good"]
        # The others can be read.
        assert f["good"][()] == 7 and isinstance(f["plain"], scda.Section) and "damaged" in str(f)


def test_codecs_that_are_unknown(tmp_path: Path) -> None:
    metadata = json.loads((STORE / "plain" / "zarr.json").read_text())
    metadata["codecs"].append({"name": "crc64"})
    with scda.create(tmp_path / "f") as w:
        w.block("scda dataset 00", json.dumps(metadata).encode())
        w.varray("a", stored_chunks("plain", metadata))
    with scda.open(tmp_path / "f") as f:
        assert list(f["a"].shape) == metadata["shape"]
        with pytest.raises(scda.UnsupportedError, match="crc64"):
            f["a"][...]
        assert list(f["a"].shape) == metadata["shape"]


def stored_chunks(name: str, metadata: dict[str, Any]) -> list[bytes]:
    """The chunks of an array that zarr-python wrote: no bytes where it has no file."""
    shape, chunk = metadata["shape"], metadata["chunk_grid"]["configuration"]["chunk_shape"]
    grid = [-(-n // c) for n, c in zip(shape, chunk)]
    files = [STORE.joinpath(name, "c", *map(str, index)) for index in np.ndindex(*grid)]
    return [file.read_bytes() if file.exists() else b"" for file in files]


def decoded(stored: bytes, metadata: dict[str, Any], fill: Any) -> Any:
    """A chunk, by numpy and zlib alone: of the type of the metadata, in the byte order of the file."""
    codecs = {codec["name"]: codec.get("configuration", {}) for codec in metadata["codecs"]}
    chunk = metadata["chunk_grid"]["configuration"]["chunk_shape"]
    item = np.dtype(metadata["data_type"])
    item = item.newbyteorder({"little": "<", "big": ">"}[codecs["bytes"].get("endian", "little")])
    if not stored:
        return np.full(chunk, fill, item)
    data = zlib.decompress(stored) if "numcodecs.zlib" in codecs else stored
    if "numcodecs.shuffle" in codecs:
        size = codecs["numcodecs.shuffle"]["elementsize"]
        data = np.frombuffer(data, np.uint8).reshape(size, -1).T.tobytes()
    return np.frombuffer(data, item).reshape(chunk)


def fill_of(metadata: dict[str, Any]) -> Any:
    fill = metadata["fill_value"]
    return complex(*(float(part) for part in fill)) if isinstance(fill, list) else fill


def whole(chunks: list[Any], metadata: dict[str, Any]) -> Any:
    """The array of chunks."""
    shape, chunk = metadata["shape"], metadata["chunk_grid"]["configuration"]["chunk_shape"]
    grid = [-(-n // c) for n, c in zip(shape, chunk)]
    array: Any = np.empty([n * c for n, c in zip(grid, chunk)], chunks[0].dtype)
    for index, data in zip(np.ndindex(*grid), chunks):
        array[tuple(slice(i * c, i * c + c) for i, c in zip(index, chunk))] = data
    return array[(*(slice(n) for n in shape), ...)]


@pytest.mark.parametrize("name", STORED)
def test_what_zarr_python_wrote_is_read(name: str, tmp_path: Path) -> None:
    text = (STORE / name / "zarr.json").read_bytes()
    metadata = json.loads(text)
    chunks = stored_chunks(name, metadata)
    with scda.create(tmp_path / "f") as w:
        w.block("scda dataset 00", text)
        w.varray(name, chunks)
    expected = whole([decoded(chunk, metadata, fill_of(metadata)) for chunk in chunks], metadata)
    with scda.open(tmp_path / "f") as f:
        d = f[name]
        same(d[...], expected)
        assert d.attrs == metadata["attributes"]
        assert list(d.chunks or ()) == metadata["chunk_grid"]["configuration"]["chunk_shape"]
        generator = np.random.default_rng(1)
        for _ in range(20):
            key = random_key(generator, expected.shape)
            same(d[key], expected[key])


@pytest.mark.parametrize(
    "name", [name for name in STORED if "numcodecs.zlib" in (STORE / name / "zarr.json").read_text()]
)
def test_what_is_written_is_what_zarr_python_writes(name: str, tmp_path: Path) -> None:
    """The metadata as JSON, and each chunk after decoding."""
    metadata = json.loads((STORE / name / "zarr.json").read_text())
    chunks = stored_chunks(name, metadata)
    fill = fill_of(metadata)
    expected = [decoded(chunk, metadata, fill) for chunk in chunks]
    codecs = {codec["name"]: codec.get("configuration", {}) for codec in metadata["codecs"]}
    with scda.create(tmp_path / "f") as w:
        w.dataset(
            name,
            whole(expected, metadata),
            chunks=metadata["chunk_grid"]["configuration"]["chunk_shape"],
            codec="zlib",
            level=codecs["numcodecs.zlib"]["level"],
            shuffle="numcodecs.shuffle" in codecs,
            fill_value=fill,
            attrs=metadata["attributes"],
            dims=metadata.get("dimension_names"),
        )
    with scda.open(tmp_path / "f") as f:
        written = json.loads(f["scda dataset 00"].read())
        assert metadata.pop("storage_transformers", []) == []
        found = list(f.sections[1])
        assert [len(chunk) == 0 for chunk in found] == [len(chunk) == 0 for chunk in chunks]
        for chunk, values in zip(found, expected):
            assert np.array_equal(decoded(chunk, written, fill), values)
        # Items of one byte are not shuffled, and all that is written is little-endian.
        metadata["codecs"] = [c for c in metadata["codecs"] if c.get("configuration", {}).get("elementsize") != 1]
        if "endian" in codecs["bytes"]:
            codecs["bytes"]["endian"] = "little"
        # What is the default is left out.
        assert metadata.pop("chunk_key_encoding")["name"] == "default"
        if not metadata["attributes"]:
            del metadata["attributes"]
        assert written == metadata


def test_chunks_are_kept_for_later_items(tmp_path: Path) -> None:
    data = np.arange(64.0 * 64 * 4).reshape(64, 64, 4)
    with scda.create(tmp_path / "f") as w:
        w.dataset("rho", data, chunks=(16, 16, 4))
    places = [(7 * i % 60, 13 * i % 60) for i in range(1000)]
    for cache_bytes in (0, 10_000, 16 << 20):
        with scda.open(tmp_path / "f", cache_bytes=cache_bytes) as f:
            rho = f["rho"]
            boxes = rho.read_boxes([((y, x, 0), (4, 4, 4)) for y, x in places])
            assert all((rho[y : y + 4, x : x + 4] == box).all() for (y, x), box in zip(places, boxes))
    for wrong in (-1, 1 << 63, "1"):
        with pytest.raises((scda.ArgumentError, TypeError), match="cache_bytes: found"):
            scda.open(tmp_path / "f", cache_bytes=wrong)  # type: ignore[arg-type]


def test_no_more_memory_is_taken_than_max_memory(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f") as w:
        w.dataset("rho", np.full(1 << 20, 7.0), encode=True)
    reads = [lambda f: f["rho"][:].sum(), lambda f: f["rho"][5]]
    with scda.open(tmp_path / "f", max_memory=1 << 26) as f:
        found = [read(f) for read in reads]
    with scda.open(tmp_path / "f", max_memory=1 << 18) as f:
        for read in reads:
            with pytest.raises(scda.OutOfMemoryError, match="byte .* the file asks for.*max_memory, 262144$"):
                read(f)
    assert found == [7.0 * (1 << 20), 7.0]


@pytest.mark.parametrize("chunks", [None, (3, 4, 2)], ids=str)
def test_lists_of_indices(tmp_path: Path, chunks: Any) -> None:
    rng = np.random.default_rng(7)
    data = rng.normal(size=(11, 13, 5))
    with scda.create(tmp_path / "f") as w:
        w.dataset("rho", data, chunks=chunks)
    with scda.open(tmp_path / "f", cache_bytes=0) as f:
        rho = f["rho"]
        mask = rng.random(13) < 0.3
        keys: list[Any] = [
            ([3, 1, 1, -1],),
            ([],),
            (np.array([10, 0], "u1"), slice(2, None, 3)),
            (slice(None), mask, 2),
            (slice(None, None, -2), ..., [4, 0]),
            (5, [12, 3, 3]),
            (None, [0, 10], slice(1, 4)),
            (slice(1, None), 0, ..., [1, 2]),
            (slice(1, None), [1, 2, 0], ..., 0),
            (0, slice(1, None), ..., [1, 2]),
            (0, ..., slice(None), mask[:5]),
            (slice(1, 4), 0, ..., mask[:5]),
            (slice(1, 4), ..., 0, mask[:5]),
            (..., slice(1, 4), 0, [1, 2]),
            (slice(1, 4), 0, [1, 2], ...),
            (np.zeros(11, bool),),
            (data > 1.0,),
            (data > 100.0,),
        ]
        for key in keys:
            found, expected = rho[key], data[key]
            assert found.shape == expected.shape and (found == expected).all(), key
        for _ in range(100):
            lists = [rng.integers(-n, n, rng.integers(0, 6)) for n in data.shape]
            choice: list[Any] = [
                [one, slice(None, None, 2), int(rng.integers(n)), slice(n, None, -1)][rng.integers(4)]
                for one, n in zip(lists, data.shape)
            ]
            expected = data
            for d, one in enumerate(choice):
                expected = expected[(slice(None),) * d + ([one] if isinstance(one, int) else one,)]
            expected = expected[tuple(0 if isinstance(one, int) else slice(None) for one in choice)]
            found = np.asarray(rho.oindex[tuple(choice)])
            assert found.shape == expected.shape and (found == expected).all(), choice
        wrong: list[tuple[Any, str]] = [
            (([1], [2]), "in several dimensions"),
            (([11],), "index 11: found 11 indices in dimension 0"),
            (([True, False],), "found 2 bools, expected 11"),
            (([1.5],), "expected a list of integers or bools"),
            ((np.zeros((11, 13), bool),), r"a mask of shape \(11, 13\), expected \(11, 13, 5\)"),
            ((np.zeros((11, 13), bool), 0), "of 2 dimensions"),
            (("x",), "found str"),
        ]
        for key, words in wrong:
            with pytest.raises(IndexError, match=words):
                rho[key]
        few = np.empty(int((data > 1.0).sum()))
        rho.read_direct(few, np.s_[data > 1.0])
        assert (few == data[data > 1.0]).all() and (rho.astype("f4")[data > 1.0] == data[data > 1.0].astype("f4")).all()
        assert rho.oindex[[1], [2]].tolist() == [[data[1, 2].tolist()]]


def test_what_is_between_indices_is_not_read(tmp_path: Path) -> None:
    data = np.arange(1000.0 * 20_000).reshape(1000, 20_000)
    with scda.create(tmp_path / "f") as w:
        w.dataset("rows", data)
        w.dataset("chunks", data, chunks=(1, 20_000), encode=True)

    def bytes_read() -> int:
        text = Path("/proc/self/io").read_text()
        return int(text.split("rchar: ")[1].split()[0])

    for name in ("rows", "chunks"):
        with scda.open(tmp_path / "f") as f:
            rho = f[name]
            before = bytes_read()
            assert (rho[[1, 500, 999]] == data[[1, 500, 999]]).all()
            assert bytes_read() - before < 2_000_000


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


def test_the_example_lists_what_surrounds_wrong_metadata(tmp_path):
    path = tmp_path / "strangers.scda"
    with scda.create(path) as w:
        w.dataset("a", np.arange(6.0).reshape(2, 3))
        w.block("scda dataset 00", b'{"zarr_format": 3, "shape": [4, ')
        w.array("broken", np.arange(4, dtype="i4"))
        w.dataset("flow/c", np.arange(1, 5, dtype="i4"))
        for time in 0.25, 0.5:
            w.dataset("time", time)
    program = Path(__file__).parents[1] / "examples/datasets.py"
    found = subprocess.run(
        [sys.executable, str(program), str(path), "flow/c", "a", "time"], check=True, capture_output=True, text=True, timeout=60
    )
    broken = [line for line in found.stdout.splitlines() if line.startswith("broken")]
    assert len(broken) == 1 and broken[0].startswith("broken: cannot be read: "), found.stdout
    assert [line for line in found.stdout.splitlines() if line not in broken] == [
        "a, record 0 of 1: float64 (2, 3)",
        "flow/c, record 0 of 1: int32 (4,)",
        "time, record 0 of 2: float64 ()",
        "time, record 1 of 2: float64 ()",
        "flow/c: sum 10.0",
        "a: sum 15.0",
        "time: sum 0.5",
    ]


@pytest.mark.parametrize("seal", [True, False])
def test_entries(seal: bool, tmp_path: Path) -> None:
    """What is in a file as its users see it; what was added later is a part of its dataset."""
    path = tmp_path / "f.scda"
    with scda.create(path, seal=seal) as w:
        w.group("flow", {"a": 1})
        for step in range(2):
            w.dataset("flow/rho", np.full((2, 3), step, "f4"), chunks=(1, 3))
        w.dataset("n" * 70, [1, 2])
        w.block("notes", b"calm")
        w.inline("step", b"%-31d\n" % 7)
        with w.streams("log") as log:
            log.write(b"a line")
    if seal:
        with scda.append(path) as w:
            w.dataset("flow/rho", np.full((1, 3), 9, "f4"), extends=True)
            w["flow/"].attrs["b"] = 2
    with scda.open(path) as f:
        found = list(f.entries())
        kinds = [(e.kind, e.name, e.record, e.records) for e in found if e.kind != "group"]
        rho = [("dataset", "flow/rho", 0, 2), ("dataset", "flow/rho", 1, 2)]
        assert kinds == [*rho, ("dataset", "n" * 70, 0, 1), ("section", "notes", 0, 1), ("section", "step", 0, 1), ("streams", "log", 0, 1)]
        groups = [e for e in found if e.kind == "group"]
        assert len(groups) == 1 and groups[0].content.attrs == ({"a": 1, "b": 2} if seal else {"a": 1})
        last = [e.content for e in found if e.name == "flow/rho"][1]
        assert last.shape == ((3, 3) if seal else (2, 3)) and last[-1, 0] == (9 if seal else 1)
        (streams,) = [e.content for e in found if e.kind == "streams"]
        assert streams[0].read() == b"a line"
        # Each entry can be read while the others are found.
        assert [e.content[0, 0] for e in f.entries() if e.name == "flow/rho"] == [0, 1]
        with scda.open(path, decode=False) as raw, pytest.raises(ValueError, match="decode=False"):
            next(raw.entries())


def test_an_entry_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    with scda.create(path) as w:
        w.block("scda dataset 00", b"{}")
        w.array("broken", np.zeros(3))
        w.dataset("good", [1, 2])
    with scda.open(path) as f:
        bad, good = f.entries()
        assert (bad.kind, bad.name) == ("unknown", "broken") and isinstance(bad.content, scda.FormatError)
        assert (good.kind, good.name, good.content[1]) == ("dataset", "good", 2)
        assert list(f) == ["broken", "good"]


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
