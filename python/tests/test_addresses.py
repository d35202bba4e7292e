"""Reading addresses by fsspec: from a server with ranges of bytes."""

from __future__ import annotations

import http.server
import re
import threading
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

    def do_HEAD(self) -> None:
        self._answer(False)

    def do_GET(self) -> None:
        self._answer(True)

    def _answer(self, has_body: bool) -> None:
        path = self.folder / self.path.strip("/")
        data = path.read_bytes() if path.exists() else b""
        code, start, end = 200 if path.exists() else 404, 0, len(data)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if wanted and path.exists():
            code, start, end = 206, int(wanted[1]), min(int(wanted[2]) + 1, len(data))
        self.send_response(code)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(end - start))
        if code == 206:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
        self.end_headers()
        if has_body:
            self.asked.append(end - start)
            self.wfile.write(data[start:end])

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def address(path: Path) -> Iterator[str]:
    Handler.folder, Handler.asked = path.parent, []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/f.scda"
        server.shutdown()
        thread.join()


def test_an_address_is_read_by_ranges(address: str, path: Path) -> None:
    with scda.open(address) as f:
        rho = f["flow/rho", -1]
        before = sum(Handler.asked)
        assert rho[20, 20] == 20 * 64 + 20 + 29 and f.path == address
        # Of more than 1.7 MB.
        assert sum(Handler.asked) - before < 200_000 and (not f.sealed or before < 700_000)
        assert max(Handler.asked) < 400_000 and len(Handler.asked) < 100
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


def test_a_store_of_fsspec_in_memory(path: Path) -> None:
    with fsspec.open("memory://test_source.scda", "wb") as out:
        out.write(path.read_bytes())
    with scda.open("memory://test_source.scda", storage_options={"skip_instance_cache": True}) as f:
        read_everything(f)
