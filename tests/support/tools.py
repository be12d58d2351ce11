"""What tests do when a program they need is not installed: fail in CI, skip elsewhere, and name the package.

Enters: the name of a program. Leaves: its path, or the end of the test.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
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
