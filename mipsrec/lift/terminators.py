"""How each block ends: a node that says what happens to registers on every way from there.

Enters: a plan about which the passes have decided, and in which facts/dirty.py has noted what the state lacks. Leaves:
`BlockPlan.end` of each block and copy, and `FunctionPlan.hubs`. emit/ writes what the nodes say, and decides nothing.

All masks are bits of registers. `stores` go into the state before control leaves, `loads` come from there after it is
back. `saves` go where later blocks of the function look.
"""

from __future__ import annotations

from collections.abc import Callable

from ..analysis import Block, End
from ..analysis.symbolic import constant_condition
from ..isa import Flow
from .convention import PRESERVED, RA_BIT, RESULT_BITS, SAVED_BITS, Callee, settled_by_caller
from .edges import edge
from .ir import BlockPlan, CallSite, Frame, FunctionPlan
from .nodes import BodyCall, Branch, Call, Edge, Goto, Hub, Interpret, Jump, Node, Return, Stop, Syscall


def end_blocks(plan: FunctionPlan) -> None:
    """Note how the blocks of a plan end, and what jumps by a table share."""
    ends = _Ends(plan)
    for block in plan.blocks.values():
        block.end = ends.of(block)
    for hub in plan.hubs.values():
        for target in hub.targets:
            polled = (source for source in hub.sources if plan.safepoints.on_edge(source, target))
            hub.edges[target] = ends.edge(next(polled, hub.sources[0]), target, hub.dirty)


class _Ends:
    """Makes the nodes of one plan."""

    def __init__(self, plan: FunctionPlan) -> None:
        self._plan = plan
        self._makers: dict[End, Callable[[BlockPlan], Node]] = {
            End.FALL: self._goto,
            End.JUMP: self._goto,
            End.BRANCH: self._branch,
            End.CALL: self._call,
            End.RETURN: self._return,
            End.INDIRECT: self._jump,
            End.SYSCALL: self._syscall,
            End.STOP: lambda block: Stop(block.dirty_out),
            End.INTERPRET: lambda block: Interpret(block.dirty_out),
        }

    def of(self, block: BlockPlan) -> Node:
        return self._makers[block.block.end](block)

    def edge(self, source: int, target: int, dirty: int) -> Edge:
        """Return the edge between two blocks; a return block that is copied there ends by itself."""
        found = edge(self._plan, source, target, dirty & self._plan.in_ssa)
        if found.copy is not None:
            found.copy.end = self._return(found.copy)
        return found

    def _saves(self, pc: int, dirty: int) -> int:
        """Return what successors need, and what stubs of edges out of the function store or pass."""
        return self._plan.context.live_out[pc] | dirty | PRESERVED | self._plan.memory_resident

    def _goto(self, block: BlockPlan) -> Goto:
        target = block.block.next_pc if block.block.end is End.FALL else block.block.target
        assert target is not None
        return self._way(block.block.start, target, block.dirty_out)

    def _way(self, source: int, target: int, dirty: int) -> Goto:
        return Goto(self.edge(source, target, dirty), self._saves(source, dirty))

    def _branch(self, block: BlockPlan) -> Branch:
        pc, target, dirty = block.block.start, block.block.target, block.dirty_out
        assert target is not None
        taken, other = self.edge(pc, target, dirty), self.edge(pc, block.block.next_pc, dirty)
        return Branch(taken, other, self._saves(pc, dirty))

    def _jump(self, block: BlockPlan) -> Jump:
        plan, pc, dirty = self._plan, block.block.start, block.dirty_out
        table = plan.function.jump_tables.get(block.block.terminator_pc)
        hub, edges = None, {}
        if table is not None and block.shares_switch and any(op.pc == table.load_pc for op in block.body):
            hub = plan.hubs.setdefault(table.cases, Hub(table.cases))
            hub.sources.append(pc)
            hub.dirty |= dirty & plan.in_ssa
            hub.stores, hub.passes = hub.dirty & ~plan.convention.given, plan.convention.passed(None)
        elif table is not None:
            edges = {target: self.edge(pc, target, dirty) for target in dict.fromkeys(to for _, to in table.cases)}
        guess = plan.function.guesses.get(block.block.terminator_pc)
        stores, passes = dirty & ~plan.convention.given, plan.convention.passed(None)
        return Jump(edges, hub, self._saves(pc, dirty), stores, passes, guess)

    def _return(self, block: BlockPlan) -> Return:
        plan, dirty = self._plan, block.dirty_out
        kept = RESULT_BITS if plan.options.calls != "instrumented" else 0  # they go back in host registers
        to_caller = None
        if plan.frame is not None and block.block.start in plan.frame.returns:
            to_caller = dirty & ~(settled_by_caller(plan.frame) | RESULT_BITS | plan.frame.dead_at_self_call)
        return Return(dirty & ~kept, to_caller)

    def _syscall(self, block: BlockPlan) -> Syscall:
        pc, after = block.block.start, block.block.next_pc
        return Syscall(block.dirty_out, self._needed_after(block.block), self.edge(pc, after, 0))

    def _needed_after(self, block: Block) -> int:
        """Return the bits that are read after a call or system call."""
        needed = self._plan.context.live_out[block.start]
        if block.next_pc not in self._plan.blocks:  # but in another function, which takes its arguments from here
            needed |= self._plan.convention.passed(block.next_pc)
        return needed

    def _call(self, block: BlockPlan) -> Call:
        plan, source, after = self._plan, block.block.start, block.block.next_pc
        site, convention, needed = plan.sites[source], plan.convention, self._needed_after(block.block)
        is_certain = not _has_condition(block.block)
        results = RESULT_BITS if is_certain else 0
        dirty, exposes, stores_ra = block.dirty_out, 0, 0
        if site.exposed:
            exposes = dirty & SAVED_BITS
        if self._may_be_copied(block.block):
            stores_ra = dirty & ~exposes & RA_BIT
        stores = dirty & ~(exposes | stores_ra | (convention.given if is_certain else 0))
        keeps_sp = bool(plan.context.live_out[source] & PRESERVED)
        kept = results | (PRESERVED if keeps_sp else 0)
        way = self.edge(source, after, kept & convention.unsettled & ~plan.memory_resident)
        body, inlined = None, None
        if site.body is not None:
            assert site.body.frame is not None
            body = self._call_body(block, site.body, site.body.frame, needed)
            inlined = self._inlined(site, source, after)
        guess, passes = plan.function.guesses.get(block.block.terminator_pc), convention.passed(block.block.target)
        return Call(
            not is_certain, guess, passes, exposes, stores_ra, stores, keeps_sp, needed & ~kept, way, body, inlined
        )

    def _may_be_copied(self, block: Block) -> bool:
        """Return whether LLVM may put a callee in the place of its call that may fault: what the handler finds in ra is
        then where the call returns to, and no later store makes up for that."""
        callee = self._plan.convention.direct(self._plan.function.likely_target(block))
        return callee is not None and callee.may_fault

    def _call_body(self, block: BlockPlan, callee: Callee, frame: Frame, needed: int) -> BodyCall:
        plan, source, after = self._plan, block.block.start, block.block.next_pc
        bypassing = settled_by_caller(frame) | frame.dead_at_self_call | plan.convention.given
        elsewhere = self.edge(source, after, RESULT_BITS & plan.convention.unsettled & ~plan.memory_resident)
        dirty = (settled_by_caller(frame) | RESULT_BITS) & plan.units.bits
        return BodyCall(
            callee, block.dirty_out & ~bypassing, needed & ~(RESULT_BITS | PRESERVED), elsewhere,
            needed & ~dirty, self.edge(source, after, dirty),
        )  # fmt: skip

    def _inlined(self, site: CallSite, source: int, after: int) -> Goto | None:
        if site.inlined is None:
            return None
        return self._way(source, after, site.inlined[1].dirty_out)


def _has_condition(block: Block) -> bool:
    """Return whether a block calls only where a condition holds."""
    assert block.terminator is not None
    return block.terminator.row.flow is Flow.BRANCH and constant_condition(block.terminator) is None
