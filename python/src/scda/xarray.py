"""``import scda.xarray`` adds writing to datasets and trees of xarray: ``ds.scda.to_scda("x.scda")``.
The engine, ``xarray.open_dataset("f.scda", engine="scda")``, needs no import. It presents a file as follows:

Variables are the datasets that are in no group, or with ``group="flow"`` those directly in this group;
``xarray.open_datatree`` opens all groups.

Dimensions have the names in the file. Dimension k of ``rho`` is called ``rho_dim_k`` if it has no name, or has the name
of another dimension of ``rho`` with another size. If a dimension has different sizes in different datasets, that is a
ValueError.

Coordinates of a dimension are the one-dimensional datasets with its name, in this group or an enclosing one; their own
dimension may have no name, if its size fits. CF conventions apply; a floating-point fill value other than 0 is a
missing value.

Records become the first dimension of a variable if a name has several: ``time`` if ``time`` has as many numbers;
otherwise ``record`` or, if the numbers of records differ, ``rho_record``. ``record=k`` opens only record k of each such
name, which is necessary if shapes or types differ.

Several files: ``xarray.open_mfdataset("step*.scda", engine="scda")`` joins them in the order of ``time``, a dataset
without dimensions: variables with a single record have the dimension ``time``, of size 1, which ``record=0`` removes.
They do not have it in files that ``to_scda`` wrote from ``ds.isel(time=0)``, because what was written is read. In that
case, and without ``time``, use ``combine="nested", concat_dim="time"``.

Other formats: ``ds.to_netcdf("out.nc")``, ``ds.to_zarr("out.zarr")``. Attributes that NetCDF cannot have become JSON
text. The attribute ``scda_json`` names them, so that ``scda import`` can restore them. NetCDF has no raw bytes, no
``float16`` and, without ``auto_complex=True``, no complex numbers: leave them out with ``drop_vars``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Optional

import xarray

from . import _xarray_writing
from ._writer import append, create

__all__ = ["ArrayAccessor", "DatasetAccessor", "TreeAccessor"]


@xarray.register_dataset_accessor("scda")
class DatasetAccessor:
    """The methods of ``ds.scda`` for a dataset of xarray."""

    def __init__(self, ds: xarray.Dataset) -> None:
        self._ds = ds

    def to_scda(
        self,
        path: Any,
        *,
        mode: str = "w",
        group: str = "/",
        append_dim: Optional[str] = None,
        encoding: Optional[Mapping[str, Mapping[str, Any]]] = None,
        **options: Any,
    ) -> None:
        """Writes the dataset to a file. Variables of dask are computed on all cores, one after another, and records one
        time step at a time, to save memory.

        Args:
            path: the file.
            mode: ``"w"`` replaces the file; ``"a"`` adds what the file does not have; what it has must be the same.
            group: the group for the variables.
            append_dim: the dimension along which the dataset is appended to an existing file; it must be the first one
                of each variable that has it. These variables must be the same in file and dataset; those of the file
                get new rows, and keep their attributes and encoding. Other variables must be as in the file, or new.
                Attributes of the dataset replace those in the file. Along ``"time"``, a new file has a record for each
                step. Texts are of any length, unless ``encoding`` gives their dtype. A number that does not fit the
                type or packing in the file, and dates of another calendar, are a ValueError. On an error, the file
                stays as it is.
            encoding: as for :meth:`scda.Writer.xarray`.
            options: options of :func:`scda.create`, or of :func:`scda.append` if the file exists and is kept.

        >>> import scda.xarray, xarray
        >>> for step in range(3):
        ...     rho = xarray.DataArray(np.full((1, 4), float(step)), dims=("time", "x"), coords={"time": [0.5 * step]})
        ...     rho.to_dataset(name="rho").scda.to_scda("steps.scda", append_dim="time")
        >>> with xarray.open_dataset("steps.scda", engine="scda") as ds:
        ...     ds.rho.dims, ds.rho[:, 0].values.tolist(), ds.time.values.tolist()
        (('time', 'x'), [0.0, 1.0, 2.0], [0.0, 0.5, 1.0])
        """
        if mode not in ("w", "a"):
            raise ValueError(f'mode: found {mode!r}, expected "w" or "a"')
        is_kept = (mode == "a" or append_dim is not None) and os.path.exists(path)
        present = _present(path, group, append_dim) if is_kept else None
        try:
            given = encoding or {}
            ds = self._ds
            if append_dim is None and present is not None:
                old = present.ds
                both = set(old.variables) & set(ds.variables)
                odd = sorted(str(name) for name in both if not ds[name].variable.equals(old[name].variable))
                if odd:
                    raise ValueError(f"mode: found {odd[0]!r} in the file already; append_dim= adds to variables")
                ds = ds.drop_vars(both)
            with append(path, **options) if is_kept else create(path, **options) as w:
                if append_dim is None:
                    series = present.variables.get("time") if present is not None else None
                    _xarray_writing.write(w, ds, group, given, is_series=series is not None and series.has_records)
                else:
                    _xarray_writing.write_along(w, ds, append_dim, group, given, present)
        finally:
            if present is not None:
                present.ds.close()


@xarray.register_dataarray_accessor("scda")
class ArrayAccessor:
    """The methods of ``array.scda`` for an array of xarray."""

    def __init__(self, array: xarray.DataArray) -> None:
        self._array = array

    def to_scda(self, path: Any, **options: Any) -> None:
        """Writes the array, which needs a name, like :meth:`DatasetAccessor.to_scda`; ``xarray.open_dataarray`` opens
        it."""
        if self._array.name is None:
            raise ValueError("to_scda: found an array without a name; give it one with array.rename('rho')")
        self._array.to_dataset().scda.to_scda(path, **options)


@xarray.register_datatree_accessor("scda")
class TreeAccessor:
    """The methods of ``tree.scda`` for a tree of xarray."""

    def __init__(self, tree: xarray.DataTree) -> None:
        self._tree = tree

    def to_scda(self, path: Any, *, encoding: Optional[Mapping[str, Mapping[str, Any]]] = None, **options: Any) -> None:
        """Writes the tree to a new file, each node as a group. A subtree is written as a tree of its own, with the
        coordinates that its root inherits.

        Args:
            path: the file.
            encoding: for the path of a node, what :meth:`scda.Writer.xarray` takes for it.
            options: options of :func:`scda.create`.
        """
        given = {key.strip("/"): value for key, value in (encoding or {}).items()}
        nodes = {node.relative_to(self._tree).strip("/.") if node is not self._tree else "": node for node in self._tree.subtree}
        others = sorted(set(given) - set(nodes))
        if others:
            raise ValueError(f"encoding: found {others[0]!r}, which is not a node of the tree")
        with create(path, **options) as w:
            for name, node in nodes.items():
                _xarray_writing.write(w, node.to_dataset(inherit=node is self._tree), name or "/", given.get(name, {}))


def _present(path: Any, group: str, along: Optional[str]) -> Optional[_xarray_writing.Present]:
    """The present content of the group; None if it has none."""
    from ._xarray import Backend  # imported here, because it imports this module

    return Backend().present(path, group, along)
