"""All that the IR of a shard is made from, as one value; the IR; and a key of it that takes no lifting to have.

Enters: a shard, and the plan of its program. Leaves: `ShardInputs`; from them alone, LLVM functions, or a key.

Why the key forgets nothing: `lift_inputs` gets the inputs and nothing else, neither the program nor the plan. The key
is a hash of all of them: every field of every dataclass is taken apart by name, and a field that is new there ends the
unpacking with an error. An instruction is its word, since decoding knows no more of it. A fact about a pc that the
inputs do not have is no fact for lifting either: calls of it go by way of the host, which is always right. What is left
is mipsrec's own code, LLVM and Python, and `made_by` has these.
"""

from __future__ import annotations

import hashlib
import marshal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from operator import attrgetter
from typing import Any

import elftools

from ..analysis import Block, Function, JumpTable
from ..cache.folders import source_digest
from ..emit.function import LiftedFunction
from ..emit.lifted import lift_function
from ..emit.module import called_elsewhere
from ..isa import Instruction
from ..lift.convention import Callee
from ..lift.options import LiftOptions
from ..target.cpu import Cpu
from .codegen import recipe
from .plan import Plan
from .shards import Shard


@dataclass(frozen=True)
class ShardInputs:
    """What a shard is lifted from.

    `copies` are the functions, by start, that its own may copy from other modules. `callees` has what is known of the
    functions that are mentioned in both.
    """

    functions: tuple[Function, ...]
    copies: tuple[Function, ...]
    callees: Mapping[int, Callee]
    options: LiftOptions


def inputs_of(shard: Shard, plan: Plan) -> ShardInputs:
    """Return what a shard of a program is lifted from."""
    program, known = plan.program.functions, plan.callees
    functions = tuple(program[start] for start in shard.starts)
    mentioned = {pc for function in functions for pc in _mentioned(function)}
    called = mentioned & known.keys()
    copies = tuple(program[start] for start in sorted(called.difference(shard.starts)) if known[start].tiny)
    called |= {pc for function in copies for pc in _mentioned(function)} & known.keys()
    return ShardInputs(functions, copies, {start: known[start] for start in sorted(called)}, plan.options)


def _mentioned(function: Function) -> Iterator[int]:
    """Yield the guest pcs at which a function, or what it leads to, may begin."""
    yield function.start
    yield from function.guesses.values()
    yield from function.outside
    for table in function.jump_tables.values():
        yield from (target for _, target in table.cases)
    for block in function.blocks.values():
        yield block.next_pc
        if block.target is not None:
            yield block.target


def lift_inputs(inputs: ShardInputs) -> list[LiftedFunction]:
    """Return the LLVM functions of one module, then those that it copies from other modules."""
    lifted: list[LiftedFunction] = []
    for function in inputs.functions:
        lifted += lift_function(function, inputs.callees, inputs.options, len(lifted))
    called = called_elsewhere(lifted)
    for function in inputs.copies:
        if inputs.callees[function.start].symbol in called:
            copies = lift_function(function, inputs.callees, inputs.options, len(lifted))
            lifted += [copy.as_copy() for copy in copies]
    return lifted


# ---- the key ----


@cache
def made_by() -> str:
    """Return what makes libraries: mipsrec's own code, LLVM with its options, pyelftools, Python."""
    return f"{source_digest()} {recipe()} {elftools.__version__} {sys.version}"


def part_key(inputs: ShardInputs, level: str, cpu: Cpu) -> str:
    """Return the name under which the record of a shard is kept, with its level and processor."""
    facts = [
        [_function_facts(function) for function in inputs.functions],
        [_function_facts(function) for function in inputs.copies],
        [(start, _CALLEE(callee)) for start, callee in inputs.callees.items()],
        _OPTIONS(inputs.options),
    ]
    digest = hashlib.blake2b(f"part {made_by()} {level} {cpu.name} ".encode(), digest_size=20)
    digest.update(marshal.dumps(facts, _PLAIN))
    return digest.hexdigest()


_PLAIN = 2
"""The version of marshal's format in which equal values have equal bytes: later ones tell which objects are shared."""


def _all_of(kind: type) -> Any:
    """Return a function that gives the fields of a dataclass as a tuple."""
    return attrgetter(*(one.name for one in fields(kind)))


_FUNCTION, _BLOCK, _TABLE, _CALLEE, _OPTIONS = map(_all_of, (Function, Block, JumpTable, Callee, LiftOptions))


def _function_facts(function: Function) -> tuple[Any, ...]:
    """Return all that analysis knows of a function. Sets have no order; mappings have one, which lifting may follow."""
    (start, limit, name, blocks, entries, resume_points, tables, guesses, unresolved, outside, gp, guarded) = _FUNCTION(
        function
    )
    sets = [sorted(pcs) for pcs in (entries, resume_points, unresolved, outside)]
    known_jumps = [(pc, _TABLE(table)) for pc, table in tables.items()]
    parts = [(pc, _block_facts(block)) for pc, block in blocks.items()]
    return start, limit, name, parts, sets, known_jumps, list(guesses.items()), gp, guarded


def _block_facts(block: Block) -> tuple[Any, ...]:
    start, body, end, terminator, terminator_pc, delay_slot, target, next_pc, slot_of = _BLOCK(block)
    words = [instruction.encoding for instruction in body]
    return start, words, end.value, _word(terminator), terminator_pc, _word(delay_slot), target, next_pc, slot_of


def _word(instruction: Instruction | None) -> int | None:
    return instruction.encoding if instruction is not None else None
