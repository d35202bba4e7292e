"""Plotfiles of AMReX, written here by the description of their format, become meshes of patches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda
from scda.__main__ import main

ORDERS = {"<f8": range(8, 0, -1), ">f8": range(1, 9), "<f4": range(4, 0, -1), ">f4": range(1, 5)}
LAYOUTS = {8: "64 11 52 0 1 12 0 1023", 4: "32 8 23 0 1 9 0 127"}
NAMES = ["density", "x_velocity"]


def boxes_of(d: int) -> list[list[tuple[list[int], list[int]]]]:
    """Of each level: patches, by first and last cell."""
    coarse = [([0] * d, [3] + [3] * (d - 1)), ([4] + [0] * (d - 1), [7] + [3] * (d - 1))]
    fine = [([2] * d, [5] + [3] * (d - 1)), ([6] + [2] * (d - 1), [6] + [7] * (d - 1))]
    return [coarse, fine]


def value(component: int, level: int, cell: Any) -> float:
    return 1000.0 * component + 500.0 * level + sum(c * 10.0**a for a, c in enumerate(cell))


def text(box: tuple[list[int], list[int]]) -> str:
    join = [",".join(map(str, part)) for part in (*box, [0] * len(box[0]))]
    return "(({}) ({}) ({}))".format(*join)


def write(
    folder: Path, d: int = 3, dtype: str = "<f8", ghost: int = 0, one_file: bool = True, finest: int = 1
) -> Path:
    levels = boxes_of(d)[: finest + 1]
    domains = [([0] * d, [8 * 2**level - 1] + [4 * 2**level - 1] * (d - 1)) for level in range(finest + 1)]
    lines = ["HyperCLaw-V1.1", str(len(NAMES)), *NAMES, str(d), "0.125", str(finest)]
    lines += [
        " ".join(["0.5"] * d),
        " ".join(["2.5"] + ["1.5"] * (d - 1)),
        "2 " * finest,
        " ".join(map(text, domains)),
        "10 20"[: 3 * finest + 2],
    ]
    lines += [" ".join([str(0.25 / 2**level)] * d) for level in range(finest + 1)] + ["0", "0"]
    for level, boxes in enumerate(levels):
        lines += [f"{level} {len(boxes)} 0.125", "10"]
        lines += ["0 1"] * (d * len(boxes)) + [f"Level_{level}/Cell"]
        place = folder / f"Level_{level}"
        place.mkdir(parents=True)
        heads = []
        for number, box in enumerate(boxes):
            file = place / f"Cell_D_{0 if one_file else number:05d}"
            heads.append(f"FabOnDisk: {file.name} {file.stat().st_size if file.exists() else 0}")
            grown = ([a - ghost for a in box[0]], [b + ghost for b in box[1]])
            shape = [b - a + 1 for a, b in zip(*grown)]
            item = np.dtype(dtype)
            order = " ".join(map(str, ORDERS[dtype]))
            head = f"FAB (({8}, ({LAYOUTS[item.itemsize]})),({item.itemsize}, ({order}))){text(grown)} {len(NAMES)}\n"
            data = np.full((*shape, len(NAMES)), -1.0)
            for at in np.ndindex(*shape):
                cell = [a + i for a, i in zip(grown[0], at)]
                if all(a <= c <= b for a, c, b in zip(box[0], cell, box[1])):
                    data[at] = [value(component, level, cell) for component in range(len(NAMES))]
            with open(file, "ab") as out:
                out.write(head.encode() + data.astype(item).ravel(order="F").tobytes())
        of_cells = ["1", "1", str(len(NAMES)), str(ghost), f"({len(boxes)} 0", *map(text, boxes), ")", str(len(boxes))]
        (place / "Cell_H").write_text("\n".join([*of_cells, *heads, "", "0 0", ""]))
    (folder / "Header").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize(
    ("dtype", "ghost", "one_file"), [("<f8", 0, True), (">f4", 1, False), (">f8", 2, True), ("<f4", 0, False)]
)
def test_plotfiles_are_imported(tmp_path: Path, d: int, dtype: str, ghost: int, one_file: bool) -> None:
    folder = write(tmp_path / "plt00010", d, dtype, ghost, one_file)
    out = tmp_path / "plt.scda"
    assert main(["import", str(folder), str(out)]) == 0
    with scda.open(out) as f:
        assert f.attrs["imported"]["format"] == "AMReX" and f.attrs["imported"]["complete"]
        p = scda.Patches(f)
        assert (p.dimension, p.times, p.fields) == (d, [0.125], NAMES)
        mesh = p[0].mesh
        assert mesh.origin.tolist() == [0.5] * d and mesh.spacing(1).tolist() == [0.125] * d
        assert mesh.level.tolist() == [0, 0, 1, 1]
        number = 0
        for level, boxes in enumerate(boxes_of(d)):
            for first, last in boxes:
                for component, name in enumerate(NAMES):
                    found = p[0].patch(name, number)
                    assert found.dtype == np.dtype(dtype).newbyteorder("=")
                    assert found.shape == tuple(b - a + 1 for a, b in zip(first, last))[::-1]
                    for at in np.ndindex(*found.shape):
                        cell = [a + i for a, i in zip(first, at[::-1])]
                        assert found[at] == value(component, level, cell)
                number += 1


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("Header", "HyperCLaw-V1.1", "HyperCLaw-V2", "line 1: found 'HyperCLaw-V2', expected HyperCLaw-V1.1"),
        ("Header", "0.125\n1\n", "0.125\n7\n", "expected 7 ratios of refinement"),
        ("Header", "Level_1/Cell", "../Cell", "expected a path below the folder"),
        ("Level_0/Cell_H", "1\n1\n2", "4\n1\n2", "expected version 1, with a header before each FAB"),
        ("Level_0/Cell_H", "Cell_D_00000 0", "Cell_D_00000 999999", "expected at least 512 bytes there"),
        ("Level_1/Cell_H", "(6,2,2)", "(6,1,2)", "found cells"),
        ("Level_1/Cell_H", "((6,2,2) (6,7,7)", "((6,2,2) (6,7,9999999)", "expected cells of the domain"),
        ("Level_1/Cell_H", "((6,2,2) (6,7,7)", "((5,2,2) (6,7,7)", "found patches 0 and 1 with cells in common"),
        ("Level_1/Cell_H", "((6,2,2) (6,7,7)", "((6,2,--2) (6,7,7)", "expected a patch"),
        ("Level_1/Cell_H", "Cell_D_00000 0", "Cell_D_00000 \u00b2", "expected FabOnDisk: FILE OFFSET"),
        ("Level_1/Cell_H", "FabOnDisk: Cell_D_00000 0", "FabOnDisk: Cell\0D 0", "expected FabOnDisk: FILE OFFSET"),
        ("Header", "((0,0,0) (7,3,3)", "((0,0,0) (7,3,-3)", "expected the domain"),
        ("Header", "((0,0,0) (7,3,3)", "((0,0,0) (7,3,3,)", "expected the domain"),
        ("Header", "\n2 \n", "\n(2,) \n", "expected 1 ratios of refinement"),
        ("Header", "\n0 2 0.125\n", "\n0 \u00b2 0.125\n", "expected level 0, the number of its patches"),
        ("Header", "x_velocity", "density", "expected a name that no other variable has"),
        ("Level_1/Cell_D_00000", "FAB ((8, (64 11", "FAB ((8, (6411", "expected those of IEEE 754"),
        ("Level_1/Cell_D_00000", "((2,2,2) (5,3,3)", "((2,2,,) (5,3,3)", "expected the header of a FAB"),
        ("Level_1/Cell_D_00000", "((2,2,2) (5,3,3)", "((2,2,2) (5,3)", "found cells [2, 2, 2] to [5, 3]"),
        ("Level_1/Cell_D_00000", "(0,0,0)) 2\n", "(0,0,0)) 1\n", "found 1 variables, expected 2 or more"),
        ("Level_1/Cell_D_00000", "FAB ((8, (64 11", "FAB ((8, (64 15", "expected those of IEEE 754"),
        ("Level_1/Cell_D_00000", "FAB", "BAD", "expected the header of a FAB"),
    ],
)
def test_what_is_no_plotfile_is_an_error(
    tmp_path: Path, capsys: Any, file: str, old: str, new: str, words: str
) -> None:
    folder = write(tmp_path / "plt00010")
    path = folder / file
    data = path.read_bytes()
    assert old.encode() in data
    path.write_bytes(data.replace(old.encode(), new.encode(), 1))
    out = tmp_path / "plt.scda"
    assert main(["import", str(folder), str(out)]) == 1
    assert words in capsys.readouterr().err
    assert not out.exists()


def test_a_plotfile_may_have_one_level(tmp_path: Path) -> None:
    out = tmp_path / "plt.scda"
    assert main(["import", str(write(tmp_path / "plt", 2, finest=0)), str(out)]) == 0
    with scda.open(out) as f:
        step = scda.Patches(f)[0]
        assert step.mesh.levels == 1
        assert step.level("density", 0)[3, 7] == value(0, 0, (7, 3))


def test_a_plotfile_without_variables_has_cells_that_a_mesh_may_have(tmp_path: Path, capsys: Any) -> None:
    """No file bounds the number of cells then. None of these is written as a file that scda check calls invalid."""
    folder = write(tmp_path / "plt", 2, finest=0)
    header, cells = folder / "Header", folder / "Level_0/Cell_H"
    head = header.read_text().replace("2\ndensity\nx_velocity\n", "0\n").replace("0 2 0.125\n10\n0 1\n0 1\n", "0 1 0.125\n10\n")
    header.write_text(head.replace("((0,0) (7,3) (0,0))", "((-4,0) (1099511627775,3) (0,0))"))
    text = cells.read_text().replace("1\n1\n2\n0\n", "1\n1\n0\n0\n").replace("((4,0) (7,3) (0,0))\n", "")
    text = text.replace("(2 0", "(1 0").replace(")\n2\n", ")\n1\n")
    out = tmp_path / "plt.scda"
    for box, words in [("(-9,0) (1099511627000,3)", "expected cells of the domain"), ("(-4,0) (1099511627775,3)", "")]:
        cells.write_text(text.replace("((0,0) (3,3) (0,0))", f"({box} (0,0))"))
        code = main(["import", str(folder), str(out)])
        err = capsys.readouterr().err
        assert words in err and (code == 1) == bool(words) and out.exists() == (code == 0), err
    assert scda.check(out)


def test_files_from_private_ones_are_private(tmp_path: Path) -> None:
    folder = write(tmp_path / "plt", 2, finest=0)
    private = tmp_path / "private.scda"
    for mode in (0o700, 0o755):
        folder.chmod(mode)
        assert main(["import", str(folder), str(private), "--force"]) == 0
        assert private.stat().st_mode & 0o777 == mode & 0o644
        private.unlink()
