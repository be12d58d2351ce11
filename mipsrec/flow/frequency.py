"""How often the blocks of a loop are executed in one of its iterations, and those of a function, for one way through.

All ways on from a block are taken to be equally likely. What comes into a loop elsewhere than at its head does not
count: that is often a call that never returns, and behind it the next block by address.
"""

from __future__ import annotations

from collections.abc import Iterable

from .graph import Graph

ITERATIONS = 8
"""Of a loop, each time that it is entered."""


class Frequencies:
    """Estimates for the blocks of a graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._positions = {pc: position for position, pc in enumerate(graph.topological_order())}
        inner_first = sorted(graph.loops, key=lambda head: len(graph.loops[head]))
        self.loop_of: dict[int, int] = {}
        """The head of the innermost loop around a block, if there is one."""
        for head in inner_first:
            for pc in graph.loops[head]:
                self.loop_of.setdefault(pc, head)
        self.of_loop = {head: self._flow((head,), body) for head, body in graph.loops.items()}
        """By head: how often the blocks of a loop are executed, inner loops going around once."""
        whole = self._flow(graph.entries, graph.order)
        self.of_block: dict[int, float] = {}
        """How often each block is executed, loops going around ITERATIONS times."""
        for pc in graph.order:
            around = self.of_loop[self.loop_of[pc]] if pc in self.loop_of else whole
            self.of_block[pc] = ITERATIONS ** graph.loop_depths[pc] * around[pc]

    def _flow(self, entries: Iterable[int], blocks: Iterable[int]) -> dict[int, float]:
        """Return how often blocks are executed for each time that control comes to each of the entries."""
        found, positions = dict.fromkeys(blocks, 0.0), self._positions
        found.update(dict.fromkeys(entries, 1.0))
        for pc in sorted(found, key=positions.__getitem__):
            onward = [to for to in self._graph.successors[pc] if to in found and positions[to] > positions[pc]]
            for target in onward:
                found[target] += found[pc] / len(onward)
        return found
