"""Requests to stop, by signals or a deadline, on which all ranks agree."""

import signal
from collections.abc import Iterable
from typing import Any

from . import _core


def stop_watch(signals: Iterable[int] = (signal.SIGTERM, signal.SIGUSR1), *, seconds: float = 0.0) -> None:
    """From now on, these signals, or the end of this time, request a stop, which :func:`stop_requested` tells.

    The signals no longer end the process. A handler that the program has set before, also by :func:`signal.signal`, is called, too. 0
    seconds: not by the time. Not collective: all ranks should call it.

    Raises:
        ArgumentError: for a signal that cannot be handled, and for a time that is negative or no number.
    """
    _core.stop_watch([int(number) for number in signals], float(seconds))


def stop_requested(comm: Any = None) -> bool:
    """Whether any rank of comm was asked to stop: the same answer on all of them. Collective: call it once in each step.

    >>> scda.stop_requested()
    False
    """
    noted = _core.stop_noted()
    return noted if comm is None else any(comm.allgather(noted))
