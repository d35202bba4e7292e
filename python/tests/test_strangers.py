"""scda import of files by somebody else: what these name, links to, and do to the library that reads them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Iterator

import numpy as np
import pytest
import scda
from arrays import names
from conftest import SECONDS

h5py = pytest.importorskip("h5py")

SECRET = np.frombuffer(b"what nobody else may read: 31415", "f8")
UNLIMITED = h5py.h5s.UNLIMITED


def run(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command of the package. Whatever waits longer has found a hang."""
    command = [sys.executable, "-m", "scda", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL, **options)


def virtual(h5: Any, name: str, file: Any, path: str, *, grows: bool = False) -> None:
    """A dataset whose items are those of another one."""
    most = (None,) if grows else None
    layout = h5py.VirtualLayout((4,), "f8", maxshape=most)
    source = h5py.VirtualSource(str(file), path, (4,), "f8", maxshape=most)
    if grows:
        layout[0:UNLIMITED] = source[0:UNLIMITED]
    else:
        layout[:] = source
    h5.create_virtual_dataset(name, layout)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder with a raw file and a file of HDF5, and a folder in it with what was sent to them: the working folder."""
    (tmp_path / "secret").write_bytes(SECRET.tobytes())
    with h5py.File(tmp_path / "private.h5", "w") as h:
        h["x"] = SECRET
        h.create_dataset("raw", (4,), "f8", external=[(str(tmp_path / "secret"), 0, UNLIMITED)])
    (tmp_path / "sent").mkdir()
    monkeypatch.chdir(tmp_path / "sent")
    yield tmp_path


def write_hostile(place: Path, path: str = "a.h5") -> list[str]:
    """A file with datasets whose items are in the user's files. Returns their names."""
    with h5py.File(path, "w") as h:
        h["own"] = np.arange(4.0)
        virtual(h, "of own", ".", "own")
        h["away"] = h5py.ExternalLink("../private.h5", "/")
        h["away in two steps"] = h5py.SoftLink("/away")
        h.create_dataset("raw", (4,), "f8", external=[("../secret", 0, UNLIMITED)])
        h.create_dataset("g/raw", (4,), "f8", external=[(str(place / "secret"), 0, UNLIMITED)])
        virtual(h, "of a file", "../private.h5", "x")
        virtual(h, "of a file that grows", place / "private.h5", "x", grows=True)
        virtual(h, "of raw", ".", "raw")
        virtual(h, "of raw in two steps", ".", "of raw")
        virtual(h, "by a link", ".", "away/x")
        virtual(h, "by two links", ".", "away in two steps/x")
        h["others/b0"], h["others/b1"] = np.arange(4.0), h5py.ExternalLink("../private.h5", "x")
        blocks = h5py.h5s.create_simple((4,), (UNLIMITED,))
        blocks.select_hyperslab((0,), (UNLIMITED,), (4,), (4,))
        layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        layout.set_virtual(blocks, b".", b"others/b%b", h5py.h5s.create_simple((4,)))
        h5py.h5d.create(h.id, b"by a pattern", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((4,), (UNLIMITED,)), layout)
    return ["by a link", "by a pattern", "by two links", "g/raw", "of a file", "of a file that grows", "of raw", "of raw in two steps", "raw"]


def test_data_in_other_files_are_left_out_and_reported(place: Path) -> None:
    hostile = write_hostile(place)
    done = run("import", "a.h5", "a.scda")
    assert done.returncode == 3, done
    for name in hostile:
        assert f"a.h5: '{name}': found data in another file, " in done.stderr, (name, done.stderr)
    assert "'../secret', expected --external to copy it; it is left out" in done.stderr, done.stderr
    assert SECRET.tobytes() not in Path("a.scda").read_bytes()
    with scda.open("a.scda") as f:
        assert sorted(names(f)) == ["of own", "others/b0", "own"] and f["of own"][:].tolist() == [0, 1, 2, 3]
        assert f.attrs["imported"]["complete"] is False
        assert f.attrs["scda_links"]["away"] == {"external": ["../private.h5", "/"]}
    with pytest.raises(scda.ArgumentError, match="found data in another file"):
        scda.import_("a.h5", "b.scda", strict=True)
    lines = scda.import_("a.h5", "b.scda")
    assert len(lines) == len(hostile) and any("external=True" in line for line in lines)


def test_data_in_other_files_are_read_on_request(place: Path) -> None:
    hostile = write_hostile(place)
    done = run("import", "--external", "a.h5", "a.scda")
    assert done.returncode == 0 and done.stderr == "", done
    with scda.open("a.scda") as f:
        for name in hostile:
            assert f[name][-4:].tobytes() == SECRET.tobytes(), name
    # HDF5 would read the fill value for each of these.
    with h5py.File("b.h5", "w") as h:
        virtual(h, "v", "nosuch.h5", "x")
        h.create_dataset("e", (4,), "f8", external=[("nosuch", 0, UNLIMITED)])
    lines = scda.import_("b.h5", "b.scda", external=True)
    assert len(lines) == 2 and all("which does not exist" in line for line in lines), lines


def test_pipes_and_devices_are_not_read(place: Path) -> None:
    """Opening a pipe waits for a writer; a device has data without end."""
    os.mkfifo("pipe")
    for name in ("pipe", "/dev/zero"):
        with h5py.File("a.h5", "w") as h:
            h["own"] = np.arange(4.0)
            h["link"] = h5py.ExternalLink(name, "x")
            h.create_dataset("raw", (4,), "f8", external=[(name, 0, UNLIMITED)])
            virtual(h, "v", name, "x")
            virtual(h, "grows", name, "x", grows=True)
        for option in ((), ("--external",)):
            done = run("import", *option, "-f", "a.h5", "a.scda")
            assert done.returncode == 3 and done.stderr.count("it is left out") == 3, done
            assert not option or done.stderr.count("a folder, pipe or device, not a file; it") == 3, done
        done = run("import", name, "b.scda")
        assert done.returncode == 2 and f"{name}: a folder, pipe or device, not a file" in done.stderr, done
    # A file of HDF5 that --external reads may name them as well.
    with h5py.File("raw.h5", "w") as h:
        h.create_dataset("x", (4,), "f8", external=[("pipe", 0, UNLIMITED)])
    with h5py.File("a.h5", "w") as h:
        virtual(h, "v", "raw.h5", "x")
    assert "not a file" in run("import", "--external", "-f", "a.h5", "a.scda").stderr
    assert sorted(os.listdir()) == ["a.h5", "a.scda", "pipe", "raw.h5"]


def test_only_hdf5_has_data_in_other_files(place: Path) -> None:
    np.savez("n.npz", x=SECRET)
    with pytest.raises(scda.ArgumentError, match="external=True: found NPZ"):
        scda.import_("n.npz", "n.scda", external=True)
    os.mkdir("folder")
    with pytest.raises(scda.Error, match="folder: .*irectory"):
        scda.import_("folder", "n.scda")


STAND_IN = """
import ctypes, os, signal, sys
sys.path.remove(os.path.dirname(__file__))
del sys.modules["h5py"]
import h5py
def act(self):
    open("begun", "w").close()
    {act}
h5py.File.__iter__ = act
"""
# Like a call into a library that does not come back: no handler of a signal runs.
WAIT = "mutex, lock = ctypes.create_string_buffer(64), ctypes.PyDLL(None).pthread_mutex_lock; lock(mutex); lock(mutex)"


def with_stand_in(act: str) -> dict[str, str]:
    """An environment in which the library does this while a file is read."""
    Path("modules").mkdir(exist_ok=True)
    (Path("modules") / "h5py.py").write_text(STAND_IN.format(act=act))
    with h5py.File("a.h5", "w") as h:
        h["x"] = SECRET
    return {**os.environ, "PYTHONPATH": os.path.abspath("modules")}


def others() -> list[str]:
    return sorted(set(os.listdir()) - {"a.h5", "modules", "begun", "a.scda"})


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGKILL])
def test_a_crash_of_the_library_is_an_error(number: int, place: Path) -> None:
    environment = with_stand_in(f"os.kill(os.getpid(), {int(number)})")
    Path("a.scda").write_text("mine")
    done = run("import", "-f", "a.h5", "a.scda", env=environment)
    name = signal.Signals(number).name
    assert done.returncode == (2 if number == signal.SIGKILL else 1) and done.stderr.startswith("scda: a.h5: the "), done
    assert name in done.stderr and done.stderr.count("\n") == 1, done
    assert Path("begun").exists() and others() == [] and Path("a.scda").read_text() == "mine"
    program = "import scda\ntry: scda.import_('a.h5', 'b.scda')\nexcept scda.Error as error: print(type(error).__name__)"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert done.stdout.strip() in ("FormatError", "OutOfMemoryError") and others() == [], done


def is_running(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    try:
        return "State:\tZ" not in Path(f"/proc/{number}/status").read_text()
    except OSError:
        return False


def until(what: Any) -> None:
    end = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("act", [WAIT, "import time; time.sleep(1 << 20)"])
def test_a_signal_ends_an_import_and_leaves_nothing(act: str, number: int, place: Path) -> None:
    environment = with_stand_in(f"open('id', 'w').write(str(os.getpid())); os.rename('id', 'begun'); {act}")
    Path("a.scda").write_text("mine")
    command = [sys.executable, "-m", "scda", "import", "-f", "a.h5", "a.scda"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True) as child:
        until(lambda: Path("begun").exists() and Path("begun").read_text())
        reader = int(Path("begun").read_text())
        assert reader != child.pid and Path("a.scda.scda-part").exists()
        # As a terminal does it: all processes get it.
        os.killpg(child.pid, number) if number == signal.SIGINT else os.kill(child.pid, number)
        _, told = child.communicate(timeout=SECONDS)
    assert child.returncode == 128 + number and told == "", (child.returncode, told)
    assert not is_running(reader) and others() == [] and Path("a.scda").read_text() == "mine"
    with scda.create("a.scda"):
        pass  # nobody has its lock


@pytest.mark.skipif(sys.platform != "linux", reason="Linux ends a process with its parent")
def test_an_import_ends_with_the_process_that_waits_for_it(place: Path) -> None:
    environment = with_stand_in(f"open('id', 'w').write(str(os.getpid())); os.rename('id', 'begun'); {WAIT}")
    with subprocess.Popen([sys.executable, "-m", "scda", "import", "a.h5", "a.scda"], env=environment) as child:
        until(lambda: Path("begun").exists() and Path("begun").read_text())
        reader = int(Path("begun").read_text())
        child.kill()
    until(lambda: not is_running(reader))


def test_modules_of_the_working_folder_are_not_run(place: Path) -> None:
    with h5py.File("a.h5", "w") as h:
        h["x"] = SECRET
    for name in ("json", "numpy", "h5py", "scda", "ctypes"):
        Path(f"{name}.py").write_text("raise SystemExit(7)")
    program = "import sys; sys.path = sys.path[1:]; from scda.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "import", "a.h5", "a.scda"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done


def test_warnings_and_lines_of_an_import_arrive(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with_stand_in("")
    Path("modules/h5py.py").write_text(STAND_IN.format(act="import warnings; warnings.warn('odd'); print('noise'); return iter(['x'])"))
    told: list[str] = []
    sys.path.insert(0, os.path.abspath("modules"))
    try:
        with pytest.warns(UserWarning, match="^odd$"):
            assert scda.import_("a.h5", "a.scda", tell=told.append) == told == []
    finally:
        sys.path.pop(0)
    captured = capfd.readouterr()
    assert "noise" in captured.err and captured.out == ""
    assert scda.open("a.scda")["x"][:].tobytes() == SECRET.tobytes()
