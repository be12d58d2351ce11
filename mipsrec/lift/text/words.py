"""The words of a plan's text, both ways: sets of registers, names, and lines with named fields.

A line is a head and fields: `head: stores s0 s1; repeats`. A field is a name, or a name and its value. Registers are
named as the assembler names them; `f4` is a word of the floating-point file, `fcc1` a condition code, `last` the record
of the last instruction that computed with floats.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NoReturn

from ...errors import LiftError
from ...isa.effects import ALL_BITS
from ...state import BIT_NAMES, GPR_NAMES

_NAMES = [(number, name) for number, name in sorted(BIT_NAMES.items()) if number]
_BITS = {name: 1 << number for number, name in _NAMES}
_NUMBERS = {name: number for number, name in enumerate(GPR_NAMES)}
_DIGITS = "0123456789"
_ALL_BUT = "all but "
_MANY = ALL_BITS.bit_count() // 2
"""From so many registers on, those are named that are not in a set."""
_PC = re.compile(r"[0-9a-f]{8,9}\Z")


@cache
def registers_text(bits: int) -> str:
    """Return the names of a set of registers, or `-` for none. `s0-s7` are eight: three and more stand so."""
    if bits.bit_count() > _MANY:
        return _ALL_BUT + registers_text(ALL_BITS & ~bits)
    return _runs_text([(number, name) for number, name in _NAMES if bits >> number & 1]) or "-"


def _runs_text(named: Iterable[tuple[int, str]]) -> str:
    """Return names in their order, three and more that follow each other by number and name as the first and last."""
    runs: list[list[str]] = []
    last_number, last = -1, ""
    for number, name in named:
        if number == last_number + 1 and name.rstrip(_DIGITS) == last.rstrip(_DIGITS):
            runs[-1].append(name)
        else:
            runs.append([name])
        last_number, last = number, name
    return " ".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else " ".join(run) for run in runs)


def some(bits: int) -> str:
    """Return the same as the value of a field, which is left out for none."""
    return registers_text(bits) if bits else ""


def numbers_text(numbers: Iterable[int]) -> str:
    """Return the names of general-purpose registers in their order."""
    return _runs_text((number, GPR_NAMES[number]) for number in numbers)


def pcs_text(pcs: Iterable[int]) -> str:
    """Return guest pcs as eight hexadecimal digits each."""
    return " ".join(f"{pc:08x}" for pc in pcs)


def quoted(name: str) -> str:
    """Return a name of the guest's as one word."""
    return re.sub(r"[^!-9<-\[\]-~]", lambda match: f"\\{ord(match[0]):x}.", name) or "\\"


def unquoted(word: str) -> str:
    """Return the name that one word stands for; raises ValueError."""
    return re.sub(r"\\([0-9a-f]*)(\.?)", lambda match: chr(int(match[1], 16)) if match[2] else "", word)


def line_text(head: str, fields: Mapping[str, str | bool]) -> str:
    """Return a line; fields that are empty or False are left out, and True ones have no value."""
    parts = [name if value is True else f"{name} {value}" for name, value in fields.items() if value]
    return f"{head}: {'; '.join(parts)}" if parts else head


class Line:
    """A line that is being read: what it says is taken from it, field by field.

    All methods raise LiftError for what is not as it should be, with the number of the line.
    """

    def __init__(self, number: int, text: str, where: str, divider: str = ": ") -> None:
        self.number = number
        self.text = text.strip()
        self._where = where
        head, _, rest = self.text.partition(divider)
        self.head = head.split()
        self._fields: dict[str, str] = {}
        for part in rest.split("; ") if rest else ():
            name, _, value = part.partition(" ")
            if name in self._fields:
                self.refuse(f"{name} stands there twice")
            self._fields[name] = value

    def refuse(self, why: str) -> NoReturn:
        """Raise LiftError with the number and the beginning of the line."""
        raise LiftError(f"{self._where}:{self.number}: {self.text[:60]}: {why}")

    def word(self, index: int) -> str:
        """Return a word of the head."""
        if index >= len(self.head):
            self.refuse("something is missing at its beginning")
        return self.head[index]

    def has(self, name: str) -> bool:
        """Take a field without a value; return whether it was there."""
        return self.value(name) is not None

    def is_there(self, name: str) -> bool:
        """Return whether a field has not been taken yet."""
        return name in self._fields

    def value(self, name: str) -> str | None:
        """Take a field, if it is there."""
        return self._fields.pop(name) if name in self._fields else None

    def words(self, name: str) -> list[str]:
        """Take a field of words; none if it is left out."""
        return (self.value(name) or "").split()

    def registers(self, name: str) -> int:
        """Take a field that is a set of registers; none if it is left out."""
        text = self.value(name) or "-"
        rest = text.removeprefix(_ALL_BUT)
        bits = 0
        for word in rest.split() if rest != "-" else ():
            first, _, last = word.partition("-")
            for name in (first, last or first):
                if name not in _BITS:
                    self.refuse(f"there is no register {name}")
            bits |= 2 * _BITS[last or first] - _BITS[first]
        return bits if rest == text else ALL_BITS & ~bits

    def numbers(self, text: str) -> tuple[int, ...]:
        """Return the numbers of general-purpose registers."""
        found: list[int] = []
        for word in text.split():
            first, _, last = word.partition("-")
            found += range(self.register(first), self.register(last or first) + 1)
        return tuple(found)

    def register(self, name: str) -> int:
        """Return the number of a general-purpose register."""
        if name not in _NUMBERS:
            self.refuse(f"there is no general-purpose register {name}")
        return _NUMBERS[name]

    def pc(self, text: str) -> int:
        """Return a guest pc; a `limit` may be the end of the address space."""
        if not _PC.match(text):
            self.refuse(f"{text or 'nothing'} is no pc of eight hexadecimal digits")
        return int(text, 16)

    def pcs(self, name: str) -> list[int]:
        """Take a field of guest pcs."""
        return [self.pc(word) for word in self.words(name)]

    def one_pc(self, name: str) -> int | None:
        """Take a field that is a guest pc; None if it is left out."""
        value = self.value(name)
        return self.pc(value) if value is not None else None

    def integer(self, text: str) -> int:
        """Return a decimal number."""
        if not re.fullmatch(r"-?[0-9]{1,10}", text):
            self.refuse(f"{text or 'nothing'} is no number")
        return int(text)

    def integers(self, name: str) -> list[int]:
        """Take a field of decimal numbers."""
        return [self.integer(word) for word in self.words(name)]

    def name(self, word: str) -> str:
        """Return the guest's name that a word stands for."""
        try:
            return unquoted(word)
        except (ValueError, OverflowError):
            self.refuse(f"{word} is no name")


class Lines:
    """Lines that are taken one by one, from the first on; `before` is the line before them."""

    def __init__(self, lines: list[Line], before: Line) -> None:
        self._lines = lines[::-1]
        self._last = before

    def next_is(self, *kinds: str) -> bool:
        """Return whether the next line begins with one of some words; if none is given, whether there is one."""
        return bool(self._lines) and (not kinds or self._lines[-1].word(0) in kinds)

    def take(self, kind: str = "") -> Line:
        """Return the next line; raises LiftError where there is none, or it begins otherwise."""
        if not self._lines:
            self._last.refuse(f"behind it a line is missing{f' that begins with {kind}' if kind else ''}")
        self._last = self._lines.pop()
        if kind and self._last.word(0) != kind:
            self._last.refuse(f"here should be a line that begins with {kind}")
        return self._last
