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
    with scda.create(path) as w:
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


def test_a_commit_shows_all_if_that_is_wanted(path):
    program = (
        "import os, sys, scda; sys.path.insert(0, sys.argv[2])\n"
        "import test_hdf5_views as t\n"
        "w = scda.append(sys.argv[1], hdf5='commit'); t.step(w, 1); w.commit(); t.step(w, 2); w.commit(wait=False).wait()\n"
        "t.step(w, 3); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", program, path, os.path.dirname(__file__)], timeout=60, check=False)
    compare(path, 3)
    with scda.create(path + ".plain", hdf5=False) as w:
        step(w, 0)
    with scda.create(path + ".later") as w:
        w.block("notes", b"calm\n")
        step(w, 0)
    assert [h5py.is_hdf5(path + end) for end in (".plain", ".later")] == [False, True]
    with scda.append(path + ".plain", hdf5=True) as w:
        step(w, 1)
    assert not h5py.is_hdf5(path + ".plain")
    with pytest.raises(scda.ArgumentError, match="no room"):
        scda.append(path + ".plain", hdf5="commit")
    for wrong in ("close", None):
        with pytest.raises(ValueError, match="commit"):
            scda.create(path + ".plain", hdf5=wrong)


@pytest.mark.skipif("HDF5_USE_FILE_LOCKING" in os.environ, reason="programs for HDF5 do not lock")
def test_programs_read_while_a_job_appends(path):
    with h5py.File(path) as reader:
        with scda.append(path) as w:
            step(w, 1)
            assert reader["time"][()] == 0
            compare_first = "import h5py, sys; assert h5py.File(sys.argv[1])['time'][()] == 0"
            subprocess.run([sys.executable, "-c", compare_first, path], check=True, timeout=60)
        assert reader["time"][()] == 0
    compare(path, 2)


def test_vtk_opens_meshes(tmp_path):
    hdf = pytest.importorskip("vtkmodules.vtkIOHDF")
    path = str(tmp_path / "roof.scda")
    with scda.create(path) as w:
        w.group("roof", {"scda_cells": 1})
        w.dataset("roof/points", np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.5]]))
        w.dataset("roof/cell_points", np.array([0, 1, 2, 1, 3, 2]))
        w.dataset("roof/cell_offsets", np.array([0, 3, 6]))
        w.dataset("roof/cell_types", np.array([5, 5], "u1"))
        w.dataset("roof/time", np.float64(0))
        w.dataset("roof/cell_fields/t", np.array([290.0, 291.0]))
    with scda.append(path) as w:
        w.dataset("roof/time", np.float64(1))
        w.dataset("roof/cell_fields/t", np.array([292.0, 293.0]))
    reader = hdf.vtkHDFReader()
    reader.SetFileName(path)
    for time in [1, 0]:
        reader.UpdateTimeStep(time)
        found = reader.GetOutput()
        values = found.GetCellData().GetArray("t")
        assert [values.GetValue(n) for n in range(2)] == [290.0 + 2 * time, 291.0 + 2 * time]
        assert found.GetNumberOfPoints() == 4 and found.GetPoint(3) == (1, 1, 0.5)
