"""Which registers the state lacks, before each instruction of a block and at its end: the dirty ones.

Enters: a plan about which the passes have decided. Leaves: `Op.on_exit` and its kin, `BlockPlan.link`,
`written` and `dirty_out`. What is dirty on the way into a block, and where it is stored on the edges, context.py says.
A register is dirty from the instruction that writes it on. sp is stored at once where it may sink.
"""

from __future__ import annotations

from copy import copy

from ...analysis import Block, End
from ..convention import SAVED_BITS, SP_BIT, lowers_sp
from ..ir import BlockPlan, FunctionPlan
from ..units import Units

_LINKING = (End.CALL, End.JUMP)


def note_dirty(plan: FunctionPlan) -> None:
    """Note what is dirty in all blocks of a plan."""
    for pc, block in plan.blocks.items():
        _note(block, plan.units, plan.context.dirty_in[pc])


def with_dirty(block: BlockPlan, units: Units, dirty: int) -> BlockPlan:
    """Return a copy of a block's plan, with other registers dirty on the way in."""
    found = copy(block)
    found.body, found.slot = [copy(op) for op in block.body], copy(block.slot)
    _note(found, units, dirty)
    return found


def _note(block: BlockPlan, units: Units, dirty: int) -> None:
    second_halves = {word.second for word in block.unaligned.values()}
    block.link, block.written = _link(block.block), 0
    for index, op in enumerate(block.ops):
        if op is block.slot:
            dirty |= 1 << block.link & ~1
        if op.exposed and index not in second_halves:
            op.stores = dirty & SAVED_BITS
            dirty &= ~op.stores
        op.on_exit = dirty
        written = units.masks(op.instruction)[1]
        block.written |= written
        dirty |= written
        op.stores_after = SP_BIT if written & SP_BIT and lowers_sp(op.instruction) else 0
        dirty &= ~op.stores_after
    block.dirty_out = dirty


def _link(block: Block) -> int:
    """Return the register that gets the return address at the end of a block, or 0."""
    return block.terminator.link_register() if block.terminator is not None and block.end in _LINKING else 0
