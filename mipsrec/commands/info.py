"""info: what a program is and what analysis found in it; or what a library is of."""

from __future__ import annotations

import argparse
import json
import subprocess
from typing import Any

from .. import pipeline
from ..analysis import End
from ..architecture import needed
from ..elf import Image
from ..errors import BuildError, one_line
from ..files.checksum import ends_whole
from ..host_build import host_executable
from .arguments import add_sysroot
from .guest_files import guest_file

DESCRIPTION = """\
Says what a program is (byte order, dynamic linker and libraries, ABI, segments, the ISA and the modules that it is
marked as using) and what analysis found in it (the ISA and the modules that its instructions need, functions, blocks,
jump tables, jumps that stay unresolved); or of which program a library of recompiled code is, and how it was made.

  mipsrec info prog.elf
  mipsrec info --json prog.elf    the same for other programs to read
  mipsrec info lib.so
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="prog.elf|lib.so",
                        help="a 32-bit MIPS program or library, or recompiled code")  # fmt: skip
    add_sysroot(parser)
    parser.add_argument("--json", action="store_true", help="machine-readable")


def _type_of(image: Image) -> str:
    """Return how a file is linked."""
    if image.interpreter is None:
        return "static-pie" if image.bias and image.entry else "static" if image.entry else "shared library"
    return "dynamic-pie" if image.bias else "dynamic"


def _facts(guest: pipeline.Guest) -> dict[str, Any]:
    image, functions = guest.image, guest.program.functions.values()
    blocks = [block for function in functions for block in function.blocks.values()]
    modules = {instruction.row.module for block in blocks for instruction in block.instructions()}
    indirect = [block for block in blocks if block.end is End.INDIRECT]
    return {
        "path": str(image.path),
        "identity": image.identity,
        "byte_order": image.byte_order,
        "type": _type_of(image),
        "interpreter": image.interpreter or "none",
        "libraries": ", ".join(image.needed) or "none",
        "isa": image.e_flags.arch,
        "abi": image.e_flags.abi,
        "modules": ", ".join(image.modules) or "none",
        "needs": ", ".join(module.name for module in needed(modules)),
        "float": "soft" if image.soft_float else "FR=1" if image.fr else "FR=0",
        "nan2008": image.e_flags.nan2008,
        "entry": image.entry,
        "gp": image.gp,
        "bias": image.bias,
        "segments": [
            {
                "address": s.vaddr, "memory_bytes": s.memsz, "file_bytes": s.filesz,
                "permissions": ("r" if s.read else "-") + ("w" if s.write else "-") + ("x" if s.execute else "-"),
            }
            for s in image.segments
        ],
        "symbols": len(image.symbols),
        "functions": len(functions),
        "instructions": sum(block.instruction_count() for block in blocks),
        "blocks": len(blocks),
        "jump_tables": sum(len(f.jump_tables) for f in functions),
        "indirect_jumps": len(indirect),
        "unresolved_jumps": sum(len(f.unresolved) for f in functions),
        "indirect_calls": sum(block.end is End.CALL and block.target is None for block in blocks),
        "guessed_targets": sum(len(f.guesses) for f in functions),
        "extra_entries": sum(len(f.entries) for f in functions),
        "warnings": guest.program.warnings,
    }  # fmt: skip


def _library_facts(path: str) -> dict[str, Any]:
    """Return what a library says of itself; raises BuildError when it is damaged or of another version."""
    words = [str(host_executable()), "--describe", path]
    result = subprocess.run(words, capture_output=True, text=True, errors="surrogateescape", check=False)
    if result.returncode != 0:
        said = result.stderr.strip().removeprefix("mipsrec-host: ")
        raise BuildError(said or f"{path}: was changed while it was read")
    facts = {line[:19].rstrip().replace(" ", "_"): line[19:] for line in result.stdout.rstrip("\n").split("\n")}
    return facts | {name: int(facts[name]) for name in ("entries", "bytes")} | {"path": path}


def main(arguments: argparse.Namespace) -> int:
    path = guest_file(arguments.program, arguments)
    library = ends_whole(path)
    facts = _library_facts(str(path)) if library else _facts(pipeline.open_guest(path))
    if arguments.json:
        print(json.dumps(facts, indent=2))
        return 0
    for name, value in facts.items():
        if name == "segments":
            for segment in value:
                print(
                    f"{'segment':18} 0x{segment['address']:08x} {segment['permissions']} "
                    f"{segment['memory_bytes']} bytes, {segment['file_bytes']} of them from the file"
                )
        elif name == "warnings":
            for warning in value:
                print(f"{'warning':18} {one_line(warning)}")
        elif name in ("entry", "gp", "bias") and not library:
            print(f"{name:18} {'none' if value is None else f'0x{value:08x}'}")
        else:
            print(f"{name.replace('_', ' '):18} {one_line(str(value))}")
    return 0
