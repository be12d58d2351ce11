"""What `profile --mix` asks of a host: to take executed instructions apart, and where a stopped thread has what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class Kind(Enum):
    """What an instruction does besides memory: each has one kind. The values are how reports name them."""

    MEMORY = "load or store alone"
    STACK = "push, pop"
    MOVE = "register move"
    ARITHMETIC = "integer arithmetic"
    ADDRESS = "address arithmetic"
    COMPARE = "compare"
    SELECT = "conditional move"
    BRANCH = "conditional jump"
    JUMP = "jump"
    CALL = "call"
    RETURN = "return"
    FLOAT = "floating point, vectors"
    NOTHING = "no operation"
    OTHER = "other"


@dataclass(frozen=True)
class Access:
    """An access to memory. Its address is `displacement` and the sum of registers, each times its scale, modulo 2**64.

    Registers are positions in RunningCode.registers. `pushes`: it is that of a push, pop, call or return.
    """

    loads: bool
    stores: bool
    size_bytes: int
    displacement: int
    registers: tuple[tuple[int, int], ...]
    pushes: bool = False


@dataclass(frozen=True)
class HostInstruction:
    """`repeats`: it is stepped through once for each element, at the same pc."""

    kind: Kind
    accesses: tuple[Access, ...] = ()
    repeats: bool = False


class RunningCode(Protocol):
    """A host's code as it runs, and the registers of a thread that is stopped."""

    registers: tuple[str, ...]
    """Those of the kernel's NT_PRSTATUS, in its order, 8 bytes each."""
    pc: int
    sp: int
    thread_pointer: int
    """Positions in `registers`."""
    longest_bytes: int
    """Of an instruction."""
    line_bytes: int
    """Of a cache line."""
    joined_stores: int
    """How many stores in a row to one line its cores write at once."""

    def decode(self, code: bytes, address: int) -> HostInstruction:
        """Return the instruction that the code at an address begins with; of unknown code the kind is OTHER."""

    def thread_local(self, thread_pointer: int, size_bytes: int, alignment: int, offset: int) -> int:
        """Return the address of a program's own thread-local variable, `offset` bytes into its TLS segment.

        The segment has `size_bytes` and an alignment (PT_TLS of the executable).
        """
