"""A store of zarr-python 3, which imports this module if it is asked for it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, AsyncIterator, Iterable, Optional

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest

from ._common import Path
from ._file import File, open
from ._zarr_arrays import ZarrArray, arrays_and_groups

if TYPE_CHECKING:
    from zarr.core.buffer import Buffer, BufferPrototype


class ZarrStore(Store):
    """The datasets of a file as a Zarr v3 store, for reading: ``zarr.open_group(scda.ZarrStore("flow.scda"))`` and
    ``xarray.open_zarr(scda.ZarrStore("flow.scda"))``. It needs zarr-python 3.

    A dataset is an array of the same name, in the groups that its name has. Records are an array whose first dimension
    counts them; records that differ in type, shape or chunks are arrays ``0``, ``1``, ... of a group with their name.

    Args:
        path: the file. It is read as it is now: later records need another store.
        without: patterns of names to leave out.
    """

    supports_writes = False
    supports_deletes = False
    supports_partial_writes = False
    supports_listing = True

    def __init__(self, path: Path, *, without: Iterable[str] = ()) -> None:
        super().__init__(read_only=True)
        self._without = tuple(without)
        self._begin(open(path))

    def _begin(self, file: File) -> None:
        self._file = file
        try:
            arrays, groups = arrays_and_groups(file, self._without)
        except BaseException:
            file.close()
            raise
        self._arrays: dict[str, ZarrArray] = {array.path: array for array in arrays}
        metadata = {f"{path}/zarr.json" if path else "zarr.json": value for path, value in groups.items()}
        metadata.update((array.key, array.metadata) for array in arrays)
        self._metadata = {
            key: json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n" for key, value in metadata.items()
        }
        self._is_open = True

    def __getstate__(self) -> dict[str, Any]:
        """Another process opens the file by its path."""
        return {"path": self._file.path, "without": self._without}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Store.__init__(self, read_only=True)
        self._without = state["without"]
        self._begin(open(state["path"]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ZarrStore) and self.__getstate__() == other.__getstate__()

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"scda://{self._file.path}"

    def __repr__(self) -> str:
        return f"ZarrStore({self._file.path!r})"

    def close(self) -> None:
        """Closes the file."""
        super().close()
        self._file.close()

    def __del__(self) -> None:
        # Nobody closes a store that zarr or xarray holds.
        if "_file" in self.__dict__:
            self._file.close()

    async def get(
        self, key: str, prototype: Optional[BufferPrototype] = None, byte_range: Optional[ByteRequest] = None
    ) -> Optional[Buffer]:
        """The bytes of a key, or a range of them; None if there is no such key."""
        if prototype is None:
            from zarr.core.buffer import default_buffer_prototype

            prototype = default_buffer_prototype()
        found = self._find(key)
        if found is None:
            return None
        if isinstance(found, bytes):
            data = found
        else:
            # The library reads, and decompresses, without the interpreter's lock.
            read = await asyncio.to_thread(found[0].read, *found[1:])
            if read is None:
                return None
            data = read
        return prototype.buffer.from_bytes(data if byte_range is None else data[_slice(byte_range, len(data))])

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, Optional[ByteRequest]]]
    ) -> list[Optional[Buffer]]:
        """The ranges of several keys."""
        return list(await asyncio.gather(*(self.get(key, prototype, part) for key, part in key_ranges)))

    async def exists(self, key: str) -> bool:
        """Whether there is such a key. A chunk all of whose items have the fill value may have none."""
        found = self._find(key)
        return found is not None and (isinstance(found, bytes) or found[0].size(*found[1:]) > 0)

    async def getsize(self, key: str) -> int:
        """The bytes of a key, without reading them."""
        found = self._find(key)
        size = 0 if found is None else len(found) if isinstance(found, bytes) else found[0].size(*found[1:])
        if size == 0:
            raise FileNotFoundError(key)
        return size

    async def list(self) -> AsyncIterator[str]:
        """All keys."""
        for key in self._keys():
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """All keys that begin with a text."""
        for key in self._keys(prefix):
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """What is directly below a path, without it: keys, and parts of longer ones."""
        start = f"{prefix.rstrip('/')}/" if prefix.strip("/") else ""
        seen = set()
        for key in self._keys(start):
            if key.startswith(start):
                name = key[len(start) :].partition("/")[0]
                if name not in seen:
                    seen.add(name)
                    yield name

    async def set(self, key: str, value: Buffer) -> None:
        """A ValueError: the store is for reading."""
        self._check_writable()

    async def delete(self, key: str) -> None:
        """A ValueError: the store is for reading."""
        self._check_writable()

    def _find(self, key: str) -> Any:
        """Metadata, or an array and a chunk of it."""
        if key in self._metadata:
            return self._metadata[key]
        path, mark, indices = key.rpartition("/c/")
        if key.endswith("/c"):
            path, mark, indices = key[:-2], "c", ""
        array = self._arrays.get(path) if mark else None
        if array is None:
            return None
        words = indices.split("/") if indices else []
        if not all(word.isascii() and word.isdigit() and word == str(int(word)) for word in words):
            return None
        chunk = array.find([int(word) for word in words])
        return None if chunk is None else (array, *chunk)

    def _keys(self, prefix: str = "") -> Iterable[str]:
        """Those that may begin with a prefix."""
        yield from self._metadata
        for path, array in self._arrays.items():
            chunks = f"{path}/c"
            if chunks.startswith(prefix) or prefix.startswith(chunks):
                yield from array.stored_keys()


def _slice(request: ByteRequest, size: int) -> slice:
    if isinstance(request, RangeByteRequest):
        return slice(request.start, request.end)
    if isinstance(request, OffsetByteRequest):
        return slice(request.offset, None)
    if isinstance(request, SuffixByteRequest):
        return slice(max(0, size - request.suffix), None)
    raise ValueError(f"byte_range: found {request!r}, expected one of zarr's")
