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
# The writers of this process that may be open, by the real path of their file.
_writers: WeakValueDictionary[str, Writer] = WeakValueDictionary()
_changing_writers = threading.Lock()


def _forked() -> None:
    """Replaces the lock in a forked process, because a thread that exists only in the parent may hold it."""
    global _changing_writers
    _changing_writers = threading.Lock()


os.register_at_fork(after_in_child=_forked)


def create_from(source: str, path: Path, user: str, seal: bool, hdf5: bool) -> Writer:
    """Creates a file with data of another file, with permissions that let nobody read it who may not read that one."""
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
    """Creates or replaces a file. Its bytes are the same as those that libscda writes from C.

    Use it in a ``with`` statement: the file is complete, and errors are known, only when it is closed. If an
    exception leaves the statement, the file is not completed. With ``atomic``, the old file then stays, or there is
    none; otherwise, the file ends after its last commit (:meth:`Writer.commit`) or, if there is none, with bytes
    that are no section, so that no reader takes it for complete. Ctrl-C interrupts compression between two elements,
    with the same result. A writer that is dropped without being closed writes nothing more; without atomic, the file
    stays as it is.

    If a writer of this process is still open for the same file, it is closed first, and its file is incomplete.

    Args:
        path: the file.
        user: its user string, at most 58 bytes; a str is encoded as UTF-8.
        style: the line breaks around the data: ``"unix"`` or ``"mime"``.
        encoder: ``"fast"``, or ``"zlib"``, which writes the same bytes as zlib's ``compress2``.
        level: the level of compression, 0 to 9; None: the default of the library, 2.
        threads: the number of threads that compress; the bytes do not depend on it. None: the number of cores that
            this process may use, or one if there is a communicator.
        atomic: the file appears under its name at close, when it is complete and on the disk.
        sync: close brings the file to the disk; always so with atomic.
        seal: the file ends with a seal, with which readers can tell that it is complete, find sections by number and
            user string, and verify them. It takes 160 bytes for each section, and 1056 more, of which 448 are for hdf5.
        hdf5: with seal: if the file has datasets, it is also an HDF5 file, which h5py, h5dump, netCDF-4, xarray and
            other programs open in place: each close, also after appending, writes a view of its datasets. ``"commit"``:
            so does each commit.
        keep: with atomic: how many older files of this name to keep. When the new file is complete, the old one,
            ``state.scda``, becomes ``state.1.scda``, that one ``state.2.scda``, and so on; the oldest is removed.
        background_bytes: memory of this process for writing in the background, at least 1 MiB: calls copy their data,
            and a thread writes them. See :meth:`Writer.commit`. 0: none.
        comm: a communicator of mpi4py. With more than one rank, all calls are collective, every rank passes its
            part, and the file is the same as if one process had written it.
        driver: how several ranks access the file: ``"posix"`` or ``"mpi-io"``; ``"auto"`` uses POSIX on file systems
            that are known to show all nodes the same data.

    Raises:
        Error: ArgumentError, and errors of the file system.

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
    """Opens an existing file to write more sections at its end. The user string of the file stays.

    The new sections become part of the file when it is closed, or at :meth:`Writer.commit`. If an exception leaves
    the ``with`` statement, the file ends where it ended before, or after its last commit. What a killed job had not
    committed is removed, with a :class:`RollbackWarning`; :attr:`Writer.bytes_rolled_back` tells the number of bytes.
    A file without any seal must be complete. No other program may write the file at the same time.

    Args:
        atomic: the sections are written to a copy of the file, which replaces it at close.
        seal: a file without a seal gets one, which also covers the sections from before: they are read once. A
            sealed file is sealed again in any case.
        append_after: continue after a step of a sealed file, wherever its commits are: the name of the dataset that is
            written first in each step, such as its time, and a record: ``("time", 41)``; -1 is the last. All that
            precedes the next record of this name stays; the rest is removed, with atomic when the file is closed. For a
            mesh, pass the path of its group with a slash at its end. Or pass the number of sections that stay. 0: after
            the last commit.
        create: a user string, with which a missing file is created (:attr:`Writer.is_new`), unless append_after is
            given. With keep, the newest older file that is complete takes the place of a missing or torn one.
        hdf5: ``"commit"``: each commit writes a view for HDF5 programs. Closing does so in any case if the file has
            room for one (:func:`create`); ``"commit"`` for a file without room is an ArgumentError.
        path, style, encoder, level, threads, sync, keep, background_bytes, comm, driver: as for :func:`create`.

    Raises:
        Error: errors of :func:`open`, and of reading the file if it is not complete; FileInUseError if another program,
            or this process, is writing it; errors of the file system. The file stays as it is.

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
    """A commit in progress: ``w.commit(wait=False)``."""

    def __init__(self, writer: Writer, request: _core.CommitRequest) -> None:
        self._writer: Optional[Writer] = writer
        self._request = request

    def test(self) -> bool:
        """True if this process has written its part. Not collective."""
        return self._writer is None or self._writer._core.test(self._request)

    def wait(self) -> None:
        """Completes the commit: what was written before it began is then on the disk. Collective. Returns at once if
        the file has meanwhile been closed without an error."""
        if self._writer is not None and not self._writer._is_complete:
            self._writer._wait(self._request)
        self._writer = None


class CloseRequest:
    """A close in progress: ``w.close(wait=False)``. If it is dropped with the writer, without a wait, the file is
    incomplete."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def test(self) -> bool:
        """True if this process has written its part. Not collective."""
        return self._writer._core.test(None)

    def wait(self) -> None:
        """Completes the file, as :meth:`Writer.close` does. Collective."""
        self._writer.close()


class Writer(Handle):
    """A file that is being written, section by section. An error closes it.

    User strings have at most 58 bytes; a str is encoded as UTF-8. ``encode`` is False, True, or ``"auto"``, which
    compresses a section only if that makes it smaller: elements of some KiB compress best, those of up to 61 bytes
    never get smaller. Numbers are written as they are in memory. No other thread may change them until the call
    returns, or the section may be unreadable.

    The file belongs to the process that opened it: in a forked process, the writer writes nothing.
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
        # Appending seals a sealed file again; the core knows whether it is one.
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
                warnings.warn(_rolled_back(self._path, self.bytes_rolled_back), RollbackWarning, stacklevel=3)
            except BaseException as error:  # if the program turns warnings into errors
                self._abandon(reason(error))
                raise

    @property
    def is_new(self) -> bool:
        """True if opening created the file."""
        return self._core.is_new

    @property
    def bytes_rolled_back(self) -> int:
        """How many bytes :func:`append` has removed: what a killed job had not committed, and what follows the step of
        ``append_after``."""
        return self._core.bytes_rolled_back

    def inline(self, user: Union[str, bytes], data: Any, *, root: int = 0) -> None:
        """Writes an inline section: 32 bytes, from the rank root. The data of other ranks are ignored."""
        with self._writing():
            mine = None
            if self._rank == root:
                mine = array_bytes(data)
                if len(mine) != 32:
                    raise ValueError(f"inline data: found {len(mine)} bytes, expected 32")
            self._core.inline(user_string(user), root, mine)

    def block(self, user: Union[str, bytes], data: Any, *, encode: Union[bool, str] = False, root: int = 0) -> None:
        """Writes a block: any bytes, or a numpy array, from the rank root. The data of other ranks are ignored."""
        with self._writing():
            name = encoding_of(encode)
            mine = array_bytes(data) if self._rank == root else None
            size = 0 if mine is None else len(mine)
            if self._ranks is not None:
                # The core reports a root that does not exist.
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
        """Writes an array: elements of one size, in the order of the ranks.

        Args:
            user: the user string.
            data: this rank's elements: a numpy array, whose first dimension counts them; or bytes, with size.
                It is not copied if it is contiguous.
            size: the size of an element in bytes, the same on all ranks. None: the size of ``data[0]``.
            counts: how many elements each rank passes, by rank. None: the ranks exchange these numbers.
            encode: whether each element is compressed.
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
        """Writes a varray: elements of individual sizes, in the order of the ranks.

        Args:
            user: the user string.
            data: this rank's elements: a list of bytes or of numpy arrays; or a tuple (offsets, values) as
                :meth:`Section.to_ragged` returns it, where element i is ``values[offsets[i]:offsets[i + 1]]``
                and every value belongs to an element.
            counts: how many elements each rank passes, by rank. None: the ranks exchange these numbers.
            encode: whether each element is compressed.
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
        """Writes a dataset: a named array with its type, shape and attributes. Earlier datasets of this name stay, as
        its previous records.

        Without shape, the data are the whole dataset; only a process that writes alone can omit it. With shape, each
        rank passes its part, anywhere in the array: one box, several, or none. What no rank writes has the fill value;
        to write an item twice is an error.

        Args:
            name: slashes separate the names of groups and the dataset's own. If it has more than 58 bytes, the section
                has a shorter user string (docs/datasets.md).
            data: an array, or anything from which numpy makes one. It is not copied, even if it is a part of another
                array, such as the interior of a block with ghost cells, unless byte order or type differ. None: this
                rank has none. Items are bools, integers, floating-point and complex numbers up to 16 bytes; raw bytes
                (``V3``); structured types with members of all these and arrays of them, stored without gaps between
                members; ``datetime64`` and ``timedelta64`` of any unit; texts and bytes of fixed length (``U8``,
                ``S8``), or of any length: with dtype ``str`` or ``bytes``, of numpy's ``StringDType``, or as objects
                (from several processes by :meth:`field`). Other types, such as ``longdouble`` and those of ml_dtypes,
                and masked arrays are a TypeError. An array of xarray brings its dims and attrs, which apply unless
                others are passed; :meth:`xarray` also writes its coordinates.
            start: where the data begin in the array, an index for each dimension; None: at its beginning.
            shape: the shape of the whole array. It must be the same on all ranks, like all following arguments except
                boxes.
            boxes: in place of data and start, a list of (start, data).
            dtype: the type of the items; None: the type of the data. A rank without data must pass it, or an empty
                array.
            attrs: any JSON values, such as ``{"units": "m s-1"}``; also numbers and arrays of numpy.
            dims: the name of each dimension, or None.
            fill_value: the item that stands where nothing is written; None: zero.
            encode: whether the data are divided into chunks and compressed; ``"auto"``: if that makes them smaller.
                None: if any of the arguments below is given.
            chunks: the shape of a chunk; None: chosen by shape and type.
            codec: how chunks are compressed: ``"zstd"`` (the default), or another one that ``scda copy --codec`` knows.
            level: the level of compression, 0 to 9; None: the default of the codec, or of the file for zlib and text.
            shuffle: whether the bytes of the items are shuffled before compression; None: yes.
            max_relative_error: rounds floating-point and complex numbers, so that they compress better: each changes by
                at most this fraction of itself. The fill value, infinities and NaN stay. The attribute
                ``scda_max_relative_error`` tells readers. None: no rounding.
            max_absolute_error: the same, but each number changes by at most this amount.
            text: stores chunks as text, which every reader of the format decompresses; they take a third more.
            extends: adds the data to the last dataset of this name in the file, as rows at its end (a row is the items
                with one index of the first dimension). Start and shape refer to the added rows only. The file must be
                sealed. Type and fill value must be those of the dataset, whose attributes and dims stay.
        """
        with self._writing():
            refuse(others)
            options = Options(
                attrs, dims, fill_value, encode, chunks, codec, level, shuffle, max_relative_error, max_absolute_error, text, extends
            )
            of = class_of_texts(dtype)
            if data is None and boxes is None and of is not None:
                if shape is None:
                    raise ValueError("shape is missing: the shape of the whole dataset")
                data = np.full(integers("shape", shape), fill_value if isinstance(fill_value, of) else of(), object)
            texts = texts_of(data, dtype)
            if texts is not None:
                if start is not None or boxes is not None or self._ranks is not None:
                    raise ValueError("data: found texts of any length in a part of a dataset, expected the whole dataset, or field()")
                if shape is not None and integers("shape", shape) != texts[1].shape:
                    raise ValueError(f"shape: found {shape}, expected that of the data, {texts[1].shape}")
                self._texts(name, texts, labelled(options, data))
                return
            given = self._datasets.prepare(name, data, start=start, shape=shape, boxes=boxes, dtype=dtype, **options._asdict())
            self._core.datasets([given])
            self._datasets.note_written([given])

    def datasets(self, datasets: Mapping[str, Any], **options: Any) -> None:
        """Writes several datasets one after another: the same bytes as a call of :meth:`dataset` for each. The chunks
        of several datasets are compressed together, up to 16 MiB of items per rank: the ranks exchange data once for
        all of them, and threads and ranks need not wait for each other at datasets of few chunks.

        Args:
            datasets: a mapping from the name of each dataset to its data, or to a dict with arguments of
                :meth:`dataset`. The same names in the same order on all ranks.
            options: arguments of :meth:`dataset` for all datasets; those in the dict of a dataset take precedence.

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
        """Writes a dataset whose first dimension is distributed over the ranks in their order, like the cells of an
        adaptive mesh. Its shape follows from the data.

        Args:
            data: the items of this rank; all dimensions but the first are the same on all ranks.
            counts: how many indices of the first dimension each rank passes, by rank. None: the ranks exchange these
                numbers.
            name, dtype, options: as for :meth:`dataset`: ``attrs``, ``dims``, ``fill_value``, ``encode``, ``chunks``, ``codec``, ``level``,
                ``shuffle``, ``max_relative_error``, ``max_absolute_error``, ``text``, ``extends``.
        """
        with self._writing():
            wanted = options_of(options, data)
            texts = texts_of(data, dtype)
            if texts is not None:
                if texts[1].ndim == 0:
                    raise ValueError("data: found no dimensions, expected a first one for the items of each rank")
                if counts is not None:
                    self._counts(len(texts[1]), counts)
                self._texts(name, texts, wanted)
                return
            array = items_of(data, dtype)
            item = array.dtype if dtype is None else native(np.dtype(dtype))
            if array.ndim == 0:
                raise ValueError("data: found no dimensions, expected a first one for the items of each rank")
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
        """Writes the attributes of a group of datasets, whose names begin with its path; ``/`` is the file. If the
        attributes of a group are written again, the last ones apply.

        Args:
            path: for example ``"flow"`` for the datasets ``flow/rho`` and ``flow/p``; ``"flow/"`` is the same.
            attrs: as for :meth:`dataset`.
        """
        with self._writing():
            if not isinstance(path, str):
                raise TypeError(f"path: found {type(path).__name__}, expected a str")
            path = path if path == "/" else path.removesuffix("/")
            stored = _core.stored_path(path)
            self._core.group(stored, attributes_text(with_name(attrs, path, stored)))

    def set_attrs(self, name: str, attrs: Mapping[str, Any], *, record: int = -1) -> None:
        """Sets attributes of a dataset or group that is already in the file (a slash at the end of a path: the group;
        ``/`` for the file). Other attributes stay. The new ones are appended to the file, which must be sealed; nothing
        in it changes.

        Args:
            name: as for :meth:`dataset`.
            attrs: as for :meth:`dataset`; None removes an attribute.
            record: the number of the dataset among those of this name: 0 is the first, -1 the last.

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
        """Writes a whole dataset, with the arguments of h5py's method. ``w["rho"] = data`` writes a dataset, too.

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
        raise TypeError(f"{self._path}: a writer cannot be pickled: a file is written by one process, or by the ranks of a communicator")

    def __getitem__(self, name: str) -> WriterItem:
        """The last dataset of this name in the file, or a group (a path with a slash at its end), so that attributes
        can be set."""
        return WriterItem(self, name)

    def xarray(self, ds: Any, group: str = "/", *, encoding: Optional[Mapping[str, Mapping[str, Any]]] = None) -> None:
        """Writes a dataset of xarray: each variable becomes a dataset, with attributes, names of dimensions and, by the
        CF conventions, times and missing values; one variable after another. For a process that writes alone. Writing
        it again, with the next time step, adds a record to each variable.

        Args:
            ds: an ``xarray.Dataset``.
            group: the group for the variables.
            encoding: for each variable, settings that override ``variable.encoding``: ``chunks``; ``codec``, ``level``,
                ``shuffle``, ``max_relative_error`` and ``max_absolute_error`` as for :meth:`dataset`; and settings of
                CF, such as ``dtype``. The engine ``scda``, and xarray for NetCDF files, sets ``variable.encoding`` to
                how the file is compressed and chunked.
        """
        from ._xarray_writing import write

        write(self, ds, group, encoding or {})

    @contextmanager
    def streams(self, name: Union[str, bytes], *, chunk_bytes: int = 0) -> Iterator[StreamWriter]:
        """Writes streams of tasks: in the ``with`` statement, each rank writes its own bytes, as many and as often as
        it likes, to the file object that it gets. Beginning and end of the statement are collective, writing is not.
        Between them, only :meth:`flush` and :meth:`commit` of the other methods may be called.

        If an exception leaves the statement, a process that writes alone keeps the streams as far as they were written;
        with several ranks, the file is closed, incomplete.

        Args:
            name: the name of the set.
            chunk_bytes: the size of the chunks in which the file stores the streams, 1 to 2^30 bytes; 0: a stripe of
                the file system, at least 1 MiB. Multiples of the block size of the file system are best.

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
                # Other ranks may be in a collective call and would wait for this one.
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
        """Exchanges the ranks' numbers of elements: returns the count of each rank. Collective.

        Pass the result as `counts` to write several sections with one partition.
        """
        with self._writing():
            return self._core.proc_counts(local_count(count))

    def flush(self) -> None:
        """Writes what is buffered in memory, and raises errors of earlier writes."""
        with self._writing():
            self._core.flush()

    @overload
    def commit(self, wait: Literal[True] = True) -> None: ...
    @overload
    def commit(self, wait: Literal[False]) -> CommitRequest: ...
    def commit(self, wait: bool = True) -> Optional[CommitRequest]:
        """Writes everything, and a seal for it. What was written so far is then on the disk, and part of the
        file whatever happens later; with atomic, only once the file is closed.

        With ``wait=False``, it returns as soon as the data are copied (``background_bytes``). Wait for the request that
        it returns; the next call for the file waits, too."""
        with self._writing():
            if not self._may_seal:
                raise ValueError("commit: the file is written without seals; open it with seal=True")
            if not wait:
                return CommitRequest(self, self._core.commit_begin())
            self._core.commit()
        return None

    def _wait(self, request: _core.CommitRequest) -> None:
        with self._writing():
            self._core.wait(request)

    @property
    def statistics(self) -> dict[str, float]:
        """Where this process has spent its time since the file was opened, in seconds: ``agreeing`` with the other
        ranks; ``copying`` ``copied_bytes`` for the thread that writes in the background, and ``waiting`` for it;
        ``encoding``, which produced ``encoded_bytes``; ``writing`` ``written_bytes``, and ``syncing``. Not
        collective."""
        self._check_open()
        return {name: int(value) if name.endswith("_bytes") else value for name, value in self._core.statistics() or ()}

    @overload
    def close(self, wait: Literal[True] = True) -> None: ...
    @overload
    def close(self, wait: Literal[False]) -> CloseRequest: ...
    def close(self, wait: bool = True) -> Optional[CloseRequest]:
        """Completes the file. Only when this returns, every byte is in it. Closing it again does nothing.

        With ``wait=False``, it returns as soon as the data are copied (``background_bytes``). Wait for the request that
        it returns. Until then the file is open, but nothing more can be written."""
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
            # With several ranks, any error has closed the file. An interruption of the program may have stopped the
            # core. If the arguments of a single process are rejected before anything is written, the file stays open.
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
            raise UsageError(f"{self._path}: the file belongs to process {self._process}", None, self._path)

    def _check_unused(self) -> None:
        """Raises an error if a writer of this process is open for the same file: it must be closed before appending."""
        with _changing_writers:
            older = _writers.get(os.path.realpath(self._path))
        if older is not None and not older._closed and older._process == os.getpid():
            message = f"{self._path}: a writer of this process has it open; close that first"
            raise FileInUseError(message, None, self._path)

    def _replace_older(self) -> None:
        """Closes an older writer of this process for the same file before this one opens the file, or the older one
        would write its data into the new file. A writer of several ranks is not closed; the file is then in use."""
        meant = os.path.realpath(self._path)
        with _changing_writers:
            older = _writers.get(meant)
            _writers[meant] = self
        if older is not None and not older._closed and older._ranks is None:
            warnings.warn(f"{self._path} was not closed: it is incomplete", ResourceWarning, source=older)
            older._failed = True
            older._abandon("another writer was created for the same file")

    def _abandon(self, why: str) -> None:
        """Closes the file as incomplete. Collective."""
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
            # Removes the part file of an atomic write. Any other file may already belong to another process, and other
            # ranks may still need theirs.
            if self._atomic and self._ranks is None:
                self._abandon("the file was not closed")

    def __repr__(self) -> str:
        return f"<scda writer {self._path!r}, {'closed' if self._closed else 'open'}>"


def _rolled_back(path: str, number: int) -> str:
    return f"{path}: removed {number} uncommitted bytes after the last seal"
