"""Arrays in a temporary file, for data that should not be held in memory."""

from __future__ import annotations

import errno
import math
import os
import tempfile
from typing import IO, Any, Optional

import numpy as np

# More than these are held in a temporary file.
_MOST_HELD = 64 << 20


class TemporaryData:
    """Memory for the data of a dataset; where they are many, a temporary file that is mapped."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._file: Optional[IO[bytes]] = None

    def __enter__(self) -> TemporaryData:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            self._file.close()

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
