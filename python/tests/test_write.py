"""Writing: what goes in comes out, and what is not finished does not look so."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda


@pytest.mark.parametrize("encode", [False, True, "auto"])
def test_what_is_written_is_read(tmp_path: Path, encode: Any) -> None:
    path = tmp_path / "f.scda"
    grid = np.arange(24, dtype=">i2").reshape(2, 3, 4)
    table = np.array([(1, 2.5), (3, 4.5)], [("n", "<i4"), ("x", "<f8")])
    with scda.create(path, "wind \N{DEGREE SIGN}") as w:
        w.inline("inline", bytes(32))
        w.block("bytes", b"0123", encode=encode)
        w.block("array", grid, encode=encode)
        w.block("empty", b"", encode=encode)
        w.array("grid", grid, encode=encode)
        w.array("table", table, encode=encode)
        w.array("not contiguous", grid[:, ::2, :].T, encode=encode)
        w.array("raw", bytearray(b"abcdef"), size=3, encode=encode)
        w.array("as one", grid, size=48, encode=encode)
        w.array("none", np.empty((0, 5)), encode=encode)
        w.array("no bytes", np.empty((4, 0)), encode=encode)
        w.varray("elements", [b"ab", memoryview(b""), np.arange(3, dtype="<i2")], encode=encode)
        w.varray("ragged", (np.array([0, 0, 2]), np.arange(1.0, 3.0)), encode=encode)
        w.varray("nothing", [], encode=encode)
        w.flush()
    with scda.open(path) as f:
        assert f.user_text == "wind \N{DEGREE SIGN}"
        assert f["array"].to_numpy(">i2", grid.shape).tolist() == grid.tolist()
        assert f["empty"].read() == b"" and f["empty"].to_numpy("<f8").shape == (0,)
        assert f["grid"].to_numpy(">i2", (3, 4)).tolist() == grid.tolist()
        assert f["table"].to_numpy(table.dtype).tolist() == table.tolist()
        assert f["not contiguous"].to_numpy(">i2", (2, 2)).tolist() == grid[:, ::2, :].T.tolist()
        assert (f["raw"].count, f["raw"].size, f["raw"][1]) == (2, 3, b"def")
        assert f["as one"].count == 1
        assert (f["none"].count, f["none"].size) == (0, 40)
        assert (f["no bytes"].count, f["no bytes"].size, f["no bytes"][2], f["no bytes"][:]) == (4, 0, b"", b"")
        assert list(f["no bytes"]) == [b""] * 4
        assert f["elements"][:] == [b"ab", b"", b"\0\0\1\0\2\0"]
        offsets, values = f["ragged"].to_ragged("<f8")
        assert offsets.tolist() == [0, 0, 2] and values.tolist() == [1, 2]
        assert f["nothing"][:] == [] and f["nothing"].to_ragged()[0].tolist() == [0]
        # What was read can be written again.
        with scda.create(tmp_path / "again", f.user) as w:
            w.inline("inline", f["inline"].read())
            w.varray("ragged", f["ragged"].to_ragged("<f8"), encode=encode)
    with scda.open(tmp_path / "again") as f:
        assert f.sections[1].to_ragged("<f8")[1].tolist() == [1, 2]


def test_auto_compresses_what_gets_smaller(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f") as w:
        w.array("zeros", np.zeros((10, 1000)), encode="auto")
        w.array("noise", np.random.default_rng(1).random((10, 1000)), encode="auto")
    with scda.open(tmp_path / "f") as f:
        assert [s.compressed for s in f.sections] == [True, False]
        assert f.sections[0].file_nbytes < f.sections[0].nbytes / 10


@pytest.mark.parametrize("encoder", ["fast", "zlib"])
def test_elements_of_up_to_61_bytes_never_get_smaller_and_longer_ones_may(tmp_path: Path, encoder: str) -> None:
    with scda.create(tmp_path / "f", encoder=encoder, level=9) as w:
        for size in range(1, 66):
            w.array("zeros", np.zeros((1000, size), np.uint8), encode="auto")
            w.varray("zeros", [bytes(size)] * 1000, encode="auto")
    with scda.open(tmp_path / "f") as f:
        compressed = [size for size in range(1, 66) for s in f.sections[2 * size - 2 : 2 * size] if s.compressed]
    assert min(compressed) > 61 and compressed[-2:] == [65, 65]


WRONG = [
    (lambda w: w.inline("u", b"31"), ValueError, "found 2 bytes, expected 32"),
    (lambda w: w.block("u" * 59, b""), scda.ArgumentError, "user string"),
    (lambda w: w.block(7, b""), TypeError, "user string"),
    (lambda w: w.block("u", "text"), TypeError, "found a str"),
    (lambda w: w.block("u", 3), TypeError, "found an int, expected bytes or a numpy array"),
    (lambda w: w.block("u", [1, 2]), TypeError, "found a list, expected bytes or a numpy array"),
    (lambda w: w.array("u", [1, 2, 3]), TypeError, r"found a list, expected .*; np.array\(data, \"<f8\"\)"),
    (lambda w: w.block("u", b"", root=1), scda.ArgumentError, "root"),
    (lambda w: w.block("u", b"", encode=2), ValueError, "encode"),
    (lambda w: w.block("u", b"", encode="zip"), ValueError, "encode"),
    (lambda w: w.block("u", np.array([{}])), TypeError, "Python objects"),
    (lambda w: w.array("u", b"abc"), ValueError, "size"),
    (lambda w: w.array("u", np.float64(3)), ValueError, "size"),
    (lambda w: w.array("u", b"abc", size=2), ValueError, "multiple of the size 2"),
    (lambda w: w.array("u", b"abc", size=0), ValueError, "multiple of the size 0"),
    (lambda w: w.array("u", b"abc", size=-1), ValueError, "multiple of the size -1"),
    (lambda w: w.array("u", b"abc", size=1, counts=[2]), scda.ArgumentError, "data"),
    (lambda w: w.array("u", b"abc", size=1, counts=[1, 2]), scda.ArgumentError, "counts|partition"),
    (lambda w: w.varray("u", b"abc"), TypeError, "found bytes"),
    (lambda w: w.varray("u", np.arange(3)), TypeError, "found ndarray"),
    (lambda w: w.varray("u", [b"a", "b"]), TypeError, "found a str"),
    (lambda w: w.varray("u", ([0, 2], b"a")), ValueError, "offsets"),
    (lambda w: w.varray("u", ([1, 0], b"a")), ValueError, "offsets"),
    (lambda w: w.varray("u", ([-1, 0], b"a")), ValueError, "offsets"),
    (lambda w: w.varray("u", ([0, 1], b"ab")), ValueError, "found 0 to 1, expected .* from 0 to 2"),
    (lambda w: w.varray("u", ([1, 2], b"ab")), ValueError, "offsets"),
    (lambda w: w.varray("u", ([], b"a")), TypeError, "offsets"),
    (lambda w: w.varray("u", ([0.0, 1.0], b"a")), TypeError, "offsets"),
    (lambda w: w.varray("u", (b"a", b"b", b"c")), TypeError, "offsets"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_arguments_are_refused_and_leave_no_file(tmp_path: Path, number: int) -> None:
    call, expected, words = WRONG[number]
    with pytest.raises(expected, match=words):
        with scda.create(tmp_path / "f") as w:
            w.block("first", b"first")
            call(w)
    assert os.listdir(tmp_path) == []


def test_an_argument_that_python_refuses_does_not_end_the_file(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f") as w:
        with pytest.raises(ValueError):
            w.inline("u", b"short")
        w.block("u", b"good")
    with scda.open(tmp_path / "f") as f:
        assert f.sections[0].read() == b"good"


WRONG_OPTIONS: list[dict[str, Any]] = [
    {"style": "dos"}, {"encoder": "lzma"}, {"level": 10}, {"level": -1}, {"level": 1.5}, {"threads": 0},
    {"threads": -1}, {"atomic": 1}, {"sync": "no"}, {"driver": "mpi"}, {"user": "u" * 59}, {"user": 3},
    {"user": None}, {"seal": 1},
]  # fmt: skip


@pytest.mark.parametrize("options", WRONG_OPTIONS)
def test_wrong_options_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError), match=next(iter(options))):
        scda.create(tmp_path / "f", **options)
    assert os.listdir(tmp_path) == []


INTERRUPTED = '''
import signal, sys, time, numpy as np, scda

data = np.tile(np.random.default_rng(1).integers(0, 9, (1 << 8, 1 << 12)).astype("<i4"), (64, 1))
w = scda.create(sys.argv[1], atomic=sys.argv[2] == "atomic", threads=2, level=9)
options = {"level": 9} if sys.argv[3] == "dataset" else {}
w.block("good", b"good")
# Ctrl-C, as long as the main thread compresses.
signal.signal(signal.SIGALRM, signal.default_int_handler)
start = time.perf_counter()
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    getattr(w, sys.argv[3])("long", data, encode=True, **options)
except KeyboardInterrupt:
    print(time.perf_counter() - start)
assert w.closed
try:
    w.block("more", b"")
except scda.UsageError as error:
    assert str(error).endswith("the file is closed")
'''


def fail(w: scda.Writer) -> None:
    """An error that closes the file."""
    with pytest.raises(scda.UsageError), w.streams("log"):
        w.block("among streams", b"")


def incomplete(path: Path) -> None:
    """Requires that nothing of a file is taken for complete, and that this is said."""
    with pytest.warns(scda.LeftOutWarning, match="incomplete"), scda.open(path) as f:
        assert list(f) == [] and not f.sealed


@pytest.mark.parametrize("atomic, call", [("atomic", "array"), ("direct", "array"), ("direct", "dataset")])
def test_compressing_can_be_interrupted(tmp_path: Path, atomic: str, call: str) -> None:
    path = tmp_path / "f"
    program = [sys.executable, "-c", INTERRUPTED, str(path), atomic, call]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    # Compressing takes several seconds.
    assert 0.3 <= float(done.stdout) < 2, done.stdout
    if atomic == "atomic":
        assert os.listdir(tmp_path) == []
    else:
        incomplete(path)
        with scda.open(path, to_seal=False) as f:
            assert f["good"].read() == b"good"
            with pytest.raises(scda.ShortFileError):
                len(f.sections)


def test_an_exception_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with scda.create(path) as w:
        w.block("old", b"old")
    old = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        with scda.create(path) as w:
            w.array("new", np.zeros(100000))
            raise KeyboardInterrupt
    assert path.read_bytes() == old and os.listdir(tmp_path) == ["f"]
    with pytest.raises(scda.UsageError):
        w.block("more", b"")


@pytest.mark.parametrize("data", [b"", b"small", bytes(10_000_000)], ids=len)
def test_an_exception_leaves_nothing_that_looks_complete(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "f"
    with pytest.raises(ZeroDivisionError):
        with scda.create(path, atomic=False) as w:
            w.block("good", b"good")
            w.block("data", data)
            1 / 0
    incomplete(path)
    with scda.open(path, to_seal=False) as f:
        assert f.sections[0].read() == b"good" and f.sections[1].read() == data
        with pytest.raises(scda.ShortFileError, match="section header"):
            len(f.sections)


def test_an_error_of_the_library_leaves_nothing_that_looks_complete(tmp_path: Path) -> None:
    w = scda.create(tmp_path / "f", atomic=False)
    w.block("good", b"good")
    fail(w)
    with pytest.raises(scda.UsageError):
        w.close()
    incomplete(tmp_path / "f")
    with scda.open(tmp_path / "f", to_seal=False) as f:
        assert f.sections[0].read() == b"good"
        with pytest.raises(scda.ShortFileError):
            len(f.sections)


def test_a_writer_that_is_forgotten_leaves_nothing(tmp_path: Path) -> None:
    w = scda.create(tmp_path / "f")
    w.block("data", b"data")
    with pytest.warns(ResourceWarning, match="incomplete"):
        del w
        gc.collect()
    assert os.listdir(tmp_path) == []


def test_a_file_is_there_when_it_is_closed_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "f"
    w = scda.create(path)
    w.block("data", b"data")
    assert not path.exists() and "open" in repr(w) and not w.closed
    w.close()
    w.close()
    assert path.exists() and w.closed and w.path == str(path)
    for use in (lambda: w.block("more", b""), w.flush, lambda: w.__enter__()):
        with pytest.raises(scda.UsageError, match="the file is closed"):
            use()


def test_a_full_disk_is_an_error_of_the_system() -> None:
    with pytest.raises(OSError) as caught:
        with scda.create("/dev/full", atomic=False) as w:
            w.array("data", np.zeros(1000000))
    assert isinstance(caught.value, scda.NoSpaceError) and caught.value.errno == 28


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        scda.create(tmp_path / "none" / "f")


def test_styles(tmp_path: Path) -> None:
    for style, line_break in (("unix", b"-\n"), ("mime", b"\r\n")):
        with scda.create(tmp_path / style, style=style) as w:
            w.block("data", b"data")
        assert (tmp_path / style).read_bytes()[190:192] == line_break


def finished(path: Path, values: list[bytes]) -> None:
    with scda.open(path) as f:
        assert [s.read() for s in f.sections] == values


def test_a_forgotten_writer_does_not_touch_the_next_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    w = scda.create(path, atomic=False)
    w.block("x", b"old" * 20)
    with pytest.warns(ResourceWarning, match="incomplete"):
        again = scda.create(path, atomic=False)
    again.block("y", b"new")
    again.flush()
    with pytest.raises(scda.UsageError, match="closed"):
        w.block("x", b"")
    with pytest.raises(scda.UsageError, match="incomplete"):
        w.close()
    del w
    gc.collect()
    again.block("z", b"too")
    again.close()
    finished(path, [b"new", b"too"])


def test_a_forgotten_writer_does_not_touch_the_file_of_another_process(tmp_path: Path) -> None:
    path = tmp_path / "f"
    w = scda.create(path, atomic=False)
    w.block("x", b"old" * 20)
    with scda.create(tmp_path / "other") as other:
        other.block("y", b"new")
    # As another process would write it, in place.
    path.write_bytes((tmp_path / "other").read_bytes())
    with pytest.warns(ResourceWarning, match="incomplete"):
        del w
        gc.collect()
    finished(path, [b"new"])


@pytest.mark.parametrize("atomic", [True, False])
def test_a_writer_that_failed_does_not_touch_the_next_file(tmp_path: Path, atomic: bool) -> None:
    path = tmp_path / "f"
    w = scda.create(path, atomic=False)
    w.block("good", b"good")
    fail(w)
    incomplete(path)
    with scda.create(path, atomic=atomic) as again:
        again.block("y", b"new")
    with pytest.raises(scda.UsageError):
        w.close()
    del w
    gc.collect()
    finished(path, [b"new"])


def test_an_exception_does_not_mark_another_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with scda.create(tmp_path / "other") as w:
        w.block("y", b"new")
    with pytest.raises(ZeroDivisionError), scda.create(path, atomic=False) as w:
        w.block("x", b"old")
        (tmp_path / "other").replace(path)
        1 / 0
    finished(path, [b"new"])


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_that_was_forked_off_leaves_the_file_alone(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f", threads=1) as w:
        w.block("x", b"data")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with w:
                    raise SystemExit
            except scda.UsageError:
                w.__exit__(SystemExit, SystemExit(), None)
                w.__del__()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
    finished(tmp_path / "f", [b"data"])


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("atomic", [True, False])
def test_a_writer_that_a_forked_process_forgets_goes_on(tmp_path: Path, atomic: bool) -> None:
    writers = [scda.create(tmp_path / "f", atomic=atomic, threads=1)]
    writers[0].block("x", b"data")
    child = os.fork()
    if child == 0:
        writers.clear()
        gc.collect()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    writers[0].block("y", b"more")
    writers[0].close()
    finished(tmp_path / "f", [b"data", b"more"])


def test_a_path_is_that_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d1" / "real").mkdir(parents=True)
    (tmp_path / "d2").mkdir()
    (tmp_path / "d2" / "link").symlink_to("../d1/real")
    monkeypatch.chdir(tmp_path)
    with scda.create("d2/link/../f.scda") as w:
        w.block("x", b"data")
    finished(tmp_path / "d1" / "f.scda", [b"data"])
    finished(Path("d2/link/../f.scda"), [b"data"])


REFUSED: dict[str, Any] = {
    "user string": lambda w: w.block("u" * 59, b""),
    "inline": lambda w: w.inline("a", b"abc"),
    "counts": lambda w: w.array("a", np.zeros(3), counts=[4]),
    "size": lambda w: w.array("a", b"abc", size=2),
    "name": lambda w: w.dataset("a//b", np.zeros(3)),
    "attributes": lambda w: w.dataset("a", np.zeros(3), attrs={"x": object()}),
    "long attributes": lambda w: w.dataset("a", np.zeros(3), attrs={"x": "y" * 5_000_000}),
    "dims": lambda w: w.dataset("a", np.zeros(3), dims=("x", "y")),
    "fill": lambda w: w.dataset("a", np.zeros(3, "u1"), fill_value=300),
    "codec": lambda w: w.dataset("a", np.zeros(3), codec="gz"),
    "level": lambda w: w.dataset("a", np.zeros(3), level=10),
    "chunks": lambda w: w.dataset("a", np.zeros(3), chunks=(1, 2)),
    "large chunks": lambda w: w.dataset("a", np.zeros((0, 8)), shape=(1 << 40, 8), start=(0, 0), chunks=(1 << 30, 8)),
    "place": lambda w: w.dataset("a", np.zeros(3), shape=(4,), start=(3,)),
    "bound": lambda w: w.dataset("a", np.zeros(3), max_relative_error=2.0),
    "group": lambda w: w.group("a//b", {}),
    "streams": lambda w: w.streams("u" * 59).__enter__(),
    "chunk of streams": lambda w: w.streams("log", chunk_bytes=-1).__enter__(),
}


@pytest.mark.parametrize("options", [{}, {"seal": False}, {"atomic": False}], ids=str)
@pytest.mark.parametrize("large", [False, True])
def test_what_is_refused_leaves_the_file_as_it_was(tmp_path: Path, options: dict[str, Any], large: bool) -> None:
    data = np.arange(100_000.0 if large else 10.0)
    files = []
    for calls in ({}, REFUSED):
        path = tmp_path / f"f{len(files)}"
        with scda.create(path, **options) as w:
            w.dataset("before", data, encode=large)
            for name, call in calls.items():
                with pytest.raises((ValueError, TypeError, OverflowError)):
                    call(w)
                w.array(name, data)
            for name in () if calls else REFUSED:
                w.array(name, data)
        files.append(path.read_bytes())
    assert files[0] == files[1]


def test_parts_that_are_written_one_by_one_are_refused(tmp_path: Path) -> None:
    data = np.arange(12.0).reshape(4, 3)
    with scda.create(tmp_path / "f") as w:
        w.dataset("rho", data[:2], shape=(4, 3), start=(0, 0))
        meeting = [((0, 0), data[:2]), ((1, 0), data[:2])]
        with pytest.raises(scda.ArgumentError, match="in two boxes"):
            w.dataset("all", boxes=meeting, shape=(4, 3))
        # Neither what was refused before nor that changes anything.
        for _ in range(2):
            with pytest.raises(ValueError, match=r"'rho': found another part of an array .* boxes="):
                w.dataset("rho", data[2:], shape=(4, 3), start=(2, 0))
        # Records, whole or each with a part at the same place, and other arrays.
        w.dataset("p", data)
        w.dataset("p", data)
        for _ in range(2):
            w.dataset("q", data[:2], shape=(4, 3), start=(1, 0))
        w.dataset("rho", data[2:], shape=(5, 3), start=(2, 0))
        w.dataset("all", boxes=[((0, 0), data[:2]), ((2, 0), data[2:])], shape=(4, 3))
    with scda.open(tmp_path / "f") as f:
        assert [len(f.records(name)) for name in ("rho", "p", "q", "all")] == [2, 2, 2, 1]
        assert (f["all"][...] == data).all()


@pytest.mark.parametrize("background_bytes", [0, 1 << 20])
def test_statistics(background_bytes: int, tmp_path: Path) -> None:
    with scda.create(tmp_path / "f", background_bytes=background_bytes) as w:
        w.array("plain", np.zeros(1 << 17))
        w.array("compressed", np.zeros((1 << 10, 1 << 7)), encode=True)
        w.commit()
        found = w.statistics
        assert found["written_bytes"] > 1 << 20 and 0 < found["encoded_bytes"] < 1 << 20 and type(found["encoded_bytes"]) is int
        assert (found["copied_bytes"] > 0) == (background_bytes > 0)
        times = ("agreeing", "copying", "waiting", "encoding", "writing", "syncing")
        assert all(type(found[name]) is float and found[name] >= 0 for name in times) and found["encoding"] > 0
        assert set(found) == {*times, "written_bytes", "encoded_bytes", "copied_bytes"}
    with pytest.raises(scda.UsageError):
        w.statistics
