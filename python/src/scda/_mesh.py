"""Reads the mesh of a forest of quadtrees or octrees, or of trees of any shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Mapping, NoReturn, Optional

import numpy as np

from . import _core
from ._dataset import Dataset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._forest import Forest
    from ._series import Series

# The attribute of a mesh and of the datasets that belong to it.
MESH = "scda_mesh"
# The most quadrants that are read at once, so that memory stays bounded for meshes of any size.
BATCH = 1 << 20


def mesh_checksum(level: NDArray[np.uint8], tree_offsets: NDArray[np.int64]) -> str:
    """The checksum of a mesh, for the attribute ``scda_mesh`` of ``coordinates``, of the fields and of ``data``.

    Args:
        level: the level of each quadrant.
        tree_offsets: the quadrants of tree t are those from ``tree_offsets[t]`` to ``tree_offsets[t + 1] - 1``.

    >>> scda.mesh_checksum(np.array([1, 1, 1, 1, 0], np.uint8), np.array([0, 4, 5]))
    '752cf7a7fb077e1f'
    """
    return _core.mesh_checksum(flat(level, "u1"), flat(tree_offsets, "i8"))


def flat(array: Any, dtype: str) -> NDArray[Any]:
    """Numbers as a contiguous array for the core."""
    return np.ascontiguousarray(array, dtype).ravel()


def expect_right(series: Series, wrong: Optional[tuple[str, str]], datasets: Mapping[str, Optional[Dataset]]) -> None:
    """Raises an error if the core has found a part of a mesh to be wrong."""
    if wrong is not None:
        part, words = wrong
        series._fail(f"{series.name}/{part}: {words}", datasets.get(part))


class Mesh:
    """The quadrants of a forest (in 3D: octants), or the elements of a forest of any shapes, and their positions in
    space.

    Attributes:
        level: the dataset with the level of each quadrant.
        coordinates: the dataset with the corner of each quadrant next to the origin of its tree, in units of 2^-30 of
            the tree's edge.
        tree_offsets: the quadrants of tree t are those from ``tree_offsets[t]`` to ``tree_offsets[t + 1] - 1``; int64.
        tree_corners: the corners of each tree in space, x fastest, shape (trees, 2^d, 3); None if the file does not
            have them.
        checksum: the result of :func:`mesh_checksum`, which fields refer to.
        key: distinguishes the meshes of a file.
        type, position, tree_shape: for a forest of any shapes, the dataset that tells where the other corners of each
            element are, the one with the number of finest elements of the tree before each element, and the shape of
            each tree as VTK numbers them; None for other forests.
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
        self.coordinates = coordinates
        number = forest._number("coordinates", coordinates.section.index)
        forest._expect_part(coordinates, "coordinates", d)
        self.level = self._of_elements("level", number)
        has_shapes = forest._has_shapes
        self.type = self._of_elements("type", number) if has_shapes else None
        self.position = self._of_elements("position", number) if has_shapes else None
        offsets = forest._paired("tree_offsets", "coordinates", number)
        forest._expect_part(offsets, "tree_offsets", d)
        forest._expect_part(connectivity, "tree_to_tree", d)
        trees = len(connectivity)
        forest._expect_part(offsets, "tree_offsets", d, trees + 1)
        if trees == 0:
            forest._fail(f"{connectivity.name}: there is no tree", connectivity)
        self.tree_offsets = self._find_offsets(offsets, trees)
        shapes = self._of_trees("tree_shape", connectivity) if has_shapes else None
        if has_shapes and shapes is None:
            forest._fail(f"{forest.name}/tree_shape: none follows {connectivity.name}", connectivity)
        if shapes is not None:
            forest._expect_part(shapes, "tree_shape", d, trees)
        self.tree_shape: Optional[NDArray[np.uint8]] = None if shapes is None else shapes[...]
        has_same = before is not None and before.key[1] == key[1]
        corners = before.tree_corners if before is not None and has_same else self._find_corners(connectivity, trees)
        self.tree_corners: Optional[NDArray[np.float64]] = corners
        self.checksum = self._check(shapes)

    def _of_elements(self, name: str, number: int) -> Dataset:
        """A dataset of this mesh with one item for each quadrant."""
        found = self._forest._paired(name, "coordinates", number)
        self._forest._expect_part(found, name, self.dimension, len(self.coordinates))
        return found

    def _of_trees(self, name: str, connectivity: Dataset) -> Optional[Dataset]:
        """The last dataset of this name before the next connectivity begins."""
        forest, start = self._forest, connectivity.section.index
        following = forest._number("tree_to_tree", start + 1)
        end = [*forest._places("tree_to_tree")[following : following + 1], len(forest.file.sections)][0]
        return forest._last(name, start, end)

    def _find_offsets(self, dataset: Dataset, trees: int) -> NDArray[np.int64]:
        """Reads and checks the offsets in batches, because a file may claim any number of trees."""
        found: list[NDArray[np.int64]] = []
        before = 0
        for start in range(0, len(dataset), BATCH):
            found.append(dataset[start : start + BATCH])
            wrong = _core.wrong_tree_offsets(found[-1], start, before, trees, len(self))
            expect_right(self._forest, wrong, {"tree_offsets": dataset})
            before = int(found[-1][-1])
        return np.concatenate(found)

    def _find_corners(self, connectivity: Dataset, trees: int) -> Optional[NDArray[np.float64]]:
        forest, d = self._forest, self.dimension
        if forest._has_shapes:
            places = self._of_trees("tree_vertices", connectivity)
            if places is None:
                return None
            forest._expect_part(places, "tree_vertices", d, trees)
            all_places: NDArray[np.float64] = places[...]
            return all_places
        vertices, corners = self._of_trees("vertices", connectivity), self._of_trees("tree_to_vertex", connectivity)
        if vertices is None or corners is None:
            return None
        forest._expect_part(vertices, "vertices", d)
        forest._expect_part(corners, "tree_to_vertex", d, trees)
        most = _core.most_vertices(trees, d)
        if len(vertices) > most:
            forest._fail(f"{vertices.name}: found {len(vertices)} vertices, expected at most {most}", vertices)
        numbers = corners[...]
        expect_right(forest, _core.wrong_corners(numbers.ravel(), d, len(vertices)), {"tree_to_vertex": corners})
        found: NDArray[np.float64] = vertices[...][numbers]
        return found

    def _check(self, shapes: Optional[Dataset]) -> str:
        """Checks all quadrants and returns the checksum."""
        check = _core.ForestCheck(self.dimension, self.tree_offsets, self.tree_shape)
        datasets = {"coordinates": self.coordinates, "level": self.level, "type": self.type, "position": self.position}
        of_elements = () if self.type is None or self.position is None else (self.type, self.position)
        for _, corner, level, *more in self._batches(0, len(self), *of_elements):
            wrong = check.add(corner.ravel(), level, *(more or (None, None)))
            expect_right(self._forest, wrong, {**datasets, "tree_shape": shapes})
        found = self.coordinates.attrs.get(MESH, check.checksum)
        if found != check.checksum:
            what = f"found the checksum {found!r}, expected {check.checksum!r}"
            self._forest._fail(f"{self.coordinates.name}: {what}", self.coordinates)
        return check.checksum

    def __len__(self) -> int:
        """The number of quadrants."""
        return len(self.coordinates)

    def _batches(self, first: int, end: int, *more: Dataset) -> Iterator[tuple[Any, ...]]:
        """Yields, in batches of bounded size: the number of the first quadrant, coordinates and levels, and the rows of
        further datasets. Collective: all ranks read as often as the rank with the most quadrants needs."""
        file = self._forest.file
        count = len(range(first, end, BATCH))
        if file._ranks is not None:
            count = max(file.proc_counts(count))
        for number in range(count):
            start = min(first + number * BATCH, end)
            rows = slice(start, min(start + BATCH, end))
            found = [dataset[rows] for dataset in (self.coordinates, self.level, *more)]
            if rows.start < rows.stop:
                yield (start, *found)

    def _cells(
        self, start: int, stop: Optional[int], apart: bool, for_vtk: bool
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint8]]]:
        """Yields points, the points of the cells, the number of points of each cell, and its shape, in batches."""
        stop = len(self) if stop is None else stop
        with self._forest.file._reading():
            if not 0 <= start <= stop <= len(self):
                raise ValueError(f"range: found {start} to {stop}, expected a part of 0 to {len(self)}")
        if self.tree_corners is None:
            self._no_corners()
        corners = flat(self.tree_corners, "f8")
        of_elements = () if self.type is None else (self.type,)
        for first, corner, level, *kind in self._batches(start, stop, *of_elements):
            yield _core.forest_cells(
                self.tree_offsets, self.tree_shape, corners, first, corner, level, kind[0] if kind else None, apart, for_vtk
            )

    def _no_corners(self) -> NoReturn:
        name = "tree_vertices" if self._forest._has_shapes else "vertices"
        self._forest._fail(f"{self._forest.name}/{name}, the geometry of the trees, is missing")

    def parts(
        self, start: int = 0, stop: Optional[int] = None
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """Points and cells of a range of quadrants, in parts. Collective: each rank passes its own range, which may be
        empty, and must take all of its parts.

        Neighboring cells share their points if they are in the same part and in the same tree; a hanging node is a
        point of the smaller cells only.

        Args:
            start, stop: the first quadrant, and the one after the last. None: all quadrants.

        Returns:
            Points in space, shape (points, 3), and the points of each cell, shape (quadrants, 2^d), numbered from 0 in
            each part, x fastest; for a forest of any shapes in the order of docs/t8code.md, with -1 for corners that
            the element's shape does not have.
        """
        for points, corners, widths, _ in self._cells(start, stop, False, False):
            cells = np.full((len(widths), 2**self.dimension), -1, np.int64)
            cells[np.arange(2**self.dimension) < widths[:, None]] = corners
            yield points, cells

    def points_and_cells(
        self, start: int = 0, stop: Optional[int] = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """All :meth:`parts` together: points in space, shape (points, 3), and the points of each cell, shape
        (quadrants, 2^d). Collective: each rank passes its own range, which may be empty."""
        points, cells, before = [np.empty((0, 3))], [np.empty((0, 2**self.dimension), np.int64)], 0
        for each_points, each_cells in self.parts(start, stop):
            points.append(each_points)
            cells.append(np.where(each_cells < 0, each_cells, each_cells + before))
            before += len(each_points)
        return np.concatenate(points), np.concatenate(cells)

    def vtk_parts(
        self, apart: bool = False
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint8]]]:
        """All cells in the order of VTK, in parts like those of :meth:`parts`. Collective.

        Args:
            apart: if true, no two cells share a point.

        Returns:
            Points in space; the points of the cells, concatenated; the number of points of each cell; and its shape,
            as VTK numbers them.
        """
        return self._cells(0, len(self), apart, True)

    @property
    def tree(self) -> NDArray[np.int32]:
        """The tree of each quadrant."""
        return self.trees(0, len(self))

    def trees(self, start: int, stop: int) -> NDArray[np.int32]:
        """The tree of each quadrant in a range."""
        return (np.searchsorted(self.tree_offsets, np.arange(start, stop), "right") - 1).astype(np.int32)
