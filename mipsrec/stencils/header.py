"""The text of two headers for runtime/baseline: names of numbers, and tables of rows and stencils."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..architecture import DSP, DSP2
from ..emit.calls import MIDDLE
from ..isa import BUCKETS, RANGES, ROWS, Flow, Row
from ..isa.effects import effects, is_sign_change
from ..isa.row import Use
from ..state import OFFSETS
from .catalogue import OWN, SPILLED
from .convention import CALLS, FLOAT_PINS, MEMORY, PINS, TEMP, UPPER, ZERO, slot_offset
from .expressions import bits, c_text
from .functions import EXITS
from .maker import Group, Stencil, Stencils
from .samples import SHIFTS

_NO_STENCIL = 0xFFFF
_NONE = 0xFF
_KINDS = ("gpr", "single", "double", "high")
_FLOWS = {
    Flow.NEXT: "MR_NEXT", Flow.BRANCH: "MR_BRANCH", Flow.BRANCH_LIKELY: "MR_LIKELY", Flow.JUMP: "MR_JUMP",
    Flow.JUMP_REGISTER: "MR_JUMP_REGISTER", Flow.SYSCALL: "MR_LEAVE", Flow.STOP: "MR_LEAVE",
}  # fmt: skip


class _Pool:
    """Numbers things, equal ones alike."""

    def __init__(self) -> None:
        self.numbers: dict[object, int] = {}

    def number(self, thing: object) -> int:
        return self.numbers.setdefault(thing, len(self.numbers))


def _buckets() -> tuple[list[int], list[int]]:
    """Return where the rows of each key (bits 31-26, bits 5-0) begin in a list of row numbers, and the list.

    A row number is counted from 1 on; 0 ends the rows of a key.
    """
    starts, numbers = [], [0]
    number_of = {id(row): number for number, row in enumerate(ROWS, 1)}
    for key in range(1 << 12):
        found = [number_of[id(row)] for row in BUCKETS.get(key, ())]
        starts.append(len(numbers) if found else 0)
        numbers += [*found, 0] if found else []
    return starts, numbers


def _array(declaration: str, values: Iterable[object], per_line: int = 16) -> list[str]:
    items = [str(value) for value in values] or ["0"]
    lines = [", ".join(items[start : start + per_line]) + "," for start in range(0, len(items), per_line)]
    return [f"static const {declaration} = {{", *("    " + line for line in lines), "};"]


class _Tables:
    """Collects what the arrays get."""

    def __init__(self) -> None:
        self.code = bytearray()
        self._places: dict[bytes, int] = {}
        self.stencils: dict[Stencil, int] = {}
        self.stencil_rows: list[str] = []
        self.holes: list[str] = []
        self._hole_places: dict[tuple[object, ...], int] = {}
        self.values = _Pool()
        for name in EXITS[1:]:
            self.values.number(name)
        self.classes = _Pool()
        self.combinations: list[int] = []

    def stencil(self, stencil: Stencil | None) -> int:
        if stencil is None:
            return _NO_STENCIL
        if stencil not in self.stencils:
            if stencil.code not in self._places:
                self._places[stencil.code] = len(self.code)
                self.code += stencil.code
            holes = tuple((hole.offset, hole.size_bytes, self.values.number(hole.value)) for hole in stencil.holes)
            assert len(self.values.numbers) <= 256 and len(stencil.code) < 1 << 16, "numbers of struct mr_hole"
            if holes not in self._hole_places:
                self._hole_places[holes] = len(self.holes)
                self.holes += [f"{{{offset}, {size}, {value}}}" for offset, size, value in holes]
            row = f"{{{self._places[stencil.code]}, {len(stencil.code)}, {len(holes)}, {self._hole_places[holes]}}}"
            self.stencils[stencil] = len(self.stencil_rows)
            self.stencil_rows.append(row)
        return self.stencils[stencil]

    def entry(self, group: Group) -> str:
        """Return the initializer of an entry: where its stencils begin, how many a set has, and its operands."""
        entry, first = group.entry, len(self.combinations)
        self.combinations += [self.stencil(stencil) for stencil in group.stencils]
        choices = []
        for choice in entry.choices:
            field = str(choice.use.field)
            numbers = (SHIFTS[field], _KINDS.index(choice.use.kind), int(choice.reads), int(choice.writes),
                       self.classes.number(choice.classes), len(choice.classes))  # fmt: skip
            choices.append("{" + ", ".join(map(str, numbers)) + "}")
        per_set = len(group.stencils) // 4 if entry.accesses else 0
        return f"{{{first}, {per_set}, {len(choices)}, {{{', '.join(choices) or '{0}'}}}}}"


def _operand_record(reads: Sequence[Use]) -> list[str]:
    """Return the kinds and places of the operands that FCSR's causes depend on."""
    found = [use for use in reads if use.kind in ("single", "double")]
    return [f"{{{_KINDS.index(use.kind)}, {SHIFTS[str(use.field)]}}}" for use in found]


def _flags(row: Row, computes: bool, leaves: bool) -> str:
    reads, writes = effects(row).reads, effects(row).writes
    named = (
        ("MR_COMPUTES", computes),
        ("MR_CHANGES_SIGN", is_sign_change(row)),
        ("MR_SPILLED", row.name in SPILLED),
        ("MR_ACCESSES", effects(row).loads or effects(row).stores),
        ("MR_MAY_LEAVE", leaves),
        ("MR_READS_FCC", any(use.kind == "fcc" for use in reads)),
        ("MR_WRITES_FCC", any(use.kind == "fcc" for use in writes)),
        ("MR_STORES", effects(row).stores),
        ("MR_READS_DSP", any(use.kind == "dsp" for use in reads)),
        ("MR_WRITES_DSP", any(use.kind == "dsp" for use in writes)),
        ("MR_OF_DSP", row.module is DSP),
        ("MR_OF_DSP2", row.module is DSP2),
    )
    return " | ".join(name for name, is_set in named if is_set) or "0"


def _row_text(row: Row, entries: tuple[int, int], tables: _Tables, fixed: dict[str, int], leaves: bool) -> str:
    """Return the initializer of a row; of fields that are `fixed`, other values make another instruction."""
    reads, writes = effects(row).reads, effects(row).writes
    mask, value = row.mask, row.value
    for field, number in fixed.items():
        mask, value = mask | 31 << SHIFTS[field], value | number << SHIFTS[field]
    spare = _NONE
    if row.name in RANGES:
        spare = tables.values.number(c_text(RANGES[row.name](bits(0, 11, 5), bits(0, 6, 5))))
    computes = Use("last", 0) in writes and not any(use.kind == "fcc" and isinstance(use.field, int) for use in writes)
    operands = _operand_record(reads) if computes else []
    link = {"": "0", "ra": "31", "rd": "32"}[row.link]
    return (
        f"{{0x{mask:08x}u, 0x{value:08x}u, {_flags(row, computes, leaves)}, {_FLOWS[row.flow]}, {link}, {spare}, "
        f"{entries[0]}, {entries[1]}, {len(operands)}, {{{', '.join(operands) or '{0}'}}}}}, /* {row.name} */"
    )


def _switch(values: Iterable[object]) -> list[str]:
    lines = ["static inline uint32_t mr_hole_value(unsigned value, uint32_t word, uint32_t pc, uint32_t fr)", "{",
             "    (void)word, (void)pc, (void)fr;", "    switch (value) {"]  # fmt: skip
    for number, text in enumerate(values):
        if text not in EXITS:
            lines.append(f"    case {number}: return {text};")
    return [*lines, "    default: return 0;", "    }", "}"]


def numbers_header() -> str:
    own = ", ".join(f"MR_OWN_{entry.name.upper()}" for entry in OWN)
    exits = ", ".join(f"MR_EXIT_{name.upper()}" for name in EXITS[1:])
    lines = [
        "/* Generated from mipsrec/stencils. */",
        "#ifndef MR_STENCIL_NUMBERS_H",
        "#define MR_STENCIL_NUMBERS_H",
        f"#define MR_CLASS_MEMORY {MEMORY}u /* convention.py says what classes are; lower ones are pinned registers */",
        f"#define MR_CLASS_UPPER {UPPER}u",
        f"#define MR_CLASS_ZERO {ZERO}u",
        f"#define MR_CLASS_TEMP {TEMP}u",
        f"#define MR_CLASSES {TEMP + 1}u",
        f"#define MR_PIN_COUNT {len(PINS)}u",
        f"#define MR_PINS {{{', '.join(map(str, PINS))}}}",
        f"#define MR_PIN_REGISTERS {{{', '.join(CALLS.context_places)}}} /* of <ucontext.h> */",
        f"#define MR_FLOAT_PIN_COUNT {len(FLOAT_PINS)}u",
        f"#define MR_FLOAT_PINS {{{', '.join(map(str, FLOAT_PINS))}}}",
        f"#define MR_PC_OFFSET {OFFSETS['pc'] - MIDDLE} /* from the pointer that translated code has */",
        f"#define MR_MIDDLE {MIDDLE} /* that pointer, from the state's first byte */",
        f"#define MR_NO_STENCIL {_NO_STENCIL}u",
        f"enum {{ {exits}, MR_EXIT_COUNT }}; /* the first values of holes: functions.EXITS */",
        f"enum {{ {own} }}; /* entries that are no row's: catalogue.OWN */",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def tables_header(stencils: Stencils) -> str:
    tables = _Tables()
    known: dict[int, dict[str, int]] = {}
    fixed: dict[int, dict[str, int]] = {}
    leaving: set[int] = set()
    entries: list[str] = []
    for group in stencils.groups:
        row = group.entry.row
        if row is not None:
            known.setdefault(id(row), {})[group.entry.shape] = len(entries)
            fixed[id(row)] = group.entry.fixed
            if any(hole.value == "leave" for stencil in group.stencils if stencil for hole in stencil.holes):
                leaving.add(id(row))
        entries.append(tables.entry(group))
    rows = []
    for row in ROWS:
        shapes = known.get(id(row), {})
        main = shapes.get("plain", shapes.get("jump", shapes.get("not_taken", _NO_STENCIL)))
        taken = shapes.get("taken", _NO_STENCIL)
        rows.append(_row_text(row, (main, taken), tables, fixed.get(id(row), {}), id(row) in leaving))
    starts, numbers = _buckets()
    lines = [
        "/* Generated from mipsrec/stencils. */",
        *_offset_functions(),
        *_array("uint8_t mr_stencil_code[]", tables.code, 32),
        *_array("uint8_t mr_enter_code[]", stencils.enter, 32),
        *_array("uint8_t mr_leave_code[]", stencils.leave_all, 32),
        *_array("struct mr_stencil mr_stencils[]", tables.stencil_rows, 6),
        *_array("struct mr_hole mr_holes[]", tables.holes, 10),
        *_array("uint16_t mr_combinations[]", tables.combinations),
        *_array("struct mr_entry_point mr_entries[]", entries, 1),
        *_class_tables(tables.classes.numbers),
        *_switch(tables.values.numbers),
        *_rows(rows),
        *_array("uint16_t mr_bucket_starts[]", starts),
        *_array("uint16_t mr_bucket_rows[]", numbers),
    ]
    return "\n".join(lines) + "\n"


def _rows(rows: list[str]) -> list[str]:
    return ["static const struct mr_row mr_rows[] = {", *("    " + row for row in rows), "};"]


def _offset_functions() -> list[str]:
    """Return the functions of offsets, from the pointer that translated code has, by the FR rule of state.py."""
    lines, first = [], slot_offset("fpr", 0)
    for kind, offset in (
        ("double", "8 * n"),
        ("single", "(fr ? 8 * n : 8 * (n & ~1u) + 4 * (n & 1))"),
        ("high", "(fr ? 8 * n : 8 * (n & ~1u)) + 4"),
    ):
        lines += [f"static inline uint32_t mr_{kind}_offset(uint32_t n, uint32_t fr)", "{", "    (void)fr;",
                  f"    return {first}u + {offset};", "}"]  # fmt: skip
    return lines


def _class_tables(lists: dict[object, int]) -> list[str]:
    """Return the table of the ordinals of classes in each list of them."""
    rows = []
    for classes in lists:
        assert isinstance(classes, tuple)
        rows.append(
            "{" + ", ".join(str(classes.index(c)) if c in classes else str(_NONE) for c in range(TEMP + 1)) + "}"
        )
    return _array("uint8_t mr_class_ordinals[][MR_CLASSES]", rows, 1)
