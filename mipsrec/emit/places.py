"""Debug information that tells the handler of a fault where code has registers that are not in the state.

LLVM tracks them as variables of the source: each is a variable rN of its function, N the guest's number, whose
address is the register's alloca. They are no parameters: LLVM forgets one of these where it is assigned an argument
once more. The places that LLVM finds for them cost no instruction. A library has them as a table of its own
(native/place_table.py), which the host reads (runtime/lifted/places_table.c).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..lift.convention import CARRIED
from ..lift.units import Unit

PLACED_UNITS = tuple(f"r{number}" for number in CARRIED)
ENTRY_SP = "r0"
"""The variable for what sp was at the entry, in functions of which it is known how far below it is where. So it has one
value all the time: LLVM moves accesses past what changes sp, or ends a location there."""
_VARIABLES = (*PLACED_UNITS, ENTRY_SP)
METADATA_PER_FUNCTION = 1 + len(_VARIABLES)
"""The numbers that a function takes: of its subprogram, and of its variables behind it."""


def declaration(unit: Unit, place: str, line: int, scope: int) -> str:
    """Return what makes an alloca of a register a variable of the subprogram with the metadata number `scope`.

    The alloca ENTRY_SP is a variable of its own.
    """
    variable = scope + 1 + _VARIABLES.index(ENTRY_SP if place == ENTRY_SP else unit.name)
    return f"  #dbg_declare(ptr %{place}, !{variable}, !DIExpression(), !DILocation(line: {line}, scope: !{scope}))"


def variables(scope: int, file: int, type_: int) -> Iterator[str]:
    """Yield the metadata of the variables of a subprogram, with the numbers of the file and of their type."""
    for number, name in enumerate(_VARIABLES, start=scope + 1):
        yield f'!{number} = !DILocalVariable(name: "{name}", scope: !{scope}, file: !{file}, type: !{type_})\n'
