"""What follows a program's name on the command line is the guest's, whatever it looks like."""

from __future__ import annotations

import pytest

from mipsrec.cli import parse
from tests.support.commandline import assert_one_line, mipsrec

OPTIONS = [
    (), ("--strace",), ("-L", "root"), ("-Lroot",), ("--sysroot=root",), ("--sys", "root"), ("-E", "A=1", "--stats"),
]  # fmt: skip
GUEST = [(), ("a", "b"), ("--st",), ("-h",), ("--help",), ("--",), ("--", "a"), ("a", "--", "-L"), ("-",), ("", "x y")]


@pytest.mark.parametrize("command", ["run", "verify", "profile"])
@pytest.mark.parametrize("words", GUEST, ids=" ".join)
def test_words_of_the_guest(command: str, words: tuple[str, ...]) -> None:
    for options in OPTIONS if command == "run" else OPTIONS[:3]:
        for program in (("prog",), ("--", "prog"), ("--", "-prog")):
            found = parse([command, *options, *program, *words])
            assert (found.program, found.arguments) == (program[-1], list(words))
            assert found.sysroot == ("root" if "root" in "".join(options) else None)


PAIR = [
    "p n -- --rounds x", "p n --rounds 2 --json -- --rounds x", "--rounds 2 p --json n -- --rounds x",
    "--json p --rounds=2 n -- --rounds x", "--rounds 2 p n --js a.json --without qemu -- --rounds x",
]  # fmt: skip


@pytest.mark.parametrize("words", PAIR)
def test_words_of_a_pair(words: str) -> None:
    """Options stand anywhere before `--`; what follows it is the pair's."""
    found = parse(["bench", *words.split()])
    assert (found.programs, found.arguments) == (["p", "n"], ["--rounds", "x"])
    assert found.rounds == (2 if "2" in words else 3)
    assert found.json == ("a.json" if "a.json" in words else "-" if "--json" in words else None)
    assert found.without == (["qemu"] if "qemu" in words else [])


WRONG = [("run",), ("run", "--stats"), ("run", "-L"), ("run", "--st", "prog"), ("run", "--stats=1", "prog")]


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_words_that_are_wrong(words: tuple[str, ...]) -> None:
    assert_one_line(mipsrec(*words), "mipsrec run --help", status=2)
