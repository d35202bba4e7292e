"""Sealed files: complete, checked, found by name, appended to."""

from __future__ import annotations

import gc
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda
from arrays import names
from conftest import ROOT

GRID = np.arange(30000.0).reshape(10000, 3)
STRINGS = [b"x" * (i % 7) + bytes([i % 251]) * (i % 13) for i in range(9001)]


def independent_check(path: Path, *options: str) -> list[str]:
    """The sections of a sealed file, as a reader finds them that is none of libscda."""
    program = [sys.executable, str(ROOT / "ffi-tests" / "scda_seal.py"), *options, str(path)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[1:-1]  # not the header of the file, nor the sum


def write_some(w: scda.Writer, encode: Any = False) -> None:
    w.inline("clock", b"%32d" % 42)
    w.block("text", b"0123456789", encode=encode)
    w.array("grid", GRID[:7], encode=encode)
    w.varray("strings", STRINGS[:9], encode=encode)


@pytest.mark.parametrize("style", ["unix", "mime"])
@pytest.mark.parametrize("encode", [False, True, "auto"])
def test_a_file_is_sealed_unless_it_is_not_wanted(tmp_path: Path, encode: Any, style: str) -> None:
    for seal in (True, False):
        with scda.create(tmp_path / str(seal), seal=seal, hdf5=False, style=style) as w:
            write_some(w, encode)
        with scda.open(tmp_path / str(seal)) as f:
            assert f.sealed is seal and len(f.sections) == 4
            assert (", sealed, open>" in repr(f)) == seal and (", not sealed, open>" in repr(f)) == (not seal)
            assert repr(f) == str(f).splitlines()[0]
        assert f.sealed is seal
    sealed, plain = (tmp_path / "True").read_bytes(), (tmp_path / "False").read_bytes()
    # The header's vendor string says so, too.
    assert sealed[128:].startswith(plain[128:]) and len(sealed) == len(plain) + 608 + 4 * 160
    assert [b" sealed " in file[:32] for file in (sealed, plain)] == [True, False]
    assert len(independent_check(tmp_path / "True")) == 4
    # Where there are anchors, too.
    with scda.create(tmp_path / "f", style=style) as w:
        w.varray("strings", STRINGS, encode=encode)
        w.commit()
        w.commit()
        w.array("grid", GRID, encode=encode)
    assert len(independent_check(tmp_path / "f")) == 2
    scda.verify(tmp_path / "f")


def file_of(path: Path, names: list[bytes], **options: Any) -> None:
    """Sections with these names and their numbers as data, sealed in parts."""
    generator = random.Random(len(names))
    with scda.create(path, **options) as w:
        for number, name in enumerate(names):
            kind = generator.randrange(4)
            data = b"%31d\n" % number
            if kind == 0:
                w.inline(name, data)
            elif kind == 1:
                w.block(name, data, encode=generator.random() < 0.5)
            elif kind == 2:
                w.array(name, data, size=8, encode=generator.random() < 0.5)
            else:
                w.varray(name, [data[:5], b"", data[5:]], encode=generator.random() < 0.5)
            if options.get("seal", True) and generator.random() < 0.1:
                w.commit()


def number_of(section: scda.Section) -> int:
    data = section.read()
    return int(data)


NAMES = [b"", b"time", b"temperature", b"t", b"time*", b"\xff", b"wind \xc2\xb0", b"a\\b", b"tim?", b"x" * 58]



def test_the_last_whole_file_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "state.scda"
    with pytest.raises(scda.NoSuchFileError):
        scda.open(path, keep=2)
    for number in range(3):
        with scda.create(path, atomic=True, keep=2) as w:
            w.dataset("number", number)
    for damage, name, number in ((None, path, 2), (100, tmp_path / "state.1.scda", 1), (0, tmp_path / "state.2.scda", 0)):
        if damage is not None:
            os.truncate(tmp_path / f"state{'' if damage else '.1'}.scda", damage)
        with scda.open(path, keep=2) as f:
            assert (f.path, f["number"][()]) == (str(name), number)
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "last.scda"
    link.symlink_to(path)
    with scda.create(tmp_path / "elsewhere" / "last.2.scda") as w:
        w.dataset("number", -1)
    with scda.open(link, keep=2) as f:  # older files are beside the one that the link names
        assert (f.path, f["number"][()]) == (str(tmp_path / "state.2.scda"), 0)
    os.truncate(tmp_path / "state.2.scda", 64)
    with pytest.raises(scda.ShortFileError, match="state.scda"):
        scda.open(path, keep=2)
    with scda.create(path, seal=False) as w:
        w.dataset("number", 3)
    with pytest.raises(scda.FormatError, match="state.scda: the file has no seal"):
        scda.open(path, keep=2)


def test_a_seal_finds_what_walking_finds(tmp_path: Path) -> None:
    generator = random.Random(1)
    for count in (0, 1, 7, 200):
        names = [generator.choice(NAMES) for _ in range(count)]
        file_of(tmp_path / "sealed", names)
        file_of(tmp_path / "plain", names, seal=False)
        for path in ("sealed", "plain"):
            with scda.open(tmp_path / path) as f:
                assert f.sealed == (path == "sealed") and len(f.sections) == count
                assert [number_of(s) for s in f.sections] == list(range(count)) and [s.user for s in f.sections] == names
            for index in [*range(-count - 2, count + 2)]:
                with scda.open(tmp_path / path) as f:
                    if -count <= index < count:
                        assert number_of(f.sections[index]) == index % count and f.sections[index].index == index % count
                        assert f.sections[index] in f.sections
                    else:
                        with pytest.raises(IndexError, match=f"found {count} sections"):
                            f.sections[index]
        texts = ["t*", "*", "time", "t?m*", "[t]*", "\\xff", "a\\b", "wind \N{DEGREE SIGN}", "no", "no*", "\udcff"]
        with scda.open(tmp_path / "sealed") as f, scda.open(tmp_path / "plain") as g:
            for key in [*NAMES, b"no", *texts, "x" * 59]:
                expected = [s.index for s in g.sections.find(key)]
                assert [s.index for s in f.sections.find(key)] == expected and (key in f.sections) == (key in g.sections) == bool(expected)
                for number in (*range(-len(expected) - 1, len(expected) + 1), -(1 << 70), 1 << 70):
                    found, wanted = f.sections.find(key, number), g.sections.find(key, number)
                    assert (found and found.index) == (wanted and wanted.index)
                    assert (found is None) == (not -len(expected) <= number < len(expected))
                if len(expected) == 1:
                    assert f.sections[key].index == g.sections[key].index == expected[0]
                else:
                    texts_of_errors = []
                    for file in (f, g):
                        with pytest.raises(KeyError) as caught:
                            file[key]
                        texts_of_errors.append(str(caught.value))
                    assert texts_of_errors[0] == texts_of_errors[1]
            with pytest.raises(TypeError):
                f.sections.find("time", 1.5)  # type: ignore[call-overload]


def reads() -> int:
    """Calls of the system that read, until now."""
    return int(Path("/proc/self/io").read_text().split()[5])


def test_few_reads_find_one_of_many_sections(tmp_path: Path) -> None:
    costs = []
    for count in (5_000, 50_000):
        with scda.create(tmp_path / "f", atomic=False) as w:
            for i in range(count):
                w.inline(f"section {i * 7919 % count}", b"%32d" % i)
        worst = 0
        for i in (0, 1, count // 3, count - 1):
            name, before = f"section {i * 7919 % count}", reads()
            with scda.open(tmp_path / "f") as f:
                assert f[name].read() == f.sections.find(name, 0).read() == f.sections[i].read() == b"%32d" % i
                assert f.sections.find(name, 1) is None and len(f.sections) == count
            worst = max(worst, reads() - before)
        costs.append(worst)
    # One absent name has the checksum of the index compared: 160 bytes a section, 128 KiB at once.
    index = 160 * (50_000 - 5_000) // (128 << 10)
    assert costs[1] < costs[0] + index + 70, costs


def test_all_of_a_name_are_found_at_once_however_many_seals_there_are(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f", atomic=False) as w:
        for step in range(400):
            w.inline("time", b"%32d" % step)
            w.block("state", b"")
            w.commit()
    with scda.open(tmp_path / "f") as f:
        before = reads()
        assert [int(s.read()) for s in f.sections.find("time")] == list(range(400))
        assert reads() - before < 400 * 40


def test_pairs_of_a_sealed_file(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f") as w:
        write_some(w, True)
        w.commit()
        w.block("last", b"")
    with scda.open(tmp_path / "f", decode=False) as f:
        assert f.sealed and len(f.sections) == 8 and [s.index for s in f.sections.find("*compressed scda 00")] == [1, 3, 5]
        assert f.sections[-1].user == b"last" and f["grid"].kind == "varray"
    with scda.open(tmp_path / "f", decode=False, verify=True) as f:
        assert len(f.sections) == 8
        offset = f.sections[4].data_offset
    damage(tmp_path / "f", offset + 60)
    with scda.open(tmp_path / "f", decode=False, verify=True) as f:
        assert f.sections[2].read() and f.sections[1].user.startswith(b"B compressed")
        with pytest.raises(scda.ChecksumError):
            f.sections[3]


@pytest.mark.parametrize("seal", [False, True])
@pytest.mark.parametrize("encode", [False, True])
def test_random_ranges(tmp_path: Path, encode: bool, seal: bool) -> None:
    with scda.create(tmp_path / "f", seal=seal) as w:
        w.varray("strings", STRINGS, encode=encode)
        w.array("grid", GRID, encode=encode)
    generator = random.Random(7)
    with scda.open(tmp_path / "f") as f:
        grid, strings = f["grid"], f["strings"]
        for _ in range(150):
            a, b = sorted(generator.choices(range(len(GRID) + 1), k=2))
            b = min(b, a + generator.choice([0, 1, 50, 10**9]))
            assert grid[a:b] == GRID[a:b].tobytes()
            part = grid.read_range(a, b, "<f8", 3)
            assert np.array_equal(part, GRID[a:b]) and part.flags.writeable
            a, b = min(a, len(STRINGS)), min(b, len(STRINGS))
            assert strings[a:b] == STRINGS[a:b]
            offsets, values = strings.read_range(a, b)
            assert [values[i:j].tobytes() for i, j in zip(offsets, offsets[1:])] == STRINGS[a:b]
            i, step = generator.randrange(-len(GRID), len(GRID)), generator.choice([-3, -1, 2, 7])
            assert grid[i] == GRID[i].tobytes() and grid[b:a:step] == GRID[b:a:step].tobytes()
            assert strings[a:b:step] == STRINGS[a:b:step]
        for start, stop in ((-1, 1), (2, 1), (0, len(GRID) + 1)):
            with pytest.raises(ValueError, match="range: found"):
                grid.read_range(start, stop)
        with pytest.raises(TypeError, match="integer"):
            grid.read_range(0, 1.5)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="shape"):
            strings.read_range(0, 1, shape=1)


@pytest.mark.parametrize("encode", [False, True])
def test_a_late_element_is_read_without_those_before_it(tmp_path: Path, encode: bool) -> None:
    count = 1_000_000
    with scda.create(tmp_path / "f") as w:
        w.varray("many", (np.arange(count + 1), np.arange(count, dtype="u1")), encode=encode)
    before = int(Path("/proc/self/io").read_text().split()[1])
    with scda.open(tmp_path / "f") as f:
        for i in (count - 1, 5, 654_321):
            assert f["many"][i] == bytes([i % 256])
    # The sizes of all elements have 32 MB; those from an anchor on at most 128 KiB, for each access.
    assert int(Path("/proc/self/io").read_text().split()[1]) - before < 2_000_000


def test_every_flipped_byte_is_found(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with scda.create(path, "user") as w:
        write_some(w)
        w.commit()
        w.block("z", b"compressed" * 9, encode=True)
        w.varray("v", [b"a", b"bc"], encode=True)
    data = path.read_bytes()
    scda.verify(path)
    for offset in {*range(len(data))} - {*range(512, 560)}:  # but for HDF5's superblock, which has a checksum of its own
        damaged = bytearray(data)
        damaged[offset] ^= 1 << offset % 8
        path.write_bytes(damaged)
        with pytest.raises(scda.Error) as caught:
            scda.verify(path)
        # What is no scda file any more, or of another version, is that.
        assert isinstance(caught.value, scda.ChecksumError) or offset < 128, (offset, caught.value)
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(scda.ChecksumError, match="verify needs a seal"):
        scda.verify(path)
    for wrong in (1, None):
        with pytest.raises(TypeError, match="verify"):
            scda.open(path, verify=wrong)  # type: ignore[arg-type]


def damage(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


def test_with_verify_a_section_is_compared_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with scda.create(path) as w:
        for name in "abc":
            w.array(name, GRID)
    with scda.open(path) as f:
        offset = f["b"].data_offset
    damage(path, offset + 1000)
    with scda.open(path) as f:
        assert f["b"].to_numpy("<f8").shape == (10000, 3)  # as it is in the file
    with scda.open(path, verify=True) as f:
        assert len(f.sections) == 3
        for _ in range(2):
            with pytest.raises(scda.ChecksumError, match="section 'A' \"b\": found the checksum") as caught:
                f["b"]
            assert caught.value.code == 15011 and caught.value.offset == offset - 128
            assert np.array_equal(f["a"].to_numpy("<f8"), GRID) and f.sections[2][7] == GRID[7].tobytes()
        assert [s.user for s in (f.sections[0], f.sections[2])] == [b"a", b"c"]
    with scda.create(path, seal=False) as w:
        w.block("a", b"")
    with pytest.raises(scda.ChecksumError, match="verify needs a seal"):
        scda.open(path, verify=True)


def test_of_a_damaged_index_the_other_sections_are_found_by_number(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with scda.create(path) as w:
        for number in range(20):
            w.block("same" if number < 2 else f"section {number}", b"%d" % number)
    size = path.stat().st_size
    # `L` in the row of section 9, where section 10 begins: rows are in front of 32 bytes of padding, and the seal.
    damage(path, size - 288 - 32 - (20 - 9) * 160 + 64 + 17)
    with scda.open(path) as f:
        assert f.sealed and len(f.sections) == 20
        for use in (lambda: f["section 3"], lambda: "nothing" in f, lambda: f.sections.find("same"), lambda: list(f.sections)):
            with pytest.raises(scda.ChecksumError):
                use()
        found = {}
        for number in range(20):
            try:
                found[number] = f.sections[number].read()
            except scda.ChecksumError:
                pass
        assert len(found) >= 17 and all(data == b"%d" % number for number, data in found.items())
        assert "ChecksumError" in str(f)


# Appending


def sections(path: Path) -> list[tuple[bytes, bytes]]:
    with scda.open(path) as f:
        return [(s.user, s.read()) for s in f.sections]


def appended(path: Path, *names: str, **options: Any) -> scda.Writer:
    with scda.append(path, **options) as w:
        for name in names:
            w.block(name, name.encode() * 10)
    return w


@pytest.fixture
def series(tmp_path: Path) -> Path:
    with scda.create(tmp_path / "series", "a time series") as w:
        w.block("first", b"first")
    return tmp_path / "series"


@pytest.mark.parametrize("atomic", [False, True])
def test_sections_are_appended(series: Path, atomic: bool) -> None:
    for number in range(4):
        before = series.read_bytes()
        w = appended(series, "time", "state", atomic=atomic)
        assert w.bytes_rolled_back == 0 and w.closed and series.read_bytes().startswith(before)
        assert len(independent_check(series)) == 3 + 2 * number
    with scda.open(series, verify=True) as f:
        assert f.sealed and f.user_text == "a time series" and len(f.sections) == 9
        assert [s.index for s in f.sections.find("time")] == [1, 3, 5, 7] and f.sections.find("state", -2).index == 6
    # A sealed file stays sealed.
    with scda.append(series, seal=False, atomic=atomic) as w:
        w.block("behind", b"")
        w.commit()
        w.block("more", b"")
    assert len(independent_check(series)) == 11
    assert os.listdir(series.parent) == ["series"]


@pytest.mark.parametrize("atomic", [False, True])
def test_sections_are_appended_after_an_earlier_record(series: Path, atomic: bool) -> None:
    for _ in range(20):
        appended(series, "time", "state")
    assert len(independent_check(series)) == 41
    with scda.open(series) as f:
        append_after = f.sections.find("state", 17).index + 1
    # That is no warning.
    w = appended(series, "time", "state", atomic=atomic, append_after=append_after)
    assert w.bytes_rolled_back > 0 and len(independent_check(series)) == 1 + 2 * 19
    for wrong in (-1, 1 << 63, 40):
        with pytest.raises(scda.ArgumentError, match="append_after: "):
            scda.append(series, append_after=wrong)
    with pytest.raises(TypeError, match="append_after"):
        scda.append(series, append_after="last")  # type: ignore[arg-type]
    # Between two commits.
    with scda.append(series, append_after=2, atomic=atomic) as w:
        assert w.bytes_rolled_back > 0 and not w.is_new
    assert len(independent_check(series)) == 2


@pytest.mark.parametrize("atomic", [False, True])
def test_a_series_goes_on_after_a_step_that_was_not_committed_by_itself(tmp_path: Path, atomic: bool) -> None:
    path = tmp_path / "series"
    for begin in (0, 4):
        with scda.append(path, create="a series", atomic=atomic) as w:
            assert w.is_new == (begin == 0)
            for step in range(begin, begin + 4):
                w.dataset("time", np.float64(step))
                w.dataset("rho", np.full(3 + step, step))
    with scda.append(path, append_after=("time", 5), atomic=atomic) as w:
        assert w.bytes_rolled_back > 0
        w.dataset("time", np.float64(60))
    with scda.append(path, append_after=("time", -3), atomic=atomic):
        pass
    independent_check(path)
    with scda.open(path) as f:
        assert f.user_text == "a series" and f["time", -1][()] == 4 and list(f["rho", -1][:]) == [4] * 7
    for wrong in (("time", 5), ("time", -6), ("none", -1)):
        with pytest.raises(scda.NotFoundError, match=f'"{wrong[0]}"'):
            scda.append(path, append_after=wrong)
    with pytest.raises(FileNotFoundError):
        scda.append(tmp_path / "none", append_after=("time", 1), create="")


def test_the_last_files_of_a_name_are_kept(tmp_path: Path) -> None:
    for step in range(5):
        with scda.create(tmp_path / "state.scda", keep=2) as w:
            w.block("step", b"%d" % step)
    names = ["state.1.scda", "state.2.scda", "state.scda"]
    assert sorted(os.listdir(tmp_path)) == names
    assert [scda.open(tmp_path / name).sections[0].read() for name in names] == [b"3", b"2", b"4"]
    with pytest.raises(scda.ArgumentError, match="keep: found 1, which needs `atomic`"):
        scda.create(tmp_path / "state.scda", keep=1, atomic=False)
    with pytest.raises(scda.ArgumentError, match="keep: found 1001"):
        scda.create(tmp_path / "state.scda", keep=1001)


def test_a_file_without_a_seal_is_appended_to_if_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with scda.create(path, seal=False) as w:
        write_some(w)
    before = path.read_bytes()
    appended(path, "more")
    assert path.read_bytes().startswith(before) and len(independent_check(path)) == 5
    path.write_bytes(before[:-10])
    with pytest.raises(scda.ShortFileError):
        scda.append(path)
    assert path.read_bytes() == before[:-10]


def test_what_is_not_appended_to(tmp_path: Path, series: Path) -> None:
    (tmp_path / "text").write_bytes(b"no scda file, but long enough to have a header" * 4)
    (tmp_path / "folder").mkdir()
    names = sorted(os.listdir(tmp_path))
    for name, expected in (("none", FileNotFoundError), ("text", scda.FormatError), ("folder", scda.BadFileError)):
        for atomic in (False, True):
            with pytest.raises(expected):
                scda.append(tmp_path / name, atomic=atomic)
    assert sorted(os.listdir(tmp_path)) == names
    for options in ({"seal": 1}, {"style": "dos"}, {"level": 10}, {"atomic": None}):
        with pytest.raises((TypeError, ValueError), match=next(iter(options))):
            scda.append(series, **options)
    with pytest.raises(TypeError):
        scda.append(series, "user string")  # type: ignore[misc]


def test_two_do_not_append_to_a_file_at_once(series: Path) -> None:
    other = "import scda, sys\ntry: scda.append(sys.argv[1])\nexcept scda.FileInUseError: print('in use')"
    with scda.append(series) as w:
        w.block("more", b"more")
        w.commit()
        before = series.read_bytes()
        with pytest.raises(scda.FileInUseError, match="a writer of this process has it open"):
            scda.append(series)
        done = subprocess.run([sys.executable, "-c", other, str(series)], capture_output=True, text=True, timeout=60)
        assert done.stdout == "in use\n", done.stderr
        assert series.read_bytes() == before and not w.closed
    assert [user for user, _ in sections(series)] == [b"first", b"more"]
    with scda.create(series) as w:
        with pytest.raises(scda.FileInUseError):
            scda.append(series)
    appended(series, "again")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_that_was_forked_off_does_not_keep_the_file(series: Path) -> None:
    wait, go = os.pipe()
    with scda.append(series, threads=1) as w:
        w.block("one", b"one")
        child = os.fork()
        if child == 0:
            os.close(go)
            os.read(wait, 1)
            os._exit(0)
    appended(series, "two")
    os.close(go)
    assert os.waitpid(child, 0)[1] == 0
    assert [user for user, _ in sections(series)] == [b"first", b"one", b"two"]


def test_what_was_committed_stays(series: Path) -> None:
    whole = series.read_bytes()
    for data in (b"", b"small", bytes(5_000_000)):
        # Nothing was committed: as it was.
        with pytest.raises(ZeroDivisionError), scda.append(series) as w:
            w.block("lost", data)
            w.flush()
            1 / 0
        assert series.read_bytes() == whole
        # As an error of the library, which closes the file.
        with pytest.raises(scda.ArgumentError), scda.append(series) as w:
            w.block("lost", data)
            w.block("u" * 59, b"")
        assert series.read_bytes() == whole
        with pytest.raises(KeyboardInterrupt), scda.append(series) as w:
            w.block("kept", data)
            w.commit()
            w.block("lost", data)
            raise KeyboardInterrupt
        assert sections(series)[-1] == (b"kept", data)
        whole = series.read_bytes()
        assert len(independent_check(series)) == len(sections(series))
    # A new file that is written in place.
    path = series.with_name("new")
    with pytest.raises(ZeroDivisionError), scda.create(path, atomic=False) as w:
        w.block("kept", b"kept")
        w.commit()
        w.block("lost", b"lost")
        1 / 0
    assert len(independent_check(path)) == 1
    # A file without a seal, which must stay one that can be appended to; an append that seals, seals first what is there.
    with scda.create(path, seal=False) as w:
        pass
    for seal in (False, True):
        with pytest.raises(ZeroDivisionError), scda.append(path, seal=seal) as w:
            w.block("lost", b"lost")
            1 / 0
        assert path.stat().st_size == (128 + 608 if seal else 128)
    appended(path, "more")


def test_an_atomic_append_leaves_the_old_file(series: Path) -> None:
    whole = series.read_bytes()
    with pytest.raises(ZeroDivisionError), scda.append(series, atomic=True) as w:
        w.block("lost", b"lost")
        w.commit()
        assert series.read_bytes() == whole
        1 / 0
    assert series.read_bytes() == whole and os.listdir(series.parent) == ["series"]


def test_committing_is_for_sealed_files(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f", seal=False) as w:
        with pytest.raises(ValueError, match="seal=True"):
            w.commit()
        w.block("a", b"")
    assert sections(tmp_path / "f") == [(b"a", b"")]
    with pytest.raises(scda.UsageError, match="closed"):
        w.commit()
    with pytest.raises(scda.UsageError, match="opened with params.seal"), scda.append(tmp_path / "f", seal=False) as w:
        w.commit()
    assert sections(tmp_path / "f") == [(b"a", b"")]


def test_a_torn_tail_is_cut_off_and_this_is_said(series: Path) -> None:
    whole = series.read_bytes()
    for torn in (1, 31, 100, 500):
        series.write_bytes(whole + b"B a block that a killed job has begun".ljust(torn, b"-")[:torn])
        with pytest.warns(scda.RollbackWarning, match=f"series: removed {torn} uncommitted bytes after the last seal") as caught:
            w = scda.append(series)
        assert caught[0].filename == __file__ and w.bytes_rolled_back == torn
        w.close()
        assert series.read_bytes() == whole
        # Where it is to be an error it is one, and the file can be appended to.
        series.write_bytes(whole + bytes(torn))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(scda.RollbackWarning):
                scda.append(series)
            appended(series)
        assert series.read_bytes() == whole
    assert issubclass(scda.RollbackWarning, UserWarning) and not issubclass(scda.RollbackWarning, scda.Error)


def test_what_was_not_committed_is_left_out(series: Path) -> None:
    appended(series, "second")
    with scda.append(series) as w:
        w.block("third", b"third")
        w.commit()
        w.array("fourth", GRID)
    committed = series.stat().st_size
    os.truncate(series, committed - 2000)
    with pytest.warns(scda.LeftOutWarning, match="series: incomplete: [0-9]+ bytes after its last seal") as caught:
        f = scda.open(series)
    assert caught[0].filename == __file__ and len(caught) == 1
    with f:
        assert f.sealed and [s.user for s in f.sections] == [b"first", b"second", b"third"]
        assert 0 < f.left_out < committed and "fourth" not in f and not f.refresh()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(scda.LeftOutWarning):
            scda.open(series)
    with scda.open(series, to_seal=False) as f:
        assert not f.sealed and f.left_out == 0 and [f.sections[i].user for i in range(4)] == [b"first", b"second", b"third", b"fourth"]
        assert f["first"].read() == b"first" and f["third"].read() == b"third" and "second" in f
        with pytest.raises(scda.ShortFileError):
            f.sections.find("third")
    with pytest.raises(scda.ChecksumError, match="verify needs a seal"):
        scda.verify(series)
    with pytest.warns(scda.RollbackWarning):
        appended(series)
    assert [line.split()[1] for line in independent_check(series)] == ["b'first'", "b'second'", "b'third'"]


def test_what_is_committed_meanwhile_is_read(series: Path) -> None:
    with scda.open(series) as f:
        first = f["first"]
        with scda.append(series) as w:
            w.dataset("rho", GRID)
            assert not f.refresh() and names(f) == []
            w.commit()
            assert names(f) == [] and f.refresh() and names(f) == ["rho"]
            w.dataset("rho", GRID + 1)
        assert len(f.records("rho")) == 1 and f.refresh() and (f["rho", -1][...] == GRID + 1).all()
        assert not f.refresh() and f.left_out == 0
        assert first.read() == b"first"
        os.truncate(series, 200)
        with pytest.raises(scda.FileInUseError, match="refresh: the file has shrunk: [0-9]+ bytes"):
            f.refresh()


def test_a_writer_that_is_forgotten_loses_what_was_not_committed(series: Path) -> None:
    w = scda.append(series)
    w.block("kept", b"kept")
    w.commit()
    committed = series.read_bytes()
    w.block("lost", b"lost")
    with pytest.warns(ResourceWarning, match="incomplete"):
        del w
        gc.collect()
    assert series.read_bytes() == committed
    # It has not kept the file, either.
    appended(series, "more")
    assert [user for user, _ in sections(series)] == [b"first", b"kept", b"more"]


KILLED = """
import os, sys, numpy as np, scda
path, seed = sys.argv[1], int(sys.argv[2])
generator = np.random.default_rng(seed)
while True:
    with scda.append(path, threads=1) as w:
        with scda.open(path) as f:
            step = len(f.sections.find("step"))
        for step in range(step, step + 3):
            w.inline("step", b"%32d" % step)
            data = np.full((int(generator.integers(1, 4000)), 4), float(step))
            w.array("state", data, encode=bool(generator.integers(2)))
            w.commit()
            print(step, flush=True)
"""


def test_what_was_committed_outlives_kills(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with scda.create(path) as w:
        pass
    generator, last, cuts = random.Random(3), -1, 0
    for seed in range(25):
        program = [sys.executable, "-W", "ignore::scda.RollbackWarning", "-c", KILLED, str(path), str(seed)]
        process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        said = [process.stdout.readline()]  # it has begun
        time.sleep(generator.random() * 0.02)
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
        process.wait(timeout=60)
        process.stdout.close()
        committed = max(int(line) for line in said if line.endswith("\n"))
        assert committed > last
        if seed % 8 == 0:
            shutil.copy(path, tmp_path / "copy")
            independent_check(tmp_path / "copy", "--torn")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            w = appended(path)
        assert len(caught) == (w.bytes_rolled_back > 0)
        cuts += w.bytes_rolled_back > 0
        scda.verify(path)
        with scda.open(path) as f:
            steps = [int(s.read()) for s in f.sections.find("step")]
            # What was committed, and perhaps a step of which that was not yet said.
            assert steps == list(range(len(steps))) and committed < len(steps) <= committed + 2
            assert len(f.sections) == 2 * len(steps)
            last = len(steps) - 1
            for step in (committed, committed // 2):
                state = f.sections.find("state", step).to_numpy("<f8")
                assert (state == step).all()
    assert cuts > 0  # it was killed within a step, too


def test_a_commit_in_two_halves(tmp_path: Path) -> None:
    files = []
    for background in (0, 1 << 20):
        path = tmp_path / f"{background}.scda"
        with scda.create(path, atomic=False, background_bytes=background) as w:
            data = np.arange(400_000.0).reshape(400, 1000)
            requests = []
            for _ in range(3):
                w.dataset("field", data)
                data += 1  # it was copied
                requests.append(w.commit(wait=False))
            while not requests[-1].test():
                pass
            requests[-1].wait()
            requests[-1].wait()  # once more is nothing
            with scda.open(path) as f:
                assert [rho[0, 0] for rho in f.records("field")] == [0, 1, 2]
            w.dataset("field", data)
            late = w.commit(wait=False)
        late.wait()  # the close has completed it
        assert late.test() and requests[0].test()
        requests[0].wait()
        files.append(path.read_bytes())
    assert files[0] == files[1]
    with pytest.raises(scda.ArgumentError, match="background_bytes: found 5"):
        scda.create(tmp_path / "f", background_bytes=5)
    with scda.create(tmp_path / "f", seal=False) as w:
        with pytest.raises(ValueError, match="without seals"):
            w.commit(wait=False)


@pytest.mark.parametrize("background_bytes", [0, 1 << 20])
def test_a_close_in_two_halves(background_bytes: int, tmp_path: Path) -> None:
    data, expected = np.arange(400_000.0).reshape(400, 1000), tmp_path / "expected"
    with scda.create(expected) as w:
        w.dataset("field", data, encode=True)
    path = tmp_path / "f"
    w = scda.create(path, background_bytes=background_bytes)
    w.dataset("field", data, encode=True)
    request = w.close(wait=False)
    data[:] = 0  # it was copied
    assert not path.exists()  # it has its name when it is complete
    for call in (w.flush, w.commit, lambda: w.dataset("other", data)):
        with pytest.raises(scda.UsageError, match="being closed"):
            call()
    while not request.test():
        pass
    assert not w.closed
    request.wait()
    request.wait()  # once more is nothing
    assert request.test() and w.closed and w.close(wait=False).test()
    assert path.read_bytes() == expected.read_bytes()
    with scda.create(path, background_bytes=background_bytes) as w:
        w.inline("last", b"%-31d\n" % 1)
        w.close(wait=False)  # the statement waits for it
    with scda.open(path) as f:
        assert len(f.sections) == 1
    w = scda.create(path, background_bytes=background_bytes)
    w.close(wait=False)
    with pytest.warns(ResourceWarning, match="was not closed"):
        del w
        gc.collect()
    with scda.open(path) as f:  # the old one
        assert len(f.sections) == 1
