"""scda files as HDF5 or NetCDF-4 files."""

from __future__ import annotations

import itertools
from typing import Any, Iterable, Iterator, Optional

import h5py
import numpy as np

from ._common import Path
from ._dataset import Dataset
from ._file import open
from ._hdf5 import NO_VARIABLE, PIECE_BYTES, RECORDS, Filters, write_attributes
from ._selection import pieces
from ._variables import Array, Level, Variable, levels
from ._zarr_arrays import raw_metadata

# Items of a chunk where each record is one item.
_SCALARS = 1024
# The names under which NetCDF's tools know complex numbers.
_COMPLEX = {"complex64": "_PFNC_FLOAT_COMPLEX_TYPE", "complex128": "_PFNC_DOUBLE_COMPLEX_TYPE"}


def export(path: Path, out: str, *, netcdf: bool, without: Iterable[str] = ()) -> int:
    """Writes the datasets of a file to a new HDF5 file.

    Args:
        path: the file.
        out: the new one.
        netcdf: whether it shall be a NetCDF-4 file: dimensions without coordinates have a place in it, and types that NetCDF
            has not are an error, or integers.
        without: patterns of names to leave out.

    Returns:
        The number of sections that are left out, because they belong to no dataset or group.
    """
    with open(path) as file, h5py.File(out, "w", track_order=True) as to:
        scales: dict[str, dict[str, h5py.Dataset]] = {}
        found = levels(file, lambda dataset: (dataset.dtype, dataset.shape, dataset._description.fill), without)
        for level in found:
            group = to if level.path == "/" else to.create_group(level.path, track_order=True)
            write_attributes(group, level.attrs, f"group {level.path!r}")
            if netcdf:
                _check_names(level)
            # Those of the groups around it, the nearest last.
            around = [each for path, each in scales.items() if path == "/" or level.path.startswith(f"{path}/")]
            outer = {name: scale for each in around for name, scale in each.items()}
            scales[level.path] = _write_level(group, level, outer, netcdf)
        names = file.keys()
        sections = 2 * sum(len(file.records(name)) for name in names)
        return len(file) - sections - 2 * len(file.find(b"scda group 00"))


def _write_level(group: Any, level: Level, outer: dict[str, h5py.Dataset], netcdf: bool) -> dict[str, h5py.Dataset]:
    """The arrays of a group, and its dimensions. Returns the scales of its coordinates by name."""
    made = []
    scales: dict[str, h5py.Dataset] = {}
    for array in level.arrays:
        variable = array.variable
        dataset = _create(group, level.path_of(variable.name), array, netcdf)
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
        elif netcdf:
            scales[dim] = _dimension(group, dim, n, any(v.has_records and v.dims[0] == dim for v, _ in made))
    for variable, dataset in made:
        for d, dim in enumerate(variable.dims):
            if dim in scales and variable.dims != (variable.name,):
                dataset.dims[d].attach_scale(scales[dim])
            elif dim not in scales and _is_named(variable, dim):
                dataset.dims[d].label = dim
    return coordinates


def _is_named(variable: Variable, dim: str) -> bool:
    """Whether the name is not one that stands for none."""
    return dim in variable.dataset.dims or variable.has_records and dim == variable.dims[0]


def _dimension(group: Any, name: str, size: int, is_unlimited: bool) -> h5py.Dataset:
    """A dimension without a variable of its name, as NetCDF-4 has it."""
    more = {"chunks": (_SCALARS,), "maxshape": (None,)} if is_unlimited and size else {}
    scale = group.create_dataset(name, (size,), ">f4", **more)
    scale.make_scale(f"{NO_VARIABLE} {size:10}")
    return scale


def _create(group: Any, path: str, array: Array, netcdf: bool) -> h5py.Dataset:
    variable, first = array.variable, array.datasets[0]
    metadata = raw_metadata(first)
    filters = Filters.of_codecs(metadata, first.dtype.itemsize) if first.chunks else None
    has_chunks = bool(variable.shape) and 0 not in variable.shape
    is_unlimited = variable.has_records and has_chunks
    chunks = _chunks(variable) if has_chunks and (first.chunks or is_unlimited) else None
    options: dict[str, Any] = {}
    if chunks is not None and first.chunks:
        level = first._description.level if filters is None else filters.level
        options["shuffle"] = first._description.shuffle if filters is None else filters.shuffle
        if level is not None:
            options.update(compression="gzip", compression_opts=level)
    endian = metadata["codecs"][0]
    endian = endian.get("configuration", {}).get("endian", "little") if isinstance(endian, dict) else "little"
    dtype = first.dtype.newbyteorder(">" if endian == "big" else "<")
    dataset = group.create_dataset(
        variable.name,
        variable.shape,
        _type(group.file, dtype, path) if netcdf else dtype,
        chunks=chunks,
        maxshape=(None, *variable.shape[1:]) if is_unlimited else None,
        fillvalue=_fill_value(first, dtype, netcdf),
        **options,
    )
    attrs = dict(variable.attrs)
    if netcdf and dtype.kind == "b":
        attrs.setdefault("dtype", "bool")  # as xarray writes them
    if netcdf and dtype.kind == "f" and first.fill_value != 0:
        attrs.setdefault("_FillValue", float(first.fill_value))
    write_attributes(dataset, attrs, f"dataset {path!r}", first.dtype)
    if variable.has_records:
        dataset.attrs[RECORDS] = np.int64(len(array.datasets))
    own = tuple(c for c in chunks or ())[1 if variable.has_records else 0 :]
    # NetCDF has one type for complex numbers, in one byte order.
    has_order = dtype.kind != "c" or dataset.dtype == dtype
    for record, each in enumerate(array.datasets):
        start = (record,) if variable.has_records else ()
        other = metadata if each is first else raw_metadata(each)
        is_same = (other["codecs"], other["chunk_grid"]) == (metadata["codecs"], metadata["chunk_grid"])
        if is_same and has_order and filters is not None and each.chunks == own and each.section.kind == "varray" and own:
            _copy_chunks(dataset, each, start)
        else:
            _write_items(dataset, each, start, netcdf)
    return dataset


def _chunks(variable: Variable) -> tuple[int, ...]:
    """The shape of a chunk, no larger than the array."""
    if variable.chunks is None:
        return variable.shape
    if len(variable.shape) == 1 and variable.has_records:
        return (_SCALARS,)
    chunks = [min(c, n) for c, n in zip(variable.chunks, variable.shape)]
    if variable.dataset.chunks is None:
        # Data in one piece: as many rows as are written at once, or parts of rows.
        for d in range(1, len(chunks)):
            row = variable.dataset.dtype.itemsize * int(np.prod(chunks[d + 1 :], dtype=object))
            chunks[d] = max(1, min(chunks[d], PIECE_BYTES // max(row, 1)))
    return tuple(chunks)


def _type(file: Any, dtype: np.dtype[Any], path: str) -> Any:
    """The type that NetCDF has."""
    if dtype.kind == "b":
        return np.dtype("i1")
    if dtype.kind == "c":
        name = _COMPLEX[dtype.name]
        if name not in file:
            file[name] = dtype
        return file[name]
    if dtype.kind == "V" or dtype.itemsize == 2 and dtype.kind == "f":
        what = f"raw bytes ({dtype})" if dtype.kind == "V" else "float16"
        raise ValueError(
            f"dataset {path!r}: found {what}, which NetCDF has not; export to .h5, or leave it out (--without)"
        )
    return dtype


def _fill_value(dataset: Dataset, dtype: np.dtype[Any], netcdf: bool) -> Any:
    fill = np.asarray(dataset.fill_value, dataset.dtype).astype(dtype)
    return fill.astype("i1") if netcdf and dtype.kind == "b" else fill


def _copy_chunks(to: h5py.Dataset, dataset: Dataset, start: tuple[int, ...]) -> None:
    """The chunks as they are."""
    assert dataset.chunks is not None
    section = dataset.section
    sizes = section.sizes()
    origins = itertools.product(*(range(0, n, c) for n, c in zip(dataset.shape, dataset.chunks)))
    for first, end in _batches(sizes):
        for data in section[first:end]:
            origin = next(origins)
            if data:  # else all items have the fill value
                to.id.write_direct_chunk((*start, *origin), data)


def _batches(sizes: Any) -> Iterator[tuple[int, int]]:
    """Elements that are read at once."""
    first, held = 0, 0
    for number, size in enumerate(sizes.tolist()):
        if held and held + size > PIECE_BYTES:
            yield first, number
            first, held = number, 0
        held += size + 64
    yield first, len(sizes)


def _write_items(to: h5py.Dataset, dataset: Dataset, start: tuple[int, ...], netcdf: bool) -> None:
    """The items, piece by piece."""
    for key in pieces(dataset.shape, dataset.chunks, dataset.dtype.itemsize):
        items = np.asarray(dataset[key])
        to[(*start, *key)] = items.view("i1") if netcdf and items.dtype.kind == "b" else items


def _check_names(level: Level) -> None:
    """NetCDF has fewer names than scda."""
    parts = [level.path.rpartition("/")[2]] if level.path != "/" else []
    for name in [*parts, *(array.variable.name for array in level.arrays)]:
        if not (name[0].isalnum() or name[0] == "_" or ord(name[0]) > 127) or name.endswith(" "):
            raise ValueError(
                f"name {name!r}: found one that NetCDF has not; export to .h5, or leave it out (--without)"
            )
