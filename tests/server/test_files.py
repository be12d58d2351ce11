"""Each file has a worker of its own: none keeps another waiting, and what is wrong with one concerns that one alone."""

from __future__ import annotations

import os
import resource
import select
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mipsrec.options import Options
from mipsrec.pipeline import open_guest
from mipsrec.server import files, log, worker
from mipsrec.server.files import Files
from mipsrec.server.worker import Report, Request, Unreadable

Heed = Callable[[Request], Report]
SAMPLES = ((0x400000, 10),)


class Wanted:
    """Files that are asked for, with workers that do what a test says by the file's name."""

    def __init__(self, folder: Path, deeds: dict[str, Heed], monkeypatch: pytest.MonkeyPatch) -> None:
        class Fake:
            def __init__(self, handle: int, path: str, options: Options) -> None:
                self.heed = deeds[path]

        monkeypatch.setattr(worker, "Worker", Fake)  # workers inherit it through fork
        self.folder = folder
        self.reports: list[Report] = []
        self.failures: list[tuple[str, str]] = []
        self.files = Files(1, self.reports.append, lambda *failure: self.failures.append(failure))

    def ask(self, name: str) -> None:
        path = self.folder / name
        path.write_text(name)
        with path.open("rb") as stream:
            self.files.want(stream.fileno(), name, Options(), SAMPLES)

    def serve_until(self, done: Callable[[], bool]) -> None:
        """Do what the server does."""
        end = time.monotonic() + 600
        while not done():
            assert time.monotonic() < end, (self.reports, self.failures)
            self.files.begin_tasks(at_once=True)
            self.files.watch()
            told = self.files.connections()
            ready, _, _ = select.select([*told], [], [], 0.05)
            for number in ready:
                self.files.hear(told[number])


@pytest.fixture
def wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dict[str, Heed]], Wanted]]:
    made: list[Wanted] = []

    def make(deeds: dict[str, Heed]) -> Wanted:
        made.append(Wanted(tmp_path, deeds, monkeypatch))
        return made[-1]

    yield make
    for one in made:
        one.files.end()


def works_for_ever(request: Request) -> Report:
    while True:
        pass


def is_done(request: Request) -> Report:
    return Report(functions=1)


def killed_by(number: int) -> Heed:
    def heed(request: Request) -> Report:
        os.kill(os.getpid(), number)
        raise AssertionError

    return heed


def test_no_file_keeps_another_waiting(wanted: Callable[[dict[str, Heed]], Wanted]) -> None:
    """Two that never end, and one behind them."""
    server = wanted({"huge": works_for_ever, "huge too": works_for_ever, "small": is_done})
    for name in ("huge", "huge too", "small"):
        server.ask(name)
    server.serve_until(lambda: bool(server.reports))
    assert server.failures == [] and server.files.is_busy(at_once=False)


def test_more_endless_files_than_workers(
    wanted: Callable[[dict[str, Heed]], Wanted], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that has computed longest gives way; after some turns in vain nothing is expected of it any more."""
    monkeypatch.setattr(files, "_TURN_SECONDS", 0.1)
    names = [f"huge {number}" for number in range(files.MOST_WORKERS + 1)]
    server = wanted({**dict.fromkeys(names, works_for_ever), "small": is_done, "late": is_done})
    for name in [*names, "small"]:
        server.ask(name)
    server.serve_until(lambda: bool(server.reports))
    server.serve_until(lambda: len(server.failures) == 1)
    server.ask("late")
    server.serve_until(lambda: len(server.reports) == 2)
    assert all("while other files wait" in problem for _, problem in server.failures)


@pytest.mark.parametrize(
    ("number", "times", "words"),
    [(signal.SIGKILL, 2, "signal 9"), (signal.SIGSEGV, 1, "signal 11"), (signal.SIGXCPU, 1, "took more than")],
)
def test_a_worker_that_dies(
    wanted: Callable[[dict[str, Heed]], Wanted], tmp_path: Path, number: int, times: int, words: str
) -> None:
    """What the kernel may have killed for want of memory is tried once more. Then the file is asked for in vain."""
    begun = tmp_path / "begun"

    def heed(request: Request) -> Report:
        with begun.open("a") as stream:
            stream.write(".")
        return killed_by(number)(request)

    server = wanted({"bad": heed, "good": is_done})
    server.ask("bad")
    server.serve_until(lambda: bool(server.failures))
    ((name, problem),) = server.failures
    assert name == "bad" and words in problem and begun.read_text() == "." * times
    server.files.want(os.open(tmp_path / "bad", os.O_RDONLY), "bad", Options(), SAMPLES)
    assert not server.files.is_busy(at_once=True)
    server.ask("good")
    server.serve_until(lambda: bool(server.reports))


def kill_worker(server: Wanted, number: int) -> None:
    ((_, file),) = server.files.connections().items()
    assert file.work is not None
    os.kill(file.work.process, number)
    os.waitid(os.P_PID, file.work.process, os.WEXITED | os.WNOWAIT)


@pytest.mark.parametrize("is_heard", [True, False])
def test_a_worker_that_dies_without_a_task(wanted: Callable[[dict[str, Heed]], Wanted], is_heard: bool) -> None:
    """It is another one's deed; the file gets a new worker for its next task, also where its end was not heard yet."""
    server = wanted({"good": is_done})
    for count, number in enumerate((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV), 1):
        server.ask("good")
        server.serve_until(lambda count=count: len(server.reports) == count)  # type: ignore[misc]
        kill_worker(server, number)
        if is_heard:
            server.serve_until(lambda: not server.files.connections())
    server.ask("good")
    server.serve_until(lambda: len(server.reports) == 5)
    assert server.failures == []


def test_a_file_that_is_forgotten_before_it_is_heard(
    wanted: Callable[[dict[str, Heed]], Wanted], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message about one more file makes room, while the end of an idle one's worker waits to be read."""
    monkeypatch.setattr(files, "MOST_FILES", 1)
    server = wanted({"old": is_done, "new": is_done})
    server.ask("old")
    server.serve_until(lambda: len(server.reports) == 1)
    (old,) = server.files.connections().values()
    kill_worker(server, signal.SIGKILL)
    server.ask("new")
    server.files.hear(old)
    server.serve_until(lambda: len(server.reports) == 2)
    assert server.failures == []


def test_a_worker_whose_children_live_on(wanted: Callable[[dict[str, Heed]], Wanted]) -> None:
    """They have its connection, which so does not end with it."""

    def heed(request: Request) -> Report:
        if os.fork() == 0:
            signal.pause()
        return killed_by(signal.SIGSEGV)(request)

    server = wanted({"bad": heed})
    server.ask("bad")
    server.serve_until(lambda: bool(server.failures))


def test_a_task_has_bounds(wanted: Callable[[dict[str, Heed]], Wanted]) -> None:
    """Those that docs/security.md tells, and what a worker's process has of them."""
    assert (worker.MOST_SECONDS, worker.MOST_MEMORY_BYTES, worker.MOST_FILE_BYTES) == (300, 4 << 30, 256 << 20)

    def heed(request: Request) -> Report:
        seconds, memory = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_CPU, resource.RLIMIT_AS))
        return Report(problem=f"{seconds} {memory}")

    server = wanted({"file": heed})
    server.ask("file")
    server.serve_until(lambda: bool(server.failures))
    seconds, memory = map(int, server.failures[0][1].split())
    assert 300 <= seconds < 600 and 0 < memory <= 4 << 30, "processor time counts from the begin of the process"


def test_memory_is_bounded(wanted: Callable[[dict[str, Heed]], Wanted], monkeypatch: pytest.MonkeyPatch) -> None:
    def heed(request: Request) -> Report:
        return Report(len(bytearray(worker.MOST_MEMORY_BYTES)))

    server = wanted({"greedy": heed})
    server.ask("greedy")
    server.serve_until(lambda: bool(server.failures))
    assert server.failures == [("greedy", "takes more memory than a worker has")]


# ---- reading files ----


def opened(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK)


def test_what_is_no_program_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", worker.MOST_FILE_BYTES + 1)
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "fifo")
    for name in ("sparse", "empty", "fifo", "."):
        with pytest.raises(Unreadable, match="no program"):
            worker.content_of(opened(tmp_path / name))


@pytest.mark.parametrize("size", [1, 1 << 21, 1 << 24])
def test_files_that_change_while_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """One that is truncated, one that is written, and one that grows for ever."""
    path, read = tmp_path / "file", os.pread
    path.write_bytes(bytes(1 << 22))

    def change_and_read(handle: int, count: int, at: int) -> bytes:
        with path.open("r+b") as stream:
            stream.write(b"!")
        os.truncate(path, size)
        os.utime(path, ns=(at, at))
        return read(handle, count, at)

    monkeypatch.setattr(os, "pread", change_and_read)
    with pytest.raises(Unreadable, match="changes"):
        worker.content_of(opened(path))


# ---- the log ----


def test_names_forge_no_lines(capsys: pytest.CaptureFixture[str]) -> None:
    log.note("a\n2026-01-01 00:00:00 b: is\r\x1b[2J", "what\u2028it is\nand where\x07")
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith(r" a\n2026-01-01 00:00:00 b: is\r\x1b[2J: what\u2028it is") and second == r"    and where\x07"


# ---- huge files ----


def test_a_huge_file_is_compiled_around_its_hot_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Analysis looks at windows only, the hottest first; what is compiled is whole."""
    from mipsrec.server import windows
    from tests.support.compiled import HELLO, compile_guest

    monkeypatch.setattr(windows, "HUGE_BYTES", 0)
    monkeypatch.setattr(windows, "MOST_BYTES", 3 * windows.WINDOW_BYTES)
    guest = compile_guest(tmp_path, "little", HELLO, "-static")
    hot = open_guest(guest).function("main").start
    far = max(open_guest(guest).starts)
    looked_at: list[int] = []
    monkeypatch.setattr(worker.growth, "grow", lambda index, *rest: looked_at.extend(index.guest.starts))
    one = worker.Worker(opened(guest), str(guest), Options())
    assert one.heed(Request({hot: 20, far: 1}, 1)).functions == 1
    assert hot in looked_at and far not in looked_at
    assert max(looked_at) - min(looked_at) < 3 * windows.WINDOW_BYTES
