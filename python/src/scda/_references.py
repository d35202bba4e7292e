"""References by which Zarr readers read a file."""

from __future__ import annotations

import base64
import json
import os
from typing import Any, Iterable, Optional

from ._common import Path
from ._file import open
from ._zarr_arrays import ZarrArray, arrays_and_groups


def references(path: Path, *, url: Optional[str] = None, without: Iterable[str] = ()) -> dict[str, Any]:
    """What kerchunk's tools write: where in the file the chunks of its datasets are. With the reference file system of
    fsspec, it is a Zarr store, which zarr and xarray read without this package.

    Args:
        path: the file.
        url: where readers will find it; None: its absolute path.
        without: patterns of names to leave out.

    Returns:
        What :func:`json.dump` writes to a file.

    Raises:
        ValueError: a dataset has no bytes that readers of Zarr decompress: its chunks are text, or its section is
            compressed.

    >>> with scda.create("flow.scda") as w:
    ...     w.dataset("rho", np.zeros((4, 6)), dims=("y", "x"))
    >>> sorted(scda.references("flow.scda")["refs"])
    ['rho/c/0/0', 'rho/zarr.json', 'zarr.json']
    """
    with open(path) as file:
        where = os.path.abspath(file.path) if url is None else url
        end = os.stat(file.path).st_size
        arrays, groups = arrays_and_groups(file, without)
        refs: dict[str, Any] = {}
        for name, metadata in groups.items():
            refs[f"{name}/zarr.json" if name else "zarr.json"] = _text(metadata)
        for array in arrays:
            refs[array.key] = _text(array.metadata)
            refs.update(_chunks(array, where, end))
    return {"version": 1, "refs": refs}


def _chunks(array: ZarrArray, where: str, end: int) -> dict[str, Any]:
    places = [array.places(record) for record in range(len(array.datasets))]
    chunks: dict[str, Any] = {}
    for key, record, number in array.keys():
        place = places[record][number]
        if place.offset + place.size > end:
            data = array.read(record, number)
            assert data is not None
            chunks[key] = "base64:" + base64.b64encode(data).decode()
        elif place.size:
            chunks[key] = [where, *place]
    return chunks


def _text(metadata: dict[str, Any]) -> str:
    return json.dumps(metadata, ensure_ascii=False)
