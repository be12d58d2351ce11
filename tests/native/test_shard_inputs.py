"""The inputs of a shard: its IR depends on nothing else, and its key on all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import pytest

from mipsrec import pipeline, recompile
from mipsrec.analysis import Block, End, Function, JumpTable
from mipsrec.emit.lifted import lift_function
from mipsrec.emit.module import called_elsewhere, module_text
from mipsrec.isa import decode
from mipsrec.lift.convention import Callee
from mipsrec.lift.options import LiftOptions
from mipsrec.native import shards
from mipsrec.native.plan import Plan
from mipsrec.native.shard_inputs import ShardInputs, inputs_of, lift_inputs, part_key
from mipsrec.native.shards import Shard
from mipsrec.options import Options
from mipsrec.target import this_target
from mipsrec.target.cpu import chosen_cpu
from tests.support.paths import PREBUILT

GUESTS = ["mipsel/jumptable.elf", "mips/virtual.elf", "mipsel/replay_vm.elf", "mips/callbacks.elf"]
CPU = chosen_cpu("generic")


def small_shards(guest: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Plan, list[Shard]]:
    """Return the plan of a guest, and its shards, which are small so that much lies outside of each."""
    monkeypatch.setattr(shards, "LEAST_INSTRUCTIONS", 10)
    monkeypatch.setattr(shards, "MOST_INSTRUCTIONS", 40)
    plan = recompile.plan_of(pipeline.open_guest(PREBUILT / guest), Options(**options))
    return plan, plan.shards()


def key_of(inputs: ShardInputs) -> str:
    return part_key(inputs, "2", CPU)


def ir_of(inputs: ShardInputs) -> str:
    return module_text(lift_inputs(inputs), this_target().triple, inputs.options.file_name)


@pytest.mark.parametrize("guest", GUESTS)
@pytest.mark.parametrize("options", [{}, {"calls": "thunked", "opt": "light"}])
def test_the_inputs_are_all_that_ir_is_made_from(
    guest: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the whole program and what is known of all callees the IR is the same: nothing is missed."""
    plan, sample = small_shards(guest, monkeypatch, **options)
    for shard in sample:
        lifted = []
        for start in shard.starts:
            lifted += lift_function(plan.program.functions[start], plan.callees, plan.options, len(lifted))
        for start in sorted(plan.tiny[symbol] for symbol in called_elsewhere(lifted) & plan.tiny.keys()):
            copies = lift_function(plan.program.functions[start], plan.callees, plan.options, len(lifted))
            lifted += [copy.as_copy() for copy in copies]
        whole = module_text(lifted, this_target().triple, plan.options.file_name)
        assert ir_of(inputs_of(shard, plan)) == whole, shard.names


@pytest.mark.parametrize("guest", GUESTS)
def test_equal_keys_mean_equal_ir(guest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two analyses of a file give the same keys and the same IR; and no two shards have one key."""
    (one, sample), (other, _) = small_shards(guest, monkeypatch), small_shards(guest, monkeypatch)
    found: dict[str, str] = {}
    for shard in sample:
        first, second = inputs_of(shard, one), inputs_of(shard, other)
        assert first.functions[0] is not second.functions[0]
        key, text = key_of(first), ir_of(first)
        assert (key_of(second), ir_of(second)) == (key, text)
        assert found.setdefault(key, text) == text
    assert len(found) == len(sample)


def changes_of(value: Any) -> Any:
    """Return another value of the same kind."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + 4
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, End):
        return End.STOP if value is not End.STOP else End.FALL
    if isinstance(value, (list, tuple)):
        return value[:-1] if value else type(value)([7])
    if isinstance(value, set):
        return value ^ {0x1000}
    if isinstance(value, dict):
        return dict(list(value.items())[:-1])
    return decode(value.word ^ 1 << 16)  # an instruction with another rt


def sample_inputs() -> ShardInputs:
    """Return inputs in which each field of each kind of fact says something."""
    move, jump = decode(0x00851021), decode(0x03E00008)
    assert move is not None and jump is not None
    block = Block(0x1000, [move], End.CALL, jump, 0x1004, move, 0x2000, 0x100C, 0x1010)
    table = JumpTable(0x1000, ((0x3000, 0x1000),), (8, 2), True, 4)
    function = Function(
        0x1000, 0x1100, "f", {0x1000: block}, {0x1000}, {0x1000}, {0x1004: table}, {0x1004: 0x2000}, {0x1004}, {0x2000},
        0x8000, [(0x1000, 0x1004)],
    )  # fmt: skip
    callee = Callee("g", 0x10, True, True, True, 0x20, 0x40, 0xC0)
    options = LiftOptions(False, 0, "flat", "direct", True, True, True, "f.so", ("no-wrap",), "no-wrap")
    return ShardInputs((function,), (function,), {0x2000: callee}, options)


def with_changes(value: Any, put: Callable[[Any], ShardInputs]) -> Iterator[tuple[str, ShardInputs]]:
    """Yield the inputs with each field of a dataclass changed, and the field's name."""
    for field in fields(value):
        changed = replace(value, **{field.name: changes_of(getattr(value, field.name))})
        yield f"{type(value).__name__}.{field.name}", put(changed)


def all_changes(inputs: ShardInputs) -> Iterator[tuple[str, ShardInputs]]:
    """Yield the inputs with one thing changed, and what that is."""
    (function,), ((start, callee),) = inputs.functions, inputs.callees.items()
    block, table = function.blocks[0x1000], function.jump_tables[0x1004]
    yield from with_changes(inputs.options, lambda options: replace(inputs, options=options))
    yield from with_changes(callee, lambda one: replace(inputs, callees={start: one}))
    yield from with_changes(function, lambda one: replace(inputs, functions=(one,)))
    for what, changed in with_changes(function, lambda one: replace(inputs, copies=(one,))):
        yield f"copied {what}", changed
    yield from with_changes(block, lambda one: replace(inputs, functions=(replace(function, blocks={0x1000: one}),)))
    yield from with_changes(
        table, lambda one: replace(inputs, functions=(replace(function, jump_tables={0x1004: one}),))
    )
    yield "another callee", replace(inputs, callees={start + 4: callee})
    yield "another guess", replace(inputs, functions=(replace(function, guesses={0x1004: 0x2004}),))
    yield "no copies", replace(inputs, copies=())
    yield "functions and copies", replace(inputs, functions=(function, function), copies=())


def test_each_fact_changes_the_key() -> None:
    """Each field of each dataclass, so one that is added is tried as well."""
    inputs = sample_inputs()
    keys = {"unchanged": key_of(inputs)} | {what: key_of(changed) for what, changed in all_changes(inputs)}
    ways = [(level, chosen_cpu(cpu)) for level in ("3", "light") for cpu in ("generic", "x86-64-v2")]
    keys |= {f"{level} {cpu.name}": part_key(inputs, level, cpu) for level, cpu in ways}
    assert len(set(keys.values())) == len(keys), keys


def test_an_instruction_of_one_function_changes_one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, all_shards = small_shards("mipsel/replay_vm.elf", monkeypatch)
    before = {shard.number: key_of(inputs_of(shard, plan)) for shard in all_shards}
    shard = max(all_shards, key=lambda one: one.weight)
    function = plan.program.functions[shard.starts[0]]
    block = next(block for block in function.blocks.values() if block.body)
    block.body[0] = changes_of(block.body[0])
    after = {shard.number: key_of(inputs_of(shard, plan)) for shard in all_shards}
    changed = {number for number in before if before[number] != after[number]}
    copied_to = {one.number for one in all_shards if function in inputs_of(one, plan).copies}
    assert changed == {shard.number} | copied_to
