"""What comes in host registers, and what goes back in them alone.

Functions that jump to a pc they computed hand on the arguments that they got. v0 and v1 are in the state again wherever
other code looks there.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.lift import policy
from mipsrec.lift.convention import ARGUMENT_BITS, argument_registers
from tests.support.compiled import BARE, ORDERS, compile_guest, library_at
from tests.support.paths import GUESTS
from tests.support.sampling import shared_by_orders

pytestmark = pytest.mark.sampled

SOURCE = """
__asm__(".set noreorder\\n"
        ".globl on, last, adds\\n"
        ".type on, @function\\n"
        "on: lw $25, 0($4)\\n jr $25\\n nop\\n .size on, . - on\\n" /* reads a0, passes a1 to a3, sp and ra */
        ".type last, @function\\n" /* a second way to its jump, after what writes a2 */
        "last: beqz $6, 1f\\n lw $25, 0($4)\\n addiu $6, $6, 1\\n 1: jr $25\\n nop\\n .size last, . - last\\n"
        ".set reorder");

typedef unsigned (*handler)(void *, unsigned, unsigned, unsigned, unsigned);
extern unsigned on(void *, unsigned, unsigned, unsigned, unsigned);
extern unsigned last(void *, unsigned, unsigned, unsigned, unsigned);

static unsigned weigh(void *object, unsigned a, unsigned b, unsigned c, unsigned d)
{
    return a + 3 * b + 9 * c + 27 * d + (object != 0);
}

static handler volatile object;

void __start(void)
{
    object = weigh;
    int right = on((void *)&object, 1, 2, 0, 1) == 35 && on((void *)&object, 0, 1, 2, 3) == 103 &&
                last((void *)&object, 2, 0, 1, 1) == 39 && last((void *)&object, 2, 1, 1, 1) == 45;
    register int v0 __asm__("$2") = 4001;
    register int status __asm__("$4") = !right;
    __asm__ volatile("syscall" : : "r"(v0), "r"(status));
}
"""


@pytest.mark.parametrize("order", ORDERS)
def test_arguments_pass_through(host: Path, tmp_path: Path, order: str) -> None:
    program = compile_guest(tmp_path, order, SOURCE, *BARE)
    guest = pipeline.open_guest(program)
    functions = {function.name: function for function in guest.program.functions.values()}
    for name in ("on", "last"):
        assert argument_registers(functions[name]) == ARGUMENT_BITS
    assert argument_registers(functions["weigh"]) != ARGUMENT_BITS
    for opt in (0, 3):
        library = library_at(guest, tmp_path, opt)
        subprocess.run([host, "--library", library, program], timeout=600, check=True)


RESULTS = GUESTS / "results.c"
_RESULT_PARTS = (
    (), ("pair", "strays", "takes", "odd"), ("wraps", "perhaps", "detour", "hands_on", "traps"), ("wraps", "sums"),
    ("nested", "resumes"), ("left", "between"),
)  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
def test_results_reach_whoever_reads_them(
    host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    """They do so in any mix of recompiled and other code: a library of all functions, and of some."""
    program = compile_guest(tmp_path, order, RESULTS.read_text(), *BARE, "-march=mips32r2")
    guest = pipeline.open_guest(program)
    assert guest.function("resumes").resume_points
    for opt, names in shared_by_orders((("light", ()), *(("3", names) for names in _RESULT_PARTS)), order):
        library = library_at(guest, tmp_path, opt, *names)
        subprocess.run([host, "--library", library, program], timeout=600, check=True)
    library = tmp_path / "library.so"
    for calls in shared_by_orders(("instrumented", "thunked"), order):
        pipeline.build(guest, library, pipeline.Options(opt="1", calls=calls, jobs=1))
        subprocess.run([host, "--library", library, program], timeout=600, check=True)
    monkeypatch.setattr(policy, "hot_functions", lambda program, starts: set())  # most registers in the state
    for names in shared_by_orders(_RESULT_PARTS, order):
        library = library_at(guest, tmp_path, "light", *names)
        subprocess.run([host, "--library", library, program], timeout=600, check=True)
