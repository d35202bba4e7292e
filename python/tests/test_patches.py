"""Meshes of patches (docs/patches.md): written by the letter of the page, read by the package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda

# Two levels in 2D: a domain of 4 x 2 cells from (-2, 0) on, in two patches, and two finer patches in the first of them.
BOXES = np.array([[[-2, 0], [2, 2]], [[0, 0], [2, 2]], [[-4, 0], [2, 2]], [[-2, 0], [2, 4]]])
LEVEL = np.array([0, 0, 1, 1], np.int32)
RATIO = np.array([[1, 1], [2, 2]], np.int32)
DOMAIN = np.array([[-2, 0], [4, 2]])
GEOMETRY = np.array([[0.5, 1.0], [0.25, 0.5]])


def value(level: int, x: int, y: int, step: int = 0) -> float:
    return 1000.0 * step + 100.0 * level + 10.0 * y + x


def cells(boxes: Any, level: Any, step: int = 0) -> np.ndarray:
    """The values of all cells: patch after patch, x fastest."""
    return np.array(
        [
            value(int(on), x0 + i, y0 + j, step)
            for ((x0, y0), (nx, ny)), on in zip(boxes.tolist(), level)
            for j in range(ny)
            for i in range(nx)
        ]
    )


def write(path: Path, boxes: Any = BOXES, level: Any = LEVEL, **changes: Any) -> Path:
    with scda.create(path) as w:
        w.group("patches", {"scda_patches": 1, "dimension": 2, **changes.get("attributes", {})})
        for step, (own, on) in enumerate([(boxes, level), (boxes[:3], level[:3])]):
            w.dataset("patches/time", 0.5 * step, attrs={"units": "s"})
            w.dataset("patches/boxes", own)
            w.dataset("patches/level", on)
            w.dataset("patches/ratio", changes.get("ratio", RATIO))
            w.dataset("patches/domain", changes.get("domain", DOMAIN))
            w.dataset("patches/geometry", changes.get("geometry", GEOMETRY))
            rho = cells(own, on, step)
            w.dataset("patches/fields/rho", rho, attrs={"units": "kg m-3", **changes.get("field", {})})
            w.dataset("patches/fields/flow/u", np.stack([rho, -rho], axis=1))
    return path


def test_patches_are_read(tmp_path: Path) -> None:
    with scda.open(write(tmp_path / "p.scda")) as f:
        assert scda.patch_meshes(f) == ["patches"]
        p = scda.Patches(f)
        assert (len(p), p.dimension, p.times, p.units, p.fields) == (2, 2, [0.0, 0.5], "s", ["rho", "flow/u"])
        mesh = p[0].mesh
        assert (len(mesh), mesh.levels, mesh.offsets.tolist()) == (4, 2, [0, 4, 8, 12, 20])
        assert mesh.spacing(0).tolist() == [0.25, 0.5] and mesh.spacing(1).tolist() == [0.125, 0.25]
        assert p[0].patch("rho", 3).shape == (4, 2)
        assert p[0].patch("rho", 3)[2, 1] == value(1, -1, 2)
        assert p[0].patch("flow/u", 1)[0, 1].tolist() == [1.0, -1.0]
        whole = p[0].level("rho", 0)
        assert whole.tolist() == [[value(0, x, y) for x in range(-2, 2)] for y in range(2)]
        with pytest.raises(ValueError, match="level 1: found 12 of 16 cells"):
            p[0].level("rho", 1)
        fine = p[0].level("rho", 1, fill=np.nan)
        assert fine.shape == (4, 4) and np.isnan(fine[2:, :2]).all() and fine[3, 2] == value(1, -2, 3)
        # The patch of the last step is the first of the level.
        assert len(p[-1].mesh) == 3 and p[-1].level("rho", 1)[1, 1] == value(1, -3, 1, 1)
        assert p[1].field("none") is None
        with pytest.raises(KeyError, match="has no field 'none'"):
            p[1].patch("none", 0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"boxes": BOXES + [[[1, 0], [0, 0]]]}, "patch 1: found"),
        ({"level": LEVEL[::-1].copy()}, "patches/level: patch 2: found level"),
        ({"ratio": RATIO + 1}, "patches/ratio: level 0: found 2, expected"),
        ({"domain": DOMAIN * 0}, "patches/domain: axis 0: found 0 cells"),
        ({"geometry": -GEOMETRY}, "patches/geometry: axis 0: found cells of size"),
        ({"attributes": {"dimension": 4}}, "expected 1, 2 or 3"),
        ({"field": {"scda_mesh": "0" * 16}}, "that of the mesh"),
    ],
)
def test_wrong_patches_are_errors(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with scda.open(write(tmp_path / "p.scda", **changes)) as f, pytest.raises(scda.FormatError, match=words):
        scda.Patches(f)[0].patch("rho", 0)
