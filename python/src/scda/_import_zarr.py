"""Imports folders of Zarr, versions 2 and 3, which the package zarr reads."""

from __future__ import annotations

import base64
import math
import os
import struct
from typing import Any, Iterator

import numpy as np
import zarr

from ._description import attributes_text, native
from ._errors import FormatError
from ._importer import Importer, expect_name
from ._selection import boxes_of
from ._temporary import TemporaryData
from ._variables import STATIC, TIME

# The attribute with the names of dimensions, as xarray writes it in version 2.
_DIMENSIONS = "_ARRAY_DIMENSIONS"
# The codec in the new file for each codec of Zarr; zstd for all others.
_CODECS = {"gzip": "zlib", "zlib": "zlib", "lz4": "lz4"}
# An array may claim at most this multiple of the folder's bytes, or this many bytes: chunks that were never written
# take none.
_MOST_TIMES, _FEW_BYTES = 1 << 12, 1 << 30


class Zarr(Importer):
    format = "Zarr"

    @classmethod
    def user(cls, path: str) -> str:
        return super().user(os.path.normpath(path))

    def run(self, source: dict[str, Any]) -> dict[str, Any]:
        for entry in _entries(self._name):
            # Links may lead to any file of the user, and special files are no data.
            if entry.is_symlink() or not (entry.is_file() or entry.is_dir()):
                raise FormatError(f"{entry.path}: found a link or a special file, expected files and folders", None, self._name)
        try:
            root = zarr.open(self._name, mode="r")
            found = [("", root)] if isinstance(root, zarr.Array) else list(_members(root, ""))
        except (OSError, MemoryError):
            raise
        except Exception as error:  # invalid metadata can make zarr raise anything
            raise FormatError(f"{self._name}: {type(error).__name__}: {error}", None, self._name) from None
        self._bytes = source["imported"]["bytes"]
        of_root = {} if isinstance(root, zarr.Array) else root.attrs.asdict()
        attrs = self._json_of("/", of_root)
        self._expect_no_others(attrs, source)
        attrs.update(source)
        self._w.group("/", attrs)
        wanted = [(path, node) for path, node in found if not path or self._is_wanted(path)]
        self._progress.total = sum(node.nbytes for _, node in wanted if isinstance(node, zarr.Array) and self._is_possible(node))
        for path, node in wanted:
            name = path or os.path.splitext(os.path.basename(os.path.normpath(self._name)))[0]
            with self._of(name):
                expect_name(name)
                if isinstance(node, zarr.Array):
                    self._array(name, node)
                elif own := self._json_of(name, node.attrs.asdict()):
                    self._w.group(name, own)
        return attrs

    def _json_of(self, path: str, found: dict[str, Any]) -> dict[str, Any]:
        """The attributes that JSON can represent."""
        attrs, left_out = {}, []
        for name, value in found.items():
            try:
                attributes_text({name: value})
                attrs[name] = value
            except (TypeError, ValueError) as error:
                left_out.append((name, str(error)))
        return self._attributes_of(path, (attrs, left_out))

    def _is_possible(self, array: Any) -> bool:
        return bool(array.nbytes <= max(_FEW_BYTES, _MOST_TIMES * self._bytes))

    def _array(self, name: str, array: Any) -> None:
        if not self._is_possible(array):
            raise ValueError(f"found {array.nbytes} bytes in a folder of {self._bytes}, expected at most {_MOST_TIMES} times as much")
        found = array.attrs.asdict()
        if name.rpartition("/")[2] == TIME and not array.shape:
            found[STATIC] = True
        is_text = array.dtype.kind in "TO"
        dtype = np.dtype(object) if is_text else native(array.dtype)
        dims = found.pop(_DIMENSIONS, None) if array.metadata.zarr_format == 2 else array.metadata.dimension_names
        dims = list(dims) if isinstance(dims, (list, tuple)) and len(dims) == len(array.shape) else None
        fill = array.fill_value
        if array.metadata.zarr_format == 2 and dims is not None and fill is not None and dtype.kind in "iu":
            found.setdefault("_FillValue", fill.item())  # as xarray interprets it in version 2
        if dtype.kind == "f" and (number := _as_number(found.get("_FillValue"))) is not None:
            found["_FillValue"] = number
        options: dict[str, Any] = {"attrs": self._json_of(name, found), "dims": dims if dims and any(dims) else None}
        if is_text:
            options.update(dtype=str, fill_value=str(fill) if isinstance(fill, str) else None)
        else:
            options["fill_value"] = fill
        names = [_name_of(codec) for codec in getattr(array, "compressors", ())]
        chunks = tuple(map(int, array.chunks))
        if names and array.shape and 0 not in array.shape:
            options.update(encode=True, chunks=tuple(min(c, n) for c, n in zip(chunks, array.shape)))
            options["codec"] = next((_CODECS[each] for each in names if each in _CODECS), "zstd")
        with TemporaryData(self._folder) as temporary:
            room = temporary.room(tuple(array.shape), dtype)
            for key in boxes_of(tuple(array.shape), chunks or None, max(1, dtype.itemsize)):
                try:
                    room[key] = array[key]
                except (OSError, MemoryError):
                    raise
                except Exception as error:  # each codec raises its own errors
                    raise FormatError(f"{type(error).__name__}: {error}") from None
                self._progress.add(np.asarray(room[key]).nbytes)
            self._w.dataset(name, room, **options)


def _entries(path: str) -> Iterator[os.DirEntry[str]]:
    """Everything in a folder, without following links."""
    with os.scandir(path) as found:
        for entry in found:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(entry.path)


def _members(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Arrays and groups with their paths; a group precedes its contents."""
    for name, node in sorted(group.members(), key=lambda each: each[0]):
        yield prefix + name, node
        if isinstance(node, zarr.Group):
            yield from _members(node, f"{prefix}{name}/")


def _as_number(value: Any) -> Any:
    """Decodes `_FillValue`, which xarray writes for floating-point numbers as eight bytes in base64: a number, or a
    text such as "NaN"."""
    try:
        (number,) = struct.unpack("<d", base64.b64decode(value, validate=True)) if isinstance(value, str) else (None,)
    except (ValueError, struct.error):
        return None
    if number is None or math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _name_of(codec: Any) -> str:
    """The name of a compressor in either version; for Blosc, that of its inner compressor."""
    described: dict[str, Any] = codec.to_dict() if hasattr(codec, "to_dict") else codec.get_config()
    inner = described.get("cname") or described.get("configuration", {}).get("cname")
    return str(getattr(inner, "value", inner) or described.get("name") or described.get("id"))
