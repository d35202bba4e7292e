"""Draws a slice through the adaptive mesh of a checkpoint that c-examples/p4est_checkpoint.c has written.

    python plot_forest.py ball.scda forest.png

The checkpoint holds the cells of a forest of octrees, a state for each of them, and how the trees are joined. Where
a tree lies in space is said by its eight corners; here its cells are cut by the plane y = 0.2 as they lie there.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
import scda
from matplotlib.collections import PolyCollection
from matplotlib.colors import BoundaryNorm, ListedColormap

# Corner i of a cell is at i & 1, i >> 1 & 1, i >> 2 & 1; the edges join those that differ in one bit.
CORNERS = np.array([[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)])
EDGES = np.array([(i, i | bit) for i in range(8) for bit in (1, 2, 4) if not i & bit])


def tree_corners(connectivity):
    """Where the corners of each tree are in space, shape (trees, 8, 3), out of p8est_connectivity_deflate."""
    numbers = np.frombuffer(connectivity, "<u8", 8, 48)
    num_vertices, num_trees, num_edges, edge_ends, num_corners, corner_ends, attribute_bytes = map(int, numbers[:7])
    start = 112 + 24 * num_vertices + (48 * num_trees if num_edges else 0)
    length = start + num_trees * (32 + 24 + 6 + (32 if num_corners else 0) + attribute_bytes)
    length += 4 * (num_edges + 1) + 5 * edge_ends + 4 * (num_corners + 1) + 5 * corner_ends
    if not connectivity.startswith(b"p8est\0") or len(connectivity) != length:
        raise SystemExit("the connectivity is not what this version of p4est writes")
    vertices = np.frombuffer(connectivity, "<f8", 3 * num_vertices, 112).reshape(-1, 3)
    return vertices[np.frombuffer(connectivity, "<i4", 8 * num_trees, start).reshape(-1, 8)]


def root_length(last_cells):
    """The width of a tree in p8est's integer coordinates, which depends on the version of p4est. The last cell of a
    tree touches its far corner: its origin is that width less its own."""
    widths = {origin[0] * 2**level / (2**level - 1) for origin, level in last_cells.tolist() if level > 0}
    if len(widths) > 1:
        raise SystemExit("the cells do not fill the trees")
    return widths.pop() if widths else 1  # trees of one cell each, at 0


def read_forest(path):
    """The corners of the trees, the corners of all cells, their levels, and their states."""
    with scda.open(path) as f:
        trees = tree_corners(f["connectivity*"].read())
        cells_before = f["cells per tree*"].to_numpy("<i8")
        cells = f["cells: *"].to_numpy([("origin", "<i4", 3), ("level", "<i4")])
        state = f["state: *"].to_numpy([("density", "<f8"), ("momentum", "<f8", 3), ("energy", "<f8")])

        widths = 0.5 ** cells["level"]
        unit = cells["origin"][:, None] / root_length(cells[cells_before[1:] - 1]) + widths[:, None, None] * CORNERS
        corners = np.concatenate([place(tree, unit[i:j]) for tree, i, j in zip(trees, cells_before, cells_before[1:])])
        return trees, corners, cells["level"], state


def place(tree, unit):
    """From coordinates of 0 to 1 in a tree into space, as p8est_qcoord_to_vertex does."""
    weights = np.prod(np.where(CORNERS == 1, unit[..., None, :], 1 - unit[..., None, :]), axis=-1)
    return weights @ tree


def cut(corners, y):
    """Polygons in x and z where hexahedra are cut by the plane, and which ones are."""
    side = corners[:, :, 1] - y
    # A corner on the plane counts as one behind it: of two cells that meet in the plane, one is cut.
    tiny = 1e-12 * np.abs(corners).max()
    side[np.abs(side) < tiny] = tiny
    numbers = np.flatnonzero((side.min(1) < 0) & (side.max(1) > 0))
    polygons = []
    for corner, distance in zip(corners[numbers], side[numbers]):
        a, b = EDGES[distance[EDGES[:, 0]] * distance[EDGES[:, 1]] < 0].T
        part = (distance[a] / (distance[a] - distance[b]))[:, None]
        points = (corner[a] + part * (corner[b] - corner[a]))[:, ::2]
        around = points - points.mean(0)
        polygons.append(points[np.argsort(np.arctan2(around[:, 1], around[:, 0]))])
    return polygons, numbers


def draw(axes, polygons, tree_polygons, values, title, **colors):
    mesh = PolyCollection(polygons, array=values, edgecolors=(0, 0, 0, 0.55), linewidths=0.18, **colors)
    axes.add_collection(mesh)
    axes.add_collection(PolyCollection(tree_polygons, facecolors="none", edgecolors="black", linewidths=1.2))
    points = np.concatenate(tree_polygons)
    (x0, z0), (x1, z1) = points.min(0) - 0.04, points.max(0) + 0.04
    axes.set(title=title, xlabel="$x$", aspect="equal", xlim=(x0, x1), ylim=(z0, z1))
    axes.spines[["top", "right"]].set_visible(False)
    return mesh


def main():
    parser = argparse.ArgumentParser(description="A slice through the adaptive mesh of a checkpoint.")
    parser.add_argument("checkpoint", help="a file that p4est_checkpoint has written")
    parser.add_argument("picture", help="the file for the picture: .png, .pdf, .svg")
    parser.add_argument("--y", type=float, default=0.2, help="where the plane is (default: 0.2)")
    arguments = parser.parse_args()

    trees, corners, level, state = read_forest(arguments.checkpoint)
    polygons, numbers = cut(corners, arguments.y)
    tree_polygons, _ = cut(trees, arguments.y)
    if not polygons:
        raise SystemExit(f"the plane y = {arguments.y} does not meet the mesh")

    plt.rcParams.update({"font.size": 10, "axes.titlesize": 12, "axes.titleweight": "medium"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.6, 4.9), sharey=True, layout="constrained")
    levels = np.arange(level.min(), level.max() + 1)
    mesh = draw(
        left, polygons, tree_polygons, level[numbers], "Refinement level",
        cmap=ListedColormap(plt.get_cmap("YlGnBu")(np.linspace(0.08, 0.92, len(levels)))),
        norm=BoundaryNorm(np.append(levels, levels[-1] + 1) - 0.5, len(levels)),
    )  # fmt: skip
    bar = figure.colorbar(mesh, ax=left, ticks=levels, label=r"level: a cell is $2^{-\mathrm{level}}$ of a tree wide")
    bar.ax.tick_params(which="both", length=0)
    left.set_ylabel("$z$")
    speed = np.linalg.norm(state["momentum"][numbers], axis=1)
    mesh = draw(right, polygons, tree_polygons, speed, "Momentum of the gas", cmap="viridis")
    figure.colorbar(mesh, ax=right, label=r"$|\rho\,v|$")
    figure.suptitle(
        f"A ball in {len(trees)} octrees, {len(level):,} cells: the plane $y = {arguments.y:g}$ cuts "
        f"{len(tree_polygons)} trees and {len(polygons):,} cells"
    )
    figure.get_layout_engine().set(h_pad=0.1, wspace=0.03)
    figure.savefig(arguments.picture, dpi=150)
    print(f"{arguments.picture}: {len(polygons)} of {len(level)} cells")


if __name__ == "__main__":
    main()
