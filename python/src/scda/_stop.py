"""Requests to stop, by signals or a deadline, on which all ranks agree."""

import signal
from collections.abc import Iterable
from typing import Any

from . import _core


def stop_watch(signals: Iterable[int] = (signal.SIGTERM, signal.SIGUSR1), *, seconds: float = 0.0) -> None:
    """From now on, these signals, or the end of this time, request a stop, which :func:`stop_requested` reports.

    The signals no longer end the process. If the program has set a handler before, also by :func:`signal.signal`, it is
    called, too. 0 seconds: no limit of time. Not collective: all ranks should call it.

    Raises:
        ArgumentError: a signal cannot be handled, or the time is negative or no number.
    """
    _core.stop_watch([int(number) for number in signals], float(seconds))


def stop_requested(comm: Any = None) -> bool:
    """True if any rank of comm was asked to stop; all ranks get the same answer. Collective: call it once in each step.

    >>> scda.stop_requested()
    False
    """
    noted = _core.stop_noted()
    return noted if comm is None else any(comm.allgather(noted))
