"""The ranks of a communicator of mpi4py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from ._errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# MPI counts with 32 bits.
_BROADCAST_BYTES = 1 << 30


class Ranks:
    """The ranks, if there are several. Their communicator is a duplicate, which the core also uses: messages of the
    library never get mixed with those of the program."""

    # Used in messages about a file that was not closed: it is unknown whether the other ranks have forgotten it, too.
    KEPT = "its communicator is kept, because freeing that takes all ranks"

    def __init__(self, comm: Any) -> None:
        self._comm = comm.Dup()
        self.number: int = self._comm.py2f()
        self.rank: int = self._comm.Get_rank()
        self.size: int = self._comm.Get_size()

    def agree(self, failure: Optional[Exception]) -> None:
        """Raises an error on all ranks if one has failed: its own on that rank, one with the same text on the
        others."""
        text = None if failure is None else f"{type(failure).__name__}: {failure}"
        texts = self._comm.allgather(text)
        if failure is not None:
            raise failure
        for rank, text in enumerate(texts):
            if text is not None:
                raise ArgumentError(f"rank {rank}: {text}")

    def broadcast(self, values: NDArray[np.uint8]) -> None:
        """Broadcasts the values of rank 0."""
        for start in range(0, len(values), _BROADCAST_BYTES):
            self._comm.Bcast(values[start : start + _BROADCAST_BYTES], 0)

    def free(self) -> None:
        """Frees the communicator. Collective."""
        self._comm.Free()


def number_of(ranks: Optional[Ranks]) -> Optional[int]:
    """The number of ranks for the core."""
    return None if ranks is None else ranks.number


def ranks_of(comm: Any) -> Optional[Ranks]:
    """The ranks of a communicator; None if there is only this process."""
    if comm is None:
        return None
    try:
        from mpi4py import MPI
    except ImportError:
        raise TypeError("comm: found an object, but mpi4py is not installed") from None
    if not isinstance(comm, MPI.Intracomm):
        raise TypeError(f"comm: found {type(comm).__name__}, expected an intracommunicator of mpi4py, or None")
    return Ranks(comm) if comm.Get_size() > 1 else None
