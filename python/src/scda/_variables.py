"""Datasets as variables of xarray: arrays with named dimensions, one of which may count the records."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Iterable, NamedTuple, Optional, Sequence

from ._dataset import Dataset
from ._group import Group

if TYPE_CHECKING:
    from ._file import File

# Names for the dimension that counts records; the first one if a dataset has their times.
TIME = "time"
_RECORD = "record"


# Attributes that determine what the numbers mean.
_MEANINGS = ("units", "calendar", "scale_factor", "add_offset", "_FillValue", "missing_value")


class Variable(NamedTuple):
    """A variable, from one or more datasets with the same name."""

    name: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    # The attributes that all its datasets have.
    attrs: dict[str, Any]
    # The first dataset, for properties that all of them share.
    dataset: Dataset
    # The numbers of its records. If has_records is true, its first dimension counts them.
    records: range
    has_records: bool

    @property
    def chunks(self) -> Optional[tuple[int, ...]]:
        """The shape of a chunk; None if the data are contiguous."""
        chunks = self.dataset.chunks
        if not self.has_records:
            return chunks
        return (1, *(self.dataset.shape if chunks is None else chunks))


# NetCDF's default fill value, in single and double precision.
_NETCDF_FILL = 9.969209968386869e36
# The attribute with the maximum shape.
MAX_SHAPE = "scda_max_shape"
# The attribute of a dataset that is no record of a series: while its name has one record, no dimension counts it.
STATIC = "scda_static"
# The attribute of a group with the NetCDF dimensions that no variable has: their sizes, null for an unlimited one.
DIMENSIONS = "scda_dimensions"


def has_fill_attribute(variable: Variable) -> bool:
    """True if the fill value of floating-point numbers becomes the attribute `_FillValue`. Zero is the default of scda,
    and another value that of NetCDF: neither was chosen by anybody; and coordinates have no missing values."""
    fill = variable.dataset.fill_value if variable.dataset.dtype.kind == "f" else 0.0
    return float(fill) not in (0.0, _NETCDF_FILL) and variable.dims != (variable.name,)


def max_shape(variable: Variable) -> tuple[Optional[int], ...]:
    """The maximum size of each dimension; None for an unlimited one."""
    start = 1 if variable.has_records else 0
    shape = variable.shape[start:]
    found = variable.attrs.get(MAX_SHAPE)
    inner: tuple[Optional[int], ...] = shape
    if isinstance(found, list) and len(found) == len(shape):
        if all(most is None or type(most) is int and n <= most < 1 << 63 for most, n in zip(found, shape)):
            inner = tuple(found)
    return (None, *inner) if variable.has_records else inner


def is_static(dataset: Dataset) -> bool:
    """True if an attribute says that the dataset is no record of a series."""
    return dataset.attrs.get(STATIC) is True


def without_mark(attrs: dict[str, Any]) -> dict[str, Any]:
    """The attributes without the mark of :func:`is_static`, for use where dimensions say the same."""
    return {name: value for name, value in attrs.items() if name != STATIC or value is not True}


def with_coordinates(
    file: File, path: str, record: Optional[int] = None, without: Iterable[str] = (), is_outline: bool = False
) -> list[tuple[str, Variable]]:
    """The variables directly in a group, and the coordinates of their dimensions from enclosing groups, for each name
    from the nearest one. Each comes with the path of its group, which ends with a slash; empty for the file.

    Args:
        path: the group, or `/`.
        record, is_outline: as for :func:`variables`.
        without: names to leave out.
    """
    parts = [] if path == "/" else path.split("/")
    around = [Group(file, "/".join(parts[:n]) or "/") for n in reversed(range(len(parts)))]
    outer: dict[str, tuple[str, Variable]] = {}

    def coordinate(dim: str) -> Optional[Variable]:
        for group in around:
            if dim in group._datasets() and dim not in without:
                made = variables(group, [dim], record, is_outline=is_outline)[0]
                if len(made.dataset.shape) == 1 and not made.has_records and made.dataset.dims == (None,):
                    made = made._replace(dims=(dim,))
                outer[dim] = "" if group.name == "/" else f"{group.name}/", made
                return made
        return None

    time = coordinate(TIME) if around else None
    times = time.shape[0] if time is not None and time.dims == (TIME,) else None
    group, left_out = Group(file, path), set(without)
    direct = [name for name in group._datasets() if "/" not in name and name not in left_out]
    made = variables(group, direct, record, times, time is not None and time.has_records, is_outline)
    names = {variable.name for variable in made}
    sizes = {dim: n for variable in made for dim, n in zip(variable.dims, variable.shape)}
    found = []
    for dim in sizes:
        each = coordinate(dim) if dim not in names else None
        if each is not None and (each.dims, each.shape) == ((dim,), (sizes[dim],)):
            found.append(outer[dim])
    if record is not None and time is not None and not time.dims and TIME not in names:
        found.append(outer[TIME])  # the time of the record
    prefix = "" if path == "/" else f"{path}/"
    return [*((prefix, variable) for variable in made), *found]


def variables(
    group: Group,
    names: Iterable[str],
    record: Optional[int] = None,
    times: Optional[int] = None,
    is_series: bool = False,
    is_outline: bool = False,
) -> list[Variable]:
    """Datasets of a group as variables, in the order of their names. If a dataset `time` without dimensions has the
    time of each record, a single record has the dimension `time`, too: a file with one step looks like one with
    several.

    Args:
        group: the group, or that of the file.
        names: the names of the datasets.
        record: for names with several records, only this one, counted from the end if negative. None: all.
        times: the size of the dimension `time` of an enclosing group.
        is_series: true if that dimension counts records.
        is_outline: look only at the last record of each name, because all others are like it.
    """
    found = {name: group.records(name) for name in names}
    if record is not None:
        numbers = {name: _one(name, len(records), record) for name, records in found.items()}
    else:
        numbers = {name: range(len(records)) for name, records in found.items()}
    if is_outline:
        datasets = {name: [records._outline()] for name, records in found.items()}
    else:
        datasets = {name: [records[k] for k in numbers[name]] for name, records in found.items()}
    for name, each in datasets.items():
        _expect_alike(name, each)
    is_series = is_series or TIME in datasets and datasets[TIME][0].ndim == 0 and not is_static(datasets[TIME][0])
    made = _made(datasets, numbers, times, is_series and record is None)
    _expect_sizes(made)
    return made


def _made(
    datasets: dict[str, list[Dataset]], numbers: dict[str, range], times: Optional[int] = None, is_series: bool = False
) -> list[Variable]:
    """Variables for records with the same shape and type. `times` is the size of the dimension `time` of an enclosing
    group; in a series, single records may have that dimension."""
    first = {name: each[0] for name, each in datasets.items()}
    counting = _counting(first, numbers, times, is_series)
    dims = {name: _dims(name, dataset, counting.get(name)) for name, dataset in first.items()}
    _name_coordinates(dims, first, counting)
    made = []
    for name, each in datasets.items():
        shape = each[0].shape
        if name in counting:
            shape = (len(numbers[name]), *shape)
        made.append(Variable(name, dims[name], shape, _common(each), each[0], numbers[name], name in counting))
    return made


def _one(name: str, count: int, record: int) -> range:
    number = operator.index(record)
    if count == 1:
        return range(1)
    if not -count <= number < count:
        raise ValueError(f"there is no record {number} of {name!r}; there are {count}; drop_variables=[{name!r}] leaves it out")
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
    if len(records) > 1:
        said = [[each.attrs.get(key) for key in _MEANINGS] for each in records]
        for number, own in enumerate(said):
            if own != said[0]:
                key, a, b = next((key, a, b) for key, a, b in zip(_MEANINGS, said[0], own) if [a] != [b])
                raise ValueError(
                    f"records of {name!r}: found {key}={a!r} in record 0 and {b!r} in record {number}, expected the same in all, as the "
                    f"numbers mean other things; record= opens one of the {len(records)} (-1 is the last), drop_variables=[{name!r}] "
                    "leaves it out"
                )


def _counting(
    first: dict[str, Dataset], numbers: dict[str, range], times: Optional[int], is_series: bool
) -> dict[str, str]:
    """For each variable that has one, the name of the dimension that counts the records."""
    count = {name: len(each) for name, each in numbers.items() if len(each) > 1}
    if TIME in first:
        if first[TIME].ndim == 0 and (TIME in count or is_series):
            times = len(numbers[TIME])
        elif TIME not in count and first[TIME].ndim == 1:
            times = first[TIME].shape[0]
    if is_series and times == 1:
        used = {dim for dataset in first.values() for dim in dataset.dims}
        for name, dataset in first.items():
            # Coordinates of other dimensions do not depend on time.
            if len(numbers[name]) == 1 and not (dataset.ndim == 1 and name in used) and not is_static(dataset):
                count[name] = 1
    others = {n for n in count.values() if n != times}
    named = {}
    for name, n in count.items():
        common = TIME if n == times else _RECORD if len(others) == 1 else ""
        named[name] = common if common and common not in first[name].dims else f"{name}_{_RECORD}"
    return named


def _dims(name: str, dataset: Dataset, counting: Optional[str]) -> tuple[str, ...]:
    """The names of all dimensions. A dimension without a name in the file, or whose name also belongs to one of another
    size, is named after the variable."""
    dims = [] if counting is None else [counting]
    sizes: dict[str, int] = {}
    for d, (dim, n) in enumerate(zip(dataset.dims, dataset.shape)):
        is_own = dim and dim != counting and sizes.setdefault(dim, n) == n
        dims.append(dim if dim and is_own else f"{name}_dim_{d}")
    return tuple(dims)


def _name_coordinates(dims: dict[str, tuple[str, ...]], first: dict[str, Dataset], counting: dict[str, str]) -> None:
    """If a variable has the name and size of a dimension, and its own dimension has no name, gives it that
    dimension."""
    sizes: dict[str, int] = {}
    for name, dataset in first.items():
        shape = dataset.shape
        sizes.update(zip(dims[name][-len(shape) :] if shape else (), shape))
    counted = set(counting.values())
    for name, dataset in first.items():
        if name in counting or dataset.dims != (None,):
            continue
        if name in sizes and sizes[name] == dataset.shape[0] or name == TIME and name in counted:
            dims[name] = (name,)


def _common(records: Sequence[Dataset]) -> dict[str, Any]:
    attrs = dict(records[0].attrs)
    for other in records[1:]:
        theirs = other.attrs
        # In lists, the NaN of attributes, which is one object, is equal to itself.
        attrs = {key: value for key, value in attrs.items() if key in theirs and [theirs[key]] == [value]}
    return attrs


def _expect_sizes(made: Sequence[Variable]) -> None:
    """Checks that each dimension has one size, and no variable without dimensions has its name: xarray allows
    neither."""
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
