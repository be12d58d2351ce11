"""Polled loads: a spin load loses its mark where each cycle through its block has a safepoint."""

from __future__ import annotations

import pytest

from tests.lift.plans import Snippets, marked

RETURN = "jr $31\n nop"
CODE = Snippets(
    {
        "waits": f"1: lw $8, 0($4)\n beqz $8, 1b\n nop\n {RETURN}",
        "waits_in_two_blocks": f"1: lw $8, 0($4)\n bnez $8, 2f\n nop\n b 1b\n nop\n 2: {RETURN}",
        "float": f"1: lwc1 $f2, 0($4)\n lw $8, 4($4)\n beqz $8, 1b\n nop\n {RETURN}",
        "counts": f"1: lw $8, 0($4)\n addiu $9, $9, 1\n bne $9, $5, 1b\n nop\n {RETURN}",
        "counts_inside": f"""
            1: move  $9, $0
            2: lw    $8, 0($4)
               addiu $9, $9, 1
               bne   $9, $5, 2b
               nop
               lw    $10, 4($4)
               beqz  $10, 1b
               nop
               {RETURN}""",
        "no_loop": f"lw $8, 0($4)\n {RETURN}",
    }
)


@pytest.mark.parametrize("name", ["waits", "waits_in_two_blocks", "float"])
def test_loop_with_a_safepoint(name: str) -> None:
    plan = CODE.plan(name)
    assert plan.safepoints.edges
    assert marked(plan, "spin") == []


def test_loop_that_ends_by_itself() -> None:
    plan = CODE.plan("counts")
    assert not plan.safepoints.edges
    assert marked(plan, "spin") == ["lw t0, 0(a0)"]


def test_inner_loop_without_a_safepoint() -> None:
    plan = CODE.plan("counts_inside")
    assert plan.safepoints.edges
    assert marked(plan, "spin") == ["lw t0, 0(a0)"]


def test_no_loop() -> None:
    assert marked(CODE.plan("no_loop"), "spin") == []
