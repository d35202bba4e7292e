"""Converts items of HDF5 datasets and attributes, as h5py reads them, to those of scda."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any, Iterator, Optional

import h5py
import numpy as np
from h5py import h5s, h5t

from ._attributes import _number
from ._common import packed
from ._description import TYPE_NAMES
from ._selection import boxes_of

BOOL_NAMES = {"FALSE": 0, "TRUE": 1}
# Limits for texts of one length: their bytes in all, or as a multiple of the bytes that the texts have.
_MOST_TEXT_BYTES = 64 << 20
_MOST_TEXT_TIMES = 64


def path_of(file: h5py.File, reference: Any) -> bytes:
    """The path of the object to which a reference leads; empty for a null reference."""
    if not reference:
        return b""
    try:
        return h5py.h5r.get_name(reference, file.id) or b""
    except (RuntimeError, ValueError, KeyError):
        return b""


def list_type(dtype: np.dtype[Any]) -> Optional[np.dtype[Any]]:
    """The type of the items of a list of variable length; None if it is no list."""
    found = h5py.check_vlen_dtype(dtype)
    return found if isinstance(found, np.dtype) else None  # for texts it is a class


def expect_known(dtype: np.dtype[Any]) -> None:
    """Raises a TypeError for a type of h5py that has no equivalent in scda."""
    if dtype.subdtype is not None:
        return expect_known(dtype.base)
    for name in dtype.names or ():
        expect_known(dtype[name])
    if h5py.check_ref_dtype(dtype) is h5py.RegionReference:
        raise TypeError("found region references")
    if list_type(dtype) is not None:
        raise TypeError("found lists of variable length inside other items")
    if dtype.kind not in "OSVMmb" and dtype.name not in TYPE_NAMES:
        raise TypeError(f"found {dtype.name}")


def other_type(kind: h5t.TypeID) -> Optional[str]:
    """Describes floating-point types that h5py reads as a larger type: HDF5 lets programs define such types, for
    example bfloat16. None if there are none."""
    which = kind.get_class()
    if which == h5t.COMPOUND:
        found = map(other_type, map(kind.get_member_type, range(kind.get_nmembers())))
        return next((each for each in found if each is not None), None)
    if which in (h5t.ARRAY, h5t.VLEN, h5t.ENUM):
        return other_type(kind.get_super())
    size = kind.get_size()
    if which != h5t.FLOAT or size == kind.dtype.itemsize:
        return None
    return f"floating-point numbers of {size} bytes, {kind.get_fields()[2]} bits of which are the exponent"


def has_tag(kind: h5t.TypeID) -> bool:
    """True if there are opaque items with a tag, which numpy does not have: HDF5 converts these to no other type."""
    which = kind.get_class()
    if which == h5t.COMPOUND:
        return any(map(has_tag, map(kind.get_member_type, range(kind.get_nmembers()))))
    if which in (h5t.ARRAY, h5t.VLEN):
        return has_tag(kind.get_super())
    return bool(which == h5t.OPAQUE and kind.dtype.kind == "V")


class Items:
    """The items of a dataset of HDF5."""

    def __init__(self, dataset: h5py.Dataset) -> None:
        self._dataset = dataset
        self._has_tag = has_tag(dataset.id.get_type())
        of = dataset.dtype
        # The dimensions of each item.
        self.inner: tuple[int, ...] = of.shape
        self._of = of.base
        # The type of the items if these are lists of any length.
        self.list_of: Optional[np.dtype[Any]] = list_type(self._of)
        expect_known(self._of if self.list_of is None else self.list_of)
        if self.list_of is not None and self.list_of.hasobject:
            raise TypeError("found lists of texts or references")
        shape = dataset.shape if dataset.shape is not None else (0,)
        self.shape: tuple[int, ...] = (*shape, *self.inner)
        # The integers that the names of an enumeration stand for.
        self.names: Optional[dict[str, int]] = h5py.check_enum_dtype(self._of)
        # The class of items of any length: str or bytes.
        self.any_length: Optional[type] = None
        found = self._item_type()
        self.dtype = found if found.subdtype is None else found.subdtype[0]

    def has_bools(self) -> bool:
        """True if all items of one byte are 0 or 1, so that they can be bools. Reads them, and also checks the fill
        value if it stands for items that are not in the file."""
        shape = self._dataset.shape if self._dataset.shape is not None else (0,)
        if self.shape != shape and int(self._dataset.fillvalue) not in (0, 1):
            return False
        keys = boxes_of(shape, self._dataset.chunks, 1)
        return all(np.isin(np.asarray(self._dataset[key]).view(np.int8), (0, 1)).all() for key in keys)

    def keep_integers(self) -> None:
        """Keeps the integers by which HDF5 stores bools."""
        self.dtype, self.names = np.dtype(np.int8), BOOL_NAMES

    def _item_type(self) -> np.dtype[Any]:
        """The type of items of one length; object if they have any length, or would take too much memory at one
        length."""
        if self.list_of is not None:
            self.any_length = bytes
            return np.dtype(object)
        if not self._of.hasobject:
            return _with_texts(self._of, iter(()))
        fills = np.zeros(0, object)
        if self._of.kind == "O" and not self.inner and _has_fill(self._dataset):
            fills = np.asarray(self._dataset.fillvalue, object)
        found, total = [_type_of_texts(texts) for texts in self._texts(fills, self._of)] if fills.size else [], 0
        shape = self._dataset.shape
        for key in boxes_of(shape, self._dataset.chunks, 64) if shape is not None else ():
            members = list(self._texts(self._read(key), self._of))
            total += sum(len(text) for texts in members for text in texts)
            types = [_type_of_texts(texts) for texts in members]
            found = [_longest(a, b) for a, b in itertools.zip_longest(found, types, fillvalue="U1")]
        item = _with_texts(self._of, iter(found))
        if item.itemsize * math.prod(self.shape) <= max(_MOST_TEXT_BYTES, _MOST_TEXT_TIMES * total):
            return item
        if self._of.names is not None:
            raise ValueError("found texts of very different lengths in a compound type")
        self.any_length = str if all(each[0] == "U" for each in found) else bytes
        return np.dtype(object)

    def _texts(self, array: Any, of: np.dtype[Any]) -> Iterator[list[bytes]]:
        """The texts of each member with texts of variable length, or with references, for which their paths are
        stored."""
        if of.names is not None:
            for name in of.names:
                yield from self._texts(array[name], of[name].base)
        elif of.hasobject:
            yield [self._text(each) for each in np.asarray(array, object).ravel()]

    def _text(self, value: Any) -> bytes:
        """A text in UTF-8, or the path of the object to which a reference leads."""
        if isinstance(value, h5py.Reference):
            return path_of(self._dataset.file, value)
        return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value or b"")

    def fill_value(self) -> Any:
        """The item that stands where nothing was written; None for zero, and for one that h5py cannot read."""
        is_struct_of_texts = self._of.names is not None and self._of.hasobject
        if not _has_fill(self._dataset) or self.inner or self.list_of is not None or is_struct_of_texts or self._has_tag:
            return None
        fill = self._dataset.fillvalue
        if fill is None or self.any_length is bytes:
            return fill and self._text(fill)
        if self.dtype.kind == "b":
            return bool(fill)
        made = self._converted(np.asarray(fill, self._dataset.dtype), self._of, self.dtype)
        return made.tobytes() if self.dtype.kind == "V" and self.dtype.names is None else made[()]

    def read(self, key: tuple[Any, ...]) -> Any:
        """The items of a selection: indices and slices for the dimensions of the dataset."""
        array = self._read(key[: len(self._dataset.shape)])
        if self.list_of is None and self.any_length is not bytes:
            return self._converted(array, self._of, self.dtype)
        made = np.empty(array.size, object)
        made[:] = [self._text(each) if self.list_of is None else list_bytes(each, self.list_of) for each in array.reshape(-1)]
        return made.reshape(array.shape)[()]

    def _read(self, key: tuple[Any, ...]) -> Any:
        """The items as h5py has them. Its own indexing cannot tell a list from a single item."""
        if not self._has_tag and (self._of.kind != "O" or self.inner):
            return np.asarray(self._dataset[key], self._dataset.dtype.base)
        space, shape = _selected(self._dataset, key)
        if self._dataset.chunks is not None and h5py.check_string_dtype(self._of) is not None and _has_fill(self._dataset):
            return _read_written_texts(self._dataset, key).reshape(shape)
        array = np.empty(shape, self._dataset.dtype)
        if array.size:
            memory = h5s.create_simple(shape) if shape else h5s.create(h5s.SCALAR)
            bytes_or_objects = array.reshape(-1).view(np.uint8) if self._has_tag else array
            kind = self._dataset.id.get_type() if self._has_tag else h5t.py_create(self._dataset.dtype)
            self._dataset.id.read(memory, space, bytes_or_objects, mtype=kind)
        return array

    def _converted(self, array: Any, of: np.dtype[Any], item: np.dtype[Any]) -> Any:
        of, item = of.base, item.base
        if of.names is not None:
            made = np.zeros(array.shape, item)
            for name in of.names:
                made[name] = self._converted(array[name], of[name], item[name])
            return made
        if of.hasobject:
            texts: list[Any] = [self._text(each) for each in np.asarray(array, object).ravel()]
            made = np.empty(len(texts), item)
            made[:] = texts if item.kind == "S" else [each.decode() for each in texts]
            return made.reshape(array.shape)
        if of.kind == "b" and item.kind == "b":
            raw = np.ascontiguousarray(array).view(np.uint8)
            if raw.size and raw.max() > 1:
                raise ValueError(f"found the bool {raw.max()}, expected 0 or 1")
        return np.asarray(array).view(np.int8) if of.kind == "b" and item.kind == "i" else np.asarray(array).astype(item)

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape)


def _with_texts(of: np.dtype[Any], lengths: Iterator[str]) -> np.dtype[Any]:
    """The type of scda that corresponds to a type of h5py.

    Args:
        lengths: numpy's types for the texts of variable length, and for the paths of references, in order.
    """
    if of.subdtype is not None:
        return np.dtype((_with_texts(of.base, lengths), of.shape))
    if of.names is not None:
        return np.dtype([(name, _with_texts(of[name], lengths)) for name in of.names])
    if of.hasobject:
        return np.dtype(next(lengths, "U1"))
    return of if of.kind in "SV" else np.dtype(of.str).newbyteorder("=")


def _type_of_texts(texts: list[bytes]) -> str:
    """numpy's type for texts: `U` with the length of the longest, or `S` with its bytes if one is not UTF-8."""
    try:
        return f"U{max([1, *(len(each.decode()) for each in texts)])}"
    except UnicodeDecodeError:
        return f"S{max([1, *map(len, texts)])}"


def _longest(a: str, b: str) -> str:
    """A type for texts of both types."""
    if a[0] == b[0]:
        return max(a, b, key=lambda each: int(each[1:]))
    n, m = (int(each[1:]) * (4 if each[0] == "U" else 1) for each in (a, b))
    return f"S{max(n, m)}"


def list_bytes(value: Any, of: np.dtype[Any]) -> bytes:
    """The items of a list that h5py has read, without gaps, the lowest byte first. For big-endian numbers, h5py (3.16)
    returns the bytes of the file in an array that claims to be little-endian."""
    if value is None:
        return b""
    if of.base.byteorder == ">" and value.dtype.isnative and value.dtype.names is None and _is_mistaken():
        value = value.view(value.dtype.newbyteorder(">"))
    return bytes(value.astype(packed(of).newbyteorder("<").base).tobytes())


@functools.lru_cache(maxsize=None)
def _is_mistaken() -> bool:
    with h5py.File("list", "w", driver="core", backing_store=False) as file:
        data = np.empty(1, object)
        data[0] = np.array([1], ">i2")
        made = file.create_dataset("list", data=data, dtype=h5py.vlen_dtype(np.dtype(">i2")))
        return int(made[0][0]) != 1


def _selected(dataset: h5py.Dataset, key: tuple[Any, ...]) -> tuple[h5s.SpaceID, tuple[int, ...]]:
    """The data space of a selection, and its shape."""
    space = dataset.id.get_space()
    if not dataset.shape:
        return space, ()
    starts, counts, shape = [], [], []
    # In NetCDF, the characters of a text are an additional dimension.
    for index, n in zip((*key, *[slice(None)] * len(dataset.shape)), dataset.shape):
        start, stop, _ = index.indices(n) if isinstance(index, slice) else (index, index + 1, 1)
        starts.append(start)
        counts.append(stop - start)
        shape += [stop - start] if isinstance(index, slice) else []
    space.select_hyperslab(tuple(starts), tuple(counts))
    return space, tuple(shape)


def _read_written_texts(dataset: h5py.Dataset, key: tuple[Any, ...]) -> Any:
    """The texts of chunks in the file, and the fill value elsewhere: HDF5 supplies it only in files open for
    writing."""
    ends = [index.indices(n)[:2] if isinstance(index, slice) else (index, index + 1) for index, n in zip(key, dataset.shape)]
    array = np.full([stop - start for start, stop in ends], dataset.fillvalue, dataset.dtype)
    corners = [range(start // c * c, stop, c) for (start, stop), c in zip(ends, dataset.chunks)]
    for corner in itertools.product(*corners):
        if dataset.id.get_chunk_info_by_coord(corner).byte_offset is not None:
            part = [(max(at, start), min(at + c, stop)) for at, c, (start, stop) in zip(corner, dataset.chunks, ends)]
            place = tuple(slice(a - start, b - start) for (a, b), (start, _) in zip(part, ends))
            array[place] = dataset[tuple(slice(a, b) for a, b in part)]
    return array


def _has_fill(dataset: h5py.Dataset) -> bool:
    """True if the dataset has a fill value of its own."""
    properties = dataset.id.get_create_plist()
    return bool(properties.fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED)


def json_of(value: Any, file: h5py.File) -> Any:
    """The value of an attribute in JSON: structs and arrays become lists, references become paths."""
    if isinstance(value, np.ndarray):
        return [json_of(each, file) for each in value] if value.ndim else json_of(value[()], file)
    if isinstance(value, np.void):
        return list(value.tobytes()) if value.dtype.names is None else [json_of(value[name], file) for name in value.dtype.names]
    if isinstance(value, h5py.RegionReference):
        raise TypeError("found region references")
    if isinstance(value, h5py.Reference):
        return path_of(file, value).decode("utf-8", "replace")
    if isinstance(value, (str, bytes)):
        raw = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return list(raw)
    if np.iscomplexobj(value):
        return [_number(float(value.real)), _number(float(value.imag))]
    return _number(float(value)) if isinstance(value, np.floating) else value.item() if isinstance(value, np.generic) else value
