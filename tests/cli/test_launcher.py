"""The native commands `mipsrec` and `mipsrec-run` beside the same in Python: both start the same host in the same way.

A program that prints its words and surroundings stands for the host. Python's way leaves a mark, so that a test knows
whether Python ran.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from mipsrec.host_build import build_launcher
from mipsrec.native.compiler import find_compiler
from mipsrec.pipeline import Options, cached_library, open_guest
from tests.support.compiled import BARE
from tests.support.dynamic import program
from tests.support.paths import PREBUILT, ROOT
from tests.support.settled import settle
from tests.support.tools import need

HOST = """#!/bin/sh
echo "host $0"
for word; do printf '%s\\n' "[$word]"; done
env | grep -v '^_=' | sort
grep -E 'SigIgn|SigBlk' /proc/self/status
umask
"""
PYTHON = """#!{python}
import sys
from pathlib import Path

open({mark!r}, "a").write("ran\\n")
sys.path.insert(0, {root!r})
import mipsrec.commands.run
mipsrec.commands.run.host_executable = lambda: Path({host!r})
from mipsrec.cli import main
sys.exit(main())
"""


@dataclass
class Installed:
    """A folder with the commands, and programs: one whose code is known to be whole, a new one, and a dynamic one."""

    folder: Path
    cache: Path

    @property
    def mark(self) -> Path:
        return self.folder / "mark"

    def run(self, name: str, *words: object, **changes: str | None) -> subprocess.CompletedProcess[str]:
        variables: dict[str, str | None] = {
            "PATH": os.environ["PATH"], "HOME": str(self.folder), "MIPSREC_CACHE": str(self.cache), **changes,
        }  # fmt: skip
        environment = {name: value for name, value in variables.items() if value is not None}
        return subprocess.run([self.folder / "bin" / name, *map(str, words)], capture_output=True, text=True,
                              timeout=600, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL)  # fmt: skip

    def python_ran(self) -> bool:
        """Return whether Python ran since the last question."""
        ran = self.mark.exists()
        self.mark.unlink(missing_ok=True)
        return ran


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("cc", "gcc")
    path = tmp_path_factory.mktemp("launcher") / "mipsrec"
    build_launcher(find_compiler(), path, ("-Wall", "-Wextra", "-Werror"))
    return path


def install(folder: Path, launcher: Path, host: Path | None = None) -> Path:
    """Make the folder of commands."""
    commands = folder / "bin"
    commands.mkdir()
    for name in ("mipsrec", "mipsrec-run"):
        shutil.copy(launcher, commands / name)
    if host is not None:
        shutil.copy(host, commands / "mipsrec-host")
    else:
        (commands / "mipsrec-host").write_text(HOST)
    text = PYTHON.format(
        python=sys.executable, mark=str(folder / "mark"), root=str(ROOT), host=str(commands / "mipsrec-host")
    )
    (commands / "mipsrec-python").write_text(text)
    for path in commands.iterdir():
        path.chmod(0o755)
    return commands


def remember(host: Path, cache: Path, *programs: Path) -> None:
    """Let the host make its notes on programs whose code is in a cache."""
    settle(cache, *programs)
    for path in programs:
        result = subprocess.run([host, "--cache", cache, path], capture_output=True)
        assert result.returncode == 0


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, launcher: Path, host: Path) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    install(folder, launcher)
    (folder / "root/bin").mkdir(parents=True)
    for name, order in (("known", "mips"), ("new", "mipsel"), ("root/bin/known", "mips")):
        shutil.copy(PREBUILT / order / "hello.elf", folder / name)
    (folder / "root/bin/link").symlink_to("/bin/known")
    program(folder / "dynamic", "big")
    shutil.copy(folder / "dynamic", folder / "root/bin/dynamic")
    (folder / "text").write_text("#!/bin/sh\n")
    (folder / "folder").mkdir()
    result = Installed(folder, folder / "cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MIPSREC_CACHE", str(result.cache))
        cached_library(open_guest(folder / "known"), Options(jobs=1))
    remember(host, result.cache, folder / "known", folder / "root/bin/known")
    return result


AT_ONCE = [
    ("known",),
    ("known", "--stats", "-x", ""),
    ("known", "--", "--st", "-h"),
    ("dynamic", "a b", "*"),
    ("./dynamic",),
    ("--strace", "--stats", "--report", "known"),
    ("--report", "--strace", "dynamic", "run"),
    ("--tier", "aot", "known"),
    ("--tier=baseline", "absent"),
    ("--tier", "interp", "new"),
    ("--tier=interp", "text"),
    ("--tier", "aot", "--tier", "baseline", "new"),
    ("-E", "A=1", "-EB=2 3", "-E", "C", "known"),
    ("--profile", "out.prof", "known"),
    ("--profile", "out.prof", "--profile-rate", "250", "dynamic"),
    ("--profile-rate", "250", "known"),
    ("--library", "lib.so", "new"),
    ("--library=lib.so", "--tier", "aot", "absent"),
    ("--static-lib", "lib.so", "new"),
    ("--static-lib=lib.so", "--stats", "new"),
    ("-L", "root", "/bin/known", "x"),
    ("-Lroot", "/bin/link"),
    ("--sysroot", "root", "/bin/dynamic"),
    ("--sysroot=root", "dynamic"),
    ("-L", "root", "-L", "folder", "known"),
    ("new",),
    ("--server", "--no-server", "--stats", "known"),
    ("--no-server", "--server", "new"),
    ("--server", "--tier", "aot", "known"),
]
BY_PYTHON = [
    (),
    ("-h", "known"),
    ("--library=lib.so", "--tier", "interp", "absent"),
    ("--library", "lib.so", "--server", "known"),
    ("--st", "known"),
    ("--nonsense", "known"),
    ("--stats=1", "known"),
    ("--tier",),
    ("--tier", "jit", "known"),
    ("--tier", "", "known"),
    ("--tier=", "known"),
    ("--engine", "native", "known"),
    ("--engine=interp", "text"),
    ("--engine", "aot", "known"),
    ("--static-lib",),
    ("--static-lib=", "new"),
    ("-E",),
    ("-E", "-x", "known"),
    ("-L=root", "known"),
    ("--sysroot=", "known"),
    ("--profile-rate", "0", "known"),
    ("--profile-rate", "10000", "--tier", "interp", "known"),
    ("--profile-rate", "1_0", "--tier", "interp", "known"),
    ("--", "known", "a"),
    ("--stats", "--", "dynamic", "--", "b"),
    ("--", "dynamic", "--st"),
    ("--opt", "2", "dynamic"),
    ("--memory", "paged", "dynamic"),
    ("--cpu", "generic", "--calls", "thunked", "dynamic"),
    ("--build", "--sysroot", "absent", "dynamic"),
    ("--gdb-on-crash", "0", "dynamic"),
    ("--gdb", "0", "--gdb-on-crash", "0", "known"),
    ("absent",),
    ("",),
    ("folder",),
    ("text",),
    ("-L", "root", "/bin/absent"),
    ("-",),
]


@pytest.mark.parametrize("words", AT_ONCE, ids=" ".join)
def test_known_programs_start_without_python(installed: Installed, words: tuple[str, ...]) -> None:
    result = installed.run("mipsrec", "run", *words)
    assert result.stdout.startswith(f"host {installed.folder}/bin/mipsrec-host\n") and not installed.python_ran()
    assert installed.run("mipsrec-run", *words).stdout == result.stdout and not installed.python_ran()
    python = installed.run("mipsrec-python", "run", *words)
    assert (python.returncode, python.stdout, python.stderr) == (result.returncode, result.stdout, result.stderr)
    assert installed.python_ran()


@pytest.mark.parametrize("words", BY_PYTHON, ids=" ".join)
def test_all_else_is_left_to_python(installed: Installed, words: tuple[str, ...]) -> None:
    result = installed.run("mipsrec-run", *words) if "--" in words else installed.run("mipsrec", "run", *words)
    assert installed.python_ran()
    python = installed.run("mipsrec-python", "run", *words)
    assert (result.returncode, result.stdout, result.stderr) == (python.returncode, python.stdout, python.stderr)
    assert "Traceback" not in python.stderr


@pytest.mark.parametrize("words", [(), ("--version",), ("--help",), ("info", "known"), ("nonsense",), ("ru", "known")])
def test_other_commands_are_left_to_python(installed: Installed, words: tuple[str, ...]) -> None:
    result, python = installed.run("mipsrec", *words), installed.run("mipsrec-python", *words)
    assert (result.returncode, result.stdout, result.stderr) == (python.returncode, python.stdout, python.stderr)


SURROUNDINGS: list[dict[str, str | None]] = [
    {"MIPSREC_CACHE": None, "XDG_CACHE_HOME": "{folder}/xdg"},
    {"MIPSREC_CACHE": "", "XDG_CACHE_HOME": "", "HOME": "{folder}/home"},
    {"MIPSREC_CACHE": "cache"},
    {"MIPSREC_SYSROOT": "root"},
    {"MIPSREC_CACHE_PATH": "/a:{folder}/cache", "MIPSREC_WINDOW": "any", "LANG": "C"},
    {"LC_CTYPE": "C", "LC_ALL": "C.UTF-8", "PYTHONPATH": "/x"},
    {"MIPSREC_SERVER": "0"},
    {"MIPSREC_SERVER": "", "MIPSREC_SERVER_IDLE": "3"},
    {"MIPSREC_SERVER": "1", "MIPSREC_SERVER_IDLE": "", "CC": "cc -v", "MIPSREC_CACHE_LIMIT": "1G"},
    {"PATH": "/bin:/x\ny"},
]


@pytest.mark.parametrize("changes", SURROUNDINGS, ids=lambda changes: " ".join(changes))
def test_variables_count_as_in_python(installed: Installed, changes: dict[str, str | None]) -> None:
    for name in ("xdg", "home/.cache"):
        if not (installed.folder / name).exists():
            (installed.folder / name).mkdir(parents=True)
            shutil.copytree(installed.cache, installed.folder / name / "mipsrec")
    where = {name: value and value.format(folder=installed.folder) for name, value in changes.items()}
    installed.python_ran()
    for words in (("dynamic",), ("known",), ("/bin/dynamic",)):
        result = installed.run("mipsrec", "run", *words, **where)
        at_once = not installed.python_ran()
        python = installed.run("mipsrec-python", "run", *words, **where)
        assert (result.returncode, result.stdout) == (python.returncode, python.stdout)
        assert at_once or words[-1] in ("known", "/bin/dynamic"), "copies have no notes; the other path is no program"
        installed.python_ran()


@pytest.mark.parametrize(
    "variable, value",
    [("MIPSREC_SERVER", "maybe"), ("MIPSREC_SERVER_IDLE", "soon"), ("MIPSREC_SERVER_IDLE", "3x"),
     ("MIPSREC_CACHE_LIMIT", "much"), ("MIPSREC_CACHE_LIMIT", "1GG")],
)  # fmt: skip
def test_variables_that_mean_nothing_are_left_to_python(installed: Installed, variable: str, value: str) -> None:
    result = installed.run("mipsrec", "run", "dynamic", **{variable: value})
    assert installed.python_ran() and (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"mipsrec: {variable}") and result.stderr.count("\n") == 1


def test_a_program_outside_the_sysroot(installed: Installed) -> None:
    """Named by an absolute path that is not below the sysroot."""
    words = ("-L", "root", str(installed.folder / "dynamic"))
    installed.python_ran()
    result = installed.run("mipsrec", "run", *words)
    assert not installed.python_ran()
    assert result.stdout == installed.run("mipsrec-python", "run", *words).stdout
    installed.python_ran()


@pytest.mark.parametrize("variable", ["MIPSREC_CACHE", "XDG_CACHE_HOME", "HOME"])
def test_a_cache_that_is_not_there_is_made_without_python(
    installed: Installed, tmp_path: Path, variable: str
) -> None:
    """As Python makes it: for this user alone, with the folders above it."""
    below = {"MIPSREC_CACHE": "new/cache", "XDG_CACHE_HOME": "mipsrec", "HOME": ".cache/mipsrec"}[variable]
    said = []
    for name in ("mipsrec", "mipsrec-python"):
        base = tmp_path / name
        cache = base / below
        changes: dict[str, str | None] = {"MIPSREC_CACHE": None, "XDG_CACHE_HOME": None}
        changes[variable] = str(cache if variable == "MIPSREC_CACHE" else base)
        result = installed.run(name, "run", "dynamic", **changes)
        assert installed.python_ran() == (name == "mipsrec-python")
        said.append(result.stdout.replace(str(base), "BASE"))
        places = [place for place in (cache, *cache.parents) if place.is_relative_to(base)]
        assert [place.stat().st_mode & 0o7777 for place in places] == [0o700] * len(places)
    assert said[0] == said[1] and "BASE" in said[0]


@pytest.mark.parametrize("words", [("--tier", "baseline"), ("--tier", "interp"), ("--library", "lib.so")], ids=" ".join)
def test_no_cache_is_made_that_nothing_needs(installed: Installed, tmp_path: Path, words: tuple[str, ...]) -> None:
    result = installed.run("mipsrec", "run", *words, "new", MIPSREC_CACHE=str(tmp_path / "new"))
    assert result.returncode == 0 and not installed.python_ran() and not (tmp_path / "new").exists()


def test_no_cache_is_made_where_others_can_write(installed: Installed) -> None:
    """In a sticky folder it is, as others cannot replace it there. pytest's own folders are closed to others."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="mipsrec-launcher-") as open_folder:
        for mode, made in ((0o777, False), (0o1777, True)):
            os.chmod(open_folder, mode)
            result = installed.run("mipsrec", "run", "dynamic", MIPSREC_CACHE=f"{open_folder}/new/cache")
            assert result.returncode == 0 and installed.python_ran() != made
            assert os.path.exists(f"{open_folder}/new") == made == (result.stderr == "")


def test_a_program_or_library_that_changed_is_not_known(installed: Installed) -> None:
    path = installed.folder / "changing"
    shutil.copy(installed.folder / "known", path)
    installed.run("mipsrec", "run", "--no-server", "changing")
    assert installed.python_ran(), "the host has not seen this file"
    (library,) = installed.cache.glob("code/*/*/*/*.so")
    times = library.stat()
    try:
        os.utime(library, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
        installed.run("mipsrec", "run", "--no-server", "known")
        assert installed.python_ran()
        installed.run("mipsrec", "run", "known")
        assert not installed.python_ran()
    finally:
        os.utime(library, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_commands_that_are_missing(launcher: Path, tmp_path: Path) -> None:
    shutil.copy(launcher, tmp_path / "mipsrec")
    result = subprocess.run([tmp_path / "mipsrec", "run", "--tier", "interp", "x"], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (1, "") and result.stderr.count("\n") == 1
    assert "mipsrec-python" in result.stderr and "install mipsrec again" in result.stderr


def test_a_link_to_the_command_finds_its_folder(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "mipsrec").symlink_to(installed.folder / "bin/mipsrec")
    result = subprocess.run([tmp_path / "mipsrec", "run", "--tier", "interp", "x"], capture_output=True, text=True)
    assert result.stdout.startswith(f"host {installed.folder}/bin/mipsrec-host\n")


EXECUTES = """
void __start(void)
{
    register long v0 __asm__("$2") = 4011; /* execve */
    register const char *a0 __asm__("$4") = NEXT;
    const char *const words[] = {NEXT, (const char *)0};
    register const char *const *a1 __asm__("$5") = words, *const *a2 __asm__("$6") = words + 1;
    register long a3 __asm__("$7");
    __asm__ volatile("syscall" : "+r"(v0), "=r"(a3) : "r"(a0), "r"(a1), "r"(a2) : "memory");
    *(volatile int *)0 = 0;
}
"""


def test_executed_programs_need_no_python(launcher: Path, host: Path, tmp_path: Path) -> None:
    """A program with code executes one without: the folder of the commands has no Python at all."""
    compiler = need("mips-linux-gnu-gcc")
    commands = install(tmp_path, launcher, host)
    (commands / "mipsrec-python").unlink()
    (tmp_path / "executes.c").write_text(EXECUTES)
    for name, following in (("second", PREBUILT / "mips/hello.elf"), ("first", tmp_path / "second")):
        words = [compiler, *BARE, "-O1", f'-DNEXT="{following}"', tmp_path / "executes.c", "-o", tmp_path / name]
        subprocess.run(words, check=True)
    cache = tmp_path / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MIPSREC_CACHE", str(cache))
        cached_library(open_guest(tmp_path / "first"), Options(jobs=1))
    remember(host, cache, tmp_path / "first")
    result = subprocess.run([commands / "mipsrec-run", tmp_path / "first"], capture_output=True, text=True,
                            env={"MIPSREC_CACHE": str(cache)})  # fmt: skip
    assert (result.returncode, result.stdout, result.stderr) == (0, "Hello from MIPS.\n", "")
