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
from ._temporary import TemporaryData

GROUP = "patches"
_VERSION = "HyperCLaw-V1.1"
_COORDINATES = {0: "cartesian", 1: "cylindrical", 2: "spherical"}
# Whole numbers are of ASCII, and fit into 64 bits.
_NUMBER = r"[0-9]{1,18}"
_CELL = rf"\((-?{_NUMBER}(?:, ?-?{_NUMBER})*)\)"
_BOX_TEXT = rf"\({_CELL} {_CELL} {_CELL}\)"
_BOX = re.compile(_BOX_TEXT)
_RATIO = re.compile(rf"\({_NUMBER}(?:, ?{_NUMBER})*\)|{_NUMBER}")
_NUMBERS = rf"{_NUMBER}(?: +{_NUMBER})*"
_FAB = re.compile(
    rf"FAB \(\({_NUMBER}, \(({_NUMBERS})\)\),\({_NUMBER}, \(({_NUMBERS})\)\)\){_BOX_TEXT} ({_NUMBER})\n".encode()
)
# No cell has an index beyond this, and a mesh no more cells: a dataset has at most 2^63 bytes.
_FAR = 1 << 40
_MOST_CELLS = 1 << 59
# Whether patches have cells in common is looked for by no more comparisons.
_MOST_COMPARISONS = 10_000_000
# What stands before the data of a FAB has no more bytes.
_MOST_FAB_HEADER = 4096
# The layouts of numbers of IEEE 754, as the headers of FABs have them.
_FORMATS: dict[tuple[int, ...], str] = {(64, 11, 52, 0, 1, 12, 0, 1023): "f8", (32, 8, 23, 0, 1, 9, 0, 127): "f4"}


# Its first and its last cell.
_Box = tuple[list[int], list[int]]


def _cells(first: list[int], last: list[int]) -> int:
    return math.prod(b - a + 1 for a, b in zip(first, last))


def _refined(domain: _Box, ratio: Any) -> list[_Box]:
    """The domain in the cells of each level."""
    domains, (first, end) = [], (list(domain[0]), [b + 1 for b in domain[1]])
    for factors in ratio.tolist():
        first = [a * factor for a, factor in zip(first, factors)]
        end = [b * factor for b, factor in zip(end, factors)]
        domains.append((first, [b - 1 for b in end]))
    return domains


def _overlapping(boxes: list[_Box]) -> tuple[int, int] | None:
    """Two patches that have a cell in common, if they are found without very many comparisons."""
    order = sorted(range(len(boxes)), key=lambda n: boxes[n][0])
    left = _MOST_COMPARISONS
    for at, n in enumerate(order):
        for m in order[at + 1 :]:
            if boxes[m][0][0] > boxes[n][1][0]:
                break
            left -= 1
            if left == 0:
                return None
            if all(a <= d and c <= b for a, b, c, d in zip(*boxes[n], *boxes[m])):
                return min(n, m), max(n, m)
    return None


class _Level(NamedTuple):
    """The patches of a level: first and last cells, the files that have them, and where these have them."""

    boxes: list[_Box]
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
            raise FormatError(f"{self.path}: found the end of the file after line {self.number}, expected {expected}")
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
        names: dict[str, None] = {}
        for _ in range(lines.number_of("the number of variables", 10**6)):
            name = lines.next("the name of a variable")
            if name in names:
                raise lines.wrong(name, "a name that no other variable has")
            names[name] = None
        d = lines.number_of("the number of axes", 3)
        if d == 0:
            raise lines.wrong("0", "1 to 3 axes")
        time = lines.numbers(float, 1, "the time")[0]
        levels = lines.number_of("the finest level", 100) + 1
        origin = lines.numbers(float, d, "the least coordinates")
        lines.numbers(float, d, "the greatest coordinates")
        ratio = self._ratios(lines, d, levels)
        domain = lines.boxes(d, levels, "the domain on each level")[0]
        domains = _refined(domain, ratio)
        if any(abs(n) >= 1 << 62 for each in domains for corner in each for n in corner):
            raise FormatError(f"{lines.path}: found a domain of more than 62 bits on the finest level")
        lines.numbers(int, levels, "the step of each level")
        sizes = [lines.numbers(float, d, "the sizes of a cell") for _ in range(levels)]
        coordinates = lines.number_of("the system of coordinates", 2)
        lines.next("the width of the boundary")
        all_levels = [self._level(lines, d, level, len(names), domains[level]) for level in range(levels)]
        cells = [_cells(first, last) for each in all_levels for first, last in each.boxes]
        if not cells or sum(cells) > _MOST_CELLS:
            raise FormatError(f"{lines.path}: found {len(cells)} patches with {sum(cells)} cells, expected 1 to {_MOST_CELLS}")

        boxes = np.array(
            [[first, [b - a + 1 for a, b in zip(first, last)]] for each in all_levels for first, last in each.boxes],
            np.int64,
        ).reshape(-1, 2, d)
        level = np.repeat(np.arange(levels, dtype=np.int32), [len(each.boxes) for each in all_levels])
        domain_cells = [[*domain[0]], [b - a + 1 for a, b in zip(*domain)]]
        domain_numbers, geometry = np.array(domain_cells, np.int64), np.array([origin, sizes[0]])
        offsets, checksum, wrong = mesh_of_patches(boxes, level, ratio, domain_numbers, geometry)
        if wrong is not None:
            raise FormatError(f"{lines.path}: {wrong[1]}")
        attrs = {"coordinates": _COORDINATES[coordinates]}
        self._w.group("/", source)
        self._w.group(GROUP, {ATTRIBUTE: 1, "dimension": d, **attrs})
        self._w.dataset(f"{GROUP}/time", time)
        self._w.dataset(f"{GROUP}/boxes", boxes, attrs={MESH: checksum})
        self._w.dataset(f"{GROUP}/level", level)
        self._w.dataset(f"{GROUP}/ratio", ratio)
        self._w.dataset(f"{GROUP}/domain", domain_numbers)
        self._w.dataset(f"{GROUP}/geometry", geometry)
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
        line = lines.next(expected)
        words = _RATIO.findall(line)
        ratio = np.ones((levels, d), np.int32)
        if len(words) != levels - 1 or line.replace(" ", "") != "".join(words).replace(" ", ""):
            raise lines.wrong(line, expected)
        for level, word in enumerate(words):
            each = [int(n) for n in word.strip("()").split(",")]
            if len(each) not in (1, d) or not all(0 < n < 1 << 20 for n in each):
                raise lines.wrong(word, "a ratio of refinement")
            ratio[level + 1] = each
        return ratio

    def _level(self, lines: _Lines, d: int, level: int, components: int, domain: _Box) -> _Level:
        expected = f"level {level}, the number of its patches, and the time"
        found = lines.next(expected).split()
        if len(found) != 3 or found[0] != str(level) or not re.fullmatch(_NUMBER, found[1]):
            raise lines.wrong(" ".join(found), expected)
        lines.next("the step of the level")
        for _ in range(int(found[1]) * d):
            lines.numbers(float, 2, "where a patch begins and ends")
        path = lines.next("the files of the level")
        if os.path.isabs(path) or ".." in path.split("/") or "\0" in path:
            raise lines.wrong(path, "a path below the folder")
        return self._patches(os.path.join(self._name, path), d, int(found[1]), components, domain)

    def _patches(self, path: str, d: int, count: int, components: int, domain: _Box) -> _Level:
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
        boxes = []
        for _ in range(count):
            box = lines.boxes(d, 1, "a patch")[0]
            if not all(a <= p and q <= b for a, p, q, b in zip(domain[0], *box, domain[1])):
                raise lines.wrong(f"cells {box[0]} to {box[1]}", f"cells of the domain, {domain[0]} to {domain[1]}")
            boxes.append(box)
        both = _overlapping(boxes)
        if both is not None:
            raise FormatError(f"{lines.path}: found patches {both[0]} and {both[1]} with cells in common")
        if lines.next("the end of the patches") != ")" or lines.number_of("the number of FABs", count) != count:
            raise lines.wrong("another number of FABs", str(count))
        files, offsets = [], []
        for _ in range(count):
            words = lines.next("a FAB").split()
            is_place = len(words) == 3 and words[0] == "FabOnDisk:" and re.fullmatch(_NUMBER, words[2])
            if not is_place or words[1] in (".", "..") or any(c in words[1] for c in "/\0"):
                raise lines.wrong(" ".join(words), "FabOnDisk: FILE OFFSET")
            files.append(self._own(os.path.join(os.path.dirname(path), words[1])))
            offsets.append(int(words[2]))
            first, last = boxes[len(files) - 1]
            least, size = 4 * components * _cells(first, last), os.path.getsize(files[-1])
            if offsets[-1] + least > size:
                raise lines.wrong(" ".join(words), f"at least {least} bytes there, but the file has {size}")
        return _Level(boxes, files, offsets)

    def _field(self, name: str, component: int, levels: list[_Level], offsets: Any, checksum: str) -> None:
        """Writes a variable of all patches. Its type is that of the first FAB; another one of a later FAB is converted to it."""
        with TemporaryData(self._folder) as temporary:
            items: Any = None
            patch = 0
            for level in levels:
                for values in self._values(level, component):
                    if items is None:
                        items = temporary.room((int(offsets[-1]),), values.dtype.newbyteorder("="))
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
    layout = tuple(int(n) for n in found[1].split())
    order = [int(n) for n in found[2].split()]
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
    begin, end = ([int(n) for n in part.decode().split(",")] for part in (found[3], found[4]))
    shape = [b - a + 1 for a, b in zip(begin, end)]
    inside = all(a <= p <= q <= b for a, p, q, b in zip(begin, first, last, end))
    if not len(begin) == len(end) == len(first) or not inside:
        raise FormatError(f"{path}: byte {offset}: found cells {begin} to {end}, expected those from {first} to {last}")
    if component >= int(found[6]):
        raise FormatError(f"{path}: byte {offset}: found {int(found[6])} variables, expected {component + 1} or more")
    size = math.prod(shape) * item_bytes
    start = offset + found.end() + component * size
    file_bytes = os.fstat(file.fileno()).st_size
    if start + size > file_bytes:
        raise FormatError(f"{path}: byte {file_bytes}: found the end of the file, expected {size} bytes from byte {start} on")
    file.seek(start)
    values = np.frombuffer(file.read(size), dtype).reshape(shape, order="F")
    return values[tuple(slice(p - a, q - a + 1) for a, p, q in zip(begin, first, last))]
