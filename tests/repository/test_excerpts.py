"""Pages show what the tools print: the life of an instruction, and the example of a pass."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repository.excerpts import (
    FORMATS,
    LIFE,
    MODULES_TABLE,
    PASS,
    PLAN,
    PROGRAMS,
    START,
    Excerpt,
    blocks,
    excerpts,
    llvm_version,
    run,
    with_modules,
    workplace,
    written_anew,
)
from tests.support.tools import need

TEXT = LIFE.read_text()
EXCERPTS = [excerpt for block in blocks(TEXT) for excerpt in excerpts(block)]
PAGE_LINES = 200


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder for all commands, in the order of the page."""
    with workplace() as found:
        yield found


def check(folder: Path, is_native: bool) -> None:
    for excerpt in (excerpt for excerpt in EXCERPTS if excerpt.is_native == is_native):
        printed = "".join(f"{line.rstrip()}\n" for line in run(excerpt.command, folder).splitlines())
        assert printed == excerpt.output, f"{excerpt.command}\nwrite with: python -m tests.repository.excerpts --write"


def test_excerpts_are_what_the_translator_prints(folder: Path) -> None:
    assert sum(not excerpt.is_native for excerpt in EXCERPTS) > 5
    check(folder, is_native=False)


def test_native_code_is_what_this_version_of_llvm_makes(folder: Path) -> None:
    assert sum(excerpt.is_native for excerpt in EXCERPTS) > 3
    if platform.machine() != "x86_64":
        pytest.skip("the page shows code for x86-64")
    if llvm_version() not in TEXT:
        pytest.skip(f"the page shows code of another version than {llvm_version()}")
    need("objdump", "binutils")
    check(folder, is_native=True)


@pytest.mark.parametrize(("page", "count"), [(PASS, 3), (PLAN, 2), (FORMATS, 6), (START, 4)])
def test_other_pages(page: Path, count: int) -> None:
    text = page.read_text()
    assert len(blocks(text, page)) == count
    with workplace() as folder:
        assert written_anew(text, folder, page) == text, "write with: python -m tests.repository.excerpts --write"


def test_the_table_of_modules_is_current() -> None:
    text = PROGRAMS.read_text()
    assert len(MODULES_TABLE.findall(text)) == 1
    assert with_modules(text) == text, "write with: python -m tests.repository.excerpts --write"


def test_the_page_is_short() -> None:
    assert len(TEXT.splitlines()) <= PAGE_LINES


def test_a_block_is_cut_into_commands_and_written_anew(tmp_path: Path) -> None:
    page = "Text.\n\n    $ echo one\n    old\n    $ echo two; echo three\n\nText of LLVM 1.2.3.\n\n    no command\n"
    (block,) = blocks(page)
    assert excerpts(block) == [Excerpt("echo one", "old\n"), Excerpt("echo two; echo three", "")]
    assert written_anew(page, tmp_path) == (
        "Text.\n\n    $ echo one\n    one\n    $ echo two; echo three\n    two\n    three\n\n"
        f"Text of {llvm_version()}.\n\n    no command\n"
    )
    with pytest.raises(RuntimeError, match="ends with 3"):
        run("exit 3", tmp_path)
