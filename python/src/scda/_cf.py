"""Unpacks numbers and marks missing ones according to the CF conventions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from ._dataset import Dataset
from ._attributes import MISSING, as_item

if TYPE_CHECKING:
    from numpy.typing import NDArray


class _Packing:
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
        # NaN counts as missing in any case.
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


class UnpackedView:
    """A view of a dataset with its numbers unpacked, and NaN for missing ones."""

    def __init__(self, dataset: Dataset, packed: _Packing) -> None:
        self.dataset = dataset
        self._packed = packed
        self.dtype = packed.dtype
        self.shape = dataset.shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        return self._packed.unpack(np.asarray(self.dataset[rows]))


def unpacked(dataset: Dataset) -> Union[Dataset, UnpackedView]:
    """The dataset, or a view of it with unpacked numbers if it is packed."""
    packed = _Packing(dataset)
    return dataset if packed.is_plain else UnpackedView(dataset, packed)
