"""Reading any part of a file with numpy."""

from __future__ import annotations

import gc
import io
import itertools
import mmap
import os
import pickle
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Optional, Sequence

import numpy as np
import pytest
import scda

GRID = np.arange(3000.0).reshape(1000, 3)
STRINGS = [b"x" * (i % 7) + bytes([i % 251]) * (i % 13) for i in range(2000)]
RAGGED = [np.arange(i % 5, dtype="<i4") * i for i in range(500)]


@pytest.fixture(params=["plain", "compressed", "sealed", "sealed compressed"])
def f(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    path, encode = tmp_path / "f.scda", "compressed" in request.param
    with scda.create(path, b"user \xff string", seal="sealed" in request.param) as w:
        w.inline("clock", b"%32d" % 42)
        w.block("text", b"0123456789", encode=encode)
        w.array("grid", GRID, encode=encode)
        w.varray("strings", STRINGS, encode=encode)
        w.varray("ragged", RAGGED, encode=encode)
        w.array("grid", GRID[:1], encode=encode)
    with scda.open(path) as file:
        yield file


def test_sections_are_found_by_number_and_user_string(f: scda.File) -> None:
    assert f.sections[0].user == b"clock" and f.sections[-1].index == 5 and f.sections[-6] is f.sections[0]
    assert [s.user_text for s in f.sections[1:3]] == ["text", "grid"]
    assert f["text"] is f.sections[1] and f["rag*"] is f.sections[4] and f[b"strings"] is f.sections[3]
    assert [s.index for s in f.sections.find("grid")] == [2, 5] and f.sections.find("nothing") == []
    assert "strings" in f and "x*" not in f and f.sections[3] in f.sections
    for key in (6, -7):
        with pytest.raises(IndexError, match="found 6 sections"):
            f.sections[key]
    with pytest.raises(KeyError, match="2 sections have this user string, numbers 2, 5"):
        f["grid"]
    with pytest.raises(KeyError, match="'clock', 'text'"):
        f["velocity"]
    with pytest.raises(KeyError):
        f[b"rag*"]
    assert f.user == b"user \xff string" and f.user_text == "user \\xff string"
    assert len(f.sections) == 6 and "open" in repr(f) and "1000 elements of 24 bytes" in repr(f.sections[2])


def test_patterns_are_for_names_that_users_gave(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    with scda.create(path) as w:
        w.group("/", {"a": 1})
        w.dataset("rho", GRID)
        w.block("state", b"dt=0.1")
    with scda.append(path) as w:
        w.set_attrs("rho", {"units": "K"})
    with scda.open(path) as f:
        assert f["s*"] is f.sections["state"] and [s.user_text for s in f.sections.find("*o*")] == ["rho"]
        assert "scda*" not in f.sections and f.sections.find("*0") == [] and "/[0-9]*" not in f.sections
        assert f.sections["scda dataset 00"].kind == "block"
    with scda.open(path, decode=False) as f:
        assert len(f.sections.find("scda*")) == 3 and len(f.sections.find("/[0-9]*")) == 1


def test_iteration_finds_sections_while_others_are_read(f: scda.File) -> None:
    kinds = []
    for s in f.sections:
        f.sections[0].read()
        kinds.append(s.kind)
        s.read()
    assert kinds == ["inline", "block", "array", "varray", "varray", "array"]


SLICES = [
    slice(None), slice(3, 17), slice(-5, None), slice(None, None, 7), slice(20, 3, -4), slice(5, 5), slice(None, None, -1),
    slice(998, 5000), slice(7, 3),
]  # fmt: skip


@pytest.mark.parametrize("key", SLICES, ids=str)
def test_slices_are_those_of_python(f: scda.File, key: slice) -> None:
    assert f.sections[2][key] == GRID[key].tobytes()
    assert f.sections[3][key] == STRINGS[key]
    assert f.sections[1][key] == b"0123456789"[key]
    assert f.sections[0][key] == f.sections[0].read()[key]


def test_elements_one_by_one(f: scda.File) -> None:
    for i in (0, 999, 5, -1, 500, 499):
        assert f.sections[2][i] == GRID[i].tobytes()
        assert f.sections[3][i] == STRINGS[i]
    assert f.sections[1][3] == ord("3") and f.sections[1][-1] == ord("9")
    assert list(f.sections[2]) == [row.tobytes() for row in GRID]
    assert list(f.sections[3]) == STRINGS and list(f.sections[1]) == list(b"0123456789")
    assert [len(s) for s in f.sections] == [32, 10, 1000, 2000, 500, 1]
    for section, key in ((f.sections[2], 1000), (f.sections[3], -2001), (f.sections[1], 10)):
        with pytest.raises(IndexError):
            section[key]


def test_arrays_as_numpy_of_any_type(f: scda.File) -> None:
    grid = f.sections[2]
    assert np.array_equal(grid.to_numpy("<f8"), GRID)
    assert grid.to_numpy("<f8").shape == (1000, 3) and grid.to_numpy().shape == (1000, 24)
    assert grid.to_numpy("<f8", (3, 1)).shape == (1000, 3, 1)
    assert grid.to_numpy("V24").tobytes() == GRID.tobytes()
    rows = grid.to_numpy([("x", "<f8"), ("yz", "<f8", 2)])
    assert rows.shape == (1000,) and rows["yz"][7, 1] == GRID[7, 2]
    assert f.sections[1].to_numpy("S1").tolist() == [b"%d" % i for i in range(10)]
    assert f.sections[1].to_numpy("<u2", (5, 1)).shape == (5, 1) and f.sections[0].to_numpy("S32")[0].strip() == b"42"
    for dtype, shape in (("<f4", (3,)), ("<f8", (2,)), ("<f8", ()), ("V7", None), ("<f8", (-3, -1))):
        with pytest.raises(ValueError, match="found each element of 24 bytes"):
            grid.to_numpy(dtype, shape)
    with pytest.raises(ValueError, match="found data of 10 bytes"):
        f.sections[1].to_numpy("<f8")
    with pytest.raises(TypeError, match="without Python objects"):
        grid.to_numpy(object)
    with pytest.raises(TypeError, match="to_ragged"):
        f.sections[3].to_numpy()


def test_varrays_as_offsets_and_values(f: scda.File) -> None:
    offsets, values = f["ragged"].to_ragged("<i4")
    assert offsets.dtype == np.int64 and offsets.shape == (501,) and offsets[0] == 0
    for i, element in enumerate(RAGGED):
        assert np.array_equal(values[offsets[i] : offsets[i + 1]], element)
    assert np.array_equal(f["strings"].sizes(), [len(text) for text in STRINGS])
    assert f["strings"].nbytes == sum(map(len, STRINGS))
    with pytest.raises(ValueError, match="element 1: found 2 bytes, expected a multiple of 4"):
        f["strings"].to_ragged("<i4")
    for what in (f.sections[2].to_ragged, f.sections[1].to_ragged, f.sections[0].sizes):
        with pytest.raises(TypeError, match="varray"):
            what()


def test_what_is_read_cannot_be_written_to(f: scda.File) -> None:
    for array in (f.sections[0].to_numpy(), f.sections[1].to_numpy(), f.sections[2].to_numpy("<f8"), *f.sections[4].to_ragged("<i4")):
        assert not array.flags.writeable
        with pytest.raises(ValueError):
            array[...] = 0


def test_a_partition_for_one_rank_is_everything_and_may_be_changed(f: scda.File) -> None:
    part = f.sections[2].read_partition(dtype="<f8")
    assert np.array_equal(part, GRID)
    part[:] = 0
    offsets, values = f.sections[4].read_partition([500], "<i4")
    assert np.array_equal(values[offsets[7] : offsets[8]], RAGGED[7])
    for counts in ([999], [1000, 0], [-1], []):
        with pytest.raises(ValueError, match="counts"):
            f.sections[2].read_partition(counts)
    with pytest.raises(TypeError, match="use read"):
        f.sections[1].read_partition()
    with pytest.raises(ValueError, match="shape"):
        f.sections[3].read_partition(shape=(1,))


def mapped(array: np.ndarray) -> Optional[mmap.mmap]:
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, mmap.mmap) else None


def test_plain_data_are_mapped_and_compressed_ones_are_not(f: scda.File) -> None:
    for array in (f.sections[1].to_numpy(), f.sections[2].to_numpy("<f8"), f.sections[4].to_ragged("<i4")[1]):
        assert (mapped(array) is None) == f.sections[1].compressed
        assert isinstance(array, np.memmap) != f.sections[1].compressed


def test_mapped_data_are_those_of_the_file_and_outlive_it(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    with scda.create(path) as w:
        w.array("grid", GRID)
    with scda.open(path) as f:
        offset, view = f.sections[0].data_offset, f.sections[0].to_numpy("<f8")
        part = view[10:20]
        assert np.shares_memory(part, view)
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(np.float64(-1).tobytes())
    assert view[0, 0] == -1 and view.flags.aligned
    del view
    gc.collect()
    assert part[0, 0] == GRID[10, 0]


def test_a_file_larger_than_memory_takes_no_time(tmp_path: Path) -> None:
    count, path = 50 << 30, tmp_path / "f.scda"
    with scda.create(path, seal=False) as w:
        w.array("big", np.zeros(8, "u1"))
    data = bytearray(path.read_bytes()[:256])
    data[192:224] = (b"N %d " % count).ljust(30, b"-") + b"-\n"
    path.write_bytes(data)
    os.truncate(path, 256 + count + 32)
    with open(path, "r+b") as file:
        file.seek(256 + count - 3)
        file.write(b"end")
    with scda.open(path) as f:
        big = f.sections[0]
        assert (len(f.sections), big.count, big.nbytes) == (1, count, count)
        assert big[-3:] == b"end" and big[5] == b"\0" and big[count - 1] == b"d"
        assert big.to_numpy().shape == (count,) and big.to_numpy("S1")[-3:].tobytes() == b"end"
        assert f.sections[-1].offset + big.file_nbytes == path.stat().st_size


def test_the_pairs_of_compressed_sections(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    with scda.create(path) as w:
        w.array("grid", GRID, encode=True)
    with scda.open(path, decode=False) as f:
        assert [(s.kind, s.user) for s in f.sections] == [("inline", b"A compressed scda 00"), ("varray", b"grid")]
        assert f.sections[0].read().startswith(b"U 24 --") and not f.sections[1].compressed
        assert f.sections[1].count == 1000


def test_any_number_of_threads_decodes_the_same(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    data = np.random.default_rng(1).integers(0, 9, (500, 4096)).astype("<i4")
    with scda.create(path, threads=3) as w:
        w.array("data", data, encode=True)
    first = path.read_bytes()
    with scda.create(path, threads=1) as w:
        w.array("data", data, encode=True)
    assert path.read_bytes() == first
    for threads in (1, 2, 7, None):
        with scda.open(path, threads=threads) as f:
            assert np.array_equal(f.sections[0].to_numpy("<i4"), data)
    with pytest.raises(scda.ArgumentError, match="threads: found 0"):
        scda.open(path, threads=0)


def test_a_file_can_be_used_by_several_threads(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    with scda.create(path) as w:
        w.array("plain", GRID)
        w.array("compressed", GRID, encode=True)
        w.varray("strings", STRINGS, encode=True)
    wrong = []
    with scda.open(path) as f:
        sections = f.sections[:]

        def work(seed: int) -> None:
            generator = np.random.default_rng(seed)
            for _ in range(200):
                i = int(generator.integers(0, 1000))
                good = sections[0][i] == sections[1][i] == GRID[i].tobytes() and sections[2][i] == STRINGS[i]
                wrong.extend([] if good else [i])

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_other_threads_run_while_data_are_decompressed(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f.scda") as w:
        w.array("data", np.random.default_rng(1).integers(0, 9, (100, 1 << 16)).astype("<i4"), encode=True)

    def longest_pause(f: scda.File) -> float:
        """Of this thread while another one decompresses, as a part of the time that this takes."""
        took: list[float] = []

        def work() -> None:
            start = time.perf_counter()
            f.sections[0].to_numpy("<i4")
            took.append(time.perf_counter() - start)

        thread = threading.Thread(target=work)
        thread.start()
        longest, last = 0.0, time.perf_counter()
        while not took:
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
        thread.join()
        return longest / took[0]

    with scda.open(tmp_path / "f.scda", threads=1) as f:
        # A pause may be another program's.
        pauses = [longest_pause(f) for _ in range(5)]
    assert min(pauses) < 0.7, pauses


def test_other_sections_can_be_read_after_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    with scda.create(path) as w:
        w.block("good", b"good")
        w.array("bad", GRID, encode=True)
        w.block("too", b"good too")
    with scda.open(path) as f:
        bad = f["bad"].data_offset
    data = bytearray(path.read_bytes())
    data[bad + 20] ^= 1
    path.write_bytes(data)
    with scda.open(path) as f:
        for _ in range(2):
            with pytest.raises(scda.DecodeError) as caught:
                f["bad"].to_numpy("<f8")
            assert bad <= caught.value.offset < bad + 100 and caught.value.code == 15002
        assert f["too"].read() == b"good too" and f["bad"][1:3] == GRID[1:3].tobytes()
        # Another file under this name is not taken for it.
        path.rename(tmp_path / "old")
        path.write_bytes(b"another")
        with pytest.raises(scda.DecodeError):
            f["bad"].read()
        assert f["good"][:] == b"good" and len(f.sections) == 3


def cut_file(folder: Path, good: Sequence[str] = ("good",)) -> Path:
    """A file whose last section lost its end."""
    path = folder / "f.scda"
    with scda.create(path, seal=False) as w:
        for user in good:
            w.block(user, b"good")
        w.array("cut", GRID)
    os.truncate(path, path.stat().st_size - 100)
    return path


def test_sections_before_the_end_of_a_cut_file_are_read(tmp_path: Path) -> None:
    path = cut_file(tmp_path)
    read = []
    with scda.open(path) as f:
        with pytest.raises(scda.ShortFileError, match="byte 256: array: found the end of the file"):
            for s in f.sections:
                read.append(s.read())
        with pytest.raises(EOFError):
            len(f.sections)
        assert f.sections[0].read() == b"good"
    assert read == [b"good"]


def test_a_closed_file(tmp_path: Path, f: scda.File) -> None:
    section, view = f.sections[2], f.sections[2].to_numpy("<f8")
    unread = f.sections[1]
    f.close()
    f.close()
    assert f.closed and np.array_equal(view, GRID)
    uses = [section.read, section.to_numpy, unread.read, unread.to_numpy, lambda: len(f.sections), lambda: f.__enter__()]
    for use in (*uses, lambda: f["text"], lambda: f["te*"], lambda: "text" in f, lambda: f.sections.find("text")):
        with pytest.raises(scda.UsageError, match="the file is closed$"):
            use()
    with pytest.raises(ValueError):
        section[0]


def test_errors_are_those_of_python_too(tmp_path: Path) -> None:
    missing = tmp_path / "none.scda"
    with pytest.raises(FileNotFoundError) as caught:
        scda.open(missing)
    error = caught.value
    assert isinstance(error, scda.Error) and (error.code, error.name) == (15020, "SCDA_ERR_NO_SUCH_FILE")
    assert error.filename == error.path == str(missing) and error.errno == 2 and str(missing) in str(error)
    assert traceback.format_exception_only(type(error), error)[0].startswith("scda.NoSuchFileError: ")
    classes = (scda.Error, *scda.Error.__subclasses__())
    assert {cls.__module__ for cls in classes} == {"scda"} and {cls.__name__ for cls in classes} < set(scda.__all__)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.path, again.errno) == (type(error), str(error), error.path, 2)
    (tmp_path / "text").write_text("no scda file, but long enough to have a header" * 4)
    with pytest.raises(scda.FormatError) as other:
        scda.open(tmp_path / "text")
    assert other.value.offset == 0 and isinstance(other.value, ValueError)
    with pytest.raises(scda.BadFileError):
        scda.open(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(scda.BadFileError):
        scda.open(tmp_path / "pipe")
    with pytest.raises(ValueError, match="driver"):
        scda.open(missing, driver="mpi")
    with pytest.raises(TypeError, match="comm"):
        scda.open(missing, comm=3)
    with pytest.raises(TypeError):
        scda.open(3)


def test_paths_of_every_kind(folder: Path) -> None:
    for path in ("hello.scda", b"hello.scda", folder / "hello.scda"):
        with scda.open(path) as f:
            assert f.path == str(folder / "hello.scda")
    f = scda.open("hello.scda")
    os.chdir("/")
    assert f["greeting"].read().startswith(b"libscda says hello")
    with pytest.warns(ResourceWarning, match="was not closed"):
        del f
        gc.collect()


def test_no_descriptor_is_left(folder: Path) -> None:
    gc.collect()  # what other tests have left
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with scda.open("hello.scda") as f:
            len(f.sections)
        for bad in (folder, "none"):
            with pytest.raises(scda.Error):
                scda.open(bad)
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.fixture
def many(tmp_path: Path) -> Path:
    with scda.create(tmp_path / "many") as w:
        for i in range(1500):
            w.array(f"section {i}", np.array([float(i)]))
    return tmp_path / "many"


def test_several_threads_look_for_sections(many: Path) -> None:
    with scda.open(many) as f, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: f.sections[i].to_numpy("<f8")[0], range(0, 1500, 7)))
        assert found == list(range(0, 1500, 7))
    with scda.open(many) as f, ThreadPoolExecutor(4) as pool:
        names = [f"section {i}" for i in range(1500)]
        for seen in pool.map(lambda _: [s.user_text for s in f.sections], range(4)):
            assert seen == names


def test_the_arrays_of_a_file_take_one_descriptor(many: Path) -> None:
    with scda.open(many) as f:
        before = len(os.listdir("/proc/self/fd"))
        arrays = [s.to_numpy("<f8") for s in f.sections]
        assert len(os.listdir("/proc/self/fd")) <= before + 1
    assert [array[0] for array in arrays] == list(range(1500))


def test_a_section_is_not_taken_for_an_array(f: scda.File) -> None:
    for section in f.sections:
        with pytest.raises(TypeError, match=r"use to_numpy\(dtype\)"):
            np.array(section)
        for key in ((), ..., (0, 1), "x", 1.0, None):
            with pytest.raises(TypeError, match="to_numpy"):
                section[key]
        assert section[np.int64(0)] == section[0]
    for key in (None, 1.0, ...):
        with pytest.raises(TypeError, match="expected the number of a section"):
            f.sections[key]  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="expected a name"):
            f[key]  # type: ignore[index]
    assert f.sections[2].to_numpy("<f8", 3).shape == (1000, 3) and f.sections[0].to_numpy("u1", np.int64(32)).shape == (32,)
    for shape in ((1.5,), "3", 3.0):
        with pytest.raises(TypeError):
            f.sections[2].to_numpy("<f8", shape)
    with pytest.raises(TypeError, match="decode"):
        scda.open(f.path, decode=0)


@pytest.mark.parametrize("encode", [False, True])
def test_slices_of_elements_without_bytes(tmp_path: Path, encode: bool) -> None:
    with scda.create(tmp_path / "f") as w:
        w.array("no bytes", np.empty((4, 0)), encode=encode)
    with scda.open(tmp_path / "f") as f:
        assert f.sections[0][::2] == f.sections[0][::-1] == f.sections[0][1:3] == b""


def test_slices_of_sections_are_those_of_python(f: scda.File) -> None:
    bounds = [None, -7, -6, -2, 0, 1, 3, 6, 9]
    for start in bounds:
        for stop in bounds:
            for step in (None, 1, 2, -1, -3):
                with scda.open(f.path) as fresh:
                    assert [s.index for s in fresh.sections[start:stop:step]] == list(range(6))[start:stop:step]
    with pytest.raises(ValueError, match="zero"):
        f.sections[::0]


def test_what_is_before_the_end_of_a_cut_file_can_be_had(tmp_path: Path) -> None:
    path = cut_file(tmp_path)
    with scda.open(path) as f:
        assert [s.read() for s in f.sections[:1]] == [b"good"] and "good" in f and b"good" in f
        # Of the section that is cut, what is there.
        assert f.sections[1] is f["cut"] and f["cut"][990:995] == GRID[990:995].tobytes() and f["cut"].count == 1000
        for read in (f["cut"].read, f["cut"].to_numpy, lambda: f["cut"][-1], lambda: list(f["cut"])):
            with pytest.raises(scda.ShortFileError):
                read()
        assert f["good"].read() == f[b"good"].read() == f["goo*"].read() == b"good" and "goo*" in f
        for use in (lambda: f.sections[:3], lambda: "other" in f, lambda: f["other"], lambda: f.sections.find("good"), lambda: len(f.sections)):
            with pytest.raises(scda.ShortFileError) as caught:
                use()
            assert caught.value.offset == 256
    with scda.open(path) as f:
        assert f["good"].read() == b"good"


def test_of_a_damaged_file_two_sections_of_a_name_are_still_two(tmp_path: Path) -> None:
    path = cut_file(tmp_path, ["good", "good"])
    with scda.open(path) as f, pytest.raises(KeyError, match="2 sections have this user string, numbers 0, 1"):
        f["good"]


def test_a_section_is_found_by_name_among_many_without_looking_at_all_again(tmp_path: Path) -> None:
    with scda.create(tmp_path / "many", seal=False) as w:
        for i in range(1500):
            w.inline(f"section {i}", bytes(32))

    class Counting(io.FileIO):
        reads = 0

        def read(self, size: int | None = -1) -> bytes:
            self.reads += 1
            return super().read(size)

    with Counting(tmp_path / "many") as file, scda.open(file) as f:
        f["section 1499"]
        before = file.reads
        assert [f[f"section {i}"].index for i in range(1500)] == list(range(1500))
        assert file.reads - before < 20, file.reads


def test_a_file_without_sections_is_a_file(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f") as w:
        pass
    with scda.open(tmp_path / "f") as f:
        assert f and len(f.sections) == 0 and str(f).splitlines()[1:] == ["index  kind  count  size  compressed  user string"]
    with scda.create(tmp_path / "f") as w:
        w.array("none", np.empty((0, 3)))
    with scda.open(tmp_path / "f") as f:
        assert f.sections[0] and len(f.sections[0]) == 0


def test_what_is_said_of_a_section_cannot_be_changed(f: scda.File) -> None:
    for name in ("count", "size", "offset", "user", "kind", "other"):
        with pytest.raises(AttributeError):
            setattr(f.sections[2], name, 1)
    assert f.sections[2].count == 1000


def test_a_file_is_printed_as_a_table_of_its_sections(f: scda.File, many: Path, tmp_path: Path) -> None:
    title, *lines = str(f).splitlines()
    assert title == repr(f) and [line.split()[0] for line in lines] == ["index", *map(str, range(6))]
    compressed = "yes" if f.sections[1].compressed else "no"
    assert lines[3].split() == ["2", "array", "1000", "24", compressed, "'grid'"]
    assert lines[4].split() == ["3", "varray", "2000", compressed, "'strings'"]
    page = f._repr_html_()
    assert page.count("<tr>") == 7 and "<td>&#x27;grid&#x27;</td>" in page
    f.close()
    assert str(f).splitlines()[1:] == lines and "closed" in str(f)
    with scda.open(many) as g:
        assert str(g).splitlines()[-1] == "and more" and len(str(g).splitlines()) == 53
    with scda.open(cut_file(tmp_path)) as g:
        assert [line.split()[-1] for line in str(g).splitlines()[2:4]] == ["'good'", "'cut'"]
        assert "ShortFileError" in str(g).splitlines()[4]
    with scda.create(tmp_path / "escapes") as w:
        w.block("\x1b[2J<b>", b"")
    with scda.open(tmp_path / "escapes") as g:
        assert "\x1b" not in str(g) and "&lt;b&gt;" in g._repr_html_()


def test_memory_is_not_allocated_for_what_a_file_only_claims(folder: Path) -> None:
    with scda.create("empty.scda", seal=False):
        pass
    header = Path("empty.scda").read_bytes()

    def line(letter: str, what: object, width: int) -> bytes:
        return f"{letter} {what} ".encode().ljust(width - 1, b"-") + b"\n"

    size = 1 << 42
    sections = {
        "block": line("B", "x", 64) + line("E", size, 32),
        "array": line("A", "x", 64) + line("N", size // 8, 32) + line("E", 8, 32),
        "varray": line("V", "x", 64) + line("N", size // 32, 32) + line("E", 8, 32),
    }
    reads: dict[str, Any] = {
        "read": lambda s: s.read(),
        "to_numpy": lambda s: s.to_ragged("u1") if s.kind == "varray" else s.to_numpy("u1"),
        "slice": lambda s: s[0 : s.count] if s.kind != "block" else s[:],
        "range": lambda s: s.read() if s.kind == "block" else s.read_range(0, s.count),
        "partition": lambda s: s.read() if s.kind == "block" else s.read_partition(),
    }
    for kind, section in sections.items():
        Path("cut.scda").write_bytes(header + section + b"abc")
        for what, read in reads.items():
            with scda.open("cut.scda") as f:
                (s,) = itertools.islice(f.sections, 1)
                with pytest.raises(scda.ShortFileError, match="found the end of the file"):
                    read(s)
                assert s.kind == kind, what
    # Chunks of the fill value take nothing in the file.
    with scda.create("fill.scda") as w:
        w.dataset("rho", np.zeros((0, 1 << 10)), shape=(1 << 34, 1 << 10), start=(0, 0), chunks=(1 << 17, 1 << 10))
    with scda.open("fill.scda") as f, pytest.raises(scda.OutOfMemoryError, match="fill.scda: data: no memory"):
        f["rho"][...]
