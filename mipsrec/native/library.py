"""From IR to a native shared library: optimises and compiles shards in worker processes.

Enters: an analysed `Program`, or the folder of an IR dump; or the keys of the parts of an earlier build. Leaves: one
library file (linking.py). Objects of earlier builds are taken where IR, level, processor and this recipe are the same
(cache/objects.py). A part whose inputs are the same is not even lifted (shard_inputs.py, kept_parts.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ..cache import objects
from ..emit.function import LiftedFunction
from ..emit.module import module_text
from ..errors import WriteError
from ..files.checksum import append_footer
from ..files.temporary_folder import move_in, opened_output, temporary_folder
from ..target import this_target
from ..target.cpu import Cpu, chosen_cpu
from .build_times import BuildTimes, PartTime, Phase
from .codegen import choose_options, compile_text, compile_texts, joined, object_key, optimized
from .compiler import find_compiler
from .kept_parts import Entries, find_part, keep_part, may_find
from .library_imports import check_imports, read_ir
from .linking import LibraryIdentity, link, table_text
from .plan import Plan
from .shard_inputs import inputs_of, lift_inputs, part_key
from .shard_work import WORK_BEGINS, CompilerDied, DeadShard, Progress, results_of, smallest_dying, starts_to_leave_out
from .shards import Shard
from .workers import Death, Result


@dataclass(frozen=True)
class BuildOptions:
    """`cpu` is what code is made for; `jobs` the number of worker processes, 0 for one per processor.

    `reuse` allows to take objects of earlier builds, and to keep those of this one.
    """

    jobs: int = 0
    cpu: Cpu = field(default_factory=lambda: chosen_cpu("native"))
    reuse: bool = True

    def worker_count(self) -> int:
        return self.jobs or len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class BuildReport:
    """How many shards a library was made of, how many of their objects were there already, and what took how long.

    `keys` are those of the shards' records, where all of them have one.
    """

    shards: int
    reused: int
    times: BuildTimes = field(default_factory=BuildTimes)
    keys: tuple[str, ...] = ()


# ---- one shard, in a worker process ----


@dataclass(frozen=True)
class ShardResult:
    """Where the object is, which symbol serves which guest pcs, and what a worker has spent on it."""

    path: Path
    entries: tuple[tuple[int, str], ...]
    reused: bool
    times: BuildTimes = field(default_factory=BuildTimes)


def lift_shard(shard: Shard, plan: Plan) -> list[LiftedFunction]:
    """Return the LLVM functions of one module, then those that it copies from other modules."""
    return lift_inputs(inputs_of(shard, plan))


def _object(key: str, texts: list[tuple[str, str]], level: str, cpu: Cpu, times: BuildTimes) -> tuple[bytes, bool]:
    """Return the object of some modules, and whether it is of an earlier build, which kept it by the key."""
    with times.phase(Phase.OBJECTS):
        kept = objects.find(key)
    if kept is not None:
        return kept, True
    data = compile_texts(texts, level, cpu, times)
    with times.phase(Phase.OBJECTS):
        objects.keep(key, data)
    return data, False


def compile_shard(
    shard: Shard, plan: Plan | None, build: BuildOptions, record: str | None = None, times: BuildTimes | None = None
) -> tuple[bytes, Entries, bool]:
    """Return a shard's object, its entries, and whether the object is of an earlier build.

    `plan` is needed where the shard has functions. LLVM's options are of the process, which compiles only this.
    `record` is the key of the record to keep of it, `times` count what it takes.
    """
    times = times or BuildTimes()
    choose_options(shard.level)
    entries: Entries = []
    with times.phase(Phase.LIFTING):
        if shard.files:
            texts = [(str(path), read_ir(path)) for path in shard.files]
        else:
            assert plan is not None
            lifted = lift_shard(shard, plan)
            entries = [(pc, function.symbol) for function in lifted for pc in function.entries]
            texts = [("generated IR", module_text(lifted, this_target().triple, plan.options.file_name))]
    if not build.reuse:
        return compile_texts(texts, shard.level, build.cpu, times), entries, False
    key = object_key(texts, shard.level, build.cpu)
    data, reused = _object(key, texts, shard.level, build.cpu, times)
    if record is not None:
        keep_part(record, key, entries, shard)
    return data, entries, reused


def _optimized_shard(shard: Shard, plan: Plan, build: BuildOptions) -> bytes:
    """Return the bitcode of a shard of a program, as LLVM's passes leave it."""
    choose_options(shard.level)
    text = module_text(lift_shard(shard, plan), this_target().triple, plan.options.file_name)
    return bytes(optimized(text, shard.level, build.cpu).as_bitcode())


def _run_shard(
    shard: Shard, folder: Path, plan: Plan | None, build: BuildOptions, keys: Mapping[int, str]
) -> ShardResult:
    began, times = time.perf_counter(), BuildTimes()
    data, entries, reused = compile_shard(shard, plan, build, keys.get(shard.number), times)
    path = _object_path(folder, shard.number)
    path.write_bytes(data)
    times.parts.append(PartTime(shard.names, shard.level, shard.weight, time.perf_counter() - began))
    return ShardResult(path, tuple(entries), reused, times)


def _object_path(folder: Path, number: int) -> Path:
    return folder / f"{number}.o"


# ---- what earlier builds have kept ----


def _part_keys(shards: list[Shard], plan: Plan | None, build: BuildOptions) -> dict[int, str]:
    """Return the keys of the records of shards, by number; none of IR files, or where nothing may be taken."""
    if plan is None or not build.reuse or not may_find():
        return {}
    return {shard.number: part_key(inputs_of(shard, plan), shard.level, build.cpu) for shard in shards}


def _kept_result(key: str, number: int, folder: Path, progress: Progress | None) -> ShardResult | None:
    """Return the result of a shard that an earlier build has kept; None where there is none."""
    part = find_part(key)
    if part is None:
        return None
    path = _object_path(folder, number)
    path.write_bytes(part.data)
    if progress is not None:
        progress(part.functions, part.instructions)
    return ShardResult(path, tuple(part.entries), True)


def build_again(
    keys: Sequence[str], build: BuildOptions, identity: LibraryIdentity, output: Path, progress: Progress | None = None
) -> BuildReport | None:
    """Link the parts of an earlier build to the library that they made; return None where one has gone."""
    times, found = BuildTimes(), list[ShardResult]()
    with _being_made(output) as (folder, place):
        with times.phase(Phase.KEPT):
            for number, key in enumerate(keys):
                result = _kept_result(key, number, folder, progress)
                if result is None:
                    return None
                found.append(result)
        _finish(_Parts.of(found), build.cpu, identity, folder, place, output.name, times)
    return BuildReport(len(found), len(found), times, tuple(keys))


# ---- the whole build ----


def build_library(
    shards: list[Shard],
    plan: Plan | None,
    entries: Entries | None,
    build: BuildOptions,
    identity: LibraryIdentity,
    output: Path,
    progress: Progress | None = None,
) -> BuildReport:
    """Compile the shards of a program's plan, or without one those of IR files with `entries`, into a library."""
    times = BuildTimes()
    if progress is not None:
        progress(*WORK_BEGINS)
    if build.reuse:
        objects.begin()
    with _being_made(output) as (folder, place):
        with times.phase(Phase.KEPT):
            keys = _part_keys(shards, plan, build)
            kept = {number: _kept_result(key, number, folder, progress) for number, key in keys.items()}
        work = partial(_run_shard, folder=folder, plan=plan, build=build, keys=keys)  # workers inherit it through fork
        left = [shard for shard in shards if kept.get(shard.number) is None]
        with times.phase(Phase.WORKERS):
            made = iter(in_workers(left, work, build, progress))
        results = [kept.get(shard.number) or next(made) for shard in shards]
        parts = _Parts.of(results, [path for shard in shards for path in shard.files])
        parts = parts if entries is None else replace(parts, entries=entries)
        _finish(parts, build.cpu, identity, folder, place, output.name, times)
    for result in results:
        times.add(result.times)
    reused = sum(result.reused for result in results)
    if build.reuse and left:
        objects.trim()
    return BuildReport(len(results), reused, times, tuple(keys.values()))


def optimized_module(plan: Plan, build: BuildOptions, progress: Progress | None = None) -> str:
    """Return one module of what `build_library` compiles of a plan: its shards as LLVM's passes leave them, joined."""
    work = partial(_optimized_shard, plan=plan, build=build)
    return joined(in_workers(plan.shards(), work, build, progress))


def link_objects(parts: Sequence[bytes], entries: Entries, cpu: Cpu, identity: LibraryIdentity, output: Path) -> None:
    """Make the library `output` of objects that were compiled elsewhere, in the shards' order."""
    with _being_made(output) as (folder, place):
        paths = [_object_path(folder, number) for number in range(len(parts))]
        for path, data in zip(paths, parts, strict=True):
            path.write_bytes(data)
        _finish(_Parts(paths, entries), cpu, identity, folder, place, output.name, BuildTimes())


@contextmanager
def _being_made(output: Path) -> Iterator[tuple[Path, int]]:
    """Yield a folder for files on the way to a library, and the opened one it goes to; raises BuildError for disks."""
    find_compiler()
    if output.exists() and not output.is_file():
        raise WriteError(f"{output}: is there, and no regular file: name another")
    try:
        os.stat(output.parent)  # no folder is made for it
        with (
            opened_output(output.parent) as place,
            temporary_folder(".mipsrec-", os.readlink(f"/proc/self/fd/{place}")) as folder,
        ):
            yield folder, place
    except OSError as error:
        raise WriteError(f"{output}: cannot be written ({error.strerror or error}); nothing was left behind") from error


@dataclass(frozen=True)
class _Parts:
    """What a library is linked from: objects, their entries, and the files of IR that they were made of, if any."""

    objects: list[Path]
    entries: Entries
    sources: Sequence[Path] = ()

    @classmethod
    def of(cls, results: Sequence[ShardResult], sources: Sequence[Path] = ()) -> _Parts:
        """Return the parts that are the results of shards."""
        entries = [entry for result in results for entry in result.entries]
        return cls([result.path for result in results], entries, sources)


def _finish(
    parts: _Parts, cpu: Cpu, identity: LibraryIdentity, folder: Path, place: int, name: str, times: BuildTimes
) -> None:
    """Link objects and the table of entries to a library, which appears whole in `place`."""
    table = folder / "table.o"
    with times.phase(Phase.TABLE):
        table.write_bytes(compile_text(table_text(parts.entries, identity, this_target().triple), "2", cpu))
    library = folder / "library.so"
    with times.phase(Phase.LINKING):
        link(find_compiler(), [*parts.objects, table], library, folder)
        check_imports(library, parts.sources)
        append_footer(library)
        library.chmod(library.stat().st_mode & 0o755)  # the host takes no code that others can write
        move_in(place, library, name)


def in_workers(
    shards: list[Shard], work: Callable[[Shard], Result], build: BuildOptions, progress: Progress | None = None
) -> list[Result]:
    """Work on every shard, each in a process of its own; return the results in order. Raises CompilerDied."""
    return results_of(shards, work, build.worker_count(), progress)


def dying_parts(died: CompilerDied, build: BuildOptions) -> list[DeadShard]:
    """Return the smallest parts of shards of IR files that compiler processes die of."""
    return smallest_dying(died.dead, partial(compile_shard, plan=None, build=build), build.worker_count())


def dying_starts(died: CompilerDied, plan: Plan, build: BuildOptions, file: Path) -> dict[int, Death]:
    """Return the starts of functions to leave out, with how compiler processes die of them; they are named."""
    work = partial(compile_shard, plan=plan, build=replace(build, reuse=False))
    return starts_to_leave_out(str(file), died, work, build.worker_count(), plan.tiny.values())
