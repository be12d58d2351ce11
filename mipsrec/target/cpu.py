"""Which processors a library is made for: the target's levels, as `--cpu` names them.

Enters: a name, and this machine's /proc/cpuinfo. Leaves: a `Cpu`. LLVM is not asked: `run` looks its library up before
it loads anything large.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..errors import BuildError
from . import TARGETS, this_target

_CPUINFO_BYTES = 1 << 14  # the first processor's entry; the file repeats it for each
NATIVE, GENERIC = "native", "generic"
CHOICES = (NATIVE, GENERIC, *(level.name for target in TARGETS for level in target.levels[1:]))
"""What `--cpu` takes: this machine's level, the lowest one, and the others of all targets."""


@dataclass(frozen=True)
class Cpu:
    """`level` is what the host compares (runtime/lifted/library.h), `name` LLVM's name, and ours."""

    level: int
    name: str


@cache
def native_level() -> int:
    """Return the highest of the target's levels that this machine has."""
    target = this_target()
    try:
        with Path("/proc/cpuinfo").open("rb") as stream:
            text = stream.read(_CPUINFO_BYTES).decode("ascii", "replace")
    except OSError:
        text = ""
    flags = set(next((line for line in text.splitlines() if line.startswith(target.cpu_flags)), "").split())
    level = 1
    while level < len(target.levels) and target.levels[level].flags <= flags:
        level += 1
    return level


def cpus_to_run() -> list[Cpu]:
    """Return the levels whose code this machine runs, the lowest first."""
    return [Cpu(number, level.name) for number, level in enumerate(this_target().levels[: native_level()], 1)]


def least_cpu() -> Cpu:
    """Return what every processor of this target can run."""
    return Cpu(1, this_target().levels[0].name)


def chosen_cpu(choice: str) -> Cpu:
    """Return what `--cpu CHOICE` means here; raises BuildError when it is of another kind of machine."""
    if choice == GENERIC:
        return least_cpu()
    levels = this_target().levels
    for number, level in enumerate(levels, 1):
        if level.name == choice or (choice == NATIVE and number == native_level()):
            return Cpu(number, level.name)
    raise BuildError(f"--cpu {choice}: this machine is {this_target().machine}; use --cpu native or generic")


def choice_of(name: str) -> str:
    """Return what `--cpu` calls the processors that have this name in a library."""
    return GENERIC if name == least_cpu().name else name
