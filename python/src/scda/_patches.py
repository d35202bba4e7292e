"""Reads meshes of patches, as in block-structured codes (docs/patches.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from . import _core
from ._dataset import Dataset
from ._mesh import MESH, expect_right, flat
from ._series import Steps, groups_with

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._file import File

_VERSION = 1
ATTRIBUTE = "scda_patches"


def patch_meshes(file: File) -> list[str]:
    """The names of the meshes of patches in a file, in its order. Collective."""
    return groups_with(file, ATTRIBUTE)


class Patches(Steps["PatchStep"]):
    """A mesh of patches: a sequence of its time steps.

    Everything is validated before it is used: a :class:`FormatError` names the dataset and the patch.

    Args:
        file: a file that is open for reading.
        name: the name of the group. None: the only mesh of patches of the file.

    Attributes:
        file: the file.
        name: the name of the group.
        dimension: 1, 2 or 3.
        attrs: the attributes of the group.
        times: the time of each step; if the file has no times, the number of its only step, 0.
    """

    def __init__(self, file: File, name: Optional[str] = None) -> None:
        super().__init__(file, name, ATTRIBUTE, "mesh of patches", (_VERSION,))
        dimension = self.attrs.get("dimension")
        if type(dimension) is not int or dimension not in (1, 2, 3):
            self._fail(f"attribute dimension of {self.name!r}: found {dimension!r}, expected 1, 2 or 3")
        self.dimension: int = dimension
        self._mesh: Optional[PatchMesh] = None

    def _step(self, number: int) -> PatchStep:
        return PatchStep(self, number)

    def _mesh_before(self, end: int) -> PatchMesh:
        """The last mesh before this section. It is cached, because steps often share it."""
        boxes = self._last("boxes", 0, end)
        if boxes is None:
            self._fail(f"{self.name}/boxes: the mesh has none before section {end}")
        record = self._number("boxes", boxes.section.index)
        if self._mesh is None or self._mesh.record != record:
            self._mesh = PatchMesh(self, record, boxes)
        return self._mesh

    def __repr__(self) -> str:
        return f"<scda patches {self.name!r}: {self.dimension}D, {len(self)} time steps, fields {self.fields}>"


class PatchMesh:
    """The patches of a time step. In numbers for axes, x comes first.

    Attributes:
        boxes: for each patch, the first cell and the number of cells on each axis.
        level: the level of each patch; never decreases.
        ratio: for each level and axis, how many cells side by side fill one cell of the previous level.
        domain: the first cell and the number of cells on each axis, in cells of level 0.
        origin: the corner of the domain with the smallest coordinates.
        offsets: in fields, the cells of patch i are those from ``offsets[i]`` to ``offsets[i + 1] - 1``.
    """

    def __init__(self, patches: Patches, record: int, boxes: Dataset) -> None:
        self.record = record
        d = patches.dimension
        parts = {name: patches._paired(name, "boxes", record) for name in ("level", "ratio", "domain", "geometry")}
        patches._expect_part(boxes, "boxes", d)
        for name, part in parts.items():
            patches._expect_part(part, name, d, len(boxes) if name == "level" else None)
        self.boxes: NDArray[np.int64] = boxes[:]
        self.level: NDArray[np.int32] = parts["level"][:]
        self.ratio: NDArray[np.int32] = parts["ratio"][:]
        self.domain: NDArray[np.int64] = parts["domain"][:]
        geometry = parts["geometry"][:]
        self.origin, self._spacing = geometry
        offsets, self.checksum, wrong = _core.patch_mesh(
            d, flat(self.boxes, "i8"), flat(self.level, "i4"), flat(self.ratio, "i4"), flat(self.domain, "i8"), flat(geometry, "f8")
        )
        self.offsets: NDArray[np.int64] = np.array(offsets, np.int64)
        expect_right(patches, wrong, {**parts, "boxes": boxes})
        named = boxes.attrs.get(MESH, self.checksum)
        if named != self.checksum:
            patches._fail(
                f"{boxes.name}: {MESH}: found {named!r}, expected {self.checksum!r}, that of the patches", boxes
            )

    def __len__(self) -> int:
        """The number of patches."""
        return len(self.boxes)

    @property
    def levels(self) -> int:
        """The number of levels."""
        return len(self.ratio)

    def spacing(self, level: int) -> NDArray[np.float64]:
        """The size of a cell on this level along each axis."""
        spacing: NDArray[np.float64] = self._spacing / np.prod(self.ratio[: level + 1].astype(float), axis=0)
        return spacing

    def cells(self, number: int) -> slice:
        """The range of a patch's cells in a field."""
        return slice(int(self.offsets[number]), int(self.offsets[number + 1]))

    def shape(self, number: int) -> tuple[int, ...]:
        """The shape of an array with the cells of a patch: x last."""
        return tuple(int(n) for n in self.boxes[number, 1, ::-1])


class PatchStep:
    """A time step of a mesh of patches.

    Attributes:
        patches: the mesh and its steps.
        number: the number of the step, from 0.
    """

    def __init__(self, patches: Patches, number: int) -> None:
        self.patches = patches
        self.number = number

    @property
    def time(self) -> float:
        """The time; the number of the step if the file has no times."""
        return self.patches.times[self.number]

    @property
    def mesh(self) -> PatchMesh:
        """The mesh: the last one before the end of the step."""
        return self.patches._mesh_before(self.patches._bounds[self.number + 1])

    def field(self, name: str) -> Optional[Dataset]:
        """A field: a dataset with the cells of all patches; None if the step does not have it."""
        mesh = self.mesh
        found = self.patches._field(f"fields/{name}", self.number, int(mesh.offsets[-1]), "cells")
        if found is not None and found.attrs.get(MESH, mesh.checksum) != mesh.checksum:
            named = found.attrs[MESH]
            self.patches._fail(
                f"{found.name}: {MESH}: found {named!r}, expected {mesh.checksum!r}, that of the mesh", found
            )
        return found

    def patch(self, name: str, number: int) -> NDArray[Any]:
        """The values of a field in a patch: an array with x last, followed by components."""
        values: NDArray[Any] = self._expected(name)[self.mesh.cells(number)]
        return values.reshape(*self.mesh.shape(number), *values.shape[1:])

    def level(self, name: str, level: int, fill: Any = None) -> NDArray[Any]:
        """The values of a field on a level: one array for the smallest box that contains its patches, x last.

        Args:
            name: the name of the field.
            level: the level.
            fill: the value for cells that no patch of the level covers. None: such a cell raises a ``ValueError``.
        """
        mesh, field = self.mesh, self._expected(name)
        numbers = np.flatnonzero(mesh.level == level)
        if not len(numbers):
            raise ValueError(
                f"{self.patches.name}: level {level}: the mesh has the levels below {mesh.levels}"
            )
        first = mesh.boxes[numbers, 0].min(axis=0)
        shape = (mesh.boxes[numbers].sum(axis=1).max(axis=0) - first)[::-1]
        covered = int(mesh.boxes[numbers, 1].prod(axis=1).sum())
        if covered != shape.prod() and fill is None:
            what = f"found {covered} of {shape.prod()} cells of the box around its patches"
            raise ValueError(f"{self.patches.name}: level {level}: {what}; fill= says what stands elsewhere")
        out = np.full((*shape, *field.shape[1:]), 0 if fill is None else fill, field.dtype)
        for number in numbers:
            begin = (mesh.boxes[number, 0] - first)[::-1]
            place = tuple(slice(b, b + n) for b, n in zip(begin, mesh.shape(int(number))))
            out[place] = self.patch(name, int(number))
        return out

    def _expected(self, name: str) -> Dataset:
        field = self.field(name)
        if field is None:
            raise KeyError(f"{self.patches.name}: time step {self.number} has no field {name!r}")
        return field

    def __repr__(self) -> str:
        return f"<step {self.number} of {self.patches!r}: time {self.time}, {len(self.mesh)} patches>"
