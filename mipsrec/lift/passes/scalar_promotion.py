"""Scalar promotion: a variable holds a word of memory that each iteration of a loop changes.

Needs: the graph, `safepoints`, `changing` (spin_loads), `vectorized`.
Sets: `promoted`: the loops and their variables; `Op.promoted` of the accesses of these.
Keeps: memory has after each iteration what it would have, and each access is performed, with its fault. The rules:

- The loop is innermost, has one way in and no call, and no instruction of it orders memory.
- On the way in the variable is loaded. This never faults: all paths to it have accessed the word since its base was
  set.
- Stores to the word stay where they are, and set the variable. Loads stay too. If memory differs from the variable,
  memory counts: another register, thread, mapping or handler has stored there. The host predicts that it does not.
- Stores of the loop by the same base are to exactly this word or surely to another.
- Words that are not reached by sp or fp stay in memory if the loop stores by other registers or has a safepoint: there
  memory often differs.
- What is stored depends on what was loaded: otherwise no iteration waits.

Off when: some registers are in the state between blocks (`memory_resident`), the memory model is not `flat`, or the
loop is vectorized or longer than 128 instructions.

Compilers keep a sum or a counter on the stack when they have no register for it. Each iteration would wait until it
can load what the iteration before has stored.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...abi import PAGE_BYTES
from ...analysis import Block, End, Function
from ...flow.graph import Edges, Graph, cycles
from ...flow.solve import Direction, Meet, solve
from ...isa import Instruction
from ...isa.effects import LAST_BIT, LOAD, STORE, copied_register, effects, masks
from ...isa.row import Row
from ...state import FP, SP
from ..facts.safepoints import Safepoints
from ..ir import FunctionPlan, PromotedLoop, Variable
from ..options import LiftOptions

OTHER = "other"
"""What an instruction does to memory besides LOAD and STORE at imm(rs), where it is more than a load."""


def kind_of(row: Row) -> tuple[str, str]:
    """Return what a row does, and the type of what it loads or stores."""
    does = effects(row)
    access = does.access
    if does.calls_host or does.is_linked or does.fences:
        return OTHER, ""
    if access is None:
        return "", ""
    if not access.is_based or access.part:
        return (OTHER if access.kind == STORE else ""), ""
    return access.kind, access.type


def place(variable: Variable) -> tuple[int, int, str]:
    """Return where a variable is, and its type."""
    return variable.base, variable.displacement, variable.type


def variable_of(loop: PromotedLoop, instruction: Instruction) -> Variable | None:
    """Return the variable that an instruction of a loop accesses, if it does."""
    access = access_of(instruction)[1]
    return next((one for one in loop.variables if access and place(one) == place(access)), None)


def access_of(instruction: Instruction) -> tuple[str, Variable | None]:
    kind, type_ = kind_of(instruction.row)
    if kind not in (LOAD, STORE):
        return kind, None
    return kind, Variable(instruction.rs, instruction.imm, type_)


_MAX_INSTRUCTIONS = 128
"""Of a loop: the longer an iteration, the less it waits, and the more registers it has use for."""
_MAX_VARIABLES = 6
_MAX_WALK = 32
"""Blocks before a loop that are searched for accesses."""
_VARIABLE_BIT = LAST_BIT + 1
_ENDS = (End.FALL, End.BRANCH, End.JUMP, End.INDIRECT)


def promoted_loops(
    graph: Graph, safepoints: Safepoints, options: LiftOptions, inside: Iterable[int]
) -> list[PromotedLoop]:
    """Return the loops with promoted variables; `inside` are the blocks in loops without calls."""
    if options.memory != "flat" or not _changes_words(graph.function, inside):
        return []
    return _Search(graph, safepoints, options.fr).loops(list(inside))


def _changes_words(function: Function, blocks: Iterable[int]) -> bool:
    """Return whether some blocks load and store the same word."""
    places: tuple[set[tuple[int, int]], ...] = set(), set()
    for pc in blocks:
        for instruction in function.blocks[pc].instructions():
            kind = kind_of(instruction.row)[0]
            if kind in (LOAD, STORE):
                places[kind == STORE].add((instruction.rs, instruction.imm))
    return not places[0].isdisjoint(places[1])


class _Search:
    """Finds the promoted variables of a function's loops."""

    def __init__(self, graph: Graph, safepoints: Safepoints, fr: int) -> None:
        self._blocks = graph.blocks
        self._successors = graph.successors
        self._predecessors = graph.predecessors
        self._entries = frozenset(graph.entries)
        self._safepoints = safepoints
        self._fr = fr

    def loops(self, inside: list[int]) -> list[PromotedLoop]:
        """Return the loops with variables, of the loops that have no other inside and one way in."""
        found = []
        work = [inside]
        while work:
            for loop in cycles(work.pop(), self._successors):
                body = frozenset(loop)
                heads = [pc for pc in loop if pc in self._entries or not body.issuperset(self._predecessors[pc])]
                inner = [pc for pc in loop if pc not in heads]
                if cycles(inner, self._successors):
                    work.append(inner)
                elif len(heads) == 1 and heads[0] not in self._entries:
                    found.append(self._loop(heads[0], body))
        return [loop for loop in found if loop is not None]

    def _loop(self, head: int, body: frozenset[int]) -> PromotedLoop | None:
        """Return a loop with its variables, or None if it has none or is not of the kind."""
        blocks = [self._blocks[pc] for pc in sorted(body)]
        edges = [(pc, target) for pc in body for target in self._successors[pc] if self._safepoints.on_edge(pc, target)]
        if any(block.end not in _ENDS for block in blocks) or any(target in body - {head} for _, target in edges):
            return None
        instructions = [instruction for block in blocks for instruction in block.instructions()]
        if len(instructions) > _MAX_INSTRUCTIONS:
            return None
        accesses = [access_of(instruction) for instruction in instructions]
        if any(kind == OTHER for kind, _ in accesses):
            return None
        written = 0
        for instruction in instructions:
            written |= masks(instruction, self._fr)[1]
        loads = {access for kind, access in accesses if kind == LOAD and access is not None}
        stores = {access for kind, access in accesses if kind == STORE and access is not None}
        variables = [
            one
            for one in sorted(loads & stores, key=place)
            if one.base and not written >> one.base & 1 and self._may_be_promoted(one, stores, bool(edges))
        ]
        variables = self._changed_by_iterations(body, variables)
        variables = [one for one in variables if self._accessed_before(head, body, one)][:_MAX_VARIABLES]
        if not variables:
            return None
        named = [Variable(*place(one), name=f"{head:08x}.{index}") for index, one in enumerate(variables)]
        return PromotedLoop(head, body, self._first_load(blocks, variables[0]), named)

    def _first_load(self, blocks: list[Block], variable: Variable) -> int:
        for block in blocks:
            for pc, instruction in zip(block.pcs(), block.body):
                if access_of(instruction) == (LOAD, variable):
                    return pc
        return blocks[0].start

    def _changed_by_iterations(self, body: frozenset[int], variables: list[Variable]) -> list[Variable]:
        """Return the variables to which the loop stores what depends on their own earlier values."""
        return [one for one in variables if self._depends_on_itself(body, variables, one)]

    def _depends_on_itself(self, body: frozenset[int], variables: list[Variable], variable: Variable) -> bool:
        """Return whether the loop stores to a variable what depends on a value loaded from it."""
        stored = False

        def through(pc: int, known: int) -> int:
            nonlocal stored
            for instruction in self._blocks[pc].instructions():
                known, stores = self._follow(instruction, known, variables, variable)
                stored = stored or stores
            return known

        inside = {pc: [target for target in self._successors[pc] if target in body] for pc in body}
        solve(Edges(list(body), inside), Direction.FORWARD, Meet.ANY, through, {})
        return stored

    def _follow(
        self, instruction: Instruction, known: int, variables: list[Variable], variable: Variable
    ) -> tuple[int, bool]:
        """Return the registers and variables that depend on `variable` after an instruction.

        Also return whether the instruction stores to `variable` what depends on it.
        """
        read, written = masks(instruction, self._fr)
        kind, access = access_of(instruction)
        depends = bool(known & read)
        if access is not None and access in variables:
            bit = 1 << _VARIABLE_BIT + variables.index(access)
            if kind == STORE:
                read &= ~(1 << instruction.rs)
                depends = bool(known & read)
                return (known | bit if depends else known & ~bit), depends and access == variable
            depends = access == variable or bool(known & bit)
        written &= ~(1 << LAST_BIT)
        return (known | written if depends else known & ~written), False

    def _accessed_before(self, head: int, body: frozenset[int], variable: Variable) -> bool:
        """Return whether all ways to a loop have accessed a variable since its base was set."""
        work = [pc for pc in self._predecessors[head] if pc not in body]
        seen: set[int] = set()
        while work:
            pc = work.pop()
            if pc in seen:
                continue
            seen.add(pc)
            block = self._blocks[pc]
            found = self._accesses(block, variable)
            if found is None:
                if pc in self._entries or not self._predecessors[pc]:
                    return False
                work += self._predecessors[pc]
            if found is False or len(seen) > _MAX_WALK:
                return False
        return bool(seen)

    def _accesses(self, block: Block, variable: Variable) -> bool | None:
        """Return whether a block has accessed a variable at its end, or None if it does not change that."""
        if block.end not in _ENDS:
            return False
        for instruction in reversed(block.instructions()):
            if masks(instruction, self._fr)[1] >> variable.base & 1 or kind_of(instruction.row)[0] == OTHER:
                return False
            access = access_of(instruction)[1]
            if access is not None and access.covers(variable):
                return True
        return None

    def _may_be_promoted(self, variable: Variable, stores: set[Variable], has_safepoint: bool) -> bool:
        """Return whether the stores of a loop leave a variable alone, or can be compared with it."""
        on_stack = self._is_stack(variable.base)
        for store in stores:
            if store.base == variable.base:
                near = on_stack or abs(store.displacement - variable.displacement) < PAGE_BYTES // 2
                if store != variable and (variable.overlaps(store) or not near):
                    return False
        return on_stack or not (has_safepoint or any(store.base != variable.base for store in stores))

    def _is_stack(self, register: int) -> bool:
        """Return whether a register points to the stack: sp, or fp where it is set to sp."""
        return register == SP or (register == FP and self._has_frame_pointer())

    def _has_frame_pointer(self) -> bool:
        instructions = (instruction for block in self._blocks.values() for instruction in block.body)
        return any(masks(one, 0)[1] == 1 << FP and copied_register(one) == SP for one in instructions)


def run(plan: FunctionPlan) -> None:
    """Give the loops their variables, and the accesses of these."""
    if plan.memory_resident:
        return
    loops = promoted_loops(plan.graph, plan.safepoints, plan.options, plan.changing)
    exposed = {pc for pc, block in plan.blocks.items() if any(op.exposed for op in block.ops)}
    loops = [loop for loop in loops if loop.body.isdisjoint(exposed)]
    plan.promoted = {loop.head: loop for loop in loops if loop.head not in plan.vectorized}
    for loop in plan.promoted.values():
        for pc in loop.body:
            for op in plan.blocks[pc].ops:
                op.promoted = variable_of(loop, op.instruction)
