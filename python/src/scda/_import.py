"""scda files from HDF5, NetCDF-4 and NumPy's .npz files."""

from __future__ import annotations

import fnmatch
import itertools
import os
import re
import tempfile
import zipfile
import zlib
from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional

import numpy as np

from ._description import native
from ._errors import Error
from ._file import open as open_scda
from ._selection import pieces
from ._writer import Writer, create

if TYPE_CHECKING:
    import h5py

    from ._hdf5 import Filters

_HDF5 = b"\x89HDF\r\n\x1a\n"
_ZIP = b"PK\x03\x04"
_USER_BYTES = 58
# More than these are held in a temporary file.
_MOST_HELD = 64 << 20
# Of a dataset, stored or not, and so many records: a small file can claim any number.
_MOST_CHUNKS = 1 << 22


class Invalid(ValueError):
    """The file is not what it should be."""


Tell = Callable[[str], None]


def convert(path: str, out: str, *, seal: bool = True, without: Iterable[str] = (), tell: Tell = print) -> None:
    """Writes the arrays of a file to a new scda file.

    Args:
        path: an HDF5, NetCDF-4 or .npz file: its first bytes tell which.
        out: the new file.
        seal: whether it is sealed.
        without: patterns of names to leave out.
        tell: is called with a line about each thing that a scda file has no place for.
    """
    with open(path, "rb") as file:
        head = file.read(8)
        at = 0
        while head != _HDF5 and at < os.fstat(file.fileno()).st_size:  # behind a user block
            at = max(512, 2 * at)
            file.seek(at)
            if file.read(8) == _HDF5:
                head = _HDF5
    if head[:3] == b"CDF":
        raise Invalid(
            f"{path}: found a file of NetCDF's classic format, expected NetCDF-4; nccopy -k nc4 makes one of it"
        )
    if head != _HDF5 and head[:4] != _ZIP:
        raise Invalid(f"{path}: byte 0: found neither an HDF5 file nor a .npz file")
    patterns = list(without)

    def is_wanted(name: str) -> bool:
        return not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    name = os.path.basename(path)
    user = name.encode("utf-8", "replace")[:_USER_BYTES].decode("utf-8", "ignore")
    kind = "HDF5" if head == _HDF5 else "NPZ"
    source = {"imported": {"format": kind, "file": name, "bytes": os.path.getsize(path), "complete": not patterns}}
    with create(out, user, seal=seal) as w:
        if kind == "HDF5":
            _Hdf5(w, os.path.dirname(out), is_wanted, tell).run(path, source)
        else:
            w.group("/", source)
            _npz(w, path, is_wanted)


def _npz(w: Writer, path: str, is_wanted: Callable[[str], bool]) -> None:
    try:
        with np.load(path, allow_pickle=False) as file:
            for name in filter(is_wanted, file.files):
                try:
                    w.dataset(name, file[name])
                except (TypeError, ValueError) as error:
                    if isinstance(error, Error):
                        raise
                    raise ValueError(f"{path}: array {name!r}: {error}; --without leaves it out") from None
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise Invalid(f"{path}: {error}") from None


class _Hdf5:
    """From an HDF5 file. A folder for temporary files is that of the new file."""

    def __init__(self, w: Writer, folder: str, is_wanted: Callable[[str], bool], tell: Tell) -> None:
        self._w = w
        self._folder = folder or "."
        self._is_wanted = is_wanted
        self._tell = tell

    def run(self, path: str, source: dict[str, Any]) -> None:
        import h5py

        self._name = path
        try:
            with h5py.File(path, "r") as file:
                self._seen = {file.id: "/"}
                self._group(file, "", source)
        except (OSError, RuntimeError, KeyError) as error:
            # Those of the library of HDF5, which has no other kind for a damaged file.
            if isinstance(error, Error) or getattr(error, "errno", None) is not None:
                raise
            raise Invalid(f"{path}: {error}") from None

    def _group(self, group: h5py.Group, path: str, more: dict[str, Any]) -> None:
        import h5py

        attrs = {**self._attributes(group, path or "/"), **more}
        if attrs:
            self._w.group(path or "/", attrs)
        for name in group:
            whole = f"{path}/{name}" if path else name
            if not self._is_wanted(whole):
                continue
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                self._tell(f"{self._name}: {whole!r}: found a link to another place; it is left out")
                continue
            item = group[name]
            if isinstance(item, h5py.Dataset):
                self._dataset(item, whole)
            elif isinstance(item, h5py.Group):
                first = self._seen.setdefault(item.id, whole)
                if first != whole:
                    self._tell(f"{self._name}: {whole!r}: found the group {first!r} once more; it is left out")
                else:
                    self._group(item, whole, {})

    def _attributes(self, item: Any, path: str) -> dict[str, Any]:
        from ._hdf5 import read_attributes

        attrs, left_out = read_attributes(item)
        for name in left_out:
            self._tell(f"{self._name}: {path!r}: attribute {name!r}: found a type that JSON has not; it is left out")
        return attrs

    def _dataset(self, dataset: h5py.Dataset, path: str) -> None:
        from ._hdf5 import NO_VARIABLE, RECORDS, Filters, dimension_names, has_plain_items, type_of

        mark = dataset.attrs.get("NAME", b"")
        if (mark if isinstance(mark, str) else bytes(mark).decode("latin-1")).startswith(NO_VARIABLE):
            return
        name = path.rpartition("/")[2]
        try:
            dtype = type_of(dataset)
            attrs = self._attributes(dataset, path)
            if dtype == np.int8 and attrs.get("dtype") == "bool":
                dtype = np.dtype("?")
                del attrs["dtype"]
            invented = re.compile(re.escape(name) + r"_dim_\d+")
            dims = [None if dim and invented.fullmatch(dim) else dim for dim in dimension_names(dataset)]
            count = dataset.attrs.get(RECORDS)
            has_records = count is not None and dataset.ndim > 0 and int(count) == dataset.shape[0]
            _expect_few(dataset, has_records)
            first = 1 if has_records else 0
            shape, dims = dataset.shape[first:], dims[first:]
            # Chunks of HDF5 that are one record each have those of the record.
            is_cut = dataset.chunks and shape and (not has_records or dataset.chunks[0] == 1)
            options = {
                "attrs": attrs,
                "fill_value": _fill_value(dataset, dtype),
                "dims": dims if any(dims) else None,
                "shape": shape,
                "chunks": dataset.chunks[first:] if is_cut else None,
            }
            starts = [(record,) for record in range(dataset.shape[0])] if has_records else [()]
            filters = Filters.of_hdf5(dataset) if is_cut and 0 not in dataset.shape else None
            if filters is not None and has_plain_items(dataset):
                self._chunks(dataset, path, starts, dtype, filters, options)
            else:
                self._items(dataset, path, starts, dtype, options)
        except (TypeError, ValueError) as error:
            if isinstance(error, Error):
                raise
            kind = Invalid if isinstance(error, Invalid) else ValueError
            raise kind(f"{self._name}: {path!r}: {error}; --without leaves it out") from None

    def _items(
        self,
        dataset: h5py.Dataset,
        path: str,
        starts: list[tuple[int, ...]],
        dtype: np.dtype[Any],
        options: dict[str, Any],
    ) -> None:
        """The items of each record."""
        shape, chunks = options.pop("shape"), options.pop("chunks")
        # What was not compressed is not now.
        has_filters = dataset.id.get_create_plist().get_nfilters() > 0
        layout = {"chunks": chunks} if chunks is not None and has_filters else {}
        item = native(dtype)
        for start in starts:
            with _Spool(self._folder, item.itemsize * int(np.prod(shape, dtype=object))) as spool:
                items = spool.array(shape, item)
                for key in pieces(shape, chunks, item.itemsize):
                    items[key] = dataset[(*start, *key)].astype(item, copy=False)
                self._w.dataset(path, items, **options, **layout)

    def _chunks(
        self,
        dataset: h5py.Dataset,
        path: str,
        starts: list[tuple[int, ...]],
        dtype: np.dtype[Any],
        filters: Filters,
        options: dict[str, Any],
    ) -> None:
        """The chunks of each record as they are."""
        shape, chunks = options["shape"], options["chunks"]
        is_big = dtype.newbyteorder("=") != dtype and dtype.itemsize > 1
        text = self._metadata(path, native(dtype), filters, options, is_big)
        items = int(np.prod(chunks, dtype=object))
        fill = np.full(items, np.asarray(options["fill_value"], native(dtype)), native(dtype)).astype(dtype).tobytes()
        found = _Chunks(dataset, filters, dtype.itemsize, fill)
        grid = [range(0, n, c) for n, c in zip(shape, chunks)]
        offsets = np.zeros(1 + int(np.prod([len(each) for each in grid], dtype=object)), np.int64)
        for start in starts:
            with _Spool(self._folder, dataset.id.get_storage_size() // len(starts)) as spool:
                for number, origin in enumerate(itertools.product(*grid)):
                    data = found.read((*start, *origin))
                    offsets[number + 1] = offsets[number] + len(data)
                    spool.write(data)
                self._w.block("scda dataset 00", text)
                self._w.varray(path, (offsets, spool.array((int(offsets[-1]),), np.dtype("u1"))))

    def _metadata(
        self, path: str, dtype: np.dtype[Any], filters: Filters, options: dict[str, Any], is_big: bool
    ) -> bytes:
        """The metadata, as the library writes them: for a dataset without data."""
        with tempfile.TemporaryDirectory(prefix=".scda-", dir=self._folder) as folder:
            name = os.path.join(folder, "metadata")
            with create(name, seal=False, atomic=False) as w:
                w.dataset(path, dtype=dtype, level=filters.level, shuffle=filters.shuffle, **options)
            with open_scda(name) as f:
                text: bytes = f[0].read()
        # Before it, there is no text of the user's.
        return text.replace(b'"endian": "little"', b'"endian": "big"', 1) if is_big else text


def _stored(dataset: h5py.Dataset) -> dict[tuple[int, ...], int]:
    """The chunks that HDF5 stores, by their first item, with the filters that were left out."""
    found: dict[tuple[int, ...], int] = {}
    identity = dataset.id

    def add(chunk: Any) -> None:
        found[tuple(chunk.chunk_offset)] = chunk.filter_mask

    if hasattr(identity, "chunk_iter"):
        identity.chunk_iter(add)
    else:  # with an HDF5 before 1.12.3
        for number in range(identity.get_num_chunks()):
            add(identity.get_chunk_info(number))
    return found


def _expect_few(dataset: h5py.Dataset, has_records: bool) -> None:
    """A bound on what takes time and memory, though the file need not have it."""
    if has_records and dataset.shape[0] > _MOST_CHUNKS:
        raise ValueError(f"found {dataset.shape[0]} records, expected at most {_MOST_CHUNKS}")
    count = 1
    for n, c in zip(dataset.shape, dataset.chunks or ()):
        count *= -(-n // c)
    if count > _MOST_CHUNKS:
        what = "h5repack makes larger ones of them"
        raise ValueError(f"found room for {count} chunks, expected at most {_MOST_CHUNKS}; {what}")


class _Chunks:
    """The chunks of a dataset as they are in HDF5, each checked."""

    def __init__(self, dataset: h5py.Dataset, filters: Filters, item_bytes: int, fill: bytes) -> None:
        self._dataset = dataset
        self._filters = filters
        self._item_bytes = item_bytes
        self._stored = _stored(dataset)
        self._fill = self._shuffled(fill)

    def read(self, origin: tuple[int, ...]) -> bytes:
        """The bytes of a chunk; none if all its items have the fill value."""
        mask = self._stored.get(origin)
        if mask is None:
            return b""
        data = bytes(self._dataset.id.read_direct_chunk(origin)[1])
        last = 1 if self._filters.shuffle else 0
        is_compressed = not mask >> last & 1
        raw = self._decompressed(data, origin) if is_compressed else data
        if len(raw) != len(self._fill):
            raise Invalid(f"chunk at {origin}: found {len(raw)} bytes, expected {len(self._fill)}")
        if last and mask & 1:
            raw = self._shuffled(raw)
            is_compressed = False
        if raw == self._fill:
            return b""
        return data if is_compressed else zlib.compress(raw, 2 if self._filters.level is None else self._filters.level)

    def _decompressed(self, data: bytes, origin: tuple[int, ...]) -> bytes:
        stream = zlib.decompressobj()
        try:
            raw = stream.decompress(data, len(self._fill) + 1)
        except zlib.error as error:
            raise Invalid(f"chunk at {origin}: {error}") from None
        if not stream.eof or stream.unused_data:
            raise Invalid(f"chunk at {origin}: found no zlib stream of {len(self._fill)} bytes")
        return raw

    def _shuffled(self, raw: bytes) -> bytes:
        if not self._filters.shuffle:
            return raw
        return np.frombuffer(raw, np.uint8).reshape(-1, self._item_bytes).T.tobytes()


def _fill_value(dataset: h5py.Dataset, dtype: np.dtype[Any]) -> Any:
    fill = dataset.fillvalue
    if dtype.kind == "V":
        return np.asarray(fill, dtype).tobytes() if fill is not None else bytes(dtype.itemsize)
    return None if fill is None else np.asarray(fill).astype(native(dtype))[()]


class _Spool:
    """Memory for the data of a dataset; where they are many, a temporary file that is mapped."""

    def __init__(self, folder: str, size: int) -> None:
        self._file = tempfile.TemporaryFile(prefix=".scda-", dir=folder) if size > _MOST_HELD else None
        self._held = bytearray()

    def __enter__(self) -> _Spool:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, data: bytes) -> None:
        """Data behind those that are there."""
        if self._file is None:
            self._held += data
        else:
            self._file.write(data)

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """All of it, or room for an array."""
        size = dtype.itemsize * int(np.prod(shape, dtype=object))
        if size == 0 or self._file is None and not self._held:  # numpy before 2.2 maps no file without bytes
            return np.empty(shape, dtype)
        if self._file is None:
            return np.frombuffer(self._held, dtype).reshape(shape)
        self._file.flush()
        self._file.truncate(size)
        return np.memmap(self._file, dtype, "r+", 0, shape)
