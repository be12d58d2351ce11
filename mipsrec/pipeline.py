"""The public library API: what the command line does, as functions.

    guest = open_guest("prog.elf")
    dump_llvm(guest, "out")
    build(guest, "lib.so")
    cached_library(guest)

All of them raise `MipsrecError` with one line that says what failed, where, and what to do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from . import ir_dump
from .analysis import Function
from .cache.entries import describe
from .cache.folders import cache_folder, code_path, library_path, partial_variant
from .cache.limit import Room
from .cache.store import is_sound, locked
from .checked_arguments import PATH, checked
from .emit.function import LiftedFunction
from .emit.lifted import lift_function
from .emit.module import module_parts, module_text
from .errors import BuildError
from .fill_store import store
from .guest import FUNCTIONS, GUEST, OPTIONS, Guest, open_guest
from .lift.convention import Callee
from .lift.ir import FunctionPlan
from .lift.options import LiftOptions
from .lift.policy import hot_functions
from .lift.variants import plan_variant, variants
from .native.shard_work import Progress
from .options import Options
from .recompile import build, plan_of
from .target import this_target
from .target.cpu import chosen_cpu

if TYPE_CHECKING:
    pass

__all__ = [
    "Guest", "Options", "Progress", "build", "cached_functions", "cached_library", "dump_llvm", "lifted_modules",
    "llvm_module", "open_guest", "optimized_modules", "plans",
]  # fmt: skip




@checked(guest=GUEST, options=OPTIONS.optional(), functions=FUNCTIONS.optional())
def plans(
    guest: Guest,
    options: Options | None = None,
    functions: list[Function] | None = None,
    last_pass: str | None = None,
) -> Iterator[tuple[str, FunctionPlan]]:
    """Yield the plans of functions, or of all: of each variant that is no thunk, with its symbol.

    With `last_pass`, they are as the pass of that name leaves them; raises UsageError where there is none.
    """
    options = options or Options()
    lift = replace(guest.lift_options(options), last_pass=last_pass)
    callees = plan_of(guest, options).callees
    for function in _chosen(guest, functions):
        for variant in variants(function, callees.get(function.start), lift):
            if not variant.is_thunk:
                yield variant.symbol, plan_variant(function, variant, callees, lift)


@checked(guest=GUEST, options=OPTIONS.optional(), functions=FUNCTIONS.optional())
def lifted_modules(
    guest: Guest, options: Options | None = None, functions: list[Function] | None = None
) -> Iterator[tuple[Function, str, list[LiftedFunction]]]:
    """Yield each function, or those chosen, with the text of a module of its own, disassembly in comments."""
    options = options or Options()
    lift = guest.lift_options(options, comments=True)
    callees = plan_of(guest, options).callees
    for function in _chosen(guest, functions):
        lifted = lift_function(function, callees, lift)
        yield function, module_text(lifted, this_target().triple, lift.file_name), lifted


@checked(guest=GUEST, options=OPTIONS.optional(), functions=FUNCTIONS.optional())
def optimized_modules(
    guest: Guest, options: Options | None = None, functions: list[Function] | None = None
) -> Iterator[tuple[Function, str, list[LiftedFunction]]]:
    """Yield the same as LLVM's pipeline of the functions' levels leaves it; raises BuildError where LLVM aborts."""
    from .native.codegen import optimized_text
    from .native.workers import WorkerDied, result_in_child

    options, chosen = options or Options(), _chosen(guest, functions)
    cpu = chosen_cpu(options.cpu)
    levels = plan_of(guest, options).levels
    for function, text, lifted in lifted_modules(guest, options, chosen):
        level = levels[function.start]
        try:
            optimized = result_in_child(partial(optimized_text, level=level, cpu=cpu), text)
        except WorkerDied as died:
            raise BuildError(f"{guest.image.path}: {died} at level {level} with {function.name}") from died
        yield function, optimized, lifted


@checked(guest=GUEST, options=OPTIONS.optional(), functions=FUNCTIONS.optional())
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
    from .native import library

    options, chosen = options or Options(), _chosen(guest, functions)
    lift = guest.lift_options(options, comments=not optimized)
    plan = plan_of(guest, options)
    if optimized:
        plan = replace(plan, levels={function.start: plan.levels[function.start] for function in chosen})
        yield library.optimized_module(plan, library.BuildOptions(options.jobs, chosen_cpu(options.cpu)), progress)
        return
    yield from module_parts(_lifted(chosen, plan.callees, lift, progress), this_target().triple, lift.file_name)


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


def _chosen(guest: Guest, functions: list[Function] | None) -> list[Function]:
    """Return what is chosen of a guest's functions: all that get lifted, unless some are named."""
    return functions if functions is not None else [guest.program.functions[start] for start in sorted(guest.starts)]


@checked(guest=GUEST, folder=PATH, options=OPTIONS.optional(), functions=FUNCTIONS.optional())
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


@checked(guest=GUEST, options=OPTIONS.optional(), functions=FUNCTIONS.optional())
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
