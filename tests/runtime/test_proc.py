"""/proc as guests see it, and guests as others see them there: by their own names, with their own arguments."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.runtime.twins import compile_guest, compile_native
from tests.support.compiled import ORDERS
from tests.support.hosts import sanitized_host
from tests.support.tools import need

pytestmark = pytest.mark.sampled

QUESTIONS = ("program", "maps", "stat", "replace", "change", "net")


@pytest.fixture(scope="module", params=list(ORDERS))
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_guest(tmp_path_factory.mktemp("guest"), request.param, "own_proc")


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_native(tmp_path_factory.mktemp("native"), "own_proc", "-static")


def ask(folder: Path, before: list[str | Path], program: Path, *words: str, **more: str) -> str:
    """Return what a copy of the program in the folder, which it calls FOLDER, answers."""
    folder.mkdir(exist_ok=True)
    shutil.copy(program, folder / "program")
    (folder / "program.copy").unlink(missing_ok=True)
    result = subprocess.run([*before, folder / "program", *words], capture_output=True, text=True, timeout=600,
                            env={"A": "1", "B": "two words", **more})  # fmt: skip
    assert (result.returncode, result.stderr) == (0, ""), result
    return result.stdout.replace(str(folder), "FOLDER")


@pytest.mark.parametrize("window", ["auto", "identity"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_like_native(host: Path, tmp_path: Path, guest: Path, native: Path, question: str, window: str) -> None:
    expected = ask(tmp_path / "native", [], native, question)
    assert ask(tmp_path / "guests", [host, "--engine", "interp", "--window", window], guest, question) == expected


@pytest.mark.parametrize("question", QUESTIONS)
def test_under_sanitizers(tmp_path: Path, guest: Path, native: Path, question: str) -> None:
    expected = ask(tmp_path / "native", [], native, question)
    assert ask(tmp_path / "guests", [sanitized_host(), "--engine", "interp"], guest, question) == expected


def test_answers_in_a_sysroot(host: Path, tmp_path: Path, guest: Path, native: Path) -> None:
    """The same, with names that have lost the sysroot."""
    for question in ("program", "maps", "stat", "change"):
        expected = ask(tmp_path / "native", [], native, question)
        command = [host, "--engine", "interp", "-L", tmp_path]
        shutil.copy(guest, tmp_path / "program")
        result = subprocess.run([*command, "/program", question], capture_output=True, text=True, env={"A": "1"})
        assert result.stdout == expected.replace("FOLDER", "").replace("x" * (len(str(tmp_path / "native"))), "")


def test_strings_of_the_process(host: Path, tmp_path: Path, guest: Path) -> None:
    words = ["file", "/proc/self/cmdline", "/proc/self/environ", "/proc/thread-self/cmdline"]
    lines = ask(tmp_path, [host], guest, *words).splitlines()
    given = "|".join(["FOLDER/program", *words])
    assert lines == [given, "A=1|B=two words", given]
    words = ["chdir", "/proc/self", "cmdline", "/proc", "self/environ"]
    lines = ask(tmp_path, [host], guest, *words).splitlines()
    assert lines == ["|".join(["FOLDER/program", *words]), "A=1|B=two words"]


@pytest.mark.parametrize("byte_order", ORDERS)
def test_every_name_leads_to_the_guest(host: Path, tmp_path: Path, byte_order: str) -> None:
    """Whatever way a name goes, and also through descriptors, links and folders."""
    program = compile_guest(tmp_path, byte_order, "proc_spellings", options=("-pthread",))
    result = subprocess.run([host, "--tier", "interp", program, tmp_path], capture_output=True, text=True)
    found = [line.rsplit(": ", 1) for line in result.stdout.splitlines()]
    assert len(found) == 33 and all(whose == "the guest's" for _, whose in found), result.stdout


@pytest.mark.parametrize("window", ["any", "identity"])
@pytest.mark.parametrize("byte_order", ORDERS)
def test_memory_has_the_guests_addresses(host: Path, tmp_path: Path, byte_order: str, window: str) -> None:
    for name in ("proc_mem", "proc_pages"):
        program = compile_guest(tmp_path, byte_order, name)
        result = subprocess.run([host, "--tier", "interp", "--window", window, program], capture_output=True, text=True)
        assert (result.stdout, result.returncode) == ("ok\n", 0)


def test_sums_and_policies_of_mappings(host: Path, tmp_path: Path, guest: Path) -> None:
    rollup, numa = "/proc/self/smaps_rollup", "/proc/self/numa_maps"
    head, *sums = ask(tmp_path, [host], guest, "file", rollup).splitlines()
    assert re.fullmatch(r"00400000-7fff0000 ---p 00000000 00:00 0 {26}\[rollup\]", head)
    fields = {name: int(value.removesuffix(" kB")) for name, value in (line.split(":") for line in sums)}
    assert fields["Rss"] >= fields["Private_Dirty"] > 0 and "Size" not in fields
    if Path(numa).exists():  # the kernel may be built without
        lines = ask(tmp_path, [host], guest, "file", numa).splitlines()
        assert lines[0].startswith("00400000 default file=FOLDER/program ")


def test_auxiliary_vector(host: Path, tmp_path: Path, guest: Path) -> None:
    assert ask(tmp_path, [host], guest, "auxv") == "1 1\n"


def test_a_mips_machine(host: Path, tmp_path: Path, guest: Path) -> None:
    text = ask(tmp_path, [host], guest, "file", "/proc/cpuinfo")
    lines = [line.split("\t") for line in text.splitlines()]
    fields = {line[0]: line[-1] for line in lines}
    assert text.startswith("system type\t\t: ") and text.count("processor\t\t: ") == os.sysconf("SC_NPROCESSORS_ONLN")
    assert fields["isa"] == ": mips1 mips2 mips32r1 mips32r2"
    assert {"machine", "cpu model", "BogoMIPS", "wait instruction", "ASEs implemented", "core"} <= fields.keys()
    assert "vendor_id" not in fields


# ---- as others see guests ----


@contextmanager
def waiting(command: list[str | Path], before: Callable[[], None] | None = None) -> Iterator[int]:
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"SEEN": "from outside"}, preexec_fn=before,
        close_fds=before is None,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None and process.stdout.readline() == b"waiting\n"
            yield process.pid
        finally:
            process.kill()


def test_guests_seen_from_outside(host: Path, tmp_path: Path, guest: Path) -> None:
    program = tmp_path / "a-long-program-name"
    shutil.copy(guest, program)
    command = [host, "--engine", "interp", "--report", program, "wait", "two words"]
    with waiting(command) as number:
        proc = Path("/proc") / str(number)
        assert (proc / "comm").read_text() == "a-long-program-\n"
        assert (proc / "stat").read_text().split()[1] == "(a-long-program-)"
        assert (proc / "cmdline").read_text() == f"{program}\0wait\0two words\0"
        assert (proc / "environ").read_text() == "SEEN=from outside\0"
        shown = subprocess.run(
            [need("ps", "procps"), "-ww", "-o", "comm=,args=", "-p", str(number)], capture_output=True, text=True
        )
        assert shown.stdout == f"a-long-program- {program} wait two words\n"
        found = subprocess.run([need("pidof", "sysvinit-utils"), program.name], capture_output=True, text=True)
        assert str(number) in found.stdout.split()


def test_guests_seen_from_guests(host: Path, tmp_path: Path, guest: Path) -> None:
    program = tmp_path / "program"
    shutil.copy(guest, program)
    look = [host, "--engine", "interp", guest]
    with waiting([host, "--engine", "interp", program, "wait"]) as number:
        words = ["link", f"/proc/{number}/exe", f"/proc/{os.getpid()}/exe"]
        lines = subprocess.run([*look, *words], capture_output=True, text=True).stdout.splitlines()
        assert lines == [f"/proc/{number}/exe: {program}", f"/proc/{os.getpid()}/exe: {os.readlink('/proc/self/exe')}"]
        words = ["file", f"/proc/{number}/cmdline", f"/proc/{number}/comm"]
        output = subprocess.run([*look, *words], capture_output=True, text=True).stdout
        assert output == f"{program}|wait\nprogram\n"
        program.unlink()
        output = subprocess.run([*look, "link", f"/proc/{number}/exe"], capture_output=True, text=True).stdout
        assert output == f"/proc/{number}/exe: {program} (deleted)\n"


@pytest.mark.parametrize("kind", ["pipe", "other file"])
def test_a_descriptor_that_is_no_program(host: Path, tmp_path: Path, guest: Path, kind: str) -> None:
    """Who starts a host may have it seem to have another program; a pipe would keep a reader of exe waiting."""
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    other = os.open(tmp_path / ("pipe" if kind == "pipe" else "file"), os.O_RDWR)

    def begin() -> None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 500), hard))
        os.dup2(os.open(host, os.O_RDONLY), 400)
        os.dup2(other, 401)
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))

    with waiting([host, guest, "wait"], begin) as number:
        said = subprocess.run([host, guest, "link", f"/proc/{number}/exe"], capture_output=True, text=True).stdout
    assert said == f"/proc/{number}/exe: {host.resolve()}\n"
    os.close(other)


@pytest.mark.parametrize("kind", ["pipe", "other file"])
def test_a_program_that_is_exchanged(host: Path, tmp_path: Path, kind: str) -> None:
    """What was found to be a program is what is opened, though the other process has put something else there since."""
    (tmp_path / "file").write_text("no program")
    os.mkfifo(tmp_path / "pipe")
    program = compile_guest(tmp_path, "little", "exchanged_program")
    other = tmp_path / ("pipe" if kind == "pipe" else "file")

    def begin() -> None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))

    with waiting([host, program, "exchange", host, program, other], begin) as number:
        words = [host, program, "look", f"/proc/{number}/exe", "500"]
        assert subprocess.run(words, capture_output=True, text=True, timeout=600).stdout == "programs\n"


def test_a_lease_keeps_nobody_waiting(host: Path, tmp_path: Path) -> None:
    """A file with a lease on it is no program of a guest: its host would read it. An opening waits 45 s for its end."""
    (tmp_path / "file").write_text("no program")
    program = compile_guest(tmp_path, "little", "exchanged_program")

    def begin() -> None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))

    with waiting([host, program, "lease", host, tmp_path / "file", tmp_path / "file"], begin) as number:
        words = [host, program, "look", f"/proc/{number}/exe", "1"]
        assert subprocess.run(words, capture_output=True, text=True, timeout=600).stdout == "programs\n"


def test_names_after_execve(host: Path, tmp_path: Path, guest: Path) -> None:
    """Of a guest that a guest has executed; of a script, whose own name it is."""
    script = tmp_path / "script-of-guest"
    script.write_text(f"#!{guest} wait\n")
    script.chmod(0o755)
    execs = compile_guest(tmp_path, "big", "execs")
    with waiting([host, execs, "run", script, "another"]) as number:
        assert Path(f"/proc/{number}/comm").read_text() == "script-of-guest\n"
        assert Path(f"/proc/{number}/cmdline").read_text() == f"{guest}\0wait\0{script}\0"
