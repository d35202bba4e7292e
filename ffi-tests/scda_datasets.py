#!/usr/bin/env python3
"""An independent reader of datasets, written from docs/datasets.md: the standard library only, nothing of libscda.

  scda_datasets.py list  FILE              the datasets and groups of a file, one line each
  scda_datasets.py check FILE TEXT RAW     it has the datasets of TEXT, in this order, and RAW has all their items

A line of TEXT is: name type item_bytes layout shuffle shape...; the layout is 0 (contiguous), 1 (chunks), 2 (0 or 1), or 3 (chunks as text).
"""

import argparse
import ctypes
import itertools
import json
import math
import re
import struct
import sys
import zlib
from collections import namedtuple

from scda_parse import Bad, Parser, need

Dataset = namedtuple("Dataset", "name type item shape chunk is_shuffled fill attributes names layout data")
SIZES = {"bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8}
SIZES.update({"float16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16})
KEYS = ["zarr_format", "node_type", "shape", "data_type", "chunk_grid", "codecs", "fill_value", "attributes"]
FLOATS = {2: "<e", 4: "<f", 8: "<d"}
NAN = {2: 0x7E00, 4: 0x7FC00000, 8: 0x7FF8000000000000}


def once(pairs):
    need(len(dict(pairs)) == len(pairs), "a key stands twice")
    return dict(pairs)


def metadata(data, keys):
    text = data.decode()
    need(text.endswith("\n"), "no line feed ends the metadata")
    found = json.loads(text, object_pairs_hook=once)
    need([key for key in [*keys, "dimension_names"] if key in found] == list(found), f"keys {list(found)}")
    need(set(keys) - set(found) <= {"attributes", "dimension_names"}, f"keys {list(found)}")
    if "attributes" not in found:  # json has no numbers as they were given
        members = (json.dumps({key: value}, separators=(",", ":"), ensure_ascii=False)[1:-1] for key, value in found.items())
        need(text.rstrip(" \n") == "{\n" + ",\n".join(members) + "\n}", "layout of the text")
    need(re.search(r"\} *\n\Z", text), "what follows the last brace")
    return found


def item_bytes(kind):
    if kind in SIZES:
        return SIZES[kind]
    need(re.fullmatch(r"r[1-9][0-9]*", kind) and int(kind[1:]) % 8 == 0, f"type {kind}")
    return int(kind[1:]) // 8


def real(value, size):
    """The bytes of a floating-point number."""
    if isinstance(value, str) and value.startswith("0x"):
        need(len(value) == 2 + 2 * size, value)
        return int(value, 16).to_bytes(size, "little")
    if value == "NaN":
        return NAN[size].to_bytes(size, "little")
    if isinstance(value, str):
        value = {"Infinity": math.inf, "-Infinity": -math.inf}[value]
    return struct.pack(FLOATS[size], value)


def fill_item(value, kind, size):
    if kind.startswith("complex"):
        need(isinstance(value, list) and len(value) == 2, "a complex fill value")
        return real(value[0], size // 2) + real(value[1], size // 2)
    if kind.startswith("float"):
        return real(value, size)
    if kind.startswith("r"):
        need(len(value) == size, "bytes of a raw fill value")
        return bytes(value)
    need(isinstance(value, bool) == (kind == "bool"), "a fill value of another type")
    return int(value).to_bytes(size, "little", signed=kind.startswith("int"))


def unshuffle(data, n):
    k = len(data) // n
    plain = bytearray(data)
    for b in range(n):
        plain[b : n * k : n] = data[b * k : (b + 1) * k]
    return bytes(plain)


def lz4(block, size):
    """An LZ4 block of `size` decoded bytes."""
    data, at = bytearray(), 0

    def length(n):
        nonlocal at
        while n >= 15 and block[at] == 255:
            n, at = n + 255, at + 1
        if n >= 15:
            n, at = n + block[at], at + 1
        return n

    while at < len(block):
        token, at = block[at], at + 1
        literals = length(token >> 4)
        data += block[at : at + literals]
        at += literals
        if at == len(block):
            break
        back = block[at] + 256 * block[at + 1]
        at += 2
        for _ in range(length(token & 15) + 4):
            data.append(data[-back])
    need(len(data) == size, "bytes of an LZ4 block")
    return bytes(data)


def zstd(frame, size):
    """A Zstandard frame of `size` decoded bytes, by the library that the system's package manager has."""
    data = ctypes.create_string_buffer(max(size, 1))
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    found = library.ZSTD_decompress(data, ctypes.c_size_t(size), frame, ctypes.c_size_t(len(frame)))
    need(found == size, "a Zstandard frame")
    return data.raw[:size]


def blosc(given, size):
    """Reads frames of one block of one stream, as libscda writes them; `size`: of an item."""
    name, level = given["cname"], given["clevel"]
    is_shuffled = given["shuffle"] == "shuffle"
    need(name in ("zstd", "lz4") and 0 <= level <= 9 and given["blocksize"] == 0, "a codec blosc")
    need(given["typesize"] == (size if size < 256 else 1), "typesize")
    need(is_shuffled or given["shuffle"] == "noshuffle", "shuffle")

    def read(frame):
        version, _, flags, item, n, block, length = struct.unpack("<BBBBIII", frame[:16])
        need((version, item, block, length) == (2, given["typesize"], n, len(frame)), "the header of a frame")
        need(flags & ~2 == 0x10 | is_shuffled | (4 if name == "zstd" else 1) << 5, f"flags {flags}")
        if flags & 2:
            need(len(frame) == n + 16, "bytes of a stored frame")
            return frame[16:]
        need(level > 0 and struct.unpack("<II", frame[16:24]) == (20, length - 24), "the stream of a frame")
        data = (zstd if name == "zstd" else lz4)(frame[24:], n)
        return unshuffle(data, item) if is_shuffled else data

    return is_shuffled, read


def codecs_of(meta, kind, size):
    """Whether chunks are shuffled, and what reads them if they are compressed."""
    codecs = list(meta["codecs"])
    number = size // 2 if kind.startswith("complex") else 1 if kind.startswith("r") else size
    first = {"name": "bytes"} if number == 1 else {"name": "bytes", "configuration": {"endian": "little"}}
    need(codecs.pop(0) == first, "the codec bytes")
    shuffle = {"name": "numcodecs.shuffle", "configuration": {"elementsize": size}}
    is_shuffled = bool(codecs) and codecs[0] == shuffle and size > 1
    if is_shuffled:
        codecs.pop(0)
    read = None
    if codecs and codecs[0]["name"] == "numcodecs.zlib":
        need(0 <= codecs.pop(0)["configuration"]["level"] <= 9, "a level")
        read = (lambda data: unshuffle(zlib.decompress(data), size)) if is_shuffled else zlib.decompress
    elif codecs and codecs[0]["name"] == "blosc" and not is_shuffled:
        is_shuffled, read = blosc(codecs.pop(0)["configuration"], size)
    need(not codecs, f"codecs {codecs}")
    return is_shuffled, read


def assemble(shape, chunk, item, chunks, fill):
    """The array from its chunks, in C order; and what stands in them beyond the array must be the fill value."""
    array = bytearray(math.prod(shape) * item)
    grid = [range(-(-n // c)) for n, c in zip(shape, chunk)]
    for index, data in zip(itertools.product(*grid), chunks, strict=True):
        need(len(data) == math.prod(chunk) * item, "bytes of a chunk")
        for place, within in enumerate(itertools.product(*map(range, chunk))):
            value = data[place * item : (place + 1) * item]
            at = [i * c + w for i, c, w in zip(index, chunk, within)]
            if any(a >= n for a, n in zip(at, shape)):
                need(value == fill, "not the fill value beyond the array")
                continue
            flat = 0
            for a, n in zip(at, shape):
                flat = flat * n + a
            array[flat * item : (flat + 1) * item] = value
    return bytes(array)


def read_dataset(meta, section, at):
    need(meta["zarr_format"] == 3 and meta["node_type"] == "array", "a Zarr v3 array")
    kind, shape = meta["data_type"], meta["shape"]
    item, name = item_bytes(kind), section.user.decode()
    need(1 <= len(section.user) <= 58 and all(name.split("/")) and not name.startswith("scda "), f"name {name}")
    need(meta["chunk_grid"]["name"] == "regular", "a regular grid")
    chunk = meta["chunk_grid"]["configuration"]["chunk_shape"]
    need(len(chunk) == len(shape) <= 32 and all(c >= 1 for c in chunk), "shape of a chunk")
    is_shuffled, read = codecs_of(meta, kind, item)
    fill = fill_item(meta["fill_value"], kind, item)
    names = meta.get("dimension_names")
    need(names is None or len(names) == len(shape), "names of dimensions")
    number, bytes_of_chunk = math.prod(-(-n // c) for n, c in zip(shape, chunk)), math.prod(chunk) * item
    if section.type == "V":
        need(read is not None and len(section.elements) == number, "a chunk for each element")
        chunks = []
        for element in section.elements:
            plain = fill * math.prod(chunk)
            if element:
                data = read(element)
                need(len(data) == bytes_of_chunk, "bytes of a stream")
                need(data != plain, "a chunk of the fill value is stored")
                plain = data
            chunks.append(plain)
        data, layout = assemble(shape, chunk, item, chunks, fill), 1
    elif section.packed is not None:
        need(read is None and (len(section.elements), section.E) == (number, bytes_of_chunk), "N and E of chunks as text")
        chunks = [unshuffle(element, item) if is_shuffled else element for element in section.elements]
        data, layout = assemble(shape, chunk, item, chunks, fill), 3
    else:
        need(section.type == "A" and read is None and not is_shuffled, "a contiguous dataset")
        need(chunk == [max(n, 1) for n in shape], "one chunk")
        rows = shape[0] if shape else 1
        need((len(section.elements), section.E) == (rows, math.prod(shape[1:]) * item), "N and E of rows")
        data, layout = b"".join(section.elements), 0
        need(len(data) < 65536 or (at + 128) % 4096 == 0, f"data at {at + 128} are not aligned")
    return Dataset(name, kind, item, shape, chunk, is_shuffled, fill, meta.get("attributes", {}), names, layout, data)


def read(path):
    """The datasets of a file, and the attributes of its groups."""
    parser = Parser(open(path, "rb").read())
    parser.header()
    datasets, groups, known = [], {}, set()
    before = None
    while parser.pos < len(parser.data):
        at = parser.pos
        section = parser.section()
        if before is not None and before[0] == "dataset":
            try:
                datasets.append(read_dataset(before[1], section, at))
            except (Bad, KeyError, ValueError) as error:
                raise Bad(f"dataset {section.user!r}: {error}") from error
            known.add(section.user)
        elif before is not None:
            need(section.type == "B" and section.user.endswith(b"/"), "a group")
            meta = metadata(section.elements[0], ["zarr_format", "node_type", "attributes"])
            need(meta["node_type"] == "group", "node type of a group")
            groups[section.user.decode()[:-1] or "/"] = meta["attributes"]
        else:
            need(section.user not in known, f"section {section.user} without metadata")
        before = None
        if section.type == "B" and section.user == b"scda dataset 00":
            before = ("dataset", metadata(section.elements[0], KEYS))
        elif section.type == "I" and section.user == b"scda group 00":
            need(section.elements[0] == b"Below: attributes of this group\n", "the data of a group")
            before = ("group",)
    need(before is None, "the file ends after metadata")
    return datasets, groups


def check(path, text, raw):
    datasets, _ = read(path)
    wanted, raw, at = open(text).read().splitlines(), open(raw, "rb").read(), 0
    need(len(datasets) == len(wanted), f"{len(datasets)} datasets, not {len(wanted)}")
    for dataset, line in zip(datasets, wanted):
        name, kind, item, layout, shuffle, *shape = line.split()
        need(dataset.name == name and dataset.item == int(item) and dataset.shape == list(map(int, shape)), line)
        need(dataset.type == (f"r{8 * int(item)}" if kind == "raw" else kind), line)
        need(dataset.layout in ([0, 1] if layout == "2" else [int(layout)]), f"{line}: layout {dataset.layout}")
        need(dataset.layout == 0 or dataset.is_shuffled == (shuffle == "1" and dataset.item > 1), f"{line}: shuffled")
        data = raw[at : at + math.prod(dataset.shape) * dataset.item]
        need(dataset.data == data, f"{line}: other data")
        at += len(data)
    need(at == len(raw), "more items")
    return len(datasets)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("command", choices=["list", "check"])
    args.add_argument("file", nargs="+")
    args = args.parse_args()
    try:
        if args.command == "check":
            print(args.file[0], check(*args.file), "datasets, as they should be")
            return
        datasets, groups = read(args.file[0])
        for path, attributes in groups.items():
            print(path, attributes)
        for d in datasets:
            print(d.name, d.type, d.shape, d.chunk, ["contiguous", "chunks", "auto", "text"][d.layout], d.attributes, len(d.data))
    except (Bad, KeyError, ValueError, struct.error, zlib.error) as error:
        sys.exit(f"{args.file[0]}: {error}")


if __name__ == "__main__":
    main()
