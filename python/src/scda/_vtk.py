"""``scda vtk``: VTKHDF files, with which VTK, ParaView, VisIt and PyVista read forests. They read other meshes from the
file itself.

An uncompressed field of a large scda file stays there: the VTKHDF file refers to it (external storage of HDF5).
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Optional, Sequence, Union

import numpy as np

from ._cf import UnpackedView, unpacked
from ._dataset import Dataset
from ._errors import ShortFileError
from ._file import File, open
from ._forest import Forest, forests
from ._mesh import Mesh

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VERSION = (2, 0)
# HDF5 keeps the places of all runs of a dataset in one message of at most 64 KiB, 24 bytes for each.
_MOST_RUNS = 2048
_BATCH_BYTES = 1 << 24
_CHUNK_ROWS = 1 << 16
# Up to this size, everything is copied, so that the VTKHDF file can be used without the scda file.
_SMALL_BYTES = 1 << 26


Entry = Union[Dataset, UnpackedView, "NDArray[Any]", "_Trees"]


class Column(NamedTuple):
    """A field: its values in the time steps, one after another, and the entry that each step uses."""

    name: str
    entries: Sequence[Entry]
    entry_of_step: Sequence[int]


class _Trees:
    """The tree of each quadrant of a mesh, computed when it is needed."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self.dtype = np.dtype(np.int32)
        self.shape = (len(mesh),)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[np.int32]:
        return self._mesh.trees(rows.start, rows.stop)


class Sidecar:
    """A VTKHDF file in progress, for the data of an scda file.

    Attributes:
        in_place: the names of fields whose data stay in the scda file.
        copied: the names of the other fields.
        left_out: what VTK does not get, and why.
    """

    def __init__(self, root: Any, file: File, external: Optional[str]) -> None:
        """Args: the group VTKHDF; the file; and its name for HDF5, or None to copy everything."""
        self._root = root
        self._file = file
        self._external = external
        self.in_place: list[str] = []
        self.copied: list[str] = []
        self.left_out: list[str] = []

    def forest(self, forest: Forest, names: Optional[Sequence[str]]) -> str:
        """Writes the forest with these fields, or with all of them. Returns a description."""
        self._root.attrs["Version"] = np.array(_VERSION, np.int64)
        self._root.attrs["Type"] = np.bytes_("UnstructuredGrid")
        _expect_known(names, forest.fields, forest.name)
        names = list(forest.fields if names is None else dict.fromkeys(names))
        has_corners = any(map(forest.at_corners, names))
        meshes, mesh_of_step = self._meshes(forest, has_corners)
        steps = list(forest)
        columns: list[Column] = []
        at_corners: list[Column] = []
        for name in names:
            column = self._field(name, [step.field(name) for step in steps], [len(meshes[k]) for k in mesh_of_step])
            if column is not None:
                (at_corners if forest.at_corners(name) else columns).append(column)
        taken = {column.name for column in columns}
        for name, entries in (("level", [mesh.level for mesh in meshes]), ("tree", [_Trees(mesh) for mesh in meshes])):
            if name not in taken:
                columns.append(Column(name, entries, mesh_of_step))
        self._columns("CellData", columns)
        if has_corners:
            self._columns("PointData", at_corners, 2**forest.dimension)
        return _said(len(steps), len(meshes), len(meshes[-1]))

    def _steps(self, times: Sequence[float]) -> Any:
        steps = self._root.create_group("Steps")
        steps.attrs["NSteps"] = np.int64(len(times))
        steps["Values"] = np.array(times, np.float64)
        return steps

    def _meshes(self, forest: Forest, has_corners: bool) -> tuple[list[Mesh], list[int]]:
        """Writes each mesh once, in parts, which the processes of ParaView share. Returns the meshes, and the number of
        the mesh of each step.

        Args:
            has_corners: there are values at the corners of the quadrants, so each quadrant needs points of its own.
        """
        root, rows = self._root, [_CHUNK_ROWS]
        for name, inner, item in (
            ("Points", (3,), np.float64),
            ("Connectivity", (), np.int64),
            ("Offsets", (), np.int64),
            ("Types", (), np.uint8),
        ):
            root.create_dataset(name, (0, *inner), item, maxshape=(None, *inner), chunks=(*rows, *inner))
        meshes: list[Mesh] = []
        mesh_of_step: list[int] = []
        first_parts: list[int] = []
        # The numbers of points, cells, and points of cells of each part of a mesh.
        sizes: list[tuple[int, int, int]] = []
        for step in forest:
            mesh = step.mesh
            if not meshes or mesh is not meshes[-1]:
                meshes.append(mesh)
                first_parts.append(len(sizes))
                for places, of_cells, widths, types in mesh.vtk_parts(apart=has_corners):
                    sizes.append((len(places), len(widths), len(of_cells)))
                    _append(root["Points"], places)
                    _append(root["Connectivity"], of_cells)
                    _append(root["Offsets"], np.cumsum([0, *widths], dtype=np.int64))
                    _append(root["Types"], types)
            mesh_of_step.append(len(meshes) - 1)
        steps = self._steps(forest.times)
        firsts = np.array(first_parts, np.int64)
        steps["PartOffsets"] = firsts[mesh_of_step]
        steps["NumberOfParts"] = np.diff(firsts, append=len(sizes))[mesh_of_step]
        for (vtk_name, offsets, columns), counts in zip(
            (
                ("NumberOfPoints", "PointOffsets", ()),
                ("NumberOfCells", "CellOffsets", (1,)),
                ("NumberOfConnectivityIds", "ConnectivityIdOffsets", (1,)),
            ),
            zip(*sizes),
        ):
            root[vtk_name] = np.array(counts, np.int64)
            steps[offsets] = _starts(counts)[firsts][mesh_of_step].reshape(-1, *columns)
        return meshes, mesh_of_step

    def _columns(self, where: str, columns: Sequence[Column], corners: int = 1) -> None:
        """Writes fields, and where the values of each step begin. `corners`: the number of values at corners in each
        row."""
        group = self._root.create_group(where)
        offsets = self._root["Steps"].create_group(f"{where}Offsets")
        for column in columns:
            name = _vtk_name(column.name, group)
            self._rows(group, name, column, corners)
            offsets[name] = corners * _starts([len(entry) for entry in column.entries])[list(column.entry_of_step)]

    def _field(self, name: str, found: Sequence[Optional[Dataset]], counts: list[int]) -> Optional[Column]:
        """A field; in steps that do not have it, its values are NaN."""
        entries_found = [None if dataset is None else unpacked(dataset) for dataset in found]
        some = next((entry for entry in entries_found if entry is not None), None)
        if some is None:
            self.left_out.append(f"{name}: no time step has it")
            return None
        for entry in entries_found:
            if entry is not None and (entry.shape[1:], _kind(entry)) != (some.shape[1:], _kind(some)):
                dataset = _dataset_of(entry)
                entry_name = name if dataset is None else dataset.name
                raise ValueError(
                    f"{entry_name}: found {entry.dtype} {entry.shape} after {some.dtype} {some.shape}, "
                    "expected values of the same shape and kind in all time steps"
                )
        if some.dtype.kind in "USMm" or some.dtype.names is not None:
            self.left_out.append(f"{name}: found {some.dtype}, which VTK does not support")
            return None
        if 0 in some.shape[1:]:
            self.left_out.append(f"{name}: its values have no components")
            return None
        if None in found and some.dtype.kind not in "fc":
            missing = found.index(None)
            self.left_out.append(f"{name}: time step {missing} has none, and {some.dtype} has no number that says so")
            return None
        entries = [
            np.broadcast_to(np.array(np.nan, some.dtype), (count, *some.shape[1:])) if entry is None else entry
            for entry, count in zip(entries_found, counts)
        ]
        return Column(name, entries, range(len(entries)))

    def _rows(self, group: Any, name: str, column: Column, corners: int = 1) -> None:
        """Writes a dataset with the rows of all entries; with `corners`, each row becomes one row for each corner."""
        item, parts = _vtk_type([entry.dtype for entry in column.entries])
        components = parts * int(np.prod(column.entries[0].shape[1:], dtype=np.int64)) // corners
        inner = () if components == 1 else (components,)
        dataset = self._create(group, name, column, (corners * sum(map(len, column.entries)), *inner), item)
        start = 0
        for entry in column.entries if dataset is not None else ():
            for rows, values in _batches(entry, item, inner):
                dataset[corners * (start + rows.start) : corners * (start + rows.stop)] = values
            start += len(entry)

    def _create(self, group: Any, name: str, column: Column, shape: tuple[int, ...], item: np.dtype[Any]) -> Any:
        """Creates a dataset to be filled; returns None if its data stay in the scda file."""
        places = self._places(column, item)
        if places is None:
            if _dataset_of(column.entries[0]) is not None:
                self.copied.append(column.name)
            return group.create_dataset(name, shape, item)
        group.create_dataset(name, shape, item, external=places)
        self.in_place.append(column.name)
        return None

    def _places(self, column: Column, item: np.dtype[Any]) -> Optional[list[tuple[str, int, int]]]:
        """The file, the first byte and the size of each entry; None if HDF5 cannot read the entries in place."""
        if self._external is None or len(column.entries) > _MOST_RUNS:
            return None
        places = []
        for entry in column.entries:
            if not isinstance(entry, Dataset) or not _is_plain(entry, item):
                return None
            start = entry.section.data_offset
            size = os.path.getsize(self._file._path)
            if start + entry.nbytes > size:
                message = (
                    f"{self._file._path}: {entry.name}: found the end of the file, expected {entry.nbytes} bytes"
                )
                raise ShortFileError(message, size, self._file._path)
            places.append((self._external, start, entry.nbytes))
        return places


def _dataset_of(entry: Entry) -> Optional[Dataset]:
    """The dataset with the values; None if they are computed."""
    if isinstance(entry, UnpackedView):
        return entry.dataset
    return entry if isinstance(entry, Dataset) else None


def _kind(dataset: Union[Dataset, UnpackedView]) -> str:
    """numpy's kind of the items; raw bytes of different lengths count as different kinds."""
    return dataset.dtype.str if dataset.dtype.kind == "V" else dataset.dtype.kind


def _is_plain(dataset: Dataset, item: np.dtype[Any]) -> bool:
    """True if the data are stored in the file as items of this little-endian type."""
    if dataset.chunks is not None or dataset.added_rows or dataset.section.compressed or dataset.nbytes == 0 or sys.byteorder != "little":
        return False
    if dataset.dtype.kind not in "bVc" and dataset.dtype != item:
        return False
    if dataset.dtype.kind == "c" and dataset.dtype.itemsize != 2 * item.itemsize:
        return False
    with dataset._file._reading() as core:
        codecs = json.loads(core.read_block(*dataset._handle.metadata))["codecs"]
    configuration = codecs[0].get("configuration") if isinstance(codecs[0], dict) else None
    return not configuration or configuration.get("endian", "little") == "little"


def _vtk_type(types: Sequence[np.dtype[Any]]) -> tuple[np.dtype[Any], int]:
    """The VTK type for items of all these types, and how many of them represent one item."""
    if types[0].kind in "bV":
        return np.dtype("u1"), types[0].itemsize
    dtype = np.result_type(*types)
    if dtype.kind == "c":
        return np.dtype(f"<f{dtype.itemsize // 2}"), 2
    return np.dtype("<f4") if dtype == np.float16 else dtype.newbyteorder("<"), 1


def _values(values: NDArray[Any], item: np.dtype[Any]) -> NDArray[Any]:
    """Values as items of this type."""
    if values.dtype.kind in "bV":
        return np.ascontiguousarray(values).view(np.uint8)
    if values.dtype.kind == "c":
        pairs = np.empty((*values.shape, 2), item)
        pairs[..., 0], pairs[..., 1] = values.real, values.imag
        return pairs
    return values.astype(item, copy=False)


def _batches(entry: Entry, item: np.dtype[Any], inner: tuple[int, ...]) -> Iterator[tuple[slice, NDArray[Any]]]:
    """The rows of an entry in batches, each with this shape."""
    count = max(1, _BATCH_BYTES // (item.itemsize * int(np.prod(inner, dtype=np.int64))))
    for start in range(0, len(entry), count):
        rows = slice(start, min(start + count, len(entry)))
        yield rows, _values(entry[rows], item).reshape(-1, *inner)


def _starts(counts: Sequence[int]) -> NDArray[np.int64]:
    return np.cumsum([0, *counts], dtype=np.int64)


def _expect_known(names: Optional[Sequence[str]], fields: Sequence[str], group: str) -> None:
    for name in names or ():
        if name not in fields:
            raise ValueError(f"field {name!r} is not in {group!r}, which has {fields}")


def _said(steps: int, meshes: int, cells: int) -> str:
    several = f"{_counted(steps, 'time step')}, {_counted(meshes, 'mesh', 'meshes')}"
    return f"{several}, {cells} cells in the last step"


def _counted(number: int, one: str, several: str = "") -> str:
    return f"{number} {one if number == 1 else several or one + 's'}"


def _append(dataset: Any, values: NDArray[Any]) -> None:
    before = len(dataset)
    dataset.resize(before + len(values), 0)
    dataset[before:] = values


def _vtk_name(name: str, group: Any) -> str:
    """The name of a field in VTK, which has no groups of fields."""
    vtk_name = name.replace("/", "_")
    if vtk_name in group:
        raise ValueError(f"field {name!r}: found another field that is named {vtk_name!r} in the VTKHDF file")
    return vtk_name


def write(
    path: str,
    out: str,
    part: str,
    *,
    copy: bool = False,
    absolute: bool = False,
    relative: bool = False,
    fields: Optional[Sequence[str]] = None,
    group: Optional[str] = None,
) -> tuple[list[str], list[str]]:
    """Writes the VTKHDF file for an scda file. Returns lines that say what was done, and what was left out.

    Args:
        path: the scda file.
        out: the VTKHDF file.
        part: its name until it is complete.
        copy: copy all data.
        absolute: leave uncompressed data in the scda file, and refer to it by its absolute path.
        relative: like ``absolute``, with a path relative to the folder of ``out``. If none of the three is set, a
            small file is copied, and ``absolute`` applies to a larger one.
        fields: only these fields.
        group: the forest. None: the only one.
    """
    import h5py

    if os.path.exists(out) and os.path.exists(path) and os.path.samefile(path, out):
        raise ValueError(f"{out} is the scda file itself; give the VTKHDF file another name")
    external = None
    if relative:
        external = os.path.relpath(os.path.realpath(path), os.path.realpath(os.path.dirname(out) or "."))
    elif absolute or (not copy and os.path.getsize(path) > _SMALL_BYTES):
        external = os.path.realpath(path)
    with open(path) as file, h5py.File(part, "w") as h5:
        sidecar = Sidecar(h5.create_group("VTKHDF"), file, external)
        names = forests(file)
        if not names or group is not None and group not in names:
            what = "no forest" if group is None else f"no forest {group!r}"
            raise ValueError(f"{path}: found {what}; for other meshes and grids, scda copy --hdf5 {path} NEW.vtkhdf makes a copy that ParaView opens")
        if group is None and len(names) > 1:
            raise ValueError(f"{path}: found the forests {names}; group= names one")
        what = sidecar.forest(Forest(file, group or names[0]), fields)
    lines = [f"{out}: {what}"]
    if sidecar.copied:
        lines.append(f"copied: {', '.join(sidecar.copied)}")
    if sidecar.in_place:
        lines.append(f"read from {external}: {', '.join(sidecar.in_place)}")
        if relative:
            lines.append(
                f"{external} is relative to the folder of {os.path.basename(out)}: start the program that reads it "
                "there, or with HDF5_EXTFILE_PREFIX='${ORIGIN}'"
            )
    return lines, sidecar.left_out
