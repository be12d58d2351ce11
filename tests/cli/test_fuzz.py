"""`mipsrec fuzz`: what it refuses, that nothing of it is left running, and that a campaign goes on."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.commandline import assert_one_line, command, environment, heed_interrupts, mipsrec
from tests.support.compiled import ORDERS, OUT, compile_guest
from tests.support.paths import GUESTS
from tests.support.sampling import thorough
from tests.support.tools import need

QUICK = ("--no-build", "--jobs", "1")
IDLE = "int main(void) { return 0; }"


@pytest.fixture(scope="module", params=ORDERS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that faults where standard input begins with MR."""
    need("afl-fuzz", "afl++")
    return compile_guest(tmp_path_factory.mktemp("fuzz"), request.param, (GUESTS / "magic.c").read_text(), *OUT)


@pytest.fixture
def seeds(tmp_path: Path) -> Path:
    """A folder with an input that does not crash the program."""
    folder = tmp_path / "seeds"
    folder.mkdir()
    (folder / "one").write_text("MAAA")
    return folder


@pytest.fixture
def findings(tmp_path: Path) -> Path:
    return tmp_path / "findings"


def processes_of(folder: Path) -> list[str]:
    """Return the commands of processes that have a folder's name among their words."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(str(folder).encode() in word for word in words):
            found.append(b" ".join(words).decode())
    return found


@contextmanager
def campaign(program: Path, findings: Path, *words: object) -> Iterator[subprocess.Popen[str]]:
    """Start one that has no end of its own."""
    line = command("fuzz", program, "-o", findings, *QUICK, *words)
    with subprocess.Popen(line, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          preexec_fn=heed_interrupts) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 300
    while not path.exists():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.1)


# ---- what is refused ----


def test_without_afl(program: Path, findings: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused = mipsrec("fuzz", program, "-o", findings, PATH=str(tmp_path / "empty"))
    assert_one_line(refused, "afl-fuzz: is not installed", "apt-get install afl++")
    assert not findings.exists()


def test_seeds(program: Path, findings: Path, tmp_path: Path) -> None:
    """A folder that is missing, one that has nothing in it, and one with an empty file."""
    absent, empty = tmp_path / "absent", tmp_path / "none"
    empty.mkdir()
    assert_one_line(mipsrec("fuzz", program, "-o", findings, "--seeds", absent), f"{absent}: is no folder")
    for _ in range(2):
        refused = mipsrec("fuzz", program, "-o", findings, "--seeds", empty)
        assert_one_line(refused, f"{empty}: has no file with something in it", "--seeds out")
        (empty / "nothing").touch()
    assert not findings.exists()


def test_other_folders(program: Path, findings: Path, tmp_path: Path) -> None:
    """What is in a folder of something else, or of another program's campaign, stays as it is."""
    findings.mkdir()
    (findings / "letter").write_text("precious")
    assert_one_line(mipsrec("fuzz", program, "-o", findings), f"{findings}: is no folder of mipsrec fuzz", "-o")
    assert_one_line(mipsrec("fuzz", program, "-o", findings / "letter"), "letter: is no folder")
    assert_one_line(mipsrec("fuzz", program, "--triage", "-o", findings), "has no findings of AFL++")
    assert [path.read_text() for path in findings.iterdir()] == ["precious"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "mipsrec-fuzz.json").write_text('{"program": "parser", "arguments": ["-v", "@@"]}')
    assert_one_line(mipsrec("fuzz", program, "-o", other), f"{other}: has a campaign of `parser -v @@`")
    (other / "mipsrec-fuzz.json").write_text("[]")
    assert_one_line(mipsrec("fuzz", program, "-o", other), f"{other}: has a campaign of `another program`")


def test_command_lines(program: Path, findings: Path) -> None:
    assert_one_line(mipsrec("fuzz", program, "-o", findings, "--entry", "nonesuch"), "no function nonesuch")
    assert_one_line(mipsrec("fuzz", __file__, "-o", findings), "test_fuzz.py")
    refused = mipsrec("fuzz", program, "--triage", "--until-crash", "-o", findings)
    assert_one_line(refused, "--triage finds nothing, so --until-crash has nothing to do", status=2)
    assert_one_line(mipsrec("fuzz", program, "--seconds", "0"), "0 is less than 1", status=2)
    assert_one_line(mipsrec("fuzz"), "prog.elf", status=2)
    assert not findings.exists()


# ---- what AFL++ refuses ----


def test_crash_on_the_seed(program: Path, findings: Path, seeds: Path) -> None:
    (seeds / "one").write_text("MRAA")
    refused = mipsrec("fuzz", program, "-o", findings, "--seeds", seeds, *QUICK)
    assert_one_line(refused, "afl-fuzz gave up", "does not crash!", "mipsrec run --report")
    assert not findings.exists()


def test_entry_that_is_never_reached(program: Path, findings: Path) -> None:
    refused = mipsrec("fuzz", program, "-o", findings, "--entry", "0x10", *QUICK)
    assert_one_line(refused, "afl-fuzz gave up", "ork server", "come to --entry 0x10")
    assert not findings.exists()


# ---- campaigns ----


def test_campaign_goes_on(program: Path, findings: Path, seeds: Path) -> None:
    """It finds the fault, also where each input begins at main; what it found is there after another one."""
    words = ("fuzz", program, "-o", findings, "--seeds", seeds, "--seconds", "300", *QUICK)
    first = mipsrec(*words, "--until-crash", "--entry", "main")
    assert first.returncode == 3, first
    assert re.fullmatch(
        r"fuzz 0:\d\d:\d\d: [\d,]+ executions \(.*/s\), corpus \d+, crashes [1-9].*", first.stdout.split("\n")[0]
    )
    assert re.search(
        rf"\n{findings}/crashes/SIGSEGV-main-1: SIGSEGV in main; \d inputs?, the smallest of \d+ bytes\n", first.stdout
    )
    assert (findings / "crashes/SIGSEGV-main-1/input").read_bytes().startswith(b"MR")
    before = [path.read_bytes() for path in findings.glob("main/crashes/id*")]
    shutil.rmtree(seeds)  # they are read at the start alone
    again = mipsrec("fuzz", program, "-o", findings, "--seconds", "4", *QUICK)
    assert again.returncode == 3 and "going on with the campaign there" in again.stderr, again
    assert again.stdout.count("SIGSEGV-main-1: SIGSEGV in main") == 1 and ", crashes 0," not in again.stdout
    assert set(before) <= {path.read_bytes() for path in findings.glob("main/crashes*/id*")}
    named = (findings / "crashes/SIGSEGV-main-1/inputs.txt").read_text().splitlines()
    assert named and all((findings / name).exists() for name in named)


@thorough
def test_input_that_is_not_read(findings: Path, tmp_path: Path) -> None:
    """That is said; Ctrl-C ends the campaign, with what it has found, and leaves no process."""
    need("afl-fuzz", "afl++")
    with campaign(compile_guest(tmp_path, "little", IDLE, *OUT), findings) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert "no input has taken a new way through" in said and "does it read standard input" in said
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and "crashes 0" in printed and printed.count("\n") == 1
    assert processes_of(findings) == []


@pytest.mark.parametrize("number", (signal.SIGTERM, signal.SIGKILL))
def test_end_by_signal(number: signal.Signals, program: Path, findings: Path, seeds: Path) -> None:
    """No fuzzer outlives the command, and no guest outlives the fuzzer."""
    with campaign(program, findings, "--seeds", seeds) as process:
        wait_for(findings / "main/fuzzer_stats", process)
        assert len(processes_of(findings)) >= 2  # this command and afl-fuzz
        process.send_signal(number)
        process.wait(60)
    assert process.returncode == (128 + number if number == signal.SIGTERM else -number)
    deadline = time.monotonic() + 30
    while processes_of(findings) or processes_of(program):
        assert time.monotonic() < deadline, (processes_of(findings), processes_of(program))
        time.sleep(0.1)
