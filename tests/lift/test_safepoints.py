"""Safepoints: loops that may go on for long have one, loops that come to an end by themselves have none."""

from __future__ import annotations

import pytest

from mipsrec.isa.effects import ALL_BITS
from mipsrec.lift import bounded_loops
from mipsrec.lift.bounded_loops import MAX_SHORT_LOOP_BLOCKS, fewest_values
from mipsrec.lift.facts import safepoints
from tests.lift.plans import R, Snippets

RETURN = "jr $31\n nop"
BOUNDED = {
    "counts_to_an_invariant": "1: addiu $4, $4, 1\n bne $4, $5, 1b\n nop",
    "counts_down": "1: addiu $4, $4, -1\n bnez $4, 1b\n nop",
    "counts_in_the_slot": "1: bne $4, $5, 1b\n addiu $4, $4, 1",
    "compares_a_counter": "1: addiu $4, $4, 1\n slt $8, $4, $5\n bnez $8, 1b\n nop",
    "follows_a_counter": "1: addiu $4, $4, 1\n addu $8, $4, $5\n bne $8, $6, 1b\n nop",
    "copies_a_counter": "1: addiu $4, $4, 1\n move $8, $4\n bne $8, $6, 1b\n nop",
    "counts_by_an_odd_number": "1: addiu $4, $4, -3\n bne $4, $5, 1b\n nop",
    "counts_on_all_ways": """
        1: beqz  $7, 2f
           nop
           b     3f
           addiu $4, $4, 1
        2: addiu $4, $4, 1
        3: bne   $4, $5, 1b
           nop""",
    "counts_up_to": "1: addiu $4, $4, 1\n sltu $8, $4, $5\n bnez $8, 1b\n nop",
    "counts_down_to": "1: addiu $4, $4, -1\n sltu $8, $5, $4\n bnez $8, 1b\n nop",
    "counts_down_to_a_sign": "1: addiu $4, $4, -8\n bgez $4, 1b\n nop",
    "counts_over_a_sign": "1: addiu $4, $4, 8\n slt $8, $0, $4\n beqz $8, 1b\n nop",
    "meets_a_constant": "1: addiu $4, $4, 16\n sltiu $8, $4, 16\n beqz $8, 1b\n nop",
    "meets_by_steps": """
        1: addiu $4, $4, 12
           beqz  $7, 2f
           slti  $8, $4, 1000
           addiu $4, $4, 8
        2: bnez  $8, 1b
           nop""",
    "walks_through_memory": "1: lw $8, 0($4)\n bnez $8, 1b\n addiu $4, $4, 4",
    "walks_at_a_distance": "1: addiu $4, $4, 4\n addu $9, $4, $5\n lw $8, 0($9)\n bnez $8, 1b\n nop",
    "stores_on_its_way": "1: addiu $4, $4, 4\n sw $8, 0($4)\n lw $8, 0($5)\n bnez $8, 1b\n nop",
    "loads_in_the_slot": "1: addiu $4, $4, 4\n bne $4, $6, 1b\n lw $8, 0($4)",
    "shifts_to_nothing": "1: srl $4, $4, 1\n bnez $4, 1b\n nop",
    "makes_system_calls": "1: syscall\n beqz $7, 1b\n nop",
    "no_loop": "beqz $4, 1f\n nop\n 1:",
}
LONG = {
    "nothing_happens": "1: b 1b\n nop",
    "waits": "1: lw $8, 0($4)\n beqz $8, 1b\n nop",
    "calls": "1: jal no_loop\n nop\n addiu $16, $16, -1\n bnez $16, 1b\n nop",
    "both_change": "1: addiu $4, $4, 1\n lw $5, 0($6)\n bne $4, $5, 1b\n nop",
    "counts_both_ways": "1: addiu $4, $4, 1\n beqz $7, 2f\n nop\n addiu $4, $4, -2\n 2: bne $4, $5, 1b\n nop",
    "counts_by_nothing": "1: addiu $4, $4, 0\n bne $4, $5, 1b\n nop",
    "counts_on_one_way": "1: beqz $7, 2f\n nop\n addiu $4, $4, 1\n 2: bne $4, $5, 1b\n nop",
    "counts_now_and_then": "1: lw $8, 0($6)\n beqzl $8, 2f\n addiu $4, $4, 1\n 2: bne $4, $5, 1b\n nop",
    "tests_on_one_way": "1: addiu $4, $4, 1\n beqz $7, 1b\n nop\n bne $4, $5, 1b\n nop",
    "test_does_not_leave": "1: addiu $4, $4, 1\n bne $4, $5, 2f\n nop\n nop\n 2: b 1b\n nop",
    "compares_what_changes": "1: addiu $4, $4, 1\n lw $5, 0($6)\n slt $8, $4, $5\n bnez $8, 1b\n nop",
    "compares_on_one_way": """
        1: addiu $4, $4, 1
           beqz  $7, 2f
           nop
           slt   $8, $4, $5
        2: bnez  $8, 1b
           nop""",
    "walks_on_one_way": "1: addiu $4, $4, 4\n beqz $7, 2f\n nop\n lw $8, 0($4)\n 2: bnez $8, 1b\n nop",
    "walks_by_sp": "1: addiu $sp, $sp, -4\n lw $8, 0($sp)\n bnez $8, 1b\n nop",
    "walks_to_and_fro": "1: addiu $4, $4, 4\n lw $8, 0($4)\n beqz $7, 1b\n nop\n bnez $8, 1b\n addiu $4, $4, -8",
    "jumps_over_one": "1: addiu $4, $4, 2\n bne $4, $5, 1b\n nop",
    "jumps_over_the_greatest": "1: addiu $4, $4, 2\n sltu $8, $4, $5\n bnez $8, 1b\n nop",
    "jumps_over_the_greatest_signed": "1: addiu $4, $4, 4\n slt $8, $4, $5\n bnez $8, 1b\n nop",
    "jumps_over_a_constant": "1: addiu $4, $4, 16\n sltiu $8, $4, 15\n beqz $8, 1b\n nop",
    "jumps_by_steps": """
        1: addiu $4, $4, 1
           beqz  $7, 2f
           nop
           addiu $4, $4, 1
        2: bne   $4, $5, 1b
           nop""",
    "jumps_now_and_then": "1: addiu $4, $4, 1\n beqzl $7, 2f\n addiu $4, $4, 1\n 2: bne $4, $5, 1b\n nop",
    "at_most_the_greatest": "1: addiu $4, $4, 1\n sltu $8, $5, $4\n beqz $8, 1b\n nop",
    "at_least_the_least": "1: addiu $4, $4, -1\n slt $8, $4, $5\n beqz $8, 1b\n nop",
    "below_none": "1: addiu $4, $4, 1\n sltiu $8, $4, 0\n beqz $8, 1b\n nop",
    "compares_with_itself": "1: addiu $4, $4, 1\n beq $4, $4, 1b\n nop",
    "sets_from_itself": "1: addiu $4, $4, 1\n slt $8, $4, $4\n beqz $8, 1b\n nop",
    "twice_a_counter": "1: addiu $4, $4, 1\n addu $8, $4, $4\n bne $8, $5, 1b\n nop",
    "steps_by_a_register": "1: addu $4, $4, $6\n sltu $8, $4, $5\n bnez $8, 1b\n nop",
    "shifts_while_nothing": "1: srl $4, $4, 1\n beqz $4, 1b\n nop",
    "tests_no_comparison": "1: addiu $4, $4, 1\n sltu $8, $4, $5\n bgez $8, 1b\n nop",
    "shifts_by_nothing": "1: srl $4, $4, 0\n bnez $4, 1b\n nop",
    "shifts_another": "1: srl $4, $5, 1\n bnez $4, 1b\n nop",
    "shifts_to_a_value": "1: srl $4, $4, 1\n bne $4, $5, 1b\n nop",
    "shifts_below_0": "1: sra $4, $4, 1\n bnez $4, 1b\n nop",
    "tests_the_sign_of_a_shift": "1: srl $4, $4, 1\n blez $4, 1b\n nop",
    "system_calls_on_one_way": "1: beqz $7, 2f\n nop\n syscall\n 2: b 1b\n nop",
    "many_blocks": "1: addiu $4, $4, -1\n"
    + "".join(f"beqz $7, {n}f\n nop\n nop\n {n}:" for n in range(10, 10 + MAX_SHORT_LOOP_BLOCKS // 2))
    + "bnez $4, 1b\n nop",
}
OTHER = {
    "counts_around_a_counter": """
        1: addiu $4, $4, -1
           move  $8, $5
        2: addiu $8, $8, -1
           bnez  $8, 2b
           nop
           bnez  $4, 1b
           nop""",
    "waits_around_a_counter": """
        1: move  $8, $5
        2: addiu $8, $8, -1
           bnez  $8, 2b
           nop
           lw    $9, 0($4)
           beqz  $9, 1b
           nop""",
    "counter_around_a_wait": """
        1: addiu $4, $4, -1
        2: lw    $8, 0($5)
           beqz  $8, 2b
           nop
           bnez  $4, 1b
           nop""",
    "needs": "1: li $9, 1\n lw $8, 0($4)\n addu $8, $8, $10\n beqz $8, 1b\n nop\n li $10, 0",
    "traps": "1: lw $8, 0($4)\n teq $8, $5\n b 1b\n nop",
    "goes_on_in_itself": "beqz $4, goes_on_in_itself\n nop",
    "goes_on_above": "b counts_down\n nop",
    "goes_on_below": "b last\n nop",
    "last": "nop",
}
CODE = Snippets({name: f"{text}\n {RETURN}" for name, text in (BOUNDED | LONG | OTHER).items()})


def holds(operation: str, first: int, second: int) -> bool:
    """Return what comes of a comparison of numbers of four bits."""
    if operation == "slt":
        first, second = (number ^ 8 for number in (first, second))
    return first == second if operation == "eq" else first < second


@pytest.mark.parametrize("operation", ["eq", "ult", "slt"])
@pytest.mark.parametrize("counter_first", [True, False])
def test_fewest_values(monkeypatch: pytest.MonkeyPatch, operation: str, counter_first: bool) -> None:
    """The number of values for which a comparison holds is that of a count, in words of four bits."""
    monkeypatch.setattr(bounded_loops, "_VALUES", 16)
    monkeypatch.setattr(bounded_loops, "_NEGATIVE", 8)
    for outcome in (True, False):
        counts = []
        for limit in range(16):
            pairs = [(n, limit) if counter_first else (limit, n) for n in range(16)]
            counts.append(sum(holds(operation, *pair) == outcome for pair in pairs))
            assert fewest_values(operation, counter_first, limit, outcome) == counts[-1]
        assert fewest_values(operation, counter_first, None, outcome) == min(counts)


@pytest.mark.parametrize("name", BOUNDED)
def test_bounded(name: str) -> None:
    assert CODE.plan(name).safepoints.edges == frozenset()


@pytest.mark.parametrize("name", LONG)
def test_long(name: str) -> None:
    plan = CODE.plan(name)
    assert plan.safepoints.edges and {target for _, target in plan.safepoints.edges} == {plan.function.start}


def heads(name: str) -> list[int]:
    """Return the numbers of the blocks to which edges with safepoints lead."""
    plan = CODE.plan(name)
    return sorted(plan.graph.order.index(target) for _, target in plan.safepoints.edges)


def test_loops_inside_others() -> None:
    assert heads("waits_around_a_counter") == [0]  # the inner loop is bounded
    assert heads("counter_around_a_wait") == [0, 1]
    assert heads("counts_around_a_counter") == [0]  # 2**32 iterations of 2**32 are too many


def test_many_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a number of blocks all edges upwards have a safepoint."""
    monkeypatch.setattr(safepoints, "MAX_NESTED_BLOCKS", 1)
    assert heads("waits_around_a_counter") == [0, 1]


def test_registers_that_a_handler_may_read() -> None:
    plan = CODE.plan("needs")
    needed = plan.safepoints.needed.at(plan.function.start)
    assert needed & (R[8] | R[9] | R[10] | R[4] | R[16]) == R[10] | R[4] | R[16]  # a return reads all
    plan = CODE.plan("traps")
    needed = plan.safepoints.needed.at(plan.function.start)
    assert needed & R[8] == 0 and needed & R[9]  # a trap shows what is not written first


def test_instrumented_code_shows_all_registers() -> None:
    plan = CODE.plan("needs", calls="instrumented")
    assert plan.safepoints.edges and plan.safepoints.needed.at(plan.function.start) == ALL_BITS


def test_calls_of_functions_further_up() -> None:
    """Functions that go on in each other make a cycle, which goes up somewhere."""
    for name, has_one in (("goes_on_in_itself", True), ("goes_on_above", True), ("goes_on_below", False)):
        plan = CODE.plan(name)
        block = plan.graph.blocks[plan.function.start]
        assert block.target is not None and plan.safepoints.on_edge(block.start, block.target) == has_one, name
