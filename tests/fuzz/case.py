"""A case of a differential test: instructions, and what the states that it runs on must hold.

Enters: what maker.py draws, or words of a test. Leaves: a `Case`, and its assembly for the guest (guests/fuzz.c).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from mipsrec.architecture import INSTRUCTION_BYTES
from mipsrec.isa import Instruction, decode
from mipsrec.isa.disassembly import disassemble

_WAY_OUT_BYTES = 2 * INSTRUCTION_BYTES


@dataclass
class Case:
    """Words at `start`, and what its states must hold: pointers (offsets from the window), code addresses, counters."""

    start: int
    home: int
    words: list[int] = field(default_factory=list)
    jumps: dict[int, int] = field(default_factory=dict)
    """Index of each j or jal to the index of its target, all inside the case."""
    certain: list[int] = field(default_factory=list)
    """Indices of the words that are executed whenever nothing before them traps."""
    pointers: dict[int, int] = field(default_factory=dict)
    indexes: dict[int, int] = field(default_factory=dict)
    wild: dict[int, int] = field(default_factory=dict)
    """Registers with addresses where nothing is."""
    labels: dict[int, int] = field(default_factory=dict)
    counters: dict[int, int] = field(default_factory=dict)

    def pc(self, index: int) -> int:
        return self.start + INSTRUCTION_BYTES * index

    @property
    def size_bytes(self) -> int:
        """Of its code with the way out of it."""
        return INSTRUCTION_BYTES * len(self.words) + _WAY_OUT_BYTES

    def instructions(self) -> list[Instruction | None]:
        """Return its instructions, None where a word is none."""
        return [decode(word) for word in self.words]

    def index_at(self, pc: int) -> int | None:
        """Return which instruction is at an address."""
        index = (pc - self.start) // INSTRUCTION_BYTES
        return index if 0 <= index < len(self.words) else None

    def names(self) -> Iterable[tuple[int, str]]:
        """Yield the index and the row's name of each instruction, as coverage counts them."""
        for index, instruction in enumerate(self.instructions()):
            if instruction is not None:
                yield index, instruction.row.name

    def listing(self) -> str:
        """Return its disassembly in one line."""
        found = zip(self.instructions(), self.words, strict=True)
        return " | ".join(disassemble(one, self.pc(index), word) for index, (one, word) in enumerate(found))

    def assembly(self, name: str) -> list[str]:
        """Return the lines of a function of its words, which goes back to guests/fuzz.S."""
        words = [f"    .word {word:#x}" for word in self.words]
        return [f"    .type {name}, @function", f"{name}:", *words, f"    j leave_{self.home}", "    nop",
                f"    .size {name}, . - {name}"]  # fmt: skip
