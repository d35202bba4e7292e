"""A file that is open for reading."""

from __future__ import annotations

import builtins
import math
import os
import warnings
from typing import TYPE_CHECKING, Any, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _core
from ._common import Handle, Path, CollectiveCall, bytes_of, local_count, prepare, reason, record_number, text_of
from ._dataset import Attributes, Dataset, Part, put_texts, read_selections
from ._description import Description, attributes_of, full_name, without_name
from ._errors import (
    Error,
    FileInUseError,
    FormatError,
    LeftOutWarning,
    OutOfMemoryError,
    ShortFileError,
)
from ._lookup import SectionLookup
from ._arguments import ReadSettings
from ._ranks import number_of
from ._group import Group, Records, Tree
from ._section import Section
from ._sections import Sections
from ._source import source_of
from ._selection import select
from ._streams import Streams

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

# Names of datasets, each with or without a record number; as keys of a dict, with the selection to read from each.
_Names = Union[Sequence[Union[str, tuple[str, int]]], Mapping[Any, Any]]
_CACHE_BYTES = 16 << 20
# The kinds of sections that can hold the data of a dataset.
_OF_DATA = ("array", "varray")


class Entry(NamedTuple):
    """An entry of a file, as its users see it: see :meth:`File.entries`.

    Attributes:
        kind: ``"dataset"``, ``"group"`` (its attributes), ``"streams"``, ``"section"`` for any other section, or
            ``"unknown"``.
        name: the name of the dataset, the path of the group, or the user string as text.
        record: the number of the entry among those of this name, from 0.
        records: the number of entries of this name.
        content: the :class:`Dataset`, :class:`Group`, :class:`Streams` or :class:`Section`. If the entry cannot be
            read, because its metadata are wrong or the library does not have its type, the :class:`Error` that says
            why.
        sections: the sections of the entry, without what was added later.
    """

    kind: str
    name: str
    record: int
    records: int
    content: Any
    sections: list[Section]

    def __repr__(self) -> str:
        named = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields[:-1], self))
        return f"Entry({named})"


def open(
    path: Union[Path, Any],
    mode: str = "r",
    *,
    comm: Any = None,
    driver: str = "auto",
    threads: Optional[int] = None,
    decode: bool = True,
    verify: bool = False,
    to_seal: bool = True,
    cache_bytes: int = _CACHE_BYTES,
    max_memory: int = 0,
    keep: int = 0,
    storage_options: Optional[dict[str, Any]] = None,
) -> File:
    """Opens a file for reading.

    Args:
        path: the file. A process that reads alone may also pass a file object that can be read and seeked, the result
            of ``fsspec.open``, or with fsspec an address, such as ``https://...``: only the bytes that are needed are
            requested.
        mode: only ``"r"``; :func:`create` and :func:`append` write.
        comm: a communicator of mpi4py. With more than one rank, every use of the file that may read is
            collective: blocks go to all ranks, and each rank reads any elements, or its share by
            :meth:`Section.read_partition`. None: this process reads alone.
        driver: how several ranks access the file: ``"posix"`` or ``"mpi-io"``; ``"auto"`` uses POSIX on file systems
            that are known to show all nodes the same data.
        threads: the number of threads that decompress. None: the number of cores that this process may use, or one
            if there is a communicator.
        decode: if true, a compressed section appears as the data that were compressed; if false, as the two sections
            that the file has for it.
        verify: the file must be sealed. Each section is compared with its checksum when it is found, which reads all
            of it; the seal and the file header are verified when the file is opened.
        to_seal: a file that was created with ``seal=True`` ends after its last seal, or before the first section if it
            has none. A job that was killed, or is still writing, has not committed what follows:
            :attr:`File.left_out` and a :class:`LeftOutWarning` say how many bytes that is;
            :meth:`File.refresh` looks for new commits. If false, all sections that are there are read.
        cache_bytes: the most bytes of decompressed chunks that this process keeps for later reads of datasets. 0: none.
            Calls that read several boxes, or most items of the chunks that they touch, keep none.
        max_memory: the most bytes that a call allocates at the request of the file, and for the array that it returns.
            More is an OutOfMemoryError. Use it for files of unknown origin, in which a few bytes can request an array
            of any size. 0: no limit.
        keep: how many older files of this name, as :func:`create` keeps them, may replace a file that is missing, or so
            torn or damaged that it has no seal. The first file with a seal is opened, up to its last seal, so that a
            job restarts from the last complete state. :attr:`File.path` says which file that is. 0: none; the file then
            needs no seal.
        storage_options: options for fsspec if the path is an address, such as ``{"anon": True}``.

    Raises:
        Error: FormatError, VersionError or ShortFileError if this is no valid file; NoSuchFileError and others of the
            file system; with verify, ChecksumError. With keep, if no file has a seal, the error of ``path``.

    >>> with scda.open("hello.scda") as f:
    ...     for s in f.sections:
    ...         print(s.kind, s.user_text, s.nbytes)
    inline greeting 32
    block echo 60
    array semi-major axis, period 96
    varray moons 20

    >>> for n in range(3):
    ...     with scda.create("state.scda", atomic=True, keep=1) as w:
    ...         w.dataset("n", n)
    >>> os.remove("state.scda")
    >>> with scda.open("state.scda", keep=1) as f:
    ...     print(os.path.basename(f.path), f["n"][()])
    state.1.scda 1
    """
    _check_mode(mode, path)
    settings = ReadSettings(comm, driver, threads, decode, verify, to_seal, cache_bytes, max_memory, keep)
    return File(path, settings, storage_options)


def verify(path: Path, *, comm: Any = None, driver: str = "auto") -> None:
    """Compares all bytes of a sealed file with its checksums. With a communicator, the ranks share the work.

    Bytes after the last seal have no checksums.

    Raises:
        Error: ChecksumError for the first difference, and for a file that does not end with a seal; others as for
            :func:`open`.

    >>> with scda.create("sealed.scda") as w:
    ...     w.block("parameters", b"dt=0.1")
    >>> scda.verify("sealed.scda")
    """
    settings = ReadSettings(comm, driver, threads=1, verify=True, to_seal=False)
    with File(path, settings) as file, file._reading() as core:
        # Walks from header to header, so that the seals in between are compared, too.
        core.walk()


def _of_pickle(path: Path, settings: ReadSettings, storage_options: Optional[dict[str, Any]]) -> File:
    """Opens a file for an object that another process has pickled. Nobody closes it explicitly."""
    file = File(path, settings, storage_options)
    file._is_of_pickle = True
    return file


def _check_mode(mode: Any, path: Any) -> None:
    if mode != "r":
        hint = f"scda.create({path!r}) writes a new file, scda.append({path!r}) adds to one"
        raise ValueError(f"mode: found {mode!r}, expected 'r'; {hint}")


class File(Handle, Tree):
    """A file that is open for reading: a mapping from names to datasets and groups, like a :class:`Group`.

    If neither a dataset nor a group has a name, ``f["state"]`` is the section that ``f.sections["state"]`` finds.
    :attr:`sections` has all sections, in order. They are looked up on demand, so that opening a large file takes no
    time.

    In a damaged file without a seal, a process that reads alone finds the sections before the damage, and a section
    that the end of the file truncates, whose elements can be read as far as they are there. In a sealed file, it finds
    all sections by number except the damaged ones.

    Several threads may use one file. Numpy arrays that were read stay valid after the file is closed.

    A file and the objects in it can be pickled for other processes, such as those of dask, which open it by its path.
    """

    _is_of_pickle = False

    def __init__(
        self, path: Path, settings: Union[ReadSettings, str] = "r", storage_options: Optional[dict[str, Any]] = None
    ) -> None:
        if not isinstance(settings, ReadSettings):  # called with the arguments of h5py.File
            _check_mode(settings, path)
            settings = ReadSettings(None, "auto", cache_bytes=_CACHE_BYTES)
        self._given = path, settings, storage_options
        source, comm = source_of(path, storage_options), settings.comm
        if source is not None and comm is not None and comm.size > 1:
            raise ValueError(f"comm: found {comm.size} ranks, expected one to read a file object or address")
        name = path if source is None else source.name
        self._path, self._ranks, threads = prepare(
            name, comm, settings.driver, settings.threads, settings.limits(), **settings.switches()
        )
        taken = settings._replace(threads=threads)
        if source is not None:
            self._path = source.name
        self._source = source
        if taken.keep:
            last = _core.Reader(self._path, source, number_of(self._ranks), taken)
            self._path, taken = last.path, taken._replace(keep=0)
            self._given = self._path, settings._replace(keep=0), storage_options
            last.close()
        self._mapped = _open_to_map(self._path) if self._is_local else None
        self._map: Optional[np.memmap[Any, np.dtype[np.uint8]]] = None
        try:
            self._core = _core.Reader(self._path, source, number_of(self._ranks), taken)
            if self._mapped is not None and not os.path.samestat(os.fstat(self._mapped.fileno()), os.stat(self._path)):
                self._core.close()
                raise FileInUseError(f"{self._path}: was replaced while it was being opened", None, self._path)
        except BaseException:
            self._release()
            raise
        self._is_limited, self._decodes = bool(settings.max_memory), bool(settings.decode)
        self._closed = False
        self._begin()
        if self.left_out and (self._ranks is None or self._ranks.rank == 0):
            try:
                warnings.warn(_left_out(self._path, self.left_out), LeftOutWarning, stacklevel=3)
            except BaseException as error:  # if the program turns warnings into errors
                self._leave(error)
                raise

    def __reduce__(self) -> Any:
        """Pickles the path or address, by which another process opens the file."""
        self._check_open()
        path, settings, storage_options = self._given
        if self._ranks is not None:
            raise TypeError(f"{self._path}: a file opened by {self._ranks.size} ranks cannot be pickled; open it in the other process")
        if hasattr(path, "read"):
            raise TypeError(f"{self._path}: a file that is read from a file object cannot be pickled, unlike one with a path or address")
        return _of_pickle, (self._path if self._source is None else path, settings, storage_options)

    @property
    def _is_local(self) -> bool:
        """True if one process reads a local file, which can be mapped into memory."""
        return self._ranks is None and self._source is None

    def _begin(self) -> None:
        """Forgets all sections."""
        self._finder = SectionLookup(self)
        self._known_paths: Optional[list[str]] = None

    @property
    def path(self) -> str:
        """The absolute path of the file, or the name of its source."""
        return str(self._path)

    @property
    def sealed(self) -> bool:
        """True if the file ends with a seal: it is complete, has checksums, and an index finds its sections."""
        return self._core.extent[0]

    @property
    def left_out(self) -> int:
        """How many bytes after the last seal are left out: see :func:`open`."""
        return self._core.extent[1]

    def refresh(self) -> bool:
        """Checks whether a job has committed more since the file was opened, or since the last refresh. Collective.

        Sections, datasets and arrays from before stay valid. A file that was replaced, as with
        ``atomic=True``, is another file: open it again.

        Returns:
            True if there are more sections.

        Raises:
            FileInUseError: a job has rolled the file back to an earlier commit (``append_after``, ``scda rewind``), or
                has created it anew, so that what was read is no longer in it: open it again.

        >>> with scda.create("growing.scda", seal=True, atomic=False) as w:
        ...     w.block("step", b"0")
        ...     w.commit()
        ...     f = scda.open("growing.scda")
        ...     w.block("step", b"1")
        ...     w.commit()
        >>> len(f.sections), f.refresh(), len(f.sections), f.refresh()
        (1, True, 2, False)
        >>> f.close()
        """
        with self._reading() as core:
            more = core.refresh()
        if more:
            self._begin()
        return more

    @property
    def user(self) -> bytes:
        """The user string of the file: up to 58 bytes of any value."""
        return self._core.user

    @property
    def user_text(self) -> str:
        """The user string as text. Bytes that are not UTF-8 are escaped."""
        return text_of(self.user)

    @property
    def sections(self) -> Sections:
        """The sections of the file: see :class:`Sections`."""
        return Sections(self)

    @property
    def name(self) -> str:
        """The path of the file as a group: ``/``."""
        return "/"

    @property
    def _root(self) -> File:
        return self

    @property
    def _prefix(self) -> str:
        return ""

    def _object(self, name: Union[str, bytes]) -> Any:
        """The last dataset, the group or the section with this name."""
        self._check_open()
        if isinstance(name, str) and self._decodes:
            path = name.strip("/")
            if not path and name:
                return Group(self, "/")
            # "rho/" is the group, even if a dataset is called "rho".
            is_path = name.endswith("/")
            found = None if is_path else self._exact(name)
            if found is None and not is_path and path != name:
                found = self._exact(path)
            if found is not None:
                return found
            try:
                if self._is_group(path):
                    return Group(self, path)
            except Error:
                # A process that reads alone can still read what precedes the damage.
                if self._ranks is not None or not self._finder.has(name):
                    raise
            if is_path and (found := self._exact(path)) is not None:
                return found
        elif not isinstance(name, (str, bytes)):
            raise TypeError(f"key: found {type(name).__name__}, expected a name, or a name and the number of a record")
        return self._dataset_or_section(self._finder.only(name))

    def _exact(self, name: str) -> Any:
        """The section with exactly this name, or the last dataset with it; None if there is none."""
        first, last = self._finder.ends(name)
        found = None if last is None else self._dataset_or_section(last)
        if first is last or isinstance(found, Dataset):
            return found
        return self._finder.only(name)  # raises an error that lists them

    def _has(self, name: Union[str, bytes]) -> bool:
        if self._finder.has(name):
            return True
        path = name.strip("/") if isinstance(name, str) and self._decodes else ""
        return bool(path) and (path != name and self._finder.has(path) or self._is_group(path)) or name == "/"

    def entries(self) -> Iterator[Entry]:
        """Iterates over what is in the file as its users see it, in the order of the file: each record of each dataset,
        groups, sets of streams, and all other sections. Later additions belong to their dataset. Each step is
        collective.

        >>> with scda.create("entries.scda") as w:
        ...     w.group("flow", {"scheme": "hydro"})
        ...     for step in range(2):
        ...         w.dataset("flow/rho", np.zeros((2, 3), "f4"))
        ...     w.block("notes", b"calm")
        >>> with scda.open("entries.scda") as f:
        ...     for e in f.entries():
        ...         print(e.kind, e.name, e.record, e.content)
        group flow 0 <scda group 'flow'>
        dataset flow/rho 0 <scda dataset 'flow/rho': float32 (2, 3)>
        dataset flow/rho 1 <scda dataset 'flow/rho': float32 (2, 3)>
        section notes 0 <scda section 6: block 'notes', 4 bytes>
        """
        self._check_decodes()
        number = 0
        while True:
            with self._reading() as core:
                found = core.next_entry(number)
            if found is None:
                return
            kind, user, (first, record, records, number), headers, content = found
            sections = [Section._of_header(self, first + k, *header) for k, header in enumerate(headers)]
            name = text_of(user)
            if kind == "dataset":
                content = Dataset(self, sections[1], content[0], Description(**content[1]))
                name = content.name
            elif kind == "group":
                name = full_name(name, content)
                content = Group(self, name)
            elif kind == "streams":
                content = Streams(self, user, content)
            yield Entry(kind, name, record, records, sections[0] if content is None else content, sections)

    def _is_group(self, path: str) -> bool:
        prefix = f"{path}/"
        return any(found.startswith(prefix) for found in self._paths())

    def _paths(self) -> list[str]:
        """The names of all datasets, and the paths of groups with attributes, which end with a slash; in the order of
        the file, without repetition. Collective."""
        self._check_decodes()
        if self._known_paths is None:
            with self._reading() as core:
                found = core.paths()
            self._known_paths = list(dict.fromkeys(name if attributes is None else _full_path(name, attributes) for name, attributes in found))
        return self._known_paths

    def _dataset_names(self) -> list[str]:
        return [path for path in self._paths() if not path.endswith("/")]

    def _records(self, name: str) -> Records:
        self._check_decodes()
        if not isinstance(name, str):
            raise TypeError(f"name: found {type(name).__name__}, expected a str")
        with self._reading() as core:
            return Records(self, name, core.find_all(_core.stored_name(name).encode()))

    def read_datasets(self, names: _Names, record: int = -1) -> dict[Any, Any]:
        """Reads several datasets in one call. The arrays are those of ``f[name][...]``, but the ranks exchange fewer
        messages.
        Collective: the same names in the same order on all ranks; each rank makes its own selections.

        Args:
            names: the names, or a dict from names to selections, as in ``f[name][index]``: ``np.s_[3:5, ::2]``, or
                ``...`` for everything. A name may be a tuple of name and record number, as in ``f[name, k]``.
            record: the record number for names without one: 0 is the first dataset of a name, -1 the last.

        Returns:
            A dict of the arrays, in the order of ``names``, with the same keys.

        >>> with scda.create("two.scda") as w:
        ...     w.datasets({"rho": np.arange(6.0).reshape(2, 3), "p": np.arange(4)}, encode=True)
        >>> with scda.open("two.scda") as f:
        ...     both = f.read_datasets(["rho", "p"])
        ...     parts = f.read_datasets({"rho": np.s_[1, ::2], "p": ...})
        >>> both["p"].tolist(), parts["rho"].tolist()
        ([0, 1, 2, 3], [3.0, 5.0])
        """
        self._check_decodes()
        with self._reading():
            keys = self._checked_names(names, record)
        found = [self._described(name, number) for name, number in keys.values()]
        with self._reading() as core:
            indices = names.values() if isinstance(names, Mapping) else [...] * len(found)
            wanted = [(what, select(index, what.shape)) for (_, what), index in zip(found, indices)]

            def read(parts: list[Part]) -> None:
                core.read_datasets(
                    [(one, boxes, bytes_of(items)) for (one, _), (boxes, items) in zip(found, parts) if not items.dtype.hasobject],
                )
                for (one, what), (boxes, items) in zip(found, parts):
                    if items.dtype.hasobject:
                        put_texts(items, one.read_texts(core, boxes, what.type == "string"))

            return dict(zip(keys, read_selections(self, core, wanted, read)))

    def _checked_names(self, names: _Names, record: int) -> dict[Any, tuple[str, int]]:
        """The name and the record number for each key."""
        if isinstance(names, (str, bytes)):
            raise TypeError(f"names: found {names!r}, expected a list of names, or a dict")
        checked: dict[Any, tuple[str, int]] = {}
        for key in names:
            name, number = key if isinstance(key, tuple) and len(key) == 2 else (key, record)
            if not isinstance(name, str):
                raise TypeError(f"names: found {key!r}, expected a str, or a tuple of it and the number of a record")
            checked[key] = name, record_number(number)
        return checked

    def _described(self, name: str, number: int) -> tuple[_core.DatasetHandle, Description]:
        """The dataset that is record `number` of its name."""
        with self._reading() as core:
            found = core.find_dataset(name, number, is_outline=False)
        if found is not None and found[0] is not None:
            return found[0], Description(**found[1])
        records = self._records(name)
        if len(records):
            raise IndexError(f"there is no record {number} of {name!r}; there are {len(records)}")
        self._finder.only(name)  # raises an error if no section has this name
        raise KeyError(f"{name!r}: no dataset has exactly this name")

    def streams(self, name: Union[str, bytes], record: int = -1) -> Streams:
        """The streams that the ranks of a job have written under this name: a sequence of file objects, one for each
        task. Collective; reading from them is not.

        Args:
            name: the name of the set.
            record: the number of the set among those of this name: 0 is the first, -1 the last.

        >>> with scda.create("log.scda") as w:
        ...     with w.streams("log") as log:
        ...         log.write(b"step 1\\nstep 2\\n")
        14
        >>> with scda.open("log.scda") as f:
        ...     f.streams("log")[0].readlines()
        [b'step 1\\n', b'step 2\\n']
        """
        user = name.encode() if isinstance(name, str) else name
        if not isinstance(user, bytes):
            raise TypeError(f"name: found {type(name).__name__}, expected str or bytes")
        with self._reading() as core:
            found = core.streams(user, record_number(record))
        if found is None:
            if self._finder.find(user):
                raise IndexError(f"record {record} of the streams {name!r}: there is no such record")
            raise KeyError(f"{name!r}: no streams have this name")
        return Streams(self, user, found)

    @property
    def attrs(self) -> Attributes:
        """The attributes of the file: those of the group ``/``. Collective."""
        return self._group_attributes("/")

    def _group_attributes(self, path: str) -> Attributes:
        self._check_decodes()
        with self._reading() as core:
            text = core.find_group(path)
        return Attributes({} if text is None else without_name(attributes_of(text), path))

    def _record(self, user: Union[str, bytes], number: int) -> Union[Section, Dataset]:
        """The dataset or section that is record `number` of its user string."""
        self._check_open()
        section = self._finder.record(user, record_number(number))
        if section is not None:
            return self._dataset_or_section(section)
        found = len(self._finder.find(user))
        if found:
            raise IndexError(f"there is no record {number} of {user!r}; there are {found}")
        section = self._finder.only(user)  # raises an error if no section has this name
        return self._dataset_or_section(section)

    def _dataset_or_section(self, section: Section) -> Union[Section, Dataset]:
        if not self._decodes or section.kind not in _OF_DATA:
            return section
        return self._dataset_in(section) or section

    def _dataset_in(self, section: Section) -> Optional[Dataset]:
        """The dataset whose data are in this section; None if the section has no data of a dataset."""
        with self._reading() as core:
            found = core.dataset(section.index)
        return None if found is None else Dataset(self, section, found[0], Description(**found[1]))

    def _dataset(self, number: int) -> Dataset:
        """The dataset whose data are in the section with this number."""
        section = self._finder.get(number)
        found = None if section is None else self._dataset_in(section)
        if section is None or found is None:
            name, offset = (number, None) if section is None else (repr(section.user_text), section.offset)
            raise FormatError(f"{self._path}: section {name} is not a dataset: no metadata precede it", offset, self._path)
        return found

    def _check_decodes(self) -> None:
        self._check_open()
        if not self._decodes:
            raise ValueError(f"{self._path}: the file was opened with decode=False, which shows no datasets")

    def _parts(self, count: int, counts: Optional[Sequence[int]]) -> tuple[list[int], int]:
        """The number of elements of each rank, and the number of this rank."""
        ranks, rank = (1, 0) if self._ranks is None else (self._ranks.size, self._ranks.rank)
        parts = [int(n) for n in (_core.uniform_partition(count, ranks) if counts is None else counts)]
        if len(parts) != ranks or min(parts) < 0 or sum(parts) != count:
            raise ValueError(f"counts: found {parts}, expected {ranks} with the sum {count}")
        return parts, rank

    def proc_counts(self, count: int) -> list[int]:
        """Exchanges the ranks' numbers of elements: returns the count of each rank. Collective.

        :meth:`Section.read_partition` takes the result.
        """
        with self._reading() as core:
            return core.proc_counts(local_count(count))

    def _bytes(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Bytes of the file, mapped into memory. All arrays share one map, because each map needs a file descriptor."""
        self._check_open()
        self._check_there(stop)
        whole = self._map
        if whole is None or len(whole) < stop:  # the file has grown since it was mapped
            assert self._mapped is not None
            self._map = whole = np.memmap(self._mapped, np.uint8, "r")
        return whole[start:stop]

    def _check_there(self, stop: int, what: str = "data", offset: Optional[int] = None) -> None:
        """Raises an error if the file ends before `stop`, the end of what begins at `offset`: a truncated file must not
        make us allocate memory for data that it only claims to have. For several ranks, the core has checked that."""
        if self._mapped is not None and (size := os.fstat(self._mapped.fileno()).st_size) < stop:
            at = size if offset is None else offset
            message = f"{self._path}: byte {at}: {what}: found the end of the file at byte {size}, expected at least {stop} bytes"
            raise ShortFileError(message, at, self._path)

    def _allocate(self, shape: Union[int, tuple[int, ...]], dtype: DTypeLike) -> NDArray[Any]:
        """Allocates memory for data whose size the file determines."""
        if self._is_limited:
            self._core.check_memory(min(math.prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize, (1 << 64) - 1))
        try:
            return np.empty(shape, dtype)
        except (MemoryError, ValueError) as error:  # numpy raises ValueError for more than 2^63 bytes
            message = f"{self._path}: data: no memory for an array of the shape {shape} and the type {np.dtype(dtype)}"
            raise OutOfMemoryError(message, None, self._path) from error

    def _reading(self) -> CollectiveCall[_core.Reader]:
        self._check_open()
        return CollectiveCall(self._ranks, self._core)

    def close(self) -> None:
        """Closes the file. Collective. Closing it again does nothing."""
        if not self._closed:
            self._closed = True
            try:
                self._core.close()
            finally:
                self._release()

    def _release(self) -> None:
        self._map = None
        if self._mapped is not None:
            self._mapped.close()
        if self._ranks is not None:
            self._ranks.free()

    def _leave(self, error: Optional[BaseException]) -> None:
        if error is not None and self._ranks is not None and not self._closed:
            # Other ranks may be in a collective call and would wait for this one.
            self._core.abandon(reason(error))
        self.close()

    def __del__(self) -> None:
        if not self._closed:
            if not self._is_of_pickle:
                kept = "" if self._ranks is None else f"; {self._ranks.KEPT}"
                warnings.warn(f"{self._path} was not closed{kept}", ResourceWarning, source=self)
            if self._ranks is None:
                self.close()

    def __repr__(self) -> str:
        sealed = "sealed" if self.sealed else "not sealed"
        state = "closed" if self._closed else "open"
        return f"<scda file {self._path!r}, {self.user_text!r}, {sealed}, {state}>"

    def __str__(self) -> str:
        """The table of :class:`Sections`."""
        return f"{self!r}\n{self.sections}"

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        return self.sections._repr_html_()


def _full_path(stored: str, attributes: str) -> str:
    """The full name, or a path, which keeps the slash at its end."""
    path = stored.rstrip("/")
    return full_name(path, attributes) + stored[len(path) :]


def _left_out(path: str, number: int) -> str:
    return f"{path}: incomplete: {number} bytes after its last seal were not committed and are left out"


def _open_to_map(path: str) -> Any:
    """Opens the file to map it. If that fails, the core reports why."""

    def opener(name: str, flags: int) -> int:
        # O_NONBLOCK: does not wait for the writer of a pipe.
        return os.open(name, flags | os.O_NONBLOCK)

    try:
        return builtins.open(path, "rb", buffering=0, opener=opener)
    except OSError:
        return None
