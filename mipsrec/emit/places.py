"""Debug information that tells the handler of a fault where code has registers that are not in the state.

LLVM tracks them as variables of the source: each is a variable rN of its function, N the guest's number, whose
address is the register's alloca. They are no parameters: LLVM forgets one of these where it is assigned an argument
once more. The places that LLVM finds for them cost no instruction. The host reads them
(runtime/lifted/places_table.c).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..lift.convention import CARRIED
from ..lift.units import Unit

PLACED_UNITS = tuple(f"r{number}" for number in CARRIED)
METADATA_PER_FUNCTION = 1 + len(PLACED_UNITS)
"""The numbers that a function takes: of its subprogram, and of its variables behind it."""


def declaration(unit: Unit, place: str, line: int, scope: int) -> str:
    """Return what makes an alloca of a register a variable of the subprogram with the metadata number `scope`."""
    variable = scope + 1 + PLACED_UNITS.index(unit.name)
    return f"  #dbg_declare(ptr %{place}, !{variable}, !DIExpression(), !DILocation(line: {line}, scope: !{scope}))"


def variables(scope: int, file: int, type_: int) -> Iterator[str]:
    """Yield the metadata of the variables of a subprogram, with the numbers of the file and of their type."""
    for number, name in enumerate(PLACED_UNITS, start=scope + 1):
        yield f'!{number} = !DILocalVariable(name: "{name}", scope: !{scope}, file: !{file}, type: !{type_})\n'
