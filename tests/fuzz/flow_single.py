"""Single random instructions for functions of random control flow (flow_parts.py).

Leaves: assembly that changes free registers, HI:LO, the FPU, the DSP module's registers and words of the stack, and
never ends a program.
"""

from __future__ import annotations

from collections.abc import Collection
from random import Random

FREE = tuple(f"${number}" for number in (1, *range(2, 16), *range(20, 26), 30))
"""Registers that belong to nobody; a call may change any of them."""
KEPT = ("$16", "$17", "$18", "$19")
"""Counters and pointers of loops; a function gives them back as they were."""
SIZES = {"lb": 1, "lbu": 1, "sb": 1, "lh": 2, "lhu": 2, "sh": 2, "lw": 4, "sw": 4}

_THREE = "addu subu and or xor nor slt sltu sllv srlv srav rotrv movz movn mul".split()
_SIGNED = ("addiu", "slti", "sltiu")
_UNSIGNED = ("andi", "ori", "xori")
_SHIFTS = ("sll", "srl", "sra", "rotr")
_TWO = "clz clo seb seh wsbh".split()
_HI_LO = "mult multu madd maddu msub msubu div divu".split()
_DSP_THREE = "addq_s.ph subu_s.qb addsc addwc mulq_rs.ph shllv_s.w pick.qb precrq_rs.ph.w cmpgu.lt.qb".split()
_DSP_SUMS = "madd multu dpa.w.ph dpaq_s.w.ph dpsq_sa.l.w maq_sa.w.phl mulsaq_s.w.ph".split()
_DSP_EXTRACTIONS = "extr_rs.w extr_s.h extp extpdp".split()
_DSP_CONDITIONS = "cmpu.eq.qb cmp.lt.ph".split()
_BRANCHES = "beq bne blez bgtz bltz bgez".split()
_CONVERSIONS = "cvt.s.d cvt.d.s cvt.w.s cvt.w.d cvt.s.w cvt.d.w trunc.w.s trunc.w.d".split()
_CONDITIONS = "un eq ueq olt ult ole lt le nge ngt".split()


class Single:
    """Makes instructions of a seed's choice."""

    def __init__(self, random: Random, fpu: bool, dsp: bool) -> None:
        self.random = random
        self.fpu, self.dsp = fpu, dsp
        self.guarded: set[str] = set()  # registers that nothing here may write

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def register(self) -> str:
        return "$0" if self.chance(0.02) else self.random.choice(FREE)

    def source(self) -> str:
        return self.random.choice(KEPT) if self.chance(0.08) else self.register()

    def target(self, but: Collection[str] = ()) -> str:
        """Return a register that may be written."""
        while (name := self.register()) in self.guarded or name in but:
            pass
        return name

    def some(self, count: int) -> list[str]:
        """Return registers that may be written, all different."""
        return self.random.sample([name for name in FREE if name not in self.guarded], count)

    def operation(self) -> str:
        """Return one instruction that computes with registers."""
        if self.dsp and self.chance(0.15):
            return self.dsp_operation()
        kind = self.random.random()
        if kind < 0.4:
            return f"{self.random.choice(_THREE)} {self.target()}, {self.source()}, {self.source()}"
        if kind < 0.6:
            return self._immediate()
        if kind < 0.75:
            return f"{self.random.choice(_SHIFTS)} {self.target()}, {self.source()}, {self.random.randrange(32)}"
        if kind < 0.8:
            return f"{self.random.choice(_TWO)} {self.target()}, {self.source()}"
        if kind < 0.85:
            low = self.random.randrange(32)
            width = self.random.randint(1, 32 - low)
            return f"{self.random.choice(('ext', 'ins'))} {self.target()}, {self.source()}, {low}, {width}"
        if kind < 0.9:
            return f"{self.random.choice(('mfhi', 'mflo', 'mthi', 'mtlo'))} {self.target()}"
        if kind < 0.96:
            name = self.random.choice(_HI_LO)
            return f"{name} {'$0, ' if name.startswith('div') else ''}{self.source()}, {self.source()}"
        return f"lui {self.target()}, {self.random.getrandbits(16)}"

    def dsp_operation(self) -> str:
        """Return one instruction of the DSP module; of accumulators ac1 is the one that programs show."""
        target, a, b = self.target(("$0",)), self.source(), self.source()
        number, kind = self.random.randrange(32), self.random.random()
        if kind < 0.3:
            return f"{self.random.choice(_DSP_THREE)} {target}, {a}, {b}"
        if kind < 0.6:
            return f"{self.random.choice(_DSP_SUMS)} $ac{self.random.choice((0, 1, 1))}, {a}, {b}"
        if kind < 0.7:
            return f"{self.random.choice(_DSP_EXTRACTIONS)} {target}, $ac1, {number}"
        if kind < 0.8:
            return f"{self.random.choice(_DSP_CONDITIONS)} {a}, {b}"
        if kind < 0.85:
            return f"{self.random.choice(('mthlip', 'mthi', 'mtlo'))} {a}, $ac1"
        if kind < 0.9:
            return f"{self.random.choice(('mfhi', 'mflo'))} {target}, $ac1"
        return f"wrdsp {a}, {1 + 2 * number}" if kind < 0.95 else f"rddsp {target}, {1 + 2 * number}"

    def _immediate(self) -> str:
        if self.chance(0.3):
            name, value = "addiu", self.random.choice((1, 4, 8, -1))
        elif self.chance(0.5):
            name, value = self.random.choice(_SIGNED), self.random.randint(-32768, 32767)
        else:
            name, value = self.random.choice(_UNSIGNED), self.random.getrandbits(16)
        return f"{name} {self.target()}, {self.source()}, {value}"

    def access(self, base: str, low: int, high: int) -> str:
        """Return a load or store of what lies from `low` up to `high` bytes behind a register."""
        if self.chance(0.12):
            name = self.random.choice(("lwl", "lwr", "swl", "swr"))
            return f"{name} {self.target()}, {self.random.randrange(low, high)}({base})"
        if self.fpu and self.chance(0.15):
            name = self.random.choice(("lwc1", "swc1"))
            return f"{name} $f{self.random.randrange(32)}, {self.random.randrange(low, high, 4)}({base})"
        name = self.random.choice(list(SIZES) if self.chance(0.3) else ("lw", "sw"))
        register = self.source() if name.startswith("s") else self.target()
        return f"{name} {register}, {self.random.randrange(low, high, SIZES[name])}({base})"

    def compare(self) -> str:
        """Return a conditional branch without its target."""
        if self.dsp and self.chance(0.15):
            return "bposge32 "
        name, likely = self.random.choice(_BRANCHES), "l" if self.chance(0.2) else ""
        if name in ("beq", "bne"):
            return f"{name}{likely} {self.source()}, {self.source() if self.chance(0.6) else '$0'}, "
        return f"{name}{likely} {self.source()}, "

    def float_register(self) -> str:
        return f"$f{self.random.randrange(0, 32, 2)}"

    def float_operation(self) -> str:
        """Return one instruction of the FPU."""
        fmt, a, b = self.random.choice("sd"), self.float_register(), self.float_register()
        kind = self.random.random()
        if kind < 0.5:
            return f"{self.random.choice(('add', 'sub', 'mul', 'div'))}.{fmt} {a}, {b}, {self.float_register()}"
        if kind < 0.7:
            return f"{self.random.choice(('abs', 'neg', 'mov', 'sqrt'))}.{fmt} {a}, {b}"
        if kind < 0.8:
            return f"{self.random.choice(_CONVERSIONS)} {a}, {b}"
        if kind < 0.9:
            return f"{self.random.choice(('mtc1', 'mfc1'))} {self.target()}, $f{self.random.randrange(32)}"
        return self.float_compare(fmt, self.random.choice((0, 0, 0, 1)))

    def float_compare(self, fmt: str, condition: int) -> str:
        name = self.random.choice(_CONDITIONS)
        return f"c.{name}.{fmt} $fcc{condition}, {self.float_register()}, {self.float_register()}"
