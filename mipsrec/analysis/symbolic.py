"""Evaluates instruction rows on expressions instead of numbers: constants, address arithmetic, loads, comparisons.

A value is an int (a known 32-bit number) or a tuple: `("reg", n)` what register n held at the start, `("add", x, c)`
with a constant c, `("sum", x, y)`, `("shl", x, n)`, `("load", address)` of a word, `("half", address)` of a half with
its sign, `("ult", x, y)`; anything else is `("?", k)` with a k of its own. What comes out is a guess wherever memory
may have changed since the program was linked: its users check it at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..architecture import INSTRUCTION_BYTES
from ..isa import Instruction
from ..state import GP, SP

Value = Any

_MASK = 0xFFFFFFFF


def _signed(value: int) -> int:
    return value - (1 << 32) if value & 0x80000000 else value


class SymbolicMachine:
    """A Machine over expressions. `read_constant(address)` gives the word at a constant address, or None."""

    def __init__(self, known: dict[int, int], read_constant: Callable[[int], int | None]) -> None:
        self._registers: dict[int, Value] = dict(known)
        self._read_constant = read_constant
        self._unknowns = 0
        self.saved_gp: int | None = None
        """When set: what a load from the stack into gp restores (the o32 convention)."""
        self.gp_at: frozenset[int] = frozenset()
        """Where the function keeps its gp, as distances from sp: any load from there gives `saved_gp`."""
        self.index = 0
        self.pc: int | None = None
        """Of MIPS16e code: that of the instruction, or of the jump whose slot it is in."""
        self.loads: dict[Value, int] = {}
        """Index of the instruction that loaded from an address expression, for those that are not constant."""
        self.stores: dict[Value, Value] = {}
        """Words stored, by address expression: the last one of each."""

    def _unknown(self) -> Value:
        self._unknowns += 1
        return ("?", self._unknowns)

    def __getattr__(self, name: str) -> Any:
        """Operations that this machine knows nothing about give an unknown value."""
        return lambda *operands: self._unknown()

    def gpr(self, number: int) -> Value:
        return 0 if number == 0 else self._registers.get(number, ("reg", number))

    def set_gpr(self, number: int, value: Value) -> None:
        if number == GP and self.saved_gp is not None and type(value) is tuple and value[0] == "load":
            value = self.saved_gp
        self._registers[number] = value

    def const(self, value: int) -> Value:
        return value & _MASK

    def add(self, a: Value, b: Value) -> Value:
        if type(a) is int:
            a, b = b, a
        if type(b) is int:
            if type(a) is int:
                return (a + b) & _MASK
            if b == 0:
                return a
            if a[0] == "add":
                return self.add(a[1], (a[2] + b) & _MASK)
            return ("add", a, b)
        if a[0] == "add":
            return self.add(self.add(a[1], b), a[2])
        if b[0] == "add":
            return self.add(self.add(a, b[1]), b[2])
        return ("sum", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        return self.add(a, -b & _MASK) if type(b) is int else self._unknown()

    def or_(self, a: Value, b: Value) -> Value:
        if type(a) is int and type(b) is int:
            return a | b
        return a if b == 0 else b if a == 0 else self._unknown()

    def and_(self, a: Value, b: Value) -> Value:
        return a & b if type(a) is int and type(b) is int else self._unknown()

    def shl(self, a: Value, amount: Value) -> Value:
        if type(amount) is not int:
            return self._unknown()
        if type(a) is int:
            return a << (amount & 31) & _MASK
        return ("shl", a, amount & 31) if amount & 31 else a

    def eq(self, a: Value, b: Value) -> Value:
        return 1 if a == b else 0 if type(a) is int and type(b) is int else ("eq", a, b)

    def ne(self, a: Value, b: Value) -> Value:
        return 0 if a == b else 1 if type(a) is int and type(b) is int else ("ne", a, b)

    def slt(self, a: Value, b: Value) -> Value:
        return int(_signed(a) < _signed(b)) if type(a) is int and type(b) is int else self._unknown()

    def ult(self, a: Value, b: Value) -> Value:
        return int(a < b) if type(a) is int and type(b) is int else ("ult", a, b)

    def invert(self, flag: Value) -> Value:
        return 1 - flag if type(flag) is int else self._unknown()

    def zext1(self, flag: Value) -> Value:
        return flag

    def load(self, base: Value, displacement: int, bits: int, signed: bool) -> Value:
        address = self.add(base, displacement & _MASK)
        if bits == 16 and signed and type(address) is not int:
            self.loads[address] = self.index
            return ("half", address)
        if bits != 32:
            return self._unknown()
        if type(address) is int:
            word = self._read_constant(address)
            return self._unknown() if word is None else word
        if self.gp_at and self.saved_gp is not None and self.stack_offset(address) in self.gp_at:
            return self.saved_gp
        self.loads[address] = self.index
        return ("load", address)

    def store(self, base: Value, displacement: int, bits: int, value: Value) -> None:
        if bits == 32:
            self.stores[self.add(base, displacement & _MASK)] = value

    def code_address(self, displacement: int) -> Value:
        return self._unknown() if self.pc is None else (self.pc - self.pc % INSTRUCTION_BYTES + displacement) & _MASK

    def stack_offset(self, address: Value) -> int | None:
        """Return where an address is from the current sp, if it is known."""
        at, base = _register_and_offset(address), _register_and_offset(self.gpr(SP))
        if at is None or base is None or at[0] != SP or base[0] != SP:
            return None
        return _signed((at[1] - base[1]) & _MASK)


def _register_and_offset(value: Value) -> tuple[int, int] | None:
    """Return (n, c) where the value is what register n held at the start, plus c."""
    offset = 0
    if type(value) is tuple and value[0] == "add":
        value, offset = value[1], value[2]
    return (value[1], offset) if type(value) is tuple and value[0] == "reg" else None


def run(machine: SymbolicMachine, instructions: Sequence[Instruction], pcs: Sequence[int] = ()) -> None:
    """Run straight-line instructions on the machine; branch and jump rows have no effect but their link's.

    `pcs` are those of MIPS16e code, of an instruction in a slot that of the jump.
    """
    for machine.index, instruction in enumerate(instructions):
        machine.pc = pcs[machine.index] if pcs else None
        row = instruction.row
        if row.meaning is not None:
            row.meaning(machine, instruction)
        link = instruction.link_register()
        if link:
            machine.set_gpr(link, machine._unknown())


_conditions: dict[int, int | None] = {}


def constant_condition(instruction: Instruction) -> int | None:
    """Return 1 when a branch is always taken, 0 when never, None when it depends (beq $0,$0; bltzal $0; ...)."""
    word = instruction.word & 0xFFFF0000
    if word not in _conditions:
        assert instruction.row.condition is not None
        value = instruction.row.condition(SymbolicMachine({}, lambda address: None), instruction)
        _conditions[word] = value if isinstance(value, int) else None
    return _conditions[word]
