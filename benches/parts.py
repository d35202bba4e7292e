"""Parts of datasets that Python reads, beside h5py: processor time, in one run.

python benches/parts.py [FOLDER]: writes two files with the same arrays there, by default in the folder for temporary files, and reads
the same parts of both. Each figure is the least of several rounds, in which the two take turns.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

import h5py
import numpy as np
import scda

ROUNDS = 7
CHUNKS = (100, 200)
PLACES = [(int(a), int(b)) for a, b in np.random.default_rng(1).integers(0, 900, (1000, 2))]

# What is read, of which array, and an index for each place.
CASES: list[tuple[str, str, Callable[[int, int], Any]]] = [
    ("1000 times `a[i, j]`", "flat", lambda i, j: (i, j)),
    ("1000 boxes of 10 x 10", "flat", lambda i, j: np.s_[i : i + 10, j : j + 10]),
    ("1000 boxes of 10 x 10", "chunked", lambda i, j: np.s_[i : i + 10, j : j + 10]),
    ("1000 times `a[i:k:10]`, 100 items, near each other", "line", lambda i, j: np.s_[i : i + 1000 : 10]),
    ("1000 times `a[i:k:10]`, 100 items, anywhere", "line", lambda i, j: np.s_[10000 * i : 10000 * i + 1000 : 10]),
    ('1000 times `f["a"][i:k:10]`, 100 items, anywhere', "line", lambda i, j: np.s_[10000 * i : 10000 * i + 1000 : 10]),
    ('1000 boxes of 10 x 10, `f["a"][i:k, j:l]`', "flat", lambda i, j: np.s_[i : i + 10, j : j + 10]),
    ("1000 times `a[i:k:10, j]`, 10 items", "flat", lambda i, j: np.s_[i : i + 100 : 10, j]),
    ("1000 times `a[i:k:2, j:l:3]`, 7 x 5 items", "flat", lambda i, j: np.s_[i : i + 14 : 2, j : j + 15 : 3]),
]
# The same of the whole array, once.
WHOLE: list[tuple[str, str, Any]] = [
    ("`a[::10]`", "line", np.s_[::10]),
    ("`a[::1000]`", "line", np.s_[::1000]),
    ("`a[::50]`", "flat", np.s_[::50]),
    ("`a[::50]`", "chunked", np.s_[::50]),
    ("`a[100:900:2, 100:900:3]`", "flat", np.s_[100:900:2, 100:900:3]),
    ("`a[100:900:2, 100:900:3]`", "chunked", np.s_[100:900:2, 100:900:3]),
]
ARRAYS = {"line": "10^7", "flat": "1000 x 2000", "chunked": f"1000 x 2000 in chunks of {CHUNKS[0]} x {CHUNKS[1]}"}


def write(folder: Path) -> tuple[Path, Path]:
    line, flat = np.arange(1e7), np.arange(2e6).reshape(1000, 2000)
    ours, theirs = folder / "parts.scda", folder / "parts.h5"
    with scda.create(ours) as w:
        w.dataset("line", line)
        w.dataset("flat", flat)
        w.dataset("chunked", flat, chunks=CHUNKS, codec="zlib", level=4)
    with h5py.File(theirs, "w", libver="latest") as h:
        h["line"], h["flat"] = line, flat
        h.create_dataset("chunked", data=flat, chunks=CHUNKS, compression="gzip", compression_opts=4, shuffle=True)
    return ours, theirs


def seconds(dataset: Any, keys: list[Any]) -> float:
    begin = time.process_time()
    for key in keys:
        dataset[key]
    return time.process_time() - begin


class ByName:
    """An array of a file that is looked up for each index."""

    def __init__(self, file: Any, name: str) -> None:
        self._file, self._name = file, name

    def __getitem__(self, key: Any) -> Any:
        return self._file[self._name][key]


def main(folder: Path) -> None:
    ours, theirs = write(folder)
    print("| what | of | libscda, ms | h5py, ms | ratio |\n| --- | --- | --- | --- | --- |")
    with scda.open(ours, threads=1) as f, h5py.File(theirs, "r") as h:
        cases = [(what, name, [key(*place) for place in PLACES]) for what, name, key in CASES]
        for what, name, keys in [*cases, *((what, name, [key]) for what, name, key in WHOLE)]:
            both = (ByName(f, name), ByName(h, name)) if "`f[" in what else (f[name], h[name])
            assert all(np.array_equal(both[0][key], both[1][key]) for key in keys), what
            pairs = [[seconds(dataset, keys) for dataset in both] for _ in range(ROUNDS)]
            own, other = (min(each) for each in zip(*pairs))
            print(f"| {what} | {ARRAYS[name]} | {1e3 * own:.2f} | {1e3 * other:.2f} | {own / other:.2f} |", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as name:
        main(Path(name))
