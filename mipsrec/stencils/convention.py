"""How translated code keeps the guest's registers: the one statement of it for the maker and for the host.

Every stencil is a function of a calling convention (target.StencilCalls) that has a host register for each of twelve
integer parameters, and it goes to the next stencil by a tail call with the same parameters. So a guest register that is
a parameter (*pinned*) stays in its host register for as long as translated code runs. All others are in the state.
A parameter has 64 bits, the upper half of which is 0: so it is an address as it stands.
`TEMPORARY` is a parameter that holds something only from one stencil to the next: an operand from the state, or a
result on its way there.

A *class* says where an operand is: a number below PIN_COUNT is a pinned register, then follow MEMORY (the state), ZERO
(register 0) and TEMP (the parameter TEMPORARY). Floating-point registers have classes of their own, of the same form.
"""

from __future__ import annotations

from .. import state
from ..emit.calls import MIDDLE
from ..target import this_target

PINS = (*range(state.V0, state.T0 + 1), state.S0, state.S0 + 1, state.SP)
"""Pinned general-purpose registers: v0 v1 a0 to a3 t0 s0 s1 sp, 81 to 88 % of the fields that programs execute."""
CALLS = this_target().stencils
"""Its registers are those of PINS, in their order."""

FLOAT_PINS = (0, 2, 4, 6, 8, 12, 20)
"""Pinned floating-point registers: f0 f2 f4 f6 f8 f12 f20, which hold a double each."""

UPPER = 16
"""The class of the upper half of the first of FLOAT_PINS: a single of its own where registers have 32 bits (FR=0)."""
MEMORY, ZERO, TEMP = 32, 33, 34
"""Classes besides the indices into PINS or FLOAT_PINS."""

_words = [f"i64 %wide{number}" for number in range(len(PINS))]
PARAMETERS = ", ".join(
    [
        "ptr noalias %middle",
        *_words[:CALLS.temporary_at],
        "i64 %wtemp",
        *_words[CALLS.temporary_at:],
        *(f"double %float{number}" for number in range(len(FLOAT_PINS))),
        "double %ftemp",
    ]
)
SIGNATURE = "(ptr" + ", i64" * (len(PINS) + 1) + ", double" * (len(FLOAT_PINS) + 1) + ")"
TYPE = f"{CALLS.convention} i32"


WIDE = {**{f"%pin{number}": f"%wide{number}" for number in range(len(PINS))}, "%temp": "%wtemp"}
"""The parameters, by the names of their low halves."""
NARROW = "".join(f"  {low} = trunc i64 {wide} to i32\n" for low, wide in WIDE.items())
"""What gives the low halves their names, at the start of a stencil."""


def arguments(pins: list[str], temp: str, floats: list[str], ftemp: str) -> str:
    """Return the text of a call's arguments; integers have 64 bits."""
    words = [*pins[:CALLS.temporary_at], temp, *pins[CALLS.temporary_at:]]
    return ", ".join(
        ["ptr %middle", *(f"i64 {word}" for word in words), *(f"double {value}" for value in (*floats, ftemp))]
    )


def slot_offset(file: str, number: int) -> int:
    """Return where a slot of `gpr`, `fpr` or `fcc` is in the state, from the pointer that translated code has."""
    return state.slot_offset(file, number) - MIDDLE
