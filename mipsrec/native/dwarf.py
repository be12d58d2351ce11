"""Reads the debug information that LLVM gives an object: which code is of which function, and where it has variables.

Enters: the object. Leaves: its units; of each, where its line table is, and its scopes: functions, and functions that
LLVM has put in the place of their calls. Of variables those count that stand for registers of the guest
(emit/places.py). The rules are those of DWARF 4, section 7.5. What they do not allow raises UnexpectedObject.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..emit.writer import BEHIND_SLOT, DEPTH, LINKS
from ..lift.convention import CARRIED
from .object_file import ObjectFile, UnexpectedObject

ANYWHERE = 1 << 64
"""The end of the range of a variable that is in one place all the time."""

LONGEST_EXPRESSION = 255
"""Bytes. A longer one says of a register what nobody would evaluate."""

_UNIT_HEADER = struct.Struct("<IHIB")
_VERSION = 4
_PAIR = struct.Struct("<QQ")
_ENTRY = struct.Struct("<QQH")
_BASE_FOLLOWS = (1 << 64) - 1
_LENGTH_OF_64_BITS = 0xFFFFFFF0
_NUMBERS = {b"r%d" % number: number for number in (0, *CARRIED)}
"""Of the registers that variables stand for, by the names of these (emit/places.py)."""
_MOST_ORIGINS = 4

_FORMAL_PARAMETER, _LEXICAL_BLOCK, _COMPILE_UNIT, _INLINED, _SUBPROGRAM, _VARIABLE = 0x05, 0x0B, 0x11, 0x1D, 0x2E, 0x34
_LOCATION, _NAME, _STATEMENTS, _LOW_PC, _HIGH_PC, _CONSTANT, _ORIGIN = 0x02, 0x03, 0x10, 0x11, 0x12, 0x1C, 0x31
_FRAME_BASE, _RANGES, _CALL_COLUMN, _CALL_LINE = 0x40, 0x55, 0x57, 0x59
_ADDRESS, _SEC_OFFSET = 0x01, 0x17
_FIXED_FORMS = {0x01: "Q", 0x05: "H", 0x06: "I", 0x07: "Q", 0x0B: "B", 0x0C: "B", 0x0E: "I", 0x10: "I", 0x11: "B",
                0x12: "H", 0x13: "I", 0x14: "Q", 0x17: "I"}  # fmt: skip
_REFERENCES = (0x11, 0x12, 0x13, 0x14)
_STRP, _STRING, _SDATA, _UDATA, _EXPRLOC, _BLOCK, _BLOCK1, _FLAG_PRESENT = (
    0x0E, 0x08, 0x0D, 0x0F, 0x18, 0x09, 0x0A, 0x19,
)  # fmt: skip
_OP_CONSTU, _OP_STACK_VALUE = 0x10, 0x9F

Place = tuple[int, int, bytes]
"""From low to high a variable is where an expression says."""


@dataclass
class Scope:
    """Code of a function, inlined or not.

    `link` is the pc that the call returns to, in whose place the function is; 0 where it is not known. `places` are
    those of registers, by the guest's number, in order.
    """

    name: bytes
    inlined: bool
    ranges: list[tuple[int, int]]
    frame_base: bytes
    link: int
    places: dict[int, list[Place]] = field(default_factory=dict)


@dataclass
class Unit:
    """What LLVM says of one source: its name, and where its line table is."""

    name: bytes
    lines_at: int | None
    scopes: list[Scope] = field(default_factory=list)


def read_uleb128(data: bytes, at: int) -> tuple[int, int]:
    """Return a number, and what is behind it."""
    value = data[at]
    at += 1
    if value < 0x80:
        return value, at
    value &= 0x7F
    shift = 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def read_sleb128(data: bytes, at: int) -> tuple[int, int]:
    start = at
    value, at = read_uleb128(data, at)
    bits = 7 * (at - start)
    return value - (1 << bits) if value >> (bits - 1) else value, at


def uleb128(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def sleb128(value: int) -> bytes:
    bits = 7
    while not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        bits += 7
    found = [(value >> shift) & 0x7F | 0x80 for shift in range(0, bits, 7)]
    found[-1] &= 0x7F
    return bytes(found)


@dataclass(frozen=True)
class _Die:
    """An entry of the tree: attributes are (form, value), by number; `at` is its offset."""

    at: int
    depth: int
    tag: int
    attributes: dict[int, tuple[int, Any]]

    def value(self, attribute: int, form: int | None = None) -> Any:
        """Return the value of an attribute; None where there is none, or it has another form."""
        found = self.attributes.get(attribute)
        return found[1] if found is not None and form in (None, found[0]) else None


_Abbreviation = tuple[int, bool, Sequence[tuple[int, int]], struct.Struct | None]


class _Reader:
    """Reads the entries of an object's sections."""

    def __init__(self, object_: ObjectFile) -> None:
        self.info = object_.contents(".debug_info")
        self.abbreviations = object_.contents(".debug_abbrev")
        self.strings = object_.contents(".debug_str")
        self.lists = object_.contents(".debug_loc")
        self.ranges = object_.contents(".debug_ranges")
        self._known_lists: dict[tuple[int, int], list[Place]] = {}

    def units(self) -> Iterator[tuple[int, int, int, dict[int, _Abbreviation]]]:
        """Yield (offset, that of the first entry, end, abbreviations) of each unit."""
        at = 0
        while at < len(self.info):
            size, version, table, address_bytes = _UNIT_HEADER.unpack_from(self.info, at)
            end = at + 4 + size
            if size >= _LENGTH_OF_64_BITS or end > len(self.info) or version != _VERSION or address_bytes != 8:
                raise UnexpectedObject(f"the object's debug information is not of version {_VERSION} of DWARF")
            yield at, at + _UNIT_HEADER.size, end, self._abbreviations(table)
            at = end

    def _abbreviations(self, at: int) -> dict[int, _Abbreviation]:
        found: dict[int, _Abbreviation] = {}
        data = self.abbreviations
        while True:
            code, at = read_uleb128(data, at)
            if code == 0:
                return found
            tag, at = read_uleb128(data, at)
            has_children = data[at] != 0
            at += 1
            attributes = []
            while True:
                attribute, at = read_uleb128(data, at)
                form, at = read_uleb128(data, at)
                if attribute == 0 and form == 0:
                    break
                attributes.append((attribute, form))
            fixed = [_FIXED_FORMS.get(form) for _, form in attributes]
            all_fixed = struct.Struct("<" + "".join(map(str, fixed))) if None not in fixed else None
            found[code] = (tag, has_children, attributes, all_fixed)

    def entries(self, at: int, end: int, abbreviations: dict[int, _Abbreviation]) -> Iterator[_Die]:
        depth = 0
        while at < end:
            start = at
            code, at = read_uleb128(self.info, at)
            if code == 0:
                depth -= 1
                if depth <= 0:
                    return
                continue
            tag, has_children, attributes, all_fixed = abbreviations[code]
            if all_fixed is not None:
                values = all_fixed.unpack_from(self.info, at)
                at += all_fixed.size
                found = {name: (form, value) for (name, form), value in zip(attributes, values)}
            else:
                found = {}
                for name, form in attributes:
                    value, at = self._value(form, at)
                    found[name] = (form, value)
            yield _Die(start, depth, tag, found)
            depth += has_children

    def _value(self, form: int, at: int) -> tuple[Any, int]:
        info = self.info
        fixed = _FIXED_FORMS.get(form)
        if fixed is not None:
            return struct.unpack_from("<" + fixed, info, at)[0], at + struct.calcsize(fixed)
        if form in (_EXPRLOC, _BLOCK):
            size, at = read_uleb128(info, at)
            return info[at : at + size], at + size
        if form == _BLOCK1:
            return info[at + 1 : at + 1 + info[at]], at + 1 + info[at]
        if form == _SDATA:
            return read_sleb128(info, at)
        if form == _UDATA:
            return read_uleb128(info, at)
        if form == _FLAG_PRESENT:
            return 1, at
        if form == _STRING:
            end = info.index(b"\0", at)
            return info[at:end], end + 1
        raise UnexpectedObject(f"the object's debug information has the form {form:#x}")

    def text(self, die: _Die) -> bytes | None:
        """Return the name of an entry, without the NUL behind it."""
        form, value = die.attributes.get(_NAME, (0, None))
        if form == _STRP:
            return self.strings[value : self.strings.index(b"\0", value)]
        return value if form == _STRING else None

    def pairs(self, data: bytes, at: int, base: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of a list of .debug_ranges."""
        while True:
            low, high = _PAIR.unpack_from(data, at)
            at += _PAIR.size
            if low == 0 and high == 0:
                return
            if low == _BASE_FOLLOWS:
                base = high
            else:
                yield low + base, high + base

    def list_of(self, at: int, base: int) -> list[Place]:
        """Return a list of .debug_loc, by addresses, without what is never true."""
        key = at, base
        known = self._known_lists.get(key)
        if known is not None:
            return known
        found: list[Place] = []
        data, unpack, start = self.lists, _ENTRY.unpack_from, base
        while True:
            if data[at : at + 16] == bytes(16):
                break
            low, high, size = unpack(data, at)
            if low == _BASE_FOLLOWS:
                start = high
                at += _PAIR.size
                continue
            at += 18
            if low < high and 0 < size <= LONGEST_EXPRESSION:
                found.append((low + start, high + start, data[at : at + size]))
            at += size
        found.sort(key=_low)
        self._known_lists[key] = found
        return found


def _low(place: Place) -> int:
    return place[0]


class _UnitReader:
    """Makes a Unit of its entries."""

    def __init__(self, reader: _Reader, dies: list[_Die], unit_at: int) -> None:
        self._reader, self._dies, self._at = reader, dies, unit_at
        self._by_offset = {die.at: die for die in dies}
        top = dies[0] if dies else None
        if top is None or top.tag != _COMPILE_UNIT:
            raise UnexpectedObject("the object's debug information has a unit of an unexpected kind")
        self._base = top.value(_LOW_PC, _ADDRESS) or 0
        self.unit = Unit(reader.text(top) or b"", top.value(_STATEMENTS))
        self._numbers: dict[int, int] = {}

    def read(self) -> Unit:
        around: list[int | None] = []
        for die in self._dies:
            del around[die.depth :]
            outer = around[-1] if around else None
            if die.tag in (_FORMAL_PARAMETER, _VARIABLE):
                if outer is not None:
                    self._add_variable(die, self.unit.scopes[outer])
                around.append(None)
            elif die.tag in (_SUBPROGRAM, _INLINED):
                around.append(self._scope(die, outer if die.tag == _INLINED else None))
            else:
                around.append(outer if die.tag == _LEXICAL_BLOCK else None)
        return self.unit

    def _origin(self, die: _Die) -> _Die | None:
        """Return the entry that has what this one leaves out."""
        form, value = die.attributes.get(_ORIGIN, (0, None))
        return self._by_offset.get(value + self._at if form in _REFERENCES else value) if value is not None else None

    def _name(self, die: _Die) -> bytes:
        origin: _Die | None = die
        for _ in range(_MOST_ORIGINS):
            if origin is None:
                break
            text = self._reader.text(origin)
            if text is not None:
                return text
            origin = self._origin(origin)
        return b""

    def _scope(self, die: _Die, around: int | None) -> int | None:
        """Return the number of a new scope; None where it has no code."""
        low, high_form = die.value(_LOW_PC, _ADDRESS), die.attributes.get(_HIGH_PC, (0, 0))
        if die.value(_RANGES) is not None:
            ranges = [*self._reader.pairs(self._reader.ranges, die.value(_RANGES), self._base)]
        elif low is not None:
            ranges = [(low, high_form[1] if high_form[0] == _ADDRESS else low + high_form[1])]
        else:
            return None
        scopes = self.unit.scopes
        base = die.value(_FRAME_BASE, _EXPRLOC)
        if base is None or len(base) > LONGEST_EXPRESSION:
            base = scopes[around].frame_base if around is not None else b""
        column, line = die.value(_CALL_COLUMN), die.value(_CALL_LINE)
        link = _link_pc(line, column) if column and line is not None else 0
        ranges = [(low, high) for low, high in ranges if low < high]
        scopes.append(Scope(self._name(die), die.tag == _INLINED, ranges, base, link))
        return len(scopes) - 1

    def _number(self, die: _Die) -> int:
        """Return the number of the register that a variable stands for; -1 where it stands for none."""
        origin = die.value(_ORIGIN)
        key = die.at if origin is None else -1 - origin
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = _NUMBERS.get(self._name(die), -1)
        return known

    def _add_variable(self, die: _Die, scope: Scope) -> None:
        number = self._number(die)
        if number < 0 or number in scope.places:
            return
        form, value = die.attributes.get(_LOCATION, (0, None))
        places: list[Place] = []
        if isinstance(value, bytes):
            places = [(0, ANYWHERE, value)] if value else []
        elif form == _SEC_OFFSET:
            places = self._reader.list_of(value, self._base)
        elif value is not None:
            raise UnexpectedObject(f"the object's debug information has a location of the form {form:#x}")
        elif isinstance(constant := die.value(_CONSTANT), int):
            expression = bytes((_OP_CONSTU,)) + uleb128(constant & 0xFFFFFFFF) + bytes((_OP_STACK_VALUE,))
            places = [(0, ANYWHERE, expression)]
        if places:
            scope.places[number] = places


def _link_pc(line: int, column: int) -> int:
    """Return the pc that a call returns to, by its location; 0 where that is not known."""
    if column >= DEPTH:
        column = BEHIND_SLOT if column & LINKS else 0
    return (line + column) & 0xFFFFFFFF if column else 0


def units_of(object_: ObjectFile) -> list[Unit]:
    """Return the units of an object; raises UnexpectedObject, or IndexError and the like where it is damaged."""
    reader = _Reader(object_)
    return [
        _UnitReader(reader, list(reader.entries(at, end, abbreviations)), unit_at).read()
        for unit_at, at, end, abbreviations in reader.units()
    ]
