"""Results that may be NaNs: looked at late and together, and computed again by the host when one is.

The NaNs that this machine makes and passes on have other bits than MIPS's, and make other operations invalid. A NaN
among the operands makes the result a NaN, so that only results that enter no other operation need a look, two at a
time: a comparison and a branch that is never taken. Where one is a NaN, the host performs all pending operations again,
exactly (mr_fp_replay), and adds the flag of invalid operations; a comparison needs that flag only. A conversion to an
integer is such an operation, too: what it gives for numbers out of range is looked for. All other flags this machine
raises as MIPS does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..lift.units import Units
from .current import Current
from .memory import GuestMemory
from .register_file import RegisterFile
from .state_words import StateWords
from .types import TYPES
from .writer import UNLIKELY, Value, Writer, text

MAX_PENDING = 32
"""Their operands are kept until they are looked at: bounded, so that long blocks do not fill the stack with them, and
that a byte tells the slot of an operand or result."""

Step = tuple[int, int, int, int, int]
"""struct mr_fp_step (abi.py): word, operands, result."""
_STEP_TYPE = "{ i32, [4 x i8] }"

_INVALID_FLAG = 1 << 6
"""In FCSR."""

REPLAY = """\
define internal preserve_allcc void @replay(ptr %s, ptr %steps, i32 %loads, i32 %count, ptr %slots) #2 {
  call void @mr_fp_replay(ptr %s, ptr %steps, i32 %loads, i32 %count, ptr %slots)
  ret void
}
"""
"""A function that every module has: it spares its caller's registers."""


@dataclass(frozen=True, slots=True)
class _Operation:
    """An instruction that was performed here; `operands` are fs, ft and fr with their types, as far as it has them."""

    word: int
    result: str
    type: str
    operands: tuple[tuple[Value, str], ...]


class NanGuards:
    """Keeps the pending operations of a block, and what FCSR's causes depend on: the last instruction.

    Implements guards.Guards for the function `symbol`.
    """

    def __init__(
        self, writer: Writer, symbol: str, units: Units, current: Current, file: RegisterFile, memory: GuestMemory
    ) -> None:
        self._writer = writer
        self._units = units
        self._current = current
        self._file = file
        self._memory = memory
        self._state = StateWords(writer)
        self.looked: set[str] = writer.of_block(set())  # results that this block has looked at
        self._pending: list[_Operation] = []
        self._unchecked: dict[str, str] = {}  # results of these that no other has taken in, and their types
        self._conditions: list[str] = []  # other reasons to perform them again
        self._renamed: dict[str, str] = writer.of_block({})  # results looked at in this block, by their old names
        self._last: tuple[int, tuple[tuple[Value, str], ...]] | None = None
        self._symbol = symbol
        self.replays: list[str] = []  # constants that it needs
        self.slots = 0  # 64-bit slots that it needs on its stack

    @property
    def pending(self) -> bool:
        """Whether there are results that have not been looked at."""
        return bool(self._pending)

    def copy(self) -> tuple[Any, ...]:
        """Return what `restore` takes, when what is looked at in between is on another way."""
        pending = self._pending, self._unchecked, self._conditions, self._last
        return dict(self._renamed), pending

    def restore(self, copy: tuple[Any, ...]) -> None:
        renamed, (self._pending, self._unchecked, self._conditions, self._last) = copy
        self._renamed.clear()
        self._renamed.update(renamed)

    def note(self, *operands: tuple[Value, str]) -> None:
        """Make the current instruction the last one that computed."""
        self._last = self._current.word, operands

    def pend(
        self, result: str, type_: str, *operands: tuple[Value, str], condition: str = "", computes: bool = True
    ) -> str:
        """Take in the current instruction's operation, to be performed again under `condition` or if it is a NaN.

        Returns the result's name, which canonicalising changes. What does not compute leaves FCSR's causes alone.
        """
        operands = tuple((self._renamed.get(str(value), value), kind) for value, kind in operands)
        if computes:
            self.note(*operands)
        self._pending.append(_Operation(self._current.word, result, type_, operands))
        for value, _ in operands:
            self._unchecked.pop(str(value), None)
        if condition:
            self._conditions.append(condition)
        else:
            self._unchecked[result] = type_
        return self.canonicalise().get(result, result) if len(self._pending) >= MAX_PENDING else result

    def canonical(self, value: Value) -> Value:
        """Return a value whose bits are MIPS's."""
        if any(operation.result == value for operation in self._pending):
            self.canonicalise()
        return self._renamed.get(str(value), value)

    def canonical_both(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Return two values whose bits are MIPS's."""
        if any(operation.result in (a, b) for operation in self._pending):
            self.canonicalise()
        return self._renamed.get(str(a), a), self._renamed.get(str(b), b)

    def canonicalise(self) -> dict[str, str]:
        """Look at what is pending; return the new names of all results."""
        if not self._pending:
            return {}
        writer = self._writer
        found, done = writer.fresh_label(), writer.fresh_label()
        conditions = [*_pairs(self._unchecked), *self._conditions]
        labels = [*(writer.fresh_label() for _ in conditions), done]
        writer.void(f"br label %{labels[0]}")
        for condition, label, following in zip(conditions, labels, labels[1:], strict=False):
            writer.label(label)
            flag = writer.value(condition)
            writer.void(f"br i1 {flag}, label %{found}, label %{following}, {UNLIKELY}")
        writer.label(found)
        if len(conditions) > 1:  # branches that lead to different values are not joined into one of many steps
            which = ", ".join(f"[ {number}, %{label} ]" for number, label in enumerate(labels[:-1]))
            writer.void(f'call void asm sideeffect "", "r"(i32 {writer.value(f"phi i32 {which}")})')
        comparison = all(operation.type == "i1" for operation in self._pending)
        again = self._unless_invalid(done) if comparison else found
        again_results = self._replay()
        writer.void(f"br label %{done}")
        writer.label(done)
        renamed: dict[str, str] = {}
        for operation, slow in again_results:
            ways = f"[ {operation.result}, %{labels[-2]} ], [ {slow}, %{again} ]"
            if comparison:
                ways += f", [ {operation.result}, %{found} ]"
            renamed[operation.result] = writer.value(f"phi {operation.type} {ways}")
        self._pending = []
        self._unchecked = {}
        self._conditions = []
        self._renamed.update(renamed)
        self.looked.update(renamed)
        self._file.rename(renamed)
        if self._last is not None:
            word, operands = self._last
            self._last = word, tuple((renamed.get(str(value), value), type_) for value, type_ in operands)
        return renamed

    def _unless_invalid(self, done: str) -> str:
        """Go to `done` if the flag of invalid operations is set, else to the label returned.

        Comparisons have the right results; they are performed again for that flag alone.
        """
        writer = self._writer
        again = writer.fresh_label()
        flag = writer.value(f"and i32 {self._state.word('fcsr')}, {_INVALID_FLAG}")
        writer.void(f"br i1 {writer.value(f'icmp ne i32 {flag}, 0')}, label %{done}, label %{again}")
        writer.label(again)
        return again

    def _replay(self) -> list[tuple[_Operation, str]]:
        """Have the host perform all pending operations again; return those that have other results, and these.

        Operands are given in memory, or by where the guest has them: the usual way need not keep them in registers.
        """
        slots: dict[Value, int] = {}
        loads: list[Step] = []
        steps: list[Step] = []
        for operation in self._pending:
            for value, type_ in operation.operands:
                if value not in slots:
                    slots[value] = len(slots)
                    loads += self._store_operand(value, type_, slots[value])
            a, b, c = [slots[value] for value, _ in (*operation.operands, *operation.operands[:1] * 2)][:3]
            slots[operation.result] = len(slots)
            steps.append((operation.word, a, b, c, slots[operation.result]))
        self.slots = max(self.slots, len(slots))
        table = self._table([*loads, *steps])
        counts = f"i32 {len(loads)}, i32 {len(loads) + len(steps)}"
        self._writer.void(f"call preserve_allcc void @replay(ptr %s, ptr {table}, {counts}, ptr %slots)")
        return [(operation, self._load_result(operation.type, slots[operation.result])) for operation in self._pending]

    def _table(self, steps: list[Step]) -> str:
        """Return the name of a constant with these steps."""
        name = f"@{self._symbol}.replay{len(self.replays)}"
        values = ", ".join(
            f"{_STEP_TYPE} {{ i32 {text(word)}, [4 x i8] [i8 {a}, i8 {b}, i8 {c}, i8 {result}] }}"
            for word, a, b, c, result in steps
        )
        self.replays.append(f"{name} = private unnamed_addr constant [{len(steps)} x {_STEP_TYPE}] [{values}]")
        return name

    def _load_result(self, type_: str, slot: int) -> str:
        loaded = self._writer.value(f"load {'i64' if type_ == 'i1' else type_}, ptr {self._slot(slot)}")
        return self._writer.value(f"trunc i64 {loaded} to i1") if type_ == "i1" else loaded

    def _slot(self, number: int) -> str:
        return self._writer.value(f"getelementptr i64, ptr %slots, i64 {number}")

    def _store_operand(self, value: Value, type_: str, slot: int) -> list[Step]:
        """Store an operand, or the base of its address; return the step that loads it then.

        What this block has stored since is never loaded; what others have is (docs/limits.md).
        """
        place = self._memory.places.get(value)
        if place is None:
            self._writer.void(f"store {type_} {value}, ptr {self._slot(slot)}")
            return []
        base, displacement = place
        self._writer.void(f"store i32 {text(base)}, ptr {self._slot(slot)}")
        return [(displacement & 0xFFFFFFFF, 4 if type_ == "float" else 8, 0, 0, slot)]

    def _bits(self, value: Value, type_: str) -> str:
        """Return a value of any type as an i64."""
        writer = self._writer
        if type_ == "double":
            return writer.value(f"bitcast double {value} to i64")
        if type_ == "float":
            value, type_ = writer.value(f"bitcast float {value} to i32"), "i32"
        return str(value) if type_ == "i64" else writer.value(f"zext {type_} {text(value)} to i64")

    def _as_double(self, value: Value, type_: str) -> str:
        """Return the bits of a value of another type as a double, by ways that stay in the FPU's registers."""
        writer = self._writer
        if type_ == "i64":
            return writer.value(f"bitcast i64 {value} to double")
        pair = writer.value(f"insertelement <2 x {type_}> zeroinitializer, {type_} {text(value)}, i32 0")
        return writer.value(f"bitcast <2 x {type_}> {pair} to double")

    def _from_bits(self, value: str, type_: str) -> str:
        writer = self._writer
        if type_ == "double":
            return writer.value(f"bitcast i64 {value} to double")
        if type_ == "float":
            return writer.value(f"bitcast i32 {writer.value(f'trunc i64 {value} to i32')} to float")
        return value if type_ == "i64" else writer.value(f"trunc i64 {value} to {type_}")

    def convert_by_host(self, type_: str, value: Value, source: str) -> str:
        """Return the result of a conversion that compilers do not generate, or only beside writes to FCSR."""
        value = self.canonical(value)
        self.note((value, source))
        arguments = f"ptr %s, i32 {self._current.word}, i64 {self._bits(value, source)}, i64 0, i64 0"
        return self._from_bits(self._writer.value(f"call i64 @mr_fp_again({arguments})"), type_)

    def finish(self) -> None:
        """Make all that was computed visible in the registers, the last instruction included."""
        if self._pending:
            self.canonicalise()
        if self._last is None:
            return
        (word, operands), self._last = self._last, None
        units = self._units.last
        self._file.set(units[0], word)
        for index, unit in enumerate(units[1:]):
            value, type_ = operands[min(index, len(operands) - 1)]
            self._file.set(unit, value if type_ == TYPES[unit.type] else self._as_double(value, type_))

    def forget_last(self) -> None:
        """FCSR has been written: no instruction has computed since."""
        self._last = None
        for unit in self._units.last:
            self._file.set(unit, 0 if unit.type == "word" else "0.0")

    def show_last(self) -> None:
        """Store the last instruction into the state, for code that looks at FCSR."""
        self.finish()
        self._file.flush(self._current.op.on_view)


def _pairs(unchecked: dict[str, str]) -> list[str]:
    """Return comparisons that are true when one of the values is a NaN, two values in each."""
    conditions = []
    for type_ in ("float", "double"):
        values = [value for value, value_type in unchecked.items() if value_type == type_]
        for index in range(0, len(values), 2):
            conditions.append(f"fcmp uno {type_} {values[index]}, {values[min(index + 1, len(values) - 1)]}")
    return conditions
