"""Which registers the state lacks, before each instruction of a block and at its end: the dirty ones.

Enters: a plan about which the passes have decided. Leaves: `Op.dirty`, `Op.stores`, `Op.stores_sp`, and
`BlockPlan.dirty_out`. What is dirty on the way into a block, and where it is stored on the edges, context.py says. A
register is dirty from the instruction that writes it on. sp is stored at once where it may sink.
"""

from __future__ import annotations

from copy import copy

from ...analysis import Block, End
from ..convention import PRESERVED, SAVED_BITS, lowers_sp
from ..ir import BlockPlan, FunctionPlan
from ..units import Units

_LINKING = (End.CALL, End.JUMP)


def note_dirty(plan: FunctionPlan) -> None:
    """Note what is dirty in all blocks of a plan; in copies in the place of calls, too."""
    for pc, block in plan.blocks.items():
        dirty = _note(block, plan.units, plan.context.dirty_in[pc])
        for inlined in plan.sites[pc].inlined or ():
            dirty = _note(inlined, plan.units, dirty)


def with_dirty(block: BlockPlan, units: Units, dirty: int) -> BlockPlan:
    """Return a copy of a block's plan, with other registers dirty on the way in."""
    found = copy(block)
    found.body, found.slot = [copy(op) for op in block.body], copy(block.slot)
    _note(found, units, dirty)
    return found


def _note(block: BlockPlan, units: Units, dirty: int) -> int:
    second_halves = {word.second for word in block.unaligned.values()}
    for index, op in enumerate(block.ops):
        if op is block.slot:
            dirty |= _linked(block.block)
        if op.exposed and not op.by_caller and index not in second_halves:
            op.stores = dirty & SAVED_BITS
            dirty &= ~op.stores
        op.dirty = dirty
        if op.by_caller:
            continue
        written = units.masks(op.instruction)[1]
        dirty |= written
        op.stores_sp = bool(written & PRESERVED) and lowers_sp(op.instruction)
        if op.stores_sp:
            dirty &= ~PRESERVED
    block.dirty_out = dirty
    return dirty


def _linked(block: Block) -> int:
    """Return the bit of the register that gets the return address, before the slot may read it."""
    register = block.terminator.link_register() if block.terminator is not None and block.end in _LINKING else 0
    return 1 << register if register else 0
