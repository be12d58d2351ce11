"""How far below its entry a function has sp, where that is the same on all ways."""

from __future__ import annotations

import pytest

from mipsrec.lift.convention import SP_BIT
from mipsrec.lift.facts.stack_depths import DEEPEST
from tests.lift.plans import Snippets

RETURNS = "jr $ra\n nop"
KNOWN = {
    "leaf": (RETURNS, [0, 0]),
    "frame": (
        "addiu $sp, $sp, -32\n jal leaf\n sw $ra, 28($sp)\n lw $ra, 28($sp)\n jr $ra\n addiu $sp, $sp, 32",
        [0, 32, 32, 32, 32, 32],
    ),
    "in_slot": ("jal leaf\n addiu $sp, $sp, -8\n jr $ra\n addiu $sp, $sp, 8", [0, 0, 8, 8]),
    "twice": ("addiu $sp, $sp, -8\n addiu $sp, $sp, -8\n jr $ra\n addiu $sp, $sp, 16", [0, 8, 16, 16]),
    "both_ways": (
        "beqz $a0, 1f\n addiu $sp, $sp, -8\n lw $v0, 0($sp)\n 1: jr $ra\n addiu $sp, $sp, 8",
        [0, 0, 8, 8, 8],
    ),
    "behind_a_call": (
        "bgtz $a0, 1f\n addiu $sp, $sp, -8\n jal leaf\n addiu $sp, $sp, -8\n 1: jr $ra\n addiu $sp, $sp, 8",
        [0, 0, 8, 8, 8, 8],
    ),
    "deepest": (
        2 * "addiu $sp, $sp, -32764\n" + "addiu $sp, $sp, -4\n" + RETURNS,
        [0, 32764, 65528, DEEPEST, DEEPEST],
    ),
}
"""Depths in the order of addresses."""
UNKNOWN = {
    "behind_a_call_on_condition": (
        "bgtz $a0, 1f\n addiu $sp, $sp, -8\n bltzal $a1, leaf\n addiu $sp, $sp, -8\n 1: addiu $sp, $sp, 8\n" + RETURNS
    ),
    "one_way": "beqz $a0, 1f\n nop\n addiu $sp, $sp, -8\n 1: lw $v0, 0($sp)\n" + RETURNS,
    "taken_way": "beqzl $a0, 1f\n addiu $sp, $sp, -8\n nop\n 1: lw $v0, 0($sp)\n" + RETURNS,
    "by_register": "subu $sp, $sp, $a0\n" + RETURNS,
    "moved": "move $sp, $a0\n" + RETURNS,
    "loaded": "lw $sp, 0($a0)\n" + RETURNS,
    "above": "addiu $sp, $sp, 8\n" + RETURNS,
    "in_loop": "1: addiu $sp, $sp, -8\n bnez $a0, 1b\n addiu $a0, $a0, -1\n" + RETURNS,
    "odd": "addiu $sp, $sp, -6\n" + RETURNS,
    "too_deep": 3 * "addiu $sp, $sp, -32764\n" + RETURNS,
}


CODE = Snippets({name: body for name, (body, _) in KNOWN.items()} | UNKNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_known(name: str) -> None:
    found = CODE.plan(name).stack_depths
    assert [depth for _, depth in sorted(found.items())] == KNOWN[name][1]


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown(name: str) -> None:
    assert CODE.plan(name).stack_depths == {}


def test_other_entries() -> None:
    """A function that is entered in the middle has sp there as it comes."""
    assert CODE.plan("both_ways", entries=(0, 3)).stack_depths == {}


def test_sp_in_the_state() -> None:
    assert CODE.plan("twice", memory_resident=SP_BIT).stack_depths == {}
