"""The public library API: what the command line does, as functions.

    guest = open_guest("prog.elf")
    dump_llvm(guest, "out")
    build(guest, "lib.so")
    cached_library(guest)

All of them raise `MipsrecError` with one line that says what failed, where, and what to do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from fnmatch import fnmatchcase
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from . import ir_dump, profiles
from .analysis import Block, Function, Program, Ranges, analyze
from .analysis.garbage import without_collections
from .cache import cache_folder, code_path, library_path, partial_variant
from .cache_entries import describe
from .cache_limit import Room
from .checked_arguments import PATH, Kind, checked
from .elf import Image, load_elf
from .emit.function import LiftedFunction
from .emit.lifted import lift_function
from .emit.module import module_parts, module_text
from .errors import BuildError, LiftError, MipsrecError
from .isa.disassembly import disassemble
from .lift.convention import Callee
from .lift.ir import FunctionPlan
from .lift.options import LiftOptions
from .lift.policy import cold_functions, hot_functions, large_interpreters, levels_of_program, lifted_starts, with_cold
from .lift.variants import plan_variant, variants
from .long_work import long_wait
from .memory import AddressSpace
from .options import Options
from .shard_work import CompilerDied
from .shards import shards_of_files
from .store import is_sound, locked, store
from .target_cpu import chosen_cpu

if TYPE_CHECKING:
    from .native import BuildOptions, BuildReport, Plan

__all__ = [
    "Guest", "Options", "Progress", "build", "cached_functions", "cached_library", "dump_llvm", "lifted_modules",
    "llvm_module", "open_guest", "optimized_modules", "plans",
]  # fmt: skip

_NAME = Kind((str,), "a name, or a hexadecimal address as text")
_NAMES = Kind((str,), "a list of names, addresses and patterns", each=True)
_OPTIONS = Kind((Options,), "Options(...)")
_FUNCTIONS = Kind((Function,), "a list of functions, as guest.functions_named([name]) returns", each=True)

_LONG_TO_ANALYZE = 1 << 20
"""So many bytes of code take two seconds and more, at about 9 microseconds an instruction."""


class Guest:
    """A program to translate; analysis runs once, when it is first needed. It believes in the starts that are known.

    Nothing outside `ranges` is looked at, if they are given.
    """

    def __init__(
        self, image: Image, known_starts: frozenset[int] = frozenset(), ranges: Ranges | None = None
    ) -> None:
        self.image = image
        self.known_starts = known_starts
        self.ranges = ranges

    @cached_property
    def memory(self) -> AddressSpace:
        """Its address space as at program start."""
        return AddressSpace(self.image)

    @cached_property
    def program(self) -> Program:
        with without_collections(), self._said_if_long():
            return analyze(self.image, self.memory, self.known_starts, self.ranges)

    def _said_if_long(self) -> AbstractContextManager[None]:
        code_bytes = sum(end - start for start, end in self.image.executable_ranges)
        where = f"{self.image.path}: finding the functions in {code_bytes >> 20} MiB of code"
        return long_wait(where) if code_bytes >= _LONG_TO_ANALYZE else nullcontext()

    @cached_property
    def starts(self) -> Mapping[int, Callee]:
        """Starts of the functions that get lifted."""
        return lifted_starts(self.program)

    def lift_options(self, options: Options, comments: bool = False) -> LiftOptions:
        return LiftOptions(
            self.image.byte_order == "big", self.image.fr, options.memory, options.calls, comments,
            self.image.e_flags.nan2008, self.image.is_relocatable,
            self.image.path.name if self.image.is_relocatable else "",
        )  # fmt: skip

    @checked(name=_NAME)
    def function(self, name: str) -> Function:
        """Return the function of a name or a hexadecimal address; raises LiftError when there is none."""
        for function in self.program.functions.values():
            if function.name == name:
                return function
        try:
            address = int(name, 16)
        except ValueError:
            address = next((s.address for s in self.image.symbols if s.name == name and s.type == "FUNC"), -1)
        if address in self.program.functions:
            return self.program.functions[address]
        raise self._no_function(name)

    @checked(patterns=_NAMES)
    def functions_named(self, patterns: list[str]) -> list[Function]:
        """Return the functions of names, addresses or shell patterns; raises LiftError for one without any."""
        found: dict[int, Function] = {}
        for pattern in patterns:
            if set(pattern).isdisjoint("*?["):
                named = [self.function(pattern)]
            else:
                named = [f for f in self.program.functions.values() if fnmatchcase(f.name, pattern)]
            if not named:
                raise self._no_function(pattern)
            found |= {function.start: function for function in named}
        return list(found.values())

    def functions_like(self, patterns: list[str]) -> list[Function]:
        """Return those of them that get lifted."""
        return [function for function in self.functions_named(patterns) if function.start in self.starts]

    def block_lines(self, function: Function, block: Block) -> Iterator[tuple[int, int, str]]:
        """Yield (pc, word, assembly) of a block, calls and jumps with the names of their targets."""
        for pc, instruction in zip(count(block.start, 4), block.instructions()):
            text = disassemble(instruction, pc)
            if instruction is block.terminator:
                target = function.likely_target(block)
                name = self.program.names.get(target) if target is not None else None
                text += f"  # {name}" if name else ""
            yield pc, instruction.word, text

    def _no_function(self, name: str) -> LiftError:
        return LiftError(f"{self.image.path}: no function {name}; `mipsrec disasm {self.image.path}` lists them")


_GUEST = Kind((Guest,), "a guest, which open_guest(path) returns")
_SOURCE = Kind((Guest, *PATH.types), "a guest, which open_guest(path) returns, or the folder of a dump")


@checked(path=PATH)
def open_guest(path: str | os.PathLike[str]) -> Guest:
    """Read a program; raises ElfError when it cannot be translated."""
    return Guest(load_elf(Path(path)))


def guest_in(path: str | os.PathLike[str], identity: str) -> Guest | None:
    """Read the program or library of an identity; None where it is gone, or the file is another one now."""
    try:
        guest = open_guest(path)
    except (MipsrecError, OSError, ValueError):  # the path may be none: it stands in a file
        return None
    return guest if guest.image.identity == identity else None


Progress = Callable[[int, int], None]


def _with_levels(
    program: Program, callees: Mapping[int, Callee], opt: str, profile: profiles.Profile | None = None
) -> tuple[dict[int, str], dict[int, Callee]]:
    """Return the functions' levels under `--opt`, and the functions with those that are to be small made cold."""
    levels = levels_of_program(program, callees, opt, profile)
    cold, large = cold_functions(program, levels, opt), large_interpreters(program, callees)
    return levels, with_cold(program, callees, cold, large)


@checked(guest=_GUEST, options=_OPTIONS.optional(), functions=_FUNCTIONS.optional())
def plans(
    guest: Guest, options: Options | None = None, functions: list[Function] | None = None
) -> Iterator[tuple[str, FunctionPlan]]:
    """Yield the plans of functions, or of all: of each variant that is no thunk, with its symbol."""
    options = options or Options()
    lift = guest.lift_options(options)
    _, callees = _with_levels(guest.program, guest.starts, str(options.opt))
    for function in _chosen(guest, functions):
        for variant in variants(function, callees.get(function.start), lift):
            if not variant.is_thunk:
                yield variant.symbol, plan_variant(function, variant, callees, lift)


@checked(guest=_GUEST, options=_OPTIONS.optional(), functions=_FUNCTIONS.optional())
def lifted_modules(
    guest: Guest, options: Options | None = None, functions: list[Function] | None = None
) -> Iterator[tuple[Function, str, list[LiftedFunction]]]:
    """Yield each function, or those chosen, with the text of a module of its own, disassembly in comments."""
    from .native import default_triple

    options = options or Options()
    lift = guest.lift_options(options, comments=True)
    _, callees = _with_levels(guest.program, guest.starts, str(options.opt))
    for function in _chosen(guest, functions):
        lifted = lift_function(function, callees, lift)
        yield function, module_text(lifted, default_triple(), lift.file_name), lifted


@checked(guest=_GUEST, options=_OPTIONS.optional(), functions=_FUNCTIONS.optional())
def optimized_modules(
    guest: Guest, options: Options | None = None, functions: list[Function] | None = None
) -> Iterator[tuple[Function, str, list[LiftedFunction]]]:
    """Yield the same as LLVM's pipeline of the functions' levels leaves it; raises BuildError where LLVM aborts."""
    from .native import optimized_text
    from .workers import WorkerDied, result_in_child

    options, chosen = options or Options(), _chosen(guest, functions)
    cpu = chosen_cpu(options.cpu)
    levels = levels_of_program(guest.program, [function.start for function in chosen], str(options.opt))
    for function, text, lifted in lifted_modules(guest, options, chosen):
        level = levels[function.start]
        try:
            optimized = result_in_child(partial(optimized_text, level=level, cpu=cpu), text)
        except WorkerDied as died:
            raise BuildError(f"{guest.image.path}: {died} at level {level} with {function.name}") from died
        yield function, optimized, lifted


@checked(guest=_GUEST, options=_OPTIONS.optional(), functions=_FUNCTIONS.optional())
def llvm_module(
    guest: Guest,
    options: Options | None = None,
    functions: list[Function] | None = None,
    optimized: bool = False,
    progress: Progress | None = None,
) -> Iterator[str]:
    """Yield the text of one module with all functions, or with those chosen, in pieces as they are made.

    `optimized` gives the modules that `build` compiles, as LLVM's pipeline leaves them, linked into one.
    """
    from . import native

    options, chosen = options or Options(), _chosen(guest, functions)
    lift = guest.lift_options(options, comments=not optimized)
    _, callees = _with_levels(guest.program, guest.starts, str(options.opt))
    if optimized:
        levels = levels_of_program(guest.program, [function.start for function in chosen], str(options.opt))
        plan = native.Plan(guest.program, callees, levels, lift)
        yield native.optimized_module(plan, native.BuildOptions(options.jobs, chosen_cpu(options.cpu)), progress)
        return
    yield from module_parts(_lifted(chosen, callees, lift, progress), native.default_triple(), lift.file_name)


def _lifted(
    functions: list[Function], callees: Mapping[int, Callee], lift: LiftOptions, progress: Progress | None
) -> Iterator[LiftedFunction]:
    """Yield the LLVM functions of guest functions, written for one module."""
    index = 0
    for function in functions:
        lifted = lift_function(function, callees, lift, index)
        index += len(lifted)
        yield from lifted
        if progress is not None:
            progress(1, sum(part.instruction_count for part in lifted))


def _callees_of(guest: Guest, functions: list[Function]) -> Mapping[int, Callee]:
    """Return the chosen functions as callees; raises LiftError for one that does not get lifted."""
    for function in functions:
        if function.start not in guest.starts:
            raise LiftError(f"{guest.image.path}: {function.name} is not recompiled, so it cannot be chosen")
    return {function.start: guest.starts[function.start] for function in functions}


def _chosen(guest: Guest, functions: list[Function] | None) -> list[Function]:
    """Return what is chosen of a guest's functions: all that get lifted, unless some are named."""
    return functions if functions is not None else [guest.program.functions[start] for start in sorted(guest.starts)]


@checked(guest=_GUEST, folder=PATH, options=_OPTIONS.optional(), functions=_FUNCTIONS.optional())
def dump_llvm(
    guest: Guest,
    folder: str | os.PathLike[str],
    options: Options | None = None,
    functions: list[Function] | None = None,
    optimized: bool = False,
    progress: Progress | None = None,
) -> int:
    """Write one .ll file per function and `index.json` into a folder; return the number of functions.

    `optimized` writes the IR as LLVM's pipeline of that level leaves it. An index of a selection cannot be built.
    """
    options, chosen = options or Options(), _chosen(guest, functions)
    modules = (optimized_modules if optimized else lifted_modules)(guest, options, chosen)
    hot = hot_functions(guest.program, [function.start for function in chosen])
    return ir_dump.write_dump(Path(folder), guest.image, options.memory, options.calls, modules, hot, progress)


def plan_of(
    guest: Guest, options: Options, chosen: Mapping[int, Callee], profile: profiles.Profile | None = None
) -> Plan:
    """Return how the chosen functions of a guest are to be compiled."""
    from .native import Plan

    levels, callees = _with_levels(guest.program, chosen, str(options.opt), profile)
    return Plan(guest.program, callees, levels, guest.lift_options(options))


@checked(source=_SOURCE, output=PATH, options=_OPTIONS.optional(), functions=_FUNCTIONS.optional())
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
    from . import native
    from .linking import GuestFile, LibraryIdentity

    options = options or Options()
    build_options = native.BuildOptions(options.jobs, chosen_cpu(options.cpu), options.reuse)
    profile = profiles.read(options.profile) if options.profile is not None else None
    said = f"{options.opt}+prof" if profile is not None else str(options.opt)
    if isinstance(source, Guest):
        image, lift = source.image, source.lift_options(options)
        if profile is not None:
            profile = profile.of(image.identity, image.path)
        identity = LibraryIdentity(GuestFile.of(image), lift.memory, lift.calls, said, build_options.cpu)
        chosen = source.starts if functions is None else _callees_of(source, functions)
        while True:
            plan = plan_of(source, options, chosen, profile)
            try:
                return native.build_library(plan.shards(), plan, None, build_options, identity, Path(output), progress)
            except CompilerDied as died:
                chosen, progress = _without_dying(image, chosen, died, plan, build_options), None
    if Path(source).is_file():
        raise BuildError(f"{source}: is no folder of a dump; of a program, give open_guest({str(source)!r})")
    dump = ir_dump.read_dump(Path(source))
    if profile is not None:
        profile = profile.of(dump.guest.identity, Path(source))
    identity = LibraryIdentity(dump.guest, dump.memory, dump.calls, said, build_options.cpu)
    shards = shards_of_files(dump.with_levels(str(options.opt), profile))
    try:
        return native.build_library(shards, None, dump.entries, build_options, identity, Path(output), progress)
    except CompilerDied as died:
        raise CompilerDied(native.dying_parts(died, build_options)) from died


def _without_dying(
    image: Image, chosen: Mapping[int, Callee], died: CompilerDied, plan: Plan, options: BuildOptions
) -> Mapping[int, Callee]:
    """Return the chosen functions but those that compiler processes die of; raises LiftError where none are left."""
    from .native import dying_starts

    left = chosen.keys() - dying_starts(died, plan, options, image.path)
    if not left:
        raise LiftError(f"{image.path}: there is nothing else to recompile")
    return {start: chosen[start] for start in chosen if start in left}


@checked(guest=_GUEST, options=_OPTIONS.optional(), functions=_FUNCTIONS.optional())
def cached_library(
    guest: Guest,
    options: Options | None = None,
    progress: Progress | None = None,
    functions: list[Function] | None = None,
) -> Path:
    """Return the guest's library, of all functions or those chosen, from the per-user cache; build it if need be."""
    options = options or Options()
    if functions is None and options.profile is None:
        return store(guest.image, options, progress)
    path = library_path(guest.image.identity, options, sorted(function.start for function in functions or ()))
    if not is_sound(path, guest.image.identity):
        with locked(path, cache_folder()):
            if not is_sound(path, guest.image.identity):
                build(guest, path, options, progress, functions)
                describe(path, guest.image.path, guest.image.soname)
                Room(()).add(path)
    return path


def cached_functions(
    chosen: list[tuple[Guest, list[Function]]], options: Options, progress: Progress | None = None
) -> str:
    """Return the variant of the store that has only some functions of some files; build what it lacks."""
    starts = [(guest.image.identity, [function.start for function in functions]) for guest, functions in chosen]
    variant = partial_variant(options, starts)
    for guest, functions in chosen:
        path = code_path(guest.image.identity, options, variant)
        with locked(path, cache_folder()):
            if not is_sound(path, guest.image.identity):
                build(guest, path, options, progress, functions)
    return variant
