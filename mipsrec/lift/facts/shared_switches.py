"""Which jumps by a table share one switch (passes/switches.py says why)."""

from __future__ import annotations

from ...analysis import Block, End, Function, JumpTable

SHARED_CASES = 64
"""From here on the jumps by a table in writable memory share one switch; in crowded functions all jumps by a table."""
MOST_EDGES = 1 << 15
"""Of the jumps by tables of a function, together; a function with more is crowded.

Edges that go back are blocks that poll for signals, and LLVM's register allocator takes the square of the blocks: for
SWI-Prolog's engine, with 60,000 of them, 21 minutes and more. Jumps that share a switch have one edge for each case.
"""


def is_crowded(function: Function) -> bool:
    """Return whether a function's jumps by tables have more edges than LLVM is to see."""
    return sum(len(table.cases) for table in function.jump_tables.values()) > MOST_EDGES


def shares_switch(function: Function, block: Block, memory_resident: int, crowded: bool) -> bool:
    """Return whether a block goes on at a switch that all jumps by its table share."""
    table = function.jump_tables.get(block.terminator_pc)
    if table is None or block.end is not End.INDIRECT or not memory_resident:
        return False
    return (table.writable or crowded) and len(table.cases) >= SHARED_CASES


def shared_cases(table: JumpTable, block: Block) -> tuple[tuple[int, int], ...]:
    """Return the cases of the switch that a block would share: by its target where another block loads the entry."""
    return table.cases if table.load_pc in block.pcs() else table.labels
