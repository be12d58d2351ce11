"""Which guest registers a function keeps in SSA, as what type, and where it loads and flushes them.

A unit is one value: a general-purpose register, HI:LO, a condition code, or as much of the floating-point file as the
function uses together. With FR=0 a pair that only doubles touch is one `double`, a pair that only singles touch two
`float`s, and one that both touch a vector of two. Units are promoted to SSA from allocas; `RegisterPlan` says which
must be loaded at entry and after each call, and which are dirty (differ from the state in memory) at each flush, so
that the state is complete whenever other code may look.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..analysis import Block, End, Function
from ..isa import Instruction
from ..isa.uses import FCC_BIT, FPR_BIT, HILO_BIT, LAST_BIT, changes_sign, masks, uses
from ..state import OFFSETS, SLOT_BYTES
from .calls import RESULT_BITS, argument_registers
from .loops import cycles, loops_with, predecessors_of

PAIR = "<2 x float>"
"""A double and its words: what sets or reads one of them stays among the floating-point registers of the host."""


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """`name` names the alloca `%name` and the state pointer `%s.name`; `bits` are register bits (isa/uses.py)."""

    name: str
    type: str  # i32, i64, float, double, i1, or PAIR
    offset: int  # in the state
    bits: int


_GPR_UNITS = tuple(Unit(f"r{n}", "i32", OFFSETS["gpr"] + SLOT_BYTES * n, 1 << n) for n in range(32))
_HILO_UNIT = Unit("hilo", "i64", OFFSETS["hilo"], 1 << HILO_BIT)
_FCC_UNITS = tuple(Unit(f"c{n}", "i1", OFFSETS["fcc"] + SLOT_BYTES * n, 1 << FCC_BIT + n) for n in range(8))


def _fpr_offset(number: int) -> int:
    return OFFSETS["fpr"] + SLOT_BYTES * number


class Units:
    """The units of one function under Status.FR = `fr`; `abs2008`: abs and neg compute nothing (FCSR.ABS2008)."""

    def __init__(self, function: Function, fr: int, abs2008: bool = False) -> None:
        self.fr = fr
        self.abs2008 = abs2008
        self._joined: list[int] = []  # bits of the units that hold more than one register or part of one
        self._mixed = 0
        used = argument_registers(function)
        singles = doubles = 0
        for block in function.blocks.values():
            for instruction in block.instructions():
                read, written = masks(instruction, fr)
                used |= read | written
                if (read | written) >> FPR_BIT:
                    single, double = float_bits(instruction, fr)
                    singles |= single
                    doubles |= double
        self.all: list[Unit] = [unit for unit in _GPR_UNITS[1:] if used & unit.bits]
        if used & _HILO_UNIT.bits:
            self.all.append(_HILO_UNIT)
        self.all += [unit for unit in _FCC_UNITS if used & unit.bits]
        self.gpr = _GPR_UNITS
        self.hilo = _HILO_UNIT
        self.fcc = _FCC_UNITS
        self.fpr: dict[int, Unit] = {}
        self.halves: dict[Unit, tuple[Unit, Unit]] = {}
        """Of pairs: the floats that they are where they are not whole (pairs.py)."""
        self._plan_floats(singles, doubles)
        self.last = self._last_units(function) if used >> LAST_BIT & 1 else ()
        self.all += self.last
        self.bits = 0
        for unit in self.all:
            self.bits |= unit.bits

    def _last_units(self, function: Function) -> tuple[Unit, ...]:
        """Return the units of the last instruction that computed and of its operands' bits, as floats or doubles."""
        types, operand_count = set(), 0
        for block in function.blocks.values():
            for instruction in block.instructions():
                if masks(instruction, self.fr)[1] >> LAST_BIT & 1:
                    reads = [use for use in uses(instruction.row)[0] if use.kind in ("single", "double")]
                    operand_count = max(operand_count, len(reads))
                    if reads:
                        types.add(instruction.row.name[-1])
        type_ = "float" if types == {"s"} else "double"
        bit, offset = 1 << LAST_BIT, OFFSETS["fp_operands"]
        operands = (Unit(f"last{n}", type_, offset + SLOT_BYTES * n, bit) for n in range(operand_count))
        return (Unit("last", "i32", OFFSETS["fp_word"], bit), *operands)

    def _plan_floats(self, singles: int, doubles: int) -> None:
        step = 1 if self.fr else 2
        for number in range(0, 32, step):
            bits = (1 if self.fr else 3) << FPR_BIT + number
            if doubles & bits:
                mixed = bool(singles & bits)
                unit = Unit(f"f{number}", PAIR if mixed else "double", _fpr_offset(number), bits)
                self._joined.append(bits)
                if mixed:
                    self._mixed |= bits
                    low, high = (Unit(f"f{number}.{n}", "float", unit.offset + 4 * n, bits) for n in (0, 1))
                    self.halves[unit] = low, high
                self._add(unit, range(number, number + step))
                continue
            for n in range(number, number + step):
                bit = 1 << FPR_BIT + n
                if singles & bit:
                    offset = _fpr_offset(n) if self.fr else _fpr_offset(n & ~1) + 4 * (n & 1)
                    self._add(Unit(f"f{n}", "float", offset, bit), range(n, n + 1))

    def _add(self, unit: Unit, numbers: range) -> None:
        self.all.append(unit)
        for number in numbers:
            self.fpr[number] = unit

    def masks(self, instruction: Instruction) -> tuple[int, int]:
        """Return (read, written) bits in whole units; writing part of a unit reads it too."""
        read, written = masks(instruction, self.fr)
        if self.abs2008 and changes_sign(instruction.row):
            written &= ~(1 << LAST_BIT)
        if (read | written) >> FPR_BIT and self._joined:
            for bits in self._joined:
                if written & bits:
                    if written & bits != bits or (bits & self._mixed and self.fr):
                        read |= bits
                    written |= bits
                if read & bits:
                    read |= bits
        return read, written


def float_bits(instruction: Instruction, fr: int) -> tuple[int, int]:
    """Return the floating-point bits used as singles and those used as doubles."""
    single = double = 0
    reads, writes = uses(instruction.row)
    for use in (*reads, *writes):
        if use.kind in ("single", "double", "high"):
            number = use.field if isinstance(use.field, int) else getattr(instruction, use.field)
            if use.kind == "single":
                single |= 1 << FPR_BIT + number
            elif use.kind == "double" and fr == 0:
                double |= 3 << FPR_BIT + (number & ~1)
            elif use.kind == "double":
                double |= 1 << FPR_BIT + number
            elif fr == 0:  # mthc1 and mfhc1 see the odd word
                single |= 2 << FPR_BIT + (number & ~1)
                double |= 3 << FPR_BIT + (number & ~1)
            else:
                single |= 1 << FPR_BIT + number
                double |= 1 << FPR_BIT + number
    return single, double


KEPT = 1 << 29
"""Registers a caller keeps across a call: sp. That the callee has put it back is checked together with the pc it
returns to, so that what follows depends on a prediction and not on a load of what the callee stored."""


def lowers_sp(instruction: Instruction) -> bool:
    """Return whether an instruction that writes sp may lower it. What it writes is stored at once.

    So the state's sp is never above the guest's: the frame of a signal handler that a fault calls, which begins there,
    leaves alone what lies on the stack. LLVM does not know of that frame, so the store is volatile.
    """
    return not (instruction.row.name == "addiu" and instruction.rs == instruction.rt == 29 and instruction.imm > 0)


_SYNCING = (End.CALL, End.SYSCALL)

LARGE_FUNCTION_BLOCKS = 300
"""From here on a function has more values than the host has registers, and each that waits for the next call to store
it would be spilled and moved on the way there."""


class RegisterPlan:
    """Data flow over the blocks of one function: dirty units forwards, live units backwards.

    `entries` are the blocks that control enters from outside. A function that only part of the blocks can reach is
    planned with those alone. `passed` gives the bits that the end of a block reads: arguments and results. `entered`
    are the bits that are dirty at the entries, `unsettled` those that are after a call. `passes_by` says whether
    control may go on after a call that has not been made. With `in_state` nothing is dirty or live between blocks.
    """

    def __init__(
        self,
        function: Function,
        units: Units,
        entries: list[int],
        passed: Callable[[Block], int],
        entered: int,
        unsettled: Callable[[Block], int],
        passes_by: Callable[[Block], bool],
        in_state: bool = False,
    ) -> None:
        self._function = function
        self._in_state = in_state
        self._entries = frozenset(entries)
        self.order = _reachable(function, entries)
        self.in_loops: frozenset[int] = frozenset()
        if in_state:
            self.dirty_in = self.live_in = self.live_out = dict.fromkeys(self.order, 0)
            self.entry_loads = 0
            return
        self._successors = {pc: function.successors(function.blocks[pc]) for pc in self.order}
        self._summarize(units)
        after = {pc: unsettled(function.blocks[pc]) for pc in self.order if function.blocks[pc].end is End.CALL}
        self._passed_by = frozenset(pc for pc in after if passes_by(function.blocks[pc]))
        before = dict.fromkeys(self.order, 0) | dict.fromkeys(entries, entered)
        self._kept_in: dict[int, int] = {}
        self._returned_in = self._forwards(dict.fromkeys(self.order, 0), dict.fromkeys(after, RESULT_BITS), {})
        self._add_ends(units, passed)
        self._find_live()
        loops = loops_with(function, self.order, tuple(End))
        calling = {head: body for head, body in loops.items() if any(self._syncs(pc) for pc in body)}
        self.in_loops = frozenset().union(*calling.values())
        """The blocks of loops that call."""
        self._drop_dead(body for head, body in loops.items() if head not in calling)
        self.dirty_in = self._forwards(before, after, calling)
        self._settle_meets(after)
        self.entry_loads = 0
        for pc in entries:
            self.entry_loads |= self.live_in[pc] | self.dirty_in[pc]

    def edge_loads(self, dirty: int, successor: int) -> int:
        """Return the bits to load from the state on an edge into `successor`, `dirty` being what is dirty there.

        A unit that is dirty on one way into a block of a loop and clean on another counts as dirty in it; where nothing
        reads it, the clean way loads it so that there is something to flush.
        """
        return self.dirty_in[successor] & ~dirty & ~self.live_in[successor]

    def _summarize(self, units: Units) -> None:
        self._use: dict[int, int] = {}
        self._written: dict[int, int] = {}
        self._overwritten: dict[int, int] = {}  # as _written, less what may be annulled
        self._flushed: dict[int, int] = {}  # before any of _written
        for pc in self.order:
            use = written = raised = flushed = 0
            block = self._function.blocks[pc]
            likely = block.is_likely
            annulled = block.delay_slot if likely else None
            for instruction in block.instructions():
                reads, writes = units.masks(instruction)
                use |= reads & ~written
                self._overwritten[pc] = written if instruction is annulled else written | writes
                written |= writes
                if writes & KEPT and lowers_sp(instruction) and instruction is not annulled:
                    flushed, raised = KEPT, 0
                elif writes & KEPT:
                    raised = KEPT
            self._use[pc], self._written[pc] = use, written & ~KEPT | raised
            self._flushed[pc] = flushed
            self._overwritten.setdefault(pc, 0)

    def edge_flushes(self, dirty: int, successor: int) -> int:
        """Return the bits to flush on an edge into `successor`, `dirty` being what is dirty there.

        A loop with calls has them flushed on the way in: what it does not write itself would be flushed again in each
        round, since it is dirty in the first.
        Outside loops they are flushed where a way that is clean joins: one store, instead of a load there and a store
        later.
        """
        return dirty & ~self.dirty_in[successor]

    def _forwards(
        self, before: dict[int, int], after_call: dict[int, int], loops: dict[int, frozenset[int]]
    ) -> dict[int, int]:
        """Return the bits that some way to each block has written since it was last in step with the state.

        `before`: what is out of step at the entries. Ways into one of the `loops`, given by head and body, do not
        count.
        """
        found = dict(before)
        work = list(self.order)
        while work:
            pc = work.pop()
            bits = after_call.get(pc, 0)
            if not self._syncs(pc) or pc in self._passed_by:
                bits |= found[pc] & ~self._flushed[pc] | self._written[pc]
            for successor in self._successors[pc]:
                new = bits & self._kept_in.get(successor, -1) & ~found[successor]
                if new and pc in loops.get(successor, (pc,)):
                    found[successor] |= new
                    work.append(successor)
        return found

    def _drop_dead(self, tight: Iterable[frozenset[int]]) -> None:
        """In large functions, have units flushed on the way into blocks from which on nothing reads them.

        But not inside the loops without calls: they would store in each round what only the last round leaves.
        """
        if len(self.order) < LARGE_FUNCTION_BLOCKS:
            return
        inside = self._entries.union(*tight)
        self._kept_in = {pc: self.live_in[pc] | KEPT for pc in self.order if pc not in inside}

    def _syncs(self, pc: int) -> bool:
        return self._function.blocks[pc].end in _SYNCING

    def _settle_meets(self, after_call: dict[int, int]) -> None:
        """Outside loops, have units flushed on ways that meet clean ones, unless they are read from there on."""
        predecessors = predecessors_of(self._successors)
        cyclic = {pc for cycle in cycles(self.order, self._successors) for pc in cycle}
        work = deque(pc for pc in self.order if pc not in cyclic)
        queued = set(work)
        out = {pc: self._dirty_out(pc, after_call) for pc in self.order}
        while work:
            pc = work.popleft()
            queued.discard(pc)
            before = predecessors[pc]
            if not before or pc in self._entries:
                continue
            some, every = 0, -1
            for source in before:
                some |= out[source]
                every &= out[source]
            found = self.dirty_in[pc] & (every | some & self.live_in[pc])
            if found != self.dirty_in[pc]:
                self.dirty_in[pc] = found
                out[pc] = self._dirty_out(pc, after_call)
                for successor in self._successors[pc]:
                    if successor not in cyclic and successor not in queued:
                        queued.add(successor)
                        work.append(successor)

    def _dirty_out(self, pc: int, after_call: dict[int, int]) -> int:
        bits = after_call.get(pc, 0)
        if not self._syncs(pc) or pc in self._passed_by:
            bits |= self.dirty_in[pc] & ~self._flushed[pc] | self._written[pc]
        return bits

    def results_at_hand(self, pc: int) -> int:
        """Return which RESULT_BITS a return block gives back from SSA: those not written are loaded from the state."""
        return 0 if self._in_state else (self._returned_in[pc] | self._written[pc]) & RESULT_BITS

    def _add_ends(self, units: Units, passed: Callable[[Block], int]) -> None:
        for pc in self.order:
            block = self._function.blocks[pc]
            bits = self.results_at_hand(pc) if block.end is End.RETURN else passed(block) & units.bits
            self._use[pc] |= bits & ~self._overwritten[pc]

    def _find_live(self) -> None:
        predecessors = predecessors_of(self._successors)
        self.live_in = dict.fromkeys(self.order, 0)
        self.live_out = dict.fromkeys(self.order, 0)
        done = dict.fromkeys(self.order, False)
        work = list(self.order)
        while work:
            pc = work.pop()
            out = 0
            for successor in self._successors[pc]:
                out |= self.live_in[successor]
            self.live_out[pc] = out
            block = self._function.blocks[pc]
            needed = out
            if block.end in _SYNCING and pc not in self._passed_by:
                needed &= KEPT if block.end is End.CALL else 0
            live = self._use[pc] | (needed & ~self._overwritten[pc])
            if live != self.live_in[pc] or not done[pc]:
                done[pc] = True
                self.live_in[pc] = live
                work.extend(predecessors[pc])


def _reachable(function: Function, entries: list[int]) -> list[int]:
    """Return the blocks reachable from `entries`, by address."""
    seen = set(entries)
    work = list(entries)
    while work:
        for successor in function.successors(function.blocks[work.pop()]):
            if successor not in seen:
                seen.add(successor)
                work.append(successor)
    return sorted(seen)
