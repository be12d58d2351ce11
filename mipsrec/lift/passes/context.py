"""Which registers each block finds in the state, which it has to store there, and where."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from ...analysis import Block, End, Function
from ...flow.loops import cycles, loops_with, predecessors_of
from ..convention import PRESERVED, RESULT_BITS, lowers_sp
from ..units import Units

_SYNCING = (End.CALL, End.SYSCALL)

LARGE_FUNCTION_BLOCKS = 300
"""From here on a function has more values than the host has registers, and each that waits for the next call to store
it would be spilled and moved on the way there."""


class RegisterPlan:
    """Data flow over the blocks of one function: dirty units forwards, live units backwards.

    `entries` are the blocks that control enters from outside. A function that only part of the blocks can reach is
    planned with those alone. `passed` gives the bits that the end of a block reads: arguments and results. `entered`
    are the bits that are dirty at the entries, `unsettled` those that are after a call. `passes_by` says whether
    control may go on after a call that has not been made. With `in_state` nothing is dirty or live between blocks.
    """

    def __init__(
        self,
        function: Function,
        units: Units,
        entries: list[int],
        passed: Callable[[Block], int],
        entered: int,
        unsettled: Callable[[Block], int],
        passes_by: Callable[[Block], bool],
        in_state: bool = False,
    ) -> None:
        self._function = function
        self._in_state = in_state
        self._entries = frozenset(entries)
        self.order = _reachable(function, entries)
        self.in_loops: frozenset[int] = frozenset()
        if in_state:
            self.dirty_in = self.live_in = self.live_out = dict.fromkeys(self.order, 0)
            self.entry_loads = 0
            return
        self._successors = {pc: function.successors(function.blocks[pc]) for pc in self.order}
        self._summarize(units)
        after = {pc: unsettled(function.blocks[pc]) for pc in self.order if function.blocks[pc].end is End.CALL}
        self._passed_by = frozenset(pc for pc in after if passes_by(function.blocks[pc]))
        before = dict.fromkeys(self.order, 0) | dict.fromkeys(entries, entered)
        self._kept_in: dict[int, int] = {}
        self._returned_in = self._forwards(dict.fromkeys(self.order, 0), dict.fromkeys(after, RESULT_BITS), {})
        self._add_ends(units, passed)
        self._find_live()
        loops = loops_with(function, self.order, tuple(End))
        calling = {head: body for head, body in loops.items() if any(self._syncs(pc) for pc in body)}
        self.in_loops = frozenset().union(*calling.values())
        """The blocks of loops that call."""
        self._drop_dead(body for head, body in loops.items() if head not in calling)
        self.dirty_in = self._forwards(before, after, calling)
        self._settle_meets(after)
        self.entry_loads = 0
        for pc in entries:
            self.entry_loads |= self.live_in[pc] | self.dirty_in[pc]

    def edge_loads(self, dirty: int, successor: int) -> int:
        """Return the bits to load from the state on an edge into `successor`, `dirty` being what is dirty there.

        A unit that is dirty on one way into a block of a loop and clean on another counts as dirty in it; where nothing
        reads it, the clean way loads it so that there is something to flush.
        """
        return self.dirty_in[successor] & ~dirty & ~self.live_in[successor]

    def _summarize(self, units: Units) -> None:
        self._use: dict[int, int] = {}
        self._written: dict[int, int] = {}
        self._overwritten: dict[int, int] = {}  # as _written, less what may be annulled
        self._flushed: dict[int, int] = {}  # before any of _written
        for pc in self.order:
            use = written = raised = flushed = 0
            block = self._function.blocks[pc]
            likely = block.is_likely
            annulled = block.delay_slot if likely else None
            for instruction in block.instructions():
                reads, writes = units.masks(instruction)
                use |= reads & ~written
                self._overwritten[pc] = written if instruction is annulled else written | writes
                written |= writes
                if writes & PRESERVED and lowers_sp(instruction) and instruction is not annulled:
                    flushed, raised = PRESERVED, 0
                elif writes & PRESERVED:
                    raised = PRESERVED
            self._use[pc], self._written[pc] = use, written & ~PRESERVED | raised
            self._flushed[pc] = flushed
            self._overwritten.setdefault(pc, 0)

    def edge_flushes(self, dirty: int, successor: int) -> int:
        """Return the bits to flush on an edge into `successor`, `dirty` being what is dirty there.

        A loop with calls has them flushed on the way in: what it does not write itself would be flushed again in each
        round, since it is dirty in the first.
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
        found = dict(before)
        work = list(self.order)
        while work:
            pc = work.pop()
            bits = after_call.get(pc, 0)
            if not self._syncs(pc) or pc in self._passed_by:
                bits |= found[pc] & ~self._flushed[pc] | self._written[pc]
            for successor in self._successors[pc]:
                new = bits & self._kept_in.get(successor, -1) & ~found[successor]
                if new and pc in loops.get(successor, (pc,)):
                    found[successor] |= new
                    work.append(successor)
        return found

    def _drop_dead(self, tight: Iterable[frozenset[int]]) -> None:
        """In large functions, have units flushed on the way into blocks from which on nothing reads them.

        But not inside the loops without calls: they would store in each round what only the last round leaves.
        """
        if len(self.order) < LARGE_FUNCTION_BLOCKS:
            return
        inside = self._entries.union(*tight)
        self._kept_in = {pc: self.live_in[pc] | PRESERVED for pc in self.order if pc not in inside}

    def _syncs(self, pc: int) -> bool:
        return self._function.blocks[pc].end in _SYNCING

    def _settle_meets(self, after_call: dict[int, int]) -> None:
        """Outside loops, have units flushed on ways that meet clean ones, unless they are read from there on."""
        predecessors = predecessors_of(self._successors)
        cyclic = {pc for cycle in cycles(self.order, self._successors) for pc in cycle}
        work = deque(pc for pc in self.order if pc not in cyclic)
        queued = set(work)
        out = {pc: self._dirty_out(pc, after_call) for pc in self.order}
        while work:
            pc = work.popleft()
            queued.discard(pc)
            before = predecessors[pc]
            if not before or pc in self._entries:
                continue
            some, every = 0, -1
            for source in before:
                some |= out[source]
                every &= out[source]
            found = self.dirty_in[pc] & (every | some & self.live_in[pc])
            if found != self.dirty_in[pc]:
                self.dirty_in[pc] = found
                out[pc] = self._dirty_out(pc, after_call)
                for successor in self._successors[pc]:
                    if successor not in cyclic and successor not in queued:
                        queued.add(successor)
                        work.append(successor)

    def _dirty_out(self, pc: int, after_call: dict[int, int]) -> int:
        bits = after_call.get(pc, 0)
        if not self._syncs(pc) or pc in self._passed_by:
            bits |= self.dirty_in[pc] & ~self._flushed[pc] | self._written[pc]
        return bits

    def results_at_hand(self, pc: int) -> int:
        """Return which RESULT_BITS a return block gives back from SSA: those not written are loaded from the state."""
        return 0 if self._in_state else (self._returned_in[pc] | self._written[pc]) & RESULT_BITS

    def _add_ends(self, units: Units, passed: Callable[[Block], int]) -> None:
        for pc in self.order:
            block = self._function.blocks[pc]
            bits = self.results_at_hand(pc) if block.end is End.RETURN else passed(block) & units.bits
            self._use[pc] |= bits & ~self._overwritten[pc]

    def _find_live(self) -> None:
        predecessors = predecessors_of(self._successors)
        self.live_in = dict.fromkeys(self.order, 0)
        self.live_out = dict.fromkeys(self.order, 0)
        done = dict.fromkeys(self.order, False)
        work = list(self.order)
        while work:
            pc = work.pop()
            out = 0
            for successor in self._successors[pc]:
                out |= self.live_in[successor]
            self.live_out[pc] = out
            block = self._function.blocks[pc]
            needed = out
            if block.end in _SYNCING and pc not in self._passed_by:
                needed &= PRESERVED if block.end is End.CALL else 0
            live = self._use[pc] | (needed & ~self._overwritten[pc])
            if live != self.live_in[pc] or not done[pc]:
                done[pc] = True
                self.live_in[pc] = live
                work.extend(predecessors[pc])


def _reachable(function: Function, entries: list[int]) -> list[int]:
    """Return the blocks reachable from `entries`, by address."""
    seen = set(entries)
    work = list(entries)
    while work:
        for successor in function.successors(function.blocks[work.pop()]):
            if successor not in seen:
                seen.add(successor)
                work.append(successor)
    return sorted(seen)
