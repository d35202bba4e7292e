"""Helpers that readers and writers share: open files, checks of arguments, memory of arrays."""

from __future__ import annotations

import json
import operator
import os
import re
import stat
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Mapping, Optional, Protocol, TypeVar, Union

import numpy as np

from ._errors import ArgumentError, Error, UsageError
from ._ranks import Ranks, ranks_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

Path = Union[str, "os.PathLike[str]", bytes, "os.PathLike[bytes]"]

# More threads than this only wait for memory.
_MOST_THREADS = 64
# The greatest number that the core accepts.
_MOST_THREADS_TAKEN = 1024
_MOST_COUNT = _MOST_RECORD = (1 << 63) - 1


_Self = TypeVar("_Self", bound="Handle")


class _Abandonable(Protocol):
    def abandon(self, why: str) -> None: ...


_Core = TypeVar("_Core", bound=_Abandonable)


class Handle:
    """A file that stays open until it is closed."""

    _path: str
    _closed: bool = True  # until it has been opened

    @property
    def path(self) -> str:
        """The absolute path of the file."""
        return self._path

    @property
    def closed(self) -> bool:
        """True if the file is closed."""
        return self._closed

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError(f"{self._path}: the file is closed", None, self._path)

    def __enter__(self: _Self) -> _Self:
        self._check_open()
        return self

    def __exit__(
        self,
        _: Optional[type[BaseException]],
        error: Optional[BaseException],
        __: Optional[TracebackType],
    ) -> None:
        self._leave(error)

    def _leave(self, error: Optional[BaseException]) -> None:
        """Ends the ``with`` statement, which an error may have ended."""
        raise NotImplementedError


def prepare(
    path: Path, comm: Any, driver: str, threads: Optional[int], limits: Optional[Mapping[str, int]] = None, **switches: bool
) -> tuple[str, Optional[Ranks], int]:
    """The absolute path, the ranks if there are several, and the number of threads. Collective: an invalid argument on
    one rank, including a switch that is no bool, raises an error on all."""
    ranks = ranks_of(comm)
    failure: Optional[Exception] = None
    name, number = "", 1
    try:
        # Not abspath: it resolves ".." by text, which is wrong after a symbolic link to a folder.
        name = os.path.join(os.getcwd(), os.fsdecode(path))
        if driver not in ("auto", "posix", "mpi-io"):
            raise ValueError(f'driver: found {driver!r}, expected "auto", "posix" or "mpi-io"')
        for what, value in switches.items():
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError(f"{what}: found {value!r}, expected True or False")
        for what, limit in (limits or {}).items():
            integer(what, limit, 0, (1 << 63) - 1)
        number = _threads(threads, ranks)
    except Exception as error:
        failure = error
    if ranks is None:
        if failure is not None:
            raise failure
        return name, None, number
    try:
        ranks.agree(failure)
    except BaseException:
        ranks.free()
        raise
    return name, ranks, number


def _threads(threads: Optional[int], ranks: Optional[Ranks]) -> int:
    if threads is not None:
        return integer("threads", threads, 1, _MOST_THREADS_TAKEN)
    if ranks is not None:
        return 1
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS does not have it
        cores = os.cpu_count() or 1
    return min(cores, _MOST_THREADS)


def integer(what: str, value: Any, least: int, most: int) -> int:
    """Checks an argument that the core takes as an unsigned number."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: found {value!r}, expected an integer") from None
    if not least <= number <= most:
        raise ArgumentError(f"{what}: found {number}, expected {least} to {most}")
    return number


def record_number(number: int) -> int:
    """A record number, limited to the range that the core takes."""
    return max(-_MOST_RECORD, min(operator.index(number), _MOST_RECORD))


def local_count(count: Any) -> int:
    """A number of elements of this rank. Raises no :class:`Error`, because that would count as known to all ranks."""
    number = operator.index(count)
    if not 0 <= number <= _MOST_COUNT:
        raise ValueError(f"count: found {number}, expected 0 to {_MOST_COUNT}")
    return number


class CollectiveCall(Generic[_Core]):
    """Turns a failure of its ``with`` statement on one rank, before the core is called, into an error of all: the
    others would wait."""

    __slots__ = ("_core", "_is_alone")

    def __init__(self, ranks: Optional[Ranks], core: _Core) -> None:
        self._is_alone, self._core = ranks is None, core

    def __enter__(self) -> _Core:
        return self._core

    def __exit__(self, _: Any, error: Optional[BaseException], __: Any) -> None:
        # Errors of the core are raised on all ranks.
        if error is not None and not self._is_alone and not isinstance(error, Error):
            self._core.abandon(reason(error))


def reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def a_or_an(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def text_of(user: bytes) -> str:
    return user.decode("utf-8", "backslashreplace")


def dtype_of(dtype: DTypeLike) -> np.dtype[Any]:
    """A dtype, checked to have no objects: its values are nothing but their bytes."""
    found = np.dtype(dtype)
    if found.hasobject:
        raise TypeError(f"dtype: found {found}, expected one without Python objects")
    if found.itemsize == 0:
        raise ValueError(f"dtype: found {found}, expected a type of at least one byte")
    return found


def bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of a contiguous array, which share its memory."""
    if array.nbytes == 0:
        return np.empty(0, np.uint8)
    return array.reshape(-1).view(np.uint8)


# The memory of an array: its bytes; how many of them precede the first item; the strides, or None if the items fill the
# bytes in C order; and the name of the type of the items.
Memory = tuple["NDArray[np.uint8]", int, Optional[list[int]], str]


def type_name(dtype: np.dtype[Any]) -> str:
    """The core's name for a native type; for a structured one JSON, which includes the gaps between members in
    memory."""
    if dtype.names is None and dtype.subdtype is None:
        return _plain_type_name(dtype)
    return json.dumps(_described(dtype))


@lru_cache
def _plain_type_name(dtype: np.dtype[Any]) -> str:
    described = _described(dtype)
    return described if isinstance(described, str) else json.dumps(described)


def _described(dtype: np.dtype[Any]) -> Any:
    if dtype.subdtype is not None:
        item, shape = dtype.subdtype
        for n in reversed(shape):
            item = np.dtype([(str(i), item) for i in range(n)])
        return _described(item)
    if dtype.names is not None:
        offsets = [dtype.fields[name][1] for name in dtype.names]  # type: ignore[index]
        fields = [[name, _described(dtype[name]), offset] for name, offset in zip(dtype.names, offsets)]
        return {"name": "structured", "configuration": {"fields": fields, "length_bytes": dtype.itemsize}}
    if dtype.kind in "Mm":
        unit, scale = np.datetime_data(dtype)
        kind = "numpy.datetime64" if dtype.kind == "M" else "numpy.timedelta64"
        return {"name": kind, "configuration": {"unit": unit, "scale_factor": scale}}
    if dtype.kind == "U":
        return {"name": "fixed_length_utf32", "configuration": {"length_bytes": dtype.itemsize}}
    if dtype.kind == "S":
        return {"name": "null_terminated_bytes", "configuration": {"length_bytes": dtype.itemsize}}
    return f"r{8 * dtype.itemsize}" if dtype.kind == "V" else dtype.name


def packed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that a file has for this one: without gaps between members."""
    if dtype.subdtype is not None:
        return np.dtype((packed(dtype.subdtype[0]), dtype.subdtype[1]))
    if dtype.names is None:
        return dtype
    return np.dtype([(name, packed(dtype[name])) for name in dtype.names])


# The types whose items are texts or bytes of any length. In memory, these are Python objects.
VARIABLE_TYPES = {"string": str, "variable_length_bytes": bytes}


def dtype_named(name: str) -> np.dtype[Any]:
    """The dtype for this name of the core, in the byte order of this machine."""
    if name in VARIABLE_TYPES:
        return np.dtype(object)
    if name[0] == "{":
        found = json.loads(name)
        # The core has arrays only as members of structs, so an item itself is never one, whatever its members are
        # called.
        return np.dtype(_fields(found)) if found["name"] == "structured" else _dtype_of(found)
    return _plain_dtype(name)


@lru_cache
def _plain_dtype(name: str) -> np.dtype[Any]:
    # Not used for structs, because programs choose the names of their members.
    return _dtype_of(name)


def _fields(described: Any) -> list[tuple[str, np.dtype[Any]]]:
    """The members of a struct."""
    # For a struct in memory, each member also has its offset.
    return [(field, _dtype_of(of)) for field, of, *_ in described["configuration"]["fields"]]


def _dtype_of(described: Any) -> np.dtype[Any]:
    if isinstance(described, str):
        kind, bracket, rest = described.partition("[")
        if bracket and kind in ("text", "bytes"):
            return np.dtype(f"{'U' if kind == 'text' else 'S'}{rest[:-1]}")
        if re.fullmatch("r[0-9]+", described):
            return np.dtype(f"V{int(described[1:]) // 8}")
        return np.dtype(described)
    name, configuration = described["name"], described["configuration"]
    if name == "structured":
        fields = _fields(described)
        # The core describes an array as a struct with members called 0, 1, ...
        if [field for field, _ in fields] == [str(i) for i in range(len(fields))] and len({of for _, of in fields}) == 1:
            item, shape = fields[0][1].subdtype or (fields[0][1], ())
            return np.dtype((item, (len(fields), *shape)))
        return np.dtype(fields)
    if name in ("fixed_length_utf32", "null_terminated_bytes"):
        length = configuration["length_bytes"]
        return np.dtype(f"U{length // 4}" if name == "fixed_length_utf32" else f"S{length}")
    scale, unit = configuration["scale_factor"], configuration["unit"]
    return np.dtype(f"{name[len('numpy.'):]}[{scale if scale != 1 else ''}{unit}]")


def memory_of(array: NDArray[Any]) -> Memory:
    """The memory of any array, without a copy."""
    if array.flags.c_contiguous or array.size == 0:
        return bytes_of(array), 0, None, type_name(array.dtype)
    steps = [(n - 1) * stride for n, stride in zip(array.shape, array.strides)]
    low = sum(step for step in steps if step < 0)
    high = sum(step for step in steps if step > 0) + array.itemsize
    return np.asarray(_Extent(array, low, high - low)), -low, list(array.strides), type_name(array.dtype)


class _Extent:
    """Presents all bytes of an array, from the first to the last one, to numpy."""

    def __init__(self, array: NDArray[Any], low: int, length: int) -> None:
        address, is_constant = array.__array_interface__["data"]
        self._array = array  # keeps the memory alive
        self.__array_interface__ = {
            "data": (address + low, is_constant),
            "shape": (length,),
            "typestr": "|u1",
            "version": 3,
        }


def offsets_of(sizes: NDArray[np.uint64], item: np.dtype[Any]) -> NDArray[np.int64]:
    """The offset of each element, given their sizes in bytes, in units of items; the last entry is where the last one
    ends."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    if item.itemsize == 1:
        np.cumsum(sizes, out=offsets[1:])
        return offsets
    odd = np.flatnonzero(sizes % np.uint64(item.itemsize))
    if len(odd):
        raise ValueError(
            f"element {odd[0]}: found {sizes[odd[0]]} bytes, expected a multiple of {item.itemsize}, the size of {item}"
        )
    np.cumsum(sizes // np.uint64(item.itemsize), out=offsets[1:])
    return offsets


def mode_like(source: str) -> int:
    """The permissions, less the umask, for a new file with data from this file or folder. Pipes have no permissions to
    copy."""
    try:
        found = os.stat(source).st_mode
    except OSError:
        return 0o666
    is_kept = stat.S_ISREG(found) or stat.S_ISDIR(found)
    return found & 0o666 | 0o600 if is_kept else 0o666
