"""What a program of looks_maker.py has in its registers, instruction by instruction, and which of them are used later.

Enters: an ELF file. Leaves: a Trace, of the interpreter as a library (looks_tracer.c), without any look. A step is one
instruction, or a branch with its delay slot.
"""

from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from mipsrec.elf import Image, load_elf
from mipsrec.isa import Flow, decode
from mipsrec.isa.effects import ALL_BITS, HILO_BIT, effects, masks
from tests.fuzz.looks_handlers import DRIVER, FLIP, TRAP_WORDS
from tests.support.guest_cpu import Cpu
from tests.support.interpreter import Interpreter, build
from tests.support.paths import TESTS

MOST_STEPS = 250_000
STEP_WORDS = 35
PID = 0x00C0FFEE
"""What getpid gives in the trace."""


class _Tracing(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in "pc below throws_word throws_pc flipped flip pid".split()]


class Tracer:
    """The library, which has one memory: one trace at a time."""

    def __init__(self, folder: Path) -> None:
        self._library = build(folder, str(TESTS / "fuzz" / "looks_tracer.c"))
        self._steps = (ctypes.c_uint32 * (STEP_WORDS * MOST_STEPS))()

    def trace(self, program: Path, flipped: int) -> Trace | None:
        """Return what a program does; None if it is too long."""
        image = load_elf(program)
        memory = Memory(image)
        interpreter = Interpreter(self._library, image.byte_order == "big")
        for segment in image.segments:
            content = memory.content(segment.vaddr)
            interpreter.library.stub_write(segment.vaddr, content, len(content))
        interpreter.put(Cpu(fr=image.fr))
        how = _Tracing(image.entry, DRIVER, TRAP_WORDS["throws"], memory.word(DRIVER), flipped, FLIP, PID)
        count = interpreter.library.looks_trace(interpreter.state, ctypes.byref(how), self._steps, MOST_STEPS)
        if count == MOST_STEPS:
            return None
        words = array("I", bytes(memoryview(self._steps).cast("B")[: 4 * STEP_WORDS * count]))
        return Trace(words, memory, image.fr)


class Memory:
    """What the segments of a program hold at its start."""

    def __init__(self, image: Image) -> None:
        self._order = ">" if image.byte_order == "big" else "<"
        self._contents = {
            one.vaddr: image.content[one.offset : one.offset + one.filesz].ljust(one.memsz, b"\0")
            for one in image.segments
        }

    def content(self, start: int) -> bytes:
        return self._contents[start]

    def word(self, address: int) -> int:
        for start, content in self._contents.items():
            if start <= address < start + len(content):
                return int(struct.unpack_from(f"{self._order}I", content, address - start)[0])
        raise KeyError(hex(address))


class Place(NamedTuple):
    """What an instruction, or a branch with its slot, does with general-purpose registers and HI:LO."""

    reads: int
    writes: int
    link: int
    """The register that it links by, or 0."""
    is_observed: bool
    """Its reads count, also where nobody reads what it writes."""
    leaves: bool
    """Other code may look at all registers."""
    jumps: bool
    likely: int
    """What a branch reads whose slot does nothing unless it is taken; else 0."""


class Trace:
    """The steps of a program, and how its instructions use registers."""

    def __init__(self, words: array[int], memory: Memory, fr: int) -> None:
        self.words, self.memory, self.fr = words, memory, fr
        self.pcs: Sequence[int] = words[::STEP_WORDS]
        self.places = {pc: self._place(pc) for pc in set(self.pcs)}

    def __len__(self) -> int:
        return len(self.pcs)

    def registers(self, index: int) -> array[int]:
        """Return registers before a step, lo and hi last."""
        return self.words[STEP_WORDS * index + 1 : STEP_WORDS * (index + 1)]

    def _place(self, pc: int) -> Place:
        first = decode(self.memory.word(pc))
        if first is None or pc >= DRIVER:
            return Place(ALL_BITS, 0, 0, False, True, True, 0)
        jumps = first.row.flow not in (Flow.NEXT, Flow.SYSCALL, Flow.STOP)
        slot = decode(self.memory.word(pc + 4)) if jumps else None
        reads = writes = 0
        observed, leaves = jumps, False
        for one in (first, slot):
            if one is None:
                continue
            read, written = masks(one, self.fr)
            does = effects(one.row)
            reads |= read & ~writes
            writes |= written
            observed |= does.stores or does.calls_host
            leaves |= does.traps or does.calls_host or does.is_linked
        likely = masks(first, self.fr)[0] if first.row.flow is Flow.BRANCH_LIKELY else 0
        return Place(reads, writes, first.link_register(), observed, leaves, jumps, likely)

    @property
    def ends_run(self) -> int:
        """Where the driver goes when a function has come back."""
        return self.memory.word(DRIVER + 4)

    @cached_property
    def live(self) -> array[int]:
        """Before each step, the bits of registers (HI:LO as bit 32) that something reads before they are written.

        What only gives results that nobody reads does not count. Returns to the driver, traps and system calls read
        all registers.
        """
        found = array("Q", bytes(8 * len(self)))
        now = ALL_BITS
        after = DRIVER
        for index in range(len(self) - 1, -1, -1):
            pc = self.pcs[index]
            place = self.places[pc]
            if place.leaves:
                now = ALL_BITS
            elif place.likely and after == pc + 8:
                now |= place.likely
            elif place.is_observed or place.writes & now:
                now = now & ~place.writes | place.reads
            found[index] = now & 0xFFFFFFFE | (now >> HILO_BIT & 1) << 32
            after = pc
        return found
