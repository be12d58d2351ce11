"""What tests do when a program they need is not installed: fail in CI, skip elsewhere, and name the package.

Enters: the name of a program. Leaves: its path, or the end of the test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest


def missing(what: str, package: str) -> NoReturn:
    """Ends the test because `what` is not installed: a failure when the environment has CI set, else a skip."""
    reason = f"{what} is not installed; on Debian: apt-get install {package}"
    if os.environ.get("CI"):
        pytest.fail(f"{reason} (tests do not skip in CI)", pytrace=False)
    pytest.skip(reason)


def outside_pytest(action: Callable[[], int]) -> int:
    """Return an action's exit status; 1, with a line on standard error, when a program that it needs is missing."""
    try:
        return action()
    except (pytest.skip.Exception, pytest.fail.Exception) as reason:
        print(reason, file=sys.stderr)
        return 1


def need(tool: str, package: str | None = None) -> str:
    """The path of a program, or of a file when `tool` has a slash; ends the test when there is none."""
    found = tool if "/" in tool and Path(tool).exists() else shutil.which(tool)
    if not found:
        missing(tool, package or tool)
    return found


def compiled(command: Sequence[str | Path]) -> None:
    """Run a compiler; where it fails, the test ends with its first error."""
    error = _first_error(command)
    if error:
        pytest.fail(f"{command[0]} {command[-1]}: {error}", pytrace=False)


def _first_error(command: Sequence[str | Path]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    if result.returncode == 0:
        return ""
    lines = [line for line in result.stderr.splitlines() if line.strip()] or [f"status {result.returncode}"]
    return next((line for line in lines if "error" in line or "cannot" in line), lines[0]).strip()


@cache
def _link_error(compiler: str, flags: tuple[str, ...], source: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "probe.c").write_text(source)
        return _first_error([compiler, *flags, f"{folder}/probe.c", "-o", f"{folder}/probe"])


def need_link(compiler: str, flags: tuple[str, ...], package: str, source: str = "int main(void) { return 0; }") -> str:
    """The path of a compiler that links with these flags: what they need is often a package of its own."""
    path = need(compiler)
    error = _link_error(path, flags, source)
    if error:
        missing(f"what {compiler} {' '.join(flags)} needs ({error})", package)
    return path
