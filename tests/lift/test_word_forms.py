"""Word forms: registers that calls pass in vector registers are words where loops count in them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mipsrec.isa.effects import ALL_BITS
from mipsrec.lift.check import findings
from mipsrec.lift.ir import FunctionPlan
from mipsrec.lift.nodes import Branch
from tests.lift.plans import R, Snippets

CALL = "jal __start\n nop"
RETURN = "jr $31\n nop"
LATCH = "addiu $4, $4, -1\n bnez $4, 1b\n nop"
RARELY = "beqz $5, 3f\n nop\n beqz $6, 3f\n nop\n beqz $7, 3f\n nop"
BUSY = "\n".join(f"addu $2, $2, ${number}" for number in (3, 5, 6, 7, *range(8, 16)))
CODE = Snippets(
    {
        "counts": f"move $18, $4\n 1: lw $2, 0($18)\n addiu $18, $18, 4\n {LATCH}\n {RETURN}",
        "counts_around_a_rare_call": f"""
            move  $18, $4
        1:  lw    $5, 0($18)
            {RARELY}
            {CALL}
        3:  addiu $18, $18, 4
            {LATCH}
            {RETURN}""",
        "a_call_in_each_iteration": f"1: lw $2, 0($18)\n {CALL}\n {LATCH}\n move $18, $2\n {RETURN}",
        "only_stored": f"lw $18, 4($4)\n 1: sw $18, 0($5)\n lw $18, 0($4)\n {LATCH}\n move $18, $2\n {RETURN}",
        "busy": f"move $18, $4\n 1: {BUSY}\n addiu $18, $18, 4\n {LATCH}\n {RETURN}",
        "meets_a_passed_value": f"1: addiu $18, $18, 4\n {LATCH}\n {RETURN}",
        "left_for_another_function": """
            li    $8, 5
        1:  addu  $2, $2, $21
            lw    $9, 0($4)
            addiu $8, $8, -1
            blez  $8, __start
            nop
            b     1b
            sll   $21, $8, 2""",
        "behind_a_call_that_may_not_return": f"""
            beqz  $5, 2f
            move  $18, $4
            beqz  $6, 4f
            nop
        1:  lw    $5, 0($18)
            {RARELY}
            b     3f
            addiu $18, $18, 8
        2:  {CALL}
        4:  {CALL}
        3:  addiu $18, $18, 4
            {LATCH}
            {RETURN}""",
        # idle
        "no_loop": f"beqz $4, 1f\n move $18, $5\n move $18, $6\n 1: addu $2, $18, $18\n {RETURN}",
        "never_written": f"1: lw $2, 0($18)\n {CALL}\n {LATCH}\n {RETURN}",
        "in_a_general_register": f"move $16, $4\n 1: lw $2, 0($16)\n addiu $16, $16, 4\n {LATCH}\n {RETURN}",
    }
)


def words(plan: FunctionPlan) -> list[tuple[bool, bool]]:
    """Return, by block, whether s2 is a word on the ways into it and out of it; no other register is."""
    into, out = plan.word_forms.into, plan.word_forms.out
    assert not plan.words & ~R[18]
    return [(bool(into[pc]), bool(out[pc])) for pc in plan.graph.order]


def test_loop_that_counts() -> None:
    assert words(CODE.plan("counts")) == [(False, True), (True, True), (True, False)]


def test_rare_call_in_a_loop() -> None:
    """The call has the register as a float, and what is around it as a word."""
    first, head, *_, call, latch, _last = words(CODE.plan("counts_around_a_rare_call"))
    assert first == (False, True) and head[0] and latch == (True, True)
    assert call[1], "what meets at the latch comes as words"


@pytest.mark.parametrize("name", ["a_call_in_each_iteration", "only_stored", "busy"])
def test_floats_are_as_good(name: str) -> None:
    assert not CODE.plan(name).words


def test_entry_has_floats() -> None:
    """The loop begins at the entry, where callers pass a float."""
    assert words(CODE.plan("meets_a_passed_value"))[0] == (False, False)


def test_entries_besides_the_start_have_floats() -> None:
    assert not CODE.plan("counts", entries=(0, 1)).words


def test_way_into_a_loop_that_is_never_taken() -> None:
    """A call that does not return is followed by a block of the loop: that is no second way in that counts."""
    plan = CODE.plan("behind_a_call_that_may_not_return")
    assert plan.word_forms.into[plan.function.start + 16] == R[18]


def test_way_out_to_another_function() -> None:
    """It passes a register that the block does not change, no later block reads, and the state has already."""
    plan = CODE.plan("left_for_another_function", memory="paged")
    pc = plan.function.start + 4
    end = plan.blocks[pc].end
    assert plan.word_forms.into[pc] == R[21] and not plan.word_forms.out[pc]
    assert isinstance(end, Branch) and end.saves & R[21]


@pytest.mark.parametrize(("calls", "does"), [("direct", "passes"), ("thunked", "stores")])
def test_form_that_is_not_saved_for_a_way_out(calls: str, does: str) -> None:
    """Contract 2 finds that the way out would look for a float where the loop before has left a word."""
    plan = CODE.plan("left_for_another_function", calls=calls)
    assert findings(plan) == []
    block = plan.blocks[plan.function.start + 4]
    assert isinstance(block.end, Branch)
    block.end = replace(block.end, saves=block.end.saves & ~R[21])
    (found,) = findings(plan)
    assert f"contract 2: the edge to {block.end.taken.target:08x} {does} s5, which some way" in found


@pytest.mark.parametrize("name", ["no_loop", "never_written", "in_a_general_register"])
def test_idle(name: str) -> None:
    assert not CODE.plan(name).words


def test_registers_in_the_state() -> None:
    assert not CODE.plan("counts", memory_resident=ALL_BITS).words
