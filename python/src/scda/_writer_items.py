"""Sets attributes of datasets and groups that are already in a file being written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, NoReturn

if TYPE_CHECKING:
    from ._writer import Writer


class WriterItem:
    """A dataset or group in a file being written: see :meth:`Writer.set_attrs`."""

    def __init__(self, writer: Writer, name: str) -> None:
        self._writer, self._name = writer, name

    def __repr__(self) -> str:
        return f"<scda written {self._name!r}>"

    def __getitem__(self, key: Any) -> NoReturn:
        raise TypeError(f"{self._name!r}: found a file open for writing; scda.open(path)[{self._name!r}] reads what has been committed")

    @property
    def attrs(self) -> WriterAttributes:
        """The attributes, which can be set and deleted."""
        return WriterAttributes(self._writer, self._name)


class WriterAttributes:
    """The attributes of a dataset or group in a file being written. They can be set and deleted; :func:`scda.open`
    reads them."""

    def __init__(self, writer: Writer, name: str) -> None:
        self._writer, self._name = writer, name

    def __setitem__(self, key: str, value: Any) -> None:
        self.update({key: value})

    def __delitem__(self, key: str) -> None:
        """Removes an attribute if it exists."""
        self._writer.set_attrs(self._name, {key: None})

    def update(self, attrs: Mapping[str, Any]) -> None:
        """Sets several attributes at once."""
        if any(value is None for value in attrs.values()):
            raise TypeError("attrs: found None, expected a value; del removes an attribute")
        self._writer.set_attrs(self._name, attrs)
