"""Files of an independent writer, and damaged ones."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
import scda
from conftest import ROOT, VECTORS, Wanted, hello_text, manifest, write_hello

NAMES = ["header-only", "raw", "encoded", "mixed"]


@pytest.mark.parametrize("style", ["unix", "mime", "wild"])
@pytest.mark.parametrize("name", NAMES)
def test_every_vector_is_read_to_what_its_manifest_says(name: str, style: str) -> None:
    user, wanted = manifest(name)
    with scda.open(VECTORS / f"{name}.{style}.scda") as f:
        assert f.user == user
        assert len(f.sections) == len(wanted)
        # First the data, then the headers: the order does not matter.
        for section, want in zip(reversed(f.sections[:]), reversed(wanted)):
            assert (section.kind, section.user, section.compressed) == (want.kind, want.user, want.encoded)
            assert section.read() == want.data
            assert section.nbytes == len(want.data)
            if want.kind == "array":
                assert (section.count, section.size) == (len(want.elements), want.size)
                assert list(section) == want.elements
                assert section.to_numpy().tobytes() == want.data
            elif want.kind == "varray":
                assert section.count == len(want.elements)
                assert section.sizes().tolist() == [len(element) for element in want.elements]
                assert section[:] == list(section) == want.elements
                offsets, values = section.to_ragged()
                assert [values[a:b].tobytes() for a, b in zip(offsets, offsets[1:])] == want.elements
            else:
                assert section.size == len(want.data)
                assert section.to_numpy().tobytes() == want.data == section[:]
        ends = [section.offset + section.file_nbytes for section in f.sections]
        assert ends == [section.offset for section in f.sections][1:] + [f_size(f)][: len(ends)]


def f_size(f: scda.File) -> int:
    return Path(f.path).stat().st_size


@pytest.mark.parametrize("style", ["unix", "mime"])
@pytest.mark.parametrize("name", NAMES)
def test_every_vector_is_written_anew(name: str, style: str, tmp_path: Path) -> None:
    user, wanted = manifest(name)
    theirs = (VECTORS / f"{name}.{style}.scda").read_bytes()
    written = []
    for level in (0, 1, 6, 9):  # the independent writer took these in turn
        path = tmp_path / f"{level}.scda"
        with scda.create(path, user, style=style, encoder="zlib", level=level, seal=False) as w:
            for want in wanted:
                want.write(w)
        written.append(path)
    # All but the vendor string; of compressed sections, with one of the levels.
    assert written[0].read_bytes()[32:128] == theirs[32:128]
    vector = sections(VECTORS / f"{name}.{style}.scda")
    again = [sections(path) for path in written]
    for index, part in enumerate(vector):
        assert part in [file[index] for file in again], index
    if not any(want.encoded for want in wanted):
        assert written[0].read_bytes()[32:] == theirs[32:]


def sections(path: Path) -> list[bytes]:
    data = path.read_bytes()
    with scda.open(path) as f:
        return [data[s.offset : s.offset + s.file_nbytes] for s in f.sections]


def test_the_file_of_the_c_example_is_the_same(tmp_path: Path) -> None:
    write_hello(tmp_path / "hello.scda")
    header, sections = hello_text()
    written = (tmp_path / "hello.scda").read_bytes()
    assert written.startswith(header) and written[576:].startswith(sections)


def test_the_file_of_the_authors_own_code_is_read() -> None:
    with scda.open(VECTORS / "libsc-2.8.7-reference.scda") as f:
        assert [s.kind for s in f.sections] == ["block", "inline", "inline", "block", "array", "array", "array"]
        assert f["Block section test"].read() == b"Test block data"
        assert f["A fixed-length array section"][3:5] == b"abcabc"
        assert f["An empty array"].to_numpy().shape == (0, 3)


EXPECTED = json.loads((ROOT / "tests/bad-data" / "expected.json").read_text())


# A block is found by its name, whatever is before it.
@pytest.mark.parametrize("name", [name for name in EXPECTED if name != "dataset-section.scda"])
def test_bad_files_get_the_error_that_they_must(name: str, tmp_path: Path) -> None:
    expected, path, whole = EXPECTED[name], tmp_path / name, 0
    with tarfile.open(ROOT / "tests/bad-data/files.tar") as archive:
        archive.extract(name, tmp_path)
    try:
        with scda.open(path, verify=expected["error"] == "checksum") as f:
            if expected["reader"] == "dataset":
                whole = expected["whole"]
                f["d"][:]
            for section in f.sections:
                if section.kind == "varray":
                    section.to_ragged()
                section.read()
                whole += 1
            assert f.left_out == expected.get("left_out", 0)
    except scda.Error as error:
        # Sections are found by the index, so a header that differs from it is an error of its row.
        at = 800 if name == "seal-user.scda" else expected["offset"]
        assert f"{path}: byte {at}: " in str(error) and error.path == str(path)
        assert error.code == expected["code"]
    else:
        assert expected["error"] is None
    # The padding is not read with the data.
    assert whole == expected["whole"] + (name in {"cut-array-padding.scda", "cut-varray-padding.scda"})


def test_the_codes_and_names_are_those_of_the_header() -> None:
    header = (ROOT / "include" / "scda.h").read_text()
    codes = {}
    for line in header.splitlines():
        words = line.split()
        if len(words) == 3 and words[0] == "#define" and words[1].startswith("SCDA_ERR_") and words[2].isdigit():
            codes[int(words[2])] = words[1]
    classes = {cls.code: cls.name for cls in scda.Error.__subclasses__()}
    assert classes == codes and len(codes) > 20


def test_a_wanted_section_writes_what_it_says(tmp_path: Path) -> None:
    entry = {"type": "A", "user_hex": "", "E": 0, "elements_hex": ["", ""]}
    with scda.create(tmp_path / "f") as w:
        Wanted(entry).write(w)
    with scda.open(tmp_path / "f") as f:
        assert (f.sections[0].count, f.sections[0].size, f.sections[0].to_numpy().shape) == (2, 0, (2, 0))
        assert list(f.sections[0]) == [b"", b""]
