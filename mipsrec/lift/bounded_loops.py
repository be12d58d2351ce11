"""Loops that come to their end by themselves, for whatever values their registers have.

Enters: a graph, and the blocks of a loop of it. Leaves: whether the loop surely ends within 2**32 short iterations, so
that it needs no safepoint (facts/safepoints.py). A loop without calls ends if in each of its iterations, and in those
of the loops inside it, one of these happens:

- A branch compares a *counter* with an invariant, and leaves. A counter goes one way round the circle of 2**32 values.
  It surely meets one for which the branch leaves if there are enough of those: they are an interval of the circle that
  a step of the counter cannot jump over. So `i != n` ends only if the steps are odd and always the same, `i < n` only
  for a step of 1 where `n` is not known, and `i <= n` never: all values may be at most `n`.
- Memory is accessed through a register that steps: it ends at unmapped memory at the latest, which is half of all
  addresses.
- A register is shifted, and a branch leaves when nothing is left of it.
- The loop makes a system call, which takes signals.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..analysis import Block, End
from ..flow.graph import Graph
from ..isa import Instruction
from ..isa.effects import STORE, Value, added_constant, copied_register, effects, masks
from ..state import FP, SP

MAX_SHORT_LOOP_BLOCKS = 64
"""A loop of more blocks counts as long in any case."""

_VALUES = 1 << 32
_NEGATIVE = 1 << 31
_UNMAPPED_BYTES = 1 << 31
"""No address from 0x80000000 on is mapped."""
_FRAME = (SP, FP)
"""LLVM may drop a load by sp or fp, with its fault (passes/trapping_loads.py)."""

_AFFINE = ("add", "sub")
_ORDERS = ("slt", "ult")
_SHIFTS = ("shl", "lshr")


def is_bounded(graph: Graph, body: frozenset[int]) -> bool:
    """Return whether a loop surely comes to its end by itself."""
    return len(body) <= MAX_SHORT_LOOP_BLOCKS and _Iterations(graph, body).end_soon()


def fewest_values(operation: str, counter_first: bool, limit: int | None, outcome: bool) -> int:
    """Return for how many values of a counter a comparison with a limit, at least, has an outcome.

    The comparison is eq, ult or slt, and the counter is its first or its second operand. The values are an interval
    of the circle of all values. A limit that is not known may be any.
    """
    if operation == "eq":
        return 1 if outcome else _VALUES - 1
    if limit is None:
        return 0 if outcome else 1  # no value is below the least limit; one equal to the limit always is not
    rank = (limit + _NEGATIVE if operation == "slt" else limit) % _VALUES  # how many values are below the limit
    true = rank if counter_first else _VALUES - 1 - rank
    return true if outcome else _VALUES - true


@dataclass(frozen=True)
class _Operation:
    """An operation on registers and constants alone: pairs of "gpr" and a number, or of "const" and a value."""

    name: str
    operands: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class _Write:
    """An instruction of a loop that writes one register."""

    instruction: Instruction
    block: Block


class _Iterations:
    """What happens in each iteration of a loop without calls, and of the loops inside it."""

    def __init__(self, graph: Graph, body: frozenset[int]) -> None:
        self._body = body
        self._blocks = [graph.blocks[pc] for pc in sorted(body)]
        self._successors = {pc: [target for target in graph.successors[pc] if target in body] for pc in sorted(body)}
        self._orders: dict[frozenset[int], list[int] | None] = {}
        self._writes: dict[int, list[_Write]] = {}
        for block in self._blocks:
            for instruction in block.instructions():
                written = masks(instruction, 0)[1] & 0xFFFFFFFF
                while written:
                    number = written.bit_length() - 1
                    written ^= 1 << number
                    self._writes.setdefault(number, []).append(_Write(instruction, block))

    def end_soon(self) -> bool:
        """Return whether the iterations come to an end by themselves."""
        if any(block.end is End.CALL for block in self._blocks):
            return False
        return (
            self._in_all_iterations(block for block in self._blocks if block.end is End.SYSCALL)
            or any(self._leaves(block) for block in self._blocks)
            or any(self._walks(number) for number in self._writes)
        )

    # ways around

    def _in_all_iterations(self, blocks: Iterable[Block]) -> bool:
        """Return whether every cycle passes one of these blocks."""
        return self._order_without(frozenset(block.start for block in blocks)) is not None

    def _order_without(self, removed: frozenset[int]) -> list[int] | None:
        """Return the other blocks such that each comes after those that lead to it; None if they have a cycle."""
        if removed not in self._orders:
            self._orders[removed] = self._topological_order(removed)
        return self._orders[removed]

    def _topological_order(self, removed: frozenset[int]) -> list[int] | None:
        waiting = dict.fromkeys(self._successors.keys() - removed, 0)  # edges into each from those not seen yet
        for pc in waiting:
            for successor in self._successors[pc]:
                if successor in waiting:
                    waiting[successor] += 1
        ready = [pc for pc, count in waiting.items() if count == 0]
        order = []
        while ready:
            order.append(ready.pop())
            for successor in self._successors[order[-1]]:
                if successor in waiting:
                    waiting[successor] -= 1
                    if waiting[successor] == 0:
                        ready.append(successor)
        return order if len(order) == len(waiting) else None

    def _around(self, head: Block, moved: dict[int, tuple[int, int]]) -> tuple[int, int]:
        """Return the least and the most that is added on a way from a block around to it, which all cycles pass."""
        order = self._order_without(frozenset((head.start,)))
        assert order is not None
        found = {head.start: moved.get(head.start, (0, 0))}
        ways: list[tuple[int, int]] = []
        for pc in (head.start, *order):
            for successor in self._successors[pc] if pc in found else ():
                if successor == head.start:
                    ways.append(found[pc])
                    continue
                low, high = (a + b for a, b in zip(found[pc], moved.get(successor, (0, 0)), strict=True))
                other = found.get(successor, (low, high))
                found[successor] = min(low, other[0]), max(high, other[1])
        return min(low for low, _ in ways), max(high for _, high in ways)

    # registers

    def _moved(self, number: int) -> dict[int, tuple[int, int]] | None:
        """Return the least and the most that each block adds to a register; None if some write does something else."""
        found: dict[int, tuple[int, int]] = {}
        for write in self._writes.get(number, []):
            step = _step(write.instruction, number)
            if step is None:
                return None
            low, high = found.get(write.block.start, (0, 0))
            found[write.block.start] = low + step, high + step
        return found or None

    def _stride(self, number: int, test: Block) -> int | None:
        """Return how long an interval of values must be for a register to meet it surely, where all cycles pass `test`.

        A counter that always moves by the same number comes to all values with the same trailing bits. One that moves
        by several, one way, comes around, and leaves out fewer values than its longest step has. None: it may stand
        still, or turn around.
        """
        moved = self._moved(number) or self._moved(self._leader(number))
        if moved is None:
            return None
        low, high = self._around(test, moved)
        if low <= 0 <= high:
            return None
        return low & -low if low == high else max(abs(low), abs(high))

    def _leader(self, number: int) -> int:
        """Return the register at a fixed distance of which another is set in every iteration; 0 if there is none."""
        set_by = self._only(number, _AFFINE)
        if set_by is None:
            copy = self._copy(number)
            return copy if copy is not None else 0
        index = self._varying(set_by)
        return 0 if index is None else set_by.operands[index][1]

    def _copy(self, number: int) -> int | None:
        """Return the register that the one instruction that writes another copies, in every iteration."""
        write = self._only_write(number)
        return copied_register(write.instruction) if write is not None else None

    def _only_write(self, number: int) -> _Write | None:
        """Return the one instruction that writes a register, if every iteration does."""
        writes = self._writes.get(number, [])
        if len(writes) != 1:
            return None
        return writes[0] if self._in_all_iterations([writes[0].block]) else None

    def _only(self, number: int, names: tuple[str, ...]) -> _Operation | None:
        """Return the one operation that sets a register, if every iteration does, and it is one of these."""
        write = self._only_write(number)
        operation = _operation(write.instruction) if write is not None else None
        return operation if operation is not None and operation.name in names else None

    def _varying(self, operation: _Operation) -> int | None:
        """Return the index of the one operand that is not invariant."""
        found = [at for at, (kind, number) in enumerate(operation.operands) if kind == "gpr" and number in self._writes]
        return found[0] if len(found) == 1 else None

    # ends

    def _leaves(self, block: Block) -> bool:
        """Return whether a block that every iteration passes surely leaves the loop at last."""
        if block.end is not End.BRANCH or block.terminator is None:
            return False
        stays_when_taken = block.target in self._body
        if stays_when_taken == (block.next_pc in self._body) or not self._in_all_iterations([block]):
            return False
        condition, outcome = _condition(block.terminator, not stays_when_taken)
        return condition is not None and (
            self._meets(condition, outcome, block) or self._turns(condition, outcome, block)
        )

    def _meets(self, comparison: _Operation, outcome: bool, test: Block) -> bool:
        """Return whether a comparison of a counter with an invariant has an outcome at last."""
        index = self._varying(comparison)
        if index is None or len(comparison.operands) != 2:
            return False
        stride = self._stride(comparison.operands[index][1], test)
        limit = _constant(comparison.operands[1 - index])
        return stride is not None and fewest_values(comparison.name, index == 0, limit, outcome) >= stride

    def _turns(self, condition: _Operation, outcome: bool, test: Block) -> bool:
        """Return whether a test for 0 has an outcome at last: of a comparison's result, or of what is shifted."""
        index = self._varying(condition)
        if index is None or condition.name != "eq" or _constant(condition.operands[1 - index]) != 0:
            return False
        number = condition.operands[index][1]
        comparison = self._only(number, _ORDERS)
        if comparison is not None:
            return self._meets(comparison, not outcome, test)
        shift = self._only(number, _SHIFTS)
        return (
            outcome
            and shift is not None
            and shift.operands[0] == ("gpr", number)
            and bool(_constant(shift.operands[1]))
        )

    def _walks(self, number: int) -> bool:
        """Return whether every iteration accesses memory through a register that steps, or at a distance of it."""
        moved = self._moved(number)
        if moved is None or sum(max(abs(low), abs(high)) for low, high in moved.values()) >= _UNMAPPED_BYTES:
            return False
        if not (all(low >= 0 for low, _ in moved.values()) or all(high <= 0 for _, high in moved.values())):
            return False
        if not self._in_all_iterations(block for block in self._blocks if 0 not in moved.get(block.start, (0, 0))):
            return False
        bases = {number, *(n for n in self._writes if self._leader(n) == number)}
        return self._in_all_iterations(
            block for block in self._blocks if any(_faults_through(bases, one) for one in block.instructions())
        )


def _operation(instruction: Instruction) -> _Operation | None:
    """Return the operation whose result an instruction writes, if that is all it does."""
    does = effects(instruction.row)
    value = does.result
    if value is not None and value.operation == "zext1":
        value = value.operands[0]
    return _with_operands(value, instruction) if does.is_pure else None


def _condition(branch: Instruction, outcome: bool) -> tuple[_Operation | None, bool]:
    """Return a comparison for the condition of a branch, and what comes of it when the branch has an outcome."""
    value = effects(branch.row).condition
    if value is not None and value.operation == "invert":
        value, outcome = value.operands[0], not outcome
    if value is not None and value.operation == "ne":
        value, outcome = Value("eq", value.operands), not outcome
    condition = _with_operands(value, branch)
    return condition if condition is not None and condition.name in ("eq", *_ORDERS) else None, outcome


def _with_operands(value: Value | None, instruction: Instruction) -> _Operation | None:
    found: list[tuple[str, int]] = []
    for one in value.operands if value is not None else ():
        if not isinstance(one, Value) or one.operation not in ("gpr", "const") or one.operands == ("",):
            return None
        field = one.operands[0]
        found.append((one.operation, getattr(instruction, field) if isinstance(field, str) else field))
    return _Operation(value.operation, tuple(found)) if value is not None else None


def _constant(operand: tuple[str, int]) -> int | None:
    """Return the value of a constant or of register 0, as an unsigned word."""
    kind, number = operand
    return number % _VALUES if kind == "const" else 0 if number == 0 else None


def _step(instruction: Instruction, number: int) -> int | None:
    """Return the constant that an instruction adds to a register; None if it does something else to it."""
    added = added_constant(instruction)
    return added if instruction.rs == number == instruction.rt else None


def _faults_through(bases: set[int], instruction: Instruction) -> bool:
    """Return whether an instruction accesses memory at imm(rs) of one of some registers, with its fault."""
    access = effects(instruction.row).access
    if access is None or not access.is_based or instruction.rs not in bases:
        return False
    return access.kind == STORE or instruction.rs not in _FRAME
