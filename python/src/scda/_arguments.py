"""Checks the arguments of a program and converts them for the core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _core
from ._common import a_or_an, bytes_of, dtype_of, integer, packed, type_name
from ._h5py import refuse
from ._description import CODECS, Description, attributes_text, fill_bytes, integers, names_of, with_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ENCODE: dict[object, str] = {False: "none", True: "always", "auto": "auto"}
_MOST_LEVEL = 9
_MOST_KEPT = 1000


class ReadSettings(NamedTuple):
    """How a file is read: arguments of :func:`open`."""

    comm: Any
    driver: str
    threads: Optional[int] = None
    decode: bool = True
    verify: bool = False
    to_seal: bool = True
    cache_bytes: int = 0
    max_memory: int = 0
    keep: int = 0

    def switches(self) -> dict[str, bool]:
        """The settings that are true or false."""
        return {"decode": self.decode, "verify": self.verify, "to_seal": self.to_seal}

    def limits(self) -> dict[str, int]:
        """The settings that are numbers."""
        return {"cache_bytes": self.cache_bytes, "max_memory": self.max_memory, "keep": self.keep}


def _place(place: Union[int, tuple[str, int], None]) -> Union[int, tuple[str, int], None]:
    """The place in a file after which a program continues, as the core takes it."""
    if place is None:
        return None
    if isinstance(place, tuple) and len(place) == 2 and isinstance(place[0], str):
        return (place[0], integer("append_after", place[1], -(1 << 63), (1 << 63) - 1))
    return integer("append_after", place, 0, (1 << 63) - 1)


class WriteSettings(NamedTuple):
    """How a file is written: arguments of :func:`create` and :func:`append`."""

    style: str
    encoder: str
    level: Optional[int]
    threads: Optional[int]
    atomic: bool
    sync: bool
    seal: bool
    keep: int
    background_bytes: int
    comm: Any
    driver: str
    # None: the file is created. Otherwise the number of sections that stay, or the step after which the program
    #     continues.
    append_after: Union[int, tuple[str, int], None] = None
    # If true, a file that does not exist is created.
    creates: bool = False
    # The permissions of a new file, less the umask.
    mode: int = 0o666
    hdf5: Union[bool, str] = True

    @property
    def appends(self) -> bool:
        """True if sections are added to an existing file."""
        return self.append_after is not None

    def checked(self, threads: int) -> WriteSettings:
        """The settings as the core takes them, with `threads` threads."""
        if self.style not in ("unix", "mime"):
            raise ValueError(f'style: found {self.style!r}, expected "unix" or "mime"')
        if self.encoder not in ("fast", "zlib"):
            raise ValueError(f'encoder: found {self.encoder!r}, expected "fast" or "zlib"')
        if self.hdf5 not in (True, False, "commit"):
            raise ValueError(f'hdf5: found {self.hdf5!r}, expected True, False or "commit"')
        return self._replace(
            level=_core.DEFAULT_LEVEL if self.level is None else integer("level", self.level, 0, _MOST_LEVEL),
            threads=threads,
            hdf5=self.hdf5 if isinstance(self.hdf5, str) else ("close" if self.hdf5 else "never"),
            keep=integer("keep", self.keep, 0, _MOST_KEPT),
            append_after=_place(self.append_after),
            background_bytes=integer("background_bytes", self.background_bytes, 0, (1 << 62) - 1),
        )


class Options(NamedTuple):
    """How a dataset is written: arguments of :meth:`Writer.dataset`."""

    attrs: Optional[Mapping[str, Any]] = None
    dims: Optional[Sequence[Optional[str]]] = None
    fill_value: Any = None
    encode: Union[bool, str, None] = None
    chunks: Union[int, Sequence[int], None] = None
    codec: Optional[str] = None
    level: Optional[int] = None
    shuffle: Optional[bool] = None
    max_relative_error: Optional[float] = None
    max_absolute_error: Optional[float] = None
    text: bool = False
    extends: bool = False

    def describe(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Description:
        """The description of a dataset with this name, type and shape, as the core takes it."""
        layout, chunks = self._layout()
        if not isinstance(name, str):
            raise TypeError(f"name: found {type(name).__name__}, expected a str")
        if not isinstance(self.extends, (bool, np.bool_)):
            raise TypeError(f"extends: found {self.extends!r}, expected True or False")
        for what, given in (("attrs", self.attrs), ("dims", self.dims)):
            if self.extends and given:
                raise ValueError(f"{what}: found {given!r} with extends=True, expected none: the dataset keeps its own")
        stored = _core.stored_name(name)
        return Description(
            name=stored,
            type=type_name(packed(dtype_of(dtype))),
            shape=list(shape),
            layout=layout,
            chunks=None if chunks is None else list(chunks),
            codec=self.codec or CODECS[0],
            level=None if self.level is None else integer("level", self.level, 0, _MOST_LEVEL),
            shuffle=self.shuffle is None or bool(self.shuffle),
            max_errors=(
                _error("max_relative_error", self.max_relative_error),
                _error("max_absolute_error", self.max_absolute_error),
            ),
            fill=fill_bytes(self.fill_value, dtype),
            dims=names_of(self.dims, len(shape)),
            attributes=attributes_text(with_name(self.attrs, name, stored)),
            unsupported=None,
            extends=bool(self.extends),
        )

    def _layout(self) -> tuple[str, Optional[tuple[int, ...]]]:
        """The layout and the shape of the chunks."""
        if not isinstance(self.text, (bool, np.bool_)):
            raise TypeError(f"text: found {self.text!r}, expected True or False")
        if self.shuffle is not None and not isinstance(self.shuffle, (bool, np.bool_)):
            raise TypeError(f"shuffle: found {self.shuffle!r}, expected True or False")
        if self.codec is not None and self.codec not in CODECS:
            raise ValueError(f"codec: found {self.codec!r}, expected one of {', '.join(map(repr, CODECS))}")
        if self.codec is not None and self.text:
            raise ValueError(f"codec: found {self.codec!r} with text=True, expected no codec: text is compressed by zlib")
        # Arguments that only chunked datasets have.
        of_chunks = ("chunks", "codec", "level", "shuffle", "max_relative_error", "max_absolute_error")
        given = [name for name in of_chunks if getattr(self, name) is not None] + ["text"] * bool(self.text)
        shape = None if self.chunks is None else integers("chunks", self.chunks)
        encode = bool(given) if self.encode is None else self.encode
        if encode is False and given:
            raise ValueError(f"{given[0]}: found it with encode=False, which makes no chunks")
        if isinstance(encode, str) and encode == "auto":
            if self.text:
                raise ValueError('text: found True with encode="auto", expected encode=True')
            return "auto", shape
        if not isinstance(encode, (bool, np.bool_)):
            raise ValueError(f'encode: found {encode!r}, expected False, True or "auto"')
        return ("text" if self.text else "chunked") if encode else "contiguous", shape


def options_of(arguments: dict[str, Any], data: Any) -> Options:
    """The options that were passed by name, completed from the data if those are an array of xarray."""
    refuse({name: value for name, value in arguments.items() if name not in Options._fields})
    return labelled(Options(**arguments), data)


def labelled(options: Options, data: Any) -> Options:
    """The options; if the data are an array of xarray, its names of dimensions and its attributes where none are
    given."""
    if not type(data).__module__.startswith("xarray.") or options.extends:
        return options
    from ._xarray_writing import attributes_of

    dims = [str(dim) for dim in data.dims] or None
    attrs = attributes_of(data.attrs, data.dtype)
    return options._replace(dims=dims if options.dims is None else options.dims, attrs=attrs if options.attrs is None else options.attrs)


def _error(name: str, error: Optional[float]) -> float:
    """Checks a bound of rounding and converts it for the core."""
    if error is not None and not isinstance(error, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}: found {error!r}, expected a number")
    return 0.0 if error is None else float(error)


def user_string(user: Union[str, bytes]) -> bytes:
    """The bytes of a user string."""
    if isinstance(user, str):
        return user.encode()
    if isinstance(user, (bytes, bytearray, memoryview)):
        return bytes(user)
    raise TypeError(f"user string: found {type(user).__name__}, expected str or bytes")


def encoding_of(encode: Union[bool, str]) -> str:
    """Checks the argument `encode` and converts it for the core."""
    if isinstance(encode, (bool, np.bool_, str)) and encode in _ENCODE:
        return _ENCODE[encode]
    raise ValueError(f'encode: found {encode!r}, expected False, True or "auto"')


def _array(data: Any) -> NDArray[Any]:
    """Bytes or a numpy array as a contiguous array, without a copy if it is contiguous."""
    if isinstance(data, str):
        raise TypeError("data: found a str, expected bytes or a numpy array; encode() converts it to bytes")
    if not hasattr(data, "__array_interface__"):
        try:
            data = memoryview(data)  # rejects numbers, lists and all else from which numpy would make an array
        except TypeError:
            raise TypeError(
                f"data: found {a_or_an(type(data).__name__)}, expected bytes or a numpy array; "
                'np.array(data, "<f8"), for example, says which bytes the numbers have'
            ) from None
    array = np.asarray(data)
    dtype_of(array.dtype)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def array_bytes(data: Any) -> NDArray[np.uint8]:
    """The bytes of data, which are bytes or a numpy array."""
    return bytes_of(_array(data))


def elements_of(data: Any, size: Optional[int]) -> tuple[NDArray[np.uint8], int]:
    """The bytes of elements, and the size of each."""
    array = _array(data)
    if size is None:
        if not hasattr(data, "shape") or array.ndim == 0:
            raise ValueError("size is missing: data do not say how many bytes an element has")
        size = array.dtype.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))
    elif size < 0 or (array.nbytes % size if size else array.nbytes):
        raise ValueError(f"data: found {array.nbytes} bytes, expected a multiple of the size {size}")
    return bytes_of(array), int(size)


def joined(elements: Any) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """The sizes of elements, and their concatenated bytes."""
    if isinstance(elements, (str, bytes, bytearray, memoryview)) or (
        isinstance(elements, np.ndarray) and elements.dtype != object
    ):
        raise TypeError(
            f"data: found {type(elements).__name__}, expected a list of elements or a tuple (offsets, values)"
        )
    parts = [array_bytes(element) for element in elements]
    sizes = np.array([len(part) for part in parts], np.uint64)
    return sizes, np.concatenate(parts) if parts else np.empty(0, np.uint8)


def ragged(*data: Any) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """The sizes of elements, and their bytes, from (offsets, values)."""
    if len(data) != 2 or np.ndim(data[0]) != 1 or np.asarray(data[0]).dtype.kind not in "iu" or len(data[0]) == 0:
        raise TypeError(
            "data: found a tuple, expected (offsets, values) with integer offsets, one more than there are elements"
        )
    offsets, values = np.asarray(data[0]).astype(np.int64), _array(data[1])
    if values.ndim != 1:
        raise ValueError(f"values: found {values.ndim} dimensions, expected one")
    lengths = np.diff(offsets)
    if offsets[0] != 0 or (lengths < 0).any() or offsets[-1] != len(values):
        raise ValueError(
            f"offsets: found {offsets[0]} to {offsets[-1]}, expected numbers that never decrease, from 0 to {len(values)}, "
            "the number of values; elements are given as a list"
        )
    sizes = lengths.astype(np.uint64) * np.uint64(values.dtype.itemsize)
    return sizes, bytes_of(values)
