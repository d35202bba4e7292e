"""Imports files of SDF, the Simple Data Format of G. H. Fisher: a sequence of arrays with labels.

All numbers are big-endian. After ``SDF format`` and a NUL stand hdrpos (8 bytes: where the texts end), datapos (8: where the data end), the
number of arrays (4) and hdrsize (8). From byte 39 there is a line of text for each array: order, label, letter of the type, bytes per word,
number of dimensions, and the dimensions, of which the last one varies fastest. The data follow from byte 19 + hdrsize, in the same order,
without gaps.
"""

from __future__ import annotations

import math
import os
import struct
import unicodedata
from typing import IO, Any, NamedTuple

import numpy as np

from ._errors import FormatError
from ._importer import Importer, expect_name, open_file
from ._selection import boxes_of
from ._temporary import TemporaryData

_MAGIC = b"SDF format\0"
_TEXTS = 39
_HEADER = 19
_MOST_TEXT_BYTES = 1 << 28
# Limits for the dimensions of a dataset, and for the bytes of an item of raw bytes.
_MOST_DIMENSIONS = 32
_MOST_RAW_BYTES = 1 << 16
_MOST_BYTES = (1 << 63) - 1
_TYPES = {
    **{(b"f", 4): ">f4", (b"f", 8): ">f8", (b"c", 4): ">c8", (b"c", 8): ">c16", (b"b", 1): "u1"},
    **{(b"i", size): f">i{size}" for size in (1, 2, 4, 8)},
}


class _Array(NamedTuple):
    label: bytes
    letter: bytes
    word_bytes: int
    dims: tuple[int, ...]
    offset: int

    @property
    def dtype(self) -> np.dtype[Any] | None:
        name = _TYPES.get((self.letter, self.word_bytes))
        return None if name is None else np.dtype(name)

    @property
    def item_bytes(self) -> int:
        return self.word_bytes * (2 if self.letter == b"c" else 1)

    @property
    def end(self) -> int:
        return self.offset + self.item_bytes * math.prod(self.dims)


class Sdf(Importer):
    format = "SDF"

    def run(self, source: dict[str, Any]) -> dict[str, Any]:
        self._w.group("/", source)
        with open_file(self._name) as file:
            arrays = self._arrays(file)
            names = _names([array.label for array in arrays])
            self._progress.total = sum(array.end - array.offset for array in arrays)
            for array in arrays:
                name = names[array.label]
                if self._is_wanted(name):
                    with self._of(name):
                        self._import(file, array, name)
        return source

    def _wrong(self, at: int, what: str) -> FormatError:
        return FormatError(f"{self._name}: byte {at}: {what}", None, self._name)

    def _arrays(self, file: IO[bytes]) -> list[_Array]:
        """The arrays that the file describes. Checks that their data are in the file."""
        size = os.fstat(file.fileno()).st_size
        head = file.read(_TEXTS)
        if len(head) < _TEXTS or not head.startswith(_MAGIC):
            raise self._wrong(0, f"found {len(head)} bytes, expected a header of SDF, {_TEXTS} bytes")
        texts_end, data_end, count, header = struct.unpack(">QQIQ", head[len(_MAGIC) :])
        begin = _HEADER + header
        if not _TEXTS <= texts_end <= begin <= data_end <= size or texts_end - _TEXTS > _MOST_TEXT_BYTES:
            found = f"texts up to {texts_end}, data from {begin} to {data_end}"
            raise self._wrong(11, f"found {found}, expected positions in this order, within {size} bytes")
        arrays: list[_Array] = []
        at, end = _TEXTS, begin
        for line in file.read(texts_end - _TEXTS).split(b"\n")[:-1]:
            array = _array(line, len(arrays), end)
            if array is None or array.end > _MOST_BYTES:
                raise self._wrong(at, f"found {line[:100]!r}, expected the text of array {len(arrays)}")
            arrays.append(array)
            at, end = at + len(line) + 1, array.end
        if at != texts_end or len(arrays) != count:
            raise self._wrong(at, f"found {len(arrays)} lines of text, expected {count}, up to byte {texts_end}")
        if not end == data_end == size:
            raise self._wrong(end, f"found data up to byte {data_end} of {size}, expected the end of the file")
        return arrays

    def _import(self, file: IO[bytes], array: _Array, name: str) -> None:
        dtype, dims = array.dtype, array.dims
        if dtype is None and array.item_bytes <= _MOST_RAW_BYTES:
            dtype = np.dtype(f"V{array.item_bytes}")
        elif dtype is None:
            dtype, dims = np.dtype("V1"), (*dims, array.item_bytes)
        if len(dims) > _MOST_DIMENSIONS:
            dims = (math.prod(dims),)
        attrs: dict[str, Any] = {}
        if array.dtype is None or array.label != name.encode():
            attrs = {"sdf": {"label": array.label.decode("utf-8", "backslashreplace")}}
        if array.dtype is None:
            attrs["sdf"].update(type=array.letter.decode(), bytes_per_word=array.word_bytes)
        with TemporaryData(self._folder) as temporary:
            items = temporary.room(dims, dtype.newbyteorder("="))
            if items.size:
                there = np.memmap(file, dtype, "r", array.offset, dims, "C")
                for key in boxes_of(dims, None, dtype.itemsize):
                    items[key] = there[key]
                    self._progress.add(items[key].nbytes)
            self._w.dataset(name, items, attrs=attrs or None)


def _array(line: bytes, order: int, offset: int) -> _Array | None:
    """The array that a line of text describes; None if it does not describe the array of this order."""
    words = [word for word in line.split(b" ") if word]  # labels may have tabs
    if len(words) < 5 or len(words[2]) != 1 or not b"!" <= words[2] <= b"~":
        return None
    numbers = [words[0], *words[3:]]
    if not all(word.isdigit() and len(word) < 20 for word in numbers):
        return None
    number, word_bytes, dimensions, *dims = map(int, numbers)
    if number != order or word_bytes == 0 or dimensions != len(dims):
        return None
    most = 2 * word_bytes  # checked step by step, because the product of many numbers could be huge
    for n in dims:
        most *= max(1, n)
        if most > _MOST_BYTES:
            return None
    return _Array(words[1], words[2], word_bytes, tuple(dims), offset)


def _names(labels: list[bytes]) -> dict[bytes, str]:
    """A name for each label: the label itself, or if no dataset can have that name, what is left of it, ``~`` and a
    number."""
    names: dict[bytes, str] = {}
    for label in labels:
        try:
            expect_name(text := label.decode())
            names[label] = text
        except ValueError:
            pass
    taken, number = set(names.values()), 0
    for label in labels:
        if label not in names:
            text = label.decode("utf-8", "replace")
            text = "".join("_" if c in "/\ufffd" or unicodedata.category(c) == "Cc" else c for c in text)
            while f"{text}~{number}" in taken:
                number += 1
            names[label] = f"{text}~{number}"
            taken.add(names[label])
            number += 1
    return names
