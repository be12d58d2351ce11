"""Guests in a root of another user, who has made a /proc there: the host takes nothing of it for the kernel's."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.others import give, open_to_others
from tests.runtime.twins import compile_guest
from tests.support.compiled import compile_guest as compile_source
from tests.support.powers import need_to
from tests.support.tools import need

SAYS = '#include <stdio.h>\nint main(void) { puts("%s"); return 0; }\n'
PR_CAPBSET_DROP, CAP_SYS_RESOURCE = 24, 24
WRITES_EVIL = bytes.fromhex("488d3512000000 6a01 5f 6a05 5a 6a01 58 0f05 31ff 6a3c 58 0f05") + b"evil\n"
"""write(1, what follows the last system call, 5); exit(0); for x86-64."""
STARTER = """
import os, sys
host, program, helper = (os.open(path, os.O_RDONLY) for path in sys.argv[1:4])
os.dup2(helper, 20, inheritable=True)
os.set_inheritable(program, True)
os.chroot(sys.argv[4])
os.chdir("/")
words = ["--program-fd", str(program), "--executed", "/enters", "--", "enters", sys.argv[5], "/", "/genuine"]
os.execve(host, ["mipsrec-host", *words], {})
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the guest `enters_root`, and programs that print their names: genuine, evil, and a native evil."""
    folder = tmp_path_factory.mktemp("programs")
    compile_guest(folder, "little", "enters_root")
    for name in ("genuine", "evil"):
        (folder / name).mkdir()
        compile_source(folder / name, "little", SAYS % name, "-static")
    (folder / "native.c").write_text(SAYS % "evil")
    subprocess.run([need("gcc"), "-static", folder / "native.c", "-o", folder / "native"], check=True)
    return folder


@pytest.fixture
def root(programs: Path) -> Iterator[Path]:
    """The root of another user: all that it has below /proc is an evil program."""
    need_to("chroot")
    need_to("give files away")
    with open_to_others() as folder:
        for name in ("self", "thread-self"):
            (folder / "proc" / name / "fd").mkdir(parents=True)
            shutil.copy(programs / "native", folder / "proc" / name / "exe")
            os.mkfifo(folder / "proc" / name / "pagemap")
            for number in range(3, 12):
                shutil.copy(programs / "evil/guest", folder / "proc" / name / "fd" / str(number))
        shutil.copy(programs / "genuine/guest", folder / "genuine")
        give(folder)
        yield folder


def drop_descriptors() -> None:
    """Have the host keep its descriptors among the guest's."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0) == 0


def enter(host: Path, programs: Path, root: Path, way: str) -> str:
    words = [host, programs / "enters_root", way, root, programs / "genuine/guest"]
    before = drop_descriptors if way == "after many descriptors" else None
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, preexec_fn=before)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_a_program_is_executed_by_its_descriptor(host: Path, programs: Path, root: Path) -> None:
    assert enter(host, programs, root, "descriptor") == "genuine\n"


def test_the_host_keeps_itself(host: Path, programs: Path, root: Path) -> None:
    """Though it had made way for descriptors before, which a message might have brought."""
    assert enter(host, programs, root, "after many descriptors") == "genuine\n"
    shutil.rmtree(root / "proc")
    assert enter(host, programs, root, "after many descriptors") == "genuine\n"


def test_a_child_of_vfork_ends(host: Path, programs: Path, root: Path) -> None:
    """The host knows what it has written from the kernel's pagemap."""
    assert enter(host, programs, root, "vfork") == "child: 1\n"


def test_files_of_the_kernel_and_of_the_root(host: Path, programs: Path, root: Path) -> None:
    """What is the kernel's leads to the guest's program by whatever way; what only has its name does not."""
    lines = enter(host, programs, root, "files").splitlines()
    assert lines[:2] == ["status: Name:", "sums: 00400"]
    assert lines[2:] == ["of the kernel: enters_root", "in a folder of the kernel: enters_root",
                     "of the root: exe", "in a folder of the root: exe"]  # fmt: skip


def test_no_debugger_at_a_socket_there(host: Path, programs: Path, root: Path, tmp_path: Path) -> None:
    """The path of --gdb-on-crash would lead to a folder of the other user's choice."""
    guest = [programs / "enters_root", "crash", root, programs / "genuine/guest"]
    words = [host, "--gdb-on-crash", tmp_path / "socket", *guest]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (-signal.SIGSEGV, ""), done


def evil_copy(host: Path, to: Path) -> None:
    """Write a copy of the host that has the same header, and does something else."""
    data = bytearray(host.read_bytes())
    entry, headers = struct.unpack_from("<QQ", data, 24)
    size, count = struct.unpack_from("<HH", data, 54)
    for at in range(headers, headers + size * count, size):
        kind, _flags, offset, address, _, file_size = struct.unpack_from("<IIQQQQ", data, at)
        if kind == 1 and address <= entry < address + file_size:
            place = entry - address + offset
            data[place : place + len(WRITES_EVIL)] = WRITES_EVIL
    to.write_bytes(data)
    to.chmod(0o755)


@pytest.mark.parametrize("proc", [True, False])
def test_a_host_that_begins_there(host: Path, programs: Path, root: Path, proc: bool) -> None:
    if not proc:
        shutil.rmtree(root / "proc")
        evil_copy(host, root / "mipsrec-host")
        give(root)
        assert subprocess.run([root / "mipsrec-host"], capture_output=True).stdout == b"evil\n"
    files = [host, programs / "enters_root", programs / "genuine/guest", root]
    words = [sys.executable, "-c", STARTER, *files, "by name"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.stdout.startswith(("not executed", "genuine")), done
