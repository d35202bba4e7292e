#!/usr/bin/env python3
"""version.py: prints the version, that of Cargo.toml. version.py set VERSION DATE: changes it wherever it stands, and closes the
section "Unreleased" of the changelog. version.py notes: what the changelog says of this version, and how it is installed."""

import re
import subprocess
import sys
from email.utils import format_datetime
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# These tell what was, or are files that a version has written, or have the versions of others.
NOT_OURS = (
    *("CHANGELOG.md", "Cargo.lock", "packaging/LICENSES-CRATES.txt", "python/sbom", "benches/records/", "tests/"),
    *("packaging/debian/changelog", "packaging/spack/package.py"),
)
ANSWERS = "C API:", "ABI:", "File format:", "Error codes:", "Oldest Rust:"
# What the section for the next version begins with.
UNCHANGED = "C API: as before. ABI: as before. File format: as before. Error codes: as before. Oldest Rust: as\nbefore."


def version():
    return re.search(r'^version = "(\d+\.\d+\.\d+)"$', (ROOT / "Cargo.toml").read_text(), re.M)[1]


def change(path, pattern, new, count=None):
    """Replaces all that fits the pattern in a file, in which it must be."""
    text, found = re.subn(pattern, new, (ROOT / path).read_text(), flags=re.M)
    if not found or count not in (None, found):
        sys.exit(f"{path}: found {found} times {pattern}, expected {count or 'some'}")
    (ROOT / path).write_text(text)


def set_version(new, date):
    if not re.fullmatch(r"\d+\.\d+\.\d+", new) or not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        sys.exit(f"found {new} {date}, expected a version X.Y.Z and a date YYYY-MM-DD")
    old = version()
    is_first = "## Unreleased: " in (ROOT / "CHANGELOG.md").read_text()
    as_numbers = [[int(number) for number in text.split(".")] for text in (old, new)]
    if as_numbers[1] < as_numbers[0] or (as_numbers[0] == as_numbers[1] and not is_first):
        sys.exit(f"found version {new}, expected one later than {old}")
    quoted, minor = re.escape(old), re.escape(old.rpartition(".")[0])
    change("Cargo.toml", rf'^version = "{quoted}"', f'version = "{new}"', 1)
    change("Cargo.toml", rf'"={quoted}"', f'"={new}"')
    subprocess.run(["cargo", "metadata", "--offline", "--format-version=1"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([ROOT / "scripts/crates.py", "update"], check=True)
    change("packaging/conda/recipe.yaml", rf'^  version: "{quoted}"$', f'  version: "{new}"', 1)
    main = '    version("main", branch="main")'
    change("packaging/spack/package.py", rf"^{re.escape(main)}$", f'{main}\n    version("{new}", tag="v{new}")', 1)
    change("packaging/easybuild/libscda.eb", rf"^version = '{quoted}'", f"version = '{new}'", 1)
    change("CITATION.cff", rf"^version: {quoted}$(\ndate-released: .*)?", f"version: {new}\ndate-released: {date}", 1)

    # As the test of the header makes them: SCDA_UPDATE=1 cargo test -p scda-header.
    for part, number in zip(("MAJOR", "MINOR", "PATCH"), new.split(".")):
        change("include/scda.h", rf"(#define SCDA_VERSION_{part}) \d+$", rf"\1 {number}", 1)
        change("include/scda_c.inc", rf"(:: SCDA_VERSION_{part} =) \d+$", rf"\1 {number}", 1)

    # Vendor strings, padded to 24 bytes, in examples.
    def padded(text):
        return "scdata0 " + text + " " + "-" * (23 - len(text) - 1)

    change("docs/format.md", rf"scdata0 libscda {quoted} -+", padded(f"libscda {new}"))
    change("docs/datasets.md", rf"scdata0 libscda {quoted} -+", padded(f"libscda {new}"))
    change("examples/c/hello.c", rf"scdata0 libscda {minor} sealed -+", padded(f"libscda {new.rpartition('.')[0]} sealed"))

    change("CHANGELOG.md", r"^## Unreleased.*$", f"## Unreleased\n\n{UNCHANGED}\n\n## {new}, {date}", 1)
    debian = ROOT / "packaging/debian/changelog"
    when = format_datetime(datetime.fromisoformat(date).replace(tzinfo=timezone.utc))
    maintainer = re.search(r"^Maintainer: (.*)$", (ROOT / "packaging/debian/control").read_text(), re.M)[1]
    entry = f"libscda ({new}-1) unstable; urgency=medium\n\n  * New version: see CHANGELOG.md.\n\n -- {maintainer}  {when}\n"
    past = debian.read_text()
    debian.write_text(entry + ("" if "UNRELEASED" in past else "\n" + past))
    if old != new:
        left = subprocess.run(["git", "grep", "-lF", old], cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.split()
        left = [path for path in left if not path.startswith(NOT_OURS)]
        if left:
            sys.exit(f"{old} still stands in {' '.join(left)}: scripts/version.py does not change it there")
    notes()


def section(path, heading):
    """What stands below this heading of the second level; None if it is not there."""
    found = re.search(rf"^## {heading}.*?\n(.*?)(?=^## |\Z)", (ROOT / path).read_text(), re.M | re.S)
    return found and found[1].strip()


def notes():
    """The section of the changelog, which must answer what every release answers, and how what is published is used."""
    changes = section("CHANGELOG.md", f"{re.escape(version())},")
    missing = [answer for answer in ANSWERS if not changes or answer not in changes]
    if missing:
        sys.exit(f"CHANGELOG.md: the section of {version()} does not say: {' '.join(missing)}")
    use = section("packaging/README.md", "To use a release").replace("VERSION", version())
    # Links lead into the sources: what is in parentheses goes, the text of the others stays.
    link = r"\[[^]]*\]\([^)]*\)"
    text = re.sub(rf"\s+\({link}(,\s+{link})*\)", "", f"# libscda {version()}\n\n{changes}\n\n## To use it\n\n{use}\n")
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            print(version())
        case ["set", new, date]:
            set_version(new, date)
        case ["notes"]:
            sys.stdout.write(notes())
        case _:
            print(__doc__, file=sys.stderr)
            sys.exit(2)
