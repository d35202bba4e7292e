"""scda export and scda import: chunks of any number, size and type, as they may be in HDF5, not only as most are."""

from __future__ import annotations

import errno
import os
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda
from arrays import names

h5py = pytest.importorskip("h5py")

from scda import _temporary  # noqa: E402
from scda._import import convert  # noqa: E402


def imported(path: Path, **options: Any) -> Any:
    convert(str(path), str(path.with_suffix(".scda")), tell=pytest.fail, **options)
    return scda.open(path.with_suffix(".scda"))


def test_complex_numbers_of_both_byte_orders(tmp_path: Path) -> None:
    values = np.arange(6.0) * (1 + 2j)
    with h5py.File(tmp_path / "in.h5", "w") as h:
        for name, dtype in (("big", ">c16"), ("little", "<c16"), ("single", ">c8"), ("single little", "<c8")):
            h.create_dataset(name, data=values.astype(dtype), chunks=(3,), compression="gzip")
    with imported(tmp_path / "in.h5") as f:
        assert all(f[name][:].tolist() == values.tolist() for name in names(f))


def test_chunks_of_a_dataset_that_has_few(tmp_path: Path) -> None:
    data = np.arange(60).reshape(6, 10)
    with h5py.File(tmp_path / "f.h5", "w") as h:
        h.create_dataset("u", data=data, chunks=(4, 3), compression="gzip", shuffle=True)
        h.create_dataset("v", (6, 10), "f4", chunks=(4, 3), compression="gzip", fillvalue=7)[4, 5] = 1
    with imported(tmp_path / "f.h5") as f:
        assert np.array_equal(f["u"], data) and f["v"][4, 5] == 1 and f["v"][:].sum() == 59 * 7 + 1
        assert np.count_nonzero(f["v"].section.sizes()) == 1


def test_fill_values_in_a_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy before 2.2 maps no file without bytes."""
    monkeypatch.setattr(_temporary, "_MOST_HELD", 0)
    memmap = np.memmap

    def older(file: Any, dtype: Any, mode: str, offset: int, shape: tuple[int, ...]) -> Any:
        if 0 in shape:
            raise ValueError("cannot mmap an empty file")
        return memmap(file, dtype, mode, offset, shape)

    data = np.zeros((3, 4))
    with h5py.File(tmp_path / "f.h5", "w") as h:
        h.create_dataset("u", data=data, chunks=(1, 2), compression="gzip")
    monkeypatch.setattr(np, "memmap", older)
    with imported(tmp_path / "f.h5") as f:
        assert f["u"][...].tolist() == data.tolist()


def test_a_small_file_that_claims_much_is_refused_at_once(tmp_path: Path) -> None:
    for shape, chunks, options, words in (
        ((2**34,), (1,), {"compression": "gzip"}, "found room for 17179869184 chunks, expected at most 4194304"),
        ((2**34,), (1,), {"compression": "lzf"}, "found room for 17179869184 chunks"),
        ((2**20, 2**20), (1, 2**10), {}, "found room for 1073741824 chunks"),
    ):
        with h5py.File(tmp_path / "f.h5", "w") as h:
            h.create_dataset("u", shape, "u1", chunks=chunks, **options)
        before = time.monotonic()
        with pytest.raises(ValueError, match=f"{words}.*without strict=True it is left out"):
            imported(tmp_path / "f.h5", strict=True)
        assert time.monotonic() - before < 10
        assert [path.name for path in tmp_path.iterdir()] == ["f.h5"]


@pytest.mark.parametrize(
    "shape, dtype, options",
    [
        ((1 << 42,), "u1", {}),
        ((1 << 41,), ">i2", {"chunks": ((1 << 31) - 1,), "fillvalue": -3}),
        ((1 << 20, 1 << 20), "f4", {"chunks": (1 << 15, 1 << 15), "fillvalue": np.nan}),
        (((1 << 31) - 1,), "u1", {"chunks": ((1 << 31) - 1,), "compression": "gzip"}),
        ((1 << 20, 1 << 18), "V3", {"chunks": (1 << 12, 1 << 12), "compression": "lzf"}),
        ((6, 0), "f8", {}),
        ((), "f8", {"fillvalue": 5}),
    ],
)
def test_what_was_never_written_takes_no_room(shape: Any, dtype: str, options: Any, tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with h5py.File(tmp_path / "f.h5", "w") as h:
        h.create_dataset("u", shape, dtype, **options).attrs["units"] = "m"
        fill = h["u"].fillvalue
    with imported(tmp_path / "f.h5") as f:
        u = f["u"]
        assert u.shape == shape and u.dtype == np.dtype(dtype).newbyteorder("=")
        assert u.attrs == {"units": "m"}
        if u.size:
            last = u[tuple(n - 1 for n in shape)]
            assert last.tobytes() == np.asarray(fill, u.dtype).tobytes()
        if "compression" in options:
            assert u.chunks == options["chunks"]
    assert (tmp_path / "f.scda").stat().st_size < 1 << 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20  # KiB


def test_chunks_that_were_never_written_take_no_room(tmp_path: Path) -> None:
    """Also in data without filters, if there are many."""
    items = np.arange(1.0, 17).reshape(4, 4)
    with h5py.File(tmp_path / "f.h5", "w") as h:
        for name, dtype in (("little", "<f8"), ("big", ">f8")):
            sparse = h.create_dataset(name, (1 << 18, 1 << 14), dtype, chunks=(1 << 10, 1 << 10), fillvalue=-1)
            sparse[5:9, -4:] = items
        h.create_dataset("dense", (4, 4), "f8", chunks=(2, 2))[:3] = items[:3]
    with imported(tmp_path / "f.h5") as f:
        for name in ("little", "big"):
            assert f[name].chunks == (1 << 10, 1 << 10) and f[name].dtype == np.float64
            assert f[name][5:9, -4:].tolist() == items.tolist() and f[name][4, -1] == f[name][-1, 0] == -1
        assert f["dense"].chunks is None and f["dense"][2:].tolist() == [items[2].tolist(), [0] * 4]
    assert (tmp_path / "f.scda").stat().st_size < 10 << 20


def test_data_in_other_files_were_written(tmp_path: Path) -> None:
    """HDF5 says that they take no room."""
    data = np.arange(1.0, 7)
    data.tofile(tmp_path / "raw")
    with h5py.File(tmp_path / "source.h5", "w") as h:
        h["u"] = data
    layout = h5py.VirtualLayout(shape=(6,), dtype="f8")
    layout[:] = h5py.VirtualSource(tmp_path / "source.h5", "u", shape=(6,))
    with h5py.File(tmp_path / "f.h5", "w") as h:
        h.create_dataset("external", (6,), "f8", external=[(str(tmp_path / "raw"), 0, h5py.h5f.UNLIMITED)])
        h.create_virtual_dataset("virtual", layout)
    with imported(tmp_path / "f.h5", external=True) as f:
        assert f["external"][:].tolist() == f["virtual"][:].tolist() == data.tolist()


def test_temporary_data_have_their_room_before_they_are_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store into a mapped hole ends the process if the disk is full."""
    monkeypatch.setattr(_temporary, "_MOST_HELD", 1000)
    memmap, allocate = np.memmap, os.posix_fallocate
    rooms = []

    def mapping(file: Any, *more: Any) -> Any:
        rooms.append(os.fstat(file.fileno()).st_blocks * 512)
        return memmap(file, *more)

    monkeypatch.setattr(np, "memmap", mapping)
    with h5py.File(tmp_path / "f.h5", "w") as h:
        h["u"] = np.arange(100_000.0)
    with imported(tmp_path / "f.h5") as f:
        assert np.array_equal(f["u"], np.arange(100_000.0))
    assert rooms[0] >= 800_000

    def full(file: int, offset: int, size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def unknown(file: int, offset: int, size: int) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match=r"No space left on device \(for 800000 bytes of temporary data\)") as caught:
        imported(tmp_path / "f.h5")
    assert caught.value.filename == str(tmp_path)
    monkeypatch.setattr(os, "posix_fallocate", unknown)
    with imported(tmp_path / "f.h5") as f:
        assert np.array_equal(f["u"], np.arange(100_000.0))
    monkeypatch.setattr(os, "posix_fallocate", allocate)


def test_bools_of_other_bytes(tmp_path: Path) -> None:
    """int8 of NetCDF may have any; a bool of numpy has 0 or 1, so others stay integers."""
    data = np.array([0, 1, -1, 2, 0, 0, 0, 0], "i1")
    with h5py.File(tmp_path / "f.h5", "w") as h:
        for name, options in (("plain", {}), ("deflated", {"chunks": (4,), "compression": "gzip"})):
            h.create_dataset(name, data=data, **options).attrs["dtype"] = "bool"
    with imported(tmp_path / "f.h5") as f:
        for name in ("plain", "deflated"):
            assert f[name].dtype == np.int8 and f[name][:].tolist() == data.tolist() and f[name].attrs["dtype"] == "bool", name


@pytest.mark.parametrize("name", [10**10, h5py.Empty("f4")])
def test_a_name_that_is_no_text(name: Any, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as h:
        h.create_dataset("u", data=[1, 2]).attrs["NAME"] = name
    with imported(tmp_path / "f.h5") as f:
        assert f["u"][:].tolist() == [1, 2]


def test_a_group_with_several_names_is_imported_once(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as h:
        group = h
        for _ in range(12):  # with two names each, there are 2^12 paths
            group["b"] = group.create_group("a")
            group = group["a"]
        group["u"] = [1, 2]
        group["root"] = h["/"]
    told: list[str] = []
    convert(str(tmp_path / "f.h5"), str(tmp_path / "f.scda"), tell=told.append)
    with scda.open(tmp_path / "f.scda") as f:
        assert names(f) == ["a/" * 12 + "u"]
        assert f.attrs["scda_links"] == {"b": {"hard": "a"}}
    assert told == []


def test_a_dataset_with_several_names_is_under_each(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w", track_order=True) as h:
        h["q/d"] = 1.5
        h["b/d"] = h["q/d"]
        h["g/data/counts"] = np.arange(6).reshape(2, 3)
        h["a"] = h["g/data/counts"]
        h["g/plot/counts"] = h["a"]
        h["g/plot/counts"].make_scale("a scale")
        h["z"] = [h["g/plot/counts"].ref]
        h.create_dataset("packed", data=np.arange(1000), chunks=100, compression=1)
        h["g/packed"] = h["packed"]
        h["words"] = np.array([b"a", b"bcd"], object)
        h["g/words"] = h["words"]
        # The dimension of what a scale is attached to has one of its names.
        h["time"] = np.arange(3.0)
        h["time"].make_scale("time")
        h["g/when"] = h["time"]
        for name in ("u", "g/v"):
            h[name] = np.ones(3)
            h[name].dims[0].attach_scale(h["time"])
        h["g/u"] = h["u"]
        h["without"] = [1]
        h["y"] = h["without"]
    told: list[str] = []
    convert(str(tmp_path / "f.h5"), str(tmp_path / "f.scda"), without=["without"], strict=True, tell=told.append)
    shared = {"a": ["g/data/counts", "g/plot/counts"], "packed": ["g/packed"], "words": ["g/words"], "time": ["g/when"], "u": ["g/u"]}
    shared["q/d"] = ["b/d"]
    with scda.open(tmp_path / "f.scda") as f:
        assert sorted(names(f)) == sorted([*shared, *(other for others in shared.values() for other in others), "g/v", "y", "z"])
        assert f["g/data/counts"][...].tolist() == f["g/plot/counts"][...].tolist() == f["a"][...].tolist() == [[0, 1, 2], [3, 4, 5]]
        assert f["g/data"].attrs["scda_links"] == f["g/plot"].attrs["scda_links"] == {"counts": {"hard": "a"}}
        assert f["g/when"].dims == ("when",) and f["time"].dims == ("time",)
    assert told == []


def odd_types() -> dict[str, Any]:
    few = h5py.h5t.STD_I32LE.copy()
    few.set_precision(12)
    few.set_offset(4)
    short = h5py.h5t.IEEE_F64LE.copy()
    short.set_fields(51, 40, 11, 0, 40)
    short.set_precision(52)
    enumeration = h5py.h5t.enum_create(few)
    enumeration.enum_insert(b"none", 0)
    return {"few bits": few, "short": short, "enumeration": enumeration}


@pytest.mark.parametrize("name", odd_types())
def test_numbers_of_fewer_bits_than_their_bytes(name: str, tmp_path: Path) -> None:
    """Their bytes are not those of numpy's items."""
    with h5py.File(tmp_path / "f.h5", "w") as h:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((4,))
        properties.set_deflate(1)
        space = h5py.h5s.create_simple((10,))
        dataset = h5py.Dataset(h5py.h5d.create(h.id, b"u", odd_types()[name], space, properties))
        dataset[...] = np.arange(10) - 5
        expected = dataset[...]
        assert expected.tolist() == (np.arange(10) - 5).tolist()
    with imported(tmp_path / "f.h5") as f:
        assert f["u"][:].tolist() == expected.tolist() and f["u"].dtype == expected.dtype
