"""Datasets of xarray, written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional

import numpy as np
from xarray import conventions

from ._attributes import JSON_NAMES, json_names

if TYPE_CHECKING:
    from ._writer import Writer

# What `encoding` says of how chunks are compressed, by the names of `Writer.dataset`.
_COMPRESSION = ("codec", "level", "shuffle", "max_relative_error", "max_absolute_error")
# What xarray itself makes use of.
_CF: tuple[str, ...] = ("dtype", "_FillValue", "missing_value", "scale_factor", "add_offset")
_CF += ("units", "calendar", "coordinates", "grid_mapping")
_CHUNKS = ("chunks", "chunksizes", "preferred_chunks")


def write(w: Writer, ds: Any, group: str, encoding: Mapping[str, Mapping[str, Any]]) -> None:
    """As :meth:`scda.Writer.xarray`."""
    others = sorted(set(encoding) - set(ds.variables))
    if others:
        raise ValueError(f"encoding: found {others[0]!r}, which is no variable of the dataset")
    variables, attrs = conventions.encode_dataset_coordinates(ds)
    path = group.strip("/")
    if attrs:
        w.group(path or "/", _attributes(attrs))
    for name, variable in variables.items():
        given = dict(encoding.get(name, {}))
        unknown = sorted(set(given) - {*_COMPRESSION, *_CF, *_CHUNKS})
        if unknown:
            expected = ", ".join((*_COMPRESSION, *_CHUNKS, *_CF))
            raise ValueError(f"encoding of {name!r}: found {unknown[0]!r}, expected one of {expected}")
        variable = variable.copy(deep=False)
        variable.encoding = {**variable.encoding, **given}
        options = _options(variable)
        if variable.dtype.kind != "b":  # which NetCDF has not
            # Without it, floating-point numbers would get NaN for one.
            variable.encoding.setdefault("_FillValue", None)
            variable = conventions.encode_cf_variable(variable, name=name)
        attributes = {key: value for key, value in variable.attrs.items() if not _says_nothing(key, value)}
        w.dataset(
            f"{path}/{name}" if path else str(name),
            variable.values,
            attrs=_attributes(attributes),
            dims=[str(dim) for dim in variable.dims] or None,
            **options,
        )


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


def _attributes(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    """Attributes, with those that stand in JSON because NetCDF has them not."""
    found = {str(name): value for name, value in attrs.items()}
    for name in json_names(found.pop(JSON_NAMES, None)):
        if isinstance(found.get(name), str):
            found[name] = json.loads(found[name])
    return found
