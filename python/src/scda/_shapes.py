"""Reading: the elements of forests of any shapes (docs/t8code.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, Optional

import numpy as np

from ._dataset import Dataset
from ._mesh import Mesh

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._forest import Forest

# By the numbers of VTK: those of each dimension.
_SHAPES = {1: [3], 2: [5, 9], 3: [10, 12, 13, 14]}
# In which order VTK has the corners of a cell; of shapes with two triangles or a tip, if that makes the volume positive.
_AROUND = {3: [0, 1], 5: [0, 1, 2], 9: [0, 1, 3, 2], 12: [0, 1, 3, 2, 4, 5, 7, 6]}
_RIGHT = {10: [0, 1, 2, 3], 13: [0, 1, 2, 3, 4, 5], 14: [0, 1, 3, 2, 4]}
_LEFT = {10: [0, 2, 1, 3], 13: [0, 2, 1, 3, 5, 4], 14: [0, 2, 3, 1, 4]}


class ShapedMesh(Mesh):
    """The elements of a forest of any shapes, and where they are in space.

    Attributes:
        level, coordinates, tree_offsets, checksum, key: as those of :class:`Mesh`.
        type: the dataset that says where the other corners of each element are.
        position: the dataset with the number of the finest elements of the tree before each element.
        tree_shape: the shape of each tree, by the numbers of VTK.
        tree_corners: where the corners of each tree are in space, shape (trees, 2^d, 3); None if the file does not say.
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
        forest._expect(coordinates, "int32", (None, d))
        count = len(coordinates)
        parts = {name: forest._paired(name, "coordinates", number) for name in ("level", "type", "position")}
        for name, dtype in (("level", "uint8"), ("type", "uint8"), ("position", "uint64")):
            forest._expect(parts[name], dtype, (count,))
        self.level, self.type, self.position = parts["level"], parts["type"], parts["position"]
        offsets = forest._paired("tree_offsets", "coordinates", number)
        forest._expect(connectivity, "int64", (None, 2 * d))
        trees = len(connectivity)
        if trees == 0:
            forest._fail(f"{connectivity.name}: there is no tree", connectivity)
        forest._expect(offsets, "int64", (trees + 1,))
        self.tree_offsets = self._find_offsets(offsets, count)
        end = self._end_of(connectivity)
        shapes = forest._last("tree_shape", connectivity.section.index, end)
        if shapes is None:
            forest._fail(f"{forest.name}/tree_shape: none follows {connectivity.name}", connectivity)
        forest._expect(shapes, "uint8", (trees,))
        self.tree_shape: NDArray[np.uint8] = shapes[...]
        odd = np.flatnonzero(~np.isin(self.tree_shape, _SHAPES[d]))
        if len(odd):
            what = f"tree {odd[0]}: found shape {self.tree_shape[odd[0]]}, expected one of {_SHAPES[d]}"
            forest._fail(f"{shapes.name}: {what}", shapes)
        vertices = forest._last("tree_vertices", connectivity.section.index, end)
        self.tree_corners = None
        if vertices is not None:
            forest._expect(vertices, "float64", (trees, 2**d, 3))
            self.tree_corners = vertices[...]
        self._check_elements(self.tree_shape, self.type, self.position)

    def parts(
        self, start: int = 0, stop: Optional[int] = None
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """Points and cells of some of the elements after the other, as :meth:`Mesh.parts`.

        Returns:
            Points in space, shape (points, 3). The points of each cell, shape (elements, 2^d), in the order of
            docs/t8code.md; -1 for corners that the shape of the element does not have.
        """
        for points, cells, _ in self._parts(*self._range(start, stop)):
            yield points, cells

    def _parts(
        self, first: int, end: int
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.uint8]]]:
        """Those, with the shape of each element."""
        if self.tree_corners is None:
            self._forest._fail(f"{self._forest.name}/tree_vertices, the geometry of the trees, is missing")
        yield from self._placed(first, end, self.tree_shape, self.type)

    def vtk_parts(
        self, start: int = 0, stop: Optional[int] = None, apart: bool = False
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]]:
        """Cells as VTK has them, as :meth:`Mesh.vtk_parts`. No field is at corners, for which cells would stand apart."""
        assert not apart
        for points, cells, shapes in self._parts(*self._range(start, stop)):
            order = np.full(cells.shape, -1, np.int64)
            for shape in np.unique(shapes):
                rows = np.flatnonzero(shapes == shape)
                of = cells[rows]
                if shape in _AROUND:
                    order[rows[:, None], np.arange(len(_AROUND[shape]))] = of[:, _AROUND[shape]]
                    continue
                # Three corners around the first one; the third is away from the plane of the others.
                around = points[of[:, [1, 2, {10: 3, 13: 3, 14: 4}[int(shape)]]]] - points[of[:, :1]]
                right = np.linalg.det(around) > 0
                for which, columns in ((right, _RIGHT[shape]), (~right, _LEFT[shape])):
                    order[rows[which][:, None], np.arange(len(columns))] = of[which][:, columns]
            there = order >= 0
            yield points, order[there], there.sum(1), shapes
