"""What functions overwrite, and what they ignore: what nobody reads as their callers have it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mipsrec.isa.effects import ALL_BITS, FPR_BIT
from mipsrec.lift.check import findings
from mipsrec.lift.check_overwrites import overwrite_findings
from mipsrec.lift.check_state import state_findings
from mipsrec.lift.convention import Callee
from mipsrec.lift.ir import FunctionPlan
from mipsrec.lift.nodes import Call, Return
from mipsrec.lift.overwrites import KEPT
from tests.lift.plans import R, Snippets

V0, V1, T0, T1, T8, T9, GP = R[2], R[3], R[8], R[9], R[24], R[25], R[28]

CODE = Snippets(
    {
        "result": "jr $31\n addiu $2, $4, 1",
        "reads_first": "addu $2, $2, $8\n jr $31\n addiu $8, $0, 1",
        "one_way": "beqz $4, 1f\n nop\n addiu $8, $0, 1\n1: jr $31\n addiu $2, $0, 1",
        "both_ways": "beqz $4, 1f\n addiu $8, $0, 1\n addiu $9, $0, 1\n jr $31\n nop\n1: jr $31\n addiu $9, $0, 2",
        "in_slot": "beqzl $4, 1f\n addiu $8, $0, 1\n1: jr $31\n nop",
        "traps": "teq $4, $5\n jr $31\n addiu $2, $0, 1",
        "traps_after": "addiu $2, $0, 1\n teq $4, $5\n jr $31\n addiu $8, $0, 1",
        "reads_thread": "rdhwr $3, $29\n jr $31\n addiu $2, $0, 1",
        "reads_counter": "rdhwr $3, $2\n jr $31\n addiu $2, $0, 1",
        "adds": "add $8, $4, $5\n jr $31\n addiu $2, $0, 1",
        "system_call": "addiu $2, $0, 4001\n syscall\n jr $31\n addiu $8, $0, 1",
        "loop": "1: addiu $4, $4, -1\n bnez $4, 1b\n addiu $8, $0, 1\n jr $31\n nop",
        "for_ever": "1: b 1b\n nop",
        "calls_known": "addiu $29, $29, -32\n sw $31, 28($29)\n jal result\n addiu $8, $0, 1\n lw $31, 28($29)\n"
        " jr $31\n addiu $29, $29, 32",
        "calls_unknown": "addiu $29, $29, -32\n sw $31, 28($29)\n jalr $5\n addiu $8, $0, 1\n lw $31, 28($29)\n"
        " jr $31\n addiu $2, $0, 1",
        "calls_maybe": "addu $16, $31, $0\n bgezal $4, result\n addiu $8, $0, 1\n jr $16\n nop",
        "goes_on": "j result\n addiu $8, $0, 1",
        "recursive": "addiu $29, $29, -32\n beqz $4, 1f\n sw $31, 28($29)\n jal recursive\n addiu $4, $4, -1\n"
        "1: lw $31, 28($29)\n addiu $2, $0, 1\n jr $31\n addiu $29, $29, 32",
        "reads_memory": "lw $8, 0($4)\n jr $31\n addu $2, $8, $0",
        "half": "mtc1 $4, $f0\n jr $31\n nop",
        "caller": "addiu $2, $0, 7\n addiu $3, $0, 8\n addiu $28, $0, 9\n jal result\n nop\n jr $16\n nop",
        "spares": "addiu $3, $0, 8\n addiu $24, $0, 9\n lw $16, 0($4)\n jal result\n nop\n addiu $24, $0, 1\n"
        " jr $16\n addiu $3, $0, 2",
        "reads_later": "addiu $24, $0, 9\n lw $16, 0($4)\n jal result\n nop\n addu $2, $2, $24\n jr $16\n"
        " addiu $24, $0, 1",
        "moves_sp": "lw $29, 0($4)\n jr $31\n nop",
        "returns_elsewhere": "lw $31, 0($4)\n jr $31\n nop",
        "goes_to_that": "j returns_elsewhere\n nop",
        "hands_on": "addiu $8, $0, 7\n addu $16, $31, $0\n jal reads_first\n nop\n jr $16\n addiu $8, $0, 1",
        "takes_t9": "jr $31\n addu $2, $25, $0",
        "reads_memory_and_traps": "lw $2, 0($4)\n teq $4, $5\n jr $31\n nop",
        "passes_t9": "addu $16, $31, $0\n addiu $25, $0, 1\n jal takes_t9\n nop\n addiu $25, $0, 2\n"
        " jal reads_memory_and_traps\n nop\n addu $31, $16, $0\n jr $31\n nop",
        "guesses": "lui $25, %hi(result)\n addiu $25, $25, %lo(result)\n addiu $2, $0, 7\n addiu $3, $0, 8\n"
        " jalr $25\n nop\n jr $16\n nop",
    }
)


def callee(name: str) -> Callee:
    plan = CODE.plan(name)
    found = plan.convention.callee(plan.function.start)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("result", V0),
        ("reads_first", 0),
        ("one_way", V0),
        ("both_ways", T0 | T1),
        ("in_slot", 0),
        ("traps", 0),
        ("traps_after", V0),
        ("reads_thread", V0 | V1),
        ("reads_counter", 0),
        ("adds", 0),
        ("system_call", V0),
        ("loop", T0),
        ("for_ever", ALL_BITS & ~KEPT),
        ("calls_known", V0 | T0),
        ("calls_unknown", T0),
        ("calls_maybe", T0),
        ("goes_on", V0 | T0),
        ("recursive", V0),
        ("reads_memory", V0 | T0),
        ("half", 1 << FPR_BIT),
    ],
)
def test_overwritten(name: str, bits: int) -> None:
    assert callee(name).overwrites == bits


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("result", V0 | V1 | T0 | T1 | T9 | GP),
        ("reads_first", V1 | T1 | T9 | GP),
        ("one_way", V0 | V1 | T0 | T1 | T9 | GP),
        ("in_slot", V0 | V1 | T0 | T1 | T9 | GP),
        ("traps", 0),
        ("traps_after", V0),
        ("reads_thread", V0 | V1 | T0 | T1 | T9 | GP),
        ("reads_counter", 0),
        ("system_call", V0),
        ("loop", V0 | V1 | T0 | T1 | T9 | GP),
        ("calls_known", V0 | T0),
        ("calls_unknown", T0),
        ("calls_maybe", T0),
        ("goes_on", V0 | V1 | T0 | T1 | T9 | GP),
        ("recursive", V0),
        ("moves_sp", V0 | V1 | T0 | T1 | T9 | GP),
        ("returns_elsewhere", 0),
        ("goes_to_that", 0),
    ],
)
def test_ignored(name: str, bits: int) -> None:
    found = callee(name)
    assert found.ignores & (V0 | V1 | T0 | T1 | T9 | GP) == bits
    assert found.overwrites & ~found.ignores == 0


def end_of(plan: FunctionPlan) -> Call:
    return next(block.end for block in plan.blocks.values() if isinstance(block.end, Call))


def test_a_call_leaves_out_what_the_callee_overwrites() -> None:
    plan = CODE.plan("caller")
    end = end_of(plan)
    assert end.stores == V1 | T9 | GP and end.missed == 0
    assert state_findings(plan) == []


def test_a_wrong_guess_stores_the_rest() -> None:
    plan = CODE.plan("guesses")
    end = end_of(plan)
    assert end.to.guess is not None and end.stores == V1 | T9 and end.missed == V0


@pytest.mark.parametrize("calls", ["thunked", "instrumented"])
def test_other_calls_store_all(calls: str) -> None:
    assert end_of(CODE.plan("caller", calls=calls)).stores & (V0 | V1 | GP) == V0 | V1 | GP


def test_a_call_leaves_out_what_is_ignored_and_then_overwritten() -> None:
    assert end_of(CODE.plan("spares")).stores == T9  # which `jr $16` hands on
    assert end_of(CODE.plan("reads_later")).stores == T8 | T9
    for name in "spares", "reads_later":
        assert findings(CODE.plan(name)) == []


def broken(plan: FunctionPlan, **fields: int) -> list[str]:
    """Return what the checks say of a plan whose call has other fields."""
    block = next(block for block in plan.blocks.values() if isinstance(block.end, Call))
    assert isinstance(block.end, Call)
    block.end = replace(block.end, **fields)
    return findings(plan)


def findings_of(plan: FunctionPlan, own: Callee) -> list[str]:
    """Return what contract 4 says of a function of which its callers know something else."""
    others = plan.convention.callee
    plan.convention = replace(plan.convention, callee=lambda pc: own if pc == plan.function.start else others(pc))
    return overwrite_findings(plan)


def test_a_register_that_the_callee_reads_is_missed() -> None:
    found = broken(CODE.plan("hands_on"), stores=T9)
    assert len(found) == 1 and "contract 1: the state lacks t0 at a call" in found[0]


def test_a_register_that_is_read_after_the_call_is_missed() -> None:
    found = broken(CODE.plan("reads_later"), stores=T9)
    assert found and all("contract 4: it reads t8, which was not stored for a call" in line for line in found)
    found = broken(CODE.plan("caller"), stores=GP | T9)
    assert any("contract 4: the end passes on v1, which was not stored for a call" in line for line in found)


def test_a_wrong_guess_that_stores_too_little() -> None:
    found = broken(CODE.plan("guesses"), missed=0)
    assert len(found) == 1 and "contract 1: the state lacks v0 where a guess is wrong" in found[0]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("reads_first", "it reads t0, which callers need not have stored"),
        ("one_way", "the return passes on v1 t0"),
        ("traps", "it may leave without v1 t0"),
        ("calls_unknown", "the call passes on v1"),
        ("goes_on", "the edge passes on v1"),
        ("calls_known", "the return passes on v1"),
    ],
)
def test_a_function_that_is_said_to_overwrite_more(name: str, said: str) -> None:
    plan = CODE.plan(name)
    assert overwrite_findings(plan) == []
    more = replace(callee(name), overwrites=callee(name).overwrites | T0 | V1, ignores=callee(name).ignores | T0 | V1)
    found = findings_of(plan, more)
    assert any(f"contract 4: {said}" in line for line in found), found


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("reads_first", "it reads t0, which callers need not have stored"),
        ("traps", "it may leave without"),
        ("calls_unknown", "the call passes on v1"),
        ("returns_elsewhere", "the return passes on v1 t0"),
        ("goes_to_that", "the edge passes on v1 t0"),
    ],
)
def test_a_function_that_is_said_to_ignore_more(name: str, said: str) -> None:
    plan = CODE.plan(name)
    more = replace(callee(name), ignores=callee(name).ignores | T0 | V1)
    found = findings_of(plan, more)
    assert any(f"contract 4: {said}" in line for line in found), found


def test_a_callee_that_takes_t9_stores_it() -> None:
    """Its parameter is as if it had written t9 itself; a callee that does not take t9 finds it in the state."""
    plan = CODE.plan("passes_t9")
    ends = {block.end.to.pc: block.end for block in plan.blocks.values() if isinstance(block.end, Call)}
    stored = {pc: end.stores & T9 for pc, end in ends.items()}
    assert stored == {CODE.plan("takes_t9").function.start: 0, CODE.plan("reads_memory_and_traps").function.start: T9}
    assert findings(plan) == []
    taker = CODE.plan("takes_t9")
    (block,) = taker.blocks.values()
    assert isinstance(block.end, Return) and block.end.stores & T9 and findings(taker) == []
    block.end = replace(block.end, stores=0)
    assert any("contract 1: the state lacks t9 at a return" in line for line in findings(taker))


FR_1 = Snippets(
    {
        "result": "jr $31\n addiu $2, $4, 1",
        "half_again": "mtc1 $4, $f0\n addu $16, $31, $0\n jal result\n nop\n mtc1 $5, $f0\n jr $16\n mfc1 $2, $f0",
        "whole_then_half": "mtc1 $4, $f0\n cvt.d.w $f0, $f0\n addu $16, $31, $0\n jal result\n nop\n mtc1 $5, $f0\n"
        " jr $16\n nop",
    }
)


def test_halves_under_fr_1() -> None:
    """The state has the upper half of a register of which a function writes the lower one alone."""
    guest = FR_1.guest()
    guest.image = replace(guest.image, fr=1)  # before anything is known of the functions
    stored = {}
    for name in ("half_again", "whole_then_half"):
        plan = FR_1.plan(name, fr=1)
        (end,) = (block.end for block in plan.blocks.values() if isinstance(block.end, Call))
        stored[name] = bool(end.all_stores & 1 << FPR_BIT)
    assert stored == {"half_again": False, "whole_then_half": True}
