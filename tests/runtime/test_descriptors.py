"""Descriptors, ioctl and calls of administrators: guests that try them and print the same as their native builds.

Enters: descriptors.c, ioctls.c and admin.c of tests/guests. What needs rights or devices is compared all the same:
without them both sides fail alike.
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.runtime.twins import compile_guest as compile_file
from tests.runtime.twins import compile_native, natives_in_empty_folders, output_in_empty_folder
from tests.support.compiled import ORDERS, compile_guest
from tests.support.hosts import sanitized_host
from tests.support.locks import alone_with
from tests.support.tools import missing

pytestmark = pytest.mark.sampled

NAMES = ("descriptors", "ioctls", "admin")


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """One test at a time takes loop devices, consoles and keyrings."""
    with alone_with("devices"):
        yield


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """What a guest of this name prints when it is compiled for this machine."""
    return natives_in_empty_folders(tmp_path_factory)


@pytest.mark.parametrize("byte_order", ORDERS)
@pytest.mark.parametrize("name", NAMES)
def test_answers_like_native(
    host: Path, tmp_path: Path, native: Callable[[str], str], name: str, byte_order: str
) -> None:
    guest = compile_file(tmp_path, byte_order, name)
    assert output_in_empty_folder(tmp_path / "run", [host, "--engine", "interp", guest]) == native(name)


@pytest.mark.parametrize("byte_order", ORDERS)
@pytest.mark.parametrize("name", NAMES)
def test_under_sanitizers(tmp_path: Path, native: Callable[[str], str], name: str, byte_order: str) -> None:
    guest = compile_file(tmp_path, byte_order, name)
    command = [sanitized_host(), "--engine", "interp", guest]
    assert output_in_empty_folder(tmp_path / "run", command) == native(name)


# ---- every number that there may be ----


@pytest.mark.parametrize("byte_order", ORDERS)
@pytest.mark.parametrize(("limit", "hard"), [(5, False), (12, False), (5000, False), (5, True), (7, True), (12, True)])
def test_all_taken(host: Path, tmp_path: Path, byte_order: str, limit: int, hard: bool) -> None:
    """The host's descriptors lie above the limit, or make way where it is the hard one and may not be raised."""
    inside = tmp_path / "root" / tmp_path.relative_to("/") / "inside"
    inside.mkdir(parents=True)
    (inside / "file").touch()
    guest, native = compile_file(tmp_path, byte_order, "full"), compile_native(inside, "full", "-static")
    most = limit if hard else resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    words = ["executes"] if not hard or may_raise_limits() else []

    def output(*command: str | Path) -> str:
        done = subprocess.run(
            ["sh", "-c", f'ulimit -Hn {most}; ulimit -Sn {limit}; exec "$@"', "sh", *command, *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        return f"{done.stdout}{done.stderr}status {done.returncode}\n"

    below = tmp_path / "inside" / "file"
    expected = output(native, inside / "file")
    assert "executed: 5" in expected and output(host, "-L", tmp_path / "root", guest, below) == expected


def may_raise_limits() -> bool:
    """Whether this process has CAP_SYS_RESOURCE."""
    effective = re.search(r"CapEff:\s*(\w+)", Path("/proc/self/status").read_text())
    return effective is not None and bool(int(effective[1], 16) >> 24 & 1)


# ---- what only o32 has ----

OLD_DIRECTORIES = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <unistd.h>
struct entry { unsigned long inode, next; unsigned short size; char name[]; };
struct old { unsigned long inode, at; unsigned short length; char name[256]; };
static int list(int fd, const char *last, unsigned long *at)
{
    char buffer[200];
    int count = 0, size;
    while ((size = syscall(SYS_getdents, fd, buffer, sizeof buffer)) > 0)
        for (int i = 0; i < size; i += ((struct entry *)(buffer + i))->size, count++)
            if (strcmp(((struct entry *)(buffer + i))->name, last) == 0)
                *at = ((struct entry *)(buffer + i))->next;
    return size < 0 ? size : count;
}
int main(void)
{
    unsigned long at = 0;
    char name[16], buffer[24];
    struct old old;
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "name %d", i);
        close(open(name, O_CREAT | O_WRONLY, 0600));
    }
    int fd = open(".", O_RDONLY), rest, seen = 0;
    printf("%d\\n", list(fd, "name 50", &at));
    printf("%d\\n", lseek(fd, at, SEEK_SET) == at);
    rest = list(fd, "name 50", &at);
    lseek(fd, 0, SEEK_SET);
    printf("%d %d\\n", rest < 102, list(dup(fd), "none", &at));
    lseek(fd, 0, SEEK_SET);
    while (syscall(SYS_readdir, fd, &old, 1) == 1)
        seen += old.length == strlen(old.name) && old.inode;
    printf("%d\\n", seen);
    lseek(fd, 0, SEEK_SET);
    printf("%d %d\\n", syscall(SYS_getdents, fd, buffer, 11) < 0, syscall(SYS_getdents, fd, buffer, 24) > 0);
    printf("%d\\n", syscall(SYS_readdir, 1, &old, 1) < 0);
}
"""


@pytest.mark.parametrize("byte_order", ORDERS)
def test_old_programs_list_directories(host: Path, tmp_path: Path, byte_order: str) -> None:
    guest = compile_guest(tmp_path, byte_order, OLD_DIRECTORIES, "-static", "-D_GNU_SOURCE")
    output = output_in_empty_folder(tmp_path / "run", [host, "--engine", "interp", guest])
    assert output == "102\n1\n1 102\n102\n1 1\n1\nstatus 0\n"


KEPT_SIGNALS = """
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) /* signal 100, which the host has none of, blocked and sent to oneself */
{
    uint32_t set[4] = {0}, info[32];
    set[99 / 32] = 1u << 99 % 32;
    syscall(SYS_rt_sigprocmask, 1, set, 0, 16);
    int fd = syscall(SYS_signalfd4, -1, set, 16, 0x80 | 0x80000), copy = dup(fd); /* SFD_NONBLOCK, SFD_CLOEXEC */
    close(fd);
    printf("%d\\n", (int)read(copy, info, sizeof info));
    syscall(SYS_tgkill, getpid(), getpid(), 100);
    memset(info, 255, sizeof info);
    printf("%d %u %d\\n", (int)read(copy, info, sizeof info), info[0], (int)info[2]);
    printf("%d\\n", (int)read(copy, info, sizeof info));
    printf("%d %d\\n", syscall(SYS_signalfd4, -1, set, 8, 0) < 0, syscall(SYS_signalfd4, -1, set, 16, 0x100) < 0);
    printf("%x\\n", (unsigned)syscall(SYS_sgetmask));
    syscall(SYS_ssetmask, 5);
    printf("%x\\n", (unsigned)syscall(SYS_ssetmask, 0));
}
"""


@pytest.mark.parametrize("byte_order", ORDERS)
def test_signals_that_only_the_guest_has_are_read(host: Path, tmp_path: Path, byte_order: str) -> None:
    guest = compile_guest(tmp_path, byte_order, KEPT_SIGNALS, "-static", "-D_GNU_SOURCE")
    result = subprocess.run([host, "--engine", "interp", guest], capture_output=True, text=True, timeout=600)
    assert result.stdout == "-1\n128 100 -6\n-1\n1 1\n0\n5\n"


OF_ANOTHER_PROGRAM = """
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>
int main(int count, char **words)
{
    uint64_t number = 0;
    struct inotify_event event = {0};
    if (count > 1) {
        int got = read(7, &number, 8);
        printf("%d %llx\\n", got, (unsigned long long)number);
        got = read(8, &event, sizeof event);
        printf("%d %x\\n", got, event.mask);
        return 0;
    }
    dup2(eventfd(0x1234, 0), 7);
    int fd = inotify_init();
    inotify_rm_watch(fd, inotify_add_watch(fd, ".", IN_CREATE));
    dup2(fd, 8);
    execl(words[0], words[0], "again", NULL);
}
"""


@pytest.mark.parametrize("byte_order", ORDERS)
def test_inherited_descriptors_are_known(host: Path, tmp_path: Path, byte_order: str) -> None:
    guest = compile_guest(tmp_path, byte_order, OF_ANOTHER_PROGRAM, "-static")
    result = subprocess.run([host, "--engine", "interp", guest], capture_output=True, text=True, timeout=600)
    assert result.stdout == "8 1234\n16 8000\n"


# ---- cost ----

MANY_READS = """
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
    char text[8];
    int fd = open("/proc/self/exe", O_RDONLY), to = open("/dev/null", O_WRONLY), ends[2];
    pipe(ends);
    for (int i = 0; i < 1000; i++) {
        read(fd, text, 8);
        write(to, text, 8);
        write(ends[1], text, 8);
        read(ends[0], text, 8);
    }
}
"""


@pytest.mark.parametrize("byte_order", ORDERS)
def test_plain_reads_are_one_call_of_the_host(host: Path, tmp_path: Path, byte_order: str) -> None:
    if not shutil.which("strace"):
        missing("strace", "strace")
    guest = compile_guest(tmp_path, byte_order, MANY_READS, "-static")
    trace = tmp_path / "trace"
    subprocess.run(["strace", "-f", "-o", trace, host, "--engine", "interp", guest], check=True, timeout=600)
    lines = re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.MULTILINE)
    assert 2000 <= lines.count("read") < 2050 and 2000 <= lines.count("write") < 2050
    assert lines.count("readlink") < 20 and sum("stat" in line for line in lines) < 30


CLOSES_ALL = """
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
    volatile int error = 0;
    if (vfork() == 0) {
        syscall(SYS_close_range, 3, ~0u, 0);
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
        dup2(1, 999);
        execl("/nowhere", "nowhere", NULL);
        error = errno;
        _exit(1);
    }
    syscall(SYS_close_range, 3, ~0u, 0);
    printf("%s\\n", strerrorname_np(error));
}
"""


@pytest.mark.parametrize("byte_order", ORDERS)
def test_descriptors_of_the_host_stay_open(host: Path, tmp_path: Path, byte_order: str) -> None:
    """What a vfork child writes reaches its parent, and --strace goes on, whatever the guest closes."""
    guest = compile_guest(tmp_path, byte_order, CLOSES_ALL, "-static", "-D_GNU_SOURCE")
    command = [host, "--engine", "interp", "--strace", guest]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert result.stdout == "ENOENT\n"
    assert result.stderr.splitlines()[-1].startswith("exit_group(0)")
