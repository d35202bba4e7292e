#!/usr/bin/env python3
"""Makes files.tar and expected.json, from docs/format.md and docs/datasets.md alone; with --check compares them.

Needs nothing but Python. README.md says what the files are for.
"""

from __future__ import annotations

import base64
import io
import json
import sys
import tarfile
import zlib
from pathlib import Path

CODES = {
    "format": 15000, "decode": 15002, "short file": 15004, "version": 15005,
    "range": 15007, "checksum": 15011, "unsupported": 15028,
}  # fmt: skip


def pad(text: bytes, width: int) -> bytes:
    return text + b" " + b"-" * (width - len(text) - 2) + b"\n"


def line(letter: str, user: bytes) -> bytes:
    return letter.encode() + b" " + pad(user, 62)


def entry(letter: str, number: object) -> bytes:
    return letter.encode() + b" " + pad(str(number).encode(), 30)


def padding(data: bytes) -> bytes:
    length = 7 + (-len(data) - 7) % 32
    start = b"==" if data.endswith(b"\n") else b"\n="
    return start + b"=" * (length - 4) + b"\n\n"


def crc(data: bytes) -> int:
    """CRC-64/NVME."""
    value = 2**64 - 1
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x9A6C9329AC4BC9B5 if value & 1 else 0)
    return value ^ 2**64 - 1


def crc32c(data: bytes) -> int:
    value = 2**32 - 1
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 2**32 - 1


def little(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(4, "little") for number in numbers)


def stored(data: bytes) -> bytes:
    """A deflate stream of one stored block: the same in every version of zlib."""
    length = len(data).to_bytes(2, "little")
    return b"\x01" + length + bytes(255 - byte for byte in length) + data


def deflated(data: bytes) -> bytes:
    """It as a zlib stream."""
    return b"\x78\x01" + stored(data) + zlib.adler32(data).to_bytes(4, "big")


def gzipped(data: bytes) -> bytes:
    return b"\x1f\x8b\x08" + bytes(6) + b"\xff" + stored(data) + little(zlib.crc32(data), len(data))


def framed(data: bytes) -> bytes:
    """A frame of Blosc in which the bytes are as they are."""
    return b"\x02\x01\x92\x01" + little(len(data), len(data), 16 + len(data)) + data


def coded(stream: bytes, size: int, letter: bytes = b"z") -> bytes:
    """A compressed element, as its zlib stream and the size of its bytes make it."""
    return lines(base64.b64encode(size.to_bytes(8, "big") + letter + stream))


def lines(text: bytes) -> bytes:
    return b"".join(text[at : at + 76] + b"=\n" for at in range(0, len(text), 76))


def inline(user: bytes, data: bytes) -> bytes:
    return line("I", user) + data.ljust(32)


def block(user: bytes, data: bytes) -> bytes:
    return line("B", user) + entry("E", len(data)) + data + padding(data)


def array(user: bytes, *elements: bytes) -> bytes:
    data = b"".join(elements)
    return line("A", user) + entry("N", len(elements)) + entry("E", len(elements[0])) + data + padding(data)


def varray(user: bytes, *elements: bytes) -> bytes:
    data, sizes = b"".join(elements), b"".join(entry("E", len(element)) for element in elements)
    return line("V", user) + entry("N", len(elements)) + sizes + data + padding(data)


def header(vendor: bytes = b"bad-data") -> bytes:
    return b"scdata0 " + pad(vendor, 24) + line("F", b"one thing is wrong") + padding(b"")


WHOLE = inline(b"whole", b"this section is whole")
GOOD = header() + WHOLE
AT = len(GOOD)  # where what is bad begins: 224


def sealed(before: bytes, sections: list[bytes], previous: int = 0, count: int = 0) -> bytes:
    """The file with these inline sections and blocks after it, an index and a seal."""
    file, rows = before, []
    if previous == 0:
        rows.append((0, before[32:96], 0, len(before), 0, 0))
    for section in sections:
        size = 32 if section[:1] == b"I" else int(section[66:].split()[0])
        rows.append((1, section[:64], len(file), len(section), 0, size))
        file += section
    names = [row[1][2:].rstrip(b"-\n")[:-1] for row in rows]
    hashes = [crc(name) >> 32 if row[0] else 0 for row, name in zip(rows, names)]
    order = sorted(range(len(rows)), key=lambda n: (rows[n][0], hashes[n], names[n], n))
    order = [hashes[n] << 32 | n for n in order]
    index = b""
    for place, (_, text, offset, length, number, size) in enumerate(rows):
        sums = crc(file[offset : offset + length])
        numbers = zip("LNECS", (offset + length, number, size, sums, order[place]))
        index += text + " ".join(f"{letter} {value:016x}" for letter, value in numbers).encode() + b"-\n"
    begin = len(file)
    file += line("A", b"scda index 00") + entry("N", len(rows)) + entry("E", 160) + index + padding(index)
    length = len(file) + 288
    numbers = zip("IPNL", (begin, previous, count + len(sections), length))
    file += line("B", b"scda seal 00") + entry("E", 160) + b"".join(entry(*pair) for pair in numbers)
    last = entry("C", crc(file[begin:]))
    return file + last + padding(last)


def metadata(**changes: object) -> bytes:
    """The metadata of four bytes, with other values; a key that is None is left out."""
    array = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [4],
        "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes"}],
        "fill_value": 0,
        "attributes": {},
    }
    array.update(changes)
    return json.dumps({key: value for key, value in array.items() if value is not None}, indent=2).encode() + b"\n"


def changed(file: bytes, at: int, new: bytes) -> bytes:
    return file[:at] + new + file[at + len(new) :]


FILES: dict[str, tuple[bytes, dict[str, object]]] = {}


def bad(
    name: str,
    file: bytes,
    what: str,
    error: str,
    offset: int,
    whole: int = 1,
    reader: str = "plain",
    also: str = "",
    byte: int | None = None,
) -> None:
    """A file. Its first `whole` sections can be read; `also` is another error that is as right; `byte` alone was changed."""
    expected = {"what": what, "error": error, "code": CODES[error], "offset": offset, "whole": whole, "reader": reader}
    if also:
        expected["also"] = also
    if byte is not None:
        expected["byte"] = byte
    FILES[name + ".scda"] = (file, expected)


def torn(name: str, file: bytes, what: str, whole: int, left: int) -> None:
    """A file that is read up to its last seal."""
    expected: dict[str, object] = {
        "what": what,
        "error": None,
        "code": 0,
        "whole": whole,
        "reader": "seal",
        "left_out": left,
    }
    FILES[name + ".scda"] = (file, expected)


def headers() -> None:
    for name, at, new, what, error, offset in [
        ("magic", 0, b"SCDATA0", "the first bytes are no magic", "format", 0),
        ("version", 0, b"scdata1", "the version of the format is a later one", "version", 0),
        ("space", 7, b"x", "no space after the magic", "format", 0),
        ("vendor", 8, b"v" * 24, "the vendor string has no padding", "format", 8),
        ("letter", 32, b"G", "the second line begins with G, not F", "format", 32),
        ("letter-space", 33, b"x", "no space after the letter F", "format", 32),
        ("user", 34, b"u" * 62, "the user string has no padding", "format", 32),
    ]:
        bad(f"header-{name}", changed(GOOD, at, new), what, error, offset, whole=0)
    for length in [0, 1, 31, 64, 127]:
        bad(f"header-cut-{length}", GOOD[:length], f"the file ends after {length} bytes", "short file", 0, whole=0)


def sections() -> None:
    good = block(b"b", b"12345")
    for name, at, new, what in [
        ("type", 0, b"X", "there is no section of type X"),
        ("type-small", 0, b"b", "the type is a small letter"),
        ("second-header", 0, b"F", "a second header of a file"),
        ("space", 1, b"x", "no space after the type"),
        ("user", 2, b"u" * 62, "the user string has no padding"),
        ("user-no-dash", 3, b" " * 59, "the padding of the user string has no dash"),
    ]:
        bad(f"section-{name}", GOOD + changed(good, at, new), what, "format", AT)
    for name, length, what, offset in [
        ("rest", 5, "the file ends after 5 bytes of a header", AT),
        ("cut", 63, "the file ends before the last byte of a header", AT),
        ("no-entry", 64, "the file ends before the entry E", AT + 64),
        ("cut-entry", 80, "the file ends in the entry E", AT + 64),
    ]:
        bad(f"section-{name}", GOOD + good[:length], what, "short file", offset)
    for name, number, what in [
        ("empty", "", "no digit"),
        ("leading-zero", "05", "a leading zero"),
        ("negative", "-5", "a minus sign"),
        ("plus", "+5", "a plus sign"),
        ("hexadecimal", "0x5", "hexadecimal digits"),
        ("space", "1 2", "a space among the digits"),
        ("space-before", " 5", "a space before the digits"),
        ("fraction", "5.0", "a fraction"),
    ]:
        bad(f"entry-{name}", GOOD + changed(good, 64, entry("E", number)), f"the entry E has {what}", "format", AT + 64)
    bad("entry-letter", GOOD + changed(good, 64, b"N"), "the entry of a block begins with N, not E", "format", AT + 64)
    bad("entry-no-space", GOOD + changed(good, 65, b"5"), "no space after the letter E", "format", AT + 64)
    bad("entry-padding", GOOD + changed(good, 67, b"5" * 29), "the entry E has no padding", "format", AT + 64)
    for name, large, offset in [("2^63", 2**63, AT), ("2^64", 2**64, AT + 64), ("26-nines", 10**26 - 1, AT + 64)]:
        file = GOOD + changed(good, 64, entry("E", large))
        bad(f"entry-{name}", file, f"E is {name.replace('-', ' ')}", "range", offset, also="short file")
    good = array(b"a", b"1234", b"5678")
    bad("array-letter-N", GOOD + changed(good, 64, b"M"), "the entry N begins with M", "format", AT + 64)
    bad("array-letter-E", GOOD + changed(good, 96, b"U"), "the entry E begins with U", "format", AT + 96)
    huge = changed(good, 64, entry("N", 2**32) + entry("E", 2**32))
    bad("array-product", GOOD + huge, "N times E is 2^64", "range", AT)
    good = varray(b"v", b"1", b"", b"234")
    bad(
        "varray-size-letter",
        GOOD + changed(good, 128, b"U"),
        "the size of element 1 begins with U, not E",
        "format",
        AT + 128,
    )
    bad("varray-size-number", GOOD + changed(good, 130, b"x"), "the size of element 1 is no number", "format", AT + 128)
    huge = changed(good, 96, entry("E", 2**62) * 3)
    bad("varray-sum", GOOD + huge, "the sum of the sizes is 3 times 2^62", "range", AT + 96, also="short file")
    bad("varray-count", GOOD + changed(good, 64, entry("N", 2**58)), "2^58 sizes have 2^63 bytes", "range", AT)


def ends() -> None:
    """The file ends too early."""
    for name, section, length, what in [
        ("inline", inline(b"i", b"i"), 95, "in the data of an inline section"),
        ("block", block(b"b", b"12345"), 98, "in the data of a block"),
        ("block-padding", block(b"b", b"12345"), 127, "before the last byte of the padding of a block"),
        ("array", array(b"a", b"1234", b"5678"), 130, "in the data of an array"),
        ("array-padding", array(b"a", b"1234", b"5678"), 140, "in the padding of an array"),
        ("varray-sizes", varray(b"v", b"1", b"23"), 140, "in the sizes of a varray"),
        ("varray", varray(b"v", b"1", b"23"), 161, "in the data of a varray"),
        ("varray-padding", varray(b"v", b"1", b"23"), 170, "in the padding of a varray"),
    ]:
        bad(f"cut-{name}", GOOD + section[:length], f"the file ends {what}", "short file", AT)


def pairs() -> None:
    """Compressed sections."""
    first, second = inline(b"B compressed scda 00", entry("U", 5)), block(b"b", coded(deflated(b"12345"), 5))
    at = AT + len(first)  # the second section
    data = at + 96  # the compressed element

    def pair(name: str, file: bytes, what: str, offset: int = AT) -> None:
        bad(name, GOOD + file, what, "decode", offset, reader="decode")

    for name, number, letter in [("letter", 5, "E"), ("number", "x", "U"), ("leading-zero", "05", "U")]:
        wrong = inline(b"B compressed scda 00", entry(letter, number))
        pair(f"pair-{name}", wrong + second + WHOLE, f"the entry U is {letter} {number}", AT + 64)
    what = "the file ends after the first section of a pair"
    bad("pair-alone", GOOD + first, what, "short file", at, reader="decode", also="decode")
    pair("pair-type", first + array(b"b", b"12345"), "the second section is an array, not a block")
    pair("pair-inline", first + inline(b"b", b"12345"), "the second section is inline, not a block")
    array_first = inline(b"A compressed scda 00", entry("U", 5))
    pair("pair-array-type", array_first + second, "a block follows where a varray must")
    one = coded(deflated(b"12345"), 5)
    sizes = array(b"V compressed scda 00", entry("U", 5), entry("U", 5))
    pair("pair-varray-count", sizes + varray(b"v", one), "two sizes before compression, one element")
    pair("pair-varray-E", array(b"V compressed scda 00", b"U 5") + varray(b"v", one), "E of the sizes is 3, not 32")
    sizes = array(b"V compressed scda 00", entry("E", 5))
    pair("pair-varray-letter", sizes + varray(b"v", one), "a size before compression begins with E, not U", AT + 128)

    stream = deflated(b"12345")
    adler = changed(stream, len(stream) - 1, bytes([stream[-1] ^ 1]))
    text = base64.b64encode((5).to_bytes(8, "big") + b"z" + stream)
    for name, element, what in [
        ("empty", b"", "it has no bytes"),
        ("character", lines(changed(text, 5, b"!")), "a character that base64 has not"),
        (
            "equals",
            lines(text[:-1] + b"A") if text.endswith(b"=") else lines(text[:-1] + b"="),
            "another end of base64",
        ),
        ("length", lines(text[:-1]), "the base64 is one character short"),
        ("no-break", text, "no line break at its end"),
        ("letter", coded(stream, 5, b"y"), "the letter y, not z, after the size"),
        ("size", coded(stream, 6), "another size than the entry U"),
        ("size-2^62", coded(stream, 2**62), "the size 2^62"),
        ("adler", coded(adler, 5), "another Adler-32 than that of its bytes"),
        ("zlib-header", coded(b"\x79" + stream[1:], 5), "a stream that does not begin as those of zlib"),
        ("dictionary", coded(b"\x78\x20\0\0\0\1" + stream[2:], 5), "a stream that wants a preset dictionary"),
        ("block", coded(changed(stream, 2, b"\x07"), 5), "a block of type 3"),
        ("stream-cut", coded(stream[:-5], 5), "a stream that ends early"),
        ("stream-short", coded(deflated(b"1234"), 5), "a stream of 4 bytes, not 5"),
        ("stream-long", coded(deflated(b"123456"), 5), "a stream of 6 bytes, not 5"),
        ("rest", coded(stream + b"\0", 5), "a byte after the stream"),
    ]:
        pair(f"element-{name}", first + block(b"b", element), f"the compressed element: {what}", data)


def seals() -> None:
    second = block(b"second", b"hello")
    before = header(b"bad-data sealed")
    whole = sealed(before, [WHOLE, second])
    index = 128 + len(WHOLE) + len(second)
    seal = len(whole) - 288

    def wrong(name: str, file: bytes, what: str, offset: int, sections: int = 0) -> None:
        was = twice if name == "damaged" else whole
        byte = next(at for at in range(len(file)) if file[at] != was[at])
        bad(f"seal-{name}", file, what, "checksum", offset, whole=sections, reader="seal", byte=byte)

    later = inline(b"third", b"3")
    twice = sealed(whole, [later], seal, 2)
    wrong("data", changed(whole, AT + 96, b"j"), "a byte of the data of the second section was changed", AT, 1)
    wrong("padding", changed(whole, AT + 103, b"-"), "a byte of the padding of the second section was changed", AT, 1)
    wrong("user", changed(whole, AT + 2, b"S"), "a byte of the user string of the second section was changed", AT, 1)
    wrong("vendor", changed(whole, 8, b"B"), "a byte of the vendor string was changed", 0)
    wrong("index", changed(whole, index + 128 + 157, b"2"), "a digit in the index was changed", index)
    wrong(
        "checksum",
        changed(whole, seal + 227, b"%d" % ((whole[seal + 227] + 1) % 10)),
        "a digit of the checksum in the seal was changed",
        index,
    )
    last = len(twice) - 288
    wrong(
        "damaged",
        changed(twice, last + 96 + 2, b"x"),
        "the last seal was changed: it is none, and is no cut either",
        last,
    )
    torn(
        "seal-none",
        before + WHOLE + second,
        "a file that is to be sealed has no seal: all after its header is not committed",
        0,
        len(WHOLE) + len(second),
    )
    torn("seal-followed", whole + later, "a whole section after the last seal: it is not committed", 2, len(later))
    torn("seal-half", whole + later[:70], "a part of a section after the last seal", 2, 70)
    torn("seal-zeros", whole + bytes(512), "zeros after the last seal: what a loss of power leaves", 2, 512)
    torn(
        "seal-lost",
        twice[:last] + bytes(288),
        "the last seal is zero: it did not come to the disk",
        2,
        len(twice) - len(whole),
    )
    torn(
        "seal-lost-start",
        changed(twice, last, bytes(64)),
        "the first sector of the last seal is zero",
        2,
        len(twice) - len(whole),
    )
    torn(
        "seal-lost-end",
        changed(twice, last + 256, bytes(32)),
        "the last sector of the last seal is zero",
        2,
        len(twice) - len(whole),
    )


def datasets() -> None:
    four = array(b"d", *(bytes([value]) for value in b"1234"))

    def dataset(
        name: str, text: bytes, what: str, wrong: bytes | int, error: str = "format", data: bytes = four
    ) -> None:
        """Wrong is the last such text in the metadata, or what is `wrong` bytes after the beginning of the data's section."""
        meta = block(b"scda dataset 00", text)
        offset = AT + len(meta) + wrong if isinstance(wrong, int) else AT + meta.rindex(wrong)
        bad(f"dataset-{name}", GOOD + meta + data, what, error, offset, reader="dataset")

    def chunks(length: int) -> dict[str, object]:
        return {"name": "regular", "configuration": {"chunk_shape": [length]}}

    text = metadata()
    dataset("json", text[:-2] + b"]\n", "the metadata are no JSON: a bracket where a brace must close", b"]\n=")
    dataset("no-object", b"[]\n", "the metadata are a list", b"[]")
    dataset("utf-8", text.replace(b"regular", b"re\xffular"), "the metadata are no UTF-8", b"\xff")
    twice = text.replace(b'"shape"', b'"fill_value": 0,\n  "shape"')
    dataset("twice", twice, "the metadata have a key twice", b'": 0,\n  "attributes')
    dataset("no-shape", metadata(shape=None), "the metadata have no shape", b'{\n  "zarr')
    dataset("zarr-2", metadata(zarr_format=2), "zarr_format is 2", b'2,\n  "node')
    dataset("negative", metadata(shape=[-4]), "the shape is negative", b"[\n    -4")
    dataset("shape", metadata(shape=[5], chunk_grid=chunks(5)), "the shape has 5 items, the section 4", 0)
    endian = [{"name": "bytes", "configuration": {"endian": "little"}}]
    what = "items of 2 bytes, the section has elements of 1"
    dataset("size", metadata(data_type="uint16", codecs=endian), what, 0)
    dataset("section", text, "the data are a block", 0, data=block(b"d", b"1234"))
    dataset("type", metadata(data_type="int7"), "a type of items that nobody has", b'"int7"', "unsupported")
    unknown = [{"name": "bytes"}, {"name": "none-such"}]
    dataset("codec", metadata(codecs=unknown), "a codec that nobody has", 0, "unsupported")
    codecs = [{"name": "bytes"}, {"name": "numcodecs.zlib", "configuration": {"level": 1}}]
    text, chunk = metadata(chunk_grid=chunks(2), codecs=codecs), deflated(b"12")
    dataset("chunks", text, "two chunks, the section has three", 0, data=varray(b"d", chunk, chunk, chunk))
    broken = changed(chunk, len(chunk) - 1, bytes([chunk[-1] ^ 1]))
    what = "another Adler-32 in the second chunk"
    dataset("chunk", text, what, 160 + len(chunk), "decode", varray(b"d", chunk, broken))

    def second_chunk(name: str, codec: dict[str, object], chunk: bytes, broken: bytes, what: str) -> None:
        text = metadata(chunk_grid=chunks(2), codecs=[{"name": "bytes"}, codec])
        dataset(name, text, f"{what} in the second chunk", 160 + len(chunk), "decode", varray(b"d", chunk, broken))

    gzip, chunk = {"name": "gzip", "configuration": {"level": 1}}, gzipped(b"12")
    second_chunk("gzip", gzip, chunk, chunk + b"3", "a byte after the gzip stream")
    chunk = b"12" + little(crc32c(b"12"))
    second_chunk("crc32c", {"name": "crc32c"}, chunk, b"3" + chunk[1:], "another CRC-32C")
    settings = {"typesize": 1, "cname": "zstd", "clevel": 0, "shuffle": "noshuffle", "blocksize": 0}
    blosc, chunk = {"name": "blosc", "configuration": settings}, framed(b"12")
    second_chunk("blosc", blosc, chunk, changed(chunk, 12, b"\x13"), "a frame of Blosc that says a byte more")
    second_chunk("blosc-version", blosc, chunk, changed(chunk, 0, b"\x09"), "a frame of Blosc of a later version")


def main() -> None:
    for make in (headers, sections, ends, pairs, seals, datasets):
        make()
    folder = Path(__file__).parent
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, (file, _) in sorted(FILES.items()):
            member = tarfile.TarInfo(name)
            member.size = len(file)
            tar.addfile(member, io.BytesIO(file))
    expected = json.dumps({name: expected for name, (_, expected) in FILES.items()}, indent=1).encode() + b"\n"
    made = {"files.tar": archive.getvalue(), "expected.json": expected}
    if sys.argv[1:] == ["--check"]:
        wrong = [name for name in made if (folder / name).read_bytes() != made[name]]
        sys.exit(f"not as make.py makes them: {', '.join(wrong)}" if wrong else 0)
    for name, file in made.items():
        (folder / name).write_bytes(file)
    print(f"{len(FILES)} files")


if __name__ == "__main__":
    main()
