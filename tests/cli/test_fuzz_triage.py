"""`mipsrec fuzz --triage`: crashes made by hand become groups by signal and functions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commandline import environment, mipsrec
from tests.support.compiled import compile_guest
from tests.support.paths import GUESTS
from tests.support.tools import need

CRASHES = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#define APART __attribute__((noipa))
static volatile int zero;
static APART void store(volatile int *to) { *to = 1; }
static APART void by_letter(const char *text) { store((volatile int *)(unsigned long)(text[1] & 4)); zero++; }
static APART void by_number(void) { store((volatile int *)4); zero++; }
static APART int divide(int number) { return number / zero; }
static APART void check(void) { abort(); }
static APART void jump(void (*to)(void)) { to(); zero++; }
static APART void use(volatile char *text) { zero += *text & 0; }
static APART void overwrite(const char *text, unsigned size) {
    volatile char copy[8];
    for (unsigned i = 0; i < size; i++) copy[i] = text[2];
    use(copy);
}
int main(int count, char **words) {
    char text[256] = {0};
    FILE *stream = count > 1 ? fopen(words[1], "rb") : stdin;
    if (stream == NULL || fread(text, 1, 255, stream) < 2) return 1;
    switch (text[0]) {
    case 'L': by_letter(text); break;
    case 'N': by_number(); break;
    case 'D': return divide(7);
    case 'A': check(); break;
    case 'J': jump((void (*)(void))(unsigned long)(text[1] == 'x' ? 4 : 6)); break;
    case 'O': overwrite(text, 64); break;
    }
    return 0;
}
"""

INPUTS = {
    "Lx and more of it that does not matter": "SIGSEGV-store-1", "Ly": "SIGSEGV-store-1", "Nx": "SIGSEGV-store-2",
    "Dx": "SIGFPE-divide-1", "Ax": "SIGABRT-check-1", "Jx": "SIGSEGV-jump-1", "Jy": "SIGSEGV-jump-1",
    "Ox\1": "outside", "Ox\377": "outside", "Zx": "",
}  # fmt: skip
"""By input the group that it belongs to, as the source says. Where an overwritten address leads to gives the signal."""


@pytest.fixture(scope="module", params=[("big", True), ("little", False)], ids=["big-file", "little-stdin"])
def crashes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, bool]:
    """A program, a folder as afl-fuzz leaves it, and whether the input is a file."""
    order, reads_file = request.param
    need("afl-tmin", "afl++")
    folder = tmp_path_factory.mktemp("triage")
    program = compile_guest(folder, order, CRASHES, "-static", "-g", "-fno-stack-protector")
    place = folder / "findings/default/crashes"
    place.mkdir(parents=True)
    (folder / "findings/default/queue").mkdir()
    (place / "README.txt").write_text("of AFL++")
    for number, text in enumerate(INPUTS):
        (place / f"id:{number:06},sig:11").write_bytes(text.encode("latin-1"))
    return program, folder / "findings", reads_file


def triage(
    crashes: tuple[Path, Path, bool], path: str | None = None
) -> tuple[subprocess.CompletedProcess[str], dict[str, list[str]]]:
    """Return what the command printed, and by group the inputs in it."""
    program, findings, reads_file = crashes
    ended = mipsrec("fuzz", program, "--triage", "-o", findings, *(("--", "@@") if reads_file else ()),
                    PATH=path or os.environ["PATH"])  # fmt: skip
    groups = {path.parent.name: path.read_text().splitlines() for path in findings.glob("crashes/*/inputs.txt")}
    return ended, groups


def expected() -> dict[str, set[str]]:
    """Return by group the inputs of it, without those whose group has no fixed name."""
    found: dict[str, set[str]] = {}
    for number, group in enumerate(INPUTS.values()):
        found.setdefault(group, set()).add(f"default/crashes/id:{number:06},sig:11")
    return found


def test_groups(crashes: tuple[Path, Path, bool]) -> None:
    """By gdb's backtrace. A second time nothing is done anew; a new crash joins its group."""
    need("gdb-multiarch")
    findings = crashes[1]
    ended, groups = triage(crashes)
    wanted = expected()
    assert ended.returncode == 3 and "1 of the inputs that crashed did not crash again" in ended.stderr, ended
    assert {frozenset(names) for names in groups.values()} == {frozenset(v) for k, v in wanted.items() if k}
    named = {frozenset(names): group for group, names in groups.items()}
    for group, names in wanted.items():
        found = named.get(frozenset(names), "")
        assert found.split("-")[1:2] == group.split("-")[1:2] or group == "outside", (group, found)
        assert f"{findings}/crashes/{found}: " in ended.stdout or not group
    assert "SIGFPE in divide, called by main; 1 input, the smallest of 2 bytes\n" in ended.stdout
    store = findings / "crashes" / named[frozenset(wanted["SIGSEGV-store-1"])]
    assert len((store / "input").read_bytes()) == 2  # the program wants two
    report = (store / "report.txt").read_text()
    assert "by_letter" in report and "the guest dies of signal 11 (SIGSEGV)" in report and "mipsrec run" in report
    _check_scripts(findings)
    before = {path: path.stat().st_mtime_ns for path in findings.glob("crashes/*/input")}
    (findings / "default/crashes/id:000099,sig:08").write_text("Dy")
    _, later = triage(crashes)
    (findings / "default/crashes/id:000099,sig:08").unlink()
    assert later == {**groups, "SIGFPE-divide-1": [*groups["SIGFPE-divide-1"], "default/crashes/id:000099,sig:08"]}
    assert {path: path.stat().st_mtime_ns for path in findings.glob("crashes/*/input")} == before
    shutil.rmtree(findings / "crashes")


def _check_scripts(findings: Path) -> None:
    """Each group's script ends the program by the signal in the group's name."""
    numbers = {"SIGSEGV": 11, "SIGABRT": 6, "SIGFPE": 8, "SIGBUS": 7}
    for script in findings.glob("crashes/*/run.sh"):
        ended = subprocess.run([script], env=environment(MIPSREC=f"{sys.executable} -m mipsrec"), capture_output=True,
                               timeout=300)  # fmt: skip
        assert ended.returncode == -numbers[script.parent.name.split("-")[0]], script


def test_without_debugger(crashes: tuple[Path, Path, bool], tmp_path: Path) -> None:
    """pc and ra name the functions."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("afl-fuzz", "afl-tmin", "cc", "gcc", "as", "ld"):
        (tools / tool).symlink_to(need(tool))
    place = crashes[1] / "default/crashes"
    left_out = [path for path in place.glob("id:*") if path.read_text("latin-1")[:2] not in ("Ly", "Nx", "Dx", "Jx")]
    for path in left_out:  # each crash is made smaller, which takes seconds
        path.rename(tmp_path / path.name)
    ended, groups = triage(crashes, str(tools))
    shutil.rmtree(crashes[1] / "crashes")
    for path in left_out:
        (tmp_path / path.name).rename(path)
    assert ended.returncode == 3
    assert "SIGFPE in divide, called by main; 1 input" in ended.stdout
    assert len([group for group in groups if "-store-" in group]) == 2
    assert any("-jump-" in group for group in groups)


SPILLS = r"""
#include <stdio.h>
#include <stdlib.h>
static __attribute__((noipa)) void spill(volatile char *block, int at) { block[at] = 1; }
int main(void) { char *block = malloc(16); if (getchar() == 'H') spill(block, 16); free(block); return 0; }
"""


def test_check_memory(tmp_path: Path) -> None:
    """A store behind a block is a crash with --check-memory alone."""
    need("afl-tmin", "afl++")
    program = compile_guest(tmp_path, "big", SPILLS, "-static")
    for place in ("crashes", "queue"):
        (tmp_path / "findings/default" / place).mkdir(parents=True)
    (tmp_path / "findings/default/crashes/id:000000,sig:06").write_text("HAAA")
    words = ("fuzz", program, "--triage", "-o", tmp_path / "findings")
    assert "1 of the inputs that crashed did not crash again" in mipsrec(*words).stderr
    shutil.rmtree(tmp_path / "findings/crashes")
    checked = mipsrec(*words, "--check-memory")
    assert (
        checked.returncode == 3
        and "crashes/SIGABRT-spill-1: SIGABRT in spill, called by main; 1 input" in checked.stdout
    )
    assert "heap error: store" in (tmp_path / "findings/crashes/SIGABRT-spill-1/report.txt").read_text()


def test_a_crash_of_a_service(tmp_path: Path) -> None:
    """With --desock an input is what its client sends, also when it is run again."""
    need("afl-tmin", "afl++")
    service = compile_guest(tmp_path, "big", (GUESTS / "service.c").read_text(), "-static", "-w")
    place = tmp_path / "findings/default/crashes"
    place.mkdir(parents=True)
    (tmp_path / "findings/default/queue").mkdir()
    (place / "id:000000,sig:11").write_bytes(b"BUG and more")
    ended = mipsrec("fuzz", service, "--triage", "--desock", "80", "-o", tmp_path / "findings")
    (found,) = (tmp_path / "findings/crashes").glob("SIGSEGV-answer-1")
    assert ended.returncode == 3 and "--desock 80" in (found / "run.sh").read_text()
    assert (found / "input").read_bytes() == b"BUG"
    wrong = mipsrec("fuzz", service, "--triage", "--desock", "http", "-o", tmp_path / "findings")
    assert wrong.returncode == 2 and "give the port that the service listens at" in wrong.stderr
