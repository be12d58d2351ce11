"""Registers that nobody reads before they are written are not stored; all others are, where other code may look."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mipsrec.isa.effects import ALL_BITS, FPR_BIT
from mipsrec.lift import build
from mipsrec.lift.build import decide, undecided_plan
from mipsrec.lift.check import findings
from mipsrec.lift.convention import CARRIED_BITS, SAVED_BITS, SP_BIT
from mipsrec.lift.facts.needed import Needed, find_needed
from mipsrec.lift.ir import FunctionPlan
from mipsrec.lift.nodes import Branch, Call, Goto
from mipsrec.lift.options import LiftOptions
from tests.lift.plans import R, Snippets

T0, T1 = R[8], R[9]
FIRST = "addiu $8, $4, 1\n bnez $8, 2f\n nop\n"
LINKS = f"addu $16, $31, $0\n {FIRST}"
OVERWRITES = "2: addiu $8, $0, 2\n jr $31\n addiu $2, $8, 0"

CODE = Snippets(
    {
        "known": "jr $31\n addiu $8, $0, 1",
        "ends": f"{FIRST} {OVERWRITES}",
        "reads": f"{FIRST} addu $9, $8, $0\n {OVERWRITES}",
        "returns": f"{FIRST} jr $31\n nop\n {OVERWRITES}",
        "traps": f"{FIRST} teq $4, $5\n {OVERWRITES}",
        "reads_counter": f"{FIRST} rdhwr $9, $2\n {OVERWRITES}",
        "reads_thread": f"{FIRST} rdhwr $9, $29\n {OVERWRITES}",
        "adds": f"{FIRST} add $9, $4, $5\n {OVERWRITES}",
        "system_call": f"{FIRST} syscall\n {OVERWRITES}",
        "goes_on": f"{FIRST} j 0x500000\n nop\n {OVERWRITES}",
        "jumps": f"{FIRST} jr $5\n nop\n {OVERWRITES}",
        "calls_unknown": f"{LINKS} jalr $5\n nop\n {OVERWRITES}",
        "calls_maybe": f"{LINKS} bgezal $4, known\n nop\n {OVERWRITES}",
        "calls_known": f"{LINKS} jal known\n nop\n {OVERWRITES}",
        "accesses": f"{FIRST} lw $9, 0($4)\n {OVERWRITES}",
        "loop": "addiu $8, $4, 1\n1: addiu $9, $0, 1\n addiu $4, $4, -1\n bnez $4, 1b\n addiu $8, $0, 1\n jr $31\n"
        " nop",
        "ignores_results": "addiu $29, $29, -32\n sw $31, 28($29)\n jal known\n nop\n addiu $2, $0, 1\n"
        " addiu $3, $0, 1\n lw $31, 28($29)\n jr $31\n addiu $29, $29, 32",
        "saves_floats": "mov.s $f20, $f0\n lw $9, 0($4)\n mov.s $f20, $f2\n jr $31\n mov.s $f2, $f0",
    }
)
READERS = ["reads", "returns", "traps", "reads_counter", "adds", "system_call", "goes_on", "jumps"]
READERS += ["calls_unknown", "calls_maybe"]


def needed_after_first(plan: FunctionPlan) -> int:
    return plan.context.needed.after(plan.function.start)


@pytest.mark.parametrize("name", READERS)
def test_what_some_way_reads_is_needed(name: str) -> None:
    assert needed_after_first(CODE.plan(name)) & T0


@pytest.mark.parametrize("name", ["ends", "calls_known", "accesses", "reads_thread"])
def test_what_all_ways_overwrite_is_not(name: str) -> None:
    """The callee of a direct call may be one that overwrites; accesses do not count."""
    plan = CODE.plan(name)
    assert needed_after_first(plan) & (T0 | SP_BIT) == SP_BIT
    end = plan.blocks[plan.function.start].end
    assert isinstance(end, Branch)
    assert all((edge.stores | edge.dirty) & T0 == 0 for edge in (end.taken, end.other))


def test_a_loop_does_not_carry_what_it_overwrites() -> None:
    plan = CODE.plan("loop")
    head = plan.graph.order[1]
    assert plan.context.dirty_in[head] & (T0 | T1) == 0
    assert plan.entry is not None and plan.entry.loads & (T0 | T1) == 0


@pytest.mark.parametrize("name", ["ends", "calls_known"])
def test_other_calls_need_all(name: str) -> None:
    assert needed_after_first(CODE.plan(name, calls="instrumented")) == ALL_BITS
    assert needed_after_first(CODE.plan("calls_known", calls="thunked")) & T0


def test_accesses_by_the_host_need_what_callers_hand_over() -> None:
    plan = CODE.plan("accesses", memory="thunk")
    assert plan.context.needed.at(plan.function.start) & CARRIED_BITS == CARRIED_BITS


def test_guarded_accesses_need_what_landing_pads_read() -> None:
    f20 = 1 << FPR_BIT + 20
    plan = CODE.plan("saves_floats")
    assert plan.context.needed.after(plan.function.start) & f20
    needed = find_needed(plan.graph, plan.units, plan.convention)
    assert needed.at(plan.function.start) & SAVED_BITS & f20 == 0
    plan.function.guarded.append((plan.function.start, plan.function.start + 64))
    try:
        needed = find_needed(plan.graph, plan.units, plan.convention)
        assert needed.at(plan.function.start) & (SAVED_BITS & ~f20) == SAVED_BITS & ~f20
    finally:
        plan.function.guarded.clear()


def test_registers_in_the_state_are_not_saved_for_nobody() -> None:
    plan = CODE.plan("reads", memory_resident=T0 | T1 | R[2] | R[3])
    second = plan.blocks[plan.graph.order[1]].end
    assert isinstance(second, Goto) and second.saves & (T0 | T1) == T1
    plan = CODE.plan("ignores_results", memory_resident=T0 | T1 | R[2] | R[3])
    (end,) = (block.end for block in plan.blocks.values() if isinstance(block.end, Call))
    assert end.returned & (R[2] | R[3]) == 0


# ---- seeded faults ----


def plan_that_needs_less(
    name: str, monkeypatch: pytest.MonkeyPatch, less: Callable[[Needed], Needed], memory_resident: int = 0
) -> FunctionPlan:
    """Return the plan of a function, made with some registers taken for ones that nobody reads."""
    monkeypatch.setattr(build, "find_needed", lambda *words: less(find_needed(*words)))
    function = CODE.guest().function(name)
    starts = CODE.guest().starts.get
    return decide(undecided_plan(function, [function.start], LiftOptions(False), starts, memory_resident))


def without_t0(needed: Needed) -> Needed:
    return Needed(*({pc: bits & ~T0 for pc, bits in part.items()} for part in (needed.at_start, needed.at_end)))


@pytest.mark.parametrize("name", [name for name in READERS if name != "reads"])
def test_a_register_that_is_taken_for_unneeded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = findings(plan_that_needs_less(name, monkeypatch, without_t0))
    assert any("contract 1: the state lacks" in line and "t0" in line for line in found)


def test_a_register_in_the_state_that_is_not_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_that_needs_less("reads", monkeypatch, without_t0, memory_resident=T0 | T1)
    assert any("reads t0, which some way to it has not saved" in line for line in findings(plan))
