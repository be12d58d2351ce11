"""What a vectorized loop carries from one iteration to the next: floating-point registers, and words of memory.

Needs: the steps, accesses and advances of an iteration (recognize.py).
Sets: the iteration's cells, `carried` and `serial`.
Keeps: what depends on the iteration before is performed in order, number by number, so sums are rounded as MIPS rounds
them. A word of memory is carried if an iteration loads it once and then stores it once: no other access may touch it
(iteration.py, `conflicts`, `near`). Only operations whose results are NaNs where an operand is one are serial, so that
the guard on the last one sees all.
Off when: bits of a carried value are taken as another kind of number.
"""

from __future__ import annotations

from collections.abc import Callable

from .iteration import SILENT, Iteration, Step

_SERIAL = ("register", "cell", "add", "sub", "mul", "div", "neg", "sqrt", "extend", "round")


def find_cells(found: Iteration) -> None:
    """Turn accesses of a word that each iteration loads and then stores into a cell."""
    for store, value in list(found.stores):
        if found.advance(store.address) or store.in_words:
            continue
        same = [access for access in found.accesses if access.address == store.address]
        loads = [number for number, step in enumerate(found.steps) if step.access in same]
        if len(same) != 2 or len(loads) != 1:
            continue
        step = found.steps[loads[0]]
        if step.access is not None and step.type == store.type and step.access.order < store.order:
            found.steps[loads[0]] = Step("cell", step.type, access=step.access)
            found.stores.remove((store, value))
            found.carried[loads[0]] = value


def find_serial(found: Iteration, root: Callable[[int], int]) -> bool:
    """Find the steps that depend on carried values; return whether they may be performed in order."""
    for number, step in enumerate(found.steps):
        if number in found.carried or not found.serial.isdisjoint(step.operands):
            found.serial.add(number)
    for value in found.carried.values():
        made_by = root(value)
        if made_by != value and found.steps[made_by].name not in SILENT:
            return False
    return all(found.steps[number].name in _SERIAL for number in found.serial)
