"""Random datasets of xarray: what ``to_scda`` writes is read as an identical one, whole or step by step."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Optional

import numpy as np
import pytest

xr = pytest.importorskip("xarray")
cftime = pytest.importorskip("cftime")

import scda.xarray  # noqa: E402

NUMBERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "?"]
KINDS = [*NUMBERS, "U", "text", "bytes", "time", "duration", "calendar", "missing", "packed", "integers", "fill", "text fill"]
# The dates of xarray's own calendar come back as datetime64.
CALENDARS = ["noleap", "360_day", "all_leap", "julian"]
UNITS = ["s", "ms", "us", "ns"]
NAMES = ["time", "x", "y", "record", "step"]


class Maker:
    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def one_of(self, things: Any) -> Any:
        return things[int(self.random.integers(len(things)))]

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def values(self, kind: str, shape: tuple[int, ...]) -> tuple[Any, dict[str, Any]]:
        """Items, and the encoding that they are written with."""
        random = self.random
        count = random.integers(-99, 99, shape)
        holes = random.random(shape) < 0.3
        if kind in NUMBERS:
            return count.astype(kind) if kind != "?" else count > 0, {}
        if kind in ("U", "text", "bytes"):
            texts = np.array([self.one_of(["", "a", "Zürich", "ab c"]) for _ in range(count.size)], object).reshape(shape)
            if kind == "bytes":
                return np.array([text.encode() for text in texts.ravel()], object).reshape(shape), {}
            return (texts.astype("U") if kind == "U" else texts), {}
        if kind == "text fill":
            texts = np.where(holes, np.array(np.nan, object), np.array("a", object))
            return texts.astype(object), {"_FillValue": "missing"}
        if kind in ("time", "duration"):
            unit = self.one_of(UNITS)
            first = np.datetime64("2000-02-28", unit) if kind == "time" else np.timedelta64(0, unit)
            times = first + count.astype(f"m8[{self.one_of(['h', 's', 'm'])}]").astype(f"m8[{unit}]")
            if self.chance(0.3):
                times = np.where(holes, np.array("NaT", times.dtype), times)
            own = {"units": "seconds since 1999-01-01"} if kind == "time" else {"units": "seconds"}
            return times, own if self.chance(0.5) else {}
        if kind == "calendar":
            calendar = self.one_of(CALENDARS)
            begin = cftime.datetime(1500, 2, 27, calendar=calendar)
            days = cftime.num2date(count, f"hours since {begin.isoformat()}", calendar)
            return np.array(days, object).reshape(shape), {}
        numbers = count.astype("f8")
        if kind == "packed":
            return np.where(holes, np.nan, numbers * 0.5 + 8), {
                "dtype": self.one_of(["i2", "i4"]), "scale_factor": 0.5, "add_offset": 8.0, "_FillValue": -999
            }  # fmt: skip
        if kind == "integers":
            return np.where(holes, np.nan, numbers), {"dtype": "i2", "_FillValue": -999}
        missing = np.where(holes, self.one_of([np.nan, np.inf]), numbers).astype(self.one_of(["f4", "f8"]))
        return missing, {"_FillValue": np.nan if self.chance(0.3) else -999.0} if kind == "fill" else {}

    def attrs(self) -> dict[str, Any]:
        """Those that NetCDF has: others are JSON, as ``scda_json`` says."""
        values = [
            *("m", "", "é", 1, 2.5, [1, 2], [0.5], ["a", "bc"], float("nan"), float("inf"), -(1 << 63)),
            *(np.int8(3), np.float32(0.1), np.array([1, 2], "u2"), np.array([0.1, np.nan], "f4"), np.array([3], "i8")),
        ]
        names = ["units_of_mine", "long_name", "é", "valid_min", "flag_values", "source"]
        return {name: self.one_of(values) for name in names if self.chance(0.3)}

    def variable(self, sizes: dict[str, int], dims: Optional[tuple[str, ...]] = None, kinds: Any = KINDS) -> Any:
        if dims is None:
            dims = tuple(dim for dim in self.random.permutation(list(sizes)).tolist() if self.chance(0.6))
        shape = tuple(sizes[dim] for dim in dims)
        data, encoding = self.values(self.one_of(kinds), shape)
        if shape and self.chance(0.4) and data.dtype.kind not in "O":
            encoding = {**encoding, "codec": self.one_of(["zstd", "lz4", "zlib"]), "chunks": tuple(self.one_of([1, 2, 3]) for _ in shape)}
        attrs = self.attrs() if data.dtype.kind not in "mM" else {"long_name": "a time"}
        return xr.Variable(dims, data, attrs, encoding)

    def dataset(self, along: str = "") -> Any:
        sizes = {dim: self.one_of([0, 1, 1, 2, 3, 4]) for dim in NAMES if dim == along or self.chance(0.5)}
        if along:
            sizes[along] = self.one_of([2, 3, 5])
        coords: dict[str, Any] = {}
        for dim in sizes:
            if self.chance(0.6):
                kinds = ["i8", "f8", "f4", "u1", "text", "time", "duration", "calendar"]
                coords[dim] = self.variable({dim: sizes[dim]}, (dim,), kinds)
        for name in ("height", "lat", *(() if "time" in sizes else ("time",))):
            if self.chance(0.5):
                coords[name] = self.variable({} if name != "lat" else sizes)
        variables = {f"v{n}": self.variable(sizes) for n in range(self.one_of([0, 1, 3, 6]))}
        if along:
            first = {name: v for name, v in {**coords, **variables}.items() if along in v.dims[1:]}
            coords = {name: v for name, v in coords.items() if name not in first}
            variables = {name: v for name, v in variables.items() if name not in first}
            variables["along"] = self.variable(sizes, (along,), ["f8", "text"])
        return xr.Dataset(variables, coords, self.attrs())


@pytest.mark.parametrize("seed", range(60))
def test_identical(seed: int, tmp_path: Path) -> None:
    maker = Maker(seed)
    ds = maker.dataset()
    group = maker.one_of(["/", "/", "deep/flow"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ds.scda.to_scda(tmp_path / "f.scda", group=group)
        with xr.open_dataset(tmp_path / "f.scda", engine="scda", group=group) as found:
            xr.testing.assert_identical(found.load(), ds)
        # What was opened knows its encoding, and can be written again.
        found.scda.to_scda(tmp_path / "g.scda")
        with xr.open_dataset(tmp_path / "g.scda", engine="scda") as again:
            xr.testing.assert_identical(again.load(), ds)


@pytest.mark.parametrize("seed", range(1000, 1060))
def test_identical_after_appending(seed: int, tmp_path: Path) -> None:
    maker = Maker(seed)
    dim = maker.one_of(["time", "time", "x"])
    ds = maker.dataset(dim)
    cuts = sorted({0, ds.sizes[dim], *maker.random.integers(0, ds.sizes[dim], 2).tolist()})
    is_dated = any(v.dtype == object and v.size and isinstance(v.values.flat[0], cftime.datetime) for v in ds.variables.values())
    cuts = [0, *cuts] if maker.chance(0.2) and not is_dated else cuts  # a template without steps
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for start, stop in zip(cuts, cuts[1:]):
            ds.isel({dim: slice(start, stop)}).scda.to_scda(tmp_path / "f.scda", append_dim=dim)
            with xr.open_dataset(tmp_path / "f.scda", engine="scda") as found:
                expected = ds.isel({dim: slice(stop)})
                if dim == "time" and "time" not in ds.coords:
                    expected = expected.assign_coords(time=np.arange(stop))
                xr.testing.assert_identical(found.load(), expected)


@pytest.mark.parametrize("seed", range(2000, 2010))
def test_identical_trees(seed: int, tmp_path: Path) -> None:
    maker = Maker(seed)
    root = maker.dataset()
    inherited = xr.Dataset({"own": xr.Variable((dim,), np.arange(float(n))) for dim, n in root.sizes.items()})
    nodes = {"/": root, "/a": inherited, "/a/b": xr.Dataset(attrs=maker.attrs())}
    nodes["/c"] = xr.Dataset({f"{name}_c": xr.Variable([f"{dim}_c" for dim in v.dims], v.data, v.attrs, v.encoding) for name, v in maker.dataset().variables.items()})
    tree = xr.DataTree.from_dict(nodes)
    for part in (tree, tree["a"]):
        part.scda.to_scda(tmp_path / "f.scda")
        with xr.open_datatree(tmp_path / "f.scda", engine="scda") as found:
            expected = {node.relative_to(part): node.to_dataset(inherit=node is part) for node in part.subtree}
            assert {node.relative_to(found) for node in found.subtree} == set(expected)
            for path, ds in expected.items():
                xr.testing.assert_identical(found[path].to_dataset(inherit=False).load(), ds)
