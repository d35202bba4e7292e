"""The exceptions, one class for each error code of the C interface, and the warnings."""

from __future__ import annotations

import builtins
import errno
import os
from typing import Optional

__all__ = [
    "AccessError",
    "ArgumentError",
    "BadFileError",
    "ChecksumError",
    "LeftOutWarning",
    "DecodeError",
    "EndOfFileError",
    "Error",
    "ExistsError",
    "FileInUseError",
    "FileSystemError",
    "FormatError",
    "InternalError",
    "MpiError",
    "NoSpaceError",
    "NoSuchFileError",
    "NotFoundError",
    "OutOfMemoryError",
    "QuotaError",
    "RangeError",
    "RollbackWarning",
    "ReadOnlyError",
    "ShortFileError",
    "UnsupportedError",
    "UsageError",
    "VersionError",
]


class Error(Exception):
    """An error of the file, of the file system, or of a call.

    Its text names the file, the byte offset, what was found and what was expected, as far as these are known. With
    several ranks, every rank raises the same error.

    Attributes:
        code: the number of the error in the C interface, 15000 or more.
        name: the name of the error there, such as ``"SCDA_ERR_FORMAT"``.
        offset: the byte of the file at which the error was noticed, or None.
        path: the file.
    """

    # The name that tracebacks show for this class and those below.
    __module__ = "scda"
    code: int = 15029
    name: str = "SCDA_ERR_IO"
    _errno: int = errno.EIO

    def __init_subclass__(cls) -> None:
        cls.__module__ = "scda"

    def __init__(self, message: str, offset: Optional[int] = None, path: Optional[str] = None) -> None:
        if isinstance(self, OSError):
            # For programs that catch OSError and look at errno, strerror and filename.
            super().__init__(self._errno, message, path)
        else:
            super().__init__(message)
        self.message = message
        self.offset = offset
        self.path = path

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.offset, self.path)


class FormatError(Error, ValueError):
    """The bytes are not an scda file, or not a section of one: the file is damaged, or is something else."""

    code, name = 15000, "SCDA_ERR_FORMAT"


class UsageError(Error, ValueError):
    """A call was out of order, or its file is closed."""

    code, name = 15001, "SCDA_ERR_USAGE"


class DecodeError(Error, ValueError):
    """A compressed section is damaged."""

    code, name = 15002, "SCDA_ERR_DECODE"


class ArgumentError(Error, ValueError):
    """An argument is invalid, or the ranks disagree on it."""

    code, name = 15003, "SCDA_ERR_ARG"


class ShortFileError(Error, EOFError):
    """The file ends before its sections do: it was truncated, or is still being written."""

    code, name = 15004, "SCDA_ERR_COUNT"


class VersionError(Error, ValueError):
    """The file has a version of the format that this library does not know."""

    code, name = 15005, "SCDA_ERR_VERSION"


class EndOfFileError(Error, EOFError):
    """No section follows."""

    code, name = 15006, "SCDA_ERR_EOF"


class RangeError(Error, OverflowError):
    """A count, a product or a sum does not fit in 63 bits, or a number does not fit its type."""

    code, name = 15007, "SCDA_ERR_RANGE"


class OutOfMemoryError(Error, builtins.MemoryError):
    """Memory could not be allocated, or a limit on memory was reached."""

    code, name = 15008, "SCDA_ERR_MEMORY"


class InternalError(Error, RuntimeError):
    """A bug of this library. Please report it."""

    code, name = 15009, "SCDA_ERR_INTERNAL"


class MpiError(Error, RuntimeError):
    """A call to the communicator failed; its exception is the cause of this one."""

    code, name = 15010, "SCDA_ERR_MPI"


class ChecksumError(Error, ValueError):
    """The bytes of a sealed file differ from its checksums. The file is damaged."""

    code, name = 15011, "SCDA_ERR_CHECKSUM"


class NotFoundError(Error, KeyError):
    """The file has no such dataset, record, group, field or time step."""

    code, name = 15012, "SCDA_ERR_NOT_FOUND"


class NoSuchFileError(Error, FileNotFoundError):
    """The file, or a folder of its path, does not exist."""

    code, name, _errno = 15020, "SCDA_ERR_NO_SUCH_FILE", errno.ENOENT


class AccessError(Error, PermissionError):
    """Access to the file was denied."""

    code, name, _errno = 15021, "SCDA_ERR_ACCESS", errno.EACCES


class NoSpaceError(Error, OSError):
    """The device is full, or the file must not grow further."""

    code, name, _errno = 15022, "SCDA_ERR_NO_SPACE", errno.ENOSPC


class QuotaError(Error, OSError):
    """A quota is exhausted."""

    code, name, _errno = 15023, "SCDA_ERR_QUOTA", errno.EDQUOT


class ReadOnlyError(Error, OSError):
    """The file system is read-only."""

    code, name, _errno = 15024, "SCDA_ERR_READ_ONLY", errno.EROFS


class ExistsError(Error, builtins.FileExistsError):
    """The file exists already."""

    code, name, _errno = 15025, "SCDA_ERR_FILE_EXISTS", errno.EEXIST


class BadFileError(Error, OSError):
    """The path is not usable: it is a folder or no regular file, or the name is too long."""

    code, name, _errno = 15026, "SCDA_ERR_BAD_FILE", errno.EINVAL


class FileInUseError(Error, OSError):
    """Another program uses the file, or has replaced it."""

    code, name, _errno = 15027, "SCDA_ERR_FILE_IN_USE", errno.EBUSY


class UnsupportedError(Error, OSError):
    """The file system does not support the operation, or does not do it safely."""

    code, name, _errno = 15028, "SCDA_ERR_UNSUPPORTED", errno.EOPNOTSUPP


class FileSystemError(Error, OSError):
    """Any other failure of the file system."""

    code, name, _errno = 15029, "SCDA_ERR_IO", errno.EIO


class RollbackWarning(UserWarning):
    """Appending to a file has removed what a killed job had not committed."""

    __module__ = "scda"


class LeftOutWarning(UserWarning):
    """A file is read up to its last seal, and what follows is left out: a job has not committed it."""

    __module__ = "scda"


CLASSES: dict[int, type[Error]] = {cls.code: cls for cls in Error.__subclasses__()}

# The classes that the library itself chooses for these numbers.
_OF_ERRNO: dict[int, type[Error]] = {
    **{cls._errno: cls for cls in CLASSES.values() if issubclass(cls, OSError)},
    **{errno.ENOTDIR: NoSuchFileError, errno.EPERM: AccessError, errno.EFBIG: NoSpaceError, errno.ETXTBSY: FileInUseError},
    **dict.fromkeys((errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.ENXIO), BadFileError),
    **{errno.ENOSYS: UnsupportedError, errno.ESPIPE: UnsupportedError, errno.ENOMEM: OutOfMemoryError},
}


def class_of_errno(number: Optional[int]) -> type[Error]:
    """The class for an error number of the operating system."""
    return FileSystemError if number is None else _OF_ERRNO.get(number, FileSystemError)


def of_system(error: OSError) -> Error:
    """The exception for an OSError of Python."""
    path = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else None
    message = f"{'' if path is None else f'{path}: '}{error.strerror or error}"
    return class_of_errno(error.errno)(message, None, path)


def exception(code: int, message: str, offset: Optional[int] = None, path: Optional[str] = None) -> Error:
    """The exception for a code of the C interface."""
    return CLASSES.get(code, InternalError)(message, offset, path)
