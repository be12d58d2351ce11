"""A guest to verify, a library of it that is wrong, and what `mipsrec verify` says when all agrees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.commandline import environment

AGREES = "mipsrec verify: lifted code and the interpreter agree at "

FREESTANDING = """
__attribute__((noipa)) int leaf(int a) { return a * 3 + 1; }
__attribute__((noipa)) int mix(int a, int b) { return (a ^ b) + 5; }
__attribute__((noipa)) int pick(int n)
{
    switch (n) {
    case 0: return leaf(n) + 2;
    case 1: return leaf(n + 9) - 7;
    case 2: return mix(n, 3);
    case 3: return leaf(n * n);
    case 4: return mix(n, n + 4) * 3;
    case 5: return leaf(-n);
    case 6: return 100 - mix(n, 1);
    default: return 11;
    }
}
__attribute__((noipa)) int chain(int a, int b) { return leaf(a + b) + mix(leaf(b), a); }
int cells[64], far_away[4096];
__attribute__((noipa)) void keep(int n) { cells[n & 3] += n; }
__attribute__((used)) void __start(void)
{
    int sum = 0;
    for (int i = 0; i < 9; i++) {
        sum += mix(i, 12) + pick(i) + chain(i, i + 1);
        keep(sum);
    }
    register int number __asm__("$2") = 4001, status __asm__("$4") = (sum + cells[1]) & 63;
    __asm__ volatile("syscall" : : "r"(number), "r"(status));
    for (;;) ;
}
"""
STATUS = 10  # as under qemu-user

WRONG_ROW = """
import sys
from mipsrec import isa, pipeline
(row,) = [row for row in isa.ROWS if row.name == "xor"]
right = row.meaning
object.__setattr__(row, "meaning", lambda m, i: m.set_gpr(i.rd, m.or_(m.gpr(i.rs), m.gpr(i.rt))))
options = pipeline.Options(opt=1, memory=sys.argv[3], calls="instrumented", jobs=1)
pipeline.build(pipeline.open_guest(sys.argv[1]), sys.argv[2], options)
"""


def build_wrong(folder: Path, guest: Path, memory: str = "flat") -> Path:
    """Return a library in which xor computes or."""
    library = folder / "wrong.so"
    words = [sys.executable, "-c", WRONG_ROW, str(guest), str(library), memory]
    subprocess.run(words, check=True, env=environment(), timeout=600)
    return library
