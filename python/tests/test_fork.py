"""Processes that are forked off while another thread is in the library."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Callable

import numpy as np
import pytest

import scda

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

_NUMBERS = np.arange(1000.0)


def _in_child(work: Callable[[], bool]) -> bool:
    """What `work` says in a process that is forked off; false also if that does not end."""
    child = os.fork()
    if child == 0:
        done = False
        try:
            done = work()
        finally:
            os._exit(not done)
    for _ in range(2000):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _written(path: Path) -> Path:
    with scda.create(path) as w:
        w.dataset("x", _NUMBERS)
    return path


def test_a_child_uses_files_of_its_own(tmp_path: Path) -> None:
    path, other = _written(tmp_path / "f.scda"), tmp_path / "other.scda"
    is_over = False

    def use() -> None:
        while not is_over:
            with scda.open(path) as f:
                list(f)
            _written(other)

    def own() -> bool:
        with scda.open(_written(tmp_path / "child.scda")) as f:
            return np.array_equal(f["x"][...], _NUMBERS)

    thread = threading.Thread(target=use)
    thread.start()
    try:
        assert [_in_child(own) for _ in range(25)] == [True] * 25
    finally:
        is_over = True
        thread.join()


def test_a_child_reads_the_file_of_its_parent_or_gets_an_error(tmp_path: Path) -> None:
    is_over = False
    with scda.open(_written(tmp_path / "f.scda")) as f:

        def use() -> None:
            while not is_over:
                f["x"][...]

        def read() -> bool:
            try:
                return np.array_equal(f["x"][...], _NUMBERS)
            except scda.UsageError as error:
                return "forked off" in str(error)

        assert _in_child(read)
        thread = threading.Thread(target=use)
        thread.start()
        try:
            assert [_in_child(read) for _ in range(25)] == [True] * 25
        finally:
            is_over = True
            thread.join()


@pytest.mark.parametrize("background_bytes", [0, 1 << 20])
def test_a_child_cannot_change_the_file_of_its_parent(tmp_path: Path, background_bytes: int) -> None:
    path = tmp_path / "f.scda"
    with scda.create(path, atomic=False, background_bytes=background_bytes) as w:
        w.dataset("x", _NUMBERS)
        request = w.commit(wait=False)

        def write() -> bool:
            told = 0
            for call in (lambda: w.dataset("y", _NUMBERS), request.wait, w.close):
                try:
                    call()
                except scda.UsageError:
                    told += 1
            request.test()
            return told == 3

        assert _in_child(write)
        w.dataset("y", _NUMBERS)
    with scda.open(path) as f:
        assert np.array_equal(f["x"][...], _NUMBERS) and np.array_equal(f["y"][...], _NUMBERS)
