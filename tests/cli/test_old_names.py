"""Options by the names that they had in the last version: they work, and standard error tells the new name."""

from __future__ import annotations

import re

import pytest

from mipsrec.cli import parse

RENAMED = [
    ("build --only f prog", "build --function f prog", "--only is now --function"),
    ("build prog --only f --only g*", "build prog --function f --function g*", "--only is now --function"),
    ("build --profile out.prof prog", "build --use-profile out.prof prog", "--profile is now --use-profile"),
    ("verify --functions f,g prog -x", "verify --function f,g prog -x", "--functions is now --function"),
    ("run --engine native prog", "run --tier aot prog", "--engine native is now --tier aot"),
    ("profile --engine interp prog", "profile --tier interp prog", "--engine interp is now --tier interp"),
    ("call --engine=interp prog f 1", "call --tier=interp prog f 1", "--engine interp is now --tier interp"),
    ("bench --with qemu,clang", "bench --contender qemu,clang", "--with is now --contender"),
    ("bench --targets --rounds 1", "bench --goals --rounds 1", "--targets is now --goals"),
    ("bench --plot x.svg a.elf b", "bench --chart x.svg a.elf b", "--plot is now --chart"),
]


@pytest.mark.parametrize("old, new, said", RENAMED)
def test_old_names_mean_the_same(capsys: pytest.CaptureFixture[str], old: str, new: str, said: str) -> None:
    found = parse(old.split())
    assert capsys.readouterr() == ("", f"mipsrec: {said}\n")
    assert found == parse(new.split())
    assert capsys.readouterr() == ("", "")


def test_old_and_new_names_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    found = parse("build --function f --only g --function h prog".split())
    assert found.function == ["f", "g", "h"] and capsys.readouterr().err == "mipsrec: --only is now --function\n"


def test_an_old_model_has_a_new_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse("build --calls watched prog".split()) == parse("build --calls instrumented prog".split())
    assert capsys.readouterr().err == "mipsrec: --calls watched is now --calls instrumented\n"


def test_the_last_name_counts() -> None:
    assert parse("run --tier baseline --engine native prog".split()).tier == "aot"
    assert parse("run --engine native --tier baseline prog".split()).tier == "baseline"


def test_old_arguments_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse("run --engine aot prog".split())
    assert capsys.readouterr().err.startswith("mipsrec: argument --engine: invalid choice: 'aot'")


@pytest.mark.parametrize("command", ["build", "verify", "run", "profile", "call", "bench"])
def test_help_shows_new_names_only(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit, match="0"):
        parse([command, "--help"])
    shown = re.findall(r"^  (?:-\w \S+, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)
    old_names = {said.split()[0] for old, _, said in RENAMED if old.split()[0] == command}
    assert "--opt" in shown and old_names and old_names.isdisjoint(shown)
