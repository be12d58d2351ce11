"""Links cases into a guest program (guests/fuzz.c), and runs it: recompiled, interpreted, under qemu-user.

Enters: cases, the bytes of states. Leaves: the bytes of the states after them, from each executor.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mipsrec import pipeline
from tests.fuzz.case import Case
from tests.fuzz.states import STATE_BYTES, WINDOW
from tests.support.compiled import ORDERS
from tests.support.paths import GUESTS, ROOT
from tests.support.processor_time import run_for
from tests.support.tools import need

CASES, HANDLER = 0x500000, 0x6E600000
"""Addresses of cases, and of what the handler of signals has."""
_LINKED = (
    "-std=gnu11", "-O2", "-ffreestanding", "-fno-tree-loop-distribute-patterns", "-nostdlib", "-static",
    "-mips32r2", "-mno-abicalls", "-fno-pic", "-G0",
    f"-Wl,--section-start=.cases={CASES:#x},--section-start=.handler={HANDLER:#x}",
)  # fmt: skip
WINDOW_OFFSET = 0xF80
"""Of the memory that cases use in the section that guests/fuzz.S has for it."""
STATES_PER_SECOND = 1000  # of processor time; fewer is a hang


@dataclass(frozen=True)
class Mode:
    """What a guest is made for; IEEE 754-2008 NaNs come with FR=1 only."""

    byte_order: str
    fr: int
    nan2008: bool = False
    mips16: bool = False
    """Its cases are MIPS16e code."""

    @property
    def order(self) -> str:
        """Its sign in struct's formats."""
        return ">" if self.byte_order == "big" else "<"

    @property
    def has_dsp(self) -> bool:
        """Whether the judges have the DSP module: no CPU has it and IEEE 754-2008 NaNs."""
        return not self.nan2008

    def __str__(self) -> str:
        return f"{self.byte_order} FR={self.fr}{' nan2008' * self.nan2008}{' MIPS16' * self.mips16}"


MODES = tuple(
    Mode(byte_order, fr, nan2008) for byte_order in ORDERS for fr, nan2008 in ((0, False), (1, False), (1, True))
)
MIPS16_MODES = tuple(Mode(byte_order, 0, mips16=True) for byte_order in ORDERS)


class EngineError(Exception):
    """An executor that did not come to its end."""


def assembly(cases: list[Case], writable: bool) -> str:
    """Return the assembly of the cases and of their table."""
    lines = ["    .set noreorder", "    .set noat", f'    .section .cases, "a{"w" * writable}x", @progbits']
    for number, case in enumerate(cases):
        lines += case.assembly(f"case_{number}")
    lines += ["    .data", "    .globl cases", "cases:"]
    lines += [f"    .word enter_{case.home}, {case.home}, case_{number}" for number, case in enumerate(cases)]
    return "\n".join([*lines, ""])


def link(folder: Path, mode: Mode, cases: list[Case], window: int = WINDOW, writable: bool = False) -> Path:
    """Return the guest, whose cases lie one after another from CASES on, and their memory at `window`.

    writable: the guest may change the code of cases, which makes a difference to how it is translated.
    """
    triple = ORDERS[mode.byte_order]
    compiler = need(f"{triple}-gcc", f"gcc-{triple}")
    (folder / "cases.s").write_text(assembly(cases, writable))
    output = folder / ("writable" if writable else "guest")
    section = f"-Wl,--section-start=.window={window - WINDOW_OFFSET:#x}"
    words = [compiler, *_LINKED, section, "-mfp64" if mode.fr else "-mfp32", *(["-mnan=2008"] if mode.nan2008 else [])]
    words += ["-DHAS_DSP"] if mode.has_dsp else []
    words += [*map(str, (GUESTS / "fuzz.c", GUESTS / "fuzz.S", folder / "cases.s")), "-o", str(output)]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    if result.returncode:
        raise EngineError(result.stderr)
    return output


def library(guest: Path, opt: int | str) -> Path:
    """Return the guest's library, translated at a level."""
    output = guest.with_suffix(f".opt{opt}.so")
    pipeline.build(pipeline.open_guest(guest), output, pipeline.Options(opt=opt, jobs=1))
    return output


def run_host(host: Path, guest: Path, states: bytes, recompiled: Path | None) -> bytes:
    """Run the guest on our host: recompiled code, or the interpreter when there is none."""
    engine = ["--library", str(recompiled)] if recompiled else ["--engine", "interp"]
    return run_command([str(host), *engine, str(guest)], states)


def run_tier(host: Path, guest: Path, tier: tuple[str, ...], states: bytes) -> bytes:
    """Run the guest with options of the host that choose a tier."""
    return run_command([str(host), *tier, str(guest)], states)


def run_qemu(mode: Mode, guest: Path, states: bytes) -> bytes:
    """Run the guest under qemu-user."""
    qemu = need("qemu-mips" if mode.byte_order == "big" else "qemu-mipsel", "qemu-user")
    return run_command([qemu, "-cpu", "74Kf" if mode.has_dsp else "P5600", str(guest)], states)


def culprit(execute: Callable[[bytes], bytes], states: bytes) -> bytes:
    """Return the state that an executor does not come to the end with, of several of which it is one."""
    while len(states) > STATE_BYTES:
        half = len(states) // STATE_BYTES // 2 * STATE_BYTES
        try:
            execute(states[:half])
            states = states[half:]
        except EngineError:
            states = states[:half]
    return states


def run_command(command: list[str], states: bytes) -> bytes:
    """Return what a command makes of states; raises EngineError when it dies, hangs, or leaves some out."""
    limit = 10 + len(states) // STATE_BYTES / STATES_PER_SECOND
    try:
        result = run_for(command, limit, input=states, capture_output=True, check=False, cwd=ROOT)
    except subprocess.TimeoutExpired as error:
        raise EngineError(f"{command}: no end after {limit:.0f} s") from error
    if result.returncode or len(result.stdout) != len(states):
        done = len(result.stdout) // STATE_BYTES
        raise EngineError(f"{command}: status {result.returncode} after {done} states: {result.stderr[-300:]!r}")
    return result.stdout
