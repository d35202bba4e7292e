"""Reading: the elements of forests of any shapes (docs/t8code.md)."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Iterator, Optional

import numpy as np

from ._dataset import Dataset
from ._mesh import BITS, Mesh, terms, unique

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._forest import Forest

_TRIANGLE, _TETRAHEDRON, _PRISM, _PYRAMID = 5, 10, 13, 14
# By the numbers of VTK: dimension, and corners.
_SHAPES = {3: (1, 2), 5: (2, 3), 9: (2, 4), 10: (3, 4), 12: (3, 8), 13: (3, 6), 14: (3, 5)}
# In which order VTK has the corners of a cell; of shapes with two triangles or a tip, if that makes the volume positive.
_AROUND = {3: [0, 1], 5: [0, 1, 2], 9: [0, 1, 3, 2], 12: [0, 1, 3, 2, 4, 5, 7, 6]}
_RIGHT = {10: [0, 1, 2, 3], 13: [0, 1, 2, 3, 4, 5], 14: [0, 1, 3, 2, 4]}
_LEFT = {10: [0, 2, 1, 3], 13: [0, 2, 1, 3, 5, 4], 14: [0, 2, 3, 1, 4]}


def _kinds(d: int) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8]]:
    """The elements of this dimension: the table from the shape of a tree and a type to their numbers, 255 where there is
    none; the corners of each, in edges from corner 0; their shapes."""
    table = np.full((15, 8), 255, np.uint8)
    corners: list[list[tuple[int, ...]]] = []
    shapes: list[int] = []

    def add(trees: list[int], number: int, shape: int, places: list[list[int]]) -> None:
        for tree in trees:
            table[tree, number] = len(shapes)
        shapes.append(shape)
        corners.append([(*place, 0, 0, 0)[:d] for place in [*places, *[places[0]] * (8 - len(places))]])

    cube = [[c >> axis & 1 for axis in range(d)] for c in range(2**d)]
    add([{1: 3, 2: 9, 3: 12}[d]], 0, {1: 3, 2: 9, 3: 12}[d], cube)
    triangles = [[[0, 0], [1, 0], [1, 1]], [[0, 0], [0, 1], [1, 1]]]
    for number, triangle in enumerate(triangles):
        if d == 2:
            add([_TRIANGLE], number, _TRIANGLE, triangle)
        elif d == 3:
            add([_PRISM], number, _PRISM, [[*place, z] for z in (0, 1) for place in triangle])
    if d == 3:
        # The axes of each type, in order.
        axes = [(0, 2, 1), (0, 1, 2), (1, 0, 2), (1, 2, 0), (2, 1, 0), (2, 0, 1)]
        assert sorted(axes) == sorted(permutations(range(3)))
        for number, order in enumerate(axes):
            places = [[int(axis in order[:k]) for axis in range(3)] for k in range(4)]
            add([_TETRAHEDRON, _PYRAMID], number, _TETRAHEDRON, places)
        base = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]
        add([_PYRAMID], 6, _PYRAMID, [*base, [1, 1, 1]])
        add([_PYRAMID], 7, _PYRAMID, [*base, [0, 0, -1]])
    return table, np.array(corners, np.int64), np.array(shapes, np.uint8)


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
        known = [shape for shape, (dimension, _) in _SHAPES.items() if dimension == d]
        odd = np.flatnonzero(~np.isin(self.tree_shape, known))
        if len(odd):
            what = f"tree {odd[0]}: found shape {self.tree_shape[odd[0]]}, expected one of {known}"
            forest._fail(f"{shapes.name}: {what}", shapes)
        vertices = forest._last("tree_vertices", connectivity.section.index, end)
        self.tree_corners = None
        if vertices is not None:
            forest._expect(vertices, "float64", (trees, 2**d, 3))
            self.tree_corners = vertices[...]
        self._table, self._corners, self._shapes = _kinds(d)
        self.checksum = self._check_elements()
        self._compare_checksum()

    def _elements(self, first: int, end: int) -> Iterator[tuple[NDArray[np.int64], ...]]:
        """Tree, corner, level and type of some elements, in parts of bounded size. Collective."""
        for trees, corner, level, kind in self._batches(first, end, self.type):
            yield trees, corner, level, kind.astype(np.int64)

    def _check_elements(self) -> str:
        """Elements lie in their trees, in the order of positions and apart. Returns the checksum."""
        d = self.dimension
        finest = 21 if d == 3 else BITS
        checksum, start = 0, 0
        before_tree, before_end = -1, np.uint64(0)
        for trees, corner, level, found_type, found in self._batches(0, len(self), self.type, self.position):
            kind, position = found_type.astype(np.int64), found.astype(np.uint64)
            self._check(level > finest, self.level, start, trees, level, f"a level of at most {finest}")
            shape = self.tree_shape[trees]
            element = np.where(kind < 8, self._table[shape, np.minimum(kind, 7)], 255)
            self._check(element == 255, self.type, start, trees, kind, "a type that its tree has")
            edge = np.int64(1) << (BITS - level)
            places = corner[:, None] + edge[:, None, None] * self._corners[element]
            inside = ((places >= 0) & (places <= 1 << BITS)).all((1, 2))
            for shapes, low, high in (
                ([_TRIANGLE, _PRISM], 1, 0),
                ([_TETRAHEDRON], 1, 2),
                ([_TETRAHEDRON, _PYRAMID], 2, 0),
                ([_PYRAMID], 2, 1),
            ):
                if max(low, high) < d:
                    has = np.isin(shape, shapes)
                    inside &= ~has | (places[..., low] <= places[..., high]).all(1)
            odd = ~inside | (corner & (edge[:, None] - 1) != 0).any(1)
            self._check(odd, self.coordinates, start, trees, corner, "multiples of the element's edge, in the tree")
            # Modulo 2^64.
            depth = (finest - level).astype(np.uint64)
            size = np.uint64(1) << np.minimum(np.uint64(d) * depth, np.uint64(63))
            pyramid = self._shapes[element] == _PYRAMID
            size[pyramid] = size[pyramid] * np.uint64(2) - np.uint64(6) ** depth[pyramid]
            whole = np.where(shape == _PYRAMID, np.uint64((2 * 8**21 - 6**21) % 2**64), np.uint64(1 << d * finest))
            begin = np.zeros(len(trees), np.uint64)
            same = np.append(trees[0] == before_tree, trees[1:] == trees[:-1])
            begin[same] = np.append(before_end, (position + size)[:-1])[same]
            odd = (position < begin) | (position > whole - size)
            self._check(odd, self.position, start, trees, position, "a position after the element before")
            checksum += terms(position, trees, level)
            before_tree, before_end = int(trees[-1]), (position + size)[-1]
            start += len(trees)
        return f"{checksum % 2**64:016x}"

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
        d = self.dimension
        for trees, corner, level, kind in self._elements(first, end):
            element = self._table[self.tree_shape[trees], kind]
            finest = int(level.max())
            places = (corner >> (BITS - finest))[:, None]
            places = places + (self._corners[element] << (finest - level)[:, None, None])
            nodes = np.empty((len(level), 2**d, d + 1), np.int64)
            nodes[..., 0] = (trees - trees[0])[:, None]
            nodes[..., 1:] = places[:, : 2**d, ::-1]
            different, cells = unique(nodes.reshape(-1, d + 1), finest + 1)
            points = self._place(different[:, 0] + trees[0], different[:, :0:-1] / float(1 << finest))
            shapes = self._shapes[element]
            widths = np.zeros(15, np.int64)
            widths[list(_SHAPES)] = [corners for _, corners in _SHAPES.values()]
            cells = np.where(np.arange(2**d) < widths[shapes][:, None], cells.reshape(len(level), 2**d), -1)
            yield points, cells, shapes

    def _place(self, trees: NDArray[np.int64], unit: NDArray[np.float64]) -> NDArray[np.float64]:
        """From coordinates in reference trees into space."""
        assert self.tree_corners is not None
        points = np.empty((len(trees), 3))
        shapes = self.tree_shape[trees]
        for shape in np.unique(shapes):
            rows = np.flatnonzero(shapes == shape)
            weights = _weights(int(shape), unit[rows])
            points[rows] = np.einsum("nc,nck->nk", weights, self.tree_corners[trees[rows], : weights.shape[1]])
        return points

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


def _weights(shape: int, unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Those of the corners of a tree at points of its reference tree, shape (points, corners)."""
    x, y, z = (unit[:, axis] if axis < unit.shape[1] else np.zeros(len(unit)) for axis in range(3))

    def box(*axes: NDArray[np.float64]) -> NDArray[np.float64]:
        weights = np.ones((len(unit), 1))
        for axis in axes:
            weights = np.concatenate([weights * (1 - axis)[:, None], weights * axis[:, None]], 1)
        return weights

    triangle = np.stack([1 - x, x - y, y], 1)
    if shape == _TRIANGLE:
        return triangle
    if shape == _TETRAHEDRON:
        return np.stack([1 - x, x - z, z - y, y], 1)
    if shape == _PRISM:
        return np.concatenate([triangle * (1 - z)[:, None], triangle * z[:, None]], 1)
    if shape == _PYRAMID:
        scale = np.where(z < 1, 1 - z, 1)
        base = box((x - z) / scale, (y - z) / scale)
        return np.concatenate([base * (1 - z)[:, None], z[:, None]], 1)
    return box(*(x, y, z)[: unit.shape[1]])
