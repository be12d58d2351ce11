"""Resolves indirect jumps and calls of one function: constant call targets, jump tables, computed gotos.

All results are guesses that the generated code checks: a guessed call compares the register with the guess, a jump
table compares the address its entry was loaded from with addresses in read-only memory, a label compares the target.
"""

from __future__ import annotations

from bisect import bisect_left

from ..memory import AddressSpace
from .model import Block, End, Function, JumpTable
from .symbolic import SymbolicMachine, Value, run

MAX_TABLE_ENTRIES = 4096


class CodeAddresses:
    """Aligned words of read-only data that may be code addresses, as they stand or relative to gp; found once."""

    def __init__(self, memory: AddressSpace, gp: int | None) -> None:
        ranges = memory.image.executable_ranges
        low = min((start for start, _ in ranges), default=0)
        high = max((end for _, end in ranges), default=0)
        absolute = {word for _, word in memory.aligned_words_in_data(low, high) if word & 3 == 0}
        relative: set[int] = set()
        for start, end in ((low, high),) if gp is not None else ():
            for first, last in _unsigned_ranges(start - gp, end - gp):
                relative.update(word + gp & 0xFFFFFFFF for _, word in memory.aligned_words_in_data(first, last))
        self.absolute = sorted(absolute)
        self._relative = sorted(pc for pc in relative if pc & 3 == 0)

    def inside(self, start: int, limit: int) -> list[int]:
        """Return all candidates in [start, limit)."""
        found: set[int] = set()
        for addresses in (self.absolute, self._relative):
            found.update(addresses[bisect_left(addresses, start) : bisect_left(addresses, limit)])
        return sorted(found)


def _unsigned_ranges(low: int, high: int) -> list[tuple[int, int]]:
    """Return [low, high) modulo 2^32 as ranges that do not wrap."""
    if low < 0 <= high:
        return [(low & 0xFFFFFFFF, 1 << 32), (0, high)]
    return [(low & 0xFFFFFFFF, (high - 1 & 0xFFFFFFFF) + 1)]


class JumpResolver:
    """Finds targets for the indirect calls and jumps of one function after another."""

    def __init__(self, memory: AddressSpace, gp: int | None, addresses: CodeAddresses) -> None:
        self._memory = memory
        self._gp = gp
        self._addresses = addresses
        self._branches_of: Function | None = None
        self._branches: dict[int | None, list[Block]] = {}

    def prologue(self, function: Function) -> dict[int, int]:
        """Return the registers that hold constants after the entry block, and note the function's gp."""
        machine = SymbolicMachine({25: function.start}, self._memory.relocated_word)
        run(machine, list(function.blocks[function.start].body))
        gp = machine.gpr(28)
        function.gp = gp if isinstance(gp, int) else self._gp
        known = {} if function.gp is None else {28: function.gp}
        for register in (*range(16, 24), 30):
            value = machine.gpr(register)
            if isinstance(value, int):
                known[register] = value
        return known

    def _machine(self, function: Function, block: Block, known: dict[int, int]) -> SymbolicMachine:
        initial = dict(known)
        if block.start == function.start:
            initial = {25: function.start}
            if self._gp is not None:
                initial[28] = self._gp
        machine = SymbolicMachine(initial, self._memory.relocated_word)
        machine.saved_gp = function.gp
        return machine

    def resolve(self, function: Function, block: Block, known: dict[int, int]) -> list[int]:
        """Resolve the indirect terminator of `block`; return labels newly found inside the function."""
        machine = self._machine(function, block, known)
        run(machine, list(block.body))
        assert block.terminator is not None
        target = machine.gpr(block.terminator.rs)
        pc = block.terminator_pc
        if isinstance(target, int):
            if self._memory.is_executable(target) and target & 3 == 0:
                function.guesses[pc] = target
            return []
        if block.end is not End.INDIRECT:
            return []
        table = self._table(function, block, machine, target)
        if table is None:
            return self._labels(function, pc)
        function.jump_tables[pc] = table
        return [case for _, case in table.cases]

    def _table(self, function: Function, block: Block, machine: SymbolicMachine, target: Value) -> JumpTable | None:
        """Match `load(x + table)` and `load(x + table) + gp` (GCC's and LLVM's idioms, PIC and not)."""
        offset = 0
        if target[0] == "add":
            target, offset = target[1], target[2]
        if target[0] != "load" or target[1][0] != "add":
            return None
        base = target[1][2]
        count = self._bound(function, block) or MAX_TABLE_ENTRIES
        cases = []
        for address in range(base, base + 4 * count, 4):
            word = self._memory.relocated_word(address)
            if word is None or self._memory.is_writable(address):
                break
            label = (word + offset) & 0xFFFFFFFF
            if label & 3 or not function.start <= label < function.limit:
                break
            cases.append((address, label))
        return JumpTable(block.start + 4 * machine.loads[target[1]], tuple(cases)) if cases else None

    def _predecessors(self, function: Function, block: Block) -> list[Block]:
        """Return the blocks that branch to `block`."""
        if self._branches_of is not function:
            self._branches_of, self._branches = function, {}
            for other in function.blocks.values():
                if other.end is End.BRANCH:
                    for pc in (other.target, other.next_pc):
                        self._branches.setdefault(pc, []).append(other)
        return self._branches.get(block.start, [])

    def _bound(self, function: Function, block: Block) -> int | None:
        """Return n when a block that leads to `block` branches on a comparison x < n (unsigned)."""
        for other in self._predecessors(function, block):
            machine = SymbolicMachine({}, self._memory.relocated_word)
            run(machine, [*other.body])
            assert other.terminator is not None and other.terminator.row.condition is not None
            value = other.terminator.row.condition(machine, other.terminator)
            if isinstance(value, tuple) and value[0] in ("eq", "ne"):
                for side in value[1:]:
                    if isinstance(side, tuple) and side[0] == "ult" and isinstance(side[2], int):
                        return min(side[2], MAX_TABLE_ENTRIES)
        return None

    def _labels(self, function: Function, pc: int) -> list[int]:
        """Fall back on all code addresses in read-only data that point into the function (computed goto)."""
        labels = self._addresses.inside(function.start + 4, function.limit)
        if labels and len(labels) <= MAX_TABLE_ENTRIES:
            function.jump_tables[pc] = JumpTable(None, tuple((label, label) for label in labels))
        else:
            function.unresolved.add(pc)
        return labels
