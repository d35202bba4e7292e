"""Texts and bytes of any length."""

import numpy as np
import pytest

import scda

NAMES = np.array([["Merkur", "Vénus", ""], ["a\0b", "语言", "x" * 3000]], object)
BYTES = np.array([b"", b"\xff\0", b"abc"], object)


@pytest.mark.parametrize("options", [{}, {"encode": True}, {"encode": "auto"}, {"chunks": (1, 3), "codec": "zlib"}, {"codec": "lz4"}])
def test_there_and_back(tmp_path, options):
    with scda.create(tmp_path / "f") as w:
        w.dataset("names", NAMES, dims=("y", "x"), attrs={"what": "names"}, fill_value="none", **options)
        w.field("lists", NAMES[0].tolist(), dtype=str)
        w.dataset("bytes", BYTES, fill_value=b"\0")
        w.dataset("empty", [], dtype=bytes)
        w.dataset("one", "Titel", dtype=str)
    with scda.open(tmp_path / "f") as f:
        names = f["names"]
        assert names.shape == (2, 3) and names.dtype == object and names.fill_value == "none"
        assert names.attrs == {"what": "names"} and names.dims == ("y", "x")
        assert repr(names).startswith("<scda dataset 'names': string (y: 2, x: 3)")
        assert names[...].tolist() == NAMES.tolist() and names[1, ::-2].tolist() == NAMES[1, ::-2].tolist()
        assert names[0, 1] == "Vénus" and [row.tolist() for row in names] == NAMES.tolist()
        assert f["lists"][...].tolist() == NAMES[0].tolist()
        assert f["bytes"][...].tolist() == BYTES.tolist() and f["bytes"].fill_value == b"\0"
        assert f["empty"].shape == (0,) and f["one"][()] == "Titel" and f["one"].shape == ()
        both = f.read_datasets({"names": np.s_[:, 1], "bytes": ...})
        assert both["names"].tolist() == ["Vénus", "语言"] and both["bytes"].tolist() == BYTES.tolist()
        out = np.empty(3, object)
        names.read_direct(out, np.s_[1])
        assert out.tolist() == NAMES[1].tolist()
        boxes = names.read_boxes([((0, 1), (2, 1)), ((1, 0), (1, 2))])
        assert [box.tolist() for box in boxes] == [[["Vénus"], ["语言"]], [["a\0b", "语言"]]]


def test_texts_of_fixed_length_stay_so(tmp_path):
    with scda.create(tmp_path / "f") as w:
        w.dataset("fixed", ["a", "bc"])
    with scda.open(tmp_path / "f") as f:
        assert f["fixed"].dtype == np.dtype("U2")


@pytest.mark.parametrize("data, words", [([1, "a"], "found int among the items"), (["a", b"b"], "found bytes among"), ([None], "NoneType")])
def test_other_objects_are_refused(tmp_path, data, words):
    with scda.create(tmp_path / "f") as w:
        with pytest.raises(TypeError, match=words):
            w.dataset("x", np.array(data, object))
        with pytest.raises(TypeError, match="fill_value"):
            w.dataset("x", ["a"], dtype=str, fill_value=b"a")
        with pytest.raises(ValueError, match="the whole dataset, or field"):
            w.dataset("x", ["a"], dtype=str, start=0, shape=2)


@pytest.mark.parametrize("options, empty", [({"dtype": str, "fill_value": "x"}, "x"), ({"dtype": bytes}, b""), ({"dtype": str}, "")])
def test_nobody_gives_texts(tmp_path, options, empty):
    with scda.create(tmp_path / "f") as w:
        w.dataset("d", None, shape=(3,), **options)
        with pytest.raises(ValueError, match="shape is missing"):
            w.dataset("d", None, **options)
        with pytest.raises(TypeError, match="fill_value: found 5"):
            w.dataset("d", None, shape=3, dtype=str, fill_value=5)
    with scda.open(tmp_path / "f") as f:
        assert f["d"][...].tolist() == [empty] * 3 and f["d"].fill_value == empty


class Series:
    """What pandas has: a type of its own, or that of objects, and no array of numpy."""

    def __init__(self, items, dtype):
        self.items, self.dtype = items, dtype

    def __array__(self, dtype=None, copy=None):
        return np.array(self.items, object if dtype is None else dtype)


@pytest.mark.parametrize("dtype", [np.dtype(object), "a type of its own"])
def test_texts_of_what_is_an_array_for_numpy(tmp_path, dtype):
    with scda.create(tmp_path / "f") as w:
        w.dataset("x", Series(["a", "bcd"], dtype))
        w.field("y", Series([b"a", b""], dtype))
        with pytest.raises(TypeError, match="found NoneType among the items"):
            w.dataset("z", Series(["a", None], dtype))
    with scda.open(tmp_path / "f") as f:
        assert f["x"][...].tolist() == ["a", "bcd"] and f["y"][...].tolist() == [b"a", b""]


def test_strings_of_numpy(tmp_path):
    dtypes = pytest.importorskip("numpy.dtypes")
    if not hasattr(dtypes, "StringDType"):
        pytest.skip("numpy has no StringDType")
    with scda.create(tmp_path / "f") as w:
        w.dataset("x", np.array(["a", "bcd"], dtypes.StringDType()))
    with scda.open(tmp_path / "f") as f:
        assert f["x"][...].tolist() == ["a", "bcd"]


def test_numbers_that_are_no_characters_stay(tmp_path):
    """Halves of pairs, which a str may have, and numbers that are too large for one."""
    numbers = np.array([[0xD800, 0x61], [0xDFFF, 0], [0x110000, 0]], np.uint32)
    with scda.create(tmp_path / "f") as w:
        w.dataset("x", numbers.view("U2")[:, 0])
        w.dataset("half", ["\ud800a"])
    with scda.open(tmp_path / "f") as f:
        found = f["x"][...]
        assert found.dtype == np.dtype("U2") and np.array_equal(found.view(np.uint32).reshape(3, 2), numbers)
        assert found[:2].tolist() == ["\ud800a", "\udfff"] and f["half"][0] == "\ud800a"
        with pytest.raises((ValueError, SystemError)):  # numpy makes no str of it
            found[2]


def test_halves_of_pairs_are_no_utf8(tmp_path):
    with scda.create(tmp_path / "f") as w:
        for options in ({"data": ["\ud800"]}, {"data": ["a"], "fill_value": "\udc80"}, {"data": ["a"], "attrs": {"x": "\ud800"}}):
            with pytest.raises(ValueError, match="surrogates not allowed"):
                w.dataset("x", dtype=str, **options)
    metadata = b'''{"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "string", "fill_value": "", "codecs": ["vlen-utf8"],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}}}'''
    with scda.create(tmp_path / "f") as w:
        w.block("scda dataset 00", metadata)
        w.varray("x", [b"\1\0\0\0\3\0\0\0" + text for text in ("語".encode(), b"\xed\xa0\x80")])
    with scda.open(tmp_path / "f") as f:
        assert f["x"][0] == "語"
        for key in (1, ...):
            with pytest.raises(scda.DecodeError, match="chunk 1: item 0: found bytes that are not UTF-8"):
                f["x"][key]
