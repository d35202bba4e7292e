"""Forests of any shapes (docs/t8code.md), by a file of t8code: its field ``corners`` is where t8code has the corners of each element."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import scda
from conftest import ROOT

PATH = ROOT / "tests" / "vectors" / "t8code.scda"
# Corners, by the numbers of VTK.
CORNERS = {10: 4, 12: 8, 13: 6, 14: 5}


def places_of(f: scda.File) -> tuple[np.ndarray, np.ndarray]:
    """The corners of all elements one after the other, and how many each has."""
    return f["forest/fields/corners"][...], f["forest/fields/corners:count"][...]


def test_points_are_those_of_t8code() -> None:
    with scda.open(PATH) as f:
        forest = scda.Forest(f)
        assert (forest.dimension, forest.times, len(forest)) == (3, [0.0, 0.5], 2)
        mesh = forest[1].mesh
        assert mesh is forest[0].mesh
        places, counts = places_of(f)
        points, cells = mesh.points_and_cells()
        assert ((cells >= 0).sum(1) == counts).all()
        np.testing.assert_allclose(points[cells[cells >= 0]], places, rtol=0, atol=1e-14)
        assert set(mesh.tree_shape.tolist()) <= set(CORNERS)
        middles = forest[1].field("middle")
        assert middles is not None and middles.shape == (len(mesh), 3)
        # A part of them.
        points, cells = mesh.points_and_cells(3, 20)
        start, stop = counts[:3].sum(), counts[:20].sum()
        np.testing.assert_allclose(points[cells[cells >= 0]], places[start:stop], rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("level", lambda v: v + 22, "level"),
        ("type", lambda v: np.full_like(v, 9), "type"),
        ("coordinates", lambda v: v + 1, "coordinates"),
        ("coordinates", lambda v: v - (1 << 30), "coordinates"),
        ("position", lambda v: v[::-1], "position"),
        ("position", lambda v: v * 0, "position"),
        ("tree_offsets", lambda v: v[::-1], "tree_offsets"),
        ("tree_shape", lambda v: v * 0 + 9, "tree_shape"),
    ],
)
def test_damage_is_named(tmp_path: Path, name: str, change, expected: str) -> None:
    path = tmp_path / "damaged.scda"
    with scda.open(PATH) as f, scda.create(path) as w:
        w.group("forest", f["forest"].attrs)
        for each in (
            "tree_to_tree",
            "tree_to_face",
            "tree_shape",
            "coordinates",
            "level",
            "type",
            "position",
            "tree_offsets",
        ):
            values = f[f"forest/{each}"][...]
            w.dataset(
                f"forest/{each}", np.ascontiguousarray(change(values).astype(values.dtype) if each == name else values)
            )
    with scda.open(path) as f, pytest.raises(scda.FormatError, match=f"forest/{expected}"):
        scda.Forest(f)[0].mesh


def test_vtk_reads_it(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    vtk = pytest.importorskip("vtk")
    from scda.__main__ import main
    from vtkmodules.util.numpy_support import vtk_to_numpy

    path = tmp_path / "t8code.scda"
    shutil.copyfile(PATH, path)
    assert main(["vtk", str(path)]) == 3
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(tmp_path / "t8code.vtkhdf"))
    reader.Update()
    output = reader.GetOutput()
    output = output.GetPartition(0) if output.IsA("vtkPartitionedDataSet") else output
    with scda.open(PATH) as f:
        places, counts = places_of(f)
        shapes = vtk_to_numpy(output.GetCellTypes())
        assert [CORNERS[shape] for shape in shapes] == counts.tolist()
        starts = np.cumsum([0, *counts])
        for i in range(output.GetNumberOfCells()):
            points = vtk_to_numpy(output.GetCell(i).GetPoints().GetData())
            own = places[starts[i] : starts[i + 1]]
            # The same corners in another order, in which the volume is positive.
            np.testing.assert_allclose(
                points[np.lexsort(points.round(9).T)], own[np.lexsort(own.round(9).T)], rtol=0, atol=1e-14
            )
    for kind, array in ((vtk.vtkCellSizeFilter, "Volume"), (vtk.vtkCellValidator, "ValidityState")):
        of = kind()
        of.SetInputData(output)
        of.Update()
        values = vtk_to_numpy(of.GetOutput().GetCellData().GetArray(array))
        assert values.min() > 0 if array == "Volume" else not values.any()
