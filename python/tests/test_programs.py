"""The lines of docs/programs.md that can be run here: those of Python, and the commands that are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import warnings
from pathlib import Path

import pytest
from conftest import SECONDS
from test_docs import blocks, run_block

pytest.importorskip("h5py")
pytest.importorskip("h5netcdf")
pytest.importorskip("netCDF4")
PAGE = "docs/programs.md"


def shows(found: str, expected: str) -> bool:
    """Whether these lines are there, in this order; `...` stands for others."""
    lines = map(str.strip, found.splitlines())
    return all(line.strip() in lines for line in expected.splitlines() if line != "...")


def test_the_page_of_other_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "example"}
    missing, kinds = set(), []
    found = blocks(PAGE)
    # The file is made first; commands that copy it stand before the programs that read it.
    for language, _, text, line in found:
        kinds.append(language)
        if language in ("python", "pycon"):
            run_block(language, text, PAGE, line, names)
            continue
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
            if shutil.which(command.split()[0]) is None:
                missing.add(command.split()[0])
                continue
            done = subprocess.run(command.split(), capture_output=True, text=True, timeout=SECONDS, env={**os.environ, "LC_ALL": "C"})
            assert done.returncode == 0 and not done.stderr, (command, done)
            assert shows(done.stdout, expected), (command, done.stdout)
    assert kinds == ["python", "console", "pycon", "pycon", "console"]
    if missing:
        warnings.warn(f"not installed, so what {PAGE} shows of them was skipped: {', '.join(sorted(missing))}", stacklevel=1)
