#!/usr/bin/env python3
"""An independent reader of sealed scda files, written from docs/format.md and docs/hdf5.md: the standard library only, nothing of libscda.

  scda_seal.py FILE...          checks every byte of each file, and prints its sections, one line each
  scda_seal.py --torn FILE...   the same for the part up to the last seal, wherever that is
"""

import argparse
import re
import sys
import zlib
from collections import namedtuple

from scda_parse import Bad, Parser, need

Row = namedtuple("Row", "kind user O L N letter size C S")
Seal = namedtuple("Seal", "at I P N L C")

EVERY, SEAL, STYLES = 4096, 288, {b"\n": b"-\n", b"\r\n": b"\r\n"}


def crc_table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x9A6C9329AC4BC9B5 if byte & 1 else 0)  # 0xad93d23594c93659, reflected
        yield byte


TABLE = list(crc_table())


def crc(data):
    value = (1 << 64) - 1
    for byte in data:
        value = TABLE[(value ^ byte) & 255] ^ value >> 8
    return value ^ (1 << 64) - 1


need(crc(b"123456789") == 0xAE8B14860A799888, "the check value")


def pad_string(text, length, style):
    return text + b" " + b"-" * (length - len(text) - 3) + STYLES[style]


def entry(letter, value, style):
    return letter + b" " + pad_string(b"%d" % value, 30, style)


def line_padding(style):
    """The padding of data that fill a multiple of 32 bytes and end with a line feed."""
    return b"=" * (32 - 2 * len(style)) + style * 2


def seal_bytes(seal, style):
    letters = [(b"I", seal.I), (b"P", seal.P), (b"N", seal.N), (b"L", seal.L), (b"C", seal.C)]
    entries = b"".join(entry(letter, value, style) for letter, value in letters)
    return b"B " + pad_string(b"scda seal 00", 62, style) + entry(b"E", 160, style) + entries + line_padding(style)


def table(data, at, user, size):
    """The elements of the array of this user string and size at `at`, and where it ends; None if there is none."""
    try:
        parser = Parser(data)
        parser.pos = at
        section = parser.raw()
    except (Bad, ValueError):
        return None
    found = (section.type, section.user, section.E) == ("A", user, size)
    return (section.elements, parser.pos) if found else None


def block_end(data, at, user):
    """Where the block of this user string at `at` ends; `at` if there is none."""
    if not data[at:].startswith(b"B " + user + b" "):
        return at
    parser = Parser(data)
    parser.pos = at
    section = parser.raw()
    return parser.pos if (section.type, section.user) == ("B", user) else at


def header_end(data):
    """Where the header of the file ends, with the block that has room for HDF5's superblock."""
    return block_end(data, 128, b"scda hdf5 00")


def view_end(data, at):
    """Where a view of HDF5 at `at` ends, whose checksum is right; `at` if there is none."""
    end = block_end(data, at, b"scda hdf5 view 00")
    if end > at:
        value = crc(data[at : end - 64])
        tails = [entry(b"C", value, style) + line_padding(style) for style in STYLES]
        need(data[end - 64 : end] in tails, f"view at byte {at}: checksum and padding")
    return end


def sealed_bytes(data, row):
    """The bytes of a section; those of the superblock count as zeros."""
    found = data[row.O : row.O + row.L]
    return found[:512] + bytes(48) + found[560:] if row.O == 0 and row.L > 560 else found


def check_superblock(data, seals):
    """It is zero, or leads to what one of these seals covers."""
    superblock = data[512:560]
    if header_end(data) > 512 and any(superblock):
        need(superblock[:8] == b"\x89HDF\r\n\x1a\n", "superblock of HDF5: signature")
        end = int.from_bytes(superblock[28:36], "little")
        need(end in [seal.L for seal in seals], f"superblock of HDF5: the end {end} is that of no seal")


def read_seal(data, at):
    """The seal at this offset, with the rows of its index; None if it is none."""
    text = data[at : at + SEAL]
    if at < 0 or not text.startswith(b"B scda seal 00 "):
        return None
    parser = Parser(text)
    parser.pos = 96
    try:
        seal = Seal(at, *(parser.count(letter) for letter in (b"I", b"P", b"N", b"L", b"C")))
    except (Bad, ValueError):
        return None
    if not any(seal_bytes(seal, style) == text for style in STYLES) or seal.L != at + SEAL:
        return None
    if seal.I % 32 or not 128 + 96 * seal.N <= seal.I < at:
        return None
    index = table(data, seal.I, b"scda index 00", 160)
    if index is None or index[1] != at:
        return None
    before = -1
    if seal.P:
        previous = seal.P % 32 == 0 and seal.P + SEAL <= seal.I and read_seal(data, seal.P)
        if not previous or (not index[0] and view_end(data, seal.P + SEAL) != seal.I):
            return None
        before = previous[0].N
    return (seal, index[0]) if len(index[0]) == seal.N - before else None


def read_row(text, begin):
    """The row of a section that begins there; its `L` is the number of bytes, not the end."""
    parser = Parser(text)
    kind = chr(parser.take(2)[0])
    need(kind in "FIBAV" and text[1:2] == b" ", f"type of a row {kind!r}")
    user = parser.unpad_string(parser.take(62))
    numbers = re.fullmatch(rb"L ({0}) N ({0}) ([EU]) ({0}) C ({0}) S ({0})".replace(b"{0}", b"[0-9a-f]{16}"), text[64:158])
    need(numbers, f"numbers of a row {text[64:]!r}")
    letter = numbers.group(3).decode()
    L, N, size, C, S = (int(numbers.group(place), 16) for place in (1, 2, 4, 5, 6))
    return Row(kind, user, begin, L - begin, N, letter, size, C, S)


def section_row(data, at):
    """What a row says of the section at this offset, and the anchors that it has."""
    if at == 0:
        parser = Parser(data)
        _, user = parser.header()
        return Row("F", user, 0, header_end(data), 0, "E", 0, None, None), []
    parser = Parser(data)
    parser.pos = at
    section = parser.section()
    sizes = [len(element) for element in section.packed or section.elements]
    N = len(section.elements) if section.type in "AV" else 0
    size = section.E if section.type == "A" else sum(map(len, section.elements))
    letter = "E" if section.packed is None else "U"
    row = Row(section.type, section.user, at, parser.pos - at, N, letter, size, None, None)
    anchors = []
    if section.type == "V" or (section.type == "A" and section.packed is not None):
        first = Parser(data)
        first.pos = at
        if section.packed is not None:
            first.raw()
        place = first.pos + 96 + 32 * N
        for number, size in enumerate(sizes):
            if number and number % EVERY == 0:
                anchors.append(place)
            place += size
    return row, anchors


def check_names(data, at, seal, seals, named):
    """The table of names of a seal, if it has one, and where it ends. `seals` are those before it, `named` all sections."""
    found = table(data, at, b"scda names 00", 96)
    if found is None:
        return at
    (*rows, last), end = found
    parser, where = Parser(last), f"names at byte {at}"
    K, S = parser.count(b"K"), parser.count(b"S")
    need(K == len(seals) + 1 and K % S == 0 and S in (16**j for j in range(1, 16)), f"{where}: K = {K}, S = {S}")
    value = crc(data[at : end - 64])
    tails = [entry(b"C", value, style) + line_padding(style) for style in STYLES]
    need(data[end - 64 : end] in tails, f"{where}: checksum and padding")
    before = ([(0, 0, 0)] + [(seal.at, seal.N, seal.C) for seal in seals])[-S:]
    first = before[0][1]
    names = sorted((crc(user) >> 32, user, number, kind) for number, (kind, user) in enumerate(named) if number >= first)
    need(len(rows) == S + len(names) and len(names) <= 1 << 18, f"{where}: {len(rows)} rows")
    for row, expected in zip(rows, before):
        parser = Parser(row)
        found = tuple(parser.count(letter) for letter in (b"O", b"N", b"C"))
        need(found == expected, f"{where}: {found}, not {expected}")
    for row, expected in zip(rows[S:], names):
        parser = Parser(row)
        kind = chr(parser.take(2)[0])
        found = parser.unpad_string(parser.take(62)), parser.count(b"N"), kind
        need(found == expected[1:], f"{where}: {found}, not {expected}")
    return end


def check_seal(data, seal, texts, seals, named):
    """All that a seal covers, back to those before it, whose sections are in `named`. Returns the rows."""
    need(crc(data[seal.I : seal.at + SEAL - 64]) == seal.C, f"checksum of the seal at byte {seal.at}")
    rows, place, anchors = [], seal.P + SEAL if seal.P else 0, []
    for number, text in enumerate(texts):
        row, at = read_row(text, place), f"row {number} of the index at byte {seal.I}"
        rows.append(row)
        need(crc(sealed_bytes(data, row)) == row.C, f"{at}: checksum of section {row.user!r} at byte {row.O}")
        found, more = section_row(data, row.O)
        need(found == row._replace(C=None, S=None), f"{at}: {row}, but the section is {found}")
        place, anchors = row.O + row.L, anchors + more
    named += [(row.kind, row.user) for row in rows if row.kind != "F"]
    hashes = [crc(row.user) >> 32 if row.kind != "F" else 0 for row in rows]
    order = sorted(range(len(rows)), key=lambda number: (rows[number].kind != "F", hashes[number], rows[number].user, number))
    order = [hashes[number] << 32 | number for number in order]
    need([row.S for row in rows] == order, f"order of the index at byte {seal.I}: {[row.S for row in rows]}, not {order}")
    place = view_end(data, place)
    if anchors:
        found = table(data, place, b"scda anchors 00", 32)
        need(found is not None, f"anchors at byte {place}")
        entries, end = found
        need([Parser(text).count(b"O") for text in entries[:-1]] == anchors, f"anchors at byte {place}: offsets")
        value = crc(data[place : end - 64])
        tails = [entry(b"C", value, style) + line_padding(style) for style in STYLES]
        need(data[end - 64 : end] in tails, f"anchors at byte {place}: checksum and padding")
        place = end
    place = check_names(data, place, seal, seals, named)
    need(place == seal.I, f"sections and tables up to byte {place}, index at byte {seal.I}")
    return rows


def check(data, is_torn):
    """The rows of all sections of a sealed file, and the length of what is sealed."""
    starts = range(len(data) // 32 * 32 - SEAL, 0, -32) if is_torn else [len(data) - SEAL]
    found = next(filter(None, (read_seal(data, at) for at in starts)), None)
    need(found is not None, "not sealed")
    length, chain = found[0].L, []
    while found:
        chain.insert(0, found)
        found = read_seal(data, found[0].P) if found[0].P else None
    all_rows, seals, named = [], [], []
    for seal, texts in chain:
        all_rows += check_seal(data, seal, texts, seals, named)
        seals.append(seal)
    check_superblock(data, seals)
    return all_rows, length


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--torn", action="store_true")
    args.add_argument("file", nargs="+")
    args = args.parse_args()
    for path in args.file:
        try:
            with open(path, "rb") as file:
                data = file.read()
            rows, length = check(data, args.torn)
        except (Bad, ValueError, zlib.error) as error:
            sys.exit(f"{path}: {error}")
        for row in rows:
            print(row.kind, row.user, row.N, row.size, "compressed" if row.letter == "U" else "plain", row.O, row.L)
        print(path, "sealed,", len(rows) - 1, "sections,", length, "bytes of", len(data))


if __name__ == "__main__":
    main()
