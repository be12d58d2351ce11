"""The one solver of data-flow problems: sets of bits, which go along the edges of a graph until nothing changes.

Enters: a graph, a direction, how sets meet, and what each node does to a set. Leaves: the set at the start of each
node. A transfer is a pair of what a node adds and what it lets through: `added | bits & kept`. Problems whose nodes do
more give a function instead.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping

from .graph import Edges, Node

ALL = -1
"""The set of everything."""
Transfer = tuple[int, int]
OnEdge = Callable[[Node, Node, int], int]
"""What an edge from one node to another makes of a set."""


class Direction(enum.Enum):
    """Which way sets go."""

    FORWARD = "forward"
    BACKWARD = "backward"


class Meet(enum.Enum):
    """What is known where edges meet: what some of them bring, or what all do."""

    ANY = "any"
    ALL = "all"


def solve(
    edges: Edges[Node],
    direction: Direction,
    meet: Meet,
    transfer: Mapping[Node, Transfer] | Callable[[Node, int], int],
    boundary: Mapping[Node, int],
    on_edge: OnEdge[Node] | None = None,
) -> dict[Node, int]:
    """Return the set at the start of each node, the least (Meet.ANY) or the greatest (Meet.ALL) there is.

    `boundary` is what comes from outside the graph: forward at the start of a node, backward at its end. Where a node
    has no successors and no boundary, nothing comes backward.
    """
    through = _by_pairs(transfer) if isinstance(transfer, Mapping) else transfer
    solver = _forward if direction is Direction.FORWARD else _backward
    return solver(edges, meet is Meet.ANY, through, boundary, on_edge)


def _by_pairs(pairs: Mapping[Node, Transfer]) -> Callable[[Node, int], int]:
    def through(node: Node, bits: int) -> int:
        added, kept = pairs[node]
        return added | bits & kept

    return through


def _forward(
    edges: Edges[Node],
    is_any: bool,
    through: Callable[[Node, int], int],
    boundary: Mapping[Node, int],
    on_edge: OnEdge[Node] | None,
) -> dict[Node, int]:
    found = {node: boundary.get(node, 0 if is_any else ALL) for node in edges.order}
    work = list(edges.order)
    waiting = set(work)
    while work:
        node = work.pop()
        waiting.discard(node)
        after = through(node, found[node])
        for successor in edges.successors[node]:
            bits = after if on_edge is None else on_edge(node, successor, after)
            before = found[successor]
            bits = before | bits if is_any else before & bits
            if bits != before:
                found[successor] = bits
                if successor not in waiting:
                    waiting.add(successor)
                    work.append(successor)
    return found


def _backward(
    edges: Edges[Node],
    is_any: bool,
    through: Callable[[Node, int], int],
    boundary: Mapping[Node, int],
    on_edge: OnEdge[Node] | None,
) -> dict[Node, int]:
    found = dict.fromkeys(edges.order, 0 if is_any else ALL)
    work = list(edges.order)
    waiting = set(work)
    while work:
        node = work.pop()
        waiting.discard(node)
        bits = boundary.get(node, 0 if is_any or not edges.successors[node] else ALL)
        for successor in edges.successors[node]:
            come = found[successor] if on_edge is None else on_edge(node, successor, found[successor])
            bits = bits | come if is_any else bits & come
        bits = through(node, bits)
        if bits != found[node]:
            found[node] = bits
            for predecessor in edges.predecessors[node]:
                if predecessor not in waiting:
                    waiting.add(predecessor)
                    work.append(predecessor)
    return found
