"""Save merging: saves of registers that travel in vectors go together, where nothing between them may notice."""

from __future__ import annotations

import re

import pytest

from mipsrec.lift.check import findings
from mipsrec.lift.ir import FunctionPlan, Run
from mipsrec.lift.passes import save_merge
from tests.lift.plans import Snippets

SAVE = "addiu $29, $29, -48\n sw $21, 28($29)\n sw $20, 24($29)\n sw $19, 20($29)\n sw $18, 16($29)"
BODY = "move $18, $4\n move $19, $5\n move $20, $6\n move $21, $7\n jal helper\n nop"
LOAD = "lw $21, 28($29)\n lw $20, 24($29)\n lw $19, 20($29)\n lw $18, 16($29)\n addiu $29, $29, 48"
CALLS = f"sw $31, 44($29)\n {BODY}\n lw $31, 44($29)"


def saves(text: str) -> str:
    """Return a function with these saves that calls, and loads what it has saved."""
    return f"{text}\n {CALLS}\n {LOAD}"


FOUR = [(18, 19, 20, 21)]
TWICE = [(20, 21), (18, 19)]
RUNS = {
    "four": (saves(SAVE), FOUR, FOUR),
    "in_order": (saves("\n".join(reversed(SAVE.splitlines()[1:]))), FOUR, FOUR),
    "two": (saves(SAVE.replace("sw $21, 28($29)", "nop").replace("sw $20, 24($29)", "nop")), [(18, 19)], [(18, 19)]),
    "three": (saves(SAVE.replace("sw $21, 28($29)", "nop")), [(18, 19)], [(18, 19)]),
    "seven": (
        SAVE + "\n sw $22, 32($29)\n sw $23, 36($29)\n sw $30, 40($29)\n" + f"{CALLS}\n lw $22, 32($29)\n"
        f"lw $23, 36($29)\n lw $30, 40($29)\n {LOAD}",
        [(18, 19, 20, 21), (22, 23)], [(22, 23), (18, 19, 20, 21)]),
    "computes_between": (saves(SAVE.replace("sw $19", "multu $4, $5\n move $21, $4\n sw $19")), FOUR, FOUR),
    "others_between": (saves(SAVE.replace("sw $19", "sw $16, 32($29)\n sb $4, 36($29)\n sw $19")), FOUR, FOUR),
    "another_base": (SAVE.replace("$29)", "$4)"), FOUR, []),
    "loads_between_loads": (saves(SAVE).replace("lw $20", "lw $16, 32($29)\n lw $20"), FOUR, FOUR),
    "computes_between_loads": (saves(SAVE).replace("lw $20", "addu $2, $20, $21\n lw $20"), FOUR, FOUR),
    "only_saved": (f"{saves(SAVE)}\n beqz $2, 1f\n nop\n {LOAD.replace('addiu', 'nop #')}\n 1:", FOUR, FOUR * 2),
    # what may not be passed
    "loads_between": (saves(SAVE.replace("sw $19", "lw $2, 0($4)\n sw $19")), TWICE, TWICE),
    "traps_between": (saves(SAVE.replace("sw $19", "teq $4, $5\n sw $19")), TWICE, TWICE),
    "orders_between": (saves(SAVE.replace("sw $19", "sync\n sw $19")), TWICE, TWICE),
    "stores_elsewhere": (saves(SAVE.replace("sw $19", "sw $2, 0($4)\n sw $19")), TWICE, TWICE),
    "stores_over_it": (saves(SAVE.replace("sw $19", "sb $2, 23($29)\n sw $19")), TWICE, TWICE),
    "base_changes": (
        SAVE.replace("sw $19, 20", "addiu $29, $29, -8\n sw $19, 28").replace("16($29)", "24($29)"), TWICE, []),
    "changed_before": (saves(SAVE.replace("sw $20", "move $20, $4\n sw $20")), [(18, 19)], [(18, 19)]),
    "a_register_twice": (saves(re.sub(r"sw \$\d+", "sw $18", SAVE)), [], []),
    "gap": (saves(SAVE.replace("sw $19, 20", "sw $19, 40")), [(20, 21)], [(20, 21)]),
    "saved_again": (
        f"{SAVE}\n {CALLS}\n beqz $2, 1f\n nop\n sw $19, 20($29)\n sw $20, 24($29)\n 1: {LOAD}",
        [*FOUR, (19, 20)], FOUR),
    "of_others": (saves(SAVE.replace("sw $20", "sw $16")), [(18, 19)], [(18, 19)]),
    "halves": (SAVE.replace("sw", "sh"), [], []),
    "parts": (SAVE.replace("sw", "swr"), [], []),
    "not_saved": (f"{LOAD}\n nop", [], []),
    "saved_elsewhere": (
        saves(SAVE).replace("lw $20, 24($29)\n lw $19, 20($29)", "lw $20, 20($29)\n lw $19, 24($29)"), FOUR, []),
    "stores_between_loads": (saves(SAVE).replace("lw $20", "sw $2, 0($4)\n lw $20"), FOUR, []),
    "calls_between_loads": (saves(SAVE).replace("lw $20", "jal helper\n nop\n lw $20"), FOUR, []),
}  # fmt: skip
"""Code, and the registers of its runs of stores and of loads, in order of the first instruction of each."""
RETURN = "jr $31\n nop"
CODE = Snippets({name: f"{text}\n {RETURN}" for name, (text, *_) in RUNS.items()} | {"helper": RETURN})


def runs(plan: FunctionPlan, kind: str) -> list[tuple[int, ...]]:
    """Return the registers of the runs of instructions of a name."""
    found = []
    for block in plan.blocks.values():
        for _, run in sorted(block.runs.items()):
            members = [block.ops[index].instruction for index in run.indices]
            if {member.row.name for member in members} == {kind}:
                found.append(tuple(member.rt for member in members))
    return found


@pytest.mark.parametrize("name", RUNS)
def test_runs(name: str) -> None:
    plan = CODE.plan(name, "big")
    _, stores, loads = RUNS[name]
    assert (runs(plan, "sw"), runs(plan, "lw")) == (stores, loads)


@pytest.mark.parametrize(
    "options",
    [{"order": "little"}, {"order": "big", "memory": "paged"}, {"order": "big", "memory_resident": 0xFF << 16}],
)
def test_off(options: dict[str, object]) -> None:
    plan = CODE.plan("four", **options)  # type: ignore[arg-type]
    assert not any(block.runs for block in plan.blocks.values())


MOVED = "may not be passed"
SEEDED = {
    "loads_between": ("sw", MOVED),
    "traps_between": ("sw", MOVED),
    "orders_between": ("sw", MOVED),
    "stores_elsewhere": ("sw", MOVED),
    "stores_over_it": ("sw", MOVED),
    "base_changes": ("sw", MOVED),
    "stores_between_loads": ("lw", MOVED),
    "changed_before": ("sw", "have changed"),
    "a_register_twice": ("sw", "a register twice"),
    "gap": ("sw", "not of consecutive words"),
    "of_others": ("sw", "not of consecutive words"),
    "halves": ("sh", "not of consecutive words"),
    "parts": ("swr", "not of consecutive words"),
}


@pytest.mark.parametrize("name", SEEDED)
def test_the_checker_finds(name: str) -> None:
    """All accesses of a kind, in order of address, taken for a run where the pass leaves some of them apart."""
    kind, said = SEEDED[name]
    plan = CODE.plan(name, "big")
    members = [
        (op.instruction.imm, index, block)
        for block in plan.blocks.values()
        for index, op in enumerate(block.body)
        if op.instruction.row.name == kind and op.instruction.rt not in (2, 16, 31)
    ]
    if name == "of_others":
        members = [member for member in members if member[2].body[member[1]].instruction.rt != 20]
    block = members[0][2]
    run = Run(tuple(index for _, index, other in sorted(members, key=lambda one: one[:2]) if other is block))
    block.runs, block.unaligned = {run.first: run}, {}
    assert any(said in line for line in findings(plan)), findings(plan)


def test_guarded() -> None:
    """What a landing pad sees of a store between others, after a fault of it, is exact."""
    plan = CODE.plan("others_between", "big", last="unaligned")
    block = plan.blocks[plan.function.start]
    between = next(op for op in block.body if op.instruction.rt == 16 and op.instruction.row.name == "sw")
    between.exposed = between.volatile = True
    save_merge.run(plan)
    assert runs(plan, "sw") == TWICE
    block.runs = {1: Run((6, 5, 2, 1))}
    assert any(MOVED in line for line in findings(plan))
