"""Which stencils there are: for each row the classes that its operands may have, and the translator's own operations.

An operand whose class has no stencil is brought into one that has: through TEMP, or through the state. So rows that
programs execute often have stencils for many combinations of classes, and all others one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from ..architecture import DSP, DSP2
from ..isa import ROWS, Flow, Row
from ..isa.effects import effects
from ..isa.row import Use
from .convention import FLOAT_PINS, MEMORY, PINS, TEMP, UPPER, ZERO

_PINS = tuple(range(len(PINS)))
_FLOATS = tuple(range(len(FLOAT_PINS)))
_HALVES = (*_FLOATS, *(UPPER + pin for pin in _FLOATS))
_READ = (*_PINS, MEMORY, ZERO, TEMP)
"""From the state, or through TEMP where that holds the register already."""
_WRITE = (*_PINS, TEMP)
"""The translator stores TEMP, and knows that it still holds the register."""
_ANYWHERE = (*_PINS, MEMORY)
"""What is read and written is no other operand's TEMP."""
_BASE = (*_PINS, TEMP)
"""Of an access: the compiler would bring a base from the state to the register that gets what is loaded."""
_THROUGH_TEMP = (TEMP, ZERO)
_IN_STATE = (MEMORY,)

_THREE_ANYWHERE = frozenset("addu subu and or xor slt sltu".split())
"""Three registers, each of which may be anywhere."""
_THREE = frozenset("nor sllv srlv srav mul movz movn".split())
"""Three registers, one of which comes through TEMP: of shifts the amount, which the host may want there."""
_TWO = frozenset(
    "addiu andi ori xori slti sltiu lui sll srl sra ext ins seb seh clz mflo mfhi mult multu rotr rdhwr".split()
)
_MEMORY = frozenset("lb lbu lh lhu lw sb sh sw".split())
_UNALIGNED = frozenset("lwl lwr swl swr".split())
"""The base comes through TEMP."""
_FLOAT_THREE = frozenset(f"{name}.{fmt}" for name in ("add", "sub", "mul", "div") for fmt in "sd")
_FLOAT_FOUR = frozenset(f"{name}.{fmt}" for name in ("madd", "msub", "nmadd", "nmsub") for fmt in "sd")
"""Of the product one operand comes through TEMP, and the other through the state."""
_FLOAT_TWO = frozenset(
    "mov.s mov.d neg.s neg.d abs.s abs.d sqrt.s sqrt.d cvt.d.w cvt.s.w cvt.d.s cvt.s.d trunc.w.s trunc.w.d".split()
)
_FLOAT_MOVES = frozenset("lwc1 ldc1 swc1 sdc1 mfc1 mtc1 mfhc1 mthc1".split())


SPILLED = frozenset(("sc",))
"""Rows whose stencils store all pinned registers before they may fault: they need some of the host's registers."""

_OPAQUE = frozenset("ins lwl lwr swl swr ll sc".split())


@dataclass(frozen=True)
class Choice:
    """An operand of a row, and the classes that it may have in a stencil."""

    use: Use
    reads: bool
    writes: bool
    classes: tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    """A row, or an operation of the translator's own (`row` None), with its stencils.

    `shape` is `plain`, `taken` and `not_taken` (a branch that goes to its target under the condition, or under the
    opposite), `jump` (to an address in a register), or the name of an operation. `accesses`: there is one set of
    stencils for each byte order and place of the window. `fixed`: fields of which the value is known.
    """

    name: str
    row: Row | None
    shape: str
    choices: tuple[Choice, ...] = ()
    accesses: bool = False
    fixed: dict[str, int] = field(default_factory=dict)

    @property
    def is_opaque(self) -> bool:
        """Whether the compiler must not know constants, or load a part of a register: of a mask it would make another
        one, and take the lowest bits of an address apart. So it is with the DSP module's rows that compute."""
        if self.name in _OPAQUE:
            return True
        return self.row is not None and self.row.module in (DSP, DSP2) and effects(self.row).access is None

    def combinations(self) -> Iterator[tuple[int, ...]]:
        """Yield the classes of all operands for each stencil, the last one changing fastest."""
        return product(*(choice.classes for choice in self.choices))


def _operands(row: Row) -> list[tuple[Use, bool, bool]]:
    """Return the registers that the row's fields name, with whether it reads and writes them."""
    reads, writes = effects(row).reads, effects(row).writes
    found = dict.fromkeys(use for use in (*reads, *writes) if use.kind in ("gpr", "single", "double", "high"))
    return [(use, use in reads, use in writes and row.link == "") for use in found if isinstance(use.field, str)]


def _classes(row: Row, use: Use, reads: bool, writes: bool) -> tuple[int, ...]:
    if use.kind != "gpr":
        return _float_classes(row, use)
    if row.flow is not Flow.NEXT:
        return _READ
    into = _ANYWHERE if reads else _WRITE
    if row.name in _THREE_ANYWHERE:
        return into if writes else _READ
    if row.name in _THREE:
        through = "rs" if row.name in ("sllv", "srlv", "srav") else "rt"
        return into if writes else _THROUGH_TEMP if use.field == through else _READ
    if row.name in _UNALIGNED and use.field == "rs":
        return (TEMP,)
    if row.name in _MEMORY | _FLOAT_MOVES and use.field == "rs" and (effects(row).loads or effects(row).stores):
        return _BASE
    if row.name in _TWO | _MEMORY | _UNALIGNED | _FLOAT_MOVES:
        return into if writes else _READ
    return _IN_STATE


def _float_classes(row: Row, use: Use) -> tuple[int, ...]:
    if row.name in _FLOAT_MOVES:
        return (*(_HALVES if use.kind == "single" else _FLOATS), MEMORY)
    pinned = use.kind in ("single", "double")
    if pinned and row.name in _FLOAT_FOUR:
        return (TEMP,) if use.field == "ft" else _IN_STATE if use.field == "fs" else (*_FLOATS, MEMORY)
    if (pinned and row.name in _FLOAT_THREE) or row.name.startswith("c."):
        return (TEMP,) if use.field == "ft" else (*_FLOATS, MEMORY)
    return (*_FLOATS, MEMORY) if pinned and row.name in _FLOAT_TWO else _IN_STATE


def _entry(row: Row, shape: str, fixed: dict[str, int]) -> Entry:
    choices = tuple(Choice(*operand, _classes(row, *operand)) for operand in _operands(row))
    return Entry(row.name, row, shape, choices, effects(row).loads or effects(row).stores, fixed)


def _own(name: str, *choices: Choice) -> Entry:
    return Entry(name, None, name, choices)


def _choice(kind: str, field_: str, reads: bool, classes: tuple[int, ...]) -> Choice:
    return Choice(Use(kind, field_), reads, not reads, classes)


OWN: tuple[Entry, ...] = (
    _own("fetch", _choice("gpr", "rs", True, _ANYWHERE)),
    _own("keep", _choice("gpr", "rs", True, _IN_STATE)),
    _own("spill", _choice("gpr", "rs", True, _PINS)),
    _own("fill", _choice("gpr", "rs", False, _PINS)),
    _own("link", _choice("gpr", "rs", False, _ANYWHERE)),
    _own("fetch_float", _choice("double", "fs", True, (*_FLOATS, MEMORY))),
    _own("fetch_single", _choice("single", "fs", True, (*_FLOATS, MEMORY))),
    _own("spill_float", _choice("double", "fs", True, _FLOATS)),
    _own("fill_float", _choice("double", "fs", False, _FLOATS)),
    _own("poll"),
    _own("words_at", _choice("gpr", "rs", True, _ANYWHERE)),
    _own("jump16", _choice("gpr", "rs", True, _ANYWHERE)),
    _own("record_word"),
    *(_own(f"record_{number}", _choice("double", "fs", True, (*_FLOATS, MEMORY))) for number in range(3)),
    *(_own(f"record_single_{number}", _choice("single", "fs", True, _IN_STATE)) for number in range(3)),
)
"""Operations of the translator's own. fetch: a register becomes TEMP. keep: TEMP, which stays, is stored. spill and
fill: a pinned register goes to its place in the state, or comes from there. link: a register becomes pc + 8. poll: goes
to the target unless a signal waits. words_at: has the interpreter perform the instruction where a register is no
multiple of four. jump16: a jump to an address, which is likely one of MIPS16e code. record: what
FCSR's causes depend on, the word of an instruction and its operands.
"""


_SHAPES = {
    Flow.NEXT: ("plain",), Flow.BRANCH: ("taken", "not_taken"), Flow.BRANCH_LIKELY: ("not_taken",),
    Flow.JUMP_REGISTER: ("jump",),
}  # fmt: skip
_FIXED = {"rdhwr": {"msb": 29}}


def entries() -> list[Entry]:
    """Return all entries, the rows' in their order of decoding."""
    of_rows = [_entry(row, shape, _FIXED.get(row.name, {})) for row in ROWS for shape in _SHAPES.get(row.flow, ())]
    return [*OWN, *of_rows]
