"""Composes a Machine of parts, one for each concern.

Enters: parts, which mypy holds to their interfaces. Leaves: a Machine, whose operations are those of its parts. What
the parts share and hold of each other is not known here.
"""

from __future__ import annotations

from functools import cache
from typing import cast

from .meaning import (
    AtomicOperations,
    ControlOperations,
    FloatOperations,
    IntegerOperations,
    LaneOperations,
    Machine,
    MemoryOperations,
    RegisterOperations,
    UnalignedOperations,
    WideOperations,
)


class _Composed:
    """Has the operations of its parts as attributes."""


@cache
def operations(interface: type) -> tuple[str, ...]:
    """Return the names of the operations of a concern."""
    return tuple(name for name in vars(interface) if not name.startswith("_"))


def compose(
    registers: RegisterOperations,
    integers: IntegerOperations,
    wide: WideOperations,
    lanes: LaneOperations,
    memory: MemoryOperations,
    unaligned: UnalignedOperations,
    atomics: AtomicOperations,
    floats: FloatOperations,
    control: ControlOperations,
) -> Machine:
    """Return a machine whose operations are those of its parts: each is bound here, once."""
    machine = _Composed()
    for interface, part in (
        (RegisterOperations, registers),
        (IntegerOperations, integers),
        (WideOperations, wide),
        (LaneOperations, lanes),
        (MemoryOperations, memory),
        (UnalignedOperations, unaligned),
        (AtomicOperations, atomics),
        (FloatOperations, floats),
        (ControlOperations, control),
    ):
        for name in operations(interface):
            setattr(machine, name, getattr(part, name))
    return cast(Machine, machine)
