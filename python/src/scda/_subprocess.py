"""Runs an import in a process of its own, because a damaged file can make the library that reads it crash or hang."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from typing import IO, Any, Optional

from ._errors import Error, FormatError, InternalError, OutOfMemoryError, exception
from ._progress import Progress
from ._writer import create

# Finds modules where this process finds them, and not in the working directory.
_PROGRAM = """\
import sys
if sys.path[:1] == ['']: del sys.path[0]
import json
task = json.loads(sys.stdin.buffer.readline())
sys.path[:] = task['modules']
from scda._subprocess import work
work(task)"""
# How long the process may take to remove an incomplete file, in seconds.
_PATIENCE = 3.0
_INTERVAL = 0.1
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux
_CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL}


def convert(path: str, out: str, *, tell: Any, progress: Progress, **options: Any) -> None:
    """:func:`scda._import.convert` in a process of its own. When it returns, that process has ended, and any new file
    is complete.

    Raises:
        Error: an error of the import, or FormatError if the process has crashed.
    """
    modules = [each for each in sys.path if isinstance(each, str)]
    task = {"modules": modules, "parent": os.getpid(), "path": path, "out": out, "options": options}
    with subprocess.Popen([sys.executable, "-c", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None and child.stdout is not None
        try:
            with suppress(BrokenPipeError):
                child.stdin.write(json.dumps(task).encode() + b"\n")
                child.stdin.flush()
            failure = _listen(child.stdout, tell, progress)
            child.wait()
            if failure is None and child.returncode != 0:
                failure = _ended(path, child.returncode)
        except BaseException:
            child.terminate()
            with suppress(subprocess.TimeoutExpired):
                child.wait(_PATIENCE)
            raise
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
            if child.returncode < 0:  # the process could not do that itself
                _remove_part(out)
    if failure is not None:
        raise failure


def _listen(answers: IO[bytes], tell: Any, progress: Progress) -> Optional[Exception]:
    """Passes on the messages of the process. Returns its error."""
    done = 0
    failure: Optional[Exception] = None
    for line in answers:
        kind, what = json.loads(line)
        if kind == "tell":
            tell(what)
        elif kind == "warning":
            warnings.warn(what, stacklevel=5)
        elif kind == "progress":
            progress.total = what[1]
            progress.add(what[0] - done)
            done = what[0]
        elif kind == "error":
            failure = exception(*what)
        elif kind == "missing":
            failure = ModuleNotFoundError(what[0], name=what[1])
    return failure


def _ended(path: str, code: int) -> Error:
    """The error for a process that has ended without reporting one."""
    if code >= 0:
        return InternalError(f"{path}: the process that reads it ended with exit code {code}", None, path)
    name = signal.Signals(-code).name
    if -code in _CRASHES:
        return FormatError(f"{path}: the library that reads it crashed ({name}): the file is damaged or malicious", None, path)
    hint = ", as systems do where memory ends" if -code == signal.SIGKILL else ""
    return OutOfMemoryError(f"{path}: the process that reads it was ended by {name}{hint}", None, path)


def _remove_part(out: str) -> None:
    """Removes what the process has left of the new file: a writer removes it, unless another one is writing it."""
    with suppress(Error):
        create(out)._abandon("the import has not ended")


class _Report(Progress):
    """Reports progress to the process that waits for this one."""

    def __init__(self, send: Any) -> None:
        super().__init__("")
        self._send = send
        self._due = 0.0

    def add(self, number: int) -> None:
        self._done += number
        now = time.monotonic()
        if now >= self._due:
            self._due = now + _INTERVAL
            self._send("progress", [self._done, self.total])

    def clear(self) -> None:
        pass


def work(task: dict[str, Any]) -> None:
    """The main function of the process."""
    from ._commands import own_errors
    from ._import import convert as convert_here

    # Keeps output of libraries out of the messages.
    channel = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)

    def send(kind: str, what: Any) -> None:
        channel.write(json.dumps([kind, what]) + "\n")
        channel.flush()

    _follow_parent(task["parent"])
    warnings.showwarning = lambda message, *_: send("warning", str(message))
    path, report = task["path"], _Report(send)
    code = 1
    try:
        with own_errors(path):
            convert_here(path, task["out"], tell=lambda line: send("tell", line), progress=report, **task["options"])
        code = 0
    except BrokenPipeError:  # the other process no longer waits
        pass
    except Error as error:
        with suppress(BrokenPipeError):
            send("error", [error.code, error.message, error.offset, error.path])
    except ModuleNotFoundError as error:
        send("missing", [str(error), error.name])
    sys.exit(code)


def _follow_parent(parent: int) -> None:
    """Ends this process together with the one that waits for it, which also handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit(1)
    with suppress(ImportError, ValueError, OSError):
        import resource

        # A crash is expected, and must not leave a core dump next to the user's files.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
