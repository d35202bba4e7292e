"""Reading: meshes of points and cells of any shapes (docs/cells.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, Optional

import numpy as np

from . import _core
from ._dataset import Dataset
from ._series import Series, groups_with

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._file import File

_VERSION = 1
ATTRIBUTE = "scda_cells"
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
        count = len(self.corners)
        for start, offsets in _pieces(self.offsets, overlap=1):
            end = start + len(offsets) - 1
            types = np.ascontiguousarray(self.types[start:end])
            wrong = _core.wrong_cells(start, np.ascontiguousarray(offsets), types, count, end == len(self.types))
            if wrong is not None:
                mesh._fail(f"{self.parts[wrong[0]].name}: {wrong[1]}", self.parts[wrong[0]])
        for start, corners in _pieces(self.corners):
            words = _core.wrong_points(start, np.ascontiguousarray(corners), len(self.points))
            if words is not None:
                mesh._fail(f"{self.corners.name}: {words}", self.corners)


def _pieces(dataset: Dataset, overlap: int = 0) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Parts of bounded size, and where they begin. Each reaches `overlap` items into the next one."""
    for start in range(0, max(len(dataset) - overlap, 1), _BATCH):
        yield start, dataset[start : min(start + _BATCH + overlap, len(dataset))]
