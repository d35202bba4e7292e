"""Imports files of HDF5, NetCDF-4, NumPy (.npz) and SDF."""

from __future__ import annotations

import fnmatch
import os
import zipfile
from typing import TYPE_CHECKING, Any, Iterable, Optional

import numpy as np

from ._description import native
from ._errors import ArgumentError, FormatError
from ._importer import Importer, Tell, expect_name, open_file
from ._progress import Progress
from ._writer import create_from

if TYPE_CHECKING:
    from numpy.typing import NDArray

_USER_BYTES = 58
_HDF5 = b"\x89HDF\r\n\x1a\n"
_CLASSIC = (b"CDF\x01", b"CDF\x02", b"CDF\x05")  # NetCDF's own formats
_SDF = b"SDF form"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the latter for an empty archive


def convert(
    path: str,
    out: str,
    *,
    seal: bool = True,
    hdf5: bool = True,
    without: Iterable[str] = (),
    strict: bool = False,
    external: bool = False,
    tell: Tell = print,
    progress: Optional[Progress] = None,
) -> int:
    """Writes the arrays of a file to a new scda file.

    Args:
        path: a file of HDF5, NetCDF-4, NumPy (.npz) or SDF, recognized by its first bytes.
        out: the new file.
        seal: whether the new file is sealed.
        hdf5: whether the new file, if it is sealed, is also an HDF5 file.
        without: patterns of names to leave out.
        strict: fail if the file has something that an scda file cannot represent.
        external: read items that are in other files, too: external storage and sources of virtual datasets of HDF5.
        tell: otherwise, this is called with a line about each such thing.
        progress: receives the number of bytes that are done.

    Returns:
        The number of such things, which are left out.
    """
    kind = _kind(path)
    if external and not kind.has_external:
        raise ArgumentError(f"{path}: external=True: found {kind.format}, expected a file of HDF5", None, path)
    patterns = list(without)

    def is_wanted(name: str) -> bool:
        return not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    progress = progress or Progress(path)

    def say(line: str) -> None:
        progress.clear()
        tell(line)

    name = os.path.basename(path)
    source = {"format": kind.format, "file": name, "bytes": os.path.getsize(path), "complete": not patterns}
    user = name.encode("utf-8", "replace")[:_USER_BYTES].decode("utf-8", "ignore")
    with create_from(path, out, user, seal, hdf5) as w:
        work = kind(w, path, os.path.dirname(out) or ".", is_wanted, say, strict, external, progress)
        attrs = work.run({"imported": source})
        if work.is_incomplete and not patterns:
            w.group("/", {**attrs, "imported": {**source, "complete": False}})
    return work.left_out


def _kind(path: str) -> type[Importer]:
    """The importer for this file, recognized by its first bytes."""
    with open_file(path) as file:
        head = file.read(8)
        at = 0
        while head != _HDF5 and at < os.fstat(file.fileno()).st_size:  # searches past a user block
            at = max(512, 2 * at)
            file.seek(at)
            if file.read(8) == _HDF5:
                head = _HDF5
    if head == _HDF5:
        from ._import_hdf5 import Hdf5

        return Hdf5
    if head.startswith(_CLASSIC):
        raise FormatError(f"{path}: byte 0: found a classic format of NetCDF, expected NetCDF-4 (nccopy -k nc4 OLD.nc NEW.nc converts it)", 0, path)
    if head.startswith(_ZIP):
        return _Npz
    if head == _SDF:
        from ._import_sdf import Sdf

        return Sdf
    raise FormatError(f"{path}: byte 0: expected the beginning of a file of HDF5, NetCDF-4, NumPy (.npz) or SDF", 0, path)


class _Npz(Importer):
    format = "NPZ"

    def run(self, source: dict[str, Any]) -> dict[str, Any]:
        self._w.group("/", source)
        try:
            with open_file(self._name) as whole, np.load(whole, allow_pickle=False) as file:
                self._progress.total = sum(each.file_size for each in file.zip.infolist())
                for name in filter(self._is_wanted, file.files):
                    with self._of(name):
                        expect_name(name)
                        array = _array(file, name)
                        native(array.dtype)
                        self._w.dataset(name, array)
                        self._progress.add(array.nbytes)
        except (zipfile.BadZipFile, NotImplementedError) as error:
            raise FormatError(f"{self._name}: {error}", None, self._name) from None
        return source


def _array(file: Any, name: str) -> NDArray[Any]:
    """An array of a .npz file. Raises a ValueError if no dataset can represent it, a FormatError if the file is
    damaged."""
    try:
        found = file[name]
    except (OSError, MemoryError):
        raise
    except Exception as error:  # errors of zipfile, zlib, and of numpy's parser for headers
        if "allow_pickle" in str(error):
            raise ValueError("found Python objects, which cannot be stored in a dataset") from None
        raise FormatError(f"{type(error).__name__}: {error}") from None
    if not isinstance(found, np.ndarray):
        raise ValueError("is not an array")
    return found
