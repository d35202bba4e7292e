"""Reading: meshes of points and cells of any shapes (docs/cells.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, Optional

import numpy as np

from ._dataset import Dataset
from ._series import Series, groups_with

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._file import File

_VERSION = 1
ATTRIBUTE = "scda_cells"
# VTK's number of each type whose cells all have as many points, and that many.
_POINTS_OF_TYPE = {
    **{0: 0, 1: 1, 3: 2, 5: 3, 8: 4, 9: 4, 10: 4, 11: 8, 12: 8, 13: 6, 14: 5, 15: 10, 16: 12},
    **{21: 3, 22: 6, 23: 8, 24: 10, 25: 20, 26: 15, 27: 13, 28: 9, 29: 27, 30: 6},
    **{31: 12, 32: 18, 33: 24, 34: 7, 35: 4, 37: 19},
}
# Those with any number: chains, strips, polygons, sets of points, and shapes of Lagrange and Bézier.
_TYPES_OF_ANY = [2, 4, 6, 7, 36, 41, *range(68, 75), *range(75, 82)]
_ANY, _NONE = -1, -2
# The items that are looked at at once.
_BATCH = 1 << 22


def cell_meshes(file: File) -> list[str]:
    """The names of the meshes of points and cells in a file."""
    return groups_with(file, ATTRIBUTE)


class CellMesh(Series):
    """The time steps of a mesh of points and cells, with fields on both."""

    def __init__(self, file: File, name: Optional[str] = None) -> None:
        super().__init__(file, name, ATTRIBUTE, "mesh of cells", (_VERSION,))
        self._cells: dict[int, Cells] = {}

    def fields(self, where: str) -> list[str]:
        """The names of the fields on ``points`` or ``cells``."""
        prefix = f"{where}_fields/"
        return [name[len(prefix) :] for name in self._names if name.startswith(prefix)]

    def cells(self, number: int) -> Cells:
        """The mesh of a time step: the last one before its end, validated; the same object while it does not change."""
        end = self._bounds[number + 1]
        points = self._last("points", 0, end)
        if points is None:
            self._fail(f"{self.name}/points: the mesh has none before section {end}")
        record = self._number("points", points.section.index)
        if record not in self._cells:
            self._cells[record] = Cells(self, record)
        return self._cells[record]

    def field(self, where: str, name: str, number: int) -> Optional[Dataset]:
        """A field of a time step; None if it has none."""
        cells = self.cells(number)
        count = len(cells.points) if where == "point" else len(cells.types)
        return self._field(f"{where}_fields/{name}", number, count, f"{where}s")


class Cells:
    """Points, and the points of each cell.

    Attributes:
        parts: the datasets ``points``, ``cell_points``, ``cell_offsets`` and ``cell_types``.
    """

    def __init__(self, mesh: CellMesh, record: int) -> None:
        names = ("points", "cell_points", "cell_offsets", "cell_types")
        self.parts = {name: mesh._paired(name, "points", record) for name in names}
        self.points, self.corners, self.offsets, self.types = self.parts.values()
        mesh._expect(self.points, "float32" if self.points.dtype == np.float32 else "float64", (None, 3))
        mesh._expect(self.corners, "int64", (None,))
        mesh._expect(self.types, "uint8", (None,))
        mesh._expect(self.offsets, "int64", (len(self.types) + 1,))
        self._check(mesh)

    def _check(self, mesh: CellMesh) -> None:
        end = 0
        for start, offsets in _pieces(self.offsets, overlap=1):
            begins, sizes = int(offsets[0]), np.diff(offsets)
            if start == 0 and begins != 0:
                mesh._fail(f"{self.offsets.name}: index 0: found {begins}, expected 0", self.offsets)
            if len(sizes) and (sizes < 0).any():
                odd = start + int((sizes < 0).argmax())
                mesh._fail(f"{self.offsets.name}: cell {odd}: found an end before its begin", self.offsets)
            types = self.types[start : start + len(sizes)]
            wanted = np.full(256, _NONE)
            wanted[_TYPES_OF_ANY] = _ANY
            wanted[list(_POINTS_OF_TYPE)] = list(_POINTS_OF_TYPE.values())
            odd_types = wanted[types] == _NONE
            if odd_types.any():
                first = int(odd_types.argmax())
                mesh._fail(
                    f"{self.types.name}: cell {start + first}: found {types[first]}, expected the number of a shape of "
                    "VTK that its points make",
                    self.types,
                )
            odd_sizes = (wanted[types] >= 0) & (wanted[types] != sizes)
            if odd_sizes.any():
                first = int(odd_sizes.argmax())
                mesh._fail(
                    f"{self.offsets.name}: cell {start + first}: found {sizes[first]} points, expected "
                    f"{wanted[types[first]]} of a cell of type {types[first]}",
                    self.offsets,
                )
            end = int(offsets[-1])
        if end != len(self.corners):
            what = f"found the end of the last cell at {end}, expected {len(self.corners)}"
            mesh._fail(f"{self.offsets.name}: {what}, the length of {self.corners.name}", self.offsets)
        count = len(self.points)
        for start, corners in _pieces(self.corners):
            odd_corners = (corners < 0) | (corners >= count)
            if odd_corners.any():
                first = int(odd_corners.argmax())
                mesh._fail(
                    f"{self.corners.name}: index {start + first}: found {corners[first]}, expected a point below {count}",
                    self.corners,
                )


def _pieces(dataset: Dataset, overlap: int = 0) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Parts of bounded size, and where they begin. Each reaches `overlap` items into the next one."""
    for start in range(0, max(len(dataset) - overlap, 1), _BATCH):
        yield start, dataset[start : min(start + _BATCH + overlap, len(dataset))]
