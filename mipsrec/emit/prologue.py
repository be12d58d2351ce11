"""Writes the beginning of an LLVM function: what comes before its first guest block."""

from __future__ import annotations

from collections.abc import Iterator

from ..lift.convention import RESULTS
from ..lift.units import PAIR, Unit
from ..state import SP
from .accesses import pointer_of
from .calls import POINTERS, parameter
from .edges import EdgeWriter
from .emission import Emission
from .places import ENTRY_SP, PLACED_UNITS, declaration
from .register_file import variable_type, word_variable
from .types import PASSED, TYPES
from .vectors import REST
from .writer import DELTA, STATE_TAG


class Prologue:
    """Writes the definition, allocas, pointers into the state, first loads, and the way to the first block."""

    def __init__(self, emission: Emission, edges: EdgeWriter) -> None:
        self._emission = emission
        self._edges = edges
        self._plan = emission.plan

    def lines(self, has_hubs: bool) -> list[str]:
        """Return the lines up to the first guest block, once all blocks are written."""
        plan, calls = self._plan, self._emission.calls
        lines = [calls.head(self._emission.symbol, self._emission.scope, bool(plan.memory_resident))]
        lines += self._allocas(has_hubs)
        start = None if self._emission.has_entries else plan.function.start
        lines += calls.entered(start, self._emission.scope)
        if self._emission.has_entries:
            lines += self._entry_lines()
        lines += self._first_loads()
        if self._emission.has_entries:
            entries = plan.graph.entries
            cases = " ".join(f"i32 {pc}, label %{self._edges.entry(pc)}" for pc in entries)
            lines.append(f"  switch i32 {self._known_entry}, label %{self._edges.entry(entries[0])} [ {cases} ]")
        else:
            lines.append(f"  br label %{self._edges.entry(plan.function.start)}")
        return lines

    def _allocas(self, has_hubs: bool) -> Iterator[str]:
        plan, slots = self._plan, self._emission.machine.guards.slots
        in_ssa = [unit for unit in plan.units.all if unit.bits & plan.in_ssa]
        yield from (f"  %{half.name} = alloca float" for unit in in_ssa for half in plan.units.halves.get(unit, ()))
        yield from (f"  %{unit.name} = alloca {variable_type(unit)}" for unit in in_ssa)
        words = plan.words
        yield from (f"  %{word_variable(unit)} = alloca i32" for unit in in_ssa if unit.bits & words)
        yield from self._places(in_ssa, words)
        yield POINTERS
        for unit in plan.units.all:
            yield f"  %s.{unit.name} = getelementptr i8, ptr %s, i64 {unit.offset}"
        yield from (f"  %{REST(pc)} = alloca i32" for pc in plan.vectorized)
        for loop in plan.promoted.values():
            yield from (f"  {pointer_of(one)} = alloca {TYPES[one.type]}" for one in loop.variables)
        yield "  %leave.pc = alloca i32"
        yield from (f"  %leave.r{number} = alloca {PASSED[number]}" for number in RESULTS)
        if has_hubs:
            yield "  %hub.target = alloca i32"
            yield "  %hub.address = alloca i32"
        if slots:
            yield f"  %slots = alloca [{slots} x i64]"

    def _places(self, in_ssa: list[Unit], words: int) -> Iterator[str]:
        """Yield what tells LLVM of the places of registers. Parameters come first of all: then it knows all of them.

        So do those that the function writes before it reads them: their variables would have anything until then.
        """
        placed = [unit for unit in in_ssa if unit.name in PLACED_UNITS]
        depths_known = bool(self._plan.stack_depths)
        if depths_known:
            yield f"  %{ENTRY_SP} = alloca i32"
        sp = self._plan.units.gpr[SP] if depths_known else None
        variables = [(unit, ENTRY_SP if unit is sp else unit.name) for unit in placed]
        variables += [(unit, word_variable(unit)) for unit in placed if unit.bits & words]
        start, scope = self._plan.function.start, self._emission.scope
        yield from (declaration(unit, place, start, scope) for unit, place in variables)
        yield from map(_parameter_store, placed)
        if depths_known:
            yield f"  store i32 {parameter(SP)}, ptr %{ENTRY_SP}"

    def _entry_lines(self) -> Iterator[str]:
        """Yield what a function with several entries finds out about the one that it is entered by."""
        if self._plan.options.relocatable:
            yield f"  %delta = load i32, ptr {DELTA}, !invariant.load !0"
            yield "  %pc.known = sub i32 %pc.in, %delta"
        yield f"  %from.start = icmp eq i32 {self._known_entry}, {self._plan.function.start}"
        yield f"  %sp.start = select i1 %from.start, i32 {self._emission.stack_bound}, i32 -1"

    @property
    def _known_entry(self) -> str:
        """The pc of the entry as the translator knows it."""
        return "%pc.known" if self._plan.options.relocatable else "%pc.in"

    def _first_loads(self) -> Iterator[str]:
        plan, entry = self._plan, self._emission.entry
        split = plan.pair_forms.into[plan.graph.entries[0]]
        for unit in plan.units.all:
            if unit.bits & entry.stores:
                yield f"  store {variable_type(unit)} %{unit.name}.in, ptr %s.{unit.name}, {STATE_TAG}"
            if unit.bits & entry.takes:
                if unit.name not in PLACED_UNITS:  # their stores come first of all
                    yield _parameter_store(unit)
            elif unit.bits & entry.loads:
                yield from _first_load(unit, bool(unit.type == PAIR and unit.bits & split))


def _parameter_store(unit: Unit) -> str:
    return f"  store {variable_type(unit)} %{unit.name}.in, ptr %{unit.name}"


def _first_load(unit: Unit, split: bool) -> Iterator[str]:
    name, type_ = unit.name, variable_type(unit)
    if type_ == "i1":
        yield f"  %e.{name}.w = load i32, ptr %s.{name}, {STATE_TAG}"
        yield f"  %e.{name} = icmp ne i32 %e.{name}.w, 0"
        yield f"  store i1 %e.{name}, ptr %{name}"
        return
    yield f"  %e.{name} = load {type_}, ptr %s.{name}, {STATE_TAG}"
    if not split:
        yield f"  store {type_} %e.{name}, ptr %{name}"
        return
    for index in (0, 1):
        yield f"  %e.{name}.{index} = extractelement {type_} %e.{name}, i32 {index}"
        yield f"  store float %e.{name}.{index}, ptr %{name}.{index}"
