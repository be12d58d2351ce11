"""Saved-register handoff: registers bypass the state; stack frames are used as the rules allow and as they forbid."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.lift import policy
from mipsrec.lift.convention import argument_registers
from mipsrec.lift.facts.dead_at_self_call import with_dead_registers
from mipsrec.lift.facts.frames import find_frame
from mipsrec.lift.facts.partial_inline import find_partial_inline
from tests.lift.plans import R, Snippets, marked
from tests.support.compiled import BARE, ORDERS, QEMU, compile_guest, library_at
from tests.support.paths import GUESTS
from tests.support.tools import need

pytestmark = pytest.mark.sampled

SOURCE = GUESTS / "saved_registers.c"
OPTIONS = (*BARE, f"-I{SOURCE.parent}")

BASE = """
    addiu $29, $29, -32
    sw    $31, 28($29)
    sw    $16, 24($29)
    beqz  $4, 1f
    move  $16, $4
    jal   NAME
    addiu $4, $4, -1
    addu  $2, $2, $16
1:  lw    $31, 28($29)
    lw    $16, 24($29)
    jr    $31
    addiu $29, $29, 32
"""
UNSAVED = BASE.replace("    sw    $16, 24($29)\n", "")
FRAMES = {
    "base": (BASE, {16, 31}),
    "stores_before_the_loads": (BASE.replace("1:", "1: sw $8, 0($5)\n"), {16, 31}),
    "loads_before_the_saves": (BASE.replace("sw    $31", "lw $8, 24($29)\n sw $31"), {16, 31}),
    "stores_beside": (BASE.replace("jr ", "sw $8, 20($29)\n jr "), {16, 31}),
    "stores_by_another_base": (BASE.replace("jr ", "sw $8, 0($5)\n jr "), {16, 31}),
    # some registers do not count
    "written_before": (BASE.replace("sw    $16", "li $16, 0\n sw $16"), {31}),
    "stored_twice": (BASE.replace("sw    $16, 24", "sw $8, 24($29)\n sw $16, 24"), {31}),
    "loaded_from_elsewhere": (BASE.replace("lw    $16, 24", "lw $16, 20"), {31}),
    "loaded_on_one_way": (BASE.replace("lw    $16, 24($29)", "").replace("addu  $2, $2, $16", "lw $16, 24($29)"), {31}),
    "loaded_and_written": (BASE.replace("jr ", "li $16, 0\n jr "), {31}),
    "loaded_before_a_call": (
        BASE.replace("lw    $16, 24($29)\n", "").replace("1:", "1: lw $16, 24($29)\n jal base\n nop\n"), {31}),
    "stores_over_one": (BASE.replace("jr ", "sh $8, 26($29)\n jr "), {31}),
    "saves_a_temporary": (BASE.replace("$16", "$8"), {31}),
    "saves_a_half": (BASE.replace("sw    $16", "sh $16"), {31}),
    "saves_above_sp": (BASE.replace("24($29)", "32($29)"), {31}),
    "saves_below_sp": (BASE.replace("24($29)", "-8($29)"), {31}),
    "saves_in_the_next_block": (UNSAVED.replace("jal ", "sw $16, 24($29)\n jal "), {31}),
    "saves_in_a_likely_slot": (UNSAVED.replace("beqz ", "beqzl").replace("move  $16, $4", "sw $16, 24($29)"), {31}),
    "saves_after_another_store": (BASE.replace("sw    $16", "sw $8, 0($5)\n sw $16"), {31}),
    # none does
    "loads_ra_in_the_slot": (
        BASE.replace("1:  lw    $31, 28($29)", "1:").replace(
            "jr    $31\n    addiu $29, $29, 32", "addiu $29, $29, 32\n jr $31\n lw $31, -4($29)"), None),
    "no_saves": (BASE.replace("sw ", "lw "), None),
    "sp_moves_by_a_register": (BASE.replace("addiu $29, $29, -32", "subu $29, $29, $8"), None),
    "sp_is_set_later": (BASE.replace("addu  $2", "nop\n subu $29, $29, $8\n addu $2"), None),
    "sp_moves_on_one_way": (BASE.replace("addu  $2", "nop\n addiu $29, $29, -8\n addu $2"), None),
    "sp_moves_in_a_likely_slot": (BASE.replace("addu  $2", "beqzl $2, 1f\n addiu $29, $29, 0\n addu $2"), None),
    "sp_is_not_put_back": (BASE.replace("addiu $29, $29, 32", "addiu $29, $29, 24"), None),
    "makes_a_system_call": (BASE.replace("addu  $2", "syscall\n addu $2"), None),
    "goes_on_elsewhere": (BASE.replace("addu  $2", "beqz $2, base\n nop\n addu $2"), None),
    "goes_on_by_a_register": (BASE.replace("addu  $2", "jr $25\n nop\n addu $2"), None),
    "goes_back_to_the_start": (
        BASE.replace("addu  $2", "nop\n addiu $29, $29, 32\n beqz $2, NAME\n nop\n addiu $29, $29, -32\n addu $2"),
        None),
    "writes_ra_unsaved": (BASE.replace("sw    $31", "lw $31"), None),
    "is_not_recursive": (BASE.replace("jal   NAME", "jal leaf"), None),
}  # fmt: skip
CODE = Snippets({name: text.replace("NAME", name) for name, (text, _) in FRAMES.items()} | {"leaf": "jr $31\n nop"})


@pytest.mark.parametrize("name", FRAMES)
def test_frame(name: str) -> None:
    frame = CODE.guest().starts[CODE.guest().function(name).start].frame
    assert (None if frame is None else {saved.register for saved in frame.saved}) == FRAMES[name][1]


def test_callers_do_the_saves() -> None:
    assert marked(CODE.plan("base", body=True), "by_caller") == ["sw ra, 28(sp)", "sw s0, 24(sp)"]
    assert marked(CODE.plan("base"), "by_caller") == []
    assert marked(CODE.plan("written_before", body=True), "by_caller") == ["sw ra, 28(sp)"]


def test_checked_stores() -> None:
    assert marked(CODE.plan("stores_by_another_base", body=True), "checked") == ["sw t0, 0(a1)"]
    assert marked(CODE.plan("stores_by_another_base"), "checked") == []
    for name in ("base", "stores_before_the_loads", "stores_beside"):
        assert marked(CODE.plan(name, body=True), "checked") == [], name


def test_call_of_a_body() -> None:
    plan = CODE.plan("base")
    (site,) = [site for site in plan.sites.values() if site.body is not None]
    assert site.not_in_state & R[16] and site.not_in_state & R[31] and site.passed & R[16]


@pytest.mark.parametrize("options", [{"calls": "instrumented"}, {"calls": "thunked"}, {"memory": "paged"}], ids=str)
def test_off(options: dict[str, str]) -> None:
    assert all(site.body is None for site in CODE.plan("base", **options).sites.values())


@pytest.fixture(scope="module", params=ORDERS)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The guest, and what qemu-user says it prints."""
    program = compile_guest(tmp_path_factory.mktemp("frames"), request.param, SOURCE.read_text(), *OPTIONS)
    judge = need(QEMU[request.param], "qemu-user")
    said = subprocess.run([judge, program], capture_output=True, text=True, timeout=600, check=True).stdout
    assert said.count("\n") == 27
    return program, said


def test_interpreted(host: Path, guest: tuple[Path, str]) -> None:
    result = subprocess.run(
        [host, "--engine", "interp", guest[0]], capture_output=True, text=True, timeout=600, check=True
    )
    assert result.stdout == guest[1]


@pytest.mark.parametrize("opt", [0, 3])
def test_recompiled(
    host: Path, guest: tuple[Path, str], tmp_path: Path, opt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "framed_functions", lambda program: set(program.functions))
    library = library_at(pipeline.open_guest(guest[0]), tmp_path, opt)
    result = subprocess.run(
        [host, "--library", library, guest[0]], capture_output=True, text=True, timeout=600, check=True
    )
    assert result.stdout == guest[1]


def test_found(guest: tuple[Path, str]) -> None:
    functions = {function.name: function for function in pipeline.open_guest(guest[0]).program.functions.values()}

    def saved(name: str) -> set[int] | None:
        frame = find_frame(functions[name])
        return None if frame is None else {slot.register for slot in frame.saved}

    assert saved("plain") == saved("deep") == saved("stores_late") == saved("overwrites") == {16, 17, 31}
    assert saved("saves_late") == {31}
    assert saved("again") is None
    assert saved("leaf") == {16, 17}
    assert saved("sometimes") == {16, 31}
    assert saved("store") is saved("peeks") is None
    assert functions["deep"].start in policy.framed_functions(pipeline.open_guest(guest[0]).program)
    frame = find_frame(functions["stores_elsewhere"])
    assert frame is not None and [len(stores) for stores in frame.returns.values()] == [1]


def test_dead_at_self_call(guest: tuple[Path, str]) -> None:
    functions = {function.name: function for function in pipeline.open_guest(guest[0]).program.functions.values()}

    def dead(name: str) -> set[int]:
        frame = find_frame(functions[name])
        assert frame is not None
        bits = with_dead_registers(functions[name], frame, argument_registers(functions[name])).dead_at_self_call
        return {number for number in range(32) if bits >> number & 1}

    assert dead("temps") == dead("leaves_some") == {11, 12, 13}
    for name in ("tells", "hears", "moves_on", "moves_on_at_sp", "traps", "deep"):
        assert not dead(name), name


def test_partial_inline(guest: tuple[Path, str]) -> None:
    functions = {function.name: function for function in pipeline.open_guest(guest[0]).program.functions.values()}
    assert find_partial_inline(functions["temps"]) and find_partial_inline(functions["skips_at_once"])
    assert find_partial_inline(functions["looks"]) is None
    assert find_partial_inline(functions["moves_on"]) is None


@pytest.mark.parametrize("case", range(1, 9))
@pytest.mark.parametrize("order", ORDERS)
def test_faults_and_odd_returns(host: Path, tmp_path: Path, order: str, case: int) -> None:
    """Loads that nobody needs fault in functions that call themselves; ra in the slot of a return is for later."""
    source = (SOURCE.parent / "saved_registers_odd.c").read_text()
    program = compile_guest(tmp_path, order, source, *OPTIONS, f"-DCASE={case}")
    library = tmp_path / "library.so"
    pipeline.build(pipeline.open_guest(program), library, pipeline.Options(opt="2", jobs=1))
    judge = need(QEMU[order], "qemu-user")
    ends = [
        subprocess.run([*map(str, words), program], capture_output=True, text=True, timeout=600, cwd=tmp_path)
        for words in ([judge], [host, "--engine", "interp"], [host, "--library", library])
    ]
    assert len({(end.returncode, end.stdout) for end in ends}) == 1
    assert ends[0].returncode == (0 if case in (6, 7) else -signal.SIGSEGV)
