"""Shows the progress of a long task on a terminal."""

from __future__ import annotations

import os
import shutil
import sys
import time
import unicodedata
from typing import Any

# Tasks that take less time show no progress.
_PATIENCE = 1.0
_INTERVAL = 0.1


def tell(text: str) -> None:
    """Writes to standard error. If nobody can read it, the work goes on."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        # Keeps Python from flushing stderr again at exit.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stderr.fileno())
        os.close(nowhere)


class Progress:
    """A line on standard error that is overwritten, and removed at the end. Shows nothing if that is no terminal. It
    looks like that of the command `scda`."""

    def __init__(self, what: str, total: int = 0) -> None:
        """Args: the bytes to process; 0 if their number is not known yet."""
        self._what = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in what)
        self.total = total
        self._done = 0
        self._began = time.monotonic()
        self._next = self._began + _PATIENCE if sys.stderr is not None and sys.stderr.isatty() else None
        self._is_shown = False

    def add(self, number: int) -> None:
        """Adds bytes that have been processed."""
        self._done += number
        now = time.monotonic()
        if self._next is None or now < self._next:
            return
        self._next = now + _INTERVAL
        self._is_shown = True
        percent = 100 * self._done // self.total if self.total else 100
        part = f"{percent:3} %  " if percent < 100 else ""
        mib = self._done >> 20
        line = f"{self._what}  {part}{mib} MiB  {int(mib / max(now - self._began, 1e-3))} MiB/s"
        # A line that the terminal wraps could not be overwritten.
        self._write(_cut(line, shutil.get_terminal_size().columns - 1))

    def clear(self) -> None:
        """Clears the line for other output."""
        if self._is_shown:
            self._is_shown = False
            self._write("")

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: Any) -> None:
        self.clear()

    @staticmethod
    def _write(line: str) -> None:
        tell(f"\r\x1b[K{line}")


def _cut(line: str, columns: int) -> str:
    """The end of a text, as much as fits into the columns: it is more informative than the beginning."""
    width = 0
    for at in range(len(line) - 1, -1, -1):
        width += 2 if unicodedata.east_asian_width(line[at]) in "WFA" else 1
        if width > columns:
            return line[at + 1 :]
    return line
