"""``import scda.xarray`` gives datasets and trees of xarray what writes them: ``ds.scda.to_scda("x.scda")``.

The engine, ``xarray.open_dataset("f.scda", engine="scda")``, needs no import. What it makes of a file:

Variables are the datasets that are in no group, or with ``group="flow"`` those directly in this group;
``xarray.open_datatree`` opens all groups.

Dimensions have the names in the file; dimension k of ``rho`` without one is ``rho_dim_k``, as is one with the name of another
dimension of ``rho`` that has another size. A dimension with two sizes is a ValueError.

Coordinates of a dimension are the datasets of one dimension that have its name, in this group or one around it; the dimension
itself may be without a name, if its size fits. CF conventions apply; a floating-point fill value other than 0 is a missing value.

Records are the first dimension of a variable if a name has several: ``time`` if ``time`` has as many numbers; otherwise
``record``, or, if several numbers of records remain, ``rho_record``. ``record=k`` opens only record k of each such name,
as it must be where shapes or types differ.

Several files: ``xarray.open_mfdataset("step*.scda", engine="scda")`` joins them in the order of ``time``, a dataset without
dimensions: variables with a single record have the dimension ``time``, of size 1, which ``record=0`` removes. In a file by
``to_scda``, of ``ds.isel(time=0)``, they have not: what was written is read. Then, and without ``time``, use
``combine="nested", concat_dim="time"``.

Writing by others: ``ds.to_netcdf("out.nc")``, ``ds.to_zarr("out.zarr")``. Attributes that NetCDF cannot have are JSON text, named by the
attribute ``scda_json``, from which ``scda import`` restores them. NetCDF has no raw bytes, no ``float16`` and, without
``auto_complex=True``, no complex numbers: ``drop_vars`` leaves them out.
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
    """What a dataset of xarray has as ``ds.scda``."""

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
        """Writes the dataset to a file. Variables of dask are computed on all cores, one after the other; those of records one time
        step at a time, so that memory need not hold more.

        Args:
            path: the file.
            mode: ``"w"`` replaces the file; ``"a"`` adds to it what it has not; what it has must be the same.
            group: where the variables are.
            append_dim: the dimension along which the dataset is added to the file, if there is one: the first one of each variable
                that has it. The variables of the file that have it must be those of the dataset; they get its rows, and keep
                their attributes and encoding. What has not this dimension must be as in the file, or is new. Attributes of the
                dataset replace those in the file. Along ``"time"``, a new file has a record for each step. Texts are of any
                length, unless ``encoding`` gives their dtype. A number that the type or packing in the file cannot hold, and
                dates of another calendar, are a ValueError. On an error, the file stays as it is.
            encoding: as for :meth:`scda.Writer.xarray`.
            options: those of :func:`scda.create`, or if the file exists and is kept those of :func:`scda.append`.

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
                    raise ValueError(f"mode: found another {odd[0]!r} in the file; append_dim= adds to variables")
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
    """What an array of xarray has as ``array.scda``."""

    def __init__(self, array: xarray.DataArray) -> None:
        self._array = array

    def to_scda(self, path: Any, **options: Any) -> None:
        """Writes the array, which needs a name, as :meth:`DatasetAccessor.to_scda` does; ``xarray.open_dataarray`` opens it."""
        if self._array.name is None:
            raise ValueError("to_scda: found an array without a name; array.rename('rho') gives it one")
        self._array.to_dataset().scda.to_scda(path, **options)


@xarray.register_datatree_accessor("scda")
class TreeAccessor:
    """What a tree of xarray has as ``tree.scda``."""

    def __init__(self, tree: xarray.DataTree) -> None:
        self._tree = tree

    def to_scda(self, path: Any, *, encoding: Optional[Mapping[str, Mapping[str, Any]]] = None, **options: Any) -> None:
        """Writes the tree to a new file: each node as a group. A part of a tree is written as a tree of its own, with the coordinates
        that its root inherits.

        Args:
            path: the file.
            encoding: for the path of a node, what :meth:`scda.Writer.xarray` takes for it.
            options: those of :func:`scda.create`.
        """
        given = {key.strip("/"): value for key, value in (encoding or {}).items()}
        nodes = {node.relative_to(self._tree).strip("/.") if node is not self._tree else "": node for node in self._tree.subtree}
        others = sorted(set(given) - set(nodes))
        if others:
            raise ValueError(f"encoding: found {others[0]!r}, which is no node of the tree")
        with create(path, **options) as w:
            for name, node in nodes.items():
                _xarray_writing.write(w, node.to_dataset(inherit=node is self._tree), name or "/", given.get(name, {}))


def _present(path: Any, group: str, along: Optional[str]) -> Optional[_xarray_writing.Present]:
    """What the group has; None: nothing."""
    from ._xarray import Backend  # which imports this module

    return Backend().present(path, group, along)
