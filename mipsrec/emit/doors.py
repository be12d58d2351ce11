"""Doors to the host: calls of its functions that leave all host registers to the lifted function that makes them.

C functions preserve no vector register; lifted functions preserve those that they are handed nothing in
(target.LiftedCalls). A function that calls C has to save these at each entry, even if it calls C only where a division
traps. So a library has a door for each such function of the host: it has the convention preserve_allcc, and calls C.

Functions of the host that code calls often, as those of the memory models paged and thunk, are called without a door.
"""

from __future__ import annotations

from ..abi import host_function
from .writer import ALL_KEPT

_COLD = ("mr_poll", "mr_exception", "mr_interpret")
_DOORS = (*_COLD, "mr_syscall", "mr_cfc1", "mr_ctc1_lifted", "mr_rdhwr", "mr_synci")


def door(name: str) -> str:
    """Return what a call of a function of the host begins with: its convention, result and name, for LLVM."""
    assert name in _DOORS
    return f"preserve_allcc {host_function(name).result} @{_symbol(name)}"


def _symbol(name: str) -> str:
    return name.removeprefix("mr_")


def _types(name: str) -> str:
    return ", ".join(type_ for type_, _ in host_function(name).llvm_parameters())


def _declaration(name: str) -> str:
    return f"declare hidden {door(name)}({_types(name)}) {'#6' if name in _COLD else '#0'}\n"


def _definition(name: str) -> str:
    function = host_function(name)
    parameters = ", ".join(f"{type_} %{variable}" for type_, variable in function.llvm_parameters())
    result, value = ("", "void") if function.result == "void" else ("%result = ", f"{function.result} %result")
    return f"""
{function.llvm_declaration()}

define hidden {door(name)}({parameters}) nounwind {ALL_KEPT} {{
  {result}call {function.result} @{name}({parameters})
  ret {value}
}}
"""


DOOR_DECLARATIONS = "".join(map(_declaration, _DOORS))
"""What each module has. Attributes #0 and #6 are those of module.py."""

DOORS = "".join(map(_definition, _DOORS))
"""What a library has once."""
