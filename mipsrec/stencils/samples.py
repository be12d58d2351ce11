"""Sample instructions: the values that a row's fields have in the functions that are compiled for a stencil."""

from __future__ import annotations

from .expressions import Expression, bits

SHIFTS = {"rs": 21, "fr": 21, "rt": 16, "ft": 16, "rd": 11, "fs": 11, "msb": 11, "sa": 6, "fd": 6, "lsb": 6}
"""Where five-bit fields begin in a guest word."""

_REGISTERS = ({21: 9, 16: 10, 11: 12, 6: 25}, {21: 19, 16: 21, 11: 23, 6: 30})
"""By the shift of a field. Words of the state at negative displacements, and at positive ones: a displacement of one
byte, with whatever is behind it, cannot be taken for one of four bytes in both."""
_SMALL = ({"sa": 7, "lsb": 7, "msb": 12}, {"sa": 9, "lsb": 9, "msb": 10})
_IMMEDIATES = ((0x12345679, 0x2A3B4C5D), (0x47192B5E, 0x18F7E6D6))
_CODES = (5, 3)
_ACCUMULATORS = (1, 2)
SAMPLES = range(2)
"""Every stencil with a hole is compiled for this many instructions: where the code differs, it depends on a field."""


def register_number(sample: int, field: str) -> Expression:
    """Return the number in a field that names a register."""
    return bits(_REGISTERS[sample][SHIFTS[field]], SHIFTS[field], 5)


def code_number(sample: int, field: str) -> Expression:
    """Return the number in a field that names a condition code."""
    return bits(_CODES[sample], {"cc": 18, "fcc": 8}[field], 3)


def accumulator_number(sample: int) -> Expression:
    """Return which of the DSP module's accumulators an instruction names."""
    return bits(_ACCUMULATORS[sample], 11, 2)


class SampleInstruction:
    """Stands for any instruction of a row: register fields are their names, all others expressions.

    `fixed` are fields of which a stencil knows the value.
    """

    rs, rt, rd, fr, ft, fs, fd, cc, fcc, ac = "rs", "rt", "rd", "fr", "ft", "fs", "fd", "cc", "fcc", "ac"

    def __init__(self, sample: int, fixed: dict[str, int]) -> None:
        small = _SMALL[sample]
        immediate, unsigned = _IMMEDIATES[sample]
        self.imm = Expression(immediate, "(uint32_t)(int16_t)word")
        self.uimm = Expression(unsigned, "(word & 0xffffu)")
        self.sa: int = bits(small["sa"], 6, 5)
        self.lsb: int = bits(small["lsb"], 6, 5)
        self.msb: int = bits(small["msb"], 11, 5)
        self.amount: int = bits((9, 7)[sample], 21, 5)
        self.shift = Expression((11, 13)[sample], "(uint32_t)((int32_t)(word << 6) >> 26)")
        self.half = Expression((0x123, 0x1A5)[sample], "(uint32_t)((int32_t)(word << 6) >> 22)")
        self.reads: int = bits((0x15, 0x2A)[sample], 16, 6)
        self.writes: int = bits((0x2A, 0x15)[sample], 11, 6)
        self.overflow = 16 + accumulator_number(sample)
        self.code = self.index = self.word = 0
        for name, value in fixed.items():
            setattr(self, name, value)
