"""How far below its entry a function has sp, at each of its instructions.

Enters: a graph. Leaves: the depths in bytes, by pc, or none where the function moves sp by anything but constants, or
has other entries. So the host knows sp at a fault from what it was at the entry, which LLVM neither moves nor loses.

Behind a call, emit takes sp as it comes back, and the depth there, for what sp was at the entry. So the depth that the
other ways have may be any: as behind a call that does not return, whose slot moves sp.
"""

from __future__ import annotations

from ...analysis import Block
from ...flow.graph import Graph
from ...isa.effects import masks
from ..convention import SP_BIT, calls_for_certain, moves_sp

DEEPEST = 0xFFFC
"""What a column of a location has room for (emit/writer.py)."""


def stack_depths(graph: Graph) -> dict[int, int]:
    """Return the depth of sp before each instruction; {} where it is not the same on all ways there."""
    function = graph.function
    if list(graph.entries) != [function.start]:
        return {}
    found = dict[int, int]()
    starts, work, returns = {function.start: 0}, [function.start], dict[int, int]()
    while work or returns:
        if not work:
            successor, behind = returns.popitem()
            if successor not in starts:
                starts[successor] = behind
                work.append(successor)
            continue
        start = work.pop()
        block = function.blocks[start]
        after = _through(block, starts[start], found)
        if after is None:
            return {}
        for successor in graph.successors[start]:
            if calls_for_certain(block):
                returns.setdefault(successor, after)
            elif successor not in starts:
                starts[successor] = after
                work.append(successor)
            elif starts[successor] != after:
                return {}
    return found


def _through(block: Block, depth: int, found: dict[int, int]) -> int | None:
    """Note the depths of a block's instructions, and return that behind it; None where it is not known."""
    for pc, instruction in zip(block.pcs(), block.instructions()):
        found[pc] = depth
        if masks(instruction, 0)[1] & SP_BIT:
            if not moves_sp(instruction) or instruction.imm % 4 or not 0 <= depth - instruction.imm <= DEEPEST:
                return None
            depth -= instruction.imm
    return depth
