"""The types of HDF5, and what they are in scda.

A type of HDF5 is described in JSON, as `scda import --help` has it ("Types in scda_type"): ``"float64"``, ``">int16"``, ``"char 8"``,
``{"struct": [["x", "float32", 0]], "bytes": 4}``.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Iterator, Optional

import h5py
import numpy as np
from h5py import h5t

from ._description import TYPE_NAMES

BOOL = {"enum": "int8", "names": {"FALSE": 0, "TRUE": 1}}
_NUMBER = re.compile(r"(?P<big>>?)(?P<kind>[a-z]+)(?P<bits>[0-9]+)")
_TEXT = re.compile(r"(?P<kind>char|string)(?: (?P<charset>ascii|utf-8))?(?: (?P<pad>nullterm|spacepad))?(?: (?P<bytes>[1-9][0-9]{0,8}))?")
_TIMES = re.compile(r"NUMPY:[<|>]?(?P<name>[Mm]8\[[0-9A-Za-zμ]+\])")
_PADS = {"nullterm": h5t.STR_NULLTERM, "spacepad": h5t.STR_SPACEPAD, None: h5t.STR_NULLPAD}
# Fewer bytes than the type claims in a file would be a hole in numpy's memory.
_OF_NUMPY = {"bits": "uint", "time": "int"}


# Numbers that HDF5 and numpy both have, where there are others.
_STANDARD = {"float16", "float32", "float64", "bits8", "bits16", "bits32", "bits64"}


class TextType:
    """What the description of a text says."""

    def __init__(self, text: str) -> None:
        match = _TEXT.fullmatch(text)
        if match is None:
            raise ValueError(f"found the type {text!r}")
        self.is_fixed = match["kind"] == "char"
        self.charset: str = match["charset"] or ("ascii" if self.is_fixed else "utf-8")
        self.pad: Optional[str] = match["pad"]
        self.bytes = int(match["bytes"] or 0)


def is_text(described: Any) -> bool:
    return isinstance(described, str) and _TEXT.fullmatch(described) is not None


def describe(kind: h5t.TypeID) -> Any:
    """The description of a type.

    Raises:
        TypeError: there is none.
    """
    which = kind.get_class()
    if which == h5t.STRING:
        return _described_text(kind)
    if which == h5t.ENUM:
        names = {}
        for number in range(kind.get_nmembers()):
            names[_text(kind.get_member_name(number))] = int(kind.get_member_value(number))
        return {"enum": describe(kind.get_super()), "names": names}
    if which == h5t.COMPOUND:
        members = []
        for number in range(kind.get_nmembers()):
            of = describe(kind.get_member_type(number))
            members.append([_text(kind.get_member_name(number)), of, kind.get_member_offset(number)])
        return _as_complex({"struct": members, "bytes": kind.get_size()})
    if which == h5t.ARRAY:
        return {"array": describe(kind.get_super()), "shape": list(kind.get_array_dims())}
    if which == h5t.VLEN:
        return {"list": describe(kind.get_super())}
    if which == h5t.OPAQUE:
        tag = _text(kind.get_tag() or b"")
        return {"opaque": kind.get_size(), "tag": tag} if tag else f"r{8 * kind.get_size()}"
    if which == h5t.REFERENCE:
        if not kind.equal(h5t.STD_REF_OBJ):
            raise TypeError("found references to regions")
        return "reference"
    if which == h5t.TIME:
        for name in (f"{order}time{bits}" for order in ("", ">") for bits in (32, 64)):
            if kind.equal(_standard(name)):
                return name
    big = ">" if kind.get_size() > 1 and kind.get_order() == h5t.ORDER_BE else ""
    if which == h5t.BITFIELD:
        return f"{big}bits{8 * kind.get_size()}"
    name = kind.dtype.name
    if name not in TYPE_NAMES:
        raise TypeError(f"found {name}")
    return big + name


def other_type(kind: h5t.TypeID, described: Any) -> Optional[str]:
    """What floating-point numbers are that take other bytes than those described, which have their values: HDF5 lets a program define such,
    as bfloat16 is. None: there are none."""
    which = kind.get_class()
    if which == h5t.COMPOUND and isinstance(described, dict):
        parts = [(kind.get_member_type(number), of) for number, (_, of, _) in enumerate(described["struct"])]
        return next((found for found in (other_type(*part) for part in parts) if found is not None), None)
    of = next((described[key] for key in ("enum", "array", "list") if isinstance(described, dict) and key in described), None)
    if of is not None:
        return other_type(kind.get_super(), of)
    size = kind.get_size()
    if which != h5t.FLOAT or size == layout(described).itemsize:
        return None
    return f"floating-point numbers of {size} bytes, {kind.get_fields()[2]} bits of which are the exponent"


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise TypeError(f"found the name {name!r} in a type, which is no UTF-8") from None


def _described_text(kind: h5t.TypeID) -> str:
    charset = "utf-8" if kind.get_cset() == h5t.CSET_UTF8 else "ascii"
    if kind.is_variable_str():
        return "string" if charset == "utf-8" else "string ascii"
    pad = next(name for name, number in _PADS.items() if number == kind.get_strpad())
    words = ["char", None if charset == "ascii" else charset, pad, str(kind.get_size())]
    return " ".join(filter(None, words))


def _as_complex(described: dict[str, Any]) -> Any:
    for big in ("", ">"):
        for size in (4, 8):
            part = f"{big}float{8 * size}"
            if described == {"struct": [["r", part, 0], ["i", part, size]], "bytes": 2 * size}:
                return f"{big}complex{16 * size}"
    return described


def default(item: np.dtype[Any]) -> Any:
    """The type whose items have the bytes of this one of scda: numbers, structs, texts of bytes."""
    if item.subdtype is not None:
        return {"array": default(item.subdtype[0]), "shape": list(item.subdtype[1])}
    if item.names is not None:
        members, end = [], 0
        for name in item.names:
            of = default(item[name])
            members.append([name, of, end])
            end += item[name].itemsize
        return {"struct": members, "bytes": end}
    if item.kind == "S":
        return f"char {item.itemsize}"
    if item.kind == "b":
        return BOOL
    if item.kind == "V":
        return f"r{8 * item.itemsize}"
    return "int64" if item.kind in "Mm" else item.name


def _standard(name: str) -> h5t.TypeID:
    """The type of a number, a bit field or a time."""
    match = _NUMBER.fullmatch(name)
    assert match is not None
    kind, bits, order = match["kind"], match["bits"], "BE" if match["big"] else "LE"
    if kind in ("bits", "time"):
        return getattr(h5t, f"STD_B{bits}{order}" if kind == "bits" else f"UNIX_D{bits}{order}")
    return h5t.py_create(np.dtype(f"{kind}{bits}").newbyteorder(">" if match["big"] else "<"))


def has_objects(described: Any) -> bool:
    """Whether items are in other places of the file than their dataset."""
    if isinstance(described, str):
        return described == "reference" or is_text(described) and not TextType(described).is_fixed
    parts = [of for _, of, _ in described["struct"]] if "struct" in described else []
    parts += [described[which] for which in ("enum", "array") if which in described]
    return "list" in described or any(map(has_objects, parts))


def has_fills(described: Any) -> bool:
    """Whether h5py can read and write a fill value of this type: none of arrays, times, lists, opaque items with a tag, and structs
    with texts of variable length."""
    if is_text(described):
        return True
    is_array = isinstance(described, dict) and "array" in described
    return not (is_array or has_objects(described) or _has_tag(described) or "time" in str(described))


def _has_tag(described: Any) -> bool:
    """Whether there are opaque items with a tag that numpy has not: it has that of times."""
    if isinstance(described, str):
        return False
    parts = [of for _, of, _ in described["struct"]] if "struct" in described else []
    parts += [described[which] for which in ("enum", "array") if which in described]
    return "opaque" in described and item_of(described).kind == "V" or any(map(_has_tag, parts))


def layout(described: Any) -> np.dtype[Any]:
    """How items without :func:`has_objects` lie in the file."""
    if isinstance(described, str):
        if is_text(described):
            return np.dtype(f"S{TextType(described).bytes}")
        match = _NUMBER.fullmatch(described)
        assert match is not None, described
        if match["kind"] == "r":
            return np.dtype(f"V{int(match['bits']) // 8}")
        name = f"{_OF_NUMPY.get(match['kind'], match['kind'])}{match['bits']}"
        return np.dtype(name).newbyteorder(">" if match["big"] else "<")
    if "enum" in described:
        return layout(described["enum"])
    if "opaque" in described:
        return np.dtype(f"V{described['opaque']}")
    if "array" in described:
        return np.dtype((layout(described["array"]), tuple(described["shape"])))
    names, formats, offsets = ([member[n] for member in described["struct"]] for n in range(3))
    return np.dtype(
        {"names": names, "formats": list(map(layout, formats)), "offsets": offsets, "itemsize": described["bytes"]}
    )


def has_layout(kind: h5t.TypeID) -> bool:
    """Whether items lie in the file as :func:`layout` says of their description: numbers take all bits, as most do."""
    which = kind.get_class()
    if which in (h5t.FLOAT, h5t.BITFIELD):
        name = f"{'float' if which == h5t.FLOAT else 'bits'}{8 * kind.get_size()}"
        return name in _STANDARD and any(kind.equal(_standard(order + name)) for order in ("", ">"))
    if which == h5t.INTEGER:
        return kind.get_precision() == 8 * kind.get_size() and kind.get_order() in (h5t.ORDER_LE, h5t.ORDER_BE)
    if which == h5t.COMPOUND:
        return all(has_layout(kind.get_member_type(number)) for number in range(kind.get_nmembers()))
    return has_layout(kind.get_super()) if which in (h5t.ARRAY, h5t.ENUM) else True


def item_of(described: Any, lengths: Iterator[str] = iter(())) -> np.dtype[Any]:
    """The type of scda for items of HDF5 without lists.

    Args:
        lengths: numpy's types of the texts of variable length, and of paths that stand for references, in their order.

    """
    if isinstance(described, str):
        if has_objects(described):
            return np.dtype(next(lengths, "U1"))
        found = layout(described)
        return found if found.kind in "SV" else found.newbyteorder("=")
    if described == BOOL:
        return np.dtype("?")
    if "enum" in described:
        return item_of(described["enum"], lengths)
    if "opaque" in described:
        times = _TIMES.fullmatch(described["tag"])
        return np.dtype(times["name"]) if times and described["opaque"] == 8 else np.dtype(f"V{described['opaque']}")
    if "array" in described:
        return np.dtype((item_of(described["array"], lengths), tuple(described["shape"])))
    return np.dtype([(name, item_of(of, lengths)) for name, of, _ in described["struct"]])


def text_types(array: Any, described: Any, name_of: Callable[[Any], bytes]) -> list[str]:
    """numpy's types for the texts of variable length in items, in the order of :func:`item_of`: `U` with the characters of the
    longest one, `S` with its bytes if one is no UTF-8."""
    if isinstance(described, dict):
        if "array" in described:
            return text_types(array, described["array"], name_of)
        parts = described.get("struct", ())
        return [found for name, of, _ in parts for found in text_types(array[name], of, name_of)]
    if not has_objects(described):
        return []
    texts = [text_bytes(each, name_of) for each in np.asarray(array, object).ravel()]
    try:
        return [f"U{max([1, *(len(each.decode()) for each in texts)])}"]
    except UnicodeDecodeError:
        return [f"S{max([1, *map(len, texts)])}"]


def longest(a: str, b: str) -> str:
    """One type of texts for those of both."""
    if a[0] == b[0]:
        return max(a, b, key=lambda each: int(each[1:]))
    n, m = (int(each[1:]) * (4 if each[0] == "U" else 1) for each in (a, b))
    return f"S{max(n, m)}"


def text_bytes(value: Any, name_of: Callable[[Any], bytes]) -> bytes:
    """A text, or the path of what a reference refers to, in UTF-8."""
    if isinstance(value, (h5py.h5r.Reference, h5py.Reference)):
        return name_of(value)
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value or b"")


def to_items(array: Any, described: Any, item: np.dtype[Any], name_of: Callable[[Any], bytes]) -> Any:
    """Items of HDF5, in :func:`layout` or as h5py has them, as those of scda."""
    if item.subdtype is not None:
        item = item.subdtype[0]
    if isinstance(described, dict):
        if "array" in described:
            return to_items(array, described["array"], item, name_of)
        if "struct" in described:
            made = np.zeros(array.shape, item)
            for name, of, _ in described["struct"]:
                made[name] = to_items(array[name], of, item[name], name_of)
            return made
        if described == BOOL:
            raw = np.ascontiguousarray(array).view(np.uint8)
            if raw.size and raw.max() > 1:
                raise ValueError(f"found {raw.max()} among bools, expected 0 or 1")
            return np.asarray(array != 0)
        if "opaque" in described:
            return np.asarray(array).view(item) if item.kind in "Mm" else array
        return array.astype(item)
    if has_objects(described):
        texts: list[Any] = [text_bytes(each, name_of) for each in np.asarray(array, object).ravel()]
        made = np.empty(len(texts), item)
        made[:] = texts if item.kind == "S" else [each.decode() for each in texts]
        return made.reshape(array.shape)
    if is_text(described):
        text = TextType(described)
        if text.pad == "spacepad":
            return np.asarray(np.char.rstrip(array, b" ")).astype(item)
        if text.pad == "nullterm" and array.size:
            letters = np.ascontiguousarray(array).view(np.uint8).reshape(*array.shape, text.bytes)
            ended = np.maximum.accumulate(letters == 0, axis=-1)
            return np.where(ended, np.uint8(0), letters).view(item).reshape(array.shape)
        return array.astype(item)
    return array.astype("i8").view(item) if item.kind in "Mm" else array.astype(item)
