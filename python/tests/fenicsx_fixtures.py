"""What the tests of io4dolfinx want, which are in its source archive without it: fixtures by the names that they use. With
SCDA_BACKEND=scda, its backend h5py is replaced by scda.io4dolfinx, here and in the engines of ipyparallel, so no test is changed."""

import os
import re

from mpi4py import MPI  # first: the wheels of dolfinx have its MPI

import dolfinx
import io4dolfinx
import ipyparallel
import numpy as np
import pytest

REPLACE = """
import io4dolfinx.backends.h5py, scda.io4dolfinx
io4dolfinx.backends.h5py.backend = scda.io4dolfinx
"""
IS_OURS = os.environ["SCDA_BACKEND"] == "scda"
if IS_OURS:
    exec(REPLACE)


@pytest.fixture
def backend():
    return "h5py"


@pytest.fixture(scope="module")
def cluster():
    engines = ipyparallel.Cluster(engines="mpi", n=2)
    client = engines.start_and_connect_sync()
    if IS_OURS:
        client[:].execute(REPLACE, block=True)
    yield client
    engines.stop_cluster_sync()


@pytest.fixture
def get_dtype():
    return lambda real, is_complex: np.result_type(real, np.complex64).type if is_complex else np.dtype(real).type


def _interpolated(mesh, element, function, dtype, name="uh"):
    u = dolfinx.fem.Function(dolfinx.fem.functionspace(mesh, element), dtype=dtype)
    u.interpolate(function)
    u.name = name
    return u


def _written(folder, mesh, u, steps, backend, append=False):
    """Writes the mesh and the function at each time, on one process alone if the mesh is on one."""
    signature = re.sub(r"[ ,()\[\]]", "", u.function_space.element.signature)
    path = MPI.COMM_WORLD.bcast(folder, root=0) / f"mesh_{signature}_{np.dtype(u.dtype).name}.h5"
    if mesh.comm.size > 1 or MPI.COMM_WORLD.rank == 0:
        if not append:
            io4dolfinx.write_mesh(path, mesh, backend=backend)
        for time, function in steps:
            u.interpolate(function)
            io4dolfinx.write_function(path, u, time=time, backend=backend)
    return path


def _check(path, comm, element, steps, dtype, backend, name="f"):
    mesh = io4dolfinx.read_mesh(path, comm, ghost_mode=dolfinx.mesh.GhostMode.shared_facet, backend=backend)
    for time, function in steps:
        expected = _interpolated(mesh, element, function, dtype)
        u = dolfinx.fem.Function(expected.function_space, dtype=dtype, name=name)
        io4dolfinx.read_function(path, u, time=time, backend=backend)
        tolerance = 10 * np.finfo(dtype).resolution
        np.testing.assert_allclose(u.x.array, expected.x.array, atol=tolerance, rtol=tolerance)


@pytest.fixture
def write_function(tmp_path):
    def write(mesh, el, f, dtype, backend, name="uh", append=False):
        return _written(tmp_path, mesh, _interpolated(mesh, el, f, dtype, name), [(0.0, f)], backend, append)

    return write


@pytest.fixture
def read_function():
    return lambda comm, el, f, path, dtype, backend, name="uh": _check(path, comm, el, [(0.0, f)], dtype, backend, name)


@pytest.fixture
def write_function_time_dep(tmp_path):
    def write(mesh, el, f0, f1, t0, t1, dtype, backend):
        return _written(tmp_path, mesh, _interpolated(mesh, el, f0, dtype, "f"), [(t0, f0), (t1, f1)], backend)

    return write


@pytest.fixture
def read_function_time_dep():
    return lambda comm, el, f0, f1, t0, t1, path, dtype, backend: _check(path, comm, el, [(t1, f1), (t0, f0)], dtype, backend)


@pytest.fixture
def generate_reference_map():
    """Of each value of mesh tags the number of its entity and its midpoint, on the rank root."""

    def collect(mesh, tags, comm, root):
        mesh.topology.create_connectivity(tags.dim, mesh.topology.dim)
        midpoints = dolfinx.mesh.compute_midpoints(mesh, tags.dim, tags.indices)
        first = mesh.topology.index_map(tags.dim).local_range[0]
        own = {value: (int(first + index), midpoints[index]) for index, value in zip(tags.indices, tags.values)}
        all = comm.gather(own, root=root)
        # An entity that several ranks know is that of the first.
        return {key: value for each in reversed(all) for key, value in each.items()} if comm.rank == root else None

    return collect
