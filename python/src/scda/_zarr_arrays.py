"""The datasets of a file as arrays of Zarr v3: their metadata and their chunks."""

from __future__ import annotations

import base64
import json
import math
import struct
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Optional

import numpy as np

from ._attributes import MISSING, as_item
from ._dataset import Dataset
from ._variables import Array, levels, without_mark

if TYPE_CHECKING:
    from ._file import File

# Data in one piece are shown as chunks of about this number of bytes.
CHUNK_BYTES = 16 << 20


class ZarrArray:
    """An array as Zarr has it. Its first dimension counts the records, if it has several."""

    def __init__(self, path: str, array: Array) -> None:
        variable, self.datasets = array.variable, array.datasets
        self.path = path
        first = self.datasets[0]
        self.metadata = raw_metadata(first)
        chunks: list[int] = self.metadata["chunk_grid"]["configuration"]["chunk_shape"]
        self.rows: Optional[int] = None
        self._is_joined = any(dataset.added_rows for dataset in self.datasets)
        if self._is_joined:
            self.metadata["codecs"] = _codecs(first)
            chunks = [max(1, n) for n in first.shape]
            chunks[0] = max(1, CHUNK_BYTES // max(1, first.dtype.itemsize * math.prod(chunks[1:])))
        elif is_contiguous(first):
            self.rows = _rows_of_chunk(first)
            if self.rows is not None:
                chunks = [self.rows, *chunks[1:]]
        shape = list(first.shape)
        self._grid = [-(-n // c) for n, c in zip(shape, chunks)]
        self._chunks = chunks
        if first.dtype.kind == "V" and first.dtype.names is None:
            # As zarr-python has them: it does not know "r24".
            size, fill = first.dtype.itemsize, bytes(first.fill_value)
            self.metadata["data_type"] = {"name": "raw_bytes", "configuration": {"length_bytes": size}}
            self.metadata["fill_value"] = base64.b64encode(fill).decode()
        self.metadata["attributes"] = zarr_attributes(without_mark(variable.attrs), first.dtype)
        if variable.has_records:
            shape, chunks = [len(self.datasets), *shape], [1, *chunks]
        self.has_records = variable.has_records
        self.metadata["shape"] = shape
        self.metadata["chunk_grid"]["configuration"]["chunk_shape"] = chunks
        if variable.dims:
            self.metadata["dimension_names"] = list(variable.dims)

    @property
    def key(self) -> str:
        """That of its metadata."""
        return f"{self.path}/zarr.json"

    @property
    def count(self) -> int:
        """The number of chunks of a record."""
        return int(np.prod(self._grid, dtype=object)) if self._grid else 1

    def _chunk_key(self, record: int, number: int) -> str:
        indices = [] if not self._grid else [int(i) for i in np.unravel_index(number, self._grid)]
        indices = [record, *indices] if self.has_records else indices
        return "/".join([self.path, "c", *map(str, indices)])

    def find(self, indices: list[int]) -> Optional[tuple[int, int]]:
        """Record and number of the chunk with these indices in the grid; None if there is no such chunk."""
        record = 0
        if self.has_records:
            if not indices or not 0 <= indices[0] < len(self.datasets):
                return None
            record, *indices = indices
        if len(indices) != len(self._grid) or not all(0 <= i < n for i, n in zip(indices, self._grid)):
            return None
        number = 0
        for i, n in zip(indices, self._grid):
            number = number * n + i
        return record, number

    def read(self, record: int, number: int) -> Optional[bytes]:
        """The bytes of a chunk; None if it has none, because all its items have the fill value."""
        dataset = self.datasets[record]
        if self._is_joined:
            return self._items(dataset, number)
        section = dataset.section
        if self.rows is not None:
            data: bytes = section[number * self.rows : (number + 1) * self.rows]
            return data + bytes(self.rows * section.size - len(data))
        if is_contiguous(dataset):
            return section.read()
        return section[number] or None

    def _items(self, dataset: Dataset, number: int) -> bytes:
        """A chunk of whole rows, of a dataset with rows in several sections."""
        rows = self._chunks[0]
        items = np.asarray(dataset[number * rows : (number + 1) * rows])
        padding = (rows - len(items)) * math.prod(items.shape[1:])
        if items.dtype.hasobject:
            texts = [text.encode() if isinstance(text, str) else bytes(text) for text in items.reshape(-1)]
            texts += [b""] * padding
            return b"".join([struct.pack("<I", len(texts)), *(struct.pack("<I", len(text)) + text for text in texts)])
        data = items.astype(items.dtype.newbyteorder("<"), copy=False).tobytes()
        return data + bytes(padding * items.dtype.itemsize)

    def size(self, record: int, number: int) -> int:
        """The number of bytes of a chunk, 0 if it has none."""
        if self._is_joined:
            dataset = self.datasets[record]
            if dataset.dtype.hasobject:
                return len(self._items(dataset, number))
            return dataset.dtype.itemsize * self._chunks[0] * math.prod(dataset.shape[1:])
        section = self.datasets[record].section
        if self.rows is not None:
            return self.rows * section.size
        if is_contiguous(self.datasets[record]):
            return section.nbytes
        return section.size if section.kind == "array" else int(section._sizes(number, number + 1)[0])

    def stored_keys(self) -> Iterator[str]:
        """The keys of the chunks that have bytes."""
        for record, dataset in enumerate(self.datasets):
            section = dataset.section
            sizes = section.sizes() if section.kind == "varray" and not self._is_joined else None
            for number in range(self.count):
                if sizes is None or sizes[number]:
                    yield self._chunk_key(record, number)


def arrays_and_groups(file: File, without: Iterable[str]) -> tuple[list[ZarrArray], dict[str, dict[str, Any]]]:
    """All arrays of a file, and the metadata of its groups by their path (`""`: the file)."""
    arrays, groups = [], {}
    for level in levels(file, _likeness, without):
        path = "" if level.path == "/" else level.path
        groups[path] = {"zarr_format": 3, "node_type": "group", "attributes": level.attrs}
        arrays += [ZarrArray(level.path_of(array.variable.name), array) for array in level.arrays]
    # As zarr.consolidate_metadata writes it: the whole hierarchy by one read.
    everything = {path: metadata for path, metadata in groups.items() if path}
    everything.update((array.path, array.metadata) for array in arrays)
    consolidated = {"kind": "inline", "must_understand": False, "metadata": everything}
    groups[""] = {**groups[""], "consolidated_metadata": consolidated}
    return arrays, groups


def _codecs(dataset: Dataset) -> list[dict[str, Any]]:
    """Those of plain items."""
    if dataset.dtype.hasobject:
        return [{"name": "vlen-utf8" if dataset._description.type == "string" else "vlen-bytes"}]
    return [{"name": "bytes", "configuration": {"endian": "little"}}]


def is_contiguous(dataset: Dataset) -> bool:
    return dataset._description.layout == "contiguous"


def raw_metadata(dataset: Dataset) -> dict[str, Any]:
    """The metadata as the file has them."""
    with dataset._file._reading() as core:
        metadata: dict[str, Any] = json.loads(core.read_block(*dataset._handle.metadata))
    return metadata


def zarr_attributes(attrs: dict[str, Any], dtype: np.dtype[Any]) -> dict[str, Any]:
    """The attributes as xarray writes them into Zarr arrays: numbers for missing values are of the type of the data, a
    `_FillValue` of floating-point data in base64, also one that is too large for their type."""
    if dtype.kind not in "iuf":
        return attrs
    found = {name: as_item(attrs.get(name), dtype) for name in MISSING}
    wide = np.float64 if dtype.kind == "f" else dtype
    numbers = {name: item.astype(wide).tolist() for name, item in found.items() if item is not None}
    fill = numbers.get("_FillValue", attrs.get("_FillValue"))
    if dtype.kind == "f" and isinstance(fill, (int, float)) and not isinstance(fill, bool):
        numbers["_FillValue"] = base64.b64encode(struct.pack("<d", fill)).decode()
    missing = numbers.get("missing_value")
    if missing is not None and not np.isfinite(missing).all():  # JSON has them not
        del numbers["missing_value"]
    return {**attrs, **numbers}


def _likeness(dataset: Dataset) -> Any:
    """What is the same in records that are one array of Zarr."""
    metadata = raw_metadata(dataset)
    stored = [metadata[key] for key in ("data_type", "chunk_grid", "codecs", "fill_value")]
    return dataset.shape, dataset._description.layout, json.dumps(stored, sort_keys=True)


def _rows_of_chunk(dataset: Dataset) -> Optional[int]:
    """How many rows of contiguous data are one chunk; None: it is one chunk.

    The last chunk reaches after the data, where the file has other bytes, which readers of Zarr leave out. So as few as
    possible of them.
    """
    section = dataset.section
    rows, total = section.count, section.nbytes
    if not dataset.shape or total <= CHUNK_BYTES or rows < 2:
        return None
    most = max(1, CHUNK_BYTES // section.size)
    found = min(range(most, max(0, most // 2 - 1), -1), key=lambda n: -rows % n)
    return found
