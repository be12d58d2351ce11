"""The sections of recompiled libraries, which are objects of the host."""

from __future__ import annotations

import subprocess
import zlib
from pathlib import Path
from typing import NamedTuple

from tests.support.tools import need

COMPRESSION_HEADER_BYTES = 24
"""Of Elf64_Chdr, which is before what zlib has packed."""


class Section(NamedTuple):
    """Where in the file a section is, and whether it is compressed."""

    places: range
    compressed: bool


def sections_of(library: Path) -> dict[str, Section]:
    """Return the sections by name."""
    words = [need("readelf", "binutils"), "-SW", library]
    listing = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = {}
    for line in listing.splitlines():
        fields = line.partition("]")[2].split()
        if fields and fields[0].startswith("."):
            start, size = int(fields[3], 16), int(fields[4], 16)
            found[fields[0]] = Section(range(start, start + size), "C" in fields[6])  # flags, or what is behind them
    return found


def contents_of(library: Path) -> dict[str, bytes]:
    """Return the contents of the sections by name, unpacked."""
    data = library.read_bytes()
    found = {}
    for name, (places, compressed) in sections_of(library).items():
        part = data[places.start : places.stop]
        found[name] = zlib.decompress(part[COMPRESSION_HEADER_BYTES:]) if compressed else part
    return found
