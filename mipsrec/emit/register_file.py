"""The registers of one function while its IR is written: values cached within a guest block, allocas between blocks.

Those that are memory-resident are in the state between blocks, not in allocas: most of a function where little time is
spent, and all of a large interpreter. LLVM then has few values that live for long, and keeps next to none on its stack:
the code is a quarter smaller, and made in less time. What a block leaves of them is stored at its end, so none is dirty
on the way into another.

i32 constants are Python ints; every other value is the name of an LLVM value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

from ..isa.effects import ALL_BITS
from ..lift.convention import CARRIED_BITS, CARRIED_FLOATS, SP_BIT
from ..lift.units import PAIR, Unit, Units
from .types import PASSED, TYPES
from .writer import STATE_TAG, Value, Writer, text

FLOAT_VARIABLES = frozenset(f"r{number}" for number in CARRIED_FLOATS)
"""Registers whose variables are floats: so they stay in the host's vector registers from call to call."""
_BY_BITS = attrgetter("bits", "name")
_Copy = tuple[dict[Any, Any] | set[Unit], ...]


def variable_type(unit: Unit) -> str:
    """Return the type of a unit's alloca."""
    return "float" if unit.name in FLOAT_VARIABLES else TYPES[unit.type]


def word_variable(unit: Unit) -> str:
    """Return the name of the alloca of a unit of FLOAT_VARIABLES where it is a word (passes/word_forms.py)."""
    return f"{unit.name}.word"


class RegisterFile:
    """Units of the function being written: block-local values over allocas, or, those whose bits are in
    `memory_resident`, over the state. `depths_known`: sp has a place of its own (places.py)."""

    def __init__(self, writer: Writer, units: Units, memory_resident: int = 0, depths_known: bool = False) -> None:
        self._writer = writer
        self._memory_resident = memory_resident
        self.units = units
        self.cache: dict[Unit, Value] = writer.of_block({})
        self.changed: set[Unit] = writer.of_block(set())
        self.views: dict[Unit, tuple[Value, Value]] = writer.of_block({})
        """Of pairs that have been set as doubles: the pair, and the double it was made of."""
        self.halves: dict[Unit, dict[int, Value]] = writer.of_block({})
        """Of pairs, the floats that have been set since: low (0) and high (1)."""
        self.passed: dict[Unit, tuple[Value | None, Value]] = writer.of_block({})
        """Of units whose variables are floats: the i32, if it is known, and the float that it is."""
        self._unplaced: set[Unit] = writer.of_block(set())
        """Units of CARRIED in SSA that have been set since `place`."""
        self._placed = CARRIED_BITS & ~memory_resident & ~(SP_BIT if depths_known else 0)
        self.split_in = 0
        """Bits of what comes into this block in another form than usual: pairs that are two floats, and units of
        FLOAT_VARIABLES that are words."""
        self.split_out = 0
        """Bits of those that leave it so."""
        self.before_leaving: Callable[[], None] = lambda: None
        """What is to be done before values go where other code looks: NanGuards.finish."""

    @property
    def changed_bits(self) -> int:
        """The bits of what this block has set so far."""
        bits = 0
        for unit in self.changed:
            bits |= unit.bits
        return bits

    def get(self, unit: Unit) -> Value:
        """Return a unit; the halves of a pair must have been made canonical."""
        if unit in self.halves:
            return self._joined(unit)
        value = self.cache.get(unit)  # most are there, and need no call
        return value if value is not None else self._whole(unit)

    def _whole(self, unit: Unit) -> Value:
        """Return a unit without what was set of its halves since."""
        value = self.cache.get(unit)
        if value is None and unit.type == PAIR and unit.bits & self.split_in:
            value = self.cache[unit] = self._pair([self._whole(half) for half in self.units.halves[unit]])
        elif value is None and unit.bits & self.split_in and unit.name in FLOAT_VARIABLES and unit not in self.passed:
            value = self.cache[unit] = self._writer.value(f"load i32, ptr %{word_variable(unit)}")
        elif value is None and unit.name in FLOAT_VARIABLES:
            value = self.cache[unit] = self._writer.value(f"bitcast float {self.as_passed([unit])[0]} to i32")
            self.passed[unit] = value, self.passed[unit][1]
        elif value is None and unit.bits & self._memory_resident:
            value = self.cache[unit] = self._from_state(unit)
        elif value is None:
            value = self.cache[unit] = self._writer.value(f"load {TYPES[unit.type]}, ptr %{unit.name}")
        return value

    def as_passed(self, units: Iterable[Unit]) -> list[Value]:
        """Return general-purpose registers in the types in which calls pass them."""
        cache, texts, wanted = self.cache, list[str](), list[Unit]()
        found: list[Value | None] = []
        for unit in units:
            value = cache.get(unit)
            if value is None and unit.bits & self.split_in and unit not in self.passed:
                value = self._whole(unit)
            if unit.name not in FLOAT_VARIABLES:
                found.append(value if value is not None else self.get(unit))
                continue
            known, passed = self.passed.get(unit, ("", None))
            found.append(passed if known == value else None)
            if found[-1] is None:
                wanted.append(unit)
                texts.append(self._as_float(unit, value))
        is_loaded = any("%l" in one for one in texts)  # by the guest: the writer says where its first user is
        values = list(map(self._writer.value, texts)) if is_loaded else self._writer.values(texts)
        made = dict(zip(wanted, values, strict=True))
        for unit, passed in made.items():
            self.passed[unit] = cache.get(unit), passed
        rest = iter(made.values())
        return [next(rest) if value is None else value for value in found]

    def _as_float(self, unit: Unit, value: Value | None) -> str:
        """Return the instruction that gives a register, of which this block has `value` or nothing, as a float."""
        if value is not None:
            return f"bitcast i32 {text(value)} to float"
        place = f"%s.{unit.name}, {STATE_TAG}" if unit.bits & self._memory_resident else f"%{unit.name}"
        return f"load float, ptr {place}"

    def take(self, unit: Unit, value: Value) -> None:
        """Have the block find a register as calls pass it."""
        if unit.name in FLOAT_VARIABLES:
            self.passed[unit] = None, value
        else:
            self.cache[unit] = value

    def set_passed(self, unit: Unit, value: Value) -> None:
        """Set a register whose variable is a float, as one."""
        self.set(unit, value)
        del self.cache[unit]
        self.take(unit, value)

    def _from_state(self, unit: Unit) -> str:
        type_ = "i32" if unit.type == "flag" else TYPES[unit.type]
        value = self._writer.value(f"load {type_}, ptr %s.{unit.name}, {STATE_TAG}")
        return self._writer.value(f"icmp ne i32 {value}, 0") if unit.type == "flag" else value

    def _pair(self, halves: list[Value]) -> Value:
        value = "poison"
        for index, half in enumerate(halves):
            value = self._writer.value(f"insertelement {TYPES[PAIR]} {value}, float {half}, i32 {index}")
        return value

    def _joined(self, unit: Unit) -> Value:
        """Return a pair whose halves have been set."""
        halves = self.halves.pop(unit)
        value: Value = "poison" if len(halves) == 2 else self.get(unit)
        for index, half in sorted(halves.items()):
            value = self._writer.value(f"insertelement {TYPES[unit.type]} {value}, float {half}, i32 {index}")
        self.cache[unit] = value
        return value

    def set(self, unit: Unit, value: Value) -> None:
        self.halves.pop(unit, None)
        self.cache[unit] = value
        self.changed.add(unit)
        if unit.bits & self._placed:
            self._unplaced.add(unit)

    def place(self) -> None:
        """Store what the block has set to its variables, before an access that may fault.

        Stores to allocas become no code, but LLVM takes them as assignments to variables (places.py).
        """
        for unit in sorted(self._unplaced, key=_BY_BITS):
            if unit.bits & self.split_out:
                self._save_word(unit, self.get(unit))
            else:
                self._store(unit, f"%{unit.name}", "")
        self._unplaced.clear()

    def restate(self, bits: int, other_form: int) -> None:
        """Assign registers to their variables once more, before anything else in a block that a loop is left to, and
        which those in `other_form` come into as split_in says.

        LLVM may make the end of the loop part of the block that leaves it, and so takes what that end assigns for an
        assignment on both ways.
        """
        if not bits:
            return
        for unit in self.units.all:
            if unit.bits & bits & self._placed:
                is_word = unit.bits & other_form
                place, type_ = (word_variable(unit), "i32") if is_word else (unit.name, variable_type(unit))
                value = self._writer.value(f"load {type_}, ptr %{place}")
                self._writer.lines.append(f"  store {type_} {value}, ptr %{place}")

    def half(self, unit: Unit, index: int) -> Value:
        """Return one float of a pair."""
        value = self.halves.get(unit, {}).get(index)
        if value is None and unit not in self.cache and unit.bits & self.split_in:
            return self._whole(self.units.halves[unit][index])
        if value is None:
            value = self._writer.value(f"extractelement {TYPES[unit.type]} {self._whole(unit)}, i32 {index}")
        return value

    def set_half(self, unit: Unit, index: int, value: Value) -> None:
        self.halves.setdefault(unit, {})[index] = value
        self.changed.add(unit)

    def copy(self) -> _Copy:
        """Return what `restore` takes, when what is written in between is on another way."""
        halves = {unit: dict(values) for unit, values in self.halves.items()}
        return dict(self.cache), dict(self.passed), dict(self.views), halves, set(self.changed), set(self._unplaced)

    def restore(self, copy: _Copy) -> None:
        known: tuple[Any, ...] = self.cache, self.passed, self.views, self.halves, self.changed, self._unplaced
        for container, content in zip(known, copy, strict=True):
            container.clear()
            container.update(content)

    def rename(self, renamed: dict[str, str]) -> None:
        """Replace values that have new names."""
        for unit, value in self.cache.items():
            if value in renamed:
                self.cache[unit] = renamed[str(value)]
        for halves in self.halves.values():
            for index, value in halves.items():
                halves[index] = renamed.get(str(value), value)
        for unit, (bits, value) in list(self.views.items()):
            if value in renamed and self.cache.get(unit) == bits:
                self._view(unit, renamed[str(value)])

    def _view(self, unit: Unit, value: Value) -> None:
        bits = self._writer.value(f"bitcast double {value} to {TYPES[unit.type]}")
        self.cache[unit] = bits
        self.views[unit] = bits, value

    def set_view(self, unit: Unit, value: Value) -> None:
        """Set a pair as a double."""
        self.halves.pop(unit, None)
        self.changed.add(unit)
        self._view(unit, value)

    def view(self, unit: Unit) -> Value | None:
        """Return the double that a pair was set to, if it was, whatever was done to its halves since."""
        bits, value = self.views.get(unit, (None, None))
        return value if bits is not None and self.cache.get(unit) == bits else None

    def save(self, live: int) -> None:
        """Store what this block changed and a later one needs to where that looks."""
        self.before_leaving()
        if self._memory_resident:
            self.put(live & self._memory_resident & self.changed_bits)
            live &= ~self._memory_resident
        other_form = self.split_in ^ self.split_out
        units = self.changed
        if other_form:
            units = units.union(unit for unit in self.units.all if unit.bits & other_form)
        for unit in sorted(units, key=_BY_BITS):
            if unit.bits & live and unit.type == PAIR and unit.bits & self.split_out:
                self._save_halves(unit)
            elif unit.bits & live & self.split_out:
                self._save_word(unit, self.get(unit))
            elif unit.bits & live:
                self._store(unit, f"%{unit.name}", "")

    def _save_word(self, unit: Unit, value: Value) -> None:
        """Store a unit of FLOAT_VARIABLES to the variable that has it as a word."""
        self._writer.lines.append(f"  store i32 {text(value)}, ptr %{word_variable(unit)}")

    def save_all(self) -> None:
        """Store all that this block changed to where later ones look."""
        self.save(ALL_BITS)

    def receive(self, values: Mapping[int, Value], live: int) -> None:
        """Have later blocks find general-purpose registers, by number, as calls pass them."""
        for number, value in values.items():
            unit = self.units.gpr[number]
            if unit.bits & live:
                if unit.bits & self.split_out:
                    self._save_word(unit, self._writer.value(f"bitcast float {value} to i32"))
                    continue
                place = f"%s.{unit.name}, {STATE_TAG}" if unit.bits & self._memory_resident else f"%{unit.name}"
                self._writer.lines.append(f"  store {PASSED[number]} {value}, ptr {place}")

    def _store(self, unit: Unit, place: str, mark: str) -> None:
        """Store a unit at a place; `mark` is `volatile `, or empty."""
        if unit.name in FLOAT_VARIABLES:
            self._writer.lines.append(f"  store {mark}float {self.as_passed([unit])[0]}, ptr {place}")
            return
        value = self.get(unit) if self.halves else self.cache.get(unit)  # most are there
        if value is None:
            value = self._whole(unit)
        operand, type_ = value if value.__class__ is str else text(value), TYPES[unit.type]
        self._writer.lines.append(f"  store {mark}{type_} {operand}, ptr {place}")

    def write(self, number: int, value: Value) -> None:
        """Write a general-purpose register to its variable, past the cache."""
        unit = self.units.gpr[number]
        if unit.bits & self.split_out:
            self._save_word(unit, value)
            return
        if unit.name in FLOAT_VARIABLES:
            value = self._writer.value(f"bitcast i32 {text(value)} to float")
        self._writer.void(f"store {variable_type(unit)} {text(value)}, ptr %{unit.name}")

    def _save_halves(self, unit: Unit) -> None:
        for index, half in enumerate(self.units.halves[unit]):
            value = self.half(unit, index)
            if unit in self.cache or value != self.cache.get(half):
                self._writer.void(f"store float {value}, ptr %{half.name}")

    def flush(self, stored: int, volatile: bool = False) -> None:
        """Store units into the state, where other code looks; `volatile` as in `put`."""
        self.before_leaving()
        self.put(stored, volatile)

    def put(self, stored: int, volatile: bool = False) -> None:
        """Store units into the state; `volatile`: even when only the handler of a fault would see it."""
        if not stored:
            return
        mark = "volatile " if volatile else ""
        for unit in self.units.all:
            if unit.bits & stored and unit.type == "flag":
                value = self._writer.value(f"zext i1 {text(self.get(unit))} to i32")
                self._writer.lines.append(f"  store {mark}i32 {value}, ptr %s.{unit.name}, {STATE_TAG}")
            elif unit.bits & stored:
                self._store(unit, f"%s.{unit.name}, {STATE_TAG}", mark)

    def hold(self, wanted: int) -> None:
        """Have the values of units here, so that no later branch loads one for itself."""
        for unit in self.units.all:
            if unit.bits & wanted and (unit not in self.cache or unit in self.halves):
                self.get(unit)

    def reload(self, wanted: int) -> None:
        """Load units from the state into their allocas, if they have any."""
        wanted &= ~self._memory_resident
        if not wanted:
            return
        for unit in self.units.all:
            if unit.bits & wanted:
                value = self._from_state(unit)
                if unit.name in FLOAT_VARIABLES:
                    self.write(unit.bits.bit_length() - 1, value)
                elif unit.type == PAIR and unit.bits & self.split_out:
                    self.cache[unit] = value
                    self._save_halves(unit)
                    del self.cache[unit]
                else:
                    self._writer.void(f"store {variable_type(unit)} {value}, ptr %{unit.name}")
