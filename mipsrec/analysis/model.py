"""What analysis hands to code generation: blocks, functions, the program. Data only."""

from __future__ import annotations

import enum
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate

from ..architecture import INSTRUCTION_BYTES
from ..isa import Instruction


class End(enum.Enum):
    """How a block ends."""

    FALL = "fall"  # runs into `next_pc`
    BRANCH = "branch"  # to `target` or `next_pc`
    JUMP = "jump"  # to `target`, in this function or another
    CALL = "call"  # of `target`, or of a register when `target` is None; goes on at `next_pc`. May have a condition
    RETURN = "return"  # jr ra, or a register that has what ra was at the entry
    INDIRECT = "indirect"  # jr of another register: jump table or tail call
    SYSCALL = "syscall"  # goes on at `next_pc`
    STOP = "stop"  # raises an exception for certain
    INTERPRET = "interpret"  # the interpreter goes on at the terminator's pc


_GO_ON, _BRANCH, _JUMP, _INDIRECT = (End.FALL, End.CALL, End.SYSCALL), End.BRANCH, End.JUMP, End.INDIRECT
"""Looked up once, since `successors` is called for each block several times, and a member of End takes long to find."""


def slot_start(pc: int) -> int:
    """Return what the slot of the branch-likely at `pc` has as its start: the slot itself may begin another block."""
    return pc + INSTRUCTION_BYTES + INSTRUCTION_BYTES // 2


@dataclass(slots=True)
class Block:
    """A basic block: `body` runs from `start`; then the terminator at `terminator_pc` with its delay slot.

    A branch-likely performs its slot only where it is taken. So its slot is a block of its own on the taken edge:
    `slot_of` is the pc of the branch, and `start` is `slot_start` of it, where no instruction begins.
    """

    start: int
    body: list[Instruction]
    end: End
    terminator: Instruction | None = None
    terminator_pc: int = 0
    delay_slot: Instruction | None = None
    target: int | None = None
    next_pc: int = 0
    slot_of: int | None = None

    @property
    def first_pc(self) -> int:
        """The pc of the first instruction."""
        return self.start if self.slot_of is None else self.slot_of + INSTRUCTION_BYTES

    @property
    def slot_pc(self) -> int:
        """The pc of the delay slot, where there is one."""
        assert self.terminator is not None
        return self.terminator.next_pc(self.terminator_pc)

    @property
    def end_pc(self) -> int:
        """The pc behind the last instruction."""
        return self._places()[-1]

    def pcs(self) -> list[int]:
        """Return the pcs of the instructions, in the order of `instructions`."""
        return self._places()[:-1]

    def _places(self) -> list[int]:
        sizes = (instruction.size_bytes for instruction in self.instructions())
        return list(accumulate(sizes, initial=self.first_pc))

    def instruction_count(self) -> int:
        return len(self.body) + (self.terminator is not None) + (self.delay_slot is not None)

    def instructions(self) -> list[Instruction]:
        """Return the body, the terminator and its delay slot."""
        end = (self.terminator, self.delay_slot)
        return [*self.body, *(instruction for instruction in end if instruction is not None)]

    def body_and_slot(self) -> list[Instruction]:
        """Return the body and the delay slot, which so has the index after the last of the body."""
        return self.body if self.delay_slot is None else [*self.body, self.delay_slot]


@dataclass(frozen=True, slots=True)
class JumpTable:
    """Where a `jr` may go. `load_pc` is the lw whose address selects the entry: cases are (address, target).

    Without a `load_pc` the cases are (target, target): known labels of the function, compared with the jump's target.
    `index` is (register, shift) where that register, as it is when the jump's block begins, is added to the table's
    address, shifted to the left. A `writable` table may have other entries by the time it is used. `added` is what the
    jump's target is more than the entry, where the jump's block alone does not tell.
    """

    load_pc: int | None
    cases: tuple[tuple[int, int], ...]
    index: tuple[int, int] | None = None
    writable: bool = False
    added: int | None = None

    @property
    def labels(self) -> tuple[tuple[int, int], ...]:
        """The cases for code that compares the target itself: (target, target)."""
        return tuple(dict.fromkeys((pc, pc) for _, pc in self.cases))


@dataclass(slots=True)
class Function:
    """Blocks reached from `start` below `limit`, in order of address; every block belongs to one function."""

    start: int
    limit: int
    name: str
    blocks: dict[int, Block] = field(default_factory=dict)
    entries: set[int] = field(default_factory=set)  # blocks besides `start` that control may enter from outside
    resume_points: set[int] = field(default_factory=set)  # those of `entries` that a callee may return to
    jump_tables: dict[int, JumpTable] = field(default_factory=dict)  # by pc of the jr
    guesses: dict[int, int] = field(default_factory=dict)  # likely target of the jalr or jr at a pc
    unresolved: set[int] = field(default_factory=set)  # pcs of jr whose targets are not known
    outside: set[int] = field(default_factory=set)  # branch targets beyond [start, limit)
    gp: int | None = None  # value of gp after the prologue, where it is constant
    guarded: list[tuple[int, int]] = field(default_factory=list)  # [start, end) of which what is thrown comes back here

    def instruction_count(self) -> int:
        return sum(block.instruction_count() for block in self.blocks.values())

    def likely_target(self, block: Block) -> int | None:
        """Return where the end of a block goes for certain, or else is guessed to go."""
        return block.target if block.target is not None else self.guesses.get(block.terminator_pc)

    def may_go_anywhere(self, block: Block) -> bool:
        """Return whether a block ends in a jump to a register, other than a return, for which there is no table."""
        return block.end is End.INDIRECT and block.terminator_pc not in self.jump_tables

    def successors(self, block: Block) -> list[int]:
        """Return the starts of the blocks that may follow `block` inside this function."""
        end, blocks = block.end, self.blocks
        found: Iterable[int | None] = ()
        if end in _GO_ON:
            found = (block.next_pc,)
        elif end is _BRANCH:
            found = (block.target, block.next_pc)
        elif end is _JUMP:
            found = (block.target,)
        elif end is _INDIRECT and block.terminator_pc in self.jump_tables:
            found = (target for _, target in self.jump_tables[block.terminator_pc].cases)
        return [pc for pc in dict.fromkeys(found) if pc is not None and pc in blocks]


@dataclass(slots=True)
class Program:
    """All functions by start address, and what was learnt on the way."""

    functions: dict[int, Function]
    names: dict[int, str]
    warnings: list[str] = field(default_factory=list)


class BlockIndex:
    """Finds the function and the block that have a pc; of a block that several functions have, the first one's."""

    def __init__(self, functions: Iterable[Function]) -> None:
        self._owners: dict[int, tuple[Function, Block]] = {}
        functions = list(functions)
        for of_slots in (False, True):  # where a slot begins a block, that has it
            for function in functions:
                for block in function.blocks.values():
                    if (block.slot_of is not None) == of_slots:
                        self._owners.setdefault(block.first_pc, (function, block))
        self._order = sorted(self._owners)

    def place(self, pc: int) -> tuple[Function, Block] | None:
        index = bisect_right(self._order, pc) - 1
        if index < 0:
            return None
        function, block = self._owners[self._order[index]]
        return (function, block) if pc < block.end_pc else None
