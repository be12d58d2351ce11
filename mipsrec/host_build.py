"""The C host: finds the one that was installed, or builds it from the runtime's sources and keeps it in the cache.

Enters: the sources in runtime/ (in a checkout) or mipsrec/_runtime (installed), the C compiler. Leaves: the path of an
executable. The key is a digest of sources, header generators, flags and compiler: a stale host is never used. A package
carries the host and the launcher, the native form of the command `mipsrec` (packaging).
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from . import __version__, stencils
from .cache.folders import HOSTS, cache_folder, cannot_write, source_digest, with_room
from .errors import BuildError, WriteError
from .files import trust
from .files.temporary_folder import move_file, temporary_folder
from .long_work import long_work
from .native.compiler import find_compiler, run_compiler
from .target import this_target

_FLAGS = (
    "-std=c11", "-O2", "-g", "-D_GNU_SOURCE=", "-fPIE", "-pthread", "-frounding-math", "-ffp-contract=off",
    "-fno-strict-aliasing",
)  # fmt: skip
_LINK_FLAGS = ("-static-pie", "-lm", "-pthread")
"""A static program: it needs nothing of the machine it runs on, be it a chroot or a container."""
_SANITIZED_LINK_FLAGS = ("-pie", "-lm", "-pthread")
"""The sanitizers' own libraries cannot be part of a static program."""


HOST, LAUNCHER = "mipsrec-host", "launcher"
_LAUNCHER_SHARES = ("lifted/caches", "lifted/private_group", "lifted/this_user", "lifted/notes")


def runtime_folder() -> Path:
    """Return the folder of the runtime's C sources."""
    here = Path(__file__).resolve().parent
    for folder in (here.parent / "runtime", here / "_runtime"):
        if (folder / "main.c").exists():
            return folder
    raise BuildError(f"{here}: the runtime's sources are missing; install mipsrec again")


def generated_headers() -> dict[str, str]:
    """Return the text of the headers that are generated from Python, by file name."""
    from .abi import c_headers
    from .architecture import c_names
    from .isa.disassembly import host_table
    from .state import c_header, c_registers

    of_state = {"mr_state.h": c_header(), "mr_registers.h": c_registers()}
    of_isa = {"mr_disasm.h": host_table(), "mr_modules.h": c_names()}
    return {**of_state, **of_isa, **c_headers(), **stencils.headers()}


def write_generated_headers(folder: str | os.PathLike[str]) -> None:
    for header, text in generated_headers().items():
        (Path(folder) / header).write_text(text)


def _object_name(source: Path) -> str:
    """Return the name of the object file of a source, which no other source has."""
    return source.relative_to(runtime_folder()).with_suffix(".o").as_posix().replace("/", "-")


def _key(sources: list[Path], flags: tuple[str, ...], compiler: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for path in sources:
        digest.update(_object_name(path).encode() + path.read_bytes())
    for text in (*_FLAGS, *_LINK_FLAGS, *flags, compiler, __version__, source_digest(), stencils.version()):
        digest.update(text.encode())
    return digest.hexdigest()


def _host_folder() -> str:
    """Return the folder of this machine's part of the host, relative to the runtime's."""
    return f"host/{this_target().machine}"


def _sources(folder: Path) -> list[Path]:
    """Return the sources of the host; the launcher is another program, and other machines' folders are not needed."""
    own = folder / _host_folder()
    return sorted(
        path for path in folder.rglob("*.[ch]")
        if LAUNCHER not in path.relative_to(folder).parts
        and (path.parent.parent != own.parent or path.parent == own)
    )  # fmt: skip


def shipped_host() -> Path | None:
    """Return the host that was installed beside the commands, if it looks for code of this version."""
    if runtime_folder().name != "_runtime":
        return None  # a checkout: its sources decide
    import sysconfig

    beside, own = Path(os.path.realpath(sys.argv[0])).parent, Path(sysconfig.get_path("scripts"))
    for folder in dict.fromkeys((beside, own, Path(sysconfig.get_path("scripts", f"{os.name}_user")))):
        # Python's own folder is as good as Python; another, such as the working one or one of HOME, is judged.
        path = folder / HOST
        is_there = path.is_file() if folder == own else trust.is_file(path)
        if is_there and f"code {source_digest()})" in _said_by(path):
            return path
    return None


def _said_by(host: Path) -> str:
    """Return what a host says of its version."""
    try:
        return subprocess.run([host, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
    except (OSError, ValueError):
        return ""


def host_executable(extra_flags: tuple[str, ...] = ()) -> Path:
    """Return the host that was installed, or else build it if this version is not in the cache; raises BuildError.

    Where the cache may not be used, or has no room, the host is in the private folder of this process.
    """
    shipped = shipped_host() if not extra_flags else None
    if shipped is not None:
        return shipped
    sources = _sources(runtime_folder())
    compiler = find_compiler()
    key = _key(sources, extra_flags, compiler)
    return with_room(partial(_kept_host, compiler, key, extra_flags))


def _kept_host(compiler: str, key: str, extra_flags: tuple[str, ...]) -> Path:
    """Return the host in the cache; build it where there is none that nobody else can have put there."""
    path = cache_folder() / HOSTS / key / HOST
    if not trust.is_file(path) or not os.access(path, os.X_OK):
        try:
            folder = trust.make_folder(path.parent, cache_folder())
            trust.clear(folder / HOST, folder)
        except OSError as error:
            raise WriteError(f"{path}: {cannot_write(error)}") from error
        build_host(compiler, folder / HOST, extra_flags, {"version": source_digest() + "\n"})  # for `mipsrec cache`
    return trust.resolve(path)


def build_host(
    compiler: str, output: Path, extra_flags: tuple[str, ...] = (), beside: Mapping[str, str] | None = None
) -> None:
    """Compile the host to `output`, which appears only when it is complete; and before it, small files beside it."""
    _build(compiler, _sources(runtime_folder()), output, extra_flags, generated_headers(), beside or {})


def build_launcher(compiler: str, output: Path, extra_flags: tuple[str, ...] = ()) -> None:
    """Compile the native command `mipsrec` to `output`."""
    folder = runtime_folder()
    sources = [*sorted((folder / LAUNCHER).glob("*.c")), *(folder / f"{name}.c" for name in _LAUNCHER_SHARES)]
    sources.append(folder / _host_folder() / "cpu_level.c")
    _build(compiler, sources, output, extra_flags, {}, {})


def build_commands(folder: Path) -> None:
    """Build the native commands for a package into a folder; raises BuildError."""
    compiler = find_compiler()
    build_host(compiler, folder / HOST, ("-g0",))
    build_launcher(compiler, folder / "mipsrec", ("-g0",))
    shutil.copy2(folder / "mipsrec", folder / "mipsrec-run")


def _build(
    compiler: str, sources: list[Path], output: Path, extra_flags: tuple[str, ...], headers: Mapping[str, str],
    beside: Mapping[str, str],
) -> None:  # fmt: skip
    """Compile a program of C sources and generated headers."""
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(".host-", output.parent) as build:
            for header, text in headers.items():
                (build / header).write_text(text)
            common = [compiler, *_FLAGS, *extra_flags, f'-DMR_PRODUCER="mipsrec {__version__}"',
                      f'-DMR_CODE_KEY="{source_digest()}"', f"-I{build}",
                      f"-I{runtime_folder()}"]  # fmt: skip

            def compile_one(source: Path) -> Path:
                target = build / _object_name(source)
                _run([*common, "-c", str(source), "-o", str(target)])
                return target

            objects = _compiled([source for source in sources if source.suffix == ".c"], compile_one, output.name)
            finished = build / output.name
            link_flags = _SANITIZED_LINK_FLAGS if any("-fsanitize" in flag for flag in extra_flags) else _LINK_FLAGS
            _run([compiler, *extra_flags, *map(str, objects), "-o", str(finished), *link_flags])
            for name, text in beside.items():
                trust.write(output.parent / name, text.encode())
            finished.chmod(finished.stat().st_mode & 0o755)
            move_file(finished, output)
    except OSError as error:
        raise WriteError(f"{output}: {cannot_write(error)}") from error


def _compiled(sources: list[Path], compile_one: Callable[[Path], Path], name: str) -> list[Path]:
    """Return the object files of sources, in their order."""
    workers = len(os.sched_getaffinity(0))
    with long_work(f"building {name} (once, in about a minute)") as advance, ThreadPoolExecutor(workers) as pool:
        objects = []
        for compiled in pool.map(compile_one, sources):
            objects.append(compiled)
            advance(1 / len(sources))
    return objects


def _run(command: list[str]) -> None:
    result = run_compiler(command)
    if result.returncode != 0:
        full = any(os.strerror(number) in result.stderr for number in (errno.ENOSPC, errno.EDQUOT))
        reason = (result.stderr.strip() or "no message").splitlines()[0]
        raise (WriteError if full else BuildError)(f"building the host failed: {reason}")
