"""Between two places the guest performs what the shortest way through its control-flow graph has."""

from __future__ import annotations

import pytest

from mipsrec.mix.guest_code import FileCode, Place
from mipsrec.mix.guest_way import Ways
from tests.support.assembler import assembled_guest

PROGRAM = """
    .text
__start:
    addiu $s0, $zero, 9
loop:
    addiu $s0, $s0, -1
    beq $a0, $zero, over
    nop
    addiu $s1, $s1, 1
    addiu $s1, $s1, 1
over:
    jal leaf
    nop
    bne $s0, $zero, loop
    nop
    jal far
    nop
    syscall
leaf:
    addiu $v0, $zero, 1
    jr $ra
    nop
far:
    beql $a0, $zero, end
    addiu $v0, $v0, 1
    addiu $v0, $v0, 2
end:
    jr $ra
    nop
"""


@pytest.fixture(scope="module")
def code() -> FileCode:
    return FileCode(assembled_guest(PROGRAM, "little"))


def at(code: FileCode, index: int, behind: bool = False) -> Place:
    """The place before the instruction of an index in the program, or behind the block that it is in."""
    start = min(code.functions)
    found = code.at(start + 4 * index)
    assert found is not None
    function, block = found
    number = block.instruction_count() if behind else block.pcs().index(start + 4 * index)
    return Place(code, function.start, block.start, number)


@pytest.mark.parametrize(
    "before, place, count",
    [
        ((0,), (1,), 1),
        ((1,), (2,), 1),
        ((2, True), (8, True), None),  # by over, leaf and back
        ((4,), (6,), 2),
        ((8, True), (2, True), 3),  # round the loop, from jump to jump
        ((8, True), (10, True), 2),
        ((13, True), (8, True), 2),  # from leaf's return
        ((10, True), (16, True), 1),  # the slot of a branch-likely is a block of its own
    ],
)
def test_ways(code: FileCode, before: tuple[int, bool], place: tuple[int, bool], count: int | None) -> None:
    ways = Ways()
    expected = 2 + 3 + 2 if count is None else count
    assert ways.passed(at(code, *before), at(code, *place)) == expected
    assert ways.passed(at(code, *before), at(code, *place)) == expected


def test_a_place_in_another_file_has_no_way(code: FileCode) -> None:
    other = FileCode(assembled_guest(PROGRAM, "big"))
    assert Ways().passed(at(code, 0), at(other, 1)) is None


def test_offsets_of_the_file(code: FileCode) -> None:
    start = min(code.functions)
    (offset,) = (offset for offset in range(0, 1 << 13, 4) if code.pc(offset) == start)
    assert code.pc(offset + 8) == start + 8
    assert code.pc(1 << 30) is None
