"""The words of MIPS32 code: one row per instruction, and the decoder that all rows share.

Enters: 32-bit guest words (already in host byte order). Leaves: `Instruction`, or None for a word that no row matches,
which is never an error here: such a word raises a reserved-instruction exception when it is reached.
"""

from __future__ import annotations

from collections.abc import Callable

from . import access, control, dsp_accumulators, dsp_lanes, dsp_moves, floating, integer
from .mips16_jump import exchanging_jump
from .row import Instruction, Row

ROWS: tuple[Row, ...] = tuple(
    row
    for module in (integer, control, access, floating, dsp_lanes, dsp_moves, dsp_accumulators)
    for row in module.TABLE.rows
)
"""All rows: MIPS I, II, MIPS32, MIPS32r2 and the DSP module in user mode."""


def _buckets() -> dict[int, list[Row]]:
    """Return rows by (bits 31-26, bits 5-0); rows whose low bits are operands stand in all their buckets."""
    result: dict[int, list[Row]] = {}
    for row in ROWS:
        low_mask, low_value = row.mask & 63, row.value & 63
        for low in range(64):
            if low & low_mask == low_value:
                result.setdefault(row.value >> 26 << 6 | low, []).append(row)
    return result


BUCKETS = _buckets()
"""Rows by bits 31-26 and 5-0 of the word, in the order in which they are tried."""
_cache: dict[int, Instruction | None] = {}


RANGES: dict[str, Callable[[int, int], int]] = {
    "ins": lambda msb, lsb: msb - lsb,
    "ext": lambda msb, lsb: 31 - (msb + lsb),
}
"""Of rows whose operands a pattern cannot express: what must not be negative (manual, ins and ext)."""


def _fits(row: Row, word: int) -> bool:
    """Return whether the operands that a pattern cannot express are in range."""
    spare = RANGES.get(row.name)
    return spare is None or spare(word >> 11 & 31, word >> 6 & 31) >= 0


def decode(word: int) -> Instruction | None:
    """Return the instruction of a word, or None when no row matches it."""
    try:
        return _cache[word]
    except KeyError:
        pass
    result = None
    for row in BUCKETS.get(word >> 26 << 6 | word & 63, ()):
        if word & row.mask == row.value and _fits(row, word):
            result = Instruction(row, word)
            break
    else:
        result = exchanging_jump(word)
    _cache[word] = result
    return result


_nop = decode(0)
assert _nop is not None
NOP: Instruction = _nop
