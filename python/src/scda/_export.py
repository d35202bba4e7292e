"""scda files as HDF5 or NetCDF-4 files."""

from __future__ import annotations

import base64
import itertools
import json
from typing import Any, Iterable, Iterator, Optional

import h5py
import numpy as np

from . import __version__
from ._attributes import Text
from ._common import Path
from ._dataset import Dataset
from ._file import File, open
from ._hdf5 import (
    ENUMERATION,
    NO_VARIABLE,
    CODEC,
    OF_RECORDS,
    PIECE_BYTES,
    PLACES,
    RECORDS,
    SECTIONS,
    USER,
    Filters,
    write_attribute,
    write_attributes,
)
from ._progress import Progress
from ._selection import pieces
from ._variables import DIMENSIONS, Array, Level, Variable, has_fill_attribute, levels, max_shape
from ._zarr_arrays import raw_metadata

# Items of a chunk where each record is one item.
_SCALARS = 1024
_CHUNK_BYTES = 256 << 10
# Of other sections than datasets, those up to so many bytes are kept.
_MOST_KEPT = 64 << 10
# The names under which NetCDF's tools know complex numbers.
_COMPLEX = {"complex64": "_PFNC_FLOAT_COMPLEX_TYPE", "complex128": "_PFNC_DOUBLE_COMPLEX_TYPE"}


def export(
    path: Path,
    out: str,
    *,
    netcdf: bool,
    blosc: bool = False,
    without: Iterable[str] = (),
    progress: Optional[Progress] = None,
) -> int:
    """Writes the datasets of a file to a new HDF5 file.

    Args:
        path: the file.
        out: the new one.
        netcdf: whether it shall be a NetCDF-4 file: dimensions without coordinates have a place in it, and types that NetCDF
            has not are an error, or integers.
        blosc: whether chunks in frames of Blosc stay as they are, by a filter that not every HDF5 has; else they are deflated.
        without: patterns of names to leave out.
        progress: is told the bytes that are done.

    Returns:
        The number of sections that are left out, because they belong to no dataset or group.
    """
    # Since HDF5 1.8, attributes may be large.
    with open(path) as file, h5py.File(out, "w", track_order=True, libver=("v108", "v108")) as to:
        write = _Export(file, to, netcdf, blosc, progress or Progress(str(path)))
        found = levels(file, lambda dataset: (dataset.dtype, dataset.shape, dataset._description.fill), without)
        write.all(found)
        names = file._datasets()
        sections = 2 * sum(len(file.records(name)) for name in names)
        return len(file.sections) - sections - 2 * len(file.sections.find(b"scda group 00")) - write.kept


class _Export:
    """What writes the datasets of a file to another one."""

    def __init__(self, file: File, to: h5py.File, netcdf: bool, blosc: bool, progress: Progress) -> None:
        self._file = file
        self._to = to
        self._netcdf = netcdf
        self._blosc = blosc
        self._progress = progress
        # Where each dataset stands among all of them, by its section; none if that need not be known.
        self._places: dict[int, int] = {}
        # How many sections that belong to no dataset or group are kept.
        self.kept = 0

    def all(self, found: list[Level]) -> None:
        every = [dataset for level in found for array in level.arrays for dataset in array.datasets]
        self._progress.total = sum(dataset.nbytes for dataset in every)
        has_several = any(level.records or len(array.datasets) > 1 for level in found for array in level.arrays)
        is_own = not _is_source(self._file.attrs.get("imported"))
        if (has_several or is_own) and not self._netcdf:
            sections = sorted(dataset.section.index for dataset in every)
            self._places = {section: place for place, section in enumerate(sections)}
        if self._netcdf:
            text = f"version=2,scda={__version__},hdf5={h5py.version.hdf5_version},h5py={h5py.version.version}"
            write_attribute(self._to, "_NCProperties", Text(text, True), netcdf=True)
        scales: dict[str, dict[str, h5py.Dataset]] = {}
        for level in found:
            group = self._to if level.path == "/" else self._to.create_group(level.path, track_order=True)
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
                    write_attribute(group, SECTIONS, Text(json.dumps(self._others(every)), False), netcdf=False)
            write_attributes(group, attrs, f"group {level.path!r}", netcdf=self._netcdf)
            if level.records and not self._netcdf:
                group.attrs[RECORDS] = np.int64(level.records)
            if self._netcdf:
                _check_names(level)
            # Those of the groups around it, the nearest last.
            around = [each for path, each in scales.items() if path == "/" or level.path.startswith(f"{path}/")]
            outer = {name: scale for each in around for name, scale in each.items()}
            scales[level.path] = self._level(group, level, outer)
            for name, size in unused.items() if isinstance(unused, dict) else ():
                if name not in group and (size is None or type(size) is int and 0 <= size < 1 << 31):
                    _dimension(group, name, size or 0, size is None)

    def _others(self, every: list[Dataset]) -> list[list[Any]]:
        """The groups and the small blocks and inline sections of the file, each with the number of datasets before it."""
        data = {dataset.section.index for dataset in every}
        found: list[list[Any]] = []
        place = 0
        sections = iter(self._file.sections)
        for section in sections:
            if section.index in data:
                place += 1
            elif section.kind == "inline" and section.user == b"scda group 00":
                path = next(sections).user_text
                found.append([place, "group", self._file._group_path(path.rstrip("/") or "/")])
            elif section.kind in ("block", "inline") and section.user != b"scda dataset 00":
                if section.nbytes <= _MOST_KEPT:
                    text = [base64.b64encode(each).decode() for each in (section.user, section.read())]
                    found.append([place, section.kind, *text, section.compressed])
                    self.kept += 1
        return found

    def _level(self, group: Any, level: Level, outer: dict[str, h5py.Dataset]) -> dict[str, h5py.Dataset]:
        """The arrays of a group, and its dimensions. Returns the scales of its coordinates by name."""
        made = []
        scales: dict[str, h5py.Dataset] = {}
        unlimited = self._unlimited(level, outer)
        for array in level.arrays:
            variable = array.variable
            dataset = self._dataset(group, level.path_of(variable.name), array, unlimited)
            made.append((variable, dataset))
            if variable.dims == (variable.name,):
                dataset.make_scale(variable.name)
                scales[variable.name] = dataset
        coordinates = dict(scales)
        sizes = {dim: n for variable, _ in made for dim, n in zip(variable.dims, variable.shape)}
        for dim, n in sizes.items():
            if dim in scales:
                continue
            if dim in outer and outer[dim].shape == (n,):
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

    def _dataset(self, group: Any, path: str, array: Array, unlimited: set[str]) -> h5py.Dataset:
        variable, first = array.variable, array.datasets[0]
        netcdf = self._netcdf
        metadata = raw_metadata(first)
        filters = Filters.of_codecs(metadata, first.dtype.itemsize, blosc=self._blosc) if first.chunks else None
        most = max_shape(variable)
        if netcdf:
            most = tuple(None if dim in unlimited else n for dim, n in zip(variable.dims, variable.shape))
        # HDF5 has no chunks without a single index.
        has_chunks = bool(variable.shape) and 0 not in most
        may_grow = has_chunks and most != variable.shape
        chunks = _chunks(variable) if has_chunks and (first.chunks or may_grow) else None
        options: dict[str, Any] = {}
        if chunks is not None and first.chunks:
            is_ = first._description
            options = (filters or Filters(is_.shuffle, is_.level)).options()
        is_zlib = filters is not None and filters.blosc is None
        own_codec = options and not is_zlib and first.section.kind == "varray"
        endian = metadata["codecs"][0]
        endian = endian.get("configuration", {}).get("endian", "little") if isinstance(endian, dict) else "little"
        dtype = first.dtype.newbyteorder(">" if endian == "big" else "<")
        attrs = dict(variable.attrs)
        if _has_texts_or_times(dtype):
            raise ValueError(f"dataset {path!r}: found {dtype}, which HDF5 has not; leave it out (--without)")
        names = _enumeration(attrs.get(ENUMERATION), dtype)
        if names is not None and netcdf:
            attrs.setdefault("flag_values", list(names.values()))
            attrs.setdefault("flag_meanings", " ".join(map("_".join, map(str.split, names))))
        dataset = group.create_dataset(
            variable.name,
            variable.shape,
            _type(group.file, dtype, path) if netcdf else dtype if names is None else h5py.enum_dtype(names, dtype),
            chunks=chunks,
            maxshape=most if may_grow else None,
            fillvalue=_fill_value(first, dtype, netcdf),
            track_order=True,
            **options,
        )
        if netcdf and dtype.kind == "b":
            attrs.setdefault("dtype", "bool")  # as xarray writes them
        if netcdf and has_fill_attribute(variable):
            attrs.setdefault("_FillValue", float(first.fill_value))
        write_attributes(dataset, attrs, f"dataset {path!r}", first.dtype, netcdf=netcdf)
        self._mark_records(dataset, array)
        if own_codec:
            is_ = first._description
            text = f"{is_.codec} {is_.level} {'shuffle' if is_.shuffle else 'noshuffle'}"
            write_attribute(dataset, CODEC, Text(text, netcdf), netcdf=netcdf)
        own = tuple(c for c in chunks or ())[1 if variable.has_records else 0 :]
        # NetCDF has one type for complex numbers, in one byte order.
        has_order = dtype.kind != "c" or dataset.dtype == dtype
        for record, each in enumerate(array.datasets):
            start = (record,) if variable.has_records else ()
            other = metadata if each is first else raw_metadata(each)
            is_same = (other["codecs"], other["chunk_grid"]) == (metadata["codecs"], metadata["chunk_grid"])
            if (
                is_same
                and has_order
                and filters is not None
                and each.chunks == own
                and each.section.kind == "varray"
                and own
            ):
                self._copy_chunks(dataset, each, start)
            else:
                self._write_items(dataset, each, start)
        return dataset

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

    def _write_items(self, to: h5py.Dataset, dataset: Dataset, start: tuple[int, ...]) -> None:
        """The items, piece by piece."""
        for key in pieces(dataset.shape, dataset.chunks, dataset.dtype.itemsize):
            items = np.asarray(dataset[key])
            to[(*start, *key)] = items.view("i1") if self._netcdf and items.dtype.kind == "b" else items
            self._progress.add(items.nbytes)


def _is_source(value: Any) -> bool:
    """Whether it is what `scda import` says of the file that an scda file comes from."""
    return isinstance(value, dict) and "format" in value and "complete" in value


def _dimension(group: Any, name: str, size: int, is_unlimited: bool) -> h5py.Dataset:
    """A dimension without a variable of its name, as NetCDF-4 has it."""
    more = {"chunks": (_SCALARS,), "maxshape": (None,)} if is_unlimited else {}
    scale = group.create_dataset(name, (size,), ">f4", **more)
    scale.make_scale(f"{NO_VARIABLE} {size:10}")
    return scale


def _enumeration(names: Any, dtype: np.dtype[Any]) -> Optional[dict[str, int]]:
    """The names of integers, if these are such."""
    if dtype.kind not in "iu" or not isinstance(names, dict) or not names:
        return None
    info = np.iinfo(dtype)
    fits = all(key and type(value) is int and info.min <= value <= info.max for key, value in names.items())
    return names if fits and not any("\0" in key for key in names) else None


def _chunks(variable: Variable) -> tuple[int, ...]:
    """The shape of a chunk, no larger than the array."""
    if len(variable.shape) == 1 and (variable.has_records or variable.chunks is None):
        return (_SCALARS,)
    # Data in one piece that may grow: rows of about as many bytes as a good chunk has.
    row = variable.dataset.dtype.itemsize * int(np.prod(variable.shape[1:], dtype=object))
    whole = (max(1, _CHUNK_BYTES // max(row, 1)), *variable.shape[1:])
    chunks = [max(1, min(c, n)) for c, n in zip(variable.chunks or whole, variable.shape)]
    if variable.dataset.chunks is None:
        # Data in one piece: as many rows as are written at once, or parts of rows.
        for d in range(1, len(chunks)):
            row = variable.dataset.dtype.itemsize * int(np.prod(chunks[d + 1 :], dtype=object))
            chunks[d] = max(1, min(chunks[d], PIECE_BYTES // max(row, 1)))
    return tuple(chunks)


def _has_texts_or_times(dtype: np.dtype[Any]) -> bool:
    """Whether there are items that h5py cannot write."""
    if dtype.names is not None:
        return any(_has_texts_or_times(dtype[name].base) for name in dtype.names)
    return dtype.kind in "UMm"


def _type(file: Any, dtype: np.dtype[Any], path: str) -> Any:
    """The type that NetCDF has."""
    if dtype.kind == "b":
        return np.dtype("i1")
    if dtype.kind == "c":
        name = _COMPLEX[dtype.name]
        if name not in file:
            file[name] = dtype
        return file[name]
    if dtype.kind in "VUSMm" or dtype.itemsize == 2 and dtype.kind == "f":
        is_raw = dtype.kind == "V" and dtype.names is None
        what = f"raw bytes ({dtype})" if is_raw else f"{dtype}" if dtype.kind in "VUSMm" else "float16"
        raise ValueError(
            f"dataset {path!r}: found {what}, which NetCDF has not; export to .h5, or leave it out (--without)"
        )
    return dtype


def _fill_value(dataset: Dataset, dtype: np.dtype[Any], netcdf: bool) -> Any:
    fill = np.asarray(dataset.fill_value, dataset.dtype).astype(dtype)
    return fill.astype("i1") if netcdf and dtype.kind == "b" else fill


def _batches(sizes: Any) -> Iterator[tuple[int, int]]:
    """Elements that are read at once."""
    first, held = 0, 0
    for number, size in enumerate(sizes.tolist()):
        if held and held + size > PIECE_BYTES:
            yield first, number
            first, held = number, 0
        held += size + 64
    yield first, len(sizes)


def _check_names(level: Level) -> None:
    """NetCDF has fewer names than scda."""
    parts = [level.path.rpartition("/")[2]] if level.path != "/" else []
    for name in [*parts, *(array.variable.name for array in level.arrays)]:
        if not (name[0].isalnum() or name[0] == "_" or ord(name[0]) > 127) or name.endswith(" "):
            raise ValueError(
                f"name {name!r}: found one that NetCDF has not; export to .h5, or leave it out (--without)"
            )
