"""Which processors a library is made for: the x86-64 levels of the psABI, as `--cpu` names them.

Enters: a name, and this machine's /proc/cpuinfo. Leaves: a `Cpu`. LLVM is not asked: `run` looks its library up before
it loads anything large.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..errors import BuildError

_LEVELS = (
    (2, frozenset(("cx16", "pni", "ssse3", "sse4_1", "sse4_2", "popcnt"))),
    (3, frozenset(("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"))),
)
"""Each level with the flags of /proc/cpuinfo that it adds; code for v4 (AVX-512) was slower."""
_CPUINFO_BYTES = 1 << 14  # the first processor's entry; the file repeats it for each


@dataclass(frozen=True)
class Cpu:
    """`level` is what the host compares (runtime/lifted/library.h), `name` LLVM's name, and ours."""

    level: int
    name: str


@cache
def native_level() -> int:
    """Return the highest of the x86-64 levels up to 3 that this machine has; 0 when it is no x86-64."""
    if platform.machine() not in ("x86_64", "amd64"):
        return 0
    try:
        with Path("/proc/cpuinfo").open("rb") as stream:
            text = stream.read(_CPUINFO_BYTES).decode("ascii", "replace")
    except OSError:
        text = ""
    flags = set(next((line for line in text.splitlines() if line.startswith("flags")), "").split())
    level = 1
    for number, needed in _LEVELS:
        if not needed <= flags:
            break
        level = number
    return level


def chosen_cpu(choice: str) -> Cpu:
    """Return what `--cpu CHOICE` means here; raises BuildError when it is of another kind of machine."""
    native = native_level()
    if choice == "native" and native > 1:
        return Cpu(native, f"x86-64-v{native}")
    if choice in ("native", "generic"):
        return Cpu(1, "x86-64") if native else Cpu(0, "generic")
    if native == 0:
        raise BuildError(f"--cpu {choice}: this machine is no x86-64; use --cpu native or generic")
    return Cpu(int(choice[-1]), choice)
