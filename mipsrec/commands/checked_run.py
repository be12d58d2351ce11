"""Runs the host, and says which source lines a fault of the heap is of: `mipsrec run --check-memory`.

The host writes its report into memory of this process, with addresses and functions. Lines come from the debug
information of the guest's files (mipsrec/elf/lines.py).
"""

from __future__ import annotations

import os
import re
import sys
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ..elf import load_elf
from ..elf.lines import LineRange, read_lines
from ..elf.tables import Malformed
from ..errors import MipsrecError
from ..files.trusted_path import check_program
from .attended_run import attended, end_as

_PLACE = re.compile(r"^(mipsrec-host:   (?:at|called from) 0x([0-9a-f]{8})(?: <[^>]*>)?) of (.+)$", re.MULTILINE)


def run_checked(host: Sequence[str], guest: Sequence[str]) -> int:
    """Run a program by the host and its options, and print the report, if there is one; return its exit status.

    Does not return where a signal ended the program, as it does where there is a report.
    """
    check_program(host[0])
    handle = os.memfd_create("mipsrec-complaint", 0)
    with attended() as run:
        status = run([*host, "--complaint", str(handle), *guest])
        report = os.pread(handle, os.fstat(handle).st_size, 0).decode(errors="surrogateescape")
        print(_PLACE.sub(_with_line, report), end="", file=sys.stderr)
    return end_as(status)


def _with_line(place: re.Match[str]) -> str:
    before, address, path = place.groups()
    found = _line_of(path, int(address, 16))
    return place[0] if found is None else f"{before} of {path}, {found}"


def _line_of(path: str, address: int) -> str | None:
    """Return FILE:LINE of an address as `mipsrec disasm` has it; None where nothing tells."""
    bias, ranges = _ranges(path)
    index = bisect_right(ranges, (address - bias, 1 << 32)) - 1
    if index < 0 or address - bias >= ranges[index].high:
        return None
    return f"{ranges[index].path}:{ranges[index].line}"


@cache
def _ranges(path: str) -> tuple[int, list[LineRange]]:
    """Return the bias of a file, and its lines in order of their addresses."""
    try:
        image = load_elf(Path(path))
        return image.bias, sorted(read_lines(image.content).ranges)
    except (MipsrecError, Malformed):
        return 0, []
