"""How a function begins and each block ends: nodes that say what happens to registers on every way.

Enters: a plan about which the passes have decided, and in which facts/dirty.py has noted what the state lacks. Leaves:
`FunctionPlan.entry`, `BlockPlan.end` of each block, and `FunctionPlan.hubs`. emit/ writes what the nodes say, and
decides nothing.

All masks are bits of registers. `stores` go into the state before control leaves, `loads` come from there after it is
back. `saves` go where later blocks of the function look.
"""

from __future__ import annotations

from collections.abc import Callable

from ..analysis import Block, End
from .convention import (
    CARRIED_BITS,
    RESULT_BITS,
    RESULTS,
    SAVED_BITS,
    SP_BIT,
    calls_for_certain,
    numbers_in,
)
from .edges import edge
from .facts.shared_switches import is_crowded, shared_cases
from .ir import BlockPlan, FunctionPlan
from .nodes import (
    Branch,
    Call,
    Destination,
    Edge,
    Entry,
    Goto,
    Hub,
    Interpret,
    Jump,
    Node,
    Return,
    Stop,
    Syscall,
)


def end_blocks(plan: FunctionPlan) -> None:
    """Note how a plan begins, how its blocks end, and what jumps by a table share."""
    ends = _Ends(plan)
    plan.entry = _entry(plan)
    for block in plan.blocks.values():
        block.end = ends.of(block)
    for hub in plan.hubs.values():
        for target in hub.targets:
            polled = (source for source in hub.sources if plan.safepoints.on_edge(source, target))
            hub.edges[target] = ends.edge(next(polled, hub.sources[0]), target, hub.dirty)


def _entry(plan: FunctionPlan) -> Entry:
    """Return how a plan begins."""
    start, loads = plan.function.start, plan.context.entry_loads
    has_entries = plan.graph.entries != [start]
    passed = CARRIED_BITS if has_entries else plan.units.arguments
    entered = plan.convention.entered(plan.graph.entries, start)
    takes = loads & passed
    comes_back = has_entries or any(start in targets for targets in plan.graph.successors.values())
    return Entry(
        takes=takes,
        gives=0 if comes_back else passed & plan.memory_resident,
        stores=(CARRIED_BITS | entered) & plan.memory_resident,
        loads=loads & ~takes,
    )


class _Ends:
    """Makes the nodes of one plan."""

    def __init__(self, plan: FunctionPlan) -> None:
        self._plan = plan
        self._crowded = is_crowded(plan.function)
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
        """Return what successors need, and what stubs of edges out of the function store or pass.

        These look for words where the block leaves words, though it has not changed them.
        """
        context, words = self._plan.context, self._plan.word_forms
        passed = (dirty | self._plan.memory_resident) & context.needed.after(pc)
        return words.into[pc] ^ words.out[pc] | context.live_out[pc] | passed | SP_BIT

    def _goto(self, block: BlockPlan) -> Goto:
        target = block.block.next_pc if block.block.end is End.FALL else block.block.target
        assert target is not None
        source, dirty = block.block.start, block.dirty_out
        return Goto(self.edge(source, target, dirty), self._saves(source, dirty))

    def _branch(self, block: BlockPlan) -> Branch:
        plan, pc, target, dirty = self._plan, block.block.start, block.block.target, block.dirty_out
        assert target is not None
        taken, other = self.edge(pc, target, dirty), self.edge(pc, block.block.next_pc, dirty)
        repeats = target == pc and taken.is_plain and pc not in plan.vectorized and not plan.memory_resident
        return Branch(taken, other, self._saves(pc, dirty), repeats)

    def _jump(self, block: BlockPlan) -> Jump:
        plan, pc, dirty, given = self._plan, block.block.start, block.dirty_out, self._plan.convention.given
        table = plan.function.jump_tables.get(block.block.terminator_pc)
        hub, edges = None, {}
        is_loaded = table is not None and table.load_pc in block.block.pcs()
        if table is not None and block.shares_switch and (is_loaded or self._crowded):
            cases = shared_cases(table, block.block)
            hub = plan.hubs.setdefault(cases, Hub(cases, plan.convention.destination(None)))
            hub.sources.append(pc)
            hub.dirty |= dirty & plan.in_ssa
            hub.stores = hub.dirty & ~given
        elif table is not None:
            edges = {target: self.edge(pc, target, dirty) for target in dict.fromkeys(to for _, to in table.cases)}
        elsewhere, unwinds = self._destination(block.block), plan.sites[pc].unwinds
        results = numbers_in(given, RESULTS)
        return Jump(edges, hub, self._saves(pc, dirty), dirty & ~given, elsewhere, unwinds, results)

    def _destination(self, block: Block) -> Destination:
        """Return where the call, or the jump by a register, at the end of a block leads."""
        plan = self._plan
        guess, in_loop = plan.function.guesses.get(block.terminator_pc), block.start in plan.context.in_loops
        return plan.convention.destination(block.target, guess, in_loop, plan.sites[block.start].exposed)

    def _return(self, block: BlockPlan) -> Return:
        plan, pc, dirty = self._plan, block.block.start, block.dirty_out
        kept = RESULT_BITS if plan.options.calls != "instrumented" else 0  # they go back in host registers
        results = plan.context.results_at_hand(pc) | block.written
        return Return(dirty & ~kept, numbers_in(results, RESULTS))

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
        is_certain = calls_for_certain(block.block)
        dead = plan.memory_resident & ~plan.context.needed.at(after)
        returned = RESULT_BITS & ~dead if is_certain else 0
        dirty, to = block.dirty_out & ~(convention.given if is_certain else 0), self._destination(block.block)
        exposes = dirty & SAVED_BITS if site.exposed else None
        ignored = convention.ignored(to, block.block) & ~plan.context.needed.at(after)
        unread = convention.needless(to) | convention.handed(to) | ignored  # in the state
        stores, needless = dirty & ~(exposes or 0), unread if is_certain else 0
        return Call(
            conditional=not is_certain,
            to=to,
            exposes=exposes,
            stores=stores & ~needless,
            missed=stores & needless if to.guess is not None else 0,
            returned=returned,
            loads=needed & ~returned,
            after=self.edge(source, after, returned & convention.not_in_state & ~plan.memory_resident),
        )
