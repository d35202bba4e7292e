"""scda files from HDF5 and NetCDF-4 files."""

from __future__ import annotations

import base64
import itertools
import json
import math
import os
import re
import tempfile
import zlib
from functools import partial
from typing import Any, Callable, NamedTuple, Optional, Union

import h5py
import numpy as np

from . import _core
from ._common import dtype_named, packed
from ._description import CODECS, native
from ._errors import Error, FormatError
from ._file import open as open_scda
from ._hdf5 import (
    ADDED,
    CODEC,
    ENUMERATION,
    ITEM,
    LINKS,
    NAMED_TYPES,
    NO_VARIABLE,
    OF_RECORDS,
    PLACES,
    RECORDS,
    SCALES,
    SECTIONS,
    TYPE,
    TYPE_PATH,
    USER,
    USER_BLOCK,
    Filters,
    dimension_names,
    expect_filters,
    own_scales,
    read_attributes,
)
from ._hdf5_items import Items, Paths
from ._hdf5_links import expect_own, link_of
from ._hdf5_types import BOOL, default, describe, other_type
from ._importer import Importer, as_bool, expect_name, open_file
from ._selection import pieces
from ._spool import Spool
from ._variables import DIMENSIONS, MAX_SHAPE, STATIC, TIME
from ._writer import create

# The most chunks of a dataset, stored or not, and the most records: a small file can claim any number.
_MOST_CHUNKS = 1 << 22
_MOST_USER_BLOCK = 1 << 20
# Items of any length are objects of Python.
_MOST_OBJECTS = 1 << 26
_MOST_CHUNK_BYTES = (1 << 31) - 1
# The most chunks, unless they have 1 MiB, for what was never written.
_FEW_CHUNKS = 1 << 10


# Writes a record with this first index, or none, and these attributes.
_Write = Callable[[tuple[int, ...], dict[str, Any]], None]


class _Record(NamedTuple):
    """A dataset that is to be written: where it stands among all of them, if that is known, its path, and what writes it."""

    place: Optional[int]
    path: str
    write: Callable[[], None]


class Hdf5(Importer):
    format = "HDF5"
    has_external = True

    @classmethod
    def user(cls, path: str) -> str:
        """That of the file of which `scda export` has made this one."""
        try:
            with h5py.File(path, "r") as file:
                user = file.attrs.get(USER)
                return str(user) if isinstance(user, str) and len(user.encode()) <= 58 else super().user(path)
        except (OSError, RuntimeError, KeyError, ValueError):
            return super().user(path)

    def run(self, source: dict[str, Any]) -> dict[str, Any]:
        path = self._name
        try:
            with h5py.File(path, "r") as file:
                self._seen = {_address(file): "/"}
                self._is_netcdf = "_NCProperties" in file.attrs
                self._lengths = self._lengths_of(file) if self._is_netcdf else {}
                self._records: list[_Record] = []
                self._paths = Paths(file, lambda where, reason: self._leave_out(where, reason, is_array=False))
                # What `scda export` has written is again the file that it was.
                is_whole = source["imported"]["complete"]
                self._is_exported = is_whole and isinstance(file.attrs.get(USER), str) and SECTIONS in file.attrs
                self._groups: dict[str, dict[str, Any]] = {}
                attrs = self._group(file, "", {} if self._is_exported else source)
                self._add_others(file.attrs.get(SECTIONS) if self._is_exported else "[]")
                # What has no place goes first, in the order of the groups.
                self._records.sort(key=lambda record: -1 if record.place is None else record.place)
                for record in self._records:
                    with self._of(record.path):
                        record.write()
                return attrs
        except (OSError, RuntimeError, KeyError) as error:
            # Those of the library of HDF5, which has no other kind for a damaged file.
            if isinstance(error, Error) or getattr(error, "errno", None) is not None:
                raise
            raise FormatError(f"{path}: {error}") from None

    def _group(self, group: h5py.Group, path: str, more: dict[str, Any]) -> dict[str, Any]:
        attrs = self._attributes_of(path or "/", read_attributes(group, self._paths, netcdf=self._is_netcdf))
        self._expect_no_others(attrs, more)
        attrs.update(more)
        names = list(group)
        numbered = _numbered(group, names)
        unused = self._unused(group, names) if self._is_netcdf else {}
        if unused:
            attrs[DIMENSIONS] = unused
        links = {} if numbered else self._links(group, path, names)
        known = {name: link for name, link in links.items() if link is not None}
        if known:
            attrs[LINKS] = known
        block = self._user_block(group.file) if not path else None
        if block:
            attrs[USER_BLOCK] = block
        types = self._named_types(group, path, names)
        if types:
            attrs[NAMED_TYPES] = types
        names = [name for name in names if name not in types and (name not in links or "hard" in (links[name] or ()))]
        if attrs or not names:
            with self._of(path or "/"):
                if path:
                    expect_name(path)
                if self._is_exported:
                    self._groups[path or "/"] = attrs
                else:
                    self._w.group(path or "/", attrs)
        for name in numbered or names:
            if isinstance(name, bytes):
                self._leave_out(path or "/", f"found the name {name!r}, which is no UTF-8")
                continue
            whole = f"{path}/{name}" if path else name
            if not self._is_wanted(whole) or numbered and not self._is_wanted(path):
                continue
            item = group[name]
            if isinstance(item, h5py.Dataset):
                with self._of(whole):
                    self._dataset(item, path if numbered else whole)
            elif isinstance(item, h5py.Group) and name not in links:
                self._group(item, whole, {})
        return attrs

    def _user_block(self, file: h5py.File) -> Optional[dict[str, Any]]:
        """The bytes before those of HDF5, such as MATLAB writes there; the zeros after them are left out."""
        size = file.userblock_size
        with open_file(self._name) as whole:
            text = whole.read(min(size, _MOST_USER_BLOCK + 1)).rstrip(b"\0")
        if len(text) > _MOST_USER_BLOCK:
            self._leave_out("/", f"a user block: found {size} bytes, expected at most {_MOST_USER_BLOCK}", is_array=False)
            return None
        return {"bytes": size, "base64": base64.b64encode(text).decode()} if size else None

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

    def _named_types(self, group: h5py.Group, path: str, names: list[Any]) -> dict[str, Any]:
        """The types in a group, which have a name there."""
        found = {}
        for name in names:
            whole = f"{path}/{name}" if path else name
            is_own = isinstance(name, str) and isinstance(link_of(group, name), h5py.HardLink)
            if is_own and not _is_made_again(name) and group.get(name, getclass=True) is h5py.Datatype and self._is_wanted(whole):
                try:
                    found[name] = describe(group[name].id)
                except TypeError as error:
                    self._leave_out(whole, str(error), is_array=False)
                    continue
                for attribute in group[name].attrs:
                    self._leave_out(whole, f"attribute {attribute!r} of a type", is_array=False)
        return found

    def _add_others(self, text: Any) -> None:
        """The sections that are no datasets, as `scda export` has found them; groups with the attributes that they have now."""
        try:
            others = json.loads(text)
            for place, kind, *more in others if isinstance(others, list) else ():
                # Before the dataset that stands there.
                before = 2 * int(place) - 1
                if kind == "group" and len(more) == 1 and more[0] in self._groups:
                    path = more[0]
                    self._records.append(_Record(before, path, partial(self._w.group, path, self._groups[path])))
                elif kind in ("block", "inline") and len(more) == 3:
                    user, data = (base64.b64decode(each, validate=True) for each in more[:2])
                    options = {"encode": bool(more[2])} if kind == "block" else {}
                    is_free = len(user) <= 58 and not user.startswith(b"scda ")
                    if is_free and (kind == "block" or len(data) == 32):
                        write = self._w.block if kind == "block" else self._w.inline
                        self._records.append(_Record(before, "/", partial(write, user, data, **options)))
            listed = {more[0] for _, kind, *more in others if kind == "group" and more}
        except (ValueError, TypeError, RecursionError):
            listed = set()
        for path, attrs in self._groups.items():
            if path not in listed:
                self._w.group(path, attrs)

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
        """Prepares the records of a dataset, which are then written in the order of the file that they come from."""
        if _is_dimension(dataset):
            return
        expect_name(path)
        expect_own(dataset, follow=self._external)
        name = path.rpartition("/")[2]
        items = Items(dataset, self._paths, _wanted(dataset))
        expect_filters(dataset)
        if dataset.shape and RECORDS not in dataset.attrs:
            # In NetCDF, a dimension that may grow has one length for all variables, whatever was written of them.
            grown = _grown(dataset, self._lengths)
            items.shape = grown[:-1] if items.is_text_of_chars else (*grown, *items.inner)
        if items.any_length is None:
            native(items.dtype)
        elif math.prod(items.shape) > _MOST_OBJECTS:
            raise ValueError(f"found {math.prod(items.shape)} items of any length, expected at most {_MOST_OBJECTS}")
        attrs = self._attributes_of(path, read_attributes(dataset, self._paths, items.dtype, netcdf=self._is_netcdf))
        for added in _list_of(dataset.attrs.get(ADDED)):
            attrs.pop(added, None)
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
        scales = own_scales(dataset) if dataset.shape is not None and not self._is_netcdf and RECORDS not in dataset.attrs else None
        if scales is not None:
            attrs[SCALES] = scales
        invented = re.compile(re.escape(name) + r"_dim_\d+")
        dims = [None if dim and invented.fullmatch(dim) else dim for dim in dimension_names(dataset)] if dataset.shape else []
        dims = [*dims, *[None] * len(items.inner)][: len(items.shape)]
        count = dataset.attrs.get(RECORDS)
        has_records = count is not None and bool(dataset.shape) and int(count) == dataset.shape[0]
        _expect_few(dataset, has_records)
        first = 1 if has_records else 0
        shape, dims = items.shape[first:], dims[first:]
        if dataset.shape is None:
            attrs[MAX_SHAPE] = None
        elif dataset.maxshape[first:] != dataset.shape[first:]:
            attrs[MAX_SHAPE] = [*dataset.maxshape, *items.inner][first : first + len(shape)]
        if name == TIME and not shape and not self._is_exported:
            attrs[STATIC] = True
        fill = items.fill_value()
        # Chunks of HDF5 that are one record each have those of the record.
        is_cut = dataset.chunks and len(shape) > 0 and (not has_records or dataset.chunks[0] == 1)
        options: dict[str, Any] = {
            "fill_value": bool(fill) if dtype.kind == "b" else fill,
            "dims": dims if any(dims) else None,
            "shape": shape,
            "chunks": (*dataset.chunks, *items.inner)[first : first + len(shape)] if is_cut else None,
        }
        if items.any_length is not None:
            options["dtype"] = items.any_length
            if options["chunks"]:  # which cut the first dimension only
                options["chunks"] = (options["chunks"][0], *(max(n, 1) for n in shape[1:]))
        starts: list[tuple[int, ...]] = [(record,) for record in range(dataset.shape[0])] if has_records else [()]
        filters = Filters.of_hdf5(dataset) if is_cut and 0 not in dataset.shape else None
        if is_cut and _is_sparse(dataset, items.nbytes):
            filters = Filters(False, None)
        recoded = _codec_of(dataset) if is_cut and 0 not in dataset.shape else {}
        if recoded:
            options.update(recoded)
            filters = None
        is_copied = filters is not None and items.has_own_bytes() and dtype.kind in ("b", items.dtype.kind)
        own_type = default(items.dtype if dtype.kind != "b" else dtype, big=is_copied and items.is_big, names=names)
        is_own = items.is_wanted or dtype != items.dtype
        if not is_own and not is_kept and (items.described != own_type or "string" in str(items.described)):
            attrs[TYPE] = items.described
        if dataset.id.get_type().committed():
            type_path = h5py.h5i.get_name(dataset.id.get_type()).decode("utf-8", "replace")
            if not _is_made_again(type_path.lstrip("/")):
                attrs[TYPE_PATH] = type_path
        if _was_never_written(dataset) and shape and 0 not in shape and items.any_length is None:
            write = self._nothing(path, len(starts), dtype, filters, options)
        elif is_copied:
            assert filters is not None
            write = self._chunks(dataset, items, path, dtype, filters, options)
        else:
            write = self._items(dataset, items, path, dtype, options)
        of_records = _of_records(dataset, attrs, len(starts))
        for place, start, own in zip(_places(dataset, len(starts)), starts, of_records):
            self._records.append(_Record(None if place is None else 2 * place, path, partial(write, start, own)))
        self._progress.total += items.nbytes

    def _nothing(
        self, path: str, count: int, dtype: np.dtype[Any], filters: Optional[Filters], options: dict[str, Any]
    ) -> _Write:
        """Records without any item: chunks of fill values take no bytes, however many items they have."""
        item = dtype
        chunks = options["chunks"]
        if chunks is None or item.itemsize * math.prod(chunks) > _MOST_CHUNK_BYTES:
            options["chunks"] = _chunks_of_nothing(options["shape"], item.itemsize)
        total = count * math.prod(-(-n // c) for n, c in zip(options["shape"], options["chunks"]))
        if total > _MOST_CHUNKS:
            raise ValueError(f"found {total} chunks that were never written, expected at most {_MOST_CHUNKS}")
        if filters is not None:
            options.update(codec="zlib", level=filters.level, shuffle=filters.shuffle)
        return lambda _, attrs: self._w.dataset(path, dtype=item, attrs=attrs, **options)

    def _items(
        self, dataset: h5py.Dataset, items: Items, path: str, dtype: np.dtype[Any], options: dict[str, Any]
    ) -> _Write:
        """The items of a record."""
        shape, chunks = options.pop("shape"), options.pop("chunks")
        # What was not compressed is not now.
        has_filters = dataset.id.get_create_plist().get_nfilters() > 0
        is_cut = has_filters or "codec" in options or items.any_length is not None
        layout = {"chunks": chunks} if chunks is not None and is_cut else {}

        def write(start: tuple[int, ...], attrs: dict[str, Any]) -> None:
            with Spool(self._folder) as spool:
                room = spool.room(shape, dtype)
                for key in pieces(shape, chunks, dtype.itemsize):
                    key = key[: len(shape) - len(items.inner)] + tuple(map(slice, items.inner))
                    try:
                        found = items.read((*start, *key))
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
                self._w.dataset(path, room, attrs=attrs, **options, **layout)

        return write

    def _chunks(
        self,
        dataset: h5py.Dataset,
        items: Items,
        path: str,
        dtype: np.dtype[Any],
        filters: Filters,
        options: dict[str, Any],
    ) -> _Write:
        """The chunks of a record as they are."""
        shape, chunks = options["shape"], options["chunks"]
        is_big = items.is_big
        stored = packed(dtype).newbyteorder(">" if is_big else "<")
        texts: dict[str, bytes] = {}
        found: list[_Chunks] = []
        grid = [range(0, n, c) for n, c in zip(shape, chunks)]
        offsets = np.zeros(1 + math.prod(len(each) for each in grid), np.int64)

        def write(start: tuple[int, ...], attrs: dict[str, Any]) -> None:
            if not found:
                found.append(_Chunks(dataset, filters, stored, math.prod(chunks), options["fill_value"]))
            key = json.dumps(attrs)
            if key not in texts:
                texts.clear()
                texts[key] = self._metadata(path, dtype, filters, {**options, "attrs": attrs}, is_big)
            with Spool(self._folder) as spool:
                for number, origin in enumerate(itertools.product(*grid)):
                    data = found[0].read((*start, *origin))
                    offsets[number + 1] = offsets[number] + len(data)
                    spool.write(data)
                    self._progress.add(math.prod(chunks) * dtype.itemsize)
                self._w.block("scda dataset 00", texts[key])
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


def _is_made_again(name: str) -> bool:
    """Whether it is the name of a type that an export to NetCDF makes for its types that have none."""
    return name.startswith(("_PFNC_", "scda_type_"))


def _numbered(group: h5py.Group, names: list[str]) -> list[str]:
    """The names of a group if they are the records of one dataset, as `scda export` has written them."""
    count = group.attrs.get(RECORDS)
    expected = [str(number) for number in range(len(names))]
    if not isinstance(count, np.integer) or int(count) != len(names) or set(names) != set(expected):
        return []
    own = [name for name in expected if isinstance(link_of(group, name), h5py.HardLink)]
    return own if own == expected and all(isinstance(group[name], h5py.Dataset) for name in own) else []


def _codec_of(dataset: h5py.Dataset) -> dict[str, Any]:
    """How its chunks were compressed in the file that `scda export` has read; nothing if it says nothing that can be."""
    text = dataset.attrs.get(CODEC)
    words = (text.decode("latin-1") if isinstance(text, bytes) else text if isinstance(text, str) else "").split()
    if len(words) != 3 or words[0] not in CODECS or words[1] not in map(str, range(10)):
        return {}
    return {"codec": words[0], "level": int(words[1]), "shuffle": words[2] == "shuffle"}


def _places(dataset: h5py.Dataset, count: int) -> list[Optional[int]]:
    """Where each record stands among the datasets of the file that was exported; None if that is not known."""
    found = dataset.attrs.get(PLACES)
    if not isinstance(found, np.ndarray) or found.shape != (count,) or found.dtype.kind not in "iu":
        return [None] * count
    return [max(0, int(place)) for place in found]


def _of_records(dataset: h5py.Dataset, attrs: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """The attributes of each record."""
    text = dataset.attrs.get(OF_RECORDS)
    try:
        found = json.loads(text) if isinstance(text, (str, bytes)) else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or len(found) != count or not all(isinstance(own, dict) for own in found):
        return [attrs] * count
    return found


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


def _expect_few(dataset: h5py.Dataset, has_records: bool) -> None:
    """A bound on what takes time and memory, though the file need not have it."""
    if has_records and dataset.shape[0] > _MOST_CHUNKS:
        raise ValueError(f"found {dataset.shape[0]} records, expected at most {_MOST_CHUNKS}")
    count = 1
    for n, c in zip(dataset.shape or (), dataset.chunks or ()):
        count *= -(-n // c)
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


def _wanted(dataset: h5py.Dataset) -> Optional[np.dtype[Any]]:
    """The type that items had in the scda file of which `scda export` has made them; None if it is what they have."""
    text = _text_of(dataset.attrs.get(ITEM))
    try:
        found = None if text is None else dtype_named(text)
        return found if found is None or found.hasobject else native(found)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        return None


def _list_of(text: Any) -> list[str]:
    """A list of texts in JSON."""
    try:
        found = json.loads(_text_of(text) or "[]")
    except (ValueError, RecursionError):
        return []
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _text_of(text: Any) -> Optional[str]:
    return text.decode("latin-1") if isinstance(text, bytes) else text if isinstance(text, str) else None
