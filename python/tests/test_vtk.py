"""``scda vtk``: what it writes is read with VTK's own reader, and every point, cell and value compared."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Optional

import forests
import numpy as np
import pytest
import scda
from conftest import ROOT
from test_docs import run_python

h5py = pytest.importorskip("h5py")
vtk = pytest.importorskip("vtk")

from scda import _vtk  # noqa: E402
from scda.__main__ import main  # noqa: E402
from vtkmodules.util.numpy_support import vtk_to_numpy  # noqa: E402

CENTRES = {2: ((1.3, 0.4), (0.2, 0.9)), 3: ((1.3, 0.4, 0.6), (0.2, 0.9, 0.1))}
CELL_TYPE = {2: 9, 3: 12}
AROUND = {2: [0, 1, 3, 2], 3: [0, 1, 3, 2, 4, 5, 7, 6]}


class Messages:
    """What VTK complains of."""

    def __init__(self, reader: Any) -> None:
        self.texts: list[str] = []
        reader.AddObserver("ErrorEvent", self)
        self.CallDataType = "string0"

    def __call__(self, _object: Any, _event: str, text: str = "") -> None:
        self.texts.append(text)


def opened(path: Path, piece: int = 0, pieces: int = 1, step: int = 0) -> tuple[Any, Messages]:
    reader = vtk.vtkHDFReader()
    messages = Messages(reader)
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    reader.SetStep(step)
    reader.UpdatePiece(piece, pieces, 0)
    return reader, messages


def step_of(reader: Any, number: int, messages: Messages) -> Any:
    reader.SetStep(number)
    reader.Update()
    assert messages.texts == []
    output = reader.GetOutput()
    return output.GetPartition(0) if output.IsA("vtkPartitionedDataSet") else output


def arrays(data: Any) -> dict[str, np.ndarray]:
    return {data.GetArrayName(i): vtk_to_numpy(data.GetArray(i)) for i in range(data.GetNumberOfArrays())}


def expect_mesh(output: Any, quadrants: forests.Quadrants, brick: forests.Brick) -> None:
    d, count = quadrants.dimension, len(quadrants)
    assert output.GetNumberOfCells() == count
    assert set(vtk_to_numpy(output.GetCellTypes()).tolist()) == {CELL_TYPE[d]}
    cells = output.GetCells()
    assert vtk_to_numpy(cells.GetOffsetsArray()).tolist() == [2**d * i for i in range(count + 1)]
    corners = vtk_to_numpy(cells.GetConnectivityArray()).reshape(count, 2**d)
    points = vtk_to_numpy(output.GetPoints().GetData())
    np.testing.assert_allclose(points[corners], quadrants.corners(brick)[:, AROUND[d]], rtol=0, atol=1e-14)
    # No point is without a cell, and within a tree none is there twice.
    assert np.array_equal(np.unique(corners), np.arange(len(points)))
    for first, end in zip(quadrants.tree_offsets, quadrants.tree_offsets[1:]):
        own = points[np.unique(corners[first:end])]
        assert len(np.unique(own.round(10), axis=0)) == len(own)
    found = arrays(output.GetCellData())
    assert found["level"].tolist() == quadrants.level.tolist()
    assert found["tree"].tolist() == np.repeat(range(brick.trees), np.diff(quadrants.tree_offsets)).tolist()


def some_values(seed: int, count: int) -> dict[str, np.ndarray]:
    """A field of each type, of numbers and of vectors."""
    generator = np.random.default_rng(seed)
    values: dict[str, np.ndarray] = {
        "momentum": generator.normal(size=(count, 3)),
        "stress": generator.normal(size=(count, 3, 3)),
    }
    for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "?"):
        values[f"of/{dtype}"] = (100 * generator.random(count)).astype(dtype)
    for dtype in ("c8", "c16"):
        values[f"of/{dtype}"] = (generator.random(count) + 1j * generator.random(count)).astype(dtype)
    values["of/V3"] = generator.integers(0, 256, (count, 3), np.uint8).view("V3").reshape(count)
    return values


def as_vtk_has_it(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "V":
        return values.view(np.uint8).reshape(len(values), -1)
    if values.dtype.kind == "c":
        return np.stack([values.real, values.imag], -1)
    values = values.astype({"?": "u1", "e": "f4"}.get(values.dtype.char, values.dtype))
    return values.reshape(len(values), -1) if values.ndim > 1 else values


def run(*arguments: Any) -> int:
    return main(["vtk", *map(str, arguments)])


def again(*arguments: Any) -> int:
    return run(*arguments, "--force")


def test_a_mesh_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process of a server reads some parts of a large mesh."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("scda._mesh.BATCH", 10)
    brick, meshes, fields = forest_with_corners(Path("f.scda"), 2)
    assert run("f.scda") == 0
    for step, mesh in enumerate(meshes):
        starts = []
        for piece in range(2):
            reader, messages = opened(tmp_path / "f.vtkhdf", piece, 2, step)
            output = reader.GetOutputDataObject(0)
            parts = [output.GetPartition(n) for n in range(output.GetNumberOfPartitions())]
            found = [part for part in parts if part is not None and part.GetNumberOfCells() > 0]
            assert len(found) > 1, "each process has some"
            for part in found:
                values = arrays(part.GetPointData())["u"]
                start = fields[step]["u"][:, 0].tolist().index(values[0])
                stop = start + part.GetNumberOfCells()
                assert stop - start == min(10, len(mesh) - start)
                expect_corners(part, mesh, brick, start, stop)
                assert np.array_equal(values, fields[step]["u"][start:stop].ravel())
                assert np.array_equal(arrays(part.GetCellData())["c"], fields[step]["c"][start:stop])
                starts.append(start)
            assert messages.texts == []
        assert sorted(starts) == list(range(0, len(mesh), 10))


@pytest.mark.parametrize("layout", ["plain", "chunks", "text", "mixed"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_each_step_of_a_forest(
    dimension: int, layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    brick = forests.Brick(dimension, 3)
    meshes = [forests.Quadrants(dimension, 3, forests.towards(*at, finest=4)) for at in CENTRES[dimension]]
    mesh_of_step = [0, 0, 1, 1]
    fields = [some_values(step, len(meshes[k])) for step, k in enumerate(mesh_of_step)]
    kinds = {"plain": {}, "chunks": {"chunks": (50,)}, "text": {"chunks": (50,), "text": True}}
    with scda.create("f.scda") as w:
        w.block("about this file", b"a test")
        forests.begin(w, dimension)
        brick.write(w)
        for step, k in enumerate(mesh_of_step):
            w.dataset("forest/time", 0.25 * step, attrs={"units": "s"})
            if step == 0 or k != mesh_of_step[step - 1]:
                meshes[k].write(w)
            for number, (name, values) in enumerate(fields[step].items()):
                kind = kinds["chunks" if number % 2 else "plain"] if layout == "mixed" else kinds[layout]
                chunks = {**kind, "chunks": (50, *values.shape[1:])} if kind else {}
                w.dataset(f"forest/fields/{name}", values, **chunks)
    assert run("f.scda", "--relative") == 0
    said = capsys.readouterr().out
    assert said.splitlines()[0] == f"f.vtkhdf: 4 time steps, 2 meshes, {len(meshes[1])} cells in the last step"
    copied = {line.partition(": ")[0]: line.partition(": ")[2].split(", ") for line in said.splitlines()}
    if layout == "plain":
        assert copied["copied"] == ["of/f2"]
    elif layout == "mixed":
        assert len(copied["copied"]) > 5 and len(copied["read from f.scda"]) > 5
    else:
        assert copied["read from f.scda"] == ["level"]

    reader, messages = opened(tmp_path / "f.vtkhdf")
    assert reader.GetNumberOfSteps() == 4
    with h5py.File("f.vtkhdf") as h5:
        assert h5["VTKHDF/Steps/Values"][:].tolist() == [0.0, 0.25, 0.5, 0.75]
        assert len(h5["VTKHDF/Types"]) == sum(map(len, meshes))
    for step in (0, 1, 2, 3, 1):
        output = step_of(reader, step, messages)
        expect_mesh(output, meshes[mesh_of_step[step]], brick)
        found = arrays(output.GetCellData())
        assert set(found) == {"level", "tree", *(name.replace("/", "_") for name in fields[step])}
        for name, values in fields[step].items():
            wanted, got = as_vtk_has_it(values), found[name.replace("/", "_")]
            assert got.dtype == wanted.dtype and np.array_equal(got, wanted), name


def small_forest(path: Path, **fields: Any) -> forests.Quadrants:
    brick, mesh = forests.Brick(2, 2), forests.Quadrants(2, 2, forests.towards(0.6, 0.3, finest=3))
    with scda.create(path) as w:
        forests.begin(w, 2)
        brick.write(w)
        mesh.write(w)
        for name, values in (fields or {"u": np.arange(float(len(mesh)))}).items():
            w.dataset(f"forest/fields/{name}", values)
    return mesh


def test_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("data", "pictures", "elsewhere"):
        (tmp_path / name).mkdir()
    mesh = small_forest(tmp_path / "data" / "f.scda")
    wanted = [float(i) for i in range(len(mesh))]
    monkeypatch.chdir(tmp_path / "elsewhere")
    out = tmp_path / "pictures" / "f.vtkhdf"

    def write(*options: str) -> str:
        assert run("../data/f.scda", "-o", "../pictures/f.vtkhdf", *options) == 0
        return capsys.readouterr().out.partition("\n")[2]

    def read(folder: str) -> tuple[Optional[list[float]], list[str]]:
        monkeypatch.chdir(tmp_path / folder)
        reader, messages = opened(out)
        output = reader.GetOutput()
        array = output.GetCellData().GetArray("u") if output is not None else None
        monkeypatch.chdir(tmp_path / "elsewhere")
        return (None if array is None else vtk_to_numpy(array).tolist()), messages.texts

    # What is done without an option can be read from anywhere: the data are copied, those of a large file referred to.
    assert write() == "copied: u, level\n"
    assert read("pictures") == read("elsewhere") == (wanted, [])
    assert run("../data/f.scda", "-o", "../pictures/f.vtkhdf") == 2
    monkeypatch.setattr(_vtk, "_SMALL_BYTES", os.path.getsize("../data/f.scda") - 1)
    assert write("--force") == write("--force", "--absolute") == f"read from {tmp_path}/data/f.scda: u, level\n"
    assert read("pictures") == read("elsewhere") == (wanted, [])
    # Relative to the folder of the file, which is that in which the program runs if HDF5 is not told otherwise.
    assert write("--force", "--relative").startswith(
        "read from ../data/f.scda: u, level\n../data/f.scda is relative to"
    )
    assert read("pictures") == read("elsewhere") == (wanted, [])
    values, texts = read(".")
    assert values != wanted and texts
    assert write("--force", "--copy") == "copied: u, level\n"
    shutil.move("../data/f.scda", "../data/moved.scda")
    assert read(".") == (wanted, [])
    for options in (("--copy", "--relative"), ("--copy", "--absolute"), ("--absolute", "--relative")):
        with pytest.raises(SystemExit):
            run("../data/moved.scda", *options)


def test_origin(tmp_path: Path) -> None:
    """As `scda vtk --help` says: HDF5 reads the variable when the program starts, or the reader."""
    import sys

    (tmp_path / "data").mkdir()
    mesh = small_forest(tmp_path / "data" / "f.scda")
    assert run(tmp_path / "data" / "f.scda", "--relative") == 0
    program = (
        "import sys, vtk\n"
        "r = vtk.vtkHDFReader(); r.SetFileName(sys.argv[1]); r.Update()\n"
        "a = r.GetOutput().GetCellData().GetArray('u'); print([a.GetValue(i) for i in range(a.GetNumberOfTuples())])\n"
    )
    environment = {**os.environ, "HDF5_EXTFILE_PREFIX": "${ORIGIN}"}
    shown = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "data" / "f.vtkhdf")],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert shown.stdout.strip() == str([float(i) for i in range(len(mesh))])


def test_beyond_four_gibibytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A section that is a hole in the file lies before the field."""
    monkeypatch.chdir(tmp_path)
    brick, mesh = forests.Brick(2, 2), forests.Quadrants(2, 2, forests.towards(0.6, 0.3, finest=3))
    with scda.create("small.scda", seal=False) as w:
        forests.begin(w, 2)
        brick.write(w)
        mesh.write(w)
        w.dataset("forest/fields/u", np.arange(float(len(mesh))))
    with scda.open("small.scda") as f:
        start = f.sections[f["forest/fields/u"].section.index - 1].offset
    data = Path("small.scda").read_bytes()
    hole = 5 << 30
    with open("large.scda", "wb") as large:
        large.write(data[:start])
        large.write(b"A a hole ".ljust(63, b"-") + b"\n" + f"N {hole} ".encode().ljust(31, b"-") + b"\n")
        large.write(b"E 1 ".ljust(31, b"-") + b"\n")
        large.seek(hole, os.SEEK_CUR)
        large.write(b"\n" + b"=" * 29 + b"\n\n" + data[start:])
    if os.stat("large.scda").st_blocks * 512 > 1 << 20:
        pytest.skip("this file system has no holes")
    assert run("large.scda") == 0
    with h5py.File("large.vtkhdf") as h5:
        assert h5["VTKHDF/CellData/u"].external
    reader, messages = opened(tmp_path / "large.vtkhdf")
    output = step_of(reader, 0, messages)
    expect_mesh(output, mesh, brick)
    assert arrays(output.GetCellData())["u"].tolist() == list(range(len(mesh)))


def test_more_steps_than_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """HDF5 takes a limited number of runs in place: what is beyond is copied."""
    monkeypatch.chdir(tmp_path)
    brick, mesh = forests.Brick(2, 1), forests.Quadrants(2, 1, forests.towards(0.1, 0.1, finest=1))
    for steps, place in ((_vtk._MOST_RUNS, "read from f.scda: u, level"), (_vtk._MOST_RUNS + 1, "copied: u")):
        with scda.create("f.scda") as w:
            forests.begin(w, 2)
            brick.write(w)
            mesh.write(w)
            for step in range(steps):
                w.dataset("forest/time", float(step))
                w.dataset("forest/fields/u", np.arange(4.0) + step)
        assert again("f.scda", "--relative") == 0
        assert place in capsys.readouterr().out.splitlines()
        reader, messages = opened(tmp_path / "f.vtkhdf")
        for step in (0, steps - 1):
            assert arrays(step_of(reader, step, messages).GetCellData())["u"].tolist() == [step + i for i in range(4)]


def expect_corners(output: Any, mesh: forests.Quadrants, brick: forests.Brick, start: int, stop: int) -> None:
    """Each cell has points of its own, in the order of the values at corners."""
    corners, count = 2**mesh.dimension, stop - start
    points = vtk_to_numpy(output.GetPoints().GetData())
    wanted = mesh.corners(brick)[start:stop].reshape(-1, 3)
    np.testing.assert_allclose(points, wanted, rtol=0, atol=1e-14)
    cells = vtk_to_numpy(output.GetCells().GetConnectivityArray()).reshape(count, corners)
    assert np.array_equal(cells, np.arange(count)[:, None] * corners + AROUND[mesh.dimension])


def forest_with_corners(path: Path, dimension: int, **layout: Any) -> tuple[forests.Brick, list[Any], list[Any]]:
    """Two meshes; a number and a vector at each corner, the vector in the second step only, and a number for each quadrant."""
    brick = forests.Brick(dimension, 3)
    meshes = [forests.Quadrants(dimension, 3, forests.towards(*at, finest=4)) for at in CENTRES[dimension]]
    generator, fields = np.random.default_rng(dimension), []
    with scda.create(path) as w:
        forests.begin(w, dimension)
        brick.write(w)
        for step, mesh in enumerate(meshes):
            w.dataset("forest/time", 0.5 * step)
            mesh.write(w)
            shape = (len(mesh), 2**dimension)
            own = {"u": generator.normal(size=shape), "c": generator.normal(size=len(mesh))}
            if step == 1:
                own["v"] = generator.normal(size=(*shape, 3)).astype("f4")
            fields.append(own)
            for name, values in own.items():
                dims = ("quadrant", "corner", None)[: values.ndim]
                w.dataset(f"forest/fields/{name}", values, dims=dims, **layout)
    return brick, meshes, fields


@pytest.mark.parametrize("layout", [{}, {"encode": True}])
@pytest.mark.parametrize("dimension", [2, 3])
def test_values_at_corners(
    dimension: int, layout: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_vtk, "_BATCH_BYTES", 5000)
    brick, meshes, fields = forest_with_corners(tmp_path / "f.scda", dimension, **layout)
    assert run("f.scda", "--relative") == 0
    said = capsys.readouterr().out
    assert ("read from f.scda: c, level, u\n" in said) == (not layout)
    reader, messages = opened(tmp_path / "f.vtkhdf")
    for step in (0, 1, 0):
        output, mesh = step_of(reader, step, messages), meshes[step]
        expect_corners(output, mesh, brick, 0, len(mesh))
        found = arrays(output.GetPointData())
        assert set(found) == {"u", "v"} and np.array_equal(found["u"], fields[step]["u"].ravel())
        wanted = fields[1]["v"].reshape(-1, 3) if step == 1 else np.full((len(found["u"]), 3), np.nan, "f4")
        assert found["v"].dtype == np.float32 and np.array_equal(found["v"], wanted, equal_nan=True)
        found = arrays(output.GetCellData())
        assert set(found) == {"c", "level", "tree"} and np.array_equal(found["c"], fields[step]["c"])
    # Without these fields, cells share their points.
    assert again("f.scda", "--field", "c") == 0
    reader, messages = opened(tmp_path / "f.vtkhdf")
    output = step_of(reader, 1, messages)
    expect_mesh(output, meshes[1], brick)
    assert arrays(output.GetPointData()) == {}


@pytest.mark.parametrize("dimension", [2, 3])
def test_as_p4est_itself_writes_it(dimension: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points, cells and values are those of the VTK file that p4est writes of the same forest."""
    prefix = os.environ.get("SCDA_PREFIX")
    if not prefix:
        pytest.skip("SCDA_PREFIX does not say where libscda is installed")
    monkeypatch.chdir(tmp_path)
    (compiler,) = re.findall(r"^mpicc=(.*)$", Path(prefix, "lib/pkgconfig/scda.pc").read_text(), re.M)
    folders = [f"-I{prefix}/include", f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib"]
    more = ["-include", "p4est_to_p8est.h"] if dimension == 3 else []
    source = str(ROOT / "python" / "tests" / "p4est_vtu.c")
    line = [compiler, *more, source, "-o", "p4est_vtu", *folders, "-lscda", "-lp4est", "-lsc"]
    subprocess.run(line, check=True, timeout=120)
    subprocess.run(["./p4est_vtu", "forest"], check=True, timeout=120)
    xml = vtk.vtkXMLUnstructuredGridReader()
    xml.SetFileName("forest_0000.vtu")
    xml.Update()
    wanted = xml.GetOutput()
    assert run("forest.scda") == 0
    reader, messages = opened(tmp_path / "forest.vtkhdf")
    output = step_of(reader, 0, messages)
    assert output.GetNumberOfCells() == wanted.GetNumberOfCells() > 100
    # p4est's numbers have four bytes. Its cells are pixels and voxels, whose points are in the order of those of the forest.
    points, theirs = (vtk_to_numpy(found.GetPoints().GetData()) for found in (output, wanted))
    np.testing.assert_allclose(points, theirs, rtol=0, atol=1e-6)
    cells, pixels = (vtk_to_numpy(found.GetCells().GetConnectivityArray()) for found in (output, wanted))
    assert np.array_equal(cells.reshape(-1, 2**dimension), pixels.reshape(-1, 2**dimension)[:, AROUND[dimension]])
    assert arrays(output.GetPointData())["u"].tolist() == arrays(wanted.GetPointData())["u"].tolist()
    cells, theirs = arrays(output.GetCellData()), arrays(wanted.GetCellData())
    assert np.array_equal(cells["level"], theirs["level"]) and np.array_equal(cells["tree"], theirs["treeid"])


def test_a_wrong_number_of_corners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    mesh = small_forest(tmp_path / "f.scda")
    with scda.append("f.scda") as w:
        w.dataset("forest/fields/u", np.zeros((len(mesh), 3)), dims=("quadrant", "corner"))
    assert run("f.scda") == 1
    assert "forest/fields/u: found shape (" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["f.scda"]


def test_fields_that_a_step_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    brick, mesh = forests.Brick(2, 1), forests.Quadrants(2, 1, forests.towards(0.1, 0.1, finest=2))
    count = len(mesh)
    with scda.create("f.scda") as w:
        forests.begin(w, 2)
        brick.write(w)
        for step in range(3):
            w.dataset("forest/time", float(step))
            mesh.write(w)
            if step != 1:
                w.dataset("forest/fields/u", np.full(count, step, np.float32))
                w.dataset("forest/fields/n", np.full(count, step))
            w.dataset("forest/fields/p:count", np.arange(count))
            w.dataset("forest/fields/p", np.zeros(count * (count - 1) // 2))
    assert run("f.scda") == 3
    assert "left out: n: time step 1 has none, and int64 has no number that says so" in capsys.readouterr().err
    reader, messages = opened(tmp_path / "f.vtkhdf")
    for step in range(3):
        found = arrays(step_of(reader, step, messages).GetCellData())
        assert set(found) == {"level", "tree", "u", "p:count"}
        assert np.array_equal(found["u"], np.full(count, np.nan if step == 1 else step, np.float32), equal_nan=True)
        assert found["p:count"].tolist() == list(range(count))
    assert again("f.scda", "--field", "p:count") == 0
    reader, messages = opened(tmp_path / "f.vtkhdf")
    assert set(arrays(step_of(reader, 2, messages).GetCellData())) == {"level", "tree", "p:count"}
    capsys.readouterr()
    assert again("f.scda", "--field", "v") == 2
    assert "field 'v' is not in 'forest', which has ['u', 'n', 'p:count']" in capsys.readouterr().err


def test_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Off-screen: the colours of a picture are those of the field."""
    monkeypatch.chdir(tmp_path)
    brick = forests.Brick(2, 1)
    brick.vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
    mesh = forests.Quadrants(2, 1, forests.towards(0.9, 0.9, finest=4))
    with scda.create("f.scda") as w:
        forests.begin(w, 2)
        brick.write(w)
        mesh.write(w)
        w.dataset("forest/fields/left", (mesh.coordinates[:, 0] < 1 << 29).astype(float))
    assert run("f.scda") == 0
    reader, messages = opened(tmp_path / "f.vtkhdf")
    mapper = vtk.vtkDataSetMapper()
    mapper.SetInputData(step_of(reader, 0, messages))
    mapper.SetScalarModeToUseCellFieldData()
    mapper.SelectColorArray("left")
    table = vtk.vtkLookupTable()
    table.SetNumberOfTableValues(2)
    table.SetTableRange(0, 1)
    table.SetTableValue(0, 0, 0, 1)
    table.SetTableValue(1, 1, 0, 0)
    mapper.SetLookupTable(table)
    mapper.SetUseLookupTableScalarRange(True)
    actor = vtk.vtkActor()
    actor.SetMapper(mapper)
    actor.GetProperty().LightingOff()
    renderer = vtk.vtkRenderer()
    renderer.AddActor(actor)
    window = vtk.vtkRenderWindow()
    window.SetOffScreenRendering(1)
    window.SetSize(100, 100)
    window.AddRenderer(renderer)
    camera = renderer.GetActiveCamera()
    camera.ParallelProjectionOn()
    camera.SetFocalPoint(0.5, 0.5, 0)
    camera.SetPosition(0.5, 0.5, 1)
    camera.SetParallelScale(0.5)
    window.Render()
    grab = vtk.vtkWindowToImageFilter()
    grab.SetInput(window)
    grab.ReadFrontBufferOff()
    writer = vtk.vtkPNGWriter()
    writer.SetInputConnection(grab.GetOutputPort())
    writer.SetFileName("f.png")
    writer.Write()
    image = vtk.vtkPNGReader()
    image.SetFileName("f.png")
    image.Update()
    colours = vtk_to_numpy(image.GetOutput().GetPointData().GetScalars()).reshape(100, 100, 3)
    assert (colours[5:95, 5:45] == [255, 0, 0]).all() and (colours[5:95, 55:95] == [0, 0, 255]).all()


def test_pyvista_reads_forests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyvista = pytest.importorskip("pyvista")
    monkeypatch.chdir(tmp_path)
    brick = forests.Brick(3, 2)
    mesh = forests.Quadrants(3, 2, forests.towards(0.6, 0.3, 0.2, finest=3))
    velocity = np.random.default_rng(5).normal(size=(2, len(mesh), 3))
    with scda.create("f.scda") as w:
        forests.begin(w, 3)
        brick.write(w)
        mesh.write(w)
        for step in range(2):
            w.dataset("forest/time", 0.5 * step)
            w.dataset("forest/fields/velocity", velocity[step])
    assert run("f.scda") == 0
    reader = pyvista.get_reader("f.vtkhdf")
    for step in range(2):
        reader.reader.SetStep(step)
        found = reader.read()
        expect_mesh(found, mesh, brick)
        assert found.n_cells == len(mesh) and np.array_equal(found["velocity"], velocity[step])
        assert reader.reader.GetTimeValue() == 0.5 * step


@pytest.mark.parametrize("arguments", [("f.scda", "-o", "f.scda"), ("f.scda", "-o", "folder/f.vtkhdf"), ("none.scda",)])
def test_what_cannot_be_written(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    small_forest(tmp_path / "f.scda")
    before = (tmp_path / "f.scda").read_bytes()
    assert run(*arguments) == 2
    assert capsys.readouterr().err.startswith("scda: ")
    assert [path.name for path in tmp_path.iterdir()] == ["f.scda"]
    assert (tmp_path / "f.scda").read_bytes() == before


def test_raw_bytes_of_other_lengths_are_no_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    mesh = small_forest(tmp_path / "f.scda")
    with scda.append("f.scda") as w:
        for step in range(2):
            w.dataset("forest/time", float(step))
            w.dataset("forest/fields/raw", np.zeros(len(mesh), f"V{8 * (step + 1)}"))
    assert run("f.scda") == 2
    assert "fields/raw: found |V16 (" in capsys.readouterr().err


def test_several_forests_and_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    mesh = small_forest(tmp_path / "f.scda")
    assert run("f.scda", "--group", "no") == 2
    assert "found no forest 'no'; for other meshes and grids, scda copy --hdf5 f.scda" in capsys.readouterr().err
    with scda.append("f.scda") as w:
        w.group("other", {"scda_forest": 1, "dimension": 2})
    assert run("f.scda") == 2
    assert "found the forests ['forest', 'other']; --group names one" in capsys.readouterr().err
    assert run("f.scda", "--group", "forest") == 0
    assert f", {len(mesh)} cells in the last step" in capsys.readouterr().out


def test_fields_are_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mesh = small_forest(tmp_path / "f.scda")
    with scda.append("f.scda") as w:
        packed = np.arange(len(mesh), dtype="i2")
        w.dataset("forest/fields/t", packed, attrs={"scale_factor": 0.5, "missing_value": 7})
    assert run("f.scda") == 0
    reader, messages = opened(tmp_path / "f.vtkhdf")
    found = arrays(step_of(reader, 0, messages).GetCellData())["t"]
    np.testing.assert_array_equal(found, np.where(packed == 7, np.nan, 0.5 * packed).astype("f4"))


def test_other_meshes_are_opened_in_the_file_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points and cells, particles, and a uniform grid: the file is an HDF5 file with a name for ParaView."""
    monkeypatch.chdir(tmp_path)
    assert run_python("docs/cells.md") == 1
    os.rename("roof.scda", "roof.vtkhdf")
    output = step_of(*opened_at(tmp_path / "roof.vtkhdf", 0))
    assert arrays(output.GetCellData())["temperature"].tolist() == [290.0, 291.0, 285.0]
    assert [output.GetCell(i).GetClassName() for i in range(3)] == ["vtkTriangle", "vtkTriangle", "vtkQuad"]
    with scda.create("p.vtkhdf") as w:
        w.group("particles", {"scda_particles": 1})
        w.dataset("particles/offsets", [0, 3])
        w.dataset("particles/fields/position", np.arange(9.0).reshape(3, 3))
        w.dataset("particles/fields/mass", [1.0, 2.0, 4.0])
    output = step_of(*opened_at(tmp_path / "p.vtkhdf", 0))
    assert output.GetPoint(1) == (3, 4, 5) and arrays(output.GetPointData())["mass"].tolist() == [1, 2, 4]
    with scda.create("g.vtkhdf") as w:
        for step in range(2):
            w.dataset("time", 0.5 * step)
            w.dataset("u", np.arange(20.0).reshape(4, 5) + step, dims=("y", "x"))
    output = step_of(*opened_at(tmp_path / "g.vtkhdf", 1))
    assert output.GetDimensions()[:2] == (5, 4) and arrays(output.GetPointData())["u"].tolist() == list(range(1, 21))


def opened_at(path: Path, step: int) -> tuple[Any, int, Messages]:
    reader, messages = opened(path)
    return reader, step, messages


def test_files_from_private_ones_are_private(tmp_path: Path) -> None:
    small_forest(tmp_path / "f.scda")
    (tmp_path / "f.scda").chmod(0o600)
    out = tmp_path / "out.vtkhdf"
    assert run(tmp_path / "f.scda", "-o", out) == 0
    assert out.stat().st_mode & 0o777 == 0o600
    out.chmod(0o640)  # who has let others read it decides
    assert again(tmp_path / "f.scda", "-o", out) == 0
    assert out.stat().st_mode & 0o777 == 0o640
