"""run and call: become the host."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
from pathlib import Path

from ..cache import library_path
from ..checksum import ends_whole
from ..errors import ElfError, LiftError
from ..host import host_executable
from ..options import Options
from .options import options_of


def _library(program: str, options: Options) -> Path:
    """Return the cached library of a program, building it with progress if need be."""
    try:
        identity = hashlib.blake2b(Path(program).read_bytes(), digest_size=32).hexdigest()
    except OSError as error:
        raise ElfError(f"{program}: cannot be read ({error.strerror})") from error
    path = library_path(identity, options)
    if ends_whole(path):
        return path
    from .. import pipeline
    from .progress import progress_bar

    guest = pipeline.open_guest(program)
    with progress_bar("build", len(guest.starts)) as progress:
        return pipeline.cached_library(guest, options, progress)


def _become(host: Path, words: list[str]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(host, [str(host), *words])


def host_words(arguments: argparse.Namespace) -> list[str]:
    """Return the host's options for running a program; builds its library if need be."""
    words = [f"--{name}" for name in ("strace", "stats", "report") if getattr(arguments, name, False)]
    words += ["--engine", arguments.engine]
    if arguments.profile is not None:
        words += ["--profile", arguments.profile, "--profile-rate", str(arguments.profile_rate)]
    for setting in arguments.environment:
        words += ["-E", setting]
    if arguments.engine == "interp":
        pass  # the host reads the program itself
    elif arguments.static_lib is not None:
        words += ["--library", arguments.static_lib]
    else:
        words += ["--library", str(_library(arguments.program, options_of(arguments)))]
    return words


def run(arguments: argparse.Namespace) -> int:
    """Replace this process by the host running the guest: streams, signals and exit status are the guest's."""
    words = host_words(arguments)
    return _become(host_executable(), [*words, arguments.program, *arguments.arguments])


def call(arguments: argparse.Namespace) -> int:
    """Run one function of a program with integer arguments."""
    from .. import pipeline

    for text in arguments.arguments:
        if not re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|[0-9]+)", text):
            raise LiftError(f"{text}: is not an integer; arguments are decimal, or hexadecimal with 0x")
        if not -(1 << 31) <= int(text, 16 if "x" in text.lower() else 10) < 1 << 32:
            raise LiftError(f"{text}: is not an integer of 32 bits")
    guest = pipeline.open_guest(arguments.program)
    function = guest.function(arguments.function)
    words = ["--engine", arguments.engine]
    if arguments.engine == "native":
        words += ["--library", str(_library(arguments.program, options_of(arguments)))]
    words += ["--call", f"{function.start:x}", *arguments.arguments]
    return _become(host_executable(), [*words, os.path.abspath(arguments.program)])  # its name may be a number
