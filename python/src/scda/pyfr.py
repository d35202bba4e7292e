"""Writes solutions of `PyFR <https://www.pyfr.org/>`_ 3.1 to scda files, by a plug-in named ``scda``.

``python -m scda.pyfr`` is the command ``pyfr`` with the plug-in, which is configured like PyFR's own writer:

.. code-block:: ini

    [soln-plugin-scda]
    basedir = .
    basename = vortex-{t:.2f}
    dt-out = 0.5

Options are those of the plug-in ``writer``, and ``background-bytes``: the memory of each rank for writing while the
program computes, by default 256 MiB; ``async-timeout = 0`` disables that. The files have the same names and content as
those of PyFR, are written by all ranks, and have checksums and a view for HDF5: PyFR reads them on any number of ranks,
as do all programs that read PyFR's files.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Mapping, Optional

import numpy as np
from pyfr.__main__ import main  # first: it decides how MPI is initialized
from pyfr._version import __version__
from pyfr.mpiutil import get_comm_rank_root, mpi
from pyfr.plugins.writer import WriterPlugin
from pyfr.writers.native import NativeWriter

from ._writer import CloseRequest, create


class SolutionWriter(NativeWriter):
    """PyFR's writer, which brings the elements into the order of the mesh, but writes an scda file."""

    def __init__(self, mesh: Any, cfg: Any, fpdtype: Any, basedir: str, basename: str, prefix: str, *, isrestart: bool, background: int) -> None:
        super().__init__(mesh, cfg, fpdtype, basedir, basename, prefix, isrestart=isrestart)
        self._background = background
        self._pending: Optional[tuple[CloseRequest, Callable[[], None], float]] = None

    def write(
        self,
        data: Mapping[str, Any],
        tcurr: float,
        metadata: Optional[Mapping[str, Any]] = None,
        timeout: float = 0,
        callback: Optional[Callable[[str], None]] = None,
    ) -> None:
        """Writes a solution. Collective.

        Args:
            data: for each element type, the values of this rank's elements.
            metadata: on rank 0, the other contents of the file: numbers, texts and arrays by their names.
            timeout: how many seconds writing may take before the program waits for it; 0: the file is complete on
                return.
            callback: called with the path of the complete file.
        """
        comm, _, root = get_comm_rank_root()
        self.flush()
        found = comm.bcast({**(metadata or {}), "creator": f"pyfr {__version__}", "version": 1}, root=root)
        path = self.fgen.send(tcurr)
        file = create(path, "PyFR", background_bytes=self._background if timeout else 0, comm=comm)
        try:
            for name, value in found.items():
                one = np.array(value, "S" if isinstance(value, str) else None)
                file.dataset(name, one if comm.rank == 0 else None, shape=one.shape, dtype=one.dtype)
            for key, (gather, subset, shape, kind, _, points) in self._einfo.items():
                own = data[kind] if kind in data else np.empty((0, *shape[1:]), self.fpdtype)
                name = f"{self.prefix}/{key}"
                file.field(name, gather(own), attrs={"pts": points})
                file.field(f"{name}-parts", gather.rsrc)
                if subset:
                    file.field(f"{name}-idxs", gather.ridx)
            request = file.close(wait=False)
        except BaseException as error:
            file.__exit__(type(error), error, None)
            raise
        self._pending = request, lambda: callback(path) if callback else None, time.monotonic() + timeout
        if not timeout:
            self.flush()

    def probe(self) -> None:
        """Completes the pending file if all ranks have written it, or if its time is over. Collective."""
        if self._pending is not None:
            comm, _, _ = get_comm_rank_root()
            if comm.allreduce(self._pending[0].test() or time.monotonic() >= self._pending[2], op=mpi.LAND):
                self.flush()

    def flush(self) -> None:
        """Completes the pending file. Collective."""
        if self._pending is not None:
            request, complete, _ = self._pending
            self._pending = None
            request.wait()
            complete()


class ScdaPlugin(WriterPlugin):
    """The plug-in."""

    name = "scda"

    def __init__(self, intg: Any, cfgsect: str, suffix: Optional[str] = None) -> None:
        super().__init__(intg, cfgsect, suffix)
        basedir = self.cfg.getpath(cfgsect, "basedir", ".", abs=True)
        background = self.cfg.getint(cfgsect, "background-bytes", 256 << 20)
        own = SolutionWriter(
            intg.system.mesh, intg.cfg, intg.backend.fpdtype, basedir, self.cfg.get(cfgsect, "basename"), "soln",
            isrestart=intg.isrestart, background=background,
        )
        own._einfo = self._writer._einfo  # the elements to write
        self._writer: Any = own


if __name__ == "__main__":
    main()
