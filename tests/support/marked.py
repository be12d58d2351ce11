"""Runs the host with a file of marks, and says which addresses ran: of which qemu tells the same."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from pathlib import Path

from mipsrec.coverage import marks
from mipsrec.coverage.marks import ExecutedFile
from mipsrec.elf import Image
from tests.support.compiled import QEMU
from tests.support.tools import need

_MIPS16 = 0x400
"""Bit of qemu's flags of a block (MIPS_HFLAG_M16)."""


def marked_run(host: Path, *words: str | Path) -> tuple[subprocess.CompletedProcess[bytes], list[ExecutedFile]]:
    """Return how a run of the host ended, and the files that ran."""
    handle = marks.new_file()
    try:
        command = [host, "--marks", str(handle), *words]
        result = subprocess.run(command, capture_output=True, timeout=600, pass_fds=[handle])
        return result, marks.read(handle).files
    finally:
        os.close(handle)


def addresses(file: ExecutedFile) -> set[int]:
    """Return the address of each byte of code that ran, by the blocks, which do not overlap."""
    found = [at for start, size_bytes in file.blocks() for at in range(start, start + size_bytes)]
    assert len(found) == len(set(found))
    return set(found)


def qemu_addresses(image: Image, log: Path, *words: str) -> tuple[int, set[int]]:
    """Return the exit status of a static program under qemu, and the same addresses, less the bias.

    qemu translates one instruction at a time, and logs the address and the flags of each that it executes.
    """
    order = "big" if image.byte_order in (">", "big") else "little"
    qemu = need(QEMU[order], "qemu-user")
    told = subprocess.run([qemu, "--help"], capture_output=True, text=True).stdout
    one = "-one-insn-per-tb" if "one-insn-per-tb" in told else "-singlestep"
    options = ["-cpu", "74Kf", one, "-d", "exec,nochain", "-D", str(log)]
    command = [qemu, *options, str(image.path), *words]
    status = subprocess.run(command, capture_output=True, timeout=600).returncode
    lines = re.findall(r"^Trace \d+: \w+ \[\w+/(\w{8})/(\w{8})/", log.read_text(), re.MULTILINE)
    log.unlink()
    found: set[int] = set()
    for pc, flags in {(int(pc, 16), int(flags, 16) & _MIPS16) for pc, flags in lines}:
        found.update(range(pc, pc + (_size_bytes_at(image, order, pc) if flags else 4)))
    return status, {at - image.bias for at in found}


def _size_bytes_at(image: Image, order: str, pc: int) -> int:
    """Return the size of a MIPS16e instruction: `extend` with what it extends and jal have four bytes (volume IV-a)."""
    segment = next(part for part in image.segments if part.vaddr <= pc < part.vaddr + part.filesz)
    form = ">H" if order == "big" else "<H"
    (half,) = struct.unpack_from(form, image.content, segment.offset + pc - segment.vaddr)
    return 4 if half >> 11 in (0x1E, 0x03) else 2
