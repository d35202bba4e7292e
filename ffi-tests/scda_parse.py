#!/usr/bin/env python3
"""An independent reader of scda files: the standard library only, nothing of libscda.

  scda_parse.py list     FILE                     what is in it, one line a section
  scda_parse.py check    FILE TEXT [--style unix|mime] [--zlib LEVEL]
                                                  it says what the manifest says
  scda_parse.py manifest JSON                     our text manifest from a JSON one, to stdout
  scda_parse.py expected JSON                     file names and error codes allowed, to stdout

A text manifest has the user string, then for each section a line
"type encode elements E userstring" and a line per element (one for I and B);
bytes are hexadecimal, "-" for none; encode is 0 (plain), 1 (compressed), 2 (either).
"""

import argparse
import base64
import json
import re
import struct
import sys
import zlib
from collections import namedtuple

# The elements are those of the user; `packed` are the compressed ones as they stand in the file, or None.
Section = namedtuple("Section", "type user E elements packed")

BREAK = {"unix": b"=\n", "mime": b"\r\n"}


class Bad(Exception):
    pass


def need(condition, *what):
    if not condition:
        raise Bad(*what)


class Parser:
    """Reads sections one after the other. With a style, padding must be as that style says."""

    def __init__(self, data, style=None):
        self.data, self.pos, self.style = data, 0, style

    def take(self, n):
        need(self.pos + n <= len(self.data), f"file ends in an entry at byte {self.pos}")
        self.pos += n
        return self.data[self.pos - n : self.pos]

    def unpad_string(self, entry):
        match = re.fullmatch(rb"(.*) (-+)(..)", entry, re.S)
        need(match, f"padding of {entry!r}")
        if self.style:
            need(match[3] == {"unix": b"-\n", "mime": b"\r\n"}[self.style], f"line break of {entry!r}")
        return match[1]

    def count(self, letter, entry=None):
        entry = self.take(32) if entry is None else entry
        need(entry[:2] == letter + b" ", f"count entry {entry!r}")
        digits = self.unpad_string(entry[2:])
        need(re.fullmatch(rb"0|[1-9][0-9]{0,25}", digits), f"count {digits!r}")
        return int(digits)

    def padded_data(self, n):
        data = self.take(n)
        p = 7
        while (n + p) % 32:
            p += 1
        padding = self.take(p)
        if self.style:
            first, last = {"unix": (b"\n=", b"\n\n"), "mime": (b"\r\n", b"\r\n\r\n")}[self.style]
            first = b"==" if data[-1:] == b"\n" else first
            need(padding == first + b"=" * (p - 2 - len(last)) + last, f"data padding {padding!r}")
        return data

    def header(self):
        magic, vendor = self.take(8), self.unpad_string(self.take(24))
        need(magic == b"scdata0 ", f"magic {magic!r}")
        need(self.take(2) == b"F ", "file header")
        user = self.unpad_string(self.take(62))
        self.padded_data(0)
        return vendor, user

    def raw(self):
        kind = self.take(2)
        need(re.fullmatch(b"[IBAV] ", kind), f"section type {kind!r} at byte {self.pos - 2}")
        kind, user = chr(kind[0]), self.unpad_string(self.take(62))
        if kind == "I":
            return Section(kind, user, 0, [self.take(32)], None)
        if kind == "B":
            E = self.count(b"E")
            return Section(kind, user, E, [self.padded_data(E)], None)
        N, E = self.count(b"N"), self.count(b"E") if kind == "A" else 0
        need(N * (E if kind == "A" else 32) <= len(self.data), f"N of {N}, E of {E} in a file of {len(self.data)} bytes")
        sizes = [E] * N if kind == "A" else [self.count(b"E") for _ in range(N)]
        data, elements, at = self.padded_data(sum(sizes)), [], 0
        for size in sizes:
            elements.append(data[at : at + size])
            at += size
        return Section(kind, user, E, elements, None)

    def unpack(self, packed):
        """One compressed element."""
        code = b""
        for at in range(0, len(packed), 78):
            line = packed[at : at + 78]
            need(len(line) > 2, "compressed data end in a short line")
            code += line[:-2]
            if self.style:
                need(line[-2:] == BREAK[self.style], f"line break {line[-2:]!r} in compressed data")
        plain = base64.b64decode(code, validate=True)
        need(plain[8:9] == b"z", "no 'z' in compressed data")
        data = zlib.decompress(plain[9:])
        need(struct.unpack(">Q", plain[:8])[0] == len(data), "uncompressed size")
        return data

    def section(self):
        first = self.raw()
        match = re.fullmatch(rb"([BAV]) compressed scda 00", first.user)
        if not match or first.type != {b"B": "I", b"A": "I", b"V": "A"}[match[1]]:
            return first
        kind, second = chr(match[1][0]), self.raw()
        need(second.type == ("B" if kind == "B" else "V"), "pair of compressed sections")
        sizes = [self.count(b"U", entry) for entry in first.elements]
        elements = [self.unpack(e) for e in second.elements]
        if kind == "V":
            need(sizes == [len(e) for e in elements], "U entries")
        else:
            need(all(len(e) == sizes[0] for e in elements), "U entry")
        return Section(kind, second.user, 0 if kind == "V" else sizes[0], elements, second.elements)

    def sections(self):
        while self.pos < len(self.data):
            yield self.section()


def bytes_in_file(kind, sizes):
    """How long a plain section is."""
    pad = sum(sizes) + 7
    pad += -pad % 32
    return {"B": 96, "A": 128, "V": 96 + 32 * len(sizes)}[kind] + pad


def read_manifest(path):
    with open(path) as file:
        word = lambda: bytes.fromhex(file.readline().strip().replace("-", ""))
        user, sections = word(), []
        for line in file:
            kind, encode, elems, E, name = line.split()
            elements = [word() for _ in range(int(elems))]
            sections.append((int(encode), Section(kind, bytes.fromhex(name.replace("-", "")), int(E), elements, None)))
    return user, sections


def check(path, manifest, style, level):
    parser = Parser(open(path, "rb").read(), style)
    vendor, user = parser.header()
    want_user, want = read_manifest(manifest)
    need(user == want_user, "user string of the file", user)
    if style:
        need(vendor.startswith(b"libscda "), "vendor string", vendor)
    got = list(parser.sections())
    need(len(got) == len(want), f"{len(got)} sections, not {len(want)}")
    for k, (section, (encode, wanted)) in enumerate(zip(got, want)):
        need(section._replace(packed=None) == wanted, f"section {k} is not what was written")
        need(encode == 2 or (section.packed is not None) == (encode == 1), f"section {k}: compressed or not")
        if level is not None and section.type != "I":
            packed = [pack(e, level, style) for e in section.elements]
            need(section.packed in (None, packed), f"section {k}: not the bytes of compress2")
            if encode == 2:
                plain = bytes_in_file(section.type, [len(e) for e in section.elements])
                pair = bytes_in_file("B" if section.type == "B" else "V", [len(e) for e in packed])
                pair += bytes_in_file("A", [32] * len(packed)) if section.type == "V" else 96
                need((section.packed is not None) == (pair < plain), f"section {k}: {pair} or {plain} bytes, the larger")
    return len(got)


def pack(data, level, style):
    code = base64.b64encode(struct.pack(">Q", len(data)) + b"z" + zlib.compress(data, level))
    return b"".join(code[at : at + 76] + BREAK[style] for at in range(0, len(code), 76))


def text_manifest(path):
    known = json.load(open(path))
    yield known["user_hex"] or "-"
    for s in known["sections"]:
        elements = s["elements_hex"] if s["type"] in "AV" else [s["data_hex"]]
        E = s["E"] if s["type"] == "A" else len(elements[0]) // 2 if s["type"] == "B" else 0
        yield f'{s["type"]} {int(s.get("encoded", False))} {len(elements)} {E} {s["user_hex"] or "-"}'
        yield from (e or "-" for e in elements)


def expected(path):
    for name, known in json.load(open(path)).items():
        yield f"{name} {known['reader']} {known['code']} {known.get('offset', 0)} {known['whole']}"


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("command", choices=["list", "check", "manifest", "expected"])
    args.add_argument("file", nargs="+")
    args.add_argument("--style", choices=["unix", "mime"])
    args.add_argument("--zlib", type=int)
    args = args.parse_args()
    try:
        if args.command == "check":
            print(args.file[0], check(*args.file, args.style, args.zlib), "sections, as they should be")
        elif args.command == "list":
            parser = Parser(open(args.file[0], "rb").read(), args.style)
            print("F", *parser.header())
            for s in parser.sections():
                print(s.type, s.user, len(s.elements), s.E, "compressed" if s.packed is not None else "plain")
        else:
            print("\n".join((text_manifest if args.command == "manifest" else expected)(args.file[0])))
    except (Bad, ValueError, zlib.error) as error:
        sys.exit(f"{args.file[0]}: {error}")


if __name__ == "__main__":
    main()
