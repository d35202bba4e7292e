"""Lists the datasets of a file; then reads those that are named, in any order, and prints their sums.

    python3 datasets.py state.scda flow/p time flow/rho
"""

from __future__ import annotations

import sys

import scda


def list_datasets(f: scda.File) -> None:
    """A dataset with wrong metadata, or of a type that this library does not have, keeps no one from the others."""
    for entry in f.entries():
        if entry.kind == "dataset":
            d = entry.content
            print(f"{entry.name}, record {entry.record} of {entry.records}: {d.dtype} {d.shape}")
        elif entry.kind == "unknown":
            print(f"{entry.name}: cannot be read: {entry.content}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: datasets.py FILE [NAME ...]")
    with scda.open(sys.argv[1]) as f:
        list_datasets(f)
        for name in sys.argv[2:]:
            print(f"{name}: sum {f[name][...].sum():.1f}")  # all of the last one of this name
