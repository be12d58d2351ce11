"""run: becomes the host."""

from __future__ import annotations

import argparse
import os
import signal
import struct
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ..cache.folders import (
    cache_folder,
    has_folder,
    is_private,
    library_path,
    remove_private_folder,
    say_once,
    variant_of,
)
from ..cache.layers import is_default, layer_folders, paths_to_run
from ..cache.library_file import is_undamaged
from ..cache.notes import forget_wrong, note_use
from ..counters import counts, is_range
from ..errors import ElfError, UsageError, WriteError
from ..files import trust
from ..files.checksum import identity_of
from ..files.input_file import MOST_ELF_BYTES, open_input, read_input
from ..host_build import host_executable
from ..options import AUTO, Options
from .arguments import add_cover, add_library, add_profile_rate, add_run, add_tier, options_of
from .guest_files import guest_file
from .server_words import is_wanted, server_words

_PT_INTERP = 3

DESCRIPTION = """\
Runs a program. It starts at once; what is hot is recompiled meanwhile, for this run and later ones. What follows the
program's name belongs to it.

  mipsrec run prog.elf ARG...
  mipsrec run --static-lib lib.so prog.elf     with a library of `mipsrec build`
  mipsrec run --build prog.elf ARG...          first recompiles the program and all that it loads
  mipsrec run -L /srv/mips /usr/bin/prog       of a folder with the guest's own /lib and /usr
  mipsrec run --strace --report prog.elf       shows system calls, and registers when a signal ends it
  mipsrec run --gdb 1234 prog.elf              waits for gdb-multiarch or lldb
  mipsrec run --coverage prog.cov prog.elf     says which instructions ran, for Ghidra, IDA and Binary Ninja
  mipsrec run --coverage prog.info prog.elf    says which source lines ran, for genhtml

Exit status: the program's own; 128 + n when signal n killed it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `mipsrec run` takes; the launcher knows the most usual of it, too (runtime/launcher/launcher.c)."""
    add_library(parser)
    parser.add_argument("--build", action="store_true",
                        help="first recompile the program and all that it loads; else it starts at once, and what is "
                        "hot is recompiled meanwhile")  # fmt: skip
    parser.add_argument("--server", action="store_true", default=None,
                        help="have what is hot recompiled meanwhile by a compile server (default, unless --tier or an "
                        "option of how code is made is given; MIPSREC_SERVER=0 says no)")  # fmt: skip
    parser.add_argument("--no-server", dest="server", action="store_false", default=None,
                        help="have nothing recompiled meanwhile: a static program is recompiled first, and of a "
                        "dynamic one what is not there yet is run by the slower tiers")  # fmt: skip
    add_tier(parser)
    parser.add_argument("--stats", action="store_true", help="print counters on standard error at the end")
    parser.add_argument("--profile", metavar="FILE",
                        help="write there where the program spent its processor time: `mipsrec profile --from FILE` "
                        "shows it, `mipsrec build --use-profile FILE` heeds it")  # fmt: skip
    add_profile_rate(parser)
    parser.add_argument("--coverage", metavar="FILE",
                        help="write there which instructions of the program and of its libraries ran: a drcov file, "
                        "or, where FILE ends in .info, lcov's trace file of source lines. No recompiled code "
                        "runs")  # fmt: skip
    parser.add_argument("--counters", metavar="FILE",
                        help="count decisions there, in a map of 65536 bytes as fuzzers have it; what it has is kept, "
                        "and counted on")  # fmt: skip
    add_cover(parser, "whose decisions --counters counts: program (default), all, names of libraries, or ranges of the "
              "program's addresses, as 0x401000-0x402000")  # fmt: skip
    parser.add_argument("--check-memory", action="store_true",
                        help="end the program with a report where it touches memory beside a block of its heap, or one "
                        "that it has freed; runs no recompiled code")  # fmt: skip
    parser.add_argument("--allocator", metavar="NAME=PLACE,...",
                        help="where --check-memory finds malloc, free and so on in a program without symbols, or under "
                        "other names: malloc=0x401230,free=my_free")  # fmt: skip
    parser.add_argument("--desock", metavar="PORT|any",
                        help="give the service that listens at this TCP port, or the first one that listens, standard "
                        "input as its first connection; end it when that is over")  # fmt: skip
    _add_debugger(parser)
    add_run(parser)


def _add_debugger(parser: argparse.ArgumentParser) -> None:
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--gdb", metavar="PORT|SOCKET",
                      help="wait for gdb-multiarch or lldb before the first instruction, at a port of 127.0.0.1 (0: a "
                      "free one, which a line on standard error names) or at a socket that is made there; runs "
                      "everything in the interpreter")  # fmt: skip
    when.add_argument("--gdb-on-crash", metavar="PORT|SOCKET",
                      help="wait for a debugger when a signal that dumps core is about to end the program, in any "
                      "tier")  # fmt: skip


def kept_library(program: str, options: Options) -> Path | None:
    """Return the library of a whole program, if the cache or a layer has it."""
    try:
        identity = identity_of(read_input(program))
    except OSError as error:
        raise ElfError(f"{program}: cannot be read ({error.strerror or error})") from error
    forget_wrong(Path(program), identity)
    paths = paths_to_run(identity, options) if options.profile is None else [library_path(identity, options)]
    for path in paths:
        if trust.is_file(path) and is_undamaged(path):
            note_use(path)
            return path
    return None


def library_of(program: str, options: Options) -> Path:
    """Return the library of a program in the cache or in a layer, building it with progress if need be."""
    kept = kept_library(program, options)
    if kept is not None:
        return kept
    from .. import pipeline
    from .progress import progress_bar

    guest = pipeline.open_guest(program)
    with progress_bar("build", len(guest.starts)) as progress:
        return pipeline.cached_library(guest, options, progress)


def library_if_room(program: str, options: Options) -> Path | None:
    """Return the same; None, with a word of it, where there is no cache to keep it in."""
    return if_room(lambda: library_of(program, options))


def if_room(find: Callable[[], Path]) -> Path | None:
    """Return a library that is found, or made in the cache; None, with a word of it, where there is no cache for it."""
    if not has_folder():
        return None
    try:
        return find()
    except WriteError as error:
        _say_without(error)
        return None


def _say_without(error: WriteError) -> None:
    say_once(f"{error}; going on without recompiled code")


def become_host(host: Path, words: list[str]) -> int:
    """Execute the host; what Python has changed of this process for itself is no matter of the guest."""
    sys.stdout.flush()
    sys.stderr.flush()
    for name in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(name, signal.SIG_DFL)
    _forget_coerced_locale()
    if is_private(host):
        handle = os.open(host, os.O_RDONLY | os.O_CLOEXEC)
        remove_private_folder()
        os.execve(handle, [str(host), *words], os.environ)
    os.execv(host, [str(host), *words])


def _forget_coerced_locale() -> None:
    """Take LC_CTYPE away where Python has set it (PEP 538): this process was started without."""
    try:
        before = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return
    if not any(setting.startswith(b"LC_CTYPE=") for setting in before):
        os.environ.pop("LC_CTYPE", None)


def tier_of(arguments: argparse.Namespace) -> str:
    """Return the tier that --tier chose; else the one that suits the other options."""
    if arguments.tier is not None:
        return str(arguments.tier)
    if _is_debugged(arguments):
        return "interp"
    return "baseline" if getattr(arguments, "check_memory", False) or _is_covered(arguments) else "auto"


def _is_debugged(arguments: argparse.Namespace) -> bool:
    return getattr(arguments, "gdb", None) is not None


def _is_covered(arguments: argparse.Namespace) -> bool:
    return getattr(arguments, "coverage", None) is not None


def has_recompiled_code(arguments: argparse.Namespace) -> bool:
    """Return whether that tier runs any; with --gdb there is none, and the host refuses other tiers."""
    return not _is_debugged(arguments) and tier_of(arguments) in ("auto", "aot")


def _debugger_words(arguments: argparse.Namespace) -> list[str]:
    """Return the host's options for a debugger and the tier: what a debugged program executes may be in any."""
    words = []
    for option, where in (("--gdb", "gdb"), ("--gdb-on-crash", "gdb_on_crash")):
        if getattr(arguments, where, None) is not None:
            words += [option, getattr(arguments, where)]
    if not _is_debugged(arguments) or arguments.tier is not None:
        words += ["--tier", tier_of(arguments)]
    return words


def flag_words(arguments: argparse.Namespace) -> list[str]:
    """Return the host's options for what it tells of a run."""
    return [f"--{name}" for name in ("strace", "stats", "report") if getattr(arguments, name, False)]


def surroundings_words(arguments: argparse.Namespace) -> list[str]:
    """Return the host's options for the files and variables that the program sees."""
    words = ["--sysroot", arguments.sysroot] if arguments.sysroot is not None else []
    return [*words, *(word for setting in arguments.environment for word in ("-E", setting))]


def store_words(options: Options) -> list[str]:
    """Return the host's options for where the store has code."""
    words = ["--cache", str(cache_folder()) if has_folder() else ""]
    if not has_folder() and (layers := layer_folders()):
        words += ["--layers", ":".join(map(str, layers))]
    plain = replace(options, cover=False)  # of what counts, the host takes the same variant with counters
    return words if is_default(plain) else [*words, *variant_words(variant_of(plain), plain)]


def variant_words(variant: str, options: Options) -> list[str]:
    """Return the host's options for the code of a variant of the store, which was made with these options."""
    return ["--variant", variant, "--memory", options.memory]


def library_words(library: str, arguments: argparse.Namespace) -> list[str]:
    """Return the host's options for a library that the user names."""
    return ["--library", library, *(["--trust-library"] if getattr(arguments, "trust_library", False) else [])]


def check_code_options(arguments: argparse.Namespace) -> None:
    """Raise UsageError for options of recompiled code that would mean nothing beside the others."""
    if arguments.library is None and not arguments.build:
        return
    option = "--build" if arguments.library is None else "--static-lib"
    if not has_recompiled_code(arguments):
        watches = "--check-memory" if getattr(arguments, "check_memory", False) else f"--tier {tier_of(arguments)}"
        watches = "--coverage" if _is_covered(arguments) else watches
        way = "--gdb" if _is_debugged(arguments) else watches
        raise UsageError(f"{way} runs no recompiled code, so {option} has nothing to do; give one of them")
    if arguments.library is None:
        return
    ways = {
        "--build": arguments.build, "--server": getattr(arguments, "server", None),
        "--use-profile": arguments.use_profile, "--no-reuse": not arguments.reuse, "--opt": arguments.opt != AUTO,
        "--cpu": arguments.cpu != Options.cpu, "--memory": arguments.memory != Options.memory,
        "--calls": arguments.calls != Options.calls,
    }  # fmt: skip
    for way in (way for way, given in ways.items() if given):
        raise UsageError(f"--static-lib is recompiled already, so {way} has nothing to do; give one of them")


def _counter_words(arguments: argparse.Namespace) -> list[str]:
    """Return the host's options for counters; raises UsageError for what they need or exclude."""
    counters, covered = getattr(arguments, "counters", None), getattr(arguments, "covered", None)
    if counters is None:
        if covered is not None:
            raise UsageError("--cover says what --counters FILE counts; give that, too")
        return []
    words = ["--counters", counters]
    return [*words, "--cover", ",".join(covered)] if covered else words


def _memory_words(arguments: argparse.Namespace) -> list[str]:
    """Return the host's options for a look at each access; raises UsageError for what they exclude."""
    allocator = getattr(arguments, "allocator", None)
    if not getattr(arguments, "check_memory", False):
        if allocator is not None:
            raise UsageError("--allocator says what --check-memory watches; give that, too")
        return []
    if has_recompiled_code(arguments):
        raise UsageError(f"--check-memory runs no recompiled code: --tier {arguments.tier} contradicts it")
    return ["--check-memory", *(["--allocator", allocator] if allocator is not None else [])]


def _check_coverage(arguments: argparse.Namespace) -> None:
    """Raise UsageError for what marks nothing of what it runs, and for two uses of the same register."""
    if _is_covered(arguments) and has_recompiled_code(arguments):
        raise UsageError(f"--coverage is not of recompiled code; leave --tier {tier_of(arguments)} out")
    others = {"--counters": getattr(arguments, "counters", None) is not None,
              "--check-memory": getattr(arguments, "check_memory", False)}  # fmt: skip
    for other in (other for other, given in others.items() if given and _is_covered(arguments)):
        raise UsageError(f"--coverage and {other} exclude each other; run the program twice")


def host_words(arguments: argparse.Namespace) -> list[str]:
    """Return the host's options for running a program; builds its library if need be."""
    _check_coverage(arguments)
    words = _memory_words(arguments)
    check_code_options(arguments)
    words += [*flag_words(arguments), *_debugger_words(arguments)]
    if arguments.profile is not None:
        words += ["--profile", arguments.profile, "--profile-rate", str(arguments.profile_rate)]
    words += _counter_words(arguments)
    if getattr(arguments, "desock", None) is not None:
        words += ["--desock", arguments.desock]
    words += surroundings_words(arguments)
    if not has_recompiled_code(arguments):
        pass  # the host reads the program itself
    elif arguments.library is not None:
        words += library_words(arguments.library, arguments)
    else:
        words += _code_words(guest_file(arguments.program, arguments), arguments)
    return words


def guest_words(arguments: argparse.Namespace) -> list[str]:
    """Return the guest's program and its arguments as the host takes them; a name that looks like an option is none."""
    ends = ["--"] if arguments.program.startswith("-") else []
    return [*ends, arguments.program, *arguments.arguments]


def is_dynamic(program: Path) -> bool:
    """Return whether a program names an interpreter; what cannot be read is left to the host."""
    try:
        with open_input(program, MOST_ELF_BYTES) as stream:
            header = stream.read(52)
            if len(header) < 52 or header[:4] != b"\x7fELF" or header[5] not in (1, 2):
                return False
            order = "<" if header[5] == 1 else ">"
            place, size, count = struct.unpack_from(f"{order}I10xHH", header, 28)
            stream.seek(place)
            kinds = [stream.read(size)[:4] for _ in range(min(count, 128))]
    except OSError:
        return False
    return struct.pack(f"{order}I", _PT_INTERP) in kinds


def _code_words(program: Path, arguments: argparse.Namespace) -> list[str]:
    """Return the host's options for where code is of a program and of what it loads; builds what is to be built first.

    The launcher does the same where nothing has to be built (runtime/launcher/launcher.c).
    """
    options = options_of(arguments)
    if not has_folder():
        return store_words(options)  # what is built now would be gone when the program begins
    covered = getattr(arguments, "covered", None) or ("program",)
    own = replace(options, cover=options.cover and counts(covered, program.name, is_program=True))
    if options.cover and not own.cover and any(map(is_range, covered)):
        return store_words(options)  # recompiled code counts in all of its file, so none of the program's is used
    server = _server_words(arguments, options)
    try:
        if is_dynamic(program):
            if arguments.build:
                from .closure import build_closure

                build_closure([program], arguments, options)
        elif not server or arguments.build:
            library = library_of(str(program), own)
            if options.profile is not None:  # the store has no such libraries
                return ["--library", str(library)]
    except WriteError as error:
        _say_without(error)
    return [*store_words(options), *server]


def _server_words(arguments: argparse.Namespace, options: Options) -> list[str]:
    """Return the host's options for a compile server, if one is wanted."""
    chosen = getattr(arguments, "server", False)
    if chosen is None and not is_default(options):
        chosen = False  # who says how code is to be made wants it made now
    wanted = tier_of(arguments) == "auto" and options.profile is None and is_wanted(chosen)
    return server_words(arguments.jobs) if wanted else []


def main(arguments: argparse.Namespace) -> int:
    """Replace this process by the host running the guest: streams, signals and exit status are the guest's."""
    words = host_words(arguments)
    if _is_covered(arguments):
        from .covered_run import run_covered

        _forget_coerced_locale()
        return run_covered([str(host_executable()), *words], guest_words(arguments), Path(arguments.coverage))
    if getattr(arguments, "check_memory", False):
        from .checked_run import run_checked

        _forget_coerced_locale()
        return run_checked([str(host_executable()), *words], guest_words(arguments))
    return become_host(host_executable(), [*words, *guest_words(arguments)])
