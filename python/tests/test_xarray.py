"""The engine ``scda`` of xarray, compared with numpy."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda
from arrays import expect_missing, random_file, random_key, write_missing
from conftest import SECONDS
from test_docs import run_python

xr = pytest.importorskip("xarray")


def opened(path: Path, **options: Any) -> Any:
    return xr.open_dataset(path, engine="scda", **options)


@pytest.mark.parametrize("seal", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_any_array_and_any_index(seal: bool, seed: int, tmp_path: Path) -> None:
    generator = np.random.default_rng(seed)
    arrays = random_file(tmp_path / "f", generator, seal)
    with pytest.warns(UserWarning, match="found datasets only in groups below '/', such as 'a'"):
        assert not opened(tmp_path / "f").variables
    for group in ("a", "/a/"):
        with opened(tmp_path / "f", group=group, decode_cf=False) as ds:
            assert sorted(ds.variables) == sorted(name[2:] for name in arrays)
            for name, array in arrays.items():
                found = ds[name[2:]]
                assert found.shape == array.shape and found.dtype == array.dtype.newbyteorder("=")
                for _ in range(10):
                    key = random_key(generator, array.shape)
                    keys = key if isinstance(key, tuple) else (key,)
                    turned = any(isinstance(k, slice) and (k.step or 1) < 0 for k in keys)
                    # xarray makes no dimensions so, and fails itself with a negative step and no indices.
                    if None in keys or turned and array[key].size == 0:
                        continue
                    expected = array[key].astype(found.dtype)
                    assert found[key].values.tobytes() == expected.tobytes()
                expected = array.astype(found.dtype)
                assert found.values.shape == array.shape and found.values.tobytes() == expected.tobytes()
                if array.ndim:
                    rows = generator.integers(0, max(len(array), 1), 3 if len(array) else 0)
                    assert found[rows].values.tobytes() == expected[rows].tobytes()


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """Three time steps on a grid."""
    path = tmp_path / "series.scda"
    with scda.create(path) as w:
        w.group("/", {"title": "a flow", "version": 2})
        w.group("flow", {"title": "the flow"})
        w.dataset("x", np.arange(6.0), attrs={"units": "m"})
        w.dataset("y", np.arange(4.0), dims=["y"])
        w.dataset("flow/p", np.arange(24).reshape(4, 6), dims=("y", "x"), fill_value=-1)
        w.dataset("free", np.zeros((2, 3)))
        for step in range(3):
            w.dataset("time", 0.5 * step, attrs={"units": "days since 2000-01-01"})
            rho = np.arange(24.0).reshape(4, 6) + step
            rho[1, 2] = 1e30
            attrs = {"units": "kg m-3", "step": step}
            w.dataset("rho", rho, dims=("y", "x"), chunks=(4, 5), attrs=attrs, fill_value=1e30)
    return path


def test_coordinates_records_and_attributes(series: Path) -> None:
    with opened(series) as ds:
        assert ds.attrs == {"title": "a flow", "version": 2}
        sizes = {"x": 6, "y": 4, "free_dim_0": 2, "free_dim_1": 3, "time": 3}
        assert dict(ds.sizes) == sizes and set(ds.coords) == {"x", "y", "time"}
        assert ds.x.attrs == {"units": "m"} and set(ds.data_vars) == {"rho", "free"}
        assert ds.rho.dims == ("time", "y", "x") and ds.rho.attrs == {"units": "kg m-3"}
        assert ds.time.values[1] == np.datetime64("2000-01-01T12:00")
        expected = np.arange(24.0).reshape(4, 6) + np.arange(3.0)[:, None, None]
        expected[:, 1, 2] = np.nan  # the fill value
        np.testing.assert_array_equal(ds.rho.values, expected)
        np.testing.assert_array_equal(ds.rho.sel(time="2000-01-02", x=5.0, method="nearest").values, expected[2, :, 5])
        np.testing.assert_array_equal(ds.rho[::-1, [3, 0], 1:5:2].values, expected[::-1, [3, 0], 1:5:2])
        assert ds.rho.encoding["preferred_chunks"] == {"time": 1, "y": 4, "x": 5}
        assert ds.rho.encoding["_FillValue"] == 1e30 and "_FillValue" not in ds.y.encoding
    with opened(series, mask_and_scale=False, decode_times=False) as ds:
        assert ds.rho.values[0, 1, 2] == 1e30 and ds.time.values.tolist() == [0.0, 0.5, 1.0]
    with opened(series, drop_variables=["rho", "x"]) as ds:
        assert "rho" not in ds and "x" not in ds and "time" in ds
    with opened(series, group="/flow") as ds:
        assert ds.attrs == {"title": "the flow"} and list(ds.data_vars) == ["p"]
        # Integers stay integers.
        assert ds.p.dtype == np.int64 and ds.p.dims == ("y", "x") and "preferred_chunks" not in ds.p.encoding
        # Coordinates of the group around it.
        assert set(ds.coords) == {"x", "y"} and ds.p.sel(x=3.0, y=2.0) == 15
    with opened(series, group="flow", drop_variables="x") as ds:
        assert set(ds.coords) == {"y"}
    with pytest.raises(ValueError, match=r"group 'none', but in \['flow'\]"):
        opened(series, group="none")


def test_a_tree_of_groups(series: Path) -> None:
    with xr.open_datatree(series, engine="scda") as tree:
        assert tree.attrs == {"title": "a flow", "version": 2} and tree["flow"].attrs == {"title": "the flow"}
        assert list(tree.children) == ["flow"] and set(tree.data_vars) == {"rho", "free"}
        assert tree["rho"].dims == ("time", "y", "x") and tree["rho"].values[2, 3, 5] == 25
        assert tree["flow/p"].sel(x=3.0, y=2.0) == 15
    with xr.open_datatree(series, engine="scda", group="flow", drop_variables=["x"]) as tree:
        assert set(tree.data_vars) == {"p"} and set(tree.coords) == {"y"}
    groups = xr.open_groups(series, engine="scda", chunks={})
    assert sorted(groups) == ["/", "/flow"] and groups["/"].rho.chunks == ((1, 1, 1), (4,), (5, 1))
    for each in groups.values():
        each.close()


def test_one_record(series: Path) -> None:
    for record, step in ((1, 1), (-1, 2)):
        with opened(series, record=record) as ds:
            assert ds.rho.dims == ("y", "x") and ds.rho.attrs["step"] == step and ds.rho.values[3, 5] == 23 + step
            assert "time" in ds.coords and ds.time.ndim == 0
    with pytest.raises(ValueError, match="there is no record 3 of 'time'; there are 3"):
        opened(series, record=3)


def test_coordinates_of_groups_around(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("x", [0.0, 1.0, 2.0])
        w.dataset("y", [0.0, 1.0])
        w.dataset("a/y", [5.0, 6.0], dims=["y"])
        w.dataset("z", [[1]], dims=("z", None))
        for step in range(3):
            w.dataset("time", float(step))
            w.dataset("a/b/rho", np.full((2, 3), step), dims=("y", "x"))
            w.dataset("c/rho", np.full((2, 4, 1), step), dims=("y", "x", "z"))
            if step:
                w.dataset("d/rho", np.full(2, step))
    with opened(tmp_path / "f.scda", group="a/b") as ds:
        assert ds.rho.dims == ("time", "y", "x") and set(ds.coords) == {"time", "y", "x"}
        assert ds.y.values.tolist() == [5, 6] and ds.time.values.tolist() == [0, 1, 2]
        assert ds.rho.sel(time=2.0, y=6.0, x=1.0) == 2
    with opened(tmp_path / "f.scda", group="c") as ds:  # of another size, or no coordinates
        assert ds.rho.dims == ("time", "y", "x", "z") and set(ds.coords) == {"time", "y"}
    with opened(tmp_path / "f.scda", group="d") as ds:
        assert ds.rho.dims == ("record", "rho_dim_0") and not ds.coords
    with opened(tmp_path / "f.scda", group="a/b", record=1) as ds:
        assert ds.rho.dims == ("y", "x") and float(ds.time) == 1 and set(ds.coords) == {"time", "y", "x"}
    with opened(tmp_path / "f.scda", group="a/b", drop_variables=["time", "y"]) as ds:
        assert ds.rho.dims == ("record", "y", "x") and set(ds.coords) == {"x"}


def write_step(w: scda.Writer, step: int) -> None:
    w.dataset("time", 0.5 * step, attrs={"units": "days since 2000-01-01"})
    w.dataset("rho", np.full((2, 3), step), dims=("y", "x"))
    w.dataset("flow/mass", float(step))


def write_grid(w: scda.Writer) -> None:
    w.dataset("x", [0.0, 1.0, 2.0])
    w.dataset("y", [0.0, 1.0], dims=["y"])


@pytest.mark.parametrize("counts", [[1, 1, 1], [2, 1], [1, 3, 1]])
def test_a_series_in_several_files(counts: list[int], tmp_path: Path) -> None:
    pytest.importorskip("dask.array")
    paths, steps = [tmp_path / f"{number}.scda" for number in range(len(counts))], iter(range(sum(counts)))
    for path, count in zip(paths, counts):
        with scda.create(path) as w:
            write_grid(w)
            for _ in range(count):
                write_step(w, next(steps))
    days = np.datetime64("2000-01-01T00") + 12 * np.arange(sum(counts)) * np.timedelta64(1, "h")
    for options in ({}, {"combine": "nested", "concat_dim": "time"}, {"parallel": True}):
        with xr.open_mfdataset(paths[:: -1 if not options else 1], engine="scda", **options) as ds:
            assert ds.rho.dims == ("time", "y", "x") and set(ds.coords) == {"time", "y", "x"}
            assert (ds.x.dims, ds.y.dims) == (("x",), ("y",)) and (ds.time.values == days).all()
            assert ds.rho.isel(x=0, y=1).values.tolist() == list(range(len(days)))
            mean = ds.mean("time")
            assert mean.rho.dims == ("y", "x") and (mean.rho.values == (len(days) - 1) / 2).all()
            assert (ds.isel(time=-1).rho.values == len(days) - 1).all()
    with xr.open_mfdataset(paths, engine="scda", group="flow") as ds:
        assert ds.mass.dims == ("time",) and (ds.time.values == days).all() and float(ds.mass.sel(time=days[1])) == 1
    with opened(paths[0], decode_cf=False) as raw, opened(paths[0]) as ds:
        assert raw.time.dtype == np.float64 and xr.decode_cf(raw).identical(ds)


def test_a_file_of_one_step(tmp_path: Path) -> None:
    """It is like one of several; `record=` picks the step, as from several."""
    with scda.create(tmp_path / "f.scda") as w:
        write_grid(w)
        write_step(w, 3)
    with opened(tmp_path / "f.scda") as ds:
        assert dict(ds.sizes) == {"time": 1, "y": 2, "x": 3} and ds.rho.dims == ("time", "y", "x")
        assert ds.rho.encoding["original_shape"] == (1, 2, 3) and ds.rho[0].values.tolist() == [[3] * 3] * 2
    with opened(tmp_path / "f.scda", record=-1) as ds:
        assert ds.rho.dims == ("y", "x") and ds.time.ndim == 0 and "time" in ds.coords
    with opened(tmp_path / "f.scda", drop_variables="time") as ds:
        assert ds.rho.dims == ("y", "x")
    with xr.open_datatree(tmp_path / "f.scda", engine="scda") as tree:
        assert tree["flow/mass"].dims == ("time",) and tree["rho"].dims == ("time", "y", "x")


def odd_attributes(path: Path) -> None:
    with scda.create(path) as w:
        w.group(
            "/", {"imported": {"complete": True}, "on": True, "mixed": [1, "a", None], "title": "a", "names": ["a"]}
        )
        w.group("flow", {"scheme": {"name": "hydro"}})
        write_grid(w)
        for step in range(2):
            write_step(w, step)
        w.dataset("p", np.array([1.0, np.nan, 1e20], "f4"), fill_value=1e20, attrs={"sdf": {"order": 1}, "none": []})
        w.dataset("q", np.array([1, -9, 3]), attrs={"missing_value": -9, "huge": 2**64, "big": 2**63, "nul": "\0"})
        w.dataset("nan", np.array([1.0, np.nan], "f4"), fill_value=np.nan)
        w.dataset("mask", np.array([True, False]))


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf", "zarr"])
def test_what_was_opened_is_written_to_other_files(engine: str, tmp_path: Path) -> None:
    pytest.importorskip({"netcdf4": "netCDF4"}.get(engine, engine))
    odd_attributes(tmp_path / "f.scda")
    out = tmp_path / "out"
    with opened(tmp_path / "f.scda") as ds:
        if engine == "zarr":
            ds.to_zarr(out)
        else:
            ds.to_netcdf(out, engine=engine)
        with xr.open_dataset(out, engine=engine) as again:
            xr.testing.assert_equal(again, ds)
            assert set(again.coords) == set(ds.coords) and again["mask"].dtype == bool
            for name in again.variables:
                assert again[name].dtype == ds[name].dtype
            assert json.loads(again.attrs["imported"]) == {"complete": True} and again.attrs["title"] == "a"
            assert json.loads(again.p.attrs["sdf"]) == {"order": 1} and json.loads(again.attrs["mixed"]) == [
                1,
                "a",
                None,
            ]
    with xr.open_datatree(tmp_path / "f.scda", engine="scda") as tree:
        if engine == "zarr":
            tree.to_zarr(tmp_path / "tree")
        else:
            tree.to_netcdf(tmp_path / "tree", engine=engine)
        with xr.open_datatree(tmp_path / "tree", engine=engine) as again:
            assert again["flow/mass"].values.tolist() == [0, 1]
            assert json.loads(again["flow"].attrs["scheme"]) == {"name": "hydro"}
    if engine != "zarr":  # and from there to scda, which has the attributes as they were
        from scda._import import convert

        convert(str(out), str(tmp_path / "g.scda"), tell=pytest.fail)
        with scda.open(tmp_path / "g.scda") as f:
            assert f.attrs["on"] is True and f.attrs["mixed"] == [1, "a", None] and f["p"].attrs["sdf"] == {"order": 1}
            assert f["q"].attrs["huge"] == 2**64 and f["q"].attrs["big"] == 2**63 and f["q"].attrs["nul"] == "\0"


@pytest.mark.parametrize("names", [["imported"], ["imported", "on"]])
@pytest.mark.parametrize("options", [{"engine": "netcdf4"}, {"engine": "h5netcdf"}])
def test_json_attributes_come_back_from_netcdf(options: dict[str, str], names: list[str], tmp_path: Path) -> None:
    """Also a single one."""
    pytest.importorskip("netCDF4" if options["engine"] == "netcdf4" else "h5netcdf")
    from scda._import import convert

    attrs = {"imported": {"complete": True}, "on": True}
    attrs = {"title": "a", "count": 2, **{name: attrs[name] for name in names}}
    with scda.create(tmp_path / "f.scda") as w:
        w.group("/", attrs)
        w.dataset("u", np.arange(3.0), attrs={"sdf": {"order": 0}, "units": "m"})
    with opened(tmp_path / "f.scda") as ds:
        ds.to_netcdf(tmp_path / "f.nc", **options)
    convert(str(tmp_path / "f.nc"), str(tmp_path / "g.scda"), tell=pytest.fail)
    with scda.open(tmp_path / "g.scda") as f:
        assert {name: value for name, value in f.attrs.items() if name not in ("imported", "scda_types")} == {
            name: value for name, value in attrs.items() if name != "imported"
        }
        found = {name: value for name, value in f["u"].attrs.items() if name != "scda_types"}
        assert np.isnan(found.pop("_FillValue")) and found == {"sdf": {"order": 0}, "units": "m"}


@pytest.mark.parametrize("ending", ["nc", "h5", "npz", "sdf"])
def test_what_was_imported_is_written_to_netcdf(ending: str, tmp_path: Path) -> None:
    pytest.importorskip("h5netcdf")
    pytest.importorskip("zarr")
    path, out = tmp_path / f"f.{ending}", tmp_path / "f.scda"
    if ending == "sdf":
        # As the command's import writes it.
        with scda.create(out) as w:
            w.group("/", {"imported": {"format": "SDF", "complete": True, "arrays": 1}})
            w.dataset("u", np.arange(3.0), attrs={"sdf": {"order": 0, "label": "u", "dims": [3]}})
    else:
        from scda._import import convert

        if ending == "npz":
            np.savez(path, u=np.arange(3.0))
        else:
            xr.Dataset({"u": ("x", np.arange(3.0)), "x": [0, 1, 2]}).to_netcdf(path, engine="h5netcdf")
        convert(str(path), str(out), tell=pytest.fail)
    with opened(out) as ds:
        ds.to_netcdf(tmp_path / "again.nc", engine="h5netcdf")
        ds.to_zarr(tmp_path / "again.zarr")
        for again in (xr.open_dataset(tmp_path / "again.nc"), xr.open_dataset(tmp_path / "again.zarr", engine="zarr")):
            xr.testing.assert_equal(again, ds)
            assert json.loads(again.attrs["imported"])["complete"] is True
            again.close()


def test_records_that_differ(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f.scda") as w:
        for n in (3, 5):
            w.dataset("cells", np.arange(n))
            w.dataset("level", np.zeros(2, f"f{n + 1 & ~3}"))
        w.dataset("origin", [0.0, 1.0])
    with pytest.raises(ValueError, match=r"'cells'.*int64 \(5,\) in record 1.*record=.*drop_variables=\['cells'\]"):
        opened(tmp_path / "f.scda", drop_variables="level")
    with opened(tmp_path / "f.scda", drop_variables=["cells", "level"]) as ds:
        assert list(ds.variables) == ["origin"]
    with opened(tmp_path / "f.scda", record=1) as ds:
        assert ds.cells.values.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.filterwarnings("ignore:Duplicate dimension names")
def test_other_counts_of_records(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("time", [0.0, 0.1, 0.2])
        for k in range(6):
            w.dataset("b", np.full(2, k), dims=["time"])
            w.dataset("c", float(k))
            if k % 2:
                w.dataset("a", np.full((2, 2), k), dims=("z", "z"))
    with opened(tmp_path / "f.scda", drop_variables="b") as ds:
        assert ds.a.dims == ("time", "z", "z") and ds.c.dims == ("record",)
        assert ds.time.dims == ("time",) and ds.c.values.tolist() == list(range(6))
        assert ds.a.values[:, 0, 0].tolist() == [1, 3, 5]
    with opened(tmp_path / "f.scda", drop_variables=["a", "time"]) as ds:
        assert ds.b.dims == ("record", "time")
    with opened(tmp_path / "f.scda", drop_variables=["b", "time"]) as ds:
        assert ds.a.dims == ("a_record", "z", "z") and ds.c.dims == ("c_record",)
    with pytest.raises(ValueError, match=r"dimension 'time': found 3 indices in 'time' and 2 in 'b'.*group="):
        opened(tmp_path / "f.scda")


def test_a_single_item_named_as_a_dimension(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("x", 1.0)
        w.dataset("a", [1.0, 2.0], dims=["x"])
    with pytest.raises(ValueError, match="dimension 'x': found a dataset of this name without dimensions"):
        opened(tmp_path / "f.scda")


def test_fill_values(tmp_path: Path) -> None:
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("zero", [0.0, 1.0])
        w.dataset("nan", np.array([0.0, np.nan], "f4"), fill_value=np.nan)
        w.dataset("given", [0.0, -9.0], attrs={"_FillValue": -9.0}, fill_value=0)
        w.dataset("text", [0.0, np.nan], attrs={"_FillValue": "NaN"})
        w.dataset("integers", [-9, 1], attrs={"_FillValue": -9})
    with opened(tmp_path / "f.scda") as ds:
        assert ds.zero.values.tolist() == [0.0, 1.0] and "_FillValue" not in ds.zero.encoding
        assert ds.nan.dtype == np.float32 and np.isnan(ds.nan.values).tolist() == [False, True]
        assert np.isnan(ds.given.values).tolist() == np.isnan(ds.text.values).tolist() == [False, True]
        assert np.isnan(ds.integers.values).tolist() == [True, False]


@pytest.mark.filterwarnings("ignore:variable 'several' has multiple fill values")
def test_missing_values_are_of_the_type_of_the_data(tmp_path: Path) -> None:
    """Numbers of JSON are doubles, which single precision does not equal."""
    write_missing(tmp_path / "f.scda")
    with opened(tmp_path / "f.scda") as ds:
        expect_missing(ds)
        assert ds.several.encoding["missing_value"].dtype == np.float32
        assert np.isinf(ds.infinite.values).tolist() == [True, False, False]  # no item equals 1e300


def test_a_file_that_xarray_closes_while_it_is_read(series: Path, tmp_path: Path) -> None:
    """It keeps a limited number of files open, and closes that of another thread for the next one."""
    paths = [tmp_path / f"{number}.scda" for number in range(2)]
    for number, path in enumerate(paths):
        with scda.create(path) as w:
            w.dataset("u", np.full((40, 1000), number), chunks=(4, 1000))
    failed: list[BaseException] = []

    def read(number: int) -> None:
        try:
            for turn in range(60):
                u = found[number].u.variable
                assert (u[turn % 40].values == number).all() and (u[:20].values == number).all()
        except BaseException as error:
            failed.append(error)

    with xr.set_options(file_cache_maxsize=1), opened(paths[0]) as first, opened(paths[1]) as second:
        found = [first, second]
        threads = [threading.Thread(target=read, args=(number % 2,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failed == []


def test_chunks_of_dask(series: Path, tmp_path: Path) -> None:
    pytest.importorskip("dask.array")
    array = np.random.default_rng(1).random((50, 30))
    with scda.create(tmp_path / "big.scda") as w:
        w.dataset("chunks", array, chunks=(20, 64))
        w.dataset("plain", array)
    with opened(tmp_path / "big.scda", chunks={}) as ds:
        assert ds["chunks"].chunks == ((20, 20, 10), (30,))
        assert ds.plain.chunks == ((50,), (30,))
        for scheduler in ("threads", "synchronous"):
            np.testing.assert_array_equal(ds["chunks"].data.compute(scheduler=scheduler), array)
        # As another process gets it.
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(ds["chunks"].data)).compute(), array)
    with opened(series, chunks={}) as ds:
        assert ds.rho.chunks == ((1, 1, 1), (4,), (5, 1))
        assert float(ds.rho.isel(x=0).mean()) == 10.0 - 1 / 3 + 1 / 3
        two = xr.open_mfdataset([series, series], engine="scda", combine="nested", concat_dim="run", chunks={})
        assert two.rho.shape == (2, 3, 4, 6) and float(two.rho.max()) == 25.0
        two.close()


def test_another_process_opens_it_by_its_path(series: Path, tmp_path: Path) -> None:
    with opened(series) as ds:
        (tmp_path / "pickle").write_bytes(pickle.dumps(ds))
    program = "import pickle, sys; print(float(pickle.load(open(sys.argv[1], 'rb')).rho[2, 3, 5]))"
    command = [sys.executable, "-c", program, str(tmp_path / "pickle")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=os.environ)
    assert done.stdout == "25.0\n", done.stderr


def test_threads_read_at_the_same_time(series: Path) -> None:
    with opened(series, mask_and_scale=False) as ds:
        expected = ds.rho.values
        wrong = []

        def read(number: int) -> None:
            for turn in range(50):
                k, row = (number + turn) % 3, turn % 4
                if not np.array_equal(ds.rho.variable[k, row].values, expected[k, row]):
                    wrong.append((k, row))

    with opened(series, mask_and_scale=False) as ds:
        threads = [threading.Thread(target=read, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_a_file_that_was_replaced(series: Path) -> None:
    with opened(series) as ds:
        again = pickle.loads(pickle.dumps(ds))
    with scda.create(series) as w:
        for _ in range(3):
            w.dataset("rho", np.zeros((2, 2)))
    with pytest.raises(
        ValueError, match=r"'rho': found float64 \(2, 2\), expected float64 \(4, 6\): the file was repl"
    ):
        again.rho.load()


def test_nothing_is_read_before_it_is_used(series: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    original = scda.Dataset._read

    def reading(self: Any, *more: Any) -> Any:
        read.append(self.name)
        return original(self, *more)

    monkeypatch.setattr(scda.Dataset, "_read", reading)
    with opened(series, decode_times=False) as ds:
        assert sorted(set(read)) == ["time", "x", "y"]  # the indices
        read.clear()
        ds.rho[1, 2].load()
        assert read == ["rho"]


def test_what_it_opens(series: Path, tmp_path: Path) -> None:
    assert xr.backends.list_engines()["scda"].guess_can_open(series)
    assert not xr.backends.list_engines()["scda"].guess_can_open("a.nc")
    xr.open_dataset(series).close()  # by its name
    with pytest.raises(FileNotFoundError, match="none.scda"):
        opened(tmp_path / "none.scda")
    (tmp_path / "text.scda").write_text("no such file\n")
    with pytest.raises(scda.FormatError, match="not an scda file"):
        opened(tmp_path / "text.scda")
    with pytest.raises(TypeError, match="expected the path"), open(series, "rb") as file:
        opened(file)  # type: ignore[arg-type]


def test_scda_alone_imports_no_xarray() -> None:
    program = "import sys, scda; print([name for name in sys.modules if name.startswith(('xarray', 'pandas', 'dask'))])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS)
    assert done.stdout == "[]\n", done.stderr


def test_the_page(folder: Path) -> None:
    assert run_python("docs/python.md", "xarray") == 1


def test_encoding_goes_both_ways(tmp_path: Path) -> None:
    times = np.array(["2000-01-01", "2000-01-02"], "M8[ns]")
    u = np.linspace(0, 7, 2 * 30 * 20, dtype="f4").reshape(2, 30, 20)
    packed = {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1}
    ds = xr.Dataset(
        {
            "u": (("time", "y", "x"), u, {"units": "m s-1"}),
            "mask": (("y", "x"), u[0] > 1),
            "packed": (("y",), np.where(np.arange(30) == 4, np.nan, np.arange(30.0)), {}, packed),
            "n": 7,
        },
        {"time": ("time", times, {}, {"units": "days since 2000-01-01"}), "x": np.arange(20.0)},
        {"title": "ß", "levels": [1, 2]},
    )
    encoding = {"u": {"codec": "pcodec", "level": 6, "chunks": (1, 16, 20)}, "mask": {"codec": "lz4", "shuffle": False}}
    with scda.create(tmp_path / "f.scda") as w:
        w.xarray(ds, "flow", encoding=encoding)
    with opened(tmp_path / "f.scda", group="flow") as again:
        xr.testing.assert_identical(again.load(), ds)
        kept = [again.u.encoding[name] for name in ("codec", "level", "chunksizes")]
        assert kept == ["pcodec", 6, (1, 16, 20)]
        assert (again.mask.encoding["codec"], again.mask.encoding["shuffle"]) == ("lz4", False)
        assert "codec" not in again.n.encoding and "codec" not in again.packed.encoding
        # As it was, and to NetCDF and back.
        with scda.create(tmp_path / "g.scda") as w:
            w.xarray(again, "flow")
        again.to_netcdf(tmp_path / "f.nc", engine="h5netcdf")
        # A part of it has chunks of its own.
        with scda.create(tmp_path / "part.scda") as w:
            w.xarray(again.isel(y=slice(3, 9), time=0))
    assert (tmp_path / "g.scda").read_bytes() == (tmp_path / "f.scda").read_bytes()
    with opened(tmp_path / "part.scda") as part:
        assert part.u.encoding["codec"] == "pcodec" and np.array_equal(part.u.values, u[0, 3:9])
    with xr.open_dataset(tmp_path / "f.nc", engine="h5netcdf") as nc:
        assert nc.u.encoding["chunksizes"] == (1, 16, 20) and nc.u.encoding["zlib"] and nc.u.encoding["complevel"] == 6
        with scda.create(tmp_path / "h.scda") as w:
            w.xarray(nc, encoding={"u": {"max_relative_error": 1e-3}})
    with opened(tmp_path / "h.scda") as rounded:
        assert rounded.u.encoding["codec"] == "zstd" and rounded.u.encoding["chunksizes"] == (1, 16, 20)
        assert rounded.u.attrs["scda_max_relative_error"] == 1e-3
        np.testing.assert_allclose(rounded.u.values, u, rtol=1e-3)
    with scda.create(tmp_path / "bad.scda") as w:
        with pytest.raises(ValueError, match="found 'v', which is not a variable"):
            w.xarray(ds, encoding={"v": {}})
        with pytest.raises(ValueError, match="encoding of 'u': found 'complvl'"):
            w.xarray(ds, encoding={"u": {"complvl": 4}})


def test_time_steps_are_written_one_by_one(tmp_path: Path) -> None:
    steps = [xr.Dataset({"u": (("x",), np.full(4, float(step)))}, {"time": 0.5 * step}) for step in range(3)]
    with scda.create(tmp_path / "f.scda") as w:
        for step in steps:
            w.xarray(step)
    with opened(tmp_path / "f.scda") as ds:
        assert ds.u.dims == ("time", "x") and ds.u.values.tolist() == [[0.0] * 4, [1.0] * 4, [2.0] * 4]
        assert ds.time.values.tolist() == [0, 0.5, 1]
