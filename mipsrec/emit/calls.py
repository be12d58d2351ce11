"""The calling convention of lifted functions, in one place so that another can take its stead.

    { i32 pc, ra, v0, a0, a1, a2, a3, sp, s0, s1, v1, float s2, ... s7, fp }
      f(ptr state + 128, i32 t9, ra, a0, a1, a2, a3, sp, s0, s1, float s2, ... s7, fp, i32 pc)

Most parameters are *carried*: callers and callees hand each other their values in host registers alone, the same ones
both ways. So do v0 and v1 at returns. The function that has them stores them where other code may look. Every other
register is in the state at each call and return, as the guest has it. t9 comes in a host register besides, so that code
does not wait for a load of what has just been stored. A direct call passes poison for t9 where the callee takes it from
no parameter (`argument_registers`); every other call passes all.

The first value returned is the guest pc that the function returns to. The caller compares it with the pc it expects;
on a mismatch the host finds the code for that pc. So longjmp, exceptions and context switches need no special care.
Where the code is decides what becomes of the host's frames, which go with the guest's, and stay with them:

- With sp above the function's frame, the function returns the pc.
- A function that knows the pc as one that it may be returned to goes on in its other entries (function.py).
- With sp below where it was when the function was entered, its caller's frame is still there, and so stays the host's:
  the host goes on in the function's place until sp is back there (`@run_nested`).
- Otherwise the function returns the pc. It does so, too, in place of a jump elsewhere with sp above where it was when
  the function was entered, as longjmp makes it (`may_unwind`): the frame of its caller is gone.

Calls of pcs that are not known when the code is made go through the host's dispatch table (`@lookup` in every module;
`@call_computed` where a guess was wrong), and where that has nothing, to the host (`@call_unlifted`, which completes
the state first; `@call_host` is for those that have done so). The host calls lifted code through `mr_enter`, which each
library brings along. The parameter `pc` is for functions with several entries and for the host; direct calls leave it
open. With `--calls thunked` every call goes to the host. With `--calls instrumented` calls are direct, and each
function tells the host when it is entered and when it returns (`mr_watch_*`).

The host's convention has as many registers for results as for parameters, the same ones, and the result has as many
parts (target.LiftedCalls).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..abi import llvm_declaration
from ..lift.convention import ARGUMENTS, CARRIED, CARRIED_FLOATS, RESULTS
from ..lift.nodes import Destination
from ..lift.options import LiftOptions
from ..state import OFFSETS, SLOT_BYTES
from ..target import this_target
from .types import PASSED
from .writer import ALL_KEPT, DELTA, LIKELY, STATE_TAG, TABLE_TAG, Value, Writer, location, text

_HOST = this_target().lifted
RESULT = "%results"
"""The type of results, which each module defines."""
_FLOATS = len(CARRIED_FLOATS)
RESULT_DEFINITION = f"{RESULT} = type {{ {', '.join(['i32'] * _HOST.registers + ['float'] * _FLOATS)} }}\n"
_WORDS = [number for number in ARGUMENTS if number not in CARRIED_FLOATS]
_PARAMETER_PLACES = {number: place for place, number in enumerate(_WORDS, start=1)}
_PARAMETER_PLACES |= {number: place for place, number in enumerate(CARRIED_FLOATS, start=_HOST.registers)}
_FREE_PLACES = sorted(set(range(1, _HOST.registers)) - {_PARAMETER_PLACES[number] for number in CARRIED})
_PLACES = dict(zip((number for number in RESULTS if number not in CARRIED), _FREE_PLACES, strict=False))
_PLACES |= {number: _PARAMETER_PLACES[number] for number in CARRIED}
"""Of RESULTS behind the pc: those that come as parameters as well stay in the same host register."""
_BOUND = next(number for number in ARGUMENTS if number not in CARRIED)
"""In whose place `@run_nested` is handed where sp was when its caller was entered."""
_TYPE = f"{_HOST.convention} {RESULT}"
SIGNATURE = f"(ptr, {', '.join(PASSED[number] for number in ARGUMENTS)}, i32)"
_POISON = ("poison",) * len(ARGUMENTS)
MIDDLE = _HOST.middle
"""Where lifted code points in the state."""
POINTERS = f"  %s = getelementptr i8, ptr %middle, i64 {-MIDDLE}"
"""Begins what follows: `%s` is the state."""


def parameter(number: int) -> str:
    """Return the parameter that a general-purpose register of ARGUMENTS comes in."""
    return f"%r{number}.in"


_TYPES = [PASSED[number] for number in ARGUMENTS]


def _passed(values: Iterable[Value]) -> str:
    """Return ARGUMENTS as operands with their types."""
    typed = zip(_TYPES, values, strict=True)
    return ", ".join([f"{type_} {value if value.__class__ is str else text(value)}" for type_, value in typed])


_PARAMETERS = f"ptr noalias %middle, {_passed(map(parameter, ARGUMENTS))}, i32 %pc.in"


def declaration(symbol: str) -> str:
    """Return the declaration of a lifted function of another module."""
    return f"declare hidden {_TYPE} @{symbol}{SIGNATURE}"


def _state_loads(prefix: str, numbers: Sequence[int]) -> str:
    lines = []
    for number in numbers:
        lines.append(f"  %{prefix}{number}.at = getelementptr i8, ptr %s, i64 {OFFSETS['gpr'] + SLOT_BYTES * number}\n")
        lines.append(f"  %{prefix}{number} = load {PASSED[number]}, ptr %{prefix}{number}.at, {STATE_TAG}\n")
    return "".join(lines)


def _state_stores(values: Mapping[int, str]) -> str:
    """Return the text that stores values, by register."""
    lines = []
    for number, value in values.items():
        lines.append(f"  %at{number} = getelementptr i8, ptr %s, i64 {OFFSETS['gpr'] + SLOT_BYTES * number}\n")
        lines.append(f"  store {PASSED[number]} {value}, ptr %at{number}, {STATE_TAG}\n")
    return "".join(lines)


LIFTED_ATTRIBUTES = 'nounwind strictfp null_pointer_is_valid "no-builtins"'


def _fallback(value: str) -> str:
    """Return the text that gives a value the address of `@call_unlifted`."""
    return f"""\
  %{value}.field = getelementptr i8, ptr %s, i64 {OFFSETS["fallback"]}
  %{value} = load ptr, ptr %{value}.field, {STATE_TAG}, !invariant.load !0
"""


def _return_entry(table: str, element: str, index: str) -> str:
    """Return the text that returns what a dispatch table has at an index, in elements of a type: a lifted function."""
    return f"""\
  %field = getelementptr i8, ptr %s, i64 {OFFSETS[table]}
  %table = load ptr, ptr %field, {STATE_TAG}, !invariant.load !0
  %wide = zext i32 {index} to i64
  %entry = getelementptr {element}, ptr %table, i64 %wide
  %displacement = load i32, ptr %entry, {TABLE_TAG}
  %far = sext i32 %displacement to i64
{_fallback("fallback")}\
  %callee = getelementptr i8, ptr %fallback, i64 %far
  ret ptr %callee
"""


LOOKUP = f"""\
define internal ptr @lookup(ptr noalias %s, i32 %target) {LIFTED_ATTRIBUTES} alwaysinline {{
  %low = and i32 %target, 3
  %aligned = icmp eq i32 %low, 0
  br i1 %aligned, label %look, label %other, {LIKELY}
look:
{_return_entry("dispatch", "i8", "%target")}\
other:
  %callee.other = call preserve_allcc ptr @lookup_mips16(ptr %s, i32 %target)
  ret ptr %callee.other
}}
"""
"""Finds the lifted function at a guest pc, or else `@call_unlifted`. Entries have 4 bytes, as instructions have."""

LOOKUP_MIPS16_DECLARATION = f"declare hidden preserve_allcc ptr @lookup_mips16(ptr, i32) {LIFTED_ATTRIBUTES}\n"
_LOOKUP_MIPS16 = f"""\
define hidden preserve_allcc ptr @lookup_mips16(ptr noalias %s, i32 %target) {LIFTED_ATTRIBUTES} {ALL_KEPT} {{
  %marks = and i32 %target, {1 - (1 << 31)}
  %has.entry = icmp eq i32 %marks, 1
  br i1 %has.entry, label %look, label %other, {LIKELY}
look:
  %half = lshr i32 %target, 1
{_return_entry("dispatch16", "i32", "%half")}\
other:
{_fallback("none")}\
  ret ptr %none
}}
"""
"""The same for a pc that is no multiple of 4. The table of MIPS16e code has entries for odd pcs below 2^31."""


def _results_of_host() -> str:
    """Return the text that returns what a function of the host has left in the state, and its pc."""
    lines = [_state_loads("r", RESULTS), f"  %c0 = insertvalue {RESULT} poison, i32 %pc, 0\n"]
    for n, (number, place) in enumerate(_PLACES.items()):
        lines.append(f"  %c{n + 1} = insertvalue {RESULT} %c{n}, {PASSED[number]} %r{number}, {place}\n")
    return "".join([*lines, f"  ret {RESULT} %c{len(_PLACES)}\n"])


def _results_taken_apart() -> str:
    """Return the text that takes RESULTS out of what a lifted function has returned."""
    return "".join(f"  %r{n}.out = extractvalue {RESULT} %result, {place}\n" for n, place in _PLACES.items())


_CARRIED_STORES = _state_stores({number: parameter(number) for number in CARRIED})
HOST_EDGES = f"""\
{RESULT_DEFINITION}
{llvm_declaration("mr_call")}

define hidden {_TYPE} @call_host({_PARAMETERS}) nounwind {{
{POINTERS}
  %pc = call i32 @mr_call(ptr %s, i32 %pc.in)
{_results_of_host()}\
}}

define hidden {_TYPE} @call_unlifted({_PARAMETERS}) nounwind {{
{POINTERS}
{_CARRIED_STORES}  %pc = call i32 @mr_call(ptr %s, i32 %pc.in)
{_results_of_host()}}}

define hidden i32 @mr_enter(ptr %s, ptr %function) nounwind {{
  %field = getelementptr i8, ptr %s, i64 {OFFSETS["pc"]}
  %to = load i32, ptr %field, {STATE_TAG}
{_state_loads("r", ARGUMENTS)}\
  %middle = getelementptr i8, ptr %s, i64 {MIDDLE}
  %result = call {_TYPE} %function(ptr %middle, {_passed(f"%r{number}" for number in ARGUMENTS)}, i32 %to)
  %pc = extractvalue {RESULT} %result, 0
{_results_taken_apart()}{_state_stores({n: f"%r{n}.out" for n in RESULTS})}\
  ret i32 %pc
}}

{llvm_declaration("mr_run_nested")}

define hidden {_TYPE} @run_nested({_PARAMETERS}) nounwind {{
{POINTERS}
{_CARRIED_STORES}  %pc = call i32 @mr_run_nested(ptr %s, i32 %pc.in, i32 {parameter(_BOUND)})
{_results_of_host()}\
}}

{_LOOKUP_MIPS16}
{LOOKUP}
define hidden {_TYPE} @call_computed({_PARAMETERS}) {LIFTED_ATTRIBUTES} {{
{POINTERS}
  %callee = call ptr @lookup(ptr %s, i32 %pc.in)
  %result = musttail call {_TYPE} %callee({_PARAMETERS})
  ret {RESULT} %result
}}
"""
"""What a library has once, besides doors.py: `@call_host`, a lifted function that goes to a pc that is not lifted;
`mr_enter`, which calls a lifted function from C at the state's pc: `uint32_t mr_enter(struct mr_state *, mr_function)`;
`@call_computed`, a lifted function that goes to the pc that it is passed, for calls whose target was guessed wrongly;
and `@run_nested`, a lifted function that lets the host go on at a pc until sp is back where its parameter says."""


@dataclass(frozen=True)
class Returned:
    """Values after a call: the pc to go on at, and the registers RESULTS by number."""

    pc: str
    results: dict[int, str]


class Calls:
    """Writes the edges of lifted functions; before each call and return the state must have what is not carried."""

    def __init__(self, writer: Writer, options: LiftOptions) -> None:
        self._writer = writer
        self._options = options
        self._thunked = options.calls == "thunked"
        self._instrumented = options.calls == "instrumented"
        self.called: set[str] = set()
        """Symbols of lifted functions."""

    def head(self, symbol: str, scope: int, small: bool = False) -> str:
        """Return what follows the linkage of a definition, and begins its first block, up to POINTERS.

        Parameters are named as `parameter` says.
        """
        size = " optsize" if small else ""
        return f"{_TYPE} @{symbol}({_PARAMETERS}) #0{size} !dbg !{scope} {{\nentry:"

    def entered(self, start: int | None, scope: int) -> list[str]:
        """Return the lines that tell the host of an entry: at a function's start, or else at the parameter `pc`."""
        if not self._instrumented:
            return []
        place = location(start or 0, scope)
        if start is None:
            return [f"  call void @mr_watch_place(ptr %s, i32 %pc.in){place}"]
        if not self._options.relocatable:
            return [f"  call void @mr_watch_call(ptr %s, i32 {start}){place}"]
        return [
            f"  %entered.delta = load i32, ptr {DELTA}, !invariant.load !0",
            f"  %entered.pc = add i32 %entered.delta, {start}",
            f"  call void @mr_watch_call(ptr %s, i32 %entered.pc){place}",
        ]

    def _invoke_lifted(
        self, kind: str, symbol: str, arguments: Sequence[Value], pc: Value = "poison", place: str = ""
    ) -> str:
        self.called.add(symbol)
        return self._invoke(kind, f"@{symbol}", pc, arguments, place)

    def _invoke(self, kind: str, function: str, pc: Value, arguments: Sequence[Value], place: str = "") -> str:
        passed = f"ptr %middle, {_passed(arguments)}, i32 {text(pc)}"
        return self._writer.value(f"{kind} {_TYPE} {function}({passed}){place}{self._writer.debug}")

    def _branch_on_guess(self, target: Value, guess: int | None) -> tuple[str, str]:
        """End the block by comparing a pc with a guess; return the labels for where it is right and where it is not."""
        writer = self._writer
        hit, miss = writer.fresh_label(), writer.fresh_label()
        assert guess is not None
        flag = writer.value(f"icmp eq i32 {text(target)}, {text(writer.pc(guess))}")
        writer.void(f"br i1 {flag}, label %{hit}, label %{miss}, {LIKELY}")
        return hit, miss

    def call(
        self, to: Destination, target: Value, arguments: Sequence[Value], apart: bool, on_miss: Callable[[], None]
    ) -> Returned:
        """Call guest pc `target` with the values of ARGUMENTS.

        `apart`: LLVM must not inline the callee. `on_miss` writes what comes before the call if the guess is wrong.
        """
        writer = self._writer
        if to.callee is None:
            return self._taken_apart(self._invoke("call", *self._unknown(target, arguments)))
        place = " alwaysinline" if to.is_copied else " noinline" if apart else ""
        if to.guess in (None, target):
            return self._taken_apart(self._invoke_lifted("call", to.callee.symbol, arguments, place=place))
        hit, miss = self._branch_on_guess(target, to.guess)
        done = writer.fresh_label()
        writer.label(hit)
        quick = self._invoke_lifted("call", to.callee.symbol, arguments, place=place)
        writer.void(f"br label %{done}")
        writer.label(miss)
        on_miss()
        slow = self._invoke("call", "@call_computed", target, arguments)
        writer.void(f"br label %{done}")
        writer.label(done)
        return self._taken_apart(writer.value(f"phi {RESULT} [ {quick}, %{hit} ], [ {slow}, %{miss} ]"))

    def _taken_apart(self, result: str) -> Returned:
        places = (0, *_PLACES.values())
        pc, *values = self._writer.values([f"extractvalue {RESULT} {result}, {place}" for place in places])
        return Returned(pc, dict(zip(_PLACES, values, strict=True)))

    def _unknown(self, target: Value, arguments: Sequence[Value]) -> tuple[str, Value, Sequence[Value]]:
        """Return the host function to call for a guest pc, and what to pass."""
        if isinstance(target, int):
            target = self._writer.pc(target)
        if self._thunked:
            return "@call_host", target, _POISON
        callee = self._writer.value(f"call ptr @lookup(ptr %s, i32 {text(target)}){self._writer.debug}")
        return callee, target, arguments

    def tail_call(self, to: Destination, target: Value, arguments: Sequence[Value]) -> None:
        """Go to guest pc `target` for good; ends the block."""
        if to.callee is None:
            self._end(self._invoke("musttail call", *self._unknown(target, arguments)))
            return
        if to.guess in (None, target):
            self._end(self._invoke_lifted("musttail call", to.callee.symbol, arguments))
            return
        hit, miss = self._branch_on_guess(target, to.guess)
        self._writer.label(hit)
        self._end(self._invoke_lifted("musttail call", to.callee.symbol, arguments))
        self._writer.label(miss)
        self._end(self._invoke("musttail call", "@call_computed", target, arguments))

    def tail_call_entries(self, symbol: str, pc: Value, register: Callable[[int], Value]) -> None:
        """Go on in the LLVM function of the entries besides the start, at one of them; ends the block.

        `register` gives the values of CARRIED.
        """
        if isinstance(pc, int):
            pc = self._writer.pc(pc)
        arguments = [register(number) if number in CARRIED else "poison" for number in ARGUMENTS]
        self._end(self._invoke_lifted("musttail call", symbol, arguments, pc))

    def run_nested_below(self, pc: Value, stack: Value, register: Callable[[int], Value]) -> None:
        """Let the host go on at a guest pc until sp is `stack` or above it, and return then; ends the block.

        `register` gives the values of CARRIED.
        """
        values: dict[int, Value] = {_BOUND: stack, **{number: register(number) for number in CARRIED}}
        arguments = [values.get(number, "poison") for number in ARGUMENTS]
        self._end(self._invoke("musttail call", "@run_nested", pc, arguments))

    def give_back(self, pc: Value, results: Sequence[Value]) -> None:
        """Return to a guest pc with the values of RESULTS; ends the block."""
        if self._instrumented:
            self._writer.void(f"call void @mr_watch_place(ptr %s, i32 {text(pc)}){self._writer.debug}")
        value = "poison"
        words = [("i32", pc), *((PASSED[number], value) for number, value in zip(RESULTS, results, strict=True))]
        for index, (type_, word) in zip((0, *_PLACES.values()), words, strict=True):
            value = self._writer.value(f"insertvalue {RESULT} {value}, {type_} {text(word)}, {index}")
        self._end(value)

    def _end(self, value: str) -> None:
        self._writer.void(f"ret {RESULT} {value}")
