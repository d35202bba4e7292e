"""Writes codecs.scda: arrays that zarr-python 3 has compressed by codecs of others, with every option that they have.

    python make_codecs.py

It needs zarr, numcodecs and pcodec. Metadata and chunks are those of zarr; only sections are put around them. The frames with Snappy,
which numcodecs does not have, are made by the C library (Debian: libblosc1), and put in the place of those that zarr made.
"""

import asyncio
import ctypes
import itertools
import json

import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ZstdCodec
from zarr.codecs.numcodecs import PCodec, Shuffle, Zlib

SHAPE, CHUNK = (30, 29), (24, 23)


def values(dtype):
    k = np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE)
    return (k * k // 499 / (8 if np.dtype(dtype).kind == "f" else 1)).astype(dtype)


def arrays():
    """Of each array its name, type, and arguments for zarr."""
    little = BytesCodec(endian="little")
    sizes = {"i2": 2, "f4": 4, "i8": 8}
    turns, levels = itertools.cycle(sizes), itertools.cycle((1, 9, 5, 1))
    for cname in ("blosclz", "lz4", "lz4hc", "zlib", "zstd", "snappy"):
        for shuffle, block in itertools.product(("noshuffle", "shuffle", "bitshuffle"), (0, 256, 1024)):
            dtype, level = next(turns), next(levels)
            made = "lz4" if cname == "snappy" else cname
            codec = BloscCodec(cname=made, clevel=level, shuffle=shuffle, blocksize=block, typesize=sizes[dtype])
            yield f"blosc/{cname}/{shuffle}/{block}/{level}", dtype, (little, [codec], {})
    yield "blosc/stored", "f4", (little, [BloscCodec(cname="zstd", clevel=0, shuffle="shuffle", typesize=4)], {})
    yield "blosc/other typesize", "i8", (little, [BloscCodec(cname="zstd", clevel=3, shuffle="shuffle", typesize=3)], {})
    for level, checksum in itertools.product((-5, 0, 1, 19), (False, True)):
        yield f"zstd/{level}/{checksum}", next(turns), (little, [ZstdCodec(level=level, checksum=checksum)], {})
    for level in (0, 1, 9):
        yield f"gzip/{level}", next(turns), (little, [GzipCodec(level=level)], {})
    for name, codec in (("none", []), ("zstd", [ZstdCodec()]), ("gzip", [GzipCodec()]), ("blosc", [BloscCodec(cname="lz4", typesize=8, shuffle="shuffle")])):
        yield f"crc32c/{name}", "i8", (little, [*codec, Crc32cCodec()], {})
    yield "shuffle", "i2", (little, [Shuffle(elementsize=2), ZstdCodec()], {})
    yield "big", ">f4", (BytesCodec(endian="big"), [GzipCodec()], {})
    yield "zlib", "f4", (little, [Shuffle(elementsize=4), Zlib(level=9)], {})
    for level in (0, 8, 12):
        yield f"pcodec/{level}", "f4", (PCodec(level=level), [], {})


def with_snappy(frame, shuffle, level, block, size):
    """The frame anew, with Snappy."""
    blosc = ctypes.CDLL("libblosc.so.1")
    data, n = np.empty(CHUNK[0] * CHUNK[1] * size, "u1"), CHUNK[0] * CHUNK[1] * size
    if blosc.blosc_decompress_ctx(frame, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(n), 1) != n:
        raise SystemExit("a frame of zarr is none")
    out = ctypes.create_string_buffer(2 * n + 16)
    order = ("noshuffle", "shuffle", "bitshuffle").index(shuffle)
    size_t = ctypes.c_size_t
    arguments = (level, order, size_t(size), size_t(n), data.ctypes.data_as(ctypes.c_void_p), out, size_t(len(out)), b"snappy", size_t(block), 1)
    length = blosc.blosc_compress_ctx(*arguments)
    if length <= 0:
        raise SystemExit("Snappy failed")
    return out.raw[:length]


def padded(text, n):
    return text + b" " + b"-" * (n - len(text) - 3) + b"-\n"


def section(kind, user, entries, data):
    out = padded(kind + b" " + user, 64) + b"".join(padded(name + b" %d" % n, 32) for name, n in entries) + data
    p = 7 + (-(len(data) + 7)) % 32
    return out + (b"==" if data.endswith(b"\n") else b"\n=") + b"=" * (p - 4) + b"\n\n"


async def main():
    file = padded(b"scdata0 by hand", 32) + padded(b"F codecs of others", 64) + b"\n=" + b"=" * 28 + b"\n\n"
    for name, dtype, (serializer, compressors, more) in arrays():
        store = zarr.storage.MemoryStore()
        array = zarr.create_array(
            store, shape=SHAPE, chunks=CHUNK, dtype=dtype, serializer=serializer, compressors=compressors, filters=None, fill_value=7, **more
        )
        array[:] = values(dtype)
        prototype = zarr.core.buffer.default_buffer_prototype()
        metadata = json.loads((await store.get("zarr.json", prototype)).to_bytes())
        chunks = [(await store.get(f"c/{i}/{j}", prototype)).to_bytes() for i in range(2) for j in range(2)]
        if "/snappy/" in name:
            of = metadata["codecs"][-1]["configuration"]
            of["cname"] = "snappy"
            of = of["shuffle"], of["clevel"], of["blocksize"], of["typesize"]
            chunks = [with_snappy(chunk, *of) for chunk in chunks]
        text = json.dumps(metadata, separators=(",", ":")).encode()
        file += section(b"B", b"scda dataset 00", [(b"E", len(text))], text)
        sizes = [(b"N", len(chunks)), *((b"E", len(chunk)) for chunk in chunks)]
        file += section(b"V", name.encode(), sizes, b"".join(chunks))
    with open("codecs.scda", "wb") as out:
        out.write(file)


asyncio.run(main())
