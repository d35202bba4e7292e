"""Reading: datasets on a uniform grid of points, in one to three dimensions."""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence, Union

import numpy as np

from ._cf import View, is_time, may_grow, unpacked, views
from ._dataset import Dataset
from ._group import Group, Records
from ._file import File

# Points are equally spaced if they are nowhere further from where they should be, in parts of the spacing.
_TOLERANCE = 1e-3
# Components of vectors, of symmetric tensors and of tensors.
_COUNTS = (2, 3, 4, 6, 9)
# Names of dimensions that count the components of a vector or tensor, and of those that are in space without a coordinate.
_COMPONENTS = {
    "component",
    "components",
    "comp",
    "ncomp",
    "vector",
    "direction",
    "dir",
    "axis",
    "xyz",
    "uvw",
    "uv",
    "vec",
}
_IN_SPACE = {
    *("x", "y", "z", "i", "j", "k", "lat", "lon", "latitude", "longitude", "lev", "level", "plev", "layer", "depth"),
    *("height", "altitude", "row", "column", "nx", "ny", "nz"),
}


class _Field(NamedTuple):
    """A dataset, and which of its dimensions are what."""

    dataset: Dataset
    time: Optional[int]
    components: Optional[int]
    space: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.dataset.shape[axis] for axis in self.space)

    @property
    def dims(self) -> tuple[Optional[str], ...]:
        return tuple(self.dataset.dims[axis] for axis in self.space)

    def entries(self, dataset: Dataset) -> list[Union[Dataset, View]]:
        """Those of a record of it: one for each time."""
        axes = self.space if self.components is None else (*self.space, self.components)
        return views(dataset, self.time, axes)


class Grid:
    """Datasets of one shape in space, and where their points are.

    Attributes:
        shape: the number of points in each dimension, the last one that of x.
        origin, spacing: by dimension; from the dataset that is named as the dimension, otherwise 0 and 1.
        fields: by name the values at each time, as many as there are times, or one. Components of vectors follow
            the dimensions.
        times: of the values; none if each field has only one.
        left_out: datasets of other shapes or dimensions, and why.
    """

    def __init__(self, file: File, path: str, names: Optional[Sequence[str]] = None) -> None:
        group = Group(file, path.strip("/") or "/")
        records = {name: group.records(name) for name in group._datasets() if "/" not in name}
        first = {name: each[0] for name, each in records.items()}
        self._coordinates = {
            name: dataset for name, dataset in first.items() if dataset.ndim == 1 and dataset.dims in ((name,), (None,))
        }
        self._growing = {
            dim for dataset in first.values() for dim, grows in zip(dataset.dims, may_grow(dataset)) if dim and grows
        }
        self.left_out: list[str] = []
        possible = self._possible(first)
        if names is None:
            chosen = _of_one_shape(possible)
            self.left_out += [
                f"{name}: its shape is {possible[name].dataset.shape}" for name in possible if name not in chosen
            ]
        else:
            chosen, self.left_out = list(dict.fromkeys(names)), []
            for name in chosen:
                if name not in possible:
                    raise ValueError(
                        f"{file._path}: field {name!r}: no dataset of 1 to 3 dimensions has this name; there are "
                        f"{sorted(possible)}"
                    )
        if not chosen:
            raise ValueError(f"{file._path}: there is no forest, and in group {path!r} no dataset with 1 to 3 dimensions")
        self.shape = possible[chosen[0]].shape
        # The names of its dimensions, of all fields together.
        dims = _Dimensions(len(self.shape))
        for name in list(chosen):
            field = possible[name]
            if len(field.shape) == len(self.shape) and not dims.take(field.dims):
                if names is not None:
                    found = f"{file._path}: field {name!r}: found dimensions {_shown(field.dims)}"
                    raise ValueError(f"{found}, expected {dims} as {chosen[0]!r} has")
                self.left_out.append(f"{name}: its dimensions are {_shown(field.dims)}, not {dims}")
                chosen.remove(name)
        self.fields: dict[str, list[Union[Dataset, View]]] = {}
        for name in chosen:
            self.fields[name] = self._entries(name, possible[name], records[name], dims)
        count = max(map(len, self.fields.values()))
        for name, entries in self.fields.items():
            if len(entries) not in (1, count):
                raise ValueError(f"{name}: found {len(entries)} records, expected {count} or one")
        self.times = self._times([possible[name] for name in chosen], records.get("time"), count)
        self.origin, self.spacing = [], []
        for d, dim in enumerate(dims.names):
            start, step = _spacing(first.get(dim) if dim else None, self.shape[d])
            self.origin.append(start)
            self.spacing.append(step)

    def _possible(self, first: dict[str, Dataset]) -> dict[str, _Field]:
        """The datasets with one to three dimensions in space. Of others that have values at points, it is said that they are left out."""
        found: dict[str, _Field] = {}
        for name, dataset in first.items():
            if dataset.dims == (name,) or name == "time" or dataset.ndim == 0 or 0 in dataset.shape:
                continue
            times = [axis for axis, dim in enumerate(dataset.dims) if dim and self._is_time(dim)]
            space = tuple(axis for axis in range(dataset.ndim) if axis not in times[:1])
            if not space:
                self.left_out.append(f"{name}: it has no dimension in space")
            elif len(times) > 1:
                self.left_out.append(f"{name}: its dimensions are {_shown(dataset.dims)}, of which several are time")
            else:
                found[name] = _Field(dataset, times[0] if times else None, None, space)
        shapes = {field.shape for field in found.values()}
        for name, field in list(found.items()):
            axis = self._components(field, shapes)
            if axis is not None:
                found[name] = field = field._replace(components=axis, space=tuple(a for a in field.space if a != axis))
            if len(field.space) > 3:
                del found[name]
                self.left_out.append(
                    f"{name}: its shape is {field.dataset.shape}, expected at most 3 dimensions in space"
                )
        return found

    def _is_time(self, dim: str) -> bool:
        return is_time(dim, self._coordinates.get(dim), dim in self._growing)

    def _components(self, field: _Field, shapes: set[tuple[int, ...]]) -> Optional[int]:
        """The dimension with the components of a vector or tensor: the last or the first one."""
        space, dims = field.space, field.dims
        for axis in (space[-1], space[0]) if len(space) > 1 else ():
            dim = field.dataset.dims[axis]
            n = field.dataset.shape[axis]
            if dim is not None and dim.lower() in _COMPONENTS:
                return axis
            if n not in _COUNTS or dim in self._coordinates or dim is not None and dim.lower() in _IN_SPACE:
                continue
            others = tuple(field.dataset.shape[a] for a in space if a != axis)
            are_known = all(each in self._coordinates for a, each in zip(space, dims) if a != axis)
            are_known = are_known and (dim is not None or len(others) > 1)
            if are_known or len(others) > 1 and others in shapes:
                return axis
            if len(space) > 3 and (axis == space[-1] or dim is not None or n == 3):
                return axis
        return None

    def _entries(self, name: str, field: _Field, records: Records, dims: _Dimensions) -> list[Union[Dataset, View]]:
        entries: list[Union[Dataset, View]] = []
        first = field.dataset
        if field.time is not None and len(records) > 1:
            raise ValueError(f"{name}: found {len(records)} records with a dimension of time, expected one")
        for number, dataset in enumerate(records):
            shape = tuple(dataset.shape[axis] for axis in field.space) if dataset.ndim == first.ndim else dataset.shape
            if shape != self.shape or (dataset.shape, dataset.dtype) != (first.shape, first.dtype):
                raise ValueError(
                    f"{name}: record {number}: found {dataset.dtype} {dataset.shape}, expected {first.dtype} "
                    f"{self.shape if field.shape == field.dataset.shape else first.shape}"
                )
            own = field._replace(dataset=dataset).dims
            if not dims.take(own):
                raise ValueError(f"{name}: record {number}: found dimensions {_shown(own)}, expected {dims}")
            entries += field.entries(dataset)
        return entries

    def _times(self, fields: Sequence[_Field], times: Optional[Records], count: int) -> list[float]:
        for field in fields:
            if field.time is None:
                continue
            dim = field.dataset.dims[field.time]
            coordinate = self._coordinates.get(dim) if dim else None
            if coordinate is None or coordinate.shape != (count,) or coordinate.dtype.kind not in "iuf":
                return [float(n) for n in range(count)]
            return [float(t) for t in unpacked(coordinate)[0:count]]
        return _times(times, count)


class _Dimensions:
    """Names of the dimensions that fields share; None until one of them names it."""

    def __init__(self, count: int) -> None:
        self.names: list[Optional[str]] = [None] * count

    def take(self, dims: Sequence[Optional[str]]) -> bool:
        """Whether a field has these dimensions, as far as they have names. If so, it names others."""
        if len(dims) != len(self.names) or any(a and b and a != b for a, b in zip(self.names, dims)):
            return False
        self.names = [a or b for a, b in zip(self.names, dims)]
        return True

    def __str__(self) -> str:
        return _shown(self.names)


def _shown(dims: Sequence[Optional[str]]) -> str:
    return f"({', '.join(dim or '-' for dim in dims)})"


def _of_one_shape(fields: dict[str, _Field]) -> list[str]:
    """Those that have the shape of the first one with the most dimensions."""
    most = max((len(field.shape) for field in fields.values()), default=0)
    shape = next((field.shape for field in fields.values() if len(field.shape) == most), None)
    return [name for name, field in fields.items() if field.shape == shape]


def _times(times: Optional[Records], count: int) -> list[float]:
    if count == 1:
        return []
    if times is not None and len(times) == count and all(t.ndim == 0 for t in times):
        return [float(t[()]) for t in times]
    if times is not None and len(times) == 1 and times[0].shape == (count,):
        return [float(t) for t in times[0][:]]
    return [float(n) for n in range(count)]


def _spacing(coordinate: Optional[Dataset], count: int) -> tuple[float, float]:
    """The first point, and from one to the next one."""
    if coordinate is None or coordinate.shape != (count,) or coordinate.dtype.kind not in "iuf":
        return 0.0, 1.0
    places = coordinate[:].astype(np.float64)
    if count == 1:
        return float(places[0]), 1.0
    step = float(places[-1] - places[0]) / (count - 1)
    away = np.abs(places - (places[0] + step * np.arange(count)))
    if not np.all(np.isfinite(places)) or step == 0 or np.any(away > _TOLERANCE * abs(step)):
        odd = int(np.argmax(away))
        raise ValueError(
            f"{coordinate.name}: index {odd}: found {places[odd]}, expected points at equal distances: {places[0]}, "
            f"{places[0] + step}, ..."
        )
    return float(places[0]), step
