"""Metadata of datasets: what zarr-python has written, what is unknown or wrong, and the entries of a file."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda
from arrays import names, part, random_key, same
from conftest import VECTORS

STORE = VECTORS / "zarr" / "store.zarr"
STORED = [
    str(path.parent.relative_to(STORE)) for path in sorted(STORE.rglob("zarr.json")) if (path.parent / "c").exists()
]


def test_what_only_looks_like_a_dataset(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f") as w:
        w.block("scda dataset 00", b'{"zarr_format": 3, "node_type": "array"}')
        w.array("damaged", np.zeros(3))
        w.array("plain", np.zeros(3))
        w.block("no group/", b"{}")
        w.dataset("good", 7)
        w.block("scda dataset 00", b"{}")
        w.block("/", b"{}")
    with scda.open(tmp_path / "f") as f:
        with pytest.raises(scda.FormatError, match="shape") as error:
            f["damaged"]
        assert error.value.offset is not None
        with pytest.raises(scda.FormatError, match="no metadata precede it"):
            f.records("plain")[0]
        with pytest.raises(scda.FormatError, match="is not a group"):
            scda.Group(f, "no group").attrs
        with pytest.raises(scda.FormatError, match="is not a group"):
            f.attrs
        no_text: Any = b"good"
        for look in (lambda: f.records(no_text), lambda: f["/"].records(no_text)):
            with pytest.raises(TypeError, match="expected a str"):
                look()
        assert names(f) == ["damaged", "good"]
        # The others can be read.
        assert f["good"][()] == 7 and isinstance(f["plain"], scda.Section) and "damaged" in str(f)


def test_codecs_that_are_unknown(tmp_path: Path) -> None:
    metadata = json.loads((STORE / "plain" / "zarr.json").read_text())
    metadata["codecs"].append({"name": "crc64"})
    with scda.create(tmp_path / "f") as w:
        w.block("scda dataset 00", json.dumps(metadata).encode())
        w.varray("a", stored_chunks("plain", metadata))
    with scda.open(tmp_path / "f") as f:
        assert list(f["a"].shape) == metadata["shape"]
        with pytest.raises(scda.UnsupportedError, match="crc64"):
            f["a"][...]
        assert list(f["a"].shape) == metadata["shape"]


def stored_chunks(name: str, metadata: dict[str, Any]) -> list[bytes]:
    """The chunks of an array that zarr-python wrote: no bytes where it has no file."""
    shape, chunk = metadata["shape"], metadata["chunk_grid"]["configuration"]["chunk_shape"]
    grid = [-(-n // c) for n, c in zip(shape, chunk)]
    files = [STORE.joinpath(name, "c", *map(str, index)) for index in np.ndindex(*grid)]
    return [file.read_bytes() if file.exists() else b"" for file in files]


def decoded(stored: bytes, metadata: dict[str, Any], fill: Any) -> Any:
    """A chunk, by numpy and zlib alone: of the type of the metadata, in the byte order of the file."""
    codecs = {codec["name"]: codec.get("configuration", {}) for codec in metadata["codecs"]}
    chunk = metadata["chunk_grid"]["configuration"]["chunk_shape"]
    item = np.dtype(metadata["data_type"])
    item = item.newbyteorder({"little": "<", "big": ">"}[codecs["bytes"].get("endian", "little")])
    if not stored:
        return np.full(chunk, fill, item)
    data = zlib.decompress(stored) if "numcodecs.zlib" in codecs else stored
    if "numcodecs.shuffle" in codecs:
        size = codecs["numcodecs.shuffle"]["elementsize"]
        data = np.frombuffer(data, np.uint8).reshape(size, -1).T.tobytes()
    return np.frombuffer(data, item).reshape(chunk)


def fill_of(metadata: dict[str, Any]) -> Any:
    fill = metadata["fill_value"]
    return complex(*(float(part) for part in fill)) if isinstance(fill, list) else fill


def whole(chunks: list[Any], metadata: dict[str, Any]) -> Any:
    """The array of chunks."""
    shape, chunk = metadata["shape"], metadata["chunk_grid"]["configuration"]["chunk_shape"]
    grid = [-(-n // c) for n, c in zip(shape, chunk)]
    array: Any = np.empty([n * c for n, c in zip(grid, chunk)], chunks[0].dtype)
    for index, data in zip(np.ndindex(*grid), chunks):
        array[tuple(slice(i * c, i * c + c) for i, c in zip(index, chunk))] = data
    return array[(*(slice(n) for n in shape), ...)]


@pytest.mark.parametrize("name", STORED)
def test_what_zarr_python_wrote_is_read(name: str, tmp_path: Path) -> None:
    text = (STORE / name / "zarr.json").read_bytes()
    metadata = json.loads(text)
    chunks = stored_chunks(name, metadata)
    with scda.create(tmp_path / "f") as w:
        w.block("scda dataset 00", text)
        w.varray(name, chunks)
    expected = whole([decoded(chunk, metadata, fill_of(metadata)) for chunk in chunks], metadata)
    with scda.open(tmp_path / "f") as f:
        d = f[name]
        same(d[...], expected)
        assert d.attrs == metadata["attributes"]
        assert list(d.chunks or ()) == metadata["chunk_grid"]["configuration"]["chunk_shape"]
        generator = np.random.default_rng(1)
        for _ in range(20):
            key = random_key(generator, expected.shape)
            same(d[key], expected[key])


@pytest.mark.parametrize(
    "name", [name for name in STORED if "numcodecs.zlib" in (STORE / name / "zarr.json").read_text()]
)
def test_what_is_written_is_what_zarr_python_writes(name: str, tmp_path: Path) -> None:
    """The metadata as JSON, and each chunk after decoding."""
    metadata = json.loads((STORE / name / "zarr.json").read_text())
    chunks = stored_chunks(name, metadata)
    fill = fill_of(metadata)
    expected = [decoded(chunk, metadata, fill) for chunk in chunks]
    codecs = {codec["name"]: codec.get("configuration", {}) for codec in metadata["codecs"]}
    with scda.create(tmp_path / "f") as w:
        w.dataset(
            name,
            whole(expected, metadata),
            chunks=metadata["chunk_grid"]["configuration"]["chunk_shape"],
            codec="zlib",
            level=codecs["numcodecs.zlib"]["level"],
            shuffle="numcodecs.shuffle" in codecs,
            fill_value=fill,
            attrs=metadata["attributes"],
            dims=metadata.get("dimension_names"),
        )
    with scda.open(tmp_path / "f") as f:
        written = json.loads(f["scda dataset 00"].read())
        assert metadata.pop("storage_transformers", []) == []
        found = list(f.sections[1])
        assert [len(chunk) == 0 for chunk in found] == [len(chunk) == 0 for chunk in chunks]
        for chunk, values in zip(found, expected):
            assert np.array_equal(decoded(chunk, written, fill), values)
        # Items of one byte are not shuffled, and all that is written is little-endian.
        metadata["codecs"] = [c for c in metadata["codecs"] if c.get("configuration", {}).get("elementsize") != 1]
        if "endian" in codecs["bytes"]:
            codecs["bytes"]["endian"] = "little"
        # What is the default is left out.
        assert metadata.pop("chunk_key_encoding")["name"] == "default"
        if not metadata["attributes"]:
            del metadata["attributes"]
        assert written == metadata


def test_the_example_lists_what_surrounds_wrong_metadata(tmp_path):
    path = tmp_path / "strangers.scda"
    with scda.create(path) as w:
        w.dataset("a", np.arange(6.0).reshape(2, 3))
        w.block("scda dataset 00", b'{"zarr_format": 3, "shape": [4, ')
        w.array("broken", np.arange(4, dtype="i4"))
        w.dataset("flow/c", np.arange(1, 5, dtype="i4"))
        for time in 0.25, 0.5:
            w.dataset("time", time)
    program = Path(__file__).parents[1] / "examples/datasets.py"
    found = subprocess.run(
        [sys.executable, str(program), str(path), "flow/c", "a", "time"], check=True, capture_output=True, text=True, timeout=60
    )
    broken = [line for line in found.stdout.splitlines() if line.startswith("broken")]
    assert len(broken) == 1 and broken[0].startswith("broken: cannot be read: "), found.stdout
    assert [line for line in found.stdout.splitlines() if line not in broken] == [
        "a, record 0 of 1: float64 (2, 3)",
        "flow/c, record 0 of 1: int32 (4,)",
        "time, record 0 of 2: float64 ()",
        "time, record 1 of 2: float64 ()",
        "flow/c: sum 10.0",
        "a: sum 15.0",
        "time: sum 0.5",
    ]


@pytest.mark.parametrize("seal", [True, False])
def test_entries(seal: bool, tmp_path: Path) -> None:
    """What is in a file as its users see it; what was added later is a part of its dataset."""
    path = tmp_path / "f.scda"
    with scda.create(path, seal=seal) as w:
        w.group("flow", {"a": 1})
        for step in range(2):
            w.dataset("flow/rho", np.full((2, 3), step, "f4"), chunks=(1, 3))
        w.dataset("n" * 70, [1, 2])
        w.block("notes", b"calm")
        w.inline("step", b"%-31d\n" % 7)
        with w.streams("log") as log:
            log.write(b"a line")
    if seal:
        with scda.append(path) as w:
            w.dataset("flow/rho", np.full((1, 3), 9, "f4"), extends=True)
            w["flow/"].attrs["b"] = 2
    with scda.open(path) as f:
        found = list(f.entries())
        kinds = [(e.kind, e.name, e.record, e.records) for e in found if e.kind != "group"]
        rho = [("dataset", "flow/rho", 0, 2), ("dataset", "flow/rho", 1, 2)]
        assert kinds == [*rho, ("dataset", "n" * 70, 0, 1), ("section", "notes", 0, 1), ("section", "step", 0, 1), ("streams", "log", 0, 1)]
        groups = [e for e in found if e.kind == "group"]
        assert len(groups) == 1 and groups[0].content.attrs == ({"a": 1, "b": 2} if seal else {"a": 1})
        last = [e.content for e in found if e.name == "flow/rho"][1]
        assert last.shape == ((3, 3) if seal else (2, 3)) and last[-1, 0] == (9 if seal else 1)
        (streams,) = [e.content for e in found if e.kind == "streams"]
        assert streams[0].read() == b"a line"
        # Each entry can be read while the others are found.
        assert [e.content[0, 0] for e in f.entries() if e.name == "flow/rho"] == [0, 1]
        with scda.open(path, decode=False) as raw, pytest.raises(ValueError, match="decode=False"):
            next(raw.entries())


def test_an_entry_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    with scda.create(path) as w:
        w.block("scda dataset 00", b"{}")
        w.array("broken", np.zeros(3))
        w.dataset("good", [1, 2])
    with scda.open(path) as f:
        bad, good = f.entries()
        assert (bad.kind, bad.name) == ("unknown", "broken") and isinstance(bad.content, scda.FormatError)
        assert (good.kind, good.name, good.content[1]) == ("dataset", "good", 2)
        assert list(f) == ["broken", "good"]
