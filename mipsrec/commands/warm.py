"""The action `warm` of `mipsrec cache`: runs a program, and waits until what was hot in it is recompiled."""

from __future__ import annotations

import argparse
import time
from contextlib import suppress

from ..cache.folders import own_folder, variant_of
from ..errors import BuildError, one_line
from ..host_build import host_executable
from ..options import Options
from ..server import protocol
from ..server.growth import Grown, grown, hot_path
from .arguments import options_of
from .guest_files import open_program
from .host_process import run_to_end
from .run import flag_words, guest_words, store_words, surroundings_words
from .server_words import server_words, start_server

_JOBS_SECONDS = 600.0


def _finish() -> None:
    """Wait until the server has done all that it was asked for.

    One that ended of its own accord, since nobody had asked for long, has; it leaves no socket.
    """
    facts = protocol.ask(protocol.FINISH, _JOBS_SECONDS)
    while facts is not None and facts.get("busy"):
        time.sleep(0.1)
        facts = protocol.ask(protocol.STATUS, _JOBS_SECONDS)
    if facts is None and protocol.socket_path().exists():
        raise BuildError("the compile server has ended meanwhile; run the command again")


def _print_grown(before: dict[str, Grown], options: Options) -> None:
    spent = 0.0
    for identity, now in grown(variant_of(options)).items():
        earlier = before.get(identity, Grown(now.path, frozenset(), 0.0))
        new, all_functions = len(now.functions - earlier.functions), len(now.functions)
        spent += max(0.0, now.seconds - earlier.seconds)
        if not new:
            continue
        with suppress(OSError):  # a description without a library says nothing
            size = hot_path(identity, options).stat().st_size
            print(f"{one_line(str(now.path))}: {new} functions recompiled, {all_functions} in all, {size} bytes")
    print(f"the compile server took {spent:.1f} s of processor time")


def main(arguments: argparse.Namespace) -> int:
    """Run a program to its end, wait for the compile server, and say what it made; the exit status is the program's."""
    options = options_of(arguments)
    own_folder()
    open_program(arguments)  # raises what is wrong with it
    words = [*flag_words(arguments), *surroundings_words(arguments)]
    server = server_words(arguments.jobs)
    if not server:
        raise BuildError("there can be no compile server: a name in its command has a line break")
    start_server(arguments.jobs)
    before = grown(variant_of(options))
    command = [str(host_executable()), *words, *store_words(options), *server, *guest_words(arguments)]
    status = run_to_end(command)
    _finish()
    _print_grown(before, options)
    return status
