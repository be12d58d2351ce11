"""Three contracts of a plan, about every way through it.

1. The state has every register that other code may look for there, wherever it may look.
2. Every register that is read, stored or passed has been loaded, or written and saved, on all ways to there. So has
   one that is read in the state, if it is there between blocks. A block saves what it leaves in another form than it
   finds it in, for edges that leave the function as well.
3. Blocks perform their instructions once each, in order. Edges lead where the function goes, have the safepoints that
   were found, and leave it where the target is none of it.

Enters: a plan. Leaves: what breaks a contract, one line for each finding. What the state lacks, and what is in SSA, is
computed here from the effects of instructions and from what the nodes say is stored and loaded. facts/context.py and
facts/dirty.py, which made the nodes, are not asked.

Other code looks: at calls, returns, system calls and exceptions, where control leaves for another function or for the
interpreter, at safepoints, and, for a landing pad, at what may throw. What the convention hands over in host registers
may be missing (convention.py).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

from ..analysis import End
from ..flow.solve import Direction, Meet, solve
from ..isa.effects import ALL_BITS, effects, may_leave
from .convention import CARRIED_BITS, RESULT_BITS, SAVED_BITS, SP_BIT, lowers_sp
from .ir import BlockPlan, FunctionPlan, Op
from .nodes import Branch, Call, Edge, Goto, Interpret, Jump, Return, Stop, Syscall
from .text import registers_text


def state_findings(plan: FunctionPlan) -> list[str]:
    """Return where a plan breaks one of the contracts."""
    check = StateCheck(plan)
    found = []
    for pc, block in plan.blocks.items():
        if block.end is None:
            found.append(f"block {pc:08x}: no node says how it ends")
            continue
        targets = {edge.target for edge, _ in _ways(plan, block) if not edge.leaves}
        if targets != set(plan.graph.successors[pc]):
            found.append(f"block {pc:08x}: contract 3: its edges are not those of the function")
        found += [f"block {pc:08x}: {text}" for text in check.block(block, check.lacking[pc], check.defined[pc])]
    for hub in plan.hubs.values():
        lacking, pc = 0, hub.sources[0]
        for source in hub.sources:
            lacking |= check.lacking_at_end(plan.blocks[source], check.lacking[source]) & plan.in_ssa
        for edge in hub.edges.values():
            found += [f"block {pc:08x}: {text}" for text in check.edge(edge, lacking, ALL_BITS)]
        found += [f"block {pc:08x}: {text}" for text in check.elsewhere(lacking, hub.stores)]
    return found


class _From(enum.Enum):
    """After what an edge begins."""

    END = "the instructions of a block"
    CALL = "a call"
    SYSCALL = "a system call"


def _ways(plan: FunctionPlan, block: BlockPlan) -> Iterator[tuple[Edge, _From]]:
    """Yield the edges from a block."""
    end = block.end
    if isinstance(end, Goto):
        yield end.edge, _From.END
    elif isinstance(end, Branch):
        yield end.taken, _From.END
        yield end.other, _From.END
    elif isinstance(end, Jump):
        for edge in (end.hub or end).edges.values():
            yield edge, _From.END
    elif isinstance(end, Syscall):
        yield end.after, _From.SYSCALL
    elif isinstance(end, Call):
        yield end.after, _From.CALL


def _is_conditional(block: BlockPlan) -> bool:
    return isinstance(block.end, Call) and block.end.conditional


def _missing(bits: int, stored: int, allowed: int, where: str) -> Iterator[str]:
    if missing := bits & ~(stored | allowed):
        yield f"contract 1: the state lacks {registers_text(missing)} {where}"


class StateCheck:
    """What the state lacks, and what is in SSA, at the start of each block; and what is wrong with one block."""

    def __init__(self, plan: FunctionPlan) -> None:
        self._plan = plan
        self._given = plan.convention.given
        self._entered = plan.convention.entered(plan.graph.entries, plan.function.start)
        entries, forward = plan.graph.entries, Direction.FORWARD
        before = dict.fromkeys(entries, self._entered & plan.in_ssa)
        self.lacking: dict[int, int] = solve(plan.graph, forward, Meet.ANY, _same, before, self._lacking_on)
        before = dict.fromkeys(entries, plan.context.entry_loads)
        self.defined: dict[int, int] = solve(plan.graph, forward, Meet.ALL, _same, before, self._defined_on)

    # along the ways

    def _lacking_on(self, source: int, target: int, lacking: int) -> int:
        """Return what the state lacks at `target` for what it lacks at the start of `source`."""
        block, after = self._plan.blocks[source], 0
        at_end = self.lacking_at_end(block, lacking)
        for edge, begin in _ways(self._plan, block):
            if edge.target == target and edge.copy is None:
                after |= self._lacking_after(block, begin, at_end) & ~(edge.stores | edge.loads)
        return after

    def _defined_on(self, source: int, target: int, defined: int) -> int:
        """Return what is in SSA at `target` for what is at the start of `source`."""
        block, after = self._plan.blocks[source], ALL_BITS
        at_end = self._defined_at_end(block, defined)
        for edge, begin in _ways(self._plan, block):
            if edge.target == target and edge.copy is None:
                after &= self._defined_after(block, begin, at_end) | edge.loads
        return after

    def _lacking_after(self, block: BlockPlan, begin: _From, at_end: int) -> int:
        """Return what the state lacks where an edge begins."""
        end, in_state = block.end, self._plan.memory_resident
        if begin is _From.END:
            assert isinstance(end, (Goto, Branch, Jump))
            return at_end & ~(in_state & end.saves)
        if not isinstance(end, Call) or end.conditional:
            return 0
        convention = self._plan.convention
        known = end.all_stores | RESULT_BITS | convention.handed(end.to) | convention.needless(end.to)
        left = at_end & ~known & convention.ignored(end.to, block.block)
        return left | RESULT_BITS & convention.not_in_state & ~(in_state & end.returned)

    def _defined_after(self, block: BlockPlan, begin: _From, at_end: int) -> int:
        """Return what is in SSA where an edge begins."""
        end = block.end
        if begin is _From.END:
            assert isinstance(end, (Goto, Branch, Jump))
            return at_end & ~(self._unsaved(block) & ~end.saves)
        if isinstance(end, Syscall):
            return end.loads
        assert isinstance(end, Call)
        results = 0 if _is_conditional(block) else RESULT_BITS
        return end.loads | results

    # through a block

    def _linked(self, block: BlockPlan, op: Op) -> int:
        """Return the bit of the register that gets the return address right before an instruction: the slot."""
        return self._link(block) if op is block.slot else 0

    def _linked_last(self, block: BlockPlan) -> int:
        """Return that bit where there is no slot: jalrc has none."""
        return self._link(block) if block.slot is None else 0

    def _link(self, block: BlockPlan) -> int:
        terminator = block.block.terminator
        if terminator is None or block.block.end not in (End.CALL, End.JUMP):
            return 0
        return (1 << terminator.link_register()) & ~1

    def _steps(self, block: BlockPlan, lacking: int) -> Iterator[tuple[Op, int, int]]:
        """Yield the instructions, each with what the state lacks when it is performed, and after it."""
        second_halves = {word.second for word in block.unaligned.values()}
        for index, op in enumerate(block.ops):
            lacking |= self._linked(block, op)
            if index not in second_halves:
                lacking &= ~op.stores
            before = lacking
            lacking |= self._plan.units.masks(op.instruction)[1]
            lacking &= ~op.stores_after
            yield op, before, lacking

    def lacking_at_end(self, block: BlockPlan, lacking: int) -> int:
        """Return what the state lacks after the instructions of a block."""
        for _, _, after in self._steps(block, lacking):
            lacking = after
        return lacking | self._linked_last(block)

    def _written(self, block: BlockPlan) -> int:
        written = 0
        for op in block.ops:
            written |= self._linked(block, op) | self._plan.units.masks(op.instruction)[1]
        return written | self._linked_last(block)

    def _unsaved(self, block: BlockPlan) -> int:
        """Return the registers that a block changes, or leaves in another form than it finds them in, and does not save
        before its end: before an access that the host makes, emit/ saves all."""
        pc = block.block.start
        unsaved = self._plan.forms_into(pc) ^ self._plan.forms_out(pc)
        for op in block.ops:
            if self._is_by_host(op):
                unsaved = 0
            unsaved |= self._linked(block, op) | self._plan.units.masks(op.instruction)[1]
        return unsaved | self._linked_last(block)

    def _defined_at_end(self, block: BlockPlan, defined: int) -> int:
        return defined | self._written(block)

    # what is wrong

    def _undefined(self, bits: int, defined: int, what: str) -> Iterator[str]:
        if missing := bits & self._plan.in_ssa & ~defined:
            yield f"contract 2: {what} {registers_text(missing)}, which some way to it has not loaded"

    def block(self, block: BlockPlan, lacking: int, defined: int) -> Iterator[str]:
        """Yield what is wrong with a block, on the way into which the state lacks some registers and SSA has some."""
        performed = block.block.body_and_slot() if block.slot is not None else block.block.body
        if [op.instruction for op in block.ops] != performed:
            yield "contract 3: it does not perform its instructions once each, in their order"
        yield from self._instructions(block, lacking, defined)
        lacking, defined = self.lacking_at_end(block, lacking), self._defined_at_end(block, defined)
        if block.block.terminator is not None and block.slot is None:
            yield from self._undefined(self._plan.units.masks(block.block.terminator)[0], defined, "the end reads")
        yield from self._end(block, lacking, defined)
        for edge, begin in _ways(self._plan, block):
            after = self._lacking_after(block, begin, lacking)
            yield from self.edge(edge, after, self._defined_after(block, begin, defined))

    def _instructions(self, block: BlockPlan, lacking: int, defined: int) -> Iterator[str]:
        masks = self._plan.units.masks
        stale = lacking & self._plan.memory_resident
        for op, before, after in self._steps(block, lacking):
            reads, writes = masks(op.instruction)
            if reads & stale:
                what = f"{op.pc:08x} reads {registers_text(reads & stale)}"
                yield f"contract 2: {what}, which some way to it has not saved"
            stale &= ~writes
            if op is block.slot and block.block.terminator is not None:
                yield from self._undefined(masks(block.block.terminator)[0], defined, "the end reads")
            defined |= self._linked(block, op)
            yield from self._undefined(reads, defined, f"{op.pc:08x} reads")
            yield from self._undefined(op.stores | op.on_exit, defined, f"{op.pc:08x} may store")
            if may_leave(op.instruction):
                yield from _missing(before, op.on_exit, 0, f"if {op.pc:08x} leaves")
            if op.exposed:
                yield from _missing(before & SAVED_BITS, 0, 0, f"for the landing pad of {op.pc:08x}")
            if self._is_by_host(op) and not any(op is block.ops[word.second] for word in block.unaligned.values()):
                yield from _missing(before & CARRIED_BITS, 0, 0, f"where the host performs {op.pc:08x}")
            if lowers_sp(op.instruction):
                yield from _missing(after & writes & SP_BIT, 0, 0, f"after {op.pc:08x}, which may lower it")
            defined |= writes

    def _is_by_host(self, op: Op) -> bool:
        """Return whether the host makes the access of an instruction."""
        does = effects(op.instruction.row)
        return (does.loads or does.stores) and self._plan.options.memory != "flat"

    def _end(self, block: BlockPlan, lacking: int, defined: int) -> Iterator[str]:
        end = block.end
        if isinstance(end, (Stop, Interpret, Syscall)):
            yield from _missing(lacking, end.stores, 0, "where the host looks")
            yield from self._undefined(end.stores, defined, "the end stores")
        elif isinstance(end, Return):
            yield from self._undefined(end.stores, defined, "the return stores")
            kept = RESULT_BITS if self._plan.options.calls != "instrumented" else 0
            yield from _missing(lacking, end.stores, kept, "at a return")
        elif isinstance(end, Jump):
            yield from self._undefined(end.stores, defined, "the jump stores")
            yield from self.elsewhere(lacking, end.stores)
        elif isinstance(end, Call):
            yield from self._call(block, end, lacking, defined)

    def elsewhere(self, lacking: int, stores: int) -> Iterator[str]:
        """Yield what is wrong with a jump out of the function."""
        return _missing(lacking, stores, self._given, "where a jump leaves")

    def _call(self, block: BlockPlan, end: Call, lacking: int, defined: int) -> Iterator[str]:
        yield from self._undefined(end.all_stores | end.missed, defined, "the call stores")
        convention, given = self._plan.convention, self._given
        needless = convention.ignored(end.to, block.block) | convention.handed(end.to)
        if _is_conditional(block):
            needless = given = 0
        if self._plan.sites[block.block.start].exposed:
            yield from _missing(lacking & SAVED_BITS, end.exposes or 0, given, "for the landing pad of a call")
            if end.to.is_copied:
                yield "contract 1: a call that a landing pad guards is replaced by its callee"
        yield from _missing(lacking, end.all_stores, given | needless, "at a call")
        if end.to.guess is not None:
            yield from _missing(lacking & needless, end.all_stores | end.missed, given, "where a guess is wrong")

    def edge(self, edge: Edge, lacking: int, defined: int) -> Iterator[str]:
        """Yield what is wrong with an edge, before which the state lacks some registers and SSA has some."""
        where = f"on the edge to {edge.target:08x}"
        yield from self._shape(edge)
        if edge.copy is not None:
            yield from self.block(edge.copy, lacking, defined)
            return
        yield from self._undefined(edge.stores | edge.polls, defined, f"the edge to {edge.target:08x} stores")
        needless = self._plan.convention.needless(edge.leaves) if edge.leaves else 0
        passed = sum(1 << number for number in edge.leaves.arguments) if edge.leaves else 0
        yield from self._undefined(passed & ~needless, defined, f"the edge to {edge.target:08x} passes")
        if edge.has_safepoint:
            needed = self._plan.safepoints.needed.at(edge.target) & ~needless
            yield from _missing(lacking & needed, edge.stores | edge.polls, 0, f"at the safepoint {where}")
        if edge.leaves:
            handed = self._plan.convention.handed(edge.leaves)
            yield from _missing(lacking, edge.stores, handed | needless, f"{where}, which leaves")

    def _shape(self, edge: Edge) -> Iterator[str]:
        plan, way = self._plan, f"the edge from {edge.source:08x} to {edge.target:08x}"
        if bool(edge.leaves) != (edge.target not in plan.blocks):
            yield f"contract 3: {way} {'leaves' if edge.leaves else 'does not leave'} the function"
        if edge.has_safepoint != plan.safepoints.on_edge(edge.source, edge.target):
            yield f"contract 3: {way} has {'a' if edge.has_safepoint else 'no'} safepoint"


def _same(pc: int, bits: int) -> int:
    """Leave all that a block does to its edges, which know what stands before them."""
    return bits
