"""Reads forests, the adaptive meshes of docs/forest.md and docs/t8code.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from ._dataset import Dataset
from ._mesh import MESH, Mesh
from ._series import Steps, groups_with

if TYPE_CHECKING:
    from ._file import File

# Forests of squares and cubes, and forests of any shapes.
_VERSIONS = (1, 2)


def forests(file: File) -> list[str]:
    """The names of the forests in a file, in its order. Collective.

    >>> with scda.open("hello.scda") as f:
    ...     scda.forests(f)
    []
    """
    return groups_with(file, "scda_forest")


class Forest(Steps["Step"]):
    """A forest of quadtrees or octrees, or of trees of any shapes: a sequence of its time steps.

    Everything is validated before it is used: a :class:`FormatError` names the dataset and the quadrant or tree.

    Args:
        file: a file that is open for reading.
        name: the name of the group. None: the only forest of the file.

    Attributes:
        file: the file.
        name: the name of the group.
        dimension: 2 or 3; for a forest of any shapes also 1.
        attrs: the attributes of the group.
        times: the time of each step; if the file has no times, the number of its only step, 0.
    """

    def __init__(self, file: File, name: Optional[str] = None) -> None:
        super().__init__(file, name, "scda_forest", "forest", _VERSIONS)
        dimension = self.attrs.get("dimension")
        self._has_shapes = self.attrs["scda_forest"] == 2
        allowed = (1, 2, 3) if self._has_shapes else (2, 3)
        if type(dimension) is not int or dimension not in allowed:
            expected = " or ".join(map(str, allowed))
            self._fail(f"attribute dimension of {self.name!r}: found {dimension!r}, expected {expected}")
        self.dimension: int = dimension
        self._mesh: Optional[Mesh] = None

    def _step(self, number: int) -> Step:
        return Step(self, number)

    @property
    def fields(self) -> list[str]:
        """The names of the fields with a value for each quadrant, in the order of the file. A field with a variable
        number of values for each quadrant is listed by that number, ``NAME:count``."""
        names = super().fields
        return [name for name in names if f"{name}:count" not in names]

    def at_corners(self, name: str) -> bool:
        """True if a field has values at the corners of the quadrants, that is, if the second dimension of its first
        record is called ``corner``. Never in a forest of any shapes. Collective."""
        if self._has_shapes:
            return False
        return bool(self._places(f"fields/{name}")) and _is_at_corners(self._record(f"fields/{name}", 0))

    def _mesh_before(self, end: int) -> Mesh:
        """The mesh, with its connectivity, that precedes this section. The last one is cached, because steps often
        share it."""
        coordinates, connectivity = self._mesh_parts(end)
        key = coordinates.section.index, connectivity.section.index
        if self._mesh is None or self._mesh.key != key:
            self._mesh = Mesh(self, key, coordinates, connectivity, self._mesh)
        return self._mesh

    def _mesh_parts(self, end: int) -> tuple[Dataset, Dataset]:
        """The first datasets of the mesh and of the connectivity that precede this section."""
        coordinates = self._last("coordinates", 0, end)
        connectivity = self._last("tree_to_tree", 0, end)
        if coordinates is None or connectivity is None:
            missing = "coordinates" if coordinates is None else "tree_to_tree"
            self._fail(f"{self.name}/{missing}: the mesh has none before section {end}")
        if not coordinates.shape:
            self._expect_part(coordinates, "coordinates", self.dimension)
        return coordinates, connectivity

    def __repr__(self) -> str:
        return f"<scda forest {self.name!r}: {self.dimension}D, {len(self)} time steps, fields {self.fields}>"


def _is_at_corners(field: Dataset) -> bool:
    return field.ndim > 1 and field.dims[1] == "corner"


class Step:
    """A time step of a forest.

    Attributes:
        number: the number of the step, from 0.
    """

    def __init__(self, forest: Forest, number: int) -> None:
        self._forest = forest
        self.number = number

    @property
    def time(self) -> float:
        """The time, in :attr:`Forest.units`."""
        return self._forest.times[self.number]

    @property
    def mesh(self) -> Mesh:
        """The mesh. It is the object of the previous step if that was read last and the mesh has not changed.
        Collective."""
        return self._forest._mesh_before(self._forest._bounds[self.number + 1])

    def field(self, name: str) -> Optional[Dataset]:
        """A field, whose first dimension is that of the quadrants; None if this step does not have it. Collective."""
        forest = self._forest
        coordinates, _ = forest._mesh_parts(forest._bounds[self.number + 1])
        found = forest._field(f"fields/{name}", self.number, len(coordinates), "quadrants")
        corners = 2**forest.dimension
        at_corners = found is not None and forest.at_corners(name)
        if found is not None and _is_at_corners(found) and not at_corners and not forest._has_shapes:
            what = f"found shape {found.shape} with corners in the second dimension, expected none, as in the first record"
            forest._fail(f"{found.name}: {what}", found)
        if found is not None and at_corners and found.shape[1:2] != (corners,):
            what = f"found shape {found.shape}, expected {corners} corners in the second dimension"
            forest._fail(f"{found.name}: {what}", found)
        if found is not None and MESH in found.attrs:
            expected = coordinates.attrs.get(MESH)
            expected = self.mesh.checksum if expected is None else expected
            if found.attrs[MESH] != expected:
                what = f"found the mesh {found.attrs[MESH]!r}, expected {expected!r}, that of step {self.number}"
                forest._fail(f"{found.name}: {what}", found)
        return found
