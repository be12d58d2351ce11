"""The ways into and out of the blocks of a graph, in classes of those that meet at edges."""

from __future__ import annotations

from dataclasses import dataclass

from .graph import Graph


@dataclass
class Ways:
    """The ways into and out of blocks, as classes of those that meet."""

    into: dict[int, int]
    out: dict[int, int]


def ways_of(graph: Graph) -> Ways:
    """Return the classes of the ways of a graph: those into entries meet, and so do those along edges."""
    order, entries = graph.order, graph.entries
    parents = list(range(2 * len(order)))

    def root(number: int) -> int:
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    into = {pc: 2 * index for index, pc in enumerate(order)}
    out = {pc: 2 * index + 1 for index, pc in enumerate(order)}
    for pc in entries[1:]:
        parents[root(into[pc])] = root(into[entries[0]])
    for pc in order:
        for successor in graph.successors[pc]:
            parents[root(into[successor])] = root(out[pc])
    return Ways(*({pc: root(number) for pc, number in side.items()} for side in (into, out)))
