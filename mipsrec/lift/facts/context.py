"""State context: which registers each block finds in the state, which it has to store there, and where.

Needs: the graph, the units, and of the call sites what leaving reads (`passed`), and what the state lacks after a call
(`not_in_state`). `build.py` makes the context before the passes run.
Sets: `context`: the dirty and the live units at the start of each block, what entries load, and what edges load and
store.
Keeps: the state is complete wherever other code may look (docs/design/calling-convention.md, State), and every unit
that an instruction reads has been loaded. sp is stored at once where it may sink: the kernel puts the frame of a signal
handler below it.
Off when: a register is in the state between blocks (`memory_resident`): then it is neither dirty nor live there.

Three rules decide where a dirty unit is stored, and none is needed to be right. A loop with calls has units stored on
the way in, since the loop would else store in each iteration what it does not write. Outside loops they are stored
where a path that is clean joins, unless something reads them from there on. In large functions they are stored where
they are no longer read, so that LLVM does not spill them until the next call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...analysis import End
from ...flow.graph import Graph
from ...flow.solve import Direction, Meet, solve
from ..convention import RESULT_BITS, SP_BIT, lowers_sp
from ..ir import CallSite
from ..units import Units
from .needed import Needed

_SYNCING = (End.CALL, End.SYSCALL)

LARGE_FUNCTION_BLOCKS = 300
"""From here on a function has more values than the host has registers, and each that waits for the next call to store
it would be spilled and moved on the way there."""


class StateContext:
    """Data flow over the blocks of one function: dirty units forwards, live units backwards.

    `sites` say how control leaves at the end of each block; `entered` are the bits that are dirty at the entries. Those
    of `memory_resident` are neither dirty nor live between blocks, nor are those dirty that no code needs any more.
    """

    def __init__(
        self,
        graph: Graph,
        units: Units,
        sites: Mapping[int, CallSite],
        entered: int,
        needed: Needed,
        memory_resident: int = 0,
    ) -> None:
        self._graph = graph
        self.needed = needed
        self._in_ssa = units.bits & ~memory_resident
        self.order = graph.order
        self.in_loops: frozenset[int] = frozenset()
        if not self._in_ssa:
            self.dirty_in = self.live_in = self.live_out = self._returned_in = dict.fromkeys(self.order, 0)
            self._written: dict[int, int] = dict.fromkeys(self.order, 0)
            self.entry_loads = 0
            return
        entered &= ~memory_resident
        self._summarize(units)
        blocks = graph.blocks
        after = {pc: sites[pc].not_in_state for pc in self.order if blocks[pc].end is End.CALL}
        before = dict.fromkeys(graph.entries, entered)
        self._kept_in: dict[int, int] = {}
        given = dict.fromkeys(graph.entries, entered & RESULT_BITS)
        self._returned_in = self._forwards(given, dict.fromkeys(after, RESULT_BITS & self._in_ssa), {})
        self._add_ends(units, sites)
        self._find_live()
        calling = {head: body for head, body in graph.loops.items() if any(self._syncs(pc) for pc in body)}
        if not memory_resident:
            self.in_loops = frozenset().union(*calling.values())
            """The blocks of loops that call, where copies of what they call may make the function larger."""
        self._drop_dead(body for head, body in graph.loops.items() if head not in calling)
        dirty_in = self._forwards(before, after, calling)
        self.dirty_in = {pc: bits & needed.at(pc) for pc, bits in dirty_in.items()}
        self._store_at_meets(after)
        self.entry_loads = 0
        for pc in graph.entries:
            self.entry_loads |= self.live_in[pc] | self.dirty_in[pc]

    def edge_loads(self, dirty: int, successor: int) -> int:
        """Return the bits to load from the state on an edge into `successor`, `dirty` being what is dirty there.

        A unit that is dirty on one way into a block of a loop and clean on another counts as dirty in it; where nothing
        reads it, the clean way loads it so that there is something to flush.
        """
        return self.dirty_in[successor] & ~dirty & ~self.live_in[successor]

    def _summarize(self, units: Units) -> None:
        self._use: dict[int, int] = {}
        self._written = {}
        self._overwritten: dict[int, int] = {}  # as _written, with sp wherever that is written
        self._flushed: dict[int, int] = {}  # before any of _written
        for pc in self.order:
            use = written = raised = flushed = 0
            for instruction in self._graph.blocks[pc].instructions():
                reads, writes = (bits & self._in_ssa for bits in units.masks(instruction))
                use |= reads & ~written
                written |= writes
                if writes & SP_BIT and lowers_sp(instruction):
                    flushed, raised = SP_BIT, 0
                elif writes & SP_BIT:
                    raised = SP_BIT
            self._use[pc], self._written[pc] = use, written & ~SP_BIT | raised
            self._flushed[pc], self._overwritten[pc] = flushed, written

    def edge_flushes(self, dirty: int, successor: int) -> int:
        """Return the bits to flush on an edge into `successor`, `dirty` being what is dirty there.

        A loop with calls has them flushed on the way in: what it does not write itself would be flushed again in each
        iteration, since it is dirty in the first.
        Outside loops they are flushed where a way that is clean joins: one store, instead of a load there and a store
        later.
        """
        return dirty & ~self.dirty_in[successor]

    def _forwards(
        self, before: dict[int, int], after_call: dict[int, int], loops: dict[int, frozenset[int]]
    ) -> dict[int, int]:
        """Return the bits that some way to each block has written since it was last in step with the state.

        `before`: what is out of step at the entries. Ways into one of the `loops`, given by head and body, do not
        count.
        """
        transfers = {pc: self._dirty_transfer(pc, after_call) for pc in self.order}

        def on_edge(source: int, target: int, bits: int) -> int:
            return bits & self._kept_in.get(target, -1) if source in loops.get(target, (source,)) else 0

        edge_rule = on_edge if loops or self._kept_in else None  # edges keep everything
        return solve(self._graph, Direction.FORWARD, Meet.ANY, transfers, before, edge_rule)

    def _dirty_transfer(self, pc: int, after_call: dict[int, int]) -> tuple[int, int]:
        """Return the bits that are out of step after a block in any case, and those that stay so."""
        bits = after_call.get(pc, 0)
        if self._syncs(pc):
            return bits, 0
        return bits | self._written[pc], ~self._flushed[pc]

    def _drop_dead(self, tight: Iterable[frozenset[int]]) -> None:
        """In large functions, have units flushed on the way into blocks from which on nothing reads them.

        But not inside the loops without calls: they would store in each iteration what only the last iteration leaves.
        """
        if len(self.order) < LARGE_FUNCTION_BLOCKS:
            return
        inside = frozenset(self._graph.entries).union(*tight)
        self._kept_in = {pc: self.live_in[pc] | SP_BIT for pc in self.order if pc not in inside}

    def _syncs(self, pc: int) -> bool:
        return self._graph.blocks[pc].end in _SYNCING

    def _store_at_meets(self, after_call: dict[int, int]) -> None:
        """Outside loops, have units flushed on ways that meet clean ones, unless they are read from there on."""
        cyclic = {pc for cycle in self._graph.cycles for pc in cycle}
        out = {pc: self._dirty_out(pc, after_call) for pc in self.order}
        for pc in self._graph.topological_order():
            before = self._graph.predecessors[pc]
            if pc in cyclic or not before or pc in self._graph.entries:
                continue
            some, every = 0, -1
            for source in before:
                some |= out[source]
                every &= out[source]
            self.dirty_in[pc] &= every | some & self.live_in[pc]
            out[pc] = self._dirty_out(pc, after_call)

    def _dirty_out(self, pc: int, after_call: dict[int, int]) -> int:
        added, kept = self._dirty_transfer(pc, after_call)
        return added | self.dirty_in[pc] & kept

    def results_at_hand(self, pc: int) -> int:
        """Return which RESULT_BITS a return block gives back from SSA: those not written are loaded from the state."""
        return (self._returned_in[pc] | self._written[pc]) & RESULT_BITS

    def _add_ends(self, units: Units, sites: Mapping[int, CallSite]) -> None:
        for pc in self.order:
            block = self._graph.blocks[pc]
            bits = self.results_at_hand(pc) if block.end is End.RETURN else sites[pc].passed & self._in_ssa
            self._use[pc] |= bits & ~self._overwritten[pc]

    def _find_live(self) -> None:
        transfers = {pc: self._live_transfer(pc) for pc in self.order}
        self.live_in = solve(self._graph, Direction.BACKWARD, Meet.ANY, transfers, {})
        self.live_out = dict.fromkeys(self.order, 0)
        for pc in self.order:
            for successor in self._graph.successors[pc]:
                self.live_out[pc] |= self.live_in[successor]

    def _live_transfer(self, pc: int) -> tuple[int, int]:
        """Return the bits that a block reads, and those of what is read after it that are read before it as well."""
        kept = ~self._overwritten[pc]
        end = self._graph.blocks[pc].end
        if end in _SYNCING:
            kept = 0
        return self._use[pc], kept
