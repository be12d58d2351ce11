"""Loops over numbers that share a register give the same, whether LLVM vectorizes them or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import library_at, printed_alone
from tests.support.samples import load_samples

SAMPLES = load_samples()


@pytest.mark.parametrize("target", ["mips", "mipsel"])
def test_samples(host: Path, tmp_path: Path, target: str) -> None:
    """Vectorized at level 2, scalar at level 1."""
    for name in ("fir_q15", "mixer_q15", "fft_q15", "idct_q15"):
        guest = SAMPLES.build_guest(name, target, ("-O2",), tmp_path)
        opened = pipeline.open_guest(guest)
        for opt in (1, 2):
            library = library_at(opened, tmp_path, opt)
            assert printed_alone(host, "--library", library, guest) == SAMPLES.expected_output(name)
