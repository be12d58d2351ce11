"""The excerpts of pages in docs/: runs the commands that the pages show, and writes what they print.

An excerpt is a part of a block that begins with a prompt: `$ `, a command, then what it prints. One page has a table
that is made, too. Enters: the pages. Leaves: the pages as they are now, by
`python -m tests.repository.excerpts --write`; without it, exit status 1 where a page differs. The commands run in a
folder of their own, with links to folders of the repository.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import llvmlite.binding

from mipsrec.architecture import modules_table
from tests.support.paths import ROOT
from tests.support.tools import need, outside_pytest

INDENT = "    "
FOLDERS = ("mipsrec", "runtime", "samples", "tests")


def _block(command: str) -> re.Pattern[str]:
    return re.compile(rf"(?<=\n\n){INDENT}\$ {command}.*\n(?:{INDENT}.*\n|\n+(?={INDENT}))*")


LIFE = ROOT / "docs" / "design" / "life-of-an-instruction.md"
PASS = ROOT / "docs" / "howto" / "add-a-pass.md"
PLAN = ROOT / "docs" / "design" / "plan.md"
FORMATS = ROOT / "docs" / "design" / "file-formats.md"
START = ROOT / "docs" / "howto" / "where-to-start.md"
PAGES = {
    LIFE: _block(""), PASS: _block("(?:cat|sed) "), PLAN: _block(""), FORMATS: _block(""), START: _block("mipsrec "),
}  # fmt: skip
"""For each page, what its blocks look like. In a how-to, the other commands are for the reader to run."""
PROGRAMS = ROOT / "docs" / "usage" / "programs.md"
MODULES_TABLE = re.compile(r"(?<=`mipsrec/architecture\.py`\):\n\n)(?:\|.*\n)+")
"""The table on PROGRAMS that is made from the modules of the architecture."""
NATIVE = ("mipsrec build", "objdump")
"""How commands begin whose output depends on the version of LLVM."""


@dataclass(frozen=True)
class Excerpt:
    """A command and what it prints, without the page's indentation."""

    command: str
    output: str

    @property
    def is_native(self) -> bool:
        return self.command.startswith(NATIVE)


def llvm_version() -> str:
    """Return the version of the LLVM that compiles here, as the page names it."""
    return "LLVM " + ".".join(map(str, llvmlite.binding.llvm_version_info))


def excerpts(block: str) -> list[Excerpt]:
    """Return the excerpts of a block of the page."""
    lines = [line.removeprefix(INDENT) for line in block.splitlines()]
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    ends = [*starts[1:], len(lines)]
    return [
        Excerpt(lines[start][2:], "".join(f"{line}\n" for line in lines[start + 1 : end]))
        for start, end in zip(starts, ends, strict=True)
    ]


def blocks(text: str, page: Path = LIFE) -> list[str]:
    """Return the blocks of a page's text that hold excerpts."""
    return PAGES[page].findall(text)


@contextmanager
def workplace() -> Iterator[Path]:
    """Give a folder for the commands to run in, with links to folders of the repository; what they write goes away."""
    folder = Path(tempfile.mkdtemp(prefix="mipsrec-excerpts-"))
    try:
        for name in FOLDERS:
            (folder / name).symlink_to(ROOT / name)
        yield folder
    finally:
        shutil.rmtree(folder)


def run(command: str, folder: Path) -> str:
    """Return what a command of the page prints; raises where it fails."""
    python = f'python() {{ "{sys.executable}" "$@"; }}'
    script = f'{python}\nmipsrec() {{ python -m mipsrec "$@"; }}\n{command}'
    result = subprocess.run(
        [need("bash"), "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "LC_ALL": "C", "MIPSREC_SERVER": "0"},
        capture_output=True,
        text=True,
        timeout=600,
        stdin=subprocess.DEVNULL,
    )
    if result.returncode != 0 or result.stderr:
        raise RuntimeError(f"{command}\nends with {result.returncode}: {result.stderr}")
    return result.stdout


def written_anew(text: str, folder: Path, page: Path = LIFE) -> str:
    """Return a page's text with its excerpts as the commands print them now, and the version of LLVM that made them."""

    def write(match: re.Match[str]) -> str:
        lines = []
        for excerpt in excerpts(match[0]):
            lines += [f"$ {excerpt.command}", *run(excerpt.command, folder).splitlines()]
        return "".join(f"{INDENT}{line}".rstrip() + "\n" for line in lines)

    return re.sub(r"LLVM \d+\.\d+\.\d+", llvm_version(), PAGES[page].sub(write, text))


def with_modules(text: str) -> str:
    """Return the text of PROGRAMS with the table of modules as it is now."""
    head = "| what | by what it is told | in `mipsrec info` | what happens |\n|---|---|---|---|\n"
    return MODULES_TABLE.sub(lambda _: head + "".join(f"{row}\n" for row in modules_table()), text)


def main(words: list[str]) -> int:
    """Write the pages, or say which are not current."""
    status = 0
    for page in (*PAGES, PROGRAMS):
        before = page.read_text()
        with workplace() as folder:
            after = with_modules(before) if page == PROGRAMS else written_anew(before, folder, page)
        if words == ["--write"]:
            page.write_text(after)
        elif before != after:
            print(f"{page} is not current; write it with: python -m tests.repository.excerpts --write", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(outside_pytest(lambda: main(sys.argv[1:])))
