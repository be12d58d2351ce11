"""The assembler of tests/lift makes the words that the GNU assembler makes, and knows what it does not know."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.lift.plans import Snippets
from tests.support.assembler import SECTIONS, AssemblyError, assembled, assembled_guest
from tests.support.compiled import BARE, ORDERS, compile_guest
from tests.support.paths import TESTS

PLACES = [f"-Wl,--section-start={name}={address:#x}" for name, (address, _, _) in SECTIONS.items()]
MODULES = sorted(path.stem for path in (TESTS / "lift").glob("test_*.py") if "Snippets(" in path.read_text())
WORDS = """
    .text; .set noreorder; .set mips32r2; .globl __start; .type __start, @function
__start: addu $2, $3, $ra; sllv $2, $3, $4; rotr $2, $3, 8
    mult $2, $3; mflo $2; jalr $2; nop; j 1f; nop; bltzal $2, 1f; nop; bc1t $fcc2, 1f; nop; c.lt.d $fcc3, $f2, $f4
1:  movt $2, $3, $fcc1; madd.d $f2, $f4, $f6, $f8; pref 4, 8($5); sync; break; tne $2, $3
    b 1b; cfc1 $2, $31; cvt.w.d $f2, $f4; lui $2, %hi(table); lw $2, %lo(table)($2); li $2, -5; bgtz $2, __start; nop
    .size __start, . - __start
    .data; .align 2
table: .word __start, 5, 1b
"""


def programs() -> Iterator[Snippets]:
    """Yield the programs of the modules of tests/lift, where each stands beside what is said about its plan."""
    for name in MODULES:
        values = vars(importlib.import_module(f"tests.lift.{name}")).values()
        found = (one for value in values for one in (value.values() if isinstance(value, dict) else [value]))
        yield from (one for one in found if isinstance(one, Snippets))


def code_of(guest: pipeline.Guest) -> list[int]:
    start, end = SECTIONS[".text"][0], max(end for _, end in guest.image.executable_ranges)
    return list(guest.memory.words(start, end))


def assert_same(folder: Path, text: str, order: str) -> None:
    theirs = pipeline.open_guest(compile_guest(folder, order, text, *BARE, *PLACES, language="assembler"))
    ours = assembled_guest(text, order)
    wanted = code_of(theirs)
    while wanted[-1] == 0 != code_of(ours)[-1]:  # a section is filled up
        wanted.pop()
    assert code_of(ours) == wanted[: len(code_of(ours))]


@pytest.mark.parametrize("order", ORDERS)
def test_operands(order: str, tmp_path: Path) -> None:
    assert_same(tmp_path, WORDS, order)


def test_programs_of_the_tests_of_plans(tmp_path: Path) -> None:
    for program in programs():
        assert_same(tmp_path, program.text, "little")


@pytest.mark.parametrize(("line", "said"), [
    ("frob $2, $3", "no row is written so"), ("addu $2", "no row"), ("addu $2, $3, $40", "no register"),
    ("lw $2, 0(x)", "x is no register"), ("b 1f", "no label 1f"), ("addiu $2, $3, x", "x is no number and no label"),
    (".quad 5", "no directive .quad"), (".section .bss", "no section .bss"),
])  # fmt: skip
def test_what_it_does_not_know(line: str, said: str) -> None:
    with pytest.raises(AssemblyError, match=said):
        assembled(f"__start: {line}", "big")
