"""Scalar promotion: words that loops change are variables, and their accesses know these."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mipsrec.isa.effects import ALL_BITS
from mipsrec.lift.check import findings
from mipsrec.lift.ir import FunctionPlan, Op
from tests.lift.plans import Snippets, marked

SUM = """
    lw    $8, 0($29)
1:  lw    $8, 0($29)
    addiu $8, $8, 3
    sw    $8, 0($29)
    addiu $4, $4, -1
    bnez  $4, 1b
    nop
    jr    $31
    nop
"""
CODE = Snippets(
    {
        "sum": SUM,
        "long": SUM.replace("addiu $4", "addiu $9, $9, 1\n" * 128 + "addiu $4"),
        "by_pointer_with_a_safepoint": SUM.replace("$29", "$5").replace("bnez  $4", "bltz $8"),
        "on_the_stack_with_a_safepoint": SUM.replace("bnez  $4", "bltz $8"),
        "no_loop": "lw $8, 0($29)\n sw $8, 0($29)\n jr $31\n nop",
    }
)


def test_accesses_of_a_variable() -> None:
    plan = CODE.plan("sum")
    (loop,) = plan.promoted.values()
    assert [(one.base, one.displacement, one.type) for one in loop.variables] == [(29, 0, "word")]
    assert [text.split()[0] for text in marked(plan, "promoted")] == ["lw", "sw"]
    assert loop.pc == loop.head == plan.function.start + 4
    assert CODE.plan("on_the_stack_with_a_safepoint").promoted


def test_off() -> None:
    for name in ("long", "by_pointer_with_a_safepoint", "no_loop"):
        assert not CODE.plan(name).promoted, name
    assert not CODE.plan("sum", memory="paged").promoted
    assert not CODE.plan("sum", memory_resident=ALL_BITS).promoted


@pytest.fixture
def promoted() -> FunctionPlan:
    return CODE.plan("sum")


def an_access(plan: FunctionPlan) -> Op:
    return next(op for block in plan.blocks.values() for op in block.ops if op.promoted is not None)


def test_access_that_passes_by_its_variable(promoted: FunctionPlan) -> None:
    an_access(promoted).promoted = None
    assert any("passes by the variable" in finding for finding in findings(promoted))


def test_variable_of_another_place(promoted: FunctionPlan) -> None:
    op = an_access(promoted)
    assert op.promoted is not None
    op.promoted = replace(op.promoted, displacement=op.promoted.displacement + 4)
    assert any("no access of its variable" in finding for finding in findings(promoted))
