"""State context: what each block finds in the state, and what is stored and loaded where."""

from __future__ import annotations

import pytest

from mipsrec.isa.effects import ALL_BITS
from mipsrec.lift.convention import CARRIED_BITS, RESULT_BITS, SP_BIT
from mipsrec.lift.facts.context import LARGE_FUNCTION_BLOCKS
from mipsrec.lift.ir import FunctionPlan
from tests.lift.plans import R, Snippets

RETURN = "jr $31\n nop"
MANY_BLOCKS = "\n".join(f"bnez $5, {n}f\n nop\n nop\n {n}:" for n in range(20, 20 + LARGE_FUNCTION_BLOCKS // 2))
CODE = Snippets(
    {
        "reads": f"addu $8, $4, $5\n beqz $8, 1f\n nop\n move $2, $9\n 1: {RETURN}",
        "writes_first": f"li $9, 1\n beqz $4, 1f\n nop\n move $2, $9\n 1: {RETURN}",
        "annulled": f"beqzl $4, 1f\n li $9, 1\n nop\n 1: move $2, $9\n {RETURN}",
        "calls": "move $16, $31\n li $9, 1\n jal takes_one\n nop\n move $2, $9\n jr $16\n nop",
        "takes_one": f"move $2, $4\n {RETURN}",
        "calls_the_unknown": "move $16, $31\n jalr $25\n nop\n jr $16\n nop",
        "calls_the_kernel": f"li $9, 1\n syscall\n move $2, $9\n {RETURN}",
        "asks_the_kernel_and_goes_on": "syscall\n jr $25\n nop",
        "loop_that_calls": """
            move  $16, $31
            li    $9, 1
            li    $17, 8
        1:  addiu $17, $17, -1
            jal   takes_one
            addu  $4, $17, $9
            bnez  $17, 1b
            nop
            jr    $16
            nop""",
        "loop_that_calls_now_and_then": """
            move  $16, $31
        1:  addiu $17, $17, -1
            beqz  $4, 2f
            addiu $18, $18, 1
            jal   takes_one
            nop
        2:  bnez  $17, 1b
            nop
            jr    $16
            nop""",
        "loop": f"li $9, 1\n 1: addiu $4, $4, -1\n bnez $4, 1b\n nop\n move $2, $9\n {RETURN}",
        "meets": f"beqz $4, 1f\n nop\n li $9, 1\n 1: move $2, $5\n {RETURN}",
        "meets_and_reads": f"beqz $4, 1f\n nop\n li $9, 1\n 1: move $2, $9\n {RETURN}",
        "writes_on_both_ways": f"beqz $4, 1f\n li $9, 1\n li $9, 2\n 1: move $2, $5\n {RETURN}",
        "lowers_sp": f"addiu $29, $29, -16\n beqz $4, 1f\n nop\n nop\n 1: {RETURN}",
        "raises_sp": f"addiu $29, $29, 16\n beqz $4, 1f\n nop\n nop\n 1: {RETURN}",
        "sets_sp": f"move $29, $8\n beqz $4, 1f\n nop\n nop\n 1: {RETURN}",
        "lowers_and_raises_sp": f"addiu $29, $29, -16\n addiu $29, $29, 16\n beqz $4, 1f\n nop\n nop\n 1: {RETURN}",
        "raises_and_lowers_sp": f"addiu $29, $29, 16\n addiu $29, $29, -16\n beqz $4, 1f\n nop\n nop\n 1: {RETURN}",
        "gives_a_result": f"beqz $4, 1f\n li $2, 1\n nop\n 1: {RETURN}",
        "gives_none": f"beqz $4, 1f\n nop\n nop\n 1: {RETURN}",
        "large": f"li $9, 1\n {MANY_BLOCKS}\n {RETURN}",
        "large_with_a_loop": f"""
        1:  li    $9, 1
            beqz  $6, 2f
            nop
            nop
        2:  addiu $4, $4, -1
            bnez  $4, 1b
            nop
            {MANY_BLOCKS}
            {RETURN}""",
        "large_that_reads": f"li $9, 1\n {MANY_BLOCKS}\n move $2, $9\n {RETURN}",
        "small": f"li $9, 1\n bnez $5, 1f\n nop\n nop\n 1: {RETURN}",
    }
)  # fmt: skip


def block(plan: FunctionPlan, index: int) -> int:
    return plan.graph.order[index]


def context_of(name: str, index: int) -> tuple[int, int]:
    """Return what is live and dirty at the start of a block."""
    plan = CODE.plan(name)
    pc = block(plan, index)
    return plan.context.live_in[pc], plan.context.dirty_in[pc]


def test_live_is_what_is_read_before_it_is_written() -> None:
    live, _ = context_of("reads", 0)
    assert live & (R[4] | R[5] | R[8] | R[9]) == R[4] | R[5] | R[9]
    live, _ = context_of("writes_first", 0)
    assert live & R[9] == 0
    assert CODE.plan("reads").context.entry_loads & (R[4] | R[8] | R[9]) == R[4] | R[9]


def test_annulled_slot_may_write_nothing() -> None:
    live, _ = context_of("annulled", 0)
    _, dirty = context_of("annulled", -1)
    assert live & R[9] and dirty & R[9]


def test_dirty_is_what_was_written() -> None:
    assert context_of("writes_first", 0)[1] == CARRIED_BITS  # which callers give in host registers alone
    assert context_of("writes_first", 1)[1] == CARRIED_BITS | R[9]


@pytest.mark.parametrize(("name", "not_in_state"), [("calls", RESULT_BITS), ("calls_the_kernel", 0)])
def test_state_is_complete_at_calls(name: str, not_in_state: int) -> None:
    """So the block after a call loads what it reads; results of functions are in host registers alone.

    What it writes before anything reads it is not dirty there.
    """
    live, dirty = context_of(name, 1)
    assert dirty == not_in_state & ~R[2] and live & R[9]
    live, _ = context_of(name, 0)
    assert live & R[9] == 0


def test_sp_stays_known_over_calls_of_functions_alone() -> None:
    assert context_of("calls", 0)[0] & SP_BIT and context_of("calls", 1)[0] & SP_BIT
    assert context_of("asks_the_kernel_and_goes_on", 0)[0] & SP_BIT == 0
    assert context_of("asks_the_kernel_and_goes_on", 1)[0] & SP_BIT


def test_calls_read_what_they_pass() -> None:
    live, _ = context_of("calls", 0)
    assert live & (R[4] | R[25]) == R[4]
    live, _ = context_of("calls_the_unknown", 0)
    assert live & (R[4] | R[25] | R[7]) == R[4] | R[25] | R[7]


def test_loop_that_calls_stores_on_the_way_in() -> None:
    plan = CODE.plan("loop_that_calls")
    head = block(plan, 1)
    carried = R[16] | R[17]  # calls take them along
    assert plan.context.edge_flushes(R[9] | carried, head) == R[9]
    assert head in plan.context.in_loops


def test_loop_without_calls_stores_after_it() -> None:
    plan = CODE.plan("loop")
    head = block(plan, 1)
    assert plan.context.edge_flushes(R[9], head) == 0
    assert plan.context.dirty_in[head] & (R[4] | R[9]) == R[4] | R[9]
    assert head not in plan.context.in_loops


def test_dirty_on_one_way_in_a_loop_that_calls() -> None:
    """What is written on one way, and stored on the other for a call, is dirty where they meet."""
    plan = CODE.plan("loop_that_calls_now_and_then")
    meet = block(plan, 3)
    assert plan.context.dirty_in[meet] & R[18] and plan.context.live_in[meet] & R[18]
    assert plan.context.edge_loads(0, meet) & (R[18] | R[17]) == 0  # the block reads both: they are there


def test_clean_way_loads_what_is_dirty_and_not_read() -> None:
    plan = CODE.plan("loop_that_calls_now_and_then")
    meet = block(plan, 3)
    plan.context.live_in[meet] &= ~R[18]
    assert plan.context.edge_loads(0, meet) & R[18]
    assert plan.context.edge_loads(R[18], meet) & R[18] == 0


def test_clean_way_that_joins() -> None:
    """Outside loops the dirty way stores, unless the register is read from there on."""
    plan = CODE.plan("meets")
    assert plan.context.dirty_in[block(plan, -1)] == CARRIED_BITS
    assert plan.context.edge_flushes(R[9], block(plan, -1)) == R[9]
    assert context_of("meets_and_reads", -1)[1] == CARRIED_BITS | R[9]
    assert context_of("writes_on_both_ways", -1)[1] == CARRIED_BITS | R[9]


@pytest.mark.parametrize(
    ("name", "dirty"),
    [
        ("lowers_sp", 0),
        ("raises_sp", SP_BIT),
        ("sets_sp", 0),
        ("lowers_and_raises_sp", SP_BIT),
        ("raises_and_lowers_sp", 0),
    ],
)
def test_sp_is_stored_where_it_may_sink(name: str, dirty: int) -> None:
    assert context_of(name, 1)[1] & SP_BIT == dirty


def test_results() -> None:
    plan = CODE.plan("gives_a_result")
    assert plan.context.results_at_hand(block(plan, -1)) == CARRIED_BITS | R[2]
    plan = CODE.plan("gives_none")
    assert plan.context.results_at_hand(block(plan, -1)) == CARRIED_BITS


def test_large_function_stores_what_is_no_longer_read() -> None:
    assert context_of("small", 1)[1] & R[9] == R[9]
    assert context_of("large", 1)[1] & R[9] == 0
    assert context_of("large_that_reads", 1)[1] & R[9] == R[9]
    assert context_of("large_with_a_loop", 1)[1] & R[9] == R[9]  # not in each iteration
    assert context_of("large_with_a_loop", 3)[1] & R[9] == 0


def test_some_registers_in_the_state() -> None:
    """The others are dirty and live as they are without them."""
    whole = CODE.plan("loop_that_calls").context
    context = CODE.plan("loop_that_calls", memory_resident=ALL_BITS & ~R[17]).context
    for pc in context.order:
        assert context.dirty_in[pc] == whole.dirty_in[pc] & R[17]
        assert context.live_in[pc] == whole.live_in[pc] & R[17]
    assert set(context.live_in.values()) == {0, R[17]}


def test_registers_in_the_state() -> None:
    context = CODE.plan("loop_that_calls", memory_resident=ALL_BITS).context
    assert set(context.dirty_in.values()) == set(context.live_in.values()) == {0}
    assert context.entry_loads == 0
    assert context.results_at_hand(context.order[-1]) == 0
