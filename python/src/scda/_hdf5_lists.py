"""Items of HDF5 that have any length, lists and all that has lists or long texts in it, as bytes of scda (`scda import --help`,
"Bytes of any length")."""

from __future__ import annotations

import functools
import math
import struct
from typing import Any, Callable, Optional

import h5py
import numpy as np

from ._common import packed
from ._hdf5_types import has_objects, is_text, layout, text_bytes

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


def from_bytes(items: Any, described: Any, made: np.dtype[Any], reference_to: Callable[[str], Any]) -> Any:
    """Items of bytes as h5py has them.

    Args:
        described: the type of an item.
        made: the type that h5py has for it.
        reference_to: makes a reference of a path.

    Raises:
        ValueError: the bytes are none of this type.
    """
    array = np.empty(items.size, made)
    for number, data in enumerate(items.reshape(-1).tolist()):
        found = _Bytes(data)
        if _has_count(described):
            array[number] = _list(found, described, made, reference_to, _count(described, len(data)))
        else:
            array[number] = _item(found, described, made, reference_to)
        if found.left:
            raise ValueError(f"item {number}: found {found.left} bytes after one of its type")
    return array.reshape(items.shape)


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


def _count(described: Any, size: int) -> Optional[int]:
    """The number of items in a list of `size` bytes, or of bytes in a text. None: only the items tell."""
    if isinstance(described, str):
        return size
    return None if has_objects(described["list"]) else size // _stored(described["list"]).itemsize


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


class _Bytes:
    """The bytes of an item, from the first one on that was not taken."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def expect(self, size: int) -> None:
        if size > self.left:
            raise ValueError(f"byte {self._at} of an item: found {self.left} more, expected at least {size}")

    def take(self, size: int) -> memoryview:
        self.expect(size)
        self._at += size
        return self._data[self._at - size : self._at]

    def count(self) -> int:
        return int(_COUNT.unpack(self.take(_COUNT.size))[0])


def _item(data: _Bytes, of: Any, made: np.dtype[Any], reference_to: Callable[[str], Any]) -> Any:
    if not has_objects(of):
        stored = _stored(of)
        found = np.frombuffer(data.take(stored.itemsize), stored.base).astype(made.base)
        return found.reshape(stored.shape) if stored.shape else found[0]
    if isinstance(of, str) or "list" in of:
        return _list(data, of, made, reference_to, data.count())
    if "struct" in of:
        return tuple(_item(data, each, made[name], reference_to) for name, each, _ in of["struct"])
    data.expect(_COUNT.size * math.prod(made.shape))  # each has a count
    array = np.empty(made.shape, made.base)
    flat = array.reshape(-1)
    for number in range(flat.size):
        flat[number] = _item(data, of["array"], made.base, reference_to)
    return array


def _list(data: _Bytes, of: Any, made: np.dtype[Any], reference_to: Callable[[str], Any], count: Optional[int]) -> Any:
    """A list of `count` items or a text of `count` bytes; None: of all that are left."""
    if isinstance(of, str):
        text = bytes(data.take(count or 0))
        if is_text(of) and b"\0" in text:
            raise ValueError("found a text with a NUL character, which HDF5 has not in texts of variable length")
        return text if is_text(of) else reference_to(text.decode("utf-8", "surrogateescape"))
    base, each = h5py.check_vlen_dtype(made), of["list"]
    if not has_objects(each):
        stored = _stored(each)
        array = np.frombuffer(data.take((count or 0) * stored.itemsize), stored.base).astype(base.base)
        return array.reshape(-1, *stored.shape)
    found: list[Any] = []
    while data.left if count is None else len(found) < count:
        if not data.left:
            raise ValueError(f"found {len(found)} items of a list, expected {count}")
        found.append(_item(data, each, base, reference_to))
    array = np.empty(len(found), base)
    for number, item in enumerate(found):
        array[number] = item
    return array
