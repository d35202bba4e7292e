"""The items of datasets and attributes of HDF5, as those of scda."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any, Optional

import h5py
import numpy as np
from h5py import h5s, h5t

from ._attributes import _number
from ._hdf5_lists import has_lists, list_of, to_bytes
from ._hdf5_types import (
    BOOL,
    default,
    describe,
    has_fills,
    has_layout,
    has_objects,
    is_text,
    item_of,
    layout,
    longest,
    text_bytes,
    text_types,
    to_items,
)
from ._selection import pieces

# The most bytes that texts of one length may take, or the multiple of those that they have.
_MOST_TEXT_BYTES = 64 << 20
_MOST_TEXT_TIMES = 64


def path_of(file: h5py.File, reference: Any) -> bytes:
    """The path of what a reference refers to; nothing if that is nothing."""
    if not reference:
        return b""
    try:
        return h5py.h5r.get_name(reference, file.id) or b""
    except (RuntimeError, ValueError, KeyError):
        return b""


class Items:
    """The items of a dataset of HDF5."""

    def __init__(self, dataset: h5py.Dataset) -> None:
        self._dataset = dataset
        self._name_of = partial(path_of, dataset.file)
        kind = dataset.id.get_type()
        self.described = describe(kind)
        self._is_exact = not has_objects(self.described) and has_layout(kind)
        # The dimensions that the items have themselves.
        self.inner: tuple[int, ...] = ()
        if isinstance(self.described, dict) and "array" in self.described:
            self.inner = tuple(self.described["shape"])
        shape = dataset.shape if dataset.shape is not None else (0,)
        self.shape: tuple[int, ...] = (*shape, *self.inner)
        self._item = self.described["array"] if self.inner else self.described
        # Where items have any length: whether they are texts or bytes.
        self.any_length: Optional[type] = None
        found = self._fixed()
        self.dtype = found if found.subdtype is None else found.subdtype[0]

    def has_bools(self) -> bool:
        """Whether all integers of one byte are 0 or 1, so that bools are all of them. Reads them, and the fill value if that stands for
        some that no byte of the file stands for."""
        raw = Items.__new__(Items)
        raw.__dict__.update(self.__dict__, described="int8", dtype=np.dtype(np.int8))
        shape = self._dataset.shape if self._dataset.shape is not None else (0,)
        fill = raw.fill_value() if self.shape != shape else None
        if fill not in (None, 0, 1):
            return False
        return all(np.isin(raw.read(key), (0, 1)).all() for key in pieces(shape, self._dataset.chunks, 1))

    def keep_integers(self) -> None:
        """Takes bools for the integers that they are in HDF5."""
        self.described, self.dtype = "int8", np.dtype(np.int8)

    def _fixed(self) -> np.dtype[Any]:
        """The type of items of one length; that of objects if they have any length, or would take too much."""
        lengths = None if has_lists(self.described) else self._lengths()
        if lengths is None:
            self.any_length = str if is_text(self._item) and self._is_utf8 else bytes
            return np.dtype(object)
        return item_of(self.described, iter(lengths))

    def _lengths(self) -> Optional[list[str]]:
        """Types for the texts of variable length; None if each as long as the longest one would take too much."""
        self._is_utf8 = True
        if not has_objects(self.described):
            return []
        fill = np.zeros(0, self._dataset.dtype)
        if is_text(self._item) and not self.inner and _has_fill(self._dataset):
            fill = np.asarray(self._dataset.fillvalue, self._dataset.dtype)
        found = text_types(fill, self.described, self._name_of)
        if self._dataset.shape is None:
            return found
        total = 0
        for key in pieces(self._dataset.shape, self._dataset.chunks, 64):
            array = self._read(key)
            found = [longest(a, b) for a, b in zip(found, text_types(array, self.described, self._name_of))]
            total += _text_bytes(array)
        self._is_utf8 = all(each[0] == "U" for each in found)
        size = item_of(self.described, iter(found)).itemsize * math.prod(self._dataset.shape)
        return None if size > max(_MOST_TEXT_BYTES, _MOST_TEXT_TIMES * total) else found

    def fill_value(self) -> Any:
        """The item that stands where nothing was written, None for zeros, and for one that h5py cannot read."""
        if not _has_fill(self._dataset) or self.inner or not has_fills(self.described):
            return None
        fill = self._dataset.fillvalue
        if fill is None or self.any_length is bytes:
            return fill and text_bytes(fill, self._name_of)
        if self.described == BOOL:
            return bool(fill)
        made = self.to_items(np.asarray(fill, self._dataset.dtype))
        return made.tobytes() if self.dtype.kind == "V" and self.dtype.names is None else made[()]

    def to_items(self, array: Any) -> Any:
        return to_items(array, self.described, self.dtype, self._name_of)

    def read(self, key: tuple[Any, ...]) -> Any:
        """The items of a selection, which are indices and slices of the dimensions that the dataset has."""
        key = key[: len(self._dataset.shape)]
        if self.any_length is not None:
            array = _read_objects(self._dataset, key)
            made = to_bytes(array, self._item, self._name_of) if self.any_length is bytes else self.to_items(array)
            return made[()]
        if not self._is_exact:
            return self.to_items(self._read(key))
        return self.to_items(read_raw(self._dataset, key, layout(self.described)))

    def _read(self, key: tuple[Any, ...]) -> Any:
        if is_text(self.described):
            return _read_objects(self._dataset, key)
        return np.asarray(self._dataset[key], self._dataset.dtype.base)

    def has_own_bytes(self) -> bool:
        """Whether the bytes of items in a chunk of HDF5 are those in scda, or numbers whose bytes are the other way round."""
        if not self._is_exact or self.inner or self.dtype.kind in "O":
            return False
        if self.dtype.names is not None or self.dtype.kind == "S":
            return bool(self.described == default(self.dtype)) and "'names'" not in str(self.described)
        return True

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape)

    @property
    def is_big(self) -> bool:
        of = self.described["enum"] if isinstance(self.described, dict) and "enum" in self.described else self.described
        return isinstance(of, str) and of.startswith(">")


def _text_bytes(array: Any) -> int:
    """The bytes of all texts of variable length."""
    if array.dtype.names is not None:
        return sum(_text_bytes(array[name]) for name in array.dtype.names)
    if array.dtype.kind != "O":
        return 0
    return sum(len(each) if isinstance(each, (str, bytes)) else 8 for each in array.ravel())


def _selected(dataset: h5py.Dataset, key: tuple[Any, ...]) -> tuple[h5s.SpaceID, tuple[int, ...]]:
    """The data space of a selection, and the shape of what is selected."""
    space = dataset.id.get_space()
    if not dataset.shape:
        return space, ()
    starts, counts, shape = [], [], []
    # In NetCDF, the letters of a text are one more dimension.
    for index, n in zip((*key, *[slice(None)] * len(dataset.shape)), dataset.shape):
        start, stop, _ = index.indices(n) if isinstance(index, slice) else (index, index + 1, 1)
        starts.append(start)
        counts.append(stop - start)
        shape += [stop - start] if isinstance(index, slice) else []
    space.select_hyperslab(tuple(starts), tuple(counts))
    return space, tuple(shape)


def read_raw(dataset: h5py.Dataset, key: tuple[Any, ...], made: np.dtype[Any]) -> Any:
    """Items as they lie in the file."""
    space, shape = _selected(dataset, key)
    array = np.empty(shape, made)
    if array.size:
        memory = h5s.create_simple(shape) if shape else h5s.create(h5s.SCALAR)
        dataset.id.read(memory, space, array.reshape(-1).view(np.uint8), mtype=dataset.id.get_type())
    return array


def _read_objects(dataset: h5py.Dataset, key: tuple[Any, ...]) -> Any:
    """Items as h5py has them; its own indexing does not tell a list from a single item."""
    space, shape = _selected(dataset, key)
    if dataset.chunks is not None and h5py.check_string_dtype(dataset.dtype) is not None and _has_fill(dataset):
        return _read_written_texts(dataset, key).reshape(shape)
    array = np.empty(shape, dataset.dtype)
    if array.size:
        memory = h5s.create_simple(shape) if shape else h5s.create(h5s.SCALAR)
        dataset.id.read(memory, space, array, mtype=h5t.py_create(dataset.dtype))
    return array


def _read_written_texts(dataset: h5py.Dataset, key: tuple[Any, ...]) -> Any:
    """Texts of the chunks that the file has, and the fill value for the others: HDF5 makes that only where it may write."""
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
    """Whether the dataset has a fill value of its own."""
    properties = dataset.id.get_create_plist()
    return bool(properties.fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED)


def json_of(attribute: Any, described: Any, file: h5py.File) -> Any:
    """The value of an attribute in JSON."""
    kind = attribute.get_type()
    if has_objects(described):
        array = np.empty(attribute.shape, attribute.dtype)
        attribute.read(array)
    else:
        raw = np.empty(attribute.shape, f"V{kind.get_size()}")
        attribute.read(raw, mtype=kind)
        made = np.frombuffer(raw.tobytes(), layout(described))
        array = made.reshape((*attribute.shape, *made.shape[1:]))
    if isinstance(described, dict) and "array" in described:
        described = described["array"]
    return _json(array if array.ndim else array[()], array.ndim, described, file)


def _json(array: Any, ndim: int, of: Any, file: h5py.File) -> Any:
    """Nested lists: `ndim` is told, since an item can be an array itself."""
    if ndim:
        return [_json(each, ndim - 1, of, file) for each in array]
    return _json_item(array, of, file)


def _json_item(value: Any, of: Any, file: h5py.File) -> Any:
    if isinstance(of, dict):
        if "struct" in of:
            return [_json_item(value[name], each, file) for name, each, _ in of["struct"]]
        if "list" in of:
            return [_json_item(each, of["list"], file) for each in list_of(value, of["list"])]
        if "array" in of:
            return _json(value, len(of["shape"]), of["array"], file)
        if of == BOOL:
            return bool(value)
        if "enum" in of:
            return int(value)
        return list(bytes(value))
    if of == "reference":
        return path_of(file, value).decode("utf-8", "replace")
    if is_text(of):
        raw = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value or b"")
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return list(raw)
    if np.iscomplexobj(value):
        return [_number(float(value.real)), _number(float(value.imag))]
    if isinstance(value, np.floating):
        return _number(float(value))
    return list(value.tobytes()) if isinstance(value, np.void) else value.item()
