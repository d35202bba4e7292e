"""Finding the sections of a file that is read: by its seal, or from header to header."""

from __future__ import annotations

import fnmatch
import threading
from typing import TYPE_CHECKING, Optional, Protocol, Union

from . import _core
from ._common import text_of
from ._errors import Error
from ._section import Section

if TYPE_CHECKING:
    from ._file import File

_FILE_HEADER_BYTES = 128
# A character has up to four bytes: shorter texts need not be looked at.
_MOST_CHARACTERS = 58 // 4
# So many sections or user strings are listed in an error.
_MOST_NAMED = 20
# What the library writes for itself, such as the metadata of datasets.
_OWN_PREFIX = b"scda "


class Finder(Protocol):
    """What finds the sections of a file. Calls are collective."""

    def count(self) -> int:
        """The number of sections."""

    def get(self, index: int) -> Optional[Section]:
        """The section with this number; None if there are fewer."""

    def count_for(self, last: int) -> int:
        """The number of sections; or less, if there is this last one, and finding the others takes long."""

    def known(self) -> list[Section]:
        """The sections that were found until now, in order."""

    def find(self, user: Union[str, bytes]) -> list[Section]:
        """The sections with this user string; if there is none, those whose text fits the pattern."""

    def has(self, user: Union[str, bytes]) -> bool:
        """Whether find returns any."""

    def record(self, user: Union[str, bytes], number: int) -> Optional[Section]:
        """The section that has this place in what find returns."""

    def only(self, user: Union[str, bytes]) -> Section:
        """The only one that find returns, or a KeyError."""

    def ends(self, user: Union[str, bytes]) -> tuple[Optional[Section], Optional[Section]]:
        """The first and the last one with exactly this user string."""


class Walk:
    """From header to header. Sections that were found are remembered."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._finding = threading.Lock()
        self._found: list[Section] = []
        self._names = _Names()
        self._next: Optional[int] = _FILE_HEADER_BYTES

    def count(self) -> int:
        while self.get(len(self._found)):
            pass
        return len(self._found)

    def get(self, index: int) -> Optional[Section]:
        while len(self._found) <= index:
            # The core lets other threads run: one of them at a time may look for the next section.
            with self._finding, self._file._reading() as core:
                if len(self._found) > index:
                    break
                if self._next is None:
                    # From the header of the last one to its end, which for a varray takes reading its sizes.
                    self._next = core.end(self._found[-1].offset)
                header = core.header(self._next)
                if header is None:
                    return None
                section = Section._of_header(self._file, len(self._found), *header)
                self._names.add(section)
                self._found.append(section)
                self._next = None
        return self._found[index]

    def count_for(self, last: int) -> int:
        return last + 1 if last < 0 or self.get(last) is not None else self.count()

    def known(self) -> list[Section]:
        return self._found

    def find(self, user: Union[str, bytes]) -> list[Section]:
        self.count()
        return self._names.fitting(user)

    def has(self, user: Union[str, bytes]) -> bool:
        self._file._check_open()
        index = len(self._found)
        if self._names.fitting(user):
            return True
        while (section := self.get(index)) is not None:
            if _fits(section, user):
                return True
            index += 1
        return False

    def record(self, user: Union[str, bytes], number: int) -> Optional[Section]:
        return _at(self.find(user), number)

    def only(self, user: Union[str, bytes]) -> Section:
        self._look_for(user)
        return _only(user, self._names.fitting(user), self)

    def ends(self, user: Union[str, bytes]) -> tuple[Optional[Section], Optional[Section]]:
        self._look_for(user)
        found = self._names.exact(user)
        return (found[0], found[-1]) if found else (None, None)

    def _look_for(self, user: Union[str, bytes]) -> None:
        """Reads all headers, or those before the damage, if one of them fits."""
        try:
            self.count()
        except Error:
            # Alone, what is before the damage can be read. Several ranks have closed the file.
            if self._file._ranks is not None or not self._names.fitting(user):
                raise


class Seal:
    """By the seal at the end of the file, whose index has the sections by number and by user string."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._count: Optional[int] = None
        self._found: dict[int, Section] = {}
        self._names: Optional[_Names] = None

    def count(self) -> int:
        self._file._check_open()
        if self._count is None:
            with self._file._reading() as core:
                self._count = core.sections()
        return self._count

    def get(self, index: int) -> Optional[Section]:
        return self._section(index) if index < self.count() else None

    def _section(self, index: int) -> Section:
        if index not in self._found:
            with self._file._reading() as core:
                header = core.section(index)
            assert header is not None
            # Another thread may have been faster.
            self._found.setdefault(index, Section._of_header(self._file, index, *header))
        return self._found[index]

    def count_for(self, last: int) -> int:
        return self.count()

    def known(self) -> list[Section]:
        return [self._found[index] for index in sorted(self._found)]

    def find(self, user: Union[str, bytes]) -> list[Section]:
        name = _bytes_of(user)
        if name is not None:
            with self._file._reading() as core:
                numbers = core.find_all(name)
            if numbers:
                return [self._section(number) for number in numbers]
        return self._fitting(user)

    def has(self, user: Union[str, bytes]) -> bool:
        return self._named(user, 0) is not None or bool(self._fitting(user))

    def record(self, user: Union[str, bytes], number: int) -> Optional[Section]:
        section = self._named(user, number)
        if section is None and self._named(user, 0) is None:
            return _at(self._fitting(user), number)
        return section

    def only(self, user: Union[str, bytes]) -> Section:
        first, last = self.ends(user)
        if first is not None and first is last:
            return first
        return _only(user, self.find(user), self)

    def ends(self, user: Union[str, bytes]) -> tuple[Optional[Section], Optional[Section]]:
        first = self._named(user, 0)
        return first, first if first is None else self._named(user, -1)

    def _named(self, user: Union[str, bytes], number: int) -> Optional[Section]:
        """The section that has this place among those with exactly this user string."""
        self._file._check_open()
        name = _bytes_of(user)
        if name is None:
            return None
        with self._file._reading() as core:
            index = core.find(name, number)
        return None if index is None else self._section(index)

    def _fitting(self, user: Union[str, bytes]) -> list[Section]:
        """What only looking at all user strings finds."""
        if isinstance(user, bytes) or not set(user) & set("*?[\\"):
            return []
        if self._names is None:
            names = _Names()
            for index in range(self.count()):
                names.add(self._section(index))
            self._names = names
        return self._names.fitting(user)


class _Names:
    """Sections by the text of their user strings."""

    def __init__(self) -> None:
        self._by_text: dict[str, list[Section]] = {}

    def add(self, section: Section) -> None:
        self._by_text.setdefault(section.user_text, []).append(section)

    def exact(self, user: Union[str, bytes]) -> list[Section]:
        stored = _stored(user)
        if isinstance(stored, bytes):
            return [s for s in self._by_text.get(text_of(stored), ()) if s.user == stored]
        return list(self._by_text.get(stored, ()))

    def fitting(self, user: Union[str, bytes]) -> list[Section]:
        found = self.exact(user)
        if found or not isinstance(user, str):
            return found
        names = fnmatch.filter(list(self._by_text), user)
        return sorted((s for name in names for s in self._by_text[name]), key=lambda s: s.index)


def _bytes_of(user: Union[str, bytes]) -> Optional[bytes]:
    """The only user string of this text. None: a text that stands for bytes that are no UTF-8, or cannot be one."""
    try:
        stored = _stored(user)
        return stored if isinstance(stored, bytes) else None if "\\" in stored else stored.encode()
    except UnicodeEncodeError:
        return None


def _stored(user: Union[str, bytes]) -> Union[str, bytes]:
    """That of a dataset whose name has too many bytes for a user string is another one."""
    if len(user) <= _MOST_CHARACTERS:
        return user
    try:
        if isinstance(user, str):
            return _core.stored_name(user)
        return _core.stored_name(user.decode()).encode()
    except UnicodeError:
        return user


def _fits(section: Section, user: Union[str, bytes]) -> bool:
    stored = _stored(user)
    if isinstance(user, bytes):
        return section.user == stored
    return section.user_text == stored or fnmatch.fnmatchcase(section.user_text, user)


def _at(sections: list[Section], number: int) -> Optional[Section]:
    return sections[number] if -len(sections) <= number < len(sections) else None


def _only(user: Union[str, bytes], found: list[Section], finder: Finder) -> Section:
    if len(found) == 1:
        return found[0]
    if found:
        numbers = ", ".join(str(section.index) for section in found[:_MOST_NAMED])
        raise KeyError(
            f"{user!r}: found {len(found)} sections, numbers {numbers}; sections.find() returns all, "
            f"and f[{user!r}, -1] is the last"
        )
    names: dict[str, None] = {}
    for index in range(_MOST_NAMED):
        section = finder.get(index)
        if section is None:
            break
        if not section.user.startswith(_OWN_PREFIX):
            names[section.user_text] = None
    raise KeyError(f"{user!r}: found no such user string, expected one of {list(names)}")
