"""Words of memory that a loop changes in each of its rounds: a variable has what memory has, as long as the loop runs.

Compilers keep a sum or a counter on the stack when they have no register for it. Each round would wait until what the
round before has stored can be loaded again. The rules:

- A loop is looked at if it has no loop inside, no call, nothing that orders memory, and one way in.
- On that way in the variable is loaded. This never faults: all ways there have accessed the word since the register
  that it is reached by was set.
- Stores to the word stay where they are, and set the variable. Loads stay too: where memory has something else than the
  variable, whoever stored it (another register or thread, a handler of a signal or fault, a page mapped twice), that
  counts. The host predicts that it has not, so that nothing waits for the load.
- Words that are not reached by sp or fp are left alone in loops that store by other registers, or look for signals:
  there memory often has something else.
- What is stored depends on what was loaded: otherwise nothing waits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ...analysis import Block, End, Function
from ...flow.loops import cycles, predecessors_of
from ...isa import Instruction
from ...isa.row import Row
from ...isa.uses import LAST_BIT, FieldNames, masks, once_per_row, perform
from ..options import LiftOptions
from .safepoints import Safepoints

SIZES = {"i8": 1, "i16": 2, "i32": 4, "float": 4, "double": 8}


@dataclass(frozen=True)
class Slot:
    """`size` bytes at displacement(base), read and written as values of one LLVM type, with the variable for them."""

    base: int
    displacement: int
    type: str
    name: str = ""

    @property
    def size(self) -> int:
        return SIZES[self.type]

    def overlaps(self, other: Slot) -> bool:
        """Return whether one by the same register touches this."""
        return -other.size < other.displacement - self.displacement < self.size

    def covers(self, other: Slot) -> bool:
        """Return whether all of one is part of this."""
        return self.base == other.base and 0 <= other.displacement - self.displacement <= self.size - other.size


@dataclass
class SlotLoop:
    """A loop and its slots; `pc` is where one of them is loaded."""

    head: int
    body: frozenset[int]
    pc: int
    slots: list[Slot] = field(default_factory=list)

    def touched(self, instruction: Instruction) -> Slot | None:
        """Return the slot that one of its instructions accesses, if it does."""
        access = access_of(instruction)[1]
        return next((slot for slot in self.slots if access and place(slot) == place(access)), None)


def place(slot: Slot) -> tuple[int, int, str]:
    return slot.base, slot.displacement, slot.type


# what instructions do to memory

LOAD, STORE, OTHER = "load", "store", "other"

_OTHERS = frozenset(
    ("store_left", "store_right", "load_linked", "store_conditional", "fence", "sync_code")
    + ("raise_always", "read_hardware", "read_control", "write_control")
)


class _Notes:
    """A Machine that notes the access of a row."""

    def __init__(self) -> None:
        self.kind, self.type = "", ""

    def gpr(self, number: str) -> str:
        return number

    def _note(self, kind: str, base: Any, type_: str) -> int:
        self.kind, self.type = (kind, type_) if base == FieldNames.rs and not self.kind else (OTHER, "")
        return 0

    def load(self, base: Any, displacement: int, bits: int, signed: bool) -> int:
        return self._note(LOAD, base, f"i{bits}") if base == FieldNames.rs else 0

    def load_single(self, base: Any, displacement: int) -> int:
        return self._note(LOAD, base, "float") if base == FieldNames.rs else 0

    def load_double(self, base: Any, displacement: int) -> int:
        return self._note(LOAD, base, "double") if base == FieldNames.rs else 0

    def store(self, base: Any, displacement: int, bits: int, value: Any) -> None:
        self._note(STORE, base, f"i{bits}")

    def store_single(self, base: Any, displacement: int, value: Any) -> None:
        self._note(STORE, base, "float")

    def store_double(self, base: Any, displacement: int, value: Any) -> None:
        self._note(STORE, base, "double")

    def __getattr__(self, name: str) -> Any:
        if name in _OTHERS:
            self.kind = OTHER
        return lambda *operands: 0


@once_per_row
def kind_of(row: Row) -> tuple[str, str]:
    """Return what a row does, and the type of what it loads or stores."""
    notes = _Notes()
    perform(row, notes)
    return notes.kind, notes.type


def access_of(instruction: Instruction) -> tuple[str, Slot | None]:
    kind, type_ = kind_of(instruction.row)
    if kind not in (LOAD, STORE):
        return kind, None
    return kind, Slot(instruction.rs, instruction.imm, type_)


_SP, _FP = 29, 30
_MAX_INSTRUCTIONS = 128
"""Of a loop: the longer a round, the less it waits, and the more registers it has use for."""
_MAX_SLOTS = 6
_MAX_WALK = 32
"""Blocks before a loop that are searched for accesses."""
_PAGE_BYTES = 4096
_SLOT_BIT = LAST_BIT + 1
_ENDS = (End.FALL, End.BRANCH, End.JUMP, End.INDIRECT)


def slots_of_loops(
    function: Function,
    order: list[int],
    entries: Iterable[int],
    safepoints: Safepoints,
    options: LiftOptions,
    inside: Iterable[int],
) -> list[SlotLoop]:
    """Return the loops with slots; `order` are the blocks to lift, `inside` those of them in loops without calls."""
    if options.memory != "flat" or not _changes_words(function, inside):
        return []
    return _Search(function, order, frozenset(entries), safepoints, options.fr).loops(list(inside))


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
    """Finds the slots of a function's loops."""

    def __init__(
        self, function: Function, order: list[int], entries: frozenset[int], safepoints: Safepoints, fr: int
    ) -> None:
        self._blocks = function.blocks
        self._successors = {pc: function.successors(function.blocks[pc]) for pc in order}
        self._predecessors = predecessors_of(self._successors)
        self._entries = entries
        self._safepoints = safepoints
        self._fr = fr

    def loops(self, inside: list[int]) -> list[SlotLoop]:
        """Return those with slots among the loops that have no other inside and one way in."""
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

    def _loop(self, head: int, body: frozenset[int]) -> SlotLoop | None:
        """Return a loop with its slots, or None if it has none, or is not to be looked at."""
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
        slots = [
            slot
            for slot in sorted(loads & stores, key=place)
            if slot.base and not written >> slot.base & 1 and self._may_be_kept(slot, stores, bool(edges))
        ]
        slots = [slot for slot in self._changed_by_rounds(body, slots) if self._accessed_before(head, body, slot)]
        if not slots:
            return None
        named = [Slot(*place(slot), name=f"%slot.{head:08x}.{index}") for index, slot in enumerate(slots[:_MAX_SLOTS])]
        return SlotLoop(head, body, self._first_load(blocks, slots[0]), named)

    def _first_load(self, blocks: list[Block], slot: Slot) -> int:
        for block in blocks:
            for index, instruction in enumerate(block.body):
                if access_of(instruction) == (LOAD, slot):
                    return block.start + 4 * index
        return blocks[0].start

    def _changed_by_rounds(self, body: frozenset[int], slots: list[Slot]) -> list[Slot]:
        """Return the slots that are stored to after a load of what they had, and depend on it."""
        return [slot for slot in slots if self._depends_on_itself(body, slots, slot)]

    def _depends_on_itself(self, body: frozenset[int], slots: list[Slot], slot: Slot) -> bool:
        """Return whether a slot is stored a value to that was made of one loaded from it."""
        reached = dict.fromkeys(body, 0)
        work = list(body)
        while work:
            pc = work.pop()
            known = reached[pc]
            for instruction in self._blocks[pc].instructions():
                known, stored = self._follow(instruction, known, slots, slot)
                if stored:
                    return True
            for target in self._successors[pc]:
                if target in body and known & ~reached[target]:
                    reached[target] |= known
                    work.append(target)
        return False

    def _follow(self, instruction: Instruction, known: int, slots: list[Slot], slot: Slot) -> tuple[int, bool]:
        """Return the registers and slots that depend on `slot` after an instruction, and whether that itself does."""
        read, written = masks(instruction, self._fr)
        kind, access = access_of(instruction)
        depends = bool(known & read)
        if access is not None and access in slots:
            bit = 1 << _SLOT_BIT + slots.index(access)
            if kind == STORE:
                read &= ~(1 << instruction.rs)
                depends = bool(known & read)
                return (known | bit if depends else known & ~bit), depends and access == slot
            depends = access == slot or bool(known & bit)
        written &= ~(1 << LAST_BIT)
        return (known | written if depends else known & ~written), False

    def _accessed_before(self, head: int, body: frozenset[int], slot: Slot) -> bool:
        """Return whether all ways to a loop have accessed a slot since its base was set."""
        work = [pc for pc in self._predecessors[head] if pc not in body]
        seen: set[int] = set()
        while work:
            pc = work.pop()
            if pc in seen:
                continue
            seen.add(pc)
            block = self._blocks[pc]
            found = self._accesses(block, slot)
            if found is None:
                if pc in self._entries or not self._predecessors[pc]:
                    return False
                work += self._predecessors[pc]
            if found is False or len(seen) > _MAX_WALK:
                return False
        return bool(seen)

    def _accesses(self, block: Block, slot: Slot) -> bool | None:
        """Return whether a block has accessed a slot at its end, or None if it does not change that."""
        if block.end not in _ENDS:
            return False
        instructions = block.instructions()
        if block.is_likely and masks(instructions.pop(), self._fr)[1] >> slot.base & 1:
            return False
        for instruction in reversed(instructions):
            if masks(instruction, self._fr)[1] >> slot.base & 1 or kind_of(instruction.row)[0] == OTHER:
                return False
            access = access_of(instruction)[1]
            if access is not None and access.covers(slot):
                return True
        return None

    def _may_be_kept(self, slot: Slot, stores: set[Slot], polled: bool) -> bool:
        """Return whether the stores of a loop leave a slot alone, or can be compared with it."""
        on_stack = self._is_stack(slot.base)
        for store in stores:
            if store.base == slot.base:
                near = on_stack or abs(store.displacement - slot.displacement) < _PAGE_BYTES // 2
                if store != slot and (slot.overlaps(store) or not near):
                    return False
        return on_stack or not (polled or any(store.base != slot.base for store in stores))

    def _is_stack(self, register: int) -> bool:
        """Return whether a register points to the stack: sp, or fp where it is set to sp."""
        return register == _SP or (register == _FP and self._has_frame_pointer())

    def _has_frame_pointer(self) -> bool:
        instructions = (instruction for block in self._blocks.values() for instruction in block.body)
        return any(
            instruction.row.name in ("or", "addu")
            and instruction.rd == _FP
            and {instruction.rs, instruction.rt} == {_SP, 0}
            for instruction in instructions
        )
