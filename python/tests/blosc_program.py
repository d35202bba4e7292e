"""Chunks in frames of Blosc, from scda to HDF5 and back: what test_hdf5.py runs, in a folder."""

from __future__ import annotations

import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import scda
from scda._export import export
from scda._import import convert


def main(tmp_path: Path) -> None:
    path, out = tmp_path / "f.scda", str(tmp_path / "f.h5")
    noise = np.random.default_rng(1)
    data = {}
    with scda.create(path) as w:
        for codec in ("zstd", "lz4", "pcodec", "zlib"):
            for dtype in ("<f4", "<f8", "<i2", "u1", "?", "<c16"):
                values = (np.arange(50 * 40) ** 2 // 97 % 250).reshape(50, 40).astype(dtype)
                values[:16, 16:32] = 0  # a chunk that is not stored
                values[32:48, :16] = noise.integers(0, 250, (16, 16))
                data[f"{codec}/{np.dtype(dtype).name}"] = values
                w.dataset(f"{codec}/{np.dtype(dtype).name}", values, chunks=(16, 16), codec=codec)
        how = {"codec": "lz4", "level": 5, "shuffle": False, "max_relative_error": 1e-3}
        w.dataset("rows", data["zstd/float32"], chunks=(20, 40), **how)
    export(path, out, netcdf=False, blosc=True)
    with h5py.File(out) as h, scda.open(path) as f:
        for name, values in data.items():
            np.testing.assert_array_equal(h[name][...], values)
            # Types that Pcodec does not know go by zstd.
            is_blosc = name.startswith(("zstd/", "lz4/")) or name in ("pcodec/bool", "pcodec/uint8", "pcodec/complex128")
            filters = h[name].id.get_create_plist()
            assert (filters.get_filter(0)[0] == 32001) == is_blosc, name
            if is_blosc:
                chunks = [bytes(each) for each in f[name].section if each]
                of = h[name].id
                found = [of.read_direct_chunk(of.get_chunk_info(k).chunk_offset)[1] for k in range(of.get_num_chunks())]
                assert len(chunks) == 11 and chunks == found
        assert h["rows"].attrs["_QuantizeBitRoundNumberOfSignificantBits"] == 9
        assert h["rows"].id.get_create_plist().get_filter(0)[2][2:] == (4, 3200, 5, 0, 1)
    again = tmp_path / "again.scda"
    convert(out, str(again), tell=pytest.fail)
    assert again.read_bytes() == path.read_bytes()
    # What the C library has made with any option.
    others = Path(__file__).parents[2] / "tests/vectors/zarr/codecs.scda"
    export(others, str(tmp_path / "o.h5"), netcdf=False, blosc=True)
    with h5py.File(tmp_path / "o.h5") as h, scda.open(others) as f:
        names = [name for name in f._datasets() if name.startswith("blosc/")]
        assert len(names) == 56
        for name in names:
            assert h[name].id.get_create_plist().get_filter(0)[0] == 32001
            np.testing.assert_array_equal(h[name][...], f[name][...])
    h5py.h5z.filter_avail = lambda code: False
    with pytest.raises(ValueError, match=r"found filter 32001 \(blosc\), which HDF5 has not here"):
        export(path, out, netcdf=False, blosc=True, strict=True)


main(Path(sys.argv[1]))
