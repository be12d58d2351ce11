"""What LLVM is told of the switch that a jump by a table becomes.

In a loop, cases for which nothing is done but going on are taken for the usual ones: LLVM then compares with them
first, and spills registers for the others. Such a case leads where other cases meet and the loop goes back. Cases that
go back themselves, as those of interpreters do, have done something.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis import Block, Function
from ...flow.loops import predecessors_of

USUAL_WEIGHT = 9
"""How often a switch in a loop has nothing to do, against how often it has."""


def case_weights(function: Function, block: Block, targets: Sequence[int]) -> str:
    """Return the annotation of a switch at the end of `block`, whose default case is never taken; or nothing."""
    blocks = function.blocks
    later = {pc for pc in targets if pc > block.start and pc in blocks}
    back = {pc for pc in later if any(to <= block.start for to in function.successors(blocks[pc]))}
    if not back:
        return ""
    before = predecessors_of({pc: function.successors(other) for pc, other in blocks.items()})
    around = {block.start, *before[block.start]}
    goes_on = {pc for pc in back if not around.issuperset(before[pc])}
    if not goes_on or goes_on.issuperset(targets):
        return ""
    idle = sum(target in goes_on for target in targets)
    usual = USUAL_WEIGHT * (len(targets) - idle) // idle + 1
    weights = ", ".join(f"i32 {usual if target in goes_on else 1}" for target in targets)
    return f', !prof !{{!"branch_weights", i32 1, {weights}}}'
