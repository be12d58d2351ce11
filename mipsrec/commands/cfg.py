"""cfg: the control-flow graph of a function."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import pipeline
from ..analysis import End, Function
from ..errors import BuildError, UsageError, one_line
from ..files.temporary_folder import write_result
from ..native.compiler import find_tool, run_tool
from .arguments import add_inspected
from .guest_files import open_program

DESCRIPTION = """\
Draws the control-flow graph of a function: its basic blocks with their assembly, and the edges between them.

  mipsrec cfg prog.elf main              Graphviz dot, printed
  mipsrec cfg prog.elf main -o main.svg  a picture, also of .png and .pdf; needs Graphviz
"""

_PICTURES = (".svg", ".png", ".pdf")
_ENDINGS = (".dot", *_PICTURES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_inspected(parser)
    parser.add_argument("function", metavar="FUNCTION", help="a name or an address")
    parser.add_argument("-o", dest="output", metavar="FILE",
                        help="what the ending says: .dot, .svg, .png or .pdf (default: dot, printed)")  # fmt: skip


def quoted(text: str) -> str:
    """Return text as it stands within a quoted string of DOT: the maker of the program chose its names."""
    return one_line(text).replace("\\", "\\\\").replace('"', '\\"')


def _dot(guest: pipeline.Guest, function: Function) -> str:
    lines = [
        f'digraph "{quoted(function.name)}" {{',
        '  node [shape=box, fontname="monospace", fontsize=9];',
        '  edge [fontname="monospace", fontsize=9];',
    ]
    for pc in sorted(function.blocks):
        block = function.blocks[pc]
        label = "".join(f"{at:08x}  {quoted(text)}\\l" for at, _, text in guest.block_lines(function, block))
        label = label or f"{pc:08x}  (undecodable)\\l"
        marks = ", penwidth=2" if pc == function.start or pc in function.entries else ""
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
    text = _dot(guest, guest.function(arguments.function))
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
