"""Memory for data that are larger than it should be."""

from __future__ import annotations

import errno
import math
import os
import tempfile
from typing import IO, Any, Optional

import numpy as np

# More than these are held in a temporary file.
_MOST_HELD = 64 << 20


class Spool:
    """Memory for the data of a dataset; where they are many, a temporary file that is mapped."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._file: Optional[IO[bytes]] = None
        self._held = bytearray()
        self._size = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, data: bytes) -> None:
        """Data after those that are there."""
        self._size += len(data)
        if self._file is None and self._size > _MOST_HELD:
            self._open().write(self._held)
            self._held = bytearray()
        if self._file is None:
            self._held += data
        else:
            self._file.write(data)

    def written(self) -> Any:
        """All of them."""
        if self._file is None:
            return np.frombuffer(self._held, np.uint8) if self._held else np.empty(0, np.uint8)
        self._file.flush()
        return np.memmap(self._file, np.uint8, "r", 0, (self._size,))

    def room(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """An array to be filled."""
        size = dtype.itemsize * math.prod(shape)
        if size <= _MOST_HELD or dtype.hasobject:
            return np.empty(shape, dtype)
        file = self._open()
        # A store into a mapped hole ends the process where the disk is full; this is an error.
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except (AttributeError, OSError) as error:
            if isinstance(error, OSError) and error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                text = f"{error.strerror} (for {size} bytes of temporary data)"
                raise OSError(error.errno, text, self._folder) from None
            file.truncate(size)  # where there is no such call
        return np.memmap(file, dtype, "r+", 0, shape)

    def _open(self) -> IO[bytes]:
        self._file = tempfile.TemporaryFile(prefix=".scda-", dir=self._folder)
        return self._file
