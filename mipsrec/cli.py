"""The command line: `mipsrec COMMAND ...`. Maps errors to one line and an exit status.

Exit status: 0, 2 for usage, 1 for an error of ours; `run` passes the guest's own on (128 + n when a signal killed it).
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from . import __version__
from .commands import cache_arguments
from .commands.guest_words import split_words
from .errors import MipsrecError
from .options import AUTO, CALL_MODELS, CPUS, LEVELS, MEMORY_MODELS

_DESCRIPTION = """\
Recompiles 32-bit MIPS Linux programs ahead of time, by way of LLVM IR, and runs them at native speed.

  mipsrec info prog.elf                    what the program is and what was found in it
  mipsrec run prog.elf ARG...              run it (the first time builds a library and keeps it)
  mipsrec dump-llvm prog.elf -o DIR        its LLVM IR, one file per function
  mipsrec build DIR -o lib.so              the library, from the (perhaps edited) IR
  mipsrec run --static-lib lib.so prog.elf run it with that library
  mipsrec verify prog.elf ARG...           compare the lifted code with the interpreter while it runs
  mipsrec profile prog.elf ARG...          where it spends its time, by function and instruction
  mipsrec bench                            speed beside native builds
  mipsrec binfmt --install                 let the kernel run MIPS programs as if they were this machine's
  mipsrec cache list                       what is kept of all this; verify and prune it
"""


_VERIFY = """\
Runs a program twice at once: as lifted code, and in the interpreter. System calls are made once, and both see their
results. Registers and what was stored are compared at every function entry and return, system call and exception; all
writable memory now and then. At the first difference the program is stopped, and the report on standard error names
the function, the block, the registers of both sides and the instruction that wrote what differs.

  mipsrec verify prog.elf ARG...                 is the lifted code of all functions right in this run?
  mipsrec verify --functions f,g prog.elf ARG... only these are lifted, the rest is interpreted: to narrow a fault down
  mipsrec verify --functions 'libm.so.6:*' prog  of a dynamic program: those of a file that it loads, here all of it
  mipsrec verify --scan 1 prog.elf ARG...        looks for stray stores at every call and return (slow)
  mipsrec verify --static-lib lib.so prog.elf    a library of `mipsrec build --calls watched`, say of IR that was
                                                 edited; with --calls direct, functions are not compared one by one

Exit status: 1 when they differ, else the program's own. Children that it forks are verified, too; programs that it
executes are not. A progress display appears where standard error is a terminal.
"""


_PROFILE = """\
Runs a program, taking samples of where it spends its processor time, and shows the functions with most of them, and
the instructions of the hottest, block by block. Threads and forked children count; programs that it executes do not.
What it shows goes to standard error, since standard output is the program's; with --from, to standard output.

  mipsrec profile prog.elf ARG...                  run it and show where the time went
  mipsrec profile -o out.prof prog.elf ARG...      and keep the samples, for build --profile
  mipsrec profile --from out.prof prog.elf         show samples that were kept
  mipsrec profile --from out.prof --function f --json prog.elf

A program that runs until it is interrupted may be: Ctrl-C ends it, and the samples are shown. A sample is of the guest
instruction that the host's came from, or, where none is, of one beside it. Exit status: the program's own.
"""


_BINFMT = """\
Registers the host with Linux's binfmt_misc, so that MIPS programs run wherever a program may be named: in a shell, by
`make`, in a chroot, in a container. Without --install, it prints what to register.

  sudo mipsrec binfmt --host /usr/local/lib/mipsrec-host --install     until the machine is started again
  sudo mipsrec binfmt --uninstall
  mipsrec binfmt --host /usr/local/lib/mipsrec-host --format binfmt.d > /etc/binfmt.d/mipsrec.conf   at every start
  mipsrec binfmt                       prints lines for /proc/sys/fs/binfmt_misc/register, to be written one by one

Registered are programs of ABI o32 in both byte orders, never those of n32, n64 or MIPS release 6. Others that are
registered for the same files, such as qemu's, are asked after this one.

Flags, any of them:
  F  the kernel opens the host now and keeps it: it need not be reachable in chroots and containers
  P  programs get the argv[0] they were called with, not their path; needs Linux 5.12
  O  the kernel hands the program over opened: the host can run files that it may not read
  C  setuid and setgid programs get their rights, as natively (implies O). Without it they run with those of the caller.
     Variables MIPSREC_* count for nothing in such a program

Programs that are started so take no options of the host, but heed MIPSREC_SYSROOT in the environment.
"""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"mipsrec: {message}; see {self.prog} --help\n")


def _number_from(least: int, most: float = math.inf) -> Callable[[str], int]:
    """Return a parser of numbers that are not less than `least`, nor more than `most`."""

    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        if value > most:
            raise argparse.ArgumentTypeError(f"{value} is more than {most}")
        return value

    return number


def _add_host(parser: argparse.ArgumentParser) -> None:
    _add_sysroot(parser)
    parser.add_argument("--strace", action="store_true", help="print each system call on standard error")
    parser.add_argument("--report", action="store_true", help="print registers and instruction when a signal ends it")
    parser.add_argument("-E", dest="environment", metavar="VAR=VALUE", action="append", default=[],
                        help="set a variable for the program (VAR alone removes it)")  # fmt: skip


def _add_profile_rate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile-rate", type=_number_from(1, 10000), default=1000, metavar="N",
                        help="samples in a second of processor time (default 1000); one may stand for several, since "
                        "many kernels give only 100 to 250")  # fmt: skip


def _add_codegen(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--memory",
        choices=MEMORY_MODELS,
        default="flat",
        help="how guest memory is reached: flat (a reserved window at address 0; fastest), paged (page tables in the "
        "code; any host, watchpoints), thunk (a call per access; smallest IR)",
    )
    parser.add_argument(
        "--calls",
        choices=CALL_MODELS,
        default="direct",
        help="direct: native calls between lifted functions; thunked: every call through the host; watched: as direct, "
        "but the host is told of every entry and return (for verify)",
    )


def _add_level(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--opt",
        choices=LEVELS,
        default=AUTO,
        help="LLVM's effort: light compiles in half the time of 2; auto spends level 2 on functions with loops, "
        "what these call, and small ones, and is light on the others (default auto)",
    )
    parser.add_argument(
        "--cpu",
        choices=CPUS,
        default="native",
        help="the least processor that the code must run on: native is this one, up to x86-64-v3; generic is any of "
        "its kind (default native)",
    )


def _add_build(parser: argparse.ArgumentParser) -> None:
    _add_level(parser)
    parser.add_argument("--use-profile", metavar="out.prof",
                        help="of an earlier `mipsrec run --profile out.prof`: what it has samples of gets the effort, "
                        "the rest is compiled lightly")  # fmt: skip
    parser.add_argument("--jobs", type=_number_from(0), default=0, metavar="N",
                        help="worker processes (default, and 0: one per processor)")  # fmt: skip
    parser.add_argument("--no-reuse", dest="reuse", action="store_false",
                        help="compile all anew, and keep no objects (default: objects of code that has not changed are "
                        "taken from the cache)")  # fmt: skip


def _add_sysroot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-L", "--sysroot", metavar="DIR",
                        help="the folder that holds the program's /lib, /usr and so on; absolute paths that exist "
                        "in it are taken from there (default: $MIPSREC_SYSROOT)")  # fmt: skip


def _add_with(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--with", dest="with_files", metavar="FILE", action="append", default=[],
                        help="another file that the program will open, such as a plugin (repeatable)")  # fmt: skip


def _add_program(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="prog.elf", help="a 32-bit MIPS program")


def _add_inspection(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = commands.add_parser("info", help="what a program is, and what was found in it; or what a library is of")
    parser.add_argument("program", metavar="prog.elf|lib.so",
                        help="a 32-bit MIPS program or library, or recompiled code")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="machine-readable")

    parser = commands.add_parser("disasm", help="functions and basic blocks with their targets named")
    _add_program(parser)
    parser.add_argument("--function", metavar="F", action="append",
                        help="only this one, by name or address (repeatable)")  # fmt: skip

    parser = commands.add_parser("cfg", help="the control-flow graph of a function, as Graphviz dot or svg")
    _add_program(parser)
    parser.add_argument("function", metavar="FUNCTION", help="a name or an address")
    parser.add_argument("-o", dest="output", metavar="FILE", help="FILE.svg or FILE.dot (default: dot, printed)")

    parser = commands.add_parser("dump-llvm", help="LLVM IR of every function, or of some")
    _add_program(parser)
    parser.add_argument("-o", dest="output", metavar="DIR", help="write one .ll file per function and an index there")
    parser.add_argument("--function", metavar="F", action="append", help="only this one (repeatable)")
    parser.add_argument("--optimize", action="store_true", help="as LLVM's pipeline leaves it, at --opt and --cpu")
    _add_level(parser)
    _add_codegen(parser)


def _add_profiling(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = commands.add_parser(
        "profile",
        help="run a program and show where it spends its time",
        description=_PROFILE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--from", dest="source", metavar="FILE", help="show this profile; the program is not run")
    parser.add_argument("-o", dest="output", metavar="FILE", help="keep the profile")
    parser.add_argument("--function", metavar="F", action="append", default=[],
                        help="show the blocks of this one, not of the hottest (repeatable); FILE:F is of a "
                        "library")  # fmt: skip
    parser.add_argument("--build", action="store_true",
                        help="first recompile a dynamic program and all that it loads; else what is not there yet is "
                        "interpreted")  # fmt: skip
    parser.add_argument("--top", type=_number_from(1), default=20, metavar="N",
                        help="list the first N functions (default 20)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="machine-readable")
    _add_profile_rate(parser)
    parser.add_argument("--static-lib", metavar="lib.so", help="of `mipsrec build` (default: build one and keep it)")
    _add_tier(parser)
    _add_host(parser)
    _add_build(parser)
    _add_codegen(parser)
    _add_program(parser)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARG", help="the program's arguments")


def _add_tier(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tier", choices=("auto", "aot", "baseline", "interp"),
                        help="auto: recompiled code where there is any, and elsewhere code that is made at once when a "
                        "place is reached often; aot: recompiled code, and else the interpreter; baseline: only code "
                        "that is made at once; interp: only the interpreter (default auto)")  # fmt: skip
    parser.add_argument("--engine", dest="tier", choices=("native", "interp"), type=str, default=argparse.SUPPRESS,
                        help="the same as --tier aot, and --tier interp")  # fmt: skip


def _add_debugger(parser: argparse.ArgumentParser) -> None:
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--gdb", metavar="PORT|SOCKET",
                      help="wait for gdb-multiarch or lldb before the first instruction, at a port of 127.0.0.1 (0: a "
                      "free one, which a line on standard error names) or at a socket that is made there; runs "
                      "everything in the interpreter")  # fmt: skip
    when.add_argument("--gdb-on-crash", metavar="PORT|SOCKET",
                      help="wait for a debugger when a signal that dumps core is about to end the program, in any "
                      "tier")  # fmt: skip


def _add_running(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = commands.add_parser("build", help="make a native library from a program or from a folder of dump-llvm")
    parser.add_argument("source", metavar="prog.elf|DIR", nargs="?",
                        help="a program, or a folder of dump-llvm; without one, all programs and libraries of "
                        "--sysroot")  # fmt: skip
    parser.add_argument("-o", dest="output", metavar="lib.so",
                        help="a library of this one file; default: the program's name with .so appended, or for a "
                        "dynamic program, it and all that it loads in the cache, where `run` finds them")  # fmt: skip
    parser.add_argument("--into", metavar="FOLDER",
                        help="fill this folder, not the cache, to be a layer that others only read; see mipsrec cache "
                        "--help")  # fmt: skip
    _add_with(parser)
    parser.add_argument("--dask", metavar="ADDRESS",
                        help="compile on the workers of this dask.distributed scheduler (tcp://host:8786); what is "
                        "made goes to the cache here")  # fmt: skip
    _add_sysroot(parser)
    parser.add_argument("--only", metavar="F", action="append",
                        help="recompile only this function, or those of this shell pattern (repeatable); "
                        "the others are interpreted")  # fmt: skip
    _add_build(parser)
    parser.add_argument("--profile", dest="use_profile", metavar="out.prof", help="the same as --use-profile")
    _add_codegen(parser)

    parser = commands.add_parser("run", help="run a program; what follows its name belongs to it")
    parser.add_argument("--build", action="store_true",
                        help="first recompile the program and all that it loads; else it starts at once, and what is "
                        "hot is recompiled meanwhile")  # fmt: skip
    parser.add_argument("--server", action="store_true", default=None,
                        help="have what is hot recompiled meanwhile by a compile server (default, unless --tier or an "
                        "option of how code is made is given; MIPSREC_SERVER=0 says no)")  # fmt: skip
    parser.add_argument("--no-server", dest="server", action="store_false", default=None,
                        help="have nothing recompiled meanwhile: a static program is recompiled first, and of a "
                        "dynamic one what is not there yet is run by the slower tiers")  # fmt: skip
    parser.add_argument("--static-lib", metavar="lib.so", help="of `mipsrec build` (default: build one and keep it)")
    _add_tier(parser)
    parser.add_argument("--stats", action="store_true", help="print counters on standard error at the end")
    parser.add_argument("--profile", metavar="FILE", help="write there where the program spent its processor time: "
                        "`mipsrec profile --from FILE` shows it, `mipsrec build --profile FILE` heeds it")  # fmt: skip
    _add_profile_rate(parser)
    _add_debugger(parser)
    _add_host(parser)
    _add_build(parser)
    _add_codegen(parser)
    _add_program(parser)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARG", help="the program's arguments")

    parser = commands.add_parser(
        "verify",
        help="run a program and compare its lifted code with the interpreter at every call and return",
        description=_VERIFY,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--functions", metavar="F,F,...", action="append", default=[],
                        help="lift and so compare only these, by name, pattern or address (repeatable); of a dynamic "
                        "program, FILE:F is of a library, named with or without its folder")  # fmt: skip
    _add_with(parser)
    parser.add_argument("--scan", type=_number_from(0), default=0, metavar="N",
                        help="compare all memory at every Nth point (default: now and then)")  # fmt: skip
    parser.add_argument("--ignore", metavar="R,R,...", action="append", default=[],
                        help="registers not to compare, such as fcsr (repeatable)")  # fmt: skip
    parser.add_argument("--static-lib", metavar="lib.so", help="verify this one, of `mipsrec build --calls watched`")
    _add_host(parser)
    _add_build(parser)
    _add_codegen(parser)
    parser.set_defaults(calls="watched")
    _add_program(parser)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARG", help="the program's arguments")

    _add_profiling(commands)

    parser = commands.add_parser("call", help="run one function without libc start-up; print the registers it changed")
    _add_tier(parser)
    _add_build(parser)
    _add_program(parser)
    parser.add_argument("function", metavar="FUNCTION", help="a name or an address")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="INT", help="a0, a1, a2, a3, then the stack")

    _add_bench(commands)
    cache_arguments.add(commands, _add_warm)

    parser = commands.add_parser("compile-server", help="recompile what is hot in programs that run (they start it)")
    parser.add_argument("--jobs", type=_number_from(0), default=0, metavar="N",
                        help="worker processes (default, and 0: one per processor)")  # fmt: skip
    parser.add_argument("--idle", type=float, default=60.0, metavar="SECONDS",
                        help="end when nobody has asked for so long (default 60)")  # fmt: skip


def _add_warm(parser: argparse.ArgumentParser) -> None:
    _add_host(parser)
    _add_build(parser)
    _add_codegen(parser)
    _add_program(parser)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARG", help="the program's arguments")


def _add_bench(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = commands.add_parser("bench", help="time recompiled programs beside native builds and qemu-user")
    parser.add_argument("programs", nargs=argparse.REMAINDER, metavar="[prog.elf native-prog [-- ARG...]]",
                        help="your own pair; without one, the programs of samples/")  # fmt: skip
    parser.add_argument("--only", metavar="NAME,...", action="append",
                        help="only these programs or groups (integer, floating, control, memory, program), or all "
                        "kernels (repeatable)")  # fmt: skip
    parser.add_argument("--target", choices=("mips", "mipsel", "both"), default="both", help="byte order of the guests")
    parser.add_argument("--rounds", type=_number_from(1), default=3, metavar="N",
                        help="timed runs of each program (default 3)")  # fmt: skip
    parser.add_argument("--with", dest="with_", metavar="NAME,...", action="append", default=[],
                        help="only these besides recompiled guests: clang, gcc32 (32-bit x86 code), qemu; and, only "
                             "when named, relocatable (the guests' code as that of libraries is) and baseline (nothing "
                             "recompiled ahead of time)")  # fmt: skip
    parser.add_argument("--without", metavar="NAME,...", action="append", default=[], help="all but these of them")
    parser.add_argument("--json", metavar="FILE.json", nargs="?", const="-",
                        help="machine-readable, into a file; else on standard output, not the table")  # fmt: skip
    parser.add_argument("--chart", "--plot", metavar="out.svg", help="draw a bar chart")
    parser.add_argument("--compare", metavar="old.json",
                        help="name what became slower or faster since then, beyond the spread")  # fmt: skip
    parser.add_argument("--targets", action="store_true", help="say which of the speeds aimed at are reached")
    parser.add_argument("--fetch", action="store_true",
                        help="first get the sources of Lua and SQLite from Debian, by apt-get")  # fmt: skip
    _add_build(parser)
    _add_codegen(parser)


def _add_binfmt(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = commands.add_parser(
        "binfmt",
        help="let the kernel run MIPS programs: print or install the registration",
        description=_BINFMT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--install", action="store_true", help="register now, in the place of an earlier registration")
    action.add_argument("--uninstall", action="store_true", help="take the registration back")
    action.add_argument("--format", choices=("register", "binfmt.d"), default="register",
                        help="what to print: lines for the file `register`, or a file for /etc/binfmt.d")  # fmt: skip
    parser.add_argument("--host", metavar="PATH", help="the host to register; if it is not there, it is copied there "
                        "(default: the one that was installed, else that in the cache, whose path changes with every "
                        "version)")  # fmt: skip
    parser.add_argument("--flags", metavar="FLAGS", help="letters of POCF (default: PF, before Linux 5.12 F)")
    parser.add_argument("--name", metavar="NAME", default="mipsrec",
                        help="what the names of the entries begin with (default mipsrec)")  # fmt: skip


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = _Parser(prog="mipsrec", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"mipsrec {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_inspection(commands)
    _add_running(commands)
    _add_binfmt(commands)
    return parser


def _dispatch(arguments: argparse.Namespace) -> int:
    """Run the chosen command; its module is imported only now, so that `run` starts quickly."""
    if arguments.command in ("run", "call"):
        from .commands import run

        return run.run(arguments) if arguments.command == "run" else run.call(arguments)
    if arguments.command == "verify":
        from .commands import verify

        return verify.verify(arguments)
    if arguments.command == "profile":
        from .commands import profile

        return profile.profile(arguments)
    if arguments.command == "bench":
        from .commands import bench

        return bench.bench(arguments)
    if arguments.command == "binfmt":
        from .commands import binfmt

        return binfmt.binfmt(arguments)
    if arguments.command == "compile-server":
        from .server import serve

        return serve.serve(arguments.jobs, arguments.idle)
    if arguments.command == "cache":
        from .commands import cache

        return cache.cache(arguments)
    if arguments.command in ("build", "dump-llvm"):
        from .commands import translate

        return translate.build(arguments) if arguments.command == "build" else translate.dump(arguments)
    from .commands import inspect

    return {"info": inspect.info, "disasm": inspect.disasm, "cfg": inspect.cfg}[arguments.command](arguments)


def _on_terminate(number: int, frame: object) -> NoReturn:
    """Unwind, so that files half written go away and worker processes end."""
    raise SystemExit(128 + number)


def report_errors(action: Callable[[], int]) -> int:
    """Return an action's exit status; an error that is not a bug becomes one line on standard error and status 1."""
    try:
        before = signal.signal(signal.SIGTERM, _on_terminate)
        try:
            return action()
        finally:
            signal.signal(signal.SIGTERM, before)
    except MipsrecError as error:
        print(f"mipsrec: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left; say nothing at exit either
        return 1
    except KeyboardInterrupt:
        print("mipsrec: interrupted", file=sys.stderr)
        return 130


def parse(words: list[str]) -> argparse.Namespace:
    """Parse a command line. What follows a program's name is the guest's, and argparse never sees it."""
    parser = build_parser()
    own, guest = split_words(parser, words)
    arguments = parser.parse_args(own)
    if guest:
        arguments.arguments = guest
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    arguments = parse(sys.argv[1:] if argv is None else argv)
    return report_errors(lambda: _dispatch(arguments))


if __name__ == "__main__":
    sys.exit(main())
