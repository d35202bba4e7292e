"""What the CF conventions say of numbers: which dimension is time, how numbers are packed, and which are missing."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

import numpy as np

from ._dataset import Dataset
from ._attributes import MISSING, as_item
from ._variables import MAX_SHAPE

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SINCE = re.compile(r"\bsince\b", re.IGNORECASE)
_AXES_IN_SPACE = {"X", "Y", "Z"}
# What is read at once of chunks that hold several time steps.
_MOST_CACHED = 64 << 20


def is_time(dim: Optional[str], coordinate: Optional[Dataset], is_unlimited: bool) -> bool:
    """Whether a dimension is time: by its coordinate, its name, or because it may grow.

    Args:
        coordinate: the dataset with the name of the dimension.
        is_unlimited: whether some dataset says that the dimension has no greatest size.
    """
    attrs: Mapping[str, Any] = {} if coordinate is None else coordinate.attrs
    axis, units, name = (attrs.get(key) for key in ("axis", "units", "standard_name"))
    if axis in _AXES_IN_SPACE:
        return False
    if axis == "T" or name in ("time", "forecast_reference_time") or isinstance(units, str) and _SINCE.search(units):
        return True
    return dim is not None and dim.lower() == "time" or is_unlimited and "positive" not in attrs


def may_grow(dataset: Dataset) -> list[bool]:
    """For each dimension, whether it has no greatest size."""
    found = dataset.attrs.get(MAX_SHAPE)
    if not isinstance(found, list) or len(found) != dataset.ndim:
        return [False] * dataset.ndim
    return [most is None for most in found]


class _Packed:
    """How the numbers of a dataset are packed, and which stand for missing values."""

    def __init__(self, dataset: Dataset) -> None:
        attrs, dtype = dataset.attrs, dataset.dtype
        is_number = dtype.kind in "iuf"
        self.scale, self.offset = (
            _number(attrs.get(name), otherwise) if is_number else otherwise
            for name, otherwise in (("scale_factor", 1.0), ("add_offset", 0.0))
        )
        missing = [as_item(attrs.get(name), dtype) for name in MISSING] if is_number else []
        if dtype.kind == "f" and dataset.fill_value != 0:
            missing.append(dataset.fill_value)
        items = [item for each in missing if each is not None for item in np.ravel(each)]
        # NaN is missing already.
        self.missing = np.array([item for item in items if item == item], dtype)
        self.is_plain = (self.scale, self.offset) == (1.0, 0.0) and not len(self.missing)
        self.dtype = dtype
        if not self.is_plain and dtype.kind != "f":
            self.dtype = np.dtype(np.float32 if dtype.itemsize <= 2 else np.float64)

    def unpack(self, values: NDArray[Any]) -> NDArray[Any]:
        if self.is_plain:
            return values
        numbers = values.astype(np.float64)
        if self.scale != 1.0:
            numbers *= self.scale
        if self.offset != 0.0:
            numbers += self.offset
        if len(self.missing):
            numbers[np.isin(values, self.missing)] = np.nan
        return numbers.astype(self.dtype, copy=False)


def _number(value: Any, otherwise: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return otherwise
    return float(value)


class View:
    """A dataset as it is shown: its numbers unpacked, missing ones NaN, at one index of a dimension, and with its components last."""

    def __init__(
        self,
        dataset: Dataset,
        packed: _Packed,
        time: Optional[tuple[int, int]],
        axes: Sequence[int],
        cache: dict[int, NDArray[Any]],
    ) -> None:
        """Args: the dimension of time and an index of it, or None; the other dimensions in the order of the view; what is shared
        by the views of one dataset."""
        self.dataset = dataset
        self._packed = packed
        self._time = time
        self._axes = list(axes)
        self._cache = cache
        self.dtype = packed.dtype
        self.shape = tuple(dataset.shape[axis] for axis in axes)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape)

    @property
    def offset(self) -> Optional[int]:
        """The first byte of a part of the data that is the view; None if there is none."""
        if not self._packed.is_plain or self._axes != sorted(self._axes):
            return None
        if self._time is None:
            return 0
        axis, index = self._time
        return index * self.nbytes if axis == 0 else None

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        key: list[Any] = [slice(None)] * self.dataset.ndim
        key[self._axes[0]] = rows
        axes = self._axes
        if self._time is not None:
            axis, index = self._time
            values, index = self._several(axis, index, key)
            values = np.take(values, index, axis)
            axes = [each - (each > axis) for each in axes]
        else:
            values = np.asarray(self.dataset[tuple(key)])
        return self._packed.unpack(np.ascontiguousarray(values.transpose(axes)))

    def _several(self, axis: int, index: int, key: list[Any]) -> tuple[NDArray[Any], int]:
        """The values at this index, and at those that are in the same chunks, if these are not too many; and its place there."""
        length = self.dataset.chunks[axis] if self.dataset.chunks is not None else 1
        first = index // length * length
        if length == 1 or length * self.nbytes > _MOST_CACHED or key[self._axes[0]] != slice(0, self.shape[0]):
            key[axis] = slice(index, index + 1)
            return np.asarray(self.dataset[tuple(key)]), 0
        if first not in self._cache:
            key[axis] = slice(first, min(first + length, self.dataset.shape[axis]))
            self._cache.clear()
            self._cache[first] = np.asarray(self.dataset[tuple(key)])
        return self._cache[first], index - first


def unpacked(dataset: Dataset) -> Union[Dataset, View]:
    """The dataset, or what its numbers stand for."""
    packed = _Packed(dataset)
    return dataset if packed.is_plain else View(dataset, packed, None, range(dataset.ndim), {})


def views(dataset: Dataset, time: Optional[int], axes: Sequence[int]) -> list[Union[Dataset, View]]:
    """Likewise, for each index of a dimension, and with the other ones in this order."""
    packed = _Packed(dataset)
    if time is None:
        if packed.is_plain and list(axes) == list(range(dataset.ndim)):
            return [dataset]
        return [View(dataset, packed, None, axes, {})]
    cache: dict[int, NDArray[Any]] = {}
    return [View(dataset, packed, (time, index), axes, cache) for index in range(dataset.shape[time])]
