"""Vectorising: iterations of floating-point loops are performed together, and always as right as one by one."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from mipsrec.emit.calls import HOST_EDGES
from mipsrec.emit.module import module_text
from mipsrec.emit.writer import MODULE_METADATA
from mipsrec.isa.effects import ALL_BITS
from mipsrec.target import this_target
from tests.lift.plans import Snippets, open_guest, plans
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


SCALE = """
1:  lwc1  $f2, 0($4)
    mul.s $f2, $f2, $f12
    swc1  $f2, 0($5)
    addiu $4, $4, 4
    addiu $5, $5, 4
    bne   $4, $6, 1b
    nop
    jr    $31
    nop
"""
SUM = """
1:  lwc1  $f2, 0($4)
    lwc1  $f4, 0($5)
    mul.s $f2, $f2, $f4
    add.s $f0, $f0, $f2
    addiu $4, $4, 4
    addiu $5, $5, 4
    bne   $4, $8, 1b
    nop
    jr    $31
    nop
"""
SNIPPETS = Snippets(
    {
        "scale": SCALE,
        "integers": SCALE.replace("lwc1  $f2", "lw $8").replace("swc1  $f2", "sw $8").replace("mul.s", "# mul.s"),
        "only_loads": SCALE.replace("swc1", "lwc1"),
        "carried": SCALE.replace("mul.s $f2, $f2", "add.s $f12, $f2").replace("swc1  $f2", "swc1 $f12"),
        "sum": SUM,
        "in_memory": SUM.replace("add.s $f0, $f0, $f2", "lwc1 $f0, 0($6)\n add.s $f0, $f0, $f2\n swc1 $f0, 0($6)"),
        "only_sum": SUM.replace("mul.s", "# mul.s"),
        "sum_in_words": SUM.replace("add.s $f0, $f0, $f2", "mtc1 $7, $f0\n add.s $f0, $f0, $f2\n mfc1 $7, $f0"),
        "bits_of_sum": SUM.replace("add.s $f0", "cvt.s.w $f0, $f0\n add.s $f0"),
        "half_carried": SUM.replace("add.s $f0, $f0, $f2", "mov.s $f6, $f0\n add.d $f0, $f0, $f2\n"),
        "loaded_twice": SUM.replace("add.s", "lwc1 $f0, 0($6)\n swc1 $f2, 0($6)\n lwc1 $f2, 0($6)\n add.s"),
        "strided_sum": SUM.replace("addiu $5, $5, 4", "addiu $5, $5, 8").replace("mul.s $f2, $f2, $f4",
            "mul.s $f2, $f2, $f4\n mul.s $f2, $f2, $f4"),
        "overlaps": SCALE.replace("addiu $5, $5, 4", "nop").replace("swc1  $f2, 0($5)", "swc1 $f2, 4($4)"),
        "steps_sp": SCALE.replace("addiu $5, $5, 4", "addiu $5, $5, 4\n addiu $29, $29, 4"),
        "strided": SCALE.replace("addiu $5, $5, 4", "addiu $5, $5, 8"),
        "uncountable": SCALE.replace("bne   $4, $6", "bne $0, $6"),
        "may_go_on_for_long": SUM.replace("0($5)", "4($30)").replace("addiu $5, $5, 4", "nop").replace("$4", "$30"),
        "walks": SUM.replace("0($5)", "4($16)").replace("addiu $5, $5, 4", "nop").replace("$4", "$16"),
        "two_blocks": SCALE.replace("addiu $4", "beqz $7, 2f\n nop\n addiu $7, $7, 1\n 2: addiu $4"),
        "calls": SCALE.replace("addiu $4", "syscall\n addiu $4"),
        "traps": SCALE.replace("addiu $4", "teq $7, $8\n addiu $4"),
        "no_loop": "mul.s $f2, $f2, $f12\n swc1 $f2, 0($5)\n jr $31\n nop",
    }
)  # fmt: skip


def test_vectorized() -> None:
    plan = SNIPPETS.plan("scale")
    (iteration,) = plan.vectorized.values()
    assert list(plan.vectorized) == [plan.function.start]
    assert iteration.advances == {4: 4, 5: 4}
    assert [step.name for step in iteration.steps] == ["load", "register", "mul"]


def test_sum_in_order() -> None:
    (iteration,) = SNIPPETS.plan("sum").vectorized.values()
    assert [step.name for step in iteration.steps] == ["load", "load", "mul", "register", "add"]
    assert (iteration.carried, iteration.serial, iteration.cells()) == ({3: 4}, {3, 4}, [])
    assert iteration.taken_in() == {4}


def test_sum_in_memory() -> None:
    (iteration,) = SNIPPETS.plan("in_memory").vectorized.values()
    assert [access.address.terms for access in iteration.cells()] == [((6, 1),)]
    assert not iteration.stores


def test_only_a_loop_that_ends() -> None:
    """A load by fp, which LLVM may drop, does not end a loop; one by another register does."""
    assert SNIPPETS.plan("walks").vectorized and not SNIPPETS.plan("may_go_on_for_long").vectorized


def test_strided_sum_by_byte_order() -> None:
    assert not SNIPPETS.plan("strided_sum").vectorized
    assert SNIPPETS.plan("strided_sum", "big").vectorized


@pytest.mark.parametrize("name", [
    "integers", "only_loads", "carried", "only_sum", "sum_in_words", "bits_of_sum", "half_carried", "loaded_twice",
    "overlaps", "steps_sp", "strided", "uncountable", "two_blocks", "calls", "traps", "no_loop",
])  # fmt: skip
def test_not_vectorized(name: str) -> None:
    assert SNIPPETS.plan(name).vectorized == {}


def test_off() -> None:
    assert SNIPPETS.plan("scale", memory="paged").vectorized == {}
    assert SNIPPETS.plan("scale", memory_resident=ALL_BITS).vectorized == {}


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
    edges = f'target triple = "{this_target().triple}"\n{HOST_EDGES}{MODULE_METADATA}'
    for text in (edges, module_text([], this_target().triple).replace("define internal", "define")):
        made = machine.emit_assembly(llvm.parse_assembly(text))
        assert "vmovups" in made and "vzeroupper" not in made
