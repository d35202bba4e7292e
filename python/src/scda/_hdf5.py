"""What HDF5 files, and NetCDF-4 files, which are such, have in common with scda files: types, attributes, dimensions, filters."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple, Optional

import h5py
import numpy as np

from ._description import native
from ._variables import MISSING, as_item

# Attributes that say what has no place in HDF5: which attributes of the same object are JSON, and that the first dimension counts
# records.
JSON_NAMES = "scda_json"
RECORDS = "scda_records"
# Those of HDF5's dimension scales and of NetCDF-4.
RESERVED = {
    *("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS"),
    *("_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties", JSON_NAMES, RECORDS),
}
# How NetCDF-4 marks a dimension without a variable of its name.
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable."
# Data are read and written in pieces of about so many bytes.
PIECE_BYTES = 16 << 20
# HDF5 takes no larger attribute, but for text.
_MOST_ATTRIBUTE_BYTES = 60_000
_NUMBERS = {math.inf: "Infinity", -math.inf: "-Infinity"}


class Filters(NamedTuple):
    """What is done to the bytes of a chunk: those that scda's binary chunks and HDF5 both have."""

    shuffle: bool
    level: Optional[int]

    @classmethod
    def of_codecs(cls, metadata: dict[str, Any], item_bytes: int) -> Optional[Filters]:
        """Those of a dataset by its metadata. None: HDF5 has them not."""
        shuffle, level = False, None
        for codec in metadata["codecs"][1:]:
            name, given = (codec, {}) if isinstance(codec, str) else (codec["name"], codec.get("configuration") or {})
            if name == "numcodecs.shuffle" and not shuffle and level is None and given.get("elementsize") == item_bytes:
                shuffle = True
            elif name == "numcodecs.zlib" and level is None:
                level = given.get("level")
                level = level if level in range(10) else 1  # readers do not need it
            else:
                return None
        return cls(shuffle, level)

    @classmethod
    def of_hdf5(cls, dataset: h5py.Dataset) -> Optional[Filters]:
        """Those of a dataset that are shuffle, deflate, or both in this order. None: it has others, or none."""
        properties = dataset.id.get_create_plist()
        found = [properties.get_filter(number)[::2] for number in range(properties.get_nfilters())]
        codes = [code for code, _ in found]
        if codes not in ([h5py.h5z.FILTER_DEFLATE], [h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE]):
            return None
        return cls(len(codes) == 2, found[-1][1][0])


def write_attributes(where: Any, attrs: dict[str, Any], of: str, dtype: Optional[np.dtype[Any]] = None) -> None:
    """The attributes of an object: numbers, texts and lists of these as HDF5 has them, everything else as JSON."""
    as_json = []
    for name, value in attrs.items():
        if name in RESERVED:
            raise ValueError(f"{of}: attribute {name!r}: found a name that HDF5 or NetCDF uses itself")
        plain = as_item(value, dtype) if name in MISSING and dtype is not None else None
        if plain is None:
            plain = _plain(value)
        if plain is None:
            as_json.append(name)
            plain = json.dumps(value)  # in ASCII: HDF5's texts have no NUL
        where.attrs[name] = plain
    if as_json:
        where.attrs[JSON_NAMES] = as_json


def _plain(value: Any) -> Any:
    """What HDF5 has for it; None if it has nothing from which the value can be told."""
    if isinstance(value, str):
        return value if "\0" not in value else None
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, list) and value:
        if all(isinstance(item, str) and "\0" not in item for item in value):
            return np.array(value, h5py.string_dtype())
        for kind in (int, float):
            if all(type(item) is kind for item in value):
                items = [_number(item) for item in value]
                if any(item is None for item in items) or len({item.dtype for item in items}) > 1:
                    return None
                return np.array(items) if 8 * len(items) <= _MOST_ATTRIBUTE_BYTES else None
    return None


def _number(value: Any) -> Any:
    if isinstance(value, float):
        return np.float64(value)
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
            return dtype(value)
    return None


def read_attributes(where: Any) -> tuple[dict[str, Any], list[str]]:
    """The attributes of an object as JSON has them, and the names of those that it cannot have."""
    attrs: dict[str, Any] = {}
    left_out = []
    marked = where.attrs.get(JSON_NAMES, ())
    for name in where.attrs:
        if name in RESERVED:
            continue
        try:
            value = where.attrs[name]
            attrs[name] = json.loads(value) if name in marked else _of_json(value)
        except (TypeError, ValueError, OSError):
            left_out.append(name)
    return attrs, left_out


def _of_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str):
        return value
    if isinstance(value, (list, np.ndarray)):
        # NetCDF-4 has a number as an array of one.
        items = [_of_json(item) for item in value]
        return items[0] if len(items) == 1 and np.ndim(value) == 1 and isinstance(value, np.ndarray) else items
    if isinstance(value, (np.bool_, np.integer)):
        return value.item()
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return "NaN" if math.isnan(number) else _NUMBERS.get(number, number)
    raise TypeError(type(value).__name__)


def type_of(dataset: h5py.Dataset) -> np.dtype[Any]:
    """The type of the items, in their byte order.

    Raises:
        TypeError: scda has none such.
    """
    dtype: np.dtype[Any] = dataset.dtype
    if dataset.shape is None:
        raise TypeError("found no data space, expected numbers")
    if h5py.check_string_dtype(dtype) is not None:
        raise TypeError("found strings, which no dataset of scda has, expected numbers")
    if h5py.check_vlen_dtype(dtype) is not None or h5py.check_ref_dtype(dtype) is not None or dtype.names is not None:
        raise TypeError(f"found {dtype}, which no dataset of scda has, expected numbers")
    plain = np.dtype(dtype.str)  # without what h5py says of enumerations
    native(plain)
    return plain


def has_plain_items(dataset: h5py.Dataset) -> bool:
    """Whether the bytes of items in the file are those that numpy has for their type; no padding, no fewer bits."""
    found = dataset.id.get_type()
    if isinstance(found, h5py.h5t.TypeOpaqueID):
        return True
    wanted = h5py.h5t.py_create(dataset.dtype)
    if isinstance(found, h5py.h5t.TypeEnumID):
        found, wanted = found.get_super(), h5py.h5t.py_create(np.dtype(dataset.dtype.str.replace("b", "i")))
    return bool(found.equal(wanted))


def dimension_names(dataset: h5py.Dataset) -> list[Optional[str]]:
    """The name of each dimension: that of its scale, or its label."""
    if dataset.ndim == 1 and dataset.is_scale:
        return [dataset.name.rpartition("/")[2]]
    names: list[Optional[str]] = []
    for dimension in dataset.dims:
        scale = dimension[0].name.rpartition("/")[2] if len(dimension) else None
        names.append(scale or dimension.label or None)
    return names
