"""Writes frames.bin: frames of Blosc 1 by its C library (python-blosc or numcodecs), for the test of src/codec/blosc.rs.

    python make.py [EVERY]

For each frame: the length of the data, of the frame, and a seed (32 bits each, little-endian), and the frame. The data follow from the
seed as in `data` below. Only each EVERY-th one is kept, so that the file stays small.
"""

import itertools
import struct
import sys

import numcodecs.blosc as blosc


def data(n, seed):
    """Bytes in which some repeat, and some do not."""
    out, state = bytearray(), seed
    while len(out) < n:
        state = (state * 1103515245 + 12345) % 2**31
        kind, run = state >> 28, (state >> 16) % 97
        if kind < 3 or not out:
            out += bytes([state >> 8 & 255]) * (run + 1)
        elif kind < 7:
            back = (state >> 4) % len(out) + 1
            out += bytes(out[len(out) - back : len(out) - back + run])
        else:
            for i in range(run):
                state = (state * 1103515245 + 12345) % 2**31
                out.append(state >> 16 & 255)
    return bytes(out[:n])


def main():
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    names = ["blosclz", "lz4", "lz4hc", "zlib", "zstd", "snappy"]
    available = [name for name in names if name in blosc.list_compressors()]
    sizes = [0, 1, 17, 128, 1000, 4096, 9000, 70_001]
    all_of_them = itertools.product(available, [0, 1, 2], [1, 2, 4, 7, 8, 16, 17, 255], sizes, [0, 512, 16384], [1, 9])
    with open("frames.bin", "wb") as file:
        for number, (name, shuffle, item, n, block, level) in enumerate(all_of_them):
            if number % every or (every > 1 and n > 9000 and number % (every * 7)):
                continue
            raw = data(n, number)
            frame = blosc.compress(raw, name.encode(), level, shuffle, block, item)
            file.write(struct.pack("<III", n, len(frame), number) + frame)


main()
