"""Reads datasets: indexing, boxes, partitions and conversion."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional, Sequence, Union

import numpy as np

from . import _core
from ._common import VARIABLE_TYPES, bytes_of, dtype_of, memory_of, offsets_of, type_name
from ._description import TYPE_NAMES, Description, are_converted, attributes_of, integers, native, without_name
from ._h5py import no_attribute, not_assigned
from ._selection import BATCH_BYTES, Box, Selection, calls, only_box, select

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from ._file import File
    from ._section import Section

# The most characters that are shown of units and of names of dimensions.
_MOST_SHOWN = 40
# Reads of less memory than this skip the check of the file's size.
_FEW_BYTES = 1 << 16


class Attributes(Mapping[str, Any]):
    """Attributes that were read: a mapping from names to JSON values."""

    __slots__ = ("_found",)

    def __init__(self, found: dict[str, Any]) -> None:
        self._found = found

    def __getitem__(self, name: str) -> Any:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._found)

    def __repr__(self) -> str:
        return repr(self._found)


class Dataset:
    """An array in a file, with its type, shape and attributes. Its items are read only when it is indexed or passed to
    numpy.

    >>> with scda.create("rho.scda") as w:
    ...     w.dataset("rho", np.arange(12.0).reshape(3, 4), attrs={"units": "kg m-3"})
    >>> with scda.open("rho.scda") as f:
    ...     rho = f["rho"]
    ...     print(rho.shape, rho.dtype, rho.attrs["units"], rho[1:, ::2].tolist())
    (3, 4) float64 kg m-3 [[4.0, 6.0], [8.0, 10.0]]
    """

    __slots__ = ("_description", "_file", "_handle", "_section")

    def __init__(self, file: File, section: Section, handle: _core.DatasetHandle, description: Description) -> None:
        self._file = file
        self._section = section
        self._handle = handle
        self._description = description

    @property
    def name(self) -> str:
        """The name, with the path of its group, separated by slashes."""
        return self._description.full_name

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the items, in the byte order of this machine. Raw bytes are ``V`` and their number."""
        return self._description.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of indices in each dimension."""
        return tuple(self._description.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._description.shape)

    @property
    def size(self) -> int:
        """The number of items."""
        size = 1
        for n in self._description.shape:
            size *= n
        return size

    @property
    def nbytes(self) -> int:
        """The size of all items in memory, in bytes."""
        return self.size * self.dtype.itemsize

    @property
    def chunks(self) -> Optional[tuple[int, ...]]:
        """The shape of a chunk; None if the data are contiguous."""
        chunks = self._description.chunks
        return None if chunks is None else tuple(chunks)

    @property
    def dims(self) -> tuple[Optional[str], ...]:
        """The name of each dimension, or None."""
        return tuple(self._description.dims) or (None,) * self.ndim

    @property
    def fill_value(self) -> Any:
        """The item that stands where nothing was written."""
        return self._description.fill_item

    @property
    def attrs(self) -> Attributes:
        """The attributes: a mapping that cannot be changed."""
        return Attributes(without_name(attributes_of(self._description.attributes), self.name))

    @property
    def section(self) -> Section:
        """The section with the data, as bytes. If :attr:`chunks` is None, its ``to_numpy`` maps them into memory;
        they are little-endian, unless another program wrote them in another byte order."""
        return self._section

    @property
    def added_rows(self) -> int:
        """How many rows at the end were added later (``extends=True``). They are not in :attr:`section`."""
        return self._description.added_rows

    def __len__(self) -> int:
        """The number of indices in the first dimension."""
        if not self._description.shape:
            raise TypeError(f"len: dataset {self.name!r} has no dimensions")
        return self._description.shape[0]

    def __bool__(self) -> bool:
        """True, even without items."""
        return True

    def __reduce__(self) -> Any:
        """Pickles the dataset by its place: another process opens the file by its path and finds the dataset there."""
        return _pickled, (self._file, self._section.index, self._description.name, self._description.type)

    def __getattr__(self, name: str) -> Any:
        no_attribute(self, name)

    def __setitem__(self, key: Any, value: Any) -> None:
        not_assigned(f"dataset {self.name!r}")

    @property
    def maxshape(self) -> tuple[Optional[int], ...]:
        """The shape to which the dataset may grow by added rows (``extends=True``); None where a dimension has no
        limit."""
        found = self.attrs.get("scda_max_shape")
        if isinstance(found, list) and len(found) == self.ndim:
            return tuple(found)
        return (None, *self.shape[1:]) if self.ndim else ()

    def __getitem__(self, key: Any) -> Any:
        """Reads what numpy would select: integers, slices with any step, ``...``, None for a new dimension, and in one
        dimension a list of indices, or of a bool for each index; or a mask of all items. For structs also names of
        members, as in h5py: ``d["x"]``, ``d["x", 3:5]``. Reads only the chunks or rows with these items. Collective:
        each rank reads its own selection, which may be empty.

        Returns:
            A new array; a single item if the index has an integer for each dimension.
        """
        dtype = self.dtype
        names, rest = _members_of(key) if dtype.names else ((), key)
        with self._file._reading() as core:
            if not names:
                return self._read(core, select(key, self.shape))
            odd = [name for name in names if name not in (dtype.names or ())]
            if odd:
                raise ValueError(f"index: found {odd[0]!r}, expected integers, slices, or members of {dtype}")
            found = self._read(core, select(rest, self.shape))
            return found[names[0]].copy() if len(names) == 1 else found[list(names)]

    @property
    def oindex(self) -> OuterIndexer:
        """Outer indexing: like ``d[...]``, but several dimensions may have lists of indices, and the result has all
        combinations of them. Collective.

        >>> with scda.create("outer.scda") as w:
        ...     w.dataset("rho", np.arange(30).reshape(5, 6))
        >>> with scda.open("outer.scda") as f:
        ...     f["rho"].oindex[[4, 0], [1, 3, 3]].tolist()
        [[25, 27, 27], [1, 3, 3]]
        """
        return OuterIndexer(self)

    def astype(self, dtype: DTypeLike) -> ConvertedDataset:
        """The dataset with items of another type, for indexing. Numbers are converted as they are read, without a copy
        of all of them. Conversion to floating point rounds to the nearest number; conversion to integers drops the
        fraction. A number that does not fit raises a :class:`RangeError` that names its index.

        >>> with scda.create("single.scda") as w:
        ...     w.dataset("rho", np.arange(4.0), dtype="f4")
        >>> with scda.open("single.scda") as f:
        ...     f["rho"].astype("i2")[1:]
        array([1, 2, 3], dtype=int16)
        """
        return ConvertedDataset(self, native(np.dtype(dtype)))

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> NDArray[Any]:
        """Reads all items, for numpy. Collective: every rank gets all of them."""
        if copy is False:
            raise ValueError(f"dataset {self.name!r}: found copy=False, but it is read from a file")
        everything: NDArray[Any] = self[...]
        return everything if dtype is None else everything.astype(dtype, copy=False)

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the first dimension, in bounded memory. Collective: every rank reads all of it."""
        step = max(1, BATCH_BYTES * max(len(self), 1) // max(self.nbytes, 1))
        if self.chunks:
            step = -(-step // self.chunks[0]) * self.chunks[0]
        for start in range(0, len(self), step):
            yield from self[start : start + step]

    def to_ragged(self, dtype: Optional[DTypeLike] = None) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Reads a dataset of bytes of any length, such as lists that ``scda import`` has found, as (offsets, values):
        item i, in C order, is ``values[offsets[i]:offsets[i + 1]]``. Collective: every rank gets all items.

        Args:
            dtype: the type of the values; None: the type in the attribute ``scda_type``, which an import writes, or
                else bytes.

        >>> with scda.create("lists.scda") as w:
        ...     w.dataset("n", [b"abc", b"", b"d"], dtype=bytes)
        >>> with scda.open("lists.scda") as f:
        ...     offsets, values = f["n"].to_ragged()
        >>> offsets.tolist(), values.tobytes()
        ([0, 3, 3, 4], b'abcd')
        """
        if self._description.type != "variable_length_bytes":
            raise TypeError(f"to_ragged: found items of the type {self._description.type}, expected bytes of any length")
        if dtype is None:
            found = self.attrs.get("scda_type")
            of = found.get("list") if isinstance(found, dict) else None
            name = of.lstrip(">") if isinstance(of, str) else "uint8"
            # An import stores the lowest byte first, whatever the type was in HDF5.
            dtype = np.dtype(name if name in TYPE_NAMES else "uint8").newbyteorder("<")
        item = dtype_of(dtype)
        items = np.asarray(self[...], object).reshape(-1).tolist()
        sizes = np.fromiter(map(len, items), np.uint64, len(items))
        return offsets_of(sizes, item), np.frombuffer(b"".join(items), item)

    def read_boxes(self, boxes: Sequence[tuple[Any, Any]]) -> list[NDArray[Any]]:
        """Reads several boxes at once. A chunk that several of them share is read once. Collective: each rank reads its
        own boxes, any number of them.

        Args:
            boxes: for each box, the first indices and the shape.
        """
        with self._file._reading() as core:
            found: list[Box] = [(list(integers("start", a)), list(integers("shape", b))) for a, b in boxes]
            for start, count in found:
                inside = len(start) == len(count) == self.ndim and all(
                    a + n <= size for a, n, size in zip(start, count, self.shape)
                )
                if not inside:
                    raise ValueError(f"box: found start {start} and shape {count}, expected a part of {self.shape}")
            return self._read_boxes(core, found)

    def read_direct(self, out: NDArray[Any], source: Any = ...) -> None:
        """Reads what ``d[source]`` selects into an existing array, as in h5py. That may be a part of another array,
        such as the interior of a block with ghost cells, and needs no copy. Collective.

        >>> with scda.create("block.scda") as w:
        ...     w.dataset("rho", np.arange(12.0).reshape(3, 4))
        >>> block = np.full((5, 6), -1.0)
        >>> with scda.open("block.scda") as f:
        ...     f["rho"].read_direct(block[1:-1, 1:-1])
        >>> block[1].tolist()
        [-1.0, 0.0, 1.0, 2.0, 3.0, -1.0]

        Args:
            out: an array of the shape of ``d[source]``. Numbers of another type are converted as by :meth:`astype`.
                Other types, and selections with steps or lists, are read into memory first and then copied as numpy
                does.
            source: an index of the dataset.
        """
        with self._file._reading() as core:
            if not isinstance(out, np.ndarray) or not out.flags.writeable:
                raise TypeError(f"out: found {type(out).__name__}, expected an array of numpy that can be written")
            selection = select(source, self.shape)
            shape = selection.result(np.broadcast_to(np.empty((), np.bool_), selection.shape)).shape
            if out.shape != shape:
                raise ValueError(f"out: found the shape {out.shape}, expected {shape}")
            is_direct = not self.dtype.hasobject and out.dtype == self.dtype or (out.dtype.isnative and are_converted(self.dtype, out.dtype))
            if selection.has_steps or not is_direct:
                np.copyto(out, self._read(core, selection))
                return
            # A view with the dimensions of the dataset: an integer has one index, and new dimensions are left out.
            kept = [f for f in selection.final if f is not ...]
            view = out[tuple(None if isinstance(f, int) else 0 if f is None else f for f in kept)]
            memory, first, strides, item = memory_of(view)
            box = ([indices[0] if len(indices) else 0 for indices in selection.indices], list(selection.shape))
            calls = 1 if self._file._ranks is None else max(core.proc_counts(1))
            self._handle.read(core, [box], memory, item, first, strides)
            for _ in range(1, calls):
                self._handle.read(core, [], np.empty(0, np.uint8), item)

    def read_partition(self, counts: Optional[Sequence[int]] = None) -> NDArray[Any]:
        """Reads this rank's part of the first dimension, with all of the other dimensions. Collective.

        Args:
            counts: how many indices each rank gets, by rank, the same on all ranks; their sum is the length. None: an
                even distribution. :meth:`File.proc_counts` computes them.
        """
        with self._file._reading():
            parts, rank = self._file._parts(len(self), counts)
            start = sum(parts[:rank])
            own: NDArray[Any] = self[start : start + parts[rank]]
            return own

    def _read(self, core: _core.Reader, selection: Selection, dtype: Optional[np.dtype[Any]] = None) -> Any:
        if self._file._ranks is None and (only := only_box(selection, self._description)) is not None:
            items = _memory(self._file, self._description, tuple(only.box[1]), dtype)
            self._read_part(core, [only.box], items)
            return selection.result(only.of(items).copy() if only.wanted else items)
        wanted = [(self._description, selection)]
        (found,) = read_selections(self._file, core, wanted, lambda parts: self._read_part(core, *parts[0]), dtype)
        return found

    def _read_boxes(self, core: _core.Reader, boxes: list[Box]) -> list[NDArray[Any]]:
        everything = _memory(self._file, self._description, (sum(_items(count) for _, count in boxes),))
        self._read_part(core, boxes, everything)
        return _split(everything, boxes)

    def _read_part(self, core: _core.Reader, boxes: list[Box], items: NDArray[Any]) -> None:
        if self._description.type in VARIABLE_TYPES:
            put_texts(items, self._handle.read_texts(core, boxes, self._description.type == "string"))
            return
        self._handle.read(core, boxes, bytes_of(items), type_name(items.dtype))

    def __repr__(self) -> str:
        chunks = "" if self.chunks is None else f", chunks {self.chunks}"
        return f"<scda dataset {self.name!r}: {self._summary()}{chunks}>"

    def _summary(self) -> str:
        """Type, shape, and units if there are any."""
        named = [f"{_shown(name)}: {n}" if name else str(n) for name, n in zip(self.dims, self.shape)]
        units = self.attrs.get("units")
        more = f", {_shown(units)}" if isinstance(units, str) else ""
        kind = self._description.type if self.dtype.hasobject else self.dtype
        return f"{kind} ({', '.join(named)}{',' if len(named) == 1 else ''}){more}"


def _pickled(file: File, index: int, name: str, kind: str) -> Dataset:
    """Finds the dataset that another process has pickled."""
    section = file._finder.get(index)
    found = None if section is None else file._dataset_in(section)
    if found is None or (found._description.name, found._description.type) != (name, kind):
        raise ValueError(f"{file.path}: {name!r}: found a different dataset in its place; the file was replaced: open it again")
    return found


def _members_of(key: Any) -> tuple[tuple[str, ...], Any]:
    """Splits an index into names of members and the rest."""
    if isinstance(key, str):
        return (key,), ...
    if not isinstance(key, tuple) or not any(isinstance(each, str) for each in key):
        return (), key
    rest = tuple(each for each in key if not isinstance(each, str))
    return tuple(each for each in key if isinstance(each, str)), rest or ...


class ConvertedDataset:
    """A dataset with items of another type: see :meth:`Dataset.astype`."""

    def __init__(self, dataset: Dataset, dtype: np.dtype[Any]) -> None:
        self._dataset, self.dtype = dataset, dtype

    def __getitem__(self, key: Any) -> Any:
        dataset = self._dataset
        with dataset._file._reading() as core:
            selection = select(key, dataset.shape)
            if are_converted(dataset.dtype, self.dtype):
                return dataset._read(core, selection, self.dtype)
            return dataset._read(core, selection).astype(self.dtype)


class OuterIndexer:
    """Indexes a dataset by lists in several dimensions: see :attr:`Dataset.oindex`."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __getitem__(self, key: Any) -> Any:
        with self._dataset._file._reading() as core:
            return self._dataset._read(core, select(key, self._dataset.shape, is_outer=True))


def _shown(text: str) -> str:
    """Text as repr writes it, since it may have control characters; shortened if it is long."""
    return repr(text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "…")[1:-1]


# What one call of the core reads of a dataset: boxes, and the array that receives them one after another.
Part = tuple[list[Box], "NDArray[Any]"]


def read_selections(
    file: File,
    core: _core.Reader,
    wanted: Sequence[tuple[Description, Selection]],
    read: Callable[[list[Part]], None],
    dtype: Optional[np.dtype[Any]] = None,
) -> list[Any]:
    """The items that selections of datasets select. `read` reads a part of each; all ranks call it equally often, as
    often as the rank with the most parts needs. `dtype` is the type of the items in memory, if they are converted."""
    arrays = [_memory(file, found, selection.shape, dtype) for found, selection in wanted]
    others = 0
    if file._ranks is not None:
        own = sum(1 for _ in calls(wanted))
        others = max(core.proc_counts(own)) - own
    for call in calls(wanted):
        parts: list[Part] = []
        for array, (_, selection), selected in zip(arrays, wanted, call):
            whole = bool(selected) and not selection.has_steps
            items = array if whole else file._allocate(sum(each.items for each in selected), array.dtype)
            parts.append(([each.box for each in selected], items))
        read(parts)
        for array, (_, selection), selected, (boxes, items) in zip(arrays, wanted, call, parts):
            if selection.has_steps:
                for each, found in zip(selected, _split(items, boxes)):
                    array[each.place] = each.of(found)
    for _ in range(others):
        read([([], np.empty(0, array.dtype)) for array in arrays])
    return [selection.result(array) for array, (_, selection) in zip(arrays, wanted)]


def _memory(file: File, found: Description, shape: tuple[int, ...], dtype: Optional[np.dtype[Any]] = None) -> NDArray[Any]:
    item = found.dtype
    # A selection may repeat an index, hence the minimum.
    if found.layout == "contiguous" and (size := min(math.prod(shape), math.prod(found.shape)) * item.itemsize) > _FEW_BYTES:
        file._check_there(size)
    return file._allocate(shape, item if dtype is None else dtype)


def put_texts(items: NDArray[Any], found: Sequence[Union[str, bytes]]) -> None:
    """Puts objects into an array of objects."""
    flat = np.empty(len(found), object)
    flat[:] = found
    items.reshape(-1)[:] = flat


def _split(everything: NDArray[Any], boxes: list[Box]) -> list[NDArray[Any]]:
    """The items of each box."""
    sizes = [_items(count) for _, count in boxes]
    ends = np.cumsum(sizes)
    return [
        everything[end - size : end].reshape(count) for end, size, (_, count) in zip(ends.tolist(), sizes, boxes)
    ]


def _items(count: Sequence[int]) -> int:
    items = 1
    for n in count:
        items *= n
    return items
