"""Resolves indirect jumps and calls of one function: constant call targets, jump tables, computed gotos.

All results are guesses that the generated code checks: a guessed call compares the register with the guess, a jump
table compares the address its entry was loaded from, and the entry too if it is in writable memory (computed gotos of
position-independent code have theirs there), or else what is added to it (gp mostly), a label compares the target.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..architecture import HALF_BYTES, INSTRUCTION_BYTES, is_mips16, may_be_code
from ..isa import Instruction
from ..isa.effects import ACCESS_BYTES, masks
from ..memory import AddressSpace
from ..state import CALLEE_SAVED, GP, RA, SP, T9
from .blocks import is_tail_call
from .code_addresses import CodeAddresses
from .model import Block, End, Function, JumpTable
from .sources import Place, place_of, run_slot, symbolic_pcs, values_in
from .symbolic import SymbolicMachine, Value, run

WORD_BYTES = ACCESS_BYTES["word"]
MAX_TABLE_ENTRIES = 4096
MAX_FUNCTION_CASES = 1 << 16
"""Of all its jump tables together; jumps by the same table count once, as interpreters have one for each operation.

Jumps beyond are left to run time: tables that overlap so are not a compiler's.
"""
MAX_FUNCTION_EDGES = 1 << 17
"""Of all its jumps by tables together."""
MAX_PATH_BLOCKS = 4


_Cases = tuple[tuple[int, int], ...]
"""Of JumpTable."""


class _Room:
    """Counts what the jump tables of one function have, up to the limits of a function."""

    def __init__(self, function: Function | None = None) -> None:
        self.function = function
        self.is_full = False
        """Whether a table did not fit: then no further one is looked at."""
        self._jumps: set[int] = set()
        self._tables: set[_Cases] = set()
        self._cases = self._edges = 0
        for pc, table in function.jump_tables.items() if function is not None else ():
            self.take(pc, table)

    def take(self, pc: int, table: JumpTable) -> bool:
        """Count the jump at a pc, unless its table does not fit; a jump that is looked at again counts once."""
        cases = self._cases + (0 if table.cases in self._tables else len(table.cases))
        edges = self._edges + (0 if pc in self._jumps else len(table.cases))
        if cases > MAX_FUNCTION_CASES or edges > MAX_FUNCTION_EDGES:
            self.is_full = True
            return False
        self._cases, self._edges = cases, edges
        self._jumps.add(pc)
        self._tables.add(table.cases)
        return True


class JumpResolver:
    """Finds targets for the indirect calls and jumps of one function after another."""

    def __init__(self, memory: AddressSpace, gp: int | None, addresses: CodeAddresses) -> None:
        self._memory = memory
        self._gp = gp
        self._addresses = addresses
        self._edges_of = (0, 0)
        self._waiting: list[tuple[int, Place]] = []  # pc of calls that resolve() could not guess, where the target is
        self._edges: dict[int, list[Block]] = {}
        self._constants_of = (0, 0)  # start of a function and how many blocks it had
        self._constants_in: dict[Place, set[int]] = {}
        self._room = _Room()
        self._cases_of: tuple[tuple[int, int, int, tuple[int, int]], _Cases] = ((0, 0, 0, (0, 0)), ())
        self._gp_at: frozenset[int] = frozenset()  # both of the function whose prologue() was asked for
        self._ra_in: set[int] = set()

    def prologue(self, function: Function) -> dict[int, int]:
        """Return the registers that hold constants after the entry block.

        Also note the function's gp, where the stack has it, and which registers have the return address.
        """
        machine = SymbolicMachine({T9: function.start}, self._memory.relocated_word)
        first = function.blocks[function.start]
        run(machine, first.body, symbolic_pcs(first))
        gp = machine.gpr(GP)
        function.gp = gp if isinstance(gp, int) else self._gp
        kept = [machine.stack_offset(address) for address, value in machine.stores.items() if value == function.gp]
        self._gp_at = frozenset(offset for offset in kept if offset is not None)
        known = {} if function.gp is None else {GP: function.gp}
        for register in set(CALLEE_SAVED) - {GP, SP}:
            value = machine.gpr(register)
            if isinstance(value, int):
                known[register] = value
        self._ra_in = {register for register in set(CALLEE_SAVED) - {GP, SP} if machine.gpr(register) == ("reg", RA)}
        return known

    def guess_by_constants(self, function: Function, known: dict[int, int]) -> None:
        """Guess calls by registers or words of the stack that the function gives one code address elsewhere."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        candidates: dict[Place, set[int]] = {place: set() for _, place in waiting}
        for block in function.blocks.values():
            machine, _ = self._machine(function, [block], known)
            run_slot(machine, block)
            for found, value in zip(candidates.values(), values_in(machine, candidates), strict=True):
                if isinstance(value, int) and may_be_code(value) and self._memory.is_executable(value):
                    found.add(value)
        for pc, place in waiting:
            if len(candidates[place]) == 1:
                function.guesses[pc] = next(iter(candidates[place]))

    def _path(self, function: Function, block: Block) -> list[Block]:
        """Return blocks that may run one after another up to `block`: GCC loads a table's page in an earlier one."""
        path = [block]
        while len(path) < MAX_PATH_BLOCKS and path[0].start != function.start:
            before = [b for b in self._predecessors(function, path[0]) if b not in path]
            if not before or before[0].end in (End.CALL, End.SYSCALL):
                break
            path.insert(0, before[0])
        return path

    def _machine(self, function: Function, path: list[Block], known: dict[int, int]) -> tuple[SymbolicMachine, int]:
        """Return the machine at the end of a path, and how many instructions ran before its last block."""
        initial = dict(known)
        if path[0].start == function.start:
            initial = {T9: function.start}
            if self._gp is not None:
                initial[GP] = self._gp
        machine = SymbolicMachine(initial, self._memory.relocated_word)
        machine.saved_gp, machine.gp_at = function.gp, self._gp_at
        instructions: list[Instruction] = []
        pcs: list[int] = []
        for block in path[:-1]:
            instructions += block.body_and_slot()
            pcs += symbolic_pcs(block)
        before = len(instructions)
        run(machine, instructions + path[-1].body, pcs + symbolic_pcs(path[-1]))
        return machine, before

    def resolve(self, function: Function, block: Block, known: dict[int, int]) -> list[int]:
        """Resolve the indirect terminator of `block`; return labels newly found inside the function."""
        path = self._path(function, block)
        machine, before = self._machine(function, path, known)
        assert block.terminator is not None
        target = machine.gpr(block.terminator.rs)
        pc = block.terminator_pc
        if isinstance(target, int):
            if block.end is End.INDIRECT and self._is_long_branch(function, block, target):
                function.jump_tables[pc] = JumpTable(None, ((target, target),))
                return [target]
            if self._memory.is_executable(target) and may_be_code(target):
                function.guesses[pc] = target
            return []
        if block.end is End.INDIRECT and self._is_return(function, path, target):
            block.end = End.RETURN
            return []
        if block.end is not End.INDIRECT:
            place = place_of(machine, target)
            if place is not None:
                self._waiting.append((pc, place))
            return []
        if self._room.function is not function:
            self._room = _Room(function)
        table = None
        if not self._room.is_full:
            table = self._table(function, path, machine, before, target, known)
            if table is None and not is_tail_call(function, block):
                labels = self._labels_in(function, place_of(machine, target), known)
                behind = function.start + (HALF_BYTES if is_mips16(function.start) else INSTRUCTION_BYTES)
                table = self._compared(labels) or self._compared(self._addresses.inside(behind, function.limit))
        if table is None or not self._room.take(pc, table):
            function.unresolved.add(pc)
            return []
        function.jump_tables[pc] = table
        return [case for _, case in table.cases]

    def _table(
        self,
        function: Function,
        path: list[Block],
        machine: SymbolicMachine,
        before: int,
        target: Value,
        known: dict[int, int],
    ) -> JumpTable | None:
        """Match `load(x + table)` and `load(x + table) + y`, where y is gp or a label (idioms of GCC and LLVM)."""
        offsets = {0}
        if target[0] == "add":
            target, offsets = target[1], {target[2]}
        elif target[0] == "sum":
            target, offsets = self._label_and_rest(function, machine, target, known)
        if target[0] not in ("load", "half"):
            return None
        if target[1][0] == "add":
            bases = {target[1][2]}
        elif target[1][0] == "sum":
            places = [place for side in target[1][1:] if (place := place_of(machine, side)) is not None]
            bases = self._constants(function, places, known)
        else:
            return None
        load_index = machine.loads[target[1]] - before
        if load_index < 0:
            return None
        size_bytes = HALF_BYTES if target[0] == "half" else WORD_BYTES
        shape = self._bound(path) or MAX_TABLE_ENTRIES, size_bytes
        pairs = ((offset, self._cases(function, base, offset, shape)) for base in bases for offset in offsets)
        found = [(offset, cases) for offset, cases in pairs if cases]
        if len(found) != 1:
            return None
        ((offset, cases),) = found
        index = self._index(function, path, known, target[1]) if size_bytes == WORD_BYTES else None
        writable = any(self._memory.is_writable(address) for address, _ in cases)
        added = None if self._tells(path[-1], load_index, offset) else offset
        return JumpTable(path[-1].pcs()[load_index], cases, index, writable, added)

    def _label_and_rest(
        self, function: Function, machine: SymbolicMachine, target: Value, known: dict[int, int]
    ) -> tuple[Value, set[int]]:
        """Split a sum of a table's entry and a register or word of the stack into the entry and labels that it may be.

        `static const int table[] = {&&a - &&b, ...}; goto *(&&b + table[x])` gives that; `b` is loaded far before.
        """
        for entry, other in (target[1:], target[:0:-1]):
            place = place_of(machine, other)
            if entry[0] == "load" and place_of(machine, entry) is None and place is not None:
                return entry, self._labels_in(function, place, known)
        return target, set()

    def _labels_in(self, function: Function, place: Place | None, known: dict[int, int]) -> set[int]:
        """Return the addresses inside the function that its blocks leave in a place."""
        found = self._constants(function, [place], known) if place is not None else set()
        return {label for label in found if self._may_be_label(function, label) and label != function.start}

    def _is_return(self, function: Function, path: list[Block], target: Value) -> bool:
        """Return whether a `jr` goes to what ra was at the entry: stubs of MIPS16e code that pass floats have it in s2.

        Callees preserve that register, so it is enough that no block but the first writes it. A caller compares where
        it is returned to with the address behind its call, so what is no return after all is slow, not wrong.
        """
        if target == ("reg", RA):
            return path[0].start == function.start
        if target[0] != "reg" or target[1] not in self._ra_in:
            return False
        others = (block for block in function.blocks.values() if block.start != function.start)
        return not any(masks(i, 0)[1] >> target[1] & 1 for block in others for i in block.instructions())

    def _is_long_branch(self, function: Function, block: Block, target: int) -> bool:
        """Return whether a `jr` to a constant stays in its function.

        Branches of 16-bit code reach 64 KiB, and `b` of MIPS32 128; where a function is longer, compilers load the
        address (in position-independent code from the GOT) and jump to it.
        """
        is_label = self._may_be_label(function, target) and target != function.start
        return is_label and not is_tail_call(function, block)

    def _may_be_label(self, function: Function, label: int) -> bool:
        """Return whether an address may be one of a function's code: of the same kind as that."""
        is_inside = function.start <= label < function.limit
        return is_inside and may_be_code(label) and is_mips16(label) == is_mips16(function.start)

    def _tells(self, block: Block, load_index: int, offset: int) -> bool:
        """Return whether a block jumps to what it loads itself plus an offset, whatever registers and memory hold."""
        machine = SymbolicMachine({}, lambda address: None)
        run(machine, block.body, symbolic_pcs(block))
        assert block.terminator is not None
        target, added = machine.gpr(block.terminator.rs), 0
        if target[0] == "add":
            target, added = target[1], target[2]
        return target[0] == "load" and machine.loads[target[1]] == load_index and added == offset

    def _index(
        self, function: Function, path: list[Block], known: dict[int, int], address: Value
    ) -> tuple[int, int] | None:
        """Return what the last block of a path adds to the address of a table, as in JumpTable.

        `address` is that of the entry as the whole path computes it: the sum of the table's, be it a number or a
        register or a word of the stack that holds one from elsewhere, and of what the result must stand for.
        """
        before = SymbolicMachine(dict(known), self._memory.relocated_word)
        if len(path) > 1:
            before, _ = self._machine(function, path[:-1], known)
            run_slot(before, path[-2])
        local = SymbolicMachine({GP: known[GP]} if GP in known else {}, self._memory.relocated_word)
        run(local, path[-1].body, symbolic_pcs(path[-1]))
        assert path[-1].terminator is not None
        entry = local.gpr(path[-1].terminator.rs)
        for kind in ("add", "load", "add"):
            if entry[0] == kind:
                entry = entry[1]
        for side in entry[1:] if entry[0] == "sum" else (entry,):
            register, shift = (side[1], side[2]) if side[0] == "shl" else (side, 0)
            if register[0] != "reg" or shift not in (0, 2):
                continue
            added = before.shl(before.gpr(register[1]), shift)
            if address == ("add", added, address[-1]):
                return register[1], shift
            if address[0] == "sum" and place_of(before, added) is None and added in address[1:]:
                return register[1], shift
        return None

    def _constants(self, function: Function, places: list[Place], known: dict[int, int]) -> set[int]:
        """Return the numbers that blocks of the function leave in one of the places: GCC loads them before loops."""
        state = function.start, len(function.blocks)
        if self._constants_of != state:
            self._constants_of, self._constants_in = state, {}
        missing = [place for place in places if place not in self._constants_in]
        self._constants_in.update((place, set()) for place in missing)
        for block in list(function.blocks.values()) if missing else ():
            machine, _ = self._machine(function, self._path(function, block), known)
            run_slot(machine, block)
            for place, value in zip(missing, values_in(machine, missing), strict=True):
                if isinstance(value, int):
                    self._constants_in[place].add(value)
        return {value for place in places for value in self._constants_in[place]}

    def _cases(self, function: Function, base: int, offset: int, shape: tuple[int, int]) -> _Cases:
        """Return the entries of a table as it is now, up to the first that leads out of the function.

        `shape`: how many there are at most, and the size of each in bytes.
        """
        asked = function.start, base, offset, shape
        if self._cases_of[0] != asked:  # else it is the table of the jump before this one
            self._cases_of = asked, self._read_cases(function, base, offset, shape)
        return self._cases_of[1]

    def _read_cases(self, function: Function, base: int, offset: int, shape: tuple[int, int]) -> _Cases:
        cases: list[tuple[int, int]] = []
        count, size_bytes = shape
        read = self._memory.relocated_word if size_bytes == WORD_BYTES else self._memory.signed_half
        for address in range(base, base + size_bytes * count, size_bytes):
            entry = read(address)
            if entry is None:
                break
            label = (entry + offset) & 0xFFFFFFFF
            if not self._may_be_label(function, label):
                break
            cases.append((address, label))
        return tuple(cases)

    def _predecessors(self, function: Function, block: Block) -> list[Block]:
        """Return the blocks that lead to `block`, the one that falls into it first."""
        if self._edges_of != (function.start, len(function.blocks)):
            self._edges_of, self._edges = (function.start, len(function.blocks)), {}
            for other in function.blocks.values():
                for pc in function.successors(other):
                    self._edges.setdefault(pc, []).append(other)
        return sorted(self._edges.get(block.start, ()), key=lambda other: other.next_pc != block.start)

    def _bound(self, path: list[Block]) -> int | None:
        """Return n when a block on the path branches on a comparison x < n (unsigned)."""
        for other in reversed(path[:-1]):
            if other.end is not End.BRANCH:
                continue
            machine = SymbolicMachine({}, self._memory.relocated_word)
            run(machine, other.body, symbolic_pcs(other))
            assert other.terminator is not None and other.terminator.row.condition is not None
            value = other.terminator.row.condition(machine, other.terminator)
            for side in value[1:] if isinstance(value, tuple) and value[0] in ("eq", "ne") else ():
                if isinstance(side, tuple) and side[0] == "ult" and isinstance(side[2], int):
                    return min(side[2], MAX_TABLE_ENTRIES)
        return None

    def _compared(self, labels: Iterable[int]) -> JumpTable | None:
        """Return a table of labels that the target is compared with (computed goto): all code addresses in read-only
        data that point into the function, where it is not known which of them the jump may go to."""
        labels = sorted(labels)
        if not labels or len(labels) > MAX_TABLE_ENTRIES:
            return None
        return JumpTable(None, tuple((label, label) for label in labels))
