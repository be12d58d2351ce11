"""Checks that no code reads what other code has not stored, since nobody would read it.

Contract 4: from its start on, a function reads no register that it is said to ignore, before that is written; nor does
it return with one that it is said to overwrite. After a call, it reads no register that it has not stored for that.

Enters: a plan. Leaves: what is wrong with it, one line for each finding. It asks effects, the plan's graph, and what
the calls store, and sees every block.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis import End
from ..flow.solve import Direction, Meet, reads_and_writes, solve
from ..isa import Instruction
from ..isa.effects import ALL_BITS, masks, may_leave
from .check_state import StateCheck
from .convention import SAVED_BITS
from .ir import BlockPlan, FunctionPlan
from .nodes import Branch, Call, Destination, Goto, Return
from .overwrites import returns_to_caller, whole_masks
from .text import registers_text


def overwrite_findings(plan: FunctionPlan) -> list[str]:
    """Return where a function reads what callers, or its own calls, have not stored."""
    if plan.options.calls != "direct":
        return []
    check = _Check(plan)
    found = []
    for pc, block in plan.blocks.items():
        for text in check.block(block, check.from_callers[pc], "which callers need not have stored"):
            found.append(f"block {pc:08x}: contract 4: {text}")
        for text in check.block(block, check.from_calls[pc], "which was not stored for a call", is_own=True):
            found.append(f"block {pc:08x}: contract 4: {text}")
    return found


class _Check:
    """Which registers may be stale at the start of each block: the state has what an earlier instruction wrote.

    Those `from_callers` are those that some way from the start has not written, of those that callers do not store;
    those `from_calls` the function itself has not stored for a call.
    """

    def __init__(self, plan: FunctionPlan) -> None:
        self._plan = plan
        self._singles = sum(unit.bits for unit in plan.units.all if unit.type == "single")
        start = plan.function.start
        own = plan.convention.callee(start) if plan.graph.entries == [start] else None
        self._overwrites = own.overwrites if own is not None else 0
        self._is_left_by_returns = returns_to_caller(plan.function)
        self.from_callers = self._stale({start: own.overwrites | own.ignores} if own is not None else {}, {})
        state = StateCheck(plan)
        left = {}
        for pc, block in plan.blocks.items():
            if isinstance(block.end, Call):
                lacking = state.lacking_at_end(block, state.lacking[pc])
                by_callee = plan.convention.handed(block.end.to)  # which stores that, if it may be looked at
                left[pc] = lacking & ~(block.end.all_stores | by_callee) & self._kept(block)
        self.from_calls = self._stale({}, left)

    def _masks(self, instruction: Instruction) -> tuple[int, int]:
        """Return what an instruction reads, and what it writes as a whole: of a register of which the function has no
        more than a single, the state has the other half."""
        fr = self._plan.options.fr
        reads, writes = whole_masks(instruction, fr)
        return reads, writes | masks(instruction, fr)[1] & self._singles

    def _kept(self, block: BlockPlan) -> int:
        """Return what the callee of a block may leave as it is, for it, without looking."""
        assert isinstance(block.end, Call)
        convention, to = self._plan.convention, block.end.to
        return convention.ignored(to, block.block) & ~convention.needless(to)

    def _stale(self, before: dict[int, int], added: dict[int, int]) -> dict[int, int]:
        transfers = {}
        for pc, block in self._plan.blocks.items():
            _, written = reads_and_writes(block.block, self._masks)
            kept = self._kept(block) if isinstance(block.end, Call) else ALL_BITS
            transfers[pc] = added.get(pc, 0), 0 if block.block.end is End.SYSCALL else kept & ~written
        return solve(self._plan.graph, Direction.FORWARD, Meet.ANY, transfers, before)

    def block(self, block: BlockPlan, stale: int, reason: str, is_own: bool = False) -> Iterator[str]:
        """Yield where a block reads registers that are stale at its start, `is_own` by its own calls."""
        steps = [(op.instruction, op.exposed) for op in block.ops]
        if block.block.terminator is not None:
            steps.insert(len(block.body), (block.block.terminator, False))
        for instruction, is_exposed in steps:
            reads, writes = self._masks(instruction)
            if bits := stale & reads:
                yield f"it reads {registers_text(bits)}, {reason}"
            if may_leave(instruction) and stale:
                yield f"it may leave without {registers_text(stale)}, {reason}"
            if is_exposed and (bits := stale & SAVED_BITS):
                yield f"a landing pad may lack {registers_text(bits)}, {reason}"
            stale &= ~writes
        for what, harmless in self._ends(block, is_own):
            if bits := stale & ~harmless:
                yield f"{what} passes on {registers_text(bits)}, {reason}"

    def _ends(self, block: BlockPlan, is_own: bool) -> Iterator[tuple[str, int]]:
        """Yield where other code may read registers behind the instructions of a block, with those that it does not."""
        end, convention = block.end, self._plan.convention
        kept = 0 if is_own else ~self._overwrites  # what may be stale when the function is left

        def harmless(to: Destination) -> int:
            ignores = to.callee.ignores if to.callee is not None and self._is_left_by_returns else 0
            return convention.needless(to) | ignores & kept

        if isinstance(end, Call):
            is_known = not end.conditional and end.to.guess is None
            exposed = SAVED_BITS if end.exposes is not None else 0
            yield "the call", convention.ignored(end.to, block.block) & ~exposed if is_known else 0
        elif isinstance(end, (Goto, Branch)):
            edges = (end.edge,) if isinstance(end, Goto) else (end.taken, end.other)
            yield from (("the edge", harmless(edge.leaves)) for edge in edges if edge.leaves is not None)
        elif isinstance(end, Return):
            yield "the return", kept if self._is_left_by_returns else 0
        else:
            yield "the end", 0
