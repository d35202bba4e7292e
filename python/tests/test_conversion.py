"""Numbers of another type in memory than in the file."""

import numpy as np
import pytest

import scda

REAL = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")


@pytest.mark.parametrize("stored", REAL)
@pytest.mark.parametrize("encode", [False, True])
def test_all_types_are_written_and_read_as_all_others(tmp_path, stored, encode):
    whole = np.arange(24, dtype=stored).reshape(4, 6) * 5
    for name in REAL:
        block = np.full((6, 9), 99, name)
        block[1:-1, 2:-1] = whole
        with scda.create(tmp_path / "f") as w:
            w.dataset("a", block[1:-1, 2:-1], dtype=stored, encode=encode)
            w.field("b", block[1:-1, 2:-1], dtype=stored, encode=encode)
        with scda.open(tmp_path / "f") as f:
            for key in ("a", "b"):
                assert f[key].dtype == np.dtype(stored)
                assert (f[key][...] == whole).all()
                found = f[key].astype(name)[1:, ::2]
                assert found.dtype == np.dtype(name) and (found == whole[1:, ::2]).all()
                block[1:-1, 2:-1] = 0
                f[key].read_direct(block[1:-1, 2:-1])
                assert (block[1:-1, 2:-1] == whole).all()
                assert (block[0] == 99).all() and (block[:, :2] == 99).all() and (block[:, -1] == 99).all()


def test_what_numpy_rounds_to_is_what_the_core_rounds_to(tmp_path):
    values = np.concatenate([np.random.default_rng(3).normal(size=3000), [1e300, -1e300, 1e-300, np.inf, 0.0, -0.0, 65519.9, 65520.0]])
    with scda.create(tmp_path / "f") as w:
        for name in ("f4", "f2"):
            w.dataset(name, values, dtype=name, encode=True)
    with scda.open(tmp_path / "f") as f, np.errstate(over="ignore"):
        for name in ("f4", "f2"):
            assert (f[name][...].view(f"u{name[1]}") == values.astype(name).view(f"u{name[1]}")).all()
        whole = f["f4"].astype("i8")[:3000]
        assert (whole == values[:3000].astype("f4").astype("i8")).all()


def test_complex_numbers_and_bools(tmp_path):
    values = np.array([1 + 2j, 0.1 - 3j])
    with scda.create(tmp_path / "f") as w:
        w.dataset("c", values, dtype="c8")
        w.dataset("flags", [True, False])
        w.dataset("from bools", np.array([True, False]), dtype="f4")
    with scda.open(tmp_path / "f") as f:
        assert (f["c"].astype("c16")[...] == values.astype("c8")).all()
        assert f["flags"].astype("f8")[...].tolist() == [1, 0]
        assert f["from bools"][...].tolist() == [1, 0]


def test_numbers_that_do_not_fit(tmp_path):
    with scda.create(tmp_path / "f") as w:
        w.dataset("n", np.arange(400).reshape(20, 20))
        w.dataset("x", np.array([1.5, np.nan]))
    for key, dtype, item in (
        ("n", "i1", "item [6, 8]: found 128, which does not fit int8"),
        ("n", "u1", "item [12, 16]: found 256, which does not fit uint8"),
        ("x", "i4", 'item [1]: found "NaN", which does not fit int32'),
    ):
        with scda.open(tmp_path / "f") as f:
            with pytest.raises(scda.RangeError, match="does not fit") as raised:
                f[key].astype(dtype)[...]
            assert item in str(raised.value)
    w = scda.create(tmp_path / "g")
    with pytest.raises(scda.RangeError, match="does not fit"):
        w.dataset("n", np.arange(400), dtype="u1")


def test_swapped_arrays_are_converted_by_numpy(tmp_path):
    swapped = np.arange(5, dtype=">f8")
    with scda.create(tmp_path / "f") as w:
        w.dataset("a", swapped, dtype="i2")
    out = np.zeros(5, ">i4")
    with scda.open(tmp_path / "f") as f:
        f["a"].read_direct(out)
    assert out.tolist() == [0, 1, 2, 3, 4]
