"""Switches: in a loop, cases that only go on weigh more than those that do something."""

from __future__ import annotations

import pytest

from mipsrec.isa.effects import ALL_BITS
from mipsrec.lift.facts.shared_switches import SHARED_CASES
from mipsrec.lift.passes.switches import USUAL_WEIGHT
from tests.lift.plans import R, Snippets, switch

WORK = "\n".join(f"{n}: addiu $5, $5, {n}\n b 9f\n nop" for n in (2, 3))
OWN_WAY_BACK = "\n".join(f"{n}: addiu $5, $5, {n}\n bne $4, $6, 1b\n nop\n b 9f\n nop" for n in (2, 3, 4, 5))
RETURNS = "\n".join(f"{n}: addiu $5, $5, {n}\n bne $4, $6, 1b\n nop\n jr $31\n nop" for n in (2, 3))
CODE = Snippets(
    {
        "one_goes_on": switch(["2b", "3b", "9b", "2b"], WORK),
        "two_go_on": switch(["2b", "3b", "9b", "9b"], WORK),
        # nothing is weighed
        "no_loop": switch(["2b", "3b", "9b", "2b"], WORK, loop=False),
        "cases_go_back_themselves": switch(["2b", "3b", "4b", "5b"], OWN_WAY_BACK),
        "all_go_on": switch(["9b", "9b", "9b", "9b"], WORK),
        "all_go_on_and_others_join": switch(["9b", "9b", "9b", "9b"], "8: addiu $5, $5, 1", default="8f"),
        "others_go_back_themselves": switch(["2b", "3b", "4b", "6b"], OWN_WAY_BACK + "\n6: b 9f\n nop"),
        "goes_to_the_head": switch(["2b", "3b", "1b", "2b"], WORK),
        "nothing_else_meets": switch(["2b", "3b", "9b", "2b"], RETURNS),
        "all_work": switch(["2b", "3b", "2b", "3b"], WORK),
        "large": switch(["2b", "3b"] * (SHARED_CASES // 2), WORK, section=".data"),
        "large_and_read_only": switch(["2b", "3b"] * (SHARED_CASES // 2), WORK),
        "nearly_large": switch(["2b", "3b"] * (SHARED_CASES // 2 - 1), WORK, section=".data"),
        "no_table": "beqz $4, 1f\n nop\n addiu $5, $5, 1\n 1: jr $31\n nop",
    }
)


def weights(name: str) -> list[list[int]]:
    return [block.case_weights for block in CODE.plan(name).blocks.values() if block.case_weights]


def test_cases_that_go_on_are_usual() -> None:
    assert weights("one_goes_on") == [[1, 1, USUAL_WEIGHT * 3 + 1, 1]]
    assert weights("two_go_on") == [[1, 1, USUAL_WEIGHT + 1, USUAL_WEIGHT + 1]]


@pytest.mark.parametrize(
    "name",
    ["no_loop", "cases_go_back_themselves", "all_go_on", "all_go_on_and_others_join", "others_go_back_themselves",
     "goes_to_the_head", "nothing_else_meets", "all_work", "no_table"],
)  # fmt: skip
def test_nothing_is_weighed(name: str) -> None:
    assert weights(name) == []
    assert bool(CODE.plan(name).function.jump_tables) == (name != "no_table")


def test_shared_switch() -> None:
    def is_shared(name: str, memory_resident: int = ALL_BITS) -> bool:
        return any(block.shares_switch for block in CODE.plan(name, memory_resident=memory_resident).blocks.values())

    assert is_shared("large")
    plan = CODE.plan("large", memory_resident=ALL_BITS & ~R[9])
    (source,) = (pc for pc, block in plan.blocks.items() if block.shares_switch)
    assert plan.sites[source].passed & R[9]  # the way elsewhere, which jumps share, stores it
    assert not is_shared("large", memory_resident=0)
    assert not is_shared("large_and_read_only")
    assert not is_shared("nearly_large")
