"""Particles (docs/particles.md): written by the letter of the page, read by the package, and by VTK."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda

ATOM = np.dtype([("position", "f8", (2,)), ("mass", "f4"), ("species", "S4")])
# Two steps: 5 particles in 3 cells, of which one is empty; then 2.
OFFSETS = [np.array([0, 2, 2, 5]), np.array([0, 0, 1, 2])]


def atoms(count: int, step: int) -> np.ndarray:
    made = np.zeros(count, ATOM)
    made["position"] = np.arange(2 * count).reshape(count, 2) + 0.5 * step
    made["mass"] = np.arange(count) + 1
    made["species"] = b"ion"
    return made


def write(path: Path, **changes: Any) -> Path:
    with scda.create(path) as w:
        w.group("particles", {"scda_particles": 1, "mesh": "forest", **changes.get("attributes", {})})
        for step, offsets in enumerate(OFFSETS):
            count = int(offsets[-1])
            w.dataset("particles/time", 0.5 * step, attrs={"units": "s"})
            w.dataset("particles/offsets", changes.get("offsets", offsets))
            w.dataset("particles/fields/atoms", atoms(count, step))
            w.dataset("particles/fields/charge", np.arange(count) - 1.0)
    return path


def test_particles_are_read(tmp_path: Path) -> None:
    with scda.open(write(tmp_path / "p.scda")) as f:
        assert scda.particle_groups(f) == ["particles"]
        p = scda.Particles(f)
        assert (len(p), p.mesh, p.times, p.units, p.fields) == (2, "forest", [0.0, 0.5], "s", ["atoms", "charge"])
        assert [len(step) for step in p] == [5, 2]
        assert p[0].cell("charge", 2).tolist() == [1.0, 2.0, 3.0] and len(p[0].cell("atoms", 1)) == 0
        assert p[-1].cell("atoms", 2)["mass"].tolist() == [2.0]
        assert list(p[0].columns()) == ["position", "mass", "species", "charge"]
        assert p[1].column("mass").tolist() == [1.0, 2.0]
        assert p[1].position().tolist() == [[0.5, 1.5, 0.0], [2.5, 3.5, 0.0]]
        assert p[0].field("none") is None
        with pytest.raises(KeyError, match="has no field 'none'"):
            p[0].cell("none", 0)
        with pytest.raises(IndexError, match="cell 3: found 3"):
            p[0].cell("charge", 3)


def test_particles_without_times_share_those_of_their_mesh(tmp_path: Path) -> None:
    path = tmp_path / "p.scda"
    with scda.create(path) as w:
        w.group("particles", {"scda_particles": 1, "mesh": "forest"})
        w.group("forest", {})
        for step in range(3):
            w.dataset("forest/time", 0.5 * step, attrs={"units": "s"})
            w.dataset("forest/fields/rho", np.zeros(3))
            if step != 1:  # a step without new particles
                w.dataset("particles/offsets", OFFSETS[step // 2])
                w.dataset("particles/fields/atoms", atoms(int(OFFSETS[step // 2][-1]), step))
    with scda.open(path) as f:
        p = scda.Particles(f)
        assert (p.times, p.units, [len(step) for step in p]) == ([0.0, 0.5, 1.0], "s", [5, 5, 2])
        assert [step.field("atoms") is None for step in p] == [False, True, False]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"offsets": np.array([1, 2, 2, 5])}, "particles/offsets: cell 0: found particles 1 to 2"),
        ({"offsets": np.array([0, 2, 1, 5])}, "cell 1: found particles 2 to 1"),
        ({"offsets": np.array([0])}, "particles/offsets: found"),
        ({"offsets": np.array([0, 5], "i4")}, "expected int64"),
        ({"offsets": np.array([0, 2, 2, 4])}, "expected 4 particles in the first dimension"),
        ({"attributes": {"scda_particles": "1"}}, "attribute scda_particles"),
    ],
)
def test_wrong_particles_are_errors(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with scda.open(write(tmp_path / "p.scda", **changes)) as f, pytest.raises(scda.FormatError, match=words):
        scda.Particles(f)[0].cell("charge", 0)
