"""compare.py FILE...: whether h5py reads what scda has read of each file. Beside it are "names", the names of its datasets, a line for each,
and their items, in files with the numbers of the lines."""

import os
import sys

import h5py
import numpy as np

try:
    import hdf5plugin  # noqa: F401
except ImportError:
    pass


def compare(path):
    folder = os.path.dirname(path)
    with h5py.File(path, "r") as f:
        for n, name in enumerate(open(folder + "/names", encoding="utf-8").read().split("\n")):
            d = f[name]
            expected = open(f"{folder}/{n}", "rb").read()
            try:
                found = d[()]
            except OSError as error:
                if "filter" in str(error) or "plugin" in str(error):
                    continue
                raise
            assert np.asarray(found, d.dtype).tobytes() == expected, (path, name, d.dtype, found)


for path in sys.argv[1:]:
    compare(path)
