"""Where in a file the chunks of its datasets are, for readers of Zarr."""

from __future__ import annotations

import itertools
import json
import os
from typing import Any, Iterator

from ._common import Path
from ._dataset import Dataset
from ._file import File, open
from ._variables import Variable, variables


def references(path: Path) -> dict[str, Any]:
    """The datasets of a file as a Zarr v3 store, in the form of kerchunk: the metadata, and of each chunk its bytes in
    the file. Readers of Zarr read it by ``ReferenceFileSystem`` of fsspec, without this package. Nothing is copied, and
    the references hold as long as the file is not written again.

    Names, dimensions and records are those of the engine ``scda`` of xarray.

    Returns:
        What ``json.dump`` writes: ``{"version": 1, "refs": {...}}``, with the absolute path of the file.

    Raises:
        ValueError: for data that are compressed as text, which Zarr has no codec for; for records that differ.

    >>> with scda.create("chunks.scda") as w:
    ...     w.dataset("rho", np.arange(6.0), chunks=4)
    >>> sorted(scda.references("chunks.scda")["refs"])
    ['rho/c/0', 'rho/c/1', 'rho/zarr.json', 'zarr.json']
    """
    refs: dict[str, Any] = {}
    with open(path) as file:
        made = variables(file.group("/"))
        groups = {""}
        for variable in made:
            parts = variable.name.split("/")
            groups.update("/".join(parts[:depth]) for depth in range(1, len(parts)))
        for group in sorted(groups):
            metadata = {"zarr_format": 3, "node_type": "group", "attributes": file.group(group or "/").attrs}
            refs[f"{group}/zarr.json".lstrip("/")] = json.dumps(metadata)
        for variable in made:
            refs.update(_of_variable(file, os.path.abspath(os.fsdecode(path)), variable))
    return {"version": 1, "refs": refs}


def _of_variable(file: File, path: str, variable: Variable) -> Iterator[tuple[str, Any]]:
    metadata = _metadata(file, variable.dataset)
    codecs, inner = metadata["codecs"], list(metadata["chunk_grid"]["configuration"]["chunk_shape"])
    grid = [range(-(-n // chunk)) for n, chunk in zip(variable.dataset.shape, inner)]
    metadata["shape"] = variable.shape
    metadata["chunk_grid"]["configuration"]["chunk_shape"] = [1, *inner] if variable.has_records else inner
    metadata["chunk_key_encoding"] = {"name": "default", "configuration": {"separator": "/"}}
    metadata["attributes"] = variable.attrs
    metadata["dimension_names"] = variable.dims
    yield f"{variable.name}/zarr.json", json.dumps(metadata)
    for number in variable.records:
        dataset = file[variable.name.encode(), number]
        own = _metadata(file, dataset)
        if (own["codecs"], own["chunk_grid"]["configuration"]["chunk_shape"]) != (codecs, inner):
            raise ValueError(
                f"{path}: records of {variable.name!r}: found other chunks or codecs in record {number} than in record "
                "0, expected the same in all"
            )
        section = dataset.section
        if section.compressed:
            raise ValueError(
                f"{path}: dataset {variable.name!r}: found data compressed as text, for which Zarr has no codec, "
                "expected plain data or binary chunks"
            )
        if section.kind == "varray":
            sizes = section.sizes().tolist()
        else:
            sizes = [section.nbytes] if dataset.chunks is None else [section.size] * section.count
        offset = section.data_offset
        for index, size in zip(itertools.product(*grid), sizes):
            if size:  # otherwise it has the fill value
                key = ("c", number, *index) if variable.has_records else ("c", *index)
                yield f"{variable.name}/{'/'.join(map(str, key))}", [path, offset, size]
            offset += size


def _metadata(file: File, dataset: Dataset) -> dict[str, Any]:
    """Those in the file, which are those of Zarr."""
    metadata: dict[str, Any] = json.loads(file[dataset.section.index - 1].read())
    return metadata
