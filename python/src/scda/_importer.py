"""The base class of the importers of all formats."""

from __future__ import annotations

import json
import os
import stat
import unicodedata
from contextlib import contextmanager
from typing import IO, Any, Callable, Iterator

import numpy as np

from . import _core
from ._description import FULL_NAME
from ._errors import ArgumentError, BadFileError, Error, FormatError
from ._progress import Progress
from ._writer import Writer

_USER_BYTES = 58
# Of the attributes of an object, as their JSON lies in the file: a dataset may have 4 MiB of metadata.
_MOST_ATTRIBUTE_BYTES = 4_000_000
_RESERVED = {"A compressed scda 00", "B compressed scda 00", "V compressed scda 00"}
Tell = Callable[[str], None]


class Importer:
    """What imports one file. A folder for temporary files is that of the new file."""

    format: str
    # Whether a file of this format can name other files, which are read only if that is wanted.
    has_external = False

    def __init__(
        self,
        w: Writer,
        path: str,
        folder: str,
        is_wanted: Callable[[str], bool],
        tell: Tell,
        is_strict: bool,
        external: bool,
        progress: Progress,
    ) -> None:
        self._w = w
        self._name = path
        self._folder = folder
        self._is_wanted = is_wanted
        self._tell = tell
        self._is_strict = is_strict
        self._external = external
        self._progress = progress
        # How many things have no place in the new file; and whether an array, or all below a group, is among them.
        self.left_out = 0
        self.is_incomplete = False

    @classmethod
    def user(cls, path: str) -> str:
        """The user string of the new file."""
        return os.path.basename(path).encode("utf-8", "replace")[:_USER_BYTES].decode("utf-8", "ignore")

    def run(self, source: dict[str, Any]) -> dict[str, Any]:
        """Writes everything. Returns the attributes of the file, which are those that it has and these."""
        raise NotImplementedError

    def _leave_out(self, path: str, reason: str, *, is_array: bool = True) -> None:
        if self._is_strict:
            raise ArgumentError(f"{self._name}: {path!r}: {reason}; without strict=True it is left out", None, self._name)
        self._tell(f"{self._name}: {path!r}: {reason}; it is left out")
        self.left_out += 1
        self.is_incomplete |= is_array

    def _attributes_of(self, path: str, found: tuple[dict[str, Any], list[tuple[str, str]]]) -> dict[str, Any]:
        """What :func:`scda._attributes.described` returns, with a line about each that is left out."""
        attrs, left_out = found
        for name, reason in left_out:
            self._leave_out(path, f"attribute {name!r}: {reason}", is_array=False)
        if FULL_NAME in attrs and _core.stored_path(path) != path:
            del attrs[FULL_NAME]
            self._leave_out(path, f"attribute {FULL_NAME!r}: found a name that scda uses itself", is_array=False)
        sizes = {name: _json_bytes(value) for name, value in attrs.items()}
        while sum(sizes.values()) > _MOST_ATTRIBUTE_BYTES:
            name = max(sizes, key=lambda name: sizes[name])
            reason = (
                f"found {sizes.pop(name)} bytes of JSON, expected at most {_MOST_ATTRIBUTE_BYTES} of all attributes"
            )
            del attrs[name]
            self._leave_out(path, f"attribute {name!r}: {reason}", is_array=False)
        return attrs

    def _expect_no_others(self, attrs: dict[str, Any], own: dict[str, Any]) -> None:
        """A line about each attribute of the file that gives way to one of these; not about objects, which an earlier import has
        written."""
        for name in own.keys() & attrs.keys():
            if not isinstance(attrs[name], dict):
                self._leave_out("/", f"attribute {name!r}: found a name that scda uses itself", is_array=False)

    @contextmanager
    def _of(self, path: str) -> Iterator[None]:
        """What an scda file has no place for is left out. Errors name the array."""
        try:
            yield
        except FormatError as error:
            raise FormatError(f"{self._name}: {path!r}: {error}; without= leaves it out", None, self._name) from None
        except (TypeError, ValueError) as error:
            if isinstance(error, Error):
                raise
            self._leave_out(path, str(error))


def open_file(path: str) -> IO[bytes]:
    """A file to be read. What a folder of somebody else has under its name may be a pipe, which is not waited for, or a device."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NONBLOCK)

    file = open(path, "rb", opener=opener)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise BadFileError(f"{path}: a folder, pipe or device, not a file", None, path)
    return file


def expect_name(path: str) -> None:
    """A ValueError for a name that no dataset can have, whatever its length."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise ValueError("found a name that is no UTF-8") from None
    if any(unicodedata.category(c) == "Cc" for c in path):
        raise ValueError("found control characters in the name")
    if not all(path.split("/")):
        raise ValueError("found a slash at an end of the name, or two together")
    if path.startswith("scda ") or path in _RESERVED:
        raise ValueError("found a name that is reserved")


def _json_bytes(value: Any) -> int:
    """The bytes of an attribute in the file; not fewer than that."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()) + 64


def as_bool(item: np.dtype[Any], attrs: dict[str, Any], has_bools: Callable[[], bool]) -> np.dtype[Any]:
    """The type of items that xarray has written as bools; the attribute that says so is taken away. Where others than 0 and 1 are among
    them, such as NetCDF's -127 for what was never written, both stay.

    Args:
        has_bools: whether all items are bools.
    """
    if item != np.int8 or attrs.get("dtype") != "bool" or not has_bools():
        return item
    del attrs["dtype"]
    return np.dtype("?")
