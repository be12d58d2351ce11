"""Fixtures for tests that run guests: the host, built once for all of them."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tools import need

from mipsrec.state import c_header

RUNTIME = Path(__file__).parent.parent / "runtime"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
FLAGS = ["-std=c11", "-O1", "-D_GNU_SOURCE=", "-fPIE", "-pthread", "-frounding-math"]


def build_host(folder: Path, *options: str) -> Path:
    """Return the path of a host that the C compiler makes of runtime/ in `folder`, two files at a time."""
    compiler = need(os.environ.get("CC", "cc"), "gcc")
    (folder / "mr_state.h").write_text(c_header())
    includes = [f"-I{folder}", f"-I{RUNTIME}"]
    sources = sorted(RUNTIME.glob("*.c"))
    objects = [folder / f"{source.stem}.o" for source in sources]
    host = folder / "mipsrec-host"

    def run(*words: str | Path) -> None:
        result = subprocess.run([compiler, *FLAGS, *options, *map(str, words)], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr

    with ThreadPoolExecutor(2) as pool:
        compile_one = lambda pair: run(*WARNINGS, *includes, "-c", pair[0], "-o", pair[1])  # noqa: E731
        list(pool.map(compile_one, zip(sources, objects)))
    run("-pie", "-rdynamic", *objects, "-o", host, "-ldl", "-lm")
    return host


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The host executable; the one that MIPSREC_HOST names, if set."""
    given = os.environ.get("MIPSREC_HOST")
    return Path(given) if given else build_host(tmp_path_factory.mktemp("host"))
