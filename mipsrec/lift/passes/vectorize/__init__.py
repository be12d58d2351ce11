"""Finds the loops of which several iterations may be performed at once."""

from __future__ import annotations

from ....analysis import Block, End, Function
from ...options import LiftOptions
from ..safepoints import Safepoints
from .iteration import Round, always_overlaps, countable
from .recognize import round_of


def vector_rounds(
    function: Function, order: list[int], safepoints: Safepoints, options: LiftOptions, abs2008: bool
) -> dict[int, Round]:
    """Return, by their blocks, the loops of which several rounds may be performed at once."""
    found: dict[int, Round] = {}
    if options.memory != "flat":
        return found
    for pc in order:
        block = function.blocks[pc]
        if block.end is not End.BRANCH or block.target != pc or not _stores_floats(block) or safepoints.on_edge(pc, pc):
            continue
        done = round_of(block, options.fr, options.big_endian, abs2008)
        if done is not None and 29 not in done.advances and countable(done) and not always_overlaps(done):
            found[pc] = done
    return found


def _stores_floats(block: Block) -> bool:
    return any(instruction.row.name in ("swc1", "sdc1", "swxc1", "sdxc1") for instruction in block.instructions())
