"""The footer that marks a recompiled library as whole, and the hash that names a guest's file.

Enters: the bytes of a linked library. Leaves: 16 bytes to append, which the host compares before it loads the file: a
truncated shared object maps without complaint and kills the host later. `runtime/base/checksum.c` has the same
algorithm.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from pathlib import Path

from .input_file import MOST_ELF_BYTES, open_input

FOOTER_MAGIC = b"MIPSREC1"
FOOTER_BYTES = 16


def identity_of(content: bytes) -> str:
    """Return the hash that names a guest's file in libraries, profiles and the store (BLAKE2b-256, hexadecimal)."""
    return hashlib.blake2b(content, digest_size=32).hexdigest()


def checksum(data: bytes) -> int:
    """Return the CRC-32 of `data` (zlib's) with the low 32 bits of its length above it, 64 bits in all."""
    return zlib.crc32(data) | (len(data) & 0xFFFFFFFF) << 32


def footer(data: bytes) -> bytes:
    """Return the 16 bytes that follow `data` in a finished library: the magic, then the checksum, little-endian."""
    return FOOTER_MAGIC + struct.pack("<Q", checksum(data))


def append_footer(path: Path) -> None:
    """Finish the library at `path`, which must not have a footer yet."""
    data = path.read_bytes()
    with path.open("ab") as library:
        library.write(footer(data))


def ends_whole(path: Path) -> bool:
    """Return whether a file ends in a footer that gives its length; what stands before it is not read."""
    try:
        with open_input(path, MOST_ELF_BYTES) as library:
            length = max(library.seek(0, 2) - FOOTER_BYTES, 0)
            library.seek(length)
            end = library.read()
    except (OSError, ValueError):
        return False
    return tells_length(end, length)


def tells_length(end: bytes, length: int) -> bool:
    """Return whether the last bytes of a file are a footer that gives the length of what stands before it."""
    return end[:8] == FOOTER_MAGIC and end[12:] == struct.pack("<I", length & 0xFFFFFFFF)


def is_whole(data: bytes) -> bool:
    """Return whether `data`, the bytes of a finished library, ends in the footer that belongs to it."""
    return data[-FOOTER_BYTES:] == footer(data[:-FOOTER_BYTES])
