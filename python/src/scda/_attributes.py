"""Converts attributes between the typed values of HDF5, NetCDF and xarray, and the JSON of datasets."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Callable, NamedTuple, Optional

import numpy as np

from ._description import NUMBERS, TYPE_NAMES, TYPES, json_text

# The attribute that names the attributes of the same object whose values are JSON text. It is a JSON list itself,
# because some formats of NetCDF have no lists of texts.
JSON_NAMES = "scda_json"
# The attributes whose numbers mark missing values.
MISSING = ("_FillValue", "missing_value")
# The attributes that have the type of the data they describe, according to CF.
_OF_DATA = {*MISSING, "flag_values", "flag_masks", "valid_min", "valid_max", "valid_range", "actual_range"}
_TYPE = re.compile(r"(?P<name>[a-z]+[0-9]*)(?:\[(?P<shape>[0-9]+(?:,[0-9]+)*)\])?")
# The type of texts that could be taken for numbers, such as "NaN".
_TEXT = "string"


class Json(NamedTuple):
    """A value in JSON, of an HDF5 type that has no name here."""

    value: Any


def as_item(value: Any, dtype: np.dtype[Any]) -> Any:
    """Converts a JSON number that marks missing values, or a text such as "NaN", to an item of the type of the data, so
    that the two compare equal; a list becomes an array. None if the value is no number, or the type cannot represent
    it."""
    if isinstance(value, list) and value:
        items = [as_item(each, dtype) for each in value]
        return None if any(item is None for item in items) else np.array(items, dtype)
    is_text = isinstance(value, str) and value in NUMBERS
    if dtype.kind not in "iufcb" or isinstance(value, bool) or not (is_text or isinstance(value, (int, float))):
        return None
    try:
        with np.errstate(over="ignore"):
            item = dtype.type(value)
        if dtype.kind == "f":
            return item if is_text or np.isfinite(item) or not math.isfinite(value) else None
        return item if item == value else None
    except (OverflowError, ValueError, TypeError):
        return None


def with_json(attrs: dict[str, Any], dtype: Optional[np.dtype[Any]] = None) -> dict[str, Any]:
    """The attributes of an object for xarray: with their types, and as JSON text where xarray has no such value."""
    types = attrs.get(TYPES)
    found = {name: value for name, value in attrs.items() if name != TYPES or not isinstance(types, dict)}
    as_json = []
    for name, value in found.items():
        plain = plain_value(name, value, types, dtype, netcdf=True)
        if plain is None:
            as_json.append(name)
            found[name] = json_text(value)
        elif not isinstance(plain, np.ndarray) or _is_typed(name, types) or name in _OF_DATA and dtype is not None:
            found[name] = plain
        else:
            found[name] = plain.tolist()
    if as_json:
        found[JSON_NAMES] = json.dumps(as_json)
    return found


def _is_typed(name: str, types: Any) -> bool:
    return isinstance(types, dict) and name in types


def json_names(marker: Any) -> set[str]:
    """The names in the attribute `scda_json`: a list in JSON, a list, or a single name, if a list of one has become
    that."""
    names = marker
    if isinstance(marker, str):
        try:
            names = json.loads(marker)
        except (ValueError, RecursionError):
            pass
        if not isinstance(names, list):
            names = [marker]
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()


def plain_value(name: str, value: Any, types: Any, dtype: Optional[np.dtype[Any]], *, netcdf: bool) -> Any:
    """The value of an attribute for HDF5 or NetCDF: a number of numpy, a text, or a list of texts. None if there is
    none from which the value could be restored.

    Args:
        types: the attribute `scda_types`.
        dtype: the type of the data that the attribute describes.
    """
    text = types.get(name) if isinstance(types, dict) else None
    if isinstance(text, str):
        typed = _typed_value(value, text)
        if typed is not None and not (netcdf and _is_not_of_netcdf(typed)):
            return typed
    if isinstance(value, str):
        if value not in NUMBERS:
            return value if "\0" not in value else None
    elif isinstance(value, list):
        if not value or netcdf and any(isinstance(item, list) for item in value):
            return None
        if all(isinstance(item, str) for item in value) and not all(item in NUMBERS for item in value):
            return value if not any("\0" in item for item in value) else None
    is_of_data = dtype is not None and name in _OF_DATA and (dtype.kind != "c" or name in MISSING)
    numbers = as_item(value, dtype) if is_of_data and dtype is not None else None
    return _numbers(value, netcdf) if numbers is None else numbers


def _is_not_of_netcdf(value: Any) -> bool:
    """True if NetCDF has no attributes of this type, or if the value has several dimensions."""
    return isinstance(value, (np.generic, np.ndarray)) and (
        value.ndim > 1 or value.dtype.kind in "bcV" or value.dtype == "f2"
    )


def _items(value: Any) -> Any:
    """The items of nested lists, flattened."""
    return [item for each in value for item in _items(each)] if isinstance(value, list) else [value]


def _numbers(value: Any, netcdf: bool) -> Any:
    """JSON numbers as numbers of one type."""
    items = _items(value)
    kinds = set(map(type, items))
    if str in kinds:
        if any(isinstance(item, str) and item not in NUMBERS for item in items):
            return None
        kinds = kinds - {str} or {float}
        value = _mapped(value, lambda item: NUMBERS[item] if isinstance(item, str) else item)
    if len(kinds) != 1 or not items:
        return None
    kind = kinds.pop()
    dtype = {bool: None if netcdf else "bool", float: "float64", int: "int64"}.get(kind)
    if dtype is None:
        return None
    try:
        if kind is int and max(items) > np.iinfo(np.int64).max:
            dtype = "uint64"
        array = np.array(value, dtype)
    except (ValueError, OverflowError):  # lists of different lengths, or too large
        return None
    return array[()] if array.ndim == 0 else array


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    return [_mapped(item, change) for item in value] if isinstance(value, list) else change(value)


def _typed_value(value: Any, text: str) -> Any:
    """The value that an attribute had, given its type in `scda_types`; None if its JSON is no such value."""
    match = _TYPE.fullmatch(text)
    if match is None:
        return None
    name, shape = match["name"], match["shape"]
    items = _items(value)
    if name == _TEXT:
        return value if all(isinstance(item, str) and "\0" not in item for item in items) else None
    if name not in TYPE_NAMES:
        return None
    try:
        dtype = np.dtype(name)
        if dtype.kind == "c":
            parts = np.array(_mapped(value, _as_float) if items else np.empty((0, 2)), np.float64)
            array = np.asarray(parts[..., 0] + 1j * parts[..., 1], dtype) if parts.shape[-1:] == (2,) else None
        elif dtype.kind == "f":
            array = np.array(_mapped(value, _as_float), dtype)
        elif all(type(item) is (bool if dtype.kind == "b" else int) for item in items):
            array = np.array(value, dtype)
        else:
            array = None
        if array is not None and shape is not None:
            array = array.reshape(tuple(map(int, shape.split(","))))
    except (ValueError, TypeError, OverflowError):
        return None
    return array[()] if array is not None and array.ndim == 0 else array


def _as_float(value: Any) -> float:
    if isinstance(value, str):
        return NUMBERS[value] if value in NUMBERS else float("text")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    return value


def described(
    raw: dict[str, Any], dtype: Optional[np.dtype[Any]], *, netcdf: bool
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The attributes of an HDF5 or NetCDF object in JSON, with the attribute `scda_types` for types that JSON does not
    tell; and the names of the attributes that JSON cannot represent, each with the reason.

    Args:
        raw: numbers of numpy, texts as bytes or str, lists of them, :class:`Json`, or an exception: why there is no
            value.
        dtype: the type of the data that the attributes describe.
    """
    attrs: dict[str, Any] = {}
    types: dict[str, Any] = {}
    left_out = []
    for name, value in raw.items():
        try:
            if isinstance(value, Exception):
                raise value
            attrs[name], text = _described(value, netcdf)
        except (TypeError, ValueError) as error:
            left_out.append((name, str(error)))
            continue
        again = plain_value(name, attrs[name], None, dtype, netcdf=netcdf)
        if text is not None and (again is None or _described(again, netcdf) != (attrs[name], text)):
            types[name] = text
    types.pop(JSON_NAMES, None)
    for name in json_names(attrs.pop(JSON_NAMES, None)):
        if isinstance(attrs.get(name), str):
            try:
                attrs[name] = json.loads(attrs[name])
                types.pop(name, None)
            except (ValueError, RecursionError):
                pass
    if types:
        attrs[TYPES] = types
    return attrs, left_out


def _described(value: Any, netcdf: bool) -> tuple[Any, Optional[str]]:
    """A value in JSON, and its type if JSON may not tell it."""
    if isinstance(value, Json):
        return value.value, None
    if isinstance(value, (str, bytes, list)):
        made = _mapped(value, decoded)
        return made[0] if netcdf and isinstance(made, list) and len(made) == 1 else made, _TEXT if made else None
    array = np.asarray(value)
    shape = array.shape
    if array.dtype.kind == "V" and array.dtype.names is None and shape == ():
        return list(array.tobytes()), None
    name = array.dtype.name
    if name not in TYPE_NAMES:
        raise TypeError(f"found {array.dtype}; JSON has no such type")
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    made = _mapped(array.tolist(), _number) if array.dtype.kind == "f" else array.tolist()
    # NetCDF returns a number as an array of one item.
    is_told = 0 in shape or shape == (1,) and not netcdf
    return (made[0] if shape == (1,) else made), f"{name}[{','.join(map(str, shape))}]" if is_told else name


def _number(value: float) -> Any:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def decoded(text: Any) -> str:
    """Text decoded as UTF-8; else as Latin-1, if it has no control characters, which any bytes would have there."""
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)
    try:
        return data.decode()
    except UnicodeDecodeError:
        found = data.decode("latin-1")
        if all(c.isprintable() or c in "\t\n\r\xa0\xad" for c in found):
            return found
        raise ValueError("found text that is neither UTF-8 nor Latin-1") from None
