"""The loops of a function: strongly connected components, and natural loops by retreating edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..analysis import End, Function

WAITS = (End.CALL, End.SYSCALL, End.HAND_OVER)
"""Ends of blocks after which other code runs before this function goes on."""

MAX_LOOP_BLOCKS = 20_000
"""Blocks of all loops of a function together that are looked at: deep nests count again in each loop around them."""


def predecessors_of(successors: Mapping[int, Iterable[int]]) -> dict[int, list[int]]:
    """Return the blocks that lead to each block, given those that follow each."""
    found: dict[int, list[int]] = {pc: [] for pc in successors}
    for pc, targets in successors.items():
        for target in targets:
            found[target].append(pc)
    return found


def loops_with(function: Function, order: list[int], ends: tuple[End, ...]) -> dict[int, frozenset[int]]:
    """Return the natural loops, by head, of those blocks in `order` that contain a block with one of these ends."""
    predecessors = predecessors_of({pc: function.successors(function.blocks[pc]) for pc in order})
    found = {}
    budget = MAX_LOOP_BLOCKS
    for head, sources in _retreating_edges(function, order).items():
        body = {head}
        work = sources
        while work and budget > 0:
            pc = work.pop()
            if pc not in body:
                budget -= 1
                body.add(pc)
                work.extend(predecessors[pc])
        if not work and any(function.blocks[pc].end in ends for pc in body):
            found[head] = frozenset(body)
    return found


def has_inner_loops(function: Function) -> bool:
    """Return whether a loop without calls lies inside another loop."""
    loops = loops_with(function, list(function.blocks), tuple(End))
    return any(
        any(head in body for outer, body in loops.items() if outer != head)
        for head in loops
        if not any(function.blocks[pc].end in WAITS for pc in loops[head])
    )


def _retreating_edges(function: Function, order: list[int]) -> dict[int, list[int]]:
    """Return, by target, the sources of the edges that lead back to a block on the path of a depth-first search."""
    found: dict[int, list[int]] = {}
    state: dict[int, bool] = {}  # whether the block is on the path
    for root in order:
        if root in state:
            continue
        state[root] = True
        path = [(root, function.successors(function.blocks[root]))]
        while path:
            pc, remaining = path[-1]
            if not remaining:
                state[pc] = False
                path.pop()
                continue
            target = remaining.pop()
            if target not in state:
                state[target] = True
                path.append((target, function.successors(function.blocks[target])))
            elif state[target]:
                found.setdefault(target, []).append(pc)
    return found


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
