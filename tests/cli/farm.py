"""A dask scheduler with workers, each a process of its own, for tests of builds on a farm."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.commandline import environment

START_SECONDS = 600


def wait_until(condition: Callable[[], bool], what: str, seconds: float = START_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


class Farm:
    """Processes that end with it. Their logs are in the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        words = ["--port", "0", "--host", "127.0.0.1", "--scheduler-file", str(self.file)]
        self.scheduler = self._start("dask_scheduler", "scheduler", words, {})
        wait_until(lambda: self.file.exists() and self.address != "", "the scheduler")

    def _start(
        self, module: str, name: str, words: list[str], changes: dict[str, str | None]
    ) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--no-dashboard", *words]
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, env=environment(**changes)
            )

    @property
    def address(self) -> str:
        try:
            return str(json.loads(self.file.read_text())["address"])
        except ValueError:
            return ""

    def log(self, name: str = "scheduler") -> str:
        return (self.folder / f"{name}.log").read_text()

    def add_worker(self, *options: str, **changes: str | None) -> subprocess.Popen[bytes]:
        """Start a worker with a cache of its own; `changes` are environment variables."""
        name = f"worker{len(self.workers)}"
        words = ["--scheduler-file", str(self.file), "--nthreads", "1", "--local-directory", str(self.folder), *options]
        changes = {"MIPSREC_CACHE": str(self.folder / f"cache-of-{name}"), **changes}
        self.workers.append(self._start("dask_worker", name, words, changes))
        wait_until(lambda: "Registered to" in self.log(name), f"{name}: {self.log(name)}")
        return self.workers[-1]

    def parts_done(self) -> int:
        """Return how many objects the workers have made and kept."""
        return sum(len(list(cache.glob("objects/*/*"))) for cache in self.folder.glob("cache-of-*"))

    def clients(self) -> int:
        return len(re.findall("Receive client connection", self.log()))

    def close(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()
