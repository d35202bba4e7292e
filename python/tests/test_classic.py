"""scda import: NetCDF's classic formats, as netCDF's own library writes them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda
from scda import _temporary
from scda._import import convert  # noqa: E402

FORMATS = {"NETCDF3_CLASSIC": 1, "NETCDF3_64BIT_OFFSET": 2, "NETCDF3_64BIT_DATA": 5}


def imported(path: Path, told: Any = pytest.fail, **options: Any) -> Any:
    out = path.with_suffix(".scda")
    out.unlink(missing_ok=True)
    convert(str(path), str(out), tell=told, **options)
    return scda.open(out)


@pytest.mark.parametrize("held", [0, 1 << 20])
@pytest.mark.parametrize("kind", FORMATS)
def test_as_the_library_of_netcdf_reads_it(
    kind: str, held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netCDF4 = pytest.importorskip("netCDF4")
    monkeypatch.setattr(_temporary, "_MOST_HELD", held)
    generator = np.random.default_rng(FORMATS[kind])
    types = ["i1", "i2", "i4", "f4", "f8"] + (["u1", "u2", "u4", "i8", "u8"] if kind == "NETCDF3_64BIT_DATA" else [])
    expected = {}
    with netCDF4.Dataset(tmp_path / "f.nc", "w", format=kind) as nc:
        nc.setncatts({"title": "ein Fluß", "levels": [1, 2, 3], "x": 0.5})
        for name, size in (("time", None), ("y", 3), ("x", 5), ("none", 1)):
            nc.createDimension(name, size)
        for dtype in types:
            for dims in ((), ("x",), ("y", "x"), ("time",), ("time", "x"), ("time", "y", "x")):
                name = "_".join([dtype, *dims])
                fill = 7 if len(dims) == 2 else None
                variable = nc.createVariable(name, dtype, dims, fill_value=fill)
                variable.set_auto_maskandscale(False)
                variable.units = "m"
                shape = tuple({"time": 4, "y": 3, "x": 5}[dim] for dim in dims)
                data = generator.integers(0, 100, shape).astype(dtype)
                variable[...] = data
                expected[name] = data, dims, fill
    assert (tmp_path / "f.nc").read_bytes()[:4] == b"CDF" + bytes([FORMATS[kind]])
    with imported(tmp_path / "f.nc") as f:
        source = {"format": "NetCDF", "file": "f.nc", "bytes": (tmp_path / "f.nc").stat().st_size, "complete": True}
        types = {} if kind == "NETCDF3_64BIT_DATA" else {"scda_types": {"levels": "int32"}}
        assert f.attrs == {"title": "ein Fluß", "levels": [1, 2, 3], "x": 0.5, **types, "scda_dimensions": {"none": 1}, "imported": source}
        assert f._datasets() == list(expected)
        for name, (data, dims, fill) in expected.items():
            found = f[name]
            assert found.dtype == data.dtype and found.dims == dims and np.array_equal(found[...], data), name
            wanted = {"units": "m", **({} if fill is None else {"_FillValue": fill})}
            if "time" in dims:
                wanted["scda_max_shape"] = [None, *data.shape[1:]]
            assert found.attrs == wanted
            assert found.fill_value == (fill or 0)


def test_one_variable_of_records_has_no_padding(tmp_path: Path) -> None:
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tmp_path / "f.nc", "w", format="NETCDF3_CLASSIC") as nc:
        nc.createDimension("time", None)
        nc.createDimension("x", 3)
        nc.createVariable("on", "i1", ("time", "x"))[:] = np.arange(15).reshape(5, 3) % 2
        nc["on"].setncattr("dtype", "bool")
        nc.createVariable("letters", "S1", ("x",))[:] = np.array([b"a", b"b", b"c"])
    told: list[str] = []
    with imported(tmp_path / "f.nc", told.append) as f:
        assert f["on"].dtype == bool and f["on"][:].tolist() == (np.arange(15).reshape(5, 3) % 2 != 0).tolist()
        assert f["letters"][:].tolist() == [b"a", b"b", b"c"] and f.attrs["imported"]["complete"] is True
    assert told == []


def name(text: bytes) -> bytes:
    return struct.pack(">i", len(text)) + text + bytes(-len(text) % 4)


def header(records: int, begin: int, length: int = 0, dtype: int = 3, dims: bytes = b"") -> bytes:
    """A dimension, an attribute of the file, and a variable of this one."""
    return b"".join(
        [
            *(b"CDF\1", struct.pack(">I", records)),
            *(struct.pack(">2i", 10, 1), name(b"time"), struct.pack(">i", length)),
            *(struct.pack(">2i", 12, 1), name(b"note"), struct.pack(">2i", 2, 4), b"\xe9t\xe9\0"),
            *(struct.pack(">2i", 11, 1), name(b"u"), dims or struct.pack(">2i", 1, 0)),
            *(struct.pack(">2i", 0, 0), struct.pack(">3i", dtype, 4, begin)),
        ]
    )


def test_an_unknown_number_of_records(tmp_path: Path) -> None:
    """All bits of it are set while a file is streamed: the end of the file tells."""
    path = tmp_path / "f.nc"
    size = len(header(0, 0))
    for records, count in ((0xFFFFFFFF, 5), (3, 3), (0, 0)):
        path.write_bytes(header(records, size) + np.arange(5, dtype=">i2").tobytes() + b"\0")
        with imported(path) as f:
            assert f["u"][:].tolist() == list(range(count)) and f["u"].dims == ("time",)
            assert f.attrs["note"] == "été"


def test_variables_at_the_same_bytes(tmp_path: Path) -> None:
    """A small file of them would make a huge one."""
    path = tmp_path / "f.nc"
    for count, items in ((1, 1000), (2, 500), (2, 1000)):
        names = [name(b"u%d" % number) for number in range(count)]
        head = b"CDF\1" + struct.pack(">3i", 0, 10, 1) + name(b"x") + struct.pack(">5i", items, 0, 0, 11, count)
        size = len(head) + sum(len(each) + 28 for each in names)
        head += b"".join(each + struct.pack(">7i", 1, 0, 0, 0, 1, items, size) for each in names)
        path.write_bytes(head + bytes(1000))
        if count * items <= 1000:
            with imported(path) as f:
                assert f._datasets() == ["u0", "u1"][:count] and f["u0"].shape == (items,)
        else:
            total = len(head) + 1000
            with pytest.raises(scda.FormatError, match=f"found variables of 2000 bytes together, expected at most {total}"):
                imported(path)


def test_what_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "f.nc"
    size = len(header(0, 0))
    data = bytes(10)
    for content, words in (
        (header(6, size) + data, f"variable 'u': found its end at byte {size + 12}, expected at most {size + 10}"),
        (header(1, size + 9) + data, "variable 'u': found its end at byte"),
        (header(0x7FFFFFFF, size) + data, "variable 'u': found its end at byte"),
        (header(0, size, 6) + data, "variable 'u': found its end at byte"),
        (header(1, size, dtype=12) + data, "byte 88: found the type 12, expected 1 to 11"),
        (header(1, size, dims=struct.pack(">2i", 1, 5)) + data, "variable 'u': found dimension 5 of 1"),
        (header(1, size, dims=struct.pack(">3i", 2, 0, 0)) + data, "variable 'u': found the record dimension after another"),
        (header(1, size, dims=struct.pack(">i", 0x7FFFFFFF)) + data, "found the end of the file"),
        (header(1, size)[:30], "byte 28: found the end of the file at byte 30, expected 4 bytes"),
        (header(1, size).replace(struct.pack(">2i", 12, 1), struct.pack(">2i", 13, 1)), "found a list of kind 13"),
        (header(1, size).replace(b"u\0", b"\xff\0"), "found a name that is not valid UTF-8"),
    ):
        path.write_bytes(content)
        with pytest.raises(scda.FormatError, match=words):
            imported(path)
        assert [entry.name for entry in tmp_path.iterdir()] == ["f.nc"]
    # Whatever byte is wrong, and wherever the file ends: an error, or other data.
    content = header(5, size) + data
    generator = np.random.default_rng(1)
    for place in range(4, size):
        odd = bytearray(content)
        odd[place] = int(generator.integers(256))
        for damaged in (bytes(odd), content[:place]):
            path.write_bytes(damaged)
            try:
                imported(path, lambda _: None).close()
            except (ValueError, scda.Error):
                pass
