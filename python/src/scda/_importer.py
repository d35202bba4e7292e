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

# The most bytes of attributes of an object, as JSON in the file: a dataset may have 4 MiB of metadata.
_MOST_ATTRIBUTE_BYTES = 4_000_000
_RESERVED = {"A compressed scda 00", "B compressed scda 00", "V compressed scda 00"}
Tell = Callable[[str], None]


class Importer:
    """Imports one file. Temporary files are in the folder of the new file."""

    format: str
    # True if a file of this format can refer to other files, which are read only on request.
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
        # The number of things left out, and whether an array, or everything below a group, is among them.
        self.left_out = 0
        self.is_incomplete = False

    def run(self, source: dict[str, Any]) -> dict[str, Any]:
        """Writes everything. Returns the attributes of the file: its own, and `source`."""
        raise NotImplementedError

    def _leave_out(self, path: str, reason: str, *, is_array: bool = True) -> None:
        if self._is_strict:
            raise ArgumentError(f"{self._name}: {path!r}: {reason}; without strict=True it is left out", None, self._name)
        self._tell(f"{self._name}: {path!r}: {reason}; it is left out")
        self.left_out += 1
        self.is_incomplete |= is_array

    def _attributes_of(self, path: str, found: tuple[dict[str, Any], list[tuple[str, str]]]) -> dict[str, Any]:
        """The attributes from :func:`scda._attributes.described`; reports each that is left out."""
        attrs, left_out = found
        for name, reason in left_out:
            self._leave_out(path, f"attribute {name!r}: {reason}", is_array=False)
        if FULL_NAME in attrs and _core.stored_path(path) != path:
            del attrs[FULL_NAME]
            self._leave_out(path, f"attribute {FULL_NAME!r}: found a name that scda reserves", is_array=False)
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
        """Reports attributes of the file that `own` replaces. Objects are not reported: an earlier import has written
        them."""
        for name in own.keys() & attrs.keys():
            if not isinstance(attrs[name], dict):
                self._leave_out("/", f"attribute {name!r}: found a name that scda reserves", is_array=False)

    @contextmanager
    def _of(self, path: str) -> Iterator[None]:
        """Leaves out what an scda file cannot represent. Errors name the array."""
        try:
            yield
        except FormatError as error:
            raise FormatError(f"{self._name}: {path!r}: {error}; without= leaves it out", None, self._name) from None
        except (TypeError, ValueError) as error:
            if isinstance(error, Error):
                raise
            self._leave_out(path, str(error))


def open_file(path: str) -> IO[bytes]:
    """Opens a file for reading. In another user's folder, it may be a pipe, for which we must not wait, or a device."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NONBLOCK)

    file = open(path, "rb", opener=opener)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise BadFileError(f"{path}: a folder, pipe or device, not a file", None, path)
    return file


def expect_name(path: str) -> None:
    """Raises a ValueError for a name that no dataset can have, whatever its length."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise ValueError("found a name that is not valid UTF-8") from None
    if any(unicodedata.category(c) == "Cc" for c in path):
        raise ValueError("found control characters in the name")
    if not all(path.split("/")):
        raise ValueError("found a slash at either end of the name, or a double slash")
    if path.startswith("scda ") or path in _RESERVED:
        raise ValueError("found a name that is reserved")


def _json_bytes(value: Any) -> int:
    """An upper bound for the bytes of an attribute in the file."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()) + 64


def as_bool(item: np.dtype[Any], attrs: dict[str, Any], has_bools: Callable[[], bool]) -> np.dtype[Any]:
    """The type of items: bool if xarray has written bools, in which case the attribute that says so is removed. If
    there are items other than 0 and 1, such as NetCDF's -127 for what was never written, type and attribute stay.

    Args:
        has_bools: returns true if all items are 0 or 1.
    """
    if item != np.int8 or attrs.get("dtype") != "bool" or not has_bools():
        return item
    del attrs["dtype"]
    return np.dtype("?")
