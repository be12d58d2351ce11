"""Comparisons of floating-point values that branches and moves depend on: each condition, at each level of LLVM.

Code generation joins a comparison with what depends on it, and LLVM's fast selection aborts on some that no pass folds.
The guest's byte order has no part in that: by default each level is tried in one.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import ORDERS, OUT, compile_guest, library_at
from tests.support.sampling import shared_by_orders

CONDITIONS = "f un eq ueq olt ult ole ule sf ngle seq ngl lt nge le ngt".split()
PAIRS = ((1.0, 2.0), (2.0, 1.0), (2.0, 2.0), (float("nan"), 1.0))
LEVELS = ("light", "0", "1", "3")
FORMATS = {"s": "float", "d": "double"}

_FUNCTION = """
__attribute__((noinline)) static int {name}({type} a, {type} b)
{{
    int found = 0, moved = 4;
    __asm__(".set push\\n.set noreorder\\n"
            "c.{condition}.{format} $fcc1,%2,%3\\nbc1f $fcc1,1f\\nnop\\naddiu %0,%0,1\\n"
            "1: bc1tl $fcc1,2f\\naddiu %0,%0,2\\n2: movf %1,$0,$fcc1\\n.set pop"
            : "+r"(found), "+r"(moved) : "f"(a), "f"(b));
    return found + moved;
}}
"""


def _source() -> str:
    functions, calls = [], []
    for format_, type_ in FORMATS.items():
        for condition in CONDITIONS:
            name = f"{condition}_{format_}"
            functions.append(_FUNCTION.format(name=name, type=type_, condition=condition, format=format_))
            calls += [f"    out_decimal({name}(pairs[{index}][0], pairs[{index}][1]));" for index in range(len(PAIRS))]
            calls.append("    out_char('\\n');")
    values = ", ".join("{__builtin_nan(\"\"), 1}" if a != a else f"{{{a}, {b}}}" for a, b in PAIRS)
    pairs = f"static volatile double pairs[][2] = {{{values}}};"
    main = ["int main(void)", "{", *calls, "    out_flush();", "    return 0;", "}"]
    return "\n".join(['#include "out.h"', pairs, *functions, *main])


def _expected() -> str:
    """Return what is right by the table of C.cond.fmt in the manual: bits 2 to 0 are less, equal and unordered."""
    lines = []
    for condition in range(16):
        holds = [
            bool((condition & 4 and a < b) or (condition & 2 and a == b) or (condition & 1 and (a != a or b != b)))
            for a, b in PAIRS
        ]
        lines.append("".join("7" if one else "0" for one in holds))
    return "".join(f"{line}\n" for line in lines * len(FORMATS))


@pytest.mark.parametrize("byte_order", ORDERS)
def test_each_condition_at_each_level(host: Path, tmp_path: Path, byte_order: str) -> None:
    program = compile_guest(tmp_path, byte_order, _source(), "-O1", *OUT)
    guest = pipeline.open_guest(program)
    libraries = [
        library_at(guest, tmp_path, level, *(f"{one}_{format_}" for one in CONDITIONS for format_ in FORMATS))
        for level in shared_by_orders(LEVELS, byte_order)
    ]
    for options in (("--engine", "interp"), ("--threshold", "1"), *(("--library", one) for one in libraries)):
        result = subprocess.run([host, *options, program], capture_output=True, text=True, timeout=600)
        assert (result.stdout, result.stderr, result.returncode) == (_expected(), "", 0), options
