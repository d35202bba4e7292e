"""Streams of tasks, which are read and written as file objects."""

from __future__ import annotations

import io
import operator
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional, Union, overload

import numpy as np

from ._common import bytes_of, dtype_of, offsets_of, text_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from . import _core
    from ._file import File
    from ._writer import Writer


class Streams(Sequence["Stream"]):
    """A set of streams in a file that is open for reading: one for each task, that is, for each rank that wrote them.

    ``streams[3]`` is the stream of task 3, from its first byte on, as a file object. Each use returns a new one. Not
    collective: each rank reads what it likes.
    """

    def __init__(self, file: File, name: bytes, core: _core.Streams) -> None:
        self._file = file
        self._name = name
        self._core = core

    @property
    def name(self) -> str:
        """The name of the set, as text. Bytes that are not UTF-8 are escaped."""
        return text_of(self._name)

    @property
    def chunk_bytes(self) -> int:
        """The size of a chunk in bytes: in the file, the streams take turns, one chunk each. 0 if they are the elements
        of a varray."""
        return self._core.chunk_bytes

    def __len__(self) -> int:
        return self._core.tasks

    @overload
    def __getitem__(self, key: int) -> Stream: ...
    @overload
    def __getitem__(self, key: slice) -> list[Stream]: ...

    def __getitem__(self, key: Union[int, slice]) -> Union[Stream, list[Stream]]:
        if isinstance(key, slice):
            return [self[task] for task in range(len(self))[key]]
        number = operator.index(key)
        task = number + len(self) if number < 0 else number
        if not 0 <= task < len(self):
            raise IndexError(f"stream {key}: found {len(self)} streams")
        self._file._check_open()
        return Stream(self._file, self.name, task, self._core.stream(self._file._core, task))

    def read_partition(
        self, counts: Optional[Sequence[int]] = None, dtype: DTypeLike = np.uint8
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Reads all streams of this rank's share, in the order of the tasks, as (offsets, values). Collective.

        Stream i of the share is ``values[offsets[i]:offsets[i + 1]]``, as for a varray.

        Args:
            counts: how many streams each rank gets, by rank, the same on all ranks; their sum is the number of tasks.
                None: an even distribution. :meth:`File.proc_counts` computes them.
            dtype: the type of the values in the streams.

        Returns:
            offsets: int64, one more than there are streams, indices into values; values: dtype, one dimension.

        Raises:
            ValueError: the size of a stream is no multiple of the size of dtype.

        >>> with scda.create("log.scda") as w:
        ...     with w.streams("log") as log:
        ...         log.write(b"hello")
        5
        >>> with scda.open("log.scda") as f:
        ...     offsets, values = f.streams("log").read_partition(dtype="S1")
        >>> offsets.tolist(), values.tobytes()
        ([0, 5], b'hello')
        """
        file = self._file
        with file._reading() as core:
            item = dtype_of(dtype)
            parts, rank = file._parts(len(self), counts)
            sizes = file._allocate(parts[rank], np.uint64)
            self._core.read_sizes(core, parts, sizes)
            offsets = offsets_of(sizes, item)
            values = file._allocate(int(offsets[-1]), item)
            self._core.read(core, parts, sizes, bytes_of(values))
            return offsets, values

    def __repr__(self) -> str:
        return f"<scda streams {self.name!r}, {len(self)} tasks>"


class Stream(io.RawIOBase):
    """The stream of a task, as a file object for reading bytes. It can be read as long as the file is open.

    Each read accesses the file: many small ones are faster through ``io.BufferedReader(stream)``, and lines of text
    through ``io.TextIOWrapper`` on top of that. ``stream.readinto(array)`` reads into existing memory.

    Attributes:
        name: the name of the set, with the number of the task.
        task: the number of the task.
        nbytes: the size of the stream in bytes.
    """

    mode = "rb"

    def __init__(self, file: File, name: str, task: int, core: _core.Stream) -> None:
        super().__init__()
        self.name = f"{name}[{task}]"
        self.task = task
        self.nbytes = core.nbytes
        self._file = file
        self._core = core
        self._position = 0

    def readable(self) -> bool:
        """True."""
        _check(self)
        return True

    def seekable(self) -> bool:
        """True."""
        _check(self)
        return True

    def writable(self) -> bool:
        """False."""
        _check(self)
        return False

    def tell(self) -> int:
        """The position of the next byte to read."""
        _check(self)
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Sets the position, which may be after the end, and returns it. `offset` counts from `whence`: 0 is the
        beginning, 1 the position, 2 the end."""
        _check(self)
        origins = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.nbytes}
        origin = origins.get(operator.index(whence))
        if origin is None:
            raise ValueError(f"whence: found {whence!r}, expected 0, 1 or 2")
        position = origin + operator.index(offset)
        if position < 0:
            raise ValueError(f"seek: found the position {position}, expected 0 or more")
        self._position = position
        return position

    def readinto(self, buffer: Any, /) -> int:
        """Reads into memory, such as a numpy array, and returns the number of bytes; it is less than the size of the
        memory only at the end of the stream."""
        _check(self)
        if isinstance(buffer, np.ndarray) and buffer.dtype.kind in "mM":
            buffer = buffer.view(np.int64)  # times have no memoryview
        view = memoryview(buffer)
        if view.readonly:
            raise TypeError("readinto: found memory that cannot be written to")
        count = min(view.nbytes, self._left())
        if count:
            self._read(np.frombuffer(view.cast("B"), np.uint8, count))
        return count

    def write(self, data: Any, /) -> int:
        """Not supported: raises io.UnsupportedOperation."""
        raise io.UnsupportedOperation("write: the stream is open for reading")

    def read(self, size: Optional[int] = -1, /) -> bytes:
        """Reads `size` bytes, fewer only at the end of the stream; all of them if `size` is negative or None."""
        count = -1 if size is None else operator.index(size)
        # Allocates no memory for bytes that do not exist.
        data: bytes = super().read(count if count < 0 else min(count, self._left()))
        return data

    def readall(self) -> bytes:
        """Reads all bytes from the position on."""
        _check(self)
        memory = np.empty(self._left(), np.uint8)
        self._read(memory)
        return memory.tobytes()

    def _left(self) -> int:
        return max(0, self.nbytes - self._position)

    def _read(self, memory: NDArray[np.uint8]) -> None:
        self._file._check_open()
        if len(memory):
            self._core.read(self._file._core, self._position, memory)
            self._position += len(memory)

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle or copy the stream {self.name!r}: it is a part of an open file")

    def __repr__(self) -> str:
        return f"<scda stream {self.name!r}, {self.nbytes} bytes>"


class StreamWriter(io.RawIOBase):
    """The stream of this rank in :meth:`Writer.streams`, as a file object for writing bytes.

    The library buffers short writes. ``io.TextIOWrapper`` on an ``io.BufferedWriter`` writes text; close or
    flush these before the streams end.

    Attributes:
        name: the name of the set.
    """

    mode = "wb"

    def __init__(self, writer: Writer, name: Union[str, bytes]) -> None:
        super().__init__()
        self.name = name
        self._writer = writer

    def writable(self) -> bool:
        """True."""
        _check(self)
        return True

    def readable(self) -> bool:
        """False."""
        _check(self)
        return False

    def seekable(self) -> bool:
        """False."""
        _check(self)
        return False

    def readinto(self, buffer: Any, /) -> int:
        """Not supported: raises io.UnsupportedOperation."""
        raise io.UnsupportedOperation("read: the stream is open for writing")

    def tell(self) -> int:
        """The number of bytes that this rank has written."""
        _check(self)
        self._writer._check_open()
        return self._writer._core.stream_bytes()

    def write(self, data: Any, /) -> int:
        """Writes all of the data. An error is raised at once on this rank, and on all ranks at the next collective
        call."""
        _check(self)
        return self._writer._write_stream(data)

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle or copy the stream writer {self.name!r}: it is a part of an open file")

    def __repr__(self) -> str:
        return f"<scda stream writer {self.name!r}, {'closed' if self.closed else 'open'}>"


def _check(stream: io.RawIOBase) -> None:
    if stream.closed:
        raise ValueError("I/O operation on closed file.")
