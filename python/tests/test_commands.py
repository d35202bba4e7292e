"""Functions that do what the command does: with a command of the tests' own, and with that of the library."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
import scda
from scda import _progress

PROGRAM = """#!{python}
import sys
arguments = sys.argv[1:]
answer = {{"check": 0, "diff": 1, "plot": 0}}[arguments[0]]
for argument in arguments:
    if argument.startswith("--output="):
        open(argument[9:], "w").write("<svg/>")
    if argument == "bad":
        print("scda: bad: no such thing", file=sys.stderr)
        sys.exit(2)
print(" ".join(arguments))
sys.exit(answer)
"""


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "bin" / "scda"
    path.parent.mkdir()
    path.write_text(PROGRAM.format(python=sys.executable))
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("SCDA_COMMAND", raising=False)
    return path


def test_arguments_and_answers(command: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = scda.check("a", tmp_path, strict=True, quiet=False)
    assert answer and answer.text == f"check --strict -- a {tmp_path}" and repr(answer).startswith("True: check")
    differs = scda.diff("a", "-b", rtol=1e-6, without=["x", "y*"])
    assert not differs and differs.text == "diff --rtol=1e-06 --without=x --without=y* -- a -b"
    picture = scda.plot("a", "rho", record=-1)
    assert picture is not None and picture.svg == picture._repr_svg_() == "<svg/>"
    assert scda.plot("a", "rho", tmp_path / "a.svg") is None and (tmp_path / "a.svg").read_text() == "<svg/>"
    for run in (lambda: scda.check("bad"), lambda: scda.plot("bad", "rho")):
        with pytest.raises(ValueError, match="^scda: bad: no such thing$"):
            run()
    monkeypatch.setenv("SCDA_COMMAND", str(command))
    monkeypatch.setenv("PATH", "")
    assert scda.check("a")
    monkeypatch.delenv("SCDA_COMMAND")
    with pytest.raises(FileNotFoundError, match="scda.check: found no command scda.*SCDA_COMMAND"):
        scda.check("a")


def test_the_command_of_the_library(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = os.environ.get("SCDA_PREFIX")
    if not prefix:
        pytest.skip("SCDA_PREFIX does not say where libscda is installed")
    monkeypatch.setenv("SCDA_COMMAND", f"{prefix}/bin/scda")
    with scda.create("a.scda") as w:
        w.dataset("rho", np.arange(12.0).reshape(3, 4))
    with scda.create("b.scda") as w:
        w.dataset("rho", np.arange(12.0).reshape(3, 4) + 1e-9)
    assert scda.check("a.scda", "b.scda") and scda.diff("a.scda", "a.scda") and scda.diff("a.scda", "b.scda", rtol=1, atol=1)
    differs = scda.diff("a.scda", "b.scda")
    assert not differs and "rho" in differs.text
    picture = scda.plot("a.scda", "rho", colours="diverging")
    assert picture is not None and "<svg" in picture.svg
    Path("a.scda").write_bytes(Path("a.scda").read_bytes()[:-1])
    assert not scda.check("a.scda")


def test_import_and_what_must_not_be_written(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", good=[1, 2], bad=np.array(["text"], object))
    lines = scda.import_(tmp_path / "f.npz", tmp_path / "f.scda")
    assert len(lines) == 1 and "'bad'" in lines[0]
    with scda.open(tmp_path / "f.scda") as f:
        assert list(f) == ["good"]
    with pytest.raises(ValueError, match="the file exists"):
        scda.import_(tmp_path / "f.npz", tmp_path / "f.scda")
    assert scda.import_(tmp_path / "f.npz", tmp_path / "f.scda", force=True, without=["bad"]) == []
    with pytest.raises(ValueError, match=r"ends with '\.txt'"):
        scda.export(tmp_path / "f.scda", tmp_path / "f.txt")


def test_a_bar_of_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    class Bar:
        total = None

        def __init__(self, **options: object) -> None:
            seen.append(options["desc"])

        def update(self, number: int) -> None:
            seen.append((self.total, number))

        def clear(self) -> None:
            seen.append("clear")

        def close(self) -> None:
            seen.append("close")

    module = type(sys)("tqdm.auto")
    module.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", type(sys)("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    with _progress.bar("f\x1b") as shown:
        shown.total = 7
        shown.add(3)
        shown.clear()
    assert seen == ["f\\x1b", (7, 3), "clear", "close"]
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert type(_progress.bar("f")) is _progress.Progress
