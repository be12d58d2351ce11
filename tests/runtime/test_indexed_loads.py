"""lwx, lhx and lbux of the DSP module load what they load on qemu's 34Kf, in each tier and byte order."""

from __future__ import annotations

from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import ORDERS, OUT, QEMU, compile_guest, library_at, printed_alone
from tests.support.tiers import BASELINE, INTERPRETED
from tests.support.tools import need

SOURCE = """
#include <stdint.h>
#include "out.h"

static uint32_t random_state = 1;
static uint8_t data[1024] __attribute__((aligned(8)));

static uint32_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    return random_state ^= random_state << 5;
}

#define LOAD(name)                                                            \\
    __attribute__((noinline)) static uint32_t name(uint32_t base, uint32_t index) \\
    {                                                                         \\
        uint32_t value;                                                       \\
        __asm__ volatile(".set push\\n.set dsp\\n" #name " %0, %2(%1)\\n.set pop" \\
                         : "=r"(value) : "r"(base), "r"(index));              \\
        return value;                                                         \\
    }
LOAD(lwx)
LOAD(lhx)
LOAD(lbux)

/* In a delay slot, into the register of its base, and with the index in the register of the result. */
__attribute__((noinline)) static uint32_t in_slot(uint32_t base, uint32_t index)
{
    uint32_t other = index;
    __asm__ volatile(".set push\\n.set dsp\\n.set noreorder\\n"
                     "bne %0, $0, 1f\\nlwx %0, %1(%0)\\n1: lhx %1, %1(%2)\\n.set pop"
                     : "+&r"(base), "+&r"(index) : "r"(data));
    return base ^ index ^ other;
}

int main(void)
{
    uint32_t sum = 0;
    for (unsigned at = 0; at < sizeof data; at++)
        data[at] = (uint8_t)next_random();
    for (int round = 0; round < 3000; round++) {
        uint32_t base = next_random(), at = next_random() % 255 * 4, offset = (uint32_t)(uintptr_t)data + at - base;
        sum = sum * 31 + lwx(base, offset);
        sum = sum * 31 + lhx(base, offset + (next_random() & 2));
        sum = sum * 31 + lbux(base, offset + (next_random() & 3));
        sum = sum * 31 + in_slot((uint32_t)(uintptr_t)data, at);
    }
    out_hex(sum);
    out_char('\\n');
    out_flush();
    return 0;
}
"""


@pytest.mark.parametrize("order", ORDERS)
def test_every_tier_loads_what_qemu_loads(host: Path, tmp_path: Path, order: str) -> None:
    guest = compile_guest(tmp_path, order, SOURCE, *OUT)
    expected = printed_alone(need(QEMU[order], "qemu-user"), "-cpu", "34Kf", guest)
    for tier in (INTERPRETED, *BASELINE.values()):
        assert printed_alone(host, *tier, guest) == expected
    library = library_at(pipeline.open_guest(guest), tmp_path, 2, "main", "l[whb]*x", "in_slot")
    assert printed_alone(host, "--library", library, guest) == expected
