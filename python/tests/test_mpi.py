"""Several ranks: mpi_program.py, run by the MPI of mpi4py."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("mpi_program.py")
SECONDS = 60

if importlib.util.find_spec("mpi4py") is None:
    pytest.skip("mpi4py is not installed", allow_module_level=True)


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


def run(ranks: int, task: str, folder: Path) -> None:
    output = run_ranks(ranks, str(PROGRAM), task, str(folder))
    finished = sorted(int(rank) for rank in re.findall(rf"rank (\d+) of {ranks} is done", output))
    assert finished == list(range(ranks)), output


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    run(1, "write", folder)
    return folder


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    shutil.copy(written / "serial.scda", tmp_path)
    return tmp_path


@pytest.mark.parametrize("ranks", [2, 3])
def test_the_file_is_the_same_for_any_number_of_ranks(ranks: int, tmp_path: Path, written: Path) -> None:
    run(ranks, "write", tmp_path)
    assert (tmp_path / "parallel.scda").read_bytes() == (written / "parallel.scda").read_bytes()


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_file_is_read_on_any_number_of_ranks(ranks: int, tmp_path: Path) -> None:
    run(3, "write", tmp_path)
    run(ranks, "read", tmp_path)


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_mistake_of_one_rank_is_an_error_of_all(ranks: int, folder: Path) -> None:
    run(ranks, "argument_errors", folder)


@pytest.mark.parametrize("ranks", [2, 3])
def test_an_exception_of_the_communicator_is_an_error_of_all(ranks: int, folder: Path) -> None:
    run(ranks, "communicator_errors", folder)


def test_damage_is_the_same_error_on_all_ranks(folder: Path) -> None:
    run(3, "damaged", folder)


def test_file_systems_that_nodes_see_differently_are_refused(folder: Path) -> None:
    run(2, "incoherent", folder)


def test_other_communicators(folder: Path) -> None:
    run(3, "other_communicators", folder)
