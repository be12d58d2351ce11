"""Reads the file of marks of a run: which instructions of which files were executed.

Enters: the descriptor of a file that the host has marked (runtime/coverage/marks.c, runtime/base/marks.h). It is in
memory, so it needs no place, and lasts as long as a process has it open. Leaves: an `ExecutedFile` for each file that
the guest mapped to be executed. The files themselves are not read: they may be gone.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from ..abi import (
    MARK_ENDS,
    MARKED_FILES_AT,
    MARKS_AT,
    MARKS_BYTES,
    MARKS_MAGIC,
    MOST_MARKED_FILES,
    PAGE_BYTES,
    marked_file,
    marks_head,
)
from ..elf.tables import PT_LOAD, ProgramHeader
from ..errors import BuildError

PF_X = 1


class Instruction(NamedTuple):
    """One that ran: its address in the file, which is even, and whether a basic block ends with it."""

    address: int
    size_bytes: int
    ends: bool


class Stamp(NamedTuple):
    """Which file it was, in which state."""

    device: int
    inode: int
    seconds: int
    fraction: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        return cls(status.st_dev, status.st_ino, *divmod(status.st_ctime_ns, 10**9))


@dataclass(frozen=True)
class ExecutedFile:
    """A file of the guest. Addresses are the file's own; `bias` leads from them to where it was mapped first.

    `low` is where its lowest segment begins, rounded down to a page, and `high` is where the highest ends; of what is
    no ELF file an address is the offset. `instructions` are sorted.
    """

    path: str
    stamp: Stamp
    bias: int
    low: int
    high: int
    entry: int
    instructions: tuple[Instruction, ...]

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield (address, size in bytes) of the longest rows of instructions that ran and of which none ends a block.

        Each instruction that ran is in one, and no other is.
        """
        start = end = -1
        ended = True
        for address, size_bytes, ends in self.instructions:
            if ended or address != end:
                if start >= 0:
                    yield start, end - start
                start = address
            end = address + size_bytes
            ended = ends
        if start >= 0:
            yield start, end - start

    @cached_property
    def addresses(self) -> tuple[int, ...]:
        """The addresses of what ran, sorted."""
        return tuple(instruction.address for instruction in self.instructions)


# ---- the file of marks ----


def new_file() -> int:
    """Return the descriptor of an empty file of marks; raises BuildError where there can be none."""
    try:
        handle = os.memfd_create("mipsrec-marks", os.MFD_CLOEXEC)
        os.truncate(handle, MARKS_BYTES)
    except OSError as error:
        hint = "; `ulimit -f unlimited` lifts the limit" if isinstance(error, OSError) and error.errno == 27 else ""
        raise BuildError(f"--coverage: no memory for marks can be had ({error.strerror}){hint}") from error
    os.pwrite(handle, marks_head().pack(MARKS_MAGIC, 0, 0, 0, MARKS_AT), 0)
    return handle


class Marks(NamedTuple):
    """What a run has marked. `lost`: how many mappings of code there was no room for."""

    files: list[ExecutedFile]
    lost: int


def read(handle: int) -> Marks:
    """Return what is marked so far, files in the order in which they were mapped first."""
    form = marked_file()
    _, count, lost, _, _ = marks_head().unpack(os.pread(handle, marks_head().size, 0))
    found: dict[Stamp, ExecutedFile] = {}
    for number in range(min(count, MOST_MARKED_FILES)):
        ready, bias, device, inode, seconds, fraction, size_bytes, at, path, head = form.unpack(
            os.pread(handle, form.size, MARKED_FILES_AT + number * form.size)
        )
        if not ready:
            continue
        stamp = Stamp(device, inode, seconds, fraction)
        name = os.fsdecode(path.rstrip(b"\0")).removesuffix(" (deleted)")
        file = _placed(name, stamp, bias, head, dict(_marks(handle, at, size_bytes)))
        found[stamp] = _joined(found[stamp], file) if stamp in found else file
    return Marks(list(found.values()), lost + max(0, count - MOST_MARKED_FILES))


def _joined(one: ExecutedFile, other: ExecutedFile) -> ExecutedFile:
    """Return a file that two processes have described at the same time."""
    return replace(one, instructions=tuple(sorted({*one.instructions, *other.instructions})))


def _marks(handle: int, start: int, size_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield (offset, mark) of a file; its marks begin at `start`. The file of marks has holes."""
    end, at = start + (size_bytes + PAGE_BYTES - 1) // PAGE_BYTES * PAGE_BYTES, start
    while at < end:
        try:
            at = os.lseek(handle, at, os.SEEK_DATA)
        except OSError:  # ENXIO: there is no more
            return
        hole = min(os.lseek(handle, at, os.SEEK_HOLE), end)
        for match in re.finditer(rb"[^\0]", os.pread(handle, max(0, hole - at), at), re.DOTALL):
            yield at + match.start() - start, match[0][0]
        at = hole


# ---- addresses ----


class _Head(NamedTuple):
    """What the first bytes of an ELF file say."""

    entry: int
    loads: list[ProgramHeader]


def _elf_head(head: bytes) -> _Head | None:
    """Return None for what is no ELF file, or has its program headers further on."""
    if head[:4] != b"\x7fELF" or head[4] != 1 or head[5] not in (1, 2):
        return None
    order = "<" if head[5] == 1 else ">"
    entry, at = struct.unpack_from(f"{order}2I", head, 24)
    size, count = struct.unpack_from(f"{order}2H", head, 42)
    if size != 32 or at + size * count > len(head):
        return None
    headers = (ProgramHeader(*struct.unpack_from(f"{order}8I", head, at + 32 * i)) for i in range(count))
    loads = [header for header in headers if header.type == PT_LOAD]
    return _Head(entry, sorted(loads, key=lambda load: not load.flags & PF_X)) if loads else None


def _address(loads: list[ProgramHeader], offset: int) -> int:
    """Return the address of a byte of the file. The page of a segment's end has bytes of its neighbour as well."""
    for load in loads:
        if load.offset <= offset < load.offset + load.filesz:
            return load.vaddr + offset - load.offset
    for load in loads:
        first = load.offset - load.offset % PAGE_BYTES
        if first <= offset < load.offset + load.filesz + PAGE_BYTES:
            return load.vaddr + offset - load.offset
    return offset


def _placed(path: str, stamp: Stamp, bias: int, head: bytes, marks: dict[int, int]) -> ExecutedFile:
    elf = _elf_head(head)
    loads = elf.loads if elf else []
    instructions = sorted(
        Instruction(_address(loads, at & ~1) & 0xFFFFFFFF, mark & ~MARK_ENDS, bool(mark & MARK_ENDS))
        for at, mark in marks.items()
    )
    if elf is None:
        high = instructions[-1].address + PAGE_BYTES if instructions else PAGE_BYTES
        return ExecutedFile(path, stamp, bias, 0, high, 0, tuple(instructions))
    low = min(load.vaddr for load in loads) // PAGE_BYTES * PAGE_BYTES
    high = max(load.vaddr + load.memsz for load in loads)
    return ExecutedFile(path, stamp, bias, low, high, elf.entry, tuple(instructions))
