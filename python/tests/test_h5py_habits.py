"""What users of h5py type, and what they pass to other processes."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
import scda

POINTS = np.array([(1, 2.5), (3, 4.5), (5, 6.5)], [("x", "i4"), ("y", "f8")])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with scda.create(tmp_path / "f.scda") as w:
        w["a"] = np.arange(6.0).reshape(2, 3)
        w["points"] = POINTS
        for step in range(2):
            w.dataset("flow/rho", [step, 1], dims=["x"])
        w.block("state", b"123")
    return tmp_path / "f.scda"


def test_what_was_opened_goes_to_another_process(path: Path) -> None:
    """By its path and its place in the file."""
    with scda.open(path, cache_bytes=0) as f:
        things = {"f": f, "a": f["a"], "flow": f["flow"], "rho": f["flow/rho"], "last": f["flow/rho", -1], "state": f["state"], "sections": f.sections}
        sent = pickle.dumps({**things, "a as f4": f["a"].astype("f4"), "attrs": f["a"].attrs})
        again = pickle.loads(sent)
        assert copy.deepcopy(f["a"])[1].tolist() == [3, 4, 5]
    assert again["a"][1].tolist() == [3, 4, 5] and again["a"]._file is again["f"] and again["a as f4"][0].dtype == "f4"
    assert (again["last"][...].tolist(), len(again["rho"]), list(again["flow"]), again["state"].read()) == ([1, 1], 2, ["rho"], b"123")
    program = "import pickle, sys; found = pickle.load(sys.stdin.buffer); print(found['last'][...].sum(), found['f'].path)"
    run = subprocess.run([sys.executable, "-W", "error", "-c", program], input=sent, capture_output=True, timeout=60)
    assert run.stdout.decode().split() == ["2", str(path)] and not run.stderr
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del again  # nobody has opened these


def test_what_cannot_be_pickled_says_why(path: Path) -> None:
    with scda.append(path) as w, pytest.raises(TypeError, match="writer cannot be pickled: a file is written by one process"):
        pickle.dumps(w)
    with open(path, "rb") as file, scda.open(file) as f, pytest.raises(TypeError, match="read from a file object cannot be pickled"):
        pickle.dumps(f["a"])
    with scda.open(path) as f:
        sent = pickle.dumps(f["a"])
    with pytest.raises(scda.UsageError, match="the file is closed"):
        pickle.dumps(f)
    with scda.create(path) as w:
        w.dataset("b", [1])
    with pytest.raises(ValueError, match="'a': found a different dataset in its place; the file was replaced"):
        pickle.loads(sent)


def test_members_of_structs(path: Path) -> None:
    with scda.open(path) as f:
        points = f["points"]
        assert points["x"].tolist() == [1, 3, 5] and points["y", 1:].tolist() == [4.5, 6.5] and points[-1, "x"] == 5
        assert points["y", "x", ::2].dtype.names == ("y", "x") and points["y", "x", ::2].tolist() == [(2.5, 1), (6.5, 5)]
        with pytest.raises(ValueError, match="found 'z', expected .* members of"):
            points["z"]
        with pytest.raises(IndexError, match="found str, expected"):
            f["a"]["x"]


def test_datasets_are_created_as_by_h5py(tmp_path: Path) -> None:
    data = np.arange(24).reshape(4, 6)
    with scda.create(tmp_path / "f.scda") as w:
        w.create_dataset("plain", data=data)
        w.create_dataset("rho", (6, 4), "f4", data, chunks=(2, 4), compression="gzip", compression_opts=9, shuffle=True, maxshape=(None, 4))
        w.create_dataset("t", data=[1, 2], compression=3, fillvalue=7).attrs["units"] = "s"
        w["flow/p"] = 5.0
        cases: list[tuple[type[Exception], str, Callable[[], Any]]] = [
            (ValueError, r"data is missing.* w.dataset\(name, data\)", lambda: w.create_dataset("u", (3,), "f8")),
            (ValueError, 'expected "gzip", or in w.dataset codec=', lambda: w.create_dataset("u", data=data, compression="lzf")),
            (ValueError, "only the first dimension can grow", lambda: w.create_dataset("u", data=data, maxshape=(None, None))),
            (TypeError, "track_times: found an argument.* expected nothing", lambda: w.create_dataset("u", data=data, track_times=True)),
            (TypeError, 'compression: found an argument.* expected codec="zlib"', lambda: w.dataset("u", data, compression="gzip")),
            (TypeError, "fillvalue: found .* expected fill_value=", lambda: w.field("u", data, fillvalue=1)),
            (AttributeError, "create_group'; instead: w.group", lambda: w.create_group("u")),
            (AttributeError, "has no attribute 'nothing'$", lambda: w.nothing),
        ]
        for kind, message, call in cases:
            with pytest.raises(kind, match=message):
                call()
    with scda.open(tmp_path / "f.scda") as f:
        rho = f["rho"]
        assert (rho.dtype, rho.chunks, rho._description.codec, rho._description.level) == (np.float32, (2, 4), "zlib", 9)
        assert rho[...].tolist() == data.reshape(6, 4).tolist() and f["plain"].chunks is None and f["flow/p"][()] == 5
        assert (f["t"].fill_value, f["t"]._description.level, f["t"].attrs["units"]) == (7, 3, "s")
        assert (rho.maxshape, f["flow/p"].maxshape) == ((None, 4), ()) and "u" not in f


def test_an_error_says_what_to_write(path: Path) -> None:
    with scda.File(path, "r") as f, scda.File(path) as other:
        assert f["a"].shape == other["a"].shape
        cases: list[tuple[type[Exception], str, Callable[[], Any]]] = [
            (ValueError, r"mode: found 'w', expected 'r'; scda.create\('x.h5'\) writes", lambda: scda.File("x.h5", "w")),
            (ValueError, r"scda.append\('x.h5'\) adds", lambda: scda.open("x.h5", "a")),
            (KeyError, "'b': no dataset, group or section has this name; there are", lambda: f["b"]),
            (AttributeError, r"no attribute 'T'; instead: d\[...\].T", lambda: f["a"].T),
            (AttributeError, "create_dataset'; instead: scda.append", lambda: f.create_dataset),
            (AttributeError, "'Group' object has no attribute 'create_group'; instead", lambda: f["flow"].create_group),
            (TypeError, "'u': found an assignment, but .* open for reading.* scda.append", lambda: f.__setitem__("u", 1)),
            (TypeError, "dataset 'a': found an assignment", lambda: f["a"].__setitem__(0, 1)),
        ]
        for kind, message, call in cases:
            with pytest.raises(kind, match=message):
                call()
        assert not hasattr(f["a"], "T") and (f["a"] + np.ones(3)).tolist() == (np.arange(6.0).reshape(2, 3) + 1).tolist()
