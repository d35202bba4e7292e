"""Finds the targets of HDF5 links and datasets without opening other files, which may be any file of the user, or a
pipe."""

from __future__ import annotations

import glob
import os
import re
import stat
from typing import Any, Iterator, Optional, Union

import h5py

Link = Union[h5py.HardLink, h5py.SoftLink, h5py.ExternalLink]
# More soft links than this in a row count as a cycle.
_MOST_HOPS = 40
# Stands for a number, and for a percent sign, in the name of a source.
_PATTERN = re.compile("(%b|%%)")


class OtherFile(Exception):
    """Raised when an object is in another file; has the name of that file, and the path there."""

    def __init__(self, file: str, path: str) -> None:
        super().__init__(file)
        self.file = file
        self.path = path


def link_of(group: h5py.Group, name: Union[str, bytes]) -> Optional[Link]:
    """The link with this name itself, None if there is none of a known kind. h5py's `Group.get` would open its
    target."""
    if not has_link(group, name):
        return None
    links, key = group.id.links, _key(name)
    kind = links.get_info(key).type
    if kind == h5py.h5l.TYPE_SOFT:
        return h5py.SoftLink(_text(links.get_val(key)))
    if kind == h5py.h5l.TYPE_EXTERNAL:
        return h5py.ExternalLink(*map(_text, links.get_val(key)))
    return h5py.HardLink() if kind == h5py.h5l.TYPE_HARD else None


def has_link(group: h5py.Group, name: Union[str, bytes]) -> bool:
    """True if a group has a link with this name, wherever it leads."""
    key = _key(name)
    return b"\0" not in key and bool(group.id.links.exists(key))


def _objects(group: h5py.Group, parts: list[tuple[str, bool]], path: str, hops: int) -> Iterator[Any]:
    """The objects at a path in the same file. Parts of the path may be patterns.

    Raises:
        OtherFile: a link leads to another file.
    """
    if path.startswith("/"):
        group = group.file["/"]
    parts = [part for part in parts if part[0] not in ("", ".")]
    if not parts:
        yield group
        return
    (name, is_pattern), rest = parts[0], parts[1:]
    pieces = _PATTERN.split(name) if is_pattern else [name]
    if "%b" in pieces:
        pattern = re.compile("".join("[0-9]+" if piece == "%b" else re.escape(piece.replace("%%", "%")) for piece in pieces))
        names = [each for each in group if isinstance(each, str) and pattern.fullmatch(each)]
    else:
        names = ["".join(pieces).replace("%%", "%") if is_pattern else name]
    for each in names:
        link = link_of(group, each)
        if isinstance(link, h5py.SoftLink) and hops < _MOST_HOPS:
            way = [(part, False) for part in link.path.split("/")]
            yield from _objects(group, way + rest, link.path, hops + 1)
        elif isinstance(link, h5py.ExternalLink):
            raise OtherFile(link.filename, "/".join([link.path.replace("%", "%%"), *(part for part, _ in rest)]))
        elif isinstance(link, h5py.HardLink):
            found = group[each]
            if not rest:
                yield found
            elif isinstance(found, h5py.Group):
                yield from _objects(found, rest, "", hops)


def expect_own(dataset: h5py.Dataset, *, follow: bool = False) -> None:
    """Returns if all items of a dataset are in its own file; with `follow`, also if they are in other files that can be
    read.

    Raises:
        ValueError: items are elsewhere.
    """
    _Sources(follow).check(dataset)


class _Sources:
    """The places where datasets have their items. Sources of virtual datasets may themselves be virtual."""

    def __init__(self, follow: bool) -> None:
        self._follow = follow
        self._seen: set[tuple[str, int]] = set()

    def check(self, dataset: h5py.Dataset) -> None:
        layout = dataset.id.get_create_plist()
        is_virtual = layout.get_layout() == h5py.h5d.VIRTUAL
        if not is_virtual and layout.get_external_count() == 0:
            return
        key = (dataset.file.filename, int(h5py.h5o.get_info(dataset.id).addr))
        if key in self._seen:
            return
        self._seen.add(key)
        for number in range(layout.get_external_count()):
            self._external(dataset, _text(layout.get_external(number)[0]))
        if not is_virtual:
            return
        sources = ((layout.get_virtual_filename(n), layout.get_virtual_dsetname(n)) for n in range(layout.get_virtual_count()))
        for name, path in dict.fromkeys(sources):
            if name == ".":
                self._own(dataset.file, path)
            else:
                self._other(dataset.file, name, path, "HDF5_VDS_PREFIX")

    def _own(self, file: h5py.File, path: str) -> None:
        try:
            for source in _objects(file["/"], [(part, True) for part in path.split("/")], path, 0):
                if isinstance(source, h5py.Dataset):
                    self.check(source)
        except OtherFile as away:
            self._other(file, away.file, away.path, "HDF5_EXT_PREFIX")

    def _external(self, dataset: h5py.Dataset, name: str) -> None:
        self._expect_follow(name)
        # Finds the file as HDF5 does.
        prefix = os.environ.get("HDF5_EXTFILE_PREFIX", "").replace("${ORIGIN}", _folder(dataset.file.filename))
        path = os.path.join(prefix, name)
        if not os.path.exists(path):
            raise ValueError(f"found data in another file, {name!r}, which does not exist")
        _expect_regular(path)

    def _other(self, file: h5py.File, name: str, path: str, variable: str) -> None:
        """A dataset of another file. HDF5 also searches the folders that the environment variable `variable` lists."""
        self._expect_follow(name)
        own = file.filename
        prefixes = [each.replace("${ORIGIN}", _folder(own)) for each in os.environ.get(variable, "").split(":") if each]
        folders = [*prefixes, _folder(own), _folder(os.path.realpath(own)), ""]
        # HDF5 uses the first one that it can open.
        paths = [os.path.join(folder, each) for each in (name, os.path.basename(name)) for folder in folders]
        found = [each for one in dict.fromkeys(paths) for each in _matching(one)]
        if not found:
            raise ValueError(f"found data in another file, {name!r}, which does not exist")
        for each in found:
            _expect_regular(each)
        for each in found:
            try:
                other = h5py.File(each, "r")
            except OSError:
                continue
            with other:
                self._own(other, path)

    def _expect_follow(self, name: str) -> None:
        if not self._follow:
            raise ValueError(f"found data in another file, {name!r}, expected external=True to copy it")


def _matching(path: str) -> list[str]:
    """The files that match a name, which may be a pattern."""
    pieces = _PATTERN.split(path)
    return glob.glob("".join("*" if piece == "%b" else glob.escape(piece.replace("%%", "%")) for piece in pieces))


def _expect_regular(path: str) -> None:
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError(f"found data in another file, {path!r}: a folder, pipe or device, not a file")


def _folder(path: str) -> str:
    return os.path.dirname(os.path.abspath(path))


def _key(name: Union[str, bytes]) -> bytes:
    return name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")


def _text(name: Union[str, bytes]) -> str:
    return name if isinstance(name, str) else name.decode("utf-8", "surrogateescape")
