"""Vectorising: what an iteration of a loop does, and which loops perform several of them together."""

from __future__ import annotations

import pytest

from mipsrec.isa.effects import ALL_BITS
from tests.lift.plans import Snippets

SCALE = """
1:  lwc1  $f2, 0($4)
    mul.s $f2, $f2, $f12
    swc1  $f2, 0($5)
    addiu $4, $4, 4
    addiu $5, $5, 4
    bne   $4, $6, 1b
    nop
    jr    $31
    nop
"""
SUM = """
1:  lwc1  $f2, 0($4)
    lwc1  $f4, 0($5)
    mul.s $f2, $f2, $f4
    add.s $f0, $f0, $f2
    addiu $4, $4, 4
    addiu $5, $5, 4
    bne   $4, $8, 1b
    nop
    jr    $31
    nop
"""
SNIPPETS = Snippets(
    {
        "scale": SCALE,
        "integers": SCALE.replace("lwc1  $f2", "lw $8").replace("swc1  $f2", "sw $8").replace("mul.s", "# mul.s"),
        "only_loads": SCALE.replace("swc1", "lwc1"),
        "carried": SCALE.replace("mul.s $f2, $f2", "add.s $f12, $f2").replace("swc1  $f2", "swc1 $f12"),
        "sum": SUM,
        "in_memory": SUM.replace("add.s $f0, $f0, $f2", "lwc1 $f0, 0($6)\n add.s $f0, $f0, $f2\n swc1 $f0, 0($6)"),
        "only_sum": SUM.replace("mul.s", "# mul.s"),
        "sum_in_words": SUM.replace("add.s $f0, $f0, $f2", "mtc1 $7, $f0\n add.s $f0, $f0, $f2\n mfc1 $7, $f0"),
        "bits_of_sum": SUM.replace("add.s $f0", "cvt.s.w $f0, $f0\n add.s $f0"),
        "half_carried": SUM.replace("add.s $f0, $f0, $f2", "mov.s $f6, $f0\n add.d $f0, $f0, $f2\n"),
        "loaded_twice": SUM.replace("add.s", "lwc1 $f0, 0($6)\n swc1 $f2, 0($6)\n lwc1 $f2, 0($6)\n add.s"),
        "strided_sum": SUM.replace("addiu $5, $5, 4", "addiu $5, $5, 8").replace("mul.s $f2, $f2, $f4",
            "mul.s $f2, $f2, $f4\n mul.s $f2, $f2, $f4"),
        "overlaps": SCALE.replace("addiu $5, $5, 4", "nop").replace("swc1  $f2, 0($5)", "swc1 $f2, 4($4)"),
        "steps_sp": SCALE.replace("addiu $5, $5, 4", "addiu $5, $5, 4\n addiu $29, $29, 4"),
        "strided": SCALE.replace("addiu $5, $5, 4", "addiu $5, $5, 8"),
        "uncountable": SCALE.replace("bne   $4, $6", "bne $0, $6"),
        "may_go_on_for_long": SUM.replace("0($5)", "4($30)").replace("addiu $5, $5, 4", "nop").replace("$4", "$30"),
        "walks": SUM.replace("0($5)", "4($16)").replace("addiu $5, $5, 4", "nop").replace("$4", "$16"),
        "two_blocks": SCALE.replace("addiu $4", "beqz $7, 2f\n nop\n addiu $7, $7, 1\n 2: addiu $4"),
        "calls": SCALE.replace("addiu $4", "syscall\n addiu $4"),
        "traps": SCALE.replace("addiu $4", "teq $7, $8\n addiu $4"),
        "no_loop": "mul.s $f2, $f2, $f12\n swc1 $f2, 0($5)\n jr $31\n nop",
    }
)  # fmt: skip


def test_vectorized() -> None:
    plan = SNIPPETS.plan("scale")
    (iteration,) = plan.vectorized.values()
    assert list(plan.vectorized) == [plan.function.start]
    assert iteration.advances == {4: 4, 5: 4}
    assert [step.name for step in iteration.steps] == ["load", "register", "mul"]


def test_sum_in_order() -> None:
    (iteration,) = SNIPPETS.plan("sum").vectorized.values()
    assert [step.name for step in iteration.steps] == ["load", "load", "mul", "register", "add"]
    assert (iteration.carried, iteration.serial, iteration.cells()) == ({3: 4}, {3, 4}, [])
    assert iteration.taken_in() == {4}


def test_sum_in_memory() -> None:
    (iteration,) = SNIPPETS.plan("in_memory").vectorized.values()
    assert [access.address.terms for access in iteration.cells()] == [((6, 1),)]
    assert not iteration.stores


def test_only_a_loop_that_ends() -> None:
    """A load by fp, which LLVM may drop, does not end a loop; one by another register does."""
    assert SNIPPETS.plan("walks").vectorized and not SNIPPETS.plan("may_go_on_for_long").vectorized


def test_strided_sum_by_byte_order() -> None:
    assert not SNIPPETS.plan("strided_sum").vectorized
    assert SNIPPETS.plan("strided_sum", "big").vectorized


@pytest.mark.parametrize("name", [
    "integers", "only_loads", "carried", "only_sum", "sum_in_words", "bits_of_sum", "half_carried", "loaded_twice",
    "overlaps", "steps_sp", "strided", "uncountable", "two_blocks", "calls", "traps", "no_loop",
])  # fmt: skip
def test_not_vectorized(name: str) -> None:
    assert SNIPPETS.plan(name).vectorized == {}


def test_off() -> None:
    assert SNIPPETS.plan("scale", memory="paged").vectorized == {}
    assert SNIPPETS.plan("scale", memory_resident=ALL_BITS).vectorized == {}
