"""Programs with a bound of processor time: a machine under load makes nobody's program a slow one."""

from __future__ import annotations

import math
import resource
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WAIT_SECONDS = 900
"""Only what waits for what never comes takes that long."""


def run_for(command: Sequence[str | Path], seconds: float, **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run a command as subprocess.run; raises TimeoutExpired where it takes more seconds of processor time."""
    most = math.ceil(seconds)

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))

    result = subprocess.run(command, timeout=WAIT_SECONDS, preexec_fn=bound, **options)
    if result.returncode == -signal.SIGKILL:
        raise subprocess.TimeoutExpired(list(command), most)
    return result
