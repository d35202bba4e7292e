"""Reading: datasets on a uniform grid of points, in one to three dimensions."""

from __future__ import annotations

from typing import Optional, Sequence

import numpy as np

from ._dataset import Dataset, Records
from ._file import File

# Points are equally spaced if they are nowhere further from where they should be, in parts of the spacing.
_TOLERANCE = 1e-3


class Grid:
    """Datasets of one shape, and where their points are.

    Attributes:
        shape: the number of points in each dimension, the last one that of x.
        origin, spacing: by dimension; from the dataset that is named as the dimension, otherwise 0 and 1.
        fields: by name the records, as many as there are times, or one.
        times: of the records; none if each field has only one.
        left_out: datasets of other shapes or dimensions, and why.
    """

    def __init__(self, file: File, path: str, names: Optional[Sequence[str]] = None) -> None:
        group = file.group(path.strip("/") or "/")
        records = {name: group.records(name) for name in group.keys() if "/" not in name}
        first = {name: each[0] for name, each in records.items()}
        possible = {name for name, dataset in first.items() if _is_field(name, dataset)}
        if names is None:
            chosen = _of_one_shape(first, [name for name in first if name in possible])
            self.left_out = [
                f"{name}: its shape is {first[name].shape}" for name in first if name in possible and name not in chosen
            ]
        else:
            chosen, self.left_out = list(dict.fromkeys(names)), []
            for name in chosen:
                if name not in possible:
                    raise ValueError(
                        f"{file._path}: field {name!r}: found no dataset of this name with 1 to 3 dimensions, expected "
                        f"one of {sorted(possible)}"
                    )
        if not chosen:
            raise ValueError(f"{file._path}: found no forest, and in group {path!r} no dataset with 1 to 3 dimensions")
        self.shape = first[chosen[0]].shape
        # The names of its dimensions, of all fields together.
        dims = _Dimensions(len(self.shape))
        for name in list(chosen):
            if dims.take(first[name]):
                continue
            if names is not None:
                found = f"{file._path}: field {name!r}: found dimensions {_shown(first[name].dims)}"
                raise ValueError(f"{found}, expected {dims} as {chosen[0]!r} has")
            self.left_out.append(f"{name}: its dimensions are {_shown(first[name].dims)}, not {dims}")
            chosen.remove(name)
        count = max(len(records[name]) for name in chosen)
        self.fields: dict[str, list[Dataset]] = {}
        for name in chosen:
            self.fields[name] = each = list(records[name])
            if len(each) not in (1, count):
                raise ValueError(f"{name}: found {len(each)} records, expected {count} or one")
            for number, dataset in enumerate(each):
                if (dataset.shape, dataset.dtype) != (self.shape, each[0].dtype):
                    raise ValueError(
                        f"{name}: record {number}: found {dataset.dtype} {dataset.shape}, expected {each[0].dtype} "
                        f"{self.shape}"
                    )
                if not dims.take(dataset):
                    raise ValueError(
                        f"{name}: record {number}: found dimensions {_shown(dataset.dims)}, expected {dims}"
                    )
        self.times = _times(records.get("time"), count)
        self.origin, self.spacing = [], []
        for d, dim in enumerate(dims.names):
            coordinate = first.get(dim) if dim else None
            start, step = _spacing(coordinate, self.shape[d])
            self.origin.append(start)
            self.spacing.append(step)


class _Dimensions:
    """Names of the dimensions that fields share; None until one of them names it."""

    def __init__(self, count: int) -> None:
        self.names: list[Optional[str]] = [None] * count

    def take(self, dataset: Dataset) -> bool:
        """Whether a dataset has these dimensions, as far as they have names. If so, it names others."""
        if len(dataset.dims) != len(self.names):
            return True  # its shape is an error
        if any(a and b and a != b for a, b in zip(self.names, dataset.dims)):
            return False
        self.names = [a or b for a, b in zip(self.names, dataset.dims)]
        return True

    def __str__(self) -> str:
        return _shown(self.names)


def _shown(dims: Sequence[Optional[str]]) -> str:
    return f"({', '.join(dim or '-' for dim in dims)})"


def _is_field(name: str, dataset: Dataset) -> bool:
    return 1 <= dataset.ndim <= 3 and 0 not in dataset.shape and dataset.dims != (name,) and name != "time"


def _of_one_shape(first: dict[str, Dataset], names: Sequence[str]) -> list[str]:
    """Those that have the shape of the first one with the most dimensions."""
    most = max((first[name].ndim for name in names), default=0)
    shape = next((first[name].shape for name in names if first[name].ndim == most), None)
    return [name for name in names if first[name].shape == shape]


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
