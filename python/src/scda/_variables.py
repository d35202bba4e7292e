"""The datasets of a file as variables: arrays whose dimensions have names, and whose records are one of them."""

from __future__ import annotations

import operator
from typing import Any, Iterable, NamedTuple, Optional, Sequence

from ._dataset import Dataset, Group

# What counts the records: the first name if a dataset has their times.
_TIME = "time"
_RECORD = "record"


class Variable(NamedTuple):
    """One or several datasets of one name."""

    name: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    # Those that all its datasets have.
    attrs: dict[str, Any]
    # The first one, for what is the same of all.
    dataset: Dataset
    # Numbers of its records; its first dimension counts them, if it has one for that.
    records: range
    has_records: bool

    @property
    def chunks(self) -> Optional[tuple[int, ...]]:
        """The shape of a chunk. None: the data lie in one piece."""
        chunks = self.dataset.chunks
        if not self.has_records:
            return chunks
        return (1, *(self.dataset.shape if chunks is None else chunks))


def variables(group: Group, record: Optional[int] = None, without: Iterable[str] = ()) -> list[Variable]:
    """The variables of a group, in the order of the file.

    Args:
        group: the group, or that of the file.
        record: of names with several records, only this one, counted from the end if it is negative. None: all.
        without: names to leave out.
    """
    left_out = set(without)
    found = {name: group.records(name) for name in group.keys() if name not in left_out}
    if record is not None:
        numbers = {name: _one(name, len(records), record) for name, records in found.items()}
    else:
        numbers = {name: range(len(records)) for name, records in found.items()}
    datasets = {name: [records[k] for k in numbers[name]] for name, records in found.items()}
    for name, each in datasets.items():
        _expect_alike(name, each)
    first = {name: each[0] for name, each in datasets.items()}
    counting = _counting(first, numbers)
    dims = {name: _dims(name, dataset, counting.get(name)) for name, dataset in first.items()}
    _name_coordinates(dims, first, counting)
    made = []
    for name, each in datasets.items():
        shape = each[0].shape
        if name in counting:
            shape = (len(each), *shape)
        made.append(Variable(name, dims[name], shape, _common(each), each[0], numbers[name], name in counting))
    _expect_sizes(made)
    return made


def _one(name: str, count: int, record: int) -> range:
    number = operator.index(record)
    if count == 1:
        return range(1)
    if not -count <= number < count:
        raise ValueError(f"record {number} of {name!r}: found {count}; drop_variables=[{name!r}] leaves it out")
    number %= count
    return range(number, number + 1)


def _expect_alike(name: str, records: Sequence[Dataset]) -> None:
    first = records[0]
    for number, other in enumerate(records):
        if (other.dtype, other.shape) != (first.dtype, first.shape):
            raise ValueError(
                f"records of {name!r}: found {first.dtype} {first.shape} in record 0 and {other.dtype} {other.shape} in "
                f"record {number}, expected the same in all; record= opens one of the {len(records)} (-1 is the last), "
                f"drop_variables=[{name!r}] leaves it out"
            )


def _counting(first: dict[str, Dataset], numbers: dict[str, range]) -> dict[str, str]:
    """The name of the dimension that counts the records, of each variable that has one."""
    count = {name: len(each) for name, each in numbers.items() if len(each) > 1}
    times = None
    if _TIME in first:
        if _TIME in count and first[_TIME].ndim == 0:
            times = count[_TIME]
        elif _TIME not in count and first[_TIME].ndim == 1:
            times = first[_TIME].shape[0]
    others = {n for n in count.values() if n != times}
    named = {}
    for name, n in count.items():
        common = _TIME if n == times else _RECORD if len(others) == 1 else ""
        named[name] = common if common and common not in first[name].dims else f"{name}_{_RECORD}"
    return named


def _dims(name: str, dataset: Dataset, counting: Optional[str]) -> tuple[str, ...]:
    """The names of all dimensions. Those that have none in the file, or that of another one, are called after the
    variable."""
    dims = [] if counting is None else [counting]
    for d, dim in enumerate(dataset.dims):
        dims.append(dim if dim and dim not in dims else f"{name}_dim_{d}")
    return tuple(dims)


def _name_coordinates(dims: dict[str, tuple[str, ...]], first: dict[str, Dataset], counting: dict[str, str]) -> None:
    """What is called as a dimension, has one without a name, and as many indices, has that dimension."""
    sizes: dict[str, int] = {}
    for name, dataset in first.items():
        shape = dataset.shape
        sizes.update(zip(dims[name][-len(shape) :] if shape else (), shape))
    counted = set(counting.values())
    for name, dataset in first.items():
        if name in counting or dataset.dims != (None,):
            continue
        if name in sizes and sizes[name] == dataset.shape[0] or name == _TIME and name in counted:
            dims[name] = (name,)


def _common(records: Sequence[Dataset]) -> dict[str, Any]:
    attrs = records[0].attrs
    for other in records[1:]:
        theirs = other.attrs
        attrs = {key: value for key, value in attrs.items() if key in theirs and theirs[key] == value}
    return attrs


def _expect_sizes(made: Sequence[Variable]) -> None:
    """One size of each dimension, and no single item with its name: xarray has neither."""
    hint = "leaves it out, group= opens the names below one group"
    sizes: dict[str, tuple[int, str]] = {}
    for variable in made:
        for dim, n in zip(variable.dims, variable.shape):
            size, other = sizes.setdefault(dim, (n, variable.name))
            if n != size:
                raise ValueError(
                    f"dimension {dim!r}: found {size} indices in {other!r} and {n} in {variable.name!r}; "
                    f"drop_variables=[{variable.name!r}] {hint}"
                )
    for variable in made:
        if variable.name in sizes and not variable.dims:
            raise ValueError(
                f"dimension {variable.name!r}: found a dataset of this name without dimensions; "
                f"drop_variables=[{variable.name!r}] {hint}"
            )
