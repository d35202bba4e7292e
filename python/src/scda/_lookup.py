"""Looks up the sections of a file by number and by user string."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Iterable, Optional, Union

from . import _core
from ._common import text_of
from ._errors import Error
from ._section import Section

if TYPE_CHECKING:
    from ._file import File

# A character takes up to four bytes: shorter texts always fit into a user string.
_MOST_CHARACTERS = 58 // 4
# The most sections or user strings that an error lists.
_MOST_NAMED = 20


class SectionLookup:
    """Finds the sections of a file through the core, and caches them. Calls are collective."""

    def __init__(self, file: File) -> None:
        self._file = file
        # True if the file is walked from header to header, so that sections before damage can be read.
        self._is_walked = not (file.sealed and file._decodes)
        self._count: Optional[int] = None
        self._found: dict[int, Section] = {}
        self._names: Optional[_Names] = None

    def count(self) -> int:
        """The number of sections."""
        self._file._check_open()
        if self._count is None:
            with self._file._reading() as core:
                self._count = core.sections()
        return self._count

    def get(self, index: int) -> Optional[Section]:
        """The section with this number; None if there are fewer."""
        if index not in self._found:
            with self._file._reading() as core:
                header = core.section(index)
            if header is None:
                return None
            # Another thread may have found the section meanwhile.
            self._found.setdefault(index, Section._of_header(self._file, index, *header))
        return self._found[index]

    def count_for(self, last: int) -> int:
        """The number of sections; or just `last` + 1 if that section exists, because counting all may take long."""
        return last + 1 if last < 0 or self.get(last) is not None else self.count()

    def known(self) -> list[Section]:
        """The sections that have been found so far, in order."""
        return [self._found[index] for index in sorted(self._found)]

    def find(self, user: Union[str, bytes]) -> list[Section]:
        """The sections with this user string; if there are none, those whose text matches the pattern."""
        name = _bytes_of(user)
        with self._file._reading() as core:
            numbers = [] if name is None else core.find_all(name)
        return [self._section(number) for number in numbers] or self._fitting(user)

    def has(self, user: Union[str, bytes]) -> bool:
        """True if find returns any section."""
        try:
            return self._named(user, 0) is not None or bool(self._fitting(user))
        except Error as error:
            return bool(self._before_damage(user, error).fitting(user))

    def record(self, user: Union[str, bytes], number: int) -> Optional[Section]:
        """The section with this place in the result of find."""
        section = self._named(user, number)
        if section is None and self._named(user, 0) is None:
            return _at(self._fitting(user), number)
        return section

    def only(self, user: Union[str, bytes]) -> Section:
        """The only section that find returns; raises a KeyError unless there is exactly one."""
        try:
            first, last = self.ends(user)
            if first is not None and first is last:
                return first
            found = self.find(user)
        except Error as error:
            found = self._before_damage(user, error).fitting(user)
        return _only(user, found, self)

    def ends(self, user: Union[str, bytes]) -> tuple[Optional[Section], Optional[Section]]:
        """The first and the last section with exactly this user string."""
        name = _bytes_of(user)
        try:
            with self._file._reading() as core:
                first, last = (None, None) if name is None else (core.find(name, 0), core.find(name, -1))
            return (None, None) if first is None or last is None else (self._section(first), self._section(last))
        except Error as error:
            found = self._before_damage(user, error).exact(user)
            return (found[0], found[-1]) if found else (None, None)

    def _section(self, index: int) -> Section:
        """A section that must exist."""
        section = self.get(index)
        assert section is not None
        return section

    def _named(self, user: Union[str, bytes], number: int) -> Optional[Section]:
        """The section with this place among those with exactly this user string."""
        name = _bytes_of(user)
        with self._file._reading() as core:
            index = None if name is None else core.find(name, number)
        return None if index is None else self._section(index)

    def _fitting(self, user: Union[str, bytes]) -> list[Section]:
        """The sections that match a pattern; compares it with all user strings."""
        if isinstance(user, bytes) or not set(user) & set("*?[\\"):
            return []
        if self._names is None:
            self._names = self._names_of(self._section(index) for index in range(self.count()))
        return self._names.fitting(user)

    def _names_of(self, sections: Iterable[Section]) -> _Names:
        return _Names(sections, not self._file._decodes)

    def _before_damage(self, user: Union[str, bytes], error: Error) -> _Names:
        """The sections before the damage, if one of them matches. Otherwise raises the error of the damage; also for
        several ranks, because the error has closed their file."""
        if self._is_walked and self._file._ranks is None:
            sections: list[Section] = []
            try:
                while (section := self.get(len(sections))) is not None:
                    sections.append(section)
            except Error:
                pass
            names = self._names_of(sections)
            if names.fitting(user):
                return names
        raise error


class _Names:
    """Sections by the text of their user strings."""

    def __init__(self, sections: Iterable[Section], matches_internal: bool) -> None:
        # True if patterns match the sections that datasets, groups and streams consist of, such as metadata.
        self._matches_internal = matches_internal
        self._by_text: dict[str, list[Section]] = {}
        for section in sections:
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
        found = [section for name in names for section in self._by_text[name]]
        if not self._matches_internal:
            found = [section for section in found if not _core.is_internal(section.user)]
        return sorted(found, key=lambda section: section.index)


def _bytes_of(user: Union[str, bytes]) -> Optional[bytes]:
    """The user string with this text; None if no text is unambiguous, as for bytes that are not UTF-8, or if none is
    possible."""
    try:
        stored = _stored(user)
        return stored if isinstance(stored, bytes) else None if "\\" in stored else stored.encode()
    except UnicodeEncodeError:
        return None


def _stored(user: Union[str, bytes]) -> Union[str, bytes]:
    """What is stored for a name: a dataset whose name is too long for a user string has another one."""
    if len(user) <= _MOST_CHARACTERS:
        return user
    try:
        if isinstance(user, str):
            return _core.stored_name(user)
        return _core.stored_name(user.decode()).encode()
    except UnicodeError:
        return user


def _at(sections: list[Section], number: int) -> Optional[Section]:
    return sections[number] if -len(sections) <= number < len(sections) else None


def _only(user: Union[str, bytes], found: list[Section], finder: SectionLookup) -> Section:
    if len(found) == 1:
        return found[0]
    if found:
        numbers = ", ".join(str(section.index) for section in found[:_MOST_NAMED])
        raise KeyError(
            f"{user!r}: {len(found)} sections have this user string, numbers {numbers}; sections.find() returns all, "
            f"and f[{user!r}, -1] is the last"
        )
    names: dict[str, None] = {}
    for index in range(_MOST_NAMED):
        section = finder.get(index)
        if section is None:
            break
        if not _core.is_internal(section.user):
            names[section.user_text] = None
    raise KeyError(f"{user!r}: no dataset, group or section has this name; there are {list(names)}")
