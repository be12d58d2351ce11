"""Who passes what at calls of recompiled functions, and what these are called.

Enters: a function. Leaves: the registers that it takes, and its symbol.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..analysis import Block, End, Function
from ..analysis.symbolic import constant_condition
from ..isa import Flow, Instruction
from ..isa.effects import FPR_BIT, added_constant, effects, masks
from ..state import CALLEE_SAVED, GPR_NAMES, RA, SP, T9, V0
from ..target import this_target
from .nodes import Destination
from .options import LiftOptions

_HOST = this_target().lifted
CARRIED_FLOATS = tuple(map(GPR_NAMES.index, _HOST.floats))
"""Of CARRIED: those in vector registers of the host."""
CARRIED = (*map(GPR_NAMES.index, _HOST.words), *CARRIED_FLOATS)
"""General-purpose registers that callers and callees hand each other in host registers alone, the same ones both ways.

The state has them neither at calls nor at returns. What the handler of a fault sees of them, faults.md says.
"""
CARRIED_BITS = sum(1 << number for number in CARRIED)
CARRIED_FLOAT_BITS = sum(1 << number for number in CARRIED_FLOATS)
ARGUMENTS = (T9, *CARRIED)
"""General-purpose registers that come in as parameters, in order: t9, and CARRIED."""
ARGUMENT_BITS = sum(1 << number for number in ARGUMENTS)
SP_BIT, T9_BIT, RA_BIT = 1 << SP, 1 << T9, 1 << RA
SAVED_BITS = sum(1 << number for number in (*CALLEE_SAVED, RA)) | 0xFFF << FPR_BIT + 20
"""Registers that a landing pad has of the function that was interrupted: those that callees preserve, and ra."""
RESULTS = (V0, V0 + 1, *CARRIED)
"""General-purpose registers that are returned after the pc: v0, v1, and CARRIED."""
RESULT_BITS = sum(1 << number for number in RESULTS)


def numbers_in(bits: int, registers: tuple[int, ...]) -> tuple[int, ...]:
    """Return those of some general-purpose registers whose bits are set."""
    return tuple(number for number in registers if bits >> number & 1)


def entries_of(symbol: str) -> str:
    """Return the symbol of the variant for the entries of a function besides its start."""
    return symbol + ".entries"


def argument_registers(function: Function) -> int:
    """Return the bits of the registers that a function takes from its parameters.

    They are CARRIED, and of the others those that its instructions read. They are all if it goes on elsewhere without a
    table: it passes on what it got, and what is there does not wait for what has just been stored.
    """
    found = 0
    for block in function.blocks.values():
        if function.may_go_anywhere(block):
            return ARGUMENT_BITS
        for instruction in block.instructions():
            found |= masks(instruction, 0)[0]
    return found & ARGUMENT_BITS | CARRIED_BITS


def calls_for_certain(block: Block) -> bool:
    """Return whether a block calls without a condition."""
    instruction = block.terminator
    if block.end is not End.CALL or instruction is None:
        return False
    return instruction.row.flow is not Flow.BRANCH or constant_condition(instruction) is not None


def links_to_next(block: Block) -> bool:
    """Return whether a block calls without a condition, and ra then has the pc of the next block."""
    instruction, slot = block.terminator, block.delay_slot
    if instruction is None or not calls_for_certain(block) or instruction.link_register() != RA:
        return False
    return slot is None or not masks(slot, 0)[1] & RA_BIT


def may_unwind(function: Function) -> bool:
    """Return whether a function sets sp otherwise than by constants and jumps elsewhere by a register, as longjmp does.

    With sp above where it was at the entry, such a jump returns: the frame of the caller is gone. (That sp is a
    parameter: these functions take all.) A wrong answer here costs host stack or time; what happens at the pc is the
    same, whichever of the host's frames goes there.
    """
    blocks = function.blocks.values()
    if not any(function.may_go_anywhere(block) for block in blocks):
        return False
    found = (instruction for block in blocks for instruction in block.instructions())
    return any(masks(instruction, 0)[1] & SP_BIT and not moves_sp(instruction) for instruction in found)


@dataclass(frozen=True)
class Callee:
    """A lifted function that may be called by its `symbol`; `takes` are bits of ARGUMENTS.

    `copied`: loops do not call it, if it is in their module, but have its code in place. `tiny`: so do all
    callers. A function that is `cold` is written once for all its entries. `memory_resident`: the bits of the registers
    that are in the state between blocks, of pairs both (register_file.py). `overwrites`: those that it writes before it
    reads them, on every way; `ignores`: these, and those that it may leave as they are (overwrites.py).
    """

    symbol: str
    takes: int
    copied: bool = False
    tiny: bool = False
    cold: bool = False
    memory_resident: int = 0
    overwrites: int = 0
    ignores: int = 0

    @property
    def takes_t9(self) -> bool:
        """Whether it takes t9, which direct calls then leave out of the state."""
        return bool(self.takes & T9_BIT)


@dataclass(frozen=True)
class Convention:
    """Which functions calls reach directly, and what is passed to them. `callee` gives what is known of a guest pc."""

    options: LiftOptions
    callee: Callable[[int], Callee | None]

    def direct(self, target: int | None) -> Callee | None:
        """Return the function that a call of a guest pc calls directly."""
        return self.callee(target) if target is not None and self.options.calls != "thunked" else None

    @property
    def given(self) -> int:
        """The bits of the registers that the state need not have at calls and returns: they are passed."""
        return CARRIED_BITS if self.options.calls == "direct" else 0

    @property
    def not_in_state(self) -> int:
        """The bits of the registers that the state need not have when a callee has returned: they are returned."""
        return RESULT_BITS & ~CARRIED_BITS | self.given

    def entered(self, entries: Sequence[int], start: int) -> int:
        """Return the bits of the registers that the state need not have where a function begins, given its entries."""
        own = self.direct(start) if list(entries) == [start] and self.options.calls == "direct" else None
        return self.given | (own.takes & T9_BIT if own is not None else 0)

    def handed(self, to: Destination) -> int:
        """Return the bits of the registers that a direct call of a destination hands over in host registers alone.

        A callee that takes t9 stores it where other code may look, as if it had written t9 itself.
        """
        is_direct = to.callee is not None and self.options.calls == "direct"
        return self.given | (to.callee.takes & T9_BIT if is_direct and to.callee is not None else 0)

    def needless(self, to: Destination) -> int:
        """Return the bits of the registers that nobody reads where control goes on as a caller has them."""
        return to.callee.overwrites if to.callee is not None and self.options.calls == "direct" else 0

    def ignored(self, to: Destination, block: Block) -> int:
        """Return the bits of the registers that nobody reads before the call of a block has come back.

        The needless ones are among them. A callee that is to return to other code leaves it the others.
        """
        if to.callee is None or self.options.calls != "direct":
            return 0
        return to.callee.ignores if links_to_next(block) else to.callee.overwrites

    def passed(self, target: int | None) -> int:
        """Return the bits of the registers that a call of a guest pc, or of an unknown one, passes as arguments."""
        if self.options.calls == "thunked":
            return 0
        callee = self.direct(target)
        return callee.takes if callee is not None else ARGUMENT_BITS

    def destination(
        self, pc: int | None, guess: int | None = None, in_loop: bool = False, exposed: bool = False
    ) -> Destination:
        """Return where a call or jump to a guest pc leads, or one by a register that is likely to have a `guess`.

        `in_loop`: a loop makes the call. `exposed`: a landing pad guards it.
        """
        callee = self.direct(guess if pc is None else pc)
        is_copied = callee is not None and not exposed and (callee.tiny or (callee.copied and in_loop))
        likely = guess if callee is not None and pc is None else None
        return Destination(pc, numbers_in(self.passed(pc), ARGUMENTS), callee, likely, is_copied)


_NAME_CHARACTERS = 200
"""Of a guest's name in a symbol; those of C++ have no end."""


def symbol_of(function: Function, callee: Callee | None) -> str:
    """Return the LLVM name of a function: that by which others call it, as `callee` says if it is given.

    Its first name is the guest's, as far as that is plain, and the guest pc.

    perf, gdb and nm show it. The pc makes it unique; with it, LLVM takes no name for one of C's library, whose
    functions it knows, nor does the linker. Names that begin with `llvm.` are LLVM's own.
    """
    if callee is not None:
        return callee.symbol
    pc = f"{function.start:08x}"
    if function.name == f"fn_{pc}":
        return function.name
    plain = re.sub(r"[^A-Za-z0-9_$.]", "_", function.name)[:_NAME_CHARACTERS]
    reserved = not plain or plain[0].isdigit() or plain.startswith("llvm.")
    return f"{'_' if reserved else ''}{plain}.{pc}"


def moves_sp(instruction: Instruction) -> bool:
    """Return whether an instruction adds its immediate to sp."""
    is_sum = instruction.rs == instruction.rt == SP and added_constant(instruction) is not None
    return is_sum or effects(instruction.row).steps_sp


def lowers_sp(instruction: Instruction) -> bool:
    """Return whether an instruction that writes sp may lower it. What it writes is stored at once.

    So the state's sp is never above the guest's: the frame of a signal handler that a fault calls, which begins there,
    leaves alone what lies on the stack. LLVM does not know of that frame, so the store is volatile.
    """
    return not (moves_sp(instruction) and instruction.imm > 0)
