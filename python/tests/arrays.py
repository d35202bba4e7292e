"""Random arrays, boxes of them and indices, for the tests of datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np
import scda

TYPES = ["?", "i1", "<i2", ">i2", "<i4", ">i8", "u1", ">u2", "<u4", "<u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"]
TYPES += ["<c8", ">c8", "<c16", ">c16", "V1", "V3", "V16"]


def random_shape(generator: np.random.Generator, most_dimensions: int = 5) -> tuple[int, ...]:
    ndim = int(generator.integers(0, most_dimensions + 1))
    most = [1, 300, 40, 14, 8, 6][ndim]
    return tuple(int(n) for n in generator.integers(0 if generator.integers(8) == 0 else 1, most + 1, ndim))


def random_items(generator: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Items whose bytes are anything that the type can have; some of them smooth, some all zeros."""
    item = np.dtype(dtype)
    kind = generator.integers(3)
    if kind == 0:
        return np.zeros(shape, item)
    if kind == 1 and item.kind not in "V":
        return (np.arange(int(np.prod(shape))) % 101).astype(item).reshape(shape)
    if item.kind in "?b":
        return generator.integers(0, 2, shape).astype(item)
    count = int(np.prod(shape))
    return np.frombuffer(generator.bytes(count * item.itemsize), item).reshape(shape).copy()


def in_memory(generator: np.random.Generator, array: Any) -> Any:
    """The same items, in C or Fortran order, or as every other one of a larger array, or backwards."""
    kind = generator.integers(4)
    if kind == 0 or array.ndim == 0:
        return array
    if kind == 1:
        return np.asfortranarray(array)
    if kind == 2:
        return array[::-1].copy()[::-1]
    larger = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    larger[..., ::2] = array
    return larger[..., ::2]


def random_boxes(generator: np.random.Generator, shape: tuple[int, ...], most: int) -> list[Any]:
    """Boxes, as (start, shape), that are all of an array: cut again and again. In any order."""
    boxes = [((0,) * len(shape), shape)]
    for _ in range(int(generator.integers(0, most))):
        start, count = boxes.pop(int(generator.integers(len(boxes))))
        wide = [d for d, n in enumerate(count) if n > 1]
        if not wide:
            boxes.append((start, count))
            continue
        d = int(generator.choice(wide))
        n = int(generator.integers(1, count[d]))
        boxes.append((start, (*count[:d], n, *count[d + 1 :])))
        boxes.append(((*start[:d], start[d] + n, *start[d + 1 :]), (*count[:d], count[d] - n, *count[d + 1 :])))
    generator.shuffle(boxes)
    return boxes


def part(array: Any, box: Any) -> Any:
    start, count = box
    return array[(*(slice(a, a + n) for a, n in zip(start, count)), ...)]


def random_layout(generator: np.random.Generator, shape: tuple[int, ...]) -> dict[str, Any]:
    """The arguments of a writer that say how data lie in the file."""
    kind = int(generator.integers(5))
    if kind == 0:
        return {}
    if kind == 1:
        return {"encode": "auto"}
    chunks = tuple(int(generator.integers(1, n + 3)) for n in shape)
    options: dict[str, Any] = {"chunks": chunks} if kind != 2 else {"encode": True}
    options["text"] = kind == 3
    options["level"] = int(generator.integers(0, 10))
    options["shuffle"] = bool(generator.integers(2))
    return options


def random_file(
    path: Path, generator: np.random.Generator, seal: bool, of_all: Optional[Callable[[Any], Any]] = None
) -> dict[str, Any]:
    """Writes a file with arrays of all types, and one to three records of each, with layouts of their own. With
    `of_all`, records share the layout that it returns for a random one."""
    arrays = {}
    with scda.create(path, seal=seal) as w:
        for number, dtype in enumerate(TYPES):
            shape = random_shape(generator)
            records = int(generator.integers(1, 4))
            layout = None if of_all is None else of_all(random_layout(generator, shape))
            items = [random_items(generator, dtype, shape) for _ in range(records)]
            for array in items:
                w.dataset(f"a/{number}", array, **(random_layout(generator, shape) if layout is None else layout))
            arrays[f"a/{number}"] = items[0] if records == 1 else np.stack(items)
    return arrays


# Doubles, and what single precision has next to them.
MISSING = {"many": 1e20, "few": -999.9, "netcdf": 9.96921e36, "max": 1e30}


def write_missing(path: Path) -> None:
    """Writes datasets of single precision: first and last an item that is missing, by either attribute."""
    with scda.create(path) as w:
        for name, number in MISSING.items():
            for attribute in ("_FillValue", "missing_value"):
                w.dataset(f"{name}_{attribute}", np.array([number, 1, number], "f4"), attrs={attribute: number})
        w.dataset("fill", np.array([1e20, 1, 1e20], "f4"), fill_value=1e20, attrs={"missing_value": 1e20})
        w.dataset("several", np.array([1e20, 1, -999.9], "f4"), attrs={"missing_value": [1e20, -999.9]})
        w.dataset("nan", np.array([np.nan, 1, np.nan], "f4"), attrs={"missing_value": "NaN"})
        w.dataset("infinite", np.array([np.inf, 1, 2], "f4"), attrs={"missing_value": 1e300})
        w.dataset("large", np.array([np.inf, 1, 2], "f4"), attrs={"_FillValue": 1e300})


def expect_missing(ds: Any) -> None:
    """What xarray has of that file."""
    assert len(ds.variables) == 2 * len(MISSING) + 5
    for name in ds.variables:
        if name not in ("infinite", "large"):  # nothing that single precision has
            assert ds[name].dtype == np.float32 and ds[name].values.tolist()[1] == 1
            assert np.isnan(ds[name].values).tolist() == [True, False, True], name


def random_key(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """What numpy's basic indexing takes."""
    key: list[Any] = []
    for n in shape[: int(generator.integers(0, len(shape) + 1))]:
        kind = int(generator.integers(4))
        if kind == 0 and n:
            key.append(int(generator.integers(-n, n)))
        elif kind == 1:
            key.append(slice(None))
        else:
            start, stop = (None if generator.integers(4) == 0 else int(generator.integers(-n - 2, n + 3)) for _ in "ab")
            step = int(generator.choice([-7, -2, -1, 1, 1, 2, 3, 50]))
            key.append(slice(start, stop, step))
    if generator.integers(2):
        key.insert(int(generator.integers(len(key) + 1)), Ellipsis)
        # The dimensions after it are the last ones: those keys must fit them.
        key = _refit(key, shape)
    if generator.integers(4) == 0:
        key.insert(int(generator.integers(len(key) + 1)), None)
    return key[0] if len(key) == 1 and generator.integers(2) else tuple(key)


def _refit(key: list[Any], shape: tuple[int, ...]) -> list[Any]:
    after = len(key) - key.index(Ellipsis) - 1
    for place in range(1, after + 1):
        n = shape[-place]
        if isinstance(key[-place], int) and not -n <= key[-place] < n:
            key[-place] = slice(None)
    return key


def names(tree: scda.File | scda.Group) -> list[str]:
    """The names of all datasets, also of those in groups."""
    return tree._datasets()


def same(found: Any, expected: Any) -> None:
    """Byte for byte, whatever the byte order in memory."""
    assert type(found) is type(expected)
    assert found.shape == expected.shape and found.dtype == expected.dtype.newbyteorder("=")
    assert found.tobytes() == expected.astype(expected.dtype.newbyteorder("=")).tobytes()
