"""cfg: the control-flow graph of a function."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import pipeline
from ..abi import PAGE_BYTES
from ..analysis import Block, End, Function
from ..coverage import drcov
from ..errors import BuildError, CoverageError, UsageError, one_line
from ..files.temporary_folder import write_result
from ..native.compiler import find_tool, run_tool
from .arguments import add_inspected
from .guest_files import open_program

DESCRIPTION = """\
Draws the control-flow graph of a function: its basic blocks with their assembly, and the edges between them.

  mipsrec cfg prog.elf main              Graphviz dot, printed
  mipsrec cfg prog.elf main -o main.svg  a picture, also of .png and .pdf; needs Graphviz
  mipsrec cfg --coverage prog.cov prog.elf main
                                         colours the blocks that ran, by a file of `mipsrec run --coverage`
"""

_PICTURES = (".svg", ".png", ".pdf")
_ENDINGS = (".dot", *_PICTURES)
_RAN, _RAN_IN_PART, _RAN_NOT = ("palegreen", "ran"), ("khaki", "ran in part"), ("white", "did not run")
"""The colour of a block, and what it says."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_inspected(parser)
    parser.add_argument("function", metavar="FUNCTION", help="a name or an address")
    parser.add_argument("--coverage", metavar="FILE",
                        help="colour the blocks that ran, by this drcov file")  # fmt: skip
    parser.add_argument("-o", dest="output", metavar="FILE",
                        help="what the ending says: .dot, .svg, .png or .pdf (default: dot, printed)")  # fmt: skip


def quoted(text: str) -> str:
    """Return text as it stands within a quoted string of DOT: the maker of the program chose its names."""
    return one_line(text).replace("\\", "\\\\").replace('"', '\\"')


def _addresses_that_ran(path: str, guest: pipeline.Guest) -> set[int]:
    """Return the even guest addresses of code that ran; raises CoverageError where the file is not of the program."""
    image = guest.image
    low = min(segment.vaddr for segment in image.segments) // PAGE_BYTES * PAGE_BYTES
    high = max(segment.vaddr + segment.memsz for segment in image.segments)
    try:
        modules = drcov.modules_of(drcov.read(path), image.path, high - low)
    except ValueError as error:
        raise CoverageError(f"{path}: {error}; write one of it with `mipsrec run --coverage FILE`") from error
    blocks = (block for module in modules for block in module.blocks)
    return {low + at for start, size_bytes in blocks for at in range(start & ~1, start + size_bytes, 2)}


def _colour(block: Block, ran: set[int]) -> tuple[str, str]:
    found = [pc & ~1 in ran for pc in block.pcs()]
    return _RAN_NOT if not any(found) else _RAN if all(found) else _RAN_IN_PART


def _legend() -> list[str]:
    """Return the lines of a graph that say what the colours mean."""
    cells = "".join(f'<td bgcolor="{colour}">{meaning}</td>' for colour, meaning in (_RAN, _RAN_IN_PART, _RAN_NOT))
    table = f'<table border="0" cellborder="1" cellspacing="0" cellpadding="4"><tr>{cells}</tr></table>'
    return ['  fontname="monospace"; fontsize=9; labelloc=b;', f"  label=<{table}>;"]


def _dot(guest: pipeline.Guest, function: Function, ran: set[int] | None) -> str:
    lines = [
        f'digraph "{quoted(function.name)}" {{',
        '  node [shape=box, fontname="monospace", fontsize=9];',
        '  edge [fontname="monospace", fontsize=9];',
        *(_legend() if ran is not None else ()),
    ]
    for pc in sorted(function.blocks):
        block = function.blocks[pc]
        label = "".join(f"{at:08x}  {quoted(text)}\\l" for at, _, text in guest.block_lines(function, block))
        label = label or f"{pc:08x}  (undecodable)\\l"
        marks = ", penwidth=2" if pc == function.start or pc in function.entries else ""
        if ran is not None:
            marks += f", style=filled, fillcolor={_colour(block, ran)[0]}"
        lines.append(f'  b{pc:08x} [label="{label}"{marks}];')
        for successor in function.successors(block):
            text = "taken" if block.end is End.BRANCH and successor == block.target else ""
            lines.append(f'  b{pc:08x} -> b{successor:08x} [label="{text}"];')
    return "\n".join([*lines, "}", ""])


def main(arguments: argparse.Namespace) -> int:
    output = None if arguments.output is None else Path(arguments.output)
    if output is not None and output.suffix not in _ENDINGS:
        raise UsageError(f"{output}: the ending says what is written: {', '.join(_ENDINGS)}")
    guest = open_program(arguments)
    ran = None if arguments.coverage is None else _addresses_that_ran(arguments.coverage, guest)
    text = _dot(guest, guest.function(arguments.function), ran)
    if output is None:
        print(text, end="")
        return 0
    content = _picture(text, output.suffix) if output.suffix in _PICTURES else text.encode()
    try:
        write_result(output, content)
    except OSError as error:
        raise BuildError(f"{output}: cannot be written ({error.strerror or error})") from error
    return 0


def _picture(dot: str, ending: str) -> bytes:
    """Return what Graphviz draws, in the format of a file's ending."""
    program = find_tool("dot")
    if program is None:
        raise BuildError(f"Graphviz is needed for {ending}: on Debian, apt install graphviz; or write a .dot file")
    result = run_tool([program, f"-T{ending[1:]}"], input=dot.encode(), capture_output=True)
    if result.returncode != 0 or not result.stdout:
        said = " ".join(result.stderr.decode(errors="replace").split())
        raise BuildError(f"Graphviz failed: {said or 'no message'}")
    return bytes(result.stdout)
