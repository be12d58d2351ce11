"""The report of `mipsrec verify` on the first difference between lifted code and the interpreter.

Enters: a record of runtime/verify_report.c, and the guest. Leaves: text.
"""

from __future__ import annotations

import argparse
import shlex
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from ..analysis import Block, End, Function
from ..isa import decode
from ..isa.uses import masks
from ..pipeline import Guest
from ..state import GPR_NAMES
from .inspect import block_lines

Record = dict[str, Any]

BLOCKS_SHOWN = 4
LINES_AROUND = 5
"""Of a long block, how many instructions are shown on either side of what matters, and at its ends."""
POINTS_SHOWN = 8
CAUSES = {1: "overflow", 2: "a trap", 3: "a break", 4: "a reserved instruction", 5: "an address error",
          6: "a floating-point exception", 7: "an unusable coprocessor"}  # fmt: skip
"""enum mr_cause in runtime/host.h."""


class _Code:
    """Finds functions and blocks by pc."""

    def __init__(self, guest: Guest) -> None:
        self.guest = guest
        self._starts = sorted(guest.program.functions)

    def function(self, pc: int) -> Function | None:
        index = bisect_right(self._starts, pc) - 1
        function = self.guest.program.functions[self._starts[index]] if index >= 0 else None
        return function if function is not None and self._block(function, pc) is not None else None

    def block(self, pc: int) -> Block | None:
        function = self.function(pc)
        return self._block(function, pc) if function is not None else None

    @staticmethod
    def _block(function: Function, pc: int) -> Block | None:
        for block in function.blocks.values():
            if block.start <= pc < block.start + 4 * max(1, block.instruction_count()):
                return block
        return None

    def place(self, pc: int) -> str:
        """Return a pc with the function it is in."""
        function = self.function(pc)
        if function is None:
            return f"0x{pc:08x}"
        distance = pc - function.start
        return f"0x{pc:08x} <{function.name}{f'+0x{distance:x}' if distance else ''}>"

    def instruction(self, pc: int) -> str:
        """Return `address: assembly` of the instruction at a pc."""
        function, block = self.function(pc), self.block(pc)
        if function is not None and block is not None:
            for at, _, text in block_lines(self.guest, function, block):
                if at == pc:
                    return f"{at:08x}: {text}"
        return f"{pc:08x}"


def _point(code: _Code, point: Record) -> str:
    place = code.place(point["pc"])
    return {
        "start": f"the program's start at {place}",
        "call": f"the call of {place}",
        "place": f"control at {place}",
        "syscall": f"the system call at {place}",
        "exception": f"{CAUSES.get(point['detail'], 'an exception')} at {place}",
        "fault": f"the access to 0x{point['detail']:08x} at {place}, which faults",
    }[point["kind"]]


def _segments(record: Record) -> Iterator[tuple[int, int]]:
    """Yield the straight runs of code (first pc, last pc) that the interpreter went through, as far as is told."""
    path = record["path"]
    start = record["agreed"]["pc"] if record["jumps"] == len(path) else None
    for source, target in path:
        if start is not None:
            yield start, source + 4  # with the delay slot
        start = target


def _blocks(code: _Code, record: Record) -> list[Block]:
    """Return the blocks the interpreter went through last, in order, each where it was last."""
    found: list[Block] = []
    for first, last in _segments(record):
        pc = first
        while pc <= last and (block := code.block(pc)) is not None:
            if block in found:
                found.remove(block)
            found.append(block)
            pc = block.start + 4 * max(1, block.instruction_count())
    return found


def _suspect(code: _Code, record: Record) -> int:
    """Return the pc that most likely went wrong.

    The first of the instructions that last wrote what differs; where both went different ways, the last choice of one.
    """
    written = [(entry["step"], entry["pc"]) for entry in record["differ"] if entry["step"]]
    memory = record.get("memory")
    if memory is not None and memory["pc"]:
        return int(memory["pc"])
    if record["lifted"]["pc"] == record["interpreted"]["pc"]:
        return int(min(written)[1] if written else record["agreed"]["pc"])
    for source, _ in reversed(record["path"]):
        block = code.block(source)
        if block is not None and block.end in (End.BRANCH, End.INDIRECT):
            return int(source)
    return int(min(written)[1]) if written else int(record["agreed"]["pc"])


def _reason(code: _Code, record: Record) -> str:
    lifted, interpreted = record["lifted"], record["interpreted"]
    memory = record.get("memory")
    if memory is not None:
        text = f"memory differs at 0x{memory['address']:08x} (seen at {_point(code, lifted)})"
        if memory["stored"]:
            return text
        return f"{text}; the interpreter has not written there lately, so lifted code has"
    if lifted == interpreted:
        return f"registers differ at {_point(code, lifted)}"
    return f"lifted code came to {_point(code, lifted)}, the interpreter to {_point(code, interpreted)}"


def _memory_lines(code: _Code, memory: Record) -> Iterator[str]:
    yield f"  memory from 0x{memory['address']:08x}: lifted {memory['lifted']}, interpreter {memory['interpreted']}"
    if memory["pc"]:
        yield f"    last written by the interpreter at {code.instruction(memory['pc'])}"
    if memory["shared"]:
        yield "    this memory is shared with other processes: one of them may have changed it meanwhile"


def _differences(code: _Code, record: Record) -> Iterator[str]:
    lifted, interpreted = record["lifted_registers"], record["interpreted_registers"]
    for entry in record["differ"]:
        name = entry["register"]
        wide = 16 if name[0] == "f" and name[1:].isdigit() else 8
        text = f"  {name:5} lifted 0x{lifted[name]:0{wide}x}, interpreter 0x{interpreted[name]:0{wide}x}; "
        if entry["step"]:
            yield f"{text}the interpreter's by {code.instruction(entry['pc'])}"
        else:
            yield f"{text}the interpreter has not changed it since they agreed"


def _registers(record: Record) -> Iterator[str]:
    """Yield the general registers of both sides, four in a row; a star marks those that differ."""
    lifted, interpreted = record["lifted_registers"], record["interpreted_registers"]
    names = [*GPR_NAMES, "hi", "lo"]
    for title, values, other in (("lifted", lifted, interpreted), ("interpreter", interpreted, lifted)):
        yield f"  registers, {title} (* differs):"
        for first in range(0, len(names), 8):
            row = names[first : first + 8]
            cells = (f"{name:>4}{'*' if values[name] != other[name] else ' '}{values[name]:08x}" for name in row)
            yield "   " + " ".join(cells)


def _differing_bits(record: Record) -> int:
    """Return the general-purpose registers that differ, as bits."""
    names = {entry["register"] for entry in record["differ"]}
    return sum(1 << number for number, name in enumerate(GPR_NAMES) if name in names)


def _written(word: int) -> int:
    """Return the bits of the registers that an instruction writes."""
    instruction = decode(word)
    return masks(instruction, 0)[1] if instruction is not None else 0


def _disassembly(code: _Code, record: Record, suspect: int) -> Iterator[str]:
    """Yield the last blocks of the interpreter's way and that of the suspect; `>` marks what writes what differs."""
    writers = {entry["pc"] for entry in record["differ"]} | {suspect}
    bits = _differing_bits(record)
    blocks = _blocks(code, record)[-BLOCKS_SHOWN:]
    own = code.block(suspect)
    if own is not None and own not in blocks:
        blocks.insert(0, own)
    for block in blocks:
        function = code.function(block.start)
        assert function is not None
        yield f"  {function.name}, block {block.start:08x}:"
        lines = list(block_lines(code.guest, function, block))
        marked = {at for at, word, _ in lines if at in writers or _written(word) & bits}
        yield from _shortened(lines, marked)


def _shortened(lines: list[tuple[int, int, str]], marked: set[int]) -> Iterator[str]:
    """Yield instructions, `>` before those marked; of a long block what is near them and near its ends."""
    matter = {0, len(lines) - 1, *(number for number, line in enumerate(lines) if line[0] in marked)}
    last = -1
    for number, (at, word, text) in enumerate(lines):
        if all(abs(number - other) > LINES_AROUND for other in matter):
            continue
        if number > last + 1:
            yield "    ..."
        last = number
        yield f"  {'>' if at in marked else ' '} {at:08x}: {word:08x}  {text}"


def _reproduce(record: Record, function: Function | None, arguments: argparse.Namespace) -> str:
    words = ["mipsrec", "verify"]
    if arguments.static_lib is not None:
        words += ["--static-lib", arguments.static_lib]
    elif function is not None:
        words += ["--functions", function.name if "," not in function.name else f"{function.start:x}"]
    memory = record.get("memory")
    if memory is not None and not memory["stored"]:
        words += ["--scan", "1"]
    words += [word for setting in arguments.environment for word in ("-E", setting)]
    for name in arguments.ignore:
        words += ["--ignore", name]
    for name, default in (("opt", "auto"), ("memory", "flat"), ("calls", "watched")):
        if getattr(arguments, name) != default:
            words += [f"--{name}", str(getattr(arguments, name))]
    return shlex.join([*words, arguments.program, *arguments.arguments])


def describe(guest: Guest, record: Record, arguments: argparse.Namespace) -> str:
    """Return the report on a divergence."""
    code = _Code(guest)
    suspect = _suspect(code, record)
    function, block = code.function(suspect), code.block(suspect)
    count = f"{record['points']:,} points and {record['instructions']:,} instructions"
    lines = [f"mipsrec verify: divergence after {count}"]
    if function is not None and block is not None:
        lines.append(f"  in function {function.name} (0x{function.start:08x}), block 0x{block.start:08x}")
    lines += [
        f"  {_reason(code, record)}",
        f"  both last agreed at {_point(code, record['agreed'])}, {record['steps']:,} instructions before",
        *_differences(code, record),
    ]
    if record.get("memory") is not None:
        lines += _memory_lines(code, record["memory"])
    lines += [*_registers(record), *_disassembly(code, record, suspect)]
    lines.append("  the last points both passed:")
    lines += [f"    {_point(code, point)}" for point in record["trail"][-POINTS_SHOWN:]]
    lines.append(f"  to see it again: {_reproduce(record, function, arguments)}")
    return "\n".join(lines)
