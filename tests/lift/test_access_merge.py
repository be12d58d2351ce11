"""Access merging: copies and fills of consecutive words go together, where nothing between them may notice."""

from __future__ import annotations

import pytest

from mipsrec.lift.ir import NOT_MERGED
from tests.lift.plans import Snippets

RETURN = "jr $31\n nop"
LOADS = "lw $8, 0($5)\n lw $9, 4($5)\n lw $10, 8($5)\n lw $11, 12($5)"
STORES = "sw $8, 0($4)\n sw $9, 4($4)\n sw $10, 8($4)\n sw $11, 12($4)"
FILL = "\n".join(f"sw $8, {4 * number}($4)" for number in range(4))
COPY = f"{LOADS}\n {STORES}"
MERGED = {
    "copies": (COPY, 1, [4]),
    "fills": (FILL, 0, [4]),
    "fills_eight": ("\n".join(f"sw $8, {4 * number}($4)" for number in range(8)), 0, [8]),
    "fills_six": ("\n".join(f"sw $8, {4 * number}($4)" for number in range(6)), 0, [4]),
    "last_store_in_slot": (COPY.replace("sw $11", "beqz $6, 1f\n sw $11") + "\n 1:", 1, [4]),
    "computes_between_loads": (COPY.replace("lw $10", "addu $2, $6, $7\n lw $10"), 1, [4]),
    "steps_between_loads": (COPY.replace("lw $11, 12", "addiu $5, $5, 4\n lw $11, 8"), 1, [4]),
    "loads_the_base_last": (COPY.replace("$11", "$5"), 1, [4]),
    "shares_words": (
        "\n".join([LOADS, "lw $12, 16($5)", STORES, *(f"sw ${9 + number}, {4 * number}($6)" for number in range(4))]),
        1, [4]),
    "stores_twice": (f"{COPY}\n {STORES.replace('$4', '$6')}", 1, [4, 4]),
}  # fmt: skip
"""Code, the number of its merged loads, and the sizes of its merged stores in words."""
APART = {
    "three": COPY.replace("sw $11, 12($4)", ""),
    "halfwords": COPY.replace("lw ", "lh ").replace("sw ", "sh "),
    "gap_between_loads": COPY.replace("12($5)", "16($5)"),
    "gap_between_stores": COPY.replace("12($4)", "16($4)"),
    "another_base_of_loads": COPY.replace("12($5)", "12($6)"),
    "another_base_of_stores": COPY.replace("12($4)", "12($6)"),
    "other_order": COPY.replace("sw $10", "sw $2").replace("sw $9", "sw $10").replace("sw $2", "sw $9"),
    "traps_between_loads": COPY.replace("lw $10", "teq $6, $7\n lw $10"),
    "loads_another_between": COPY.replace("lw $10", "lw $2, 0($6)\n lw $10"),
    "stores_between_loads": COPY.replace("lw $10", "sw $2, 0($6)\n lw $10"),
    "something_between_stores": COPY.replace("sw $10", "addu $2, $6, $7\n sw $10"),
    "changed_after_the_load": COPY.replace("sw $8", "addiu $9, $9, 1\n sw $8"),
    "not_loaded": COPY.replace("lw $10, 8($5)", "nop"),
    "address_of_a_word": COPY.replace("lw $10, 8($5)", "addiu $10, $5, 8"),
    "loads_the_base_first": COPY.replace("$8", "$5"),
    "base_is_set_between": COPY.replace("lw $10", "addu $5, $6, $7\n lw $10"),
    "last_store_in_likely_slot": FILL.replace("sw $8, 12", "beqzl $6, 1f\n sw $8, 12") + "\n 1:",
    "last_store_of_a_link": FILL.replace("$8", "$31").replace("sw $31, 12", "bal 1f\n sw $31, 12") + "\n 1:",
    "fills_with_zero": FILL.replace("$8", "$0"),
    "one_is_silent": f"lw $8, 12($4)\n lw $8, 12($4)\n {FILL}",
    "no_accesses": "addiu $2, $4, 1",
}
CODE = Snippets(
    {name: f"{text}\n {RETURN}" for name, text in (APART | {name: text for name, (text, *_) in MERGED.items()}).items()}
)


@pytest.mark.parametrize("name", MERGED)
def test_merged(name: str) -> None:
    plan = CODE.plan(name)
    merged = plan.blocks[plan.function.start].merged
    _, loads, sizes = MERGED[name]
    assert len(merged.loads) == loads and all(len(load.indices) == 4 for load in merged.loads.values())
    assert [store.count for store in merged.stores.values()] == sizes
    assert all((store.loaded is not None) == bool(loads) for store in merged.stores.values())


@pytest.mark.parametrize("name", APART)
def test_apart(name: str) -> None:
    assert all(block.merged == NOT_MERGED for block in CODE.plan(name).blocks.values())


def test_off_with_other_memory_models() -> None:
    assert all(block.merged == NOT_MERGED for block in CODE.plan("copies", memory="paged").blocks.values())
