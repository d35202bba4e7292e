"""Folders of Zarr, imported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda

zarr = pytest.importorskip("zarr", "3")
xr = pytest.importorskip("xarray")


def zarr_folder(path: Path, version: int) -> Any:
    generator = np.random.default_rng(version)
    holes = np.where(generator.random((5, 6)) < 0.3, np.nan, 3.5)
    ds = xr.Dataset(
        {
            "rho": (("time", "y", "x"), generator.random((2, 5, 6)), {"units": "kg", "levels": [1, 2]}),
            "packed": (("y", "x"), holes, {}, {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1}),
            "holes": (("y", "x"), holes, {}, {"_FillValue": 1e20, "chunks": (2, 6)}),
            "flag": ("x", np.arange(6) > 2),
            "name": ("x", np.array(list("abcdéf"), object)),
        },
        coords={"time": np.array(["2000-01-01", "2000-01-02"], "M8[ns]"), "x": np.arange(6.0), "n": 7},
        attrs={"title": "a folder"},
    )
    ds.to_zarr(path, zarr_format=version)
    ds.isel(time=0).to_zarr(path, zarr_format=version, group="deep/er", mode="a")
    return ds


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("version", [2, 3])
def test_a_zarr_folder_is_imported(version: int, tmp_path: Path) -> None:
    ds = zarr_folder(tmp_path / "a.zarr", version)
    assert scda.import_(tmp_path / "a.zarr", tmp_path / "a.scda", strict=True, without=["none"]) == []
    with xr.open_dataset(tmp_path / "a.scda", engine="scda") as found:
        xr.testing.assert_identical(found.drop_attrs(deep=False).assign_attrs(ds.attrs).load(), ds)
        assert found.attrs["title"] == "a folder" and found.holes.encoding["chunksizes"] == (2, 6)
    with xr.open_dataset(tmp_path / "a.scda", engine="scda", group="deep/er") as found:
        xr.testing.assert_identical(found.load(), ds.isel(time=0))
    assert scda.check(tmp_path / "a.scda", strict=True)


def test_arrays_of_zarr_of_all_kinds(tmp_path: Path) -> None:
    root = zarr.open_group(tmp_path / "a.zarr", mode="w")
    arrays: dict[str, Any] = {
        "plain": np.arange(30, dtype=">i4").reshape(10, 3),
        "scalar": np.array(2.5),
        "empty": np.empty((0, 3), "f4"),
        "complex": np.ones(3, "c8") * 1j,
        "struct": np.array([(1, 2.5), (3, 4.5)], [("a", "i4"), ("b", "f8")]),
        "times": np.array(["2000-01-01", "NaT"], "M8[s]"),
    }
    for name, array in arrays.items():
        made = root.create_array(name, shape=array.shape, dtype=array.dtype, chunks=tuple(max(1, n // 2) for n in array.shape), compressors=None)
        made[...] = array
    for name, codec in {"gzip": zarr.codecs.GzipCodec(), "lz4": zarr.codecs.BloscCodec(cname="lz4")}.items():
        root.create_array(f"group/{name}", shape=(10,), dtype="f8", chunks=(4,), compressors=codec)[...] = np.arange(10.0)
    root.create_array("huge", shape=(1 << 40,), dtype="f8", chunks=(1 << 20,))
    root["group"].attrs["of"] = {"what": [1, None]}
    lines = scda.import_(tmp_path / "a.zarr", tmp_path / "a.scda")
    assert len(lines) == 1 and "'huge': found 8796093022208 bytes in a folder of" in lines[0]
    with scda.open(tmp_path / "a.scda") as f:
        for name, array in arrays.items():
            assert f[name].dtype == array.dtype.newbyteorder("=") and f[name][...].tolist() == array.tolist(), name
            assert f[name].chunks is None
        assert f["group"].attrs["of"] == {"what": [1, None]} and f.attrs["imported"]["format"] == "Zarr" and not f.attrs["imported"]["complete"]
        for name, codec in {"gzip": "zlib", "lz4": "lz4"}.items():
            assert f[f"group/{name}"]._description.codec == codec and f[f"group/{name}"].chunks == (4,)
    one = zarr.create_array(tmp_path / "one.zarr", shape=(4,), dtype="i4")
    one[:] = 3
    scda.import_(tmp_path / "one.zarr", tmp_path / "one.scda")
    with scda.open(tmp_path / "one.scda") as f:
        assert f["one"][...].tolist() == [3] * 4


def test_a_zarr_folder_of_a_stranger(tmp_path: Path) -> None:
    """It has no other files of the user's, no pipes, and errors for what is damaged."""
    made = zarr.create_array(tmp_path / "a.zarr", shape=(8,), dtype="u1", chunks=(4,), compressors=None)
    made[:] = 1
    (tmp_path / "secret").write_bytes(b"mine")
    chunk = tmp_path / "a.zarr" / "c" / "1"
    for name in ("link", "pipe"):
        chunk.unlink()
        chunk.symlink_to(tmp_path / "secret") if name == "link" else os.mkfifo(chunk)
        with pytest.raises(scda.FormatError, match="c/1: found a link or a special file"):
            scda.import_(tmp_path / "a.zarr", tmp_path / "a.scda")
    chunk.unlink()
    chunk.write_bytes(b"1")
    with pytest.raises(scda.FormatError, match="'a'"):
        scda.import_(tmp_path / "a.zarr", tmp_path / "a.scda")
    (tmp_path / "a.zarr" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "array"}')
    with pytest.raises(scda.FormatError, match="a.zarr"):
        scda.import_(tmp_path / "a.zarr", tmp_path / "a.scda")
    assert not (tmp_path / "a.scda").exists()
