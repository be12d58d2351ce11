"""The one solver of data-flow problems: sets of bits, which go along the edges of a graph until nothing changes.

Enters: a graph, a direction, how sets meet, and what each node does to a set. Leaves: the set at the start of each
node. A transfer is a pair of what a node adds and what it lets through: `added | bits & kept`. Problems whose nodes do
more give a function instead.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping

from ..analysis import Block
from ..isa import Instruction
from .graph import Edges, Node

ALL = -1
"""The set of everything."""
Transfer = tuple[int, int]
OnEdge = Callable[[Node, Node, int], int]
"""What an edge from one node to another makes of a set."""


def reads_and_writes(block: Block, masks_of: Callable[[Instruction], tuple[int, int]]) -> tuple[int, int]:
    """Return the bits that a block reads before it writes them, and those that it writes in any case.

    `masks_of` gives what one instruction reads and writes. A branch that is left to the interpreter, with its slot, is
    no part of the block.
    """
    read = written = 0
    for instruction in block.instructions() if block.terminator is not None else block.body:
        reads, writes = masks_of(instruction)
        read |= reads & ~written
        written |= writes
    return read, written


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
    forward, is_any = direction is Direction.FORWARD, meet is Meet.ANY
    following = edges.successors if forward else edges.predecessors

    def outset(node: Node) -> int:
        return 0 if is_any or not (forward or edges.successors[node]) else ALL

    found = {node: boundary.get(node, outset(node)) for node in edges.order}  # where sets come into a node
    work = list(reversed(edges.order) if forward else edges.order)  # pop() takes the last
    waiting = set(work)
    while work:
        node = work.pop()
        waiting.discard(node)
        after = through(node, found[node])
        for other in following[node]:
            bits = after
            if on_edge is not None:
                bits = on_edge(node, other, after) if forward else on_edge(other, node, after)
            bits = found[other] | bits if is_any else found[other] & bits
            if bits != found[other]:
                found[other] = bits
                if other not in waiting:
                    waiting.add(other)
                    work.append(other)
    return found if forward else {node: through(node, bits) for node, bits in found.items()}


def _by_pairs(pairs: Mapping[Node, Transfer]) -> Callable[[Node, int], int]:
    def through(node: Node, bits: int) -> int:
        added, kept = pairs[node]
        return added | bits & kept

    return through
