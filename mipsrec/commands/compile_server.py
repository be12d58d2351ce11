"""compile-server: recompiles what is hot in programs that run."""

from __future__ import annotations

import argparse

from ..server import serve
from .arguments import add_jobs
from .server_words import idle_seconds

DESCRIPTION = """\
Recompiles what is hot in programs that run. `mipsrec run` starts one for each user, cache and version of mipsrec; it
ends when nobody asks any more. Nobody needs to start it by hand.
"""


def _seconds(text: str) -> float:
    try:
        return idle_seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_jobs(parser)
    parser.add_argument("--idle", type=_seconds, default=serve.IDLE_SECONDS, metavar="SECONDS",
                        help="end when nobody has asked for so long (default %(default)g)")  # fmt: skip


def main(arguments: argparse.Namespace) -> int:
    return serve.serve(arguments.jobs, arguments.idle)
