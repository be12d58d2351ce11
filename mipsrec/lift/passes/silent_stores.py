"""Silent stores: stores that put back what their block has loaded from the same place.

Needs: the instructions of each block by themselves.
Sets: `Op.volatile` of these stores.
Keeps: a silent store stays, with its fault: programs store so to see whether they may write (docs/limits.md, Faults).
LLVM would drop it, as it changes nothing. A store is silent if its register holds what an access of the same address
has loaded. Addresses are equal as far as sums of constants tell, or a base that was loaded twice from one place. Stores
in between do not matter.
Off when: never. A store in a later block than its load does not count.
"""

from __future__ import annotations

from typing import Any, cast

from ...analysis import Block
from ...isa import Instruction
from ...isa.effects import effects, masks
from ..ir import FunctionPlan

Value = tuple[object, int]
"""A root and a constant that is added to it. The root of a constant is None, that of a loaded value a `tuple`."""


def silent_stores(block: Block, fr: int, big_endian: bool) -> set[int]:
    """Return the indices of the silent stores in body and delay slot."""
    instructions = block.body_and_slot()
    if not _may_be_silent(instructions, fr):
        return set()
    values = _Values(fr, big_endian)
    found = set()
    for index, instruction in enumerate(instructions):
        values.same = False
        if instruction.row.meaning is not None:
            instruction.row.meaning(cast(Any, values), instruction)
        if values.same:
            found.add(index)
    return found


def _may_be_silent(instructions: list[Instruction], fr: int) -> bool:
    """Return whether some store has an operand that a load of the block may have left: most blocks have none."""
    loaded = 0
    for instruction in instructions:
        does = effects(instruction.row)
        read, written = masks(instruction, fr)
        if does.loads:
            loaded |= written
        elif does.stores:
            if read & loaded & ~(1 << instruction.rs) or loaded >> instruction.rt & 1:
                return True
        elif read & loaded and not does.computes_float:
            loaded |= written
        else:
            loaded &= ~written
    return False


class _Values:
    """A Machine on values that tell where they were loaded."""

    def __init__(self, fr: int, big_endian: bool) -> None:
        self._fr = fr
        self._big_endian = big_endian
        self._gprs: dict[int, Value] = {0: (None, 0)}
        self._floats: dict[tuple[str, int], Value] = {}
        self.same = False  # whether the current instruction stores what its place held

    def __getattr__(self, name: str) -> Any:
        return lambda *operands: (object(), 0)

    def gpr(self, number: int) -> Value:
        return self._gprs.setdefault(number, (object(), 0))

    def set_gpr(self, number: int, value: Value) -> None:
        if number:
            self._gprs[number] = value

    def single(self, number: int) -> Value:
        return self._floats.setdefault(("single", number), (object(), 0))

    def set_single(self, number: int, value: Value) -> None:
        self._floats["single", number] = value
        self._floats.pop(("double", number if self._fr else number & ~1), None)

    word, set_word = single, set_single

    def double(self, number: int) -> Value:
        return self._floats.setdefault(("double", number), (object(), 0))

    def set_double(self, number: int, value: Value) -> None:
        self._floats["double", number] = value
        for single in (number, number | 1)[: 1 if self._fr else 2]:
            self._floats.pop(("single", single), None)

    # sums, and parts of values

    def const(self, value: int) -> Value:
        return None, value & 0xFFFFFFFF

    def add(self, a: Value, b: Value) -> Value:
        root = a[0] if b[0] is None else b[0] if a[0] is None else ("sum", a, b)
        return root, (a[1] + b[1]) & 0xFFFFFFFF if None in (a[0], b[0]) else 0

    def or_(self, a: Value, b: Value) -> Value:
        return a if b == (None, 0) else b if a == (None, 0) else (object(), 0)

    def and_(self, a: Value, b: Value) -> Value:
        return self._low(a, {0xFF: 8, 0xFFFF: 16}.get(b[1], 0) if b[0] is None else 0)

    def sign_extend(self, a: Value, bits: int) -> Value:
        return self._low(a, bits)

    def shl(self, a: Value, amount: Any) -> Value:
        return ("shl", a, amount), 0

    def ashr(self, a: Value, amount: Any) -> Value:
        root = a[0]
        if isinstance(root, tuple) and root[0] == "shl" and root[2] == amount:
            return self._low(root[1], {(None, 24): 8, (None, 16): 16}.get(amount, 0))
        return object(), 0

    def _low(self, a: Value, bits: int) -> Value:
        return (("low", a, bits) if bits else object()), 0

    # accesses

    def load(self, base: Value, displacement: int, bits: int, signed: bool = False) -> Value:
        return ("load", self._at(base, displacement), bits), 0

    def load_single(self, base: Value, displacement: int) -> Value:
        return self.load(base, displacement, 32)

    def load_double(self, base: Value, displacement: int) -> Value:
        return self.load(base, displacement, 64)

    def load_left(self, base: Value, displacement: int, old: Value) -> Value:
        return self._half(self._at(base, displacement - (0 if self._big_endian else 3)), old)

    def load_right(self, base: Value, displacement: int, old: Value) -> Value:
        return self._half(self._at(base, displacement - (3 if self._big_endian else 0)), old)

    def _half(self, word: Value, old: Value) -> Value:
        """Return what a register holds after half of the word at an address, the lowest of its bytes, was loaded."""
        return ("load", word, 32) if old[0] == ("half", word) else ("half", word), 0

    def store(self, base: Value, displacement: int, bits: int, value: Value) -> None:
        root = value[0]
        while isinstance(root, tuple) and root[0] == "low" and root[2] >= bits and root[1][1] == 0:
            root = root[1][0]
        if value[1] == 0 and isinstance(root, tuple) and root[0] == "load" and root[2] >= bits:
            above = (root[2] - bits) >> 3 if self._big_endian else 0
            self.same = self._at(root[1], above) == self._at(base, displacement)

    def store_single(self, base: Value, displacement: int, value: Value) -> None:
        self.store(base, displacement, 32, value)

    def store_double(self, base: Value, displacement: int, value: Value) -> None:
        self.store(base, displacement, 64, value)

    def store_left(self, base: Value, displacement: int, value: Value) -> None:
        self.store(base, displacement - (0 if self._big_endian else 3), 32, value)

    def store_right(self, base: Value, displacement: int, value: Value) -> None:
        self.store(base, displacement - (3 if self._big_endian else 0), 32, value)

    def _at(self, base: Value, displacement: int) -> Value:
        return base[0], (base[1] + displacement) & 0xFFFFFFFF


def run(plan: FunctionPlan) -> None:
    """Mark the stores to keep."""
    for block in plan.blocks.values():
        for index in silent_stores(block.block, plan.options.fr, plan.options.big_endian):
            block.ops[index].volatile = True
