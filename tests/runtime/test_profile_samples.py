"""Profiles that the host takes: where samples fall, that guests do not notice, and that the file is whole."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from mipsrec import profiles
from mipsrec.elf import load_elf
from tests.support.commandline import assert_one_line, heed_interrupts, mipsrec, wait_for_processor_time
from tests.support.compiled import ORDERS, compile_guest, readelf_symbols
from tests.support.compiler_runs import run_compiler
from tests.support.hosts import sanitized_host
from tests.support.paths import GUESTS, PREBUILT
from tests.support.sampling import sampled
from tests.support.tools import need

pytestmark = pytest.mark.sampled

SOURCE = GUESTS / "profiled.c"
NOT_NOTICED = {
    "timer": "ten signals\n",
    "waits": "0 interrupted, 0 early\n",
    "writes": "0 cut short\n",
    "signal": "2 came, one waits, 3 at last\n",
}


DAEMON = "#include <sys/stat.h>\nint main(void) { umask(0); return 0; }\n"


@dataclasses.dataclass(frozen=True)
class Guest:
    """A program, the library of some of its functions, and where its functions are."""

    path: Path
    library: Path
    functions: dict[str, range]


@pytest.fixture(scope="module", params=ORDERS)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Guest:
    triple = ORDERS[request.param]
    path = tmp_path_factory.mktemp(request.param) / "profiled"
    compiler = need(f"{triple}-gcc", f"gcc-{triple}")
    run_compiler([compiler, "-O2", "-static", "-pthread", "-w", SOURCE, "-o", path], path)
    library = path.with_suffix(".so")
    lifted = [word for name in ("main", "spend", "compute", "call_kernel") for word in ("--function", name)]
    assert mipsrec("build", path, "-o", library, "--jobs", "1", *lifted).returncode == 0
    symbols = readelf_symbols(request.param, path)
    return Guest(path, library, {s[0]: range(s[1], s[1] + s[2]) for s in symbols if s[3] == "FUNC"})


def take(
    host: Path, guest: Guest, way: str, folder: Path, *options: str, status: int = 0
) -> tuple[str, profiles.Profile]:
    """Run the guest in one way; return its standard output and the profile."""
    output = folder / "out.prof"
    command = [host, "--profile", output, *options, "--library", guest.library, guest.path, way]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, preexec_fn=heed_interrupts)
    assert (result.returncode, result.stderr) == (status, ""), result
    return result.stdout, read_whole(output, guest)


def read_whole(output: Path, guest: Guest) -> profiles.Profile:
    """Return the profile, which is of the guest and alone in its folder."""
    assert [path.name for path in output.parent.iterdir()] == [output.name]
    profile = profiles.read(output)
    profile.check_program(load_elf(guest.path).identity, guest.path)
    return profile


def share(profile: profiles.Profile, guest: Guest, engine: str, function: str) -> float:
    """Return the part of all samples that an engine has in a function."""
    found = sum(count for pc, count in profile.samples[engine].items() if pc in guest.functions[function])
    return found / max(1, profile.total)


@pytest.mark.parametrize(
    ("way", "engine", "function"),
    [
        ("lifted", "lifted", "spend"),
        ("computed", "lifted", "compute"),
        ("interpreted", "baseline", "spend_slowly"),
        ("kernel", "host", "read"),
    ],
)
def test_where_samples_fall(host: Path, guest: Guest, tmp_path: Path, way: str, engine: str, function: str) -> None:
    """Most in the function that works, of the engine that executes it; a sample stands for a millisecond."""
    before = os.times()
    _, profile = take(host, guest, way, tmp_path)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    read = "__libc_read" if "read" not in guest.functions else "read"
    assert share(profile, guest, engine, read if function == "read" else function) > 0.7
    start_up = 0.05  # before the guest begins; kernels that count ticks are off by one or two
    assert 0.5 * (used - start_up) < profile.total / 1000 < 1.2 * used + 0.01


def test_no_program_is_replaced(host: Path, guest: Guest, tmp_path: Path) -> None:
    """Nor a library: what a profile may replace is a profile, or any other file that is named."""
    (tmp_path / "program").write_bytes(guest.path.read_bytes())
    (tmp_path / "link").hardlink_to(tmp_path / "program")
    for name in ("program", "link"):
        words = [host, "--profile", tmp_path / name, guest.path, "lifted"]
        result = subprocess.run(words, capture_output=True, text=True, timeout=600)
        why = "cannot be written (it is a program or library, which stays: name another file)"
        assert (result.returncode, result.stderr) == (1, f"mipsrec-host: --profile {tmp_path / name}: {why}\n")
        assert (tmp_path / name).read_bytes() == guest.path.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "program"]


def test_rate(host: Path, guest: Guest, tmp_path: Path) -> None:
    _, profile = take(host, guest, "lifted", tmp_path, "--profile-rate", "100")
    assert 5 <= profile.total <= 500
    assert "# rate 100\n# lost 0\n" in (tmp_path / "out.prof").read_text()


@pytest.mark.parametrize("way", NOT_NOTICED)
def test_not_noticed(host: Path, guest: Guest, tmp_path: Path, way: str) -> None:
    """Timers of its own, waiting calls, writes to full pipes, and the very signal work as without samples."""
    output, profile = take(host, guest, way, tmp_path, "--profile-rate", "10000")
    assert output == NOT_NOTICED[way]
    assert profile.total > 100


@pytest.mark.parametrize("way", NOT_NOTICED)
def test_without_samples(host: Path, guest: Guest, way: str) -> None:
    command = [host, "--library", guest.library, guest.path, way]
    assert subprocess.run(command, capture_output=True, text=True, timeout=600).stdout == NOT_NOTICED[way]


@pytest.mark.parametrize("way", ["pauses", "suspends"])
def test_an_end_while_waiting(host: Path, guest: Guest, tmp_path: Path, way: str) -> None:
    """Only kernels whose samples interrupt calls have them blocked meanwhile, whatever mask the guest gives."""
    command = [host, "--profile", tmp_path / "out.prof", "--library", guest.library, guest.path, way]
    kernel = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
    held = 1 << (signal.SIGSTKFLT - 1) if kernel < (5, 9) else 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=heed_interrupts) as process:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        deadline = time.monotonic() + 600
        while (seen := state_and_mask(process.pid)) != ("S", held) and time.monotonic() < deadline:
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        assert process.wait(600) == -signal.SIGINT
    assert seen == ("S", held)
    read_whole(tmp_path / "out.prof", guest)


def state_and_mask(pid: int) -> tuple[str, int]:
    """Return whether a process runs or sleeps, and which signals it blocks."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}
    return fields["State"][0], int(fields["SigBlk"][0], 16)


@pytest.mark.parametrize("way", ["forks", "threads", "executes"])
def test_children_and_threads(host: Path, guest: Guest, tmp_path: Path, way: str) -> None:
    """All count: in main's place nothing is spent. What is executed afterwards does not."""
    output, profile = take(host, guest, way, tmp_path)
    assert output == "done\n"
    assert share(profile, guest, "lifted", "spend") > 0.7 and profile.total > 50


def test_children_that_live_longer(host: Path, guest: Guest, tmp_path: Path) -> None:
    """The last one writes the file again: there is nothing in the first one's."""
    output, profile = take(host, guest, "outlives", tmp_path)
    assert output == "done\n"  # the pipe is open until the child has ended
    deadline = time.monotonic() + 600
    while profile.total <= 50 and time.monotonic() < deadline:
        time.sleep(0.05)
        profile = profiles.read(tmp_path / "out.prof")
    assert share(profile, guest, "lifted", "spend") > 0.7


@pytest.mark.parametrize(("way", "number"), [("dies", signal.SIGFPE), ("traps", signal.SIGTRAP)])
def test_guests_that_die(host: Path, guest: Guest, tmp_path: Path, way: str, number: int) -> None:
    _, profile = take(host, guest, way, tmp_path, status=-number)
    assert share(profile, guest, "lifted", "spend") > 0.7


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGSEGV])
def test_guests_that_are_killed(host: Path, guest: Guest, tmp_path: Path, number: int) -> None:
    """Interrupting a program that never ends is a usual way to profile it."""
    output = tmp_path / "out.prof"
    command = [host, "--profile", output, "--library", guest.library, guest.path, "endless"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=heed_interrupts) as process:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        wait_for_processor_time(process.pid, 0.3)
        process.send_signal(number)
        assert process.wait(600) == -number
    assert share(read_whole(output, guest), guest, "lifted", "spend") > 0.7


def test_the_folder_that_was_found_gets_the_profile(host: Path, guest: Guest, tmp_path: Path) -> None:
    """Others may be able to rename it while the guest runs, and would choose whose file is replaced."""
    folder, moved, precious = tmp_path / "folder", tmp_path / "moved", tmp_path / "precious/out.prof"
    for path in (folder, precious.parent):
        path.mkdir()
    precious.write_text("kept")
    command = [host, "--profile", folder / "out.prof", guest.path, "endless"]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True, preexec_fn=heed_interrupts) as process:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        folder.rename(moved)
        folder.symlink_to(precious.parent)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=600)[1] == ""
    read_whole(moved / "out.prof", guest)
    assert precious.read_text() == "kept" and len(list(precious.parent.iterdir())) == 1


def test_interpreted_altogether(host: Path, tmp_path: Path) -> None:
    """Without a library; the program may end before the first sample."""
    program, output = PREBUILT / "mipsel" / "sha256.elf", tmp_path / "out.prof"
    assert mipsrec("run", "--tier", "interp", "--profile", output, program).returncode == 0
    profile = profiles.read(output)
    assert set(profile.samples) == set(profiles.ENGINES) and not profile.samples["lifted"]


def test_refusals(tmp_path: Path) -> None:
    """A file that cannot be made is said before the program runs, and what is no file stays what it is."""
    program = PREBUILT / "mipsel" / "hello.elf"
    result = mipsrec("run", "--tier", "interp", "--profile", tmp_path / "nowhere" / "out.prof", program)
    assert_one_line(result, "nowhere/out.prof: cannot be written (No such file or directory)")
    for path in (tmp_path, Path("/dev/null")):
        result = mipsrec("run", "--tier", "interp", "--profile", path, program)
        assert_one_line(result, f"--profile {path}: is there, and no regular file")
    result = mipsrec("run", "--profile", tmp_path / "out.prof", "--profile-rate", "10001", program)
    assert_one_line(result, "--profile-rate", status=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("way", ["interpreted", "kernel", "waits", "signal", "forks", "threads", "dies", "executes"])
def test_under_sanitizers(guest: Guest, tmp_path: Path, way: str) -> None:
    """Interpreted: lifted code of model flat needs the place that AddressSanitizer has its shadow memory at."""
    output = tmp_path / "out.prof"
    host, options = sanitized_host(), ["--engine", "interp", "--profile-rate", "5000"]
    command = [host, "--profile", output, *options, guest.path, way, "4" if way == "kernel" else "50"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert "Sanitizer" not in result.stderr and "runtime error" not in result.stderr
    assert result.returncode == (-signal.SIGFPE if way == "dies" else 0), result
    assert read_whole(output, guest).total > 10


@pytest.mark.parametrize("guest", sampled(list(ORDERS)), indirect=True)
def test_lifted_code_under_sanitizers(guest: Guest, tmp_path: Path) -> None:
    """Of model paged: also calls into the host are looked for on the stack."""
    library, output = tmp_path / "lib.so", tmp_path / "folder" / "out.prof"
    output.parent.mkdir()
    chosen = ("--function", "main,spend")
    assert mipsrec("build", guest.path, "-o", library, "--memory", "thunk", *chosen).returncode == 0
    command = [sanitized_host(), "--profile", output, "--library", library, guest.path, "lifted", "20"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stderr) == (0, "")
    profile = read_whole(output, guest)
    assert share(profile, guest, "host", "spend") > 0.4
    assert share(profile, guest, "host", "spend") + share(profile, guest, "lifted", "spend") > 0.9


def test_others_cannot_write_a_profile(host: Path, tmp_path: Path) -> None:
    """The umask at the end is the guest's."""
    guest = compile_guest(tmp_path, "little", DAEMON, "-static")
    subprocess.run([host, "--profile", tmp_path / "profile", guest], check=True, timeout=600)
    assert (tmp_path / "profile").stat().st_mode & 0o022 == 0
