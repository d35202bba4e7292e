"""Lists the datasets of a file; then reads those that are named, in any order, and prints their sums.

    python3 datasets.py state.scda flow/p time flow/rho
"""

from __future__ import annotations

import sys

import scda


def list_datasets(f: scda.File) -> None:
    """A dataset with wrong metadata, or of a type that this library does not have, keeps no one from the others."""
    names: list[str] = []
    f.visit(names.append)
    for name in names:
        records = f.records(name)  # none of a group
        for record in range(len(records)):
            try:
                d = records[record]
            except scda.Error as error:
                print(f"{name}: cannot be read: {error}")
            else:
                print(f"{name}, record {record} of {len(records)}: {d.dtype} {d.shape}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: datasets.py FILE [NAME ...]")
    with scda.open(sys.argv[1]) as f:
        list_datasets(f)
        for name in sys.argv[2:]:
            print(f"{name}: sum {f[name, -1][...].sum():.1f}")  # all of the last one of this name
