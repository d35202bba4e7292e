"""The engine ``scda`` of xarray, which imports this module when the engine is used."""

from __future__ import annotations

import os
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional, TypeVar, Union

import numpy as np
from xarray import Variable as XarrayVariable
from xarray.backends import (
    AbstractDataStore,
    BackendArray,
    BackendEntrypoint,
    CachingFileManager,
    StoreBackendEntrypoint,
)
from xarray.core import indexing

from . import xarray as _accessors  # noqa: F401 -- registers them
from ._attributes import with_json
from ._dataset import Dataset
from ._errors import UsageError
from ._file import File, open
from ._group import Group
from ._selection import select
from ._source import is_address
from ._variables import DIMENSIONS, MAX_SHAPE, Variable, has_fill_attribute, is_static, max_shape, with_coordinates, without_mark
from ._xarray_writing import Present, Stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Found = TypeVar("_Found")


class Backend(BackendEntrypoint):
    """``xarray.open_dataset("f.scda", engine="scda")``: the datasets of a file, read lazily."""

    description = "Open scda files (.scda): their datasets"
    supports_groups = True
    open_dataset_parameters = (
        "filename_or_obj",
        "mask_and_scale",
        "decode_times",
        "concat_characters",
        "decode_coords",
        "drop_variables",
        "use_cftime",
        "decode_timedelta",
        "group",
        "record",
        "storage_options",
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        return isinstance(filename_or_obj, (str, os.PathLike)) and os.fspath(filename_or_obj).endswith(".scda")

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: Union[str, Iterable[str], None] = None,
        group: str = "/",
        record: Optional[int] = None,
        storage_options: Optional[dict[str, Any]] = None,
        **decoders: Any,
    ) -> Any:
        decoders.update(drop_variables=drop_variables, group=group, record=record, storage_options=storage_options)
        dataset = self._open(filename_or_obj, **decoders)
        if not dataset.variables:
            with open(dataset.encoding["source"], storage_options=storage_options) as file:
                found = Group(file, (group or "/").strip("/") or "/")
                groups = sorted({found._prefix + name.rpartition("/")[0] for name in found._datasets() if "/" in name})
            if groups:
                what = f"found datasets only in groups below {group!r}, such as {groups[0]!r}; group= opens one of them"
                warnings.warn(f"{dataset.encoding['source']}: {what}, open_datatree all", stacklevel=3)
        return dataset

    def _open(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: Union[str, Iterable[str], None] = None,
        group: str = "/",
        record: Optional[int] = None,
        storage_options: Optional[dict[str, Any]] = None,
        **decoders: Any,
    ) -> Any:
        if not isinstance(filename_or_obj, (str, os.PathLike)):
            raise TypeError(f"engine scda: found {type(filename_or_obj).__name__}, expected the path of a file")
        path = os.fspath(filename_or_obj)
        if not is_address(path):
            path = os.path.abspath(os.path.expanduser(path))
        without = [drop_variables] if isinstance(drop_variables, str) else list(drop_variables or ())
        store = _Store(partial(_open, storage_options=storage_options), path, group or "/", record, without)
        if store.others is not None:
            store.close()
            raise ValueError(f"{path}: found no dataset in the group {group!r}, but in {store.others}")
        return self._decoded(store, path, **decoders)

    def present(self, path: Any, group: str, along: Optional[str]) -> Optional[Present]:
        """The present content of a group; None if it has no variables.

        Args:
            along: the dimension along which data will be appended. If it has several indices, variables keep one, with
                arbitrary items.
        """
        store = _Store(_open, os.path.abspath(path), group, None, [], along)
        if not store.own:
            store.close()
            return None
        return Present(self._decoded(store, path), store.own, store.sizes)

    def _decoded(self, store: _Store, path: str, **decoders: Any) -> Any:
        try:
            dataset = StoreBackendEntrypoint().open_dataset(store, **decoders)
        except BaseException:
            store.close()
            raise
        if "time" in dataset and dataset["time"].ndim == 0 and not store.has_static_time:  # the time of a single record
            dataset = dataset.set_coords("time")
            dataset.set_close(store.close)
        dataset.encoding["source"] = path
        return dataset

    def open_groups_as_dict(
        self, filename_or_obj: Any, *, drop_variables: Union[str, Iterable[str], None] = None, **options: Any
    ) -> dict[str, Any]:
        """All groups of the file as datasets, by path, with the variables directly in each."""
        first = options.pop("group", None) or "/"
        path = os.fspath(filename_or_obj)
        name = path if is_address(path) else os.path.expanduser(path)
        with open(name, storage_options=options.get("storage_options")) as file:
            whole = Group(file, first.strip("/") or "/")
            prefix = whole._prefix
            below = [name[len(prefix) :] for name in file._paths() if name.startswith(prefix)]
        # In the order of the file; a group follows its parent.
        paths = {"": None}
        for name in below:
            paths.update((name[:end], None) for end, letter in enumerate(name) if letter == "/")
        opened: dict[str, Any] = {}
        try:
            for path in paths:
                group = f"{prefix}{path}".rstrip("/") or "/"
                opened[f"/{path}"] = self._open(filename_or_obj, drop_variables=drop_variables, group=group, **options)
        except BaseException:
            for dataset in opened.values():
                dataset.close()
            raise
        return opened

    def open_datatree(self, filename_or_obj: Any, **options: Any) -> Any:
        """``xarray.open_datatree("f.scda", engine="scda")``: all groups."""
        from xarray import DataTree

        return DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, **options))


def _open(path: str, mode: str = "r", storage_options: Optional[dict[str, Any]] = None) -> File:
    """Opens a file for xarray's manager of files. It needs a mode, or what it pickles could not be opened again."""
    assert mode == "r"
    return open(path, storage_options=storage_options)


def _with_file(manager: Any, path: str, read: Callable[[File], _Found]) -> _Found:
    """Calls `read` with the file. xarray keeps some files open, and may close one that another thread is using: then
    the file is opened for this thread alone."""
    file = manager.acquire()
    try:
        return read(file)
    except UsageError:
        if not file.closed:
            raise
    with manager._opener(path) as own:
        return read(own)


class _Store(AbstractDataStore):
    """The store that xarray decodes."""

    def __init__(
        self,
        opener: Callable[..., File],
        path: str,
        group: str,
        record: Optional[int],
        without: list[str],
        along: Optional[str] = None,
    ) -> None:
        # The groups with datasets, if there are none below this one.
        self.others: Optional[list[str]] = None
        # The variables of the group itself.
        self.own: dict[str, Stored] = {}
        # The number of indices of each dimension in the file.
        self.sizes: dict[str, int] = {}
        # True if the variable `time` does not belong to a record.
        self.has_static_time = False
        # The manager keeps the path, so that another process can open the file.
        self._manager = CachingFileManager(opener, path, mode="r")
        try:
            self._attrs, self._variables, self._unlimited = _with_file(
                self._manager, path, lambda file: self._found(file, path, group, record, without, along)
            )
        except BaseException:
            self._manager.close()
            raise

    def _found(
        self, file: File, path: str, group: str, record: Optional[int], without: list[str], along: Optional[str]
    ) -> tuple[dict[str, Any], dict[str, Any], set[str]]:
        """The attributes, the variables, and the unlimited dimensions."""
        found = Group(file, group.strip("/") or "/")
        attrs = dict(found.attrs)
        if not any(each.startswith(found._prefix) for each in file._paths()) and found.name != "/":
            self.others = sorted({name.rpartition("/")[0] for name in file._datasets()} - {""})
        made = with_coordinates(file, found.name, record, without, is_outline=along is not None)
        self.own = {v.name: Stored(v.has_records, v.dataset.fill_value) for prefix, v in made if prefix == found._prefix}
        self.has_static_time = any(is_static(each.dataset) for _, each in made if each.name == "time")
        self.sizes = {dim: n for _, each in made for dim, n in zip(each.dims, each.shape)}
        shortened = along if self.sizes.get(along or "", 0) > 1 else None
        found_variables = {each.name: _variable(self._manager, path, prefix, each, shortened) for prefix, each in made}
        if isinstance(attrs.get(DIMENSIONS), dict):
            del attrs[DIMENSIONS]
        unlimited = {dim for _, each in made for dim, most in zip(each.dims, max_shape(each)) if most is None}
        return with_json(attrs), found_variables, unlimited

    def get_encoding(self) -> Any:
        return {"unlimited_dims": self._unlimited}

    def get_variables(self) -> Any:
        return self._variables

    def get_attrs(self) -> Any:
        return self._attrs

    def close(self) -> None:
        self._manager.close()


def _variable(manager: Any, path: str, prefix: str, variable: Variable, shortened: Optional[str]) -> Any:
    """The variable; in the shortened dimension, it is one index long."""
    dataset, attrs = variable.dataset, dict(variable.attrs)
    encoding = {"source": path, "original_shape": variable.shape, "dtype": dataset.dtype}
    chunks = variable.chunks
    if chunks is not None:
        most = (max(n, 1) for n in variable.shape)
        own = tuple(min(n, m) for n, m in zip(chunks, most))
        encoding["preferred_chunks"] = dict(zip(variable.dims, own))
        if dataset.chunks is not None:
            # `Writer.xarray` uses these names to compress in the same way, and `to_netcdf` those of NetCDF as well as
            # it can.
            is_ = dataset._description
            encoding.update(chunksizes=own, codec=is_.codec, level=is_.level, shuffle=is_.shuffle, zlib=True)
            if is_.level is not None:
                encoding["complevel"] = is_.level
    # Not for other types, which masking would change.
    if has_fill_attribute(variable):
        attrs.setdefault("_FillValue", float(dataset.fill_value))
    if isinstance(attrs.get(MAX_SHAPE), list):
        del attrs[MAX_SHAPE]
    attrs = with_json(without_mark(attrs), dataset.dtype)
    if shortened in variable.dims:
        item = np.zeros((), dataset.dtype) if not dataset.dtype.hasobject else np.full((), dataset.fill_value, object)
        shape = [1 if dim == shortened else n for dim, n in zip(variable.dims, variable.shape)]
        return XarrayVariable(variable.dims, np.broadcast_to(item, shape), attrs, encoding)
    data = indexing.LazilyIndexedArray(_Array(manager, path, prefix, variable))
    return XarrayVariable(variable.dims, data, attrs, encoding)


class _Array(BackendArray):
    """The items of a variable, read when it is indexed. Its only state is the name and what was found at first."""

    def __init__(self, manager: Any, path: str, prefix: str, variable: Variable) -> None:
        self._manager = manager
        self._path = path
        self._name = prefix + variable.name
        self._records = variable.records
        self._has_records = variable.has_records
        self.shape = variable.shape
        self.dtype = variable.dataset.dtype

    def __getitem__(self, key: Any) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> NDArray[Any]:
        return _with_file(self._manager, self._path, lambda file: self._read_of(file, key))

    def _read_of(self, file: File, key: tuple[Any, ...]) -> NDArray[Any]:
        if not self._has_records:
            return np.asarray(self._record(file, self._records[0]).oindex[key])
        numbers = np.asarray(self._records)[key[0]]
        if numbers.ndim == 0:
            return np.asarray(self._record(file, int(numbers)).oindex[key[1:]])
        shape = select(key[1:], self.shape[1:], is_outer=True).outer_shape
        array = np.empty((len(numbers), *shape), self.dtype)
        for place, number in enumerate(numbers.tolist()):
            array[place] = self._record(file, number).oindex[key[1:]]
        return array

    def _record(self, file: File, number: int) -> Dataset:
        # Looks the name up as bytes, so that it is no pattern.
        dataset: Dataset = file[self._name.encode(), number]
        shape = self.shape[1:] if self._has_records else self.shape
        if dataset.shape != shape or dataset.dtype != self.dtype:
            raise ValueError(
                f"{self._name!r}: found {dataset.dtype} {dataset.shape}, expected {self.dtype} {shape}: the file was "
                "replaced; open it again"
            )
        return dataset
