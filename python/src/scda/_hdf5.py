"""What HDF5 files, and NetCDF-4 files, which are such, have in common with scda files: types, attributes, dimensions, filters."""

from __future__ import annotations

import itertools
import json
import math
import unicodedata
from functools import partial
from typing import Any, NamedTuple, Optional

import h5py
import numpy as np

from ._attributes import JSON_NAMES, MISSING, TYPES, Null, Text, Typed, decoded, described, plain_value
from ._description import TYPE_NAMES
from ._hdf5_items import Paths, array_of_json, json_of
from ._hdf5_links import has_link, object_at
from ._hdf5_types import BOOL, TextType, describe, has_objects, make, space_padded
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
# The type of the items, where another one would be chosen; and its path, if it has a name.
TYPE = "scda_type"
TYPE_PATH = "scda_type_path"
# The name of a dimension scale, labels and scales of dimensions, where others would be chosen.
SCALES = "scda_scales"
# Of a group: its links to other places, and its types with a name.
LINKS = "scda_links"
NAMED_TYPES = "scda_named_types"
# Of the file: the bytes before those of HDF5, as `{"bytes": 512, "base64": ...}` without the zeros at their end.
USER_BLOCK = "scda_user_block"
OF_IMPORT: dict[str, Any] = {
    **{TYPES: dict, MAX_SHAPE: (list, type(None)), ENUMERATION: dict, TYPE: (str, dict), TYPE_PATH: str},
    **{SCALES: dict, LINKS: dict, NAMED_TYPES: dict, USER_BLOCK: dict},
}
# In HDF5: the type in scda, where import would choose another, as the core calls it; and the attributes that tell others what
# the type says in scda: a JSON list.
ITEM = "scda_item"
ADDED = "scda_added"
# Those of dimension scales, where `CLASS` says that it is one.
_OF_SCALES = {"CLASS", "NAME"}
# Those of HDF5's dimension scales and of NetCDF-4.
RESERVED = {
    *("DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS"),
    *("_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties"),
    *(JSON_NAMES, RECORDS, CODEC, PLACES, OF_RECORDS, USER, SECTIONS, ITEM, ADDED, *OF_IMPORT),
}
# HDF5 numbers the attributes of an object that keeps their order with 16 bits; some are ours.
MOST_ATTRIBUTES = 65_500
# Registered filters, which files need not name.
_FILTERS = {
    **{32000: "lzf", 32001: "blosc", 32004: "lz4", 32008: "bitshuffle", 32013: "zfp", 32015: "zstd", 32017: "SZ"},
    **{307: "bzip2", 32026: "blosc2", 4: "szip", 32028: "SPERR", 32019: "jpeg", 32024: "SZ3"},
}
# How NetCDF-4 marks a dimension without a variable of its name.
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable."
# More do not fit into the metadata of a dataset.
_MOST_ATTRIBUTE_BYTES = 16 << 20
# Data are read and written in pieces of about this number of bytes.
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


def is_scale(where: Any) -> bool:
    """Whether it is a dimension scale."""
    return isinstance(where, h5py.Dataset) and bool(h5py.h5ds.is_scale(where.id))


def normal(name: str) -> str:
    """A name in Unicode's form NFC, in which NetCDF's library looks for it."""
    return unicodedata.normalize("NFC", name)


def write_attributes(
    where: Any,
    attrs: dict[str, Any],
    of: str,
    paths: Paths,
    dtype: Optional[np.dtype[Any]] = None,
    *,
    netcdf: bool = False,
    is_scale: bool = False,
) -> None:
    """The attributes of an object: numbers, texts and lists of these as HDF5 or NetCDF has them, everything else as JSON.

    Args:
        is_scale: whether it is to be a dimension scale, which has attributes of its own.
    """
    as_json = []
    types = attrs.get(TYPES)
    more = list(itertools.islice(attrs, MOST_ATTRIBUTES, None))
    if more:
        reason = f"found {len(attrs)}, expected at most {MOST_ATTRIBUTES}, the most of an object in HDF5"
        paths.leave_out(of, f"the end of the attributes, {more[0]!r} to {more[-1]!r}: {reason}")
    for name, value in itertools.islice(attrs.items(), MOST_ATTRIBUTES):
        if name in OF_IMPORT and isinstance(value, OF_IMPORT[name]):
            continue
        if name in RESERVED or is_scale and name in _OF_SCALES:
            paths.leave_out(of, f"attribute {name!r}: found a name that HDF5 or NetCDF uses itself")
            continue
        plain = plain_value(name, value, types, dtype, netcdf=netcdf)
        if netcdf and normal(name) != name:
            what = f"attribute {ascii(name)}: found a name that NetCDF has in Unicode's form NFC, as {ascii(normal(name))}"
            if normal(name) in attrs or normal(name) in where.attrs:
                paths.leave_out(of, f"{what}, which is the name of another one")
                continue
            paths.leave_out(of, f"{what}: its own form")
            name = normal(name)
        try:
            if isinstance(plain, Typed):
                array_of_json(plain.value, plain.type, paths)  # it is none, or can be written later
                paths.later(partial(_write_typed, where, name, plain, paths), plain.type)
                continue
        except ValueError:  # of a type that is none
            plain = None
        if plain is None:
            as_json.append(name)
            plain = Text(json.dumps(value), netcdf)  # in ASCII: HDF5's texts have no NUL
        write_attribute(where, name, plain, netcdf=netcdf)
    if as_json:
        write_attribute(where, JSON_NAMES, Text(json.dumps(as_json), netcdf), netcdf=netcdf)


def _write_typed(where: Any, name: str, value: Typed, paths: Paths) -> None:
    kind, items = array_of_json(value.value, value.type, paths)
    shape = value.type["shape"]
    if shape:
        space = h5py.h5s.create_simple(tuple(map(int, shape)))
    else:
        space = h5py.h5s.create(h5py.h5s.NULL if shape is None else h5py.h5s.SCALAR)
    attribute = h5py.h5a.create(where.id, name.encode(), kind, space)
    if shape is None:
        return
    if has_objects(value.type["type"]):
        attribute.write(items)
    else:
        attribute.write(np.frombuffer(items.tobytes(), f"V{kind.get_size()}").reshape(space.shape), mtype=kind)


def write_attribute(where: Any, name: str, value: Any, *, netcdf: bool) -> None:
    """A value of :func:`scda._attributes.plain_value`. NetCDF's own library has each number, and each text of variable length, as an
    array of one."""
    if isinstance(value, Null):
        words = [value.type, value.form or ("1" if value.type == "char" else "")]
        kind = make(BOOL if value.type == "bool" else " ".join(filter(None, words)))
        h5py.h5a.create(where.id, name.encode(), kind, h5py.h5s.create(h5py.h5s.NULL))
        return
    if isinstance(value, Text):
        items = np.array(_encoded(value.value, value.form), "S" if value.is_fixed else object)
        form = _form(value.form, items, value.is_fixed, netcdf)
        kind = make(" ".join(filter(None, ["char" if value.is_fixed else "string", *form])))
    else:
        items = np.asarray(value)
        kind = h5py.h5t.py_create(items.dtype, logical=True)
    is_fixed = isinstance(value, Text) and value.is_fixed
    if netcdf and items.ndim == 0 and not is_fixed:
        items = items.reshape(1)
    if is_fixed:
        made = np.dtype(f"S{kind.get_size()}")
        items = space_padded(items, made) if kind.get_strpad() == h5py.h5t.STR_SPACEPAD else items.astype(made)
    elif isinstance(value, Text):
        items = items.astype(h5py.string_dtype(form[0] or "utf-8"))
    # By HDF5's own calls: those of h5py look for an older attribute, and take a multiple of the time if there are many.
    space = h5py.h5s.create_simple(items.shape) if items.ndim else h5py.h5s.create(h5py.h5s.SCALAR)
    attribute = h5py.h5a.create(where.id, name.encode(), kind, space)
    attribute.write(np.ascontiguousarray(items) if items.ndim else items, mtype=kind if is_fixed else None)


def _form(form: str, items: Any, is_fixed: bool, netcdf: bool) -> list[Optional[str]]:
    """Character set, padding and bytes of texts: what the words of their form say, or what is written without them."""
    words = form.split()
    charset = next((word for word in words if word in ("ascii", "utf-8")), None)
    if not is_fixed:
        return [charset]
    pad = next((word for word in words if word in ("nullterm", "spacepad", "nullpad")), "nullterm" if netcdf else "nullpad")
    least = max(1, items.dtype.itemsize)
    size = next((int(word) for word in words if word.isdigit()), least)
    if charset is None:
        charset = "ascii" if netcdf or items.tobytes().isascii() else "utf-8"
    return [charset, None if pad == "nullpad" else pad, str(max(size, least))]


def _encoded(text: Any, form: str = "") -> Any:
    charset = "latin-1" if "latin-1" in form.split() else "utf-8"
    return [_encoded(each, form) for each in text] if isinstance(text, list) else text.encode(charset, "replace")


def read_attributes(
    where: Any, paths: Paths, dtype: Optional[np.dtype[Any]] = None, *, netcdf: bool = False
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The attributes of an object as JSON has them, and the names of those that it cannot have, with the reason.

    Args:
        dtype: the type of the data that they belong to.
        netcdf: whether the library of NetCDF wrote them.
    """
    raw: dict[str, Any] = {}
    unread = RESERVED - {JSON_NAMES, *OF_IMPORT} | (_OF_SCALES if is_scale(where) else set())
    for name in where.attrs:
        if name in unread:
            continue
        try:
            raw[name] = _raw_attribute(where, name, paths, netcdf)
        except (TypeError, ValueError, OSError, RuntimeError, KeyError) as error:
            raw[name] = ValueError(str(error))
    # xarray writes those of an scda file as JSON; others would say here what they do not mean.
    own = {name: raw.pop(name) for name in OF_IMPORT if name in raw}
    attrs, left_out = described(raw, dtype, netcdf=netcdf)
    if own:
        found, _ = described({**own, JSON_NAMES: raw.get(JSON_NAMES, "")}, None, netcdf=netcdf)
        for name, value in own.items():
            if isinstance(value, Text) and not isinstance(found.get(name), str) and isinstance(found.get(name), OF_IMPORT[name]):
                attrs.setdefault(name, found[name])
            else:
                left_out.append((name, "found a name that scda uses itself"))
    return attrs, left_out


def _raw_attribute(where: Any, name: str, paths: Paths, netcdf: bool) -> Any:
    """As :func:`scda._attributes.described` takes it."""
    if isinstance(name, bytes):
        raise ValueError("found a name that is no UTF-8")
    found = where.attrs.get_id(name)
    kind = found.get_type()
    size = kind.get_size() * math.prod(found.shape or ())
    if size > _MOST_ATTRIBUTE_BYTES:
        raise ValueError(f"found {size} bytes, expected at most {_MOST_ATTRIBUTE_BYTES}")
    of = describe(kind)
    if found.get_space().get_simple_extent_type() == h5py.h5s.NULL:
        if kind.get_class() == h5py.h5t.STRING:
            word, _, form = of.partition(" ")
            return Null(word, "" if of == "char 1" else form)
        if of == BOOL or isinstance(of, str) and of.lstrip(">") in TYPE_NAMES:
            return Null("bool" if of == BOOL else of)
        return Typed([], {"type": of, "shape": None})
    if kind.get_class() == h5py.h5t.STRING:
        text = _raw_text(where, name, found, TextType(of), netcdf)
        if text is not None:
            return text
    elif isinstance(of, str) and of != "reference" and not of.lstrip(">").startswith(("bits", "time")):
        value = where.attrs[name]
        is_raw = found.dtype.kind == "V" and found.shape == ()
        if found.dtype.kind != "V" or is_raw:
            return value if is_raw else np.asarray(value, np.dtype(found.dtype.str))
    elif found.dtype.kind == "b":
        return np.asarray(where.attrs[name], "?")
    elif netcdf and name in MISSING and "enum" in of:  # of an enumeration, whose items are integers here
        return np.asarray(where.attrs[name], np.dtype(found.dtype.str))
    return Typed(json_of(found, of, paths), {"type": of, "shape": list(found.shape)})


def _raw_text(where: Any, name: str, found: Any, of: TextType, netcdf: bool) -> Optional[Text]:
    """Texts as they are, whatever their encoding is; None if they have none, and for no texts in several dimensions, which lists do
    not tell."""
    if 0 in found.shape and len(found.shape) > 1:
        return None
    if of.is_fixed:
        items = np.empty(found.shape, f"S{of.bytes}")
        found.read(items, mtype=found.get_type())
        if of.pad == "spacepad":
            items = np.char.rstrip(items, b" ")
        value = items.tolist()
    else:
        value = where.attrs[name]
        value = value.tolist() if isinstance(value, np.ndarray) else value
    try:
        texts = _mapped_texts(value, decoded)
    except ValueError:
        return None
    is_utf8 = _mapped_texts(value, _raw) == _encoded(texts)
    made = np.array(_encoded(texts, "" if is_utf8 else "latin-1"), "S" if of.is_fixed else object)
    form = [None if is_utf8 else "latin-1"]
    own = [of.charset, of.pad or "nullpad", str(of.bytes)] if of.is_fixed else [None if of.charset == "utf-8" else of.charset]
    chosen = _form("", made, of.is_fixed, netcdf)
    if of.is_fixed:
        chosen[1] = chosen[1] or "nullpad"
    form += [word for word, other in zip(own, chosen) if word != other]
    return Text(value, of.is_fixed, " ".join(filter(None, form)))


def _mapped_texts(value: Any, change: Any) -> Any:
    return [_mapped_texts(each, change) for each in value] if isinstance(value, list) else change(value)


def _raw(text: Any) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)


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


def own_scales(dataset: h5py.Dataset) -> Optional[dict[str, Any]]:
    """The name of a scale, and the label and the scales of each dimension. None if `scda export` makes the same of the names of the
    dimensions."""
    name = dataset.name.rpartition("/")[2]
    mark = h5py.h5ds.get_scale_name(dataset.id).decode("utf-8", "replace") if is_scale(dataset) else None
    dimensions: list[dict[str, Any]] = []
    for dimension in dataset.dims:
        paths = [scale.name for scale in dimension.values()]
        label = {"label": dimension.label} if dimension.label else {}
        dimensions.append({**label, **({"scales": paths} if paths else {})})
    if mark is not None or dataset.shape is not None and dataset.ndim == 1:
        is_usual = dataset.ndim == 1 and (not dimensions[0] and mark == name if mark is not None else dimensions[0] != {"label": name})
    else:
        is_usual = True
    is_usual = is_usual and all(len(each) < 2 and _finds(dataset, each.get("scales", [])) for each in dimensions)
    return None if is_usual else {**({} if mark is None else {"name": mark}), "dimensions": dimensions}


def _finds(dataset: h5py.Dataset, scales: list[Optional[str]]) -> bool:
    """Whether its scale is the nearest of that name in the groups around a dataset."""
    if not scales:
        return True
    scale, group = scales[0], dataset.parent
    if len(scales) > 1 or scale is None:
        return False
    name = scale.rpartition("/")[2]
    while not has_link(group, name) and group.name != "/":
        group = group.parent
    nearest = object_at(group, name) if scale == f"{group.name.rstrip('/')}/{name}" else None
    # The shape of one that is virtual may be in another file.
    return isinstance(nearest, h5py.Dataset) and not nearest.is_virtual and nearest.ndim == 1


def write_scales(file: h5py.File, dataset: h5py.Dataset, found: Any) -> None:
    """What :func:`own_scales` has found.

    Raises:
        ValueError: it is nothing that can be.
    """
    try:
        for d, dimension in enumerate(found["dimensions"]):
            for path in dimension.get("scales", []):
                dataset.dims[d].attach_scale(object_at(file, path))
            if dimension.get("label"):
                dataset.dims[d].label = dimension["label"]
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RuntimeError) as error:
        raise ValueError(f"dimensions with scales: {error}") from None


def dimension_names(dataset: h5py.Dataset) -> list[Optional[str]]:
    """The name of each dimension: that of its scale, or its label."""
    if dataset.ndim == 1 and is_scale(dataset):
        return [dataset.name.rpartition("/")[2]]
    names: list[Optional[str]] = []
    for dimension in dataset.dims:
        scale = dimension[0].name if len(dimension) else None  # None: of a reference to nothing
        names.append((scale or "").rpartition("/")[2] or dimension.label or None)
    return names
