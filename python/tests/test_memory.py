"""Data as they lie in memory: any strides, written without a copy and read in place."""

from __future__ import annotations

import os

import numpy as np
import pytest

import scda
from arrays import names


# scripts/long.sh tries more.
CASES = int(os.environ.get("SCDA_CASES", "150"))


def any_view(rng, shape, dtype):
    """An array of this shape with any strides, and all of the memory that it lies in."""
    order = rng.permutation(len(shape)) if len(shape) else np.empty(0, int)
    steps = rng.integers(1, 3, len(shape))
    before = rng.integers(0, 3, len(shape))
    whole = np.zeros([int(shape[d] * steps[d] + before[d] + 1) for d in order], dtype)
    whole.reshape(-1).view(np.uint8).fill(0x5A)
    view = whole.transpose(np.argsort(order)) if len(shape) else whole
    view = view[(*(slice(int(b), int(b + n * s), int(s)) for b, n, s in zip(before, shape, steps)), ...)]
    turned = tuple(slice(None, None, -1 if rng.integers(2) else 1) for _ in shape)
    return view[(*turned, ...)], whole


@pytest.mark.parametrize("encode", [None, True, "auto"])
def test_any_strides(tmp_path, encode):
    rng = np.random.default_rng(5)
    for turn in range(CASES):
        dtype = np.dtype(["f8", "f4", "i2", "u1", "c16", "?", "V3"][turn % 7])
        shape = tuple(int(n) for n in rng.integers(0 if turn % 10 == 0 else 1, [500, 40, 12, 7, 5][turn % 5], turn % 5 + 1))
        items = rng.integers(0, 2 if dtype == bool else 200, (*shape, dtype.itemsize)).astype(np.uint8)
        items = np.ascontiguousarray(items).view(dtype).reshape(shape)
        view, whole = any_view(rng, shape, dtype)
        view[...] = items
        before = whole.tobytes()
        cut = int(rng.integers(0, shape[0] + 1))
        for name, data in [("packed", items), ("view", view)]:
            with scda.create(tmp_path / name) as w:
                w.dataset("x", data, encode=encode)
                w.field("y", data, encode=encode)
                rest = (cut, *(0 for _ in shape[1:]))
                w.dataset("z", boxes=[((0,) * len(shape), data[:cut]), (rest, data[cut:])], shape=shape, dtype=dtype, encode=encode)
        assert (tmp_path / "packed").read_bytes() == (tmp_path / "view").read_bytes(), (shape, dtype)
        assert whole.tobytes() == before
        with scda.open(tmp_path / "view") as f:
            source = tuple(
                [slice(None), slice(None, None, -1), slice(n // 3, n - n // 3), n // 2 if n else slice(None)][k]
                for n, k in zip(shape, rng.integers(0, 4, len(shape)))
            )
            source = source if turn % 3 else (*source, None)
            expected = np.asarray(items[source])
            out, whole = any_view(rng, expected.shape, dtype)
            frame = whole.copy()
            f["x"].read_direct(out, source)
            assert out.tobytes() == expected.tobytes(), (shape, dtype, source)
            # What lies between the items is as it was. Numpy makes other bools 1.
            if dtype == bool:
                continue
            out[...] = np.frombuffer(b"\x5a" * dtype.itemsize, dtype)[0]
            assert whole.tobytes() == frame.tobytes()


def test_read_direct_converts_and_steps(tmp_path):
    with scda.create(tmp_path / "f") as w:
        w.dataset("x", np.arange(20.0).reshape(4, 5))
    with scda.open(tmp_path / "f") as f:
        out = np.zeros((2, 5), np.complex128)
        f["x"].read_direct(out, slice(None, None, 2))
        assert out.tolist() == np.arange(20.0).reshape(4, 5)[::2].tolist()
        with pytest.raises(ValueError, match=r"out: found the shape \(2, 5\), expected \(4, 5\)"):
            f["x"].read_direct(out)
        whole = np.zeros((4, 5), np.int32)
        f["x"].read_direct(whole)
        assert whole.tolist() == np.arange(20).reshape(4, 5).tolist()
        constant = np.zeros((4, 5))
        constant.flags.writeable = False
        with pytest.raises(TypeError, match="out: found ndarray, expected an array of numpy that can be written"):
            f["x"].read_direct(constant)
        # Nothing of this closes the file.
        f["x"].read_direct(out, [0, 3])
        assert out[1].tolist() == [15, 16, 17, 18, 19]


def test_boxes_that_meet_leave_the_file_as_it_was(tmp_path):
    with scda.create(tmp_path / "f") as w:
        w.dataset("x", np.arange(6))
        for starts in ([(0, 0), (1, 2)], [(0, 0), (3, 0), (0, 3), (3, 3), (4, 4)]):
            with pytest.raises(scda.ArgumentError, match=r'dataset "y": index \[\d, \d\] is in two boxes'):
                w.dataset("y", boxes=[(start, np.zeros((3, 3))) for start in starts], shape=(8, 8))
        w.dataset("y", boxes=[((0, 0), np.ones((3, 3))), ((1, 1), np.ones((0, 9)))], shape=(8, 10))
    with scda.open(tmp_path / "f") as f:
        assert names(f) == ["x", "y"] and f["y"][...].sum() == 9


def test_nothing_is_copied(tmp_path):
    """A block with ghost cells: the peak of memory is that of the block, and some MiB."""
    import subprocess
    import sys

    program = """
import numpy as np, resource, scda, sys
block = np.ones((130, 514, 514))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with scda.create(sys.argv[1]) as w:
    w.dataset("rho", block[1:-1, 1:-1, 1:-1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak)
with scda.open(sys.argv[1]) as f:
    f["rho"].read_direct(block[1:-1, 1:-1, 1:-1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak)
assert block.all()
"""
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "f"], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    # KiB, of 256 MiB that are written.
    assert all(int(line) < 20 << 10 for line in done.stdout.split()), done.stdout
