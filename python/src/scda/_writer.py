"""Creates files, appends to them, and writes sections, datasets and groups."""

from __future__ import annotations

import os
import threading
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, Literal, Mapping, Optional, Sequence, Union, overload
from weakref import WeakValueDictionary

import numpy as np

from . import _core
from ._common import VARIABLE_TYPES, Handle, Path, CollectiveCall, a_or_an, integer, local_count, memory_of, mode_like, prepare
from ._common import reason, record_number
from ._description import attributes_text, class_of_texts, integers, items_of, native, texts_of, with_name
from ._errors import RollbackWarning, Error, FileInUseError, UsageError
from ._arguments import Options, WriteSettings, array_bytes, elements_of, encoding_of, joined, labelled, options_of, ragged, user_string
from ._h5py import arguments_of, no_attribute, refuse
from ._writer_items import WriterItem
from ._boxes import DatasetArguments
from ._ranks import number_of
from ._streams import StreamWriter

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

_MOST_CHUNK_BYTES = 1 << 30
# The writers of this process that may be open, by what their path means.
_writers: WeakValueDictionary[str, Writer] = WeakValueDictionary()
_changing_writers = threading.Lock()


def _forked() -> None:
    """In a process that was forked off: a thread that it does not have may have had the lock."""
    global _changing_writers
    _changing_writers = threading.Lock()


os.register_at_fork(after_in_child=_forked)


def create_from(source: str, path: Path, user: str, seal: bool, hdf5: bool) -> Writer:
    """Creates a file with data of another one. Whoever may not read that one may not read this one."""
    mode = mode_like(source)
    how = WriteSettings("unix", "fast", None, None, True, False, seal, 0, 0, None, "auto", mode=mode, hdf5=hdf5)
    return Writer(path, user, how)


def create(
    path: Path,
    user: Union[str, bytes] = b"",
    *,
    style: str = "unix",
    encoder: str = "fast",
    level: Optional[int] = None,
    threads: Optional[int] = None,
    atomic: bool = True,
    sync: bool = False,
    seal: bool = True,
    hdf5: Union[bool, Literal["commit"]] = True,
    keep: int = 0,
    background_bytes: int = 0,
    comm: Any = None,
    driver: str = "auto",
) -> Writer:
    """Creates a file, or replaces one. The bytes are those that libscda writes from C.

    Use it in a ``with`` statement: the file is complete, and errors are known, only when it is closed. If the
    statement is left by an exception, the file is not completed: with ``atomic`` the old file stays, or none is
    there; else it ends after what was last committed (:meth:`Writer.commit`), or if nothing was, with something
    that is no section, so that no reader takes it for whole. Ctrl-C interrupts compression between two elements,
    and ends the file so.
    A writer that is dropped without being closed writes nothing more: without atomic, what is there stays as it is.

    A writer of this process that is still open for the same file is closed first, incomplete.

    Args:
        path: the file.
        user: its user string, at most 58 bytes; a str is encoded as UTF-8.
        style: the line breaks of what is around the data: ``"unix"`` or ``"mime"``.
        encoder: ``"fast"``, or ``"zlib"``, whose bytes are those of zlib's ``compress2``.
        level: of compression, 0 to 9; None: the library's default, 2.
        threads: how many threads compress; the bytes do not depend on it. None: as many as this process may
            use of the cores, with a communicator one.
        atomic: the file appears under its name when it is complete, at close, and is then on the disk.
        sync: close brings the file to the disk; always so with atomic.
        seal: the file ends with a seal, by which readers know that it is whole, find sections by number and user
            string, and check it. It takes 256 bytes for each section, and 1152 more, of which 448 are for hdf5.
        hdf5: with seal: whether the file, if it has datasets, is also an HDF5 file, which h5py, h5dump, netCDF-4, xarray and other
            programs open where it lies: closing it, now and whenever it was appended to, writes a view of its datasets. ``"commit"``:
            each commit writes one, too.
        keep: with atomic: how many of the files that had this name before stay. When the new file is complete, the one
            that had the name, ``state.scda``, becomes ``state.1.scda``, that one ``state.2.scda``, and so on; the oldest goes.
        background_bytes: memory of this process for writing in the background, at least 1 MiB: calls copy what they write,
            and a thread writes it. See :meth:`Writer.commit`. 0: none.
        comm: a communicator of mpi4py. With more than one rank all calls are collective, every rank gives its
            part, and the file is the same as if one process had written it.
        driver: how several ranks reach the file: ``"posix"`` or ``"mpi-io"``; ``"auto"`` takes POSIX on file systems
            that are known to show all nodes the same.

    Raises:
        Error: ArgumentError, and those of the file system.

    >>> with scda.create("new.scda", "my simulation") as w:
    ...     w.block("parameters", b"dt=0.1")
    ...     w.array("field", np.arange(10.0).reshape(5, 2))
    ...     w.array("images", np.zeros((5, 64, 64)), encode="auto")
    """
    settings = WriteSettings(
        style, encoder, level, threads, atomic, sync, seal, keep, background_bytes, comm, driver, hdf5=hdf5
    )
    return Writer(path, user, settings)


def append(
    path: Path,
    *,
    style: str = "unix",
    encoder: str = "fast",
    level: Optional[int] = None,
    threads: Optional[int] = None,
    atomic: bool = False,
    sync: bool = False,
    seal: bool = True,
    keep: int = 0,
    append_after: Union[int, tuple[str, int]] = 0,
    create: Union[str, bytes, None] = None,
    hdf5: Union[bool, Literal["commit"]] = True,
    background_bytes: int = 0,
    comm: Any = None,
    driver: str = "auto",
) -> Writer:
    """Opens a file that exists, to write more sections after those that it has. Its user string stays.

    The new sections are a part of the file when it is closed, or up to :meth:`Writer.commit`. If an exception leaves
    the ``with`` statement, the file ends where it ended before, or after what was last committed. What a job that
    was killed had not committed is removed, with a :class:`RollbackWarning`; :attr:`Writer.bytes_rolled_back` says how
    much. A file without any seal must be whole. Nobody else may write the file meanwhile.

    Args:
        atomic: the sections are written to a copy of the file, which gets its name at close.
        seal: a file without a seal gets one, for the sections that it had before, too: they are read once. A
            sealed file stays sealed in any case.
        append_after: go on after a step of a sealed file, wherever its commits were: the name of the dataset that is written first in
            each step, such as its time, and a record: ``("time", 41)``; -1 is the last. All that precedes the next record of this name
            stays, the rest is removed; with atomic, when the file is closed. Of a mesh, the path of its group with a slash at its end.
            Or the number of sections that stay. 0: after the last commit.
        create: a user string: a file that is not there is created with it (:attr:`Writer.is_new`), unless append_after is given. With
            keep, a missing or torn file is continued from the newest older one that is whole.
        hdf5: ``"commit"``: each commit writes a view for programs for HDF5, too. Closing does so in any case if the file has room for
            one (:func:`create`); for a file without it, ``"commit"`` is an ArgumentError.
        path, style, encoder, level, threads, sync, keep, background_bytes, comm, driver: as for :func:`create`.

    Raises:
        Error: those of :func:`open` and of reading the file if it is not whole; FileInUseError if somebody else, or
            this process, writes it; those of the file system. The file stays as it is.

    >>> with scda.create("series.scda") as w:
    ...     w.inline("time", b"%32d" % 0)
    >>> with scda.append("series.scda") as w:
    ...     w.inline("time", b"%32d" % 1)
    >>> with scda.open("series.scda") as f:
    ...     f.sections.find("time", -1).read().split()
    [b'1']
    """
    settings = WriteSettings(
        style,
        encoder,
        level,
        threads,
        atomic,
        sync,
        seal,
        keep,
        background_bytes,
        comm,
        driver,
        append_after,
        create is not None,
        hdf5=hdf5,
    )
    return Writer(path, b"" if create is None else create, settings)


class CommitRequest:
    """A commit that was begun: ``w.commit(wait=False)``."""

    def __init__(self, writer: Writer, request: _core.CommitRequest) -> None:
        self._writer: Optional[Writer] = writer
        self._request = request

    def test(self) -> bool:
        """Whether this process has written what it has to. Not collective."""
        return self._writer is None or self._writer._core.test(self._request)

    def wait(self) -> None:
        """Completes the commit: what was written before it was begun is on the disk then. Collective. A file that was
        closed without an error has completed it."""
        if self._writer is not None and not self._writer._is_complete:
            self._writer._wait(self._request)
        self._writer = None


class CloseRequest:
    """A close that was begun: ``w.close(wait=False)``. If it is dropped with the writer and was not waited for, the file is incomplete."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def test(self) -> bool:
        """Whether this process has written what it has to. Not collective."""
        return self._writer._core.test(None)

    def wait(self) -> None:
        """Completes the file, as :meth:`Writer.close` does. Collective."""
        self._writer.close()


class Writer(Handle):
    """A file that is being written, section by section. After an error it is closed.

    User strings have at most 58 bytes; a str is encoded as UTF-8. ``encode``: False, True, or ``"auto"``, which
    compresses a section only if it gets smaller: elements of some KiB compress best, those of up to 61 bytes never
    get smaller. Numbers are written as they are in memory. No other thread may
    change them until the call returns: what is written then may not be readable.

    It belongs to the process that has opened it: in one that was forked off, it writes nothing.
    """

    def __init__(self, path: Path, user: Union[str, bytes], settings: WriteSettings) -> None:
        self._process = os.getpid()
        self._failed = False
        self._is_complete = False
        self._is_closing = False
        self._path, self._ranks, threads = prepare(
            path, settings.comm, settings.driver, settings.threads, atomic=settings.atomic, sync=settings.sync, seal=settings.seal
        )
        self._atomic = bool(settings.atomic)
        # A sealed file to which sections are appended is sealed again: the core knows whether it is one.
        self._may_seal = bool(settings.seal) or settings.appends
        self._datasets = DatasetArguments(self._ranks is None)
        failure: Optional[Exception] = None
        try:
            text = user_string(user)
            if settings.appends:
                self._check_unused()
            taken = settings.checked(threads)
        except Exception as error:
            failure = error
        try:
            if self._ranks is not None:
                self._ranks.agree(failure)
            elif failure is not None:
                raise failure
            self._replace_older()
            self._core = _core.Writer(self._path, text, number_of(self._ranks), taken)
        except BaseException:
            self._release()
            raise
        self._closed = False
        if self.bytes_rolled_back and not settings.append_after and self._rank == 0:
            try:
                warnings.warn(_cut_off(self._path, self.bytes_rolled_back), RollbackWarning, stacklevel=3)
            except BaseException as error:  # as the program wants it
                self._abandon(reason(error))
                raise

    @property
    def is_new(self) -> bool:
        """Whether the file was created when it was opened."""
        return self._core.is_new

    @property
    def bytes_rolled_back(self) -> int:
        """How many bytes :func:`append` has removed: what a job that was killed had not committed, and what ``append_after``
        leaves out."""
        return self._core.bytes_rolled_back

    def inline(self, user: Union[str, bytes], data: Any, *, root: int = 0) -> None:
        """Writes an inline section: 32 bytes, of the rank root. The data of other ranks are ignored."""
        with self._writing():
            mine = None
            if self._rank == root:
                mine = array_bytes(data)
                if len(mine) != 32:
                    raise ValueError(f"inline data: found {len(mine)} bytes, expected 32")
            self._core.inline(user_string(user), root, mine)

    def block(self, user: Union[str, bytes], data: Any, *, encode: Union[bool, str] = False, root: int = 0) -> None:
        """Writes a block: any bytes, or a numpy array, of the rank root. The data of other ranks are ignored."""
        with self._writing():
            name = encoding_of(encode)
            mine = array_bytes(data) if self._rank == root else None
            size = 0 if mine is None else len(mine)
            if self._ranks is not None:
                # A root that is none is an error that the core notices.
                sizes = self._core.proc_counts(size)
                size = sizes[root] if 0 <= root < len(sizes) else 0
            self._core.block(user_string(user), root, size, mine, name)

    def array(
        self,
        user: Union[str, bytes],
        data: Any,
        *,
        size: Optional[int] = None,
        counts: Optional[Sequence[int]] = None,
        encode: Union[bool, str] = False,
    ) -> None:
        """Writes an array: elements of one size, on several ranks in the order of the ranks.

        Args:
            user: the user string.
            data: this rank's elements: a numpy array, whose first dimension counts them; or bytes, with size.
                It is not copied if it is contiguous.
            size: the bytes of an element. None: those of ``data[0]``. The same on all ranks.
            counts: how many elements each rank gives, by rank. None: the ranks tell each other.
            encode: whether it is compressed, element by element.
        """
        with self._writing():
            name = encoding_of(encode)
            array, found = elements_of(data, size)
            number = len(array) // found if found else (len(data) if hasattr(data, "shape") else 0)
            self._core.array(user_string(user), self._counts(number, counts), found, array, name)

    def varray(
        self,
        user: Union[str, bytes],
        data: Any,
        *,
        counts: Optional[Sequence[int]] = None,
        encode: Union[bool, str] = False,
    ) -> None:
        """Writes a varray: elements of their own sizes, on several ranks in the order of the ranks.

        Args:
            user: the user string.
            data: this rank's elements: a list of bytes or of numpy arrays; or a tuple (offsets, values) as
                :meth:`Section.to_ragged` returns it, where element i is ``values[offsets[i]:offsets[i + 1]]``,
                and every value is in an element.
            counts: how many elements each rank gives, by rank. None: the ranks tell each other.
            encode: whether it is compressed, element by element.
        """
        with self._writing():
            name = encoding_of(encode)
            sizes, values = ragged(*data) if isinstance(data, tuple) else joined(data)
            self._core.varray(user_string(user), self._counts(len(sizes), counts), sizes, values, name)

    def dataset(
        self,
        name: str,
        data: Any = None,
        *,
        start: Union[int, Sequence[int], None] = None,
        shape: Union[int, Sequence[int], None] = None,
        boxes: Optional[Sequence[tuple[Any, Any]]] = None,
        dtype: Optional[DTypeLike] = None,
        attrs: Optional[Mapping[str, Any]] = None,
        dims: Optional[Sequence[Optional[str]]] = None,
        fill_value: Any = None,
        encode: Union[bool, str, None] = None,
        chunks: Union[int, Sequence[int], None] = None,
        codec: Optional[str] = None,
        level: Optional[int] = None,
        shuffle: Optional[bool] = None,
        max_relative_error: Optional[float] = None,
        max_absolute_error: Optional[float] = None,
        text: bool = False,
        extends: bool = False,
        **others: Any,
    ) -> None:
        """Writes a dataset: a named array with its type, shape and attributes. What was written before under this name
        stays: it is the record before this one.

        Without shape, the data are all of it, which only a process that writes alone can have. With shape, each rank
        gives the part that it has, anywhere in the array: one box, several, or none. What nobody gives has the
        fill value; what is given twice is an error.

        Args:
            name: slashes separate the names of groups and the dataset's own. Of one with more than 58 bytes, the section has
                a shorter user string (docs/datasets.md).
            data: an array, or what numpy makes one of. It is not copied, also if it is a part of another one, such as the
                interior of a block with ghost cells, unless its numbers have another byte order or type. None: none of this rank.
                Items are bools, integers, floating-point and complex numbers up to 16 bytes; raw bytes (``V3``); structured types
                with members of all these and arrays of them, without the gaps between members; ``datetime64`` and
                ``timedelta64`` of any unit; texts and bytes of fixed length (``U8``, ``S8``), or of any length: with dtype
                ``str`` or ``bytes``, of numpy's ``StringDType``, or as objects (of several processes by :meth:`field`). Other
                types, such as ``longdouble`` and those of ml_dtypes, and masked arrays are a TypeError. An array of xarray has dims and
                attrs of its own, which count where none are passed; its coordinates are written by :meth:`xarray`.
            start: where the data begin in the array, an index for each dimension; None: at its beginning.
            shape: of the whole array. The same on all ranks, as all arguments from here on are, but for boxes.
            boxes: in place of data and start, a list of (start, data).
            dtype: of the items; None: that of the data. A rank without data needs it, unless it passes an empty array.
            attrs: anything that JSON has, such as ``{"units": "m s-1"}``; numpy's numbers and arrays, too.
            dims: the name of each dimension, or None.
            fill_value: the item that stands where nothing is written; None: zero.
            encode: whether the data are cut into chunks and compressed; ``"auto"``: if that makes them smaller. None:
                if any of the arguments below is given.
            chunks: the shape of a chunk; None: chosen by shape and type.
            codec: how chunks are compressed: ``"zstd"`` (the default), or another one that ``scda copy --codec`` knows.
            level: of compression, 0 to 9; None: that of the codec, or of the file for zlib and text.
            shuffle: whether the bytes of the items are sorted before compression; None: yes.
            max_relative_error: floating-point and complex numbers are rounded, so that they get smaller compressed: each
                changes by this part of it at most. The fill value, infinities and NaN stay. The attribute
                ``scda_max_relative_error`` tells readers. None: all numbers stay.
            max_absolute_error: likewise; each changes by this number at most.
            text: chunks as text, which every reader of the format decompresses; a third larger.
            extends: the data are rows, items with one index of the first dimension each, that are added to the last dataset of this name
                in the file, after its own: start and shape are those of the added rows alone. The file must be a sealed one.
                Type and fill value must be those of the dataset, whose attributes and dims stay.
        """
        with self._writing():
            refuse(others)
            options = Options(
                attrs, dims, fill_value, encode, chunks, codec, level, shuffle, max_relative_error, max_absolute_error, text, extends
            )
            of = class_of_texts(dtype)
            if data is None and boxes is None and of is not None:
                if shape is None:
                    raise ValueError("shape is missing: that of the whole dataset")
                data = np.full(integers("shape", shape), fill_value if isinstance(fill_value, of) else of(), object)
            texts = texts_of(data, dtype)
            if texts is not None:
                if start is not None or boxes is not None or self._ranks is not None:
                    raise ValueError("data: found texts of any length in a part of a dataset, expected all of it, or field()")
                if shape is not None and integers("shape", shape) != texts[1].shape:
                    raise ValueError(f"shape: found {shape}, expected that of the data, {texts[1].shape}")
                self._texts(name, texts, labelled(options, data))
                return
            given = self._datasets.prepare(name, data, start=start, shape=shape, boxes=boxes, dtype=dtype, **options._asdict())
            self._core.datasets([given])
            self._datasets.note_written([given])

    def datasets(self, datasets: Mapping[str, Any], **options: Any) -> None:
        """Writes several datasets, one after the other: the same bytes as a call of :meth:`dataset` for each. The chunks of
        several datasets are compressed together, up to 16 MiB of items for each rank: the ranks exchange data once for
        all of them, and a dataset of few chunks does not make most threads or ranks wait for the others.

        Args:
            datasets: the name of each dataset, and its data, or a dict with arguments of :meth:`dataset`. The same names
                in the same order on all ranks.
            options: arguments of :meth:`dataset` for all datasets; what the dict of one has counts instead.

        >>> state = {"rho": np.ones((40, 50)), "p": {"data": np.zeros((40, 50)), "attrs": {"units": "Pa"}}}
        >>> with scda.create("state.scda") as w:
        ...     w.datasets(state, dims=("y", "x"), encode=True)
        >>> with scda.open("state.scda") as f:
        ...     f["p"]
        <scda dataset 'p': float64 (y: 40, x: 50), Pa, chunks (40, 50)>
        """
        with self._writing():
            if not isinstance(datasets, Mapping):
                raise TypeError(f"datasets: found {a_or_an(type(datasets).__name__)}, expected a dict")
            given = []
            for name, value in datasets.items():
                own = value if isinstance(value, Mapping) else {"data": value}
                try:
                    given.append(self._datasets.prepare(name, **{**options, **own}))
                except (TypeError, ValueError) as error:
                    if isinstance(error, Error):
                        raise
                    raise (TypeError if isinstance(error, TypeError) else ValueError)(f"{name}: {error}") from None
            self._core.datasets(given)
            self._datasets.note_written(given)

    def field(
        self,
        name: str,
        data: Any,
        *,
        counts: Optional[Sequence[int]] = None,
        dtype: Optional[DTypeLike] = None,
        **options: Any,
    ) -> None:
        """Writes a dataset whose first dimension is distributed over the ranks, in their order, as the cells of an
        adaptive mesh are. Its shape follows from the data.

        Args:
            data: the items of this rank, all of the dimensions but the first as on the others.
            counts: how many indices of the first dimension each rank gives, by rank. None: the ranks tell each other.
            name, dtype, options: as for :meth:`dataset`: ``attrs``, ``dims``, ``fill_value``, ``encode``, ``chunks``, ``codec``, ``level``,
                ``shuffle``, ``max_relative_error``, ``max_absolute_error``, ``text``, ``extends``.
        """
        with self._writing():
            wanted = options_of(options, data)
            texts = texts_of(data, dtype)
            if texts is not None:
                if texts[1].ndim == 0:
                    raise ValueError("data: there is no dimension for the items of each rank")
                if counts is not None:
                    self._counts(len(texts[1]), counts)
                self._texts(name, texts, wanted)
                return
            array = items_of(data, dtype)
            item = array.dtype if dtype is None else native(np.dtype(dtype))
            if array.ndim == 0:
                raise ValueError("data: there is no dimension for the items of each rank")
            rows = self._counts(len(array), counts)
            whole = (sum(rows), *array.shape[1:])
            self._core.field(wanted.describe(name, item, whole), rows, memory_of(array))

    def _texts(self, name: str, texts: tuple[str, NDArray[Any]], options: Options) -> None:
        """Writes this rank's part of a dataset of texts or bytes of any length."""
        (kind, array), fill_value = texts, options.fill_value
        described = options._replace(fill_value=None).describe(name, np.dtype("u1"), array.shape)
        if not isinstance(fill_value, (VARIABLE_TYPES[kind], type(None))):
            raise TypeError(f"fill_value: found {fill_value!r}, expected {VARIABLE_TYPES[kind].__name__}")
        fill = fill_value.encode() if isinstance(fill_value, str) else fill_value or b""
        rows = array.shape[0] if array.ndim else 1
        self._core.texts(described._replace(type=kind, fill=fill, shuffle=True), rows, array.reshape(-1).tolist())

    def group(self, path: str, attrs: Mapping[str, Any]) -> None:
        """Writes the attributes of a group of datasets, which their names begin with; those of the file for ``/``. If
        they are written again, the last ones count.

        Args:
            path: such as ``"flow"`` for the datasets ``flow/rho`` and ``flow/p``; ``"flow/"`` is the same.
            attrs: as for :meth:`dataset`.
        """
        with self._writing():
            if not isinstance(path, str):
                raise TypeError(f"path: found {type(path).__name__}, expected a str")
            path = path if path == "/" else path.removesuffix("/")
            stored = _core.stored_path(path)
            self._core.group(stored, attributes_text(with_name(attrs, path, stored)))

    def set_attrs(self, name: str, attrs: Mapping[str, Any], *, record: int = -1) -> None:
        """Sets attributes of a dataset that is in the file already, or of a group (a path with a slash at its end; ``/`` for the
        file). The others stay. They are appended to the file, which must be a sealed one: nothing in it changes.

        Args:
            name: as for :meth:`dataset`.
            attrs: as for :meth:`dataset`; None removes an attribute.
            record: which of the datasets of this name: 0 for the first one, -1 for the last one.

        ``w["rho"].attrs["units"] = "kg m-3"`` and ``del w["rho"].attrs["units"]`` do the same for one attribute.
        """
        with self._writing():
            if not isinstance(name, str):
                raise TypeError(f"name: found {type(name).__name__}, expected a str")
            self._core.set_attributes(name, record_number(record), attributes_text(attrs))

    def create_dataset(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = None,
        data: Any = None,
        *,
        chunks: Any = None,
        compression: Any = None,
        compression_opts: Optional[int] = None,
        shuffle: Optional[bool] = None,
        fillvalue: Any = None,
        maxshape: Any = None,
        **others: Any,
    ) -> WriterItem:
        """:meth:`dataset` by the arguments of h5py's method, with all of the data. ``w["rho"] = data`` writes a dataset, too.

        >>> with scda.create("as_h5py.scda") as w:
        ...     w.create_dataset("rho", data=np.ones((4, 4)), compression="gzip").attrs["units"] = "kg m-3"
        ...     w["p"] = np.zeros(3)
        >>> with scda.open("as_h5py.scda") as f:
        ...     f["rho"], f["p"].shape
        (<scda dataset 'rho': float64 (4, 4), kg m-3, chunks (4, 4)>, (3,))
        """
        with self._writing():
            refuse(others)
            given = arguments_of(shape, dtype, data, chunks, compression, compression_opts, shuffle, fillvalue, maxshape)
        self.dataset(name, **given)
        return self[name]

    def __setitem__(self, name: str, data: Any) -> None:
        """Writes a dataset."""
        self.dataset(name, data)

    def __getattr__(self, name: str) -> Any:
        no_attribute(self, name)

    def __reduce__(self) -> Any:
        raise TypeError(f"{self._path}: a writer cannot be pickled: one process, or the ranks of a communicator, writes a file")

    def __getitem__(self, name: str) -> WriterItem:
        """What is in the file already, to set attributes of it: the last dataset of this name, or a group (a path with a slash at
        its end)."""
        return WriterItem(self, name)

    def xarray(self, ds: Any, group: str = "/", *, encoding: Optional[Mapping[str, Mapping[str, Any]]] = None) -> None:
        """Writes a dataset of xarray: each variable as a dataset, with attributes, names of dimensions and, by the CF conventions, times
        and missing values; one variable after the other. For a process that writes alone. Written again, with the next time step, the
        variables become records.

        Args:
            ds: an ``xarray.Dataset``.
            group: where the variables are.
            encoding: for a variable, what is to be other than ``variable.encoding``: ``chunks``; ``codec``, ``level``, ``shuffle``,
                ``max_relative_error`` and ``max_absolute_error`` as for :meth:`dataset`; and what CF knows, such as ``dtype``. Files that
                the engine ``scda`` opened, and NetCDF files, say so in ``variable.encoding`` how they are compressed and chunked.
        """
        from ._xarray_writing import write

        write(self, ds, group, encoding or {})

    @contextmanager
    def streams(self, name: Union[str, bytes], *, chunk_bytes: int = 0) -> Iterator[StreamWriter]:
        """Streams of tasks: in the ``with`` statement, each rank writes bytes of its own, as many and as often as it
        likes, to the file object that it gets. Beginning and end of the statement are collective, writing is not. Of
        the other methods, only :meth:`flush` and :meth:`commit` may be called in between.

        If an exception leaves the statement, a process that writes alone has the streams as far as they were written;
        of several ranks, the file is closed, incomplete.

        Args:
            name: the name of the set.
            chunk_bytes: the streams lie in the file in chunks of this number of bytes, 1 to 2^30; 0: a stripe of
                the file system, at least 1 MiB. A multiple of the blocks of the file system is best.

        >>> import pickle
        >>> with scda.create("objects.scda") as w, w.streams("objects") as stream:
        ...     pickle.dump({"step": 3}, stream)
        >>> with scda.open("objects.scda") as f:
        ...     pickle.load(f.streams("objects")[0])
        {'step': 3}
        """
        with self._writing():
            self._core.begin_streams(user_string(name), integer("chunk_bytes", chunk_bytes, 0, _MOST_CHUNK_BYTES))
        stream = StreamWriter(self, name)
        try:
            yield stream
        except BaseException as error:
            if self._ranks is not None and not self._closed:
                # The others may be inside, and would wait for this rank.
                self._failed = True
                self._abandon(reason(error))
            raise
        finally:
            stream.close()
            if not self._closed:
                with self._writing():
                    self._core.end_streams()

    def _write_stream(self, data: Any) -> int:
        self._check_open()
        memory = array_bytes(data)
        self._core.write_stream(memory)
        return len(memory)

    def proc_counts(self, count: int) -> list[int]:
        """The counts of all ranks, by rank, out of that of this rank. Collective.

        What `counts` takes, for programs that write several sections with one partition.
        """
        with self._writing():
            return self._core.proc_counts(local_count(count))

    def flush(self) -> None:
        """Writes what waits in memory, and raises what went wrong until now."""
        with self._writing():
            self._core.flush()

    @overload
    def commit(self, wait: Literal[True] = True) -> None: ...
    @overload
    def commit(self, wait: Literal[False]) -> CommitRequest: ...
    def commit(self, wait: bool = True) -> Optional[CommitRequest]:
        """Writes everything, and a seal of it. What was written until now is then on the disk, and a part of the
        file whatever happens later; with atomic only when the file is closed.

        With ``wait=False``, it returns when all is copied (``background_bytes``), and the request that it returns is to
        be waited for; the next call on the file waits for it, too."""
        with self._writing():
            if not self._may_seal:
                raise ValueError("commit: the file gets no seal; open it with seal=True")
            if not wait:
                return CommitRequest(self, self._core.commit_begin())
            self._core.commit()
        return None

    def _wait(self, request: _core.CommitRequest) -> None:
        with self._writing():
            self._core.wait(request)

    @property
    def statistics(self) -> dict[str, float]:
        """Where the time of this process went since the file was opened, in seconds: ``agreeing`` with the other ranks; ``copying``
        ``copied_bytes`` for the thread that writes in the background, and ``waiting`` for it; ``encoding``, which made
        ``encoded_bytes``; ``writing`` ``written_bytes``, and ``syncing``. Not collective."""
        self._check_open()
        return {name: int(value) if name.endswith("_bytes") else value for name, value in self._core.statistics() or ()}

    @overload
    def close(self, wait: Literal[True] = True) -> None: ...
    @overload
    def close(self, wait: Literal[False]) -> CloseRequest: ...
    def close(self, wait: bool = True) -> Optional[CloseRequest]:
        """Completes the file. Only when this returns is every byte in it. Closing again does nothing.

        With ``wait=False``, it returns when all is copied (``background_bytes``), and the request that it returns is to
        be waited for. Until then the file is open, but nothing more can be written."""
        if self._failed:
            self._failed = False
            raise UsageError(f"{self._path}: the file is closed, incomplete", None, self._path)
        if not wait:
            if not self._closed and not self._is_closing:
                with self._writing():
                    self._core.close_begin()
                    self._is_closing = True
            return CloseRequest(self)
        if not self._closed:
            self._check_process()
            self._closed = True
            try:
                self._core.close()
                self._is_complete = True
            finally:
                self._release()
        return None

    @property
    def _rank(self) -> int:
        return 0 if self._ranks is None else self._ranks.rank

    def _counts(self, number: int, counts: Optional[Sequence[int]]) -> list[int]:
        if counts is not None:
            return [int(n) for n in counts]
        return [number] if self._ranks is None else self._core.proc_counts(number)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._check_open()
        try:
            with CollectiveCall(self._ranks, self._core):
                yield
        except BaseException as error:
            # Any error on several ranks has closed the file. What interrupts the program may have stopped the core. What one
            # process passes that is refused before it is written leaves the file open.
            is_fatal = not isinstance(error, Exception) or not self._core.is_open
            if not self._closed and (is_fatal or self._ranks is not None):
                self._failed = True
                self._abandon(reason(error))
            raise

    def _check_open(self) -> None:
        super()._check_open()
        if self._is_closing:
            raise UsageError(f"{self._path}: the file is being closed", None, self._path)
        self._check_process()

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise UsageError(f"{self._path}: the file is one of process {self._process}", None, self._path)

    def _check_unused(self) -> None:
        """A writer of this process for the same file must be closed before the file is appended to."""
        with _changing_writers:
            older = _writers.get(os.path.realpath(self._path))
        if older is not None and not older._closed and older._process == os.getpid():
            message = f"{self._path}: a writer of this process has it open; close that first"
            raise FileInUseError(message, None, self._path)

    def _replace_older(self) -> None:
        """Closes an older writer of this process alone for the same file, before this one opens it: what it has would
        be written into this one's file. One of several ranks stays; the file is then in use."""
        meant = os.path.realpath(self._path)
        with _changing_writers:
            older = _writers.get(meant)
            _writers[meant] = self
        if older is not None and not older._closed and older._ranks is None:
            warnings.warn(f"{self._path} was not closed: it is incomplete", ResourceWarning, source=older)
            older._failed = True
            older._abandon("another writer was created for the same file")

    def _abandon(self, why: str) -> None:
        """Closes the file, incomplete. Collective."""
        self._closed = True
        if self._process != os.getpid():
            return
        try:
            self._core.abandon(why)
        finally:
            self._release()

    def _release(self) -> None:
        if self._ranks is not None:
            self._ranks.free()

    def _leave(self, error: Optional[BaseException]) -> None:
        if self._process != os.getpid():
            return
        if error is None:
            self.close()
        elif not self._closed:
            self._abandon(reason(error))

    def __del__(self) -> None:
        if not self._closed and self._process == os.getpid():
            kept = "" if self._ranks is None else f"; {self._ranks.KEPT}"
            warnings.warn(f"{self._path} was not closed: it is incomplete{kept}", ResourceWarning, source=self)
            # An atomic write is removed. Any other file may by now be one that another process has written. Other
            # ranks may keep theirs longer.
            if self._atomic and self._ranks is None:
                self._abandon("the file was not closed")

    def __repr__(self) -> str:
        return f"<scda writer {self._path!r}, {'closed' if self._closed else 'open'}>"


def _cut_off(path: str, number: int) -> str:
    return f"{path}: removed {number} bytes after the last seal, which were not committed"
