"""Forests, read by ``scda.Forest``: the geometry by its definition, and everything that may be wrong in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import forests
import numpy as np
import pytest
import scda


def made(dimension: int, finest: int = 3) -> tuple[forests.Brick, forests.Quadrants]:
    at = (0.3, 0.4, 0.6)[:dimension]
    return forests.Brick(dimension, 3), forests.Quadrants(dimension, 3, forests.towards(*at, finest=finest))


def write(path: Path, brick: forests.Brick, mesh: forests.Quadrants) -> None:
    with scda.create(path) as w:
        forests.begin(w, brick.dimension)
        brick.write(w)
        mesh.write(w)


@pytest.mark.parametrize("finest", [4, 30])
@pytest.mark.parametrize("dimension", [2, 3])
def test_points_and_cells(dimension: int, finest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    brick, mesh = made(dimension, finest)
    assert mesh.level.max() == finest
    write(tmp_path / "f", brick, mesh)
    for batch in (1 << 20, 7, 1):
        monkeypatch.setattr("scda._mesh.BATCH", batch)
        with scda.open(tmp_path / "f") as f:
            assert scda.forests(f) == ["forest"]
            forest = scda.Forest(f)
            assert (forest.dimension, len(forest), forest.times, forest.units) == (dimension, 1, [0.0], "")
            found = forest[-1].mesh
            points, cells = found.points_and_cells()
            np.testing.assert_allclose(points[cells], mesh.corners(brick), rtol=0, atol=1e-14)
            assert len(found) == len(mesh)
            assert found.tree.tolist() == np.repeat(range(3), np.diff(mesh.tree_offsets)).tolist()
            if batch > 7:
                unit = np.repeat(mesh.coordinates[:, None].astype(int), 2**dimension, 1)
                edge = 1 << 30 - mesh.level.astype(int)
                unit += edge[:, None, None] * [[c >> a & 1 for a in range(dimension)] for c in range(2**dimension)]
                tree = np.broadcast_to(found.tree[:, None, None], (*unit.shape[:2], 1))
                nodes = np.concatenate([tree, unit], -1).reshape(-1, dimension + 1)
                assert len(points) == len(np.unique(nodes, axis=0))


def test_steps(tmp_path: Path) -> None:
    brick, first = made(2)
    second = made(2, 4)[1]
    with scda.create(tmp_path / "f") as w:
        forests.begin(w, 2, "a/b")
        forests.begin(w, 3, "other")
        brick.write(w, "a/b")
        first.write(w, "a/b")
        for step in range(4):
            w.dataset("a/b/time", 10.0 * step, attrs={"units": "s"})
            if step == 2:
                second.write(w, "a/b")
            mesh = first if step < 2 else second
            w.dataset("a/b/fields/u", np.full(len(mesh), -1.0))
            w.dataset("a/b/fields/u", np.full(len(mesh), float(step)))
            if step == 3:
                w.dataset("a/b/fields/gas/rho", np.zeros(len(mesh)), attrs={"units": "kg m-3"})
    with scda.open(tmp_path / "f") as f:
        assert scda.forests(f) == ["a/b", "other"]
        with pytest.raises(ValueError, match=r"each of \['a/b', 'other'\] is a forest; name one"):
            scda.Forest(f)
        forest = scda.Forest(f, "a/b")
        assert (forest.times, forest.units, forest.fields) == ([0.0, 10.0, 20.0, 30.0], "s", ["u", "gas/rho"])
        assert [step.time for step in forest] == forest.times
        meshes = [step.mesh for step in forest]
        assert [len(mesh) for mesh in meshes] == [len(first), len(first), len(second), len(second)]
        assert meshes[0] is meshes[1] and meshes[2] is meshes[3] and meshes[1] is not meshes[2]
        assert [step.field("u")[0] for step in forest] == [0.0, 1.0, 2.0, 3.0]
        assert forest[0].field("gas/rho") is None and forest[3].field("gas/rho").attrs["units"] == "kg m-3"
        assert forest[0].field("none") is None
        with pytest.raises(IndexError, match="there is no time step 4; there are 4"):
            forest[4]
        with pytest.raises(scda.FormatError, match="other/coordinates: the mesh has none before section"):
            scda.Forest(f, "other")[0].mesh


def test_a_step_reads_only_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many records, a step looks at its own, and a loop over all steps at each once."""
    brick, mesh = made(2)
    steps = 100
    with scda.create(tmp_path / "f") as w:
        forests.begin(w, 2)
        brick.write(w)
        for step in range(steps):
            w.dataset("forest/time", float(step))
            if step % 10 == 0:
                mesh.write(w)
            w.dataset("forest/fields/u", np.full(len(mesh), float(step)))
            w.dataset("forest/fields/v", np.full(len(mesh), float(-step)))
    looked: list[int] = []
    dataset = scda.File._dataset
    monkeypatch.setattr(
        scda.File, "_dataset", lambda self, number, *more: looked.append(number) or dataset(self, number, *more)
    )
    with scda.open(tmp_path / "f") as f:
        forest = scda.Forest(f)
        assert len(looked) == steps  # the times
        looked.clear()
        assert forest[steps - 1].field("u")[0] == steps - 1.0
        assert len(looked) <= 4
        assert [step.field("v")[0] for step in forest] == [-float(step) for step in range(steps)]
        assert len(looked) == len(set(looked)) <= 4 + steps + steps // 10


def test_a_field_that_moves_to_the_corners(tmp_path: Path) -> None:
    brick, mesh = made(2)
    with scda.create(tmp_path / "f") as w:
        forests.begin(w, 2)
        brick.write(w)
        mesh.write(w)
        for step, shape in enumerate([(len(mesh),), (len(mesh), 4)]):
            w.dataset("forest/time", float(step))
            w.dataset("forest/fields/u", np.zeros(shape), dims=("quadrant", "corner")[: len(shape)])
    with scda.open(tmp_path / "f") as f:
        forest = scda.Forest(f)
        assert not forest.at_corners("u") and forest[0].field("u").shape == (len(mesh),)
        with pytest.raises(scda.FormatError, match="with corners in the second dimension, expected none, as in the first"):
            forest[1].field("u")


def test_fields_name_their_mesh(tmp_path: Path) -> None:
    """A field is read with the mesh that it names; numbers of quadrants do not tell meshes apart."""
    brick, mesh = made(2)
    other = forests.Quadrants(2, 3, forests.towards(2.7, 0.4, finest=4))
    own, second = (scda.mesh_checksum(m.level, m.tree_offsets) for m in (mesh, other))
    assert own != second

    def steps(names: list[object], of_mesh: object) -> list[object]:
        """A file with a step for each field that names this; what is found of it."""
        with scda.create(tmp_path / "f") as w:
            forests.begin(w, 2)
            brick.write(w)
            attrs = {} if of_mesh is None else {"scda_mesh": of_mesh}
            w.dataset("forest/coordinates", mesh.coordinates, attrs=attrs)
            w.dataset("forest/level", mesh.level)
            w.dataset("forest/tree_offsets", mesh.tree_offsets)
            for number, name in enumerate(names):
                w.dataset("forest/time", float(number))
                w.dataset("forest/fields/u", np.arange(len(mesh)), attrs={} if name is None else {"scda_mesh": name})
        found = []
        with scda.open(tmp_path / "f") as f:
            forest = scda.Forest(f)
            for step in forest:
                try:
                    found.append(len(step.field("u")) == len(mesh))
                except scda.FormatError as error:
                    found.append(str(error))
            if of_mesh in (None, own):
                assert forest[0].mesh.checksum == own
            else:
                with pytest.raises(scda.FormatError, match="forest/coordinates: found the checksum "):
                    forest[0].mesh
        return found

    for of_mesh in (None, own):
        right, also, wrong, odd = steps([None, own, second, 5], of_mesh)
        assert right is True and also is True
        assert f"forest/fields/u: found the mesh '{second}', expected '{own}', that of step 2" in str(wrong)
        assert f"found the mesh 5, expected '{own}', that of step 3" in str(odd)
    # The attribute of the mesh is compared when the mesh is read.
    assert steps([second], second) == [True]


def wrong(part: str, change: Callable[[Any], Any]) -> Callable[[forests.Brick, forests.Quadrants], None]:
    def damage(brick: forests.Brick, mesh: forests.Quadrants) -> None:
        owner = mesh if hasattr(mesh, part) else brick
        setattr(owner, part, change(np.array(getattr(owner, part))))

    return damage


def put(index: Any, value: Any) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[index] = value
        return array

    return change


def swap(array: Any) -> Any:
    array[[3, 4]] = array[[4, 3]]
    return array


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (wrong("coordinates", put((5, 0), -1)), "coordinates: quadrant 5, in tree 0: found coordinate 0 -1, expected"),
        (wrong("coordinates", put((5, 0), 3)), "coordinates: quadrant 5, in tree 0: found coordinate 0 3, expected"),
        (wrong("coordinates", put((5, 0), 1 << 30)), r"coordinates: quadrant 5, in tree \d: found coordinate 0 1073741824"),
        (wrong("coordinates", swap), "coordinates: quadrant 3, in tree 0: found .*, the end of the previous quadrant"),
        (wrong("coordinates", put(0, 1 << 29)), "coordinates: quadrant 0, in tree 0: found coordinate 0 536870912, expected 0"),
        (wrong("level", put(2, 31)), "level: quadrant 2, in tree 0: found level 31, expected at most 30"),
        (wrong("level", put(-1, 9)), r"coordinates: found quadrant \d+ as the last one of tree 2, which it leaves incomplete"),
        (wrong("level", lambda a: a.astype("i1")), r"level: found int8 \(\d+,\), expected uint8 \(\d+\)"),
        (wrong("level", lambda a: a[:-1]), r"level: found uint8 \(\d+,\), expected uint8 \(\d+\)"),
        (wrong("coordinates", lambda a: a[:, :1]), r"coordinates: found int32 \(\d+, 1\), expected int32 \(any, \d\)"),
        (wrong("tree_offsets", put(1, 4)), "coordinates: found quadrant 3 as the last one of tree 0, which it leaves incomplete"),
        (wrong("tree_offsets", put(1, 0)), "tree_offsets: number 1: found 0, expected more than 0"),
        (  # offsets whose differences overflow
            wrong("tree_offsets", put([1, 2], [2**62 + 1, -(2**62) - 1])),
            r"tree_offsets: number 1: found 4611686018427387905, expected more than 0, and \d+ at the end",
        ),
        (wrong("tree_offsets", put(0, 1)), "tree_offsets: number 0: found 1, expected 0"),
        (wrong("tree_offsets", put(-1, 1 << 62)), "tree_offsets: number 3: found 4611686018427387904, expected more than"),
        (wrong("tree_offsets", lambda a: a[:-1]), r"tree_offsets: found int64 \(3,\), expected int64 \(4\)"),
        (wrong("tree_to_vertex", put((1, 2), 99)), "tree_to_vertex: row 1: found 99, expected 0 to"),
        (wrong("tree_to_vertex", put((1, 2), -1)), "tree_to_vertex: row 1: found -1, expected 0 to"),
        (wrong("tree_to_vertex", lambda a: a[:2]), r"tree_to_vertex: found int32 \(2, \d\), expected int32 \(3, \d\)"),
        (wrong("vertices", lambda a: a[:, :2]), r"vertices: found float64 \(\d+, 2\), expected float64 \(any, 3\)"),
        (wrong("vertices", lambda a: np.resize(a, (2**20 + 30, 3))), r"vertices: found 1048606 vertices, expected at most"),
        (wrong("tree_to_tree", lambda a: a[:0]), r"tree_offsets: found int64 \(4,\), expected int64 \(1\)"),
    ],
)
@pytest.mark.parametrize("batch", [1, 1 << 20])
@pytest.mark.parametrize("dimension", [2, 3])
def test_what_is_damaged(
    dimension: int, batch: int, damage: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scda._mesh.BATCH", batch)
    brick, mesh = made(dimension)
    damage(brick, mesh)
    write(tmp_path / "f", brick, mesh)
    with scda.open(tmp_path / "f") as f, pytest.raises(scda.FormatError, match=f"/f: forest/{said}") as caught:
        scda.Forest(f)[0].mesh
    assert caught.value.offset is not None


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"scda_forest": 3, "dimension": 2}, "attribute scda_forest of 'forest': found 3, expected 1 or 2"),
        ({"scda_forest": True, "dimension": 2}, "attribute scda_forest of 'forest': found True, expected 1"),
        ({"scda_forest": 1}, "attribute dimension of 'forest': found None, expected 2 or 3"),
        ({"scda_forest": 1, "dimension": "2"}, "attribute dimension of 'forest': found '2', expected 2 or 3"),
        ({"dimension": 2}, "the file has no forest"),
    ],
)
def test_attributes(attributes: dict[str, Any], said: str, tmp_path: Path) -> None:
    with scda.create(tmp_path / "f") as w:
        w.group("forest", attributes)
    with scda.open(tmp_path / "f") as f, pytest.raises(ValueError, match=said):
        scda.Forest(f)


def test_trees_that_are_not_there_take_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks without bytes have the fill value: a file of a few KB claims any number of trees."""
    trees = 1 << 22
    with scda.create(tmp_path / "f") as w:
        forests.begin(w, 2)
        w.dataset("forest/tree_to_tree", shape=(trees, 4), dtype="i4", chunks=(1 << 18, 4))
        w.dataset("forest/coordinates", np.zeros((1, 2), "i4"))
        w.dataset("forest/level", np.zeros(1, "u1"))
        w.dataset("forest/tree_offsets", shape=trees + 1, dtype="i8", chunks=1 << 18)
    monkeypatch.setattr("scda._mesh.BATCH", 1 << 10)
    read = []
    original = scda.Dataset._read
    monkeypatch.setattr(
        scda.Dataset, "_read", lambda self, core, wanted: (read.append(wanted.shape), original(self, core, wanted))[1]
    )
    assert (tmp_path / "f").stat().st_size < 10000
    with scda.open(tmp_path / "f") as f, pytest.raises(scda.FormatError, match="tree_offsets: number 1: found 0"):
        scda.Forest(f)[0].mesh
    assert read == [(1 << 10,)]


def test_fields_and_geometry(tmp_path: Path) -> None:
    brick, mesh = made(2)
    with scda.create(tmp_path / "f") as w:
        forests.begin(w, 2)
        for part in ("tree_to_tree", "tree_to_face"):
            w.dataset(f"forest/{part}", getattr(brick, part))
        mesh.write(w)
        w.dataset("forest/fields/u", np.zeros(len(mesh) - 1))
        w.dataset("forest/fields/v", 1.0)
    with scda.open(tmp_path / "f") as f:
        forest = scda.Forest(f)
        for name in ("u", "v"):
            with pytest.raises(
                scda.FormatError, match=rf"fields/{name}: found shape .*, expected {len(mesh)} quadrants"
            ):
                forest[0].field(name)
        with pytest.raises(scda.FormatError, match="forest/vertices, the geometry of the trees, is missing"):
            forest[0].mesh.points_and_cells()
