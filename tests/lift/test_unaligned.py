"""Unaligned accesses: halves of words are accessed as one, where nothing between them may notice."""

from __future__ import annotations

import pytest

from mipsrec.lift.ir import UnalignedWord
from tests.lift.plans import Snippets, marked
from tests.support.compiled import ORDERS

RETURN = "jr $31\n nop"
LATER = "\n".join(["addiu $9, $9, 1"] * 7)
WORDS = {
    "adjacent": ("lwl $8, {left}($4)\n lwr $8, {right}($4)", 1),
    "right_half_first": ("lwr $8, {right}($4)\n lwl $8, {left}($4)", 1),
    "stores": ("swl $8, {left}($4)\n swr $8, {right}($4)", 1),
    "at_a_distance": ("lwl $8, {left}($4)\n addiu $9, $9, 1\n lwr $8, {right}($4)", 2),
    "just_in_reach": (f"lwl $8, {{left}}($4)\n {LATER}\n lwr $8, {{right}}($4)", 8),
    "in_slot": ("lwl $8, {left}($4)\n beqz $5, 1f\n lwr $8, {right}($4)\n 1:", 1),
    "beside_another_word": ("lwl $8, {left}($4)\n lwl $9, {left}($5)\n lwr $8, {right}($4)", 2),
}
"""Code with one word, whose first half is the first instruction, and the index of the second half."""
NO_WORDS = {
    "of_other_words": "lwl $8, {left}($4)\n lwr $8, 8($4)",
    "by_other_bases": "lwl $8, {left}($4)\n lwr $8, {right}($5)",
    "of_other_registers": "lwl $8, {left}($4)\n lwr $9, {right}($4)",
    "twice_the_same_half": "lwl $8, {left}($4)\n lwl $8, {right}($4)",
    "load_and_store": "lwl $8, {left}($4)\n swr $8, {right}($4)",
    "base_is_loaded": "lwl $4, {left}($4)\n lwr $4, {right}($4)",
    "base_changes": "lwl $8, {left}($4)\n addiu $4, $4, 0\n lwr $8, {right}($4)",
    "read_between": "lwl $8, {left}($4)\n move $9, $8\n lwr $8, {right}($4)",
    "written_between": "lwl $8, {left}($4)\n li $8, 1\n lwr $8, {right}($4)",
    "store_between": "lwl $8, {left}($4)\n sw $9, 0($5)\n lwr $8, {right}($4)",
    "load_between": "lwl $8, {left}($4)\n lw $9, 0($5)\n lwr $8, {right}($4)",
    "trap_between": "lwl $8, {left}($4)\n teq $9, $10\n lwr $8, {right}($4)",
    "stores_apart": "swl $8, {left}($4)\n addiu $9, $9, 1\n swr $8, {right}($4)",
    "out_of_reach": f"lwl $8, {{left}}($4)\n {LATER}\n addiu $9, $9, 1\n lwr $8, {{right}}($4)",
    "in_likely_slot": "lwl $8, {left}($4)\n beqzl $5, 1f\n lwr $8, {right}($4)\n 1:",
    "in_slot_of_a_return": "lwl $8, {left}($4)\n jr $31\n lwr $8, {right}($4)",
    "read_by_the_branch": "lwl $8, {left}($4)\n beqz $8, 1f\n lwr $8, {right}($4)\n 1:",
    "whole_words": "lw $8, 0($4)\n sw $8, 4($4)",
}
TEXTS = NO_WORDS | {name: text for name, (text, _) in WORDS.items()}
PLACES = {"little": {"left": 3, "right": 0}, "big": {"left": 0, "right": 3}}
CODE = {
    order: Snippets({name: f"{text.format(**places)}\n {RETURN}" for name, text in TEXTS.items()})
    for order, places in PLACES.items()
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", WORDS)
def test_words(name: str, order: str) -> None:
    plan = CODE[order].plan(name, order)
    block = plan.blocks[plan.function.start]
    assert block.unaligned == {0: UnalignedWord(WORDS[name][1], 0)}
    assert all(not other.unaligned for other in plan.blocks.values() if other is not block)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", NO_WORDS)
def test_no_words(name: str, order: str) -> None:
    assert all(not block.unaligned for block in CODE[order].plan(name, order).blocks.values())


def test_other_byte_order() -> None:
    """What is the left half of a word in one order is that of another word in the other."""
    assert all(not block.unaligned for block in CODE["big"].plan("adjacent").blocks.values())


def test_first_half_stays_for_the_second() -> None:
    assert marked(CODE["little"].plan("adjacent"), "volatile") == ["lwl t0, 3(a0)", "lwr t0, 0(a0)"]
