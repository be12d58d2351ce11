"""What analysis costs: calls of functions and memory for each instruction, counted."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from mipsrec.analysis import Block, Program, analyze
from mipsrec.elf import load_elf
from mipsrec.memory import AddressSpace
from tests.support.counting import counted_calls, counted_lines
from tests.support.tiny_elf import PT_LOAD, TinyElf

FUNCTION = [  # addiu sp; sw ra; beq; addu (slot); jal next; nop; lw; sltu; bne; addiu (slot); jr ra; addiu sp
    0x27BDFFE0, 0xAFBF001C, 0x10800003, 0x00851021, None, 0x00000000, 0x8FBF001C, 0x0082182B, 0x1460FFFB, 0x24420001,
    0x03E00008, 0x27BD0020,
]  # fmt: skip


def synthetic(folder: Path, count: int) -> Path:
    """Return a program of `count` functions that call each other."""
    base = 0x400000
    words = []
    for number in range(count):
        target = base + 48 * ((number * 7919 + 1) % count)
        words += [0x0C000000 | target >> 2 if word is None else word for word in FUNCTION]
    path = folder / f"{count}.elf"
    data = struct.pack(f">{len(words)}I", *words)
    path.write_bytes(TinyElf(">", entry=base, segments=[(PT_LOAD, base, data, len(data), 5)]).build())
    return path


def cost(path: Path) -> tuple[int, int, Program]:
    """Return the calls of functions in an analysis, its instructions, and what it found."""
    image = load_elf(path)
    with counted_calls() as calls:
        program = analyze(image, AddressSpace(image))
    return calls[0], sum(f.instruction_count() for f in program.functions.values()), program


def test_work_is_linear(tmp_path: Path) -> None:
    """Ten times the instructions cost at most a tenth more each."""
    small, large = cost(synthetic(tmp_path, 1_000)), cost(synthetic(tmp_path, 10_000))
    assert small[1] == 12_000 and large[1] == 120_000
    print(f"{small[0] / small[1]:.2f} and {large[0] / large[1]:.2f} calls an instruction")
    assert large[0] / large[1] < 1.1 * small[0] / small[1]


def test_memory_is_bounded(tmp_path: Path) -> None:
    """Less than 400 bytes of Python objects an instruction."""
    image = load_elf(synthetic(tmp_path, 4_000))
    tracemalloc.start()
    program = analyze(image, AddressSpace(image))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(program.functions) == 4_000 and peak < 400 * 48_000, peak / 48_000


def tables_that_overlap(folder: Path, jump_count: int, entry_count: int) -> Path:
    """Return a program of many jumps through one table, whose entries are all of them."""
    start = 0x00401000
    table = start + 36 * jump_count + 64
    code = b""
    for index in range(jump_count):
        rest = (jump_count - index) * 9 - 2
        code += struct.pack(
            "<9I", 0x2C820000 | entry_count, 0x10400000 | rest & 0xFFFF, 0x00041080,
            0x3C030000 | (table + 0x8000) >> 16, 0x00431021, 0x8C420000 | table & 0xFFFF, 0, 0x00400008, 0,
        )  # fmt: skip
    code = (code + struct.pack("<2I", 0x03E00008, 0)).ljust(table - start, b"\0")
    code += b"".join(struct.pack("<I", start + 36 * (index % jump_count)) for index in range(entry_count))
    path = folder / f"tables-{jump_count}"
    path.write_bytes(TinyElf(order="<", entry=start, segments=[(PT_LOAD, start, code, len(code), 5)]).build())
    return path


@pytest.mark.parametrize("jump_count", [1_000, 6_000])
def test_overlapping_tables_cost_no_more_than_the_file(jump_count: int, tmp_path: Path) -> None:
    """They multiplied: 1,500 jumps through one table of 4,000 were six million cases in 800 MB.

    Of 6,000 jumps most are in a gap, each found after the one before it: a look at all others each time took 18 s.
    """
    path = tables_that_overlap(tmp_path, jump_count, 4_000)
    calls, instructions, program = cost(path)
    assert calls < 200 * instructions
    tables = [table.cases for function in program.functions.values() for table in function.jump_tables.values()]
    assert sum(map(len, set(tables))) <= 1 << 16 and sum(map(len, tables)) <= 1 << 17


RETURN = [0x03E00008, 0x00000000]  # jr ra; nop
ENTRY = [0x24020FA1, 0x0000000C, *RETURN]  # addiu v0; syscall


def chain(count: int) -> list[int]:
    """Functions one behind the other that only call the entry: each is found when the one before it has been."""
    return [*ENTRY, *([0x27BDFFE0, 0xAFBF001C, 0x0C100000, 0, 0x8FBF001C, *RETURN] * count)]


def onion(count: int) -> list[int]:
    """Functions within functions: each jumps over all that lie within it to its end."""
    heads = [word for depth in range(count) for word in (0x10000000 | 4 * (count - depth) - 3 & 0xFFFF, 0)]
    return [*ENTRY, *heads, *(RETURN * count)]


def combs(count: int) -> list[int]:
    """Functions that branch from one to the next but one, so that each is an entry from outside."""
    return [*ENTRY, *([0x10800006, 0, *RETURN] * count), *(RETURN * 8)]


def tails(count: int) -> list[int]:
    """Functions that end in a jump to the one before; the first saves what setjmp saves."""
    saves = [0xAC800000 | (16 + n) << 16 | 4 * n for n in range(8)]  # sw s0, 0(a0) and so on
    starts = [0x400010, *range(0x400038, 0x400038 + 8 * count, 8)]
    return [
        *ENTRY,
        *saves,
        *RETURN,
        *(word for start in starts[:count] for word in (0x08000000 | start >> 2 & 0x3FFFFFF, 0)),
    ]


@pytest.mark.parametrize("shape", [chain, onion, combs, tails])
def test_code_that_nothing_refers_to_costs_no_more_than_other(
    shape: Callable[[int], list[int]], tmp_path: Path
) -> None:
    """Each look at all that is known already made analysis of 20,000 such functions take a minute."""
    costs = []
    for count in (500, 2_000):
        words = shape(count)
        path = tmp_path / str(count)
        data = struct.pack(f">{len(words)}I", *words)
        path.write_bytes(TinyElf(">", entry=0x400000, segments=[(PT_LOAD, 0x400000, data, len(data), 5)]).build())
        image = load_elf(path)
        with counted_lines() as lines:
            program = analyze(image, AddressSpace(image))
        assert len({pc for f in program.functions.values() for b in f.blocks.values() for pc in _pcs(b)}) == len(words)
        costs.append(lines[0] / len(words))
    print("lines of Python an instruction:", costs)
    assert costs[1] < 1.1 * costs[0]


def _pcs(block: Block) -> range:
    return range(block.start, block.start + 4 * block.instruction_count(), 4)
