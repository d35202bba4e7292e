"""Other libraries of a process may set another floating-point environment: nothing is different in files, nor in what is read."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import scda

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc", reason="sets MXCSR by the C library's fenv_t"
)

# Rounds up, down, to zero; takes denormal numbers for zero, as libraries that are linked with -ffast-math set it at import.
MODES = {"up": 0x4000, "down": 0x2000, "to zero": 0x6000, "flushing": 0x8040}


@contextmanager
def environment(bits: int) -> Iterator[None]:
    libm = ctypes.CDLL("libm.so.6")
    before, other = (ctypes.c_uint32 * 8)(), (ctypes.c_uint32 * 8)()
    assert libm.fegetenv(before) == 0 and libm.fegetenv(other) == 0
    other[7] |= bits
    libm.fesetenv(other)
    try:
        yield
    finally:
        libm.fesetenv(before)


NUMBERS = 0.01 * np.arange(5000)
TINY = np.arange(5000, dtype=np.uint64).view(np.float64)
ATTRS = {"tiny": 1e-310, "tenth": 0.1, "many": [123456789.123456789, 3.3e-5]}


def write(path: Path) -> bytes:
    with scda.create(path) as w:
        w.dataset("decimals", NUMBERS, codec="pcodec", attrs=ATTRS, fill_value=1e-310)
        w.dataset("tiny", TINY, codec="pcodec", max_absolute_error=5e-324)
        w.dataset("rounded", NUMBERS, encode=True, max_relative_error=1e-4)
        w.dataset("single", np.float32([0, 1, 2]), fill_value=1e-40)
    return path.read_bytes()


def read(path: Path) -> list[object]:
    with scda.open(path) as f:
        return [
            [f[name][:].tobytes() for name in ("decimals", "tiny", "rounded", "single")],
            [np.asarray(f[name].fill_value).tobytes() for name in ("decimals", "single")],
            {name: np.asarray(value).tobytes() for name, value in f["decimals"].attrs.items()},
        ]


@pytest.mark.parametrize("mode", MODES)
def test_files_and_values_are_the_same(tmp_path: Path, mode: str) -> None:
    expected, values = write(tmp_path / "a.scda"), read(tmp_path / "a.scda")
    with environment(MODES[mode]):
        written, found = write(tmp_path / "b.scda"), read(tmp_path / "a.scda")
    assert written == expected
    assert found == values
