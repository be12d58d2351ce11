"""Guarded accesses: accesses and calls from which an exception comes back to a landing pad of the function.

Needs: `Function.guarded`, from the tables of exceptions (.gcc_except_table).
Sets: `Op.exposed` and `Op.volatile` of these accesses, and `CallSite.exposed` of these calls.
Keeps: a landing pad goes on with the registers that callees preserve, and with memory, as MIPS has them at the access.
The handler of a fault may throw (-fnon-call-exceptions, which Ada and Go compilers use always): the unwinder takes
these registers of the innermost function from the signal's frame, that is from the state. So they are in the state
before such an access, and LLVM drops and moves no store over it. A call counts, too: LLVM drops no store before it,
and does not inline the callee.
Off when: the function has no landing pads.
"""

from __future__ import annotations

from bisect import bisect_right

from ...analysis import End
from ...isa.effects import effects
from ..ir import FunctionPlan


def run(plan: FunctionPlan) -> None:
    """Mark the accesses and calls that landing pads guard."""
    guarded = sorted(plan.function.guarded)
    if not guarded:
        return

    def is_guarded(pc: int) -> bool:
        index = bisect_right(guarded, (pc, 0xFFFFFFFF)) - 1
        return index >= 0 and pc < guarded[index][1]

    for block_pc, block in plan.blocks.items():
        terminator_pc, slot_of = block.block.terminator_pc, block.block.slot_of
        for op in block.ops:
            does = effects(op.instruction.row)
            pc = slot_of if slot_of is not None else terminator_pc if op is block.slot else op.pc
            if (does.loads or does.stores) and is_guarded(pc):
                op.exposed = op.volatile = True
        if block.block.end is End.CALL and is_guarded(terminator_pc):
            plan.sites[block_pc].exposed = True
