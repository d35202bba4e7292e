"""Functions that do what the command does."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scda
from conftest import SECONDS
from scda.__main__ import main


def test_check_and_diff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    whole = a.read_bytes()
    a.write_bytes(whole[:-1])
    cut = scda.check(a)
    assert not cut and "a.scda" in cut.text
    Path("c.scda").write_bytes(b"x" * 200)
    np.savez("f.npz", good=[1, 2])
    missing, exists, argument, bad = scda.NoSuchFileError, scda.ExistsError, scda.ArgumentError, scda.FormatError
    for run, error, path in [
        (lambda: scda.check("none"), missing, "none"),
        (lambda: scda.diff(b, "none"), missing, "none"),
        (lambda: scda.check(b, odd=True), argument, None),
        (lambda: scda.import_("none", "f.scda"), missing, "none"),
        (lambda: scda.import_("f.npz", "none/f.scda"), missing, str(tmp_path / "none/f.scda")),
        (lambda: scda.import_("f.npz", "a.scda"), exists, "a.scda"),
        (lambda: scda.import_("f.npz", "f.npz", force=True), argument, "f.npz"),
        (lambda: scda.import_("c.scda", "f.scda"), bad, "c.scda"),
    ]:
        with pytest.raises(scda.Error) as raised:
            run()
        assert type(raised.value) is error and (path is None or raised.value.path == path), raised.value
        assert not str(raised.value).startswith("scda: ")
        assert error is not exists or str(raised.value) == f"{path}: the file exists; force=True replaces it"


def test_npz_files_with_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("r.npz", good=[1, 2], objects=np.array(["a", 1], object))
    with zipfile.ZipFile("r.npz", "a") as file:
        file.writestr("readme.txt", "what it is")
        file.writestr("a.npy", b"no array")
    assert main(["import", "r.npz", "r.scda"]) == 3
    assert capsys.readouterr().err.splitlines() == [
        "scda: r.npz: 'objects': found Python objects, which cannot be stored in a dataset; it is left out",
        "scda: r.npz: 'readme.txt': is not an array; it is left out",
        "scda: r.npz: 'a': is not an array; it is left out",
        "scda: r.npz: 3 objects were left out; r.scda has everything else",
    ]
    with scda.open("r.scda") as f:
        assert list(f) == ["good"]
    with pytest.raises(scda.ArgumentError, match="r.npz: 'objects': found Python objects.*; without strict=True it is left out$"):
        scda.import_("r.npz", "s.scda", strict=True)
    whole = io.BytesIO()
    np.save(whole, np.arange(5.0))
    for number, data in enumerate(
        (
            whole.getvalue()[:-1],
            whole.getvalue().replace(b"(5,)", b"(5,("),
            whole.getvalue().replace(b"(5,)", b"'5''"),
            whole.getvalue().replace(b"'<f8'", b"'<z8'"),
            b"\x93NUMPY\x01\x00\x05",
        )
    ):
        with zipfile.ZipFile("b.npz", "w") as file:
            file.writestr("b.npy", data)
        assert main(["import", "b.npz", "b.scda"]) == 1, number
        told = capsys.readouterr().err
        assert re.fullmatch(r"scda: b\.npz: 'b': \w+: .+; --without leaves it out\n", told, re.S), told
        with pytest.raises(scda.FormatError, match="; without= leaves it out") as raised:
            scda.import_("b.npz", "b.scda")
        assert raised.value.path == "b.npz" and not Path("b.scda").exists()
    np.savez("e.npz")
    assert Path("e.npz").read_bytes().startswith(b"PK\5\6")
    assert scda.import_("e.npz", "e.scda") == []
    with scda.open("e.scda") as f:
        assert list(f) == [] and f.attrs["imported"]["file"] == "e.npz"


def test_messages_that_nobody_reads(tmp_path: Path) -> None:
    """Standard error is a pipe that nobody reads, or has no room, or is closed: the work is done all the same."""
    np.savez(tmp_path / "r.npz", good=[1, 2], objects=np.array(["a", 1], object))
    reads, writes = os.pipe()
    os.close(reads)
    with open("/dev/full", "w") as full, os.fdopen(writes, "wb") as broken:
        for how in (broken, full, None):
            command = [sys.executable, "-m", "scda", "import", "-f", "r.npz", "r.scda"]
            if how is None:
                command = ["sh", "-c", 'exec "$@" 2>&-', "sh", *command]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=how, stdin=subprocess.DEVNULL, cwd=tmp_path, timeout=SECONDS)
            assert (done.returncode, done.stdout) == (3, b"")
            with scda.open(tmp_path / "r.scda") as f:
                assert list(f) == ["good"]
            (tmp_path / "r.scda").unlink()


def test_import_and_what_must_not_be_written(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", good=[1, 2], bad=np.array(["text"], object))
    lines = scda.import_(tmp_path / "f.npz", tmp_path / "f.scda")
    assert len(lines) == 1 and "'bad'" in lines[0]
    with scda.open(tmp_path / "f.scda") as f:
        assert list(f) == ["good"]
    assert scda.import_(tmp_path / "f.npz", tmp_path / "f.scda", force=True, without=["bad"]) == []
