"""What a host is to the recompiler: the facts that differ between processors, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .machine_code import MachineCode
from .running_code import RunningCode


@dataclass(frozen=True)
class Level:
    """A level of processors: LLVM's name and ours, and the flags of /proc/cpuinfo that it adds to the level below."""

    name: str
    flags: frozenset[str]


@dataclass(frozen=True)
class LiftedCalls:
    """How lifted functions call each other (emit/calls.py).

    `convention` is LLVM's name of a calling convention with `registers` host registers for parameters, and the same
    ones in the same order for results; it passes floats in vector registers besides. Of the guest's general-purpose
    registers, by name, callers and callees hand each other those of `words` and of `floats`. `middle` is how many
    bytes behind the state's start the pointer is that they pass. `all_kept` is an attribute of functions with
    preserve_allcc.
    """

    convention: str
    registers: int
    words: tuple[str, ...]
    floats: tuple[str, ...]
    middle: int
    all_kept: str


@dataclass(frozen=True)
class StencilCalls:
    """How stencils go to each other (stencils/convention.py).

    `convention` is LLVM's name. Its first parameter is the state's pointer, the others but one are in `registers`, and
    that one (TEMPORARY) is the parameter number `temporary_at` behind the first. `context_places` is where the C
    library's mcontext_t has `registers`. `access_registers` are free for the window's base and an address in it.
    """

    convention: str
    registers: tuple[str, ...]
    context_places: tuple[str, ...]
    temporary_at: int
    access_registers: tuple[str, str]


@dataclass(frozen=True)
class Target:
    """`machine` is what `uname -m` says, and the host's folder in runtime/host. `levels` are numbered from 1 on.

    `cpu_flags` begins the line of /proc/cpuinfo with the flags. `llvm_options` are for every compilation.
    `counter_space` is LLVM's address space of the map of counters (emit/counters.py).
    `relocations` are ELF's numbers of those that put an address into an object's data, with the bytes of each.
    `machine_code` loads what takes stencils apart, `running_code` what takes executed instructions apart.
    """

    machine: str
    triple: str
    levels: tuple[Level, ...]
    cpu_flags: str
    llvm_options: tuple[str, ...]
    lifted: LiftedCalls
    stencils: StencilCalls
    counter_space: int
    relocations: Mapping[int, int]
    machine_code: Callable[[], MachineCode]
    running_code: Callable[[], RunningCode]
