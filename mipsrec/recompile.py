"""From a guest, or the folder of a dump, to a library that the host loads.

Enters: a `Guest`, or a folder that `dump-llvm` wrote; options. Leaves: the library. Functions that a compiler process
dies of are left out, and named. Where libraries are kept is not decided here: pipeline.py, fill_store.py.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from . import ir_dump, profiles
from .analysis import Function
from .checked_arguments import PATH, Kind, checked
from .elf import Image
from .errors import BuildError, LiftError
from .guest import FUNCTIONS, OPTIONS, Guest
from .lift.convention import Callee
from .native.build_times import BuildTimes, Phase
from .native.plan import Plan, choose
from .native.shard_work import CompilerDied, Progress
from .native.shards import shards_of_files
from .options import Options
from .target.cpu import chosen_cpu

if TYPE_CHECKING:
    from .native.library import BuildOptions, BuildReport
    from .native.linking import LibraryIdentity

_SOURCE = Kind((Guest, *PATH.types), "a guest, which open_guest(path) returns, or the folder of a dump")


def plan_of(
    guest: Guest, options: Options, chosen: Mapping[int, Callee] | None = None, profile: profiles.Profile | None = None
) -> Plan:
    """Return how the chosen functions of a guest, or all that get lifted, are to be compiled."""
    chosen = guest.starts if chosen is None else chosen
    return choose(guest.program, chosen, guest.lift_options(options), str(options.opt), profile)


@checked(source=_SOURCE, output=PATH, options=OPTIONS.optional(), functions=FUNCTIONS.optional())
def build(
    source: Guest | str | os.PathLike[str],
    output: str | os.PathLike[str],
    options: Options | None = None,
    progress: Progress | None = None,
    functions: list[Function] | None = None,
) -> BuildReport:
    """Compile a guest, or the folder of a dump, into a library that the host loads.

    `functions` chooses some of a guest's; the rest of the program is interpreted. So are functions that a compiler
    process dies of, which are named on standard error.
    """
    from .native import library
    from .native.linking import GuestFile, LibraryIdentity

    options = options or Options()
    _keep_source(source, Path(output))
    build_options = library.BuildOptions(options.jobs, chosen_cpu(options.cpu), options.reuse)
    profile = profiles.read(options.profile) if options.profile is not None else None
    said = f"{options.opt}+prof" if profile is not None else str(options.opt)
    if isinstance(source, Guest):
        image, lift = source.image, source.lift_options(options)
        if profile is not None:
            profile = profile.of(image.identity, image.path)
        identity = LibraryIdentity(
            GuestFile.of(image), lift.memory, lift.calls, said, build_options.cpu, options.cover
        )
        return _build_guest(source, options, functions, profile, identity, build_options, Path(output), progress)
    if Path(source).is_file():
        raise BuildError(f"{source}: is no folder of a dump; of a program, give open_guest({str(source)!r})")
    dump = ir_dump.read_dump(Path(source))
    if profile is not None:
        profile = profile.of(dump.guest.identity, Path(source))
    identity = LibraryIdentity(dump.guest, dump.memory, dump.calls, said, build_options.cpu)
    shards = shards_of_files(dump.with_levels(str(options.opt), profile))
    try:
        return library.build_library(shards, None, dump.entries, build_options, identity, Path(output), progress)
    except CompilerDied as died:
        raise CompilerDied(library.dying_parts(died, build_options)) from died


def _build_guest(
    source: Guest, options: Options, functions: list[Function] | None, profile: profiles.Profile | None,
    identity: LibraryIdentity, build: BuildOptions, output: Path, progress: Progress | None,
) -> BuildReport:  # fmt: skip
    """Compile a guest into a library: of the parts that an unchanged build had, or else anew.

    A build that had to leave functions out is not recorded: another time there may be memory enough for them.
    """
    from .native import kept_parts, library

    chosen = None if functions is None else _callees_of(source, functions)
    record = None
    if build.reuse and kept_parts.may_find():
        lift, starts = source.lift_options(options), None if chosen is None else sorted(chosen)
        samples = None if profile is None else profile.samples
        record = kept_parts.build_key([identity, lift, str(options.opt), starts, samples, source.beliefs])
        parts = kept_parts.find_build(record)
        report = None if parts is None else library.build_again(parts, build, identity, output, progress)
        if report is not None:
            return _with_times_of(source, report)
    chosen = source.starts if chosen is None else chosen
    while True:
        with source.times.phase(Phase.FACTS):
            plan = plan_of(source, options, chosen, profile)
        shards = plan.shards()
        try:
            report = library.build_library(shards, plan, None, build, identity, output, progress)
        except CompilerDied as died:
            chosen, progress, record = _without_dying(source.image, chosen, died, plan, build), None, None
            continue
        if record is not None and len(report.keys) == report.shards:
            kept_parts.keep_build(record, report.keys)
        return _with_times_of(source, report)


def _with_times_of(guest: Guest, report: BuildReport) -> BuildReport:
    """Return a report that has what was spent on a guest before as well; the next one of the guest does not."""
    report.times.add(guest.times)
    guest.times = BuildTimes()
    return report


def _keep_source(source: Guest | str | os.PathLike[str], output: Path) -> None:
    """Raise BuildError where the library would replace what it is made of."""
    if isinstance(source, Guest):
        read, what = [source.image.path], "the program"
    else:
        read, what = ([] if output.suffix not in (".ll", ".json") else list(Path(source).iterdir())), "part of the dump"
    for path in read:
        with suppress(OSError):
            if os.path.samefile(path, output):
                raise BuildError(f"{output}: is {what} that is to be recompiled; name another file for the library")


def _without_dying(
    image: Image, chosen: Mapping[int, Callee], died: CompilerDied, plan: Plan, options: BuildOptions
) -> Mapping[int, Callee]:
    """Return the chosen functions but those that compiler processes die of; raises LiftError where none are left."""
    from .native.library import dying_starts

    left = chosen.keys() - dying_starts(died, plan, options, image.path)
    if not left:
        raise LiftError(f"{image.path}: there is nothing else to recompile")
    return {start: chosen[start] for start in chosen if start in left}


def _callees_of(guest: Guest, functions: list[Function]) -> Mapping[int, Callee]:
    """Return the chosen functions as callees; raises LiftError for one that does not get lifted."""
    for function in functions:
        if function.start not in guest.starts:
            raise LiftError(f"{guest.image.path}: {function.name} is not recompiled, so it cannot be chosen")
    return {function.start: guest.starts[function.start] for function in functions}
