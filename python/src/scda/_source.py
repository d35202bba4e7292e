"""Sources of bytes other than local files: file objects of Python, and addresses, which fsspec opens."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import Any, Optional, Protocol

# Reads of fewer bytes go through the blocks.
_SHORT = 1 << 18
# The size of a block in bytes, the most blocks of a request, and the number of blocks that are kept.
_BLOCK = 1 << 16
_MOST_AHEAD = 64
_MOST_BLOCKS = 256


class Source(Protocol):
    """The interface through which the core reads."""

    name: str

    def size(self) -> int: ...

    def read_at(self, offset: int, length: int) -> bytes: ...


class _Object:
    """A file object that can be read and seeked. It is not closed."""

    def __init__(self, file: Any) -> None:
        name = getattr(file, "name", None)
        self.name = name if isinstance(name, str) else f"<{type(file).__name__}>"
        self._file = file
        self._lock = threading.Lock()

    def size(self) -> int:
        with self._lock:
            self._file.seek(0, os.SEEK_END)
            size: int = self._file.tell()
            return size

    def read_at(self, offset: int, length: int) -> bytes:
        parts: list[bytes] = []
        with self._lock:
            self._file.seek(offset)
            while length > 0:
                part = self._file.read(length)
                if not part:
                    break
                parts.append(bytes(part))
                length -= len(part)
        return b"".join(parts)


class _Address:
    """The object at an address. A read is a request for a range of bytes. Short reads, such as headers or parts of
    rows, fetch and keep whole blocks; if they are consecutive, or nearly so, each request is for twice as many blocks
    as the last."""

    def __init__(self, system: Any, path: str, name: str) -> None:
        self.name = name
        self._system, self._path = system, path
        self._size = 0
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        # The block after those of the last request, and their number.
        self._next, self._ahead = 0, 1
        self._lock = threading.Lock()

    def size(self) -> int:
        self._system.invalidate_cache()
        size = self._system.info(self._path)["size"]
        if size is None:
            raise OSError(f"{self.name}: the server does not report the size")
        with self._lock:
            self._size = int(size)
            self._blocks.clear()  # they may have been at the end of a file that has grown
            return self._size

    def read_at(self, offset: int, length: int) -> bytes:
        if length >= _SHORT:
            return self._request(offset, length)
        first, end = offset // _BLOCK, -(-(offset + length) // _BLOCK)
        with self._lock:
            for block in range(first, end):
                if block not in self._blocks:
                    self._fetch(block, end)
                self._blocks.move_to_end(block)
            found = b"".join(self._blocks[block] for block in range(first, end))
            while len(self._blocks) > _MOST_BLOCKS:
                self._blocks.popitem(last=False)
        at = offset - first * _BLOCK
        return found[at : at + length]

    def _fetch(self, block: int, end: int) -> None:
        """Requests blocks, at least as far as `end`."""
        follows = 0 <= block - self._next <= self._ahead
        self._ahead = min(2 * self._ahead, _MOST_AHEAD) if follows else 1
        self._next = max(end, block + self._ahead)
        start = block * _BLOCK
        length = min(self._next * _BLOCK, self._size) - start
        data = self._request(start, length) if length > 0 else b""
        for number in range(block, self._next):
            at = (number - block) * _BLOCK
            self._blocks[number] = data[at : at + _BLOCK]

    def _request(self, offset: int, length: int) -> bytes:
        found: bytes = self._system.cat_file(self._path, start=offset, end=offset + length)
        if len(found) > length:
            raise OSError(f"{self.name}: found {len(found)} bytes in an answer, expected the {length} of a range")
        return found


def is_address(path: Any) -> bool:
    """True for text such as ``https://...`` or ``s3://...``."""
    return isinstance(path, str) and "://" in path


def source_of(path: Any, storage_options: Optional[dict[str, Any]]) -> Optional[Source]:
    """The source that replaces a local file; None if the path is that of a local file."""
    if is_address(path):
        from fsspec.core import url_to_fs

        system, found = url_to_fs(path, **(storage_options or {}))
        return _Address(system, found, path)
    if storage_options is not None:
        raise ValueError(f"storage_options: found {path!r}, expected an address such as https://... or s3://...")
    if hasattr(path, "fs") and hasattr(path, "path") and not hasattr(path, "read"):  # fsspec.open(...)
        return _Address(path.fs, path.path, path.fs.unstrip_protocol(path.path))
    if hasattr(path, "read") and hasattr(path, "seek"):
        return _Object(path)
    return None
