"""Vectorised loops of compiled programs: iterations performed together are as right as one by one."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from mipsrec.emit.calls import HOST_EDGES
from mipsrec.emit.doors import DOORS
from mipsrec.emit.module import module_text
from mipsrec.emit.writer import MODULE_METADATA
from mipsrec.target import this_target
from tests.lift.plans import open_guest, plans
from tests.support.compiled import QEMU, compile_guest, library_at
from tests.support.paths import GUESTS
from tests.support.sampling import ALL
from tests.support.tiers import BASELINE, INTERPRETED
from tests.support.tools import need

pytestmark = pytest.mark.sampled

SOURCE = GUESTS / "vectorize.c"
OPTIONS = ("-static", "-Wno-unused-value")
BUILDS = [("big",), ("little", "-march=mips1", "-mfp32"), ("little", "-mfp64")]
APART = {"carried", "strided", "never_meets", "narrow_steps", "truncated_quotient", "bits_quotient"}
APART_LITTLE = {"strided_dot", "strided_dot_single"}
APART_MIPS1 = {"same", "in_memory", "to_words", "single_to_words", "truncated"}  # other code is made of these


class Guest:
    """A guest, and what it prints interpreted; for one byte order in the baseline tier, which is faster."""

    def __init__(self, folder: Path, host: Path, order: str, *options: str) -> None:
        self.order = order
        self.options = options
        self.path = compile_guest(folder, order, SOURCE.read_text(), *OPTIONS, *options)
        self.said = run(host, *(INTERPRETED if ALL or order == "big" else BASELINE["baseline"]), self.path)


def run(*words: object) -> str:
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=600, check=True).stdout


@pytest.fixture(scope="module", params=BUILDS, ids="".join)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, host: Path) -> Guest:
    return Guest(tmp_path_factory.mktemp("vectorize"), host, *request.param)


def test_found(guest: Guest) -> None:
    together, all_loops = set(), set()
    for _, plan in plans(guest.path, None, "loop_*"):
        if not plan.memory_resident:
            all_loops.add(plan.function.name[5:])
            if plan.vectorized:
                together.add(plan.function.name[5:])
    apart = APART | (APART_LITTLE if guest.order == "little" else set())
    assert all_loops - together == apart | (APART_MIPS1 if "-march=mips1" in guest.options else set())


@pytest.mark.parametrize("guest", BUILDS if ALL else BUILDS[:1], ids="".join, indirect=True)
def test_as_qemu_says(host: Path, guest: Guest) -> None:
    """It takes no doubles from odd words, and has NaNs and denormal numbers of its own: those are left out."""

    def comparable(text: str) -> list[str]:
        return [line for line in text.splitlines() if " special " not in line]

    judge = need(QEMU[guest.order], "qemu-user")
    assert comparable(run(judge, guest.path, "aligned")) == comparable(
        run(host, "--engine", "interp", guest.path, "aligned")
    )


@pytest.mark.parametrize("opt", [0, 2])
def test_recompiled(host: Path, guest: Guest, tmp_path: Path, opt: int) -> None:
    library = library_at(open_guest(guest.path), tmp_path, opt, "loop_*")
    said = run(host, "--library", library, guest.path)
    assert without_places(said) == without_places(guest.said)


def without_places(text: str) -> list[str]:
    """Return the lines, less which of two accesses faults that LLVM may exchange."""
    return [re.sub(" pc .* address [0-9a-f]*", "", line) for line in text.splitlines()]


def test_upper_halves_are_kept() -> None:
    """What leaves all registers to its caller must not clear them at its end."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_triple(this_target().triple).create_target_machine(cpu="x86-64-v3")
    edges = f'target triple = "{this_target().triple}"\n{HOST_EDGES}{DOORS}{MODULE_METADATA}'
    for text in (edges, module_text([], this_target().triple).replace("define internal", "define")):
        made = machine.emit_assembly(llvm.parse_assembly(text))
        assert "vmovups" in made and "vzeroupper" not in made
