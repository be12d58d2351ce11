"""The names of qemu-user: the same command lines with qemu-user and with mipsrec, which agree where callers look.

What both print on standard output and the exit status are compared. On standard error they agree for wrong command
lines and programs; mipsrec says there, too, what it does not have, and why a program cannot be opened (qemu-user says
that on standard output, and only a terminal shows it).
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from mipsrec.cli import main
from mipsrec.commands.qemu_names import NAMES
from tests.support.dynamic import compile_to, cross_libraries
from tests.support.paths import PREBUILT
from tests.support.tools import need

TELLS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static int deep(int left)
{
    volatile char bytes[1024];
    bytes[0] = (char)left;
    return left ? deep(left - 1) + bytes[0] - (char)left : 0;
}

int main(int count, char **words)
{
    static const char *const names[] = {"ONE", "TWO", "THREE"};
    struct utsname name;
    uname(&name);
    for (int i = 0; i < count; i++)
        printf("[%s]", words[i]);
    for (int i = 0; i < 3; i++)
        printf(" %s=%s", names[i], getenv(names[i]) ? getenv(names[i]) : "-");
    printf(" %s %s\n", name.release, name.machine);
    fflush(stdout);
    if (count > 2 && strcmp(words[1], "deep") == 0)
        deep(atoi(words[2]));
    if (count > 2 && strcmp(words[1], "execute") == 0)
        execl(words[2], "executed", (char *)0);
    return 40 + count;
}
"""


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("cc", "gcc")
    folder = tmp_path_factory.mktemp("names")
    assert main(["qemu-names", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with static and dynamic programs, and with files that are none."""
    folder = tmp_path_factory.mktemp("programs")
    for order, name in (("big", "mips"), ("little", "mipsel")):
        cross_libraries(order)
        compile_to(folder / f"static-{name}", order, TELLS, "-static", "-fno-optimize-sibling-calls")
        compile_to(folder / f"dynamic-{name}", order, TELLS, "-fno-optimize-sibling-calls")
        shutil.copy(PREBUILT / name / "hello.elf", folder / f"hello-{name}")
    shutil.copy(folder / "hello-mips", folder / "not-executable")
    (folder / "not-executable").chmod(0o644)
    (folder / "script").write_text("#!/bin/sh\n")
    (folder / "script").chmod(0o755)
    (folder / "short").write_bytes(b"\x7fELF\1\2\1")
    (folder / "short").chmod(0o755)
    (folder / "folder").mkdir()
    return folder


Completed = subprocess.CompletedProcess[str]


def run(
    command: Path | str, folder: Path, words: tuple[str, ...], settings: dict[str, str] | None = None
) -> Completed:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("QEMU_", "MIPSREC_SYSROOT"))}
    return subprocess.run([command, *words], cwd=folder, env={**kept, "TWO": "two", **(settings or {})}, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=300)  # fmt: skip


SYSROOT = {"mips": "/usr/mips-linux-gnu", "mipsel": "/usr/mipsel-linux-gnu"}
THE_SAME: list[tuple[dict[str, str], tuple[str, ...]]] = [
    ({}, ("static-ORDER",)),
    ({}, ("static-ORDER", "-L", "--", "-h", "")),
    ({}, ("--", "static-ORDER", "a b")),
    ({}, ("-L", "SYSROOT", "dynamic-ORDER", "a")),
    ({}, ("--L", "SYSROOT", "dynamic-ORDER", "a")),
    ({"QEMU_LD_PREFIX": "SYSROOT"}, ("./dynamic-ORDER",)),
    ({"QEMU_LD_PREFIX": "/absent"}, ("-L", "SYSROOT", "dynamic-ORDER")),
    ({}, ("-L", "/absent", "static-ORDER")),
    ({}, ("-0", "other name", "static-ORDER", "a")),
    ({"QEMU_ARGV0": "by variable"}, ("static-ORDER",)),
    ({"QEMU_ARGV0": "by variable"}, ("-0", "by option", "static-ORDER")),
    ({}, ("-E", "ONE=1", "static-ORDER")),
    ({}, ("-E", "ONE=1,THREE=a=b", "-U", "TWO", "static-ORDER")),
    ({}, ("-E", "ONE=1", "-E", "ONE=2", "-E", "THREE=", "static-ORDER")),
    ({}, ("-E", "ONE=1", "-U", "ONE,TWO", "static-ORDER")),
    ({"QEMU_SET_ENV": "ONE=1,THREE=3", "QEMU_UNSET_ENV": "TWO"}, ("-E", "THREE=4", "static-ORDER")),
    ({"QEMU_SET_ENV": "QEMU_ARGV0=x"}, ("static-ORDER",)),
    ({}, ("-E", "ONE", "static-ORDER")),
    ({}, ("-E", "ONE=1,,TWO=2", "static-ORDER")),
    ({}, ("-U", "ONE=1", "static-ORDER")),
    ({"QEMU_SET_ENV": "ONE"}, ("static-ORDER",)),
    ({}, ("-r", "4.19.0-test", "static-ORDER")),
    ({"QEMU_UNAME": "3.2"}, ("static-ORDER",)),
    ({}, ("-s", "64k", "static-ORDER", "deep", "300")),
    ({}, ("-s", "1M", "static-ORDER", "deep", "300")),
    ({}, ("-s", "0x4000000", "static-ORDER", "deep", "20000")),
    ({"QEMU_STACK_SIZE": "65536"}, ("static-ORDER", "deep", "300")),
    ({}, ("-s", "0", "static-ORDER")),
    ({}, ("-s", "much", "static-ORDER")),
    ({}, ("-cpu", "24Kf", "static-ORDER")),
    ({}, ("-cpu", "24kf", "static-ORDER")),
    ({"QEMU_CPU": "74Kf"}, ("static-ORDER",)),
    ({"QEMU_CPU": "none"}, ("static-ORDER",)),
    ({}, ("-p", "4096", "static-ORDER")),
    ({}, ("-p", "3000", "static-ORDER")),
    ({}, ("-R", "0", "static-ORDER")),
    ({}, ("-R", "1Q", "static-ORDER")),
    ({}, ("-seed", "x", "static-ORDER")),
    ({}, ("-singlestep", "static-ORDER")),
    ({}, ("-D", "made.log", "static-ORDER")),
    ({}, ("-D", "/absent/log", "static-ORDER")),
    ({}, ("-D", "%d%d", "static-ORDER")),
    ({}, ("-D", "made.log", "-strace", "static-ORDER")),
    ({}, ("-D", "made.log", "-d", "strace,nochain", "static-ORDER")),
    ({"QEMU_STRACE": "", "QEMU_LOG_FILENAME": "made.log"}, ("static-ORDER",)),
    ({}, ("-nothing", "static-ORDER")),
    ({}, ("--nothing", "static-ORDER")),
    ({}, ("-", "static-ORDER")),
    ({}, ("-L",)),
    ({}, ("-0", "name")),
    ({}, ()),
    ({}, ("hello-OTHER",)),
    ({}, ("/bin/true",)),
]
ANOTHER_REASON = ["absent", "", "folder", "not-executable", "script", "short", "/etc/passwd", "dynamic-ORDER"]
"""Where standard error is not the same."""


def words_of(order: str, words: tuple[str, ...]) -> tuple[str, ...]:
    other = "mipsel" if order == "mips" else "mips"
    meant = {"OTHER": other, "ORDER": order, "SYSROOT": SYSROOT[order]}
    return tuple(re.sub("OTHER|ORDER|SYSROOT", lambda match: meant[match[0]], word) for word in words)


def both(folder: Path, order: str, names: Path, *words: str) -> tuple[Completed, Completed]:
    """Return what mipsrec and qemu-user do with the same words."""
    qemu = need(f"qemu-{order}", "qemu-user")
    return run(names / f"qemu-{order}", folder, words), run(qemu, folder, words)


def said(result: Completed) -> tuple[int, str, str]:
    """Return status and output, without usage (each has its own) and without what qemu-user says of signals."""
    output = re.sub(r"\Ausage: (\S+ ).*", r"usage: \1", result.stdout, flags=re.DOTALL)
    return result.returncode, output, re.sub(r"qemu: uncaught target signal.*\n", "", result.stderr)


@pytest.mark.parametrize("order", ["mips", "mipsel"])
def test_the_same_as_qemu_user(names: Path, programs: Path, order: str) -> None:
    name = f"qemu-{order}"
    qemu = need(name, "qemu-user")
    differ = []
    for variables, words in THE_SAME:
        settings = {key: value.replace("SYSROOT", SYSROOT[order]) for key, value in variables.items()}
        meant = words_of(order, words)
        ours, theirs = (said(run(path, programs, meant, settings)) for path in (names / name, qemu))
        if ours != theirs:
            differ.append((settings, words, ours, theirs))
    assert not differ, "\n".join(map(str, differ))


@pytest.mark.parametrize("order", ["mips", "mipsel"])
@pytest.mark.parametrize("program", ANOTHER_REASON)
def test_programs_that_cannot_be_run(names: Path, programs: Path, order: str, program: str) -> None:
    words = words_of(order, (program,))
    ours, theirs = both(programs, order, names, *words)
    assert (ours.returncode, ours.stdout) == (theirs.returncode, theirs.stdout)
    assert ours.stderr.count("\n") == 1 and words[0] in ours.stderr


def test_models_are_those_of_qemu_but_for_other_code(names: Path, programs: Path) -> None:
    ours, theirs = both(programs, "mips", names, "-cpu", "help")
    assert ours.returncode == theirs.returncode == 1
    missing = set(theirs.stdout.splitlines()) - set(ours.stdout.splitlines())
    assert missing == {"MIPS 'mips32r6-generic'", "MIPS 'I7200'"}


def test_options_of_the_help_are_those_of_qemu(names: Path, programs: Path) -> None:
    """Each option and variable that qemu-user's help has is in ours."""
    told, wanted = (set(re.findall(r"^-\w+|QEMU_[A-Z0-9_]+", result.stdout, re.MULTILINE))
                    for result in both(programs, "mipsel", names, "-help"))  # fmt: skip
    assert len(wanted) > 35 and wanted <= told


def test_version(names: Path, programs: Path) -> None:
    for words, settings in ((("-version",), {}), (("hello-mips",), {"QEMU_VERSION": "1"})):
        result = run(names / "qemu-mips-static", programs, words, settings)
        assert result.returncode == 0 and re.match(r"qemu-mips version 7\.2\.\d+ \(mipsrec", result.stdout)


def test_what_is_not_there_is_said_once(names: Path, programs: Path) -> None:
    words = ("-R", "0x10000000", "-B", "0x1000", "-seed", "5", "-d", "in_asm,strace,nochain,unimp", "-dfilter", "0+1",
             "-plugin", "absent.so", "-trace", "x*", "-p", "65536", "-one-insn-per-tb", "-cpu", "24Kf,x=on",
             "-D", "other.log", "hello-mips")  # fmt: skip
    result = run(names / "qemu-mips", programs, words)
    assert (result.returncode, result.stdout) == (0, "Hello from MIPS.\n")
    assert result.stderr == (
        "qemu-mips: mipsrec does not have -R 0x10000000, -B 0x1000, -seed 5, -d in_asm,unimp, -plugin absent.so, "
        "-trace x*, -p 65536, -cpu 24Kf,x=on; ignored\n"
    )
    assert "write(1," in (programs / "other.log").read_text()


def test_names_of_ignored_options_make_no_lines(names: Path, programs: Path) -> None:
    result = run(names / "qemu-mips", programs, ("-plugin", "a\nb" * 2000, "hello-mips"))
    assert (result.returncode, result.stdout) == (0, "Hello from MIPS.\n")
    assert result.stderr.count("\n") == 1 and "\\n" in result.stderr


def test_executed_programs_keep_release_and_log(names: Path, programs: Path) -> None:
    """qemu-user leaves them to binfmt_misc; here they run in a host of their own."""
    words = ("-r", "4.19.0-test", "-D", "log-%d", "-strace", "static-mips", "execute", "./static-mips")
    result = run(names / "qemu-mips", programs, words)
    assert (result.returncode, result.stderr) == (41, "")
    assert result.stdout.splitlines()[1].startswith("[executed]") and result.stdout.count(" 4.19.0-test ") == 2
    [log] = programs.glob("log-*")
    assert "execve(" in log.read_text() and re.search(r"write\(1, \"\[executed\]", log.read_text())


def test_a_program_below_the_prefix_is_not_meant(names: Path, programs: Path, tmp_path: Path) -> None:
    shutil.copy(programs / "hello-mips", tmp_path / "only-there")
    for result in both(programs, "mips", names, "-L", str(tmp_path), "/only-there"):
        assert (result.returncode, result.stdout) == (1, "")


def test_the_host_alone_by_that_name(host: Path, programs: Path, tmp_path: Path) -> None:
    """A copy of the host, as tools put qemu-mipsel-static into a chroot."""
    shutil.copy(host, tmp_path / "qemu-mipsel-static")
    result = run(tmp_path / "qemu-mipsel-static", programs, ("-0", "name", "static-mipsel"))
    assert result.returncode == 41 and result.stdout.startswith("[name] ")
    assert run(tmp_path / "qemu-mipsel-static", programs, ("hello-mips",)).returncode == 255
    refused = run(host, programs, ("--qemu", "qemu-ppc", "hello-mips"))
    assert refused.returncode == 2 and "qemu-ppc" in refused.stderr


@pytest.mark.parametrize("place", ["port", "socket", "variable"])
def test_debugger(names: Path, programs: Path, tmp_path: Path, place: str) -> None:
    gdb = need("gdb-multiarch", "gdb-multiarch")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    where = str(tmp_path / "socket") if place == "socket" else port
    words = () if place == "variable" else ("-g", where)
    environment = {**os.environ, **({} if words else {"QEMU_GDB": where})}
    process = subprocess.Popen([names / "qemu-mips", *words, "hello-mips"], cwd=programs, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment)  # fmt: skip
    assert process.stderr is not None and "waiting for a debugger" in process.stderr.readline()
    target = where if place == "socket" else f":{where}"
    commands = [word for line in (f"target remote {target}", "info registers pc", "continue") for word in ("-ex", line)]
    said = subprocess.run([gdb, "-nx", "-batch", *commands, programs / "hello-mips"], capture_output=True, text=True,
                          timeout=120)  # fmt: skip
    output, _ = process.communicate(timeout=60)
    assert output == "Hello from MIPS.\n" and process.returncode == 0
    assert "exited normally" in said.stdout


def test_no_place_for_the_debugger(names: Path, programs: Path) -> None:
    for result in both(programs, "mips", names, "-g", "/absent/socket", "hello-mips"):
        assert result.returncode == 1


# ---- the command ----


def test_names_are_written_again_and_removed(names: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a" / "names"
    assert main(["qemu-names", str(folder)]) == 0 and main(["qemu-names", str(folder)]) == 0
    assert {path.name for path in folder.iterdir() if path.is_symlink()} == set(NAMES)
    (folder / "other").write_text("")
    assert main(["qemu-names", "--remove", str(folder)]) == 0
    assert [path.name for path in folder.iterdir()] == ["other"]
    capsys.readouterr()
    assert main(["qemu-names", "--remove", str(folder)]) == 0
    assert "has no names" in capsys.readouterr().out


@pytest.mark.parametrize("other", ["file", "link"])
def test_other_files_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str], other: str) -> None:
    path = tmp_path / "qemu-mipsel"
    path.write_text("mine") if other == "file" else path.symlink_to("/usr/bin/qemu-user")
    assert main(["qemu-names", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and str(path) in error and list(tmp_path.iterdir()) == [path]
    assert main(["qemu-names", "--remove", str(tmp_path)]) == 0 and list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["qemu-names", str(tmp_path / "file" / "names")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_no_python_runs(names: Path, programs: Path, tmp_path: Path) -> None:
    """The launcher and the host are enough; the compile server, which is Python, is off in tests."""
    shutil.copytree(names, tmp_path / "copy", symlinks=True)
    (tmp_path / "copy/.mipsrec-qemu/mipsrec-python").write_text("#!/bin/sh\necho python ran; exit 9\n")
    result = run(tmp_path / "copy/qemu-mips", programs, ("hello-mips",), {"MIPSREC_SERVER": "1"})
    assert (result.returncode, result.stdout, result.stderr) == (0, "Hello from MIPS.\n", "")
    (tmp_path / "copy/.mipsrec-qemu/mipsrec-host").unlink()
    result = run(tmp_path / "copy/qemu-mips", programs, ("hello-mips",))
    assert result.returncode == 1 and "mipsrec qemu-names again" in result.stderr
