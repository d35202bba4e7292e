"""coverage.py LINES.lcov: what scripts/coverage.sh shows, from the lines that llvm-cov exports."""

import os
import sys
from collections import defaultdict

# Whoever writes such a file may be an enemy: these read what others have written.
PARSERS = (
    "crates/format/",
    *(f"crates/codec/src/{name}" for name in ("base64", "chunk", "element", "inflate", "texts")),
    *(f"src/file/reader/{name}" for name in ("chain", "index", "lookup", "recovery scan")),
)
# ffi-tests, and tests with MPI, run these.
LEFT_OUT = ("..", "crates/c/", "crates/libsc/", "crates/ranks/src/mpi", "crates/storage/src/mpi_io")


def lines_of(lcov: str) -> dict[str, dict[int, int]]:
    """The lines of each file, and how often they ran."""
    found: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    with open(lcov, encoding="utf-8") as text:
        for line in text:
            key, _, value = line.strip().partition(":")
            if key == "SF":
                path = os.path.relpath(value)
            elif key == "DA":
                number, count = value.split(",")[:2]
                found[path][int(number)] += int(count)
    return found


folders, missed = defaultdict(lambda: [0, 0]), []
for path, counts in sorted(lines_of(sys.argv[1]).items()):
    if path.startswith(LEFT_OUT) or path.endswith(("tests.rs", "proofs.rs")):
        continue
    with open(path, encoding="utf-8") as source:
        text = source.read().split("\n#[cfg(test)]\nmod tests {")[0].split("\n")
    folder = "/".join(path.removesuffix(".rs").split("/")[:2])
    for number, count in sorted(counts.items()):
        if number <= len(text):
            folders[folder][0] += count > 0
            folders[folder][1] += 1
            if count == 0 and path.startswith(PARSERS):
                missed.append(f"{path}:{number}: {text[number - 1].strip()}")
print("| folder | lines | run by the tests |\n| --- | --- | --- |")
for name, (ran, lines) in sorted(folders.items()):
    print(f"| `{name}` | {lines} | {100 * ran / lines:.1f} % |")
print(f"\n{len(missed)} lines of the parsers that no test runs:", *missed, sep="\n")
