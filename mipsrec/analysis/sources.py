"""Where a value of the symbolic machine comes from, and what it makes of the blocks of a function."""

from __future__ import annotations

from collections.abc import Iterable

from ..architecture import is_mips16
from .model import Block
from .symbolic import SymbolicMachine, Value, run

Place = tuple[str, int]
"""`("register", number)` or `("stack", offset from sp)`."""


def symbolic_pcs(block: Block) -> list[int]:
    """Return the pcs that SymbolicMachine wants for the body and slot of a block."""
    if not is_mips16(block.start):
        return []
    return block.pcs()[: len(block.body)] + ([block.terminator_pc] if block.delay_slot is not None else [])


def run_slot(machine: SymbolicMachine, block: Block) -> None:
    """Run the delay slot of a block behind its body, if it has one."""
    if block.delay_slot is not None:
        run(machine, [block.delay_slot], [block.terminator_pc] if is_mips16(block.start) else ())


def place_of(machine: SymbolicMachine, value: Value) -> Place | None:
    """Return where a value comes from that the machine's instructions did not compute; None for a constant."""
    if isinstance(value, int):
        return None
    if value[0] == "reg":
        return "register", value[1]
    offset = machine.stack_offset(value[1]) if value[0] == "load" else None
    return None if offset is None else ("stack", offset)


def values_in(machine: SymbolicMachine, places: Iterable[Place]) -> list[Value]:
    """Return what the machine left in each of the places, None where it stored no word."""
    slots = {machine.stack_offset(address): word for address, word in machine.stores.items()}
    return [machine.gpr(number) if kind == "register" else slots.get(number) for kind, number in places]
