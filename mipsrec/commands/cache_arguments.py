"""The arguments of `cache`, and their help."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

_CACHE = """\
Recompiled code is kept in a cache: $MIPSREC_CACHE, else $XDG_CACHE_HOME/mipsrec, else ~/.cache/mipsrec. A library there
is of the contents of one file of a guest, so all programs that load this file share it. All of the cache may be deleted
at any time: `build` makes it again, and `run` does without what is not there.

Behind the cache are layers, folders like it that are only read: those of $MIPSREC_CACHE_PATH, with colons between them,
then /var/cache/mipsrec and /usr/lib/mipsrec/cache. `mipsrec build --into FOLDER --sysroot DIR` fills one. Code is taken
only where nobody but root and the user can write the folder, those above it and what is in it.

  mipsrec cache list                       what is kept, of which files, how large, and when it was used last
  mipsrec cache verify                     is every library as it was made? Exit status 1 if not
  mipsrec cache verify --remove            damaged ones go; the next build makes them again
  mipsrec cache prune                      what nothing needs any more goes: stale notes, parts of unfinished builds
  mipsrec cache prune --other-versions     and what other versions of mipsrec made, which this one does not use
  mipsrec cache prune --older-than 30d     and what was not used for 30 days
  mipsrec cache prune --max-size 4G        and what was used longest ago, until the rest takes 4 GiB
  mipsrec cache warm prog.elf ARG...       run a program; wait until what was hot in it is recompiled, and list it
  mipsrec cache path                       the folder

`list` and `verify` look into layers, too; `prune` and `--remove` leave them alone.

A build keeps the libraries within MIPSREC_CACHE_LIMIT (default 16G; none: no limit): what was used longest ago goes,
but not what that build needs. Pruning while programs run is safe: they keep what they have loaded.
"""


def _size(text: str) -> int:
    from ..kept import parse_size  # only now, so that `run` starts quickly

    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def _duration(text: str) -> float:
    """Return the seconds that "30d" means."""
    number, unit = text[:-1], text[-1:]
    if unit not in _SECONDS or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write a number and s, m, h, d or w, such as 30d")
    return int(number) * _SECONDS[unit]


def add(commands: argparse._SubParsersAction[Any], add_running: Callable[[Any], None]) -> None:
    """Add `cache` to the commands; `add_running` adds the options of `run`."""
    parser = commands.add_parser(
        "cache",
        help="list, check and prune the recompiled code that is kept",
        description=_CACHE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|verify|prune|path|warm")
    action = actions.add_parser("list", help="what is kept, by version of mipsrec and way to translate")
    action.add_argument("--json", action="store_true", help="machine-readable")
    action = actions.add_parser("verify", help="check every library; exit status 1 if one is damaged")
    action.add_argument("--remove", action="store_true", help="remove those that are damaged")
    action = actions.add_parser("prune", help="remove what nothing needs, and what the options say")
    action.add_argument("--max-size", type=_size, metavar="SIZE",
                        help="remove what was used longest ago, until all takes no more than SIZE (4G)")  # fmt: skip
    action.add_argument("--older-than", type=_duration, metavar="TIME",
                        help="remove what was not used for TIME (30d, 12h)")  # fmt: skip
    action.add_argument("--other-versions", action="store_true",
                        help="remove what other versions of mipsrec made")  # fmt: skip
    action.add_argument("--dry-run", action="store_true", help="only say what would go")
    action = actions.add_parser("warm", help="run a program, and have all that is hot in it recompiled for later runs")
    add_running(action)
    actions.add_parser("path", help="print the folder")
