"""What HDF5 files, and NetCDF-4 files, which are such, have in common with scda files: types, attributes, dimensions, filters."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple, Optional

import h5py
import numpy as np

from ._attributes import JSON_NAMES, TYPES, Null, Text, described, plain_value
from ._description import native_numbers
from ._variables import MAX_SHAPE

# An attribute that says that the first dimension counts records, or that a group has them as `0`, `1`, ...
RECORDS = "scda_records"
# Where each record of a dataset stands among those of all datasets of the file.
PLACES = "scda_places"
# The attributes of each record, without those that all records have: a JSON list.
OF_RECORDS = "scda_record_attributes"
# The user string of the file, and its sections that are no datasets: a JSON list.
USER = "scda_user"
SECTIONS = "scda_sections"
# Attributes in an scda file that say what HDF5 says in other ways, with the type of their values.
# How the chunks are compressed in scda, if not by zlib: codec, level, and whether bytes are shuffled.
CODEC = "scda_codec"
ENUMERATION = "scda_enum"
OF_IMPORT = {TYPES: dict, MAX_SHAPE: list, ENUMERATION: dict}
# Those of HDF5's dimension scales and of NetCDF-4.
RESERVED = {
    *("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS"),
    *("_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties"),
    *(JSON_NAMES, RECORDS, CODEC, PLACES, OF_RECORDS, USER, SECTIONS, *OF_IMPORT),
}
# Registered filters, which files need not name.
_FILTERS = {
    **{32000: "lzf", 32001: "blosc", 32004: "lz4", 32008: "bitshuffle", 32013: "zfp", 32015: "zstd", 32017: "SZ"},
    **{307: "bzip2", 32026: "blosc2", 4: "szip", 32028: "SPERR", 32019: "jpeg", 32024: "SZ3"},
}
# How NetCDF-4 marks a dimension without a variable of its name.
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable."
# More do not fit into the metadata of a dataset.
_MOST_ATTRIBUTE_BYTES = 16 << 20
# Data are read and written in pieces of about so many bytes.
PIECE_BYTES = 16 << 20


# HDF5's filter for frames of Blosc, and how it numbers compressors and shuffles.
_BLOSC = 32001
_BLOSC_COMPRESSORS = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
_BLOSC_SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")


class Filters(NamedTuple):
    """What is done to the bytes of a chunk: those that scda's binary chunks and HDF5 both have."""

    shuffle: bool
    level: Optional[int]
    # The last three parameters of the filter for frames of Blosc, if that is it: level, shuffle, compressor.
    blosc: Optional[tuple[int, int, int]] = None

    @classmethod
    def of_codecs(cls, metadata: dict[str, Any], item_bytes: int, *, blosc: bool) -> Optional[Filters]:
        """Those of a dataset by its metadata; `blosc`: also frames of Blosc. None: HDF5 has them not."""
        shuffle, level = False, None
        first = metadata["codecs"][0]
        if (first if isinstance(first, str) else first["name"]) != "bytes":
            return None
        for codec in metadata["codecs"][1:]:
            name, given = (codec, {}) if isinstance(codec, str) else (codec["name"], codec.get("configuration") or {})
            if name == "numcodecs.shuffle" and not shuffle and level is None and given.get("elementsize") == item_bytes:
                shuffle = True
            elif name == "numcodecs.zlib" and level is None:
                level = given.get("level")
                level = level if level in range(10) else 1  # readers do not need it
            elif name == "blosc" and blosc and len(metadata["codecs"]) == 2:
                how = _BLOSC_SHUFFLES.index(given["shuffle"]), _BLOSC_COMPRESSORS.index(given["cname"])
                # Each frame says by itself how it is read.
                return cls(how[0] > 0, None, (given["clevel"], *how))
            else:
                return None
        return cls(shuffle, level)

    def options(self) -> dict[str, Any]:
        """Arguments for h5py's `create_dataset`.

        Raises:
            TypeError: HDF5 has not the filter here.
        """
        if self.blosc is not None:
            expect_filter(_BLOSC, "blosc")
            # The filter itself sets what it reserves.
            return {"compression": _BLOSC, "compression_opts": (0, 0, 0, 0, *self.blosc)}
        compressed = {} if self.level is None else {"compression": "gzip", "compression_opts": self.level}
        return {"shuffle": self.shuffle, **compressed}

    @classmethod
    def of_hdf5(cls, dataset: h5py.Dataset) -> Optional[Filters]:
        """Those of a dataset that are shuffle, deflate, or both in this order. None: it has others, or none."""
        properties = dataset.id.get_create_plist()
        found = [properties.get_filter(number)[::2] for number in range(properties.get_nfilters())]
        codes = [code for code, _ in found]
        if codes not in ([h5py.h5z.FILTER_DEFLATE], [h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE]):
            return None
        return cls(len(codes) == 2, found[-1][1][0])


def write_attributes(
    where: Any, attrs: dict[str, Any], of: str, dtype: Optional[np.dtype[Any]] = None, *, netcdf: bool = False
) -> None:
    """The attributes of an object: numbers, texts and lists of these as HDF5 or NetCDF has them, everything else as JSON."""
    as_json = []
    types = attrs.get(TYPES)
    for name, value in attrs.items():
        if name in OF_IMPORT and isinstance(value, OF_IMPORT[name]):
            continue
        if name in RESERVED:
            raise ValueError(f"{of}: attribute {name!r}: found a name that HDF5 or NetCDF uses itself")
        plain = plain_value(name, value, types, dtype, netcdf=netcdf)
        if plain is None:
            as_json.append(name)
            plain = Text(json.dumps(value), netcdf)  # in ASCII: HDF5's texts have no NUL
        write_attribute(where, name, plain, netcdf=netcdf)
    if as_json:
        write_attribute(where, JSON_NAMES, Text(json.dumps(as_json), netcdf), netcdf=netcdf)


def write_attribute(where: Any, name: str, value: Any, *, netcdf: bool) -> None:
    """A value of :func:`scda._attributes.plain_value`. NetCDF's own library has each number, and each text of variable length, as an
    array of one."""
    if isinstance(value, Null):
        where.attrs[name] = h5py.Empty(np.dtype("S1") if value.type in ("char", "string") else _dtype(value.type))
        return
    if not isinstance(value, Text):
        items = np.asarray(value)
        dtype = items.dtype
    elif value.is_fixed:
        items = np.array(_encoded(value.value))
        encoding = "ascii" if items.tobytes().isascii() else "utf-8"
        dtype = h5py.string_dtype(encoding, max(items.dtype.itemsize, 1))
    else:
        items = np.array(_encoded(value.value), object)
        dtype = h5py.string_dtype()
    if netcdf and items.ndim == 0 and dtype.kind != "S":
        items = items.reshape(1)
    items = items.astype(dtype, copy=False)
    # By HDF5's own calls: those of h5py look for an older attribute, and take a multiple of the time if there are many.
    space = h5py.h5s.create_simple(items.shape) if items.ndim else h5py.h5s.create(h5py.h5s.SCALAR)
    kind = h5py.h5t.py_create(dtype, logical=True)
    is_fixed = isinstance(value, Text) and value.is_fixed
    attribute = h5py.h5a.create(where.id, name.encode(), kind, space)
    attribute.write(np.ascontiguousarray(items) if items.ndim else items, mtype=kind if is_fixed else None)


def _encoded(text: Any) -> Any:
    return [_encoded(each) for each in text] if isinstance(text, list) else text.encode()


def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype(f"V{int(name[1:]) // 8}" if name[0] == "r" else name)


def read_attributes(
    where: Any, dtype: Optional[np.dtype[Any]] = None, *, netcdf: bool = False
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The attributes of an object as JSON has them, and the names of those that it cannot have, with the reason.

    Args:
        dtype: the type of the data that they belong to.
        netcdf: whether the library of NetCDF wrote them.
    """
    raw: dict[str, Any] = {}
    for name in where.attrs:
        if name in RESERVED - {JSON_NAMES}:
            continue
        try:
            raw[name] = _raw_attribute(where, name)
        except (TypeError, ValueError, OSError, RuntimeError, KeyError) as error:
            raw[name] = ValueError(str(error))
    return described(raw, dtype, netcdf=netcdf)


def _raw_attribute(where: Any, name: str) -> Any:
    """As :func:`scda._attributes.described` takes it."""
    if isinstance(name, bytes):
        raise ValueError("found a name that is no UTF-8")
    found = where.attrs.get_id(name)
    text = h5py.check_string_dtype(found.dtype)
    size = found.dtype.itemsize * math.prod(found.shape or ())
    if size > _MOST_ATTRIBUTE_BYTES:
        raise ValueError(f"found {size} bytes, expected at most {_MOST_ATTRIBUTE_BYTES}")
    if found.get_space().get_simple_extent_type() == h5py.h5s.NULL:
        if text is not None:
            return Null("char" if text.length is not None else "string")
        return Null(native_numbers(np.dtype(found.dtype.str)).name)
    _expect_plain(found.dtype)
    if text is None:
        value = where.attrs[name]
        return value if found.dtype.kind == "V" else np.asarray(value, np.dtype(found.dtype.str).newbyteorder("="))
    if text.length is None:
        value = where.attrs[name]
        return Text(value.tolist() if isinstance(value, np.ndarray) else value, False)
    # As they are, whatever their encoding is.
    items = np.empty(found.shape, f"S{text.length}")
    found.read(items, mtype=found.get_type())
    if found.get_type().get_strpad() == h5py.h5t.STR_SPACEPAD:
        items = np.char.rstrip(items, b" ")
    return Text(items.tolist(), True)


def _expect_plain(dtype: np.dtype[Any]) -> None:
    """A TypeError, with what was found, for types that no dataset has."""
    if h5py.check_string_dtype(dtype) is not None:
        return
    if h5py.check_ref_dtype(dtype) is not None:
        raise TypeError("found references")
    if h5py.check_vlen_dtype(dtype) is not None:
        raise TypeError("found lists of variable length")
    if dtype.names is not None:
        raise TypeError(f"found a compound type ({', '.join(dtype.names)})")
    if dtype.subdtype is not None or dtype.hasobject:
        raise TypeError(f"found {dtype}")


def type_of(dataset: h5py.Dataset) -> np.dtype[Any]:
    """The type of the items, in their byte order.

    Raises:
        TypeError: scda has none such.
    """
    dtype: np.dtype[Any] = dataset.dtype
    if h5py.check_string_dtype(dtype) is not None:
        raise TypeError("found strings, which no dataset of scda has")
    try:
        _expect_plain(dtype)
    except TypeError as error:
        raise TypeError(f"{error}, which no dataset of scda has") from None
    if dataset.shape is None:
        raise TypeError("found no data space, which each dataset of scda has")
    plain = np.dtype(dtype.str)  # without what h5py says of enumerations
    native_numbers(plain)
    return plain


def expect_filters(dataset: h5py.Dataset) -> None:
    """A TypeError if this HDF5 cannot read the chunks."""
    properties = dataset.id.get_create_plist()
    for number in range(properties.get_nfilters()):
        code, _, _, name = properties.get_filter(number)
        known = name.decode("utf-8", "replace").partition(";")[0] or _FILTERS.get(code, "without a name")
        expect_filter(code, known)


def expect_filter(code: int, name: str) -> None:
    """A TypeError if HDF5 has not this filter here."""
    if h5py.h5z.filter_avail(code):
        return
    try:
        import hdf5plugin  # noqa: F401 # it registers filters
    except ImportError:
        pass
    if not h5py.h5z.filter_avail(code):
        what = "which HDF5 has not here (the package hdf5plugin has many)"
        raise TypeError(f"found filter {code} ({name}), {what}")


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
        scale = dimension[0].name if len(dimension) else None  # None: of a reference to nothing
        names.append((scale or "").rpartition("/")[2] or dimension.label or None)
    return names
