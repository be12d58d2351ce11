"""The table of places: where recompiled code has the guest's registers that are not in the state, for the host.

Enters: the scopes of an object (dwarf.py). Leaves: the sections of a unit; runtime/lifted/places_table.c reads them.
docs/design/file-formats.md has each byte. The linker joins the units of all objects and compresses the sections, each
for itself: so a section has bytes of one kind only.

A register is somewhere from one address to another. Here are the addresses of a scope where that changes for any of
them, each with its changes. Three regularities make these short. Between functions each register has a host register of
its own, and is there most of the time: its *home*. After a call many are there at once. And a call ends all places that
are in host registers.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .dwarf import Place, Scope, sleb128, uleb128
from .object_file import SECTION_SHIFT, NewSection, Relocation, UnexpectedObject

UNITS, STEPS, CHANGES, HOMES, EXPRESSIONS = (
    ".debug_places", ".debug_places_steps", ".debug_places_changes", ".debug_places_homes",
    ".debug_places_expressions",
)  # fmt: skip
SECTIONS = (UNITS, STEPS, CHANGES, HOMES, EXPRESSIONS)

MOST_REGISTERS = 16
"""Of a unit: so many fit into a change and into the word of homes."""
IN_REGISTER = 32
"""The numbers of expressions below it are DW_OP_reg0 and so on."""
NOWHERE, HOME, AGAIN, ELSEWHERE = range(4)
"""What a change does: where the register is then. AGAIN: at the place before the last one."""
LAST = 0x40
"""Added to the last change at an address."""
MANY, ALL_END, COME_HOME, MORE = 0x80, 1, 2, 4
"""A change of many registers: those in host registers end; some are at home; changes of single ones follow."""
_FEW = 2
"""So many registers are changed one by one."""

_REG0, _BREG0 = 0x50, 0x70
_FBREG, _IMPLICIT_VALUE, _LIT0, _CONST_FIRST, _CONST_LAST = 0x91, 0x9E, 0x30, 0x08, 0x11


def _stays(expression: bytes, frame_base: bytes) -> bool:
    """Return whether what an expression says may outlive a call: a constant, or a place in the function's frame."""
    first = expression[0]
    in_frame = len(frame_base) == 1 and first == frame_base[0] - _REG0 + _BREG0
    constant = _CONST_FIRST <= first <= _CONST_LAST or _LIT0 <= first < _REG0 or first == _IMPLICIT_VALUE
    return in_frame or constant or first == _FBREG


Changes = list[tuple[int, int, bytes]]
"""In order: an address, the position of a register, and the expression from there on; an empty one: nowhere."""


@dataclass(frozen=True)
class _Timeline:
    """A scope, as far as its code is in one section: its ranges there, and what changes in them."""

    scope: Scope
    ranges: Sequence[tuple[int, int]]
    changes: Changes

    @classmethod
    def of(cls, scope: Scope, ranges: Sequence[tuple[int, int]], positions: Mapping[int, int]) -> _Timeline:
        low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
        changes: Changes = []
        for number, places in scope.places.items():
            _add_changes(changes, places, positions[number], low, high)
        changes.sort()
        return cls(scope, ranges, changes)

    @property
    def low(self) -> int:
        return min(low for low, _ in self.ranges)


def _add_changes(changes: Changes, places: Sequence[Place], position: int, low: int, high: int) -> None:
    """Add the changes of a register between two addresses; of places that overlap the later one counts."""
    at, now = low, b""
    add = changes.append
    following = iter(places)
    next(following)
    for start, end, expression in places:
        after = next(following, None)
        if after is not None and after[0] < end:
            end = after[0]
        if start < low:
            start = low
        if end > high:
            end = high
        if start >= end:
            continue
        if now and start > at:
            add((at, position, b""))
            now = b""
        if expression != now:
            add((start, position, expression))
            now = expression
        at = end
    if now and at < high:
        add((at, position, b""))


@dataclass
class _Numbers:
    """Numbers of a unit's expressions: the registers, then those of the table; of these the first `staying` stay."""

    table: list[bytes]
    staying: int
    numbers: dict[bytes, int] = field(default_factory=dict)

    @classmethod
    def of(cls, uses: Counter[bytes], bases: Iterable[bytes]) -> _Numbers:
        known = set(bases)
        for base in known - {b""}:
            uses[base] += 1
        listed = [expression for expression in uses if not _is_register(expression)]
        staying = {one for one in listed if any(_stays(one, base) for base in known)}
        listed.sort(key=lambda one: (one not in staying, -uses[one], one))
        numbers = {bytes((_REG0 + number,)): number for number in range(IN_REGISTER)}
        numbers |= {expression: number for number, expression in enumerate(listed, IN_REGISTER)}
        return cls(listed, len(staying), numbers)


def _is_register(expression: bytes) -> bool:
    return len(expression) == 1 and _REG0 <= expression[0] < _BREG0


class _UnitWriter:
    """Writes the unit of a section of code."""

    def __init__(self, start: int, code: Sequence[tuple[Scope, Sequence[tuple[int, int]]]]) -> None:
        self._start = start
        self._registers = sorted({number for scope, _ in code for number in scope.places})
        if len(self._registers) > MOST_REGISTERS:
            raise UnexpectedObject(f"the object's debug information has more than {MOST_REGISTERS} registers")
        positions = {number: position for position, number in enumerate(self._registers)}
        self._timelines = [_Timeline.of(scope, ranges, positions) for scope, ranges in code]
        by_register: list[Counter[bytes]] = [Counter() for _ in self._registers]
        for timeline in self._timelines:
            for _, position, expression in timeline.changes:
                if expression:
                    by_register[position][expression] += 1
        uses = sum(by_register, Counter[bytes]())
        self._numbers = _Numbers.of(uses, (scope.frame_base for scope, _ in code))
        self._homes = [self._numbers.numbers[max(sorted(found), key=found.__getitem__)] if found else 0
                       for found in by_register]  # fmt: skip
        self.steps, self.changes, self.homes, self.expressions = bytearray(), bytearray(), bytearray(), bytearray()

    def unit(self) -> bytes:
        """Return what stands in UNITS behind the address; write the other sections."""
        numbers = self._numbers
        scopes = bytearray()
        last_low, last_link = self._start, 0
        for timeline in self._timelines:
            scope = timeline.scope
            scopes += uleb128(numbers.numbers[scope.frame_base] + 1 if scope.frame_base else 0)
            far = scope.link - last_link
            scopes += sleb128(0 if not scope.link else far + 1 if far >= 0 else far)
            last_link = scope.link or last_link
            scopes += uleb128(len(timeline.ranges))
            for low, high in timeline.ranges:
                scopes += sleb128(low - last_low) + uleb128(high - low)
                last_low = low
            self._write(timeline)
        head = bytearray(uleb128(len(self._registers)))
        for register, home in zip(self._registers, self._homes, strict=True):
            head += bytes((register,)) + uleb128(home)
        head += uleb128(len(numbers.table)) + uleb128(numbers.staying)
        for expression in numbers.table:
            head += bytes((len(expression),)) + expression
        sizes = b"".join(uleb128(len(part)) for part in (self.steps, self.changes, self.homes, self.expressions))
        return bytes(sizes + head + uleb128(len(self._timelines)) + scopes)

    def _write(self, timeline: _Timeline) -> None:
        """Write the steps of a scope, and what changes there."""
        numbers, homes = self._numbers.numbers, self._homes
        staying = range(IN_REGISTER, IN_REGISTER + self._numbers.staying)
        now: list[int] = [-1] * len(self._registers)  # numbers of expressions; -1: nowhere
        before = list(now)
        passing = at_home = 0  # bits of registers in host registers, and of those at home
        steps = bytearray()
        count, at = 0, timeline.low
        for address, changed in _by_address(timeline.changes):
            count += 1
            steps += uleb128(address - at)
            at = address
            all_changed = coming = 0
            wanted: list[tuple[int, int]] = []
            for _, position, expression in changed:
                number = numbers[expression] if expression else -1
                all_changed |= 1 << position
                if number == homes[position]:
                    coming |= 1 << position
                wanted.append((position, number))
            many = 0
            if passing.bit_count() > _FEW and not passing & ~all_changed:
                many |= ALL_END
                for position in range(len(now)):
                    if passing >> position & 1:
                        before[position], now[position] = now[position], -1
            if coming.bit_count() > _FEW:
                many |= COME_HOME
                self.homes += struct.pack("<H", at_home & ~all_changed | coming)
            single: list[tuple[int, int]] = []
            for position, number in wanted:
                bit = 1 << position
                done = many & COME_HOME and coming & bit
                if not done and not (many & ALL_END and passing & bit and number < 0):
                    single.append((position, number))
            self._write_changes(many, single, before)
            for position, number in wanted:
                bit = 1 << position
                if now[position] >= 0:
                    before[position] = now[position]
                now[position] = number
                passing = passing | bit if number >= 0 and number not in staying else passing & ~bit
                at_home = at_home | bit if coming & bit else at_home & ~bit
        self.steps += uleb128(count) + steps

    def _write_changes(self, many: int, single: Sequence[tuple[int, int]], before: Sequence[int]) -> None:
        if many:
            self.changes.append(MANY | many | (MORE if single else 0))
        for position, number in single:
            kind = ELSEWHERE
            if number < 0:
                kind = NOWHERE
            elif number == self._homes[position]:
                kind = HOME
            elif number == before[position]:
                kind = AGAIN
            else:
                self.expressions += uleb128(number)
            self.changes.append(position << 2 | kind)
        if single:
            self.changes[-1] |= LAST


def _by_address(changes: Sequence[tuple[int, int, bytes]]) -> Iterator[tuple[int, Sequence[tuple[int, int, bytes]]]]:
    """Yield the changes at each address."""
    first = 0
    for at in range(1, len(changes) + 1):
        if at == len(changes) or changes[at][0] != changes[first][0]:
            yield changes[first][0], changes[first:at]
            first = at


def _by_section(scopes: Sequence[Scope]) -> dict[int, list[tuple[Scope, list[tuple[int, int]]]]]:
    """Return the scopes with code in each section, and their ranges there."""
    found: dict[int, list[tuple[Scope, list[tuple[int, int]]]]] = {}
    for scope in scopes:
        ranges: dict[int, list[tuple[int, int]]] = {}
        for low, high in scope.ranges:
            if (high - 1) >> SECTION_SHIFT != low >> SECTION_SHIFT:
                raise UnexpectedObject("the object's debug information has code that goes on in another section")
            ranges.setdefault(low >> SECTION_SHIFT, []).append((low, high))
        for section, pairs in ranges.items():
            found.setdefault(section, []).append((scope, pairs))
    return found


def place_sections(scopes: Sequence[Scope]) -> dict[str, NewSection]:
    """Return the sections of the table, by name."""
    contents = {name: bytearray() for name in SECTIONS}
    relocations = []
    for section, code in _by_section(scopes).items():
        writer = _UnitWriter(section << SECTION_SHIFT, code)
        unit = writer.unit()
        contents[UNITS] += struct.pack("<I", 8 + len(unit))
        relocations.append(Relocation(len(contents[UNITS]), 8, section << SECTION_SHIFT))
        contents[UNITS] += bytes(8) + unit
        for name, part in zip(SECTIONS[1:], (writer.steps, writer.changes, writer.homes, writer.expressions)):
            contents[name] += part
    found = {name: NewSection(bytes(part)) for name, part in contents.items()}
    return found | {UNITS: NewSection(bytes(contents[UNITS]), relocations)}
