"""System calls: guests that try them and print what comes back, compared with the same program on the machine itself.

What only o32 has is compared with qemu-user, and where that differs from the kernel, with answers written down here.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime.twins import compile_guest, natives_in_empty_folders, output_in_empty_folder
from tests.support.compiled import ORDERS, QEMU
from tests.support.hosts import sanitized_host
from tests.support.paths import RUNTIME
from tests.support.tools import need

pytestmark = pytest.mark.sampled

SAME_AS_NATIVE = ("files", "mappings", "ranges", "bounds", "clocks", "processes", "signals", "terminals", "events")

KERNEL_ANSWERS = """\
CALL(statfs64, "/proc", sizeof large - 1, &large) = EINVAL
CALL(_llseek, fd, 1, 5, &position, SEEK_SET) = 0
CALL(lseek, fd, 0, SEEK_CUR) = EOVERFLOW
CALL(ftruncate64, fd, 0, PAIR(0x100000000LL)) = 0
CALL(fstat, fd, &old) = EOVERFLOW
CALL(futex, &word, 5, 1, 1, &other, 1 << 28 | 4 << 24 | 7 << 12 | 9) = 0
17
CALL(prctl, 46) = 0
CALL(prctl, 45, 0) = 0
CALL(cacheflush, &word, 64, 99) = EINVAL
CALL(set_robust_list, BAD, 13) = EINVAL
CALL(set_robust_list, BAD, 12) = 0
CALL(rseq, BAD, 32, 0, 0) = ENOSYS
CALL(pipe2, BAD, 0) = EFAULT
CALL(pipe2, BAD, 0x40000000) = EINVAL
CALL(madvise, 0, 4096, 0) = ENOMEM
CALL(mmap2, 0x1000, 4096, 3, 0x812, -1, 0) = EPERM
CALL(mmap2, 0x7fff0000, 4096, 3, 0x812, -1, 0) = ENOMEM
"""


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """What a guest of this name prints when it is compiled for this machine."""
    return natives_in_empty_folders(tmp_path_factory)


@pytest.mark.parametrize("byte_order", ORDERS)
@pytest.mark.parametrize("name", SAME_AS_NATIVE)
def test_answers_like_native(
    host: Path, tmp_path: Path, native: Callable[[str], str], name: str, byte_order: str
) -> None:
    guest = compile_guest(tmp_path, byte_order, name)
    assert output_in_empty_folder(tmp_path / "run", [host, "--engine", "interp", guest]) == native(name)


@pytest.mark.parametrize("byte_order", ORDERS)
def test_old_calls_answer_like_qemu(host: Path, tmp_path: Path, byte_order: str) -> None:
    qemu = need(QEMU[byte_order], "qemu-user")
    guest = compile_guest(tmp_path, byte_order, "oldcalls")
    expected = output_in_empty_folder(tmp_path / "qemu", [qemu, guest])
    assert output_in_empty_folder(tmp_path / "run", [host, "--engine", "interp", guest]) == expected


@pytest.mark.parametrize("byte_order", ORDERS)
def test_old_calls_answer_like_the_kernel(host: Path, tmp_path: Path, byte_order: str) -> None:
    guest = compile_guest(tmp_path, byte_order, "oldcalls")
    output = output_in_empty_folder(tmp_path / "run", [host, "--engine", "interp", guest, "exact"])
    assert output == KERNEL_ANSWERS + "status 0\n"


@pytest.mark.parametrize("name", SAME_AS_NATIVE)
def test_under_sanitizers(
    tmp_path: Path, native: Callable[[str], str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASAN_OPTIONS", "handle_sigfpe=0")  # or a host that begins with it ignored does not see that
    guest = compile_guest(tmp_path, "big", name)
    command = [sanitized_host(), "--engine", "interp", guest]
    assert output_in_empty_folder(tmp_path / "run", command) == native(name)


def test_strace_shows_calls_with_their_arguments(host: Path, tmp_path: Path) -> None:
    guest = compile_guest(tmp_path, "big", "files")
    folder = tmp_path / "run"
    folder.mkdir()
    command = [host, "--engine", "interp", "--strace", guest]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    lines = result.stderr.splitlines()
    assert 'openat(AT_FDCWD, "a", O_RDWR|O_CREAT|O_EXCL|O_LARGEFILE, 0640) = -1 EEXIST (File exists)' in [
        line.replace("|O_LARGEFILE", "").replace("O_EXCL,", "O_EXCL|O_LARGEFILE,") for line in lines
    ]
    assert r'write(3, "hello world\n", 12) = 12' in lines
    assert "ftruncate64(3, 4294967301) = 0" in lines
    assert lines[-1].startswith("exit_group(0)")


def test_unknown_calls_are_counted_and_named_once(host: Path, tmp_path: Path) -> None:
    guest = compile_guest(tmp_path, "little", "oldcalls")
    command = [host, "--engine", "interp", "--stats", guest]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.stderr.count("system call 4999 is not there") == 1


def test_own_program_through_proc(host: Path, tmp_path: Path) -> None:
    guest = compile_guest(tmp_path, "little", "processes")
    link = tmp_path / "link"
    os.symlink(guest, link)
    command = [host, "--engine", "interp", link, "run"]
    result = subprocess.run(command, env={"A": "1"}, capture_output=True, text=True)
    assert (result.stdout, result.returncode) == ("[path] [run] {A=1} 1\n", 42)


def test_numbers_are_those_of_the_kernel_headers() -> None:
    header = Path(need("/usr/mips-linux-gnu/include/asm/unistd_o32.h", "linux-libc-dev-mips-cross")).read_text()
    pairs = re.findall(r"#define __NR_(\w+)\s+\(\S+ \+ (\d+)\)", header)
    expected = {name: 4000 + int(number) for name, number in pairs}
    rows = [
        (name, int(number))
        for source in sorted((RUNTIME).rglob("*.c"))
        for number, name in re.findall(r"^SYSCALL\((\d+), (\w+),", source.read_text(), re.MULTILINE)
    ]
    assert len(rows) > 200 and len({number for _, number in rows}) == len(rows)
    newest = max(expected.values())
    assert [row for row in rows if row[1] <= newest and expected.get(row[0]) != row[1]] == []
