"""The boxes of datasets that a program passes to a writer, and the items in them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

import numpy as np

from ._common import Memory, memory_of
from ._description import Description, integers, items_of, native
from ._arguments import options_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

# First indices and shape of a box.
Box = tuple[list[int], list[int]]


class DatasetArguments:
    """The datasets that a program passes to a writer, converted for the core."""

    def __init__(self, is_alone: bool) -> None:
        self._is_alone = is_alone
        # For each dataset whose last write by this process was a part: its shape, and the boxes.
        self._last: dict[str, tuple[tuple[int, ...], list[Box]]] = {}

    def prepare(
        self,
        name: str,
        data: Any = None,
        *,
        start: Union[int, Sequence[int], None] = None,
        shape: Union[int, Sequence[int], None] = None,
        boxes: Optional[Sequence[tuple[Any, Any]]] = None,
        dtype: Optional[DTypeLike] = None,
        **options: Any,
    ) -> tuple[Description, list[Box], list[Memory]]:
        """The arguments for the core: the description of a dataset, the boxes of this rank, and their items."""
        wanted = options_of(options, data)
        if boxes is not None and (data is not None or start is not None):
            raise ValueError("boxes: found together with data or start, expected these inside the list of boxes")
        given = [(start, data)] if boxes is None else [(first, part) for first, part in boxes]
        parts = [(first, items_of(part, dtype)) for first, part in given if part is not None]
        item = native(np.dtype(dtype)) if dtype is not None else _type_of([part.dtype for _, part in parts])
        if shape is None:
            if boxes is not None or start is not None or not self._is_alone or not parts:
                raise ValueError("shape is missing: the shape of the whole dataset; field() adds up its rows")
            whole = parts[0][1].shape
        else:
            whole = integers("shape", shape)
        placed = [_box_of(first, part, whole) for first, part in parts]
        described = wanted.describe(name, item, whole)
        if self._is_part(described, placed) and self._is_beside_another(described, placed):
            raise ValueError(
                f"dataset {name!r}: found another part of an array of shape {whole}, which would become a separate record; "
                "expected all parts in one call: boxes=[(start, data), ...]"
            )
        return described, placed, [memory_of(part) for _, part in parts]

    def note_written(self, given: Sequence[tuple[Description, list[Box], list[Memory]]]) -> None:
        """Records which parts have been written."""
        for described, boxes, _ in given:
            if self._is_part(described, boxes):
                self._last[described.name] = tuple(described.shape), boxes
            elif not described.extends:
                self._last.pop(described.name, None)

    def _is_part(self, described: Description, boxes: list[Box]) -> bool:
        """True if this process writes alone, and its boxes do not cover the array."""
        is_all = not boxes or sum(math.prod(n) for _, n in boxes) == math.prod(described.shape)
        return self._is_alone and not described.extends and not is_all

    def _is_beside_another(self, described: Description, boxes: list[Box]) -> bool:
        """True if the last write of this dataset was another part of the array."""
        shape, before = self._last.get(described.name, (None, []))
        return shape == tuple(described.shape) and not any(_meet(a, b) for a in boxes for b in before)


def _type_of(types: list[np.dtype[Any]]) -> np.dtype[Any]:
    """The type that all boxes have."""
    if not types:
        raise ValueError("dtype is missing, and this rank has no data that give it")
    if any(other != types[0] for other in types):
        raise ValueError(
            f"boxes: found the types {types[0]} and {next(t for t in types if t != types[0])}, expected one"
        )
    return types[0]


def _meet(a: Box, b: Box) -> bool:
    """True if two boxes have an index in common."""
    return all(x < y + m and y < x + n for x, n, y, m in zip(*a, *b))


def _box_of(start: Any, part: NDArray[Any], shape: tuple[int, ...]) -> Box:
    """The box that a part occupies in an array of this shape."""
    first = (0,) * len(shape) if start is None else integers("start", start)
    if not len(first) == part.ndim == len(shape):
        raise ValueError(
            f"data: found {part.ndim} dimensions and a start of {len(first)}, expected the {len(shape)} of the shape"
        )
    if any(a + n > size for a, n, size in zip(first, part.shape, shape)):
        raise ValueError(f"data: found the shape {part.shape} at {first}, expected a part of {shape}")
    return list(first), list(part.shape)
