"""Files that are HDF5 files as well, as other programs read them: h5py, h5dump."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import scda

h5py = pytest.importorskip("h5py")


def step(w, n):
    """A step of a run, with everything that HDF5 shows."""
    w["time"] = np.float64(n)
    w.dataset("flow/rho", np.arange(12.0).reshape(4, 3) + n, dims=("y", "x"), attrs={"units": "kg m-3"})
    w.dataset("flow/p", np.arange(12, dtype="i4").reshape(4, 3) * n, chunks=(2, 3), codec="zlib")


def compare(path, steps):
    """What h5py reads is what libscda reads."""
    with h5py.File(path) as f, scda.open(path) as g:
        assert f["time"].shape == (steps,) and (f["time"][:] == np.arange(steps)).all()
        for name in ["flow/rho", "flow/p"]:
            for n in range(steps):
                assert (f[name][n] == g.records(name)[n][...]).all(), (name, n)
            assert f[name].maxshape == (None, 4, 3)
        assert f["flow/rho"].attrs["units"] == "kg m-3"
        assert f.attrs["title"] == "a run" and f["flow"].attrs["scheme"] == "hydro"
        assert [name for name in f] == ["cells", "flow", "time", "when"]
        cells = f["cells"][:]
        assert cells.dtype.names == ("id", "x") and (cells["id"] == [1, 2]).all() and (cells["x"] == [0.5, 1.5]).all()
        assert f["when"].attrs["units"].startswith("seconds since 1970")
    if shutil.which("h5dump"):
        run = subprocess.run(["h5dump", path], capture_output=True, text=True, timeout=60)
        assert run.returncode == 0 and not run.stderr, run.stderr


@pytest.fixture
def path(tmp_path):
    path = str(tmp_path / "run.scda")
    with scda.create(path, hdf5=True) as w:
        w.group("/", {"title": "a run"})
        w.group("flow", {"scheme": "hydro"})
        w["cells"] = np.array([(1, 0.5), (2, 1.5)], dtype=[("id", "i4"), ("x", "f8")])
        w["when"] = np.array(["2026-11-29T17:00:00"], dtype="M8[s]")
        w.block("notes", b"calm\n")
        step(w, 0)
    return path


def test_h5py_reads_what_was_written(path):
    with h5py.File(path) as f:
        assert (f["flow/rho"][()] == np.arange(12.0).reshape(4, 3)).all() and f["time"][()] == 0
    # Nothing of it is a section of the user.
    with scda.open(path) as f:
        assert not any(section.user.startswith(b"scda hdf5") for section in f.sections)


def test_each_close_shows_all_and_a_commit_nothing_new(path):
    for n in range(1, 6):
        with scda.append(path) as w:
            step(w, n)
    compare(path, 6)
    assert scda.verify(path) is None
    # A job that is killed after a commit: HDF5 shows the file as of the last close.
    program = (
        "import os, sys, scda; sys.path.insert(0, sys.argv[2])\n"
        "import test_hdf5_views as t\n"
        "w = scda.append(sys.argv[1]); t.step(w, 6); w.commit(); t.step(w, 7); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", program, path, os.path.dirname(__file__)], timeout=60, check=False)
    compare(path, 6)
    with scda.append(path) as w:
        step(w, 7)
    compare(path, 8)


def test_going_back_shows_what_stays(path):
    with scda.open(path) as f:
        sections = len(f.sections)
    for n in range(1, 4):
        with scda.append(path) as w:
            step(w, n)
    with scda.append(path, append_after=sections) as w:
        for n in range(1, 3):
            step(w, n)
    compare(path, 3)


def test_an_hdf5_program_cannot_change_the_file(path):
    with open(path, "rb") as f:
        before = f.read()
    with pytest.raises(Exception):
        with h5py.File(path, "r+") as f:
            f["new"] = 1
    with open(path, "rb") as f:
        assert f.read() == before
    with scda.append(path) as w:
        step(w, 1)
    compare(path, 2)
