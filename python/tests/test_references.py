"""References for readers of Zarr: stock zarr and fsspec read them, compared with numpy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda
from arrays import random_items, random_layout, random_shape
from conftest import SECONDS

zarr = pytest.importorskip("zarr")
pytest.importorskip("fsspec")

# All of what xarray and zarr have of it, without this package.
PROGRAM = """
import json, sys
import fsspec, numpy as np, zarr
assert "scda" not in sys.modules
options = {"fo": sys.argv[1], "remote_protocol": "file", "remote_options": {"asynchronous": True}, "asynchronous": True}
store = zarr.storage.FsspecStore(fsspec.filesystem("reference", **options), read_only=True, path="")
root = zarr.open_group(store, mode="r")
names = json.loads(sys.argv[3])
np.savez(sys.argv[2], *[np.asarray(root[name][...]) for name in names])
print(json.dumps([dict(root.attrs), dict(root[names[0]].attrs)]))
"""


def read_by_zarr(path: Path, names: list[str]) -> tuple[list[Any], Any]:
    references, arrays = path.with_suffix(".json"), path.with_suffix(".npz")
    references.write_text(json.dumps(scda.references(path)))
    command = [sys.executable, "-c", PROGRAM, str(references), str(arrays), json.dumps(names)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    with np.load(arrays) as read:
        return [read[f"arr_{k}"] for k in range(len(names))], json.loads(done.stdout)


@pytest.mark.parametrize("seed", range(2))
def test_zarr_reads_what_was_written(seed: int, tmp_path: Path) -> None:
    generator = np.random.default_rng(seed)
    arrays = {}
    with scda.create(tmp_path / "f.scda") as w:
        w.group("/", {"title": "a test"})
        for number, dtype in enumerate(["?", "i1", "<i2", "<u8", "<f2", "<f4", ">f8", "<c16"] * 3):
            shape = random_shape(generator, 3)
            layout = {name: value for name, value in random_layout(generator, shape).items() if name != "text"}
            name = f"deep/er/{number}" if number % 2 else f"a{number}"
            items = [random_items(generator, dtype, shape) for _ in range(int(generator.integers(1, 3)))]
            if layout.get("encode") == "auto":
                layout = {}  # records may differ by it
            for item in items:
                w.dataset(name, item, attrs={"number": number}, **layout)
            arrays[name] = items[0] if len(items) == 1 else np.stack(items)
    found, attrs = read_by_zarr(tmp_path / "f.scda", list(arrays))
    for one, array in zip(found, arrays.values()):
        expected = array.astype(array.dtype.newbyteorder("="))
        assert one.shape == expected.shape and one.dtype == expected.dtype and one.tobytes() == expected.tobytes()
    assert attrs == [{"title": "a test"}, {"number": 0}]


def test_what_has_no_references(tmp_path: Path) -> None:
    with scda.create(tmp_path / "text.scda") as w:
        w.dataset("a", np.zeros(100), text=True)
    with pytest.raises(ValueError, match="'a': found data compressed as text"):
        scda.references(tmp_path / "text.scda")
    with scda.create(tmp_path / "records.scda") as w:
        w.dataset("a", np.zeros(100))
        w.dataset("a", np.zeros(100), chunks=10)
    with pytest.raises(ValueError, match="'a': found other chunks or codecs in record 1"):
        scda.references(tmp_path / "records.scda")


def test_a_chunk_of_fill_values_has_none(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("a", [0.0, 0.0, 1.0], chunks=2)
    assert sorted(scda.references(tmp_path / "f.scda")["refs"]) == ["a/c/1", "a/zarr.json", "zarr.json"]
