"""Arguments that several commands take, in groups: each function adds one group to a command's parser.

What was parsed comes back by `options_of` and `named_functions`.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..options import AUTO, CALL_MODELS, LEVELS, MEMORY_MODELS, Options
from ..target.cpu import CHOICES


def number_from(least: int, most: float = math.inf) -> Callable[[str], int]:
    """Return a parser of numbers that are not less than `least`, nor more than `most`."""

    def number(text: str) -> int:
        if not re.fullmatch("-?[0-9]+", text):
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        if value > most:
            raise argparse.ArgumentTypeError(f"{value} is more than {most}")
        return value

    return number


def names_with_commas(text: str) -> str:
    """Return an argument that is to have names in it, with commas between them."""
    if not text.replace(",", "").strip():
        raise argparse.ArgumentTypeError(f"{text!r} names nothing; write names with commas between them")
    return text


class _OldName(argparse.Action):
    """An option by the name that it had in the last version: says the new one, once, and does the same."""

    def __init__(self, option: argparse.Action, values: Mapping[str, str] | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        self._option = option
        self._values = values
        self._said = False

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, given: Any, name: str | None = None
    ) -> None:
        old, new = self.option_strings[0], self._option.option_strings[-1]
        if self._values is not None:
            old, new, given = f"{old} {given}", f"{new} {self._values[given]}", self._values[given]
        if not self._said:
            print(f"mipsrec: {old} is now {new}", file=sys.stderr)
        self._said = True
        self._option(parser, namespace, given, self._option.option_strings[-1])


def add_old_name(
    parser: argparse.ArgumentParser, old: str, option: argparse.Action, values: Mapping[str, str] | None = None
) -> None:
    """Accept an option by an old name, which the help does not show; `values` leads from old arguments to new ones."""
    choices = option.choices if values is None else list(values)
    parser.add_argument(
        old, action=_OldName, option=option, values=values, dest=option.dest, nargs=option.nargs, choices=choices,
        type=(option.type if values is None else None) or str, default=argparse.SUPPRESS, help=argparse.SUPPRESS,
    )  # fmt: skip


def add_program(parser: argparse.ArgumentParser, optional: bool = False) -> None:
    parser.add_argument("program", metavar="prog.elf", nargs="?" if optional else None, help="a 32-bit MIPS program")


def add_sysroot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-L", "--sysroot", metavar="DIR",
                        help="the folder that holds the program's /lib, /usr and so on; absolute paths that exist "
                        "in it are taken from there (default: $MIPSREC_SYSROOT)")  # fmt: skip


def add_inspected(parser: argparse.ArgumentParser) -> None:
    """Add the program of a command that runs none."""
    add_program(parser)
    add_sysroot(parser)


def add_host(parser: argparse.ArgumentParser) -> None:
    """Add how the host runs a program."""
    add_sysroot(parser)
    parser.add_argument("--strace", action="store_true", help="print each system call on standard error")
    parser.add_argument("--report", action="store_true", help="print registers and instruction when a signal ends it")
    parser.add_argument("-E", dest="environment", metavar="VAR=VALUE", action="append", default=[],
                        help="set a variable for the program (VAR alone removes it)")  # fmt: skip


def add_library(
    parser: argparse.ArgumentParser, summary: str = "of `mipsrec build` (default: what the cache has, or gets)"
) -> None:
    """Add the library to run with, by two names for good."""
    parser.add_argument("--static-lib", "--library", dest="library", metavar="lib.so", help=summary)
    parser.add_argument("--trust-library", action="store_true",
                        help="run the code of that library also where another user can have chosen what is in it: its "
                        "file or a folder above is theirs, or others can write it")  # fmt: skip


def add_function(parser: argparse.ArgumentParser, summary: str, old_name: str | None = None) -> None:
    """Add which functions of a program are meant; `named_functions` returns them."""
    option = parser.add_argument(
        "--function", metavar="F,...", action="append", default=[], type=names_with_commas, help=summary
    )
    if old_name is not None:
        add_old_name(parser, old_name, option)


def named_functions(arguments: argparse.Namespace) -> list[str]:
    """Return what --function names: names, addresses or patterns."""
    return [name for words in arguments.function for name in words.split(",") if name]


def add_tier(parser: argparse.ArgumentParser) -> None:
    tier = parser.add_argument(
        "--tier",
        choices=("auto", "aot", "baseline", "interp"),
        help="auto: recompiled code where there is any, and elsewhere code that is made at once when a place is "
        "reached often; aot: recompiled code, and else the interpreter; baseline: only code that is made at once; "
        "interp: only the interpreter (default auto)",
    )
    add_old_name(parser, "--engine", tier, {"native": "aot", "interp": "interp"})


def add_profile_rate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile-rate", type=number_from(1, 10000), default=1000, metavar="N",
                        help="samples in a second of processor time (default 1000); one may stand for several, since "
                        "many kernels give only 100 to 250")  # fmt: skip


def add_with(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--with", dest="with_files", metavar="FILE", action="append", default=[],
                        help="another file that the program will open, such as a plugin (repeatable)")  # fmt: skip


def _call_model(word: str) -> str:
    """Return a call model by its name; one had another before."""
    if word != "watched":
        return word
    print("mipsrec: --calls watched is now --calls instrumented", file=sys.stderr)
    return "instrumented"


def add_models(parser: argparse.ArgumentParser) -> None:
    """Add what the code looks like that is generated."""
    parser.add_argument(
        "--memory",
        choices=MEMORY_MODELS,
        default="flat",
        help="how guest memory is reached: flat (a reserved window at address 0; fastest), paged (page tables in the "
        "code; any host, watchpoints), thunk (a call per access; smallest IR)",
    )
    parser.add_argument(
        "--calls",
        type=_call_model,
        choices=CALL_MODELS,
        default="direct",
        help="direct: native calls between lifted functions; thunked: every call through the host; instrumented: as "
        "direct, but the host is told of every entry and return (for verify)",
    )
    parser.add_argument("--without-pass", dest="without_passes", action="append", default=[], metavar="PASS",
                        help="leave out a pass of the translator that is an optimisation only, such as no-wrap; an "
                        "unknown name lists them (repeatable)")  # fmt: skip


def _covered(text: str) -> tuple[str, ...]:
    words = tuple(word for word in names_with_commas(text).split(",") if word)
    for word in words:
        if "/" in word:
            raise argparse.ArgumentTypeError(f"{word!r} has a folder; give the name of a library alone, as libz.so.1")
    return words


def add_cover(parser: argparse.ArgumentParser, summary: str) -> None:
    """Add which files count decisions (mipsrec/counters.py)."""
    parser.add_argument("--cover", dest="covered", metavar="WHAT,...", type=_covered, help=summary)


def add_level(parser: argparse.ArgumentParser) -> None:
    """Add how hard LLVM tries, and for which processor."""
    parser.add_argument(
        "--opt",
        choices=LEVELS,
        default=AUTO,
        help="LLVM's effort: light compiles in half the time of 2; auto spends level 2 on functions with loops, "
        "what these call, and small ones, and is light on the others (default auto)",
    )
    parser.add_argument(
        "--cpu",
        choices=CHOICES,
        default="native",
        help=f"the least processor that the code must run on: native is this one, up to {CHOICES[-1]}; generic is any "
        "of its kind (default native)",
    )


def add_build(parser: argparse.ArgumentParser) -> argparse.Action:
    """Add how a library is built; return the option for a profile."""
    add_level(parser)
    profile = parser.add_argument(
        "--use-profile",
        metavar="out.prof",
        help="of an earlier `mipsrec run --profile out.prof`: what it has samples of gets the effort, the rest is "
        "compiled lightly",
    )
    add_jobs(parser)
    parser.add_argument("--no-reuse", dest="reuse", action="store_false",
                        help="compile all anew, and keep no objects (default: objects of code that has not changed are "
                        "taken from the cache)")  # fmt: skip
    return profile


def add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=number_from(0), default=0, metavar="N",
                        help="worker processes (default, and 0: one per processor)")  # fmt: skip


def add_run(parser: argparse.ArgumentParser, program_optional: bool = False) -> None:
    """Add how a program is run and how its code is built; last the program with its own arguments: all that follows."""
    add_host(parser)
    add_build(parser)
    add_models(parser)
    add_program(parser, program_optional)
    words = parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARG", help="the program's arguments")
    words.required = False  # else Python 3.11 says so


def options_of(arguments: argparse.Namespace) -> Options:
    """Return the translation options among parsed arguments; those a command does not have keep their defaults."""
    names = ("opt", "memory", "calls", "jobs", "cpu", "reuse", "into")
    chosen = {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}
    without = tuple(getattr(arguments, "without_passes", ()))
    cover = (getattr(arguments, "counters", None) or getattr(arguments, "covered", None)) is not None
    return Options(**chosen, profile=getattr(arguments, "use_profile", None), cover=cover, without=without)
