"""Which registers a row reads and writes, found by running its meaning on a machine that only takes notes.

Leaves: `uses(row)`, and `read_mask`/`write_mask` of an instruction as sets of register bits (an int):
bits 0-31 the general-purpose registers, 32 HI:LO, 33-64 the 32-bit words (FR=0) or the registers (FR=1) of the
floating-point file, 65-72 the condition codes, 73 the record of the last instruction that computed with floats: FCSR's
causes depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

from .row import Instruction, Row, Use

HILO_BIT = 32
FPR_BIT = 33
FCC_BIT = 65
LAST_BIT = 73
ALL_BITS = (1 << 74) - 2


class FieldNames:
    """Stands for an instruction whose register fields are their own names."""

    rs, rt, rd, fr, ft, fs, fd, cc, fcc = "rs", "rt", "rd", "fr", "ft", "fs", "fd", "cc", "fcc"
    sa, msb, lsb, imm, uimm, index, code, word = 1, 2, 1, 1, 1, 1, 1, 0


class _Recorder:
    """A Machine whose values are nothing; it remembers register reads and writes."""

    def __init__(self) -> None:
        self.reads: list[Use] = []
        self.writes: list[Use] = []
        self.loads = self.stores = False

    def __getattr__(self, name: str) -> Any:
        self.loads |= name.startswith("load")
        self.stores |= name.startswith("store")
        return lambda *operands: 0

    def read_control(self, number: int) -> int:
        """FCSR shows the condition codes."""
        self.reads += [Use("fcc", n) for n in range(8)]
        return 0

    def write_control(self, number: int, value: int) -> None:
        """FCSR and FCCR replace the condition codes; the other registers leave them."""
        self.reads += [Use("fcc", n) for n in range(8)]
        self.writes += [*(Use("fcc", n) for n in range(8)), Use("last", 0)]

    def _compute(self, *operands: Any) -> int:
        self.writes.append(Use("last", 0))
        return 0

    float_op = float_multiply_add = float_compare = float_convert = float_round = _compute


def _reader(kind: str) -> Any:
    return lambda self, number=0: self.reads.append(Use(kind, number))


def _writer(kind: str) -> Any:
    if kind == "hilo":
        return lambda self, value: self.writes.append(Use(kind, 0))
    return lambda self, number, value: self.writes.append(Use(kind, number))


for _name, _kind in {
    "gpr": "gpr", "hilo": "hilo", "single": "single", "word": "single", "double": "double", "long": "double",
    "high": "high", "fcc": "fcc",
}.items():  # fmt: skip
    setattr(_Recorder, _name, _reader(_kind))
    setattr(_Recorder, "set_" + _name, _writer(_kind))


@cache
def uses(row: Row) -> tuple[tuple[Use, ...], tuple[Use, ...]]:
    """Return what the row reads and writes, link register included."""
    recorder, fields = _Recorder(), cast(Instruction, FieldNames())
    for run in (row.meaning, row.condition):
        if run is not None:
            run(recorder, fields)
    if row.link:
        recorder.writes.append(Use("gpr", 31 if row.link == "ra" else "rd"))
    return tuple(dict.fromkeys(recorder.reads)), tuple(dict.fromkeys(recorder.writes))


SIGN_CHANGES = ("abs", "neg")
"""Operations that compute, and that change FCSR's causes, without ABS2008 only (volume I-A, FCSR)."""


def changes_sign(row: Row) -> bool:
    """Return whether the row is abs.fmt or neg.fmt."""
    return row.name.partition(".")[0] in SIGN_CHANGES


_Found = TypeVar("_Found")


def once_per_row(find: Callable[[Row], _Found]) -> Callable[[Row], _Found]:
    """Keep what a function says of each row, by the row's name: that is quicker to look up than the row."""
    known: dict[str, _Found] = {}

    def of(row: Row) -> _Found:
        if row.name not in known:
            known[row.name] = find(row)
        return known[row.name]

    return of


def perform(row: Row, machine: object) -> None:
    """Let a machine that only notes what is asked of it perform a row, on the names of fields."""
    if row.meaning is not None:
        row.meaning(cast(Any, machine), cast(Instruction, FieldNames()))


@once_per_row
def _accesses_of(row: Row) -> tuple[bool, bool]:
    """Return whether the row loads, and whether it stores."""
    recorder = _Recorder()
    perform(row, recorder)
    return recorder.loads, recorder.stores


def reads_memory(row: Row) -> bool:
    """Return whether the row is a load."""
    return _accesses_of(row)[0]


def writes_memory(row: Row) -> bool:
    """Return whether the row is a store."""
    return _accesses_of(row)[1]


def register_bits(kind: str, number: int, fr: int) -> int:
    """Return the bits of one register; a double of FR=0 is two words."""
    if kind == "gpr":
        return 1 << number & ~1
    if kind == "hilo":
        return 1 << HILO_BIT
    if kind == "last":
        return 1 << LAST_BIT
    if kind == "fcc":
        return 1 << FCC_BIT + number
    if fr or kind == "single":
        return 1 << FPR_BIT + number
    return (2 if kind == "high" else 3) << FPR_BIT + (number & ~1)


def _number(use: Use, instruction: Instruction) -> int:
    return use.field if isinstance(use.field, int) else getattr(instruction, use.field)


def masks(instruction: Instruction, fr: int) -> tuple[int, int]:
    """Return (read bits, written bits) of an instruction under Status.FR = `fr`."""
    found = instruction.register_masks[fr]
    if found is None:
        reads, writes = uses(instruction.row)
        read = written = 0
        for use in reads:
            read |= register_bits(use.kind, _number(use, instruction), fr)
        for use in writes:
            written |= register_bits(use.kind, _number(use, instruction), fr)
        found = instruction.register_masks[fr] = read, written
    return found


_HARDWARE_REGISTERS = (0, 1, 2, 3, 29)


def is_reserved(instruction: Instruction, fr: int) -> bool:
    """Return whether the instruction is reserved: rdhwr of a register there is none of, FR=0 with an odd double."""
    if instruction.row.name == "rdhwr":
        return instruction.msb not in _HARDWARE_REGISTERS
    if fr:
        return False
    reads, writes = uses(instruction.row)
    return any(use.kind == "double" and _number(use, instruction) & 1 for use in (*reads, *writes))
