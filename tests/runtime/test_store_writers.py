"""The host and files that can have writers: what it knows of them stays true, though some stores change no time."""

from __future__ import annotations

import mmap
import os
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.cache import notes
from mipsrec.cache.folders import code_path, variant_of
from mipsrec.elf import load_elf
from mipsrec.fill_store import store
from tests.support.compiled import ORDERS, compile_guest
from tests.support.dynamic import recompiled_files
from tests.support.mounts import image_of, in_namespace, read_only
from tests.support.powers import MEMORY, need_to
from tests.support.settled import settle

OPTIONS = pipeline.Options(opt=0, jobs=1)
FREESTANDING = ("-static", "-nostdlib", "-fno-pic", "-mno-abicalls")
EXITS = """
    .globl __start
    .set noreorder
__start:
    addiu $4, $0, 11
    addiu $2, $0, 4001
    syscall
    nop
"""
NOBODY = 65534


def first_word(byte_order: str, status: int) -> bytes:
    """Return the instruction that says how the program exits."""
    return struct.pack(">I" if byte_order == "big" else "<I", 0x24040000 | status)


@dataclass
class Exiting:
    """A program that exits with a status, and a cache with its code and the host's notes."""

    program: Path
    cache: Path
    host: Path
    user: int | None = None

    def words(self) -> list[str | Path]:
        options = ["--stats", "--tier", "aot", "--cache", self.cache, "--variant", variant_of(OPTIONS)]
        return [self.host, *options, self.program]

    def run(self) -> tuple[int, bool]:
        """Return its status, and whether recompiled code ran."""
        result = subprocess.run(self.words(), capture_output=True, text=True, user=self.user, cwd="/")
        return result.returncode, bool(recompiled_files(result.stderr))

    def noted(self) -> list[str]:
        """Return what is noted of files, sorted: identities, and "whole" of libraries."""
        return sorted(path.read_text().split()[-1] for path in (self.cache / "identities").glob("*"))


def exiting(folder: Path, byte_order: str, host: Path) -> Exiting:
    program, cache = compile_guest(folder, byte_order, EXITS, *FREESTANDING, language="assembler"), folder / "cache"
    image = load_elf(program)
    made = code_path(image.identity, OPTIONS).relative_to(os.environ["MIPSREC_CACHE"])
    (cache / made).parent.mkdir(parents=True)
    shutil.copy(store(image, OPTIONS), cache / made)
    return Exiting(program, cache, host)


@contextmanager
def mapped(path: Path) -> Iterator[mmap.mmap]:
    """Yield a shared mapping of a file, whose descriptor is closed."""
    with path.open("r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    with memory:
        yield memory


def server_would_note(path: Path) -> bool:
    """Return whether the compile server would note the file."""
    with path.open("rb") as file:
        return notes.times_tell(file.fileno())


@pytest.mark.parametrize("byte_order", ORDERS)
def test_stores_to_a_mapping_are_seen(tmp_path: Path, host: Path, byte_order: str) -> None:
    it = exiting(tmp_path, byte_order, host)
    before, after = first_word(byte_order, 11), first_word(byte_order, 22)
    at = it.program.read_bytes().index(before)
    library = next(it.cache.rglob("*.so"))
    with mapped(it.program) as memory, library.open("r+b"):
        memory[at : at + 4] = before  # the first store to a page is dated
        settle(tmp_path)
        assert it.run() == (11, True) and it.noted() == []
        memory[at : at + 4] = after
        assert it.run() == (22, False)
    settle(tmp_path)
    assert it.run() == (22, False) and it.noted() == [load_elf(it.program).identity]
    with mapped(it.program) as memory:
        memory[at : at + 4] = before
        assert it.run() == (11, True)


def test_files_of_others_are_noted_when_they_are_old(host: Path) -> None:
    """The kernel does not say who may write to a file of another owner."""
    need_to("become another user")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        it = exiting(folder, "little", Path(shutil.copy(host, folder / "host")))
        it.user = NOBODY
        for path in (folder, *it.cache.rglob("*"), it.cache):
            os.chown(path, NOBODY, NOBODY)
        settle(folder)
        assert it.run() == (11, True) and it.noted() == ["whole"]
        os.chown(it.program, NOBODY, NOBODY)
        settle(folder)
        assert it.run() == (11, True) and it.noted() == sorted([load_elf(it.program).identity, "whole"])


def test_files_in_memory_are_not_noted(host: Path) -> None:
    """Not even the first store to a page is dated there, if the page was read before."""
    need_to("keep files in /dev/shm")
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        folder = Path(name)
        it = exiting(folder, "little", host)
        at = it.program.read_bytes().index(first_word("little", 11))
        settle(folder)
        assert it.run() == (11, True) and it.noted() == ["whole"]
        assert not server_would_note(it.program)
        with mapped(it.program) as memory:
            assert memory[at : at + 4] == first_word("little", 11)
            memory[at : at + 4] = first_word("little", 22)
        assert it.run() == (22, False)


# ---- files whose dates are not this kernel's ----

ASKS = "import os, sys; from mipsrec.cache import notes; print(notes.times_tell(os.open(sys.argv[1], 0)))"
LIES = "import os, sys; from mipsrec.cache import notes; notes.note_identity(os.stat(sys.argv[1]), '0' * 64)"


@pytest.mark.parametrize("way", ["read-only", "image"])
def test_what_another_machine_may_have_dated_is_not_noted(way: str, tmp_path: Path, host: Path) -> None:
    """Another image may get the same numbers: notes of its files are neither written nor believed."""
    it = exiting(tmp_path, "little", host)
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    it.program = it.program.rename(mounted / "guest")
    if way == "image":
        need_to("mount images")
    mounts = image_of(mounted) if way == "image" else read_only(mounted)

    def run(*texts: str) -> subprocess.CompletedProcess[str]:
        waits = shlex.join([sys.executable, "-m", "tests.support.settled", str(it.program)])
        asks = [shlex.join([sys.executable, "-c", text, str(it.program)]) for text in texts]
        return in_namespace([*mounts, waits, *asks], it.words(), {"MIPSREC_CACHE": str(it.cache)})

    done = run(ASKS)
    assert (done.returncode, done.stdout) == (11, "False\n"), done.stderr
    assert recompiled_files(done.stderr) and it.noted() == ["whole"]
    done = run(LIES)
    assert done.returncode == 11 and recompiled_files(done.stderr) and "0" * 64 in it.noted()
