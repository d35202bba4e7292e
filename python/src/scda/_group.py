"""Groups, which are mappings, and records of datasets."""

from __future__ import annotations

import operator
from collections.abc import ItemsView, KeysView, Mapping, ValuesView
from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional, Sequence, TypeVar, Union, cast

from ._dataset import Attributes, Dataset
from ._description import Description
from ._h5py import no_attribute, not_assigned

if TYPE_CHECKING:
    from ._file import File

_Found = TypeVar("_Found")


class Tree(Mapping[str, Any]):
    """What files and groups have in common: a mapping from names to datasets and groups, in the order of the file.

    ``f["rho"]`` is a :class:`Dataset`, the last one if several have this name, or a :class:`Group`. A path, such as
    ``f["flow/rho"]``, leads into groups; with a slash in front, it begins at the file. ``f["rho", 3]`` is the record
    with this number, ``f.records("rho")`` the sequence of all. All look-ups are collective.
    """

    __slots__ = ()

    @property
    def _root(self) -> File:
        raise NotImplementedError

    @property
    def _prefix(self) -> str:
        """The path with which the names in this group begin in the file."""
        raise NotImplementedError

    def __getitem__(self, key: Union[str, bytes, tuple[Union[str, bytes], int]]) -> Any:
        if isinstance(key, tuple):
            if len(key) != 2 or not isinstance(key[0], (str, bytes)):
                raise TypeError("key: found a tuple, expected a name and the number of a record")
            return self._root._record(self._full(key[0]), key[1])
        return self._root._object(self._full(key))

    def _full(self, name: Any) -> Any:
        """The full name in the file."""
        if not self._prefix:
            return name
        if not isinstance(name, str):
            raise TypeError(f"key: found {name!r}, expected the name of a dataset or a group")
        return name if name.startswith("/") else self._prefix + name

    def __setitem__(self, key: Any, value: Any) -> None:
        not_assigned(repr(key))

    def __getattr__(self, name: str) -> Any:
        no_attribute(self, name)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, (str, bytes)) and self._root._has(self._full(key))

    def __iter__(self) -> Iterator[str]:
        """The names of the datasets and groups directly in this one, without repetition."""
        at = len(self._prefix)
        below = (path[at:] for path in self._root._paths() if path.startswith(self._prefix))
        return iter(dict.fromkeys(name for path in below if (name := path.partition("/")[0])))

    def __len__(self) -> int:
        """The number of names directly in this group."""
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        """True, even if the group is empty."""
        return True

    def keys(self) -> KeysView[str]:
        return _Keys(self)

    def values(self) -> ValuesView[Any]:
        return _Values(self)

    def items(self) -> ItemsView[str, Any]:
        return _Items(self)

    def visit(self, function: Callable[[str], Optional[_Found]]) -> Optional[_Found]:
        """Calls a function with the name of each dataset and group at any depth, as h5py does, until it returns
        something other than None, which is then returned. A group precedes its contents.

        >>> with scda.create("visited.scda") as w:
        ...     for name in ("flow/rho", "flow/p", "time"):
        ...         w.dataset(name, np.zeros(3))
        >>> scda.open("visited.scda").visit(print)
        flow
        flow/rho
        flow/p
        time
        """
        for name in self._all():
            found = function(name)
            if found is not None:
                return found
        return None

    def visititems(self, function: Callable[[str, Any], Optional[_Found]]) -> Optional[_Found]:
        """Like :meth:`visit`, but calls the function with the name and the object."""
        return self.visit(lambda name: function(name, self[name]))

    def records(self, name: str) -> Records:
        """The datasets with this name, in the order of the file: none, one, or several."""
        return self._root._records(self._full(name))

    def _all(self) -> list[str]:
        """The names of all datasets and groups at any depth."""
        found: dict[str, None] = {}
        for path in self._root._paths():
            if path.startswith(self._prefix):
                name = path[len(self._prefix) :]
                found.update((name[:at], None) for at, letter in enumerate(name) if letter == "/" and at)
                if name and not name.endswith("/"):
                    found[name] = None
        return list(found)

    def _datasets(self) -> list[str]:
        """The names of all datasets at any depth."""
        return [path[len(self._prefix) :] for path in self._root._dataset_names() if path.startswith(self._prefix)]

    def _ipython_key_completions_(self) -> list[str]:
        return self._all() if self._root._ranks is None else []

    # Two files are never equal, even if they have the same names.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class _Keys(KeysView[str]):
    def __repr__(self) -> str:
        return f"<scda keys {list(self)}>"


class _Values(ValuesView[Any]):
    def __repr__(self) -> str:
        return f"<scda values {list(self)}>"


class _Items(ItemsView[str, Any]):
    def __repr__(self) -> str:
        return f"<scda items {list(self)}>"


class Group(Tree):
    """The datasets whose names begin with the path of the group and a slash. Names in the group omit this prefix."""

    __slots__ = ("_file", "_path")

    def __init__(self, file: File, path: str) -> None:
        self._file = file
        self._path = path

    @property
    def name(self) -> str:
        """The path of the group; ``/`` for the file."""
        return self._path

    @property
    def attrs(self) -> Attributes:
        """The attributes that were written last; empty if there are none. Collective."""
        return self._file._group_attributes(self._path)

    @property
    def _root(self) -> File:
        return self._file

    @property
    def _prefix(self) -> str:
        return "" if self._path == "/" else f"{self._path}/"

    def __reduce__(self) -> Any:
        """Pickles the path, by which another process opens the file."""
        return Group, (self._file, self._path)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Group) and (self._file, self._path) == (other._file, other._path)

    def __hash__(self) -> int:
        return hash((self._file, self._path))

    def __repr__(self) -> str:
        return f"<scda group {self._path!r}>"


def _records_of(file: File, name: str) -> Records:
    return file.records(name)


class Records:
    """The datasets with one name, in the order of the file: a sequence. Each is looked up when it is used,
    collectively.

    >>> with scda.create("steps.scda") as w:
    ...     for step in range(3):
    ...         w.dataset("rho", np.full(2, float(step)))
    >>> with scda.open("steps.scda") as f:
    ...     print(f.records("rho"), [float(rho[0]) for rho in f.records("rho")], f["rho"][0])
    <scda records 'rho': 3> [0.0, 1.0, 2.0] 2.0
    """

    __slots__ = ("_file", "_found", "_name")

    def __init__(self, file: File, name: str, found: Sequence[int]) -> None:
        self._file = file
        self._name = name
        # The numbers of the sections that hold their data.
        self._found = found

    def __reduce__(self) -> Any:
        """Pickles path and name. Another process opens the file and finds as many records as it then has."""
        return _records_of, (self._file, self._name)

    @property
    def name(self) -> str:
        """The name that the datasets share."""
        return self._name

    def __len__(self) -> int:
        return len(self._found)

    def _outline(self) -> Dataset:
        """The last dataset, only for its description: it takes a few reads, however many rows were added."""
        with self._file._reading() as core:
            found = core.find_dataset(self._name, -1, is_outline=True)
        if found is None:
            raise IndexError(f"there is no record of {self._name!r}")
        return Dataset(self._file, cast(Any, None), cast(Any, None), Description(**found[1]))

    def __getitem__(self, key: Union[int, slice]) -> Any:
        """A dataset by its number, which counts from the end if negative; a slice returns a list."""
        if isinstance(key, slice):
            return [self._file._dataset(number) for number in self._found[key]]
        if not hasattr(key, "__index__"):
            raise TypeError(
                f"{self._name!r} has {len(self)} records: f[{self._name!r}] is the last one, and "
                f"numpy.stack(f.records({self._name!r})) has all of them"
            )
        number = operator.index(key)
        if not -len(self._found) <= number < len(self._found):
            raise IndexError(f"there is no record {number} of {self._name!r}; there are {len(self._found)}")
        return self._file._dataset(self._found[number])

    def __getattr__(self, name: str) -> Any:
        no_attribute(self, name)

    def __iter__(self) -> Iterator[Dataset]:
        return (self._file._dataset(number) for number in self._found)

    def __repr__(self) -> str:
        return f"<scda records {self._name!r}: {len(self._found)}>"
