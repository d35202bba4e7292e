"""Checkpoints of FEniCSx in scda files: a backend of `io4dolfinx <https://pypi.org/project/io4dolfinx/>`_.

io4dolfinx imports it by its name: ``io4dolfinx.write_mesh(path, mesh, backend="scda.io4dolfinx")``, or once for all
calls ``io4dolfinx.set_default_backend("scda.io4dolfinx")``. Any number of ranks can read what another number has
written. Each call opens and completes the file, so what it wrote stays if the program is killed later.

Names and attributes are those of io4dolfinx's backend h5py, which can read the files, too, through their view for HDF5.
All functions are collective, with the same arguments on all ranks except for the data.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Mapping, NoReturn, Optional, Union

import numpy as np
from dolfinx.graph import adjacencylist
from io4dolfinx.backends import FileMode, ReadMode, get_backend
from io4dolfinx.structures import MeshTagsData, ReadMeshData
from io4dolfinx.utils import compute_local_range

from ._dataset import Dataset
from ._file import File, open
from ._writer import Writer, append, create

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Name = Union[Path, str]
_Arguments = Optional[Mapping[str, Any]]

read_mode = ReadMode.parallel
# The attribute with numpy's types of the others, because JSON has none.
_TYPES = "dtypes"


def get_default_backend_args(arguments: _Arguments) -> dict[str, Any]:
    """The arguments of this backend, with their defaults.

    Args:
        arguments: ``name``, the name of the mesh; ``hdf5``, whether a new file gets a view for HDF5; ``field``,
            arguments of :meth:`scda.Writer.field` for all arrays that are written, such as ``{"codec": "zlib"}``;
            ``values_dtype``, the type of the values when mesh tags are read; ``legacy``, whether the mesh tags to read
            are those of DOLFIN in an HDF5 file.
    """
    return {"name": "mesh", "hdf5": True, "field": {}, "values_dtype": np.int32, "legacy": False, **(arguments or {})}


def write_attributes(filename: _Name, comm: Any, name: str, attributes: Mapping[str, Any], backend_args: _Arguments = None) -> None:
    """Sets attributes of a group: real numbers, bools, texts, and arrays of these. Its other attributes stay."""
    values = {key: np.asarray(value) for key, value in attributes.items()}
    types = {key: value.dtype.str for key, value in values.items()}
    with _output(filename, comm, FileMode.append, backend_args) as out:
        types = {**out.attributes(name).get(_TYPES, {}), **types}
        out.set(name, {**values, _TYPES: types})


def read_attributes(filename: _Name, comm: Any, name: str, backend_args: _Arguments = None) -> dict[str, Any]:
    """The attributes of a group, with their original types."""
    with open(filename, comm=comm) as file:
        found = dict(file[f"{name}/"].attrs)
    types = found.pop(_TYPES, {})
    return {key: np.asarray(value, types.get(key))[()] for key, value in found.items()}


def read_timestamps(filename: _Name, comm: Any, function_name: str, backend_args: _Arguments = None) -> NDArray[np.float64]:
    """The times at which the file has a function, in the order of writing."""
    with open(filename, comm=comm) as file:
        return _times(file, _function(file, function_name, backend_args))


def write_mesh(
    filename: _Name,
    comm: Any,
    mesh: Any,
    backend_args: _Arguments = None,
    mode: FileMode = FileMode.write,
    time: float = 0.0,
) -> None:
    """Writes a mesh. If the file has it already, writes only its points at another time, and the partition if that is
    missing."""
    name = _mesh(backend_args)
    with _output(filename, comm, mode, backend_args) as out:
        step = out.add_time(name, time)
        out.field(f"{name}/{step}/Points", mesh.local_geometry)
        if mesh.store_partition and not out.has(f"{name}/PartitioningData"):
            out.set(name, {"PartitionProcesses": mesh.partition_processes})
            out.field(f"{name}/PartitioningData", mesh.ownership_array)
            out.offsets(f"{name}/PartitioningOffset", mesh.ownership_offset)
        if not out.has(f"{name}/Topology"):
            out.set(name, {"CellType": mesh.cell_type, "Degree": mesh.degree, "LagrangeVariant": mesh.lagrange_variant})
            out.field(f"{name}/Topology", mesh.local_topology)


def read_mesh_data(
    filename: _Name,
    comm: Any,
    time: Union[str, float, None] = 0.0,
    read_from_partition: bool = False,
    backend_args: _Arguments = None,
) -> ReadMeshData:
    """Reads a mesh with its points at a time; None is the last one."""
    name = _mesh(backend_args)
    with open(filename, comm=comm) as file:
        attributes = file[f"{name}/"].attrs
        step = _step(file, name, time)
        graph = None
        if read_from_partition:
            ranks = attributes["PartitionProcesses"]
            if ranks != comm.size:
                raise ValueError(f"{file.path}: {name!r}: found {comm.size} ranks, expected {ranks}, for which it was partitioned")
            graph = _lists(file, comm, f"{name}/PartitioningOffset", f"{name}/PartitioningData")
        return ReadMeshData(
            cells=_rows(comm, file[f"{name}/Topology"])[0],
            cell_type=attributes["CellType"],
            x=_rows(comm, file[f"{name}/{step}/Points"])[0],
            degree=attributes["Degree"],
            lvar=attributes["LagrangeVariant"],
            partition_graph=graph,
        )


def write_meshtags(filename: _Name, comm: Any, data: MeshTagsData, backend_args: _Arguments = None) -> None:
    """Writes tags of a mesh. The file must have the mesh, or a function on it."""
    name = _mesh(backend_args)
    tags = f"{name}/tags/{data.name}"
    with _output(filename, comm, FileMode.append, backend_args) as out:
        if not out.has(name):
            raise KeyError(f"{filename}: there is no mesh {name!r}")
        if out.has(f"{tags}/Values"):
            raise KeyError(f"{filename}: the mesh tags {data.name!r} of {name!r} exist already")
        out.set(tags, {"CellType": data.cell_type, "dim": data.dim})
        out.field(f"{tags}/Topology", data.indices.astype(np.int64, copy=False))
        out.field(f"{tags}/Values", data.values)


def read_meshtags_data(filename: _Name, comm: Any, name: str, backend_args: _Arguments = None) -> MeshTagsData:
    """Reads mesh tags."""
    arguments = get_default_backend_args(backend_args)
    if arguments["legacy"]:
        return _h5py().read_meshtags_data(filename, comm, name, backend_args)
    tags = f"{_mesh(backend_args)}/tags/{name}"
    with open(filename, comm=comm) as file:
        indices, _ = _rows(comm, file[f"{tags}/Topology"])
        values, _ = _rows(comm, file[f"{tags}/Values"])
        return MeshTagsData(name=name, values=values.astype(arguments["values_dtype"]), indices=indices, dim=file[f"{tags}/"].attrs["dim"])


def write_function(
    filename: _Name,
    comm: Any,
    u: Any,
    time: float,
    mode: FileMode = FileMode.append,
    backend_args: _Arguments = None,
) -> None:
    """Writes the values of a function at a time; also its dofmap, and the permutations of the cells, if they are
    missing."""
    name = _mesh(backend_args)
    function = f"{name}/functions/{u.name}"
    with _output(filename, comm, mode, backend_args) as out:
        step = out.add_time(function, time)
        if not out.has(f"{name}/CellPermutations"):
            out.field(f"{name}/CellPermutations", u.cell_permutations)
        if not out.has(f"{function}/dofmap"):
            out.field(f"{function}/dofmap", u.dofmap_array)
            out.offsets(f"{function}/dofmap_offsets", u.dofmap_offsets)
        out.field(f"{function}/{step}/array", u.values)


def read_dofmap(filename: _Name, comm: Any, name: str, backend_args: _Arguments = None) -> Any:
    """Reads the dofmap of a function: an adjacency list for this rank's cells; if the arguments have ``dofmap``, that
    of DOLFIN."""
    if backend_args and "dofmap" in backend_args:
        return _h5py().read_dofmap(filename, comm, name, backend_args)
    with open(filename, comm=comm) as file:
        function = _function(file, name, backend_args)
        return _lists(file, comm, f"{function}/dofmap_offsets", f"{function}/dofmap")


def read_dofs(filename: _Name, comm: Any, name: str, time: float, backend_args: _Arguments = None) -> tuple[NDArray[Any], int]:
    """Reads this rank's part of the values of a function at a time. Also returns where it begins."""
    with open(filename, comm=comm) as file:
        function = _function(file, name, backend_args)
        return _rows(comm, file[f"{function}/{_step(file, function, time)}/array"])


def read_cell_perms(comm: Any, filename: _Name, backend_args: _Arguments = None) -> NDArray[np.uint32]:
    """Reads the permutations of this rank's cells."""
    with open(filename, comm=comm) as file:
        return _rows(comm, file[f"{_mesh(backend_args)}/CellPermutations"])[0]


def read_function_names(filename: _Name, comm: Any, backend_args: _Arguments = None) -> list[str]:
    """The names of the functions of a mesh, in the order of writing."""
    name = _mesh(backend_args)
    with open(filename, comm=comm) as file:
        return list(file[name].get("functions", ()))


def snapshot_checkpoint(filename: _Name, mode: FileMode, u: Any, backend_args: _Arguments = None) -> None:
    """Writes the values of a function, or reads them on the same mesh with the same partition."""
    map, size = u.function_space.dofmap.index_map, u.function_space.dofmap.index_map_bs
    comm, (begin, end) = u.function_space.mesh.comm, (n * size for n in map.local_range)
    if mode is not FileMode.read:
        with _output(filename, comm, mode, backend_args) as out:
            out.field("snapshot/dofs", u.x.array[: end - begin])
        return
    with open(filename, comm=comm) as file:
        dofs = file["snapshot/dofs"]
        if dofs.shape != (map.size_global * size,):
            raise ValueError(f"{file.path}: found {dofs.shape[0]} values, expected {map.size_global * size}")
        u.x.array[: end - begin] = dofs[begin:end]
    u.x.scatter_forward()


def read_legacy_mesh(filename: _Name, comm: Any, group: str) -> Any:
    """Reads a mesh that DOLFIN wrote to an HDF5 file, with the backend h5py."""
    return _h5py().read_legacy_mesh(filename, comm, group)


def read_hdf5_array(comm: Any, filename: _Name, group: str, backend_args: _Arguments = None) -> Any:
    """Reads an array that DOLFIN wrote to an HDF5 file, with the backend h5py."""
    return _h5py().read_hdf5_array(comm, filename, group, backend_args)


def read_point_data(*arguments: Any, **named: Any) -> NoReturn:
    """Not available for checkpoints."""
    raise NotImplementedError("data for visualization are written by other backends, such as vtkhdf; scda.io4dolfinx stores functions")


read_cell_data = write_data = read_point_data


class _Output:
    """A file being written, and its previous content."""

    def __init__(self, writer: Writer, before: Optional[File], comm: Any, options: Mapping[str, Any]) -> None:
        self._writer, self._before, self._comm, self._options = writer, before, comm, options
        self._changed: dict[str, dict[str, Any]] = {}

    def has(self, name: str) -> bool:
        return self._before is not None and name in self._before

    def attributes(self, path: str) -> dict[str, Any]:
        """The attributes of a group, with those that were set here."""
        if path in self._changed:
            return self._changed[path]
        return dict(self._before[f"{path}/"].attrs) if self._before is not None and self.has(f"{path}/") else {}

    def set(self, path: str, attributes: Mapping[str, Any]) -> None:
        self._changed[path] = {**self.attributes(path), **attributes}

    def add_time(self, path: str, time: float) -> int:
        """Adds a time to a group and returns its number."""
        times = self.attributes(path).get("timestamps", [])
        if time in times:
            raise ValueError(f"{path!r} has already been written at time {time}")
        self.set(path, {"timestamps": [*times, float(time)]})
        return len(times)

    def field(self, name: str, rows: NDArray[Any]) -> None:
        self._writer.field(name, np.ascontiguousarray(rows), **self._options)

    def offsets(self, name: str, offsets: NDArray[Any]) -> None:
        """Writes offsets. The last one of a rank equals the first one of the next rank."""
        is_last = self._comm.rank == self._comm.size - 1
        self.field(name, offsets[: len(offsets) if is_last else -1].astype(np.int64, copy=False))

    def finish(self) -> None:
        for path, attributes in self._changed.items():
            self._writer.group(path, attributes)


@contextmanager
def _output(filename: _Name, comm: Any, mode: FileMode, backend_args: _Arguments) -> Iterator[_Output]:
    if mode is FileMode.read:
        raise ValueError(f"{filename}: mode: found read, expected write or append")
    arguments = get_default_backend_args(backend_args)
    before: Optional[File] = None
    with ExitStack() as opened:
        if mode is FileMode.append and comm.bcast(Path(filename).exists()):
            before = opened.enter_context(open(filename, comm=comm))
            writer = opened.enter_context(append(filename, comm=comm))
        else:
            writer = opened.enter_context(create(filename, "io4dolfinx", hdf5=arguments["hdf5"], comm=comm))
        out = _Output(writer, before, comm, arguments["field"])
        yield out
        out.finish()


def _mesh(backend_args: _Arguments) -> str:
    """The name of the mesh, which io4dolfinx passes since version 1.5."""
    return (backend_args or {}).get("name") or "mesh"


def _function(file: File, name: str, backend_args: _Arguments) -> str:
    """The path of a function, which must be in the file."""
    path = f"{_mesh(backend_args)}/functions/{name}"
    if f"{path}/" not in file:
        raise KeyError(f"{file.path}: found no function {path!r}")
    return path


def _times(file: File, path: str) -> NDArray[np.float64]:
    return np.array(file[f"{path}/"].attrs["timestamps"], np.float64)


def _step(file: File, path: str, time: Union[str, float, None]) -> int:
    """The number of a time: the equal one, or else the only one that is close; for None, the last one."""
    times = _times(file, path)
    if time is None:
        return len(times) - 1
    for found in (np.flatnonzero(times == float(time)), np.flatnonzero(np.isclose(times, float(time)))):
        if len(found) == 1:
            return int(found[0])
    raise RuntimeError(f"{file.path}: {path!r} has no time {time}, or several that are close to it; it has {times.tolist()}")


def _rows(comm: Any, dataset: Dataset) -> tuple[NDArray[Any], int]:
    """This rank's part of the rows, as io4dolfinx divides them, and where it begins."""
    begin, end = compute_local_range(comm, dataset.shape[0])
    return dataset[begin:end], begin


def _lists(file: File, comm: Any, offsets: str, items: str) -> Any:
    """This rank's part of an adjacency list."""
    all = file[offsets]
    begin, end = compute_local_range(comm, all.shape[0] - 1)
    own = all[begin : end + 1]
    return adjacencylist(file[items][own[0] : own[-1]], (own - own[0]).astype(np.int32))


def _h5py() -> Any:
    return get_backend("h5py")
