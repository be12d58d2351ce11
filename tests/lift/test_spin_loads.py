"""Spin loads: loads that may wait for another writer are marked, and no others."""

from __future__ import annotations

import pytest

from tests.lift.plans import R, Snippets, marked

RETURN = "jr $31\n nop"
CODE = Snippets(
    {
        "same_address": f"1: lw $8, 0($4)\n beqz $8, 1b\n nop\n {RETURN}",
        "made_anew": f"1: lui $9, 0x50\n addu $9, $9, $5\n lw $8, 0($9)\n beqz $8, 1b\n nop\n {RETURN}",
        "made_of_what_is_made_anew": f"""
            1: addu $10, $9, $5
               sll  $9, $5, 2
               lw   $8, 0($10)
               beqz $8, 1b
               nop
               {RETURN}""",
        "in_slot": f"1: addiu $9, $9, 1\n bne $9, $5, 1b\n lb $8, 0($4)\n {RETURN}",
        "two_blocks": f"1: lw $8, 0($4)\n bnez $8, 2f\n nop\n b 1b\n nop\n 2: {RETURN}",
        "float": f"1: lwc1 $f2, 0($4)\n addiu $9, $9, 1\n bne $9, $5, 1b\n nop\n {RETURN}",
        # nothing is marked
        "steps": f"1: lw $8, 0($4)\n beqz $8, 1b\n addiu $4, $4, 4\n {RETURN}",
        "made_of_what_steps": f"1: addu $9, $4, $6\n lw $8, 0($9)\n beqz $8, 1b\n addiu $6, $6, 4\n {RETURN}",
        "no_loop": f"lw $8, 0($4)\n beqz $8, 1f\n nop\n 1: {RETURN}",
        "calls": "move $16, $31\n 1: lw $8, 0($17)\n jal steps\n nop\n beqz $8, 1b\n nop\n jr $16\n nop",
        "calls_the_kernel": f"1: lw $8, 0($4)\n syscall\n beqz $8, 1b\n nop\n {RETURN}",
        "stores": f"1: sw $8, 0($4)\n addiu $8, $8, 1\n bne $8, $5, 1b\n nop\n {RETURN}",
        "base_is_loaded": f"1: lw $9, 0($4)\n lw $8, 0($9)\n beqz $8, 1b\n addiu $4, $4, 4\n {RETURN}",
        "base_is_loaded_on_one_way": f"""
            1: lw    $8, 0($9)
               bnez  $8, 2f
               move  $9, $5
               b     1b
               lw    $9, 0($7)
            2: {RETURN}""",
    }
)


@pytest.mark.parametrize(
    ("name", "load"),
    [
        ("same_address", "lw t0, 0(a0)"),
        ("made_anew", "lw t0, 0(t1)"),
        ("made_of_what_is_made_anew", "lw t0, 0(t2)"),
        ("in_slot", "lb t0, 0(a0)"),
        ("two_blocks", "lw t0, 0(a0)"),
        ("float", "lwc1 $f2, 0(a0)"),
    ],
)
def test_marked(name: str, load: str) -> None:
    assert marked(CODE.plan(name, last="spin-loads"), "spin") == [load]


@pytest.mark.parametrize(
    "name",
    ["steps", "made_of_what_steps", "no_loop", "calls", "calls_the_kernel", "stores", "base_is_loaded"],
)
def test_not_marked(name: str) -> None:
    assert marked(CODE.plan(name, last="spin-loads"), "spin") == []


def test_base_is_loaded_on_one_way() -> None:
    assert marked(CODE.plan("base_is_loaded_on_one_way", last="spin-loads"), "spin") == ["lw t1, 0(a3)"]


def test_changing_registers() -> None:
    plan = CODE.plan("made_of_what_steps", last="spin-loads")
    (changing,) = plan.changing.values()
    assert changing == R[6] | R[8] | R[9]
    assert CODE.plan("no_loop", last="spin-loads").changing == CODE.plan("calls", last="spin-loads").changing == {}
