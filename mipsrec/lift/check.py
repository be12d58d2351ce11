"""The contracts of a plan: what every pass relies on, and what emit/ takes for granted.

Enters: a plan. Leaves: what is wrong with it, one line for each finding; nothing for a plan that may be written. The
tests check the plans of many programs, and that each contract finds a plan that breaks it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from operator import or_

from ..analysis import End
from ..architecture import DSP, DSP2
from ..isa import Instruction
from ..isa.effects import LOAD, STORE, added_constant, based_access, effects, masks, may_leave
from .bounded_loops import is_bounded
from .check_overwrites import overwrite_findings
from .check_state import state_findings
from .convention import CARRIED_FLOAT_BITS, calls_for_certain
from .facts.safepoints import cycles_without_safepoint
from .ir import BlockPlan, FunctionPlan
from .passes.scalar_promotion import access_of, place
from .text import registers_text


def findings(plan: FunctionPlan) -> list[str]:
    """Return what is wrong with a plan."""
    found: list[str] = []
    for pc, block in plan.blocks.items():
        found += [f"block {pc:08x}: {text}" for text in _block_findings(plan, block)]
    for check in (_forms, _sites, _safepoints, _promotion, _vectorized, state_findings, overwrite_findings):
        found += check(plan)
    return found


def _forms(plan: FunctionPlan) -> Iterator[str]:
    """Check that the ends of each edge have one form, and that control comes to the entries as calls pass registers."""
    for source, targets in plan.graph.successors.items():
        for target in targets:
            if plan.forms_out(source) != plan.forms_into(target):
                yield f"registers that have two forms on the way from {source:08x} to {target:08x}"
    entries = {plan.forms_into(pc) for pc in plan.graph.entries}
    if len(entries) > 1 or entries.pop() & CARRIED_FLOAT_BITS:
        yield "registers that come to an entry in another form than calls pass them in"


# ---- one block ----


def _block_findings(plan: FunctionPlan, block: BlockPlan) -> Iterator[str]:
    yield from _mark_findings(block)
    yield from _group_findings(block)
    yield from _run_findings(plan, block)
    targets = len(plan.function.successors(block.block))
    if block.case_weights and (block.block.end is not End.INDIRECT or len(block.case_weights) < targets):
        yield "weights that are not of its cases"


def _mark_findings(block: BlockPlan) -> Iterator[str]:
    for op in block.ops:
        does = effects(op.instruction.row)
        if op.no_wrap and added_constant(op.instruction) is None:
            yield f"{op.pc:08x} is said not to wrap, and is no addition of a constant"
        if op.scalar_lanes and op.instruction.row.module not in (DSP, DSP2):
            yield f"{op.pc:08x} is said to have scalar lanes, and is not of the DSP module"
        if op.spin and not does.loads:
            yield f"{op.pc:08x} is said to spin, and is no load"


def _group_findings(block: BlockPlan) -> Iterator[str]:
    """Check that accesses that are performed together are of consecutive words, each in one group, and unmarked."""
    ops, taken = block.ops, set[int]()
    groups = [*block.merged.groups()]
    groups += [("half", [at, word.second]) for at, word in block.unaligned.items()]
    groups += [("run", sorted(run.indices)) for run in block.runs.values()]
    for kind, indices in groups:
        if not taken.isdisjoint(indices) or indices != sorted(indices) or indices[-1] >= len(ops):
            yield f"groups that overlap, or are out of order, at index {indices[0]}"
            continue
        taken.update(indices)
        members = [ops[index] for index in indices]
        if kind != "half" and any(op.volatile or op.spin or op.promoted for op in members):
            yield f"a group of accesses of which one is marked, at {members[0].pc:08x}"
        wanted = {"load": LOAD, "store": STORE}.get(kind)
        accesses = [effects(op.instruction.row).access for op in members]
        if any(one is None or (wanted is not None and one.kind != wanted) for one in accesses):
            yield f"a group of what are no accesses of its kind, at {members[0].pc:08x}"
        elif kind != "run" and not _may_move(block, indices, kind):
            yield f"a group that would move an access over what may not be passed, at {members[0].pc:08x}"


def _run_findings(plan: FunctionPlan, block: BlockPlan) -> Iterator[str]:
    """Check that a run is of consecutive words by one register, and that nothing notices that it is performed at once.

    Each register is one of its own that has a float as its variable, and those stored are as the block finds them.
    """
    for run in block.runs.values():
        members = [block.ops[index].instruction for index in run.indices]
        pc, base = block.ops[run.first].pc, members[0].rs
        kinds = {based_access(member) for member in members}
        words = [(member.rs, member.imm - 4 * number) for number, member in enumerate(members)]
        registers = [member.rt for member in members]
        kept = plan.in_ssa & CARRIED_FLOAT_BITS
        is_one = len(kinds) == len(set(words)) == 1 and all(kept >> number & 1 for number in registers)
        if not is_one or any(kind is None or kind.type != "word" for kind in kinds):
            yield f"a run that is not of consecutive words and registers in vectors, at {pc:08x}"
        if len(set(registers)) != len(registers) or max(run.indices) >= len(block.body):
            yield f"a run with a register twice, or a delay slot, at {pc:08x}"
        is_load = effects(members[0].row).loads
        passed = block.body[run.first : max(run.indices)]
        if any(op.exposed or not _passes(plan, op.instruction, members, is_load) for op in passed):
            yield f"a run that would move an access over what may not be passed, at {pc:08x}"
        changed = [0, *accumulate((masks(op.instruction, plan.options.fr)[1] for op in block.body), or_)]
        written = any(changed[at] >> block.ops[at].instruction.rt & 1 for at in run.indices)
        if base in registers or (written and not is_load):
            yield f"a run of registers that have changed, at {pc:08x}"


def _passes(plan: FunctionPlan, instruction: Instruction, members: list[Instruction], is_load: bool) -> bool:
    """Return whether members of a run may be performed before an instruction that stands between them."""
    does, base = effects(instruction.row), members[0].rs
    if instruction in members:
        return True
    if may_leave(instruction) or does.fences or masks(instruction, plan.options.fr)[1] >> base & 1:
        return False
    if not does.loads and not does.stores:
        return does.is_pure or not is_load
    access = based_access(instruction)
    if access is None or access.kind != (LOAD if is_load else STORE) or instruction.rs != base:
        return False
    touched = range(instruction.imm, instruction.imm + access.size_bytes)
    return is_load or all(touched.stop <= member.imm or member.imm + 4 <= touched.start for member in members)


def _may_move(block: BlockPlan, indices: list[int], kind: str) -> bool:
    """Return whether nothing between the members of a group notices that they are performed at once."""
    for index in range(indices[0], indices[-1]):
        does = effects(block.ops[index].instruction.row)
        if index in indices or does.is_pure:
            continue
        if kind == "half" and does.access is not None and does.access.part and does.loads:
            continue
        return False
    return True


# ---- registers ----


def _sites(plan: FunctionPlan) -> list[str]:
    """Check that what callers keep from the state is known to be missing there."""
    found = []
    for pc, site in plan.sites.items():
        is_certain = calls_for_certain(plan.graph.blocks[pc])
        missing = plan.convention.not_in_state & ~plan.memory_resident if is_certain else 0
        if site.not_in_state & missing != missing:
            found.append(f"block {pc:08x}: {registers_text(missing & ~site.not_in_state)} counted as in the state")
        if plan.blocks[pc].shares_switch and (lost := plan.in_ssa & ~site.passed):
            found.append(f"block {pc:08x}: {registers_text(lost)} not kept for the way elsewhere that jumps share")
    return found


# ---- loops ----


def _safepoints(plan: FunctionPlan) -> list[str]:
    """Check that every loop without a safepoint comes to its end by itself."""
    graph, edges = plan.graph, plan.safepoints.edges
    found = [f"a safepoint on {a:08x} -> {b:08x}, which is no edge" for a, b in edges if b not in graph.successors[a]]
    for loop in cycles_without_safepoint(graph, plan.safepoints):
        if not is_bounded(graph, frozenset(loop)):
            found.append(f"loop {min(loop):08x}: may go on for long without a safepoint")
    return found


def _promotion(plan: FunctionPlan) -> list[str]:
    """Check that the accesses of variables are those of their loops."""
    found = []
    for pc, block in plan.blocks.items():
        loops = [loop for loop in plan.promoted.values() if pc in loop.body]
        for op in block.ops:
            if op.promoted is None:
                continue
            access = access_of(op.instruction)[1]
            if access is None or place(access) != place(op.promoted):
                found.append(f"block {pc:08x}: {op.pc:08x} is no access of its variable")
            if not any(op.promoted in loop.variables for loop in loops):
                found.append(f"block {pc:08x}: {op.pc:08x} has a variable of another loop")
    for loop in plan.promoted.values():
        for pc in loop.body:
            for op in plan.blocks[pc].ops:
                wanted = based_access(op.instruction) is not None and access_of(op.instruction)[1]
                same = [one for one in loop.variables if wanted and place(one) == place(wanted)]
                if same and op.promoted is None:
                    found.append(f"block {pc:08x}: {op.pc:08x} passes by the variable that it accesses")
    return found


def _vectorized(plan: FunctionPlan) -> list[str]:
    """Check that loops that are vectorized are of one block, and nothing else is done about them."""
    found = []
    for pc in plan.vectorized:
        block = plan.blocks[pc]
        latch = plan.blocks[plan.vectorized[pc].latch].block
        if pc not in (latch.target, latch.next_pc) or plan.safepoints.on_edge(latch.start, pc):
            found.append(f"loop {pc:08x}: vectorized, and is no loop of one block without a safepoint")
        if pc in plan.promoted or block.merged.loads or block.merged.stores or block.runs:
            found.append(f"loop {pc:08x}: vectorized, and changed by another pass as well")
    return found
