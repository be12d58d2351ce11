"""Hot code becomes native by itself: during a run, for later runs, and for other processes that run meanwhile.

What guests print is what a native build of the same source prints.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mipsrec.commands import warm
from mipsrec.errors import BuildError
from mipsrec.host_build import host_executable
from mipsrec.server import protocol
from tests.server.serving import (
    DEADLINE_SECONDS,
    ONE_LOOP,
    ROUNDS,
    Ended,
    Serving,
    await_code,
    begin,
    compute,
    native_output,
    serving,
    stop,
)
from tests.support.commandline import mipsrec
from tests.support.compiled import ORDERS, compile_guest
from tests.support.dynamic import compile_to, cross_libraries, library
from tests.support.paths import PREBUILT
from tests.support.sampling import sampled
from tests.support.tools import need


@pytest.fixture
def server(host: Path, tmp_path: Path) -> Iterator[Serving]:
    with serving(host, tmp_path) as found:
        yield found


def static_guest(folder: Path, byte_order: str, source: str) -> Path:
    folder.mkdir(exist_ok=True)
    return compile_guest(folder, byte_order, source, "-static")


def run_until_native(server: Serving, guest: Path, seconds: float = 0.3, work: Path | None = None) -> Ended:
    """Run a guest until it has recompiled code of itself, or of a library, and some more."""
    process = begin([server.host, "--stats", *server.words(), guest])
    await_code(process, work or guest)
    compute(process, seconds)
    return stop(process)


@pytest.mark.parametrize("byte_order", ORDERS)
def test_functions_become_native(server: Serving, tmp_path: Path, byte_order: str) -> None:
    guest = static_guest(tmp_path / "guest", byte_order, ROUNDS)
    ended = run_until_native(server, guest)
    assert ended.output == native_output(tmp_path / "native", ROUNDS)
    assert ended.bound >= 1 and ended.recompiled_samples > 0, ended.statistics


@pytest.mark.parametrize("byte_order", ORDERS)
def test_loops_are_entered_in_the_middle(server: Serving, tmp_path: Path, byte_order: str) -> None:
    """main is called once, and never leaves its loop."""
    guest = static_guest(tmp_path / "guest", byte_order, ONE_LOOP)
    ended = run_until_native(server, guest, 0.6)
    assert ended.output == native_output(tmp_path / "native", ONE_LOOP)
    assert ended.recompiled_samples > 0, ended.statistics


def test_later_runs_find_it(server: Serving, tmp_path: Path) -> None:
    guest = static_guest(tmp_path / "guest", "little", ROUNDS)
    run_until_native(server, guest)
    server.end()
    process = begin([server.host, "--stats", "--cache", server.cache, guest])
    compute(process, 0.1)
    ended = stop(process)
    assert f"recompiled {guest}" in ended.statistics
    assert ended.output == native_output(tmp_path / "native", ROUNDS)


@pytest.mark.parametrize("byte_order", ORDERS)
def test_libraries_of_dynamic_programs(server: Serving, tmp_path: Path, byte_order: str) -> None:
    """Relocatable code, which is bound where the library has been mapped before."""
    before, _, after = ROUNDS.partition("int main")
    root = tmp_path / "root"
    root.mkdir()
    for name in ("ld.so.1", "libc.so.6"):
        shutil.copy(cross_libraries(byte_order) / name, root / name)
    work = library(root / "libwork.so", byte_order, source=before.replace("static unsigned char", "unsigned char"))
    declared = "#include <signal.h>\n#include <stdio.h>\n#include <unistd.h>\nstatic volatile int stopped;\n"
    declared += "static void stop(int number) { stopped = number; }\nextern unsigned char text[64];\n"
    declared += "unsigned round_of(int);\nint main"
    guest = compile_to(
        root / "rounds", byte_order, declared + after, work, f"-Wl,-rpath,{root}",
        f"-Wl,--dynamic-linker={root}/ld.so.1",
    )  # fmt: skip
    ended = run_until_native(server, guest, work=work)
    assert ended.output == native_output(tmp_path / "native", ROUNDS)
    assert f"recompiled {work}" in ended.statistics, ended.statistics


def test_two_processes_have_one_server(server: Serving, tmp_path: Path) -> None:
    """What one of them has made hot, the other one gets."""
    guest = static_guest(tmp_path / "guest", "little", ROUNDS)
    processes = [begin([server.host, "--stats", *server.words(), guest]) for _ in range(2)]
    for process in processes:
        await_code(process, guest)
    expected = native_output(tmp_path / "native", ROUNDS)
    for ended in map(stop, processes):
        assert ended.output == expected and ended.bound >= 1, ended.statistics
    assert len(server.libraries()) == 1


THREADS = ROUNDS.replace("#include <signal.h>", "#include <pthread.h>\n#include <signal.h>").replace(
    "int main(void)",
    "static void *work(void *first) { unsigned long wrong = 0; while (!stopped) "
    "wrong += round_of(1) != *(unsigned *)first; return (void *)wrong; }\nint main(void)",
).replace(
    "    while (!stopped)\n        wrong += round_of(1) != first;",
    "    pthread_t threads[3];\n    for (int i = 0; i < 3; i++)\n"
    "        pthread_create(&threads[i], 0, work, &first);\n"
    "    for (int i = 0; i < 3; i++) {\n        void *more;\n        pthread_join(threads[i], &more);\n"
    "        wrong += (unsigned long)more;\n    }",
)  # fmt: skip

CHILDREN = ROUNDS.replace("#include <signal.h>", "#include <signal.h>\n#include <sys/wait.h>").replace(
    "        wrong += round_of(1) != first;",
    "    {\n        int status = 1;\n        if (fork() == 0) {\n            for (volatile int i = 0; i < 20; i++)\n"
    "                wrong += round_of(1) != first;\n            _exit(wrong != 0);\n        }\n"
    "        if (wait(&status) < 0 || status)\n            wrong++;\n    }",
)  # fmt: skip


@pytest.mark.parametrize("source", [THREADS, CHILDREN], ids=["threads", "children"])
def test_threads_and_children(server: Serving, tmp_path: Path, source: str) -> None:
    """A thread that did not ask gets the code as well; a child is told of nobody's end but its own children's."""
    guest = static_guest(tmp_path / "guest", "little", source)
    process = begin([server.host, *server.words(), guest])
    server.await_library()
    compute(process, 0.5)
    assert stop(process).output == native_output(tmp_path / "native", ROUNDS)


def test_short_processes_add_up(server: Serving, tmp_path: Path) -> None:
    """Each of them ends before it has many samples."""
    source = ROUNDS.replace("while (!stopped)", "for (int i = 0; i < 12; i++)")
    guest = static_guest(tmp_path / "guest", "little", source)
    end = time.monotonic() + DEADLINE_SECONDS
    while not server.libraries():
        assert time.monotonic() < end, server.log()
        subprocess.run([server.host, *map(str, server.words()), guest], check=True, capture_output=True)


def test_executed_programs_have_it_too(server: Serving, tmp_path: Path) -> None:
    guest = static_guest(tmp_path / "guest", "little", ROUNDS)
    source = '#include <unistd.h>\nint main(int n, char **w) { execv(w[1], w + 1); return 1; }'
    (tmp_path / "first").mkdir()
    first = compile_guest(tmp_path / "first", "little", source, "-static")
    process = begin([server.host, "--stats", *server.words(), first, guest])
    await_code(process, guest)
    assert stop(process).bound >= 1


TIMERS = r"""
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile int number = -1, value = -1;
static void take(int signal, siginfo_t *info, void *context)
{
    int id;
    memcpy(&id, (char *)info + 12 + (sizeof(void *) == 8 ? 4 : 0), sizeof id);
    number = id;
    value = info->si_value.sival_int;
}
static int make(void)
{
    int id = -1;
    return syscall(SYS_timer_create, CLOCK_MONOTONIC, 0, &id) ? -1 : id;
}
int main(void)
{
    struct sigaction action = {.sa_sigaction = take, .sa_flags = SA_SIGINFO};
    struct timespec now = {0, 1000000}, never = {0, 0};
    struct { struct timespec interval, value; } times = {never, now};
    sigaction(SIGALRM, &action, 0);
    int first = make(), second = make();
    printf("%d %d %ld ", first, second, syscall(SYS_timer_delete, first));
    printf("%ld %d ", syscall(SYS_timer_delete, first), make());
    fflush(stdout);
    if (fork() == 0) {
        printf("%d %ld\n", make(), syscall(SYS_timer_delete, second));
        fflush(stdout);
        _exit(0);
    }
    wait(0);
    syscall(SYS_timer_settime, second, 0, &times, 0);
    while (number < 0)
        ;
    printf("%d %d\n", number, value);
    return 0;
}
"""


@pytest.mark.parametrize("byte_order", ORDERS)
def test_timers_have_the_guests_numbers(server: Serving, tmp_path: Path, byte_order: str) -> None:
    """The host's own timers have none of them."""
    (tmp_path / "native.c").write_text(TIMERS)
    subprocess.run([need("gcc"), "-O1", tmp_path / "native.c", "-o", tmp_path / "native"], check=True)
    guest = static_guest(tmp_path / "guest", byte_order, TIMERS)
    commands = [[tmp_path / "native"], [server.host, *server.words(), guest]]
    native, ours = (subprocess.run(command, check=True, capture_output=True, text=True) for command in commands)
    assert ours.stdout == native.stdout == "0 1 0 -1 2 0 -1\n1 1\n"


def test_the_server_ends_when_nobody_asks(host: Path, tmp_path: Path) -> None:
    with serving(host, tmp_path, idle_seconds=1) as server:
        run_until_native(server, static_guest(tmp_path / "guest", "little", ROUNDS))
        end = time.monotonic() + DEADLINE_SECONDS
        while server.server() is not None:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert server.sockets() == []


@pytest.mark.parametrize("name", sampled(["callbacks", "floats", "virtual", "recursion"]))
def test_warm(name: str, host: Path, tmp_path: Path) -> None:
    """`mipsrec cache warm` runs a program, and says what it has recompiled; then nothing but that runs."""
    need("gcc")
    host_executable()  # however long that takes
    words = {"callbacks": ["300"], "floats": ["9000"], "virtual": ["2000000"], "recursion": ["33"]}[name]
    guest = PREBUILT / "mips" / f"{name}.elf"
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    os.symlink(Path(os.environ["MIPSREC_CACHE"]) / "host", cache / "host")
    changes = {"MIPSREC_CACHE": str(cache), "MIPSREC_SERVER_IDLE": "60"}
    plain = mipsrec("run", "--tier", "baseline", guest, *words)
    result = mipsrec("cache", "warm", guest, *words, **changes)
    assert result.returncode == 0 and result.stdout.startswith(plain.stdout), result
    said = result.stdout.removeprefix(plain.stdout)
    assert said.startswith(f"{guest}: ") and "functions recompiled" in said
    spent = re.search(r"^the compile server took ([0-9.]+) s of processor time$", said, re.MULTILINE)
    assert spent is not None and float(spent[1]) > 0, said
    again = mipsrec("run", "--stats", "--server", guest, *words, **changes)
    assert again.stdout == plain.stdout and f"recompiled {guest}" in again.stderr
    listed = mipsrec("cache", "list", **changes).stdout
    assert str(guest) in listed and "s of processor time, which the compile server took" in listed
    assert mipsrec("cache", "verify", **changes).returncode == 0
    serving_cache = Serving(host, cache)
    serving_cache.end()


def test_warm_without_a_server_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that nobody asked for long has ended, and has done all; one that was killed leaves its socket."""
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path))
    warm._finish()
    protocol.socket_path().parent.mkdir(mode=0o700)
    protocol.socket_path().touch()
    with pytest.raises(BuildError, match="has ended meanwhile"):
        warm._finish()


@pytest.mark.parametrize(
    ("words", "value", "served"),
    [
        ([], "", True), ([], "0", False), ([], "1", True), (["--server"], "0", True), (["--no-server"], "1", False),
        (["--server", "--tier", "aot"], "", False), (["--opt", "0"], "", False), (["--server", "--opt", "0"], "", True),
    ],
)  # fmt: skip
def test_run_has_a_server_unless_told_otherwise(
    words: list[str], value: str, served: bool, host: Path, tmp_path: Path
) -> None:
    """Then a static program starts before it is recompiled."""
    guest = PREBUILT / "mipsel" / "hello.elf"
    host_executable()
    with serving(host, tmp_path) as server:
        os.symlink(Path(os.environ["MIPSREC_CACHE"]) / "host", server.cache / "host")
        changes = {"MIPSREC_CACHE": str(server.cache), "MIPSREC_SERVER_IDLE": "1", "MIPSREC_SERVER": value}
        result = mipsrec("run", "--stats", *words, guest, **changes)
        assert (result.returncode, result.stdout) == (0, "Hello from MIPS.\n")
        assert ("asked the compile server" in result.stderr) == served
        assert bool(list(server.cache.glob("code/*/*/*/*.so"))) != served


