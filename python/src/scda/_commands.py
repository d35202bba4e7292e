"""The subcommands of ``scda`` as functions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Optional, Sequence

from ._common import mode_like
from ._errors import ArgumentError, Error, ExistsError, FormatError, OutOfMemoryError, class_of_errno, of_system
from ._progress import Progress


class Answer:
    """The answer of a command, true for yes. ``text`` is what the command prints."""

    def __init__(self, is_yes: bool, text: str) -> None:
        self._is_yes = is_yes
        self.text = text

    def __bool__(self) -> bool:
        return self._is_yes

    def __repr__(self) -> str:
        return f"{self._is_yes}: {self.text}" if self.text else str(self._is_yes)


def check(*paths: Any, **options: Any) -> Answer:
    """Checks whether files are valid, as ``scda check`` does. The text of the answer says what is damaged, and where.

    Args:
        paths: the files.
        options: options of the command, such as ``strict=True``.
    """
    return _ask("check", paths, options)


def diff(a: Any, b: Any, **options: Any) -> Answer:
    """Compares the contents of two files, as ``scda diff`` does. The text of the answer lists the differences.

    Args:
        a, b: the files.
        options: options of the command, such as ``rtol=1e-6``.
    """
    return _ask("diff", (a, b), options)


def vtk(
    path: Any,
    out: Any = None,
    *,
    copy: bool = False,
    absolute: bool = False,
    relative: bool = False,
    field: Optional[Sequence[str]] = None,
    group: Optional[str] = None,
    force: bool = False,
) -> tuple[list[str], list[str]]:
    """Writes a VTKHDF file, with which ParaView and others show a forest, as ``scda vtk`` does. Needs h5py.

    Args:
        path: the file.
        out: the new file. None: the name of the file with the ending .vtkhdf.
        copy, absolute, relative: copy all data; or leave them in the file, to which the new one refers by its absolute
            path, or by its path relative to the folder of ``out``. None of them: copy up to 64 MiB, else absolute.
        field: only these fields.
        group: the forest; None: the only one of the file.
        force: replace a file that exists.

    Returns:
        Lines that say what was done, and lines that say what was left out.
    """
    from . import _vtk

    source = os.fspath(path)
    new = f"{os.path.splitext(source)[0]}.vtkhdf" if out is None else os.fspath(out)
    how = {"copy": copy, "absolute": absolute, "relative": relative}
    with own_errors(source), new_file(new, force, source) as part:
        return _vtk.write(source, new, part, **how, fields=field, group=group)


def import_(
    path: Any,
    out: Any,
    *,
    without: Sequence[str] = (),
    strict: bool = False,
    external: bool = False,
    seal: bool = True,
    hdf5: bool = True,
    force: bool = False,
    tell: Optional[Callable[[str], None]] = None,
    progress: Optional[Progress] = None,
) -> list[str]:
    """Imports a file of HDF5, NetCDF-4, NumPy (.npz) or SDF, as ``scda import`` does. HDF5 and NetCDF-4 need h5py.

    A process of its own reads the file: if the library that reads it crashes, this function raises an error.

    Args:
        path: the file to read.
        out: the new file.
        without: names to leave out; they may be patterns.
        strict: fail if the file has something that an scda file cannot represent; otherwise it is left out.
        external: read data that are in other files, too: external storage and sources of virtual datasets of HDF5. Only
            for a file from a source that you trust, because it can name any file.
        seal: whether the new file is sealed.
        hdf5: whether the new file, if it is sealed, is also an HDF5 file.
        force: replace a file that exists.
        tell, progress: for the command: a function that is called with each line, and the display of the progress.

    Returns:
        Lines that say what was left out.
    """
    from ._subprocess import convert

    source, new = os.fspath(path), os.fspath(out)
    lines, say = _lines(tell)
    check_free(new, force, source)
    how: dict[str, Any] = {"seal": seal, "hdf5": hdf5, "without": list(without), "strict": strict, "external": external}
    with own_errors(source), progress or Progress(source) as shown:
        convert(source, new, tell=say, progress=shown, **how)
    return lines


def _lines(tell: Optional[Callable[[str], None]]) -> tuple[list[str], Callable[[str], None]]:
    """A list of lines, and a function that appends a line and passes it on to `tell`."""
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        if tell is not None:
            tell(line)

    return lines, say


def check_free(path: str, force: bool, source: str) -> None:
    """Raises an error if a file exists and must not be replaced."""
    if not force and os.path.lexists(path):
        raise ExistsError(f"{path}: the file exists; force=True replaces it", None, path)
    if os.path.exists(path) and os.path.exists(source) and os.path.samefile(path, source):
        raise ArgumentError(f"{path}: is the file that is being read", None, path)


@contextmanager
def own_errors(path: str) -> Iterator[None]:
    """Converts errors of a task that reads this file to the classes of this package."""
    try:
        yield
    except Error as error:
        error.path = error.path or path
        raise
    except OSError as error:
        raise of_system(error) from error
    except ValueError as error:
        raise ArgumentError(str(error), None, path) from error
    except (TypeError, RuntimeError, KeyError, MemoryError) as error:  # raised by h5py
        of = OutOfMemoryError if isinstance(error, MemoryError) else ArgumentError
        raise of(f"{path}: {type(error).__name__}: {error}", None, path) from error


@contextmanager
def new_file(path: str, force: bool, source: str) -> Iterator[str]:
    """Yields a temporary name for a new file, which is renamed when it is complete. The temporary name is in a folder
    that only this user may open. The new file is readable only for those who may read the source, unless a file that it
    replaces gave others access."""
    check_free(path, force, source)
    with tempfile.TemporaryDirectory(prefix=".scda-", dir=os.path.dirname(path) or ".") as folder:
        part = os.path.join(folder, "part")
        yield part
        replaces = os.path.isfile(path)
        mode = os.stat(path).st_mode & 0o777 if replaces else os.stat(part).st_mode & mode_like(source)
        os.chmod(part, mode)
        os.replace(part, path)


def _ask(command: str, paths: Sequence[Any], options: dict[str, Any]) -> Answer:
    done = _run(command, paths, options, answers=(0, 1))
    return Answer(done.returncode == 0, f"{done.stdout}{done.stderr}".strip())


def _run(
    command: str, paths: Sequence[Any], options: dict[str, Any], answers: Sequence[int] = (0,)
) -> subprocess.CompletedProcess[str]:
    # A subprocess: its output is the answer, and Ctrl-C ends it.
    arguments = [sys.executable, "-m", "scda_command", command]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            arguments.append(option)
        elif value is not None and value is not False:
            each = value if isinstance(value, (list, tuple)) else [value]
            arguments += [f"{option}={one}" for one in each]
    arguments += ["--", *map(os.fspath, paths)]
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode not in answers:
        text = re.sub("^scda: ", "", done.stderr.strip(), flags=re.M) or f"scda {command}: exit code {done.returncode}"
        found = re.search(r"\(os error ([0-9]+)\)", text)
        of_answer = FormatError if done.returncode == 1 else ArgumentError
        path = next((path for path in map(os.fspath, paths) if text.startswith(f"{path}: ")), None)
        raise (class_of_errno(int(found[1])) if found else of_answer)(text, None, path)
    return done
