"""IR in, object code out: LLVM's options, its pipelines, and the target machine.

Enters: the text of modules, a level, a processor. Leaves: object code, or IR as the pipeline of the level leaves it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from ..emit.module import TRIPLE_LINE
from ..errors import BuildError
from ..options import LIGHT
from ..target import this_target
from ..target.cpu import Cpu
from .build_times import BuildTimes, Phase
from .compact import compact
from .object_file import UnexpectedObject

OF_TABLES = ("compact.py", "dwarf.py", "line_program.py", "object_file.py", "place_table.py")
"""The modules here that make an object's debug information."""

_OWN_ADDRESSES = "-disable-lsr"
"""Loops keep the addresses that the guest's compiler has chosen. To choose again takes a twentieth of the time, makes
code larger, and gains nothing but at the light level: without it, matmul_int takes 1.33 of its time there."""

_LIGHT_OPTIONS = (
    "-enable-misched=0", "-disable-copyprop", "-disable-machine-sink", "-disable-machine-licm", "-disable-machine-cse",
    "-dse-memoryssa-scanlimit=20", "-dse-memoryssa-walklimit=15", "-dse-memoryssa-path-check-limit=5",
)  # fmt: skip
_LIGHT_PASSES = (
    "always_inliner", "sroa", "simplify_cfg", "sccp", "instruction_combine", "dead_store_elimination", "aggressive_dce",
    "simplify_cfg",
)  # fmt: skip
"""The light level: what makes values of the registers and drops stores that others overwrite. Most of LLVM's time goes
into making code of IR, so less IR matters most, and no machine pass runs that makes little smaller. The register
allocator is the usual one: one that does not split live ranges takes as long, and spills the pointer to the state."""


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for option in this_target().llvm_options:
        llvm.set_option("mipsrec", option)


def _target_machine(level: str, cpu: Cpu) -> llvm.TargetMachine:
    target = llvm.Target.from_triple(this_target().triple)
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


def compile_texts(texts: list[tuple[str, str]], level: str, cpu: Cpu, times: BuildTimes | None = None) -> bytes:
    """Return the object code of several modules, given with their names, linked into one; count what that takes.

    Its debug information is what the host reads (compact.py).
    """
    times = times or BuildTimes()
    data = _llvm_object(texts, level, cpu, times)
    with times.phase(Phase.TABLES):
        try:
            return compact(data)
        except UnexpectedObject as error:
            raise BuildError(f"{texts[0][0]}: {error}") from error


def _llvm_object(texts: list[tuple[str, str]], level: str, cpu: Cpu, times: BuildTimes) -> bytes:
    """Return the object code of several modules as LLVM makes it."""
    with times.phase(Phase.PARSING):
        _initialize()
        module = _parsed(*texts[0])
        for name, text in texts[1:]:
            other = _parsed(name, text)
            try:
                module.link_in(other)
            except RuntimeError as error:
                raise BuildError(f"{name}: LLVM refuses the IR: {_reason(error)}") from error
    machine = _target_machine(level, cpu)
    with times.phase(Phase.PASSES):
        optimize(module, machine, level)
    with times.phase(Phase.CODE):
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


def optimized(text: str, level: str, cpu: Cpu) -> llvm.ModuleRef:
    _initialize()
    module = llvm.parse_assembly(text)
    optimize(module, _target_machine(level, cpu), level)
    return module


def optimized_text(text: str, level: str, cpu: Cpu) -> str:
    """Return a module as text after LLVM's pipeline of that level."""
    return str(optimized(text, level, cpu))


def choose_options_of_texts() -> None:
    """Set LLVM's options for `emit_text`, in a process that compiles nothing else: short functions need no scheduler.

    With it, stencils take a third longer to compile, and 99 % of them are the same.
    """
    llvm.set_option("mipsrec", "-enable-misched=0")


def choose_options(level: str) -> None:
    """Set LLVM's options for a level, in a process that compiles nothing of another one."""
    for option in _LIGHT_OPTIONS if level == LIGHT else (_OWN_ADDRESSES,):
        llvm.set_option("mipsrec", option)


def joined(parts: Iterable[bytes]) -> str:
    """Return one module of several, given as bitcode."""
    whole = llvm.parse_assembly(f'{TRIPLE_LINE}"{this_target().triple}"\n')
    for part in parts:
        whole.link_in(llvm.parse_bitcode(part))
    return str(whole)


@cache
def recipe() -> str:
    """Return what, besides IR, level and processor, decides what an object is: LLVM, its options, and our own code."""
    options = " ".join(this_target().llvm_options)
    sources = [Path(__file__), *(Path(__file__).with_name(name) for name in OF_TABLES)]
    code = hashlib.blake2b(b"".join(source.read_bytes() for source in sources), digest_size=16).hexdigest()
    return f"{llvmlite.__version__} {llvm.llvm_version_info} {this_target().triple} {options} {code}"


def object_key(texts: list[tuple[str, str]], level: str, cpu: Cpu) -> str:
    """Return the name under which the object of some modules is kept."""
    digest = hashlib.blake2b(f"{recipe()} {level} {cpu.name}".encode(), digest_size=20)
    for _, text in texts:
        data = text.encode()
        digest.update(b"%d " % len(data) + data)
    return digest.hexdigest()
