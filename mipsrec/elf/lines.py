"""The DWARF line information of an ELF file: which source line each instruction is of, and where functions are.

Enters: the bytes of a file. Leaves: ranges of addresses with their lines, and functions. Addresses are link-time ones,
and even also where code is MIPS16e. Not done here: debug information in another file (.gnu_debuglink, dwz).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO
from typing import Any, NamedTuple

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.dwarf.lineprogram import LineProgram
from elftools.elf.elffile import ELFFile

from .tables import Malformed

_SCOPES = ("DW_TAG_namespace", "DW_TAG_module", "DW_TAG_class_type", "DW_TAG_structure_type")
_MOST_ORIGINS = 8


class LineRange(NamedTuple):
    """The instructions from `low` up to `high`, which is none of them, are of a line of a file."""

    low: int
    high: int
    path: str
    line: int


class SourceFunction(NamedTuple):
    """A function that the file has; `name` is the linkage name of one that has such, as C++'s."""

    name: str
    address: int
    path: str
    line: int


class SourceLines(NamedTuple):
    ranges: list[LineRange]
    functions: list[SourceFunction]


def read_lines(content: bytes) -> SourceLines:
    """Return the line information of an ELF file; raises Malformed where there is none that can be read."""
    try:
        file = ELFFile(BytesIO(content))
        if not file.has_dwarf_info():
            raise Malformed("it has no line information: build it with -g")
        dwarf = file.get_dwarf_info(relocate_dwarf_sections=False)
        found = SourceLines([], [])
        for unit in dwarf.iter_CUs():
            _add_unit(dwarf, unit, found)
    except Malformed:
        raise
    except Exception as error:  # elftools raises whatever comes to hand where a file is broken
        raise Malformed(f"its line information cannot be read ({str(error) or type(error).__name__})") from error
    if not found.ranges:
        raise Malformed("it has no line information: build it with -g")
    return found


def _add_unit(dwarf: DWARFInfo, unit: CompileUnit, found: SourceLines) -> None:
    program = dwarf.line_program_for_CU(unit)
    if program is None:
        return
    top = unit.get_top_DIE()
    paths = _paths(program, _text(top, "DW_AT_comp_dir"), _text(top, "DW_AT_name"))
    found.ranges.extend(_ranges(program, paths))
    for die in _functions(top):
        address = die.attributes["DW_AT_low_pc"].value & ~1
        name = _attribute(die, "DW_AT_linkage_name", "DW_AT_MIPS_linkage_name") or _attribute(die, "DW_AT_name")
        number, line = _attribute(die, "DW_AT_decl_file"), _attribute(die, "DW_AT_decl_line")
        if isinstance(name, bytes) and number in paths and isinstance(line, int):
            found.functions.append(SourceFunction(name.decode(errors="replace"), address, paths[number], line))


# ---- names of files ----


def _text(die: DIE, name: str) -> str:
    attribute = die.attributes.get(name)
    return os.fsdecode(attribute.value) if attribute is not None and isinstance(attribute.value, bytes) else ""


def _paths(program: LineProgram, folder: str, unit_name: str) -> dict[Any, str]:
    """Return the paths of source files by their numbers. From DWARF 5 on they count from 0, and the folders as well."""
    is_new = program.header["version"] >= 5
    folders = [os.fsdecode(name) for name in program.header["include_directory"]]
    folders = folders if is_new else [folder, *folders]
    paths = {} if is_new else {0: os.path.normpath(os.path.join(folder, unit_name))}
    for number, entry in enumerate(program.header["file_entry"], 0 if is_new else 1):
        inside = folders[entry.dir_index] if entry.dir_index < len(folders) else ""
        paths[number] = os.path.normpath(os.path.join(folder, inside, os.fsdecode(entry.name)))
    return paths


# ---- lines ----


def _ranges(program: LineProgram, paths: dict[Any, str]) -> Iterator[LineRange]:
    """Yield what the rows of the table say: each holds up to the next one."""
    before = None
    for entry in program.get_entries():
        row = entry.state
        if row is None:
            continue
        if before is not None and before.line and before.file in paths:
            low, high = before.address & ~1, row.address & ~1
            if low < high:
                yield LineRange(low, high, paths[before.file], before.line)
        before = None if row.end_sequence else row


# ---- functions ----


def _functions(top: DIE) -> Iterator[DIE]:
    """Yield the functions of a unit that have code of their own."""
    waiting = [top]
    while waiting:
        for die in waiting.pop().iter_children():
            if die.tag == "DW_TAG_subprogram" and "DW_AT_low_pc" in die.attributes:
                yield die
            elif die.tag in _SCOPES:
                waiting.append(die)


def _attribute(die: DIE, *names: str) -> object:
    """Return the first of these attributes, of the function or of what it is an instance of; None: it has none."""
    for _ in range(_MOST_ORIGINS):
        for name in names:
            if name in die.attributes:
                return die.attributes[name].value
        origin = next((name for name in ("DW_AT_abstract_origin", "DW_AT_specification") if name in die.attributes), "")
        if not origin:
            return None
        die = die.get_DIE_from_attribute(origin)
    return None
