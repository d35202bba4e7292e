"""Groups for meshes and particles, whose datasets belong to time steps."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Generic, Iterator, NoReturn, Optional, Sequence, TypeVar

from . import _core
from ._dataset import Dataset
from ._errors import FormatError
from ._group import Group

if TYPE_CHECKING:
    from ._file import File

# The type of a time step.
S = TypeVar("S")


def groups_with(file: File, attribute: str) -> list[str]:
    """The names of the groups that have this attribute, in the order of the file. Collective."""
    groups = (path[:-1] for path in file._paths() if path.endswith("/"))
    return [name for name in groups if attribute in Group(file, name).attrs]


class Series:
    """A group of datasets in which each record of ``time`` begins a time step.

    Attributes:
        file: the file.
        name: the name of the group.
        attrs: the attributes of the group.
        times: the time of each step; if the file has no times, the number of its only step, 0.
    """

    def __init__(self, file: File, name: Optional[str], attribute: str, what: str, versions: tuple[int, ...]) -> None:
        if name is None:
            found = groups_with(file, attribute)
            if not found:
                raise ValueError(f"{file._path}: the file has no {what}")
            if len(found) > 1:
                raise ValueError(f"{file._path}: each of {found} is a {what}; name one")
            name = found[0]
        self.file = file
        self.name = name
        self._convention = attribute
        self.attrs = Group(file, name).attrs
        if attribute not in self.attrs:
            raise ValueError(f"{file._path}: group {name!r} is not a {what}: it has no attribute {attribute}")
        if type(self.attrs[attribute]) is not int or self.attrs[attribute] not in versions:
            expected = " or ".join(map(str, versions))
            self._fail(f"attribute {attribute} of {name!r}: found {self.attrs[attribute]!r}, expected {expected}")
        # The names of the datasets, in the order of the file.
        self._names = Group(file, name)._datasets()
        # The sections of the records of each name that has been looked up, and the records that have been read.
        self._sections: dict[str, list[int]] = {}
        self._known: dict[int, Dataset] = {}
        # Particles without times have the steps of their mesh.
        times = file.records(f"{name}/time") if "time" in self._names else self._shared_times()
        self._times = list(times)
        places = [d.section.index for d in self._times]
        # The sections of a step begin at its time and end at the next one.
        self._bounds = [*(places or [0]), len(file.sections)]
        for d in self._times:
            self._expect_part(d, "time", 0)
        self.times = [float(d[()]) for d in self._times] or [0.0]

    def _shared_times(self) -> Sequence[Dataset]:
        """The times of another group, whose steps this one shares."""
        return ()

    def __len__(self) -> int:
        """The number of time steps; 1 if the file has no times."""
        return len(self._bounds) - 1

    @property
    def units(self) -> str:
        """The units of time, or an empty text."""
        units = self._times[0].attrs.get("units") if self._times else None
        return units if isinstance(units, str) else ""

    def _places(self, name: str) -> list[int]:
        """The numbers of the sections with the records of this name, in order."""
        if name not in self._sections:
            self._sections[name] = list(self.file.records(f"{self.name}/{name}")._found) if name in self._names else []
        return self._sections[name]

    def _record(self, name: str, number: int) -> Dataset:
        """The record of a name with this number."""
        index = self._places(name)[number]
        if index not in self._known:
            self._known[index] = self.file._dataset(index)
        return self._known[index]

    def _number(self, name: str, index: int) -> int:
        """The number of records of this name before the section with this number."""
        return bisect_left(self._places(name), index)

    def _last(self, name: str, start: int, stop: int) -> Optional[Dataset]:
        """The last dataset of this name among the sections from start to stop."""
        before = self._number(name, stop)
        return self._record(name, before - 1) if before > self._number(name, start) else None

    def _field(self, name: str, number: int, count: int, what: str) -> Optional[Dataset]:
        """A field of a time step, with a first dimension of `count` quadrants, cells or points."""
        found = self._last(name, *self._bounds[number : number + 2])
        if found is not None and (not found.shape or found.shape[0] != count):
            self._fail(
                f"{found.name}: found shape {found.shape}, expected {count} {what} in the first dimension", found
            )
        return found

    def _paired(self, name: str, first: str, number: int) -> Dataset:
        """The dataset that belongs to the record of ``first`` with this number."""
        records = len(self._places(name))
        if number >= records:
            prefix = f"{self.name}/"
            self._fail(f"{prefix}{name}: found {records} records, expected one for each of {prefix}{first}")
        return self._record(name, number)

    def _expect_part(self, dataset: Dataset, name: str, dimension: int, rows: Optional[int] = None) -> None:
        """Requires that a dataset has the type and shape of the part of a mesh with this name."""
        dtype, shape = _core.mesh_part(self._convention, self.attrs[self._convention], name, dimension, rows)
        same = len(dataset.shape) == len(shape) and all(n in (None, m) for m, n in zip(dataset.shape, shape))
        if not same or dataset.dtype.name != dtype:
            wanted = ", ".join("any" if n is None else str(n) for n in shape)
            self._fail(f"{dataset.name}: found {dataset.dtype} {dataset.shape}, expected {dtype} ({wanted})", dataset)

    def _fail(self, message: str, dataset: Optional[Dataset] = None) -> NoReturn:
        path = self.file._path
        raise FormatError(f"{path}: {message}", None if dataset is None else dataset.section.offset, path)


class Steps(Series, Generic[S]):
    """A series as a sequence of its time steps, which have fields."""

    def _step(self, number: int) -> S:
        """A time step, which must exist."""
        raise NotImplementedError

    def __getitem__(self, number: int) -> S:
        """A time step; negative numbers count from the end."""
        if not -len(self) <= number < len(self):
            raise IndexError(f"there is no time step {number}; there are {len(self)}")
        return self._step(number % len(self))

    def __iter__(self) -> Iterator[S]:
        return map(self._step, range(len(self)))

    @property
    def fields(self) -> list[str]:
        """The names of the fields, in the order of the file."""
        return [name[len("fields/") :] for name in self._names if name.startswith("fields/")]
