"""Every example of the documentation is run: Python's, and the commands of the tutorial.

The tutorial compiles a program: the environment variable SCDA_PREFIX says where libscda is installed, with MPI.
"""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda
from conftest import ROOT, has_mpi, run_ranks

FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)


def blocks(page: str) -> list[tuple[str, str, str, int]]:
    """Language, the rest of the first line, text, and line number of each fenced block."""
    text = (ROOT / page).read_text()
    return [(m[1], m[2].strip(), m[3], text[: m.start(3)].count("\n")) for m in FENCE.finditer(text)]


def run_block(language: str, text: str, where: str, line: int, names: dict[str, Any]) -> None:
    if language == "python":
        exec(compile("\n" * line + text, where, "exec"), names)
    else:
        test = doctest.DocTestParser().get_doctest(text, names, where, where, line)
        runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF | doctest.ELLIPSIS)
        output: list[str] = []
        runner.run(test, out=output.append, clear_globs=False)
        assert not runner.failures, "".join(output)
        assert test.examples
        names.update(test.globs)


def run_python(page: str, kind: str = "") -> int:
    """Runs the examples of a page that have this word after their language: those with one need what not all have."""
    names: dict[str, Any] = {"__name__": "example"}
    number = 0
    for language, more, text, line in blocks(page):
        if language not in ("python", "pycon"):
            continue
        assert more in ("", "mpi", "xarray")
        if more == kind:
            number += 1
            run_block(language, text, page, line, names)
    return number


def test_the_readme(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_python("README.md") == 1
    assert capsys.readouterr().out == "<scda dataset 'rho': float64 (4, 2), kg m-3>\n"


def test_the_python_page(folder: Path) -> None:
    assert run_python("docs/python.md") == 6


@pytest.mark.skipif(not has_mpi(), reason="mpi4py is not installed")
def test_the_python_page_on_several_ranks(folder: Path) -> None:
    (text,) = [text for _, more, text, _ in blocks("docs/python.md") if more == "mpi"]
    Path("example.py").write_text(text)
    run_ranks(3, "example.py")
    scda.open("parallel.scda").close()


def test_the_pages_show_lines_of_their_programs() -> None:
    pages = [*blocks("docs/guide.md"), *blocks("docs/restart.md")]
    shown = [(more, text) for language, more, text, _ in pages if language == "c" and more]
    assert len(shown) >= 13
    for program, text in shown:
        lines = iter((ROOT / "examples/c" / program).read_text().splitlines())
        # In their order; what stands between them may be left out.
        assert [line for line in text.splitlines() if line and line not in lines] == [], program


def test_the_docstrings(folder: Path) -> None:
    examples = 0
    for module in (scda, scda._dataset, scda._file, scda._forest, scda._group, scda._mesh, scda._sections, scda._section, scda._writer):
        for test in doctest.DocTestFinder().find(module, extraglobs={"scda": scda, "np": np}):
            runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
            output: list[str] = []
            runner.run(test, out=output.append)
            assert not runner.failures, "".join(output)
            examples += len(test.examples)
    assert examples >= 8


def test_everything_public_is_documented() -> None:
    for name in scda.__all__:
        thing = getattr(scda, name)
        assert name == "__version__" or thing.__doc__, name
        members = vars(thing).items() if isinstance(thing, type) else ()
        assert [n for n, member in members if not n.startswith("_") and callable(member) and not member.__doc__] == []
    page = (ROOT / "docs" / "python.md").read_text()
    assert [name for name in scda.__all__ if name.endswith(("Error", "Warning")) and name not in page] == []


def test_the_version_is_that_of_the_library() -> None:
    version = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.M)
    assert version is not None and version[1] == scda.__version__
    assert "version.workspace = true" in (ROOT / "python" / "Cargo.toml").read_text()


def test_the_command_has_the_options_of_the_package(folder: Path) -> None:
    prefix = os.environ.get("SCDA_PREFIX")
    if not prefix:
        pytest.skip("SCDA_PREFIX does not say where libscda is installed")
    command = f"{prefix}/bin/scda"

    def run(*line: str) -> str:
        environment = {**os.environ, "SCDA_PYTHON": sys.executable}
        done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=180)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def options(help_text: str) -> set[str]:
        return set(re.findall(r"--[a-z-]+", help_text.split("Examples:")[0]))

    commands = ("import", "vtk")
    listed = run(sys.executable, "-m", "scda", "--help")
    assert [name for name in commands if f"\n    {name} " not in listed] == []
    for name in commands:
        theirs, own = options(run(command, name, "--help")), options(run(sys.executable, "-m", "scda", name, "--help"))
        assert theirs == own, name
    np.savez("f.npz", b=[1.5])
    run(command, "import", "f.npz", "g.scda")
    assert scda.open("g.scda")["b"][0] == 1.5


@pytest.fixture
def tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A folder as the tutorial has it after its installation, and the environment."""
    prefix = os.environ.get("SCDA_PREFIX")
    if not prefix:
        pytest.skip("SCDA_PREFIX does not say where libscda is installed")
    monkeypatch.chdir(tmp_path)
    Path("libscda").symlink_to(ROOT)
    Path("scda").symlink_to(prefix)
    # The commands that the page has, whatever this machine calls those of this MPI.
    programs = dict(
        line.split("=") for line in Path("scda/lib/pkgconfig/scda.pc").read_text().splitlines() if "=" in line
    )
    Path("bin").mkdir()
    for name, path in (("mpicc", programs["mpicc"]), ("mpirun", programs["mpiexec"]), ("python3", sys.executable)):
        # Not a link: the programs look at the name they are called by.
        Path("bin", name).write_text(f'#!/bin/sh\nexec "{shutil.which(path) or path}" "$@"\n')
        Path("bin", name).chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}


def has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def test_the_tutorial(tutorial: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "example"}  # of the session; a script has its own
    kinds, printed = [], ""
    needed = {"vtk": "h5py", "pyvista": "pyvista", "xarray": "xarray"}
    for language, more, text, line in blocks("docs/tutorial.md"):
        kinds.append(language)
        if more and not has(needed[more]):
            continue
        if language == "text":
            assert printed.split() == text.split()
        elif language == "sh":
            command = ["sh", "-e", "-c", text]
            done = subprocess.run(
                command, env=tutorial, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180
            )
            assert done.returncode == 0, done.stdout + done.stderr
            printed = done.stdout
        else:
            own = names if language == "pycon" else {"__name__": "example"}
            run_block(language, text, "docs/tutorial.md", line, own)
    assert kinds == ["sh", "sh", "text", "pycon", "pycon", "sh", "sh", "text", "sh", "pycon", "python"]
    with scda.open("froude.scda") as f:
        forest = scda.Forest(f)
        froude = forest[0].field("froude")
        assert len(froude) == len(forest[0].mesh) and froude.chunks and 0.7 < froude[:].max() < 0.9
    # The file does not depend on the number of ranks.
    for ranks in (1, 3):
        subprocess.run(["mpirun", "-n", str(ranks), "./p4est_dam", "again.scda"], env=tutorial, check=True, timeout=180)
        assert Path("again.scda").read_bytes() == Path("dam.scda").read_bytes()
    for name, most in (("dam.png", 200_000), ("water.png", 150_000)):
        # That of the page was made so.
        page = ROOT / "docs" / "images" / name
        assert page.stat().st_size <= most
        if name == "dam.png" or has("pyvista"):
            picture = Path(name).read_bytes()
            assert picture[:8] == b"\x89PNG\r\n\x1a\n" and len(picture) > 50_000
            assert picture[16:24] == page.read_bytes()[16:24]  # width and height
    # The lines of C that it shows are in the program.
    source = (ROOT / "examples/c" / "p4est_dam.c").read_text()
    shown = re.findall(r"^    (f = .*)$", (ROOT / "docs" / "tutorial.md").read_text(), re.M)
    assert len(shown) == 2 and [line for line in shown if line not in source] == []
