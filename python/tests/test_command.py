"""The command `scda` of the package, which is that of the library."""

import os
import subprocess
import sys
import sysconfig

import numpy as np
import pytest

import scda
from conftest import has_mpi, run_ranks

SCRIPT = [os.path.join(sysconfig.get_path("scripts"), "scda")]
MODULE = [sys.executable, "-m", "scda_command"]


def run(command, *arguments, **options):
    return subprocess.run([*command, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, **options)


@pytest.fixture
def file(tmp_path):
    path = str(tmp_path / "rho.scda")
    with scda.create(path) as w:
        w.dataset("rho", np.arange(6.0).reshape(3, 2))
    return path


@pytest.mark.parametrize("command", [SCRIPT, MODULE])
def test_it_prints_what_is_in_a_file(command, file):
    done = run(command, "cat", file, "rho")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0.0 1.0\n2.0 3.0\n4.0 5.0\n", "")


def test_its_exit_codes_are_those_of_the_binary(file, tmp_path):
    (tmp_path / "bad.scda").write_bytes(b"no such file at all" * 20)
    codes = [run(MODULE, *arguments).returncode for arguments in (["check", file], ["check", str(tmp_path / "bad.scda")], ["no"])]
    assert codes == [0, 1, 2]
    assert run(MODULE, "--version").stdout == f"scda {scda.__version__}\n"
    assert run(MODULE, "ls", "--help").stdout.startswith("List")


def test_what_is_written_in_python_runs_in_this_interpreter(file):
    environment = {**os.environ, "PATH": "/nowhere"}
    environment.pop("SCDA_PYTHON", None)
    done = run(MODULE, "vtk", "--help", env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    np.savez(f"{file}.npz", x=[1])
    done = run(MODULE, "import", f"{file}.npz", f"{file}.new", env=environment)
    assert (done.returncode, done.stderr) == (0, "")


def test_it_does_without_numpy(file):
    program = "import sys, scda_command; sys.argv[1:] = ['ls', sys.argv[1]]; c = scda_command.main(); sys.exit(c or 'numpy' in sys.modules)"
    assert run([sys.executable, "-c", program], file).returncode == 0


@pytest.mark.skipif(not has_mpi(), reason="mpi4py is not installed")
def test_its_doctor_finds_the_mpi_of_the_job(tmp_path):
    said = run_ranks(2, "-m", "scda_command", "doctor", str(tmp_path))
    assert "\nMPI          2 ranks of " in said and "\nMPI-IO       ok: " in said
    assert list(tmp_path.iterdir()) == []
