"""Reads NetCDF's classic formats: CDF-1, CDF-2 (64-bit offsets) and CDF-5 (64-bit data)."""

from __future__ import annotations

import math
import mmap
import os
from typing import IO, Any, NamedTuple, Optional

import numpy as np

# The types, by their number in the file.
_TYPES = {
    **{1: "i1", 2: "S1", 3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8"},
    **{7: "u1", 8: ">u2", 9: ">u4", 10: ">i8", 11: ">u8"},
}
_DIMENSION, _VARIABLE, _ATTRIBUTE = 10, 11, 12


class Variable(NamedTuple):
    """A variable, whose items are in the mapped file."""

    name: str
    dims: list[str]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    attrs: dict[str, Any]
    items: Any
    # True if the first dimension is unlimited.
    has_records: bool


class Classic:
    """An open file: its attributes and its variables.

    Raises:
        ValueError: the file is damaged.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._size = os.fstat(file.fileno()).st_size
        self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._at = 4
        version = self._bytes[3]
        self._wide = 8 if version == 5 else 4
        offset_bytes = 4 if version == 1 else 8
        # A writer that did not know the number of records has set all bits.
        records = self._unsigned(self._wide)
        is_known = records != (1 << 8 * self._wide) - 1
        dims = [(self._name(), self._number()) for _ in range(self._count(_DIMENSION))]
        # Name and size of each dimension; the size of the record dimension is 0.
        self.dims = dims
        self.attrs = self._attributes()
        found = []
        for _ in range(self._count(_VARIABLE)):
            name = self._name()
            where = self._at
            own = [self._number() for _ in range(self._number())]
            if any(number >= len(dims) for number in own):
                raise ValueError(f"byte {where}: variable {name!r}: found dimension {max(own)} of {len(dims)}")
            if any(dims[number][1] == 0 for number in own[1:]):
                raise ValueError(f"byte {where}: variable {name!r}: found the record dimension after another one, expected it first")
            attrs = self._attributes()
            dtype = self._type()
            self._number()  # the bytes of a record: too large ones do not fit
            found.append((name, own, attrs, dtype, self._unsigned(offset_bytes)))
        # The variables with records, and the bytes of one record of each. The file has the first record of each, then
        # the second.
        rows = {
            name: dtype.itemsize * math.prod(dims[number][1] for number in own[1:])
            for name, own, _, dtype, _ in found
            if own and dims[own[0]][1] == 0
        }
        stride = sum(-(-size // 4) * 4 for size in rows.values()) if len(rows) > 1 else sum(rows.values())
        if not is_known:
            start = min((offset for name, *_, offset in found if name in rows), default=0)
            records = max(0, self._size - start) // stride if stride else 0
        self.variables = []
        for name, own, attrs, dtype, offset in found:
            shape = tuple(dims[number][1] for number in own)
            items = self._items(name, shape, dtype, offset)
            if name in rows:
                items = self._items(name, (records, *shape[1:]), dtype, offset, stride)
            names = [dims[number][0] for number in own]
            self.variables.append(Variable(name, names, items.shape, dtype, attrs, items, name in rows))
        total = sum(variable.items.nbytes for variable in self.variables)
        if total > self._size:
            raise ValueError(f"found variables of {total} bytes together, expected at most {self._size}")

    def _items(
        self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], offset: int, stride: Optional[int] = None
    ) -> Any:
        """The items of a variable that begins at this byte; its records begin `stride` bytes apart."""
        if 0 in shape:
            return np.empty(shape, dtype)
        strides = [dtype.itemsize]
        for n in shape[:0:-1]:
            strides.insert(0, strides[0] * n)
        if stride is not None:
            strides[0] = stride
        end = offset + dtype.itemsize + sum((n - 1) * each for n, each in zip(shape, strides))
        if end > self._size:
            raise ValueError(f"variable {name!r}: found its end at byte {end}, expected at most {self._size}")
        return np.ndarray(shape, dtype, self._bytes, offset, tuple(strides[: len(shape)]))

    def _take(self, size: int) -> bytes:
        start = self._at
        if size > self._size - start:
            raise ValueError(f"byte {start}: found the end of the file at byte {self._size}, expected {size} bytes")
        self._at += size
        return self._bytes[start : self._at]

    def _unsigned(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big")

    def _number(self) -> int:
        return self._unsigned(self._wide)

    def _padded(self, size: int) -> bytes:
        return self._take(-(-size // 4) * 4)[:size]

    def _name(self) -> str:
        where = self._at
        try:
            return self._padded(self._number()).decode()
        except UnicodeDecodeError:
            raise ValueError(f"byte {where}: found a name that is not valid UTF-8") from None

    def _count(self, expected: int) -> int:
        where = self._at
        tag, count = self._unsigned(4), self._number()
        if tag != expected and (tag, count) != (0, 0):
            raise ValueError(f"byte {where}: found a list of kind {tag}, expected {expected}")
        return count

    def _type(self) -> np.dtype[Any]:
        where = self._at
        number = self._unsigned(4)
        if number not in _TYPES:
            raise ValueError(f"byte {where}: found the type {number}, expected 1 to {max(_TYPES)}")
        return np.dtype(_TYPES[number])

    def _attributes(self) -> dict[str, Any]:
        """The attributes for :func:`scda._attributes.described`. C programs end texts with a NUL byte."""
        attrs: dict[str, Any] = {}
        for _ in range(self._count(_ATTRIBUTE)):
            name, dtype = self._name(), self._type()
            data = self._padded(dtype.itemsize * self._number())
            if dtype.kind == "S":
                attrs[name] = data.rstrip(b"\0")
            else:
                attrs[name] = np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))
        return attrs
