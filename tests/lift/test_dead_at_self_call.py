"""Dead at self call: registers that a recursive function writes again after each call of itself bypass the state."""

from __future__ import annotations

import pytest

from mipsrec.state import GPR_NAMES
from tests.lift.plans import Snippets

WRITES = "li $11, 1\n li $12, 2\n li $13, 3\n"
BASE = f"""
    addiu $29, $29, -32
    sw    $31, 28($29)
    sw    $16, 24($29)
    beqz  $4, 1f
    move  $16, $4
    {WRITES}
    addu  $5, $11, $12
    addu  $5, $5, $13
    jal   NAME
    addiu $4, $4, -1
    {WRITES.replace("li", "addiu").replace("$11,", "$11, $0,").replace("$12,", "$12, $0,").replace("$13,", "$13, $0,")}
    addu  $2, $2, $16
1:  lw    $31, 28($29)
    lw    $16, 24($29)
    jr    $31
    addiu $29, $29, 32
"""
ALL = {"t3", "t4", "t5"}
AFTER = "addiu $4, $4, -1\n"
CASES = {
    "base": (BASE, ALL),
    "temporaries_of_the_frame": (BASE.replace("li $11, 1", "sw $8, 4($29)\n li $11, 1", 1), ALL),
    # a register of four is read, or shown
    "read_after_the_call": (BASE.replace(AFTER, f"{AFTER} addiu $14, $14, 1\n"), ALL),
    "read_at_the_start": (
        BASE.replace("beqz", "move $3, $14\n li $14, 4\n beqz").replace(AFTER, f"{AFTER} li $14, 4\n"), ALL),
    "parameter": (
        BASE.replace("beqz", "move $3, $7\n li $7, 4\n beqz").replace(AFTER, f"{AFTER} li $7, 4\n"), ALL | {"a3"}),
    "written_after_the_call_only": (BASE.replace(AFTER, f"{AFTER} li $14, 4\n"), ALL | {"t6"}),
    # all are
    "calls_another": (BASE.replace(AFTER, f"{AFTER} jal other\n nop\n"), set()),
    "traps_after_the_call": (BASE.replace(AFTER, f"{AFTER} teq $4, $5\n"), set()),
    "traps_before_it": (BASE.replace("li $11, 1", "teq $4, $5\n li $11, 1", 1), set()),
    "returns_before_it_writes": (BASE.replace(AFTER, f"{AFTER} beqz $2, 1f\n nop\n"), set()),
    "stores_on_the_way_from_the_start": (BASE.replace("beqz", "sw $8, 0($5)\n beqz"), set()),
    "stores_over_ra": (BASE.replace("beqz", "sw $8, 28($29)\n beqz"), set()),
    "calls_itself_on_a_condition": (BASE.replace("jal   NAME", "bgezal $4, NAME"), set()),
    "links_another_register": (
        BASE.replace("jal   NAME", "lui $25, %hi(NAME)\n addiu $25, $25, %lo(NAME)\n jalr $10, $25"), set()),
    "only_two": (BASE.replace("li $13, 3", "li $12, 3").replace("addiu $13, $0, 3", "nop"), set()),
}  # fmt: skip
CODE = Snippets(
    {
        **{name: text.replace("NAME", name) for name, (text, _) in CASES.items()},
        "other": "jr $31\n nop",
        "calls_base": "move $16, $31\n jal base\n nop\n jr $16\n nop",
        "calls_one": "move $16, $31\n jal one\n nop\n jr $16\n nop",
        "one": BASE.replace("NAME", "two"),
        "two": BASE.replace("NAME", "one"),
    }
)


def dead(name: str) -> set[str]:
    """Return the registers that are dead at calls of a function by itself."""
    frame = CODE.guest().starts[CODE.guest().function(name).start].frame
    assert frame is not None, name
    return {name for number, name in enumerate(GPR_NAMES) if frame.dead_at_self_call >> number & 1}


@pytest.mark.parametrize("name", CASES)
def test_dead(name: str) -> None:
    assert dead(name) == CASES[name][1]


def test_calls_of_another_function() -> None:
    assert dead("one") == dead("two") == set()


def test_only_the_function_itself_calls_its_body() -> None:
    def bodies(name: str, body: bool) -> list[str]:
        return [site.body.symbol for site in CODE.plan(name, body=body).sites.values() if site.body is not None]

    assert [symbol.split(".")[0] for symbol in bodies("base", body=True)] == ["base"]
    assert bodies("calls_base", body=False) == []
    assert [symbol.split(".")[0] for symbol in bodies("calls_one", body=False)] == ["one"]
