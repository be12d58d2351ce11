"""When a program starts the compile server, and what it does for it: a program that ends at once does nothing.

A script stands for the server. It goes on when it has become modest, and says what it is.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.server.serving import ROUNDS, begin, serving, stop
from tests.server.starting import Script
from tests.support.commandline import command, environment, mipsrec
from tests.support.compiled import compile_guest
from tests.support.tools import need

SHORT = '#include <stdio.h>\nint main(void) { puts("short"); return 0; }\n'


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_guest(tmp_path_factory.mktemp("short"), "little", SHORT, "-static")


def test_ctrl_c_in_the_foreground(host: Path, tmp_path: Path) -> None:
    """It ends the server as it ends other commands; one more beside it does nothing, and says so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    with serving(host, tmp_path) as server:
        cache = str(server.cache)
        process = subprocess.Popen(command("compile-server"), env=environment(MIPSREC_CACHE=cache))
        server.await_server()
        second = mipsrec("compile-server", MIPSREC_CACHE=cache)
        process.send_signal(signal.SIGINT)
        assert (process.wait(), server.sockets()) == (130, [])
    signal.signal(signal.SIGINT, before)
    assert second.returncode == 0 and second.stdout.startswith("mipsrec: compile-server: another process is it already")


def test_a_program_that_ends_at_once_starts_none(script: Script, short: Path) -> None:
    """Nor does it make a process, or read its own file as a whole, which would tell what the file is."""
    trace = script.cache.with_name("trace")
    calls = "trace=clone,clone3,fork,vfork,execve,read,pread64"
    command = [need("strace"), "-f", "-qq", "-y", "-o", trace, "-e", calls, script.host, *script.words(), short]
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    lines = trace.read_text().splitlines()
    assert done.stdout == "short\n" and script.starts() == []
    assert [line for line in lines if re.search(r"\b(clone3?|v?fork)\(", line)] == []
    assert len([line for line in lines if "execve(" in line]) == 1
    read = [int(line.rpartition("= ")[2]) for line in lines if f"{short}>" in line]
    assert read != [] and sum(read) < 16384 < short.stat().st_size


def test_short_programs_start_one_together(script: Script, short: Path) -> None:
    """What each of them adds is noted; the one that has had enough with them starts it."""
    source = ROUNDS.replace("while (!stopped)", "for (int i = 0; i < 3; i++)")
    guest = compile_guest(script.cache.parent, "little", source, "-static")
    samples = 0
    while script.starts() == []:
        words = [script.host, "--stats", *script.words(), guest]
        done = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)
        found = re.search(r"(\d+) in translated or interpreted code", done.stderr)
        assert found is not None, done.stderr
        assert (samples := samples + int(found[1])) < 500
    assert samples >= 12
    assert script.fifo.read_text() != ""


def test_the_server_is_modest_and_has_nothing_of_the_program(script: Script, tmp_path: Path) -> None:
    guest = compile_guest(tmp_path, "little", ROUNDS, "-static")
    process = begin([script.host, *script.words(), guest])
    session, *rest = script.fifo.read_text().split()
    assert int(session) not in (os.getsid(0), os.getsid(process.pid), process.pid)
    descriptors, variables = [word for word in rest if word.isdigit()], [word for word in rest if not word.isdigit()]
    assert max(map(int, descriptors)) < 256, "the host's are far above; some of these are the shell's"
    assert sorted(variables) == sorted([f"PATH={os.environ['PATH']}", "HOME=/nowhere", f"MIPSREC_CACHE={script.cache}"])
    assert len(script.starts()) == 1
    assert stop(process).output.endswith(" 0\n")


def test_a_program_goes_on_beside_it(host: Path, tmp_path: Path) -> None:
    """It is none of the program's children: wait finds none."""
    source = ROUNDS.replace("#include <signal.h>", "#include <errno.h>\n#include <signal.h>\n#include <sys/wait.h>")
    source = source.replace("        wrong += round_of(1) != first;", "        wrong += round_of(1) != first || "
                            "waitpid(-1, 0, WNOHANG | __WALL) != -1 || errno != ECHILD;")  # fmt: skip
    guest = compile_guest(tmp_path, "little", source, "-static")
    with serving(host, tmp_path) as server:
        process = begin([host, *server.words(), guest])
        server.await_library()
        assert stop(process).output.endswith(" 0\n")
