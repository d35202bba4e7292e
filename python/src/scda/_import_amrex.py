"""Plotfiles of AMReX, which become meshes of patches (docs/patches.md).

A plotfile is a folder: a text ``Header``, and for each level a text that lists its patches, with files of binary data (FABs).
"""

from __future__ import annotations

import io
import math
import os
import re
from typing import IO, Any, Iterator, NamedTuple

import numpy as np

from ._errors import FormatError
from ._mesh import MESH
from ._importer import Importer, expect_name, open_file
from ._patches import ATTRIBUTE, mesh_of_patches
from ._spool import Spool

GROUP = "patches"
_VERSION = "HyperCLaw-V1.1"
_COORDINATES = {0: "cartesian", 1: "cylindrical", 2: "spherical"}
_BOX = re.compile(r"\(\(([-\d, ]+)\) \(([-\d, ]+)\) \(([-\d, ]+)\)\)")
_FAB = re.compile(
    rb"FAB \(\((\d+), \(([\d ]+)\)\),\((\d+), \(([\d ]+)\)\)\)(\(\([-\d, ]+\) \([-\d, ]+\) \([-\d, ]+\)\)) (\d+)\n"
)
# No cell has an index beyond this.
_FAR = 1 << 40
# What stands before the data of a FAB has no more bytes.
_MOST_FAB_HEADER = 4096
# The layouts of numbers of IEEE 754, as the headers of FABs have them.
_FORMATS: dict[tuple[int, ...], str] = {(64, 11, 52, 0, 1, 12, 0, 1023): "f8", (32, 8, 23, 0, 1, 9, 0, 127): "f4"}


class _Level(NamedTuple):
    """The patches of a level: first and last cells, the files that have them, and where these have them."""

    boxes: list[tuple[list[int], list[int]]]
    files: list[str]
    offsets: list[int]


class _Lines:
    """The lines of a text, each with what is expected of it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.number = 0
        with io.TextIOWrapper(open_file(path), encoding="utf-8", errors="surrogateescape") as file:
            self._lines = file.read().splitlines()

    def next(self, expected: str) -> str:
        if self.number >= len(self._lines):
            raise FormatError(f"{self.path}: found the end of the file behind line {self.number}, expected {expected}")
        self.number += 1
        return self._lines[self.number - 1].strip()

    def wrong(self, found: str, expected: str) -> FormatError:
        return FormatError(f"{self.path}: line {self.number}: found {found!r}, expected {expected}")

    def numbers(self, kind: type, count: int | None, expected: str) -> list[Any]:
        line = self.next(expected)
        try:
            found = [kind(word) for word in line.split()]
        except ValueError:
            raise self.wrong(line, expected) from None
        if count is not None and len(found) != count:
            raise self.wrong(line, expected)
        return found

    def number_of(self, what: str, most: int) -> int:
        found = self.numbers(int, 1, what)[0]
        if not 0 <= found <= most:
            raise self.wrong(str(found), f"{what}, at most {most}")
        return int(found)

    def boxes(self, dimension: int, count: int, expected: str) -> list[tuple[list[int], list[int]]]:
        line = self.next(expected)
        found = [tuple([int(n) for n in part.split(",")] for part in box) for box in _BOX.findall(line)]
        is_box = all(len(part) == dimension for box in found for part in box)
        is_box = is_box and all(-_FAR < a <= b < _FAR for first, last, _ in found for a, b in zip(first, last))
        if len(found) != count or not is_box or any(any(kind) for _, _, kind in found):
            raise self.wrong(line, f"{expected}, of cells on {dimension} axes")
        return [(first, last) for first, last, _ in found]


class Amrex(Importer):
    format = "AMReX"
    has_external = True

    @classmethod
    def user(cls, path: str) -> str:
        return super().user(os.path.normpath(path))

    def run(self, source: dict[str, Any]) -> dict[str, Any]:
        lines = _Lines(self._own(os.path.join(self._name, "Header")))
        version = lines.next("the version of the plotfile")
        if version != _VERSION:
            raise lines.wrong(version, _VERSION)
        names = [lines.next("the name of a variable") for _ in range(lines.number_of("the number of variables", 10**6))]
        d = lines.number_of("the number of axes", 3)
        if d == 0:
            raise lines.wrong("0", "1 to 3 axes")
        time = lines.numbers(float, 1, "the time")[0]
        levels = lines.number_of("the finest level", 100) + 1
        origin = lines.numbers(float, d, "the least coordinates")
        lines.numbers(float, d, "the greatest coordinates")
        ratio = self._ratios(lines, d, levels)
        domain = lines.boxes(d, levels, "the domain on each level")[0]
        lines.numbers(int, levels, "the step of each level")
        sizes = [lines.numbers(float, d, "the sizes of a cell") for _ in range(levels)]
        coordinates = lines.number_of("the system of coordinates", 2)
        lines.next("the width of the boundary")
        all_levels = [self._level(lines, d, level, len(names)) for level in range(levels)]

        boxes = np.array(
            [[first, [b - a + 1 for a, b in zip(first, last)]] for each in all_levels for first, last in each.boxes],
            np.int64,
        ).reshape(-1, 2, d)
        level = np.repeat(np.arange(levels, dtype=np.int32), [len(each.boxes) for each in all_levels])
        domain_cells = [[*domain[0]], [b - a + 1 for a, b in zip(*domain)]]
        offsets, checksum = mesh_of_patches(boxes, level)
        attrs = {"coordinates": _COORDINATES[coordinates]}
        self._w.group("/", source)
        self._w.group(GROUP, {ATTRIBUTE: 1, "dimension": d, **attrs})
        self._w.dataset(f"{GROUP}/time", time)
        self._w.dataset(f"{GROUP}/boxes", boxes, attrs={MESH: checksum})
        self._w.dataset(f"{GROUP}/level", level)
        self._w.dataset(f"{GROUP}/ratio", ratio)
        self._w.dataset(f"{GROUP}/domain", np.array(domain_cells, np.int64))
        self._w.dataset(f"{GROUP}/geometry", np.array([origin, sizes[0]]))
        self._progress.total = int(offsets[-1]) * 8 * len(names)
        for component, name in enumerate(names):
            if self._is_wanted(f"{GROUP}/fields/{name}"):
                with self._of(name):
                    expect_name(name)
                    self._field(name, component, all_levels, offsets, checksum)
        return source

    def _own(self, path: str) -> str:
        """The path of a file of the plotfile. A symbolic link in it can lead to any file."""
        folder = os.path.realpath(self._name)
        if not self._external and os.path.commonpath([folder, os.path.realpath(path)]) != folder:
            raise FormatError(f"{path}: found a link that leads out of the folder; external=True follows it")
        return path

    def _ratios(self, lines: _Lines, d: int, levels: int) -> Any:
        expected = f"{levels - 1} ratios of refinement"
        words = re.findall(r"\([\d, ]+\)|\d+", lines.next(expected))
        ratio = np.ones((levels, d), np.int32)
        if len(words) != levels - 1:
            raise lines.wrong(" ".join(words), expected)
        for level, word in enumerate(words):
            each = [int(n) for n in word.strip("()").split(",")]
            if len(each) not in (1, d) or not all(0 < n < 1 << 20 for n in each):
                raise lines.wrong(word, "a ratio of refinement")
            ratio[level + 1] = each
        return ratio

    def _level(self, lines: _Lines, d: int, level: int, components: int) -> _Level:
        expected = f"level {level}, the number of its patches, and the time"
        found = lines.next(expected).split()
        if len(found) != 3 or found[0] != str(level) or not found[1].isdigit():
            raise lines.wrong(" ".join(found), expected)
        lines.next("the step of the level")
        for _ in range(int(found[1]) * d):
            lines.numbers(float, 2, "where a patch begins and ends")
        path = lines.next("the files of the level")
        if os.path.isabs(path) or ".." in path.split("/"):
            raise lines.wrong(path, "a path below the folder")
        return self._patches(os.path.join(self._name, path), d, int(found[1]), components)

    def _patches(self, path: str, d: int, count: int, components: int) -> _Level:
        """What the list of a level says: the files are beside it."""
        lines = _Lines(self._own(path + "_H"))
        version = lines.number_of("the version of the list", 100)
        if version != 1:
            raise lines.wrong(str(version), "version 1, with a header before each FAB")
        lines.next("how the data are distributed")
        if lines.number_of("the number of variables", 10**6) != components:
            raise lines.wrong("another number of variables", str(components))
        lines.next("the layers of ghost cells")
        if lines.next("the number of patches") != f"({count} 0":
            raise lines.wrong("another number of patches", str(count))
        boxes = [lines.boxes(d, 1, "a patch")[0] for _ in range(count)]
        if lines.next("the end of the patches") != ")" or lines.number_of("the number of FABs", count) != count:
            raise lines.wrong("another number of FABs", str(count))
        files, offsets = [], []
        for _ in range(count):
            words = lines.next("a FAB").split()
            if len(words) != 3 or words[0] != "FabOnDisk:" or "/" in words[1] or not words[2].isdigit():
                raise lines.wrong(" ".join(words), "FabOnDisk: FILE OFFSET")
            files.append(self._own(os.path.join(os.path.dirname(path), words[1])))
            offsets.append(int(words[2]))
            first, last = boxes[len(files) - 1]
            least = 4 * components * math.prod(b - a + 1 for a, b in zip(first, last))
            if offsets[-1] + least > os.path.getsize(files[-1]):
                raise lines.wrong(" ".join(words), f"at least {least} bytes there")
        return _Level(boxes, files, offsets)

    def _field(self, name: str, component: int, levels: list[_Level], offsets: Any, checksum: str) -> None:
        """Writes a variable of all patches. Its type is that of the first FAB; another one of a later FAB is converted to it."""
        with Spool(self._folder) as spool:
            items: Any = None
            patch = 0
            for level in levels:
                for values in self._values(level, component):
                    if items is None:
                        items = spool.room((int(offsets[-1]),), values.dtype.newbyteorder("="))
                    items[offsets[patch] : offsets[patch + 1]] = values.ravel(order="F")
                    self._progress.add(8 * values.size)
                    patch += 1
            self._w.dataset(f"{GROUP}/fields/{name}", items, attrs={MESH: checksum})

    def _values(self, level: _Level, component: int) -> Iterator[Any]:
        """The values of a variable in each patch of a level, x first, without ghost cells."""
        for (first, last), path, offset in zip(level.boxes, level.files, level.offsets):
            with open_file(path) as file:
                yield _fab(file, path, offset, component, first, last)


def _fab(file: IO[bytes], path: str, offset: int, component: int, first: list[int], last: list[int]) -> Any:
    file.seek(offset)
    head = file.read(_MOST_FAB_HEADER)
    found = _FAB.match(head)
    if found is None:
        raise FormatError(f"{path}: byte {offset}: found {head[:40]!r}, expected the header of a FAB")
    layout = tuple(int(n) for n in found[2].split())
    order = [int(n) for n in found[4].split()]
    item_bytes = len(order)
    known = _FORMATS.get(layout)
    if known is None or np.dtype(known).itemsize != item_bytes or sorted(order) != list(range(1, item_bytes + 1)):
        raise FormatError(f"{path}: byte {offset}: found numbers {layout} in the order {order}, expected those of IEEE 754")
    if order == sorted(order):
        dtype = np.dtype(f">{known}")
    elif order == sorted(order, reverse=True):
        dtype = np.dtype(f"<{known}")
    else:
        raise FormatError(
            f"{path}: byte {offset}: found bytes in the order {order}, expected an order of rising or falling ones"
        )
    begin, end = ([int(n) for n in part.split(",")] for part in _BOX.findall(found[5].decode())[0][:2])
    shape = [b - a + 1 for a, b in zip(begin, end)]
    inside = all(a <= p <= q <= b for a, p, q, b in zip(begin, first, last, end))
    if len(begin) != len(first) or not inside or component >= int(found[6]):
        raise FormatError(f"{path}: byte {offset}: found cells {begin} to {end}, expected those from {first} to {last}")
    size = math.prod(shape) * item_bytes
    start = offset + found.end() + component * size
    if start + size > os.fstat(file.fileno()).st_size:
        raise FormatError(f"{path}: found the end of the file, expected {size} bytes from byte {start} on")
    file.seek(start)
    values = np.frombuffer(file.read(size), dtype).reshape(shape, order="F")
    return values[tuple(slice(p - a, q - a + 1) for a, p, q in zip(begin, first, last))]
