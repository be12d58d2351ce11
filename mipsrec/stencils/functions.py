"""The LLVM IR of stencils: one function for each combination of operand classes of an entry, and for each sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from ..emit.calls import MIDDLE
from ..emit.writer import STATE_TAG, UNLIKELY, Writer, text
from ..isa import Instruction
from ..state import SLOT_BYTES
from .catalogue import Entry
from .convention import FLOAT_PINS, MEMORY, NARROW, PARAMETERS, PINS, TYPE, WIDE, arguments, slot_offset
from .expressions import Expression
from .machine import StencilMachine
from .memory import widened
from .registers import Operand
from .samples import SampleInstruction

_HEAD = f"({PARAMETERS}) #0 {{\nentry:\n{NARROW}  %s = getelementptr i8, ptr %middle, i64 {-MIDDLE}\n"

EXITS = ("next", "taken", "leave", "leave_there")
"""Where a stencil goes: to what follows; to the target; to the interpreter, which performs the instruction; to the
host, which goes on at the state's pc."""

_LINK_SAMPLES = (0x1A2B3C4D, 0x2D4C6B19)
_WORD_SAMPLES = (0x3A2B3C4D, 0x2E4C6B1B)


@dataclass(frozen=True)
class Sample:
    """The text of a function from its parameters on, and the expressions that its constants may be."""

    body: str
    expressions: list[Expression]


def stencil_function(
    entry: Entry, classes: tuple[int, ...], big_endian: bool, window: bool, sample: int, opaque: bool
) -> Sample:
    """Return the function of a stencil for one sample; raises Unsupported."""
    operands = [
        Operand(choice.use.kind, str(choice.use.field), place)
        for choice, place in zip(entry.choices, classes, strict=True)
    ]
    Expression.made.clear()
    writer = Writer()
    machine = StencilMachine(writer, big_endian, window, operands, sample, opaque)
    instruction: Any = SampleInstruction(sample, entry.fixed)
    if entry.row is None:
        _perform_own(entry.name, machine, sample)
    elif entry.shape == "plain":
        if entry.row.meaning is not None:
            entry.row.meaning(machine.operations, instruction)
    elif entry.shape == "jump":
        _jump(machine, entry, instruction)
    else:
        assert entry.row.condition is not None
        flag = entry.row.condition(machine.operations, instruction)
        _branch(machine, str(flag), entry.shape == "taken")
    if machine.goes_on:
        _go_to(machine, "@next")
    if machine.exits.are_used:
        writer.label("leave")
        _tail_call(
            writer, "@leave", [f"%pin{n}" for n in range(len(PINS))], [f"%float{n}" for n in range(len(FLOAT_PINS))]
        )
    return Sample(_HEAD + "\n".join(writer.lines) + "\n}\n", list(Expression.made))


def _tail_call(
    writer: Writer, callee: str, pins: list[str], floats: list[str], temp: str = "poison", ftemp: str = "poison"
) -> None:
    words, wide_temp = [widened(writer, pin) for pin in pins], widened(writer, temp)
    result = writer.value(f"musttail call {TYPE} {callee}({arguments(words, wide_temp, floats, ftemp)})")
    writer.void(f"ret i32 {result}")


def _go_to(machine: StencilMachine, callee: str) -> None:
    registers = machine.registers
    temp = registers.temp if machine.keeps_temp or registers.temp != "%temp" else "poison"
    ftemp = registers.ftemp if registers.ftemp != "%ftemp" else "poison"
    _tail_call(machine.writer, callee, registers.pins, registers.floats, temp, ftemp)


def _branch(machine: StencilMachine, flag: str, taken: bool) -> None:
    writer = machine.writer
    if flag in ("true", "false"):
        if (flag == "true") == taken:
            _go_to(machine, "@taken")
            machine.goes_on = False
        return
    target, stay = writer.fresh_label(), writer.fresh_label()
    ways = (target, stay) if taken else (stay, target)
    writer.void(f"br i1 {flag}, label %{ways[0]}, label %{ways[1]}")
    writer.label(target)
    _go_to(machine, "@taken")
    writer.label(stay)


def _jump(machine: StencilMachine, entry: Entry, instruction: object) -> None:
    """Go to the code of an address, which is likely one of MIPS32 code."""
    assert entry.row is not None and entry.row.condition is not None
    _go_to_code(machine, text(entry.row.condition(machine.operations, cast(Instruction, instruction))), False)


def _go_to_code(machine: StencilMachine, target: str, is_mips16_likely: bool) -> None:
    """Go to the code of an address, or to the host where there is none, a signal waits, or it is misaligned.

    Either kind of code may go to the other.
    """
    machine.goes_on = False
    machine.state.set_word("pc", target)
    for is_mips16 in (is_mips16_likely, not is_mips16_likely):
        _go_by_table(machine, target, is_mips16)
    _go_to(machine, "@leave_there")


def _go_by_table(machine: StencilMachine, target: str, is_mips16: bool) -> None:
    """Go by the table of a kind of code, where the address is of that kind and nothing waits. Else go on."""
    writer = machine.writer
    # bit 0 of an index of halves, and those above the user's half, must be 0; of MIPS32 code the low two bits
    index = writer.value(f"xor i32 {target}, 1") if is_mips16 else target
    wrong = writer.value(f"and i32 {index}, {1 | -1 << 31 if is_mips16 else 3}")
    any_reason = writer.value(f"or i32 {wrong}, {machine.state.word('signalled')}")
    otherwise, look = writer.fresh_label(), writer.fresh_label()
    writer.void(f"br i1 {writer.value(f'icmp ne i32 {any_reason}, 0')}, label %{otherwise}, label %{look}, {UNLIKELY}")
    writer.label(look)
    start, code = (
        writer.value(f"load ptr, ptr {machine.state.pointer(field)}, {STATE_TAG}")
        for field in ("translated16" if is_mips16 else "translated", "code")
    )
    unit = "i16" if is_mips16 else "i8"
    place = writer.value(f"getelementptr {unit}, ptr {start}, i64 {widened(writer, index)}")
    far = writer.value(f"sext i32 {writer.value(f'load i32, ptr {place}')} to i64")
    _go_to(machine, writer.value(f"getelementptr i8, ptr {code}, i64 {far}"))
    writer.label(otherwise)


def _perform_own(name: str, machine: StencilMachine, sample: int) -> None:
    """Write an operation of the translator's own (catalogue.OWN)."""
    writer, registers = machine.writer, machine.registers
    if name == "fetch":
        registers.temp = text(registers.gpr("rs"))
    elif name == "keep":
        registers.to_state("i32", registers.temp, registers.gpr_place("rs"))
        machine.keeps_temp = True
    elif name in ("spill", "fill"):
        place = registers.gpr_place("rs")
        if name == "spill":
            registers.to_state("i32", registers.gpr("rs"), place)
        else:
            registers.set_gpr("rs", registers.from_state("i32", place))
    elif name == "link":
        registers.set_gpr("rs", Expression(_LINK_SAMPLES[sample], "(pc + 8u)"))
    elif name == "fetch_float":
        registers.ftemp = registers.double("fs")
    elif name == "fetch_single":
        _fetch_single(machine)
    elif name == "spill_float":
        registers.to_state("double", registers.double("fs"), registers.fpr_place("fs", "double"))
    elif name == "fill_float":
        registers.set_double("fs", registers.from_state("double", registers.fpr_place("fs", "double")))
    elif name == "poll":
        quiet = writer.value(f"icmp eq i32 {machine.state.word('signalled')}, 0")
        _branch(machine, quiet, True)
    elif name == "words_at":
        low = writer.value(f"and i32 {text(registers.gpr('rs'))}, 3")
        machine.exits.leave_if(writer.value(f"icmp ne i32 {low}, 0"))
    elif name == "jump16":
        _go_to_code(machine, text(registers.gpr("rs")), True)
    elif name == "record_word":
        machine.state.set_word("fp_word", Expression(_WORD_SAMPLES[sample], "word"))
    else:
        place = machine.state.pointer("fp_operands", SLOT_BYTES * int(name[-1]))
        is_single = name.startswith("record_single")
        value = f"float {registers.single('fs')}" if is_single else f"double {registers.double('fs')}"
        writer.void(f"store {value}, ptr {place}, {STATE_TAG}")


def _fetch_single(machine: StencilMachine) -> None:
    """Make TEMP a register of which a single is wanted."""
    writer, registers = machine.writer, machine.registers
    if registers.class_of("fs") != MEMORY:
        registers.ftemp = registers.double("fs")
        return
    value = registers.single("fs")
    pair = writer.value(f"insertelement <2 x float> poison, float {value}, i32 0")
    registers.ftemp = writer.value(f"bitcast <2 x float> {pair} to double")


def _state_place(name: str, offset: int) -> str:
    return f"  %{name}.at = getelementptr i8, ptr %middle, i64 {offset}\n"


def _state_loads(type_: str, offsets: list[int], name: str) -> str:
    return "".join(
        f"{_state_place(f'{name}{n}', offset)}  %{name}{n} = load {type_}, ptr %{name}{n}.at\n"
        for n, offset in enumerate(offsets)
    )


def _state_stores(type_: str, offsets: list[int], name: str) -> str:
    return "".join(
        f"{_state_place(f'{name}{n}', offset)}  store {type_} %{name}{n}, ptr %{name}{n}.at\n"
        for n, offset in enumerate(offsets)
    )


def glue() -> str:
    """Return `enter`, a C function of the state and the address of code, and `leave_all`, to which all code comes back.

    The code returns what `leave_all` finds in TEMP.
    """
    words, doubles = [slot_offset("gpr", n) for n in PINS], [slot_offset("fpr", n) for n in FLOAT_PINS]
    pins, floats = [f"%pin{n}" for n in range(len(PINS))], [f"%float{n}" for n in range(len(FLOAT_PINS))]
    widen = "".join(f"  {WIDE[pin]} = zext i32 {pin} to i64\n" for pin in pins)
    wide = [WIDE[pin] for pin in pins]
    return f"""\
define i32 @enter(ptr %s, ptr %code) #0 {{
  %middle = getelementptr i8, ptr %s, i64 {MIDDLE}
{_state_loads("i32", words, "pin")}{widen}{_state_loads("double", doubles, "float")}\
  %r = call {TYPE} %code({arguments(wide, "poison", floats, "poison")})
  ret i32 %r
}}

define {TYPE} @leave_all({PARAMETERS}) #0 {{
{NARROW}{_state_stores("i32", words, "pin")}{_state_stores("double", doubles, "float")}\
  ret i32 %temp
}}
"""
