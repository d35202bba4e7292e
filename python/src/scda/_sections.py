"""The sections of a file, as a sequence."""

from __future__ import annotations

import html
import operator
from typing import TYPE_CHECKING, Iterator, Optional, Sequence, Union, overload

from ._common import record_number
from ._errors import Error
from ._lookup import SectionLookup
from ._section import Section

if TYPE_CHECKING:
    from ._file import File

# The most sections that print() shows.
_MOST_SHOWN = 50


class Sections(Sequence[Section]):
    """The sections of a file, in order: ``f.sections[3]`` and ``f.sections[-1]`` are sections by number,
    ``f.sections[1:3]`` is a list of them, ``f.sections["state"]`` and ``f.sections["state*"]`` the only section with
    this user string, or that matches the pattern. ``"state*" in f.sections`` tells whether there are any. Patterns do
    not match the sections that datasets, groups and streams consist of, such as ``scda dataset 00``, unless the file
    was opened with ``decode=False``.

    Sections are looked up on demand. In a sealed file, a few small reads find a section by its number or user
    string; a pattern is compared with all of them. Without a seal, look-ups by user string read the headers of all
    sections, once. All look-ups are collective.
    """

    __slots__ = ("_file",)

    def __init__(self, file: File) -> None:
        self._file = file

    @property
    def _finder(self) -> SectionLookup:
        return self._file._finder

    def __len__(self) -> int:
        """The number of sections. Without a seal, this reads all headers, and the sizes of varrays."""
        return self._finder.count()

    def __bool__(self) -> bool:
        """True, even without sections."""
        return True

    def __iter__(self) -> Iterator[Section]:
        """Iterates over the sections in order, each as it is found. In a damaged file, yields those before the
        damage."""
        index = 0
        while (section := self._finder.get(index)) is not None:
            yield section
            index += 1

    @overload
    def __getitem__(self, key: Union[int, str, bytes]) -> Section: ...
    @overload
    def __getitem__(self, key: slice) -> list[Section]: ...
    def __getitem__(self, key: Union[int, str, bytes, slice]) -> Union[Section, list[Section]]:
        if isinstance(key, (str, bytes)):
            self._file._check_open()
            return self._finder.only(key)
        if isinstance(key, slice):
            last = _last_of(key)
            count = len(self) if last is None else self._finder.count_for(last)
            found = (self._finder.get(index) for index in range(count)[key])
            return [section for section in found if section is not None]
        try:
            index = operator.index(key)
        except TypeError:
            raise TypeError(
                f"key: found {type(key).__name__}, expected the number of a section, a slice, or a user string"
            ) from None
        if index < 0:
            index += len(self)
        section = self._finder.get(index) if index >= 0 else None
        if section is None:
            raise IndexError(f"section {key}: found {len(self)} sections")
        return section

    def __contains__(self, key: object) -> bool:
        if isinstance(key, (str, bytes)):
            return self._finder.has(key)
        return any(key is section for section in self._finder.known())

    @overload
    def find(self, user: Union[str, bytes]) -> list[Section]: ...
    @overload
    def find(self, user: Union[str, bytes], record: int) -> Optional[Section]: ...
    def find(
        self, user: Union[str, bytes], record: Optional[int] = None
    ) -> Union[list[Section], Optional[Section]]:
        """The sections with this user string. If there are none and it is a str, the sections whose user string matches
        the pattern (``*``, ``?``, ``[abc]``).

        Args:
            user: the user string.
            record: return only one of them: 0 is the first, -1 the last. In a sealed file, this does not look up
                the others.

        Returns:
            A list; with record, the section, or None if there is no such record.

        >>> [s.user_text for s in scda.open("hello.scda").sections.find("*o*")]
        ['echo', 'semi-major axis, period', 'moons']
        >>> scda.open("hello.scda").sections.find("*o*", -1).user_text
        'moons'
        """
        if record is None:
            return self._finder.find(user)
        return self._finder.record(user, record_number(record))

    def __repr__(self) -> str:
        return f"<sections of {self._file!r}>"

    def __str__(self) -> str:
        """A table of the first sections. With several ranks, or for a closed file, of those that have been found so
        far."""
        rows, more = self._table()
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = []
        for row in rows:
            cells = zip(row, widths)
            aligned = (cell.rjust(width) if cell.isdecimal() else cell.ljust(width) for cell, width in cells)
            lines.append("  ".join(aligned).rstrip())
        return "\n".join([*lines, *more])

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        rows, more = self._table()
        cells = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
        table = "".join(f"<tr>{row}</tr>" for row in cells)
        lines = "".join(f"<div>{html.escape(line)}</div>" for line in (repr(self._file), *more))
        return f"{lines}<table>{table}</table>"

    def _table(self) -> tuple[list[tuple[str, ...]], list[str]]:
        """The first sections, below a row of titles, and further remarks."""
        file, more = self._file, []
        if not file._closed and file._ranks is None:
            try:
                for index in range(_MOST_SHOWN + 1):
                    self._finder.get(index)
            except Error as error:
                more = [f"{type(error).__name__}: {error}"]
        rows: list[tuple[str, ...]] = [("index", "kind", "count", "size", "compressed", "user string")]
        found = self._finder.known()
        holds = [""] * min(len(found), _MOST_SHOWN)
        if not file._closed and file._ranks is None and not more:
            try:
                for place, s in enumerate(found[:_MOST_SHOWN]):
                    dataset = file._dataset_or_section(s)
                    holds[place] = "" if isinstance(dataset, Section) else dataset._summary()
            except Error as error:
                more = [f"{type(error).__name__}: {error}"]
        for s, dataset_text in zip(found, holds):
            size = "" if s.kind == "varray" else str(s.size)
            # Text as repr writes it: a user string may have control characters.
            row = str(s.index), s.kind, str(s.count), size, "yes" if s.compressed else "no", repr(s.user_text)
            rows.append((*row, dataset_text) if any(holds) else row)
        if any(holds):
            rows[0] = (*rows[0], "dataset")
        if len(found) > _MOST_SHOWN:
            more = ["and more"]
        return rows, more


def _last_of(key: slice) -> Optional[int]:
    """The number of the last section that a slice may contain, if it does not depend on the number of sections."""
    start, stop = (None if n is None else operator.index(n) for n in (key.start, key.stop))
    if (start or 0) < 0 or (stop or 0) < 0:
        return None
    if key.step is None or key.step > 0:
        return None if stop is None else stop - 1
    return start
