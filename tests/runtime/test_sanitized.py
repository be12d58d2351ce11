"""Recompiled programs and the vectors of the interpreter under AddressSanitizer and UndefinedBehaviorSanitizer.

What the sanitizers find ends the process with a message on standard error. Other tests run parts of the host so too:
its command line, hand-made libraries, system calls.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commandline import mipsrec
from tests.support.hosts import SANITIZERS, sanitized_host
from tests.support.interpreter import build
from tests.support.paths import PREBUILT, ROOT, SAMPLES
from tests.support.tools import need

RUN_VECTORS = """
import sys
from pathlib import Path
from tests.runtime.vectors_interpreted import VECTORS, run_all
sys.exit("\\n".join(map(str, run_all(Path(sys.argv[1]), VECTORS))) or 0)
"""


@pytest.mark.sampled
@pytest.mark.parametrize("byte_order", ["mips", "mipsel"])
@pytest.mark.parametrize(
    ("name", "model", "calls"),
    [("callbacks", "thunk", "direct"), ("jumptable", "thunk", "thunked"), ("virtual", "paged", "direct")],
)
def test_recompiled_programs(name: str, model: str, calls: str, byte_order: str, tmp_path: Path) -> None:
    host = sanitized_host()
    guest, library = PREBUILT / byte_order / f"{name}.elf", tmp_path / "lib.so"
    result = mipsrec("build", guest, "-o", library, "--memory", model, "--calls", calls, "--opt", "1", "--jobs", "1")
    assert result.returncode == 0, result.stderr
    run = subprocess.run([host, "--stats", "--library", library, guest], capture_output=True, text=True, timeout=600)
    assert run.stdout == (SAMPLES / "expected" / f"{name}.txt").read_text(), run.stderr
    assert run.returncode == 0 and "Sanitizer" not in run.stderr and "runtime error" not in run.stderr


def test_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every vector; in a process of its own, where AddressSanitizer can be loaded first."""
    compiler = need("gcc")
    monkeypatch.setenv("CC", compiler)
    library = build(tmp_path, *SANITIZERS)
    found = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    runtime = need(os.path.realpath(found), "gcc")
    options = {"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONPATH": str(ROOT)}
    result = subprocess.run([sys.executable, "-c", RUN_VECTORS, str(library)], capture_output=True, text=True,
                            env=os.environ | options, timeout=600)  # fmt: skip
    assert (result.returncode, result.stderr) == (0, "")
