"""Items of HDF5 that have any length, lists and all that has lists or long texts in it, as bytes of scda (`scda import --help`,
"Bytes of any length")."""

from __future__ import annotations

import functools
import struct
from typing import Any, Callable

import h5py
import numpy as np

from ._common import packed
from ._hdf5_types import has_objects, layout, text_bytes

_COUNT = struct.Struct("<Q")


def has_lists(described: Any) -> bool:
    """Whether items have lists of variable length in them."""
    if isinstance(described, str):
        return False
    parts = [of for _, of, _ in described["struct"]] if "struct" in described else []
    parts += [described["array"]] if "array" in described else []
    return "list" in described or any(map(has_lists, parts))


def to_bytes(array: Any, described: Any, name_of: Callable[[Any], bytes]) -> Any:
    """Items as h5py has them, each as bytes.

    Args:
        described: the type of an item.
        name_of: the path of what a reference refers to.
    """
    made = np.empty(array.size, object)
    for number, item in enumerate(array.reshape(-1)):
        made[number] = _packed(item, described, name_of)[_COUNT.size if _has_count(described) else 0 :]
    return made.reshape(array.shape)


def list_of(value: Any, of: Any) -> Any:
    """The items of a list that h5py has read. Where the highest byte of a number comes first, h5py (3.16) has the bytes of the file in
    an array that says that it is the lowest one."""
    if value is None:
        return []
    while isinstance(of, dict) and ("enum" in of or "array" in of):
        of = of["enum" if "enum" in of else "array"]
    is_big = isinstance(of, str) and of[0] == ">" and value.dtype.kind in "iufc"
    return value.view(value.dtype.newbyteorder(">")) if is_big and value.dtype.isnative and _is_mistaken() else value


@functools.lru_cache(maxsize=None)
def _is_mistaken() -> bool:
    with h5py.File("list", "w", driver="core", backing_store=False) as file:
        data = np.empty(1, object)
        data[0] = np.array([1], ">i2")
        made = file.create_dataset("list", data=data, dtype=h5py.vlen_dtype(np.dtype(">i2")))
        return int(made[0][0]) != 1


def _has_count(described: Any) -> bool:
    return isinstance(described, str) or "list" in described


def _stored(described: Any) -> np.dtype[Any]:
    """How items without lists lie in the bytes: without gaps, the lowest byte first."""
    return packed(layout(described)).newbyteorder("<")


def _packed(value: Any, of: Any, name_of: Callable[[Any], bytes]) -> bytes:
    if not has_objects(of):
        return np.asarray(value, np.asarray(value).dtype).astype(_stored(of).base).tobytes()
    if isinstance(of, str):
        text = text_bytes(value, name_of)
        return _COUNT.pack(len(text)) + text
    if "struct" in of:
        return b"".join(_packed(value[name], each, name_of) for name, each, _ in of["struct"])
    if "array" in of:
        return b"".join(_packed(each, of["array"], name_of) for each in value.reshape(-1))
    items = list_of(value, of["list"])
    if not has_objects(of["list"]) and len(items):
        return _COUNT.pack(len(items)) + _packed(items, of["list"], name_of)
    return _COUNT.pack(len(items)) + b"".join(_packed(each, of["list"], name_of) for each in items)
