"""Checkpoints of DOLFINx by scda.io4dolfinx: fenicsx_program.py write|read BACKEND FOLDER, on any number of ranks each."""

import sys
from pathlib import Path

from mpi4py import MPI  # first: the wheels of dolfinx have its MPI

import dolfinx
import io4dolfinx
import numpy as np

comm = MPI.COMM_WORLD
task, backend, folder = sys.argv[1:]
checkpoint, snapshot = Path(folder) / "checkpoint.scda", Path(folder) / "snapshot.scda"
times = [0.0, 1e-10, 1.0]


def value(time):
    return lambda x: np.sin(x[0]) + (1 + time) * x[1] - x[2]


def function(mesh):
    return dolfinx.fem.Function(dolfinx.fem.functionspace(mesh, ("Lagrange", 3)), name="u")


if task == "write":
    mesh = dolfinx.mesh.create_unit_cube(comm, 4, 4, 4)
    u = function(mesh)
    how = {"field": {"encode": True, "codec": "zlib"}}
    io4dolfinx.write_mesh(checkpoint, mesh, store_partition_info=True, backend=backend)
    for time in times:
        u.interpolate(value(time))
        io4dolfinx.write_function(checkpoint, u, time=time, backend=backend, backend_args=how)
    written = {"a": np.float32([1.5, 2]), "b": True, "c": "text", "d": np.arange(6).reshape(2, 3)}
    io4dolfinx.write_attributes(checkpoint, comm, "run", {"a": 0, "b": True}, backend=backend)
    io4dolfinx.write_attributes(checkpoint, comm, "run", {key: each for key, each in written.items() if key != "b"}, backend=backend)
    found = io4dolfinx.read_attributes(checkpoint, comm, "run", backend=backend)
    assert found.keys() == written.keys() and found["a"].dtype == np.float32 and found["b"].dtype == bool and found["c"] == "text", found
    assert all(np.array_equal(found[key], each) for key, each in written.items())
    io4dolfinx.snapshot_checkpoint(u, snapshot, io4dolfinx.FileMode.write, backend=backend)
    u.x.scatter_forward()
    expected, u.x.array[:] = u.x.array.copy(), 0
    io4dolfinx.snapshot_checkpoint(u, snapshot, io4dolfinx.FileMode.read, backend=backend)
    assert np.array_equal(u.x.array, expected)
    same = io4dolfinx.read_mesh(checkpoint, comm, read_from_partition=True, backend=backend)
    assert same.topology.index_map(3).size_local == mesh.topology.index_map(3).size_local
    for wrong in (lambda: io4dolfinx.write_function(checkpoint, u, time=1.0, backend=backend), lambda: io4dolfinx.write_mesh(
        checkpoint, mesh, mode=io4dolfinx.FileMode.append, backend=backend
    )):
        try:
            wrong()
        except ValueError as error:
            assert "has already been written at time" in str(error), error
        else:
            raise AssertionError("a time was written twice")
assert np.array_equal(io4dolfinx.read_timestamps(checkpoint, comm, "u", backend=backend), times)
assert io4dolfinx.read_function_names(checkpoint, comm, backend=backend) == ["u"]
u = function(io4dolfinx.read_mesh(checkpoint, comm, backend=backend))
expected = function(u.function_space.mesh)
for time in times:
    # The backend h5py takes times as close as these for the same.
    if backend != "h5py" or time == 1.0:
        io4dolfinx.read_function(checkpoint, u, time=time, backend=backend)
        expected.interpolate(value(time))
        assert np.allclose(u.x.array, expected.x.array, rtol=0, atol=1e-13 if backend != "h5py" else 1e-12)
print(f"rank {comm.rank} of {comm.size} is done: {task} by {backend}", flush=True)
