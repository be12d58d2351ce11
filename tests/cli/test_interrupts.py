"""Ctrl-C and SIGTERM wait in `held`, and come in where `let_in` lets them."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mipsrec.cache.store import locked
from mipsrec.files import trust
from mipsrec.files.temporary_folder import temporary_folder
from mipsrec.interrupts import held, let_in


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """Ctrl-C counts, though who runs the tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def test_held_until_the_end() -> None:
    seen = []
    with pytest.raises(KeyboardInterrupt):
        with held():
            interrupt()
            seen.append("on")
        seen.append("never")
    assert seen == ["on"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_held_within_held() -> None:
    seen = []
    with pytest.raises(KeyboardInterrupt), held():
        with held():
            interrupt()
        seen.append("on")
    assert seen == ["on"]


def test_let_in_raises_what_waits() -> None:
    seen = []
    with pytest.raises(KeyboardInterrupt), held():
        interrupt()
        try:
            with let_in():
                seen.append("never")
        finally:
            seen.append("cleaned up")
    assert seen == ["cleaned up"]


def test_clean_up_is_not_interrupted() -> None:
    """The second Ctrl-C waits until the first is dealt with."""
    seen = []
    with pytest.raises(KeyboardInterrupt), held():
        try:
            with let_in():
                interrupt()
                seen.append("never")
        finally:
            interrupt()
            seen.append("cleaned up")
    assert seen == ["cleaned up"]


def test_let_in_within_held_within_let_in() -> None:
    seen = []
    with pytest.raises(KeyboardInterrupt), held(), let_in():
        with held():
            interrupt()
            seen.append("held")
        seen.append("never")
    assert seen == ["held"]


def test_handler_that_returns() -> None:
    numbers: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: numbers.append(number))
    try:
        with held():
            signal.raise_signal(signal.SIGTERM)
            assert numbers == []
            with let_in():
                assert numbers == [signal.SIGTERM]
                signal.raise_signal(signal.SIGTERM)
            assert len(numbers) == 2
            signal.raise_signal(signal.SIGTERM)
            assert len(numbers) == 2
        assert len(numbers) == 3
    finally:
        signal.signal(signal.SIGTERM, before)


def test_default_of_sigterm() -> None:
    program = (
        "import signal; from mipsrec.interrupts import held\n"
        "with held():\n    signal.raise_signal(signal.SIGTERM); print('on', flush=True)\nprint('never')"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (-signal.SIGTERM, "on\n", "")


def test_other_threads_hold_nothing() -> None:
    inside, done = threading.Event(), threading.Event()

    def hold() -> None:
        with held(), let_in():
            inside.set()
            done.wait(600)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(600)
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    done.set()
    thread.join()


def test_temporary_folder_goes(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), temporary_folder("x", tmp_path) as folder:
        (folder / "file").write_text("x")
        interrupt()
    assert os.listdir(tmp_path) == []


def test_no_part_of_a_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal comes when the file has been made, and nobody knows its name yet."""
    tmp_path.chmod(0o700)
    made = trust.new_file

    def make_and_interrupt(folder: int, mode: int) -> tuple[str, int]:
        found = made(folder, mode)
        interrupt()
        return found

    monkeypatch.setattr(trust, "new_file", make_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        trust.write(tmp_path / "file", b"x")
    assert os.listdir(tmp_path) == ["file"]


def test_waiting_for_a_lock_is_interrupted(tmp_path: Path) -> None:
    """The lock of the other one stays."""
    lock = tmp_path / "a.lock"
    with lock.open("wb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt), locked(tmp_path / "a.so", tmp_path):
            pass
        assert lock.exists()
    with locked(tmp_path / "a.so", tmp_path):
        assert lock.exists()
    assert not lock.exists()
