"""Reads particles, which may belong to the cells of a mesh (docs/particles.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence

import numpy as np

from . import _core
from ._dataset import Dataset
from ._mesh import expect_right
from ._series import Steps, groups_with

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._file import File

_VERSION = 1
ATTRIBUTE = "scda_particles"


def particle_groups(file: File) -> list[str]:
    """The names of the groups of particles in a file, in its order. Collective."""
    return groups_with(file, ATTRIBUTE)


class Particles(Steps["ParticleStep"]):
    """Particles: a sequence of their time steps.

    Args:
        file: a file that is open for reading.
        name: the name of the group. None: the only particles of the file.

    Attributes:
        file: the file.
        name: the name of the group.
        attrs: the attributes of the group.
        times: the time of each step, possibly taken from the mesh; if the file has no times, the number of its only
            step, 0.
    """

    def __init__(self, file: File, name: Optional[str] = None) -> None:
        super().__init__(file, name, ATTRIBUTE, "group of particles", (_VERSION,))

    @property
    def mesh(self) -> Optional[str]:
        """The group of the mesh to whose cells the particles belong; None if there is none."""
        mesh = self.attrs.get("mesh")
        return mesh if isinstance(mesh, str) else None

    def _shared_times(self) -> Sequence[Dataset]:
        return list(self.file.records(f"{self.mesh}/time")) if self.mesh and f"{self.mesh}/time" in self.file else ()

    def _step(self, number: int) -> ParticleStep:
        return ParticleStep(self, number)

    def _offsets(self, end: int) -> Dataset:
        """The last offsets before this section."""
        found = self._last("offsets", 0, end)
        if found is None:
            self._fail(f"{self.name}/offsets: the cells have none before section {end}")
        self._expect_part(found, "offsets", 0)
        return found

    def __repr__(self) -> str:
        return f"<scda particles {self.name!r}: {len(self)} time steps, fields {self.fields}>"


class ParticleStep:
    """A time step of particles.

    Attributes:
        particles: the particles and their steps.
        number: the number of the step, from 0.
        offsets: the particles of cell i are those from ``offsets[i]`` to ``offsets[i + 1] - 1``.
    """

    def __init__(self, particles: Particles, number: int) -> None:
        self.particles = particles
        self.number = number
        dataset = particles._offsets(particles._bounds[number + 1])
        self.offsets: NDArray[np.int64] = dataset[:]
        expect_right(particles, _core.wrong_offsets(self.offsets), {"offsets": dataset})

    @property
    def time(self) -> float:
        """The time; the number of the step if the file has no times."""
        return self.particles.times[self.number]

    def __len__(self) -> int:
        """The number of particles."""
        return int(self.offsets[-1])

    def field(self, name: str) -> Optional[Dataset]:
        """A field: a dataset with the values of all particles; None if the step does not have it."""
        return self.particles._field(f"fields/{name}", self.number, len(self), "particles")

    def cell(self, name: str, number: int) -> NDArray[Any]:
        """The values of a field for the particles in a cell."""
        found = self.field(name)
        if found is None:
            raise KeyError(f"{self.particles.name}: time step {self.number} has no field {name!r}")
        if not 0 <= number < len(self.offsets) - 1:
            raise IndexError(f"cell {number}: found {len(self.offsets) - 1}")
        values: NDArray[Any] = found[int(self.offsets[number]) : int(self.offsets[number + 1])]
        return values

    def columns(self) -> dict[str, tuple[str, Optional[str]]]:
        """All fields, and all members of fields of structs: the name of the field, and the name of the member or None.

        A column has the name of its member, or ``field/member`` if another column has that name.
        """
        columns: dict[str, tuple[str, Optional[str]]] = {}
        for name in self.particles.fields:
            found = self.field(name)
            for member in () if found is None else found.dtype.names or (None,):
                column = member or name
                columns[column if column not in columns else f"{name}/{member}"] = (name, member)
        return columns

    def column(self, name: str) -> NDArray[Any]:
        """The values of a column for all particles: of a field, or of a member of a field of structs."""
        field, member = self.columns()[name]
        found = self.field(field)
        assert found is not None
        values: NDArray[Any] = found[:]
        return values if member is None else values[member]

    def position(self) -> NDArray[Any]:
        """The positions of all particles: x, y and z of each, 0 for missing axes."""
        if "position" not in self.columns():
            raise KeyError(f"{self.particles.name}: time step {self.number} has no column 'position'")
        values = self.column("position")
        values = values.reshape(len(self), -1) if len(self) else values.reshape(0, values.shape[-1])
        if values.dtype.kind != "f" or not 1 <= values.shape[1] <= 3:
            self.particles._fail(
                f"{self.particles.name}: position: found {values.dtype} of {values.shape[1]}, "
                "expected 1 to 3 floating-point numbers of each particle"
            )
        out = np.zeros((len(values), 3), values.dtype.newbyteorder("="))
        out[:, : values.shape[1]] = values
        return out

    def __repr__(self) -> str:
        return f"<step {self.number} of {self.particles!r}: time {self.time}, {len(self)} particles>"
