"""``import scda.xarray`` gives datasets and trees of xarray what writes them: ``ds.scda.to_scda("x.scda")``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Optional

import xarray

from . import _xarray_writing
from ._file import open as open_scda
from ._group import Group
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
        """Writes the dataset to a file. Variables of dask are computed on all cores; with ``append_dim`` those of one time step
        at a time, so that memory need not hold more.

        Args:
            path: the file.
            mode: ``"w"`` replaces the file; ``"a"`` adds to it what it has not; what it has must be the same.
            group: where the variables are.
            append_dim: ``"time"``: each step of this dimension, which is the first one of each variable that has it, becomes a
                record, behind those that are in the file, if there is one. What has not this dimension is written once; while
                the file has one step, it is read with it. The variables stay encoded as the first step was.
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
        if append_dim not in (None, "time"):
            raise ValueError(f"append_dim: found {append_dim!r}, expected 'time', the dimension that records count")
        is_kept = (mode == "a" or append_dim is not None) and os.path.exists(path)
        old = _opened(path, group, append_dim) if is_kept else None
        try:
            given = encoding or {}
            ds = self._ds
            if append_dim is None and old is not None:
                both = set(old.variables) & set(ds.variables)
                odd = sorted(str(name) for name in both if not ds[name].variable.equals(old[name].variable))
                if odd:
                    raise ValueError(f"mode: found another {odd[0]!r} in the file; append_dim='time' adds time steps")
                ds = ds.drop_vars(both)
            with append(path, **options) if is_kept else create(path, **options) as w:
                if append_dim is None:
                    _xarray_writing.write(w, ds, group, given)
                else:
                    _xarray_writing.write_steps(w, ds, group, given, old)
        finally:
            if old is not None:
                old.close()


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
        """Writes the tree to a new file: each node as a group.

        Args:
            path: the file.
            encoding: for the path of a node, what :meth:`scda.Writer.xarray` takes for it.
            options: those of :func:`scda.create`.
        """
        given = {key.strip("/"): value for key, value in (encoding or {}).items()}
        nodes = {node.path.strip("/"): node for node in self._tree.subtree}
        others = sorted(set(given) - set(nodes))
        if others:
            raise ValueError(f"encoding: found {others[0]!r}, which is no node of the tree")
        with create(path, **options) as w:
            for name, node in nodes.items():
                _xarray_writing.write(w, node.to_dataset(inherit=False), name or "/", given.get(name, {}))


def _opened(path: Any, group: str, append_dim: Optional[str]) -> Optional[xarray.Dataset]:
    """What the group has, as a dataset; None: nothing."""
    with open_scda(path) as file:
        found = Group(file, group.strip("/") or "/")
        names = [name for name in found._datasets() if "/" not in name]
        whole = [name for name in names if append_dim is not None and append_dim in found.records(name)[0].dims]
        if whole:
            raise ValueError(
                f"append_dim: found {whole[0]!r} in the file with all steps in one dataset, expected a record for each: "
                f"write the first steps with append_dim={append_dim!r}, too"
            )
        if not names:
            return None
    return xarray.open_dataset(path, engine="scda", group=group)
