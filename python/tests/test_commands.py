"""Functions that do what the command does."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import scda
from scda import _progress


def test_check_diff_and_plot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rho = np.arange(12.0).reshape(3, 4)
    for name, items in (("a.scda", rho), ("-b", rho + 1e-9)):
        with scda.create(name) as w:
            w.dataset("rho", items)
    a, b = Path("a.scda"), Path("-b")
    valid = scda.check(a, b)
    assert valid and valid.text.count("valid") == 2 and repr(valid).startswith("True: a.scda: valid")
    assert scda.check(a, quiet=True, strict=False).text == ""
    assert scda.diff(a, a) and scda.diff(a, b, rtol=1, atol=1)
    differs = scda.diff(a, b)
    assert not differs and "rho" in differs.text
    picture = scda.plot(a, "rho", colours="diverging")
    assert picture is not None and picture.svg == picture._repr_svg_() and "<svg" in picture.svg
    assert scda.plot(a, "rho", "a.png", log=True) is None and Path("a.png").read_bytes().startswith(b"\x89PNG")
    whole = a.read_bytes()
    a.write_bytes(whole[:-1])
    cut = scda.check(a)
    assert not cut and "a.scda" in cut.text
    for run in (lambda: scda.check("none"), lambda: scda.plot("none", "rho"), lambda: scda.check(b, odd=True)):
        with pytest.raises(ValueError, match="none|odd"):
            run()


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
