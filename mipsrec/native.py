"""From IR to a native shared library: optimises and compiles shards in worker processes.

Enters: an analysed `Program`, or the folder of an IR dump. Leaves: one library file (linking.py). Objects of earlier
builds are taken where IR, level, processor and this recipe are the same (object_cache.py). The key of an object is a
hash of the IR, not of what the IR is made from: to make IR is a twentieth of the work, and so nothing can be forgotten.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from . import object_cache
from .analysis import Program
from .checksum import append_footer
from .compiler import find_compiler
from .emit.function import LiftedFunction
from .emit.lifted import lift_function
from .emit.module import TRIPLE_LINE, called_elsewhere, module_text
from .errors import BuildError, WriteError
from .library_imports import check_imports, read_ir
from .lift.convention import Callee
from .lift.options import LiftOptions
from .linking import LibraryIdentity, link, table_text
from .options import LIGHT
from .shard_work import CompilerDied, DeadShard, Progress, results_of, smallest_dying, starts_to_leave_out
from .shards import Shard, shards_of_program
from .target_cpu import Cpu, chosen_cpu
from .temporary_folder import move_in, opened_output, temporary_folder
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


_LLVM_OPTIONS = (
    "-x86-cmov-converter=0", "-two-entry-phi-node-folding-threshold=5", "-cgpp-huge-func=20",
    "-cgp-max-address-users-to-scan=2000", "-experimental-debug-variable-locations=false",
)  # fmt: skip
"""Conditional moves stay: which way a condition goes, lifted code does not tell, and a wrong guess costs more. And one
instruction more than usual may be executed for nothing to make them: 64-bit values are pairs here.

And in functions of more than 20 blocks CodeGenPrepare goes on where it changed something, not over all blocks again:
the code is as good, and a function with a thousand blocks takes a third less time.

And addresses in the state are part of the access that uses them, also of registers that a large function stores in more
than a hundred places: with LLVM's limit they are computed ahead and spilled.

And no pass looks for where variables are, since there are none to debug."""

_OWN_ADDRESSES = "-disable-lsr"
"""Loops keep the addresses that the guest's compiler has chosen. To choose again takes a twentieth of the time, makes
code larger, and gains nothing but at the light level: without it, matmul_int takes 1.33 of its time there."""

_LIGHT_OPTIONS = (
    "-regalloc=basic", "-enable-misched=0", "-disable-copyprop", "-disable-machine-sink", "-disable-machine-licm",
    "-disable-machine-cse", "-dse-memoryssa-scanlimit=20", "-dse-memoryssa-walklimit=15",
    "-dse-memoryssa-path-check-limit=5",
)  # fmt: skip
_LIGHT_PASSES = (
    "always_inliner", "sroa", "simplify_cfg", "sccp", "instruction_combine", "dead_store_elimination", "aggressive_dce",
    "simplify_cfg",
)  # fmt: skip
"""The light level: what makes values of the registers and drops stores that others overwrite, then a register allocator
that does not split live ranges. Most of LLVM's time goes into making code of IR, so less IR matters most, and no
machine pass runs that makes little smaller."""


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    if default_triple().startswith("x86_64"):
        for option in _LLVM_OPTIONS:
            llvm.set_option("mipsrec", option)


def _target_machine(level: str, cpu: Cpu) -> llvm.TargetMachine:
    target = llvm.Target.from_default_triple()
    opt = 1 if level == LIGHT else int(level)
    return target.create_target_machine(cpu=cpu.name, opt=opt, reloc="pic", codemodel="small")


def optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine, level: str) -> None:
    """Run LLVM's pipeline of that level, or the light one; vectors of straight code lost on lifted integer kernels.

    Without the layout LLVM does not know which integers the machine has, and leaves loops' counters narrow.
    """
    module.data_layout = str(machine.target_data)
    opt = 1 if level == LIGHT else int(level)
    tuning = llvm.create_pipeline_tuning_options(speed_level=opt)
    tuning.loop_vectorization = opt > 1
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    if level == LIGHT:
        passes = llvm.create_new_module_pass_manager()
        for name in _LIGHT_PASSES:
            getattr(passes, f"add_{name}_pass")()
    else:
        passes = builder.getModulePassManager()
    passes.run(module, builder)


def compile_text(text: str, level: str, cpu: Cpu) -> bytes:
    """Return the object code of a module; raises BuildError on IR that LLVM refuses."""
    return compile_texts([("generated IR", text)], level, cpu)


def compile_texts(texts: list[tuple[str, str]], level: str, cpu: Cpu) -> bytes:
    """Return the object code of several modules, given with their names, linked into one."""
    _initialize()
    module = _parsed(*texts[0])
    for name, text in texts[1:]:
        other = _parsed(name, text)
        try:
            module.link_in(other)
        except RuntimeError as error:
            raise BuildError(f"{name}: LLVM refuses the IR: {_reason(error)}") from error
    machine = _target_machine(level, cpu)
    optimize(module, machine, level)
    return bytes(machine.emit_object(module))


def emit_text(text: str, cpu: Cpu) -> bytes:
    """Return the object code of a module that is written as it shall be: no pass of LLVM changes it before."""
    _initialize()
    machine = _target_machine("2", cpu)
    module = _parsed("generated IR", text)
    module.data_layout = str(machine.target_data)
    return bytes(machine.emit_object(module))


def _parsed(name: str, text: str) -> llvm.ModuleRef:
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise BuildError(f"{name}: LLVM refuses the IR: {_reason(error)}") from error
    return module


def _reason(error: RuntimeError) -> str:
    """Return the line of LLVM's message that says most: the one with a place, or else the first."""
    lines = [line.removeprefix("<string>:") for line in str(error).strip().splitlines()]
    return next((line for line in lines if ": error: " in line), lines[0] if lines else "no message")


def default_triple() -> str:
    """Return the triple that IR is written for: this machine's."""
    return str(llvm.get_default_triple())


def _optimized(text: str, level: str, cpu: Cpu) -> llvm.ModuleRef:
    _initialize()
    module = llvm.parse_assembly(text)
    optimize(module, _target_machine(level, cpu), level)
    return module


def optimized_text(text: str, level: str, cpu: Cpu) -> str:
    """Return a module as text after LLVM's pipeline of that level."""
    return str(_optimized(text, level, cpu))


@dataclass(frozen=True)
class ShardResult:
    """Where the object is, and which symbol serves which guest pcs."""

    path: Path
    entries: tuple[tuple[int, str], ...]
    reused: bool


@dataclass(frozen=True)
class Plan:
    """What the shards of a program are made from: it, its functions as callees, and levels of those to compile."""

    program: Program
    callees: Mapping[int, Callee]
    levels: Mapping[int, str]
    options: LiftOptions

    def shards(self) -> list[Shard]:
        return shards_of_program(self.program, self.levels)

    @cached_property
    def tiny(self) -> Mapping[str, int]:
        """The starts of functions that all callers copy, by symbol."""
        return {callee.symbol: start for start, callee in self.callees.items() if callee.tiny}


def lift_shard(shard: Shard, plan: Plan) -> list[LiftedFunction]:
    """Return the LLVM functions of one module, then those that it copies from other modules."""
    lifted: list[LiftedFunction] = []
    for start in shard.starts:
        lifted += lift_function(plan.program.functions[start], plan.callees, plan.options, len(lifted))
    for start in sorted(plan.tiny[symbol] for symbol in called_elsewhere(lifted) & plan.tiny.keys()):
        copies = lift_function(plan.program.functions[start], plan.callees, plan.options, len(lifted))
        lifted += [copy.as_copy() for copy in copies]
    return lifted


@cache
def recipe() -> str:
    """Return what, besides IR, level and processor, decides what an object is: LLVM, and this file."""
    code = hashlib.blake2b(Path(__file__).read_bytes(), digest_size=16).hexdigest()
    return f"{llvmlite.__version__} {llvm.llvm_version_info} {default_triple()} {code}"


def object_key(texts: list[tuple[str, str]], level: str, cpu: Cpu) -> str:
    """Return the name under which the object of some modules is kept."""
    digest = hashlib.blake2b(f"{recipe()} {level} {cpu.name}".encode(), digest_size=20)
    for _, text in texts:
        data = text.encode()
        digest.update(b"%d " % len(data) + data)
    return digest.hexdigest()


def _object(texts: list[tuple[str, str]], level: str, cpu: Cpu, reuse: bool) -> tuple[bytes, bool]:
    """Return the object of some modules, and whether it is of an earlier build."""
    if not reuse:
        return compile_texts(texts, level, cpu), False
    key = object_key(texts, level, cpu)
    kept = object_cache.find(key)
    if kept is not None:
        return kept, True
    data = compile_texts(texts, level, cpu)
    object_cache.keep(key, data)
    return data, False


Entries = list[tuple[int, str]]
"""Guest pcs, each with the symbol that serves it."""


def choose_options(level: str) -> None:
    """Set LLVM's options for a level, in a process that compiles nothing of another one."""
    for option in _LIGHT_OPTIONS if level == LIGHT else (_OWN_ADDRESSES,):
        llvm.set_option("mipsrec", option)


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
        texts = [("generated IR", module_text(lifted, default_triple(), plan.options.file_name))]
    data, reused = _object(texts, shard.level, build.cpu, build.reuse)
    return data, entries, reused


def _optimized_shard(shard: Shard, plan: Plan, build: BuildOptions) -> bytes:
    """Return the bitcode of a shard of a program, as LLVM's passes leave it."""
    choose_options(shard.level)
    text = module_text(lift_shard(shard, plan), default_triple(), plan.options.file_name)
    return bytes(_optimized(text, shard.level, build.cpu).as_bitcode())


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
        object_cache.begin()
    with _being_made(output) as (folder, place):
        work = partial(_run_shard, folder=folder, plan=plan, build=build)  # workers inherit it through fork
        compiled = in_workers(shards, work, build, progress)
        found = entries if entries is not None else [entry for result in compiled for entry in result.entries]
        sources = [path for shard in shards for path in shard.files]
        _finish([result.path for result in compiled], found, build.cpu, identity, folder, place, output.name, sources)
    reused = sum(result.reused for result in compiled)
    if build.reuse and reused < len(compiled):
        object_cache.trim()
    return BuildReport(len(compiled), reused)


def optimized_module(plan: Plan, build: BuildOptions, progress: Progress | None = None) -> str:
    """Return one module of what `build_library` compiles of a plan: its shards as LLVM's passes leave them, joined."""
    work = partial(_optimized_shard, plan=plan, build=build)
    whole = llvm.parse_assembly(f'{TRIPLE_LINE}"{default_triple()}"\n')
    for part in in_workers(plan.shards(), work, build, progress):
        whole.link_in(llvm.parse_bitcode(part))
    return str(whole)


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
    table.write_bytes(compile_text(table_text(entries, identity, default_triple()), "2", cpu))
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
