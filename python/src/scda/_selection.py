"""Selections: the items that an index selects, and the boxes that are read to get them."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Optional, Sequence, Union

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ._description import Description

# With steps, limits for a batch of boxes, which are read at once: their bytes and their number.
BATCH_BYTES = 16 << 20
_MOST_BOXES = 1 << 12
# Gaps between two indices are skipped if they have at least this many bytes.
_FAR_BYTES = 1 << 16

_ALL, _TURNED = slice(None), slice(None, None, -1)

Box = tuple[list[int], list[int]]
# Ascending indices without repetition.
Indices = Union[range, "NDArray[np.int64]"]


class Selection(NamedTuple):
    """Indexing of an array: the indices in each dimension, and how the result is shaped from the selected items."""

    indices: list[Indices]
    # The index that makes the result from an array of the items with these indices.
    final: tuple[Any, ...]
    # True if each list of indices is a dimension of the result, whatever lists other dimensions have.
    is_outer: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(indices) for indices in self.indices)

    @property
    def has_steps(self) -> bool:
        for indices in self.indices:
            if type(indices) is not range or indices.step > 1:
                return True
        return False

    @property
    def outer_shape(self) -> tuple[int, ...]:
        """The shape of the result of outer indexing."""
        both = zip(self.indices, self.final)
        return tuple(len(f if isinstance(f, np.ndarray) else i) for i, f in both if not isinstance(f, int))

    def result(self, array: NDArray[Any]) -> Any:
        """The result, given the array of the items with these indices."""
        final = list(self.final)
        if self.is_outer:
            for d, index in enumerate(final):
                if isinstance(index, np.ndarray):
                    array, final[d] = np.take(array, index, axis=d), slice(None)
        return array[tuple(final)]


def select(key: Any, shape: Sequence[int], is_outer: bool = False) -> Selection:
    """Selects as numpy does: integers, slices, an Ellipsis, and None for a new dimension; a list of indices, or of a
    bool for each index, in one dimension, or in any number of them for outer indexing; or a mask of all items. The
    indices ascend; the final index reverses them for negative steps, and repeats them."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if len(keys) == 1 and isinstance(keys[0], np.ndarray) and keys[0].dtype == np.bool_ and keys[0].ndim > 1:
        return _masked(keys[0], shape)
    dimensions, place, has_dots = 0, len(keys), False
    for number, k in enumerate(keys):
        if k is Ellipsis:
            if has_dots:
                raise IndexError("index: found several '...', expected one")
            place, has_dots = number, True
        elif k is not None:
            dimensions += 1
    if dimensions > len(shape):
        raise IndexError(f"index: found {dimensions} dimensions, expected at most {len(shape)}")
    if has_dots or dimensions < len(shape):
        # numpy treats lists and integers differently if "..." separates them, even where it stands for no dimension.
        dots = [...] if has_dots and not is_outer else []
        keys[place : place + 1] = [*dots, *[slice(None)] * (len(shape) - dimensions)]
    indices: list[Indices] = []
    final: list[Any] = []
    for k in keys:
        if k is None or k is Ellipsis:
            if is_outer:
                raise IndexError("oindex: found None, expected integers, slices, '...' and lists")
            final.append(k)
            continue
        size = shape[len(indices)]
        if isinstance(k, slice):
            found = range(size)[k]
            turned = found.step < 0
            indices.append(found[::-1] if turned else found)
            final.append(_TURNED if turned else _ALL)
            continue
        if isinstance(k, list) or (isinstance(k, np.ndarray) and k.ndim > 0):
            if not is_outer and any(isinstance(other, np.ndarray) for other in final):
                raise IndexError("index: found lists of indices in several dimensions, expected one dimension; d.oindex takes several")
            wanted, places = np.unique(_listed(k, size, len(indices)), return_inverse=True)
            indices.append(wanted)
            final.append(places)
            continue
        number = k if type(k) is int else _number(k)
        if not -size <= number < size:
            raise IndexError(f"index {number}: found {size} indices in dimension {len(indices)}")
        number %= size
        indices.append(range(number, number + 1))
        final.append(0)
    # As in numpy: an array of no dimensions, unless the index has nothing but integers.
    return Selection(indices, (*final, ...) if has_dots and is_outer else tuple(final), is_outer)


def _masked(mask: NDArray[np.bool_], shape: Sequence[int]) -> Selection:
    """Selects the items for which a mask of all items is True."""
    if mask.shape != tuple(shape):
        raise IndexError(f"index: found a mask of shape {mask.shape}, expected {tuple(shape)}, that of the array")
    axes = range(mask.ndim)
    found = [np.flatnonzero(mask.any(axis=tuple(other for other in axes if other != axis))) for axis in axes]
    return Selection([*found], (mask[np.ix_(*found)],))


def _listed(key: Any, size: int, dimension: int) -> NDArray[np.int64]:
    """The indices that a list or array stands for."""
    listed = np.asarray(key) if len(key) or isinstance(key, np.ndarray) else np.empty(0, np.int64)
    if listed.ndim == 1 and listed.dtype == np.bool_:
        if len(listed) != size:
            raise IndexError(f"index: found {len(listed)} bools, expected {size}, the size of dimension {dimension}")
        return np.flatnonzero(listed)
    if listed.ndim != 1 or listed.dtype.kind not in "iu":
        raise IndexError(f"index: found {listed.dtype} of {listed.ndim} dimensions, expected a list of integers or bools")
    for wrong in listed[(listed < -size) | (listed >= size)]:
        raise IndexError(f"index {wrong}: found {size} indices in dimension {dimension}")
    return np.where(listed < 0, listed + size, listed).astype(np.int64)


def _step(indices: Indices) -> int:
    """The step of the indices, or their average distance."""
    if isinstance(indices, range):
        return indices.step
    return max(2, int(indices[-1] - indices[0]) // (len(indices) - 1)) if len(indices) > 1 else 2


def _number(key: Any) -> int:
    if not isinstance(key, (bool, np.bool_)) and (not isinstance(key, np.ndarray) or key.ndim == 0):
        try:
            return operator.index(key)
        except TypeError:
            pass
    raise IndexError(
        f"index: found {type(key).__name__}, expected integers, slices, '...', None, and a list of integers or bools"
    )


class SelectedBox(NamedTuple):
    """A box that is read, and the indices in it that are selected."""

    box: Box
    # The indices in the box that are selected.
    wanted: tuple[Union[slice, NDArray[np.int64]], ...]
    # Their place in the result.
    place: tuple[slice, ...]

    @property
    def items(self) -> int:
        items = 1
        for n in self.box[1]:
            items *= n
        return items

    def of(self, box: NDArray[Any]) -> NDArray[Any]:
        """The selected items, given those of the box."""
        for d, wanted in enumerate(self.wanted):
            box = box[(slice(None),) * d + (wanted,)]
        return box


def only_box(selection: Selection, found: Description) -> Optional[SelectedBox]:
    """A selection as one box, if it has no steps, or if the gaps between its indices are read, too."""
    start, count = [], []
    wanted: list[Union[slice, NDArray[np.int64]]] = []
    has_steps = False
    for indices in selection.indices:
        first = int(indices[0]) if len(indices) else 0
        start.append(first)
        count.append(int(indices[-1]) + 1 - first if len(indices) else 0)
        if isinstance(indices, range):
            wanted.append(_ALL if indices.step == 1 else slice(None, None, indices.step))
            has_steps = has_steps or indices.step > 1
        else:
            wanted.append(indices - first)
            has_steps = True
    only = SelectedBox((start, count), tuple(wanted) if has_steps else (), ())
    if has_steps:
        item_bytes = found.dtype.itemsize
        if only.items * item_bytes > BATCH_BYTES or any(_single(selection, found.shape, found.chunks, item_bytes)):
            return None
    return only


def _single(
    selection: Selection, shape: Sequence[int], chunks: Optional[Sequence[int]], item_bytes: int
) -> list[bool]:
    """For each dimension, true if each index is read on its own."""
    single = []
    inner = item_bytes
    for d in reversed(range(len(shape))):
        step = _step(selection.indices[d])
        far = step >= chunks[d] if chunks is not None else step * inner >= _FAR_BYTES
        single.append(step > 1 and far)
        inner *= max(shape[d], 1)
    single.reverse()
    return single


def batches(
    selection: Selection, shape: Sequence[int], chunks: Optional[Sequence[int]], item_bytes: int
) -> Iterator[list[SelectedBox]]:
    """The boxes of a selection with steps, in batches of bounded memory: of consecutive chunks or rows; single
    indices where the step skips chunks, or large parts of the file."""
    unit = list(chunks) if chunks is not None else [1] * len(shape)
    single = _single(selection, shape, chunks, item_bytes)
    # Extends the box over the last dimensions as far as there is room.
    length = [1 if alone else n for alone, n in zip(single, unit)]
    room = BATCH_BYTES // item_bytes
    for n in length:
        room //= n
    for d in reversed(range(len(shape))):
        if not single[d]:
            times = max(1, min(room, -(-shape[d] // length[d])))
            length[d] *= times
            room //= times
    parts = [list(_parts(indices, n)) for indices, n in zip(selection.indices, length)]
    batch: list[SelectedBox] = []
    items = 0
    for combined in itertools.product(*parts):
        box = [part[0] for part in combined], [part[1] for part in combined]
        selected = SelectedBox(box, tuple(part[2] for part in combined), tuple(part[3] for part in combined))
        if batch and (len(batch) == _MOST_BOXES or (items + selected.items) * item_bytes > BATCH_BYTES):
            yield batch
            batch, items = [], 0
        batch.append(selected)
        items += selected.items
    if batch:
        yield batch


def calls(wanted: Sequence[tuple[Description, Selection]]) -> Iterator[list[list[SelectedBox]]]:
    """The boxes of selections of several datasets, for each call of the core: a list per dataset. Selections with
    steps are combined into calls of bounded memory. A selection without steps is one box, which the first call
    reads."""
    call: list[list[SelectedBox]] = []
    for _, selection in wanted:
        call.append([])
        if not selection.has_steps:
            start = [indices[0] if len(indices) else 0 for indices in selection.indices]
            call[-1].append(SelectedBox((start, list(selection.shape)), (), ()))
    room = BATCH_BYTES
    for number, (found, selection) in enumerate(wanted):
        if not selection.has_steps:
            continue
        item_bytes = found.dtype.itemsize
        for batch in batches(selection, found.shape, found.chunks, item_bytes):
            size = item_bytes * sum(selected.items for selected in batch)
            # Begins a new call for a dataset that already has a batch in this one, or if there is no room beside the
            # others.
            if call[number] or room < min(size, BATCH_BYTES):
                yield call
                call, room = [[] for _ in wanted], BATCH_BYTES
            call[number] = batch
            room -= size
    yield call


def boxes_of(shape: tuple[int, ...], chunks: Optional[tuple[int, ...]], item_bytes: int) -> Iterator[tuple[slice, ...]]:
    """Divides an array into boxes of whole chunks, or of rows."""
    if 0 in shape:
        return
    for batch in batches(select((), shape), shape, chunks, item_bytes):
        for selected in batch:
            yield selected.place


def _parts(indices: Indices, length: int) -> Iterator[tuple[int, int, Union[slice, NDArray[np.int64]], slice]]:
    """Divides indices at the multiples of a length: first index and number of indices of each box, the indices that are
    taken from it, and their place in the result."""
    done = 0
    while done < len(indices):
        first = int(indices[done])
        if not isinstance(indices, range):
            stop = int(np.searchsorted(indices, first // length * length + length))
            yield first, int(indices[stop - 1]) + 1 - first, indices[done:stop] - first, slice(done, stop)
            done = stop
            continue
        end = first // length * length + length
        stop = min(len(indices), done + -(-(end - first) // indices.step))
        last = indices[stop - 1]
        yield first, last + 1 - first, slice(None, None, indices.step), slice(done, stop)
        done = stop
