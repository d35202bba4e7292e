"""Read and write scda files with numpy.

:func:`open` reads a file, :func:`create` writes one. With a communicator of mpi4py, any number of ranks do
so together, and the file does not depend on their number.

>>> with scda.create("field.scda", "my simulation") as w:
...     w.array("field", np.arange(6.0).reshape(3, 2))
>>> with scda.open("field.scda") as f:
...     f["field"].to_numpy("<f8").tolist()
[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
"""

from ._core import VERSION as __version__
from ._errors import (
    AccessError,
    ArgumentError,
    BadFileError,
    DecodeError,
    EndOfFileError,
    Error,
    ExistsError,
    FileInUseError,
    FileSystemError,
    FormatError,
    InternalError,
    MpiError,
    NoSpaceError,
    NoSuchFileError,
    OutOfMemoryError,
    QuotaError,
    RangeError,
    ReadOnlyError,
    ShortFileError,
    UnsupportedError,
    UsageError,
    VersionError,
)
from ._file import File, open
from ._section import Section
from ._writer import Writer, create

__all__ = [
    "AccessError",
    "ArgumentError",
    "BadFileError",
    "DecodeError",
    "EndOfFileError",
    "Error",
    "ExistsError",
    "File",
    "FileInUseError",
    "FileSystemError",
    "FormatError",
    "InternalError",
    "MpiError",
    "NoSpaceError",
    "NoSuchFileError",
    "OutOfMemoryError",
    "QuotaError",
    "RangeError",
    "ReadOnlyError",
    "Section",
    "ShortFileError",
    "UnsupportedError",
    "UsageError",
    "VersionError",
    "Writer",
    "__version__",
    "create",
    "open",
]
