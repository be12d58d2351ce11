"""The samples' own build script as a module, which compiles each source once in a run of the tests, for all processes.

Most of the time of building a sample goes to sources that all samples share.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from mipsrec.commands.bench import load_samples_module
from tests.support.compiler_runs import made_once_of
from tests.support.paths import SAMPLES


def load_samples() -> ModuleType:
    """Return samples/build.py; its function `_run` looks first whether another test has had the same compiled."""
    module = load_samples_module()
    run = module._run

    def run_once(command: list[str], name: str) -> None:
        output = Path(command[command.index("-o") + 1])
        made_once_of(command, output, SAMPLES, lambda: run(command, name))

    module._run = run_once
    return module
