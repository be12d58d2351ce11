"""The graph of a function's blocks, or of anything: order, edges both ways, loops.

Loops are found in two ways. Strongly connected components hold every cycle, also those that control enters in several
places. Natural loops have a head, by the retreating edges of a depth-first search.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Generic, TypeVar

from ..analysis import Block, End, Function

WAITS = (End.CALL, End.SYSCALL, End.INTERPRET)
"""Ends of blocks after which other code runs before this function goes on."""

MAX_LOOP_BLOCKS = 20_000
"""Blocks of all loops of a function together that are looked at: deep nests count again in each loop around them."""
MAX_LOOP_DEPTH = 8

Node = TypeVar("Node", bound=Hashable)


class Edges(Generic[Node]):
    """Nodes in some order, and the edges between them: of each node those that follow it, and those that lead to it."""

    def __init__(self, order: Sequence[Node], successors: Mapping[Node, list[Node]]) -> None:
        self.order = order
        self.successors = successors

    @cached_property
    def predecessors(self) -> dict[Node, list[Node]]:
        """The nodes that lead to each."""
        found: dict[Node, list[Node]] = {node: [] for node in self.successors}
        for node, targets in self.successors.items():
            for target in targets:
                found[target].append(node)
        return found


class Graph(Edges[int]):
    """Some blocks of a function, by their starts. Control comes to `entries` from outside."""

    def __init__(self, function: Function, order: Sequence[int], entries: Sequence[int]) -> None:
        self.function = function
        self.entries = entries
        super().__init__(order, {pc: function.successors(function.blocks[pc]) for pc in order})

    @classmethod
    def reached(cls, function: Function, entries: Sequence[int]) -> Graph:
        """Return the graph of the blocks that some entries reach, by address."""
        seen = set(entries)
        work = list(entries)
        while work:
            for successor in function.successors(function.blocks[work.pop()]):
                if successor not in seen:
                    seen.add(successor)
                    work.append(successor)
        return cls(function, sorted(seen), entries)

    @classmethod
    def whole(cls, function: Function) -> Graph:
        """Return the graph of all blocks of a function."""
        return cls(function, list(function.blocks), [function.start])

    @property
    def blocks(self) -> Mapping[int, Block]:
        """The function's blocks, perhaps more than the graph has."""
        return self.function.blocks

    @cached_property
    def loops(self) -> dict[int, frozenset[int]]:
        """The natural loops, by head."""
        found = {}
        budget = MAX_LOOP_BLOCKS
        for head, sources in self._searched[1].items():
            body = {head}
            work = list(sources)
            while work and budget > 0:
                pc = work.pop()
                if pc not in body:
                    budget -= 1
                    body.add(pc)
                    work.extend(self.predecessors[pc])
            if not work:
                found[head] = frozenset(body)
        return found

    @cached_property
    def loop_depths(self) -> dict[int, int]:
        """How many loops are around each block; MAX_LOOP_DEPTH stands for more."""
        found = dict.fromkeys(self.order, 0)
        for body in self.loops.values():
            for pc in body:
                found[pc] = min(found[pc] + 1, MAX_LOOP_DEPTH)
        return found

    def loops_with(self, *ends: End) -> dict[int, frozenset[int]]:
        """Return the natural loops that contain a block with one of these ends."""
        return {head: body for head, body in self.loops.items() if any(self.blocks[pc].end in ends for pc in body)}

    @cached_property
    def _searched(self) -> tuple[list[int], dict[int, list[int]]]:
        """Blocks in the order in which a depth-first search leaves them; and, by target, the sources of the edges that
        lead back to a block on its path."""
        left: list[int] = []
        retreating: dict[int, list[int]] = {}
        state: dict[int, bool] = {}  # whether the block is on the path
        for root in self.order:
            if root in state:
                continue
            state[root] = True
            path = [(root, list(self.successors[root]))]
            while path:
                pc, remaining = path[-1]
                if not remaining:
                    state[pc] = False
                    left.append(pc)
                    path.pop()
                    continue
                target = remaining.pop()
                if target not in state:
                    state[target] = True
                    path.append((target, list(self.successors[target])))
                elif state[target]:
                    retreating.setdefault(target, []).append(pc)
        return left, retreating

    @cached_property
    def cycles(self) -> list[list[int]]:
        """The strongly connected components with a cycle."""
        return cycles(self.order, self.successors) if self._searched[1] else []

    def topological_order(self) -> list[int]:
        """Return the blocks such that each comes after those that lead to it, but for retreating edges."""
        return self._searched[0][::-1]

    def has_inner_loops(self) -> bool:
        """Return whether a loop without calls lies inside another loop."""
        return any(
            any(head in body for outer, body in self.loops.items() if outer != head)
            for head in self.loops
            if not any(self.blocks[pc].end in WAITS for pc in self.loops[head])
        )


def cycles(order: Iterable[int], successors: Mapping[int, Iterable[int]]) -> list[list[int]]:
    """Return the strongly connected components with a cycle, of these blocks alone (Tarjan, iterative)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[list[int]] = []
    inside = set(order)

    for root in order:
        if root in index:
            continue
        work: list[tuple[int, list[int]]] = []
        _open(root, index, low, stack, on_stack)
        work.append((root, [pc for pc in successors[root] if pc in inside]))
        while work:
            pc, remaining = work[-1]
            if remaining:
                target = remaining.pop()
                if target not in index:
                    _open(target, index, low, stack, on_stack)
                    work.append((target, [pc for pc in successors[target] if pc in inside]))
                elif target in on_stack:
                    low[pc] = min(low[pc], index[target])
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[pc])
            if low[pc] == index[pc]:
                component = _close(pc, stack, on_stack)
                if len(component) > 1 or pc in successors[pc]:
                    found.append(component)
    return found


def _open(pc: int, index: dict[int, int], low: dict[int, int], stack: list[int], on_stack: set[int]) -> None:
    index[pc] = low[pc] = len(index)
    stack.append(pc)
    on_stack.add(pc)


def _close(pc: int, stack: list[int], on_stack: set[int]) -> list[int]:
    component = []
    while True:
        member = stack.pop()
        on_stack.discard(member)
        component.append(member)
        if member == pc:
            return component
