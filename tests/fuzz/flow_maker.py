"""Makes random assembly programs of functions, loops, branches, calls and stack words, which end by themselves.

Enters: a seed. Leaves: a Program, a tree whose parts can be left out one by one (to make a failing program small), and
its assembly. A program runs its functions on random registers, and writes all registers after each run, then its data
and its stack, to standard output. What no compiler would write is wanted: branch-likely, slots that change what their
branch has compared, loops entered in their middle, several entries, calls that return elsewhere, overlapping arrays.

Every loop counts down, and functions go back at once when the fuel in gp is used up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Protocol

ARENA_BYTES = 2048
JUMP_BUFFER_BYTES = 28
"""pc, sp, s0 to s3, and the buffer that was in use before."""
RUNS = 12
SPARE_BYTES = 128
STACK_BYTES = 16384
_FUEL = 60
STATE_WORDS = 104  # 0: unused, 1 to 31: registers, LO and HI, FCSR, the FPU's doubles, the DSP module's registers
LO, HI, FCSR, FPU, DSPCTL, LO1, HI1 = 32, 33, 34, 36, 100, 101, 102
_GP, _SP = 28, 29
_REGISTERS = [number for number in range(1, 32) if number not in (26, 27, 31)]
_KINDS = (
    "straight arena run unaligned choice leave loop switch stack_loop stack_pointer wide_shift call itself odd_call "
    "catch system_call floats float_choice elements"
).split()
_SPECIAL = (
    0, 1, 2, 3, 4, 7, 8, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x3F800000, 0x40490FDB, 0x7F800000,
    0x7FC00000, 0x7FBFFFFF,
)  # fmt: skip


@dataclass
class Part:
    """Lines, and rows of parts with lines behind each row; parts may be left out with all that is in them."""

    before: list[str]
    inside: list[list[Part]] = field(default_factory=list)
    behind: list[list[str]] = field(default_factory=list)
    left_out: bool = False

    def lines(self) -> list[str]:
        """Return the assembly of what is not left out."""
        if self.left_out:
            return []
        found = list(self.before)
        for number, row in enumerate(self.inside):
            for part in row:
                found += part.lines()
            found += self.behind[number] if number < len(self.behind) else []
        return found

    def parts(self) -> list[Part]:
        """Return all that is in it, outer parts before those in them."""
        return [found for row in self.inside for part in row for found in (part, *part.parts())]


class PartMaker(Protocol):
    """Makes parts of one function; `budget` is how many more it may have."""

    random: Random
    budget: int

    def any_part(self, depth: int) -> Part: ...

    def one(self) -> str: ...


def some_parts(maker: PartMaker, depth: int) -> list[Part]:
    """Return some parts in a row, or one instruction where no more are allowed."""
    found = []
    for _ in range(maker.random.randint(1, 5)):
        if maker.budget > 0:
            maker.budget -= 1
            found.append(maker.any_part(depth))
    return found or [Part([maker.one()])]


@dataclass
class Program:
    """Functions, lines before them, and data behind them."""

    start: list[str]
    functions: list[Part]
    data: list[str]
    fpu: bool
    fr: int
    link_options: tuple[str, ...] = ()

    @property
    def in_qemu(self) -> bool:
        """Return whether qemu-user does the same: it has flags and NaNs of the FPU otherwise."""
        return not self.fpu

    def place_of(self, offset: int) -> str:
        """Return what lies that far in its output."""
        return place_of(offset)

    def assembly(self) -> str:
        """Return the program."""
        code = [line for function in self.functions for line in function.lines()]
        return "\n".join([*self.start, *code, *self.data, ""])

    def parts(self) -> list[Part]:
        """Return all that may be left out, outer parts before those in them."""
        return [part for function in self.functions for part in function.parts()]


class Maker:
    """The choices of one seed, for all functions."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)
        self.fpu = self.random.random() < 0.6
        self.fr = int(self.fpu and self.random.random() < 0.3)
        self.dsp = Random(f"dsp {seed}").random() < 0.4
        self.names = [f"f{number}" for number in range(self.random.randint(5, 10))]
        self.leaves = {name for name in self.names if self.random.random() < 0.4}
        self.others = {name for name in self.names if self.random.random() < 0.25}  # have a second entry
        share = 0.4 * (Random(f"mips16 {seed}").random() < 0.3)
        self.mips16 = {name for name in self.names if Random(f"mips16 {seed} {name}").random() < share}
        self.favourites = self.random.sample(_KINDS, 3)
        self.tables: list[str] = []
        self._labels = 0

    def label(self) -> str:
        """Return a new label."""
        self._labels += 1
        return f".L{self._labels}"

    def word(self) -> int:
        return self.random.choice(_SPECIAL) if self.random.random() < 0.4 else self.random.getrandbits(32)

    def program(self, functions: list[Part]) -> Program:
        """Return the program of these functions."""
        return Program(
            self.start(), functions, [*ODD_CALLEES.split("\n"), *self.tables, *self.data()], self.fpu, self.fr
        )

    def modes(self) -> list[str]:
        """Return what the assembler is told first."""
        return [".set noreorder", ".set noat", ".set nomacro", *([".set dspr2"] if self.dsp else [])]

    def start(self) -> list[str]:
        lines = [*self.modes(), ".text", ".globl __start", "__start:"]
        for run in range(RUNS):
            lines += [*self.begins(run, "stack_end - 64"), f"jal {self.names[run % len(self.names)]}", "nop"]
            lines += self.ends(run)
        lines += ["addiu $4, $0, 1", "lui $5, %hi(results)", "addiu $5, $5, %lo(results)"]
        lines += ["lui $6, %hi(all_end)", "addiu $6, $6, %lo(all_end)", "subu $6, $6, $5"]
        return [*lines, "addiu $2, $0, 4004", "syscall", "addiu $4, $0, 0", "addiu $2, $0, 4001", "syscall"]

    def begins(self, run: int, stack: str) -> list[str]:
        """Return how registers get what a run begins with."""
        lines = ["lui $27, %hi(states)", f"addiu $27, $27, %lo(states) + {run * 4 * STATE_WORDS}"]
        lines += [f"lw $26, {4 * HI}($27)", "mthi $26", f"lw $26, {4 * LO}($27)", "mtlo $26"]
        if self.dsp:
            lines += [f"lw $26, {4 * HI1}($27)", "mthi $26, $ac1", f"lw $26, {4 * LO1}($27)", "mtlo $26, $ac1"]
            lines += [f"lw $26, {4 * DSPCTL}($27)", "wrdsp $26, 63"]
        lines += [f"ldc1 {name}, {place}($27)" for name, place in self._doubles()]
        lines += [f"lw $26, {4 * FCSR}($27)", "ctc1 $26, $31"]
        lines += [f"lw ${number}, {4 * number}($27)" for number in _REGISTERS if number not in (_GP, _SP)]
        return [*lines, f"lui $29, %hi({stack})", f"addiu $29, $29, %lo({stack})", f"addiu $28, $0, {_FUEL}"]

    def ends(self, run: int) -> list[str]:
        """Return how the registers that a run leaves come to memory."""
        lines = ["lui $27, %hi(results)", f"addiu $27, $27, %lo(results) + {run * 4 * STATE_WORDS}"]
        lines += [f"sw ${number}, {4 * number}($27)" for number in _REGISTERS]
        lines += ["mflo $26", f"sw $26, {4 * LO}($27)", "mfhi $26", f"sw $26, {4 * HI}($27)"]
        if self.dsp:
            lines += ["mflo $26, $ac1", f"sw $26, {4 * LO1}($27)", "mfhi $26, $ac1", f"sw $26, {4 * HI1}($27)"]
            lines += ["rddsp $26, 63", f"sw $26, {4 * DSPCTL}($27)"]
        lines += [f"sdc1 {name}, {place}($27)" for name, place in self._doubles()]
        return [*lines, "cfc1 $26, $31", f"sw $26, {4 * FCSR}($27)"]

    def _doubles(self) -> list[tuple[str, int]]:
        return [(f"$f{n}", 4 * (FPU + 2 * n)) for n in range(0, 32, 1 if self.fr else 2)]

    def states(self, name: str) -> list[str]:
        """Return what registers begin with, as data."""
        lines = [".data", ".align 3", f"{name}:"]
        for _ in range(RUNS):
            state = [self.word() for _ in range(STATE_WORDS)]
            state[FCSR] = self.random.choice((0, 0, 1, 2, 3))  # the rounding mode
            lines.append(f".word {', '.join(map(str, state))}")
        return lines

    def data(self) -> list[str]:
        lines = self.states("states")
        entries = [self.random.choice(self.names) for _ in range(8)]
        lines += ["functions:", f".word {', '.join(entries)}", "jumps: .word 0", ".align 3", "results:"]
        lines += [f".space {RUNS * 4 * STATE_WORDS}", "arena:"]
        lines += [f".word {self.word()}" for _ in range(ARENA_BYTES // 4)]
        return [*lines, f".space {SPARE_BYTES}", f".space {STACK_BYTES}", "stack_end:", "all_end:"]


def place_of(offset: int) -> str:
    """Return what lies that far in a program's output."""
    run, word = divmod(offset // 4, STATE_WORDS)
    if run >= RUNS:
        behind = offset - RUNS * 4 * STATE_WORDS
        if behind < ARENA_BYTES:
            return f"arena + {behind:#x}"
        return f"stack_end - {ARENA_BYTES + SPARE_BYTES + STACK_BYTES - behind:#x}"
    return register_after(run, word)


def register_after(run: int, word: int) -> str:
    """Return the name of the register that a word of the state after a run is of."""
    names = {LO: "lo", HI: "hi", FCSR: "fcsr", DSPCTL: "dspctl", LO1: "lo1", HI1: "hi1"}
    return f"{names.get(word, f'f{(word - FPU) // 2}' if word >= FPU else f'${word}')} after run {run}"


ODD_CALLEES = """skip:
andi $1, $4, 1
sll $1, $1, 3
addu $31, $31, $1
jr $31
xor $2, $4, $5
by_t8:
addu $2, $4, $5
sltu $3, $2, $4
jr $24
xor $7, $3, $2
catch:
sw $31, 0($4)
sw $29, 4($4)
sw $16, 8($4)
sw $17, 12($4)
sw $18, 16($4)
sw $19, 20($4)
lui $1, %hi(jumps)
lw $3, %lo(jumps)($1)
sw $3, 24($4)
sw $4, %lo(jumps)($1)
jr $31
addu $2, $0, $0
throw:
lui $1, %hi(jumps)
lw $4, %lo(jumps)($1)
beq $4, $0, 1f
addiu $2, $0, 1
lw $31, 0($4)
lw $29, 4($4)
lw $16, 8($4)
lw $17, 12($4)
lw $18, 16($4)
lw $19, 20($4)
lw $3, 24($4)
sw $3, %lo(jumps)($1)
1: jr $31
nop"""
"""Callees that return behind the next branch if a0 is odd, return by t8, and return twice as setjmp does."""
