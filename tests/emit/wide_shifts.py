"""How MIPS32 code shifts numbers of 64 bits, in halves, and code that is almost the same; with what it computes.

Leaves: lists of `Operation`s, their words, and the registers after them by a small model of its own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

HIGH, LOW, BY = 4, 5, 6
"""Registers of the number and of how far it is shifted; $2 and $3 get the result."""

_FUNCTS = {"sll": 0, "srl": 2, "sra": 3, "sllv": 4, "srlv": 6, "srav": 7, "movz": 10, "movn": 11, "or": 37, "nor": 39}
_IMMEDIATE = ("sll", "srl", "sra")
_MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class Operation:
    """`d` = `a` operation `b`, where `b` is a register, or a number for andi and the shifts by one."""

    name: str
    d: int
    a: int
    b: int

    def word(self) -> int:
        if self.name == "andi":
            return 12 << 26 | self.a << 21 | self.d << 16 | self.b
        if self.name in _IMMEDIATE:
            return self.a << 16 | self.d << 11 | self.b << 6 | _FUNCTS[self.name]
        first, second = (self.b, self.a) if self.name.endswith("v") else (self.a, self.b)
        return first << 21 | second << 16 | self.d << 11 | _FUNCTS[self.name]

    def run(self, registers: list[int]) -> None:
        a = registers[self.a]
        b = self.b if self.name == "andi" or self.name in _IMMEDIATE else registers[self.b]
        signed = a - (a >> 31 << 32)
        kind = self.name.removesuffix("v")
        result = {
            "sll": a << (b & 31), "srl": a >> (b & 31), "sra": signed >> (b & 31), "or": a | b, "nor": ~(a | b),
            "andi": a & b, "movz": a if b == 0 else registers[self.d], "movn": a if b else registers[self.d],
        }[kind]  # fmt: skip
        if self.d:
            registers[self.d] = result & _MASK


def _sequence(text: str) -> list[Operation]:
    lines = [line.replace(",", " ").split() for line in text.split(";")]
    return [Operation(name, int(d), int(a), int(b)) for name, d, a, b in lines]


_LEFT = "nor 7,0,6; srl 8,5,1; srlv 8,8,7; sllv 2,4,6; or 2,8,2; sllv 3,5,6; andi 9,6,32; "
_RIGHT = "nor 7,0,6; sll 8,4,1; sllv 8,8,7; srlv 3,5,6; or 3,3,8; srlv 2,4,6; andi 9,6,32; "
_ARITHMETIC = _RIGHT.replace("srlv 2,4", "srav 2,4") + "sra 10,4,31; "
SEQUENCES = [
    _sequence(_LEFT + "movn 2,3,9; movn 3,0,9"),
    _sequence(_RIGHT + "movn 3,2,9; movn 2,0,9"),
    _sequence(_ARITHMETIC + "movn 3,2,9; movn 2,10,9"),
    _sequence("nor 7,6,0; srl 8,5,1; srlv 2,8,7; sllv 3,5,6; andi 9,6,32; movn 2,3,9; movn 3,0,9"),  # high is 0
    _sequence("nor 7,6,0; sll 8,4,1; sllv 3,8,7; srav 2,4,6; andi 9,6,32; movn 3,2,9"),  # low is 0
    _sequence(_LEFT + "or 10,3,0; movz 10,2,9; or 11,0,0; movz 11,3,9; or 2,10,0; or 3,11,0"),
]
AMOUNTS = (0, 1, 2, 15, 16, 31, 32, 33, 47, 48, 63, 64, 65, 95, 0xFFFFFFE1, 0x80000020)


def variants(seed: int) -> Iterator[list[Operation]]:
    """Yield the sequences, and each with one thing changed."""
    chance = random.Random(seed)
    for sequence in SEQUENCES:
        yield sequence
        for index, operation in enumerate(sequence):
            changed = [replace(operation, name=name) for name in _similar(operation.name)]
            numbers = {field: chance.choice((0, 2, 3, 4, 5, 6, 7, 8, 9)) for field in ("d", "a")}
            changed += [replace(operation, **{field: number}) for field, number in numbers.items()]
            if operation.name == "andi":
                changed += [replace(operation, b=b) for b in (16, 31, 48, 64)]
            elif operation.name in _IMMEDIATE:
                changed += [replace(operation, b=b) for b in (0, 2, 31)]
            else:
                changed.append(replace(operation, b=chance.choice((0, 2, 3, 4, 5, 6, 7, 8, 9))))
            for other in changed:
                yield [*sequence[:index], other, *sequence[index + 1 :]]


def _similar(name: str) -> tuple[str, ...]:
    groups = (("sll", "srl", "sra"), ("sllv", "srlv", "srav"), ("movz", "movn"), ("or", "nor"))
    return next((tuple(other for other in group if other != name) for group in groups if name in group), ())
