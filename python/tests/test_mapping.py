"""Files and groups as mappings, as users of h5py expect them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda

LONG = "a group with a long name, " * 3 + "of more than 58 bytes"


@pytest.fixture(params=[True, False], ids=["sealed", "plain"])
def f(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    with scda.create(tmp_path / "f", seal=request.param) as w:
        w.block("raw", b"bytes")
        w.dataset("flow/deep/p", np.arange(3), attrs={"units": "Pa"})
        w.group("flow", {"version": 2})
        w.group("empty", {"nothing": "else"})
        for step in range(3):
            w.dataset("time", 0.5 * step)
            w.dataset("flow/rho", np.full(2, step), attrs={"step": step})
        w.dataset("a[1]/x", 1)
        w.dataset("a1", 2)
        w.dataset("both", 3)
        w.dataset("both/inner", 4)
        w.group("/", {"title": "a test"})
        w.group(LONG, {"long": True})
        w.dataset(f"{LONG}/x", 5)
    with scda.open(tmp_path / "f") as file:
        yield file


def test_names_are_those_directly_in_it(f: scda.File) -> None:
    expected = ["flow", "empty", "time", "a[1]", "a1", "both", LONG]
    assert list(f) == list(f.keys()) == expected and len(f) == len(f.keys()) == 7 and f
    assert list(f["flow"]) == ["deep", "rho"] and len(f["flow"]) == 2 and list(f["flow"]["deep"]) == ["p"]
    assert f["empty"].attrs == {"nothing": "else"} and list(f["empty"]) == [] and f["empty"]
    assert [name for name, _ in f.items()] == expected and len(list(f.values())) == 7
    assert all(name in f and f.get(name) is not None for name in expected)
    assert "'flow', 'empty'" in repr(f.keys()) and "<scda group 'flow'>" in repr(f.items())


def test_a_path_leads_into_groups(f: scda.File) -> None:
    flow = f["flow"]
    assert isinstance(flow, scda.Group) and flow == f["/flow"] == f["flow/"] == f["flow/deep"]["/flow"] and flow != f["/"]
    assert hash(flow) == hash(f["/flow"]) and flow.attrs == {"version": 2} and flow.name == "flow"
    for found in (f["flow/deep/p"], f["/flow/deep/p"], flow["deep/p"], flow["deep"]["p"], flow["/flow/deep/p"]):
        assert found.name == "flow/deep/p" and found.attrs["units"] == "Pa" and found[:].tolist() == [0, 1, 2]
    assert f["/"].attrs == f.attrs == {"title": "a test"} and list(f["/"]) == list(f) and f.name == "/"
    assert "deep" in flow and "deep/p" in flow and "/time" in flow and "time" not in flow and "" not in f
    # Groups whose names are patterns, or too long for a user string.
    assert isinstance(f["a[1]"], scda.Group) and f["a[1]"]["x"][()] == 1 and f["a1"][()] == 2
    assert f[LONG].attrs == {"long": True} and f[LONG]["x"][()] == 5
    assert f["both"][()] == 3 and f["both/"]["inner"][()] == f["both/inner"][()] == 4
    for missing in ("none", "flow/none", "flow/dee", "flo", "raw/x"):
        assert missing not in f and f.get(missing, 7) == 7
        with pytest.raises(KeyError, match="no dataset, group or section has this name; there are"):
            f[missing]
    for wrong in (1, None, ("time", 0, 1)):
        with pytest.raises(TypeError):
            flow[wrong]  # type: ignore[index]


def test_records_are_a_sequence(f: scda.File) -> None:
    time = f.records("time")
    assert isinstance(time, scda.Records) and time.name == "time" and [float(t[()]) for t in time] == [0.0, 0.5, 1.0]
    assert f["time", -1][()] == time[-1][()] == 1.0 and [d.attrs["step"] for d in f["flow"].records("rho")] == [0, 1, 2]
    # As in every language, a name alone means the last record, of one or of several.
    assert f["time"][()] == f.get("time")[()] == 1.0 and f["flow"]["rho"].attrs == dict(f["flow"].items())["rho"].attrs == {"step": 2}
    assert f["flow"]["rho", 1].attrs == {"step": 1} and len(f["flow"].records("rho")) == 3


def test_sections_have_no_place_among_the_names_but_can_be_had(f: scda.File) -> None:
    assert "raw" not in list(f) and "raw" in f and f["raw"].read() == b"bytes" and f["ra*"].index == 0 and f["raw/"] is f["/raw"] is f["raw"]
    assert f.sections["raw"] is f.sections[0] and isinstance(f.sections["both"], scda.Section)
    assert str(f.sections) in str(f) and f._repr_html_() == f.sections._repr_html_()


def test_visiting(f: scda.File) -> None:
    seen: list[str] = []
    assert f.visit(seen.append) is None
    assert seen[:3] == ["flow", "flow/deep", "flow/deep/p"] and seen == f._ipython_key_completions_()
    assert "flow/rho" in seen and "raw" not in seen and seen[-2:] == [LONG, f"{LONG}/x"] and len(set(seen)) == len(seen)
    assert f["flow"]._ipython_key_completions_() == ["deep", "deep/p", "rho"]

    def first_dataset(name: str, found: Any) -> Any:
        return name if isinstance(found, scda.Dataset) else None

    assert f.visititems(first_dataset) == "flow/deep/p" and f["flow"].visititems(first_dataset) == "deep/p"


def test_attributes_are_a_mapping_that_cannot_be_changed(f: scda.File) -> None:
    attrs = f["flow/deep/p"].attrs
    assert attrs == {"units": "Pa"} and dict(attrs) == {**attrs} and repr(attrs) == "{'units': 'Pa'}" and len(attrs) == 1
    assert "units" in attrs and attrs.get("none") is None and attrs._ipython_key_completions_() == ["units"]
    with pytest.raises(TypeError, match="assignment"):
        attrs["units"] = "bar"  # type: ignore[index]


def test_it_is_a_key_of_a_dict(f: scda.File) -> None:
    with scda.open(f.path) as other:
        assert f == f and f != other and {f: 1}[f] == 1 and f["flow"] != other["flow"]
