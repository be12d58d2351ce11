"""Code of a file that is truncated while it runs: the guest dies of SIGBUS (mmap(2)), in each tier."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.runtime.twins import compile_guest
from tests.support.compiled import ORDERS
from tests.support.hosts import plain_host, sanitized_host

pytestmark = pytest.mark.every_case

TIERS = {"interpreted": ("--tier", "interp"), "baseline": ("--threshold", "1"), "reported": ("--report",)}


@pytest.fixture(scope="module", params=ORDERS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_guest(tmp_path_factory.mktemp("beyond"), request.param, "beyond_file")


@pytest.mark.parametrize("way", ["fetch", "slot"])
@pytest.mark.parametrize("tier", TIERS)
def test_no_code_beyond_the_end(tmp_path: Path, program: Path, tier: str, way: str) -> None:
    words = [plain_host(), *TIERS[tier], program, tmp_path / "file", way]
    result = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stdout) == (-signal.SIGBUS, ""), result
    assert ("no memory" in result.stderr or "dies of signal 10 (SIGBUS)" in result.stderr) == (tier == "reported")


def test_under_sanitizers(tmp_path: Path, program: Path) -> None:
    words = [sanitized_host(), "--report", program, tmp_path / "file", "slot"]
    result = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert result.returncode == -signal.SIGBUS and "Sanitizer" not in result.stderr, result


def test_translated_code_stays(tmp_path: Path, program: Path) -> None:
    """What was called often is called once more, or faults: neither is an endless loop."""
    words = [plain_host(), "--threshold", "1", program, tmp_path / "file", "called"]
    result = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stdout) in ((-signal.SIGBUS, ""), (0, "returned\n"))
