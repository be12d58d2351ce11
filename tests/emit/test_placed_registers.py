"""Handlers of faults in recompiled code find the registers that travel in host registers (guests/placed.c).

What the interpreter has at an access is right, and qemu-user agrees. LLVM may change the order of accesses within a
block, so a fault is compared with all of the same instruction, and registers that the function writes may be those of
another instruction of the block. Those that the function never writes are always right.
"""

from __future__ import annotations

import struct
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from mipsrec import pipeline
from mipsrec.analysis import End, Function
from mipsrec.flow.graph import WAITS, Graph
from mipsrec.flow.solve import Direction, Meet, reads_and_writes, solve
from mipsrec.isa import Instruction
from mipsrec.isa.effects import masks
from mipsrec.lift.convention import CARRIED, CARRIED_BITS
from mipsrec.state import CALLEE_SAVED, SP
from tests.support.compiled import BARE, ORDERS, QEMU, compile_guest, library_at
from tests.support.paths import GUESTS
from tests.support.tools import need

pytestmark = pytest.mark.sampled

SOURCE = GUESTS / "placed.c"
NOTE_WORDS = 34
NEVER_WRITTEN = tuple(number for number in CARRIED if number in (*CALLEE_SAVED, SP))
WRITES_NONE = ("leaf", "steps", "searches", "small", "tiny")
"""Functions without a frame, which are inlined in part. Loops of vectors are not among them: LLVM loses a register that
is in a vector register where it has to move that to the stack."""
LEAST_RIGHT = {"light": 0.995, 2: 0.94, 3: 0.94}
"""Of the registers that are live, and that the block does not write. Where LLVM has moved an access to another block,
or a loop of vectors a register to the stack, that is not so."""


class Note(NamedTuple):
    """A fault, as the guest's handler saw it."""

    pc: int
    address: int
    registers: tuple[int, ...]


class Guest:
    """The guest of one byte order, and the notes of the interpreter by pc."""

    def __init__(self, folder: Path, order: str) -> None:
        self.order = order
        options = [*BARE, "-mips32r2", f"-I{SOURCE.parent}"]
        self.path = compile_guest(folder, order, SOURCE.read_text(), *options)
        self.program = pipeline.open_guest(self.path)
        self.said = run(need(QEMU[order], "qemu-user"), self.path)
        self.by_pc: dict[int, list[Note]] = defaultdict(list)
        for note in self.notes(self.said):
            self.by_pc[note.pc].append(note)
        self.live: dict[int, int] = {}
        self.name: dict[int, str] = {}
        for function in self.program.program.functions.values():
            found = live_before(function)
            self.live |= found
            self.name |= dict.fromkeys(found, function.name)

    def notes(self, said: bytes) -> Iterator[Note]:
        words = struct.unpack(f"{'<' if self.order == 'little' else '>'}{len(said) // 4}I", said)
        for at in range(1, len(words), NOTE_WORDS):
            yield Note(words[at], words[at + 1], words[at + 2 : at + NOTE_WORDS])

    def wrong(self, note: Note, live: int) -> list[int]:
        """Return the registers of a note that are not as the most similar note of the same access has them."""
        found = [
            [number for number in CARRIED if live >> number & 1 and note.registers[number] != other.registers[number]]
            for other in self.by_pc[note.pc]
        ]
        return min(found, key=len)


def run(*command: str | Path) -> bytes:
    return subprocess.run(command, capture_output=True, timeout=600, check=True).stdout


def live_before(function: Function) -> dict[int, int]:
    """Return, by instruction, the bits of CARRIED that are read there or later, before they are written, and that its
    block does not write: LLVM may have changed the order of the block. Code outside may read all of them."""

    def bits(instruction: Instruction) -> tuple[int, int]:
        return masks(instruction, 0)

    graph = Graph.whole(function)
    ends = (*WAITS, End.RETURN, End.INDIRECT)
    leaves = {pc: CARRIED_BITS if function.blocks[pc].end in ends else 0 for pc in graph.order}
    transfers, written_in = {}, {}
    for pc in graph.order:
        read, written = reads_and_writes(function.blocks[pc], bits)
        written_in[pc] = written
        transfers[pc] = read | leaves[pc] & ~written, ~written
    live_in = solve(graph, Direction.BACKWARD, Meet.ANY, transfers, {})
    found = {}
    for pc in graph.order:
        block, now = function.blocks[pc], leaves[pc]
        for successor in graph.successors[pc]:
            now |= live_in[successor]
        for at, instruction in reversed(list(zip(block.pcs(), block.instructions(), strict=True))):
            read, written = bits(instruction)
            now = now & ~written | read
            found[at] = now & ~written_in[pc]
    return found


@pytest.fixture(scope="module", params=ORDERS)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Guest:
    return Guest(tmp_path_factory.mktemp("placed"), request.param)


@pytest.mark.parametrize("tier", [("--engine", "interp"), ("--threshold", "1")])
def test_exact_below(host: Path, guest: Guest, tier: tuple[str, ...]) -> None:
    """But for s0 in the caller of all, which has the address of its stack: that depends on the names of files."""
    said = list(guest.notes(run(host, *tier, guest.path)))
    expected = list(guest.notes(guest.said))
    assert [note[:2] for note in said] == [note[:2] for note in expected]
    for note, other in zip(said, expected, strict=True):
        differ = {n for n in range(1, 32) if note.registers[n] != other.registers[n] and n not in (26, 27)}
        assert differ <= {16}, (hex(note.pc), differ)


@pytest.mark.parametrize("level", ["light", 2, 3])
def test_recompiled(host: Path, guest: Guest, tmp_path: Path, level: int | str) -> None:
    said = run(host, "--library", library_at(guest.program, tmp_path, level), guest.path)
    assert said[:4] == guest.said[:4]
    count = right = 0
    for note in guest.notes(said):
        if note.pc not in guest.by_pc:
            continue  # in this order, it comes right after another access of the same page
        name, live = guest.name[note.pc], guest.live[note.pc]
        wrong = guest.wrong(note, live)
        if name in WRITES_NONE:
            assert not set(wrong) & set(NEVER_WRITTEN), (name, hex(note.pc), wrong)
        if name != "interprets":  # no register tells its iterations apart
            count += bin(live).count("1")
            right += bin(live).count("1") - len(wrong)
    assert count > 5000
    assert right / count > LEAST_RIGHT[level]
