"""Files that a user names and that no command can read to its end: one line at once, and nothing waits for a writer."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mipsrec.dynamic_linker import configured_folders
from mipsrec.elf import load_elf
from mipsrec.errors import ElfError
from mipsrec.files import input_file
from mipsrec.sysroot import Sysroot
from tests.support.commandline import assert_one_line, mipsrec_here
from tests.support.compiled import compile_guest
from tests.support.hosts import plain_host
from tests.support.obstacles import put
from tests.support.paths import PREBUILT
from tests.support.tiny_elf import CODE, PT_INTERP, PT_LOAD, TinyElf

HELLO = PREBUILT / "mips" / "hello.elf"
MOST_SECONDS = 300
"""For all cases; only what waits forever takes that long."""


@pytest.fixture(autouse=True)
def _ends() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise AssertionError("it waits for another end of a pipe")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(MOST_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _kinds(folder: Path) -> dict[Path, str]:
    """Return what is no file to read, with what is said of it."""
    put("fifo", folder / "pipe")
    put("huge", folder / "huge")
    (folder / "pipe").chmod(0o777)
    return {folder / "pipe": "a pipe: write", Path("/dev/null"): "a device: write", folder / "huge": "larger than"}


def test_programs_and_texts(tmp_path: Path) -> None:
    for path, said in _kinds(tmp_path).items():
        for before, after in (
            ("info", ()), ("build", ()), ("disasm", ()), ("dump-llvm", ()), ("dump-plan", ()), ("verify", ()),
            ("cfg", ("main",)), ("call", ("main",)), ("run --no-server", ()), ("run --build", ()),
            ("profile --from", ()), ("bench --without qemu", ("/bin/true",)),
            ("bench --compare", ()), ("bench --page", ()), ("run --use-profile", (HELLO,)),
            ("build --use-profile", (HELLO, "-o", tmp_path / "lib.so")), ("build --with", (HELLO,)),
        ):  # fmt: skip
            assert_one_line(mipsrec_here(*before.split(), path, *after), str(path), said)


def test_a_native_build_that_is_none(tmp_path: Path) -> None:
    """As execve says of what is no regular file."""
    for path in (*_kinds(tmp_path), tmp_path):
        if path.name != "huge":
            assert_one_line(mipsrec_here("bench", HELLO, path), str(path), "Permission denied")


def test_a_host_to_register_that_is_none() -> None:
    """The kernel would execute no pipe and no device."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.mkfifo(Path(folder, "pipe"), 0o700)
        assert_one_line(mipsrec_here("binfmt", "--host", Path(folder, "pipe")), "pipe", "cannot be executed")


def test_dumps(tmp_path: Path) -> None:
    made, output = tmp_path / "made", tmp_path / "lib.so"
    assert mipsrec_here("dump-llvm", HELLO, "-o", made).returncode == 0
    for name in ("index.json", next(made.glob("*.ll")).name):
        content = (made / name).read_bytes()
        for kind, said in (("fifo", "a pipe: write"), ("huge", "larger than")):
            put(kind, made / name)
            assert_one_line(mipsrec_here("build", made, "-o", output), name, said)
            (made / name).unlink()
        (tmp_path / "outside").write_bytes(content)
        (made / name).symlink_to(tmp_path / "outside")
        assert_one_line(mipsrec_here("build", made, "-o", output), name, "is a link")
        (made / name).unlink()
        (made / name).write_bytes(content)
    put("nested", made / "index.json")
    assert_one_line(mipsrec_here("build", made, "-o", output), "index.json", "damaged")


def test_a_page_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "page").write_bytes(b"\xff\xfe")
    assert_one_line(mipsrec_here("bench", "--page", tmp_path / "page"), "page", "UTF-8")


def test_a_sysroot(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    os.mkfifo(tmp_path / "etc/ld.so.conf")
    assert configured_folders(Sysroot(tmp_path)) == []


def test_paths_that_are_none(tmp_path: Path) -> None:
    """In a profile; in a program, for its sysroot."""
    for name in ("a" * 300, "/" + "a" * 300, "a\0b", "/" + "a/" * 4000, "/" + "./" * 2048 + "profile"):
        assert Sysroot(tmp_path).host_path(name) is None
        identity = "0f" * 32
        (tmp_path / "profile").write_text(f"mipsrec profile 2 {identity}\nfile {identity} {name}\n00400100 3 lifted\n")
        assert_one_line(mipsrec_here("profile", "--from", tmp_path / "profile"), "is gone or has changed since")


def test_the_host(tmp_path: Path) -> None:
    """The program, and its interpreter."""
    os.mkfifo(tmp_path / "pipe")
    name = bytes(tmp_path / "pipe") + b"\0"
    code = struct.pack(">2I", 0x03E00008, 0)
    segments = [(PT_INTERP, 0, name, len(name), 4), (PT_LOAD, CODE + 0x200, code, len(code), 5)]
    (tmp_path / "prog").write_bytes(TinyElf(segments=segments).build())
    for program, said in (("pipe", "write what comes from it"), ("prog", "write what comes"), (".", "is a directory")):
        words = [plain_host(), tmp_path / program]
        result = subprocess.run(words, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1), result
        assert said in result.stderr


# ---- files that change ----


def _change_after(monkeypatch: pytest.MonkeyPatch, call: str, change: Callable[[], object]) -> None:
    """Have a file changed just after a command has looked at it."""
    before = getattr(os, call)

    def looked(*arguments: Any, **named: Any) -> os.stat_result:
        status: os.stat_result = before(*arguments, **named)
        monkeypatch.undo()
        change()
        return status

    monkeypatch.setattr(os, call, looked)


def test_files_that_change(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    _change_after(monkeypatch, "fstat", lambda: path.write_bytes(b"1234567"))
    assert input_file.read_input(path, 7) == b"1234567"
    _change_after(monkeypatch, "fstat", lambda: path.write_bytes(bytes(20)))
    with pytest.raises(input_file.TooLarge):
        input_file.read_input(path, 7)
    path.write_bytes(HELLO.read_bytes())
    _change_after(monkeypatch, "fstat", lambda: os.truncate(path, 100))
    with pytest.raises(ElfError, match="beyond the end"):
        load_elf(path)
    _change_after(monkeypatch, "stat", lambda: (path.unlink(), os.mkfifo(path)))
    with pytest.raises(ElfError, match="a pipe: write"):
        load_elf(path)


STEALS = """
import os, sys
master, slave = os.openpty()
os.symlink(os.ttyname(slave), sys.argv[1])
child = os.fork()
if child == 0:
    os.setsid()
    os.close(master)
    os.close(slave)
    with open(os.devnull, "r+b") as null:
        for number in (0, 1, 2):
            os.dup2(null.fileno(), number)
    os.execv(sys.argv[2], sys.argv[2:])
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""
WAITS = """
#include <fcntl.h>
#include <unistd.h>
int main(int count, char **words)
{
    if (count > 1)
        execl(words[1], words[1], (char *)0);
    return open("/dev/tty", O_RDWR) < 0 ? 7 : 8;
}
"""


def test_a_terminal_does_not_become_the_users_own(tmp_path: Path) -> None:
    """In the place of a program, or of what a program executes: the process at its other end could send signals."""
    guest, link = compile_guest(tmp_path, "big", WAITS, "-static"), tmp_path / "link"

    for words, status in (([guest, link], "7"), ([link], "1"), ([guest], "7")):
        link.unlink(missing_ok=True)
        command = [sys.executable, "-c", STEALS, link, plain_host(), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert (done.stdout, done.stderr) == (f"{status}\n", "")
