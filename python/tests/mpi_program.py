"""What the ranks of test_mpi.py run: mpi_program.py TASK FOLDER."""

from __future__ import annotations

import gc
import sys
import warnings
from pathlib import Path
from typing import Any, Callable

import forests
import numpy as np
import scda
from arrays import TYPES, in_memory, names, part, random_boxes, random_items, random_key, random_layout, random_shape
from mpi4py import MPI
from scda import _mesh, _selection

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
    write_file(folder / "unsealed.scda", comm, seal=False)
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
            inline, block, grid, elements, ragged = f.sections[start : start + 5]
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
        assert len(f.sections) == 66 and f["small 49"].count == len(GRID)
    # Each by itself, any part.
    with scda.open(folder / "serial.scda") as f:
        assert f.sections[2][rank] == GRID[rank].tobytes()


def ranges(folder: Path) -> None:
    """Each rank reads ranges of its own: overlapping, empty, in any order; the same numbers of them."""
    generator = np.random.default_rng(rank)
    for name in ("serial.scda", "unsealed.scda"):
        with scda.open(folder / name, comm=comm) as f:
            assert f.sealed == (name == "serial.scda")
            for start in (0, 5, 10):
                inline, block, grid, elements, ragged = f.sections[start : start + 5]
                for _ in range(6):
                    a, b = (int(n) for n in np.sort(generator.integers(0, len(GRID) + 1, 2)))
                    if rank == size - 1 and generator.integers(2):
                        b = a
                    assert grid[a:b] == GRID[a:b].tobytes()
                    assert np.array_equal(grid.read_range(a, b, "<f8"), GRID[a:b])
                    step = int(generator.choice([-5, -1, 1, 3]))
                    assert grid[::step] == GRID[::step].tobytes()
                    nothing = slice(0, 0) if rank == 0 else slice(None, None, step)
                    assert grid[nothing] == (b"" if rank == 0 else GRID[::step].tobytes())
                    i = int(generator.integers(-len(ELEMENTS), len(ELEMENTS)))
                    assert elements[i] == ELEMENTS[i] and elements[i::step] == ELEMENTS[i::step]
                    a, b = (int(n) for n in np.sort(generator.integers(0, len(VALUES) + 1, 2)))
                    offsets, values = ragged.read_range(a, b, "<f4")
                    assert len(offsets) == b - a + 1
                    assert np.array_equal(values, np.concatenate([*VALUES[a:b], np.empty(0, "<f4")]))
                    assert block[rank % 3 : 9] == b"data of the root"[rank % 3 : 9]
                    assert block[-1 - rank] == b"data of the root"[-1 - rank] and inline[30:] == b" 7"
                assert grid.read() == GRID.tobytes() == grid.to_numpy("<f8").tobytes()
                assert elements.read() == b"".join(ELEMENTS) and list(elements) == ELEMENTS == elements[:]
                assert elements.sizes().tolist() == list(map(len, ELEMENTS))
                assert elements.nbytes == len(elements.read())
                offsets, values = ragged.to_ragged("<f4")
                assert np.array_equal(values, np.concatenate(VALUES)) and not values.flags.writeable
            # All ranks look for the same; by number, user string, and place among those of a user string.
            assert f["small 49"].index == 64 and f.sections[-1].user == b"large" and f["larg*"].count == len(GRID)
            assert [s.index for s in f.sections.find("grid")] == [2, 7, 12] and f.sections.find("grid", -1) is f.sections[12]
            assert f.sections.find("grid", 3) is None and "velocity" not in f and "g?id" in f and len(f.sections) == 66
    wrong = rank == size - 1
    own = {IndexError: lambda s: s[len(GRID) if wrong else 0], ValueError: lambda s: s.read_range(0, 9999 if wrong else 1),
           TypeError: lambda s: s["x" if wrong else 0]}  # fmt: skip
    for error, read in own.items():

        def run(read: Callable[[Any], Any] = read) -> None:
            with scda.open(folder / "serial.scda", comm=comm) as f:
                read(f["large"])
                len(f.sections)

        fails(error if wrong else scda.ArgumentError, "" if wrong else f"rank {size - 1}: {error.__name__}", run)
    fails(KeyError, "no dataset, group or section has this name", lambda: look_for(folder, "velocity"))
    if size > 1:
        fails(scda.ArgumentError, "disagree", lambda: look_for(folder, "small 1" if wrong else "small 2"))


def look_for(folder: Path, user: str) -> None:
    with scda.open(folder / "serial.scda", comm=comm) as f:
        f[user]


def append(folder: Path) -> None:
    """What ranks append one after the other is what one process appends."""
    for path in (folder / "parallel.scda", folder / "alone.scda"):
        communicator = comm if path.name == "parallel.scda" else None
        if communicator is None and rank > 0:
            continue
        rows = mine(len(GRID)) if communicator else range(len(GRID))
        with scda.create(path, "series", comm=communicator):
            pass
        for step in range(3):
            with scda.append(path, comm=communicator, atomic=step == 1) as w:
                assert w.bytes_rolled_back == 0
                w.inline("time", b"%32d" % step)
                w.array("grid", GRID[rows.start : rows.stop] + step, encode=step == 2)
                w.commit()
                w.varray("elements", [ELEMENTS[i] for i in (mine(90) if communicator else range(90))])
    comm.Barrier()
    assert (folder / "parallel.scda").read_bytes() == (folder / "alone.scda").read_bytes()
    scda.verify(folder / "parallel.scda", comm=comm)
    with scda.open(folder / "parallel.scda", comm=comm, verify=True) as f:
        assert f.sealed and len(f.sections) == 9
        assert np.array_equal(f.sections.find("grid", -1).read_range(rank, rank + 5, "<f8"), GRID[rank : rank + 5] + 2)
    # An exception of one rank: the file is as it was.
    whole = (folder / "parallel.scda").read_bytes()

    def fail() -> None:
        with scda.append(folder / "parallel.scda", comm=comm) as w:
            w.array("grid", np.repeat(GRID, 30, axis=0))
            w.flush()
            if rank == size - 1:
                1 / 0
            w.block("more", b"")

    fails(ZeroDivisionError if rank == size - 1 else scda.ArgumentError, "", fail)
    comm.Barrier()
    assert (folder / "parallel.scda").read_bytes() == whole
    # In use by one rank: an error of all.
    writer = scda.append(folder / "parallel.scda") if rank == size - 1 else None
    comm.Barrier()
    error = scda.FileInUseError if writer else scda.ArgumentError
    fails(error, "has it open", lambda: scda.append(folder / "parallel.scda", comm=comm))
    if writer:
        writer.close()
    comm.Barrier()
    # What a killed job has left is removed, and the first rank says so.
    if rank == 0:
        (folder / "parallel.scda").write_bytes(whole + b"A torn")
    comm.Barrier()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f = scda.open(folder / "parallel.scda", comm=comm)
    assert f.left_out == 6 and len(caught) == (rank == 0) and not f.refresh()
    f.close()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        w = scda.append(folder / "parallel.scda", comm=comm)
    assert w.bytes_rolled_back == 6 and len(caught) == (rank == 0)
    w.close()
    if rank == 0:
        (folder / "parallel.scda").write_bytes(whole + b"A torn")
    comm.Barrier()

    def refuse() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with scda.append(folder / "parallel.scda", comm=comm) as w:
                w.flush()

    fails(scda.RollbackWarning if rank == 0 else scda.ArgumentError, "removed 6 uncommitted bytes", refuse)
    comm.Barrier()
    assert (folder / "parallel.scda").read_bytes() == whole
    fails(ValueError if size == 1 or rank == 0 else scda.ArgumentError, "seal=True", lambda: commit_unsealed(folder))
    for options in ({"seal": False}, {"atomic": True}):
        if size > 1:
            own = options if rank else {}
            fails(scda.ArgumentError, "disagree", lambda: scda.append(folder / "parallel.scda", comm=comm, **own))
    comm.Barrier()
    assert (folder / "parallel.scda").read_bytes() == whole


def commit_unsealed(folder: Path) -> None:
    with scda.create(folder / "f", comm=comm, seal=False) as w:
        if rank == 0:
            w.commit()
        w.flush()


def verify(folder: Path) -> None:
    """A flipped bit is the same error on all ranks."""
    path = folder / "serial.scda"
    with scda.open(path) as f:
        large, small = f["large"], f["small 7"]
    data = path.read_bytes()
    generator = np.random.default_rng(size)
    offsets = [large.data_offset + 70000, small.data_offset + 9, 100, len(data) - 400]
    offsets += generator.integers(128, len(data), 6).tolist()
    for number, offset in enumerate(offsets):
        damaged = bytearray(data)
        damaged[offset] ^= 4
        if rank == 0:
            (folder / f"damaged {number}").write_bytes(damaged)
        comm.Barrier()
        error = fails(scda.ChecksumError, "", lambda: scda.verify(folder / f"damaged {number}", comm=comm))
        assert len(set(comm.allgather(str(error)))) == 1
    fails(scda.ChecksumError, "large", lambda: read_verified(folder / "damaged 0"))
    # An error that is dealt with has closed the file.
    with scda.open(folder / "damaged 0", comm=comm, verify=True) as f:
        fails(scda.ChecksumError, "large", lambda: f["large"])
        if size > 1:
            fails(scda.UsageError, "damaged 0: the file is closed", lambda: f["small 7"])
    scda.verify(path, comm=comm)
    read_verified(path)
    comm.Barrier()


def read_verified(path: Path) -> None:
    with scda.open(path, comm=comm, verify=True) as f:
        for name in ("small 7", "small 8", "small 7", "large"):
            assert f[name].read_partition().size >= 0


def communicators(folder: Path) -> None:
    """A file has one duplicate of the communicator, which closing frees. A rank that forgets the file alone keeps it."""
    made, freed = [], []

    def copied(_: Any, __: int, value: Any) -> Any:
        made.append(value)
        return value

    own = comm.Dup()
    own.Set_attr(MPI.Comm.Create_keyval(copied, lambda _, __, value: freed.append(value)), "mine")
    path, forgets = folder / "f", rank == size - 1

    def read() -> Any:
        return scda.open(path, comm=own)

    def write() -> Any:
        return scda.append(path, comm=own)

    for opened in (lambda: scda.create(path, comm=own), write, read):
        del made[:], freed[:]
        f = opened()
        assert (len(made), len(freed)) == (1, 0), f"rank {rank}: {made}"
        f.close()
        assert (len(made), len(freed)) == (1, 1), f"rank {rank}: {freed}"
    for opened, words in ((read, "was not closed; "), (write, "was not closed: it is incomplete; ")):
        del made[:], freed[:]
        f = opened()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if forgets:
                f = None
                gc.collect()
        said = [f"{path} {words}its communicator is kept, because freeing that takes all ranks"] if forgets else []
        assert [str(warning.message) for warning in caught] == said
        # Nobody waits for the rank that has forgotten it.
        assert (len(made), len(freed)) == (1, 0), f"rank {rank}: {freed}"
        own.Barrier()
        held.append(f)
    scda.verify(path, comm=comm)


# Files that a rank holds until it ends: closing them takes all ranks.
held: list[Any] = []


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
    for options in ({"level": 1}, {"style": "mime"}, {"user": "other"}, {"seal": False}):
        fails(scda.ArgumentError, "disagree", lambda: scda.create(folder / "f", comm=comm, **options if rank else {}))
    wrong = rank == size - 1
    fails(ValueError, "style", lambda: scda.create(folder / "f", comm=comm, style="dos" if wrong else "unix"))
    fails(ValueError, "driver", lambda: scda.open(folder / "f", comm=comm, driver="mpi" if wrong else "auto"))
    for options in ({"level": -1}, {"level": 1.5}, {"threads": -1}, {"atomic": 1}, {"sync": None}, {"seal": 1}):
        fails(
            (ValueError, TypeError), *options, lambda: scda.create(folder / "f", comm=comm, **options if wrong else {})
        )
    for options in ({"threads": -1}, {"decode": 1}, {"verify": 1}):
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
    """A writer that failed does not touch the next file of its name; nobody replaces what another one writes."""
    failed = scda.create(folder / "f", comm=comm, atomic=False)
    fails(scda.ArgumentError, "user string", lambda w=failed: w.block("u" * 59, b""))
    with scda.create(folder / "f", comm=comm, atomic=False) as left_open:
        left_open.array("old", GRID)
        fails(scda.FileInUseError, "another program", lambda: scda.create(folder / "f", comm=comm, atomic=False))
    write_file(folder / "f", comm, atomic=False)
    fails(scda.UsageError, "incomplete", failed.close)
    del failed
    comm.Barrier()
    assert (folder / "f").read_bytes() == (folder / "serial.scda").read_bytes()


def read_counts(folder: Path, wrong: bool) -> None:
    with scda.open(folder / "serial.scda", comm=comm) as f:
        f.sections[2].read_partition([1] * size if wrong else None)
        len(f.sections)


def proc_counts(folder: Path, count: int) -> None:
    f = scda.open(folder / "serial.scda", comm=comm)
    f.proc_counts(count)
    f.close()


def read_block(folder: Path, dtype: Any) -> None:
    # Without a with statement, whose end would tell the others.
    f = scda.open(folder / "serial.scda", comm=comm)
    f.sections[1].to_numpy(dtype)


def datasets(folder: Path) -> None:
    """Any boxes from any ranks make one file, and each rank reads what it wants of it."""
    alike = np.random.default_rng(size)  # the same on all ranks
    own = np.random.default_rng([size, rank])
    arrays = {}
    for number, dtype in enumerate(TYPES[size % 3 :: 3]):
        shape = random_shape(alike)
        boxes = random_boxes(alike, shape, 4 * size)
        whose = [int(alike.integers(size)) for _ in boxes]
        arrays[f"g/{number}"] = random_items(alike, dtype, shape), random_layout(alike, shape), boxes, whose
    grid = np.arange(600.0).reshape(100, 6)
    rows = mine(len(grid))

    def given(name: str) -> dict[str, Any]:
        """What this rank passes."""
        array, layout, boxes, whose = arrays[name]
        mine = [(box[0], in_memory(own, part(array, box))) for box, q in zip(boxes, whose) if q == rank]
        return {"boxes": mine, "shape": array.shape, "dtype": array.dtype, **layout}

    def write(path: Path, communicator: Any, together: bool = False, **options: Any) -> None:
        with scda.create(path, comm=communicator, **options) as w:
            w.group("/", {"ranks": "any"})
            if together:
                w.datasets({name: given(name) for name in arrays})
            else:
                for name, (array, layout, *_) in arrays.items():
                    w.dataset(name, **({"data": array, **layout} if communicator is None else given(name)))
            # One box of each rank, or none; what nobody has; and the rows of each rank.
            has = communicator is None or rank == size - 1
            w.dataset(
                "box", grid if has else None, start=(3, 1), shape=(200, 9), dtype="f8", chunks=(7, 3), fill_value=-1
            )
            w.dataset("nothing", shape=5, dtype="i2", fill_value=7)
            for name, layout in {"rows": {}, "chunks": {"chunks": (7, 6)}, "auto": {"encode": "auto"}}.items():
                part_of = grid if communicator is None else grid[rows.start : rows.stop]
                w.field(name, part_of, attrs={"layout": name}, **layout)
            if communicator is not None:
                w.field("counts", grid[rows.start : rows.stop], counts=w.proc_counts(len(rows)))
            else:
                w.field("counts", grid)

    for seal in (True, False):
        write(folder / "together.scda", comm, together=True, seal=seal)
        write(folder / "datasets.scda", comm, seal=seal)
        comm.Barrier()
        if rank == 0:
            write(folder / "alone.scda", None, seal=seal)
            for name in ("datasets.scda", "together.scda"):
                assert (folder / "alone.scda").read_bytes() == (folder / name).read_bytes()
        comm.Barrier()
        # Steps are read in batches: on some ranks many, on others few.
        _selection.BATCH_BYTES = 100 if seal else 1 << 24
        with scda.open(folder / "datasets.scda", comm=comm) as f:
            assert f.attrs == {"ranks": "any"} and names(f["g"]) == [name[2:] for name in arrays]
            for name, (array, *_) in arrays.items():
                d = f[name]
                native = array.astype(array.dtype.newbyteorder("="))
                assert np.asarray(d).tobytes() == native.tobytes()
                for _ in range(4):
                    key = random_key(own, array.shape)
                    assert d[key].tobytes() == native[key].tobytes()
                boxes = random_boxes(own, array.shape, 5)[: int(own.integers(6))]
                for found, box in zip(d.read_boxes(boxes), boxes):
                    assert found.tobytes() == part(native, box).tobytes()
            # Several at once, and of each what this rank selects.
            for found in (f.read_datasets(list(arrays)), f.read_datasets(list(arrays), record=-1)):
                assert list(found) == list(arrays)
                for name, (array, *_) in arrays.items():
                    assert found[name].tobytes() == array.astype(array.dtype.newbyteorder("=")).tobytes()
            keys = {name: random_key(own, array.shape) for name, (array, *_) in arrays.items()}
            for name, items in f.read_datasets(keys).items():
                assert items.tobytes() == f[name][keys[name]].tobytes()
            stepped = slice(rank, None, 1 + rank % 2)
            both = f.read_datasets({"rows": stepped, ("counts", 0): ...} if rank else {"rows": ..., ("counts", 0): 0})
            assert np.array_equal(both["rows"], grid[stepped] if rank else grid)
            assert np.array_equal(both["counts", 0], grid if rank else grid[0])
            expected = np.full((200, 9), -1.0)
            expected[3:103, 1:7] = grid
            assert np.array_equal(f["box"], expected) and f["nothing", -1][...].tolist() == [7] * 5
            for name in ("rows", "chunks", "auto", "counts"):
                part_of = f[name].read_partition(f.proc_counts(len(rows)))
                assert np.array_equal(part_of, grid[rows.start : rows.stop])
                assert sum(comm.allgather(len(f[name].read_partition()))) == len(grid)
                assert np.array_equal([row for row in f[name]], grid)
    wrong = rank == size - 1

    def read(key: Any) -> None:
        with scda.open(folder / "datasets.scda", comm=comm) as f:
            f["rows"][key]

    def read_several(names: Any, **options: Any) -> None:
        with scda.open(folder / "datasets.scda", comm=comm) as f:
            f.read_datasets(names, **options)

    last = f"rank {size - 1}: "
    fails(
        IndexError if wrong else scda.ArgumentError,
        "" if wrong else f"{last}IndexError",
        lambda: read_several({"rows": ..., "counts": 999 if wrong else 0}),
    )
    fails(
        TypeError if wrong else scda.ArgumentError,
        "" if wrong else f"{last}TypeError: names",
        lambda: read_several(["rows", 5 if wrong else "counts"]),
    )
    fails(scda.ArgumentError, "disagree", lambda: read_several(["rows", "chunks" if wrong else "counts"]))
    fails(scda.ArgumentError, "disagree", lambda: read_several(["rows"] if wrong else ["rows", "counts"]))
    fails(scda.ArgumentError, "disagree", lambda: read_several(["rows"], record=0 if wrong else -1))
    fails(KeyError, "none", lambda: read_several(["rows", "none"]))

    def written(**options: Any) -> None:
        with scda.create(folder / "f", comm=comm) as w:
            w.dataset("a", **options)

    fails(
        IndexError if wrong else scda.ArgumentError,
        "" if wrong else f"rank {size - 1}: IndexError",
        lambda: read(999 if wrong else 0),
    )
    fails(scda.ArgumentError, "in two boxes", lambda: written(data=grid, shape=grid.shape))
    fails(scda.ArgumentError, "disagree", lambda: written(data=grid[:0], shape=(3 if wrong else 4, 6)))
    fails(
        TypeError if wrong else scda.ArgumentError,
        "",
        lambda: written(data=[object() if wrong else 0], shape=9, start=rank),
    )
    fails(ValueError, "shape is missing", lambda: written(data=grid))

    def several(datasets: dict[str, Any], **options: Any) -> None:
        with scda.create(folder / "f", comm=comm) as w:
            w.datasets(datasets, encode=True, **options)

    here, rows = np.ones((1, 3)), {"start": (rank, 0), "shape": (size, 3)}
    twice = {"a": here, "b": {"data": here, "start": (0, 0)}}
    fails(scda.ArgumentError, "in two boxes", lambda: several(twice, **rows))
    fails(scda.ArgumentError, "disagree", lambda: several({"a": here, "c" if wrong else "b": here}, **rows))
    fails(scda.ArgumentError, "disagree", lambda: several({"a": here} if wrong else {"a": here, "b": here}, **rows))
    fails(
        TypeError if wrong else scda.ArgumentError,
        "b: " if wrong else f"rank {size - 1}: TypeError: b: ",
        lambda: several({"a": here, "b": [[object()] * 3] if wrong else here}, **rows),
    )


def damaged(folder: Path) -> None:
    path = folder / "serial.scda"
    if rank == 0:
        with scda.open(path) as f:
            offset = f.sections[7].data_offset
        data = bytearray(path.read_bytes())
        data[offset + 30] ^= 1
        (folder / "damaged.scda").write_bytes(data)
    comm.Barrier()

    def run() -> None:
        with scda.open(folder / "damaged.scda", comm=comm) as f:
            f.sections[2].read_partition()
            f.sections[7].read_partition()

    error = fails(scda.DecodeError, "damaged.scda: byte", run)
    assert len(set(comm.allgather(str(error)))) == 1


def streams(folder: Path) -> None:
    """Streams of each rank; reading is for each rank alone, and so are errors of reading."""
    path = folder / "streams.scda"
    with scda.create(path, comm=comm) as w:
        w.block("before", b"abc")
        with w.streams("log", chunk_bytes=1000) as log:
            for step in range(200 * rank):  # rank 0 has none
                log.write(b"rank %d step %d\n" % (rank, step))
            w.commit()
            log.write(b"end")
        w.block("behind", b"abc")
    with scda.open(path, comm=comm, verify=True) as f:
        found = f.streams("log")
        assert len(found) == size
        for task in range(rank, size):
            lines = found[task].readlines()
            assert len(lines) == 200 * task + 1 and lines[-1] == b"end"
            assert all(line == b"rank %d step %d\n" % (task, step) for step, line in enumerate(lines[:-1]))
        # All streams of a share: an even one, and all on the last rank.
        for counts in (None, [0] * (size - 1) + [size]):
            first = 0 if counts is not None else rank
            offsets, values = found.read_partition(counts)
            number = (size if rank == size - 1 else 0) if counts is not None else 1
            assert len(offsets) == number + 1
            for i in range(number):
                assert values[offsets[i] : offsets[i + 1]].tobytes() == found[first + i].read()
        if rank == size - 1:
            fails(IndexError, "found", lambda: found[size])
            fails(ValueError, "expected 0 or more", lambda: found[0].seek(-1))
        assert f["behind"].read() == b"abc"
        fails(KeyError, "no streams", lambda: f.streams("absent"))
        assert f["before"].read() == b"abc"
        fails(ValueError, "counts: found", lambda: found.read_partition([1] * (size + 1)))

    # An exception of one rank in the statement is an error of all.
    def fail() -> None:
        with scda.create(path, comm=comm) as w, w.streams("log") as log:
            log.write(b"x" * 1000)
            if rank == size - 1:
                1 / 0

    fails(ZeroDivisionError if rank == size - 1 else scda.ArgumentError, "", fail)
    with scda.open(path) as f:
        assert f.streams("log")[0].read(3) == b"end"  # the old file


def forest(folder: Path) -> None:
    """Ranges of the quadrants of each rank, of any length, in parts of few."""
    path = folder / "forest.scda"
    brick, mesh = forests.Brick(2, 3), forests.Quadrants(2, 3, forests.towards(0.3, 0.4, finest=4))
    if rank == 0:
        with scda.create(path) as w:
            forests.begin(w, 2)
            brick.write(w)
            mesh.write(w)
            w.dataset("forest/fields/u", np.arange(len(mesh)), chunks=5)
    comm.Barrier()
    _mesh.BATCH = 4
    count, corners = len(mesh), mesh.corners(brick)
    with scda.open(path, comm=comm) as f:
        step = scda.Forest(f)[0]
        found = step.mesh
        for start, stop in ((0, None), (count * rank // size, count * (rank + 1) // size), (0, 9 * rank), (5, 5)):
            points, cells = found.points_and_cells(start, stop)
            np.testing.assert_allclose(points[cells], corners[start:stop], rtol=0, atol=1e-14)
            parts = [len(cells) for _, cells in found.parts(start, stop)]
            assert sum(parts) == len(cells) and max(parts, default=0) <= 4
            assert step.field("u")[start:stop].tolist() == list(range(count))[start:stop]
        expected = ValueError if rank == size - 1 else scda.ArgumentError
        fails(expected, f"expected a part of 0 to {count}", lambda: found.parts(0, count + (rank == size - 1)).__next__())


def drivers(folder: Path) -> None:
    """Each driver writes the same file, and reads that of the other."""
    write_file(folder / "posix.scda", comm, driver="posix")
    write_file(folder / "mpi-io.scda", comm, driver="mpi-io")
    assert (folder / "posix.scda").read_bytes() == (folder / "mpi-io.scda").read_bytes()
    for driver in ("posix", "mpi-io"):
        with scda.append(folder / f"{driver}.scda", comm=comm, driver=driver) as w:
            w.array("appended", np.array([rank]))
        with scda.open(folder / "mpi-io.scda", comm=comm, driver=driver) as f:
            assert comm.allreduce(f["large"].read_partition(dtype=GRID.dtype).size) == 50 * GRID.size
    assert (folder / "posix.scda").read_bytes() == (folder / "mpi-io.scda").read_bytes()
    fails(ValueError if rank == 0 else scda.ArgumentError, "driver: found", lambda: scda.open(folder / "posix.scda", comm=comm, driver="mpi" if rank == 0 else "auto"))


def other_communicators(folder: Path) -> None:
    """Any communicator: of some of the ranks, and of one; and what is none."""
    parts = comm.Split(rank % 2, rank)
    write_file_of = folder / f"part-{rank % 2}.scda"
    with scda.create(write_file_of, comm=parts) as w:
        w.array("ranks", np.array([rank]))
    with scda.open(write_file_of, comm=parts) as f:
        assert f.sections[0].read_partition(dtype=int).tolist() == [rank]
    with scda.create(folder / f"self-{rank}.scda", comm=MPI.COMM_SELF) as w:
        w.array("ranks", np.array([rank]))
    with scda.open(folder / f"self-{rank}.scda", comm=MPI.COMM_SELF) as f:
        assert f.sections[0].to_numpy(int).tolist() == [rank]
    fails(TypeError, "expected an intracommunicator", lambda: scda.open(write_file_of, comm="world"))
    parts.Free()


globals()[sys.argv[1]](Path(sys.argv[2]))
print(f"rank {rank} of {size} is done", flush=True)
