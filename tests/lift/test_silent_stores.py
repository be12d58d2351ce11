"""Silent stores: stores of what a place holds are marked, and no others."""

from __future__ import annotations

import pytest

from mipsrec.isa.effects import effects
from tests.lift.plans import Snippets, marked
from tests.support.compiled import ORDERS

RETURN = "jr $31\n nop"
SILENT = {
    "same_place": "lw $8, 0($4)\n sw $8, 0($4)",
    "moved_base": "lw $8, 8($4)\n addiu $4, $4, 4\n sw $8, 4($4)",
    "constant": "lui $9, 0x41\n lw $8, 4($9)\n ori $9, $0, 0\n lui $10, 0x41\n sw $8, 4($10)",
    "base_loaded_twice": "lw $9, 0($4)\n lw $8, 4($9)\n lw $10, 0($4)\n sw $8, 4($10)",
    "base_summed_twice": "addu $9, $4, $5\n lw $8, 4($9)\n addu $10, $4, $5\n sw $8, 4($10)",
    "copied": "lw $8, 0($4)\n move $9, $8\n sw $9, 0($4)",
    "another_store_between": "lw $8, 0($4)\n sw $5, 0($6)\n sw $8, 0($4)",
    "byte": "lb $8, 1($4)\n sb $8, 1($4)",
    "half": "lhu $8, 2($4)\n andi $8, $8, 0xffff\n sh $8, 2($4)",
    "shifted_to_extend": "lw $8, 0($4)\n sll $8, $8, 24\n sra $8, $8, 24\n sb $8, {low}($4)",
    "part": "lw $8, 0($4)\n sb $8, {low}($4)",
    "single": "lwc1 $f2, 0($4)\n swc1 $f2, 0($4)",
    "double": "ldc1 $f2, 0($4)\n sdc1 $f2, 0($4)",
    "float_and_word": "lwc1 $f2, 0($4)\n mfc1 $8, $f2\n sw $8, 0($4)",
    "halves": "lwl $8, {left}($4)\n lwr $8, {right}($4)\n sw $8, 0($4)",
    "before_others": "lw $8, 0($4)\n sw $8, 0($4)\n addiu $9, $9, 1",
    "in_slot": "lw $8, 0($4)\n bnez $8, 1f\n sw $8, 0($4)\n 1:",
}
"""The last store is silent. `low` is the displacement of the lowest byte, `left` and `right` those of both halves."""
NOT_SILENT = {
    "elsewhere": "lw $8, 0($4)\n sw $8, 4($4)",
    "another_base": "lw $8, 0($4)\n sw $8, 0($5)",
    "another_register": "lw $8, 0($4)\n sw $9, 0($4)",
    "base_has_moved": "lw $8, 0($4)\n addiu $4, $4, 4\n sw $8, 0($4)",
    "base_is_another": "lw $8, 0($4)\n move $4, $5\n sw $8, 0($4)",
    "value_changed": "lw $8, 0($4)\n addiu $8, $8, 1\n sw $8, 0($4)",
    "value_shifted": "lw $8, 0($4)\n sll $8, $8, 24\n sra $8, $8, 25\n sb $8, {low}($4)",
    "shifted_apart": "lw $8, 0($4)\n sll $8, $8, 24\n sra $8, $8, 16\n sb $8, {low}($4)",
    "another_byte": "lw $8, 0($4)\n sb $8, 1($4)",
    "wider": "lbu $8, 0($4)\n sw $8, 0($4)",
    "masked": "lw $8, 0($4)\n andi $8, $8, 0xff\n sh $8, {low_half}($4)",
    "masked_to_other_bits": "lw $8, 0($4)\n andi $8, $8, 0xff0\n sw $8, 0($4)",
    "only_half": "lwl $8, {left}($4)\n sw $8, 0($4)",
    "half_of_a_pair": "ldc1 $f2, 0($4)\n mtc1 $9, $f2\n sdc1 $f2, 0($4)",
    "in_a_later_block": "lw $8, 0($4)\n beqz $5, 1f\n nop\n sw $8, 0($4)\n 1:",
    "without_loads": "sw $8, 0($4)",
}
PLACES = {
    "little": {"low": 0, "low_half": 0, "left": 3, "right": 0},
    "big": {"low": 3, "low_half": 2, "left": 0, "right": 3},
}
CODE = {
    order: Snippets({name: f"{text.format(**places)}\n {RETURN}" for name, text in (SILENT | NOT_SILENT).items()})
    for order, places in PLACES.items()
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", SILENT)
def test_marked(name: str, order: str) -> None:
    plan = CODE[order].plan(name, order)
    assert len([text for text in marked(plan, "volatile") if text[0] != "l"]) == 1
    last = [op for block in plan.blocks.values() for op in block.ops if effects(op.instruction.row).stores][-1]
    assert last.volatile


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", NOT_SILENT)
def test_not_marked(name: str, order: str) -> None:
    assert [text for text in marked(CODE[order].plan(name, order), "volatile") if text[0] != "l"] == []
