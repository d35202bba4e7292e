"""``ds.scda.to_scda``: what is written is read as an identical dataset."""

from __future__ import annotations

import doctest
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda

xr = pytest.importorskip("xarray")

import scda.xarray  # noqa: E402

ENCODING = {
    "packed": {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1},
    "rho": {"codec": "lz4", "chunks": (1, 2, 6)},
    "time": {"units": "hours since 1999-01-01", "dtype": "f8"},
}


def steps(first: int, count: int) -> Any:
    generator = np.random.default_rng(first)
    times = np.datetime64("2000-01-01", "ns") + np.timedelta64(6, "h") * np.arange(first, first + count)
    return xr.Dataset(
        {
            "rho": (("time", "y", "x"), generator.random((count, 4, 6)), {"units": "kg m-3"}),
            "packed": (("time", "x"), np.where(generator.random((count, 6)) < 0.2, np.nan, 3.5)),
            "flag": (("time", "y"), generator.random((count, 4)) > 0.5),
            "step": ("time", np.arange(first, first + count)),
            "mask": (("y", "x"), np.arange(24).reshape(4, 6)),
        },
        coords={"time": times, "x": np.arange(6.0), "lat": (("y", "x"), np.ones((4, 6)))},
        attrs={"title": "a flow"},
    )


def opened(path: Path, **options: Any) -> Any:
    return xr.open_dataset(path, engine="scda", **options)


def all_of(*parts: Any) -> Any:
    options = {"data_vars": "minimal", "coords": "minimal", "compat": "override", "combine_attrs": "override"}
    return xr.concat(parts, "time", **options)


@pytest.mark.parametrize("group", ["/", "deep/flow"])
@pytest.mark.parametrize("is_lazy", [False, True])
@pytest.mark.parametrize("counts", [(3, 2, 1), (1, 1, 1), (1, 4)])
def test_time_steps_are_appended(counts: tuple[int, ...], is_lazy: bool, group: str, tmp_path: Path) -> None:
    path, parts = tmp_path / "f.scda", []
    for count in counts:
        parts.append(steps(sum(part.sizes["time"] for part in parts), count))
        ds = parts[-1].chunk({"time": 1, "y": 2}) if is_lazy else parts[-1]
        ds.scda.to_scda(path, append_dim="time", group=group, **({} if len(parts) > 1 else {"encoding": ENCODING}))
        if sum(counts[: len(parts)]) > 1:
            with opened(path, group=group) as found:
                assert found.identical(all_of(*parts))
    with opened(path, group=group) as found:
        assert found.rho.encoding["codec"] == "lz4" and found.rho.encoding["chunksizes"] == (1, 2, 6)
        assert found.packed.encoding["scale_factor"] == 0.5 and found.time.encoding["units"] == "hours since 1999-01-01"
    scda.verify(path)


@pytest.mark.parametrize("dim", ["time", "x"])
def test_steps_are_compressed_as_the_first_one(dim: str, tmp_path: Path) -> None:
    for number in range(3):
        part = xr.Dataset({name: ((dim, "y"), np.full((1, 8), float(number))) for name in "uv"}, coords={dim: [number]})
        encoding = {"v": {"zlib": True, "chunksizes": (1, 4)}} if number == 0 else None
        part.scda.to_scda(tmp_path / "f.scda", append_dim=dim, encoding=encoding)
    with scda.open(tmp_path / "f.scda") as f:
        found = [(f[name, number].chunks if dim == "time" else f[name].chunks) for name in (dim, "u", "v") for number in range(3)]
    assert found == [None] * 6 + [(4,) if dim == "time" else (1, 4)] * 3
    # A copy is compressed likewise, too.
    opened(tmp_path / "f.scda").scda.to_scda(tmp_path / "copy.scda")
    with scda.open(tmp_path / "copy.scda") as f:
        assert [f[name].chunks is None for name in (dim, "u", "v")] == [True, True, False]


def test_what_cannot_be_appended_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    steps(0, 2).scda.to_scda(path, append_dim="time", encoding=ENCODING)
    before, more = path.read_bytes(), steps(2, 1)
    half_minutes = more.assign_coords(time=more.time + np.timedelta64(30, "s"))
    cases: list[tuple[str, Any, dict[str, Any]]] = [
        ("'q' only in the file or only in the dataset", more.rename(rho="q"), {}),
        ("'mask' differs", more.assign(mask=more.mask + 1), {}),
        ("'x' differs", more.assign_coords(x=more.x + 1), {}),
        ("'step': found float64, expected int64", more.assign(step=more.step + 0.5), {}),
        (r"'rho': found float64 \(4, 3\) at an index of 'time'", more.isel(x=slice(3)).drop_vars(["x", "lat", "mask"]), {}),
        ("found 'x' in .* of 'rho', expected it as the first dimension", more, {"append_dim": "x"}),
        ("the dataset has no dimension 'z'", more, {"append_dim": "z"}),
        ("'packed', which is in the file already", more, {"encoding": ENCODING}),
        ("expected it as the first dimension", more.transpose("x", ...), {}),
        ("the dataset has no dimension 'time'", more.isel(time=0), {}),
        ("found 'flag' in the file already", more, {"append_dim": None, "mode": "a"}),
        ("mode: found 'r'", more, {"mode": "r"}),
    ]
    for message, ds, options in cases:
        with pytest.raises(ValueError, match=message):
            ds.scda.to_scda(path, **{"append_dim": "time", **options})
        assert path.read_bytes() == before
    half_minutes.scda.to_scda(path, append_dim="time")  # the type in the file has such times
    with opened(path) as found:
        assert found.time.values[-1] == half_minutes.time.values[0]


@pytest.mark.parametrize("calendar", ["proleptic_gregorian", "noleap"])
@pytest.mark.parametrize("unit", ["h", "D"])
def test_times_are_appended_in_the_units_of_the_file(unit: str, calendar: str, tmp_path: Path) -> None:
    """Those that xarray chooses, whose text it changes when it uses them again."""
    path = tmp_path / "f.scda"
    times = xr.date_range("2000-02-28", periods=9, freq=unit, calendar=calendar, use_cftime=calendar == "noleap")
    ds = xr.Dataset({"u": ("time", np.arange(9.0)), "begin": ("time", times)}, coords={"time": times})
    for first in range(0, 9, 3):
        ds.isel(time=slice(first, first + 3)).scda.to_scda(path, append_dim="time")
        with opened(path) as found:
            xr.testing.assert_identical(found.load(), ds.isel(time=slice(first + 3)))
    before, more = path.read_bytes(), ds.isel(time=[8])
    later = more.assign_coords(time=more.indexes["time"].shift(1, "s"))
    finer = more.assign_coords(time=more.indexes["time"].shift(1, "ms"))
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="'time': found times that need 'milliseconds since .*, expected"):
        finer.scda.to_scda(path, append_dim="time")
    assert path.read_bytes() == before
    later.scda.to_scda(path, append_dim="time")
    with opened(path) as found:
        assert found.time[-1].values == later.time[0].values


def test_appended_steps_keep_their_coordinates(tmp_path: Path) -> None:
    """Those that only variables with steps have, which are written once."""
    ds = xr.Dataset({"u": (("time", "y", "x"), np.arange(24.0).reshape(4, 3, 2))}, coords={"time": np.arange(4.0)})
    ds = ds.assign_coords(lat=(("y", "x"), np.ones((3, 2))), height=2.0)
    for first in range(4):
        ds.isel(time=[first]).scda.to_scda(tmp_path / "f.scda", append_dim="time")
    with opened(tmp_path / "f.scda") as found:
        xr.testing.assert_identical(found.load(), ds)


def test_a_file_is_replaced_or_gets_more(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    steps(0, 3).scda.to_scda(path, user="of a test")
    steps(0, 2).scda.to_scda(path, encoding=ENCODING, level=4)
    with opened(path) as found:
        assert found.identical(steps(0, 2)) and found.rho.encoding["codec"] == "lz4"
    other = xr.Dataset({"u": ("z", [1, 2])}, attrs={"of": "another group"})
    other.scda.to_scda(path, mode="a", group="more")
    with opened(path) as found, opened(path, group="more") as added:
        assert found.identical(steps(0, 2)) and added.identical(other)


def test_a_tree(tmp_path: Path) -> None:
    flow = steps(0, 2)
    nodes = {"/": flow[["mask"]], "/flow": flow.drop_vars("mask"), "/flow/deep": xr.Dataset({"u": ("z", [1.0, 2.0])})}
    tree = xr.DataTree.from_dict(nodes)
    tree.scda.to_scda(tmp_path / "f.scda", encoding={"/flow": ENCODING})
    with xr.open_datatree(tmp_path / "f.scda", engine="scda") as found:
        assert found.identical(tree) and found["flow/rho"].encoding["codec"] == "lz4"
    with pytest.raises(ValueError, match="not a node of the tree"):
        tree.scda.to_scda(tmp_path / "g.scda", encoding={"/none": {}})


def test_files_of_several_steps_are_opened_together(tmp_path: Path) -> None:
    parts = [steps(0, 2), steps(2, 3)]
    for number, part in enumerate(parts):
        part.chunk({"time": 1}).scda.to_scda(tmp_path / f"{number}.scda", encoding=ENCODING)
    options = {"data_vars": "minimal", "coords": "minimal", "compat": "override"}
    with xr.open_mfdataset(str(tmp_path / "*.scda"), engine="scda", combine="by_coords", **options) as found:
        assert found.identical(all_of(*parts)) and hasattr(found.rho.data, "__dask_graph__")
        found.scda.to_scda(tmp_path / "whole", append_dim="time")
    with opened(tmp_path / "whole") as found:
        assert found.identical(all_of(*parts))


def stations(first: int, count: int) -> Any:
    """What is measured at places, of which there may be more later."""
    generator = np.random.default_rng(first)
    begun = np.datetime64("2000-01-01T12:00:00", "ns") + np.timedelta64(1, "D") * np.arange(first, first + count)
    names = np.array([f"number {number}" for number in range(first, first + count)], object)
    return xr.Dataset(
        {
            "rho": (("place", "day"), generator.random((count, 5)), {"units": "kg m-3", "long_name": "density"}),
            "packed": ("place", np.where(generator.random(count) < 0.3, np.nan, 3.5)),
            "flag": ("place", generator.random(count) > 0.5),
            "kind": (("place", "day"), generator.integers(0, 9, (count, 5)).astype("u1")),
            "called": ("place", names),
            "code": ("place", np.array((["AAA", "BB"] * count)[:count], "U3")),
            "begun": ("place", begun),
            "mask": ("day", np.arange(5)),
        },
        coords={"place": np.arange(first, first + count), "day": np.arange(5.0), "lat": ("place", generator.random(count))},
        attrs={"title": "places"},
    )


OF_DAYS = ["day", "mask"]
OF_STATIONS = {
    "packed": {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1},
    "rho": {"codec": "pcodec", "chunks": (2, 3)},
    "begun": {"units": "hours since 1999-01-01", "dtype": "i4"},
}


def rows_of(*parts: Any) -> Any:
    return xr.concat(parts, "place", data_vars="minimal", coords="minimal", compat="override", combine_attrs="override")


@pytest.mark.parametrize("group", ["/", "deep/flow"])
@pytest.mark.parametrize("is_lazy", [False, True])
@pytest.mark.parametrize("is_begun_along", [False, True])
@pytest.mark.parametrize("counts", [(3, 2, 1), (1, 1, 1), (2, 0, 3)])
def test_rows_are_appended(counts: tuple[int, ...], is_begun_along: bool, is_lazy: bool, group: str, tmp_path: Path) -> None:
    """Along any dimension, also to what was written as a whole."""
    path, parts = tmp_path / "f.scda", []
    for count in counts:
        parts.append(stations(sum(part.sizes["place"] for part in parts), count))
        ds = parts[-1].chunk({"place": 1, "day": 2}) if is_lazy else parts[-1]
        options: dict[str, Any] = {} if len(parts) > 1 else {"encoding": OF_STATIONS}
        if len(parts) > 1 or is_begun_along:
            options["append_dim"] = "place"
        ds.scda.to_scda(path, group=group, **options)
        with opened(path, group=group) as found:
            xr.testing.assert_identical(found.load(), rows_of(*parts))
    with opened(path, group=group) as found:
        assert found.rho.encoding["codec"] == "pcodec" and found.rho.encoding["chunksizes"] == (min(2, counts[0]), 3)
        assert found.packed.encoding["scale_factor"] == 0.5 and found.begun.encoding["units"] == "hours since 1999-01-01"
    scda.verify(path)
    with scda.open(path) as f:
        assert len(f.records(f"{group}/rho".strip("/"))) == 1


def test_rows_that_cannot_be_appended_leave_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    stations(0, 2).scda.to_scda(path, encoding=OF_STATIONS)
    before, more = path.read_bytes(), stations(2, 1)
    cases: list[tuple[str, Any, dict[str, Any]]] = [
        ("'q' only in the file or only in the dataset", more.rename(rho="q"), {}),
        ("'flag' only in the file or only in the dataset", more.assign(flag=more.flag[0]), {}),
        ("'mask' differs from the one in the file, and does not have the dimension 'place'", more.assign(mask=more.mask + 1), {}),
        ("'kind': found float64, expected uint8", more.assign(kind=more.kind + 0.5), {}),
        ("'kind': found uint16, expected uint8", more.assign(kind=more.kind.astype("u2")), {}),
        (r"'rho': found float64 \(3,\) at an index of 'place'", more.drop_vars(OF_DAYS).isel(day=slice(3)), {}),
        ("'rho': found the dimensions .*'hour'", more.drop_vars(OF_DAYS).rename(day="hour"), {}),
        ("'code': found <U4, expected <U3", more.assign(code=("place", ["long"])), {}),
        ("'begun': found times that need 'seconds since", more.assign(begun=more.begun + np.timedelta64(1, "s")), {}),
        ("'begun', which is in the file already", more, {"encoding": OF_STATIONS}),
        ("found 'day' in .* of 'rho', expected it as the first dimension", more, {"append_dim": "day"}),
        ("found 'place' in .* of 'rho', expected it as the first dimension", more.transpose("day", ...), {}),
        ("the dataset has no dimension 'place'", more.isel(place=0), {}),
    ]
    for message, ds, options in cases:
        with pytest.raises(ValueError, match=message):
            ds.scda.to_scda(path, **{"append_dim": "place", **options})
        assert path.read_bytes() == before
    with pytest.raises(ValueError, match="found 'day' in .* in the file, expected it as the first dimension"):
        xr.Dataset({"u": ("day", [1])}).scda.to_scda(path, append_dim="day")
    assert path.read_bytes() == before


def test_rows_go_on_as_the_file_was_begun_by_other_means(tmp_path: Path) -> None:
    """Fill values, a bound of rounding and times that are no numbers; and the steps of a file where only some are records."""
    path = tmp_path / "f.scda"
    times = np.arange(4).astype("M8[s]")
    with scda.create(path) as w:
        w.dataset("time", times[:2], dims=["time"])
        w.dataset("missing", np.array([3, -1]), dims=["time"], fill_value=-1)
        w.dataset("rough", np.array([1 / 3, 2 / 3]), dims=["time"], encode=True, max_relative_error=1e-3)
        for number in range(2):
            w.dataset("flow", np.full(3, float(number)), dims=["x"])
    with opened(path) as found:
        first = found.load()
    assert first.flow.dims == ("time", "x") and first.time.dtype == "M8[s]"
    more = first.assign(rough=("time", [1 / 7, 1 / 9])).assign_coords(time=times[2:])
    more.scda.to_scda(path, append_dim="time")
    with opened(path) as found, scda.open(path) as f:
        assert found.drop_vars("rough").identical(xr.concat([first, more], "time", combine_attrs="override").drop_vars("rough"))
        assert 0 < abs(found.rough[2] - 1 / 7) < 1e-3 / 7
        assert len(f.records("flow")) == 4 and f["missing"].shape == (4,) and f["missing"].fill_value == -1
    found.close()
    first.scda.to_scda(tmp_path / "g.scda")
    with opened(tmp_path / "g.scda") as found:
        assert found.identical(first) and found.time.encoding["dtype"] == "M8[s]"
    finer = more.assign_coords(time=times[2:] + np.timedelta64(1, "ms"))
    finer.time.encoding["dtype"] = np.dtype("M8[s]")
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"'time': found times that cannot be stored as datetime64"):
        finer.scda.to_scda(path, append_dim="time")
    assert path.read_bytes() == before


def test_coordinates_of_groups_around_get_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "f.scda"
    xr.Dataset(coords={"place": [0, 1]}).scda.to_scda(path)
    xr.Dataset({"u": ("place", [1.0, 2.0])}).scda.to_scda(path, group="deep", mode="a")
    more = xr.Dataset({"u": ("place", [3.0])}, coords={"place": [2]})
    with pytest.raises(ValueError, match="found 'place' in a group that contains"):
        more.scda.to_scda(path, group="deep", append_dim="place")


def test_variables_are_added(tmp_path: Path) -> None:
    """With the coordinates that the file has, too."""
    ds = steps(0, 3)
    ds[["rho"]].scda.to_scda(tmp_path / "f.scda")
    ds.drop_vars("rho").scda.to_scda(tmp_path / "f.scda", mode="a")
    with opened(tmp_path / "f.scda") as found:
        assert found.identical(ds)
    ds.rho.scda.to_scda(tmp_path / "g.scda", encoding={"rho": {"codec": "lz4"}})
    with xr.open_dataarray(tmp_path / "g.scda", engine="scda") as array:
        assert array.identical(ds.rho) and array.encoding["codec"] == "lz4"
    with pytest.raises(ValueError, match="without a name"):
        ds.rho.rename(None).scda.to_scda(tmp_path / "g.scda")


def test_a_name_with_a_slash_is_no_name_of_a_variable(tmp_path: Path) -> None:
    ds = xr.Dataset({"a/b": ("x", [1.0, 2])})
    with scda.create(tmp_path / "f.scda") as w:
        with pytest.raises(ValueError, match="found the variable 'a/b', expected a name without slashes"):
            w.xarray(ds)
        w.xarray(ds.rename({"a/b": "b"}), "a")
    with pytest.raises(ValueError, match="without slashes"):
        ds.scda.to_scda(tmp_path / "g.scda")
    assert not (tmp_path / "g.scda").exists()
    with pytest.raises(ValueError, match="without slashes"):
        ds.scda.to_scda(tmp_path / "f.scda", append_dim="x")
    with xr.open_dataset(tmp_path / "f.scda", engine="scda", group="a") as opened:
        assert opened.b.values.tolist() == [1.0, 2.0]


def test_attributes_and_texts_of_all_kinds(tmp_path: Path) -> None:
    attrs = {"nan": np.nan, "inf": -np.inf, "f4": np.float32(0.1), "list": [1, 2], "array": np.arange(3.0), "one": np.ones(1, "i2")}
    texts = np.array(["a", None, "ccc", np.nan], object)
    ds = xr.Dataset({"u": ("x", np.arange(4.0), {**attrs, "valid_range": np.array([0.0, 9.0])}), "t": ("x", texts)}, attrs=attrs)
    steps = [ds.expand_dims(time=[number]) for number in range(2)]
    with pytest.raises(ValueError, match=r"'t': found nan among texts, at the index \(0, 1\), .* fillna.* encoding="):
        steps[0].scda.to_scda(tmp_path / "f.scda")
    for step in steps:
        more = {} if (tmp_path / "f.scda").exists() else {"encoding": {"t": {"_FillValue": ""}}}
        step.scda.to_scda(tmp_path / "f.scda", append_dim="time", **more)
    with opened(tmp_path / "f.scda") as found:
        assert found.identical(xr.concat(steps, "time"))
        assert found.attrs["f4"].dtype == "f4" and found.u.attrs["one"].shape == (1,)
    with scda.open(tmp_path / "f.scda") as f:
        assert "scda_types" in f.attrs and "valid_range" not in f["u", 0].attrs["scda_types"]


DAYS = [np.datetime64("2000-01-01", "ns") + np.timedelta64(6 * hours, "h") for hours in range(3)]


def test_bounds_have_the_units_of_their_times(tmp_path: Path) -> None:
    """As CF wants it: the times say them for both."""
    bounds = np.stack([DAYS, DAYS], 1) + np.array([np.timedelta64(-90, "m"), np.timedelta64(90, "m")])
    ds = xr.Dataset({"time_bnds": (("time", "nv"), bounds)}, coords={"time": ("time", DAYS, {"bounds": "time_bnds"})})
    for units in ({}, {"units": "minutes since 1990-01-01", "calendar": "standard"}):
        ds.time.encoding = units
        for number in range(2):  # whole, and step by step
            for first in range(3 * number, 1 if not number else 6):
                part = ds if not number else ds.isel(time=[first - 3])
                part.scda.to_scda(tmp_path / f"{number}{len(units)}.scda", **({"append_dim": "time"} if number else {}))
        for path in tmp_path.glob(f"?{len(units)}.scda"):
            with opened(path) as found, scda.open(path) as f:
                assert found.load().identical(ds)
                last = f["time_bnds", -1]
                assert not {"units", "calendar"} & set(last.attrs)
                assert not units or f["time", 0].attrs["units"] == "minutes since 1990-01-01" and last[...].ravel()[-1] == 3652 * 1440 + 720 + 90


def dates(calendar: str, *given: tuple[int, int, int]) -> Any:
    cftime = pytest.importorskip("cftime")
    times = [cftime.datetime(*each, calendar=calendar) for each in given]
    return xr.Dataset({"v": ("time", np.arange(float(len(times))))}, coords={"time": times})


def test_dates_of_another_calendar_are_refused(tmp_path: Path) -> None:
    cases = [("360_day", "noleap", (2000, 1, 31)), ("360_day", "noleap", (2001, 1, 1)), ("julian", "standard", (1600, 1, 1))]
    for old, new, day in cases:
        path = tmp_path / f"{old}{day}.scda"
        dates(old, (1500, 1, 1)).scda.to_scda(path, append_dim="time")
        with pytest.raises(ValueError, match=f"'time': found dates of the calendar {new!r}, expected {old!r}.*convert_calendar"):
            dates(new, day).scda.to_scda(path, append_dim="time")
    with pytest.raises(ValueError, match="found dates of the calendar 'julian', expected 'noleap'"):
        dates("julian", (1500, 1, 1)).scda.to_scda(tmp_path / "f.scda", encoding={"time": {"calendar": "noleap"}})
    stale = dates("julian", (1500, 2, 1))  # from another file, before it was converted
    stale.time.encoding = {"calendar": "noleap", "units": "days since 1500-01-01"}
    stale.scda.to_scda(tmp_path / "f.scda")
    with opened(tmp_path / "f.scda") as found:
        assert found.identical(stale)
    # The same dates by another name, and as other objects.
    for number, (old, new) in enumerate([("365_day", "noleap"), ("standard", "proleptic_gregorian"), ("proleptic_gregorian", "gregorian")]):
        path = tmp_path / f"same{number}.scda"
        dates(old, (2000, 1, 2)).scda.to_scda(path, append_dim="time")
        dates(new, (2000, 1, 3)).scda.to_scda(path, append_dim="time")
        if number:
            xr.Dataset({"v": ("time", [1.0])}, coords={"time": [np.datetime64("2000-01-04")]}).scda.to_scda(path, append_dim="time")
        with opened(path) as found:
            assert found.time.dt.day.values.tolist() == [2, 3, *([4] if number else [])]


@pytest.mark.parametrize("is_lazy", [False, True])
def test_numbers_that_the_packing_cannot_hold_are_refused(is_lazy: bool, tmp_path: Path) -> None:
    packing = {"dtype": "i2", "scale_factor": 0.01, "_FillValue": -32768}
    cases: list[tuple[dict[str, Any], Any, Any]] = [
        (packing, [1.0, np.nan, -327.67, 327.67], [400.0, -327.68, -328.0, np.inf]),
        ({"dtype": "i1"}, [1.0, 127.0], [128.0, np.nan]),
        ({"dtype": "u1"}, np.array([0, 255]), np.array([-1, 256])),
        ({"dtype": "f4"}, [1e38, np.inf], [1e300]),
        ({"dtype": "i8", "_FillValue": -1}, [2.0**62, np.nan], [2.0**63]),
    ]
    for number, (encoding, fit, too_much) in enumerate(cases):
        for each in too_much:
            values = np.array([*fit, each], np.asarray(fit).dtype)
            ds = xr.Dataset({"v": (("time", "x"), values[:, None])}, coords={"time": np.arange(len(values))})
            ds = ds.chunk(time=2) if is_lazy else ds
            path = tmp_path / f"{number}.scda"
            with pytest.raises(ValueError, match=rf"'v': found .* at \(time={len(fit)}, x=0\), which .* cannot hold"):
                ds.scda.to_scda(tmp_path / "new.scda", encoding={"v": encoding})
            assert not (tmp_path / "new.scda").exists()
            ds.isel(time=slice(-1)).scda.to_scda(path, append_dim="time", mode="w", encoding={"v": encoding})
            with pytest.raises(ValueError, match=r"'v': found .* at \(time=0, x=0\)|'v': found (float64|int64), expected"):
                ds.isel(time=[-1]).scda.to_scda(path, append_dim="time")
            with opened(path) as found:
                np.testing.assert_allclose(found.v.values, values[:-1, None])
            path.unlink()


@pytest.mark.parametrize("dim", ["time", "place"])
def test_a_template_without_steps(dim: str, tmp_path: Path) -> None:
    def of(first: int, stop: int) -> Any:
        variables = {"v": ((dim, "x"), np.ones((stop - first, 3), "f4")), "called": (dim, np.array(["a", "bb"], object)[first:stop])}
        return xr.Dataset(variables, coords={dim: np.arange(first, stop) * 1.0, "x": [1, 2, 3]}, attrs={"title": "none yet"})

    of(0, 0).scda.to_scda(tmp_path / "f.scda", append_dim=dim)
    for stop in range(3):
        if stop:
            of(stop - 1, stop).scda.to_scda(tmp_path / "f.scda", append_dim=dim)
        with opened(tmp_path / "f.scda") as found:
            xr.testing.assert_identical(found.load(), of(0, stop))


def test_one_step_is_no_series(tmp_path: Path) -> None:
    """A scalar coordinate `time` is none of records; nor is what has not the dimension of a series of one step."""
    ds = steps(0, 2)
    ds.isel(time=0).scda.to_scda(tmp_path / "one.scda")
    ds.isel(time=[0]).scda.to_scda(tmp_path / "series.scda", append_dim="time")
    xr.Dataset({"added": ("y", np.arange(4))}).scda.to_scda(tmp_path / "series.scda", mode="a")
    with opened(tmp_path / "one.scda") as one, opened(tmp_path / "series.scda") as series:
        assert one.identical(ds.isel(time=0))
        assert series.identical(ds.isel(time=[0]).assign(added=("y", np.arange(4))))
    pytest.importorskip("netCDF4")  # so in NetCDF, which has no records
    plain = ds.isel(time=0).drop_vars(["flag", "step", "mask"])
    plain.to_netcdf(tmp_path / "one.nc", engine="netcdf4")
    scda.import_(tmp_path / "one.nc", tmp_path / "nc.scda")
    with opened(tmp_path / "nc.scda") as one:
        assert one.equals(plain)  # the attributes say where it comes from
    with scda.create(tmp_path / "f.scda") as w:  # written again, they are records
        for number in range(2):
            w.xarray(ds.isel(time=number))
    with opened(tmp_path / "f.scda") as found:
        assert found.rho.dims == ("time", "y", "x") and (found.rho.values == ds.rho.values).all()


def test_an_array_of_xarray_keeps_its_dimensions_and_attributes(tmp_path: Path) -> None:
    array = xr.DataArray(np.ones((2, 3)), dims=("y", "x"), coords={"x": [1, 2, 3]}, attrs={"units": "m", "range": np.array([0, 9], "i2")})
    with scda.create(tmp_path / "f.scda") as w:
        w.dataset("a", array)
        w.dataset("b", array.variable, attrs={"units": "km"}, dims=[None, "z"])
        w.field("c", array)
        w.datasets({"d": array})
    with scda.open(tmp_path / "f.scda") as f:
        for name in "acd":
            assert f[name].dims == ("y", "x") and f[name].attrs["units"] == "m" and f[name].attrs["range"] == [0, 9]
            assert f[name].attrs["scda_types"] == {"range": "int16"}
        assert f["b"].dims == (None, "z") and dict(f["b"].attrs) == {"units": "km"}


def test_types_of_other_packages_are_refused(tmp_path: Path) -> None:
    """numpy takes some of them for raw bytes."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name in ("bfloat16", "float8_e5m2", "float8_e4m3fn", "int4"):
        a = np.array([0, 1, -1]).astype(getattr(ml_dtypes, name))
        ds = xr.Dataset({"x": ("i", a)})
        with scda.create(tmp_path / "f.scda") as w:
            for write in (w.dataset, w.field, lambda _, a: w.datasets({"x": a}), lambda *_: w.xarray(ds), lambda *_: w.dataset("x", [1], dtype=a.dtype)):
                with pytest.raises(TypeError, match=rf"found {name}, which cannot be stored in a dataset.*view.*astype\(.float32"):
                    write("x", a)
            with pytest.raises(TypeError, match=f"found {name}"):
                w.dataset("x", np.zeros(3, [("a", a.dtype)]))


@pytest.mark.filterwarnings("ignore:Unable to decode time axis")
def test_times_of_records_have_one_unit(tmp_path: Path) -> None:
    """Each is encoded by itself, by `w.xarray`."""
    cftime = pytest.importorskip("cftime")
    hours = np.timedelta64(6, "h")
    for times in (DAYS, [cftime.datetime(1500, 2, day, calendar="360_day") for day in (29, 30)], [0 * hours, hours], [DAYS[0], DAYS[0] + 1500]):
        ds = xr.Dataset({"v": ("time", np.arange(float(len(times)))), "begin": ("time", np.array(times))}, coords={"time": np.array(times)})
        with scda.create(tmp_path / "f.scda") as w:
            for number in range(len(times)):
                w.xarray(ds.isel(time=number))
        with opened(tmp_path / "f.scda") as found:
            assert (found.time.values == ds.time.values).all() and (found.begin.values == ds.begin.values).all()
    for time in ("1500-01-01", "2000-01-01T00:00:00.123456789", "NaT"):
        ds = xr.Dataset(coords={"time": np.datetime64(time, "ns" if "." in time else "s")})
        ds.scda.to_scda(tmp_path / "f.scda")
        with opened(tmp_path / "f.scda") as found:
            assert found.identical(ds)
    early = xr.Dataset({"t": ("x", np.array(["1500-01-01"], "M8[s]"))})
    with pytest.raises(ValueError, match="'t': found 1500-01-01T00:00:00, which xarray cannot write as 'micro"):
        early.scda.to_scda(tmp_path / "f.scda", encoding={"t": {"units": "microseconds since 1970-01-01"}})


def test_records_whose_numbers_mean_other_things_are_refused(tmp_path: Path) -> None:
    for key, values in {"units": ("m", "km"), "scale_factor": (0.5, None), "calendar": ("noleap", "360_day")}.items():
        with scda.create(tmp_path / "f.scda") as w:
            for value in values:
                w.dataset("u", [1, 2], attrs={} if value is None else {key: value})
        with pytest.raises(ValueError, match=f"records of 'u': found {key}=.* in record 0 and .* in record 1.*record="):
            opened(tmp_path / "f.scda")
        with opened(tmp_path / "f.scda", record=1, decode_times=False) as found:
            assert found.u.values.tolist() == [1, 2]


def test_a_part_of_a_tree(tmp_path: Path) -> None:
    nodes = {"/": xr.Dataset(coords={"x": [10.0, 20, 30]}), "/a": xr.Dataset({"v": ("x", np.arange(3.0))}), "/a/b": xr.Dataset({"u": 1})}
    part = xr.DataTree.from_dict(nodes)["a"]
    part.scda.to_scda(tmp_path / "f.scda", encoding={"b": {"u": {"dtype": "i2"}}})
    with xr.open_datatree(tmp_path / "f.scda", engine="scda") as found:
        assert found.groups == ("/", "/b") and found.to_dataset().identical(part.to_dataset()) and found["b/u"].encoding["dtype"] == "i2"


def test_lead_times_and_longer_texts_are_appended(tmp_path: Path) -> None:
    texts = [["a"], ["abc"], ["ü" * 9], [""]]
    for number, text in enumerate(texts):
        lead = np.array([6 * number], "m8[h]").astype("m8[ns]")
        ds = xr.Dataset({"name": ("step", text), "code": ("step", np.array([b"x" * number]))}, coords={"step": lead})
        ds.scda.to_scda(tmp_path / "f.scda", append_dim="step")
    with opened(tmp_path / "f.scda") as found:
        assert found.name.values.tolist() == [text for (text,) in texts] and found.code.values.tolist() == [b"", b"x", b"xx", b"xxx"]
        assert (found.step.values == np.arange(4) * np.timedelta64(6, "h")).all()
    short, long = (xr.Dataset({"name": ("n", np.array([text], "U"))}) for text in ("a", "abc"))
    short.scda.to_scda(tmp_path / "g.scda")
    with pytest.raises(ValueError, match="found <U3, expected <U1, as in the file; encoding=.*'dtype': str"):
        long.scda.to_scda(tmp_path / "g.scda", append_dim="n")
    short.scda.to_scda(tmp_path / "g.scda", encoding={"name": {"dtype": str}})
    long.scda.to_scda(tmp_path / "g.scda", append_dim="n")


def test_groups_without_variables(tmp_path: Path) -> None:
    nodes = {"/z": xr.Dataset(attrs={"n": 1}), "/b": xr.Dataset({"u": ("x", [1])}), "/a/deep": xr.Dataset()}
    tree = xr.DataTree.from_dict(nodes)
    tree.scda.to_scda(tmp_path / "f.scda")
    with xr.open_datatree(tmp_path / "f.scda", engine="scda") as found:
        assert found.identical(tree) and list(found.groups) == list(tree.groups)


def test_compression_by_the_names_of_netcdf(tmp_path: Path) -> None:
    ds = steps(0, 2)
    ds.scda.to_scda(tmp_path / "f.scda", encoding={"rho": {"zlib": True, "complevel": 5, "chunksizes": (1, 4, 6)}})
    with opened(tmp_path / "f.scda") as found:
        assert found.identical(ds) and found.rho.encoding["chunksizes"] == (1, 4, 6) and found.rho.encoding["level"] == 5


def test_dask_computes_a_step_on_several_threads(tmp_path: Path) -> None:
    import dask
    import dask.array

    together = threading.Barrier(2, timeout=120)

    def block(block_info: Any = None) -> Any:
        together.wait()  # which takes another thread at the same time
        return np.full((1, 2), block_info[None]["chunk-location"][1], "f8")

    lazy = dask.array.map_blocks(block, chunks=((1, 1), (2, 2)), dtype="f8", meta=np.empty((0, 0)))
    ds = xr.Dataset({"u": (("time", "x"), lazy)}, coords={"time": [0.0, 1.0]})
    with dask.config.set(scheduler="threads", num_workers=2):
        ds.scda.to_scda(tmp_path / "f", append_dim="time")
    with opened(tmp_path / "f") as found:
        assert found.u.values.tolist() == [[0, 0, 1, 1]] * 2


def reads() -> tuple[int, int]:
    """Calls of the system that have read, and their bytes."""
    lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(lines["syscr"]), int(lines["rchar"])


@pytest.mark.parametrize(
    ("dim", "hdf5", "bytes_a_step"),
    # The bytes between the seals, of which the names are read, are more with views.
    [("time", True, 8000), ("time", False, 7000), ("x", True, 8000), ("x", False, 7000)],
)
def test_one_more_step_costs_the_same_after_many(
    dim: str, hdf5: bool, bytes_a_step: int, tmp_path: Path
) -> None:
    path, costs = tmp_path / "f.scda", {}
    scda.create(path, hdf5=hdf5).close()
    for number in range(130):
        part = xr.Dataset(
            {"rho": ((dim, "y"), np.full((1, 8), float(number))), "mask": ("y", np.arange(8))},
            coords={dim: [float(number)], "y": np.arange(8.0)},
        )
        before = reads()
        part.scda.to_scda(path, append_dim=dim)
        costs[number] = [now - then for now, then in zip(reads(), before)]
    print(dim, {number: costs[number] for number in (5, 20, 66, 129)})
    few, many = costs[20], costs[129]
    # The names of the sections of each step are read, which are near in this file: by some calls for many steps.
    assert many[0] <= few[0] + 50, (few, many)
    assert many[1] <= few[1] + 109 * bytes_a_step, (few, many)
    with opened(path) as found:
        assert found[dim].values.tolist() == found.rho[:, 3].values.tolist() == list(range(130))
        assert found.mask.dims == ("y",)


def test_the_docstrings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(scda.xarray, extraglobs={"np": np}) == (0, 3)
