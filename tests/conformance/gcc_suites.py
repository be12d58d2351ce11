"""gcc's own tests of running programs: which of them pass on MIPS, their sources, and how each is compiled.

Enters: the lists in gcc_lists/, which say what passes at which level, and the sources in Debian's gcc-12-source.
Leaves: `Case`s, each with its files and options. Nothing of gcc's is kept here but the names of its files.
"""

from __future__ import annotations

import fcntl
import re
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tests.support.paths import TESTS
from tests.support.tools import need

LISTS = TESTS / "conformance" / "gcc_lists"
SUITES = ("execute", "ieee", "builtins", "atomic", "g++eh", "g++old")
PACKAGE = Path("/usr/src/gcc-12")  # of gcc-12-source, whose archive is called after the very version
TESTSUITE = Path("gcc", "testsuite")
TARGET = "gcc.target/mips"
"""The folder of tests of MIPS alone, for target_programs.py."""

LEVELS = {
    "O0": "-O0",
    "O2": "-O2",
    "O2-nopie": "-O2 -fno-pie -no-pie",
    "O2-mips1": "-O2 -march=mips1 -mfp32",
    "O2-mips2": "-O2 -march=mips2",
    "O2-fp64": "-O2 -mfp64",
    "O2-mips16": "-O2 -mips16",
    "O2-dsp": "-O2 -mdspr2 -march=74kc -ftree-vectorize",
    "O3": "-O3",
    "O3-mips32": "-O3 -march=mips32",
}
"""Compilers' options by the names that the lists use."""

SUITE_FLAGS = {
    "ieee": "-fno-inline",
    "builtins": "-fno-tree-dse -fno-tree-loop-distribute-patterns -fno-tracer -fno-ipa-ra -fno-inline-functions",
}
"""What the .exp file of a suite adds."""

_DIRECTIVE = re.compile(
    r'\{\s*dg-(?P<kind>options|additional-options|additional-sources)\s+(?:\{\s*)?(?:"(?P<words>[^"]*)"|(?P<word>-[^\s{}]*))'
    r"(?:\s*\})?\s*(?:\{\s*target\s+(?P<target>.*))?\}"
)
_TARGETS = ("fpic",)  # of those that the tests name, what MIPS Linux is


@dataclass(frozen=True)
class Suite:
    """A list: where its tests stand, in which byte orders they are known to pass, and at which levels each does."""

    name: str
    folder: str
    orders: tuple[str, ...]
    levels: dict[str, tuple[str, ...]]

    def tests(self, level: str) -> list[str]:
        return [name for name, levels in self.levels.items() if level in levels]

    def all_levels(self) -> list[str]:
        return [level for level in LEVELS if any(level in levels for levels in self.levels.values())]


@lru_cache
def read_suite(name: str) -> Suite:
    """Return a list: lines "folder F", "orders O...", "levels LETTER L..." and then "LETTER FILE"."""
    lines = [line.split() for line in (LISTS / f"{name}.txt").read_text().splitlines() if not line.startswith("#")]
    sets = {words[1]: tuple(words[2:]) for words in lines if words[0] == "levels"}
    header = {words[0]: words[1:] for words in lines if words[0] in ("folder", "orders")}
    tests = {words[1]: sets[words[0]] for words in lines if len(words) == 2 and words[0] in sets}
    return Suite(name, header["folder"][0], tuple(header["orders"]), tests)


def sources(folder: Path) -> Path:
    """Return gcc's testsuite, unpacked into `folder` once; ends the test when the package is not installed."""
    tar, _ = need("tar"), need("xz", "xz-utils")
    archive = need(str(next(PACKAGE.glob("gcc-12*.tar.xz"), PACKAGE / "gcc-12.tar.xz")), "gcc-12-source")
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "unpacked"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folders = _outermost({TARGET, *(read_suite(suite).folder for suite in SUITES)})
        if not done.exists() or done.read_text() != "\n".join(folders):
            wanted = [str(Path("*") / TESTSUITE / path) for path in folders]
            words = [tar, "-xf", archive, "-C", str(folder), "--strip-components=1", "--wildcards", *wanted]
            subprocess.run(words, check=True)
            done.write_text("\n".join(folders))
    return folder / TESTSUITE


def _outermost(folders: set[str]) -> list[str]:
    """Return the folders that are not inside another one."""
    return sorted(each for each in folders if not any(each.startswith(f"{other}/") for other in folders))


@dataclass(frozen=True)
class Case:
    """One program: its files and the options that it asks for itself."""

    suite: str
    name: str
    files: tuple[Path, ...]
    flags: tuple[str, ...]


def own_flags(source: Path, text: str) -> list[str]:
    """Return what the comments of a test, or a .x file beside it, ask the compiler for."""
    flags: list[str] = []
    for match in _DIRECTIVE.finditer(text):
        if match["kind"] != "additional-sources" and (not match["target"] or match["target"].startswith(_TARGETS)):
            flags += (match["words"] or match["word"] or "").split()
    beside = source.with_suffix(".x")
    if beside.exists():
        for match in re.finditer(r"^(?:set|lappend) additional_flags (.*)$", beside.read_text(), re.MULTILINE):
            flags += match[1].replace('"', " ").split()
    return [flag for flag in flags if not flag.startswith(("-Wl,", "-fdump"))]


def load_test(testsuite: Path, suite: Suite, name: str) -> Case:
    """Return a test of a suite."""
    source = testsuite / suite.folder / name
    text = source.read_text(errors="replace")
    files = [source]
    for match in _DIRECTIVE.finditer(text):
        if match["kind"] == "additional-sources":
            files += [source.parent / word for word in (match["words"] or "").split()]
    if suite.name == "builtins":
        files += [source.with_name(f"{source.stem}-lib.c"), source.parent / "lib" / "main.c"]
    flags = [*SUITE_FLAGS.get(suite.name, "").split(), *own_flags(source, text)]
    return Case(suite.name, name, tuple(files), tuple(flags))
