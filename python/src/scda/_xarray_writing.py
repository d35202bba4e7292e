"""Writes datasets of xarray."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import numpy as np
from xarray import DataArray, Variable, conventions

from ._attributes import JSON_NAMES, described, json_names
from ._description import TYPES
from ._variables import STATIC, TIME

if TYPE_CHECKING:
    from ._writer import Writer

# Settings of `encoding` for the compression of chunks, with the names of `Writer.dataset`.
_BOUNDS = ("max_relative_error", "max_absolute_error")
_COMPRESSION = ("codec", "level", "shuffle", *_BOUNDS)
# NetCDF's settings for whether chunks are compressed, and for the level.
_OF_NETCDF = ("zlib", "compression", "complevel")
# Arguments of `Writer.dataset` that apply to chunked datasets only.
_OF_CHUNKS = {"encode", "chunks", *_COMPRESSION}
# Settings that xarray itself uses.
_CF: tuple[str, ...] = ("dtype", "_FillValue", "missing_value", "scale_factor", "add_offset")
_CF += ("units", "calendar", "coordinates", "grid_mapping")
# The prefix of the attributes with the bounds of rounding; `encoding` has their names without it.
_OF_SCDA = "scda_"
_CHUNKS = ("chunks", "chunksizes")
# Attributes that bounds of times share with the times; CF wants only the times to have them.
_OF_BOUNDS = ("units", "standard_name", "axis", "positive", "calendar", "long_name", "leap_month", "leap_year", "month_lengths")
_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
# Different names of the same calendar.
_CALENDARS = {"gregorian": "standard", "365_day": "noleap", "366_day": "all_leap"}
# From this day on, 1582-10-15, these two calendars agree. xarray decodes no empty arrays of other calendars.
_REFORM = 15821015
_GREGORIAN = ("standard", "proleptic_gregorian")


def write(w: Writer, ds: Any, group: str, encoding: Mapping[str, Mapping[str, Any]], is_series: bool = False) -> None:
    """Implements :meth:`scda.Writer.xarray`.

    Args:
        is_series: true if the group has a series of records to which these variables do not belong.
    """
    encoded, attrs = _encoded(ds, encoding)
    path = group.strip("/")
    if attrs or path and not encoded:
        w.group(path or "/", attributes_of(attrs))
    for name, (variable, options) in encoded.items():
        if is_series or name == TIME and not variable.dims:
            variable.attrs[STATIC] = True
        w.dataset(_full(path, name), **_dataset(name, variable, variable.values, options))


class Stored(NamedTuple):
    """How a variable is stored in the file."""

    # True if its first dimension counts records.
    has_records: bool
    fill_value: Any


class Present(NamedTuple):
    """The present content of a group of a file."""

    ds: Any
    # The group's own variables, without coordinates of enclosing groups.
    variables: Mapping[str, Stored]
    # The size of each dimension in the file.
    sizes: Mapping[str, int]


def write_along(
    w: Writer, ds: Any, dim: str, group: str, encoding: Mapping[str, Mapping[str, Any]], present: Optional[Present]
) -> None:
    """Appends variables with the dimension `dim` to those in the file: as one record for each index if records count
    the dimension, as they count `time` in a new file; otherwise as rows of the dataset. Other variables are written
    once.

    Args:
        present: the present content of the group; None: nothing.
    """
    if dim not in ds.dims:
        raise ValueError(f"append_dim: the dataset has no dimension {dim!r}")
    for name, variable in ds.variables.items():
        if dim in variable.dims[1:]:
            raise ValueError(f"append_dim: found {dim!r} in {variable.dims} of {name!r}, expected it as the first dimension")
    old = None if present is None else present.ds
    if dim == TIME and dim not in ds.variables and (old is None or dim in old.variables):
        ds = ds.assign_coords({dim: np.arange(ds.sizes[dim]) + (0 if present is None else present.sizes[dim])})
    new = _with_alike_attributes(ds if present is None else _without_those_of(present, ds, dim, encoding), dim, old, encoding)
    encoded, attrs = _encoded(new, encoding, old, dim)
    along = {name: each for name, each in encoded.items() if dim in each[0].dims}
    if present is not None:
        _expect_alike(present, dim, new, along)
        for name, (_, options) in along.items():
            options["fill_value"] = present.variables[name].fill_value
    path = group.strip("/")
    if attrs and (old is None or attributes_of(old.attrs) != attributes_of(attrs)):
        w.group(path or "/", attributes_of(attrs))
    # A template without steps has no records that could tell how it grows: its steps are rows.
    is_series = dim == TIME and ds.sizes[dim] > 0
    records = {name for name in along if (is_series if present is None else present.variables[name].has_records)}
    for name, (variable, options) in encoded.items():
        if name not in along:
            if records or name == TIME and not variable.dims:
                variable.attrs[STATIC] = True
            w.dataset(_full(path, name), **_dataset(name, variable, variable.values, options))
    for name, (variable, options) in along.items():
        if name not in records:
            whole = _dataset(name, variable, variable.values, options)
            if present is not None:
                whole.update(attrs=None, dims=None, extends=True)
            w.dataset(_full(path, name), **whole)
    if records:
        steps = {name: each for name, each in along.items() if name in records}
        # Each step begins with its time.
        _write_steps(w, path, {**{name: steps[name] for name in [dim] if name in steps}, **steps}, ds.sizes[dim])


def _write_steps(w: Writer, path: str, steps: Mapping[str, tuple[Any, dict[str, Any]]], count: int) -> None:
    """Writes the variables at each index of their first dimension as a record."""
    for number in range(count):
        parts = {name: variable[number] for name, (variable, _) in steps.items()}
        # Computes variables of dask together, on all cores.
        items = _computed([part.data for part in parts.values()])
        found = {
            _full(path, name): _dataset(name, part, item, _of_record(steps[name][1]))
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


def _dataset(name: Any, variable: Any, items: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `Writer.dataset`."""
    attributes = {key: value for key, value in variable.attrs.items() if not _says_nothing(key, value)}
    dims = [str(dim) for dim in variable.dims] or None
    if items.dtype.hasobject:
        _expect_no_missing(name, items)
    return {"data": items, "attrs": attributes_of(attributes, variable.dtype), "dims": dims, **options}


def _expect_no_missing(name: Any, items: Any) -> None:
    """Raises a ValueError for missing values among texts or bytes."""
    flat = items.reshape(-1).tolist()
    if any(isinstance(each, (str, bytes)) for each in flat):
        for number, each in enumerate(flat):
            if each is None or each != each:
                index = tuple(map(int, np.unravel_index(number, items.shape)))
                raise ValueError(
                    f"{name!r}: found {each!r} among texts, at the index {index}, expected no missing values: fillna('') makes texts of "
                    f"them, encoding={{{name!r}: {{'_FillValue': 'missing'}}}} says which text stands for them in a new file"
                )


def _of_record(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a record, given those of all records."""
    if options.get("chunks") is None:
        return options
    chunks = options["chunks"][1:]
    if chunks:
        return {**options, "chunks": chunks}
    return {name: value for name, value in options.items() if name not in _OF_CHUNKS}


def _without_those_of(present: Present, ds: Any, dim: str, encoding: Mapping[str, Mapping[str, Any]]) -> Any:
    """The variables to append: without those that the file has and that do not grow, which must be equal."""
    old = present.ds
    given = sorted(set(encoding) & set(old.variables))
    if given:
        raise ValueError(f"encoding: found {given[0]!r}, which is in the file already and keeps its encoding")
    along = {name for name, variable in ds.variables.items() if dim in variable.dims}
    for name, variable in old.variables.items():
        if dim in variable.dims[1:]:
            raise ValueError(
                f"append_dim: found {dim!r} in {variable.dims} of {name!r} in the file, expected it as the first dimension"
            )
    names = {name for name, variable in old.variables.items() if dim in variable.dims}
    if present.sizes.get(dim) == 1:
        # In a file with one step, all of these have the dimension that counts records.
        records = {name for name, variable in present.variables.items() if variable.has_records}
        single = names & records & (set(ds.variables) - along)
        old, names = old.assign({name: old[name].variable[0] for name in single}), names - single
    others = names ^ along
    if others:
        raise ValueError(f"append_dim: found {sorted(others)[0]!r} only in the file or only in the dataset, expected it in both")
    around = names - set(present.variables)
    if around:
        raise ValueError(f"append_dim: found {sorted(around)[0]!r} in a group that contains the one appended to")
    same = [name for name in ds.variables if name in old.variables and name not in names]
    for name in same:
        if not ds[name].variable.equals(old[name].variable):
            raise ValueError(f"append_dim: {name!r} differs from the one in the file, and does not have the dimension {dim!r}")
    return ds.drop_vars(same)


def _with_alike_attributes(ds: Any, dim: str, old: Any, encoding: Mapping[str, Mapping[str, Any]]) -> Any:
    """Parts whose attributes equal those of earlier and later parts: attributes of all steps must agree, and rows have
    none."""
    ds = ds.copy(deep=False)
    bounds = {ds[name].attrs.get("bounds") for name in ds.variables}  # they take the attributes of their times
    for name, variable in ds.variables.items():
        if old is not None and name in old.variables:
            variable.encoding = {**variable.encoding, "coordinates": old[name].encoding.get("coordinates")}
        elif dim in variable.dims and "units" not in {**variable.encoding, **encoding.get(name, {})} and name not in bounds:
            # The days, hours or minutes that xarray would choose for these times may be too coarse for later ones.
            encoded = conventions.encode_cf_variable(variable, name=name) if variable.dtype.kind in "mMO" else variable
            unit, _, begin = encoded.attrs.get("units", "").partition(" since ")
            if unit in ("days", "hours", "minutes") and (begin or variable.dtype.kind == "m"):
                variable.encoding = {**variable.encoding, "units": f"seconds since {begin}" if begin else "seconds"}
    return ds


def _expect_alike(present: Present, dim: str, new: Any, along: Mapping[str, tuple[Any, dict[str, Any]]]) -> None:
    for name, (variable, _) in along.items():
        old = present.ds[name]
        given, stored = new[name].dtype, (old.encoding["dtype"], old.shape[1:])
        if stored[0] == object and given.kind in "MO" and (calendar := _calendar(new[name].variable)) is not None:
            raise ValueError(
                f"append_dim: {name!r}: found dates of the calendar {calendar!r}, expected texts, as in the file; a template without "
                "steps has the type of dates only if they are datetime64"
            )
        # Dates (also as other objects of xarray), packed numbers, and texts of any length become comparable when
        # encoded.
        is_encoded = "units" in old.encoding and _calendar(new[name].variable) is not None or given.kind in "US" and old.dtype == object
        is_encoded |= given.kind == old.dtype.kind == "f" and stored[0].kind in "iu"
        if not is_encoded and (given.kind != old.dtype.kind or given.kind not in "mM" and not np.can_cast(given, old.dtype)):
            # The values would be rounded.
            raise ValueError(f"append_dim: {name!r}: found {given}, expected {old.dtype}, as in the file{_hint_of_texts(name, old)}")
        if variable.dims != old.dims:
            raise ValueError(f"append_dim: {name!r}: found the dimensions {variable.dims}, expected {old.dims}, as in the file")
        if (variable.dtype, variable.shape[1:]) != stored:
            raise ValueError(
                f"append_dim: {name!r}: found {variable.dtype} {variable.shape[1:]} at an index of {dim!r}, expected {stored[0]} "
                f"{stored[1]}, as in the file{_hint_of_texts(name, old)}"
            )


def _hint_of_texts(name: Any, old: Any) -> str:
    if np.dtype(old.encoding["dtype"]).kind not in "US":
        return ""
    return f"; encoding={{{name!r}: {{'dtype': str}}}} of the first ones makes texts of any length"


def _encoded(
    ds: Any, encoding: Mapping[str, Mapping[str, Any]], old: Any = None, along: Optional[str] = None
) -> tuple[dict[Any, tuple[Any, dict[str, Any]]], Mapping[Any, Any]]:
    """Encodes the variables by the CF conventions: each with arguments of `Writer.dataset`; and the attributes.

    Args:
        old: a dataset whose variables are encoded in the same way.
        along: the dimension along which more may be appended.
    """
    others = sorted(set(encoding) - set(ds.variables))
    if others:
        raise ValueError(f"encoding: found {others[0]!r}, which is not a variable of the dataset")
    within = sorted(str(name) for name in ds.variables if "/" in str(name))
    if within:
        raise ValueError(f"found the variable {within[0]!r}, expected a name without slashes: group= or a DataTree writes to a group")
    variables, attrs = conventions.encode_dataset_coordinates(ds)
    bounds = {variable.attrs.get("bounds"): name for name, variable in variables.items() if "bounds" in variable.attrs}
    bounds = {name: of for name, of in bounds.items() if name in variables and name != of}
    encoded: dict[Any, tuple[Any, dict[str, Any]]] = {}
    for name in sorted(variables, key=lambda name: name in bounds):  # bounds follow their variables
        variable, given = variables[name], dict(encoding.get(name, {}))
        unknown = sorted(set(given) - {*_COMPRESSION, *_OF_NETCDF, *_CF, *_CHUNKS})
        if unknown:
            expected = ", ".join((*_COMPRESSION, *_OF_NETCDF, *_CHUNKS, *_CF))
            raise ValueError(f"encoding of {name!r}: found {unknown[0]!r}, expected one of {expected}")
        variable = variable.copy(deep=False)
        is_present = old is not None and name in old.variables
        own = old[name].encoding if is_present else variable.encoding
        variable.encoding = {**own, **given}
        if "complevel" in given:
            variable.encoding.setdefault("level", given["complevel"])
        options = _options(variable)
        native = np.dtype(variable.encoding.get("dtype") or object)
        if variable.dtype.kind in "US" and (native.kind in "US" and not native.itemsize or native == object and along in variable.dims):
            variable = variable.astype(object, keep_attrs=True)  # texts of any length
            variable.encoding.pop("dtype", None)
        if name in bounds and _calendar(variable) is not None:
            times = encoded[bounds[name]][0].attrs
            for key in ("units", "calendar"):
                if times.get(key) is not None and key not in variable.attrs:
                    variable.encoding.setdefault(key, times[key])
        if not variable.dims and "units" not in variable.encoding and native.kind not in "mM":
            variable = _with_one_unit(variable)
        if variable.dtype == object and not variable.size and "units" in variable.encoding:
            # A template: its items are dates, though no item shows it.
            calendar = variable.encoding.get("calendar") or "standard"
            if _CALENDARS.get(calendar, calendar) not in _GREGORIAN:
                raise ValueError(f"{name!r}: found no date of the calendar {calendar!r}, expected at least one: xarray cannot read an array without dates")
            made = {key: variable.encoding[key] for key in ("units", "calendar") if variable.encoding.get(key) is not None}
            variable = variable.copy(data=np.empty(variable.shape, np.dtype(variable.encoding.get("dtype") or "i8")))
            variable.attrs = {**variable.attrs, **made}
        elif native.kind in "mM" and native.kind == variable.dtype.kind:
            variable = _as_native_times(name, variable, native)
        elif variable.dtype.kind != "b":  # NetCDF has no bools
            _use_calendar(name, variable, is_fixed=is_present or "calendar" in given)
            _expect_room(name, variable)
            # Without this, xarray would give floating-point numbers a fill value of NaN.
            variable.encoding.setdefault("_FillValue", None)
            times = variable
            variable = conventions.encode_cf_variable(variable, name=name)
            _expect_all_times(name, times, variable)
        if is_present:
            if "units" in own:
                variable.attrs["units"] = _units_of_file(name, old[name].variable, variable)
            stored = np.dtype(own["dtype"])
            if stored.kind in "US" and stored.kind == variable.dtype.kind and variable.dtype.itemsize < stored.itemsize:
                variable = variable.astype(stored, keep_attrs=True)
            if options:
                most = {bound: old[name].attrs.get(_OF_SCDA + bound) for bound in _BOUNDS}
                options.update({bound: float(error) for bound, error in most.items() if error is not None})
        encoded[name] = variable, options
    for name, of in bounds.items():
        attributes, theirs = encoded[name][0].attrs, encoded[of][0].attrs
        if "since" in str(theirs.get("units")):
            if attributes.get("units") == _cleaned(theirs["units"]):
                attributes["units"] = theirs["units"]
            for key in _OF_BOUNDS:
                if key in attributes and attributes[key] == theirs.get(key) and key not in variables[name].attrs:
                    del attributes[key]
    return {name: encoded[name] for name in variables}, attrs


def _cleaned(units: str) -> str:
    """Units of times as xarray writes them, which omits midnight."""
    return str(conventions.encode_cf_variable(Variable((), np.datetime64("2000-01-01", "ns"), encoding={"units": units})).attrs["units"])


def _expect_all_times(name: Any, times: Any, encoded: Any) -> None:
    """Raises a ValueError for times that became NaT, as in some units do those that do not fit in 64-bit
    nanoseconds."""
    if times.dtype.kind in "mM" and encoded.dtype.kind == "i" and not hasattr(times.data, "__dask_graph__"):
        lost = (encoded.values == np.iinfo(encoded.dtype).min) & ~np.isnat(times.values)
        if lost.any():
            units = encoded.attrs.get("units")
            raise ValueError(f"{name!r}: found {times.values[lost][0]}, which xarray cannot write as {units!r}; encoding= can choose other units")


def _with_one_unit(variable: Any) -> Any:
    """A single time, in units that do not depend on it, because the next one may be the next record of its name."""
    kind = variable.dtype.kind
    if kind not in "mM" and _calendar(variable) is None:
        return variable
    if kind == "m":  # in units finer than the type's, xarray would make NaT
        return variable._replace(encoding={**variable.encoding, "units": _UNITS[np.datetime_data(variable.dtype)[0]]})
    is_fine = kind == "M" and np.datetime_data(variable.dtype)[0] == "ns"
    unit = "nanoseconds" if is_fine else "microseconds"
    if kind != "M":
        return variable._replace(encoding={**variable.encoding, "units": f"{unit} since 1970-01-01"})
    # Uses numpy, because xarray makes dates before 1677 NaT.
    encoding = {name: value for name, value in variable.encoding.items() if name not in ("calendar", "dtype")}
    attrs = {**variable.attrs, "units": f"{unit} since 1970-01-01", "calendar": "proleptic_gregorian"}
    return variable._replace(data=variable.values.astype("M8[ns]" if is_fine else "M8[us]").astype(np.int64), attrs=attrs, encoding=encoding)


def _calendar(variable: Any) -> Optional[str]:
    """The calendar of dates; None if the items are no dates, or if there are none that could tell."""
    if variable.dtype.kind not in "MO" or not variable.size:
        return None
    try:
        found = str(DataArray(variable).dt.calendar)
    except (AttributeError, TypeError, ValueError):
        return None
    return _CALENDARS.get(found, found)


def _use_calendar(name: Any, variable: Any, *, is_fixed: bool) -> None:
    """Handles dates in a calendar other than that of the encoding, in which they would become other dates, or none.

    Args:
        is_fixed: true if the calendar is that of a file, or was asked for; otherwise, the calendar of the dates
            replaces it.
    """
    own, found = _calendar(variable), variable.encoding.get("calendar")
    expected = _CALENDARS.get(str(found), found)
    if own is None or expected is None or own == expected:
        return
    if {own, expected} == {*_GREGORIAN}:
        when = DataArray(variable).dt
        if np.nanmin(10000 * when.year + 100 * when.month + when.day) >= _REFORM:
            return
    if is_fixed:
        raise ValueError(
            f"{name!r}: found dates of the calendar {own!r}, expected {found!r}, as in the file or in encoding=; convert_calendar "
            "of xarray converts them"
        )
    variable.encoding = {key: value for key, value in variable.encoding.items() if key not in ("calendar", "units")}


class _Room(NamedTuple):
    """What numbers must fit into: a type, a packing, and whether there is a value for missing ones."""

    name: Any
    dims: tuple[Any, ...]
    dtype: np.dtype[Any]
    scale: float
    offset: float
    fills: tuple[Any, ...]
    is_packed: bool

    def expect(self, items: Any, start: Iterable[int]) -> None:
        """Raises a ValueError for the first number that does not fit."""
        with np.errstate(all="ignore"):
            is_missing = np.isnan(items) if items.dtype.kind == "f" else np.zeros(items.shape, bool)
            if self.dtype.kind == "f":
                odd = np.isinf(items.astype(self.dtype)) & np.isfinite(items)
            else:
                exact = items.dtype.kind in "iu" and not self.is_packed
                packed = items if exact else np.around((items.astype("f8") - self.offset) / self.scale)
                info = np.iinfo(self.dtype)
                if exact:
                    odd = (packed < info.min) | (packed > info.max)
                else:  # compares with exact floating-point numbers
                    odd = ~((packed >= float(info.min)) & (packed < 2.0 ** (info.bits - (self.dtype.kind == "i"))))
                if self.is_packed:
                    odd |= np.isin(packed, self.fills)
                odd = np.where(is_missing, not self.fills, odd)
        if odd.any():
            first = tuple(np.argwhere(odd)[0].tolist())
            index = ", ".join(f"{dim}={at + n}" for dim, at, n in zip(self.dims, start, first))
            how = f" with scale_factor={self.scale:g} and add_offset={self.offset:g}" if self.is_packed else ""
            but = f" ({self.fills[0]} stands for what is missing)" if self.fills else "" if self.dtype.kind == "f" else " (there is no _FillValue)"
            raise ValueError(
                f"{self.name!r}: found {items[first].item()!r} at ({index}), which {self.dtype}{how} cannot hold{but}; encoding= of a new file "
                "can choose another type"
            )


def _expect_room(name: Any, variable: Any) -> None:
    """Raises a ValueError for the first number that the encoding would change; for dask, when it is computed."""
    encoding = variable.encoding
    dtype = np.dtype(encoding.get("dtype") or variable.dtype)
    if variable.dtype.kind not in "iuf" or dtype.kind not in "iuf" or dtype == variable.dtype and dtype.kind == "f":
        return
    unsigned = str(encoding.get("_Unsigned", variable.attrs.get("_Unsigned"))).lower()
    if unsigned in ("true", "false") and dtype.kind in "iu":
        dtype = np.dtype(f"{'u' if unsigned == 'true' else 'i'}{dtype.itemsize}")
    scale, offset = encoding.get("scale_factor"), encoding.get("add_offset")
    is_packed = scale is not None or offset is not None
    if dtype.kind == "f" and (is_packed or dtype.itemsize >= variable.dtype.itemsize) or dtype == variable.dtype and not is_packed:
        return
    fills = [encoding[key] for key in ("_FillValue", "missing_value") if encoding.get(key) is not None]
    fills = [each for each in np.ravel(fills).tolist() if each == each]
    room = _Room(name, variable.dims, dtype, *(float(1 if scale is None else scale), float(offset or 0)), tuple(fills), is_packed)
    data = variable.data
    if hasattr(data, "__dask_graph__"):
        data = data.map_blocks(partial(_with_room, room=room), dtype=data.dtype, meta=data._meta)
    else:
        room.expect(np.asarray(data), [0] * variable.ndim)
    variable.data = data


def _with_room(items: Any, room: _Room, block_info: Any = None) -> Any:
    """Checks a block of dask and returns it unchanged."""
    if block_info:
        room.expect(np.asarray(items), [start for start, _ in block_info[0]["array-location"]])
    return items


def _as_native_times(name: Any, variable: Any, dtype: np.dtype[Any]) -> Any:
    """Times of the type that they have in the file, without units in an attribute."""
    made = variable.astype(dtype, keep_attrs=True)
    if not made.astype(variable.dtype).equals(variable):
        raise ValueError(f"{name!r}: found times that cannot be stored as {dtype}, which the encoding requests")
    return made


def _units_of_file(name: Any, old: Any, encoded: Any) -> str:
    """The units of times in the file, which xarray writes in another form: attributes that differ would not hold for
    all steps."""
    same = conventions.encode_cf_variable(old[:1] if old.dims else old, name=name).attrs["units"]
    if encoded.attrs["units"] != same:
        raise ValueError(
            f"append_dim: {name!r}: found times that need {encoded.attrs['units']!r}, expected {old.encoding['units']!r}, as in "
            "the file; encoding= of the first steps can choose finer units"
        )
    return str(old.encoding["units"])


def _options(variable: Any) -> dict[str, Any]:
    """Arguments of `Writer.dataset` from the encoding of a variable, which may come from another file."""
    encoding = variable.encoding
    options = {name: encoding[name] for name in _COMPRESSION if encoding.get(name) is not None}
    if "codec" not in options:
        # NetCDF files that are not compressed have this setting, too.
        options.pop("shuffle", None)
    chunks = _chunks(variable)
    is_compressed = bool(options) or chunks is not None or any(encoding.get(name) for name in ("zlib", "compression"))
    if variable.shape and is_compressed:
        return {"encode": True, "chunks": chunks, **options}
    return {}


def _chunks(variable: Any) -> Optional[tuple[int, ...]]:
    encoding = variable.encoding
    found = encoding.get("chunks") or encoding.get("chunksizes")
    # Chunks for an array of another shape are of no use.
    if not found or len(found) != len(variable.shape):
        return None
    # An empty dimension belongs to a template: its chunks are meant for later.
    return tuple(max(1, min(int(c), n) if n else int(c)) for c, n in zip(found, variable.shape))


def _says_nothing(name: Any, value: Any) -> bool:
    """True if there is no value, or if it only says that NaN stands for NaN."""
    return value is None or name in ("_FillValue", "missing_value") and np.ndim(value) == 0 and bool(value != value)


def attributes_of(attrs: Mapping[Any, Any], dtype: Optional[np.dtype[Any]] = None) -> dict[str, Any]:
    """Attributes, including those that are JSON text because NetCDF cannot have them; with the types of numpy's
    numbers.

    Args:
        dtype: the type of the data that the attributes describe.
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
