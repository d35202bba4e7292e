"""Renders the dam break of examples/c/p4est_dam.c off-screen with VTK, from the file that `scda vtk` makes.

scda vtk dam.scda
python render_dam.py dam.vtkhdf water.png
"""

import argparse

import numpy as np
import pyvista
from PIL import Image

# Heights are small beside the width of the basin.
EXAGGERATION = 5
BAR = {"vertical": True, "position_x": 0.91, "position_y": 0.15, "height": 0.7, "width": 0.05}
TEXT = {"title_font_size": 17, "label_font_size": 15, "color": "black", "n_labels": 7, "fmt": "%.0f"}
AXES = {"xtitle": "x (m)", "ytitle": "y (m)", "show_zlabels": False, "n_xlabels": 5, "n_ylabels": 5, "fmt": "%.0f"}


def columns(mesh):
    """A column of water on each cell, as high as the water is deep."""
    corners = mesh.cells.reshape(-1, 5)[:, 1:]
    points = np.tile(mesh.points[corners], (1, 2, 1))
    points[:, 4:, 2] = EXAGGERATION * mesh["depth"][:, None]
    cells = {pyvista.CellType.HEXAHEDRON: np.arange(8 * len(corners)).reshape(-1, 8)}
    water = pyvista.UnstructuredGrid(cells, points.reshape(-1, 3))
    water["speed"] = np.linalg.norm(mesh["velocity"], axis=1)
    return water


def main():
    parser = argparse.ArgumentParser(description="The water after a dam break: columns as high as it is deep.")
    parser.add_argument("file", help="the file that `scda vtk` has made")
    parser.add_argument("picture", help="the file for the picture: .png")
    parser.add_argument("--step", type=int, default=-1, help="the time step; -1, the default, is the last one")
    arguments = parser.parse_args()

    reader = pyvista.get_reader(arguments.file)
    reader.reader.SetStep(range(reader.reader.GetNumberOfSteps())[arguments.step])
    mesh = reader.read()
    time = reader.reader.GetTimeValue()
    water = columns(mesh)

    plotter = pyvista.Plotter(off_screen=True, window_size=(1060, 560))
    plotter.set_background("white")
    look = {"cmap": "YlGnBu_r", "clim": (0, 6), "ambient": 0.35, "diffuse": 0.75}
    plotter.add_mesh(water, scalars="speed", scalar_bar_args={"title": "speed (m/s)\n", **BAR, **TEXT}, **look)
    plotter.add_mesh(water.copy(), style="wireframe", color="white", opacity=0.12, line_width=1)
    plotter.show_bounds(bounds=mesh.bounds, font_size=11, color="black", location="outer", ticks="outside", **AXES)
    title = f"A dam breaks: after {time:g} s, on {mesh.n_cells:,} cells."
    height = f"Height: depth of the water, times {EXAGGERATION}"
    plotter.add_text(f"{title} {height}", position="upper_edge", font_size=10, color="black")
    plotter.camera_position = [(-70, -210, 240), (112, 74, 0), (0, 0, 1)]
    plotter.camera.zoom(1.03)
    plotter.enable_anti_aliasing("ssaa")
    image = plotter.screenshot(return_img=True)
    # As many colours as a small picture needs.
    Image.fromarray(image).quantize(255, Image.Quantize.MAXCOVERAGE, kmeans=3).save(arguments.picture, optimize=True)
    print(f"{arguments.picture}: {mesh.n_cells} cells at {time:g} s")


if __name__ == "__main__":
    main()
