"""scda files from HDF5 and NetCDF-4 files."""

from __future__ import annotations

import itertools
import math
import os
import tempfile
import zlib
from typing import Any, Callable, Optional, Union

import h5py
import numpy as np

from . import _core
from ._common import packed
from ._description import native
from ._errors import Error, FormatError
from ._file import open as open_scda
from ._hdf5 import ENUMERATION, LINKS, NO_VARIABLE, TYPE, Filters, dimension_names, expect_filters, read_attributes
from ._hdf5_items import Items
from ._hdf5_links import expect_own, link_of
from ._hdf5_types import BOOL, other_type
from ._importer import Importer, as_bool, expect_name
from ._selection import pieces
from ._spool import Spool
from ._variables import DIMENSIONS, MAX_SHAPE, STATIC, TIME
from ._writer import create

# The most chunks of a dataset, stored or not: a small file can claim any number.
_MOST_CHUNKS = 1 << 22
# Items of any length are objects of Python.
_MOST_OBJECTS = 1 << 26
_MOST_CHUNK_BYTES = (1 << 31) - 1
# The most chunks, unless they have 1 MiB, for what was never written.
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
            # Those of the library of HDF5, which has no other kind for a damaged file.
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
                self._leave_out(path or "/", f"found the name {name!r}, which is no UTF-8")
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
        """What the links of a group refer to, None if that is not known. A dataset is also written under each of its names, a group
        only under the first one."""
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
                self._leave_out(whole, "found a link of a kind of its own")
                found[name] = None
            elif group.get(name, getclass=True) in (h5py.Group, h5py.Dataset):
                first = self._seen.setdefault(_address(group[name]), whole)
                if first != whole:
                    found[name] = {"hard": first}
        return found

    def _unused(self, group: h5py.Group, names: list[str]) -> dict[str, Optional[int]]:
        """The dimensions of NetCDF that no variable of the group has: their sizes, None for one that may grow."""
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
        """Whether it may be read. Even its shape may be in another file."""
        try:
            expect_own(dataset, follow=self._external)
        except ValueError:
            return False
        return True

    def _lengths_of(self, file: h5py.File) -> dict[int, int]:
        """The lengths of the dimensions that may grow in a NetCDF-4 file, by where their scales are."""
        found: dict[int, int] = {}

        def note(_: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset) and self._is_own(item) and item.shape:
                for scale, n in zip(_growing(item), item.shape):
                    if scale is not None:
                        found[scale] = max(n, found.get(scale, 0))

        file.visititems(note)
        return found

    def _dataset(self, dataset: h5py.Dataset, path: str) -> None:
        """Prepares a dataset, which is written when the attributes of all groups are."""
        if _is_dimension(dataset):
            return
        expect_name(path)
        expect_own(dataset, follow=self._external)
        items = Items(dataset)
        expect_filters(dataset)
        if dataset.shape:
            # In NetCDF, a dimension that may grow has one length for all variables, whatever was written of them.
            items.shape = (*_grown(dataset, self._lengths), *items.inner)
        if items.any_length is None:
            native(items.dtype)
        elif math.prod(items.shape) > _MOST_OBJECTS:
            raise ValueError(f"found {math.prod(items.shape)} items of any length, expected at most {_MOST_OBJECTS}")
        _expect_few(dataset)
        attrs = self._attributes_of(path, read_attributes(dataset, items.dtype, netcdf=self._is_netcdf))
        names = items.described["names"] if isinstance(items.described, dict) and "enum" in items.described else None
        is_kept = names is not None and items.described == BOOL and not items.has_bools()
        if names is not None and (items.described != BOOL or is_kept):
            attrs[ENUMERATION] = names
        if is_kept:
            items.keep_integers()
        dtype = as_bool(items.dtype, attrs, items.has_bools)
        other = other_type(dataset.id.get_type(), items.described if not is_kept else BOOL)
        if other is not None:
            self._leave_out(path, f"found {other}: the items are kept as {items.dtype}, their type is not", is_array=False)
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
            if items.any_length is bytes:
                attrs[TYPE] = items.described
            options["dtype"] = items.any_length
            if options["chunks"]:  # which cut the first dimension only
                options["chunks"] = (options["chunks"][0], *(max(n, 1) for n in shape[1:]))
        filters = Filters.of_hdf5(dataset) if is_cut and 0 not in dataset.shape else None
        if is_cut and _is_sparse(dataset, items.nbytes):
            filters = Filters(False, None)
        if _was_never_written(dataset) and shape and 0 not in shape and items.any_length is None:
            write = self._nothing(path, dtype, filters, options)
        elif filters is not None and items.has_own_bytes() and dtype.kind in ("b", items.dtype.kind):
            write = self._chunks(dataset, items, path, dtype, filters, options)
        else:
            write = self._items(dataset, items, path, dtype, options)
        self._prepared.append((path, write))
        self._progress.total += items.nbytes

    def _nothing(
        self, path: str, dtype: np.dtype[Any], filters: Optional[Filters], options: dict[str, Any]
    ) -> Callable[[], None]:
        """A dataset without any item: chunks of fill values take no bytes, however many items they have."""
        chunks = options["chunks"]
        if chunks is None or dtype.itemsize * math.prod(chunks) > _MOST_CHUNK_BYTES:
            options["chunks"] = _chunks_of_nothing(options["shape"], dtype.itemsize)
        if filters is not None:
            options.update(codec="zlib", level=filters.level, shuffle=filters.shuffle)
        return lambda: self._w.dataset(path, dtype=dtype, **options)

    def _items(
        self, dataset: h5py.Dataset, items: Items, path: str, dtype: np.dtype[Any], options: dict[str, Any]
    ) -> Callable[[], None]:
        """The items of a dataset."""
        shape, chunks = options.pop("shape"), options.pop("chunks")
        # What was not compressed is not now.
        has_filters = dataset.id.get_create_plist().get_nfilters() > 0
        layout = {"chunks": chunks} if chunks is not None and (has_filters or items.any_length is not None) else {}

        def write() -> None:
            with Spool(self._folder) as spool:
                room = spool.room(shape, dtype)
                for key in pieces(shape, chunks, dtype.itemsize):
                    key = key[: len(shape) - len(items.inner)] + tuple(map(slice, items.inner))
                    try:
                        found = items.read(key)
                    except OSError as error:
                        if dataset.external is None and not dataset.is_virtual:
                            raise
                        raise ValueError(f"found data in other files: {error}") from None
                    if np.shape(found) == np.shape(room[key]):
                        room[key] = found
                    else:
                        nothing = items.any_length() if items.any_length is not None else np.zeros((), dtype)
                        room[key] = nothing if options["fill_value"] is None else options["fill_value"]
                        room[key][tuple(map(slice, np.shape(found)))] = found
                    self._progress.add(np.asarray(found).nbytes)
                self._w.dataset(path, room, **options, **layout)

        return write

    def _chunks(
        self,
        dataset: h5py.Dataset,
        items: Items,
        path: str,
        dtype: np.dtype[Any],
        filters: Filters,
        options: dict[str, Any],
    ) -> Callable[[], None]:
        """The chunks of a dataset as they are."""
        shape, chunks = options["shape"], options["chunks"]
        stored = packed(dtype).newbyteorder(">" if items.is_big else "<")

        def write() -> None:
            found = _Chunks(dataset, filters, stored, math.prod(chunks), options["fill_value"])
            grid = [range(0, n, c) for n, c in zip(shape, chunks)]
            offsets = np.zeros(1 + math.prod(len(each) for each in grid), np.int64)
            with Spool(self._folder) as spool:
                for number, origin in enumerate(itertools.product(*grid)):
                    data = found.read(origin)
                    offsets[number + 1] = offsets[number] + len(data)
                    spool.write(data)
                    self._progress.add(math.prod(chunks) * dtype.itemsize)
                self._w.block("scda dataset 00", self._metadata(path, dtype, filters, options, items.is_big))
                self._w.varray(_core.stored_name(path), (offsets, spool.written()))

        return write

    def _metadata(
        self, path: str, dtype: np.dtype[Any], filters: Filters, options: dict[str, Any], is_big: bool
    ) -> bytes:
        """The metadata, as the library writes them: for a dataset without data."""
        with tempfile.TemporaryDirectory(prefix=".scda-", dir=self._folder) as folder:
            name = os.path.join(folder, "metadata")
            with create(name, seal=False, atomic=False) as w:
                w.dataset(path, dtype=dtype, codec="zlib", level=filters.level, shuffle=filters.shuffle, **options)
            with open_scda(name) as f:
                text: bytes = f.sections[0].read()
        # Before it, there is no text of the user's.
        return text.replace(b'"endian": "little"', b'"endian": "big"', 1) if is_big else text


def _address(item: Union[h5py.Group, h5py.Dataset]) -> int:
    """Where it is in the file: the same for all of its names."""
    return int(h5py.h5o.get_info(item.id).addr)


def _growing(dataset: h5py.Dataset) -> list[Optional[int]]:
    """Where the scale of each dimension is that may grow; None of one that may not, or has none."""
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
    """Whether it is a dimension of NetCDF without a variable."""
    mark = dataset.attrs.get("NAME")
    if isinstance(mark, bytes):
        mark = mark.decode("latin-1")
    return isinstance(mark, str) and mark.startswith(NO_VARIABLE)


def _is_dimension_of(scale: h5py.Dataset, group: h5py.Group) -> bool:
    """Whether it is one of a dataset in this group."""
    found = scale.attrs.get("REFERENCE_LIST")
    references = found["dataset"] if isinstance(found, np.ndarray) and found.dtype.names is not None else ()
    return any(each and scale.file[each].parent == group for each in references)


def _masks(dataset: h5py.Dataset) -> Callable[[tuple[int, ...]], Optional[int]]:
    """The filters that were left out of a chunk with this first item; None if the chunk is not stored."""
    identity = dataset.id
    if not hasattr(identity, "chunk_iter"):  # with an HDF5 before 1.12.3

        def ask(origin: tuple[int, ...]) -> Optional[int]:
            found = identity.get_chunk_info_by_coord(origin)
            return None if found.byte_offset is None else found.filter_mask

        return ask
    masks: dict[tuple[int, ...], int] = {}

    def add(chunk: Any) -> None:
        masks[tuple(chunk.chunk_offset)] = chunk.filter_mask

    identity.chunk_iter(add)
    return masks.get


def _was_never_written(dataset: h5py.Dataset) -> bool:
    """Whether HDF5 has no byte of it, here or in another file: all items are the fill value."""
    return not dataset.is_virtual and dataset.external is None and dataset.id.get_storage_size() == 0


def _is_sparse(dataset: h5py.Dataset, nbytes: int) -> bool:
    """Whether it has no filters, and most of its chunks were never written."""
    has_filters = dataset.id.get_create_plist().get_nfilters() > 0
    return not has_filters and 0 < dataset.id.get_storage_size() < nbytes // 2


def _chunks_of_nothing(shape: tuple[int, ...], item_bytes: int) -> tuple[int, ...]:
    """The shape of few chunks, of 1 MiB each if these are few enough."""
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
    """A bound on what takes time and memory, though the file need not have it."""
    count = math.prod(-(-n // c) for n, c in zip(dataset.shape or (), dataset.chunks or ()))
    if count > _MOST_CHUNKS:
        what = "h5repack makes larger ones of them"
        raise ValueError(f"found room for {count} chunks, expected at most {_MOST_CHUNKS}; {what}")


class _Chunks:
    """The chunks of a dataset as they are in HDF5, each checked."""

    def __init__(
        self, dataset: h5py.Dataset, filters: Filters, dtype: np.dtype[Any], items: int, fill_value: Any
    ) -> None:
        self._dataset = dataset
        self._filters = filters
        self._dtype = dtype
        self._mask = _masks(dataset)
        self._items = items
        self._size = items * dtype.itemsize
        self._fill_value = fill_value
        self._fill: Optional[bytes] = None

    def read(self, origin: tuple[int, ...]) -> bytes:
        """The bytes of a chunk; none if all its items have the fill value."""
        mask = self._mask(origin)
        if mask is None:
            return b""
        data = bytes(self._dataset.id.read_direct_chunk(origin)[1])
        last = 1 if self._filters.shuffle else 0
        is_compressed = self._filters.level is not None and not mask >> last & 1
        raw = self._decompressed(data, origin) if is_compressed else data
        if len(raw) != self._size:
            raise FormatError(f"chunk at {origin}: found {len(raw)} bytes, expected {self._size}")
        if last and mask & 1:
            raw = self._shuffled(raw)
            is_compressed = False
        if self._fill is None:
            fill = np.zeros((), self._dtype) if self._fill_value is None else np.asarray(self._fill_value, self._dtype)
            self._fill = self._shuffled(fill.tobytes() * self._items)
        if raw == self._fill:
            return b""
        return data if is_compressed else zlib.compress(raw, 2 if self._filters.level is None else self._filters.level)

    def _decompressed(self, data: bytes, origin: tuple[int, ...]) -> bytes:
        stream = zlib.decompressobj()
        try:
            raw = stream.decompress(data, self._size + 1)
        except zlib.error as error:
            raise FormatError(f"chunk at {origin}: {error}") from None
        if not stream.eof or stream.unused_data:
            raise FormatError(f"chunk at {origin}: not a zlib stream of {self._size} bytes")
        return raw

    def _shuffled(self, raw: bytes) -> bytes:
        if not self._filters.shuffle:
            return raw
        return np.frombuffer(raw, np.uint8).reshape(-1, self._dtype.itemsize).T.tobytes()
