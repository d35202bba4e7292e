"""Several ranks: mpi_program.py, run by the MPI of mpi4py."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from conftest import has_mpi, run_ranks

PROGRAM = Path(__file__).with_name("mpi_program.py")

pytestmark = pytest.mark.skipif(not has_mpi(), reason="mpi4py is not installed")


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


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_each_rank_reads_ranges_of_its_own(ranks: int, tmp_path: Path) -> None:
    run(2, "write", tmp_path)
    run(ranks, "ranges", tmp_path)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_what_ranks_append_is_what_one_process_appends(ranks: int, tmp_path: Path) -> None:
    run(ranks, "append", tmp_path)


def test_a_file_has_one_communicator_which_no_rank_frees_alone(tmp_path: Path) -> None:
    run(2, "communicators", tmp_path)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_ranks_verify_a_file_together(ranks: int, folder: Path) -> None:
    run(ranks, "verify", folder)


@pytest.mark.parametrize("ranks", [2, 4])
def test_datasets_of_any_boxes_on_any_ranks(ranks: int, tmp_path: Path) -> None:
    run(ranks, "datasets", tmp_path)


@pytest.mark.parametrize("ranks", [1, 3])
def test_each_rank_writes_and_reads_streams_by_itself(ranks: int, tmp_path: Path) -> None:
    run(ranks, "streams", tmp_path)


@pytest.mark.parametrize("ranks", [1, 3])
def test_each_rank_reads_cells_of_its_own(ranks: int, tmp_path: Path) -> None:
    run(ranks, "forest", tmp_path)


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_mistake_of_one_rank_is_an_error_of_all(ranks: int, folder: Path) -> None:
    run(ranks, "argument_errors", folder)


def test_writers_of_several_ranks_that_are_replaced(folder: Path) -> None:
    run(2, "replaced", folder)


def test_damage_is_the_same_error_on_all_ranks(folder: Path) -> None:
    run(3, "damaged", folder)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_each_driver_writes_the_same_file(ranks: int, folder: Path) -> None:
    run(ranks, "drivers", folder)


def test_other_communicators(folder: Path) -> None:
    run(3, "other_communicators", folder)
