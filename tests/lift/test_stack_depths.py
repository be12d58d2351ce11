"""How far below its entry a function has sp, where that is the same on all ways."""

from __future__ import annotations

import pytest

from mipsrec import pipeline
from mipsrec.flow.graph import Graph
from mipsrec.lift.facts.stack_depths import DEEPEST, stack_depths
from tests.support.compiled import BARE, compile_guest

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
    "deepest": (
        2 * "addiu $sp, $sp, -32764\n" + "addiu $sp, $sp, -4\n" + RETURNS,
        [0, 32764, 65528, DEEPEST, DEEPEST],
    ),
}
"""Depths in the order of addresses."""
UNKNOWN = {
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


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> pipeline.Guest:
    bodies = {name: body for name, (body, _) in KNOWN.items()} | UNKNOWN
    text = "".join(
        f".globl {name}\n.ent {name}\n.type {name},@function\n{name}:\n{body}\n.end {name}\n.size {name}, . - {name}\n"
        for name, body in bodies.items()
    )
    lines = "".join(f'"{line}\\n"\n' for line in f".text\n.set noreorder\n{text}.set reorder".splitlines())
    source = f"__asm__(\n{lines});\nvoid __start(void) {{ for (;;); }}\n"
    return pipeline.open_guest(compile_guest(tmp_path_factory.mktemp("depths"), "little", source, *BARE, "-mips32r2"))


def depths(guest: pipeline.Guest, name: str) -> dict[int, int]:
    function = guest.functions_named([name])[0]
    return stack_depths(Graph.reached(function, [function.start]))


@pytest.mark.parametrize("name", KNOWN)
def test_known(guest: pipeline.Guest, name: str) -> None:
    found = depths(guest, name)
    assert [depth for _, depth in sorted(found.items())] == KNOWN[name][1]


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown(guest: pipeline.Guest, name: str) -> None:
    assert depths(guest, name) == {}


def test_other_entries(guest: pipeline.Guest) -> None:
    """A function that is entered in the middle has sp there as it comes."""
    function = guest.functions_named(["both_ways"])[0]
    assert stack_depths(Graph.reached(function, list(function.blocks))) == {}
