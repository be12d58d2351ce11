"""Which registers the state lacks, before each instruction of a block and at its end: the dirty ones.

Enters: a plan about which the passes have decided. Leaves: `Op.on_exit` and its kin, `BlockPlan.link`,
`written` and `dirty_out`. What is dirty on the way into a block, and where it is stored on the edges, context.py says.
A register is dirty from the instruction that writes it on. sp is stored at once where it may sink. Before an access
that the host performs, the state gets the registers that it would find in recompiled code only (CARRIED): for the
handler of a fault.
"""

from __future__ import annotations

from copy import copy

from ...analysis import Block, End
from ...isa.effects import effects
from ..convention import CARRIED_BITS, SAVED_BITS, SP_BIT, lowers_sp
from ..ir import BlockPlan, FunctionPlan, Op

_LINKING = (End.CALL, End.JUMP)


def note_dirty(plan: FunctionPlan) -> None:
    """Note what is dirty in all blocks of a plan."""
    for pc, block in plan.blocks.items():
        _note(plan, block, plan.context.dirty_in[pc])


def with_dirty(plan: FunctionPlan, block: BlockPlan, dirty: int) -> BlockPlan:
    """Return a copy of the plan of a block, with other registers dirty on the way in."""
    found = copy(block)
    found.body, found.slot = [copy(op) for op in block.body], copy(block.slot)
    _note(plan, found, dirty)
    return found


def _looked_at(plan: FunctionPlan, op: Op) -> int:
    """Return the bits of the registers that the state must have before an instruction, for handlers of its faults."""
    does, found = effects(op.instruction.row), SAVED_BITS if op.exposed else 0
    is_by_host = plan.options.memory != "flat" and (does.loads or does.stores)
    return found | (CARRIED_BITS if is_by_host else 0)


def _note(plan: FunctionPlan, block: BlockPlan, dirty: int) -> None:
    second_halves = {word.second for word in block.unaligned.values()}
    block.link, block.written = _link(block.block), 0
    for index, op in enumerate(block.ops):
        if op is block.slot:
            dirty |= 1 << block.link & ~1
        if index not in second_halves:
            op.stores = dirty & _looked_at(plan, op)
            dirty &= ~op.stores
        op.on_exit = dirty
        written = plan.units.masks(op.instruction)[1]
        block.written |= written
        dirty |= written
        op.stores_after = SP_BIT if written & SP_BIT and lowers_sp(op.instruction) else 0
        dirty &= ~op.stores_after
    if block.slot is None:  # jalrc has none
        dirty |= 1 << block.link & ~1
    block.dirty_out = dirty


def _link(block: Block) -> int:
    """Return the register that gets the return address at the end of a block, or 0."""
    return block.terminator.link_register() if block.terminator is not None and block.end in _LINKING else 0
