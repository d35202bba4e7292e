"""python_package.py EXTENSION FOLDER: installs the Python package with this extension module into FOLDER, as maturin does, which Debian 12
does not have. The metadata are those of python/pyproject.toml, without the entry point for xarray: that of Debian 12 is too old for it."""

import shutil
import sys
import tomllib
from pathlib import Path

extension, folder = sys.argv[1], Path(sys.argv[2])
project = tomllib.loads(Path("python/pyproject.toml").read_text())["project"]
version = tomllib.loads(Path("Cargo.toml").read_text())["workspace"]["package"]["version"]
for package in "scda", "scda_command":
    shutil.copytree(f"python/src/{package}", folder / package, ignore=shutil.ignore_patterns("__pycache__"))
shutil.copy(extension, folder / "scda/_core.abi3.so")

info = folder / f"scda-{version}.dist-info"
info.mkdir()
lines = [
    "Metadata-Version: 2.1",
    f"Name: {project['name']}",
    f"Version: {version}",
    f"Summary: {project['description']}",
    f"Requires-Python: {project['requires-python']}",
    *(f"Requires-Dist: {needed}" for needed in project["dependencies"]),
]
(info / "METADATA").write_text("\n".join(lines) + "\n")
