"""scda import of files that the library of SDF has made (python/tests/sdf), as the manifest beside them says what is in them."""

from __future__ import annotations

import hashlib
import json
import math
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scda
from scda._import import convert

FOLDER = Path(__file__).parent / "sdf"
FILES: dict[str, dict[str, Any]] = json.loads((FOLDER / "manifests.json").read_text())


def sdf(texts: str, data: bytes) -> bytes:
    end = 39 + len(texts)
    return b"SDF format\0" + struct.pack(">QQIQ", end, end + len(data), texts.count("\n"), end - 19) + texts.encode("latin-1") + data


def imported(tmp_path: Path, whole: bytes) -> scda.File:
    (tmp_path / "a.sdf").write_bytes(whole)
    assert convert(str(tmp_path / "a.sdf"), str(tmp_path / "a.scda"), tell=pytest.fail) == 0
    return scda.open(tmp_path / "a.scda", verify=True)


@pytest.mark.parametrize("name", [name for name, of in FILES.items() if of["complete"]])
def test_every_array_becomes_its_dataset(name: str, tmp_path: Path) -> None:
    with imported(tmp_path, (FOLDER / name).read_bytes()) as f:
        assert f.attrs["imported"]["format"] == "SDF" and f.attrs["imported"]["complete"] is True
        datasets = [entry.content for entry in f.entries() if entry.kind == "dataset"]
        assert len(datasets) == len(FILES[name]["datasets"])
        for dataset, expected in zip(datasets, FILES[name]["datasets"]):
            items = dataset[...]
            assert list(dataset.shape) == expected["dims"]
            assert dataset.attrs.get("sdf", {}).get("label", dataset.name) == expected["label"]
            big = items if items.dtype.kind == "V" else items.astype(items.dtype.newbyteorder(">"))
            assert hashlib.sha256(big.tobytes()).hexdigest() == expected["sha256"], expected["label"]
            kind = {"f": "f", "i": "i", "b": "u", "c": "c"}.get(expected["type"])
            assert items.dtype.kind == ("V" if "type" in dataset.attrs.get("sdf", {}) else kind)


@pytest.mark.parametrize("name", [name for name, of in FILES.items() if not of["complete"]])
def test_a_file_that_was_cut_is_an_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(scda.FormatError, match="byte "):
        convert(str(FOLDER / name), str(tmp_path / "a.scda"), tell=pytest.fail)
    assert not list(tmp_path.iterdir())


def test_what_is_cut_or_changed_is_an_error_or_a_file(tmp_path: Path) -> None:
    old, new = tmp_path / "a.sdf", tmp_path / "a.scda"
    whole = (FOLDER / "sdf_edit_3_replace.sdf").read_bytes()
    for at in range(0, len(whole), 7):
        for changed in (whole[:at], whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]):
            old.write_bytes(changed)
            try:
                convert(str(old), str(new), tell=lambda _: None)
                new.unlink()
            except scda.FormatError:
                assert not new.exists()


def test_types_and_shapes_that_a_dataset_cannot_have(tmp_path: Path) -> None:
    many = "1 " * 32
    for text, size, dtype, shape in [
        ("0 a f 8 2 3 2\n", 48, "f8", (3, 2)),
        ("0 a x 3 1 5\n", 15, "V3", (5,)),
        ("0 a c 5 1 5\n", 50, "V10", (5,)),
        ("0 a x 65536 1 1\n", 65536, "V65536", (1,)),
        ("0 a x 65537 1 1\n", 65537, "V1", (1, 65537)),
        (f"0 a i 4 33 {many}6\n", 24, "i4", (6,)),
        ("0 a i 4 2 0 6\n", 0, "i4", (0, 6)),
    ]:
        data = bytes(n % 251 for n in range(size))
        with imported(tmp_path, sdf(text, data)) as f:
            assert (f["a"].dtype, f["a"].shape) == (np.dtype(dtype), shape), text
            items = f["a"][...]
            assert (items if items.dtype.kind == "V" else items.byteswap()).tobytes() == data
        (tmp_path / "a.scda").unlink()
    half = math.isqrt(1 << 62) ** 2
    for text in [
        *("1 a b 1 1 4\n", "0 a b 0 1 4\n", "0 a b 1 2 4\n", "0 a bb 1 1 4\n", "0 a b 1 1 -4\n", "0 a b 1 1\n", "0\n", "\n"),
        *(f"0 a b 1 1 {half}\n1 b b 1 1 {half}\n", f"0 a b 1 3 {half} 4 0\n", "0 a b 1 1 4"),
    ]:
        (tmp_path / "a.sdf").write_bytes(sdf(text, bytes(4)))
        with pytest.raises(scda.FormatError, match="a.sdf: byte 39: found"):
            convert(str(tmp_path / "a.sdf"), str(tmp_path / "a.scda"), tell=pytest.fail)


def test_labels_that_no_dataset_can_have_get_other_names(tmp_path: Path) -> None:
    labels = ["a", "/b", "a", "\x01", "\xff", "_b~0", "/b", "scda x".replace(" ", "\xa0"), "c/d"]
    texts = "".join(f"{n} {label} b 1 1 1\n" for n, label in enumerate(labels))
    with imported(tmp_path, sdf(texts, bytes(range(len(labels))))) as f:
        found = [(e.content.name, e.content.attrs.get("sdf", {}).get("label")) for e in f.entries() if e.kind == "dataset"]
        assert [name for name, _ in found] == ["a", "_b~1", "a", "_~2", "_~3", "_b~0", "_b~1", "scda_x~4", "c/d"]
        assert [label for _, label in found] == [None, "/b", None, "\x01", "\\xff", None, "/b", "scda\\xa0x", None]
        assert f["a", 0][0] == 0 and f["a", -1][0] == 2
    (tmp_path / "a.scda").unlink()
    convert(str(tmp_path / "a.sdf"), str(tmp_path / "a.scda"), without=["a", "_*"], tell=pytest.fail)
    with scda.open(tmp_path / "a.scda") as f:
        assert sorted(f) == ["c", "scda_x~4"] and f.attrs["imported"]["complete"] is False


def test_many_large_dimensions_take_no_time(tmp_path: Path) -> None:
    (tmp_path / "a.sdf").write_bytes(sdf("0 x f 4 100000" + " 9999999999999999999" * 100000 + "\n", b""))
    begin = time.process_time()
    with pytest.raises(scda.FormatError, match="byte "):
        convert(str(tmp_path / "a.sdf"), str(tmp_path / "a.scda"), tell=pytest.fail)
    assert time.process_time() - begin < 5
