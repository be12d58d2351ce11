"""Notes on files: when the compile server writes one, and that a command that has read a file removes a wrong one."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mipsrec.cache import notes
from mipsrec.commands.run import library_of
from mipsrec.elf import load_elf
from mipsrec.files.checksum import identity_of
from mipsrec.fill_store import StoreReport, missing_of
from mipsrec.options import Options
from tests.support.compiled import FREESTANDING, compile_guest

OPTIONS = Options(opt=0, jobs=1)


def tell(path: Path) -> bool:
    handle = os.open(path, os.O_RDONLY)
    try:
        return notes.times_tell(handle)
    finally:
        os.close(handle)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(bytes(100))
    return path


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let time go on."""
    now = time.time() + seconds
    monkeypatch.setattr(time, "time", lambda: now)


def test_times_of_a_file_with_writers_do_not_tell(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not tell(file)
    later(monkeypatch, 2 * notes.OLD_SECONDS)
    assert tell(file)
    with file.open("r+b") as stream:
        assert not tell(file)
        memory = mmap.mmap(stream.fileno(), 0)
    assert not tell(file)
    memory.close()
    assert tell(file)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EINVAL, errno.ENOSYS])
def test_without_leases_files_must_be_old(file: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(*arguments: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    later(monkeypatch, notes.OLD_SECONDS - 60)
    assert not tell(file)
    later(monkeypatch, 120)
    assert tell(file)


@pytest.mark.parametrize("read", [
    lambda program: library_of(str(program), OPTIONS),
    lambda program: missing_of([(program, load_elf(program))], OPTIONS, StoreReport()),
], ids=["run --build", "store"])  # fmt: skip
def test_whoever_reads_a_file_removes_a_wrong_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], object]
) -> None:
    program = compile_guest(tmp_path, "little", FREESTANDING, "-static", "-nostdlib", "-fno-pic", "-mno-abicalls")
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path / "cache"))
    note = tmp_path / "cache" / notes.FOLDER / notes.name_of(program.stat())
    right = identity_of(program.read_bytes())
    for identity in (right, "0" * 64):
        notes.note_identity(program.stat(), identity)
        assert notes.read_note(note) == identity
        read(program)
        assert note.exists() == (identity == right)
