"""Forests for the tests, written by the convention of docs/forest.md, without p4est."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

import numpy as np
import scda

BITS = 30


def refined(dimension: int, refine: Callable[[int, np.ndarray, int], bool], tree: int) -> tuple[list[Any], list[int]]:
    """Corners and levels of the quadrants of a tree, in the order of the Morton curve."""
    corners, levels = [], []

    def visit(corner: np.ndarray, level: int) -> None:
        edge = 1 << (BITS - level)
        if level < BITS and refine(tree, (corner + edge / 2) / (1 << BITS), level):
            for child in range(2**dimension):
                visit(corner + (edge // 2) * np.array([child >> a & 1 for a in range(dimension)]), level + 1)
        else:
            corners.append(corner)
            levels.append(level)

    visit(np.zeros(dimension, np.int64), 0)
    return corners, levels


@dataclass
class Brick:
    """Trees in a row along x, sheared and lifted so that no cell is parallel to the axes."""

    dimension: int
    trees: int

    def __post_init__(self) -> None:
        d = self.dimension
        grid = np.stack(np.meshgrid(*[[0, 1]] * (d - 1), np.arange(self.trees + 1), indexing="ij"), -1).reshape(-1, d)
        x = np.zeros((len(grid), 3))
        x[:, :d] = grid[:, ::-1]
        self.vertices = x + 0.1 * np.sin(x[:, [1, 2, 0]] + 2 * x[:, [2, 0, 1]])
        self.tree_to_vertex = np.array(
            [
                [(c & 1) + t + (self.trees + 1) * (c >> 1) for c in range(2**d)]
                for t in range(self.trees)
            ],
            np.int32,
        )  # fmt: skip
        self.tree_to_tree = np.repeat(np.arange(self.trees, dtype=np.int32)[:, None], 2 * d, 1)
        self.tree_to_face = np.tile(np.arange(2 * d, dtype=np.int8), (self.trees, 1))
        self.tree_to_tree[1:, 0] -= 1
        self.tree_to_tree[:-1, 1] += 1
        self.tree_to_face[1:, 0], self.tree_to_face[:-1, 1] = 1, 0

    def write(self, w: scda.Writer, name: str = "forest") -> None:
        for part in ("tree_to_tree", "tree_to_face", "vertices", "tree_to_vertex"):
            w.dataset(f"{name}/{part}", getattr(self, part))


@dataclass
class Quadrants:
    """The quadrants of all trees."""

    dimension: int
    trees: int
    refine: Callable[[int, np.ndarray, int], bool]

    def __post_init__(self) -> None:
        parts = [refined(self.dimension, self.refine, tree) for tree in range(self.trees)]
        self.coordinates = np.array([c for corners, _ in parts for c in corners], np.int32)
        self.level = np.array([n for _, levels in parts for n in levels], np.uint8)
        self.tree_offsets = np.cumsum([0, *(len(levels) for _, levels in parts)], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.level)

    def corners(self, brick: Brick) -> np.ndarray:
        """Where the corners of each quadrant are, shape (n, 2^d, 3): one after the other, by the definition."""
        d = self.dimension
        found = np.empty((len(self), 2**d, 3))
        for i in range(len(self)):
            tree = np.searchsorted(self.tree_offsets, i, "right") - 1
            for c in range(2**d):
                unit = [
                    (int(self.coordinates[i, a]) + (c >> a & 1) * (1 << BITS - int(self.level[i]))) / 2**BITS
                    for a in range(d)
                ]
                weights = [np.prod([unit[a] if v >> a & 1 else 1 - unit[a] for a in range(d)]) for v in range(2**d)]
                found[i, c] = np.array(weights) @ brick.vertices[brick.tree_to_vertex[tree]]
        return found

    def write(self, w: scda.Writer, name: str = "forest", **layout: Any) -> None:
        for part in ("coordinates", "level", "tree_offsets"):
            w.dataset(f"{name}/{part}", getattr(self, part), **layout)


def begin(w: scda.Writer, dimension: int, name: str = "forest") -> None:
    w.group(name, {"scda_forest": 1, "dimension": dimension})


def towards(*centre: float, finest: int) -> Callable[[int, np.ndarray, int], bool]:
    """Refines what is next to a point, in trees of a row along x: neighbours differ by one level or more."""

    def refine(tree: int, at: np.ndarray, level: int) -> bool:
        place = at + np.eye(len(at))[0] * tree
        return level < 1 or level < finest and float(np.abs(place - np.array(centre)).max()) < 1.1 * 0.5**level

    return refine
