"""The text of a plan gives the plan again, with the same IR; a text that is wrong is refused with the line that is."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from mipsrec.emit.function import write_function
from mipsrec.errors import LiftError
from mipsrec.lift.check import findings
from mipsrec.lift.parse import parse, split_plans
from mipsrec.lift.text import plan_text
from mipsrec.lift.text.words import Line, quoted, registers_text, unquoted
from mipsrec.options import Options
from tests.lift.checked_plans import WAYS
from tests.lift.plans import plans
from tests.support.paths import PREBUILT

GUESTS = sorted(PREBUILT.glob("*/*.elf"))
CASES = [(path, WAYS[number % len(WAYS)]) for number, path in enumerate(GUESTS)][::4]


@pytest.mark.parametrize(
    ("path", "options"),
    CASES,
    ids=lambda one: one.stem if isinstance(one, Path) else f"{one.memory}-{one.calls}-{one.opt}",
)
def test_round_trip(path: Path, options: Options) -> None:
    for number, (symbol, plan) in enumerate(plans(path, options)):
        found, again = parse(plan_text(plan, symbol))
        assert found == symbol
        if number % 5 == 0:
            assert write_function(again, symbol, 3).text == write_function(plan, symbol, 3).text


def a_text(name: str) -> str:
    """Return the text of the first plan of a sample that has a branch."""
    texts = [plan_text(plan, symbol) for symbol, plan in plans(PREBUILT / "mipsel" / f"{name}.elf")]
    return next(text for text in texts if "\n  branch: " in text and "\n  call: " in text)


@pytest.fixture(scope="module")
def text() -> str:
    return a_text("virtual")


def test_a_text_with_a_store_less_breaks_a_contract(text: str) -> None:
    """What is decided is what the text says."""
    before, _, after = text.partition("stores v0 ")
    assert after
    _, plan = parse(f"{before}stores {after}")
    assert any("contract 1: the state lacks v0" in line for line in findings(plan))


def test_other_lines_are_refused(text: str) -> None:
    lines = text.splitlines()
    branch = next(n for n, line in enumerate(lines) if line.startswith("  branch: "))
    block = next(n for n, line in enumerate(lines) if line.startswith("block "))
    wrong = {
        (0, "plan x"): ":1: plan x: an option of this value is not known",
        (1, lines[1].replace("start", "begin")): ":2: .*its start or limit is missing",
        (block, lines[block].replace("live", "love")): f":{block + 1}: .* should be 'block ",
        (block + 1, "  00000000  ffffffff  nop"): "no instruction has this word",
        (block + 1, lines[block + 1].replace("  ", " ", 2)): f":{block + 1}: .*the instruction at .* is missing",
        (branch, "  branch: saves k7"): f":{branch + 1}: branch: saves k7: there is no register k7",
        (branch, "  brunch"): f":{branch + 1}: brunch: no line of the end of a block begins so",
        (branch + 1, "  -> 00400"): f":{branch + 2}: -> 00400: 00400 is no pc of eight hexadecimal digits",
        (branch + 1, "  goto"): f":{branch + 2}: goto: here should be a line that begins with ->",
    }  # fmt: skip
    for (number, line), said in wrong.items():
        with pytest.raises(LiftError, match=said):
            parse("\n".join([*lines[:number], line, *lines[number + 1 :]]) + "\n")


def test_broken_texts() -> None:
    """Any change is read as what it says, or refused; nothing else is raised."""
    texts, chance = [a_text("virtual"), a_text("nbody")], random.Random(1)
    refused = 0
    for _ in range(100):
        lines = chance.choice(texts).splitlines()
        at = chance.randrange(len(lines))
        words = lines[at].split(" ")
        words[chance.randrange(len(words))] = chance.choice(chance.choice(lines).split(" "))
        lines[at : at + chance.randrange(2)] = [" ".join(words)] * chance.randrange(3)
        try:
            parse("\n".join(lines) + "\n")
        except LiftError as error:
            refused += 1
            assert str(error).startswith("plan:") and str(error).count("\n") == 0
    assert refused > 50


def test_several_plans(text: str) -> None:
    found = list(split_plans(text + "# a comment\n" + text))
    assert [start for start, _ in found] == [0, text.count("\n") + 1]
    assert parse(found[0][1])[0] == parse(found[1][1], "two", found[1][0])[0]


def test_sets_of_registers() -> None:
    line = Line(1, "x: all all but sp f4-f31", "here")
    assert registers_text(line.registers("all")) == "all but sp f4-f31"
    for bits in (0, 1 << 4, 0b11 << 4, 0b1111 << 4, 1 << 31, 0xFF << 64):
        assert Line(1, f"x: in {registers_text(bits)}", "here").registers("in") == bits


def test_names_as_one_word() -> None:
    for name in ("main", "", "operator new(unsigned int)", "a; b: c\\d", "größe", "\n\x1b[2m", "\udc80"):
        word = quoted(name)
        assert unquoted(word) == name and len(word.split()) == 1 and ";" not in word and ":" not in word
