"""`make conformance`: recompiled and interpreted programs beside native builds and qemu-user, all of the matrices.

What follows goes to pytest: `make conformance ARGS='-k test_cxx'`, or ARGS='--collect-only -q' for the list. All of it
takes hours; each test's line shows how far it has come.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent
FILES = ("test_programs.py", "test_samples.py")


def main(words: list[str]) -> int:
    """Run pytest on the full matrices; return its exit status."""
    if words[:1] in (["--help"], ["-h"]):
        print(__doc__)
        return 0
    command = [sys.executable, "-m", "pytest", "--verbose", "--durations=20", *(str(TESTS / name) for name in FILES)]
    environment = os.environ | {"MIPSREC_PROGRAMS": "all", "MIPSREC_SAMPLES": "all"}
    return subprocess.run([*command, *words], cwd=TESTS.parent, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
