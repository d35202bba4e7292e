"""Reading: the mesh of a forest of quadtrees or octrees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Optional

import numpy as np

from . import _core
from ._dataset import Dataset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._forest import Forest

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
    numbers = np.arange(len(level), dtype=np.uint64)
    trees = np.searchsorted(tree_offsets, numbers, "right") - 1
    return _core.mesh_checksum(numbers, trees, np.asarray(level, np.uint8))


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
        self._check_elements(None)

    def _check_elements(self, tree_shape: Optional[NDArray[np.uint8]], *more: Dataset) -> None:
        """The elements fill their trees, in order; with their checksum, which is compared."""
        check = _core.ElementCheck(self.dimension, self.tree_offsets, tree_shape)
        for _, corner, level, *others in self._batches(0, len(self), *more):
            self._expect_right(check.add(corner.ravel(), level, *(others or (None, None))))
        wrong, self.checksum = check.end()
        self._expect_right(wrong)
        found = self.coordinates.attrs.get(MESH, self.checksum)
        if found != self.checksum:
            what = f"found the checksum {found!r}, expected {self.checksum!r}"
            self._forest._fail(f"{self.coordinates.name}: {what}", self.coordinates)

    def _expect_right(self, wrong: Optional[tuple[str, str]]) -> None:
        if wrong is not None:
            dataset: Dataset = getattr(self, wrong[0])
            self._forest._fail(f"{dataset.name}: {wrong[1]}", dataset)

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
                yield trees, corner, level, *others

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
        for points, cells, _ in self._placed(*self._range(start, stop), None):
            yield points, cells

    def _placed(
        self, first: int, end: int, tree_shape: Optional[NDArray[np.uint8]], *more: Dataset
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.uint8]]]:
        """Points and cells, with the shape of each."""
        corners = self.tree_corners
        assert corners is not None
        for trees, corner, level, *others in self._batches(first, end, *more):
            of = slice(trees[0], trees[-1] + 1)
            shapes = None if tree_shape is None else tree_shape[of]
            points, cells, kinds = _core.place_elements(
                self.dimension, corners[of].ravel(), shapes, trees - trees[0], corner.ravel(), level, *(others or (None,))
            )
            yield points.reshape(-1, 3), cells.reshape(len(level), -1), kinds

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
