"""Jumps by registers that are no tables, in MIPS16e code of GCC: branches too far away, returns of stubs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mipsrec.analysis import End
from mipsrec.architecture import is_mips16
from tests.analysis.analysed import FREESTANDING, MODELS, function, program_of
from tests.support.compiled import ORDERS, binutils, compile_guest

LONG = r"""
int volatile sink;
#define FAR __asm__ volatile(NOPS);
#define NOPS4(n) n n n n
#define NOPS NOPS4(NOPS4(NOPS4(NOPS4(NOPS4(NOPS4("nop\n nop\n nop\n nop\n"))))))
__attribute__((noinline)) int long_one(unsigned x)
{
again:
    if (x & 1)
        goto out;
    FAR
    if (sink == 3)
        goto out;
    FAR
    if (sink & 1)
        goto again;
out:
    return sink;
}
__attribute__((used)) void __start(void) { for (;;) sink = long_one(sink); }
"""
"""16-bit code of 64 KiB, whose `goto` are jumps to an address that is loaded."""


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("order", ORDERS)
def test_long_branches(tmp_path: Path, order: str, model: str) -> None:
    """Position-independent code takes the address from the GOT, by the gp that its prologue has stored; other code
    from a constant in the text."""
    options = (*FREESTANDING, *MODELS[model], "-mips16")
    guest = compile_guest(tmp_path, order, LONG, *options)
    found = function(program_of(guest), "long_one")
    ends = f"--start-address={found.start - 1}", f"--stop-address={found.limit - 1}"
    text = binutils(order, "objdump", "-d", *ends, guest)
    jumps = {int(pc, 16) + 1 for pc in re.findall(r"^ *([0-9a-f]+):\t.*\tjr\t(?!ra)", text, re.MULTILINE)}
    assert len(jumps) >= 2 and is_mips16(found.start)
    assert found.unresolved == set()
    assert jumps == found.jump_tables.keys()
    assert {pc for table in found.jump_tables.values() for _, pc in table.cases} <= found.blocks.keys()
    code = {int(pc, 16) + 1 for pc in re.findall(r"^ *([0-9a-f]+):\t", text, re.MULTILINE)}
    assert {pc for block in found.blocks.values() for pc in block.pcs()} <= code


STUBS = """
double half(double x) { return x / 2; }
float third(float x) { return x / 3; }
double (*volatile halves)(double) = half;
float (*volatile thirds)(float) = third;
int main(void) { return halves(4) + thirds(6) == 4; }
"""


@pytest.mark.parametrize("order", ORDERS)
def test_returns_of_stubs(tmp_path: Path, order: str) -> None:
    """libgcc's stubs of calls return by s2, where they have put ra."""
    guest = compile_guest(tmp_path, order, STUBS, "-static", "-mips16")
    program = program_of(guest)
    for name in ("__mips16_call_stub_df_2", "__mips16_call_stub_sf_1"):
        blocks = function(program, name).blocks.values()
        assert [block.end for block in blocks if block.end in (End.RETURN, End.INDIRECT)] == [End.RETURN]
        (returns,) = (block.terminator for block in blocks if block.end is End.RETURN)
        assert returns is not None and returns.rs == 18
