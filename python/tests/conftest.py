"""What the tests share."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import scda

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "tests" / "vectors"
SECONDS = 180


class Wanted:
    """A section as a manifest describes it."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self.kind = {"I": "inline", "B": "block", "A": "array", "V": "varray"}[entry["type"]]
        self.user = bytes.fromhex(entry["user_hex"])
        self.encoded = bool(entry.get("encoded"))
        self.size = entry.get("E", 0)
        self.elements = [bytes.fromhex(text) for text in entry.get("elements_hex", [])]
        self.data = bytes.fromhex(entry["data_hex"]) if "data_hex" in entry else b"".join(self.elements)

    def write(self, w: scda.Writer) -> None:
        if self.kind == "inline":
            w.inline(self.user, self.data)
        elif self.kind == "block":
            w.block(self.user, self.data, encode=self.encoded)
        elif self.kind == "array" and self.size == 0:
            w.array(self.user, _empty_elements(len(self.elements)), encode=self.encoded)
        elif self.kind == "array":
            w.array(self.user, self.data, size=self.size, encode=self.encoded)
        else:
            w.varray(self.user, self.elements, encode=self.encoded)


def _empty_elements(count: int) -> Any:
    import numpy as np

    return np.empty((count, 0), np.uint8)


def manifest(name: str) -> tuple[bytes, list[Wanted]]:
    """The user string and the sections of a vector."""
    described = json.loads((VECTORS / f"{name}.json").read_text())
    return bytes.fromhex(described["user_hex"]), [Wanted(entry) for entry in described["sections"]]


def hello_text() -> tuple[bytes, bytes]:
    """The file of examples/c/hello.c, as its first comment shows it: the header before the room for HDF5, and the sections up to the seal."""
    comment = (ROOT / "examples/c" / "hello.c").read_text().split("*/")[0]
    shown = comment.split("and one line.\n *\n")[1].split(" *   A scda index")[0]
    header, sections = ["\n".join(re.findall(r"^ \*(?:   (.*))?$", part, re.M)).encode() for part in shown.split(" *   B scda hdf5 00")]
    return header + b"\n", sections.split(b"(room for HDF5, 448 bytes)\n")[1] + b"\n"


def write_hello(path: str | os.PathLike[str]) -> None:
    """The sections of examples/c/hello.c."""
    with scda.create(path, "hello.c: planets") as w:
        w.inline("greeting", b"libscda says hello to the world\n")
        w.block("echo", b" ".join([b"hello"] * 10) + b"\n", encode=True)
        rows = b"Venus       0.723 au   0.615 yr\nEarth       1.000 au   1.000 yr\nMars        1.524 au   1.881 yr\n"
        w.array("semi-major axis, period", rows, size=32)
        w.varray("moons", [b"", b"Moon\n", b"Phobos, Deimos\n"])


def has_mpi() -> bool:
    return importlib.util.find_spec("mpi4py") is not None


def mpiexec() -> str:
    """That of the MPI that mpi4py was built with. Not imported here: it starts MPI."""
    ask = [sys.executable, "-c", "from mpi4py import MPI; print(MPI.get_vendor()[0])"]
    vendor = subprocess.run(ask, capture_output=True, text=True, check=True, timeout=SECONDS).stdout.strip()
    suffix = {"Open MPI": ".openmpi", "MPICH": ".mpich"}.get(vendor, "")
    found = shutil.which("mpiexec" + suffix) or shutil.which("mpiexec")
    assert found, "there is no mpiexec"
    return found


def run_ranks(ranks: int, *program: str) -> str:
    """Runs a Python program, and returns what it printed."""
    environment = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        **os.environ,
    }
    command = [mpiexec(), "-n", str(ranks), sys.executable, *program]
    # Who waits longer has found a hang.
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the file of examples/c/hello.c."""
    monkeypatch.chdir(tmp_path)
    write_hello("hello.scda")
    return tmp_path
