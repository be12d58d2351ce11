"""info, disasm and cfg: what a program is and what analysis found in it."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import pipeline
from ..analysis import Block, End, Function
from ..checksum import ends_whole
from ..errors import BuildError
from ..host import host_executable
from ..isa.disassembly import disassemble


def _facts(guest: pipeline.Guest) -> dict[str, Any]:
    image, functions = guest.image, guest.program.functions.values()
    blocks = [block for function in functions for block in function.blocks.values()]
    indirect = [block for block in blocks if block.end is End.INDIRECT]
    return {
        "path": str(image.path),
        "identity": image.identity,
        "byte_order": image.byte_order,
        "type": "static-pie" if image.bias else "static",
        "isa": image.e_flags.arch,
        "abi": image.e_flags.abi,
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
    result = subprocess.run([str(host_executable()), "--describe", path], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise BuildError(result.stderr.strip().removeprefix("mipsrec-host: "))
    facts = {line[:19].rstrip().replace(" ", "_"): line[19:] for line in result.stdout.splitlines()}
    return {name: int(value) if value.isdecimal() else value for name, value in facts.items()}


def info(arguments: argparse.Namespace) -> int:
    """Print what the program, or the library, is."""
    library = ends_whole(Path(arguments.program))
    facts = _library_facts(arguments.program) if library else _facts(pipeline.open_guest(arguments.program))
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
                print(f"{'warning':18} {warning}")
        elif name in ("entry", "gp", "bias") and not library:
            print(f"{name:18} {'none' if value is None else f'0x{value:08x}'}")
        else:
            print(f"{name.replace('_', ' '):18} {value}")
    return 0


def block_lines(guest: pipeline.Guest, function: Function, block: Block) -> Iterator[tuple[int, int, str]]:
    """Yield (pc, word, assembly) of a block, calls and jumps with the names of their targets."""
    pc = block.start
    rest = [block.terminator] if block.terminator is not None else []
    rest += [block.delay_slot] if block.delay_slot is not None else []
    for instruction in [*block.body, *rest]:
        text = disassemble(instruction, pc)
        if instruction is block.terminator:
            target = function.likely_target(block)
            name = guest.program.names.get(target) if target is not None else None
            text += f"  # {name}" if name else ""
        yield pc, instruction.word, text
        pc += 4


def _ends(function: Function, block: Block) -> str:
    successors = ", ".join(f"{pc:08x}" for pc in function.successors(block))
    return f"{block.end.value}{' -> ' + successors if successors else ''}"


def disasm(arguments: argparse.Namespace) -> int:
    """Print functions block by block."""
    guest = pipeline.open_guest(arguments.program)
    if arguments.function:
        functions = [guest.function(name) for name in arguments.function]
    else:
        functions = list(guest.program.functions.values())
    for function in functions:
        print(f"\n{function.start:08x} <{function.name}>:")
        for pc in sorted(function.blocks):
            block = function.blocks[pc]
            print(f"  block {pc:08x}  # {_ends(function, block)}{', entry' if pc in function.entries else ''}")
            for at, word, text in block_lines(guest, function, block):
                print(f"    {at:08x}: {word:08x}  {text}")
    return 0


def _dot(guest: pipeline.Guest, function: Function) -> str:
    lines = [
        f'digraph "{function.name}" {{',
        '  node [shape=box, fontname="monospace", fontsize=9];',
        '  edge [fontname="monospace", fontsize=9];',
    ]
    for pc in sorted(function.blocks):
        block = function.blocks[pc]
        label = "".join(f"{at:08x}  {text}\\l" for at, _, text in block_lines(guest, function, block))
        label = label.replace('"', '\\"') or f"{pc:08x}  (undecodable)\\l"
        marks = ", penwidth=2" if pc == function.start or pc in function.entries else ""
        lines.append(f'  b{pc:08x} [label="{label}"{marks}];')
        for successor in function.successors(block):
            text = "taken" if block.end is End.BRANCH and successor == block.target else ""
            lines.append(f'  b{pc:08x} -> b{successor:08x} [label="{text}"];')
    return "\n".join([*lines, "}", ""])


def cfg(arguments: argparse.Namespace) -> int:
    """Write the control-flow graph of a function."""
    guest = pipeline.open_guest(arguments.program)
    text = _dot(guest, guest.function(arguments.function))
    if arguments.output is None:
        print(text, end="")
        return 0
    output = Path(arguments.output)
    try:
        if output.suffix == ".svg":
            text = _svg(text)
        output.write_text(text)
    except OSError as error:
        raise BuildError(f"{output}: cannot be written ({error.strerror})") from error
    return 0


def _svg(dot: str) -> str:
    program = shutil.which("dot")
    if program is None:
        raise BuildError("Graphviz is needed for svg: on Debian, apt install graphviz; or write a .dot file")
    result = subprocess.run([program, "-Tsvg"], input=dot, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise BuildError(f"Graphviz failed: {result.stderr.strip() or 'no message'}")
    return result.stdout
