"""Imports HDF5 and NetCDF-4 files."""

from __future__ import annotations

import math
from typing import Any, Callable, Optional, Union

import h5py
import numpy as np

from ._description import TYPE_NAMES, native
from ._errors import Error, FormatError
from ._hdf5 import ENUMERATION, LINKS, NO_VARIABLE, TYPE, Filters, dimension_names, expect_filters, read_attributes
from ._hdf5_items import Items, other_type
from ._hdf5_links import expect_own, link_of
from ._importer import Importer, as_bool, expect_name
from ._selection import boxes_of
from ._temporary import TemporaryData
from ._variables import DIMENSIONS, MAX_SHAPE, STATIC, TIME

# The most chunks of a dataset, stored or not: a small file can claim any number.
_MOST_CHUNKS = 1 << 22
# A limit for items of any length, because each is a Python object.
_MOST_OBJECTS = 1 << 26
_MOST_CHUNK_BYTES = (1 << 31) - 1
# The most chunks for data that were never written, unless chunks have 1 MiB.
_FEW_CHUNKS = 1 << 10


class Hdf5(Importer):
    format = "HDF5"
    has_external = True

    def run(self, source: dict[str, Any]) -> dict[str, Any]:
        path = self._name
        try:
            with h5py.File(path, "r") as file:
                self._seen = {_address(file): "/"}
                self._is_netcdf = "_NCProperties" in file.attrs
                self._lengths = self._lengths_of(file) if self._is_netcdf else {}
                self._prepared: list[tuple[str, Callable[[], None]]] = []
                attrs = self._group(file, "", source)
                for name, write in self._prepared:
                    with self._of(name):
                        write()
                return attrs
        except (OSError, RuntimeError, KeyError) as error:
            # Errors of the HDF5 library, which does not tell damaged files apart.
            if isinstance(error, Error) or getattr(error, "errno", None) is not None:
                raise
            raise FormatError(f"{path}: {error}") from None

    def _group(self, group: h5py.Group, path: str, more: dict[str, Any]) -> dict[str, Any]:
        attrs = self._attributes_of(path or "/", read_attributes(group, netcdf=self._is_netcdf))
        self._expect_no_others(attrs, more)
        attrs.update(more)
        names = list(group)
        unused = self._unused(group, names) if self._is_netcdf else {}
        if unused:
            attrs[DIMENSIONS] = unused
        links = self._links(group, path, names)
        known = {name: link for name, link in links.items() if link is not None}
        if known:
            attrs[LINKS] = known
        names = [name for name in names if name not in links or "hard" in (links[name] or ())]
        if attrs or not names:
            with self._of(path or "/"):
                if path:
                    expect_name(path)
                self._w.group(path or "/", attrs)
        for name in names:
            if isinstance(name, bytes):
                self._leave_out(path or "/", f"found the name {name!r}, which is not valid UTF-8")
                continue
            whole = f"{path}/{name}" if path else name
            if not self._is_wanted(whole):
                continue
            item = group[name]
            if isinstance(item, h5py.Dataset):
                with self._of(whole):
                    self._dataset(item, whole)
            elif isinstance(item, h5py.Group) and name not in links:
                self._group(item, whole, {})
        return attrs

    def _links(self, group: h5py.Group, path: str, names: list[Any]) -> dict[str, Optional[dict[str, Any]]]:
        """The targets of the links of a group, None where unknown. A dataset is written under each of its names, a
        group only under the first one."""
        found: dict[str, Optional[dict[str, Any]]] = {}
        for name in names:
            whole = f"{path}/{name}" if path else name
            if isinstance(name, bytes) or not self._is_wanted(whole):
                continue
            link = link_of(group, name)
            if isinstance(link, h5py.SoftLink):
                found[name] = {"soft": link.path}
            elif isinstance(link, h5py.ExternalLink):
                found[name] = {"external": [link.filename, link.path]}
            elif not isinstance(link, h5py.HardLink):
                self._leave_out(whole, "found a user-defined link")
                found[name] = None
            elif group.get(name, getclass=True) in (h5py.Group, h5py.Dataset):
                first = self._seen.setdefault(_address(group[name]), whole)
                if first != whole:
                    found[name] = {"hard": first}
        return found

    def _unused(self, group: h5py.Group, names: list[str]) -> dict[str, Optional[int]]:
        """The NetCDF dimensions that no variable of the group has, with their sizes; None for an unlimited one."""
        found: dict[str, Optional[int]] = {}
        for name in names:
            item = group[name] if isinstance(link_of(group, name), h5py.HardLink) else None
            if not isinstance(item, h5py.Dataset) or not _is_dimension(item) or _is_dimension_of(item, group):
                continue
            if self._is_own(item):
                if item.shape is not None and len(item.shape) == 1:
                    found[name] = None if item.maxshape == (None,) else item.shape[0]
        return found

    def _is_own(self, dataset: h5py.Dataset) -> bool:
        """True if the dataset may be read. Even its shape may be in another file."""
        try:
            expect_own(dataset, follow=self._external)
        except ValueError:
            return False
        return True

    def _lengths_of(self, file: h5py.File) -> dict[int, int]:
        """The lengths of the unlimited dimensions in a NetCDF-4 file, by the addresses of their scales."""
        found: dict[int, int] = {}

        def note(_: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset) and self._is_own(item) and item.shape:
                for scale, n in zip(_growing(item), item.shape):
                    if scale is not None:
                        found[scale] = max(n, found.get(scale, 0))

        file.visititems(note)
        return found

    def _dataset(self, dataset: h5py.Dataset, path: str) -> None:
        """Prepares a dataset. It is written after the attributes of all groups."""
        if _is_dimension(dataset):
            return
        expect_name(path)
        expect_own(dataset, follow=self._external)
        items = Items(dataset)
        expect_filters(dataset)
        if dataset.shape:
            # In NetCDF, an unlimited dimension has one length for all variables, however much of each was written.
            items.shape = (*_grown(dataset, self._lengths), *items.inner)
        if items.any_length is None:
            native(items.dtype)
        elif math.prod(items.shape) > _MOST_OBJECTS:
            raise ValueError(f"found {math.prod(items.shape)} items of any length, expected at most {_MOST_OBJECTS}")
        _expect_few(dataset)
        attrs = self._attributes_of(path, read_attributes(dataset, items.dtype, netcdf=self._is_netcdf))
        if items.dtype.kind == "b" and not items.has_bools():
            items.keep_integers()
        if items.names is not None:
            attrs[ENUMERATION] = items.names
        dtype = as_bool(items.dtype, attrs, items.has_bools)
        other = other_type(dataset.id.get_type())
        if other is not None:
            self._leave_out(path, f"found {other}: the items are kept as {items.dtype}, but their named type is lost", is_array=False)
        shape = items.shape
        dims = [*(dimension_names(dataset) if dataset.shape else []), *[None] * len(items.inner)][: len(shape)]
        if dataset.shape is None:
            attrs[MAX_SHAPE] = None
        elif dataset.maxshape != dataset.shape:
            attrs[MAX_SHAPE] = [*dataset.maxshape, *items.inner]
        if path.rpartition("/")[2] == TIME and not shape:
            attrs[STATIC] = True
        fill = items.fill_value()
        is_cut = dataset.chunks and len(shape) > 0
        options: dict[str, Any] = {
            "attrs": attrs,
            "fill_value": bool(fill) if dtype.kind == "b" else fill,
            "dims": dims if any(dims) else None,
            "shape": shape,
            "chunks": (*dataset.chunks, *items.inner) if is_cut else None,
        }
        if items.any_length is not None:
            if items.list_of is not None:
                name = items.list_of.name
                attrs[TYPE] = {"list": name if name in TYPE_NAMES else f"r{8 * items.list_of.itemsize}"}
            options["dtype"] = items.any_length
            if options["chunks"]:  # only the first dimension is divided
                options["chunks"] = (options["chunks"][0], *(max(n, 1) for n in shape[1:]))
        filters = Filters.of_hdf5(dataset) if is_cut and 0 not in dataset.shape and items.any_length is None else None
        if filters is not None:
            options.update(codec="zlib", level=filters.level, shuffle=filters.shuffle)
        if _was_never_written(dataset) and shape and 0 not in shape and items.any_length is None:
            write = self._nothing(path, dtype, options)
        elif is_cut and items.any_length is None and _is_sparse(dataset):
            write = self._stored_chunks(dataset, items, path, dtype, options)
        else:
            write = self._items(dataset, items, path, dtype, options)
        self._prepared.append((path, write))
        self._progress.total += items.nbytes

    def _nothing(self, path: str, dtype: np.dtype[Any], options: dict[str, Any]) -> Callable[[], None]:
        """Writes a dataset that has no item in the file: chunks of fill values take no bytes, however many items they
        have."""
        chunks = options["chunks"]
        if chunks is None or dtype.itemsize * math.prod(chunks) > _MOST_CHUNK_BYTES:
            options["chunks"] = _chunks_of_nothing(options["shape"], dtype.itemsize)
        return lambda: self._w.dataset(path, dtype=dtype, **options)

    def _stored_chunks(
        self, dataset: h5py.Dataset, items: Items, path: str, dtype: np.dtype[Any], options: dict[str, Any]
    ) -> Callable[[], None]:
        """Writes the chunks of a sparse dataset. The other chunks have the fill value."""

        def write() -> None:
            boxes = []
            inner = [0] * len(items.inner)
            numbers = range(dataset.id.get_num_chunks())
            with TemporaryData(self._folder) as temporary:
                room = temporary.room((len(numbers), *options["chunks"]), dtype)
                for number in numbers:
                    origin = dataset.id.get_chunk_info(number).chunk_offset
                    found = _read(dataset, items, tuple(slice(a, min(a + c, n)) for a, c, n in zip(origin, dataset.chunks, dataset.shape)))
                    part = room[(number, *map(slice, found.shape))]
                    part[...] = found
                    boxes.append(((*origin, *inner), part))
                    self._progress.add(part.nbytes)
                self._w.dataset(path, boxes=boxes, dtype=dtype, **options)

        return write

    def _items(
        self, dataset: h5py.Dataset, items: Items, path: str, dtype: np.dtype[Any], options: dict[str, Any]
    ) -> Callable[[], None]:
        """Writes the items of a dataset."""
        shape, chunks = options.pop("shape"), options["chunks"]
        # Data that were not compressed stay uncompressed.
        if dataset.id.get_create_plist().get_nfilters() == 0 and items.any_length is None:
            options["chunks"] = None

        def write() -> None:
            with TemporaryData(self._folder) as temporary:
                room = temporary.room(shape, dtype)
                for key in boxes_of(shape, chunks, dtype.itemsize):
                    key = key[: len(shape) - len(items.inner)] + tuple(map(slice, items.inner))
                    found = _read(dataset, items, key)
                    if np.shape(found) == np.shape(room[key]):
                        room[key] = found
                    else:
                        nothing = items.any_length() if items.any_length is not None else np.zeros((), dtype)
                        room[key] = nothing if options["fill_value"] is None else options["fill_value"]
                        room[key][tuple(map(slice, np.shape(found)))] = found
                    self._progress.add(np.asarray(found).nbytes)
                self._w.dataset(path, room, **options)

        return write


def _read(dataset: h5py.Dataset, items: Items, key: tuple[Any, ...]) -> Any:
    """Reads items of a dataset. If HDF5 cannot, they are damaged, or missing if they are in another file."""
    try:
        return items.read(key)
    except OSError as error:
        if dataset.external is not None or dataset.is_virtual:
            raise ValueError(f"found data in other files: {error}") from None
        if getattr(error, "errno", None) is not None:
            raise
        raise FormatError(str(error)) from None


def _address(item: Union[h5py.Group, h5py.Dataset]) -> int:
    """The address of an object in the file, which is the same for all its names."""
    return int(h5py.h5o.get_info(item.id).addr)


def _growing(dataset: h5py.Dataset) -> list[Optional[int]]:
    """The address of the scale of each unlimited dimension; None for other dimensions, and for those without a
    scale."""
    if dataset.ndim == 1 and dataset.is_scale:
        return [_address(dataset) if dataset.maxshape == (None,) else None]
    found: list[Optional[int]] = []
    for dimension, most in zip(dataset.dims, dataset.maxshape):
        scale = dimension[0] if most is None and len(dimension) else None
        found.append(_address(scale) if scale else None)
    return found


def _grown(dataset: h5py.Dataset, lengths: dict[int, int]) -> tuple[int, ...]:
    if not lengths or None not in dataset.maxshape:
        return tuple(dataset.shape)
    return tuple(n if scale is None else max(n, lengths.get(scale, 0)) for scale, n in zip(_growing(dataset), dataset.shape))


def _is_dimension(dataset: h5py.Dataset) -> bool:
    """True for a NetCDF dimension without a variable."""
    mark = dataset.attrs.get("NAME")
    if isinstance(mark, bytes):
        mark = mark.decode("latin-1")
    return isinstance(mark, str) and mark.startswith(NO_VARIABLE)


def _is_dimension_of(scale: h5py.Dataset, group: h5py.Group) -> bool:
    """True if a dataset in this group has the dimension."""
    found = scale.attrs.get("REFERENCE_LIST")
    references = found["dataset"] if isinstance(found, np.ndarray) and found.dtype.names is not None else ()
    return any(each and scale.file[each].parent == group for each in references)


def _was_never_written(dataset: h5py.Dataset) -> bool:
    """True if HDF5 stores none of its data, here or in another file: all items are the fill value."""
    return not dataset.is_virtual and dataset.external is None and dataset.id.get_storage_size() == 0


def _is_sparse(dataset: h5py.Dataset) -> bool:
    """True if most of its chunks were never written."""
    count = math.prod(-(-n // c) for n, c in zip(dataset.shape, dataset.chunks))
    return not dataset.is_virtual and 2 * int(dataset.id.get_num_chunks()) < count


def _chunks_of_nothing(shape: tuple[int, ...], item_bytes: int) -> tuple[int, ...]:
    """The shape of chunks for fill values: few chunks, or chunks of 1 MiB if these are few enough."""
    total = item_bytes * math.prod(shape)
    size = min(max(total // _FEW_CHUNKS, 1 << 20), 1 << 30)
    if total // size > _MOST_CHUNKS:
        raise ValueError(f"found {total} bytes that were never written, expected at most {_MOST_CHUNKS * size}")
    chunks = []
    left = max(1, size // item_bytes)
    for n in reversed(shape):
        chunks.append(min(n, left))
        left = max(1, left // n)
    return tuple(reversed(chunks))


def _expect_few(dataset: h5py.Dataset) -> None:
    """Limits what takes time and memory without taking space in the file."""
    count = math.prod(-(-n // c) for n, c in zip(dataset.shape or (), dataset.chunks or ()))
    if count > _MOST_CHUNKS:
        what = "h5repack makes larger ones of them"
        raise ValueError(f"found room for {count} chunks, expected at most {_MOST_CHUNKS}; {what}")
