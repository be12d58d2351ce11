"""From IR to a native shared library: optimises and compiles shards in worker processes.

Enters: an analysed `Program`, or the folder of an IR dump. Leaves: one library file (linking.py). Objects of earlier
builds are taken where IR, level, processor and this recipe are the same (cache/objects.py). The key of an object is a
hash of the IR, not of what the IR is made from: to make IR is a twentieth of the work, and so nothing can be forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ..cache import objects
from ..emit.function import LiftedFunction
from ..emit.lifted import lift_function
from ..emit.module import called_elsewhere, module_text
from ..errors import WriteError
from ..files.checksum import append_footer
from ..files.temporary_folder import move_in, opened_output, temporary_folder
from ..target import this_target
from ..target.cpu import Cpu, chosen_cpu
from .codegen import choose_options, compile_text, compile_texts, joined, object_key, optimized
from .compiler import find_compiler
from .library_imports import check_imports, read_ir
from .linking import LibraryIdentity, link, table_text
from .plan import Plan
from .shard_work import CompilerDied, DeadShard, Progress, results_of, smallest_dying, starts_to_leave_out
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
    """How many shards a library was made of, and how many of their objects were there already."""

    shards: int
    reused: int


# ---- one shard, in a worker process ----


@dataclass(frozen=True)
class ShardResult:
    """Where the object is, and which symbol serves which guest pcs."""

    path: Path
    entries: tuple[tuple[int, str], ...]
    reused: bool


def lift_shard(shard: Shard, plan: Plan) -> list[LiftedFunction]:
    """Return the LLVM functions of one module, then those that it copies from other modules."""
    lifted: list[LiftedFunction] = []
    for start in shard.starts:
        lifted += lift_function(plan.program.functions[start], plan.callees, plan.options, len(lifted))
    for start in sorted(plan.tiny[symbol] for symbol in called_elsewhere(lifted) & plan.tiny.keys()):
        copies = lift_function(plan.program.functions[start], plan.callees, plan.options, len(lifted))
        lifted += [copy.as_copy() for copy in copies]
    return lifted


def _object(texts: list[tuple[str, str]], level: str, cpu: Cpu, reuse: bool) -> tuple[bytes, bool]:
    """Return the object of some modules, and whether it is of an earlier build."""
    if not reuse:
        return compile_texts(texts, level, cpu), False
    key = object_key(texts, level, cpu)
    kept = objects.find(key)
    if kept is not None:
        return kept, True
    data = compile_texts(texts, level, cpu)
    objects.keep(key, data)
    return data, False


Entries = list[tuple[int, str]]
"""Guest pcs, each with the symbol that serves it."""


def compile_shard(shard: Shard, plan: Plan | None, build: BuildOptions) -> tuple[bytes, Entries, bool]:
    """Return a shard's object, its entries, and whether the object is of an earlier build.

    `plan` is needed where the shard has functions. LLVM's options are of the process, which compiles only this.
    """
    choose_options(shard.level)
    entries: Entries = []
    if shard.files:
        texts = [(str(path), read_ir(path)) for path in shard.files]
    else:
        assert plan is not None
        lifted = lift_shard(shard, plan)
        entries = [(pc, function.symbol) for function in lifted for pc in function.entries]
        texts = [("generated IR", module_text(lifted, this_target().triple, plan.options.file_name))]
    data, reused = _object(texts, shard.level, build.cpu, build.reuse)
    return data, entries, reused


def _optimized_shard(shard: Shard, plan: Plan, build: BuildOptions) -> bytes:
    """Return the bitcode of a shard of a program, as LLVM's passes leave it."""
    choose_options(shard.level)
    text = module_text(lift_shard(shard, plan), this_target().triple, plan.options.file_name)
    return bytes(optimized(text, shard.level, build.cpu).as_bitcode())


def _run_shard(shard: Shard, folder: Path, plan: Plan | None, build: BuildOptions) -> ShardResult:
    data, entries, reused = compile_shard(shard, plan, build)
    path = folder / f"{shard.number}.o"
    path.write_bytes(data)
    return ShardResult(path, tuple(entries), reused)


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
    if build.reuse:
        objects.begin()
    with _being_made(output) as (folder, place):
        work = partial(_run_shard, folder=folder, plan=plan, build=build)  # workers inherit it through fork
        compiled = in_workers(shards, work, build, progress)
        found = entries if entries is not None else [entry for result in compiled for entry in result.entries]
        sources = [path for shard in shards for path in shard.files]
        _finish([result.path for result in compiled], found, build.cpu, identity, folder, place, output.name, sources)
    reused = sum(result.reused for result in compiled)
    if build.reuse and reused < len(compiled):
        objects.trim()
    return BuildReport(len(compiled), reused)


def optimized_module(plan: Plan, build: BuildOptions, progress: Progress | None = None) -> str:
    """Return one module of what `build_library` compiles of a plan: its shards as LLVM's passes leave them, joined."""
    work = partial(_optimized_shard, plan=plan, build=build)
    return joined(in_workers(plan.shards(), work, build, progress))


def link_objects(parts: Sequence[bytes], entries: Entries, cpu: Cpu, identity: LibraryIdentity, output: Path) -> None:
    """Make the library `output` of objects that were compiled elsewhere, in the shards' order."""
    with _being_made(output) as (folder, place):
        paths = [folder / f"{number}.o" for number in range(len(parts))]
        for path, data in zip(paths, parts, strict=True):
            path.write_bytes(data)
        _finish(paths, entries, cpu, identity, folder, place, output.name)


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


def _finish(
    paths: Sequence[Path], entries: Entries, cpu: Cpu, identity: LibraryIdentity, folder: Path, place: int, name: str,
    sources: Sequence[Path] = (),
) -> None:  # fmt: skip
    """Link objects and the table of entries to a library, which appears whole in `place`; `sources` are files of IR."""
    table = folder / "table.o"
    table.write_bytes(compile_text(table_text(entries, identity, this_target().triple), "2", cpu))
    library = folder / "library.so"
    link(find_compiler(), [*paths, table], library, folder)
    check_imports(library, sources)
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
