"""Arrays in a temporary file, for data that are too large for memory."""

from __future__ import annotations

import errno
import math
import os
import tempfile
from typing import IO, Any, Optional

import numpy as np

# More bytes than these go to a temporary file.
_MOST_HELD = 64 << 20


class TemporaryData:
    """Memory for the data of a dataset; a mapped temporary file if they are large."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._file: Optional[IO[bytes]] = None

    def __enter__(self) -> TemporaryData:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            self._file.close()

    def room(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """An array to fill."""
        size = dtype.itemsize * math.prod(shape)
        if size <= _MOST_HELD or dtype.hasobject:
            return np.empty(shape, dtype)
        file = self._open()
        # If the disk is full, this raises an error; a store into a mapped hole would end the process.
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except (AttributeError, OSError) as error:
            if isinstance(error, OSError) and error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                text = f"{error.strerror} (for {size} bytes of temporary data)"
                raise OSError(error.errno, text, self._folder) from None
            file.truncate(size)  # on systems without this call
        return np.memmap(file, dtype, "r+", 0, shape)

    def _open(self) -> IO[bytes]:
        self._file = tempfile.TemporaryFile(prefix=".scda-", dir=self._folder)
        return self._file
