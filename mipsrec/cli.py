"""The command line: `mipsrec COMMAND ...`. Maps errors to one line and an exit status.

Exit status: 0, 2 for usage, 1 for an error of ours; `run` passes the guest's own on (128 + n when a signal killed it).
Each command is a module of `commands`: DESCRIPTION and `add_arguments` say what it takes, `main` does it. Only the
module of the chosen command is imported, so that `run` starts quickly.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shlex
import signal
import sys
from collections.abc import Callable
from types import ModuleType
from typing import NoReturn

from . import __version__
from .commands.guest_words import check_words, split_words
from .errors import MipsrecError, OutputError, UsageError, one_line
from .standard_output import checked_output

_DESCRIPTION = """\
Recompiles 32-bit MIPS Linux programs ahead of time, by way of LLVM IR, and runs them at native speed.

  mipsrec info prog.elf                    what the program is and what was found in it
  mipsrec run prog.elf ARG...              run it (hot code is recompiled meanwhile, and kept)
  mipsrec dump-llvm prog.elf               its LLVM IR; with -o DIR one file per function
  mipsrec build DIR -o lib.so              the library, from the (perhaps edited) IR
  mipsrec run --static-lib lib.so prog.elf run it with that library
  mipsrec verify prog.elf ARG...           compare the lifted code with the interpreter while it runs
  mipsrec profile prog.elf ARG...          where it spends its time, by function and instruction
  mipsrec fuzz prog.elf -- @@              find inputs that crash it (@@: the file that it reads)
  mipsrec bench                            speed beside native builds
  mipsrec binfmt --install                 let the kernel run MIPS programs as if they were this machine's
  mipsrec cache list                       what is kept of all this; verify and prune it
"""

_COMMANDS = {
    "info": "what a program is, and what was found in it; or what a library is of",
    "disasm": "functions and basic blocks with their targets named",
    "cfg": "the control-flow graph of a function, as Graphviz dot or a picture",
    "dump-llvm": "LLVM IR of every function, or of some",
    "dump-plan": "what was decided about functions before IR was written",
    "build": "make a native library from a program or from a folder of dump-llvm",
    "run": "run a program; what follows its name belongs to it",
    "verify": "run a program and compare its lifted code with the interpreter at every call and return",
    "profile": "run a program and show where it spends its time",
    "call": "run one function without libc start-up; print the registers it changed",
    "fuzz": "find inputs that crash a program, with AFL++; sort the crashes",
    "bench": "time recompiled programs beside native builds and qemu-user",
    "cache": "list, check and prune the recompiled code that is kept",
    "compile-server": "recompile what is hot in programs that run (they start it)",
    "binfmt": "let the kernel run MIPS programs: print or install the registration",
    "qemu-names": "write qemu-user's names into a folder, for tools that call these",
}


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"mipsrec: {one_line(message)}; see {self.prog} --help\n")


def _module_of(command: str) -> ModuleType:
    return importlib.import_module(f".commands.{command.replace('-', '_')}", __package__)


def _parser_for(words: list[str]) -> argparse.ArgumentParser:
    """Return the parser of the whole command line, with the arguments of the command that the words begin with."""
    as_written = argparse.RawDescriptionHelpFormatter
    parser = _Parser(prog="mipsrec", description=_DESCRIPTION, formatter_class=as_written)
    parser.add_argument("--version", action="version", version=f"mipsrec {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in _COMMANDS.items():
        command = commands.add_parser(name, help=summary, formatter_class=as_written)
        if words[:1] == [name]:
            module = _module_of(name)
            command.description = module.DESCRIPTION
            module.add_arguments(command)
    return parser


def parse(words: list[str]) -> argparse.Namespace:
    """Parse a command line. What follows a program's name is the guest's, and argparse never sees it."""
    parser = _parser_for(words)
    own, guest = split_words(parser, words)
    check_words(parser, own)
    arguments = parser.parse_args(own)
    if guest:
        arguments.arguments = guest
    return arguments


def _on_terminate(number: int, frame: object) -> NoReturn:
    """Unwind, so that files half written go away and worker processes end."""
    raise SystemExit(128 + number)


def report_errors(action: Callable[[], int]) -> int:
    """Return an action's exit status; an error that is not a bug becomes one line on standard error and status 1.

    Where the reader of standard output has left, this process ends as other tools do: quietly, by SIGPIPE.
    """
    try:
        before = signal.signal(signal.SIGTERM, _on_terminate)
        try:
            with checked_output():
                return action()
        finally:
            signal.signal(signal.SIGTERM, before)
    except MipsrecError as error:
        if isinstance(error, OutputError) and error.is_unread:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.raise_signal(signal.SIGPIPE)
        print(f"mipsrec: {one_line(str(error))}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"mipsrec: {one_line(_out_of_reach(error))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("mipsrec: interrupted", file=sys.stderr)
        return 130


def _out_of_reach(error: OSError) -> str:
    """Return what to say of a path that cannot be looked at; raises the error where it names none: a bug of ours."""
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    if not _has_working_folder():
        return "the working folder is no more; go to another one"
    raise error


def _has_working_folder() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _execute(words: list[str]) -> int:
    arguments = parse(words)
    arguments.command_line = shlex.join(["mipsrec", *words])
    try:
        status: int = _module_of(arguments.command).main(arguments)
    except UsageError as error:
        print(f"mipsrec: {one_line(str(error))}; see mipsrec {arguments.command} --help", file=sys.stderr)
        return 2
    return status


def main(argv: list[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    return report_errors(lambda: _execute(words))


if __name__ == "__main__":
    sys.exit(main())
