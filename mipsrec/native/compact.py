"""Makes the debug information of an object small: in place of DWARF's tree it gets a table that only the host reads.

Enters: an object as LLVM makes it. Leaves: the same code with the table of places (place_table.py), a line table of
the rows that matter (line_program.py), and of the tree what debuggers find lines and functions by. An object without
debug information stays as it is. One that has it in another form than LLVM gives it raises UnexpectedObject: without
the table the host would know less of registers at a fault, and nobody would notice.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from .dwarf import Unit, uleb128, units_of
from .line_program import line_table, sequences_of
from .object_file import SECTION_SHIFT, NewSection, ObjectFile, Relocation, UnexpectedObject
from .place_table import place_sections

_INFO, _ABBREVIATIONS, _LINES = ".debug_info", ".debug_abbrev", ".debug_line"
_LEFT_OUT = (".debug_loc", ".debug_ranges", ".debug_str", ".debug_aranges", ".debug_pubnames", ".debug_pubtypes")
_UNREAD = (".debug_loclists", ".debug_rnglists", ".debug_line_str", ".debug_str_offsets", ".debug_addr")
"""Of version 5 of DWARF."""

_UNIT, _SCATTERED_UNIT, _FUNCTION = 1, 2, 3
_OF_UNIT = bytes((0x25, 0x08, 0x13, 0x0B, 0x03, 0x08, 0x10, 0x17))
"""Attributes and forms: producer, string; language, data1; name, string; stmt_list, sec_offset."""
_ABBREVIATION_TABLE = bytes((
    _UNIT, 0x11, 1, *_OF_UNIT, 0x11, 0x01, 0x12, 0x06, 0, 0,  # DW_TAG_compile_unit: low_pc, addr; high_pc, data4
    _SCATTERED_UNIT, 0x11, 1, *_OF_UNIT, 0, 0,
    _FUNCTION, 0x2E, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x0F, 0, 0,  # DW_TAG_subprogram: name; low_pc; high_pc, udata
    0,
))  # fmt: skip
_C = 2
"""DW_LANG_C."""
_PRODUCER = b"mipsrec"


def compact(data: bytes) -> bytes:
    """Return an object with small tables."""
    try:
        return _compact(ObjectFile(data))
    except (struct.error, IndexError, KeyError, ValueError, OverflowError) as error:
        raise UnexpectedObject(f"the object or its debug information is damaged ({error})") from error


def _compact(object_: ObjectFile) -> bytes:
    unread = [name for name in _UNREAD if object_.has(name)]
    if unread:
        raise UnexpectedObject(f"the object has debug information of another version of DWARF ({unread[0]})")
    if not object_.has(_INFO):
        return object_.data
    units = units_of(object_)
    lines = object_.contents(_LINES)
    starts = object_.function_starts()
    tables, trees = _Growing(), _Growing()
    for unit in units:
        sequences = [*sequences_of(lines, unit.lines_at, starts)] if unit.lines_at is not None else []
        if sequences:
            table_at = object_.place(_LINES, len(tables.contents))
            trees.add(_tree(unit, table_at, object_.place(_ABBREVIATIONS, 0), alone=len(units) == 1))
            tables.add(line_table(sequences, unit.name))
    changed: dict[str, NewSection | None] = dict.fromkeys(_LEFT_OUT)
    changed |= {_LINES: tables.whole(), _INFO: trees.whole(), _ABBREVIATIONS: NewSection(_ABBREVIATION_TABLE)}
    changed |= place_sections([scope for unit in units for scope in unit.scopes])
    return object_.with_sections(changed)


class _Growing:
    """A section of several parts."""

    def __init__(self) -> None:
        self.contents, self._relocations = bytearray(), list[Relocation]()

    def add(self, part: NewSection) -> None:
        at = len(self.contents)
        self._relocations += [replace(one, offset=at + one.offset) for one in part.relocations]
        self.contents += part.contents

    def whole(self) -> NewSection:
        return NewSection(bytes(self.contents), self._relocations)


def _tree(unit: Unit, lines: int, abbreviations: int, alone: bool) -> NewSection:
    """Return a unit of .debug_info: whose lines these are, and where the functions are that are not inlined."""
    functions = [(scope.name, *pair) for scope in unit.scopes if not scope.inlined for pair in scope.ranges]
    sections = {low >> SECTION_SHIFT for _, low, _ in functions}
    tree, relocations = bytearray(), []

    def put(place: int, size_bytes: int) -> None:
        relocations.append(Relocation(4 + len(tree), size_bytes, place))
        tree.extend(bytes(size_bytes))

    tree += struct.pack("<H", 4)
    put(abbreviations, 4)
    together = alone and len(sections) == 1
    tree += bytes((8, _UNIT if together else _SCATTERED_UNIT)) + _PRODUCER + bytes((0, _C)) + unit.name + b"\0"
    put(lines, 4)
    if together:
        low = min(low for _, low, _ in functions)
        put(low, 8)
        tree += struct.pack("<I", max(high for _, _, high in functions) - low)
    for name, low, high in functions:
        tree += bytes((_FUNCTION,)) + name + b"\0"
        put(low, 8)
        tree += uleb128(high - low)
    tree.append(0)
    return NewSection(struct.pack("<I", len(tree)) + tree, relocations)
