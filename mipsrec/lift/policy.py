"""Policy: which functions are recompiled, what callers may know of each, and how much effort LLVM spends on it.

Enters: a program, `--opt`, perhaps a profile. Leaves: a `Callee` and a level for each function. Level `auto` spends
full effort where programs spend their time: in loops and what they call, in functions that call themselves, in very
small ones. A profile knows better: then it is the functions that it has samples of.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from ..analysis import End, Function, Program
from ..flow.graph import WAITS, Graph, cycles
from ..isa.effects import ALL_BITS
from ..options import AUTO, LIGHT
from ..profiles import Profile
from .convention import CARRIED_BITS, SP_BIT, Callee, argument_registers, symbol_of
from .facts.context import LARGE_FUNCTION_BLOCKS
from .facts.shared_switches import is_crowded
from .overwrites import ignored, overwritten

FULL = "2"
"""What `auto` means by full effort: level 3 made no kernel faster."""

HUGE_FUNCTION_INSTRUCTIONS = 20_000
"""Functions beyond this are compiled lightly: LLVM's time grows faster than their size."""

MOST_JUMPS = 20_000
"""Functions whose jump tables lead to more places than this, together, are compiled lightly, too: CPython's interpreter
has a table of 256 cases at the end of each, and takes LLVM 4 s lightly, 95 s at level 2."""

_SMALL_INSTRUCTIONS = 400
_VERY_SMALL_INSTRUCTIONS = 100
_CALLED_INSTRUCTIONS = 1000
_SHARE = 10
_INTERPRETER_CASES = 64

COLD_IN_SSA = CARRIED_BITS | SP_BIT
"""Registers that functions keep in SSA where little time is spent: calls pass a0 to a3 so, and accesses wait for sp.
Not so large interpreters: that made sqlite's 1.03 of its time."""


def has_hot_loops(graph: Graph) -> bool:
    """Return whether a function has loops that full effort makes faster.

    That is any loop of a small function; of a large one, loops without calls that are a tenth of it: the time of other
    loops is that of what they call. What is nested counts once more for each loop around it.
    """
    function, loops = graph.function, graph.loops
    if not loops:
        return False
    blocks = function.blocks
    if function.instruction_count() <= _SMALL_INSTRUCTIONS:
        return True
    weight = 0
    for body in loops.values():
        if not any(blocks[pc].end in WAITS for pc in body):
            weight += sum(blocks[pc].instruction_count() for pc in body)
    return weight * _SHARE >= function.instruction_count()


def levels_of_program(
    program: Program,
    starts: Iterable[int],
    level: str,
    profile: Profile | None = None,
    hot: Collection[int] | None = None,
) -> dict[int, str]:
    """Return the level of each function; `level` is that of `--opt`. The caller may know which functions are hot."""
    starts = list(starts)
    if hot is None:
        if profile is not None:
            hot = sampled(program, starts, profile)
        elif level == AUTO:
            hot = hot_functions(program, starts)
        else:
            hot = starts
    hot = {start for start in hot if jump_count(program.functions[start]) <= MOST_JUMPS}
    return {start: level_of(start in hot, program.functions[start].instruction_count(), level) for start in starts}


def hot_functions(program: Program, starts: Iterable[int]) -> set[int]:
    """Return the functions that `auto` takes to be where time is spent.

    Those are functions with loops, what loops call as far as that is known and not large, interpreters, small recursive
    functions, and very small ones, which loops may call in ways that are not known.
    """
    recursive = recursive_functions(program)
    found: set[int] = set()
    starts = frozenset(starts)
    for start in starts:
        function = program.functions[start]
        graph = Graph.whole(function)
        called = starts & called_in_loops(graph)
        found |= {pc for pc in called if program.functions[pc].instruction_count() <= _CALLED_INSTRUCTIONS}
        limit = _SMALL_INSTRUCTIONS if start in recursive else _VERY_SMALL_INSTRUCTIONS
        if function.instruction_count() <= limit or has_hot_loops(graph) or is_interpreter(graph):
            found.add(start)
    return found


def jump_count(function: Function) -> int:
    """Return how many cases a function's jump tables have, together."""
    return sum(len(table.cases) for table in function.jump_tables.values())


def cold_functions(program: Program, levels: Mapping[int, str], level: str) -> set[int]:
    """Return the functions, of those given with their levels, that are to be small rather than fast.

    They are those that are compiled lightly, but where `--opt` says that for all: then not the hot ones.
    """
    found = {start for start in levels if levels[start] == LIGHT}
    return found - hot_functions(program, levels) if level == LIGHT else found


def is_interpreter(graph: Graph) -> bool:
    """Return whether a function has a loop that jumps by a large table: each case is small, and one of them is hot."""
    function = graph.function
    large = {pc for pc, table in function.jump_tables.items() if len(table.cases) >= _INTERPRETER_CASES}
    if not large:
        return False
    loops = graph.loops_with(End.INDIRECT)
    return any(function.blocks[pc].terminator_pc in large for body in loops.values() for pc in body)


def large_interpreters(program: Program, starts: Iterable[int]) -> set[int]:
    """Return the interpreters that are faster, and smaller, with their registers in the state than in the host's.

    They have more values than the host has registers: LLVM spills them in each case, and the calls in most of the cases
    pass them through the state anyway. A loop without calls takes longer so; those must not be a tenth of the function.
    Crowded functions are among them in any case, since their jumps have to share switches.
    """
    found = set()
    for start in starts:
        function = program.functions[start]
        if is_crowded(function):
            found.add(start)
        elif len(function.blocks) >= LARGE_FUNCTION_BLOCKS:
            graph = Graph.whole(function)
            if is_interpreter(graph) and not has_hot_loops(graph):
                found.add(start)
    return found


def called_in_loops(graph: Graph) -> set[int]:
    """Return the targets, and likely targets, of the calls in a function's loops."""
    function, loops = graph.function, graph.loops_with(End.CALL)
    found = set()
    for pc in set().union(*loops.values()):
        block = function.blocks[pc]
        target = function.likely_target(block)
        if block.end is End.CALL and target is not None:
            found.add(target)
    return found


def level_of(hot: bool, weight: int, level: str) -> str:
    """Return the level of a function of `weight` instructions where `--opt` says `level`."""
    if level == "0":
        return level
    if not hot or weight > HUGE_FUNCTION_INSTRUCTIONS:
        return LIGHT
    return FULL if level == AUTO else level


def sampled(program: Program, starts: Iterable[int], profile: Profile) -> set[int]:
    """Return the functions, of those at `starts`, that a profile has samples of."""
    owners = {pc: (start, block) for start in starts for pc, block in program.functions[start].blocks.items()}
    order = sorted(owners)
    found = set()
    for pc in profile.counts:
        index = bisect_right(order, pc) - 1
        if index >= 0:
            start, block = owners[order[index]]
            if pc < block.end_pc:
                found.add(start)
    return found


def nearest(starts: Iterable[int], profile: Profile) -> set[int]:
    """Return the functions that a profile has samples of, where no more than their starts is known."""
    order = sorted(starts)
    indices = {bisect_right(order, pc) - 1 for pc in profile.counts}
    return {order[index] for index in indices if index >= 0}


COPIED_INSTRUCTIONS, COPIES_INSTRUCTIONS = 64, 400
"""Of a function that loops copy wherever they call it; of all the places together that call a larger one."""
TINY_INSTRUCTIONS = 16
"""Of a function that is copied wherever it is called, by callers in other modules as well. The copy is no larger than a
call, which stores registers before and checks two words after: libraries stay as large as they are."""


def lifted_starts(program: Program, fr: int = 0) -> Mapping[int, Callee]:
    """Return, by start, the functions that are worth lifting: those whose first instruction is understood.

    `fr` is the program's Status.FR.
    """
    found = {}
    copied = copied_functions(program)
    firsts = {start: function.blocks[start] for start, function in program.functions.items()}
    lifted = [start for start, first in firsts.items() if first.body or first.end is not End.INTERPRET]
    overwrites = overwritten(program, frozenset(lifted), fr)
    for start, ignores in ignored(program, overwrites, fr).items():
        function = program.functions[start]
        is_copied = start in copied
        is_tiny = is_copied and function.instruction_count() <= TINY_INSTRUCTIONS
        takes = argument_registers(function)
        symbol, never_read = symbol_of(function, None), (overwrites[start], ignores)
        found[start] = Callee(symbol, takes, is_copied, is_tiny, False, 0, *never_read)
    return found


def recursive_functions(program: Program) -> set[int]:
    """Return the functions that may call themselves again, as far as calls and guesses tell."""
    called: dict[int, list[int]] = {}
    for start, function in program.functions.items():
        targets = {block.target for block in function.blocks.values() if block.end is End.CALL}
        targets.update(function.guesses.values())
        called[start] = [target for target in targets if target is not None and target in program.functions]
    return {start for cycle in cycles(list(called), called) for start in cycle}


def copied_functions(program: Program) -> set[int]:
    """Return the functions that call nothing, and are so small, or called in so few places, that loops may copy them.

    A call costs about as much as twenty of their instructions: registers are stored for it, and then loaded again.
    """
    places: Counter[int | None] = Counter()
    for function in program.functions.values():
        ends = (block for block in function.blocks.values() if block.end is End.CALL)
        places.update(function.likely_target(block) for block in ends)
    found: set[int] = set()
    for start, count in places.items():
        callee = program.functions.get(start) if start is not None else None
        if callee is not None and _calls_nothing(callee):
            size = callee.instruction_count()
            if size <= COPIED_INSTRUCTIONS or size * count <= COPIES_INSTRUCTIONS:
                found.add(callee.start)
    return found


def _calls_nothing(function: Function) -> bool:
    ends = (End.CALL, End.SYSCALL)
    return not any(block.end in ends or function.may_go_anywhere(block) for block in function.blocks.values())


def with_cold(
    program: Program, callees: Mapping[int, Callee], starts: Collection[int], memory_resident: Collection[int] = ()
) -> dict[int, Callee]:
    """Return the callees with those at `starts` made cold, and their registers in the state if no time goes there.

    That is where no loop without calls lies in another: in those, registers are worth more than a small function.
    Those of `memory_resident` are made so in any case.
    """
    found = dict(callees)
    for start in callees.keys() & {*starts, *memory_resident}:
        if start not in memory_resident and Graph.whole(program.functions[start]).has_inner_loops():
            found[start] = replace(found[start], cold=True)
        else:
            found[start] = replace(found[start], cold=True, memory_resident=ALL_BITS & ~COLD_IN_SSA)
    return found
