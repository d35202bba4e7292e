"""The files that the tests of `scda view` show, made by `scda make`."""

import json
import math
import subprocess
from array import array

TREE = 1 << 30
HOSTILE = '<img src=x onerror="document.title=1">&amp;'


class File:
    """The description of a file, and the data beside it."""

    def __init__(self, folder, name):
        self.folder, self.name, self.sections = folder, name, []

    def group(self, path, **attributes):
        self.sections.append({"type": "G", "user": path, "attributes": attributes})

    def dataset(self, name, kind, shape, values, names=None, chunk=None, **attributes):
        code = {"datetime64[ns]": "q", "float64": "d", "complex128": "d", "float32": "f", "int32": "i", "int64": "q", "uint8": "B", "int8": "b", "int16": "h"}[kind]
        data = f"{self.name}.{len(self.sections)}"
        (self.folder / data).write_bytes(array(code, values).tobytes())
        section = {"type": "D", "user": name, "data_type": kind, "shape": list(shape), "attributes": attributes, "data_file": data}
        if names:
            section["dimension_names"] = names
        if chunk:
            section["chunk"] = chunk
        self.sections.append(section)

    def make(self, scda):
        description = self.folder / f"{self.name}.json"
        description.write_text(json.dumps({"user": "for scda view", "sections": self.sections}))
        path = self.folder / f"{self.name}.scda"
        subprocess.run([scda, "make", "--force", "--seal", description, path], check=True)
        return path


def forest(file, group, dimension, finest, least, steps=1):
    """One tree, refined around a ball."""
    cells = []

    def add(corner, level):
        size = TREE >> level
        middle = [(c + size / 2) / TREE for c in corner]
        far = abs(math.dist(middle, [0.3] * dimension) - 0.25)
        if level < finest and (level < least or far < 1.1 / (1 << level)):
            for child in range(1 << dimension):
                add([c + (size // 2) * (child >> k & 1) for k, c in enumerate(corner)], level + 1)
        else:
            cells.append((corner, level, middle))

    add([0] * dimension, 0)
    n, faces = len(cells), 2 * dimension
    file.group(group, scda_forest=1, dimension=dimension)
    file.dataset(f"{group}/tree_to_tree", "int32", [1, faces], [0] * faces)
    file.dataset(f"{group}/tree_to_face", "int8", [1, faces], range(faces))
    corners = [[2 * (c & 1), c >> 1 & 1, c >> 2] for c in range(1 << dimension)]
    file.dataset(f"{group}/vertices", "float64", [len(corners), 3], [x for corner in corners for x in corner])
    file.dataset(f"{group}/tree_to_vertex", "int32", [1, len(corners)], range(len(corners)))
    file.dataset(f"{group}/coordinates", "int32", [n, dimension], [c for corner, *_ in cells for c in corner])
    file.dataset(f"{group}/level", "uint8", [n], [level for _, level, _ in cells])
    file.dataset(f"{group}/tree_offsets", "int64", [2], [0, n])
    for step in range(steps):
        file.dataset(f"{group}/time", "float64", [], [step / 10])
        values = [math.sin(6 * m[0] + step) * math.cos(5 * m[1]) for *_, m in cells]
        file.dataset(f"{group}/fields/height", "float64", [n], values, ["quadrant"], units="m", long_name="height of the water")
    file.dataset(f"{group}/fields/velocity", "float32", [n, 2], [v for *_, m in cells for v in (m[1] - 0.5, 0.5 - m[0])], ["quadrant", "axis"])
    return cells


def patches(file, group):
    """Three levels of patches, and particles in them."""
    boxes, levels = [[0, 0, 16, 16], [16, 0, 16, 16], [8, 8, 16, 8], [24, 8, 16, 24], [50, 30, 28, 30]], [0, 0, 1, 1, 2]
    values = [level + x / 100 for (_, _, nx, ny), level in zip(boxes, levels) for y in range(ny) for x in range(nx)]
    file.group(group, scda_patches=1, dimension=2)
    file.dataset(f"{group}/boxes", "int64", [5, 2, 2], [n for box in boxes for n in box])
    file.dataset(f"{group}/level", "int32", [5], levels)
    file.dataset(f"{group}/ratio", "int32", [3, 2], [1, 1, 2, 2, 2, 2])
    file.dataset(f"{group}/domain", "int64", [2, 2], [0, 0, 32, 16])
    file.dataset(f"{group}/geometry", "float64", [2, 2], [0, 0, 1 / 16, 1 / 16])
    file.dataset(f"{group}/fields/rho", "float64", [len(values)], values)
    file.group("dust", scda_particles=1)
    places = [(math.cos(k), math.sin(2 * k)) for k in range(50)]
    file.dataset("dust/offsets", "int64", [2], [0, len(places)])
    file.dataset("dust/fields/position", "float64", [len(places), 2], [c for place in places for c in place])
    file.dataset("dust/fields/mass", "float64", [len(places)], range(len(places)), units="kg")
    return boxes, levels, places


def temperature(lat, lon, record):
    values = []
    for y in lat:
        for x in lon:
            value = 14 + 14 * math.cos(math.radians(2 * y)) + 4 * math.sin(math.radians(3 * x + 30 * record))
            values.append(float("nan") if 100 < x < 130 and -40 < y < -15 else value)
    return values


def other(folder, scda):
    """A file with datasets of the same names, to be shown beside the sample."""
    file = File(folder, "other")
    lat, lon = [89 - 2 * k for k in range(90)], [2 * k + 1 for k in range(180)]
    file.dataset("climate/lat", "float64", [90], lat, ["lat"], units="degrees_north")
    file.dataset("climate/lon", "float64", [180], lon, ["lon"], units="degrees_east")
    for record in range(3):
        values = [value + y / 16 for value, y in zip(temperature(lat, lon, record), [y for y in lat for _ in lon])]
        file.dataset("climate/temperature", "float32", [90, 180], values, ["lat", "lon"], units="degC", long_name="air temperature")
    file.dataset("flow/density", "float64", [2, 2, 2], range(8))
    file.dataset("signal", "float64", [5000], [math.sin(k / 80) * math.exp(-k / 2500) + k / 10000 for k in range(5000)], ["sample"], units="V")
    forest(file, "dam", 2, 6, 2, 3)
    return file.make(scda)


def sample(folder, scda):
    """Some of all kinds."""
    file = File(folder, "sample")
    file.sections.append({"type": "B", "user": "about this file", "data_text": "A file to look at.\nIts datasets are made up.\n"})
    file.sections.append({"type": "I", "user": HOSTILE[:30], "data_text": "<b>thirty-two bytes of text</b> "})
    ny, nx = 90, 180
    lat, lon = [89 - 2 * k for k in range(ny)], [2 * k + 1 for k in range(nx)]
    file.group("/", title="what scda view shows")
    file.dataset("climate/lat", "float64", [ny], lat, ["lat"], units="degrees_north")
    file.dataset("climate/lon", "float64", [nx], lon, ["lon"], units="degrees_east")
    for record in range(4):
        file.dataset("climate/temperature", "float32", [ny, nx], temperature(lat, lon, record), ["lat", "lon"], units="degC", long_name="air temperature")
    cube = [(z + 1) * math.exp(-((x - 16) ** 2 + (y - 12) ** 2) / 60) for z in range(8) for y in range(24) for x in range(32)]
    file.dataset("flow/density", "float64", [8, 24, 32], cube, ["z", "y", "x"], [4, 12, 16], units="kg m-3")
    file.dataset("wide", "uint8", [400, 4000], bytes(range(200)) * 8000, units="m")
    file.dataset("flow/x", "float64", [32], [0.5 * k for k in range(32)], ["x"], units="m")
    file.dataset("signal", "float64", [5000], [math.sin(k / 80) * math.exp(-k / 2500) for k in range(5000)], ["sample"], units="V")
    turns = [(math.cos(k / 5), math.sin(k / 5)) for k in range(12)]
    file.dataset("wave", "complex128", [12], [(1 + k) * part for k, turn in enumerate(turns) for part in turn], ["sample"], units="V")
    for record in range(20):
        file.dataset("energy", "float64", [], [1 / (record + 1)], units="J")
    # Hours since a date, and moments.
    file.dataset("series/time", "float64", [200], [6 * k for k in range(200)], ["time"], units="hours since 2000-02-01", calendar="360_day")
    file.dataset("series/level", "float64", [200, 4], [k + z for k in range(200) for z in range(4)], ["time", "z"], units="m")
    file.dataset("series/stamp", "datetime64[ns]", [200], [10**18 + k * 3600 * 10**9 for k in range(200)], ["time"])
    file.dataset("packed", "int16", [4, 5], range(20), ["row", "column"], scale_factor=0.5, add_offset=100.0)
    file.dataset(f"hostile/{HOSTILE[:45]}", "float64", [3, 3], range(9), ["<script>", "<b>"], units=HOSTILE, long_name="<script>alert(1)</script>")
    cells = forest(file, "dam", 2, 7, 3, 3)
    forest(file, "ball", 3, 5, 2)
    file.group("roof", scda_cells=1, title="two triangles and a square")
    file.dataset("roof/points", "float64", [6, 3], [0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0.5, 0, 1, 0.5, 1, 1])
    file.dataset("roof/cell_points", "int64", [10], [0, 1, 4, 2, 3, 5, 0, 1, 3, 2])
    file.dataset("roof/cell_offsets", "int64", [4], [0, 3, 6, 10])
    file.dataset("roof/cell_types", "uint8", [3], [5, 5, 9])
    file.dataset("roof/cell_fields/temperature", "float64", [3], [290, 291, 285], units="K")
    drawn = patches(file, "amr")
    return file.make(scda), cells, drawn


if __name__ == "__main__":
    import pathlib
    import sys

    print(sample(pathlib.Path(sys.argv[1]), sys.argv[2])[0])
