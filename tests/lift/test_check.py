"""Contracts of plans: those of whole programs keep them, and each contract finds a plan that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from mipsrec.isa.effects import ALL_BITS, added_constant, effects
from mipsrec.lift.check import findings
from mipsrec.lift.convention import RESULT_BITS, SP_BIT
from mipsrec.lift.facts.shared_switches import SHARED_CASES
from mipsrec.lift.ir import BlockPlan, FunctionPlan, MergedAccesses, MergedStore, Op, UnalignedWord
from mipsrec.lift.text import registers_text
from mipsrec.options import Options
from tests.lift.plans import R, Snippets, plans, switch
from tests.support.paths import PREBUILT

GUESTS = sorted(PREBUILT.glob("*/*.elf"))
WAYS = (
    Options(),
    Options(opt="light"),
    Options(calls="instrumented"),
    Options(calls="thunked"),
    Options(memory="paged"),
)


def way_of(options: Options) -> str:
    return f"{options.opt}-{options.calls}-{options.memory}"


CASES = [(guest, WAYS[0]) for guest in GUESTS] + [(guest, way) for guest in GUESTS[::4] for way in WAYS[1:]]


@cache
def plans_of(guest: Path) -> list[tuple[str, FunctionPlan]]:
    """Return the plans of a program as it is recompiled by default, made once."""
    return list(plans(guest))


@pytest.mark.sampled  # `make check` looks at all
@pytest.mark.parametrize(
    ("guest", "options"),
    CASES,
    ids=lambda one: f"{one.parent.name}/{one.stem}" if isinstance(one, Path) else way_of(one),
)
def test_plans_keep_the_contracts(guest: Path, options: Options) -> None:
    found = plans_of(guest) if options == WAYS[0] else list(plans(guest, options))
    assert found
    for symbol, plan in found:
        assert findings(plan) == [], symbol


# ---- plans that break one ----


def plan_with(wanted: Callable[[FunctionPlan], object]) -> FunctionPlan:
    """Return some plan of this kind: a copy, which the caller breaks."""
    return deepcopy(next(plan for guest in GUESTS for _, plan in plans_of(guest) if wanted(plan)))


def an_op(plan: FunctionPlan, wanted: Callable[[Op], object]) -> Op:
    return next(op for block in plan.blocks.values() for op in block.ops if wanted(op))


def has_op(wanted: Callable[[Op], object]) -> Callable[[FunctionPlan], object]:
    return lambda plan: any(wanted(op) for block in plan.blocks.values() for op in block.ops)


def stores(op: Op) -> bool:
    return effects(op.instruction.row).stores


def assert_found(plan: FunctionPlan, said: str) -> None:
    found = findings(plan)
    assert any(said in line for line in found), found


def test_no_wrap_of_another_operation() -> None:
    plan = plan_with(has_op(stores))
    an_op(plan, lambda op: added_constant(op.instruction) is None).no_wrap = True
    assert_found(plan, "no addition of a constant")


def test_scalar_lanes_of_another_module() -> None:
    plan = plan_with(has_op(stores))
    an_op(plan, stores).scalar_lanes = True
    assert_found(plan, "is not of the DSP module")


def test_spin_of_a_store() -> None:
    plan = plan_with(has_op(stores))
    an_op(plan, stores).spin = True
    assert_found(plan, "is said to spin, and is no load")


def forms(plan: FunctionPlan) -> int | None:
    return next((pc for pc in plan.graph.order[1:] if plan.word_forms.into[pc] and plan.graph.predecessors[pc]), None)


def test_edge_with_two_forms() -> None:
    plan = plan_with(forms)
    pc = forms(plan)
    assert pc is not None
    plan.word_forms.into[pc] = 0
    assert_found(plan, "two forms on the way")


def test_entry_with_words() -> None:
    plan = plan_with(forms)
    plan.word_forms.into[plan.graph.entries[0]] |= plan.words
    assert_found(plan, "another form than calls pass them in")


def merged(plan: FunctionPlan) -> BlockPlan | None:
    return next((block for block in plan.blocks.values() if block.merged.stores), None)


def test_merged_access_that_must_stay() -> None:
    plan = plan_with(merged)
    block = merged(plan)
    assert block is not None
    block.ops[next(iter(block.merged.stores))].volatile = True
    assert_found(plan, "of which one is marked")


def test_groups_that_overlap() -> None:
    plan = plan_with(merged)
    block = merged(plan)
    assert block is not None
    at, store = next(iter(block.merged.stores.items()))
    block.merged = MergedAccesses(block.merged.loads, {at: store, at + 1: MergedStore(2, None)})
    assert_found(plan, "groups that overlap")


def test_group_with_something_else_in_it() -> None:
    """Some instructions that are no stores are taken for merged ones."""

    def block_with(plan: FunctionPlan) -> tuple[BlockPlan, int] | None:
        for block in plan.blocks.values():
            if len(block.ops) >= 4 and not (block.unaligned or block.merged.stores or stores(block.ops[0])):
                return block, 0
        return None

    plan = plan_with(block_with)
    found = block_with(plan)
    assert found is not None
    found[0].merged = MergedAccesses({}, {found[1]: MergedStore(4, None)})
    assert_found(plan, "no accesses of its kind")


def test_halves_of_a_word_around_a_store() -> None:
    def block_with(plan: FunctionPlan) -> tuple[BlockPlan, int, int] | None:
        for block in plan.blocks.values():
            at = [index for index, op in enumerate(block.ops) if stores(op)]
            if len(at) >= 3 and not block.merged.stores and not block.unaligned:
                return block, at[0], at[2]
        return None

    plan = plan_with(block_with)
    found = block_with(plan)
    assert found is not None
    block, first, second = found
    block.unaligned[first] = UnalignedWord(second, 0)
    assert_found(plan, "may not be passed")


def test_register_that_is_not_loaded() -> None:
    plan = plan_with(lambda plan: plan.context.entry_loads & ~SP_BIT and not plan.memory_resident)
    plan.context.entry_loads = 0
    assert_found(plan, "which some way to it has not loaded")


def test_registers_of_jumps_that_share_a_switch() -> None:
    """Whatever is in SSA there is stored on the way elsewhere, so it must have been loaded."""
    code = switch(["2b"] * SHARED_CASES, "2: addiu $5, $5, 2\n b 9f\n nop", section=".data")
    plan = Snippets({"jumps": code}).plan("jumps", memory_resident=ALL_BITS & ~R[9])
    (source,) = (pc for pc, block in plan.blocks.items() if block.shares_switch)
    plan.sites[source] = replace(plan.sites[source], passed=plan.sites[source].passed & ~R[9])
    assert_found(plan, "not kept for the way elsewhere")


def test_result_that_counts_as_stored() -> None:
    plan = plan_with(lambda plan: any(site.not_in_state == RESULT_BITS for site in plan.sites.values()))
    for site in plan.sites.values():
        site.not_in_state = 0
    assert_found(plan, f"{registers_text(RESULT_BITS)} counted as in the state")


def test_loop_without_a_safepoint() -> None:
    plan = plan_with(lambda plan: plan.safepoints.edges)
    plan.safepoints = replace(plan.safepoints, edges=frozenset())
    assert_found(plan, "may go on for long without a safepoint")


def test_safepoint_on_no_edge() -> None:
    plan = plan_with(lambda plan: plan.safepoints.edges)
    pc = plan.graph.order[0]
    plan.safepoints = replace(plan.safepoints, edges=plan.safepoints.edges | {(pc, pc + 2)})
    assert_found(plan, "which is no edge")


def test_vectorized_loop_with_a_safepoint() -> None:
    plan = plan_with(lambda plan: plan.vectorized)
    pc = next(iter(plan.vectorized))
    plan.safepoints = replace(plan.safepoints, edges=plan.safepoints.edges | {(pc, pc)})
    assert_found(plan, "no loop of one block without a safepoint")


def test_too_few_weights() -> None:
    plan = plan_with(lambda plan: any(block.case_weights for block in plan.blocks.values()))
    for block in plan.blocks.values():
        block.case_weights = block.case_weights[:1]
    assert_found(plan, "weights that are not of its cases")
