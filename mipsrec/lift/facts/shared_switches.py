"""Which jumps by a table in writable memory share one switch (passes/switches.py says why)."""

from __future__ import annotations

from ...analysis import Block, End, Function

SHARED_CASES = 64
"""From here on the jumps by a table in writable memory share one switch."""


def shares_switch(function: Function, block: Block, memory_resident: int) -> bool:
    """Return whether a block goes on at a switch that all jumps by its table share."""
    table = function.jump_tables.get(block.terminator_pc)
    if table is None or block.end is not End.INDIRECT or not memory_resident:
        return False
    return table.writable and len(table.cases) >= SHARED_CASES
