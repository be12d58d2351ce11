"""Saved-register handoff: frames are found where the rules allow it, and callers do the saves."""

from __future__ import annotations

import pytest

from tests.lift.plans import R, Snippets, marked

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
    "sp_moves_in_a_likely_slot": (BASE.replace("addu  $2", "beqzl $2, 1f\n addiu $29, $29, -8\n addu $2"), None),
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
