"""Names and arguments of h5py: those with one clear meaning work; for others, an error tells what to write instead."""

from __future__ import annotations

from typing import Any, Mapping, NoReturn, Optional

# Arguments of h5py's `create_dataset`, and their equivalents here.
_ARGUMENTS = {
    "compression": 'codec="zlib" (or "zstd", "lz4", "pcodec")',
    "compression_opts": "level=",
    "fillvalue": "fill_value=",
    "maxshape": "nothing: rows can be added to any dataset, extends=True adds them",
    "exact": "nothing",
    "scaleoffset": "max_absolute_error=",
    "fletcher32": "nothing: seals have checksums",
    "track_times": "nothing: times are not kept",
    "track_order": "nothing: the order is that of the file",
    "units": 'attrs={"units": ...}',
}
_WRITE = "scda.append(path) adds to a file, scda.create(path) makes one: w.dataset(name, data)"
_OF_DATASET = {
    "T": "d[...].T",
    "value": "d[...]",
    "asstr": "d[...], whose texts are str",
    "fields": "d['a'], d['a', 'b'] or d['a', 3:5] for members of a struct",
    "fillvalue": "d.fill_value",
    "file": "the file that was opened",
    "parent": "the file that was opened, or f['group']",
    "compression": "scda ls --json, or 'codec' in the metadata",
    "id": "d.section",
    "write_direct": _WRITE,
    "resize": "scda.append(path) and w.dataset(name, rows, extends=True), which adds rows",
}
_OF_FILE = {
    **dict.fromkeys(("create_dataset", "require_dataset", "create_group", "require_group", "move", "copy", "flush"), _WRITE),
    "filename": "f.path",
    "mode": "nothing: the file is open for reading",
}
_OF_WRITER = {
    "require_dataset": "w.dataset(name, data)",
    "require_group": "w.group(path, attrs)",
    "create_group": "w.group(path, attrs), or nothing: names such as 'flow/rho' make groups",
    "attrs": "w['/'].attrs for those of the file, w['rho'].attrs for those of a dataset",
    "filename": "w.path",
    "keys": "scda.open(path), which reads",
}


def refuse(arguments: Mapping[str, Any]) -> None:
    """Raises a TypeError for arguments that `Writer.dataset` does not have."""
    for name in arguments:
        hint = f", expected {_ARGUMENTS[name]}" if name in _ARGUMENTS else ""
        raise TypeError(f"{name}: found an argument that dataset() does not have{hint}")


def no_attribute(thing: object, name: str) -> NoReturn:
    """Raises an AttributeError that tells the equivalent of an attribute of h5py."""
    kind = type(thing).__name__
    if kind == "Records":
        found = dict.fromkeys(("attrs", "dtype", "ndim", "shape", "size"), f"those of one record, such as f[name].{name}")
    else:
        found = {"Dataset": _OF_DATASET, "Writer": _OF_WRITER}.get(kind, _OF_FILE)
    raise AttributeError(f"{kind!r} object has no attribute {name!r}" + (f"; instead: {found[name]}" if name in found else ""))


def not_assigned(name: str) -> NoReturn:
    """Raises a TypeError for an assignment to an object that is open for reading."""
    raise TypeError(f"{name}: found an assignment, but the file is open for reading, and its contents cannot change; {_WRITE}")


def arguments_of(
    shape: Any, dtype: Any, data: Any, chunks: Any, compression: Any, compression_opts: Any, shuffle: Any, fillvalue: Any, maxshape: Any
) -> dict[str, Any]:
    """Arguments of `Writer.dataset` that correspond to those of h5py's `create_dataset`."""
    import numpy as np

    if data is None:
        raise ValueError(
            "create_dataset: data is missing, and there is no later assignment: w.dataset(name, data) writes all of an array, "
            "w.dataset(name, shape=shape, boxes=[(start, part), ...]) parts of it"
        )
    found = np.asarray(data) if not hasattr(data, "shape") else data
    if shape is not None and tuple(np.atleast_1d(shape)) != tuple(found.shape):
        found = np.asarray(found).reshape(shape)
    if maxshape is not None and tuple(np.atleast_1d(np.asarray(maxshape, object)))[1:] != tuple(found.shape[1:]):
        raise ValueError(f"maxshape: found {maxshape!r}, but only the first dimension can grow: w.dataset(name, rows, extends=True)")
    level: Optional[int] = compression_opts
    if isinstance(compression, int) and not isinstance(compression, bool):
        compression, level = "gzip", compression
    codec = {"gzip": "zlib", None: None}.get(compression, "")
    if codec == "":
        raise ValueError(f'compression: found {compression!r}, expected "gzip", or in w.dataset codec="zstd", "lz4" or "pcodec"')
    is_cut = codec is not None or chunks not in (None, False) or bool(shuffle)
    return {
        "data": found,
        "dtype": dtype,
        "encode": True if is_cut else None,
        "chunks": None if chunks in (None, True, False) else chunks,
        "codec": codec,
        "level": (4 if level is None else level) if codec else None,  # the default of h5py
        "shuffle": bool(shuffle) if is_cut else None,
        "fill_value": fillvalue,
    }
