"""Datasets, on one process: what was written is read, as numpy has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda
from arrays import TYPES, in_memory, names, part, random_boxes, random_items, random_key, random_layout, random_shape, same
from scda import _selection
from scda._lookup import SectionLookup


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
