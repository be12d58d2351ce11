"""Stencils: machine code of guest instructions, for the host to copy and fill in (runtime/baseline).

    expressions.py   constants that remember how the host computes them
    convention.py    which guest registers are in which host registers
    catalogue.py     which stencils there are
    machine.py       what a row's operations become in a stencil
    functions.py     stencils as LLVM IR
    assembly.py      machine code that ends by falling through
    maker.py         compiles, and finds what depends on the instruction
    header.py        the C headers

Enters: the instruction rows (mipsrec/isa). Leaves: the text of headers that the host is built with.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ..cache import cache_folder, source_digest
from ..cpu import native_level

NUMBERS, TABLES = "mr_stencil_numbers.h", "mr_stencils.h"


def version() -> str:
    """Return a digest of all that the headers are made by."""
    digest = hashlib.blake2b(source_digest().encode(), digest_size=16)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def headers() -> dict[str, str]:
    """Return the text of the headers by file name; makes the tables once for each version: half a minute."""
    from .header import numbers_header, tables_header
    from .maker import make_stencils

    if native_level() == 0:
        return {NUMBERS: numbers_header(), TABLES: "/* There are no stencils for this machine. */\n"}
    kept = cache_folder() / "host" / f"stencils-{version()}.h"
    if not kept.exists():
        text = tables_header(make_stencils())
        kept.parent.mkdir(exist_ok=True)
        new = kept.with_name(f"{kept.name}.{os.getpid()}")
        new.write_text(text)
        os.replace(new, kept)
    return {NUMBERS: numbers_header(), TABLES: kept.read_text()}
