"""Reading addresses by fsspec: from a server with ranges of bytes."""

from __future__ import annotations

import http.server
import pickle
import re
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

import numpy as np
import pytest
import scda
from test_source import RHO, path, read_everything

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")
xarray = pytest.importorskip("xarray")

__all__ = ["path"]  # a fixture


class Handler(http.server.BaseHTTPRequestHandler):
    """A server that has ranges of bytes."""

    protocol_version = "HTTP/1.1"
    folder: Path
    asked: list[int]
    signed: list[bool]

    def do_HEAD(self) -> None:
        self._answer(False)

    def do_GET(self) -> None:
        self._answer(True)

    def _answer(self, has_body: bool) -> None:
        path = self.folder / self.path.strip("/").removeprefix("bucket/")
        if self.path.startswith("/bucket/"):
            self.signed.append("a key/" in self.headers.get("Authorization", ""))
        data = memoryview(np.memmap(path, "u1", "r")) if path.exists() else b""
        code, start, end = 200 if path.exists() else 404, 0, len(data)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if wanted and path.exists():
            code, start, end = 206, int(wanted[1]), min(int(wanted[2]) + 1, len(data))
        self.send_response(code)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Last-Modified", "Wed, 25 Nov 2026 08:00:00 GMT")
        self.send_header("ETag", '"of the file"')
        self.send_header("Content-Length", str(end - start))
        if code == 206:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
        self.end_headers()
        if has_body:
            self.asked.append(end - start)
            self.wfile.write(data[start:end])

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a file in the folder."""
    Handler.folder, Handler.asked, Handler.signed = folder, [], []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/f.scda"
        server.shutdown()
        thread.join()


@pytest.fixture
def address(path: Path) -> Iterator[str]:
    with served(path.parent) as address:
        yield address


def test_an_address_is_read_by_ranges(address: str, path: Path) -> None:
    with scda.open(address) as f:
        rho = f["flow/rho", -1]
        before = sum(Handler.asked)
        assert rho[20, 20] == 20 * 64 + 20 + 29 and f.path == address
        # Of more than 1.7 MB.
        assert sum(Handler.asked) - before < 200_000 and (not f.sealed or before < 700_000)
        assert max(Handler.asked) < 600_000 and len(Handler.asked) < 10
        read_everything(f)
    with scda.open(fsspec.open(address)) as f, scda.open(fsspec.open(str(path))) as own:
        assert f["time", 4][()] == own["time", 4][()] == 4.0
    with pytest.raises(FileNotFoundError):
        scda.open(f"{address}.none")


def test_xarray_opens_an_address(address: str) -> None:
    with xarray.open_dataset(address, engine="scda", group="flow", chunks={}) as ds:
        assert np.array_equal(ds.rho[-1].values, RHO + 29)
    with xarray.open_datatree(address, engine="scda") as tree:
        assert tree["time"].shape == (30,) and tree["flow/rho"].shape == (30, 64, 64)


def test_scattered_parts_take_few_requests(tmp_path: Path) -> None:
    data = np.arange(2_000_000.0).reshape(4000, 500)
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("plain", data)
        for number in range(500):
            w.dataset(f"small/{number}", np.full(100, number), attrs={"number": number})
    with served(tmp_path) as address, scda.open(address) as f:
        asked = Handler.asked
        for part, most in ((np.s_[:, 7], 20), (np.s_[::10, ::10], 20), (np.s_[17], 3), (np.s_[5:20, 3], 3)):
            asked.clear()
            assert np.array_equal(f["plain"][part], data[part]) and len(asked) <= most, (part, asked)
        asked.clear()
        assert [each[0] for each in f["small"].values()] == list(range(500)) and len(asked) < 15
        asked.clear()
        for row in (3999, 0, 2000):  # what does not follow is read alone
            assert f["plain"][row, 0] == data[row, 0]
        assert sum(asked) < 400_000


def test_s3(path: Path) -> None:
    """A server that answers as S3 does, by its library."""
    pytest.importorskip("s3fs")
    with served(path.parent) as address:
        endpoint = address.rpartition("/")[0]
        options = {"key": "a key", "secret": "a secret", "endpoint_url": endpoint, "client_kwargs": {"region_name": "here"}}
        more: dict[str, Any] = {"storage_options": {**options, "skip_instance_cache": True}}
        with scda.open("s3://bucket/f.scda", **more) as f:
            read_everything(f)
        with pytest.raises(FileNotFoundError):
            scda.open("s3://bucket/none.scda", **more)
        with xarray.open_dataset("s3://bucket/f.scda", engine="scda", group="flow", **more) as ds:
            assert np.array_equal(ds.rho[-1, 3:5].values, RHO[3:5] + 29)
            assert np.array_equal(pickle.loads(pickle.dumps(ds)).rho[2].values, RHO + 2)
        with xarray.open_datatree("s3://bucket/f.scda", engine="scda", **more) as tree:
            assert tree["flow/rho"].shape == (30, 64, 64)
        with xarray.open_mfdataset(["s3://bucket/f.scda"], engine="scda", **more) as ds:
            assert ds.time.values.tolist() == list(range(30))
        assert Handler.signed and all(Handler.signed)


def test_a_store_of_fsspec_in_memory(path: Path) -> None:
    with fsspec.open("memory://test_source.scda", "wb") as out:
        out.write(path.read_bytes())
    with scda.open("memory://test_source.scda", storage_options={"skip_instance_cache": True}) as f:
        read_everything(f)
