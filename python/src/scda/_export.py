"""scda files as HDF5 or NetCDF-4 files."""

from __future__ import annotations

import base64
import builtins
import itertools
import json
from collections import Counter
from functools import partial
from typing import Any, Callable, Iterable, Iterator, Optional, Sequence

import h5py
import numpy as np

from . import __version__
from ._attributes import Text
from ._common import Path, type_name
from ._dataset import Dataset
from ._errors import ArgumentError, Error
from ._file import File, open
from ._hdf5 import (
    ADDED,
    CODEC,
    ENUMERATION,
    ITEM,
    LINKS,
    NAMED_TYPES,
    NO_VARIABLE,
    OF_RECORDS,
    PIECE_BYTES,
    PLACES,
    RECORDS,
    SCALES,
    SECTIONS,
    TYPE,
    TYPE_PATH,
    USER,
    USER_BLOCK,
    Filters,
    normal,
    write_attribute,
    write_attributes,
    write_scales,
)
from ._hdf5_items import Paths, create_dataset, write_bytes, write_items
from ._hdf5_links import has_link, link_of, object_at
from ._hdf5_types import BOOL, default, describe, fits, has_fills, has_objects, is_text, item_of, make
from ._progress import Progress
from ._section import Section
from ._selection import pieces
from ._variables import DIMENSIONS, MAX_SHAPE, Array, Level, Variable, has_fill_attribute, levels, max_shape, without_mark
from ._zarr_arrays import raw_metadata

# Items of a chunk where each record is one item.
_SCALARS = 1024
_CHUNK_BYTES = 256 << 10
# Where a dimension may grow; HDF5 has no more in a chunk.
_CHUNK_INDICES = (1 << 32) - 1
# The most bytes of a section that is kept although it is not a dataset.
_MOST_KEPT = 64 << 10
_MOST_USER_BLOCK = 1 << 30
# Sections that say what follows them, or before: they are written with it, or not at all.
_GROUP, _ATTRIBUTES, _ROWS, _STREAMS = b"scda group 00", b"scda attributes 00", b"scda added rows 00", b"scda streams 00"
_MARKS = {
    *(("inline", user) for user in (_GROUP, _ATTRIBUTES)),
    *(("block", user) for user in (b"scda dataset 00", _ROWS, _STREAMS)),
    ("array", b"scda stream bytes 00"),
}
# How the user string of what they add to a dataset begins.
_ADDED = {_ATTRIBUTES: b"/", _ROWS: b"/+"}
# The names under which NetCDF's tools know complex numbers.
_COMPLEX = {"complex64": "_PFNC_FLOAT_COMPLEX_TYPE", "complex128": "_PFNC_DOUBLE_COMPLEX_TYPE"}
# The units of times that the conventions of CF have, by those of numpy.
_UNITS = {
    **{"D": "days", "h": "hours", "m": "minutes", "s": "seconds"},
    **{"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"},
}

Tell = Callable[[str], None]


def export(
    path: Path,
    out: str,
    *,
    netcdf: bool,
    blosc: bool = False,
    without: Iterable[str] = (),
    strict: bool = False,
    tell: Tell = print,
    progress: Optional[Progress] = None,
) -> int:
    """Writes the datasets of a file to a new HDF5 file.

    Args:
        path: the file.
        out: the new one.
        netcdf: whether it shall be a NetCDF-4 file: dimensions without coordinates have a place in it, and it has fewer types.
        blosc: whether chunks in frames of Blosc stay as they are, by a filter that not every HDF5 has; else they are deflated.
        without: patterns of names to leave out.
        strict: whether what the new file has no place for is an error.
        tell: else it is called with a line about each such thing.
        progress: is told the bytes that are done.

    Returns:
        The number of such things.
    """
    # Since HDF5 1.8, attributes may be large.
    with open(path) as file:
        size, text = (0, b"") if netcdf else _user_block(file.attrs.get(USER_BLOCK))
        with h5py.File(out, "w", track_order=True, libver=("v108", "v108"), userblock_size=size) as to:
            progress = progress or Progress(str(path))
            write = _Export(file, to, netcdf, blosc, strict, tell, progress)
            found = levels(file, lambda each: (each._description.type, each.shape, each._description.fill), without)
            if netcdf:
                found = _normalized(found, write.leave_out)
            if netcdf and USER_BLOCK in file.attrs:
                write.leave_out("/", "found a user block, which NetCDF has not")
            write.all(found)
        if text:
            with builtins.open(out, "r+b") as block:
                block.write(text)
        return write.left_out


def _normalized(found: list[Level], leave_out: Callable[[str, str], None]) -> list[Level]:
    """The same with names in Unicode's form NFC, in which NetCDF's library looks for all names: it would take others that differ in their
    form only for the same one."""
    every = [path for level in found for path in (level.path, *(level.path_of(array.variable.name) for array in level.arrays))]
    used = {path for path in every if normal(path) == path}  # these keep their name

    def renamed(path: str) -> Optional[str]:
        """None: another one has the name."""
        name, last = normal(path), path.rpartition("/")[2]
        if name == path:
            return path
        if name in used:
            leave_out(path, f"found the name {ascii(path)}, which NetCDF takes for that of {ascii(name)}: they differ in Unicode's form only")
            return None
        used.add(name)
        if normal(last) != last:
            leave_out(path, f"found the name {ascii(path)}, which NetCDF has in Unicode's form NFC, as {ascii(name)}: its own form")
        return name

    made: list[Level] = []
    lost: list[str] = []
    for level in found:
        path = None if any(level.path.startswith(each) for each in lost) else renamed(level.path)
        if path is None:
            lost.append(f"{level.path}/")
            continue
        arrays = []
        for array in level.arrays:
            v = array.variable
            if renamed(level.path_of(v.name)) is not None:
                arrays.append(array._replace(variable=v._replace(name=normal(v.name), dims=tuple(map(normal, v.dims)))))
        made.append(level._replace(path=path, arrays=arrays))
    return made


def _user_block(found: Any) -> tuple[int, bytes]:
    """The size of a user block, and its first bytes; 0 if these are none that HDF5 can have."""
    try:
        size, text = int(found["bytes"]), base64.b64decode(found["base64"], validate=True)
    except (TypeError, KeyError, ValueError):
        return 0, b""
    is_one = 512 <= size <= _MOST_USER_BLOCK and size & (size - 1) == 0 and len(text) <= size
    return (size, text) if is_one else (0, b"")


class _Export:
    """What writes the datasets of a file to another one."""

    def __init__(
        self, file: File, to: h5py.File, netcdf: bool, blosc: bool, strict: bool, tell: Tell, progress: Progress
    ) -> None:
        self._file = file
        self._to = to
        self._netcdf = netcdf
        self._blosc = blosc
        self._progress = progress
        # Where each dataset stands among all of them, by its section; none if that need not be known.
        self._places: dict[int, int] = {}
        # The types that have a name.
        self._types: list[h5py.h5t.TypeID] = []
        # The first name of each dataset that has several in HDF5, by all of them; and what is written of such, by that name.
        self._first_names: dict[str, str] = {}
        self._shared: dict[str, tuple[Array, h5py.Dataset]] = {}
        # The datasets that say which scales they have, with their paths.
        self._scaled: list[tuple[str, h5py.Dataset, Any]] = []
        self._is_strict = strict
        self._tell = tell
        self._paths = Paths(to, self.leave_out)
        # How many things have no place in the new file.
        self.left_out = 0

    def leave_out(self, path: str, reason: str) -> None:
        if self._is_strict:
            message = f"{self._file.path}: {path!r}: {reason}; without strict=True it is left out"
            raise ArgumentError(message, None, self._file.path)
        self._progress.clear()
        self._tell(f"{self._file.path}: {path!r}: {reason}; it is left out")
        self.left_out += 1

    def all(self, found: list[Level]) -> None:
        every = [dataset for level in found for array in level.arrays for dataset in array.datasets]
        self._progress.total = sum(dataset.nbytes for dataset in every)
        has_several = any(level.records or len(array.datasets) > 1 for level in found for array in level.arrays)
        self._is_own = not _is_source(self._file.attrs.get("imported"))
        if (has_several or self._is_own) and not self._netcdf:
            indices = sorted(dataset.section.index for dataset in every)
            self._places = {section: place for place, section in enumerate(indices)}
        if self._netcdf:
            text = f"version=2,scda={__version__},hdf5={h5py.version.hdf5_version},h5py={h5py.version.version}"
            write_attribute(self._to, "_NCProperties", Text(text, True), netcdf=True)
        else:
            self._first_names = _first_names(found)
        scales: dict[str, dict[str, h5py.Dataset]] = {}
        sections: list[list[Any]] = []
        for level in found:
            group = self._to if level.path == "/" else self._to.create_group(level.path, track_order=True)
            self._named_types(group, level)
        for level in found:
            group = self._to[level.path]
            attrs = level.attrs
            unused = attrs.get(DIMENSIONS) if self._netcdf else None
            if isinstance(unused, dict):
                attrs = {name: value for name, value in attrs.items() if name != DIMENSIONS}
            if level.path == "/":
                source = attrs
                attrs = {name: value for name, value in attrs.items() if name != "imported" or not _is_source(value)}
                user = self._file.user_text
                if attrs == source and not self._netcdf and user.encode() == self._file.user and "\0" not in user:
                    write_attribute(group, USER, Text(user, False), netcdf=False)
                    sections = self._others(every)
                    write_attribute(group, SECTIONS, Text(json.dumps(sections), False), netcdf=False)
            write_attributes(group, attrs, level.path, self._paths, netcdf=self._netcdf)
            if level.records and not self._netcdf:
                group.attrs[RECORDS] = np.int64(level.records)
            # Those of the groups around it, the nearest last.
            around = [each for path, each in scales.items() if path == "/" or level.path.startswith(f"{path}/")]
            outer = {name: scale for each in around for name, scale in each.items()}
            scales[level.path] = self._level(group, level, outer)
            for name, size in unused.items() if isinstance(unused, dict) else ():
                name = normal(name) if self._netcdf else name
                if name not in group and (size is None or type(size) is int and 0 <= size < 1 << 31):
                    scales[level.path][name] = _dimension(group, name, size or 0, size is None)
        for level in found:
            self._links(level)
        for path, dataset, of in self._scaled:
            try:
                write_scales(self._to, dataset, of)
            except ValueError as error:
                self.leave_out(path, str(error))
        self._paths.write()
        self._tell_of_others(sections)

    def _tell_of_others(self, kept: list[list[Any]]) -> None:
        """Of the sections that belong to no dataset or group, and are not kept."""
        own = {record.section.index for name in self._file._datasets() for record in self._file.records(name)}
        others: Counter[tuple[str, str]] = Counter()
        for kind, section in _kinds(self._file, own):
            if kind not in ("data", "group"):
                others[section.user.decode("utf-8", "backslashreplace"), kind] += 1
        for _, kind, *more in kept:
            if kind != "group":
                others[base64.b64decode(more[0]).decode("utf-8", "backslashreplace"), kind] -= 1
        for (user, kind), count in others.items():
            if count == 0:
                continue
            if kind == "streams":
                found = "found streams" if count == 1 else f"found {count} sets of streams"
                self.leave_out(user, f"{found}, which HDF5 and NetCDF have not")
            else:
                what = f"{kind} section that belongs" if count == 1 else f"{count} {kind} sections that belong"
                self.leave_out(user, f"found {'a ' if count == 1 and kind == 'block' else ''}{what} to no dataset")

    def _named_types(self, group: h5py.Group, level: Level) -> None:
        """The types that have a name in a group."""
        types = level.attrs.get(NAMED_TYPES)
        for name, described in types.items() if isinstance(types, dict) else ():
            try:
                if self._netcdf and _of_netcdf(described) != described:
                    raise ValueError("found a type that NetCDF has not")
                kind = make(described)
                kind.commit(group.id, name.encode(), lcpl=_UTF8)
                self._types.append(kind)
            except (ValueError, TypeError, KeyError, RuntimeError) as error:
                self.leave_out(level.path_of(name), str(error))

    def _links(self, level: Level) -> None:
        """The links of a group to other places; those to datasets are made where these are written."""
        group = self._to[level.path]
        links = level.attrs.get(LINKS)
        for name, link in links.items() if isinstance(links, dict) else ():
            try:
                (kind, to), *more = link.items()
                target = object_at(self._to, to) if kind == "hard" else None
                if kind == "hard" and not isinstance(target, h5py.Group):
                    continue
                if self._netcdf:
                    raise ValueError("found a link, which NetCDF has not")
                if "/" in name or has_link(group, name) or more or kind not in ("soft", "external", "hard"):
                    raise ValueError("found a link that is none, or the name of something else")
                if kind == "hard":
                    group[name] = target
                else:
                    group[name] = h5py.SoftLink(to) if kind == "soft" else h5py.ExternalLink(*to)
            except (ValueError, TypeError, KeyError, RuntimeError, AttributeError) as error:
                self.leave_out(level.path_of(name), str(error))

    def _others(self, every: list[Dataset]) -> list[list[Any]]:
        """The groups and the small blocks and inline sections of the file, each with the number of datasets before it."""
        data = {dataset.section.index for dataset in every}
        found: list[list[Any]] = []
        place = 0
        for kind, section in _kinds(self._file, data):
            if kind == "data":
                place += 1
            elif kind == "group":
                path = section.user_text
                found.append([place, "group", self._file._group_path(path.rstrip("/") or "/")])
            elif kind in ("block", "inline") and section.nbytes <= _MOST_KEPT:
                text = [base64.b64encode(each).decode() for each in (section.user, section.read())]
                found.append([place, kind, *text, section.compressed])
        return found

    def _level(self, group: Any, level: Level, outer: dict[str, h5py.Dataset]) -> dict[str, h5py.Dataset]:
        """The arrays of a group, and its dimensions. Returns the scales of its coordinates by name."""
        made = []
        scales: dict[str, h5py.Dataset] = {}
        unlimited = self._unlimited(level, outer)
        for array in level.arrays:
            path = level.path_of(array.variable.name)
            first = self._first_names.get(path, "")
            if first in self._shared and _are_same(array, self._shared[first][0]):
                group[array.variable.name] = dataset = self._shared[first][1]
                self._progress.add(sum(each.nbytes for each in array.datasets))
                if dataset.is_scale and array.variable.dims == (array.variable.name,):
                    scales[array.variable.name] = dataset
                continue
            try:
                variable, dataset = self._dataset(group, path, array, unlimited)
            except (TypeError, ValueError) as error:
                if isinstance(error, Error):
                    raise
                if isinstance(link_of(group, array.variable.name), h5py.HardLink):
                    del group[array.variable.name]  # not all of it is there
                self.leave_out(path, str(error))
                continue
            if first:
                self._shared.setdefault(first, (array, dataset))
            of = None if self._netcdf else _of_scales(variable)
            if of is not None:
                self._scaled.append((path, dataset, of))
            else:
                made.append((variable, dataset))
            is_scale = variable.dims == (variable.name,) if of is None else "name" in of
            if is_scale:
                dataset.make_scale(variable.name if of is None else of["name"])
            if is_scale and variable.dims == (variable.name,):
                scales[variable.name] = dataset
        coordinates = dict(scales)
        sizes = {dim: n for variable, _ in made for dim, n in zip(variable.dims, variable.shape)}
        for dim, n in sizes.items():
            if dim in scales:
                continue
            if dim in outer and (outer[dim].shape == (n,) or _may_be(outer[dim], n)):
                scales[dim] = outer[dim]
            elif self._netcdf:
                scales[dim] = coordinates[dim] = _dimension(group, dim, n, dim in unlimited)
        for variable, dataset in made:
            for d, dim in enumerate(variable.dims):
                own = variable.own_dim(d)
                if dim in scales and variable.dims != (variable.name,):
                    dataset.dims[d].attach_scale(scales[dim])
                if own is not None and (own != dim or dim not in scales):
                    dataset.dims[d].label = own
        return coordinates

    def _unlimited(self, level: Level, outer: dict[str, h5py.Dataset]) -> set[str]:
        """The dimensions that may grow. In NetCDF they do so for all variables."""
        found = set()
        for variable, _ in level.arrays:
            for dim, most in zip(variable.dims, max_shape(variable)):
                if most is None:
                    found.add(dim)
        fixed = {dim for dim, scale in outer.items() if scale.maxshape != (None,)}
        own = {variable.name for variable, _ in level.arrays if variable.dims == (variable.name,)}
        grown = {dim for dim, scale in outer.items() if scale.maxshape == (None,)}
        return (found - (fixed - own)) | (grown - own)

    def _type(
        self, path: str, variable: Variable, item: np.dtype[Any], is_big: bool, attrs: dict[str, Any]
    ) -> tuple[Any, bool]:
        """The type of a dataset in HDF5, as a description, and whether an import has found it.

        Raises:
            TypeError: there is none.
        """
        names = _enumeration(attrs.get(ENUMERATION), item)
        found = attrs.get(TYPE)
        if isinstance(found, (str, dict)) and _is_type_of(found, variable, item):
            usable = _of_netcdf(found) if self._netcdf else found
            if usable is not None and (usable == found or not self._netcdf or TYPE_PATH in attrs or not _is_enum(found)):
                return usable, True
            if not _is_enum(found) and not is_text(found):
                self.leave_out(path, f"found items of the type {json.dumps(found)}, which NetCDF has not: they become others")
        if self._netcdf and names is not None:
            as_enum = default(item, big=is_big, names=names)
            if self._has_type(as_enum):
                return as_enum, True
        if _is_of_bytes(variable.dataset):
            return {"list": "uint8"}, False
        chosen = default(item, big=is_big, names=None if self._netcdf else names, netcdf=self._netcdf)
        if self._netcdf and _of_netcdf(chosen) is None:
            raise TypeError(f"found {item}, which NetCDF has not; .h5 has it")
        return chosen, False

    def _has_type(self, described: Any) -> bool:
        """Whether the new file has this type, with a name."""
        kind = make(described)
        return any(each.equal(kind) for each in self._types)

    def _kind(self, described: Any, path: Any) -> tuple[h5py.h5t.TypeID, Any]:
        """The type with this description, in NetCDF, and if it has a path, one that has a name. And its description: NetCDF
        has one type of complex numbers, in one byte order."""
        kind = make(described)
        named = object_at(self._to, path) if isinstance(path, str) else None
        if isinstance(named, h5py.Datatype) and named.id.equal(kind):
            return named.id, described
        if self._netcdf and isinstance(described, str) and described.lstrip(">") in _COMPLEX:
            name = _COMPLEX[described.lstrip(">")]
            if name not in self._to:
                kind.commit(self._to.id, name.encode())
            return self._to[name].id, describe(self._to[name].id)
        if self._netcdf and (isinstance(described, dict) and "array" not in described or str(described)[0] == "r"):
            return self._named(described), described
        return kind, described

    def _named(self, described: Any) -> h5py.h5t.TypeID:
        """A type with a name, which types have in NetCDF, and all types in it."""
        for _, of, _ in described.get("struct", ()) if isinstance(described, dict) else ():
            while isinstance(of, dict) and "array" in of:
                of = of["array"]
            self._kind(of, None)
        if isinstance(described, dict) and "list" in described:
            self._kind(described["list"], None)
        kind = make(described)
        for each in self._types:
            if each.equal(kind):
                return each
        kind.commit(self._to.id, f"scda_type_{len(self._types)}".encode())
        self._types.append(kind)
        return kind

    def _dataset(
        self, group: Any, path: str, array: Array, unlimited: set[str]
    ) -> tuple[Variable, h5py.Dataset]:
        """Writes a dataset. Returns it with its dimensions, which are fewer or more where items are arrays or texts."""
        variable, first = array.variable, array.datasets[0]
        netcdf = self._netcdf
        if netcdf:
            _check_name(variable.name)
        metadata = raw_metadata(first)
        item = first.dtype
        attrs = without_mark(variable.attrs) if netcdf else dict(variable.attrs)
        endian = metadata["codecs"][0]
        endian = endian.get("configuration", {}).get("endian", "little") if isinstance(endian, dict) else "little"
        described, is_found = self._type(path, variable, item, endian == "big", attrs)
        plain = default(item, big=endian == "big", netcdf=netcdf)
        kind, described = self._kind(described, attrs.get(TYPE_PATH))
        filters = Filters.of_codecs(metadata, item.itemsize, blosc=self._blosc) if first.chunks else None
        most = max_shape(variable)
        if netcdf:
            most = tuple(None if dim in unlimited else n for dim, n in zip(variable.dims, variable.shape))
        # HDF5 has no chunks without a single index.
        has_chunks = bool(variable.shape) and 0 not in most
        may_grow = has_chunks and most != variable.shape
        chunks = _chunks(variable, most) if has_chunks and (first.chunks or may_grow) else None
        if isinstance(described, dict) and "array" in described:
            inner = tuple(described["shape"])
            if is_found:
                variable = variable._replace(
                    dims=variable.dims[: -len(inner)], shape=variable.shape[: -len(inner)]
                )
                chunks, most = chunks and chunks[: len(variable.shape)] or None, most[: len(variable.shape)]
            else:
                variable = variable._replace(
                    dims=(*variable.dims, f"string{inner[0]}"), shape=(*variable.shape, *inner)
                )
                chunks, most = chunks and (*chunks, *inner), (*most, *inner)
                kind = make(described["array"])
        is_null = MAX_SHAPE in attrs and attrs[MAX_SHAPE] is None and variable.shape == (0,)
        if is_null and netcdf:
            self.leave_out(path, "it has no data space, which all variables of NetCDF have, and no items")
        options: dict[str, Any] = {}
        if chunks is not None and first.chunks:
            is_ = first._description
            options = (filters or Filters(is_.shuffle, is_.level)).options()
        names = _enumeration(attrs.get(ENUMERATION), item) if netcdf and not _is_enum(described) else None
        if names is not None:
            attrs.setdefault("flag_values", list(names.values()))
            attrs.setdefault("flag_meanings", " ".join(map("_".join, map(str.split, names))))
        fill = first._description.fill_item
        if is_text(described) and ("\0" if isinstance(fill, str) else b"\0") in fill:
            self.leave_out(path, "found a fill value with a NUL character, which h5py cannot write")
            fill = ""
        if not has_fills(described) and any(first._description.fill):
            self.leave_out(path, f"found a fill value of the type {json.dumps(described)}, which h5py cannot write")
        dataset = create_dataset(
            group,
            variable.name,
            None if is_null and not netcdf else variable.shape,
            most if may_grow else None,
            kind,
            described,
            chunks,
            fill,
            options,
        )
        if netcdf and item.kind == "b":
            attrs.setdefault("dtype", "bool")  # as xarray writes them
        if netcdf and has_fill_attribute(variable):
            attrs.setdefault("_FillValue", float(first.fill_value))
        added = {name: value for name, value in _added(item).items() if not is_found and name not in attrs}
        of = None if netcdf else _of_scales(variable)
        is_scale = variable.dims == (variable.name,) if of is None else "name" in of
        write_attributes(dataset, {**attrs, **added}, path, self._paths, item, netcdf=netcdf, is_scale=is_scale)
        if not is_found and (item.hasobject or item.kind != "b" and item_of(described, itertools.repeat("U1")) != item):
            name = first._description.type if item.hasobject else type_name(item)
            write_attribute(dataset, ITEM, Text(name, netcdf), netcdf=netcdf)
        if added:
            write_attribute(dataset, ADDED, Text(json.dumps(list(added)), netcdf), netcdf=netcdf)
        self._mark_records(dataset, array)
        is_zlib = filters is not None and filters.blosc is None
        if options and not is_zlib and first.section.kind == "varray" and self._is_own:
            is_ = first._description
            text = f"{is_.codec} {is_.level} {'shuffle' if is_.shuffle else 'noshuffle'}"
            write_attribute(dataset, CODEC, Text(text, netcdf), netcdf=netcdf)
        own = (chunks or ())[1 if variable.has_records else 0 :]
        base = described["enum"] if _is_enum(described) and described != BOOL else described
        has_same_bytes = base == plain and not has_objects(described)
        for record, each in enumerate(array.datasets):
            start = (record,) if variable.has_records else ()
            other = metadata if each is first else raw_metadata(each)
            is_same = (other["codecs"], other["chunk_grid"]) == (metadata["codecs"], metadata["chunk_grid"])
            if (
                is_same
                and not each.added_rows
                and has_same_bytes
                and filters is not None
                and each.chunks == own
                and each.section.kind == "varray"
                and own
            ):
                self._copy_chunks(dataset, each, start)
            elif not is_null:
                self._paths.later(partial(self._write_items, dataset, each, start, described), described)
        return variable, dataset

    def _mark_records(self, dataset: h5py.Dataset, array: Array) -> None:
        """Says what HDF5 does not have: that there are records, and what is different in each of them."""
        records = array.datasets
        if array.variable.has_records:
            dataset.attrs[RECORDS] = np.int64(len(records))
            every = [each._description.attributes for each in records]
            if any(text != every[0] for text in every):
                text = json.dumps([dict(each.attrs) for each in records])
                write_attribute(dataset, OF_RECORDS, Text(text, self._netcdf), netcdf=self._netcdf)
        if self._places:
            dataset.attrs[PLACES] = np.array([self._places[each.section.index] for each in records], np.int64)

    def _copy_chunks(self, to: h5py.Dataset, dataset: Dataset, start: tuple[int, ...]) -> None:
        """The chunks as they are."""
        assert dataset.chunks is not None
        section = dataset.section
        sizes = section.sizes()
        origins = itertools.product(*(range(0, n, c) for n, c in zip(dataset.shape, dataset.chunks)))
        chunk_bytes = dataset.dtype.itemsize * int(np.prod(dataset.chunks, dtype=object))
        for first, end in _batches(sizes):
            for data in section[first:end]:
                origin = next(origins)
                if data:  # else all items have the fill value
                    to.id.write_direct_chunk((*start, *origin), data)
            self._progress.add((end - first) * chunk_bytes)

    def _write_items(self, to: h5py.Dataset, dataset: Dataset, start: tuple[int, ...], described: Any) -> None:
        """The items, piece by piece."""
        for key in pieces(dataset.shape, dataset.chunks, dataset.dtype.itemsize):
            items = np.asarray(dataset[key], dataset.dtype)
            write = write_bytes if _is_of_bytes(dataset) else write_items
            write(to, (*start, *key), items, described, self._paths)
            self._progress.add(items.nbytes)


def _kinds(file: File, data: set[int]) -> Iterator[tuple[str, Section]]:
    """The sections of a file in their order, each with what it is: "data" if its index is one of these, "group" for the
    attributes of a group, "streams" for a set of these, else its kind. Those that say what stands beside them are
    omitted, and so are attributes and rows that were added to datasets, which have them."""
    before = b""
    for section in file.sections:
        user, last = section.user, before
        before = user
        if section.index in data:
            yield "data", section
        elif (section.kind, user) in _MARKS or last in _ADDED and user.startswith(_ADDED[last]):
            continue
        elif section.kind == "block" and last == _GROUP:
            yield "group", section
        elif section.kind == "array" and last == _STREAMS:
            yield "streams", section
        else:
            yield section.kind, section


def _is_source(value: Any) -> bool:
    """Whether it is what `scda import` says of the file that an scda file comes from."""
    return isinstance(value, dict) and "format" in value and "complete" in value


def _first_names(found: list[Level]) -> dict[str, str]:
    """The first name of each dataset of which an import has found several, by all of them."""
    names: dict[str, str] = {}
    for level in found:
        links = level.attrs.get(LINKS)
        for name, link in links.items() if isinstance(links, dict) else ():
            first = link.get("hard") if isinstance(link, dict) else None
            if isinstance(first, str):
                names[first] = names[level.path_of(name)] = first
    return names


def _are_same(one: Array, other: Array) -> bool:
    """Whether arrays that were one dataset of HDF5 are so still: nothing of them was changed since."""
    return len(one.datasets) == len(other.datasets) and all(map(_is_same, one.datasets, other.datasets))


def _is_same(one: Dataset, other: Dataset) -> bool:
    a, b = one.section, other.section
    if one.added_rows or other.added_rows or _said(one) != _said(other):
        return False
    if a.kind == "varray":
        if not np.array_equal(sizes := a.sizes(), b.sizes()):
            return False
        parts = _batches(sizes)
    else:
        step = max(1, PIECE_BYTES // max(1, a.nbytes // max(1, len(a))))
        parts = ((start, start + step) for start in range(0, len(a), step))
    return all(a[start:stop] == b[start:stop] for start, stop in parts)


def _said(dataset: Dataset) -> Any:
    """What a file says of a dataset, but for what follows from its name."""
    metadata = {name: value for name, value in raw_metadata(dataset).items() if name not in ("attributes", "dimension_names")}
    own = dataset.name.rpartition("/")[2]
    attrs = {name: value for name, value in dataset.attrs.items() if name != SCALES}
    return metadata, attrs, ["" if dim == own else dim for dim in dataset.dims], dataset.section.kind


def _of_scales(variable: Variable) -> Optional[dict[str, Any]]:
    """What an import says of the scales of its dimensions, if it does."""
    found = variable.attrs.get(SCALES)
    is_one = isinstance(found, dict) and isinstance(found.get("dimensions"), list) and isinstance(found.get("name", ""), str)
    return found if is_one else None


def _may_be(scale: h5py.Dataset, size: int) -> bool:
    """Whether the scale is a dimension of NetCDF without a variable that may grow, whose length no other variable has yet."""
    mark = bytes(h5py.h5ds.get_scale_name(scale.id))
    if scale.maxshape != (None,) or scale.shape != (0,) or not mark.startswith(NO_VARIABLE.encode()):
        return False
    scale.resize((size,))
    return True


def _dimension(group: Any, name: str, size: int, is_unlimited: bool) -> h5py.Dataset:
    """A dimension without a variable of its name, as NetCDF-4 has it."""
    more = {"chunks": (_SCALARS,), "maxshape": (None,)} if is_unlimited else {}
    scale = group.create_dataset(name, (size,), ">f4", **more)
    scale.make_scale(f"{NO_VARIABLE}{size:10}")
    return scale


def _enumeration(names: Any, dtype: np.dtype[Any]) -> Optional[dict[str, int]]:
    """The names of integers, if these are such."""
    if dtype.kind not in "iu" or not isinstance(names, dict) or not names:
        return None
    info = np.iinfo(dtype)
    fits = all(key and type(value) is int and info.min <= value <= info.max for key, value in names.items())
    return names if fits and not any("\0" in key for key in names) else None


def _chunks(variable: Variable, most: Sequence[Optional[int]]) -> tuple[int, ...]:
    """The shape of a chunk, no larger than the array may get."""
    if len(variable.shape) == 1 and (variable.has_records or variable.chunks is None):
        return (_SCALARS if most[0] is None else min(_SCALARS, most[0]),)
    # Data in one piece that may grow: rows of about as many bytes as a good chunk has.
    row = variable.dataset.dtype.itemsize * int(np.prod(variable.shape[1:], dtype=object))
    whole = (max(1, _CHUNK_BYTES // max(row, 1)), *variable.shape[1:])
    room = [n if variable.chunks is None else _CHUNK_INDICES if m is None else m for n, m in zip(variable.shape, most)]
    chunks = [max(1, min(c, n)) for c, n in zip(variable.chunks or whole, room)]
    if variable.dataset.chunks is None:
        # Data in one piece: as many rows as are written at once, or parts of rows.
        for d in range(1, len(chunks)):
            row = variable.dataset.dtype.itemsize * int(np.prod(chunks[d + 1 :], dtype=object))
            chunks[d] = max(1, min(chunks[d], PIECE_BYTES // max(row, 1)))
    return tuple(chunks)


def _is_enum(described: Any) -> bool:
    return isinstance(described, dict) and "enum" in described


def _is_of_bytes(dataset: Dataset) -> bool:
    """Whether items are bytes of any length, which may stand for others."""
    return dataset._description.type == "variable_length_bytes"


def _is_type_of(described: Any, variable: Variable, item: np.dtype[Any]) -> bool:
    """Whether it is a type of HDF5, and items of a dataset can be written as such."""
    try:
        make(described)
        if isinstance(described, dict) and "array" in described:
            inner = tuple(described["shape"])
            has_room = len(variable.shape) - variable.has_records >= len(inner)
            if not has_room or variable.shape[-len(inner) :] != inner:
                return False
            described = described["array"]
        return has_objects(described) if _is_of_bytes(variable.dataset) else fits(described, item)
    except (ValueError, TypeError, KeyError, RecursionError):
        return False


def _of_netcdf(described: Any) -> Any:
    """The type if NetCDF has it, or None."""
    if isinstance(described, str):
        if is_text(described):
            return described if described.startswith("string") or described in ("char 1", "char nullterm 1") else None
        name = described.lstrip(">")
        is_other = name in ("bool", "float16", "reference") or name.startswith(("bits", "time"))
        return None if is_other else described
    if "struct" in described:
        return described if all(_of_netcdf(of) == of for _, of, _ in described["struct"]) else None
    inner = next((described[which] for which in ("enum", "array", "list") if which in described), "r8")
    return described if _of_netcdf(inner) == inner and described != BOOL else None


def _added(item: np.dtype[Any]) -> dict[str, Any]:
    """The attributes that tell others what integers mean."""
    if item.kind not in "Mm":
        return {}
    unit, count = np.datetime_data(item)
    if count != 1 or unit not in _UNITS:
        return {}
    if item.kind == "m":
        return {"units": _UNITS[unit]}
    return {"units": f"{_UNITS[unit]} since 1970-01-01", "calendar": "proleptic_gregorian"}


def _batches(sizes: Any) -> Iterator[tuple[int, int]]:
    """Elements that are read at once."""
    first, held = 0, 0
    for number, size in enumerate(sizes.tolist()):
        if held and held + size > PIECE_BYTES:
            yield first, number
            first, held = number, 0
        held += size + 64
    yield first, len(sizes)


def _check_name(name: str) -> None:
    """NetCDF has fewer names than scda."""
    if not (name[0].isalnum() or name[0] == "_" or ord(name[0]) > 127) or name.endswith(" "):
        raise ValueError("found a name that NetCDF has not; .h5 has it")


_UTF8 = h5py.h5p.create(h5py.h5p.LINK_CREATE)
_UTF8.set_char_encoding(h5py.h5t.CSET_UTF8)
