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
        code = {"float64": "d", "float32": "f", "int32": "i", "int64": "q", "uint8": "B", "int8": "b"}[kind]
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


def other(folder, scda):
    """A file with a mesh of the same name, to be shown beside the sample."""
    file = File(folder, "other")
    forest(file, "dam", 2, 6, 2, 3)
    return file.make(scda)


def sample(folder, scda):
    """Some of all kinds."""
    file = File(folder, "sample")
    file.sections.append({"type": "B", "user": "about this file", "data_text": "A file to look at.\nIts datasets are made up.\n"})
    file.sections.append({"type": "I", "user": HOSTILE[:30], "data_text": "<b>thirty-two bytes of text</b> "})
    file.group("/", title="what scda view shows")
    file.dataset("climate/temperature", "float64", [2, 2], range(4))
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
