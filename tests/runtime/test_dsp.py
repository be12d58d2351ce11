"""Programs that use the DSP module print what they print on qemu's 74Kf, in each tier and byte order."""

from __future__ import annotations

from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import ORDERS, QEMU, compile_guest, library_at, printed_alone
from tests.support.paths import GUESTS
from tests.support.tiers import AUTO, BASELINE, INTERPRETED
from tests.support.tools import need


@pytest.mark.parametrize("order", ORDERS)
def test_kernels_and_signals(host: Path, tmp_path: Path, order: str) -> None:
    source = (GUESTS / "dsp.c").read_text()
    guest = compile_guest(tmp_path, order, source, "-static", "-mdspr2", "-march=74kc", "-Wno-attributes")
    expected = printed_alone(need(QEMU[order], "qemu-user"), "-cpu", "74Kf", guest)
    assert len(expected.splitlines()) == 50
    for tier in (INTERPRETED, *BASELINE.values()):
        assert printed_alone(host, *tier, guest) == expected
    functions = ("main", "filter", "blend", "read_bits", "around_*", "look")
    for opt in (0, 2):
        library = library_at(pipeline.open_guest(guest), tmp_path, opt, *functions)
        assert printed_alone(host, "--library", library, guest) == expected
    assert printed_alone(host, *AUTO["auto at random"], "--library", library, guest) == expected
