"""Attributes, dimensions and filters of HDF5 and NetCDF-4 files that are imported."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Optional

import h5py
import numpy as np

from ._attributes import MISSING, Json, decoded, described
from ._description import TYPES
from ._hdf5_items import has_tag, json_of
from ._variables import MAX_SHAPE

# Attributes in an scda file for what HDF5 expresses in other ways, with the type of their values.
ENUMERATION = "scda_enum"
# The type of the items of lists, which are stored as bytes of any length: {"list": type}.
TYPE = "scda_type"
# The links of a group to other places.
LINKS = "scda_links"
OF_IMPORT: dict[str, Any] = {TYPES: dict, MAX_SHAPE: (list, type(None)), ENUMERATION: dict, TYPE: dict, LINKS: dict}
# Attributes of dimension scales, which `CLASS` marks.
_OF_SCALES = {"CLASS", "NAME"}
# Attributes that HDF5's dimension scales and NetCDF-4 use themselves.
_RESERVED = {
    *("DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS"),
    *("_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties"),
}
# Names of registered filters, because files need not name them.
_FILTERS = {
    **{32000: "lzf", 32001: "blosc", 32004: "lz4", 32008: "bitshuffle", 32013: "zfp", 32015: "zstd", 32017: "SZ"},
    **{307: "bzip2", 32026: "blosc2", 4: "szip", 32028: "SPERR", 32019: "jpeg", 32024: "SZ3"},
}
# The mark of NetCDF-4 for a dimension without a variable of its name.
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable."
# More bytes do not fit into the metadata of a dataset.
_MOST_ATTRIBUTE_BYTES = 16 << 20


class Filters(NamedTuple):
    """The filters of a dataset, if scda's binary chunks can have the same."""

    shuffle: bool
    level: Optional[int]

    @classmethod
    def of_hdf5(cls, dataset: h5py.Dataset) -> Optional[Filters]:
        """The filters of a dataset if they are shuffle, deflate, or both in this order; None if it has others, or
        none."""
        properties = dataset.id.get_create_plist()
        found = [properties.get_filter(number)[::2] for number in range(properties.get_nfilters())]
        codes = [code for code, _ in found]
        if codes not in ([h5py.h5z.FILTER_DEFLATE], [h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE]):
            return None
        return cls(len(codes) == 2, found[-1][1][0])


def is_scale(where: Any) -> bool:
    """True for a dimension scale."""
    return isinstance(where, h5py.Dataset) and bool(h5py.h5ds.is_scale(where.id))


def read_attributes(
    where: Any, dtype: Optional[np.dtype[Any]] = None, *, netcdf: bool = False
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The attributes of an object in JSON, and the names of those that JSON cannot represent, each with the reason.

    Args:
        dtype: the type of the data that the attributes describe.
        netcdf: true if the library of NetCDF has written them.
    """
    raw: dict[str, Any] = {}
    unread = _RESERVED | (_OF_SCALES if is_scale(where) else set())
    for name in where.attrs:
        if name in unread:
            continue
        try:
            raw[name] = _raw_attribute(where, name, netcdf)
        except (TypeError, ValueError, OSError, RuntimeError, KeyError) as error:
            raw[name] = ValueError(str(error))
    own = raw.keys() & OF_IMPORT.keys()
    if TYPES in own:  # a program has used the name that this import needs
        raw[TYPES] = ValueError("found a name that scda reserves")
        own -= {TYPES}
    attrs, left_out = described(raw, dtype, netcdf=netcdf)
    # xarray writes these attributes of an scda file as JSON; in other files, the names may mean something else.
    for name in own & attrs.keys():
        if not isinstance(attrs[name], OF_IMPORT[name]) or isinstance(attrs[name], str):
            del attrs[name]
            left_out.append((name, "found a name that scda reserves"))
    return attrs, left_out


def _raw_attribute(where: Any, name: str, netcdf: bool) -> Any:
    """A value for :func:`scda._attributes.described`."""
    if isinstance(name, bytes):
        raise ValueError("found a name that is not valid UTF-8")
    found = where.attrs.get_id(name)
    kind, of = found.get_type(), found.dtype
    size = kind.get_size() * math.prod(found.shape or ())
    if size > _MOST_ATTRIBUTE_BYTES:
        raise ValueError(f"found {size} bytes, expected at most {_MOST_ATTRIBUTE_BYTES}")
    is_number = of.kind in "iufcb" and of.shape == () and h5py.check_enum_dtype(of) is None
    if found.get_space().get_simple_extent_type() == h5py.h5s.NULL:
        is_text = kind.get_class() == h5py.h5t.STRING
        return "" if is_text else np.empty(0, of.str) if is_number else Json([])
    if has_tag(kind):
        raw = np.empty(found.shape, f"V{kind.get_size()}")
        found.read(raw, mtype=kind)
        value = np.frombuffer(raw.tobytes(), of).reshape((*found.shape, *of.shape))
        return Json(json_of(value, where.file))
    value = where.attrs[name]
    if kind.get_class() == h5py.h5t.STRING:
        texts = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        try:
            _expect_texts(texts)
            return texts
        except ValueError:
            return Json(json_of(value, where.file))
    if of.kind == "V" and of.names is None and found.shape == ():
        return value
    if is_number or netcdf and name in MISSING and of.kind in "iu":  # an enumeration: its items become integers
        return np.asarray(value, of.str)
    return Json(json_of(value, where.file))


def _expect_texts(value: Any) -> None:
    for each in value if isinstance(value, list) else ():
        _expect_texts(each)
    if not isinstance(value, list):
        decoded(value)


def expect_filters(dataset: h5py.Dataset) -> None:
    """Raises a TypeError if the HDF5 in use cannot read the chunks."""
    properties = dataset.id.get_create_plist()
    for number in range(properties.get_nfilters()):
        code, _, _, name = properties.get_filter(number)
        if h5py.h5z.filter_avail(code):
            continue
        try:
            import hdf5plugin  # noqa: F401 # noqa: F401 # registers filters
        except ImportError:
            pass
        if not h5py.h5z.filter_avail(code):
            known = name.decode("utf-8", "replace").partition(";")[0] or _FILTERS.get(code, "without a name")
            raise TypeError(f"found filter {code} ({known}), which is not available in this HDF5 (the package hdf5plugin has many)")


def dimension_names(dataset: h5py.Dataset) -> list[Optional[str]]:
    """The name of each dimension: the name of its scale, or its label."""
    if dataset.ndim == 1 and is_scale(dataset):
        return [dataset.name.rpartition("/")[2]]
    names: list[Optional[str]] = []
    for dimension in dataset.dims:
        scale = dimension[0].name if len(dimension) else None  # None if a reference leads nowhere
        names.append((scale or "").rpartition("/")[2] or dimension.label or None)
    return names
