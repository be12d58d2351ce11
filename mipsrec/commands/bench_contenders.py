"""Who takes part in `mipsrec bench` besides recompiled guests, and on what machine.

Enters: the names a user gave, the samples module. Leaves: which contenders are there and why others are not, what the
machine and its tools are. Nothing is built or timed here.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from types import ModuleType

from ..architecture import DSP
from ..errors import UsageError
from ..files.temporary_folder import temporary_folder
from ..native.compiler import find_tool, run_tool
from ..timing import Contender

NATIVE = ("clang", "gcc32")
MIPS16 = "mips16"
OPTIONAL = ("relocatable", "counters", MIPS16)
"""Those that take part only when they are named."""
OF_HOST = ("baseline", "relocatable", "counters")
"""Those that need nothing but what mipsrec has; `baseline` is a first run, with nothing recompiled yet."""
OF_GUESTS = ("qemu", *OF_HOST)
"""Those that need nothing but the guest."""
LABELS = {"relocatable": "reloc", "counters": "counters", "baseline": "baseline", "qemu": "qemu"}
"""What stands behind the guest's byte order in a table."""
NAMES = (*NATIVE, *OF_GUESTS, MIPS16)
HELP = (
    "only these besides recompiled guests: clang, gcc32 (32-bit x86 code), qemu, baseline (a first run: nothing "
    "recompiled yet); and, only when named, relocatable (guests' code as that of libraries), counters (as fuzzers want "
    "it) and mips16 (guests compiled with -mips16)"
)
QEMU = {"little": "qemu-mipsel", "big": "qemu-mips"}


def chosen(only: Sequence[str], without: Sequence[str]) -> tuple[str, ...]:
    """Return the contenders that a user wants, of comma-separated names; raises UsageError for an unknown one."""
    wanted, unwanted = ([name for words in given for name in words.split(",") if name] for given in (only, without))
    unknown = [name for name in (*wanted, *unwanted) if name not in NAMES]
    if unknown:
        raise UsageError(f"bench: no contender {unknown[0]}; there are {', '.join(NAMES)}")
    some = wanted or [name for name in NAMES if name not in OPTIONAL]
    return tuple(name for name in NAMES if name in some and name not in unwanted)


def absence(name: str, samples: ModuleType) -> str:
    """Return why a contender cannot take part, and how to get it; "" when it can."""
    if name == "clang":
        return "" if find_tool("clang") else "clang is not installed; on Debian: apt-get install clang"
    if name in (*OF_HOST, MIPS16):
        return ""
    if name == "qemu":
        there = any(find_tool(tool) for tool in QEMU.values())
        return "" if there else "qemu-mips and qemu-mipsel are not installed; on Debian: apt-get install qemu-user"
    return "" if _links32(samples) else "nothing links 32-bit programs; on Debian: apt-get install g++-i686-linux-gnu"


def _links32(samples: ModuleType) -> bool:
    """Whether a 32-bit program can be made: `gcc -m32` is often there without its libraries."""
    try:
        with temporary_folder("mipsrec-bench-") as folder:
            samples.build_native("crc32", ("-O0",), folder, "gcc32")
    except samples.SampleError:
        return False
    return True


def _first_line(*command: str) -> str:
    """Return the first line a tool says of itself; "" when it is not there or says none."""
    if not find_tool(command[0]):
        return ""
    said = str(run_tool(command, capture_output=True, text=True, errors="replace").stdout)
    return (said.splitlines() or [""])[0]


def _processor() -> str:
    """Return the processor's name as Linux knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def machine(samples: ModuleType) -> dict[str, object]:
    """Return what the times depend on: processor, kernel, load, and the tools with their versions."""
    compilers = dict.fromkeys((*samples.COMPILERS.values(), "clang"))
    tools = {name: _first_line(name, "--version") for name in (*compilers, *QEMU.values())}
    return {
        "processor": _processor(),
        "processors": os.cpu_count(),
        "kernel": f"{platform.system()} {platform.release()}",
        "load": round(os.getloadavg()[0], 2),
        "tools": {name: said for name, said in tools.items() if said} | {"llvmlite": metadata.version("llvmlite")},
    }


def qemu_processor(modules: Sequence[str]) -> tuple[str, ...]:
    """Return the words that give qemu-user a processor for what a file is marked as using; its default has no DSP."""
    return ("-cpu", "74Kf") if any(name.startswith(DSP.name) for name in modules) else ()


def guests_of(target: str, contenders: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the guests of a byte order: the flags of each, by label."""
    plain: dict[str, tuple[str, ...]] = {target: ()}
    return plain | {f"{target} {MIPS16}": ("-mips16",)} if MIPS16 in contenders else plain


@dataclass
class Field:
    """The contenders of one program: those that run in every round, and slow ones with less work."""

    full: list[Contender] = field(default_factory=list)
    brief: list[Contender] = field(default_factory=list)

    def add_host(self, label: str, command: tuple[str, ...]) -> None:
        """Add one that the host runs, in every round."""
        self.full.append(Contender(label, command, is_host=True))
