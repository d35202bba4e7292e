"""What the ranks of test_mpi.py run: mpi_program.py TASK FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable

import numpy as np
import scda
from mpi4py import MPI
from scda import _core
from scda._ranks import Ranks

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size

GRID = np.arange(3 * 1117.0).reshape(1117, 3)
ELEMENTS = [bytes([i % 256]) * (i * 7 % 23) for i in range(997)]
VALUES = [np.arange(i % 4, dtype="<f4") + i for i in range(300)]


def mine(count: int) -> range:
    """An uneven partition: the last rank has nothing if there are three or more."""
    cuts = [count * q * q // max(1, (size - (size > 2)) ** 2) for q in range(size + 1)]
    return range(min(cuts[rank], count), min(cuts[rank + 1], count))


def counts(count: int) -> list[int]:
    return [len(part) for part in comm.allgather(mine(count))]


def write_file(path: Path, communicator: Any, **options: Any) -> None:
    rows, strings, values = mine(len(GRID)), mine(len(ELEMENTS)), mine(len(VALUES))
    if communicator is None:
        rows, strings, values = range(len(GRID)), range(len(ELEMENTS)), range(len(VALUES))
    last = 0 if communicator is None else size - 1
    with scda.create(path, "of any number of ranks", comm=communicator, **options) as w:
        for encode in (False, True, "auto"):
            w.inline("inline", b"%32d" % 7 if rank == last or communicator is None else None, root=last)
            w.block(
                "block", b"data of the root" if rank == last or communicator is None else None, encode=encode, root=last
            )
            w.array("grid", GRID[rows.start : rows.stop], encode=encode)
            w.varray("elements", ELEMENTS[strings.start : strings.stop], encode=encode)
            offsets = np.cumsum([0, *(len(VALUES[i]) for i in values)])
            w.varray(
                "ragged", (offsets, np.concatenate([VALUES[i] for i in values] or [np.empty(0, "<f4")])), encode=encode
            )
        for i in range(50):
            w.array(
                f"small {i}",
                GRID[rows.start : rows.stop],
                counts=w.proc_counts(len(rows)),
            )
        w.flush()
        w.array("large", np.repeat(GRID[rows.start : rows.stop], 50, axis=1))


def write(folder: Path) -> None:
    write_file(folder / "parallel.scda", comm)
    write_file(folder / "parallel-not-atomic.scda", comm, atomic=False, threads=2)
    comm.Barrier()
    if rank == 0:
        write_file(folder / "serial.scda", None)
        serial = (folder / "serial.scda").read_bytes()
        assert serial == (folder / "parallel.scda").read_bytes() == (folder / "parallel-not-atomic.scda").read_bytes()


def read(folder: Path) -> None:
    with scda.open(folder / "serial.scda", comm=comm) as f:
        assert f.user_text == "of any number of ranks"
        for start in (0, 5, 10):
            inline, block, grid, elements, ragged = f[start : start + 5]
            assert inline.read() == b"%32d" % 7 and block.read() == b"data of the root"
            assert block.to_numpy("S4").tolist() == [b"data", b" of ", b"the ", b"root"] and block[5:7] == b"of"
            part = grid.read_partition(dtype="<f8")
            first = comm.exscan(len(part)) or 0
            assert np.array_equal(part, GRID[first : first + len(part)])
            assert abs(len(part) - len(GRID) / size) < 1
            assert f.proc_counts(len(mine(len(GRID)))) == counts(len(GRID))
            part = grid.read_partition(f.proc_counts(len(mine(len(GRID)))), "<f8")
            assert np.array_equal(part, GRID[mine(len(GRID)).start : mine(len(GRID)).stop])
            offsets, values = elements.read_partition(counts(len(ELEMENTS)))
            own = [values[a:b].tobytes() for a, b in zip(offsets, offsets[1:])]
            assert own == [ELEMENTS[i] for i in mine(len(ELEMENTS))]
            offsets, values = ragged.read_partition(dtype="<f4")
            first = comm.exscan(len(offsets) - 1) or 0
            assert all(
                np.array_equal(values[a:b], VALUES[first + i]) for i, (a, b) in enumerate(zip(offsets, offsets[1:]))
            )
        assert len(f) == 66 and f["small 49"].count == len(GRID)
        if size > 1:
            fails(scda.UsageError, "read_partition shares out", lambda: grid[0])
            fails(scda.UsageError, "open it without comm", lambda: elements.sizes())
    # Each by itself, any part.
    with scda.open(folder / "serial.scda") as f:
        assert f[2][rank] == GRID[rank].tobytes()


def fails(expected: Any, words: str, call: Callable[[], Any]) -> BaseException:
    try:
        call()
    except expected as error:
        assert words in str(error), f"rank {rank}: {error!r}"
        return error
    raise AssertionError(f"rank {rank}: expected {expected}")


def argument_errors(folder: Path) -> None:
    """A mistake of one rank is an error of all, and nobody waits."""

    def wrong_on_last(call: Callable[[scda.Writer, bool], Any]) -> Callable[[], None]:
        def run() -> None:
            with scda.create(folder / "f", comm=comm) as w:
                w.block("first", b"first")
                call(w, rank == size - 1)
                w.array("more", GRID)

        return run

    last = f"rank {size - 1}"
    alone: list[tuple[Callable[[scda.Writer, bool], Any], Any]] = [
        (lambda w, wrong: w.array("u", "text" if wrong else GRID), TypeError),
        (lambda w, wrong: w.array(3 if wrong else "u", GRID), TypeError),
        (lambda w, wrong: w.varray("u", ([2, 1], GRID) if wrong else [b"a"]), ValueError),
        (lambda w, wrong: w.block("u", b"", encode="zip" if wrong else True), ValueError),
        (lambda w, wrong: w.inline("u", b"short" if wrong else b"", root=size - 1), ValueError),
        (lambda w, wrong: w.proc_counts(1.5 if wrong else 1), TypeError),
        (lambda w, wrong: w.proc_counts(-1 if wrong else 1), ValueError),
        (lambda w, wrong: 1 / 0 if wrong else None, ZeroDivisionError),
    ]
    for call, own in alone:
        if rank == size - 1:
            fails(own, "", wrong_on_last(call))
        else:
            fails(scda.ArgumentError, f"{last}: {own.__name__}", wrong_on_last(call))
    for call in (
        lambda w, wrong: w.array("u", GRID[:, :2] if wrong else GRID),
        lambda w, wrong: w.array("v" if wrong else "u", GRID),
        lambda w, wrong: w.array("u", GRID, encode=wrong),
        lambda w, wrong: w.block("u", b"") if wrong else w.inline("u", bytes(32)),
        lambda w, wrong: w.block("u" * 59, b""),
        lambda w, wrong: w.array("u", GRID, counts=[1] * size),
    ):
        fails(scda.ArgumentError, "", wrong_on_last(call))
    for options in ({"level": 1}, {"style": "mime"}, {"user": "other"}):
        fails(scda.ArgumentError, "disagree", lambda: scda.create(folder / "f", comm=comm, **options if rank else {}))
    wrong = rank == size - 1
    fails(ValueError, "style", lambda: scda.create(folder / "f", comm=comm, style="dos" if wrong else "unix"))
    fails(ValueError, "driver", lambda: scda.open(folder / "f", comm=comm, driver="mpi" if wrong else "auto"))
    for options in ({"level": -1}, {"level": 1.5}, {"threads": -1}, {"atomic": 1}, {"sync": None}):
        fails(
            (ValueError, TypeError), *options, lambda: scda.create(folder / "f", comm=comm, **options if wrong else {})
        )
    for options in ({"threads": -1}, {"decode": 1}):
        fails(
            (ValueError, TypeError),
            *options,
            lambda: scda.open(folder / "serial.scda", comm=comm, **options if wrong else {}),
        )
    fails(ValueError if wrong else scda.ArgumentError, "counts", lambda: read_counts(folder, wrong))
    own_error = ValueError if wrong else scda.ArgumentError
    fails(own_error, "count: found -1", lambda: proc_counts(folder, -1 if wrong else 1))
    fails(ValueError if wrong else scda.ArgumentError, "V17", lambda: read_block(folder, "V17" if wrong else "S4"))
    fails(TypeError if wrong else scda.ArgumentError, "object", lambda: read_block(folder, object if wrong else "S4"))
    fails(FileNotFoundError, "none", lambda: scda.open(folder / "none", comm=comm))
    comm.Barrier()
    assert {path.name for path in folder.iterdir()} == {"serial.scda"}


def replaced(folder: Path) -> None:
    """A writer that failed, and one that is still open, do not touch the next file of their name."""
    failed = scda.create(folder / "f", comm=comm, atomic=False)
    fails(scda.ArgumentError, "user string", lambda w=failed: w.block("u" * 59, b""))
    left_open = scda.create(folder / "f", comm=comm, atomic=False)
    left_open.array("old", GRID)
    write_file(folder / "f", comm, atomic=False)
    for old in (failed, left_open):
        fails(scda.UsageError, "incomplete", old.close)
    del failed, left_open, old
    comm.Barrier()
    assert (folder / "f").read_bytes() == (folder / "serial.scda").read_bytes()


def read_counts(folder: Path, wrong: bool) -> None:
    with scda.open(folder / "serial.scda", comm=comm) as f:
        f[2].read_partition([1] * size if wrong else None)
        len(f)


def proc_counts(folder: Path, count: int) -> None:
    f = scda.open(folder / "serial.scda", comm=comm)
    f.proc_counts(count)
    f.close()


def read_block(folder: Path, dtype: Any) -> None:
    # Without a with statement, whose end would tell the others.
    f = scda.open(folder / "serial.scda", comm=comm)
    f[1].to_numpy(dtype)


def communicator_errors(folder: Path) -> None:
    """An exception of the communicator is an error of all ranks, with the exception as its cause."""
    # What is needed for any number of ranks; reading sends to all what only more than four ranks do not read each for itself.
    needed = {"allreduce_min", "gather", "allgather"} | ({"broadcast"} if size > 4 else set())
    for method in ("allreduce_min", "broadcast", "gather", "allgather", "allreduce_sum", "exscan_sum"):
        original, raised = getattr(Ranks, method), []

        def failing(self: Ranks, *arguments: Any) -> Any:
            result = original(self, *arguments)
            if rank == 1 and not raised:
                raised.append(method)
                raise OSError(f"{method} does not like it")
            return result

        setattr(Ranks, method, failing)
        try:
            if method == "broadcast":
                scda.open(folder / "serial.scda", comm=comm).close()
            else:
                write_file(folder / "f", comm)
        except scda.Error as error:
            assert isinstance(error, scda.MpiError) and f"{method} does not like it" in str(error), error
            assert (rank == 1) == isinstance(error.__cause__, OSError)
            failed = True
        else:
            failed = False
        setattr(Ranks, method, original)
        # Whether it is needed at all depends on the number of ranks; all or none.
        assert comm.allgather(failed) == [bool(comm.bcast(raised, 1))] * size, (method, failed)
        assert failed or method not in needed


def damaged(folder: Path) -> None:
    path = folder / "serial.scda"
    if rank == 0:
        with scda.open(path) as f:
            offset = f[7].data_offset
        data = bytearray(path.read_bytes())
        data[offset + 30] ^= 1
        (folder / "damaged.scda").write_bytes(data)
    comm.Barrier()

    def run() -> None:
        with scda.open(folder / "damaged.scda", comm=comm) as f:
            f[2].read_partition()
            f[7].read_partition()

    error = fails(scda.DecodeError, "damaged.scda: byte", run)
    assert len(set(comm.allgather(str(error)))) == 1


def incoherent(folder: Path) -> None:
    """What is done on NFS between nodes, which this machine has not."""
    on_one_node, is_coherent = Ranks._on_one_node, _core.is_coherent
    _core.is_coherent = lambda path: rank != 0  # type: ignore[attr-defined]
    write_file(folder / "one-node.scda", comm)
    Ranks._on_one_node = lambda self: False  # type: ignore[method-assign]
    error = fails(scda.UnsupportedError, 'driver="posix" insists', lambda: write_file(folder / "f", comm))
    assert isinstance(error, OSError) and not (folder / "f").exists()
    fails(scda.UnsupportedError, "NFS", lambda: scda.open(folder / "serial.scda", comm=comm))
    write_file(folder / "insisted.scda", comm, driver="posix")
    with scda.open(folder / "insisted.scda", comm=comm, driver="posix") as f:
        assert len(f) == 66
    Ranks._on_one_node, _core.is_coherent = on_one_node, is_coherent  # type: ignore[method-assign]


def other_communicators(folder: Path) -> None:
    """Any communicator: of some of the ranks, and of one; and what is none."""
    parts = comm.Split(rank % 2, rank)
    write_file_of = folder / f"part-{rank % 2}.scda"
    with scda.create(write_file_of, comm=parts) as w:
        w.array("ranks", np.array([rank]))
    with scda.open(write_file_of, comm=parts) as f:
        assert f[0].read_partition(dtype=int).tolist() == [rank]
    with scda.create(folder / f"self-{rank}.scda", comm=MPI.COMM_SELF) as w:
        w.array("ranks", np.array([rank]))
    with scda.open(folder / f"self-{rank}.scda", comm=MPI.COMM_SELF) as f:
        assert f[0].to_numpy(int).tolist() == [rank]
    fails(TypeError, "expected an intracommunicator", lambda: scda.open(write_file_of, comm="world"))
    parts.Free()


globals()[sys.argv[1]](Path(sys.argv[2]))
print(f"rank {rank} of {size} is done", flush=True)
