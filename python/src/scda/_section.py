"""Reads sections: their bytes or elements."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator, NoReturn, Optional, Sequence, Union

import numpy as np

from . import _core
from ._common import a_or_an, bytes_of, dtype_of, offsets_of, text_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from ._file import File

_KINDS = {"I": "inline", "B": "block", "A": "array", "V": "varray"}
# Iteration over elements reads this many bytes or elements at once.
_BATCH_BYTES = 1 << 20
_BATCH_ELEMENTS = 1 << 10


@dataclass(frozen=True, eq=False, repr=False)
class Section:
    """A section of a file. Its attributes cannot be changed.

    Attributes:
        index: its number in the file, from 0.
        kind: ``"inline"`` (32 bytes), ``"block"`` (any number of bytes), ``"array"`` (elements of one size) or
            ``"varray"`` (elements of their own sizes).
        user: the user string, up to 58 bytes of any value.
        count: the number of elements N of an array or varray; 1 for other sections.
        size: in bytes: E of a block or of each element of an array, 32 for an inline section; 0 for a varray, whose
            :meth:`sizes` differ.
        compressed: true if the data are compressed in the file. Reading decompresses them.
        offset: the offset of the section in the file.
        data_offset: the offset of its data, as they are stored in the file.
    """

    __slots__ = ("_file", "index", "kind", "user", "count", "size", "compressed", "offset", "data_offset")

    _file: File
    index: int
    kind: str
    user: bytes
    count: int
    size: int
    compressed: bool
    offset: int
    data_offset: int

    @classmethod
    def _of_header(cls, file: File, index: int, letter: str, user: bytes, count: int, size: int, *more: Any) -> Section:
        """A section, given what the core returns for its header."""
        count = count if letter in "AV" else 1
        return cls(file, index, _KINDS[letter], user, count, 32 if letter == "I" else size, *more)

    def __reduce__(self) -> Any:
        """Pickles the section by its place: another process opens the file by its path."""
        return _pickled, (self._file, self.index, self.user)

    @property
    def user_text(self) -> str:
        """The user string as text. Bytes that are not UTF-8 are escaped."""
        return text_of(self.user)

    @property
    def nbytes(self) -> int:
        """The size of all data, decompressed, in bytes. For a varray, this reads its sizes: collective."""
        return int(self._sizes(0, self.count).sum()) if self.kind == "varray" else self.count * self.size

    @property
    def file_nbytes(self) -> int:
        """The bytes that the section takes in the file, with header and padding. Collective."""
        with self._file._reading() as core:
            return core.end(self.offset) - self.offset

    def __len__(self) -> int:
        """The length for indexing: the number of elements, or of bytes in an inline section or block."""
        return self.count if self._has_elements else self.size

    def __bool__(self) -> bool:
        """True, even without elements."""
        return True

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """Raises an error, because numpy would take the elements for strings."""
        raise TypeError(f"section {self.index}: the file does not say the type of its data; use to_numpy(dtype)")

    def __getitem__(self, key: int | slice) -> Any:
        """Reads elements, decompressed, and no others. Collective: each rank reads its own range, which may be empty.

        ``s[i]`` is element i, as bytes. ``s[a:b]`` of an array is the concatenation of its elements a to b, as
        bytes; of a varray, it is a list with the bytes of each element. An inline section or a block is indexed like
        the bytes that it holds. Negative numbers and steps work as in Python.

        To find an element of a varray, or a compressed element of an array, the sizes before it must be read; in a
        sealed file, those of at most 4096 elements. Access in order avoids this cost; for many elements in random
        order, :meth:`to_numpy` and :meth:`to_ragged` are faster. With a step, a slice of such a section reads
        everything between its ends.
        """
        with self._file._reading() as core:
            if not isinstance(key, slice):
                index = self._number(key)
                if index < 0:
                    index += len(self)
                if not 0 <= index < len(self):
                    what = "element" if self._has_elements else "byte"
                    raise IndexError(f"{what} {key}: found {len(self)} {what}s")
                if self._has_elements:
                    return self._read(index, index + 1)
                return self._bytes(core, index, index + 1)[0]
            numbers = range(len(self))[key]
            if len(numbers) == 0:
                start = stop = 0
            else:
                start, stop = min(numbers[0], numbers[-1]), max(numbers[0], numbers[-1]) + 1
            step = numbers.step
            if self.kind == "varray":
                return self._elements(start, stop)[::step]
            if not self._has_elements:
                return self._bytes(core, start, stop)[::step]
            if abs(step) > 1 and self._is_mapped:
                return self.to_numpy()[key].tobytes()
            data = self._read(start, stop)
            if step == 1 or not data:
                return data
            return np.frombuffer(data, np.uint8).reshape(-1, self.size)[::step].tobytes()

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the elements, as bytes. Collective: every rank reads all of them."""
        if not self._has_elements:
            yield from self.read()
            return
        step = _BATCH_ELEMENTS
        if self.kind == "array":
            step = max(1, _BATCH_BYTES // max(self.size, _BATCH_BYTES // _BATCH_ELEMENTS))
        for start in range(0, self.count, step):
            yield from self._elements(start, min(start + step, self.count))

    def read(self) -> bytes:
        """Reads all data, decompressed, as bytes; elements are concatenated. Collective: every rank gets all data.

        >>> with scda.open("hello.scda") as f:
        ...     f["greeting"].read()
        b'libscda says hello to the world\\n'
        """
        if self._has_elements:
            return self._read(0, self.count)
        if self._file._ranks is not None:
            return self.to_numpy().tobytes()
        with self._file._reading() as core:
            if self.kind == "inline":
                return core.read_inline(self.offset)
            self._check_there(self.size)
            return core.read_block(self.offset, self.size)

    def _check_there(self, stop: int) -> None:
        """Raises an error if the file ends before these bytes of uncompressed data."""
        if not self.compressed:
            self._file._check_there(self.data_offset + stop, self.kind, self.offset)

    def to_numpy(self, dtype: DTypeLike = np.uint8, shape: Union[int, Sequence[int], None] = None) -> NDArray[Any]:
        """The data as a read-only numpy array. Collective: every rank gets all data.

        Uncompressed data are mapped into memory instead of being read: that takes no time, and parts that are not used
        are never read. (If another program truncates the file meanwhile, access to them ends the process, as for all
        mapped files.) Compressed data are decompressed by several threads. With several ranks, the data are read.

        Args:
            dtype: the type of the values in the file, in the byte order that they have there (``"<f8"``, or a
                structured one). Nothing is converted.
            shape: for an array the shape of one element, otherwise that of all data. ``shape`` times the size of
                ``dtype`` must be the size of the section. An int means one dimension. None: (), or one dimension, as
                the size requires.

        Returns:
            For an array, shape (count, *shape). For an inline section or a block, shape.

        Raises:
            ValueError: the section has another size.
            TypeError: the section is a varray: see :meth:`to_ragged`.

        >>> with scda.open("hello.scda") as f:
        ...     planets = f["semi-major axis, period"].to_numpy([("name", "S8"), ("text", "S24")])
        >>> planets["name"].tolist()[1], len(planets)
        (b'Earth   ', 3)
        """
        if self.kind == "varray":
            raise TypeError("to_numpy: found a varray, whose elements differ in size; use to_ragged")
        if not self._has_elements:
            return self._whole(dtype, shape)
        with self._file._reading():
            item = dtype_of(dtype)
            return self._array(item, (self.count, *self._inner_shape(item, shape)))

    def to_ragged(self, dtype: DTypeLike = np.uint8) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The data of a varray as (offsets, values). Collective: every rank gets all data.

        Element i is ``values[offsets[i]:offsets[i + 1]]``. Both arrays are read-only; values are mapped or
        decompressed as by :meth:`to_numpy`. :meth:`Writer.varray` takes such a pair.

        Args:
            dtype: the type of the values in the file.

        Returns:
            offsets: int64, shape (count + 1,), indices into values; values: dtype, one dimension.

        Raises:
            ValueError: the size of an element is no multiple of the size of dtype.
            TypeError: the section is no varray.
        """
        with self._file._reading() as core:
            self._expect_varray("to_ragged")
            item = dtype_of(dtype)
            if not self._is_mapped:
                offsets, values = self._ragged_range(core, 0, self.count, item)
                values.flags.writeable = False
            else:
                offsets = offsets_of(self._sizes(0, self.count), item)
                values = self._map(item, (int(offsets[-1]),))
            offsets.flags.writeable = False
            return offsets, values

    def sizes(self) -> NDArray[np.int64]:
        """The size of each element of a varray in bytes, decompressed: shape (count,). Collective: every rank gets all
        sizes."""
        with self._file._reading():
            self._expect_varray("sizes")
            return self._sizes(0, self.count).astype(np.int64)

    def read_partition(
        self,
        counts: Optional[Sequence[int]] = None,
        dtype: DTypeLike = np.uint8,
        shape: Union[int, Sequence[int], None] = None,
    ) -> Any:
        """Reads this rank's elements of an array or varray. Collective.

        Args:
            counts: how many elements each rank gets, by rank, the same on all ranks; their sum is the count of
                the section. None: an even distribution.
            dtype, shape: as for :meth:`to_numpy`; a varray takes no shape.

        Returns:
            For an array, what :meth:`to_numpy` returns, and for a varray, what :meth:`to_ragged` returns, for this
            rank's elements; in new memory that can be written to.
        """
        file = self._file
        with file._reading() as core:
            self._expect_elements("read_partition")
            item = dtype_of(dtype)
            parts, rank = file._parts(self.count, counts)
            if file._ranks is None:
                return self._range(core, 0, self.count, item, shape)
            if self.kind == "array":
                array = file._allocate((parts[rank], *self._inner_shape(item, shape)), item)
                core.read_array_part(self.offset, parts, self.size, bytes_of(array))
                return array
            self._expect_no(shape)
            sizes = file._allocate(parts[rank], np.uint64)
            core.read_sizes_part(self.offset, parts, sizes)
            offsets = offsets_of(sizes, item)
            values = file._allocate(int(offsets[-1]), item)
            core.read_varray_part(parts, sizes, bytes_of(values))
            return offsets, values

    def read_range(
        self,
        start: int,
        stop: int,
        dtype: DTypeLike = np.uint8,
        shape: Union[int, Sequence[int], None] = None,
    ) -> Any:
        """Reads elements start to stop of an array or varray. Collective: each rank reads its own range; ranges may
        overlap, be empty, and come in any order.

        Args:
            start, stop: the first element, and the one after the last.
            dtype, shape: as for :meth:`to_numpy`; a varray takes no shape.

        Returns:
            What :meth:`read_partition` returns, for these elements.

        >>> with scda.open("hello.scda") as f:
        ...     f["moons"].read_range(1, 3, "S1")[0].tolist()
        [0, 5, 20]
        """
        with self._file._reading() as core:
            self._expect_elements("read_range")
            first, end = operator.index(start), operator.index(stop)
            if not 0 <= first <= end <= self.count:
                raise ValueError(f"range: found {first} to {end}, expected a part of 0 to {self.count}")
            return self._range(core, first, end, dtype_of(dtype), shape)

    def _range(
        self, core: _core.Reader, start: int, stop: int, item: np.dtype[Any], shape: Union[int, Sequence[int], None]
    ) -> Any:
        if self.kind == "varray":
            self._expect_no(shape)
            return self._ragged_range(core, start, stop, item)
        self._check_there(stop * self.size)
        array = self._file._allocate((stop - start, *self._inner_shape(item, shape)), item)
        core.read_array(self.offset, start, stop, self.size, bytes_of(array))
        return array

    def _ragged_range(
        self, core: _core.Reader, start: int, stop: int, item: np.dtype[Any]
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        sizes = self._sizes(start, stop)
        offsets = offsets_of(sizes, item)
        values = self._file._allocate(int(offsets[-1]), item)
        core.read_varray(self.offset, start, stop, sizes, bytes_of(values))
        return offsets, values

    @property
    def _has_elements(self) -> bool:
        return self.kind in ("array", "varray")

    def _expect_varray(self, what: str) -> None:
        if self.kind != "varray":
            raise TypeError(f"{what}: found {a_or_an(self.kind)}, expected a varray")

    def _expect_elements(self, what: str) -> None:
        if not self._has_elements:
            raise TypeError(f"{what}: found {a_or_an(self.kind)}, which has no elements; use read")

    def _expect_no(self, shape: Union[int, Sequence[int], None]) -> None:
        if shape is not None:
            raise ValueError("shape: found one for a varray, whose elements differ in size")

    @property
    def _is_mapped(self) -> bool:
        """True if the data are mapped into memory instead of being read."""
        return not self.compressed and self._file._is_local

    def _number(self, key: Any) -> int:
        try:
            return operator.index(key)
        except TypeError:
            raise TypeError(
                f"section {self.index}: found {key!r}, expected the number of an element or a slice; "
                "to_numpy makes an array of them all"
            ) from None

    def _inner_shape(self, item: np.dtype[Any], shape: Union[int, Sequence[int], None]) -> tuple[int, ...]:
        if shape is None:
            if self.size == item.itemsize and self._has_elements:
                return ()
            inner: tuple[int, ...] = (self.size // item.itemsize,)
        else:
            inner = tuple(operator.index(n) for n in ([shape] if isinstance(shape, (int, np.integer)) else shape))
        bytes_expected = item.itemsize
        for n in inner:
            bytes_expected *= n
        if bytes_expected != self.size or any(n < 0 for n in inner):
            what = "each element" if self._has_elements else "data"
            raise ValueError(
                f"section {self.index}, {self.user_text!r}: found {what} of {self.size} bytes, which is not "
                f"{item} ({item.itemsize} bytes) times {'any number' if shape is None else inner}"
            )
        return inner

    def _bytes(self, core: _core.Reader, start: int, stop: int) -> bytes:
        """Reads bytes of an inline section or a block."""
        if self._file._ranks is None or self.kind == "inline":
            return self.to_numpy()[start:stop].tobytes()
        return core.read_block_range(self.offset, start, stop) or b""

    def _read(self, start: int, stop: int) -> bytes:
        """Reads elements and concatenates them."""
        sizes = self._sizes(start, stop) if self.kind == "varray" else None
        with self._file._reading() as core:
            if sizes is None:
                self._check_there(stop * self.size)
                return core.read_array(self.offset, start, stop, self.size)
            return core.read_varray(self.offset, start, stop, sizes)

    def _elements(self, start: int, stop: int) -> list[bytes]:
        if self.kind == "array":
            data = self._read(start, stop)
            return [data[i * self.size : (i + 1) * self.size] for i in range(stop - start)]
        sizes = self._sizes(start, stop)
        with self._file._reading() as core:
            data = core.read_varray(self.offset, start, stop, sizes)
        ends = np.cumsum(sizes).tolist()
        return [data[begin:end] for begin, end in zip([0, *ends], ends)]

    def _sizes(self, start: int, stop: int) -> NDArray[np.uint64]:
        # In a varray, each element has an entry of 32 bytes before the data.
        self._file._check_there(self.offset + 32 * stop, self.kind, self.offset)
        sizes = self._file._allocate(stop - start, np.uint64)
        with self._file._reading() as core:
            core.read_sizes(self.offset, start, stop, sizes)
        return sizes

    def _whole(self, dtype: DTypeLike, shape: Union[int, Sequence[int], None]) -> NDArray[Any]:
        """All data of an inline section or block. With several ranks, rank 0 broadcasts them."""
        ranks = self._file._ranks
        with self._file._reading() as core:
            item = dtype_of(dtype)
            inner = self._inner_shape(item, shape)
            if self._is_mapped:
                return self._map(item, inner)
            self._check_there(self.size)
            array = self._file._allocate(inner, item)
            memory = bytes_of(array)
            if self.kind == "inline":
                memory[:] = np.frombuffer(core.read_inline(self.offset), np.uint8)
            else:
                core.read_block(self.offset, self.size, memory)
            if ranks is not None:
                # Any collective call lets all ranks learn of an error that only the root may have noticed.
                core.proc_counts(0)
                ranks.broadcast(memory)
        array.flags.writeable = False
        return array

    def _array(self, item: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        if self._is_mapped:
            return self._map(item, shape)
        array = self._file._allocate(shape, item)
        with self._file._reading() as core:
            core.read_array(self.offset, 0, self.count, self.size, bytes_of(array))
        array.flags.writeable = False
        return array

    def _map(self, item: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        self._file._check_open()
        if 0 in shape:
            empty = np.empty(shape, item)
            empty.flags.writeable = False
            return empty
        size = item.itemsize
        for n in shape:
            size *= n
        return self._file._bytes(self.data_offset, self.data_offset + size).view(item).reshape(shape)

    def __repr__(self) -> str:
        sizes = {"varray": f"{self.count} elements", "array": f"{self.count} elements of {self.size} bytes"}
        size = sizes.get(self.kind, f"{self.size} bytes")
        compressed = ", compressed" if self.compressed else ""
        return f"<scda section {self.index}: {self.kind} {self.user_text!r}, {size}{compressed}>"


def _pickled(file: File, index: int, user: bytes) -> Section:
    """Finds the section that another process has pickled."""
    found = file._finder.get(index)
    if found is None or found.user != user:
        raise ValueError(f"{file.path}: section {index}: found a different one in its place; the file was replaced: open it again")
    return found
