"""A compile server of a test's own, and guests that run until it has done something.

Enters: a folder. Leaves: a cache in it, and the words that let the host start a server. No process outlives the test.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from mipsrec.files.checksum import identity_of
from tests.support.compiler_runs import run_compiler
from tests.support.paths import ROOT
from tests.support.tools import need

START = ROOT / "mipsrec" / "commands" / "start_server.py"
DEADLINE_SECONDS = 600
_SOCKET_NAME_BYTES = 107

ROUNDS = """
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int stopped;
static void stop(int number) { stopped = number; }
__attribute__((noipa)) unsigned stir(unsigned h, const unsigned char *text, int count)
{
    for (int i = 0; i < count; i++)
        h = (h << 5 | h >> 27) * 31 + text[i % 64] + (h >> 7) % 11;
    return h;
}
static unsigned char text[64];
__attribute__((noipa)) unsigned round_of(int n)
{
    unsigned h = n;
    for (int i = 0; i < 200; i++)
        h = stir(h, text, 100 + i) ^ (h >> 3);
    return h;
}
int main(void)
{
    signal(SIGUSR1, stop);
    for (int i = 0; i < 64; i++)
        text[i] = i * 7;
    unsigned first = round_of(1), wrong = 0;
    if (write(1, "ready\\n", 6) != 6)
        return 1;
    while (!stopped)
        wrong += round_of(1) != first;
    printf("%08x %u\\n", first, wrong);
    return 0;
}
"""
"""Prints "ready" when it has begun, and goes on until SIGUSR1 comes; what it then prints is the same everywhere."""

ONE_LOOP = """
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int stopped;
static void stop(int number) { stopped = number; }
int main(void)
{
    unsigned h = 1, wrong = 0, first = 0, n = 0, full = 0;
    signal(SIGUSR1, stop);
    if (write(1, "ready\\n", 6) != 6)
        return 1;
    while (!stopped || full < 3) {
        h = (h << 5 | h >> 27) * 31 + (h >> 7) % 11 + n;
        if (++n == 100000) {
            wrong += full > 0 && h != first;
            first = h;
            n = 0;
            h = 1;
            full++;
        }
    }
    printf("%08x %u\\n", first, wrong);
    return 0;
}
"""
"""The same with all work in one loop of main, which calls nothing."""


@dataclass
class Serving:
    """A cache with a server of its own, which ends with the test."""

    host: Path
    cache: Path
    idle_seconds: float = 20
    wrapper: tuple[str, ...] = ()
    """Words before the server's own, such as those of a shell that sets limits."""
    variables: dict[str, str] = field(default_factory=dict)

    def server_command(self) -> list[str]:
        return [*self.wrapper, sys.executable, "-I", str(START), "--idle", str(self.idle_seconds), "--jobs", "1"]

    def words(self) -> list[object]:
        """Return the host's options."""
        environment = {"PATH": os.environ["PATH"], "MIPSREC_CACHE": str(self.cache), **self.variables}
        words = [f"{name}={value}" for name, value in environment.items()] + self.server_command()
        return ["--cache", self.cache, "--compile-server", "\n".join(words)]

    def libraries(self) -> list[Path]:
        return sorted(self.cache.glob("code/*/*/*/*-hot.so"))

    def sockets(self) -> list[Path]:
        return sorted((self.cache / "server").glob("*.sock"))

    def await_library(self, count: int = 1) -> Path:
        """Return the last of so many libraries, once they are there."""
        end = time.monotonic() + DEADLINE_SECONDS
        while len(self.libraries()) < count:
            assert time.monotonic() < end, self.log()
            time.sleep(0.02)
        return self.libraries()[-1]

    def server(self) -> int | None:
        """Return the process that has the socket's lock, or None."""
        for path in (self.cache / "server").glob("*.lock"):
            status = path.stat()
            wanted = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
            for line in Path("/proc/locks").read_text().splitlines():
                if line.split()[5] == wanted and line.split()[1] == "FLOCK":
                    return int(line.split()[4])
        return None

    def await_server(self) -> int:
        end = time.monotonic() + DEADLINE_SECONDS
        while (found := self.server()) is None or not self.sockets():
            assert time.monotonic() < end, self.log()
            time.sleep(0.02)
        return found

    def log(self) -> str:
        return "".join(path.read_text() for path in (self.cache / "server").glob("*.log"))

    def end(self) -> None:
        """End the server, also one that begins just now."""
        quiet = time.monotonic() + 0.3
        while time.monotonic() < quiet:
            number = self.server()
            if number is not None:
                quiet = time.monotonic() + 0.3
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            time.sleep(0.02)


@contextmanager
def serving(host: Path, folder: Path, **settings: object) -> Iterator[Serving]:
    """Yield a cache with a server, both gone afterwards. The cache is in the folder if a socket's name fits there."""
    cache, elsewhere = folder / "cache", None
    if len(os.fsencode(cache)) + len("/server/0123456789abcdef.sock") > _SOCKET_NAME_BYTES:
        elsewhere = tempfile.TemporaryDirectory(dir="/tmp")
        cache = Path(elsewhere.name) / "cache"
    cache.mkdir(mode=0o700, exist_ok=True)
    found = Serving(host, cache, **settings)  # type: ignore[arg-type]
    try:
        yield found
    finally:
        found.end()
        if elsewhere is not None:
            elsewhere.cleanup()


@dataclass(frozen=True)
class Ended:
    """What a guest printed, and what --stats said."""

    output: str
    statistics: str

    @property
    def bound(self) -> int:
        """How many times the server's code was bound."""
        found = re.search(r"bound its code (\d+) times", self.statistics)
        assert found is not None, self.statistics
        return int(found[1])

    @property
    def recompiled_samples(self) -> int:
        found = re.search(r"(\d+) in recompiled code", self.statistics)
        assert found is not None, self.statistics
        return int(found[1])


def begin(command: list[object]) -> subprocess.Popen[str]:
    """Start a guest, and return when it has printed its first line."""
    words, pipe = [str(word) for word in command], subprocess.PIPE
    process = subprocess.Popen(words, stdout=pipe, stderr=pipe, stdin=subprocess.DEVNULL, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def _processor_time(pid: int) -> float:
    """Return the seconds that a process has computed, and its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
    return sum(map(int, fields)) / os.sysconf("SC_CLK_TCK")


def compute(process: subprocess.Popen[str], seconds: float) -> None:
    """Let a guest have so much more processor time, however busy the machine is."""
    enough, end = _processor_time(process.pid) + seconds, time.monotonic() + DEADLINE_SECONDS
    while _processor_time(process.pid) < enough:
        assert time.monotonic() < end, f"process {process.pid} did not compute for {seconds} s"
        time.sleep(0.02)


def await_code(process: subprocess.Popen[str], file: Path) -> None:
    """Let a guest go on until it has mapped recompiled code of a file."""
    wanted = f"{identity_of(file.read_bytes())}-hot.so"
    end = time.monotonic() + DEADLINE_SECONDS
    while wanted not in Path(f"/proc/{process.pid}/maps").read_text():
        assert time.monotonic() < end, f"process {process.pid} has no code of {file}"
        time.sleep(0.02)


def stop(process: subprocess.Popen[str]) -> Ended:
    """Have a guest come to its end; it must do so as it should."""
    process.send_signal(signal.SIGUSR1)
    output, statistics = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == 0, statistics
    return Ended(output, statistics)


def native_output(folder: Path, source: str) -> str:
    """Return what a native build prints, behind its first line."""
    folder.mkdir(exist_ok=True)
    (folder / "native.c").write_text(source)
    run_compiler([need("gcc"), "-O1", folder / "native.c", "-o", folder / "native"], folder / "native")
    return stop(begin([folder / "native"])).output
