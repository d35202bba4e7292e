"""The items of datasets and attributes of HDF5, as those of scda, and written from these."""

from __future__ import annotations

import itertools
import math
from typing import Any, Callable, Optional

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t, h5z

from ._attributes import _number
from ._hdf5_links import object_at
from ._hdf5_lists import from_bytes, has_lists, list_of, to_bytes
from ._hdf5_types import (
    BOOL,
    BOOL,
    default,
    describe,
    fits,
    from_items,
    has_fills,
    has_layout,
    has_objects,
    is_text,
    item_of,
    layout,
    longest,
    make,
    text_bytes,
    text_types,
    to_items,
)
from ._selection import pieces

# The most bytes that texts of one length may take, or the multiple of those that they have.
_MOST_TEXT_BYTES = 64 << 20
_MOST_TEXT_TIMES = 64


class Paths:
    """The paths of objects in an HDF5 file, by which references are texts; and what is written when all of them are there."""

    def __init__(self, file: h5py.File, leave_out: Callable[[str, str], None]) -> None:
        self._file = file
        self.leave_out = leave_out
        self._waiting: list[Callable[[], None]] = []
        self._missing: set[str] = set()
        self._is_whole = False  # all objects are there

    def of(self, reference: Any) -> bytes:
        """The path of what a reference refers to; nothing if that is nothing."""
        if not reference:
            return b""
        try:
            return h5py.h5r.get_name(reference, self._file.id) or b""
        except (RuntimeError, ValueError, KeyError):
            return b""

    def reference_to(self, path: str) -> Any:
        if not path:
            return h5py.Reference()
        found = object_at(self._file, path)
        if found is not None:
            return found.ref
        if self._is_whole and path not in self._missing:
            self._missing.add(path)
            self.leave_out(path, "found a reference to this, which is not in the new file")
        return h5py.Reference()

    def later(self, write: Callable[[], None], described: Any) -> None:
        """Writes now, or at the end, if there are references in what is described."""
        if "reference" in str(described):
            self._waiting.append(write)
        else:
            write()

    def write(self) -> None:
        self._is_whole = True
        for write in self._waiting:
            write()


class Items:
    """The items of a dataset of HDF5."""

    def __init__(self, dataset: h5py.Dataset, paths: Paths, wanted: Optional[np.dtype[Any]]) -> None:
        self._dataset = dataset
        self._paths = paths
        kind = dataset.id.get_type()
        self.described = describe(kind)
        self._is_exact = not has_objects(self.described) and has_layout(kind)
        # The dimensions that the items have themselves.
        self.inner: tuple[int, ...] = ()
        if isinstance(self.described, dict) and "array" in self.described:
            self.inner = tuple(self.described["shape"])
        shape = dataset.shape if dataset.shape is not None else (0,)
        self.shape: tuple[int, ...] = (*shape, *self.inner)
        # One text of characters that are items.
        self.is_text_of_chars = False
        if wanted is not None and wanted.kind == "S" and self.described == "char 1" and shape[-1:] == (wanted.itemsize,):
            self.is_text_of_chars = wanted.itemsize > 1
            self.shape = shape[:-1] if self.is_text_of_chars else shape
        self._item = self.described["array"] if self.inner else self.described
        # Where items have any length: whether they are texts or bytes.
        self.any_length: Optional[type] = None
        found = wanted if self.is_text_of_chars else self._fixed(wanted is not None and wanted.hasobject)
        assert found is not None
        if wanted is not None and not self.inner and self._has_room(wanted, found):
            found = wanted
        is_list_of_bytes = self.described == {"list": "uint8"}
        is_same = self.any_length is str or is_list_of_bytes if self.any_length else found == wanted
        self.is_wanted = wanted is not None and wanted.hasobject == (self.any_length is not None) and is_same
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

    def _fixed(self, is_any_length: bool) -> np.dtype[Any]:
        """The type of items of one length; that of objects if they have any length, or would take too much."""
        lengths = [] if has_lists(self.described) else self._lengths()
        if lengths is None or has_lists(self.described) or is_any_length and is_text(self._item):
            self.any_length = str if is_text(self._item) and self._is_utf8 else bytes
            return np.dtype(object)
        return item_of(self.described, iter(lengths))

    def _has_room(self, wanted: np.dtype[Any], found: np.dtype[Any]) -> bool:
        """Whether items have the wanted type, whose texts are no shorter."""
        if not fits(self.described, wanted):
            return False
        if found.names is not None and wanted.names is not None:
            return all(_is_no_shorter(wanted[name].base, found[name].base) for name in found.names)
        return _is_no_shorter(wanted, found)

    def _lengths(self) -> Optional[list[str]]:
        """Types for the texts of variable length; None if each as long as the longest one would take too much."""
        self._is_utf8 = True
        if not has_objects(self.described):
            return []
        fill = np.zeros(0, self._dataset.dtype)
        if is_text(self._item) and not self.inner and _has_fill(self._dataset):
            fill = np.asarray(self._dataset.fillvalue, self._dataset.dtype)
        found = text_types(fill, self.described, self._paths.of)
        if self._dataset.shape is None:
            return found
        total = 0
        for key in pieces(self._dataset.shape, self._dataset.chunks, 64):
            array = self._read(key)
            found = [longest(a, b) for a, b in zip(found, text_types(array, self.described, self._paths.of))]
            total += _text_bytes(array)
        self._is_utf8 = all(each[0] == "U" for each in found)
        size = item_of(self.described, iter(found)).itemsize * math.prod(self._dataset.shape)
        return None if size > max(_MOST_TEXT_BYTES, _MOST_TEXT_TIMES * total) else found

    def fill_value(self) -> Any:
        """The item that stands where nothing was written, None for zeros, and for one that h5py cannot read."""
        if not _has_fill(self._dataset) or self.is_text_of_chars or self.inner or not has_fills(self.described):
            return None
        fill = self._dataset.fillvalue
        if fill is None or self.any_length is bytes:
            return fill and text_bytes(fill, self._paths.of)
        if self.described == BOOL:
            return bool(fill)
        made = self.to_items(np.asarray(fill, self._dataset.dtype))
        return made.tobytes() if self.dtype.kind == "V" and self.dtype.names is None else made[()]

    def to_items(self, array: Any) -> Any:
        of = {"array": "char 1", "shape": [self.dtype.itemsize]} if self.is_text_of_chars else self.described
        return to_items(array, of, self.dtype, self._paths.of)

    def read(self, key: tuple[Any, ...]) -> Any:
        """The items of a selection, which are indices and slices of the dimensions that the dataset has."""
        key = key[: len(self._dataset.shape)]
        if self.any_length is not None:
            array = _read_objects(self._dataset, key)
            made = to_bytes(array, self._item, self._paths.of) if self.any_length is bytes else self.to_items(array)
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
        if not self._is_exact or self.inner or self.is_text_of_chars or self.dtype.kind in "O":
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


def _is_no_shorter(wanted: np.dtype[Any], found: np.dtype[Any]) -> bool:
    return found.kind not in "US" or wanted.kind == found.kind and wanted.itemsize >= found.itemsize


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


def create_dataset(
    group: h5py.Group,
    name: str,
    shape: Optional[tuple[int, ...]],
    most: Optional[tuple[Optional[int], ...]],
    kind: h5t.TypeID,
    described: Any,
    chunks: Optional[tuple[int, ...]],
    fill: Any,
    filters: dict[str, Any],
) -> h5py.Dataset:
    """A dataset of any type: h5py makes those that numpy has.

    Args:
        shape: None: it has no data space.
        most: the greatest shape; None: this one.
        fill: an item of scda; zeros where the type has no fill values (:func:`scda._hdf5_types.has_fills`).
        filters: what :meth:`scda._hdf5.Filters.options` says.
    """
    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_attr_creation_order(h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED)
    if chunks is not None:
        properties.set_chunk(chunks)
        if filters.get("shuffle"):
            properties.set_shuffle()
        if filters.get("compression") == "gzip":
            properties.set_deflate(filters["compression_opts"])
        elif "compression" in filters:
            properties.set_filter(filters["compression"], h5z.FLAG_OPTIONAL, filters["compression_opts"])
    item = np.asarray(fill)
    is_number = item.dtype.kind in "biufcV" and item.dtype.names is None
    if is_number or any(item.tobytes()):
        if is_text(described):
            properties.set_fill_value(_text_fill(item, described, kind))
        elif has_fills(described):
            made = from_items(item, described, layout(described), lambda _: None)
            properties.set_fill_value(np.asarray(made).astype(kind.dtype))
    if shape is None:
        space = h5s.create(h5s.NULL)
    elif shape:
        limit = None if most is None else tuple(h5s.UNLIMITED if n is None else n for n in most)
        space = h5s.create_simple(shape, limit)
    else:
        space = h5s.create(h5s.SCALAR)
    links = h5p.create(h5p.LINK_CREATE)
    links.set_char_encoding(h5t.CSET_UTF8)
    return h5py.Dataset(h5d.create(group.id, name.encode(), kind, space, properties, lcpl=links))


def _text_fill(item: Any, described: str, kind: h5t.TypeID) -> Any:
    """A text as h5py takes it for a fill value, also for texts of one length: as one of any length."""
    made = kind.dtype if has_objects(described) else layout(described)
    text = from_items(item, described, made, lambda _: None).item()
    return np.array(text, h5py.string_dtype("utf-8" if kind.get_cset() == h5t.CSET_UTF8 else "ascii"))


def write_bytes(dataset: h5py.Dataset, key: tuple[Any, ...], items: Any, described: Any, paths: Paths) -> None:
    """Items that are bytes in scda, as those of any length that they stand for."""
    space, shape = _selected(dataset, key)
    is_array = isinstance(described, dict) and "array" in described
    made = dataset.dtype.base if is_array else dataset.dtype
    array = from_bytes(items, described["array"] if is_array else described, made, paths.reference_to)
    memory = h5s.create_simple(shape) if shape else h5s.create(h5s.SCALAR)
    if array.size:
        dataset.id.write(memory, space, array, mtype=h5t.py_create(dataset.dtype))


def write_items(dataset: h5py.Dataset, key: tuple[Any, ...], items: Any, described: Any, paths: Paths) -> None:
    """Items of scda."""
    space, shape = _selected(dataset, key)
    if has_objects(described):
        dataset[key] = from_items(items, described, dataset.dtype, paths.reference_to)
        return
    array = np.ascontiguousarray(from_items(items, described, layout(described), paths.reference_to))
    memory = h5s.create_simple(shape) if shape else h5s.create(h5s.SCALAR)
    if array.size:
        dataset.id.write(memory, space, array.reshape(-1).view(np.uint8), mtype=dataset.id.get_type())


def json_of(attribute: Any, described: Any, paths: Paths) -> Any:
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
    return _json(array if array.ndim else array[()], array.ndim, described, paths)


def _json(array: Any, ndim: int, of: Any, paths: Paths) -> Any:
    """Nested lists: `ndim` is told, since an item can be an array itself."""
    if ndim:
        return [_json(each, ndim - 1, of, paths) for each in array]
    return _json_item(array, of, paths)


def _json_item(value: Any, of: Any, paths: Paths) -> Any:
    if isinstance(of, dict):
        if "struct" in of:
            return [_json_item(value[name], each, paths) for name, each, _ in of["struct"]]
        if "list" in of:
            return [_json_item(each, of["list"], paths) for each in list_of(value, of["list"])]
        if "array" in of:
            return _json(value, len(of["shape"]), of["array"], paths)
        if of == BOOL:
            return bool(value)
        if "enum" in of:
            return int(value)
        return list(bytes(value))
    if of == "reference":
        return paths.of(value).decode("utf-8", "replace")
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


def array_of_json(value: Any, described: Any, paths: Paths) -> tuple[h5t.TypeID, Any]:
    """The type of an attribute, and its value.

    Raises:
        ValueError: they do not fit together.
    """
    try:
        of = described["type"]
        # None: there is no data space, and no item.
        shape = (0,) if described["shape"] is None else tuple(map(int, described["shape"]))
        kind = make(of)
        made = kind.dtype if has_objects(of) else layout(of)
        inner = made.subdtype[1] if made.subdtype is not None else ()
        base = made.subdtype[0] if made.subdtype is not None else made
        each = of["array"] if inner else of
        size = math.prod((*shape, *inner))
        items = _items(value, len(shape) + len(inner))
        if len(items) != size:
            raise ValueError(f"found {len(items)} items, expected {size}")
        array = np.zeros((*shape, *inner), base)
        flat = array.reshape(-1)
        for number, item in enumerate(items):
            flat[number] = _item_of_json(item, each, base, paths)
        return kind, array
    except (ValueError, TypeError, KeyError, IndexError, RuntimeError, OverflowError, AttributeError) as error:
        raise ValueError(f"found an attribute that does not have its type: {error}") from None


def _items(value: Any, ndim: int) -> Any:
    return [item for each in value for item in _items(each, ndim - 1)] if ndim else [value]


def _item_of_json(value: Any, of: Any, made: np.dtype[Any], paths: Paths) -> Any:
    if isinstance(of, dict):
        if "struct" in of:
            return tuple(_item_of_json(each, part, made[name], paths) for each, (name, part, _) in zip(value, of["struct"]))
        if "list" in of:
            base = h5py.check_vlen_dtype(made)
            array = np.empty(len(value), base)
            for number, each in enumerate(value):
                array[number] = _item_of_json(each, of["list"], base, paths)
            return array
        if "array" in of:
            base, shape = made.subdtype or (made, ())
            array = np.empty(shape, base)
            flat = array.reshape(-1)
            for number, item in enumerate(_items(value, len(shape))):
                flat[number] = _item_of_json(item, of["array"], base, paths)
            return array
        return np.frombuffer(bytes(value), made)[0] if "opaque" in of else value
    if of == "reference":
        return paths.reference_to(value)
    if is_text(of):
        raw = bytes(value) if isinstance(value, list) else value.encode()
        if has_objects(of) and b"\0" in raw:
            raise ValueError("found a NUL character")
        return raw
    if of.lstrip(">").startswith("complex"):
        return complex(float(value[0]), float(value[1]))
    if made.kind == "V":
        return np.frombuffer(bytes(value), made)[0]
    return float(value) if made.kind == "f" else value
