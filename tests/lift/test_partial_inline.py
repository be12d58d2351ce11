"""Partial inlining: recursive functions that return at once do so in place of calls, where nothing else can happen."""

from __future__ import annotations

import pytest

from mipsrec.lift.facts.partial_inline import MAX_INSTRUCTIONS, find_partial_inline
from tests.lift.plans import R, Snippets, text_of

BASE = """
    addiu $29, $29, -32
    sw    $31, 28($29)
    sw    $16, 24($29)
    slti  $8, $4, 2
    bnez  $8, 1f
    move  $16, $4
    jal   NAME
    addiu $4, $4, -1
    addu  $2, $2, $16
    b     3f
    nop
3:  lw    $31, 28($29)
    lw    $16, 24($29)
    jr    $31
    addiu $29, $29, 32
1:  lw    $31, 28($29)
    lw    $16, 24($29)
    jr    $31
    addiu $29, $29, 32
"""
LONG = "\n".join(["addiu $9, $9, 1"] * (MAX_INSTRUCTIONS - 5))
INLINED = {
    "base": BASE,
    "branch_to_the_rest": BASE.replace("bnez  $8, 1f", "beqz $8, 2f").replace(
        "jal ", "lw $31, 28($29)\n lw $16, 24($29)\n jr $31\n addiu $29, $29, 32\n 2: jal "
    ),
    "other_accesses": BASE.replace("slti", "lw $9, 0($5)\n slti"),
    "nearly_too_long": BASE.replace("slti", f"{LONG[:-16]}\n slti"),
}
NOT_INLINED = {
    "likely": BASE.replace("bnez ", "bnezl"),
    "decided_by_a_load": BASE.replace("slti  $8, $4, 2", "lw $9, 0($5)\n slti $8, $9, 2"),
    "decided_by_sp": BASE.replace("slti  $8, $4, 2", "slt $8, $4, $29"),
    "traps": BASE.replace("slti", "teq $4, $5\n slti"),
    "calls_the_host": BASE.replace("slti", "rdhwr $9, $2\n slti"),
    "floats": BASE.replace("slti", "mtc1 $4, $f2\n slti"),
    "too_long": BASE.replace("slti", f"{LONG}\n slti"),
    "none_returns": BASE.replace("1:  lw    $31", "1: beqz $4, 3b\n nop\n lw $31"),
    "both_return": BASE.replace("jal   NAME", "lw $31, 28($29)\n jr $31\n addiu $29, $29, 32\n jal NAME"),
    "no_branch": BASE.replace("bnez  $8, 1f", "b 4f").replace("jal ", "4: beqz $8, 1f\n nop\n jal "),
}
CODE = Snippets(
    {
        **{name: text.replace("NAME", name) for name, text in (INLINED | NOT_INLINED).items()},
        "calls_both": BASE.replace("jal   NAME", "jal base\n nop\n jal calls_both"),
    }
)


@pytest.mark.parametrize("name", INLINED)
def test_inlined(name: str) -> None:
    plan = CODE.plan(name, body=True)
    found = plan.partial_inline
    assert found is not None
    assert found.first.start == plan.function.start and found.last.end.value == "return"
    assert found.taken == (name != "branch_to_the_rest")
    (site,) = [site for site in plan.sites.values() if site.inlined is not None]
    assert [copy.block for copy in site.inlined] == [found.first, found.last]
    assert all(copy.is_inlined for copy in site.inlined)


def test_what_it_depends_on() -> None:
    plan = CODE.plan("base", body=True)
    found = plan.partial_inline
    assert found is not None
    first = plan.blocks[plan.function.start]
    assert [text_of(op) for op in first.ops if (op.pc, op.instruction) in found.test] == ["slti t0, a0, 2"]
    assert found.reads == R[4] | R[16] | R[29] | R[31]
    assert found.writes == R[8] | R[16] | R[29] | R[31]


@pytest.mark.parametrize("name", NOT_INLINED)
def test_not_inlined(name: str) -> None:
    plan = CODE.plan(name, body=CODE.guest().starts[CODE.guest().function(name).start].frame is not None)
    assert plan.partial_inline is None and find_partial_inline(plan.function) is None
    assert all(site.inlined is None for site in plan.sites.values())


def test_calls_of_other_functions_are_made() -> None:
    plan = CODE.plan("calls_both", body=True)
    inlined = [plan.graph.blocks[pc].target for pc, site in plan.sites.items() if site.inlined is not None]
    assert inlined == [plan.function.start]


def test_off_without_a_body() -> None:
    plan = CODE.plan("base")
    assert plan.partial_inline is None
    assert all(site.inlined is None for site in plan.sites.values())
