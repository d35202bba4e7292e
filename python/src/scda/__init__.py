"""Read and write scda files with numpy.

:func:`open` reads a file, :func:`create` writes one, :func:`append` adds sections to it. With a communicator of
mpi4py, any number of ranks do so together, and the file does not depend on their number.

>>> with scda.create("field.scda", "my simulation") as w:
...     w.array("field", np.arange(6.0).reshape(3, 2))
>>> with scda.open("field.scda") as f:
...     f["field"].to_numpy("<f8").tolist()
[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
"""

from . import _errors
from ._commands import Answer, check, diff, import_, vtk
from ._core import VERSION as __version__
from ._dataset import Attributes, Dataset
from ._errors import *  # noqa: F403
from ._file import Entry, File, open, verify
from ._forest import Forest, forests
from ._group import Group, Records
from ._mesh import mesh_checksum
from ._particles import Particles, particle_groups
from ._patches import Patches, patch_meshes
from ._section import Section
from ._sections import Sections
from ._stop import stop_requested, stop_watch
from ._streams import Stream, Streams, StreamWriter
from ._writer import CloseRequest, CommitRequest, Writer, append, create

__all__ = [
    "Answer",
    "Attributes",
    "CloseRequest",
    "CommitRequest",
    "Dataset",
    "Entry",
    "File",
    "Forest",
    "Group",
    "Particles",
    "Patches",
    "Records",
    "Section",
    "Sections",
    "Stream",
    "StreamWriter",
    "Streams",
    "Writer",
    "__version__",
    "append",
    "check",
    "create",
    "diff",
    "forests",
    "import_",
    "mesh_checksum",
    "open",
    "particle_groups",
    "patch_meshes",
    "stop_requested",
    "stop_watch",
    "verify",
    "vtk",
]
__all__ += _errors.__all__
