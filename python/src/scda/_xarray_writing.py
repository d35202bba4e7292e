"""Datasets of xarray, written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import numpy as np
from xarray import conventions

from ._attributes import JSON_NAMES, TYPES, described, json_names

if TYPE_CHECKING:
    from ._writer import Writer

# What `encoding` says of how chunks are compressed, by the names of `Writer.dataset`.
_BOUNDS = ("max_relative_error", "max_absolute_error")
_COMPRESSION = ("codec", "level", "shuffle", *_BOUNDS)
# The same as NetCDF calls it: whether chunks are compressed, and the level.
_OF_NETCDF = ("zlib", "compression", "complevel")
# What `Writer.dataset` takes for chunks alone.
_OF_CHUNKS = {"encode", "chunks", *_COMPRESSION}
# What xarray itself makes use of.
_CF: tuple[str, ...] = ("dtype", "_FillValue", "missing_value", "scale_factor", "add_offset")
_CF += ("units", "calendar", "coordinates", "grid_mapping")
# The dimension that records count in a new file.
_TIME = "time"
# The attributes with the bounds of rounding begin with this; then `encoding` has their names.
_OF_SCDA = "scda_"
_CHUNKS = ("chunks", "chunksizes", "preferred_chunks")


def write(w: Writer, ds: Any, group: str, encoding: Mapping[str, Mapping[str, Any]]) -> None:
    """As :meth:`scda.Writer.xarray`."""
    encoded, attrs = _encoded(ds, encoding)
    path = group.strip("/")
    if attrs or path and not encoded:
        w.group(path or "/", _attributes(attrs))
    for name, (variable, options) in encoded.items():
        w.dataset(_full(path, name), **_dataset(variable, variable.values, options))


class Stored(NamedTuple):
    """How the file has a variable."""

    # Whether its first dimension counts records.
    has_records: bool
    fill_value: Any


class Present(NamedTuple):
    """What a group of a file has."""

    ds: Any
    # Its own variables, without the coordinates of groups around it.
    variables: Mapping[str, Stored]


def write_along(
    w: Writer, ds: Any, dim: str, group: str, encoding: Mapping[str, Mapping[str, Any]], present: Optional[Present]
) -> None:
    """Writes what has a dimension behind what the file has of it: a record for each index where records count the dimension, as in a
    new file they count `time`; otherwise rows of the dataset. What has not this dimension is written once.

    Args:
        present: what the group of the file has already; None: nothing.
    """
    if dim not in ds.dims:
        raise ValueError(f"append_dim: the dataset has no dimension {dim!r}")
    for name, variable in ds.variables.items():
        if dim in variable.dims[1:]:
            raise ValueError(f"append_dim: found {dim!r} in {variable.dims} of {name!r}, expected it as the first dimension")
    old = None if present is None else present.ds
    if dim == _TIME and dim not in ds.variables and (old is None or dim in old.variables):
        ds = ds.assign_coords({dim: np.arange(ds.sizes[dim]) + (0 if old is None else old.sizes[dim])})
    new = _with_alike_attributes(ds if present is None else _without_those_of(present, ds, dim, encoding), dim, old, encoding)
    encoded, attrs = _encoded(new, encoding, old)
    along = {name: each for name, each in encoded.items() if dim in each[0].dims}
    if present is not None:
        _expect_alike(present, dim, new, along)
        for name, (_, options) in along.items():
            options["fill_value"] = present.variables[name].fill_value
    path = group.strip("/")
    if attrs and (old is None or _attributes(old.attrs) != _attributes(attrs)):
        w.group(path or "/", _attributes(attrs))
    for name, (variable, options) in encoded.items():
        if name not in along:
            w.dataset(_full(path, name), **_dataset(variable, variable.values, options))
    records = {name for name in along if (dim == _TIME if present is None else present.variables[name].has_records)}
    for name, (variable, options) in along.items():
        if name not in records:
            whole = _dataset(variable, variable.values, options)
            if present is not None:
                whole.update(attrs=None, dims=None, extends=True)
            w.dataset(_full(path, name), **whole)
    if records:
        steps = {name: each for name, each in along.items() if name in records}
        # A step begins with its time.
        _write_steps(w, path, {**{name: steps[name] for name in [dim] if name in steps}, **steps}, ds.sizes[dim])


def _write_steps(w: Writer, path: str, steps: Mapping[str, tuple[Any, dict[str, Any]]], count: int) -> None:
    """Writes records: the variables at each index of their first dimension."""
    for number in range(count):
        parts = {name: variable[number] for name, (variable, _) in steps.items()}
        # Those of dask are computed together, on all cores.
        items = _computed([part.data for part in parts.values()])
        found = {
            _full(path, name): _dataset(part, item, _of_record(steps[name][1]))
            for (name, part), item in zip(parts.items(), items)
        }
        of_any_length = {name: found.pop(name) for name in [*found] if found[name]["data"].dtype.hasobject}
        w.datasets(found)
        for name, options in of_any_length.items():
            w.dataset(name, **options)


def _computed(arrays: list[Any]) -> list[Any]:
    if any(hasattr(array, "__dask_graph__") for array in arrays):
        from dask.base import compute

        arrays = list(compute(*arrays))
    return [np.asarray(array) for array in arrays]


def _full(path: str, name: Any) -> str:
    return f"{path}/{name}" if path else str(name)


def _dataset(variable: Any, items: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `Writer.dataset`."""
    attributes = {key: value for key, value in variable.attrs.items() if not _says_nothing(key, value)}
    dims = [str(dim) for dim in variable.dims] or None
    if items.dtype.hasobject:
        items = _texts(items)
    return {"data": items, "attrs": _attributes(attributes, variable.dtype), "dims": dims, **options}


def _texts(items: Any) -> Any:
    """Texts, or bytes, with an empty one for what is missing, as xarray writes it to NetCDF."""
    flat = items.reshape(-1).tolist()
    empty: Any = next((type(each)() for each in flat if isinstance(each, (str, bytes))), None)
    if empty is None:
        return items
    made = np.empty(len(flat), object)
    made[:] = [empty if each is None or isinstance(each, float) and each != each else each for each in flat]
    return made.reshape(items.shape)


def _of_record(options: dict[str, Any]) -> dict[str, Any]:
    """Those of a record, by those of all records."""
    if options.get("chunks") is None:
        return options
    chunks = options["chunks"][1:]
    if chunks:
        return {**options, "chunks": chunks}
    return {name: value for name, value in options.items() if name not in _OF_CHUNKS}


def _without_those_of(present: Present, ds: Any, dim: str, encoding: Mapping[str, Mapping[str, Any]]) -> Any:
    """What is to be written of a dataset behind another one: without what that has, which must be the same."""
    old = present.ds
    given = sorted(set(encoding) & set(old.variables))
    if given:
        raise ValueError(f"encoding: found {given[0]!r}, which the file has: it stays encoded as it is there")
    along = {name for name, variable in ds.variables.items() if dim in variable.dims}
    for name, variable in old.variables.items():
        if dim in variable.dims[1:]:
            raise ValueError(
                f"append_dim: found {dim!r} in {variable.dims} of {name!r} in the file, expected it as the first dimension"
            )
    names = {name for name, variable in old.variables.items() if dim in variable.dims}
    if old.sizes.get(dim) == 1:
        # In a file of one step, all have the dimension that records count.
        records = {name for name, variable in present.variables.items() if variable.has_records}
        single = names & records & (set(ds.variables) - along)
        old, names = old.assign({name: old[name].variable[0] for name in single}), names - single
    others = names ^ along
    if others:
        raise ValueError(f"append_dim: found {sorted(others)[0]!r} either in the file or in the dataset, expected both")
    around = names - set(present.variables)
    if around:
        raise ValueError(f"append_dim: found {sorted(around)[0]!r} in a group around the one that is appended to")
    same = [name for name in ds.variables if name in old.variables and name not in names]
    for name in same:
        if not ds[name].variable.equals(old[name].variable):
            raise ValueError(f"append_dim: {name!r} differs from that in the file, and has no dimension {dim!r}")
    return ds.drop_vars(same)


def _with_alike_attributes(ds: Any, dim: str, old: Any, encoding: Mapping[str, Mapping[str, Any]]) -> Any:
    """Parts whose attributes will be those of the parts before and after them: others are none of all steps, and rows have none."""
    ds = ds.copy(deep=False)
    for name, variable in ds.variables.items():
        if old is not None and name in old.variables:
            variable.encoding = {**variable.encoding, "coordinates": old[name].encoding.get("coordinates")}
        elif dim in variable.dims and "units" not in {**variable.encoding, **encoding.get(name, {})}:
            # The days, hours or minutes that xarray chooses for these times are too coarse for later ones.
            unit, since, begin = conventions.encode_cf_variable(variable, name=name).attrs.get("units", "").partition(" since ")
            if since and unit in ("days", "hours", "minutes"):
                variable.encoding = {**variable.encoding, "units": f"seconds since {begin}"}
    return ds


def _expect_alike(present: Present, dim: str, new: Any, along: Mapping[str, tuple[Any, dict[str, Any]]]) -> None:
    for name, (variable, _) in along.items():
        old = present.ds[name]
        given = new[name].dtype
        if given.kind != old.dtype.kind or given.kind not in "mM" and not np.can_cast(given, old.dtype):
            # They would be rounded.
            raise ValueError(f"append_dim: {name!r}: found {given}, expected {old.dtype}, as in the file")
        if variable.dims != old.dims:
            raise ValueError(f"append_dim: {name!r}: found the dimensions {variable.dims}, expected {old.dims}, as in the file")
        stored = old.encoding["dtype"], old.shape[1:]
        if (variable.dtype, variable.shape[1:]) != stored:
            raise ValueError(
                f"append_dim: {name!r}: found {variable.dtype} {variable.shape[1:]} at an index of {dim!r}, expected {stored[0]} "
                f"{stored[1]}, as in the file"
            )


def _encoded(
    ds: Any, encoding: Mapping[str, Mapping[str, Any]], old: Any = None
) -> tuple[dict[Any, tuple[Any, dict[str, Any]]], Mapping[Any, Any]]:
    """The variables by the CF conventions, each with arguments of `Writer.dataset`; and the attributes.

    Args:
        old: a dataset whose variables are encoded in the same way.
    """
    others = sorted(set(encoding) - set(ds.variables))
    if others:
        raise ValueError(f"encoding: found {others[0]!r}, which is no variable of the dataset")
    within = sorted(str(name) for name in ds.variables if "/" in str(name))
    if within:
        raise ValueError(f"found the variable {within[0]!r}, expected a name without slashes: group= or a DataTree writes to a group")
    variables, attrs = conventions.encode_dataset_coordinates(ds)
    encoded = {}
    for name, variable in variables.items():
        given = dict(encoding.get(name, {}))
        unknown = sorted(set(given) - {*_COMPRESSION, *_OF_NETCDF, *_CF, *_CHUNKS})
        if unknown:
            expected = ", ".join((*_COMPRESSION, *_OF_NETCDF, *_CHUNKS, *_CF))
            raise ValueError(f"encoding of {name!r}: found {unknown[0]!r}, expected one of {expected}")
        variable = variable.copy(deep=False)
        own = variable.encoding if old is None or name not in old.variables else old[name].encoding
        variable.encoding = {**own, **given}
        if "complevel" in given:
            variable.encoding.setdefault("level", given["complevel"])
        options = _options(variable)
        native = np.dtype(variable.encoding.get("dtype") or object)
        if native.kind in "mM" and native.kind == variable.dtype.kind:
            variable = _as_native_times(name, variable, native)
        elif variable.dtype.kind != "b":  # which NetCDF has not
            # Without it, floating-point numbers would get NaN for one.
            variable.encoding.setdefault("_FillValue", None)
            variable = conventions.encode_cf_variable(variable, name=name)
        if old is not None and name in old.variables:
            if "units" in own:
                variable.attrs["units"] = _units_of_file(name, old[name].variable, variable)
            stored = np.dtype(own["dtype"])
            if stored.kind in "US" and stored.kind == variable.dtype.kind and variable.dtype.itemsize < stored.itemsize:
                variable = variable.astype(stored, keep_attrs=True)
            if options:
                bounds = {bound: old[name].attrs.get(_OF_SCDA + bound) for bound in _BOUNDS}
                options.update({bound: float(most) for bound, most in bounds.items() if most is not None})
        encoded[name] = variable, options
    return encoded, attrs


def _as_native_times(name: Any, variable: Any, dtype: np.dtype[Any]) -> Any:
    """Times of the type that the file has for them, without units in an attribute."""
    made = variable.astype(dtype, keep_attrs=True)
    if not made.astype(variable.dtype).equals(variable):
        raise ValueError(f"{name!r}: found times that {dtype} has not, which the encoding says")
    return made


def _units_of_file(name: Any, old: Any, encoded: Any) -> str:
    """The units of times in the file, of which xarray has made another text: attributes that differ are none of all steps."""
    same = conventions.encode_cf_variable(old[:1] if old.dims else old, name=name).attrs["units"]
    if encoded.attrs["units"] != same:
        raise ValueError(
            f"append_dim: {name!r}: found times that need {encoded.attrs['units']!r}, expected {old.encoding['units']!r}, as in "
            "the file; encoding= of the first steps can choose finer units"
        )
    return str(old.encoding["units"])


def _options(variable: Any) -> dict[str, Any]:
    """Arguments of `Writer.dataset`, by the encoding of a variable, which may be that of another file."""
    encoding = variable.encoding
    options = {name: encoding[name] for name in _COMPRESSION if encoding.get(name) is not None}
    if "codec" not in options:
        # Of a NetCDF file that is not compressed, which has the name, too.
        options.pop("shuffle", None)
    chunks = _chunks(variable)
    is_compressed = bool(options) or chunks is not None or any(encoding.get(name) for name in ("zlib", "compression"))
    if variable.shape and is_compressed:
        return {"encode": True, "chunks": chunks, **options}
    return {}


def _chunks(variable: Any) -> Optional[tuple[int, ...]]:
    encoding = variable.encoding
    found = encoding.get("chunks") or encoding.get("chunksizes")
    if found is None and encoding.get("preferred_chunks"):
        found = tuple(encoding["preferred_chunks"].get(dim, n) for dim, n in zip(variable.dims, variable.shape))
    # Those of an array of another shape are of no use.
    if not found or len(found) != len(variable.shape):
        return None
    return tuple(max(1, min(int(c), n)) for c, n in zip(found, variable.shape))


def _says_nothing(name: Any, value: Any) -> bool:
    """Whether it is no value, or says that NaN stands for NaN."""
    return value is None or name in ("_FillValue", "missing_value") and np.ndim(value) == 0 and bool(value != value)


def _attributes(attrs: Mapping[Any, Any], dtype: Optional[np.dtype[Any]] = None) -> dict[str, Any]:
    """Attributes, with those that stand in JSON because NetCDF has them not; of numpy's numbers the types, too.

    Args:
        dtype: the type of the data that they belong to.
    """
    found = {str(name): value for name, value in attrs.items()}
    numbers = {name: value for name, value in found.items() if isinstance(value, (np.ndarray, np.generic, float))}
    made, _ = described(numbers, dtype, netcdf=False)
    types = made.pop(TYPES, {})
    found.update(made)
    for name in json_names(found.pop(JSON_NAMES, None)):
        if isinstance(found.get(name), str):
            found[name] = json.loads(found[name])
    return {**found, TYPES: types} if types else found
