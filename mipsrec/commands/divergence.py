"""The report of `mipsrec verify` on the first difference between lifted code and the interpreter.

Enters: a record of runtime/verify/report.c, and the program. Leaves: text. Libraries of a dynamic program are read
again, by the paths in the record.
"""

from __future__ import annotations

import argparse
import os
import shlex
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from ..abi import CAUSES
from ..analysis import Block, End, Function
from ..architecture import INSTRUCTION_BYTES
from ..errors import one_line
from ..guest import Guest, guest_in
from ..isa import Instruction
from ..isa.disassembly import encoding_text
from ..isa.effects import masks
from ..state import GPR_NAMES, REGISTERS
from .run import guest_words

Record = dict[str, Any]
"""What runtime/verify/report.c writes."""

BLOCKS_SHOWN = 4
LINES_AROUND = 5
"""Of a long block, how many instructions are shown on either side of what matters, and at its ends."""
POINTS_SHOWN = 8
_EXCEPTION_OF = {
    CAUSES["overflow"]: "overflow", CAUSES["trap"]: "a trap", CAUSES["break"]: "a break",
    CAUSES["reserved"]: "a reserved instruction", CAUSES["address"]: "an address error",
    CAUSES["fpe"]: "a floating-point exception", CAUSES["coprocessor"]: "an unusable coprocessor",
}  # fmt: skip


class _File:
    """A file that the guest had mapped: where, and what is known of its code.

    Addresses of it are those of `mipsrec disasm`; the guest's are more by `delta`.
    """

    def __init__(self, low: int, high: int, delta: int, guest: Guest, name: str) -> None:
        self.low, self.high, self.delta, self.guest = low, high, delta, guest
        self.name = name
        """What stands before the names of its functions: nothing for the program itself."""

    @cached_property
    def _starts(self) -> list[int]:
        return sorted(self.guest.program.functions)

    def find(self, address: int) -> tuple[Function, Block] | None:
        """Return the function and the block that have an address."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        function = self.guest.program.functions[self._starts[index]]
        for block in function.blocks.values():
            if block.first_pc <= address < _end_of(block):
                return function, block
        return None

    def symbol(self, address: int) -> tuple[str, int] | None:
        """Return the name and start of the function at an address; a library that is only passed is not analysed."""
        if self.name:
            for symbol in self.guest.image.symbols:
                if symbol.type == "FUNC" and symbol.address <= address < symbol.address + max(4, symbol.size):
                    return symbol.name, symbol.address
        found = self.find(address)
        return (found[0].name, found[0].start) if found is not None else None


class _Code:
    """Finds files, functions and blocks by the guest's pc."""

    def __init__(self, guest: Guest, record: Record) -> None:
        self._known = {guest.image.identity: (guest, "")}
        opened = (self._open(found) for found in record.get("files", ()))
        self._files = [file for file in opened if file is not None]

    def _open(self, found: Record) -> _File | None:
        """Return the file of a record, if it is still there and as it was."""
        path, identity = os.fsdecode(found["path"].encode("latin-1")), found["identity"]
        if identity not in self._known:
            guest = guest_in(path, identity)
            if guest is None:
                return None
            self._known[identity] = guest, f"{os.path.basename(path)}:"
        return _File(found["low"], found["high"], found["delta"], *self._known[identity])

    def file(self, pc: int) -> _File | None:
        return next((file for file in self._files if file.low <= pc < file.high), None)

    def find(self, pc: int) -> tuple[_File, Function, Block] | None:
        """Return the file, the function and the block that have a pc."""
        file = self.file(pc)
        found = file.find(pc - file.delta) if file is not None else None
        return (file, *found) if file is not None and found is not None else None

    def place(self, pc: int) -> str:
        """Return a pc with the function it is in."""
        file = self.file(pc)
        found = file.symbol(pc - file.delta) if file is not None else None
        if file is None or found is None:
            return f"0x{pc:08x}"
        distance = pc - file.delta - found[1]
        return f"0x{pc:08x} <{file.name}{found[0]}{f'+0x{distance:x}' if distance else ''}>"

    def instruction(self, pc: int) -> str:
        """Return `address: assembly` of the instruction at a pc; the address is the one in its file."""
        found = self.find(pc)
        if found is not None:
            file, function, block = found
            for at, _, text in file.guest.block_lines(function, block):
                if at == pc - file.delta:
                    return f"{at:08x}: {text}" + (f"  # {file.name}{function.name}" if file.name else "")
        return f"{pc:08x}"


def _end_of(block: Block) -> int:
    """Return the pc behind a block, which may consist of a word that is no instruction."""
    return max(block.end_pc, block.first_pc + INSTRUCTION_BYTES)


def _point(code: _Code, point: Record) -> str:
    place = code.place(point["pc"])
    return {
        "start": f"the program's start at {place}",
        "call": f"the call of {place}",
        "place": f"control at {place}",
        "syscall": f"the system call at {place}",
        "exception": f"{_EXCEPTION_OF.get(point['detail'], 'an exception')} at {place}",
        "fault": f"the access to 0x{point['detail']:08x} at {place}, which faults",
    }[point["kind"]]


def _segments(record: Record) -> Iterator[tuple[int, int]]:
    """Yield the straight runs of code (first pc, last pc) that the interpreter went through, as far as is told."""
    path = record["path"]
    start = record["agreed"]["pc"] if record["jumps"] == len(path) else None
    for source, target in path:
        if start is not None:
            yield start, source + INSTRUCTION_BYTES  # with the delay slot
        start = target


def _blocks(code: _Code, record: Record) -> list[int]:
    """Return the guest's pcs of blocks the interpreter went through last, in order, each where it was last."""
    found: list[int] = []
    for first, last in _segments(record):
        pc = first
        while pc <= last and (place := code.find(pc)) is not None:
            file, _, block = place
            start = block.start + file.delta
            if start in found:
                found.remove(start)
            found.append(start)
            pc = _end_of(block) + file.delta
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
        found = code.find(source)
        if found is not None and found[2].end in (End.BRANCH, End.INDIRECT):
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
        wide = 2 * next(row.size_bytes for row in REGISTERS if name in row.names)
        text = f"  {name:5} lifted 0x{lifted[name]:0{wide}x}, interpreter 0x{interpreted[name]:0{wide}x}; "
        if entry["step"]:
            yield f"{text}the interpreter's by {code.instruction(entry['pc'])}"
        else:
            yield f"{text}the interpreter has not changed it since they agreed"


def _registers(record: Record) -> Iterator[str]:
    """Yield the general registers of both sides, four in a row; a star marks those that differ."""
    lifted, interpreted = record["lifted_registers"], record["interpreted_registers"]
    names = [name for row in REGISTERS if row.dumped for name in row.names]
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


def _disassembly(code: _Code, record: Record, suspect: int) -> Iterator[str]:
    """Yield the last blocks of the interpreter's way and that of the suspect; `>` marks what writes what differs."""
    writers = {entry["pc"] for entry in record["differ"]} | {suspect}
    bits = _differing_bits(record)
    starts = _blocks(code, record)[-BLOCKS_SHOWN:]
    own = code.find(suspect)
    if own is not None and own[2].start + own[0].delta not in starts:
        starts.insert(0, own[2].start + own[0].delta)
    for start in starts:
        found = code.find(start)
        assert found is not None
        file, function, block = found
        yield f"  {file.name}{function.name}, block {block.start:08x}:"
        lines = list(file.guest.block_lines(function, block))
        marked = {at for at, one, _ in lines if at + file.delta in writers or masks(one, 0)[1] & bits}
        yield from _shortened(lines, marked)


def _shortened(lines: list[tuple[int, Instruction, str]], marked: set[int]) -> Iterator[str]:
    """Yield instructions, `>` before those marked; of a long block what is near them and near its ends."""
    matter = {0, len(lines) - 1, *(number for number, line in enumerate(lines) if line[0] in marked)}
    last = -1
    for number, (at, instruction, text) in enumerate(lines):
        if all(abs(number - other) > LINES_AROUND for other in matter):
            continue
        if number > last + 1:
            yield "    ..."
        last = number
        yield f"  {'>' if at in marked else ' '} {at:08x}: {encoding_text(instruction)}  {text}"


def _reproduce(record: Record, found: tuple[_File, Function, Block] | None, arguments: argparse.Namespace) -> str:
    words = ["mipsrec", "verify"]
    if arguments.library is not None:
        words += ["--static-lib", arguments.library]
    elif found is not None:
        file, function, _ = found
        words += ["--function", file.name + (function.name if "," not in function.name else f"{function.start:x}")]
    for path in arguments.with_files:
        words += ["--with", path]
    if arguments.sysroot is not None:
        words += ["--sysroot", arguments.sysroot]
    memory = record.get("memory")
    if memory is not None and not memory["stored"]:
        words += ["--scan", "1"]
    words += [word for setting in arguments.environment for word in ("-E", setting)]
    for name in arguments.ignore:
        words += ["--ignore", name]
    for name, default in (("opt", "auto"), ("memory", "flat"), ("calls", "instrumented")):
        if getattr(arguments, name) != default:
            words += [f"--{name}", str(getattr(arguments, name))]
    return shlex.join([*words, *guest_words(arguments)])


def describe(guest: Guest, record: Record, arguments: argparse.Namespace) -> str:
    code = _Code(guest, record)
    suspect = _suspect(code, record)
    found = code.find(suspect)
    count = f"{record['points']:,} points and {record['instructions']:,} instructions"
    lines = [f"mipsrec verify: divergence after {count}"]
    if found is not None:
        file, function, block = found
        of = f" of {file.guest.image.path}, mapped 0x{file.delta % (1 << 32):x} higher" if file.name else ""
        lines.append(f"  in function {function.name} (0x{function.start:08x}), block 0x{block.start:08x}{of}")
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
    lines.append(f"  to see it again: {_reproduce(record, found, arguments)}")
    return "\n".join(map(one_line, lines))
