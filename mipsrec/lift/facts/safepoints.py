"""Safepoints: where recompiled code looks whether a signal waits.

Needs: the graph, and which registers are needed. `build.py` finds the safepoints before the passes run.
Sets: `safepoints`: the edges that have one, and the registers that must be right there.
Keeps: every loop that may go on for long has a safepoint on the edge back to its head, so signals from outside arrive
(docs/design/faults.md, Signals). A loop without calls has none if it ends within 2**32 short iterations whatever its
registers hold, or makes a system call in each (bounded_loops.py).
Off when: never. With `--calls instrumented` all registers must be right at safepoints.

Code that only recurses, or calls last through pointers, has no safepoint. A handler that reads the registers of a loop
that it interrupts may find old values in registers that the loop writes before it reads them (docs/limits.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from ...analysis import Function
from ...flow.graph import Graph, cycles
from ..bounded_loops import is_bounded
from .needed import Needed

MAX_NESTED_BLOCKS = 50_000
"""Blocks of all loops of a function together, those inside others counted again. Beyond, each edge upwards gets a
safepoint."""


@dataclass(frozen=True)
class Safepoints:
    """The safepoints of one function.

    `edges` are pairs of source and target; `needed` are the registers that must be right where a handler may read them.
    """

    function: Function
    edges: frozenset[tuple[int, int]]
    needed: Needed

    def on_edge(self, source: int, target: int) -> bool:
        """Return whether the edge has one; one to a function further down only, as a cycle of these goes up too."""
        return (source, target) in self.edges or (target not in self.function.blocks and target <= self.function.start)


def find_safepoints(graph: Graph, needed: Needed) -> Safepoints:
    """Return the safepoints of a function."""
    return Safepoints(graph.function, safepoint_edges(graph), needed)


def safepoint_edges(graph: Graph) -> frozenset[tuple[int, int]]:
    """Return the edges, by source and target, that a safepoint belongs on."""
    entered = set(graph.entries)
    found: list[tuple[int, int]] = []
    work, budget = [graph.cycles], MAX_NESTED_BLOCKS
    while work:
        for loop in work.pop():
            body = frozenset(loop)
            if is_bounded(graph, body):
                continue
            budget -= len(body)
            edges = [(pc, target) for pc in loop for target in graph.successors[pc] if target in body]
            if budget < 0:
                found += [(pc, target) for pc, target in edges if target <= pc]
                continue
            head = _head(body, graph.predecessors, entered)
            found += [edge for edge in edges if edge[1] == head]
            work.append(cycles([pc for pc in loop if pc != head], graph.successors))
    return frozenset(found)


def cycles_without_safepoint(graph: Graph, safepoints: Safepoints) -> list[list[int]]:
    """Return the blocks of the loops that control may run through without a safepoint."""
    edges = safepoints.edges
    rest = {pc: [to for to in graph.successors[pc] if (pc, to) not in edges] for pc in graph.order}
    return cycles(graph.order, rest)


def _head(body: frozenset[int], predecessors: dict[int, list[int]], entered: set[int]) -> int:
    """Return the first block of a loop that control enters it by; irreducible ones have several."""
    return min(pc for pc in body if pc in entered or not body.issuperset(predecessors[pc]))
