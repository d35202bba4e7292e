"""Draws a time step of the dam break that examples/c/p4est_dam.c has computed: depth and speed of the water, and the mesh.

python plot_forest.py dam.scda dam.png
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
import scda
from matplotlib.collections import LineCollection, PolyCollection

# Around a quadrant, whose corners have x varying fastest; and the two corners of each of its faces: -x, +x, -y, +y.
AROUND = [0, 1, 3, 2]
FACES = [[0, 2], [1, 3], [0, 1], [2, 3]]


def walls(forest):
    """The faces of trees that lead to no other tree, as lines: the banks of the basin, and the dam."""
    joined = forest.file[f"{forest.name}/tree_to_tree"][:]
    alone = joined == np.arange(len(joined))[:, None]
    corners = forest[-1].mesh.tree_corners[:, :, :2]
    return np.concatenate([corners[alone[:, face]][:, FACES[face]] for face in range(4)])


def draw(axes, polygons, values, label, lines, edges, **colors):
    """Cells coloured by their values."""
    # Without edges of their own, neighbours would let the background shine through.
    border = {"edgecolors": (1, 1, 1, 0.35), "linewidths": 0.25} if edges else {"edgecolors": "face", "linewidths": 0.2}
    cells = axes.add_collection(PolyCollection(polygons, array=values, **border, **colors))
    axes.add_collection(LineCollection(lines, colors="black", linewidths=2.2, capstyle="projecting"))
    (x0, y0), (x1, y1) = polygons.min((0, 1)), polygons.max((0, 1))
    axes.set(aspect="equal", xlim=(x0 - 2, x1 + 2), ylim=(y0 - 2, y1 + 2), xlabel="$x$ (m)")
    axes.spines[:].set_visible(False)
    axes.figure.colorbar(cells, ax=axes, label=label, shrink=0.9, pad=0.02)


def main():
    parser = argparse.ArgumentParser(description="Depth and speed of the water after a dam break.")
    parser.add_argument("file", help="a file that p4est_dam has written")
    parser.add_argument("picture", help="the file for the picture: .png, .pdf, .svg")
    parser.add_argument("--step", type=int, default=-1, help="the time step; -1, the default, is the last one")
    arguments = parser.parse_args()

    with scda.open(arguments.file) as f:
        forest = scda.Forest(f)
        step = forest[arguments.step]
        points, cells = step.mesh.points_and_cells()
        polygons = points[cells[:, AROUND]][..., :2]
        depth = step.field("depth")[:]
        speed = np.linalg.norm(step.field("velocity")[:], axis=1)
        lines, units, level = walls(forest), forest.units, step.mesh.level[:]

    figure, (left, right) = plt.subplots(1, 2, figsize=(10.6, 4.9), sharey=True, layout="constrained")
    draw(left, polygons, depth, "depth of the water (m)", lines, False, cmap="YlGnBu")
    draw(right, polygons, speed, "speed of the water (m/s)", lines, True, cmap="viridis")
    left.set_ylabel("$y$ (m)")
    figure.suptitle(
        f"A dam breaks: after {step.time:g} {units}, on {len(cells):,} cells of level {level.min()} to {level.max()}"
    )
    figure.savefig(arguments.picture, dpi=100)
    print(f"{arguments.picture}: {len(cells)} cells at {step.time:g} {units}")


if __name__ == "__main__":
    main()
