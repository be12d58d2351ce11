"""execve and execveat: what is executed, what the new program is given, and what the host hands on unseen."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.runtime.twins import compile_guest, compile_native
from tests.support.compiled import ORDERS
from tests.support.compiled import compile_guest as compile_source
from tests.support.hosts import sanitized_host
from tests.support.powers import need_to
from tests.support.tools import need


def output(folder: Path, command: list[str | Path]) -> str:
    """Return what the program `execs` says in an empty folder, whose name is left out."""
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stderr) == (0, ""), result
    return result.stdout.replace(str(folder), "FOLDER")


def own_words(folder: Path, program: Path) -> list[str | Path]:
    """Put the program into the folder; return the command that runs it there."""
    shutil.copy(program, folder / "execs")
    return ["./execs", "execs", "execs"]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("native")
    program = compile_native(tmp_path_factory.mktemp("program"), "execs", "-static")
    return output(folder, own_words(folder, program))


@pytest.fixture(scope="module", params=list(ORDERS))
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_guest(tmp_path_factory.mktemp("guest"), request.param, "execs")


def test_answers_like_native(host: Path, tmp_path: Path, guest: Path, expected: str) -> None:
    assert output(tmp_path, [host, "--engine", "interp", *own_words(tmp_path, guest)]) == expected


def test_answers_like_native_in_a_sysroot(host: Path, tmp_path: Path, guest: Path, expected: str) -> None:
    """The folder is below the sysroot, and so the guest does not know where it is."""
    folder = tmp_path / "FOLDER"
    folder.mkdir()
    command = [host, "--engine", "interp", "-L", tmp_path, *own_words(folder, guest)]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert result.stdout.replace("/FOLDER", "FOLDER") == expected


@pytest.mark.parametrize("byte_order", ORDERS)
def test_under_sanitizers(tmp_path: Path, byte_order: str, expected: str) -> None:
    guest = compile_guest(tmp_path, byte_order, "execs")
    folder = tmp_path / "run"
    folder.mkdir()
    assert output(folder, [sanitized_host(), "--engine", "interp", *own_words(folder, guest)]) == expected


def run(command: list[str | Path], **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=600, **more)  # type: ignore[call-overload,no-any-return]


def test_the_environment_is_what_the_caller_gave(host: Path, guest: Path) -> None:
    result = run([host, guest, "show"], env={"B": "2"})
    assert (result.stdout, result.returncode) == (f"[{guest}] [show] {{B=2}} {guest}\n", 42)


def test_descriptors_of_the_host_cannot_be_taken(host: Path, guest: Path) -> None:
    """A guest that closes all it may, and uses every number, still executes programs, and those still others."""
    result = run([host, "--stats", guest, "run", guest, "a", "run", guest, "b", "show"], env={})
    assert (result.stdout, result.returncode) == (f"[b] [show] {guest}\n", 42), result
    assert result.stderr.count("system calls") == 1  # of the last one: the others did not end


OTHERS = """
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static int ends[2];
static int is_sent(int fd)
{
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof fd)];
    struct iovec piece = {"", 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd)};
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    return sendmsg(ends[0], &message, MSG_DONTWAIT) >= 0;
}
static int is_invalid(int fd)
{
    struct pollfd polled = {fd, POLLIN, 0};
    return poll(&polled, 1, 0) == 1 && polled.revents == POLLNVAL;
}
static int is_selected(int fd)
{
    static unsigned set[256];
    struct timeval none = {0, 0};
    memset(set, 0, sizeof set);
    set[fd / 32] |= 1u << fd % 32;
    return select(fd + 1, (fd_set *)set, NULL, NULL, &none) > 0;
}
static int says_more(long result) { return result >= 0 || errno != EBADF; }
/* Calls that say something else than EBADF of an open descriptor, whatever it is. */
static int takes(int fd)
{
    char byte;
    long long range[4] = {fd, 0, 0, 0};
    return says_more(read(fd, &byte, 0)) || says_more(sendfile(1, fd, NULL, 0)) || says_more(tee(fd, fd, 1, 0)) ||
           says_more(flock(fd, LOCK_SH | LOCK_NB)) || says_more(ioctl(1, _IOW(0x94, 9, int), fd)) ||
           says_more(ioctl(1, _IOW(0x94, 13, range), range)) ||
           says_more(syscall(4347, getpid(), getpid(), 0, fd, fd));
}
int main(void)
{
    struct stat status;
    struct rlimit limit;
    socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
    int self = syscall(4434, getpid(), 0);
    printf("%d%d%d\\n", is_sent(0), syscall(4438, self, 0, 0) > 0, dup(0) > 0);
    for (int fd = 9; fd < 4200; fd++)
        if (dup(fd) >= 0 || fcntl(fd, F_DUPFD, 0) >= 0 || fcntl(fd, F_SETFD, 0) == 0 || fstat(fd, &status) == 0 ||
            fstatat(fd, "", &status, 0x1000) == 0 || is_sent(fd) || syscall(4438, self, fd, 0) >= 0 ||
            lseek(fd, 0, SEEK_CUR) >= 0 || openat(fd, ".", O_RDONLY) >= 0 ||
            !is_invalid(fd) || takes(fd) || is_selected(fd))
            printf("has %d\\n", fd);
    getrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = 0; fd >= 0;) /* the host's make way, and come back */
        fd = dup(0);
    for (int fd = 9; fd < (int)limit.rlim_cur; fd++)
        close(fd);
    printf("%d\\n", openat(limit.rlim_cur - 1, ".", O_RDONLY) >= 0);
}
"""


@pytest.mark.parametrize("files", [16, 5000])
def test_descriptors_of_the_host_are_not_the_guests(host: Path, tmp_path: Path, files: int) -> None:
    """No call takes one of their numbers for one of the guest's, wherever they lie."""
    program = compile_source(tmp_path, "big", OTHERS, "-static", "-w")
    words = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", host, "--strace", "-L", tmp_path, "/guest"]
    result = run(words, stdin=subprocess.DEVNULL)
    assert (result.stdout, result.returncode) == ("111\n0\n", 0) and program.exists(), result.stdout


def test_options_are_handed_on(host: Path, tmp_path: Path, guest: Path) -> None:
    root = tmp_path / "root"
    (root / "only").mkdir(parents=True)
    shutil.copy(guest, root / "only/execs")
    (root / "only/script").write_text("#!/only/execs show\n")
    (root / "only/script").chmod(0o755)
    (root / "only/link").symlink_to("/only/script")
    options = ["--strace", "--stats", "--report", "--window", "any", "-L", root]
    result = run([host, *options, guest, "run", "/only/link", "a", "word"], env={"MIPSREC_SYSROOT": "/nowhere"})
    assert result.stdout == "[/only/execs] [show] [/only/link] [word] {MIPSREC_SYSROOT=/nowhere} /only/link\n"
    assert result.returncode == 42
    assert result.stderr.count("exit_group(42)") == 1 and result.stderr.count("system calls") == 1
    for option in ("--strace", "--stats", "--report", "--window any", f"--sysroot {root}", "--tier"):
        trace = tmp_path / "trace"
        words = [need("strace"), "-qq", "-s", "4000", "-v", "-o", trace, "-e", "trace=execveat", host]
        run([*words, *options, "--engine", "interp", guest, "run", "/only/link", "a"])
        handed = trace.read_text().replace('", "', " ")
        assert option in handed


def test_native_programs_go_to_the_kernel(host: Path, tmp_path: Path, guest: Path) -> None:
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    shutil.copy(guest, root / "bin/true")  # so that this is the guest's, while all else is the host's
    assert run([host, guest, "run", need("true"), "true"]).returncode == 0
    assert run([host, "-L", root, guest, "run", "/bin/true", "true", "show"]).stdout.startswith("[true] [show] ")
    result = run([host, "-L", root, guest, "run", need("env"), "env"], env={"ONLY": "this"})
    assert result.stdout == "ONLY=this\n"
    script = root / "bin/native"
    script.write_text(f"#!{need('cat')}\ntext\n")
    script.chmod(0o755)
    result = run([host, "-L", root, guest, "run", "/bin/native", "native"])
    assert result.stdout == script.read_text()


def test_scripts_on_the_command_line(host: Path, tmp_path: Path, guest: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"#! {guest} show\n")
    result = run([host, script, "word"], env={})
    assert (result.stdout, result.returncode) == (f"[{guest}] [show] [{script}] [word] {script}\n", 42)
    script.write_text(f"#!{tmp_path}/none\n")
    result = run([host, script])
    assert result.returncode == 1 and result.stderr.count("\n") == 1 and "No such file" in result.stderr


def test_a_program_that_only_its_descriptor_reaches(host: Path, tmp_path: Path, guest: Path) -> None:
    """The host needs neither the path of its own executable, nor that of the program, to execute it again."""
    need_to("become another user")  # whom a folder is closed to
    hidden = tmp_path / "hidden"
    hidden.mkdir(mode=0o700)
    copy, program = shutil.copy(host, hidden / "host"), shutil.copy(guest, hidden / "execs")
    result = run([copy, program, "drop", program, "a", "show"], env={})
    lines = result.stdout.splitlines()
    assert lines[1].endswith("= EACCES") and lines[2].startswith("[a] [show] /dev/fd/"), result
