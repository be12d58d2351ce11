"""Line tables, which say of which guest pc host code is: the pc is the number of a line (DWARF 4, section 6.2).

Enters: the line table of a unit, as LLVM makes it. Leaves: its sequences, and another table of them that is half as
long when it is compressed. It has the rows that differ from the one before, and of columns the one that the host looks
at (emit/writer.py).

Of code that is of no one instruction LLVM says that it has the line 0; it stands where a block begins. Half of all
rows are such, or lead back from there. Here such a row has the line of what follows in the same function, and is marked
as the beginning of a basic block, which costs a byte. Where nothing follows there is no such row.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..emit import writer
from .dwarf import read_sleb128, read_uleb128, sleb128, uleb128
from .object_file import NewSection, Relocation, UnexpectedObject

STORED = 1
"""The column of an access that has stored to the state all that is asked for. Others are 0, or one more than the number
of words that sp is below the entry of the function, if that is not 0. LLVM's columns are those of emit/writer.py."""

_VERSIONS = (2, 3, 4)
_LINE_BASE, _LINE_RANGE, _OPCODE_BASE = 0, 9, 13
_OPERANDS = bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1))
_FARTHEST = (255 - _OPCODE_BASE) // _LINE_RANGE
"""What const_add_pc adds."""
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _SET_COLUMN, _BASIC_BLOCK, _CONST_ADD_PC, _FIXED_ADVANCE_PC = (
    1, 2, 3, 4, 5, 7, 8, 9,
)  # fmt: skip
_END_SEQUENCE, _SET_ADDRESS = 1, 2


class Row(NamedTuple):
    """Code from an address on. If it is of no instruction, the line is `borrowed` from what follows."""

    address: int
    line: int
    column: int
    borrowed: bool = False


@dataclass(frozen=True)
class LineSequence:
    """Rows of code without gaps, which ends at `end`."""

    rows: Sequence[Row]
    end: int


# ---- reading ----


def sequences_of(table: bytes, at: int, starts: Sequence[int]) -> Iterator[LineSequence]:
    """Yield the sequences of the unit at an offset of .debug_line; `starts` are where functions begin, in order."""
    for rows, end in _run(table, at):
        yield LineSequence(_simplified(rows, end, starts), end)


class _Program(NamedTuple):
    """What the header of a unit says: where its program is, and how the opcodes are to be read."""

    at: int
    end: int
    line_base: int
    line_range: int
    opcode_base: int
    operands: bytes

    @classmethod
    def of(cls, table: bytes, at: int) -> _Program:
        size, version, header_bytes = struct.unpack_from("<IHI", table, at)
        end, program_at = at + 4 + size, at + 10 + header_bytes
        if version not in _VERSIONS or end > len(table):
            raise UnexpectedObject(f"the object's line table is not of a version up to {_VERSIONS[-1]}")
        at += 10
        minimum = table[at]
        at += 2 + (version >= 4)
        line_base, line_range, opcode_base = struct.unpack_from("<bBB", table, at)
        if minimum != 1 or not line_range or not opcode_base:
            raise UnexpectedObject("the object's line table is of an unexpected kind")
        return cls(program_at, end, line_base, line_range, opcode_base, table[at + 3 : at + 2 + opcode_base])


def _run(table: bytes, at: int) -> Iterator[tuple[list[Row], int]]:
    """Yield the rows of each sequence, with line 0 where LLVM has none, and its end."""
    at, end, line_base, line_range, opcode_base, operands = _Program.of(table, at)
    rows: list[Row] = []
    address, line, column = 0, 1, 0
    advances = [divmod(opcode - opcode_base, line_range) for opcode in range(opcode_base, 256)]
    while at < end:
        opcode = table[at]
        at += 1
        if opcode >= opcode_base:
            far, down = advances[opcode - opcode_base]
            address += far
            line += line_base + down
        elif opcode == 0:
            size, at = read_uleb128(table, at)
            if table[at] == _END_SEQUENCE:
                yield rows, address
                rows, address, line, column = [], 0, 1, 0
            elif table[at] == _SET_ADDRESS:
                (address,) = struct.unpack_from("<Q", table, at + 1)
            at += size
        elif opcode == _ADVANCE_LINE:
            far, at = read_sleb128(table, at)
            line += far
        elif opcode == _SET_COLUMN:
            column, at = read_uleb128(table, at)
        elif opcode == _CONST_ADD_PC:
            address += advances[-1][0]
        elif opcode == _ADVANCE_PC:
            far, at = read_uleb128(table, at)
            address += far
        elif opcode == _FIXED_ADVANCE_PC:
            address += struct.unpack_from("<H", table, at)[0]
            at += 2
        else:
            for _ in range(operands[opcode - 1]):
                _, at = read_uleb128(table, at)
        if opcode >= opcode_base or opcode == _COPY:
            _add_row(rows, Row(address, line, _column(column)))
    if rows:
        raise UnexpectedObject("the object's line table has a sequence without an end")


def _column(column: int) -> int:
    """Return the column for one of LLVM: 0 where the host does not look at it."""
    if column >= writer.DEPTH:
        words = column % writer.LINKS
        return words + 1 if words else 0
    return column if column == STORED else 0


def _add_row(rows: list[Row], row: Row) -> None:
    """Add a row; of an address the last one with a line holds, or else the first."""
    if not rows or rows[-1].address != row.address:
        rows.append(row)
    elif row.line:
        rows[-1] = row


def _simplified(rows: Sequence[Row], end: int, starts: Sequence[int]) -> list[Row]:
    """Return the rows that differ from the one before, where lines 0 are borrowed."""
    found: list[Row] = []
    last: Row | None = None
    waiting = None  # where code without a line begins
    for row in rows:
        if row.address >= end:
            break
        if row.line == 0:
            waiting = row.address if waiting is None else waiting
            continue
        if waiting is not None:
            begin = max(waiting, starts[at - 1]) if (at := bisect_right(starts, row.address)) else waiting
            goes_on = last is not None and not last.borrowed and last.line == row.line
            if begin < row.address and not goes_on:
                last = Row(begin, row.line, 0, True)
                found.append(last)
            waiting = None
        if last is None or row[1:] != last[1:]:
            found.append(row)
            last = row
    return found


# ---- writing ----


def line_table(sequences: Sequence[LineSequence], source: bytes) -> NewSection:
    """Return a unit of .debug_line with these sequences."""
    header = struct.pack("<BBBbBB", 1, 1, 1, _LINE_BASE, _LINE_RANGE, _OPCODE_BASE) + _OPERANDS
    header += b"\0" + source + b"\0\0\0\0\0"
    program = bytearray(struct.pack("<HI", 4, len(header)) + header)
    relocations = []
    for sequence in sequences:
        if not sequence.rows:
            continue
        start = sequence.rows[0].address
        program += bytes((0, 9, _SET_ADDRESS))
        relocations.append(Relocation(4 + len(program), 8, start))
        program += bytes(8)
        _write(program, sequence, start)
    return NewSection(struct.pack("<I", len(program)) + program, relocations)


def _write(program: bytearray, sequence: LineSequence, address: int) -> None:
    line, column = 1, 0
    append = program.append
    for row in sequence.rows:
        if row.column != column and not row.borrowed:
            column = row.column
            append(_SET_COLUMN)
            program += uleb128(column)
        if row.borrowed:
            append(_BASIC_BLOCK)
        far, down = row.address - address, row.line - line
        address, line = row.address, row.line
        if not _LINE_BASE <= down < _LINE_BASE + _LINE_RANGE:
            append(_ADVANCE_LINE)
            program += sleb128(down)
            down = 0
        opcode = down - _LINE_BASE + _LINE_RANGE * far + _OPCODE_BASE
        if opcode > 255:
            if opcode - _LINE_RANGE * _FARTHEST <= 255:
                append(_CONST_ADD_PC)
                opcode -= _LINE_RANGE * _FARTHEST
            else:
                append(_ADVANCE_PC)
                program += uleb128(far)
                opcode = down - _LINE_BASE + _OPCODE_BASE
        append(opcode)
    program += bytes((_ADVANCE_PC,)) + uleb128(sequence.end - address) + bytes((0, 1, _END_SEQUENCE))
