"""Which guest registers a function keeps in SSA, as what type, and where it loads and flushes them.

A unit is one value: a general-purpose register, HI:LO or another accumulator, DSPControl, a condition code, or as much
of the floating-point file as the function uses together. With FR=0 a pair that only doubles touch is one `double`, a
pair that only singles touch two `float`s, and one that both touch a vector of two. Units are promoted to SSA from
allocas; `StateContext` says which must be loaded at entry and after each call, and which are dirty (differ from the
state in memory) at each flush, so that the state is complete whenever other code may look."""

from __future__ import annotations

from dataclasses import dataclass

from ..analysis import End, Function
from ..isa import Instruction
from ..isa.effects import ACCUMULATOR_BITS, DSP_BIT, FCC_BIT, FPR_BIT, LAST_BIT, effects, is_sign_change, masks
from ..state import OFFSETS, SLOT_BYTES, slot_offset
from .convention import RESULT_BITS, argument_registers

PAIR = "pair"
"""The type of a double and its words: what sets or reads one of them stays among the host's floating-point
registers."""


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """`name` names the alloca `%name` and the state pointer `%s.name`; `bits` are register bits (isa/effects.py)."""

    name: str
    type: str  # word, long, flag, single, double, or PAIR
    offset: int  # in the state
    bits: int


_GPR_UNITS = tuple(Unit(f"r{n}", "word", slot_offset("gpr", n), 1 << n) for n in range(32))
_HILO_UNITS = tuple(
    Unit(f"ac{n}" if n else "hilo", "long", slot_offset("hilo", n), bit) for n, bit in enumerate(ACCUMULATOR_BITS)
)
_DSP_UNIT = Unit("dsp", "word", OFFSETS["dsp_control"], 1 << DSP_BIT)
_FCC_UNITS = tuple(Unit(f"c{n}", "flag", slot_offset("fcc", n), 1 << FCC_BIT + n) for n in range(8))


class Units:
    """The units of one function under Status.FR = `fr`; `abs2008`: abs and neg compute nothing (FCSR.ABS2008)."""

    def __init__(self, function: Function, fr: int, abs2008: bool = False) -> None:
        self.fr = fr
        self.abs2008 = abs2008
        self._joined: list[int] = []  # bits of the units that hold more than one register or part of one
        self._mixed = 0
        self.arguments = used = argument_registers(function)
        """The bits of the registers that the function takes from its parameters."""
        if any(block.end is End.CALL for block in function.blocks.values()):
            used |= RESULT_BITS  # callees give them back in registers alone
        singles = doubles = 0
        instructions = [instruction for block in function.blocks.values() for instruction in block.instructions()]
        for instruction in instructions:
            read, written = masks(instruction, fr)
            used |= read | written
            if (read | written) >> FPR_BIT:
                single, double = float_bits(instruction, fr)
                singles |= single
                doubles |= double
        self.all: list[Unit] = [unit for unit in _GPR_UNITS[1:] if used & unit.bits]
        self.all += [unit for unit in (*_HILO_UNITS, _DSP_UNIT) if used & unit.bits]
        self.all += [unit for unit in _FCC_UNITS if used & unit.bits]
        self.gpr = _GPR_UNITS
        self.hilo = _HILO_UNITS
        self.dsp_control = _DSP_UNIT
        self.fcc = _FCC_UNITS
        self.fpr: dict[int, Unit] = {}
        self.halves: dict[Unit, tuple[Unit, Unit]] = {}
        """Of pairs: the floats that they are where they are not whole (fp_pair_forms.py)."""
        self._plan_floats(singles, doubles)
        self.last = self._last_units(instructions) if used >> LAST_BIT & 1 else ()
        self.all += self.last
        self.bits = 0
        for unit in self.all:
            self.bits |= unit.bits

    def _last_units(self, instructions: list[Instruction]) -> tuple[Unit, ...]:
        """Return the units of the last instruction that computed and of its operands' bits, as floats or doubles."""
        types: set[str] = set()
        operand_count = 0
        for instruction in instructions:
            if masks(instruction, self.fr)[1] >> LAST_BIT & 1:
                operands = effects(instruction.row).float_operands
                operand_count = max(operand_count, len(operands))
                types.update(operands)
        type_ = "single" if types == {"single"} else "double"
        bit, offset = 1 << LAST_BIT, OFFSETS["fp_operands"]
        units = (Unit(f"last{n}", type_, offset + SLOT_BYTES * n, bit) for n in range(operand_count))
        return (Unit("last", "word", OFFSETS["fp_word"], bit), *units)

    def _plan_floats(self, singles: int, doubles: int) -> None:
        step = 1 if self.fr else 2
        for number in range(0, 32, step):
            bits = (1 if self.fr else 3) << FPR_BIT + number
            if doubles & bits:
                mixed = bool(singles & bits)
                unit = Unit(f"f{number}", PAIR if mixed else "double", slot_offset("fpr", number), bits)
                self._joined.append(bits)
                if mixed:
                    self._mixed |= bits
                    low, high = (Unit(f"f{number}.{n}", "single", unit.offset + 4 * n, bits) for n in (0, 1))
                    self.halves[unit] = low, high
                self._add(unit, range(number, number + step))
                continue
            for n in range(number, number + step):
                bit = 1 << FPR_BIT + n
                if singles & bit:
                    offset = slot_offset("fpr", n) if self.fr else slot_offset("fpr", n & ~1) + 4 * (n & 1)
                    self._add(Unit(f"f{n}", "single", offset, bit), range(n, n + 1))

    def _add(self, unit: Unit, numbers: range) -> None:
        self.all.append(unit)
        for number in numbers:
            self.fpr[number] = unit

    def masks(self, instruction: Instruction) -> tuple[int, int]:
        """Return (read, written) bits in whole units; writing part of a unit reads it too."""
        read, written = masks(instruction, self.fr)
        if self.abs2008 and is_sign_change(instruction.row):
            written &= ~(1 << LAST_BIT)
        if (read | written) >> FPR_BIT and self._joined:
            for bits in self._joined:
                if written & bits:
                    if written & bits != bits or (bits & self._mixed and self.fr):
                        read |= bits
                    written |= bits
                if read & bits:
                    read |= bits
        return read, written


def float_bits(instruction: Instruction, fr: int) -> tuple[int, int]:
    """Return the floating-point bits used as singles and those used as doubles."""
    single = double = 0
    does = effects(instruction.row)
    for use in (*does.reads, *does.writes):
        if use.kind in ("single", "double", "high"):
            number = use.field if isinstance(use.field, int) else getattr(instruction, use.field)
            if use.kind == "single":
                single |= 1 << FPR_BIT + number
            elif use.kind == "double" and fr == 0:
                double |= 3 << FPR_BIT + (number & ~1)
            elif use.kind == "double":
                double |= 1 << FPR_BIT + number
            elif fr == 0:  # mthc1 and mfhc1 see the odd word
                single |= 2 << FPR_BIT + (number & ~1)
                double |= 3 << FPR_BIT + (number & ~1)
            else:
                single |= 1 << FPR_BIT + number
                double |= 1 << FPR_BIT + number
    return single, double
