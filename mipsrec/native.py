"""From IR to a native shared library: optimises and compiles shards in worker processes, links them, seals the result.

Enters: an analysed `Program`, or a dumped folder. Leaves: one library file with its table of entries (struct
mr_library in runtime/library.h) and a checksum footer. The file appears whole or not at all.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import llvmlite.binding as llvm

from . import __version__
from .analysis import Function, Program
from .checksum import append_footer
from .codegen import Callee, CodegenOptions, LiftedFunction, lift_function, module_text
from .codegen.calls import HOST_EDGES, declaration
from .codegen.writer import MODULE_METADATA
from .compiler import find_compiler
from .cpu import Cpu, chosen_cpu
from .elf import Image
from .errors import BuildError
from .shards import Shard, shards_of_files, shards_of_program
from .state import layout_id
from .workers import results

LIBRARY_MAGIC = 0x4352494D
LIBRARY_VERSION = 2
_MEMORY_NUMBERS = {"flat": 0, "paged": 1, "thunk": 2}


@dataclass(frozen=True)
class BuildOptions:
    """`opt` is 0 to 3; `cpu` what code is made for; `jobs` the number of worker processes, 0 for one per processor."""

    opt: int = 2
    jobs: int = 0
    cpu: Cpu = field(default_factory=lambda: chosen_cpu("native"))

    def worker_count(self) -> int:
        return self.jobs or len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class LibraryIdentity:
    """What the finished library says of itself; the host refuses to load it for anything else."""

    guest_identity: str
    bias: int
    fr: int
    memory: str
    calls: str


def identity_of(image: Image, codegen: CodegenOptions) -> LibraryIdentity:
    """Return the identity of a library for a program and options."""
    return LibraryIdentity(image.identity, image.bias, codegen.fr, codegen.memory, codegen.calls)


# ---- one shard, in a worker process ----


_LLVM_OPTIONS = ("-x86-cmov-converter=0", "-two-entry-phi-node-folding-threshold=5")
"""Conditional moves stay: which way a condition goes, lifted code does not tell, and a wrong guess costs more. And one
instruction more than usual may be executed for nothing to make them: 64-bit values are pairs here."""


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    if default_triple().startswith("x86_64"):
        for option in _LLVM_OPTIONS:
            llvm.set_option("mipsrec", option)


def _target_machine(opt: int, cpu: Cpu) -> llvm.TargetMachine:
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu.name, opt=opt, reloc="pic", codemodel="small")


def optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine, opt: int) -> None:
    """Run LLVM's pipeline of that level; vectors of straight code lost on lifted integer kernels."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=opt)
    tuning.loop_vectorization = opt > 1
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def compile_text(text: str, opt: int, cpu: Cpu) -> bytes:
    """Return the object code of a module; raises BuildError on IR that LLVM refuses."""
    return compile_texts([("generated IR", text)], opt, cpu)


def compile_texts(texts: list[tuple[str, str]], opt: int, cpu: Cpu) -> bytes:
    """Return the object code of several modules, given with their names, linked into one."""
    _initialize()
    module = _parsed(*texts[0])
    for name, text in texts[1:]:
        other = _parsed(name, text)
        try:
            module.link_in(other)
        except RuntimeError as error:
            raise BuildError(f"{name}: LLVM refuses the IR: {_reason(error)}") from error
    machine = _target_machine(opt, cpu)
    optimize(module, machine, opt)
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


def optimized_text(text: str, opt: int, cpu: Cpu) -> str:
    """Return a module as text after LLVM's pipeline of that level."""
    _initialize()
    module = llvm.parse_assembly(text)
    optimize(module, _target_machine(opt, cpu), opt)
    return str(module)


@dataclass(frozen=True)
class ShardResult:
    """Where the object is, and which symbol serves which guest pcs."""

    path: Path
    entries: tuple[tuple[int, str], ...]
    function_count: int


_program: Program | None = None  # inherited by worker processes through fork
_callees: Mapping[int, Callee] = {}
_codegen: CodegenOptions | None = None


def lift_shard(
    functions: list[Function], callees: Mapping[int, Callee], codegen: CodegenOptions
) -> list[LiftedFunction]:
    """Return the LLVM functions of one module."""
    lifted: list[LiftedFunction] = []
    for function in functions:
        lifted += lift_function(function, callees, codegen, len(lifted))
    return lifted


def _run_shard(shard: Shard, folder: Path, cpu: Cpu) -> ShardResult:
    entries: list[tuple[int, str]] = []
    if shard.files:
        data = compile_texts([(str(path), _read_ir(path)) for path in shard.files], shard.opt, cpu)
    else:
        assert _program is not None and _codegen is not None
        lifted = lift_shard([_program.functions[start] for start in shard.starts], _callees, _codegen)
        entries = [(pc, function.symbol) for function in lifted for pc in function.entries]
        data = compile_text(module_text(lifted, default_triple()), shard.opt, cpu)
    path = folder / f"{shard.number}.o"
    path.write_bytes(data)
    return ShardResult(path, tuple(entries), len(shard.files) or len(shard.starts))


def _read_ir(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BuildError(f"{path}: cannot be read as LLVM IR ({error})") from error


# ---- the whole build ----

Progress = Callable[[int, int], None]
"""Called with (functions done, guest instructions done) as shards finish."""


def build_program(
    program: Program,
    callees: Mapping[int, Callee],
    codegen: CodegenOptions,
    build: BuildOptions,
    identity: LibraryIdentity,
    output: Path,
    progress: Progress | None = None,
) -> None:
    """Compile an analysed program into the library `output`."""
    global _program, _callees, _codegen
    _program, _callees, _codegen = program, callees, codegen
    try:
        _build(shards_of_program(program, callees, build.opt), build, identity, None, output, progress)
    finally:
        _program = None


def build_files(
    files: list[tuple[Path, int]],
    entries: list[tuple[int, str]],
    build: BuildOptions,
    identity: LibraryIdentity,
    output: Path,
    progress: Progress | None = None,
) -> None:
    """Compile IR files with known entries (guest pc, symbol) into the library `output`."""
    _build(shards_of_files(files, build.opt), build, identity, entries, output, progress)


def _build(
    shards: list[Shard],
    build: BuildOptions,
    identity: LibraryIdentity,
    entries: list[tuple[int, str]] | None,
    output: Path,
    progress: Progress | None,
) -> None:
    compiler = find_compiler()
    try:
        with tempfile.TemporaryDirectory(prefix=".mipsrec-", dir=output.parent) as name:
            folder = Path(name)
            compiled = _compile(shards, build, folder, progress)
            found = entries if entries is not None else [entry for result in compiled for entry in result.entries]
            table = folder / "table.o"
            table.write_bytes(compile_text(table_text(sorted(found), identity, build), 0, build.cpu))
            library = folder / "library.so"
            _link(compiler, [*(result.path for result in compiled), table], library, folder)
            append_footer(library)
            os.replace(library, output)
    except OSError as error:
        raise BuildError(f"{output}: cannot be written ({error.strerror or error}); nothing was left behind") from error


def _compile(shards: list[Shard], build: BuildOptions, folder: Path, progress: Progress | None) -> list[ShardResult]:
    """Compile every shard; return the results in the shards' order."""
    heaviest_first = sorted(shards, key=lambda shard: -shard.weight)
    workers = max(1, min(build.worker_count(), len(shards)))
    done: dict[int, ShardResult] = {}
    for shard, result in results(partial(_run_shard, folder=folder, cpu=build.cpu), heaviest_first, workers):
        done[shard.number] = result
        if progress is not None:
            progress(result.function_count, shard.weight)
    return [done[shard.number] for shard in shards]


def _link(compiler: str, objects: list[Path], output: Path, folder: Path) -> None:
    arguments = folder / "link.args"
    arguments.write_text("\n".join(f'"{path}"' for path in objects))
    command = [
        compiler, "-shared", "-nostartfiles", "-o", str(output), f"@{arguments}", "-lm",
        "-Wl,--build-id=none", "-Wl,-z,noexecstack", "-Wl,-z,now",
    ]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        reason = (result.stderr.strip() or "no message").splitlines()[-1]
        raise BuildError(f"{compiler} could not link the library: {reason}")


def _bytes_constant(data: bytes) -> str:
    return f'[{len(data)} x i8] c"' + "".join(f"\\{byte:02X}" for byte in data) + '"'


def _displacement(symbol: str, offset: int) -> str:
    """Return the i32 constant that leads from the field at an offset of `mr_library` to a function."""
    field = f"i8, ptr @mr_library, i64 {offset}"
    difference = f"sub (i64 ptrtoint (ptr @{symbol} to i64), i64 ptrtoint (ptr getelementptr ({field}) to i64))"
    return f"trunc (i64 {difference} to i32)"


def table_text(entries: list[tuple[int, str]], identity: LibraryIdentity, build: BuildOptions) -> str:
    """Return the IR of `mr_library`; `entries` are (guest pc, symbol), sorted."""
    words = (
        LIBRARY_MAGIC, LIBRARY_VERSION, layout_id(), _MEMORY_NUMBERS[identity.memory], build.cpu.level, identity.bias,
        identity.fr, len(entries),
    )  # fmt: skip
    options = f"--opt {build.opt} --cpu {build.cpu.name} --memory {identity.memory} --calls {identity.calls}"
    fields = [("i32", str(word)) for word in words]
    for data in (
        bytes.fromhex(identity.guest_identity),
        f"mipsrec {__version__}".encode().ljust(64, b"\0")[:64],
        options.encode().ljust(64, b"\0")[:64],
    ):
        type_, _, value = _bytes_constant(data).partition("] ")
        fields.append((type_ + "]", value))
    first = len(words)
    helpers = [("i32", _displacement(symbol, 4 * (first + n))) for n, symbol in enumerate(("mr_enter", "call_host"))]
    fields[first:first] = helpers
    header_bytes = 4 * (first + len(helpers)) + 32 + 64 + 64
    for index, (pc, symbol) in enumerate(entries):
        fields += [("i32", str(pc)), ("i32", _displacement(symbol, header_bytes + 8 * index + 4))]
    types = ", ".join(type_ for type_, _ in fields)
    values = ", ".join(f"{type_} {value}" for type_, value in fields)
    symbols = sorted({symbol for _, symbol in entries})
    declarations = "".join(declaration(symbol) + "\n" for symbol in symbols)
    return (
        f'target triple = "{default_triple()}"\n{declarations}{HOST_EDGES}{MODULE_METADATA}'
        f"@mr_library = constant <{{ {types} }}> <{{ {values} }}>, align 8\n"
    )
