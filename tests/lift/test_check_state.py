"""The contracts of the ways through a plan find each way that breaks one, and say where and of which register."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from mipsrec.errors import LiftError
from mipsrec.isa.effects import ALL_BITS, may_leave
from mipsrec.lift import build
from mipsrec.lift.check_state import state_findings
from mipsrec.lift.convention import CARRIED_BITS, SAVED_BITS
from mipsrec.lift.facts.shared_switches import SHARED_CASES
from mipsrec.lift.ir import BlockPlan, FunctionPlan
from mipsrec.lift.nodes import Branch, Call, Edge, Goto, Interpret, Jump, Return, Stop, Syscall
from mipsrec.lift.text import registers_text
from tests.lift.plans import R, Snippets, plans, switch
from tests.support.paths import PREBUILT

SAMPLES = ("exceptions", "virtual", "recursion", "setjmp", "sha256", "callbacks", "jumptable", "hello")
MOST_BLOCKS = 60


@cache
def small_plans() -> list[FunctionPlan]:
    paths = [path for path in sorted(PREBUILT.glob("*/*.elf")) if path.stem in SAMPLES]
    return [plan for path in paths for _, plan in plans(path) if len(plan.blocks) <= MOST_BLOCKS]


def ends(kind: type) -> Iterator[tuple[FunctionPlan, BlockPlan, Any]]:
    """Yield the ends of some kind, each in a copy of its plan that the caller may break."""
    for whole in small_plans():
        for pc, block in whole.blocks.items():
            if isinstance(block.end, kind):
                plan = deepcopy(whole)
                yield plan, plan.blocks[pc], plan.blocks[pc].end


def low_bit(bits: int) -> int:
    return bits & -bits


def broken(kind: type, change: Callable[[Any], Any]) -> tuple[FunctionPlan, list[str]]:
    """Break the first end of a kind that can be broken so; return the plan, and what was found."""
    for plan, block, end in ends(kind):
        changed = change(end)
        if changed is not None:
            block.end = changed
            return plan, state_findings(plan)
    raise AssertionError("no plan can be broken so")


def without_a_store(end: Any) -> Any:
    return replace(end, stores=end.stores & ~low_bit(end.stores)) if end.stores else None


@pytest.mark.parametrize(
    ("kind", "where"),
    [(Call, "at a call"), (Return, "at a return"), (Syscall, "where the host looks"), (Stop, "where the host looks"),
     (Interpret, "where the host looks"), (Jump, "where a jump leaves")],
)  # fmt: skip
def test_a_store_that_is_missing(kind: type, where: str) -> None:
    if kind in (Interpret, Stop):
        last = ".word 0xfc000001" if kind is Interpret else "break"
        plan = Snippets({"last": f"addiu $8, $8, 1\n{last}"}).plan("last")
        block = plan.blocks[plan.function.start]
        block.end = without_a_store(block.end)
        found = state_findings(plan)
    else:
        _, found = broken(kind, without_a_store)
    assert found and re.fullmatch(rf"block [0-9a-f]{{8}}: contract 1: the state lacks \w+ {where}", found[0]), found


def test_a_store_that_is_missing_on_an_edge() -> None:
    def change(end: Goto) -> Goto | None:
        edge = end.edge
        return Goto(replace(edge, stores=0), end.saves) if edge.stores and edge.copy is None else None

    _, found = broken(Goto, change)
    assert found and all("contract 1" in line for line in found), found


def test_transfers_on_the_wrong_edges() -> None:
    def swapped(end: Branch) -> Branch | None:
        taken, other = end.taken, end.other
        if taken.stores == other.stores or taken.copy is not None or other.copy is not None or taken.leaves:
            return None
        return Branch(replace(taken, stores=other.stores), replace(other, stores=taken.stores), end.saves)

    _, found = broken(Branch, swapped)
    assert found and "contract" in found[0]


def with_safepoint(end: Any) -> tuple[str, Edge] | None:
    for name in ("edge", "taken", "other"):
        edge = getattr(end, name, None)
        if edge is not None and edge.has_safepoint and edge.polls:
            return name, edge
    return None


def test_a_safepoint_without_a_complete_state() -> None:
    def change(end: Any) -> Any:
        found = with_safepoint(end)
        return replace(end, **{found[0]: replace(found[1], polls=0)}) if found is not None else None

    _, found = broken(Branch, change)
    wanted = re.compile(r"the state lacks [\w -]+ at the safepoint on the edge to [0-9a-f]{8}")
    assert any(wanted.search(line) for line in found)


def test_a_safepoint_that_is_missing() -> None:
    def change(end: Any) -> Any:
        found = with_safepoint(end)
        return replace(end, **{found[0]: replace(found[1], has_safepoint=False)}) if found is not None else None

    _, found = broken(Branch, change)
    assert any(line.endswith("has no safepoint") for line in found), found


def test_an_edge_to_another_block() -> None:
    _, found = broken(Goto, lambda end: Goto(replace(end.edge, target=end.edge.target + 4), end.saves))
    assert any("contract 3" in line for line in found), found


def test_a_load_that_is_missing_after_a_call() -> None:
    """Of what is not read again nothing need be loaded: at least one of the loads is found."""
    for plan, block, end in ends(Call):
        if end.loads:
            block.end = replace(end, loads=0)
            if found := state_findings(plan):
                assert "contract 2" in found[0] and "has not loaded" in found[0]
                return
    raise AssertionError("no call without loads is found")


def test_a_load_moved_before_a_call() -> None:
    """What was in SSA before a call is not what the callee left."""
    code = "move $16, $31\n b 1f\n li $9, 1\n 1: jal leaf\n nop\n move $2, $9\n jr $16\n nop"
    plan = Snippets({"leaf": "jr $31\n addiu $2, $4, 1", "calls": code}).plan("calls")
    before, block = (plan.blocks[pc] for pc in sorted(plan.blocks)[:2])
    assert isinstance(before.end, Goto) and isinstance(block.end, Call) and block.end.loads
    assert state_findings(plan) == []
    before.end = Goto(replace(before.end.edge, loads=block.end.loads), before.end.saves)
    block.end = replace(block.end, loads=0)
    assert "contract 2" in state_findings(plan)[0]


def test_a_register_that_is_not_saved_for_later_blocks() -> None:
    for plan, block, end in ends(Goto):
        written = 0
        for op in block.ops:
            written |= plan.units.masks(op.instruction)[1]
        if plan.context.live_out[block.block.start] & written & plan.in_ssa:
            block.end = Goto(end.edge, end.saves & ~written)
            assert "contract 2" in state_findings(plan)[0]
            return
    raise AssertionError("no block leaves anything to others")


@pytest.mark.parametrize(
    ("mark", "said"),
    [("stores_after", "which may lower it"), ("on_exit", "leaves")],
)
def test_marks_of_instructions(mark: str, said: str) -> None:
    for whole in small_plans():
        for pc, block in whole.blocks.items():
            for index, op in enumerate(block.ops):
                if getattr(op, mark) and (mark != "on_exit" or may_leave(op.instruction)):
                    plan = deepcopy(whole)
                    setattr(plan.blocks[pc].ops[index], mark, 0)
                    found = state_findings(plan)
                    assert any(said in line for line in found), found
                    return
    raise AssertionError(f"no {mark}")


def test_a_landing_pad_that_lacks_a_register() -> None:
    plan = Snippets({"throws": "addiu $28, $28, 1\n lw $8, 0($4)\n jr $31\n nop"}).plan("throws")
    load = plan.blocks[plan.function.start].ops[1]
    load.exposed = True
    lacking = registers_text(1 << 28 | SAVED_BITS & CARRIED_BITS)
    assert state_findings(plan) == [
        f"block {plan.function.start:08x}: contract 1: the state lacks {lacking} for the landing pad of {load.pc:08x}"
    ]


def test_a_callee_in_place_of_a_guarded_call() -> None:
    plan = Snippets({"calls": " jal leaf\n nop\n jr $31\n nop", "leaf": " jr $31\n addiu $2, $4, 1"}).plan("calls")
    block = plan.blocks[plan.function.start]
    assert isinstance(block.end, Call) and block.end.to.is_copied
    plan.sites[plan.function.start].exposed = True
    found = state_findings(plan)
    assert any("a call that a landing pad guards is replaced by its callee" in line for line in found), found


def test_an_access_by_the_host_that_finds_too_little() -> None:
    """The host performs accesses in the model: the handler of a fault finds in the state alone what callers hand on."""
    plan = Snippets({"loads": " move $16, $4\n lw $2, 0($16)\n jr $31\n nop"}).plan("loads", memory="thunk")
    load = plan.blocks[plan.function.start].ops[1]
    assert load.stores & CARRIED_BITS == CARRIED_BITS and state_findings(plan) == []
    load.stores &= ~R[16]
    said = f"contract 1: the state lacks s0 where the host performs {load.pc:08x}"
    assert any(said in line for line in state_findings(plan))


def test_a_slot_that_is_performed_twice() -> None:
    """It writes a register once more: what a later instruction finds is another value, and the end stores it once."""
    plan = Snippets({"twice": "addiu $8, $4, 1\n jr $31\n addiu $9, $8, 1"}).plan("twice")
    (block,) = plan.blocks.values()
    assert block.slot is not None
    block.body.append(dataclasses.replace(block.slot))
    assert any("once each" in line for line in state_findings(plan))


def test_what_the_interpreter_performs_is_not_stored() -> None:
    """A branch-likely that links is left to it, with its slot: what that writes is in no register yet."""
    code = "addiu $8, $8, 1\n bgezall $4, 1f\n addiu $9, $9, 1\n 1: jr $31\n nop"
    plan = Snippets({"obsolete": code}).plan("obsolete")
    end = plan.blocks[plan.function.start].end
    assert isinstance(end, Interpret) and end.stores & (R[8] | R[9]) == R[8]


def test_a_hub_that_lacks_a_register() -> None:
    code = switch(["2b"] * SHARED_CASES, "2: addiu $5, $5, 2\n b 9f\n nop", section=".data")
    plan = Snippets({"jumps": code}).plan("jumps", memory_resident=ALL_BITS & ~R[9])
    (hub,) = plan.hubs.values()
    assert hub.stores == R[9]
    hub.stores = 0
    assert "the state lacks t1 where a jump leaves" in state_findings(plan)[0]


def test_the_variable_has_plans_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that breaks a contract ends the build, with the function's name."""
    monkeypatch.setenv(build.CHECK, "1")
    monkeypatch.setattr(build, "findings", lambda plan: ["block 00400000: contract 1: the state lacks s0 at a call"])
    with pytest.raises(LiftError, match=r"^simple at [0-9a-f]{8}: block 00400000: contract 1: .* \(1 findings\)$"):
        Snippets({"simple": "jr $31\n nop"}).plan("simple")
