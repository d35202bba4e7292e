"""Streams of tasks as file objects."""

from __future__ import annotations

import array
import copy
import ctypes
import gc
import io
import json
import mmap
import os
import pickle
import random
import tarfile
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda

TEXT = b"".join(b"line %d\n" % i for i in range(2000))


@pytest.fixture(params=[True, False], ids=["sealed", "plain"])
def f(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A stream of several parts, if a file can have commits."""
    path = tmp_path / "f.scda"
    with scda.create(path, seal=request.param) as w:
        w.block("before", b"abc")
        with w.streams("log", chunk_bytes=100) as log:
            assert log.writable() and not log.readable() and not log.seekable() and not log.closed
            assert log.mode == "wb" and log.name == "log" and log.tell() == 0
            assert log.write(TEXT[:1]) == 1 and log.tell() == 1
            w.flush()
            log.write(memoryview(TEXT)[1:10_000])
            if request.param:
                w.commit()
            assert log.write(b"") == 0
            log.write(bytearray(TEXT[10_000:]))
            assert log.tell() == len(TEXT)
        assert log.closed
        with w.streams("empty"):
            pass
        w.array("behind", np.arange(3.0))
        w.dataset("rho", np.arange(12.0), chunks=4, encode=True)
    with scda.open(path, verify=request.param) as file:
        yield file


def test_streams_are_a_sequence(f: scda.File) -> None:
    streams = f.streams("log")
    assert len(streams) == 1 and streams.name == "log" and streams.chunk_bytes == 100 and "1 tasks" in repr(streams)
    assert [stream.nbytes for stream in streams] == [len(TEXT)]
    assert streams[-1].task == 0 and [s.task for s in streams[:]] == [0] and streams[1:] == []
    for key in (1, -2):
        with pytest.raises(IndexError, match="found 1 streams"):
            streams[key]
    assert f.streams(b"empty")[0].read() == b""
    assert f["behind"].to_numpy("<f8").tolist() == [0, 1, 2] and f["before"].read() == b"abc"
    assert f.streams("log", 0)[0].read() == f.streams("log", -1)[0].read() == TEXT


def test_the_share_of_the_only_rank_is_all(f: scda.File) -> None:
    offsets, values = f.streams("log").read_partition()
    assert offsets.tolist() == [0, len(TEXT)] and values.dtype == np.uint8 and values.tobytes() == TEXT
    values[0] = 7  # in memory of its own
    assert f.streams("log").read_partition([1], "S1")[1].tobytes() == TEXT
    offsets, values = f.streams("empty").read_partition(dtype="<f8")
    assert offsets.tolist() == [0, 0] and values.dtype == np.float64 and len(values) == 0
    assert len(TEXT) % 7, "or the next error is none"
    with pytest.raises(ValueError, match="element 0: found .* expected a multiple of 7"):
        f.streams("log").read_partition(dtype="S7")
    with pytest.raises(ValueError, match=r"counts: found \[2\], expected 1 with the sum 1"):
        f.streams("log").read_partition([2])
    with pytest.raises(TypeError):
        f.streams("log").read_partition(dtype=object)


def test_names_that_are_none(f: scda.File) -> None:
    with pytest.raises(KeyError, match="no streams have this name"):
        f.streams("absent")
    with pytest.raises(KeyError, match="no streams have this name"):
        f.streams("absent", -1)
    for record in (7, -8, 1 << 70):
        with pytest.raises(IndexError, match="record"):
            f.streams("log", record)
    with pytest.raises(TypeError, match="name"):
        f.streams(3)  # type: ignore[arg-type]
    with pytest.raises(scda.FormatError, match="is not a set of streams"):
        f.streams("before")
    with pytest.raises(scda.FormatError, match="is a dataset, not a set of streams"):
        f.streams("rho")
    assert f.streams("log")[0].read(4) == b"line"  # after an error, too


def test_seek_tell_and_reads_are_those_of_python(f: scda.File) -> None:
    stream, other = f.streams("log")[0], io.BytesIO(TEXT)
    assert stream.readable() and stream.seekable() and not stream.writable() and stream.mode == "rb"
    assert stream.name == "log[0]" and repr(stream) == f"<scda stream 'log[0]', {len(TEXT)} bytes>"
    rng = random.Random(5)
    for _ in range(300):
        step = rng.randrange(5)
        if step == 0:
            place = rng.randrange(len(TEXT) + 50)
            assert stream.seek(place) == other.seek(place)
        elif step == 1:
            place = rng.randrange(-other.tell(), 300)
            assert stream.seek(place, os.SEEK_CUR) == other.seek(place, os.SEEK_CUR)
        elif step == 2:
            place = rng.randrange(-len(TEXT), 50)
            assert stream.seek(place, os.SEEK_END) == other.seek(place, os.SEEK_END)
        elif step == 3:
            count = rng.randrange(500)
            assert stream.read(count) == other.read(count)
        else:
            assert stream.readline() == other.readline()
        assert stream.tell() == other.tell()
    stream.seek(-7, os.SEEK_END)
    assert stream.read() == TEXT[-7:] and stream.read() == b"" and stream.read(3) == b""
    for arguments in ((-1,), (-len(TEXT) - 1, 2), (0, 5)):
        with pytest.raises(ValueError, match="seek|whence"):
            stream.seek(*arguments)
    with pytest.raises(TypeError):
        stream.seek(1.5)  # type: ignore[arg-type]
    assert stream.tell() == len(TEXT)
    assert stream.seek(1 << 70) == 1 << 70 and stream.read(3) == b""


def test_readinto_takes_any_memory_that_can_be_written(f: scda.File) -> None:
    stream = f.streams("log")[0]
    memory = bytearray(20)
    assert stream.readinto(memory) == 20 and memory == TEXT[:20]
    assert stream.readinto(memoryview(memory)[5:8]) == 3 and memory[5:8] == TEXT[20:23]
    array = np.zeros((2, 3), "<u4")
    assert stream.readinto(array) == 24 and array.tobytes() == TEXT[23:47]
    assert stream.readinto(bytearray()) == 0 == stream.readinto(np.empty((0, 3)))
    with pytest.raises(TypeError, match="written"):
        stream.readinto(b"12345")
    with pytest.raises(TypeError):
        stream.readinto(array[:, ::2])
    with pytest.raises(TypeError):
        stream.readinto("text")
    assert stream.tell() == 47
    stream.seek(-5, 2)
    assert stream.readinto(memory) == 5 and memory[:5] == TEXT[-5:]  # a read cut off by the end
    assert stream.readinto(memory) == 0


def outcome(call: Callable[[io.RawIOBase], Any], stream: io.RawIOBase) -> Any:
    """What a call returns, or the type of its error, and the position after it."""
    try:
        result = call(stream)
    except Exception as error:  # whatever it is, it must be the same
        result = type(error)
    return result, stream.tell()


def memory_of_all_kinds() -> list[Any]:
    """Memory as `readinto` may get it, right and wrong."""

    class Pair(ctypes.Structure):
        _fields_ = [("a", ctypes.c_char), ("b", ctypes.c_double)]

    types = (">u4", "<u2,>f8", "?", "c16", "M8[s]", "m8[ms]", "f2", "S5", "U5", "longdouble", "V3")
    arrays: list[Any] = [np.zeros(shape, dtype) for dtype in types for shape in (3, (2, 2), (), 0)]
    arrays += [np.zeros((3, 2), order="F"), np.zeros(6)[::2], np.zeros(6, "M8[s]")[::2], np.frombuffer(b"12345678")]
    arrays += [array.array("i", [0] * 5), array.array("d"), (ctypes.c_int * 4)(), Pair(), mmap.mmap(-1, 100)]
    arrays += [bytearray(8), bytearray(50_000), memoryview(bytearray(8)).cast("d"), memoryview(bytearray(8))[::-1]]
    return [*arrays, b"read only", "text", None, 3]


def test_it_is_what_fileio_is(f: scda.File, tmp_path: Path) -> None:
    """Calls that differ in nothing from those of a file, as CPython's tests of files have them."""
    path = tmp_path / "file"
    path.write_bytes(TEXT)

    def both() -> tuple[io.RawIOBase, io.RawIOBase]:
        return f.streams("log")[0], io.FileIO(path)

    for mine, other in zip(memory_of_all_kinds(), memory_of_all_kinds()):
        stream, file = both()
        found, expected = (outcome(lambda s, m=m: s.readinto(m), o) for m, o in ((mine, stream), (other, file)))
        assert found == expected, mine
        if not isinstance(found[0], type):
            assert memoryview_bytes(mine) == memoryview_bytes(other), mine
        file.close()
    calls: list[Callable[[Any], Any]] = [
        *(lambda s, n=n: s.read(n) for n in (0, 3, -1, -5, None, True, np.int64(3), 1.0, "a", len(TEXT) + 1)),
        *(lambda s, n=n: s.readline(n) for n in (0, 3, -1, None, 1.0)),
        *(lambda s, n=n: s.readlines(n) for n in (0, 1, 100, -1, None)),
        *(lambda s, a=a: s.seek(*a) for a in ((7,), (7, 0), (7, 1), (-7, 2), (1 << 40,))),
        *(lambda s, a=a: s.seek(*a) for a in ((None,), (1.0,), (0, None), (0, 1.0))),
        *(lambda s, a=a: (s.seek(*a), s.read(2), s.readline()) for a in ((-3, 2), (1 << 40,), (5, 1), (0, True))),
        lambda s: s.writelines([]),
        lambda s: s.writelines([b"x"]),
        lambda s: s.write(b""),
        lambda s: s.truncate(),
        lambda s: s.truncate(0),
        lambda s: s.flush(),
        lambda s: s.isatty(),
        lambda s: (s.readable(), s.seekable(), s.writable(), s.mode, s.closed),
        lambda s: (next(s), next(s), s.read(1), sum(1 for _ in s)),
        lambda s: iter(s) is s,
        lambda s: s.__enter__() is s,
        lambda s: s.peek(1),
        lambda s: s.detach(),
        lambda s: s.readall(1),
        lambda s: setattr(s, "mode_of_others", 1),
    ]
    for number, call in enumerate(calls):
        stream, file = both()
        assert outcome(call, stream) == outcome(call, file), number
        file.close()


def memoryview_bytes(memory: Any) -> bytes:
    return memory.tobytes() if isinstance(memory, np.ndarray) else memoryview(memory).tobytes()


def test_no_memory_for_what_is_not_there(f: scda.File) -> None:
    stream = f.streams("log")[0]
    assert stream.read(3) == TEXT[:3] and stream.read(1 << 60) == TEXT[3:] and stream.read(1 << 70) == b""


def test_a_stream_that_nobody_has_any_more_is_gone(f: scda.File) -> None:
    """Without a warning: it has no descriptor. What wraps it closes it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stream = f.streams("log")[0]
        gone = weakref.ref(stream)
        del stream
        gc.collect()
        assert gone() is None
        raw = f.streams("log")[0]
        buffered = io.BufferedReader(raw)
        assert buffered.raw is raw and buffered.detach() is raw and not raw.closed
        with io.TextIOWrapper(io.BufferedReader(raw), "ascii", newline="") as text:
            assert text.readline() == "line 0\n" and text.tell() == 7 and text.seek(0) == 0
        assert raw.closed and repr(raw).startswith("<scda stream 'log[0]'")
    assert f.streams("log")[0].read(4) == b"line"


def test_what_a_stream_for_reading_cannot_do(f: scda.File) -> None:
    stream = f.streams("log")[0]
    calls = (stream.fileno, stream.truncate, lambda: stream.write(b"x"), lambda: stream.writelines([b"x"]))
    for call in calls:
        with pytest.raises(io.UnsupportedOperation):
            call()
    assert not stream.isatty()


def test_closed_streams_and_closed_files(f: scda.File) -> None:
    streams = f.streams("log")
    with streams[0] as stream:
        assert stream.read(1) == b"l"
    assert stream.closed
    calls = (stream.read, stream.readall, stream.tell, lambda: stream.seek(0), lambda: stream.readinto(bytearray(1)))
    more = (stream.readable, stream.seekable, stream.writable, stream.readline, stream.isatty, stream.__enter__)
    for call in (*calls, *more, lambda: stream.read(None), lambda: next(stream)):
        with pytest.raises(ValueError, match="closed file"):
            call()
    stream.close()
    other = streams[0]
    f.close()
    for use in (lambda: other.read(1), lambda: streams[0], lambda: f.streams("log")):
        with pytest.raises(scda.UsageError, match="the file is closed"):
            use()


def test_none_is_all_and_no_stream_is_copied(f: scda.File, tmp_path: Path) -> None:
    """As of other file objects."""
    stream = f.streams("log")[0]
    assert stream.read(2) == TEXT[:2] and stream.read(None) == TEXT[2:] and stream.read(None) == b""
    stream.seek(0)
    assert stream.readline(None) == b"line 0\n" and len(stream.readlines(None)) == 1999
    with scda.create(tmp_path / "w.scda") as w, w.streams("log") as writer:
        for each in (stream, writer):
            for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(TypeError, match="cannot pickle or copy the stream .*'log.*a part of an open file"):
                    duplicate(each)
        writer.close()
        for call in (writer.writable, writer.readable, writer.seekable, writer.tell, lambda: writer.write(b"")):
            with pytest.raises(ValueError, match="closed file"):
                call()


def test_lines_text_and_other_readers(f: scda.File) -> None:
    with io.BufferedReader(f.streams("log")[0]) as lines:
        assert lines.peek(4)[:4] == b"line" and list(lines) == TEXT.splitlines(keepends=True)
        lines.seek(-10, 2)
        assert lines.read() == TEXT[-10:]
    text = io.TextIOWrapper(io.BufferedReader(f.streams("log")[0]), "utf-8")
    assert text.readline() == "line 0\n" and sum(1 for _ in text) == 1999
    assert f.streams("log")[0].readlines()[-1] == b"line 1999\n"


def test_programs_that_write_and_read_files(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    values = {"step": 3, "field": np.arange(100_000.0)}
    with scda.create(path) as w:
        with w.streams("pickled") as stream:
            pickle.dump(values, stream)
            pickle.dump("more", stream)
        with w.streams("numpy") as stream:
            np.save(stream, values["field"])
            with io.BufferedWriter(stream) as buffered:
                buffered.write(np.arange(5, dtype="<i4"))
        with w.streams("tar") as stream, tarfile.open(fileobj=stream, mode="w|") as tar:
            member = tarfile.TarInfo("member")
            member.size = 5
            tar.addfile(member, io.BytesIO(b"hello"))
        with w.streams("json") as stream, io.TextIOWrapper(io.BufferedWriter(stream), "utf-8") as text:
            json.dump(["é", 1], text)
    with scda.open(path, verify=True) as f:
        stream = f.streams("pickled")[0]
        assert np.array_equal(pickle.load(stream)["field"], values["field"]) and pickle.load(stream) == "more"
        with pytest.raises(EOFError):
            pickle.load(stream)
        assert pickle.load(io.BufferedReader(f.streams("pickled")[0]))["step"] == 3
        stream = f.streams("numpy")[0]
        assert np.array_equal(np.load(stream), values["field"])
        assert np.frombuffer(stream.read(), "<i4").tolist() == [0, 1, 2, 3, 4]
        with tarfile.open(fileobj=f.streams("tar")[0]) as tar:
            member_file = tar.extractfile("member")
            assert member_file is not None and member_file.read() == b"hello"
        assert json.load(io.TextIOWrapper(f.streams("json")[0])) == ["é", 1]  # type: ignore[arg-type]


def test_several_sets_of_a_name_are_records(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    with scda.create(path) as w:
        for k in range(3):
            with w.streams("log") as stream:
                stream.write(b"%d" % k)
                w.commit()
                stream.write(b"!")
    with scda.open(path) as f:
        assert [f.streams("log", k)[0].read() for k in (0, 1, 2, -1, -3)] == [b"0!", b"1!", b"2!", b"2!", b"0!"]
        assert f.streams("log")[0].read() == b"2!"


def test_chunks_of_a_program_that_knows_better(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    for wrong in (-1, (1 << 30) + 1):
        with pytest.raises(scda.ArgumentError, match="chunk_bytes"), scda.create(path) as w:
            with w.streams("log", chunk_bytes=wrong):
                pass
    with scda.create(path) as w, w.streams("log", chunk_bytes=1) as stream:
        stream.write(b"abc")
    assert scda.open(path).streams("log")[0].read() == b"abc"


def test_writing_what_is_no_bytes(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f.scda") as w, w.streams("log") as stream:
        for data in ("text", 3, [1, 2]):
            with pytest.raises(TypeError):
                stream.write(data)
        stream.write(np.arange(3, dtype="u1"))
        assert stream.tell() == 3 and "open" in repr(stream)
        for call in (stream.read, lambda: stream.read(1), stream.readline, lambda: stream.seek(0), stream.fileno):
            with pytest.raises(io.UnsupportedOperation):
                call()


def test_a_stream_that_was_closed_still_ends_with_the_statement(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    with scda.create(path) as w:
        with w.streams("log") as stream:
            stream.write(b"abc")
            stream.close()
            with pytest.raises(ValueError, match="closed file"):
                stream.write(b"more")
        w.block("behind", b"")
    assert scda.open(path).streams("log")[0].read() == b"abc"


def test_an_exception_ends_the_streams(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    with scda.create(path) as w:
        with pytest.raises(ZeroDivisionError), w.streams("log") as stream:
            stream.write(b"abc")
            1 // 0
        w.block("behind", b"")
    assert scda.open(path).streams("log")[0].read() == b"abc"
    with pytest.raises(ZeroDivisionError), scda.create(path) as w, w.streams("log") as stream:
        1 // 0
    assert scda.open(path).streams("log")[0].read() == b"abc"  # the old file


@pytest.mark.parametrize("call", ["block", "close", "streams"])
def test_only_streams_until_they_end(tmp_path: Path, call: str) -> None:
    path = tmp_path / "f.scda"
    w = scda.create(path)
    with pytest.raises(scda.UsageError), w.streams("log") as stream:
        if call == "block":
            w.block("b", b"")
        elif call == "close":
            w.close()
        else:
            with w.streams("other"):
                pass
    assert w.closed and stream.closed and not path.exists()


def test_a_full_disk_is_an_error_of_the_write(tmp_path: Path) -> None:
    import resource
    import signal

    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    w = scda.create(tmp_path / "f.scda", atomic=False)
    try:
        with pytest.raises(scda.NoSpaceError):
            with w.streams("log") as stream:
                resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
                with pytest.raises(scda.NoSpaceError):
                    stream.write(bytes(1 << 22))
                stream.write(b"more")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert w.closed


def test_damage_is_an_error_and_the_file_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    with scda.create(path, seal=False) as w:
        w.block("whole", b"abc")
        with w.streams("log", chunk_bytes=64) as stream:
            stream.write(b"x" * 100)
    data = bytearray(path.read_bytes())
    entry = data.rindex(b"U 100")
    data[entry : entry + 5] = b"U 999"
    path.write_bytes(data)
    with scda.open(path) as f:
        with pytest.raises(scda.FormatError, match="found 999 bytes, expected at most 128"):
            f.streams("log")[0]
        assert f["whole"].read() == b"abc"
    data[entry : entry + 5] = b"U 100"
    path.write_bytes(data)
    with scda.open(path) as f:
        stream = f.streams("log")[0]
        os.truncate(path, data.index(b"xxx") + 10)
        with pytest.raises(scda.ShortFileError):
            stream.read()
        assert f["whole"].read() == b"abc" and stream.tell() == 0
