"""What a library that was just linked wants of the host: only functions that the host has.

Enters: a linked library, and the files of IR that it was made of, if a user may have edited them, which are read here.
Leaves: BuildError with the name of a function that is nowhere. The host looks again before it runs the library
(runtime/lifted/object.c).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from elftools.elf.elffile import ELFFile

from .. import abi
from ..errors import BuildError
from ..files.input_file import read_text


def read_ir(path: Path) -> str:
    """Return the text of a file of IR; raises BuildError."""
    try:
        return read_text(path)
    except (OSError, ValueError) as error:
        raise BuildError(f"{path}: cannot be read as LLVM IR ({error})") from error


def check_imports(library: Path, sources: Sequence[Path]) -> None:
    """Raise BuildError where a library wants a function that the host has not, with the file that refers to it."""
    with library.open("rb") as stream:
        symbols: Any = ELFFile(stream).get_section_by_name(".dynsym")
        wanted = {one.name for one in symbols.iter_symbols() if one["st_shndx"] == "SHN_UNDEF" and one.name}
    for name in sorted(wanted - abi.imported_functions()):
        raise BuildError(f"{_user_of(name, sources)}: refers to {name}, which is no function of the IR or of the host")


def _user_of(name: str, sources: Sequence[Path]) -> str:
    """Return the file of IR that declares a function; LLVM may also make calls of operations."""
    for path in sources:
        if any(function.name == name for function in llvm.parse_assembly(read_ir(path)).functions):
            return str(path)
    return "code that LLVM made of the IR"
