"""The C host: builds it from the runtime's sources when needed, and finds it again in the cache.

Enters: the sources in runtime/ (in a checkout) or mipsrec/_runtime (installed), the C compiler. Leaves: the path of an
executable. The key is a digest of sources, header generators, flags and compiler: a stale host is never used.
"""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import __version__, stencils
from .cache import cache_folder, cannot_write, source_digest
from .compiler import find_compiler, run_compiler
from .errors import BuildError
from .scratch import scratch_folder

_FLAGS = (
    "-std=c11", "-O2", "-g", "-D_GNU_SOURCE=", "-fPIE", "-pthread", "-frounding-math", "-ffp-contract=off",
    "-fno-strict-aliasing",
)  # fmt: skip
_LINK_FLAGS = ("-static-pie", "-lm", "-pthread")
"""A static program: it needs nothing of the machine it runs on, be it a chroot or a container."""
_SANITIZED_LINK_FLAGS = ("-pie", "-lm", "-pthread")
"""The sanitizers' own libraries cannot be part of a static program."""


def runtime_folder() -> Path:
    """Return the folder of the runtime's C sources."""
    here = Path(__file__).resolve().parent
    for folder in (here.parent / "runtime", here / "_runtime"):
        if (folder / "host.h").exists():
            return folder
    raise BuildError(f"{here}: the runtime's sources are missing; install mipsrec again")


def generated_headers() -> dict[str, str]:
    """Return the text of the headers that are generated from Python, by file name."""
    from .isa.disassembly import host_table
    from .state import c_header

    return {"mr_state.h": c_header(), "mr_disasm.h": host_table(), **stencils.headers()}


def write_generated_headers(folder: str | os.PathLike[str]) -> None:
    """Write these headers into a folder."""
    for header, text in generated_headers().items():
        (Path(folder) / header).write_text(text)


def _key(sources: list[Path], flags: tuple[str, ...], compiler: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for path in sources:
        digest.update(path.name.encode() + path.read_bytes())
    for text in (*_FLAGS, *_LINK_FLAGS, *flags, compiler, __version__, stencils.version()):
        digest.update(text.encode())
    return digest.hexdigest()


def host_executable(extra_flags: tuple[str, ...] = ()) -> Path:
    """Return the host, building it if this version of it is not in the cache; raises BuildError."""
    folder = runtime_folder()
    sources = sorted(folder.rglob("*.[ch]"))
    compiler = find_compiler()
    key = _key(sources, extra_flags, compiler)
    path = cache_folder() / "host" / key / "mipsrec-host"
    if not path.exists():
        build_host(compiler, [source for source in sources if source.suffix == ".c"], path, extra_flags)
    return path


def build_host(compiler: str, sources: list[Path], output: Path, extra_flags: tuple[str, ...]) -> None:
    """Compile the host to `output`, which appears only when it is complete."""
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(".host-", output.parent) as build:
            write_generated_headers(build)
            common = [compiler, *_FLAGS, *extra_flags, f'-DMR_PRODUCER="mipsrec {__version__}"',
                      f'-DMR_CODE_KEY="{source_digest()}"', f"-I{build}",
                      f"-I{runtime_folder()}"]  # fmt: skip

            def compile_one(source: Path) -> Path:
                target = build / f"{source.stem}.o"
                _run([*common, "-c", str(source), "-o", str(target)])
                return target

            with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                objects = list(pool.map(compile_one, sources))
            finished = build / "mipsrec-host"
            link_flags = _SANITIZED_LINK_FLAGS if any("-fsanitize" in flag for flag in extra_flags) else _LINK_FLAGS
            _run([compiler, *extra_flags, *map(str, objects), "-o", str(finished), *link_flags])
            (output.parent / "version").write_text(source_digest() + "\n")  # `mipsrec cache` wants to know
            os.replace(finished, output)
    except OSError as error:
        raise BuildError(f"{output}: {cannot_write(error)}") from error


def _run(command: list[str]) -> None:
    result = run_compiler(command)
    if result.returncode != 0:
        raise BuildError(f"building the host failed: {(result.stderr.strip() or 'no message').splitlines()[0]}")
