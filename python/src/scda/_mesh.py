"""Reading: the mesh of a forest of quadtrees or octrees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Optional

import numpy as np

from ._dataset import Dataset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._forest import Forest

# The edge of a tree is 2 to this power units.
BITS = 30
# Of vertices that no tree has: a damaged number shall cost no memory.
_MOST_UNUSED_VERTICES = 1 << 20
# The attribute of a mesh, and of what belongs to it.
MESH = "scda_mesh"
# The quadrants that are looked at at once, so that a mesh of any size needs bounded memory.
BATCH = 1 << 20
# VTK goes around the corners of a cell where a forest goes along its axes.
_AROUND = {2: [0, 1, 3, 2], 3: [0, 1, 3, 2, 4, 5, 7, 6]}
_QUAD, _HEXAHEDRON = 9, 12


def mesh_checksum(level: NDArray[np.uint8], tree_offsets: NDArray[np.int64]) -> str:
    """The checksum of a mesh: the attribute ``scda_mesh`` of ``coordinates``, of the fields and of ``data``.

    Args:
        level: the level of each quadrant.
        tree_offsets: the quadrants of tree t are those from entry t to entry t + 1.

    >>> scda.mesh_checksum(np.array([1, 1, 1, 1, 0], np.uint8), np.array([0, 4, 5]))
    '752cf7a7fb077e1f'
    """
    numbers = np.arange(len(level), dtype=np.int64)
    trees = np.searchsorted(tree_offsets, numbers, "right") - 1
    return f"{terms(numbers, trees, np.asarray(level)):016x}"


def terms(numbers: NDArray[np.generic], trees: NDArray[np.int64], level: NDArray[np.generic]) -> int:
    """What quadrants with these numbers add to the checksum, modulo 2^64."""
    value = trees.astype(np.uint64) * np.uint64(256) + level.astype(np.uint64)
    return int(checksum_terms(numbers.astype(np.uint64), value).sum(dtype=np.uint64))


def checksum_terms(number: NDArray[np.uint64], value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The function h of docs/forest.md, of numbers and of 256 t + l."""
    mixed = (number + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + value * np.uint64(0xD1342543DE82EF95)
    for _ in range(2):
        mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> np.uint64(32)
    return mixed


class Mesh:
    """The quadrants of a forest (in 3D: octants), and where they are in space.

    Attributes:
        level: the dataset with the level of each quadrant.
        coordinates: the dataset with the corner next to the origin of the tree, in units of 2^-30 of its edge.
        tree_offsets: the quadrants of tree t are those from entry t to entry t + 1; int64.
        tree_corners: where the corners of each tree are in space, x fastest, shape (trees, 2^d, 3); None if the file
            does not say.
        checksum: that of :func:`mesh_checksum`, which fields name.
        key: differs between the meshes of a file.
    """

    def __init__(
        self,
        forest: Forest,
        key: tuple[int, int],
        coordinates: Dataset,
        connectivity: Dataset,
        before: Optional[Mesh],
    ) -> None:
        self._forest = forest
        self.key = key
        self.dimension = d = forest.dimension
        number = forest._number("coordinates", coordinates.section.index)
        self.coordinates = coordinates
        self.level = forest._paired("level", "coordinates", number)
        offsets = forest._paired("tree_offsets", "coordinates", number)
        forest._expect(coordinates, "int32", (None, d))
        count = len(coordinates)
        forest._expect(self.level, "uint8", (count,))
        forest._expect(offsets, "int64", (None,))
        forest._expect(connectivity, "int32", (None, 2 * d))
        trees = len(connectivity)
        forest._expect(offsets, "int64", (trees + 1,))
        if trees == 0:
            forest._fail(f"{connectivity.name}: there is no tree", connectivity)
        self.tree_offsets = self._find_offsets(offsets, count)
        has_same = before is not None and before.key[1] == key[1]
        corners = before.tree_corners if before is not None and has_same else self._find_corners(connectivity, trees)
        self.tree_corners: Optional[NDArray[np.float64]] = corners
        self.checksum = self._check_order()
        self._compare_checksum()

    def _compare_checksum(self) -> None:
        found = self.coordinates.attrs.get(MESH, self.checksum)
        if found != self.checksum:
            what = f"found the checksum {found!r}, expected {self.checksum!r}"
            self._forest._fail(f"{self.coordinates.name}: {what}", self.coordinates)

    def __len__(self) -> int:
        """The number of quadrants."""
        return len(self.coordinates)

    def _find_offsets(self, dataset: Dataset, count: int) -> NDArray[np.int64]:
        """They are checked piece by piece: of trees that are not there, a file may have any number."""
        what = f"expected offsets from 0 to {count} that grow"
        pieces: list[NDArray[np.int64]] = []
        for start in range(0, len(dataset), BATCH):
            piece = dataset[start : start + BATCH]
            before = pieces[-1][-1:] if pieces else piece[:0]
            joined = np.concatenate([before, piece])
            odd = np.flatnonzero(joined[1:] <= joined[:-1])  # a difference may overflow
            if len(odd):
                tree = start + int(odd[0]) - len(before)
                self._forest._fail(f"{dataset.name}: found tree {tree} without quadrants, {what}", dataset)
            pieces.append(piece)
        ends = [int(pieces[0][0]), int(pieces[-1][-1])]
        if ends != [0, count]:
            self._forest._fail(f"{dataset.name}: found {ends}, {what}", dataset)
        return np.concatenate(pieces)

    def _end_of(self, connectivity: Dataset) -> int:
        """The section where the next connectivity begins."""
        later = self._forest._number("tree_to_tree", connectivity.section.index + 1)
        return [*self._forest._places("tree_to_tree")[later : later + 1], len(self._forest.file.sections)][0]

    def _find_corners(self, connectivity: Dataset, trees: int) -> Optional[NDArray[np.float64]]:
        forest = self._forest
        end = self._end_of(connectivity)
        vertices = forest._last("vertices", connectivity.section.index, end)
        corners = forest._last("tree_to_vertex", connectivity.section.index, end)
        if vertices is None or corners is None:
            return None
        forest._expect(vertices, "float64", (None, 3))
        forest._expect(corners, "int32", (trees, 2**self.dimension))
        most = trees * 2**self.dimension + _MOST_UNUSED_VERTICES
        if len(vertices) > most:
            forest._fail(f"{vertices.name}: found {len(vertices)} vertices, expected at most {most}", vertices)
        numbers = corners[...]
        odd = np.flatnonzero(((numbers < 0) | (numbers >= len(vertices))).any(1))
        if len(odd):
            forest._fail(
                f"{corners.name}: tree {odd[0]}: found {numbers[odd[0]].tolist()}, expected vertices below "
                f"{len(vertices)}",
                corners,
            )
        places: NDArray[np.float64] = vertices[...][numbers]
        return places

    def _batches(self, first: int, end: int, *more: Dataset) -> Iterator[tuple[NDArray[Any], ...]]:
        """Tree, corner and level of the quadrants from first to end, and their rows of more datasets, in parts of bounded
        size. Collective: as many reads as the rank needs that has the most."""
        file = self._forest.file
        count = len(range(first, end, BATCH))
        if file._ranks is not None:
            count = max(file.proc_counts(count))
        for number in range(count):
            start = min(first + number * BATCH, end)
            stop = min(start + BATCH, end)
            corner, level, *others = [dataset[start:stop] for dataset in (self.coordinates, self.level, *more)]
            if start < stop:
                trees = self.trees(start, stop).astype(np.int64)
                yield trees, corner.astype(np.int64), level.astype(np.int64), *others

    def _check_order(self) -> str:
        """The quadrants fill each tree, in the order of the Morton curve. A Morton index has up to 90 bits: two words.
        Returns the checksum."""
        d, half = self.dimension, BITS // 2
        low_bits = d * half
        whole = np.int64(1) << low_bits
        start, end_high, end_low, checksum = 0, whole, np.int64(0), 0
        for trees, corner, level in self._batches(0, len(self)):
            self._check(level > BITS, self.level, start, trees, level, f"a level of at most {BITS}")
            edge = np.int64(1) << (BITS - level)
            odd = ((corner < 0) | (corner >= 1 << BITS) | (corner & (edge[:, None] - 1) != 0)).any(1)
            what = f"multiples of the quadrant's edge from 0 to 2^{BITS} - 1"
            self._check(odd, self.coordinates, start, trees, corner, what)
            high, low = _morton(corner >> half), _morton(corner & ((1 << half) - 1))
            # After each quadrant the next one begins.
            bits = d * (BITS - level)
            after_low = low + np.where(bits < low_bits, np.int64(1) << np.minimum(bits, low_bits), 0)
            after_high = high + np.where(bits < low_bits, 0, np.int64(1) << np.maximum(bits - low_bits, 0))
            after_high += after_low >> low_bits
            after_low &= whole - 1
            before_high, before_low = np.append(end_high, after_high[:-1]), np.append(end_low, after_low[:-1])
            first = self.tree_offsets[trees] == np.arange(start, start + len(trees))
            what = "the tree before it filled by its quadrants"
            odd = first & ((before_high != whole) | (before_low != 0))
            self._check(odd, self.coordinates, start, trees, corner, what)
            odd = (high != np.where(first, 0, before_high)) | (low != np.where(first, 0, before_low))
            what = "the place on the Morton curve where the quadrant before it ends"
            self._check(odd, self.coordinates, start, trees, corner, what)
            checksum += terms(np.arange(start, start + len(trees)), trees, level)
            start, end_high, end_low = start + len(trees), after_high[-1], after_low[-1]
        if end_high != whole or end_low != 0:
            what = f"{self.coordinates.name}: found the end of the quadrants, expected more in the last tree"
            self._forest._fail(what, self.coordinates)
        return f"{checksum % 2**64:016x}"

    def _check(
        self,
        odd: NDArray[np.bool_],
        dataset: Dataset,
        start: int,
        trees: NDArray[np.int64],
        values: NDArray[np.generic],
        expected: str,
    ) -> None:
        """An error for the first quadrant that is odd, if there is one."""
        if odd.any():
            first = int(odd.argmax())
            self._forest._fail(
                f"{dataset.name}: quadrant {start + first} (tree {trees[first]}): found {values[first].tolist()}, "
                f"expected {expected}",
                dataset,
            )

    def _range(self, start: int, stop: Optional[int]) -> tuple[int, int]:
        stop = len(self) if stop is None else stop
        with self._forest.file._reading():
            if not 0 <= start <= stop <= len(self):
                raise ValueError(f"range: found {start} to {stop}, expected a part of 0 to {len(self)}")
        return start, stop

    def parts(
        self, start: int = 0, stop: Optional[int] = None
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """Points and cells of some of the quadrants after the other, in order. Collective: each rank gives a range of its
        own, any or none, and takes all of its parts.

        Cells that touch share their points, if they are in one part and in one tree; a hanging node is a point of the
        smaller cells only.

        Args:
            start, stop: the first quadrant, and the one after the last. None: all.

        Returns:
            Points in space, shape (points, 3). The points of each cell, shape (quadrants, 2^d), from 0 in each part,
            x varying fastest.
        """
        if self.tree_corners is None:
            self._forest._fail(f"{self._forest.name}/vertices, the geometry of the trees, is missing")
        d = self.dimension
        corners = np.array([[c >> axis & 1 for axis in range(d)] for c in range(2**d)], np.int64)
        for trees, corner, level in self._batches(*self._range(start, stop)):
            # In units of the smallest quadrant: that makes small numbers.
            finest = int(level.max())
            nodes = np.empty((len(level), 2**d, d + 1), np.int64)
            nodes[..., 0] = (trees - trees[0])[:, None]
            unit = (corner >> (BITS - finest))[:, None] + (corners << (finest - level)[:, None, None])
            nodes[..., 1:] = unit[..., ::-1]
            places, cells = unique(nodes.reshape(-1, d + 1), finest + 1)
            points = self._place(places[:, 0] + trees[0], places[:, :0:-1] / float(1 << finest))
            yield points, cells.reshape(len(level), 2**d)

    def _place(self, trees: NDArray[np.int64], unit: NDArray[np.float64]) -> NDArray[np.float64]:
        """From coordinates of 0 to 1 in trees into space, as p4est_qcoord_to_vertex does."""
        assert self.tree_corners is not None
        points = self.tree_corners[trees]
        for axis in reversed(range(self.dimension)):
            half = points.shape[1] // 2
            part = unit[:, axis, None, None]
            points = (1 - part) * points[:, :half] + part * points[:, half:]
        places: NDArray[np.float64] = points[:, 0]
        return places

    def points_and_cells(
        self, start: int = 0, stop: Optional[int] = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The :meth:`parts` as one: points in space, shape (points, 3), and the points of each cell, shape
        (quadrants, 2^d), x varying fastest. Collective: each rank gives a range of its own, any or none."""
        points, cells, before = [np.empty((0, 3))], [np.empty((0, 2**self.dimension), np.int64)], 0
        for each_points, each_cells in self.parts(start, stop):
            points.append(each_points)
            cells.append(each_cells + before)
            before += len(each_points)
        return np.concatenate(points), np.concatenate(cells)

    def vtk_parts(
        self, start: int = 0, stop: Optional[int] = None, apart: bool = False
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]]:
        """Cells as VTK has them, as :meth:`parts`. Collective.

        Args:
            start, stop: the first one, and the one after the last. None: all.
            apart: no two cells share a point.

        Returns:
            Points in space; the points of the cells one after the other; how many each cell has; its shape, by the numbers
            of VTK.
        """
        for points, cells in self.parts(start, stop):
            if apart:
                points, cells = points[cells.ravel()], np.arange(cells.size).reshape(cells.shape)
            shape, width = (_QUAD if self.dimension == 2 else _HEXAHEDRON), cells.shape[1]
            around = cells[:, _AROUND[self.dimension]].ravel()
            yield points, around, np.full(len(cells), width), np.full(len(cells), shape, np.uint8)

    @property
    def tree(self) -> NDArray[np.int32]:
        """The tree of each quadrant."""
        return self.trees(0, len(self))

    def trees(self, start: int, stop: int) -> NDArray[np.int32]:
        """The tree of each of some quadrants."""
        return (np.searchsorted(self.tree_offsets, np.arange(start, stop), "right") - 1).astype(np.int32)


def unique(nodes: NDArray[np.int64], bits: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each different node once, and which of them each node is.

    Args:
        nodes: shape (n, 1 + d): the tree, and coordinates of `bits` bits, x last.
    """
    d = nodes.shape[1] - 1
    if int(nodes[-1, 0]).bit_length() + d * bits > 63:
        different, which = np.unique(nodes, axis=0, return_inverse=True)
        return different, which.reshape(-1).astype(np.int64, copy=False)
    # One number for each node is faster to sort.
    keys = nodes[:, 0]
    for axis in range(1, 1 + d):
        keys = keys << bits | nodes[:, axis]
    keys, which = np.unique(keys, return_inverse=True)
    different = np.empty((len(keys), 1 + d), np.int64)
    for axis in range(d, 0, -1):
        different[:, axis] = keys & ((1 << bits) - 1)
        keys = keys >> bits
    different[:, 0] = keys
    return different, which.astype(np.int64, copy=False)


def _morton(corner: NDArray[np.int64]) -> NDArray[np.int64]:
    """The bits of coordinates below 2^15, shape (n, d), in turn, those of x lowest."""
    d = corner.shape[1]
    index = np.zeros(len(corner), np.int64)
    for bit in range(BITS // 2):
        for axis in range(d):
            index |= (corner[:, axis] >> bit & 1) << (bit * d + axis)
    return index
