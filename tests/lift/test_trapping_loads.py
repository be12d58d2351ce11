"""Trapping loads: loads whose fault is all that they do stay, and no others are marked."""

from __future__ import annotations

import pytest

from tests.lift.plans import Snippets, marked

RETURN = "jr $31\n nop"
CODE = Snippets(
    {
        # the load is marked
        "overwritten": f"lw $8, 0($4)\n li $8, 1\n move $2, $8\n {RETURN}",
        "returns_first": f"lw $8, 0($4)\n {RETURN}",
        "result": f"lw $2, 0($4)\n {RETURN}",
        "calls_first": "move $16, $31\n lw $8, 0($4)\n jal result\n nop\n addu $2, $2, $8\n jr $16\n nop",
        "read_on_one_way": f"lw $8, 0($4)\n beqz $5, 1f\n nop\n move $2, $8\n 1: {RETURN}",
        "read_later_on_one_way": f"lw $8, 0($4)\n b 1f\n nop\n 1: beqz $5, 2f\n nop\n move $2, $8\n 2: {RETURN}",
        "leaves_by_likely_branch": f"lw $8, 0($4)\n beqzl $5, result\n nop\n move $2, $8\n {RETURN}",
        "in_slot": f"beqz $5, 1f\n lw $8, 0($4)\n 1: {RETURN}",
        "in_likely_slot": f"beqzl $5, 1f\n lw $8, 0($4)\n move $2, $8\n 1: {RETURN}",
        "float": f"lwc1 $f2, 0($4)\n {RETURN}",
        # nothing is
        "read": f"lw $8, 0($4)\n move $2, $8\n {RETURN}",
        "read_on_both_ways": f"lw $8, 0($4)\n beqz $5, 1f\n nop\n move $2, $8\n {RETURN}\n 1: move $3, $8\n {RETURN}",
        "read_by_slot": "lw $8, 0($4)\n jr $31\n move $2, $8",
        "read_by_likely_slot": f"lw $8, 0($4)\n b 1f\n nop\n 1: beqzl $5, 2f\n move $2, $8\n move $2, $8\n 2: {RETURN}",
        "read_by_branch": f"lw $8, 0($4)\n beqz $8, 1f\n nop\n 1: {RETURN}",
        "read_in_likely_slot": f"beqzl $5, 1f\n lw $8, 0($4)\n {RETURN}\n 1: move $2, $8\n {RETURN}",
        "shown_by_a_call_of_the_kernel": f"lw $8, 0($4)\n syscall\n {RETURN}",
        "of_the_frame": f"lw $8, 0($29)\n lw $9, 0($30)\n {RETURN}",
        "without_loads": f"sw $8, 0($4)\n {RETURN}",
    }
)


@pytest.mark.parametrize(
    "name",
    ["overwritten", "returns_first", "calls_first", "read_on_one_way", "read_later_on_one_way",
     "leaves_by_likely_branch", "in_slot", "in_likely_slot"],
)  # fmt: skip
def test_marked(name: str) -> None:
    assert marked(CODE.plan(name), "volatile") == ["lw t0, 0(a0)"]


def test_result_of_the_function() -> None:
    assert marked(CODE.plan("result"), "volatile") == ["lw v0, 0(a0)"]


def test_float() -> None:
    assert marked(CODE.plan("float"), "volatile") == ["lwc1 $f2, 0(a0)"]


@pytest.mark.parametrize(
    "name",
    ["read", "read_on_both_ways", "read_by_slot", "read_by_likely_slot", "read_by_branch", "read_in_likely_slot",
     "shown_by_a_call_of_the_kernel", "of_the_frame", "without_loads"],
)  # fmt: skip
def test_not_marked(name: str) -> None:
    assert marked(CODE.plan(name), "volatile") == []
