"""Stencils: machine code of guest instructions, for the host to copy and fill in (runtime/baseline).

    expressions.py   constants that remember how the host computes them
    convention.py    which guest registers are in which host registers
    catalogue.py     which stencils there are
    samples.py       instructions with sample values in their fields
    registers.py     what a row's operations on registers become in a stencil
    memory.py        ... accesses
    exits.py         ... all that the interpreter does
    machine.py       ... those with constants, and the rest
    functions.py     stencils as LLVM IR
    assembly.py      machine code that ends by falling through
    maker.py         compiles, and finds what depends on the instruction
    header.py        the C headers

Enters: the instruction rows (mipsrec/isa). Leaves: the text of headers that the host is built with. The tables take
half a minute to make. A wheel carries them (`ship`), and so does a checkout after `make stencils`; else the cache keeps
them.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache
from pathlib import Path

from ..cache.folders import HOSTS, cache_folder, cannot_write
from ..errors import WriteError
from ..files import trust
from ..long_work import long_work

SHIPPED = "_shipped"
_MOST_BYTES = 1 << 26
NUMBERS, TABLES = "mr_stencil_numbers.h", "mr_stencils.h"


_NOT_IN_STENCILS = (
    "__init__.py", "__main__.py", "analysis/", "cache/", "checked_arguments.py", "cli.py", "commands/", "demo.py",
    "elf/", "errors.py", "farm.py", "files/", "fill_store.py", "flow/", "fuzzing/", "guest.py", "host_build.py",
    "interrupts.py", "ir_dump.py", "lift/build.py", "lift/check", "lift/edges.py", "lift/facts/", "lift/parse.py",
    "lift/passes/", "lift/pipeline.py", "lift/policy.py", "lift/terminators.py", "lift/text/", "lift/variants.py",
    "long_work.py", "memory.py", "mix/",
    "native/__init__.py", "native/compiler.py", "native/host_files.py", "native/library.py",
    "native/library_imports.py", "native/linking.py", "native/plan.py", "native/shard", "native/workers.py",
    "options.py", "packaging/", "pipeline.py", "profile", "recompile.py", "server/", "sysroot.py", "timing.py",
    "_runtime", "_samples", SHIPPED,
)  # fmt: skip
"""What the names of modules begin with that have no part in a stencil: no guest program is read or planned for one."""


def sources() -> list[Path]:
    """Return the modules that decide what is in the headers: all but those that are known to have no part in it."""
    package = Path(__file__).parent.parent
    return [
        path for path in sorted(package.rglob("*.py"))
        if not path.relative_to(package).as_posix().startswith(_NOT_IN_STENCILS)
    ]  # fmt: skip


@cache
def version() -> str:
    """Return a digest of all that the headers are made by."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sources():
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def cached_name() -> str:
    """Return the name of the tables of this version in the cache, below `host`."""
    return f"stencils-{version()}.h"


def make_tables() -> str:
    """Return the text of the tables, made anew. Its first line says of which version it is."""
    from .header import tables_header
    from .maker import make_stencils

    with long_work("making the tables of the baseline tier (once, in about a minute)") as advance:
        return _first_line() + tables_header(make_stencils(advance))


def _first_line() -> str:
    return f"/* Stencils of version {version()}. */\n"


def shipped_tables(package: Path | None = None) -> str | None:
    """Return the text of the tables that the package carries; None where there are none of this version."""
    try:
        text = ((package or Path(__file__).parent.parent) / SHIPPED / TABLES).read_text()
    except OSError:
        return None
    return text if text.startswith(_first_line()) else None


def ship(package: Path) -> None:
    """Put the tables into a package's folder, where they are not there yet."""
    if shipped_tables(package) is None:
        text = _tables()
        (package / SHIPPED).mkdir(exist_ok=True)
        (package / SHIPPED / TABLES).write_text(text)


def _tables() -> str:
    """Return the tables: those of the package, else of the cache, which keeps those that are made."""
    shipped = shipped_tables()
    if shipped is not None:
        return shipped
    kept = cache_folder() / HOSTS / cached_name()
    with suppress(OSError, UnicodeDecodeError):
        text = trust.read(kept, _MOST_BYTES).decode()
        if text.startswith(_first_line()):
            return text
    try:
        folder = trust.make_folder(kept.parent, cache_folder())  # before the work that takes long
        text = make_tables()
        trust.write(folder / kept.name, text.encode())
    except OSError as error:
        raise WriteError(f"{kept}: {cannot_write(error)}") from error
    return text


def headers() -> dict[str, str]:
    """Return the text of the headers by file name."""
    from .header import numbers_header

    return {NUMBERS: numbers_header(), TABLES: _tables()}
