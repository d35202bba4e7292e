"""Reading file objects."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda

RHO = np.arange(64.0 * 64).reshape(64, 64)


class Counting(io.BytesIO):
    """Bytes in memory, with the number of bytes that were read."""

    seen = 0

    def read(self, length: Any = -1) -> bytes:
        found = super().read(min(length, 1000))  # not all at once
        self.seen += len(found)
        return found


@pytest.fixture(params=[True, False], ids=["sealed", "plain"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with scda.create(tmp_path / "f.scda", "a test", seal=request.param) as w:
        w.array("raw", np.arange(100_000))
        w.block("packed", b"text" * 100, encode=True)
        w.varray("ragged", [b"a", b"bc", b""])
        for step in range(30):
            w.dataset("time", float(step))
            w.dataset("flow/rho", RHO + step, chunks=(16, 16), attrs={"units": "m"})
        with w.streams("log") as log:
            log.write(b"a line\n")
    return tmp_path / "f.scda"


def read_everything(f: scda.File) -> None:
    assert f.user_text == "a test" and list(f) == ["time", "flow"] and f["flow/rho", 3].attrs == {"units": "m"}
    assert f["raw"].to_numpy("<i8")[-1] == 99_999 and f["raw"].read_range(7, 9, "<i8").tolist() == [7, 8]
    assert f["raw"][8::50_000] == np.array([8, 50_008]).tobytes() and f["packed"].read() == b"text" * 100
    assert f["ragged"].to_ragged("S1")[0].tolist() == [0, 1, 3, 3] and f["ragged"][1] == b"bc"
    assert np.array_equal(f["flow/rho", -1][3:40:5, ::-1], (RHO + 29)[3:40:5, ::-1])
    assert f.streams("log")[0].read() == b"a line\n" and f["time", 5][()] == 5.0


def test_a_file_object_is_read_as_a_file_is(path: Path) -> None:
    file = Counting(path.read_bytes())
    with scda.open(file) as f:
        read_everything(f)
        assert f.path == "<Counting>" and "Counting" in repr(f)
    assert not file.closed
    with open(path, "rb") as own, scda.open(own, verify=scda.open(path).sealed) as f:
        read_everything(f)
        assert f.path == str(path)


def test_only_what_is_needed_is_read(path: Path) -> None:
    file = Counting(path.read_bytes())
    with scda.open(file) as f:
        rho = f["flow/rho", -1]
        before = file.seen
        assert rho[20, 20] == 20 * 64 + 20 + 29
        assert not f.sealed or before < 400_000
        assert file.seen - before < 40_000


def test_errors_have_what_was_raised_as_their_cause(path: Path) -> None:
    class Odd(Counting):
        is_odd = False

        def read(self, length: Any = -1) -> bytes:
            if self.is_odd:
                raise RuntimeError("the line is down")
            return super().read(length)

    file = Odd(path.read_bytes())
    with scda.open(file) as f:
        file.is_odd = True
        with pytest.raises(scda.FileSystemError, match="<Odd>: .*the line is down") as error:
            f["raw"].to_numpy("<i8")
        assert isinstance(error.value.__cause__, RuntimeError)
        file.is_odd = False
        read_everything(f)
    # One that is shorter than it says.
    file = Counting(path.read_bytes())
    with scda.open(file) as f:
        file.truncate(300)
        with pytest.raises(scda.ShortFileError, match="found [0-9]+ bytes, expected"):
            f["raw"].to_numpy("<i8")
    with pytest.raises(scda.FormatError):
        scda.open(io.BytesIO(b"something else" * 100))
    with pytest.raises(ValueError, match="storage_options: found"):
        scda.open(path, storage_options={})


def test_a_file_that_grows(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f", atomic=False) as w, open(tmp_path / "f", "rb") as own:
        w.dataset("a", 1)
        w.commit()
        with scda.open(own) as f:
            assert list(f) == ["a"]
            w.dataset("b", 2)
            w.commit()
            assert f.refresh() and list(f) == ["a", "b"] and f["b"][()] == 2
