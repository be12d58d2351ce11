"""The documents hold: links lead somewhere, commands and commits exist, pages are found, and sentences are short."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.paths import ROOT, RUNTIME

README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [README, *DOCS]
BESIDE_CODE = [path for path in sorted(ROOT.glob("*/README.md")) if path.parent.name != "build"]
ALL = [*PAGES, *(path for path in sorted(ROOT.glob("*.md")) if path != README), *BESIDE_CODE]
INDEX = ROOT / "docs" / "index.md"

README_LINES = 150
SENTENCE_WORDS = 22
"""Of an average sentence of a page."""
FOLDERS = ("docs/", "mipsrec/", "runtime/", "samples/", "tests/")
"""What begins with one of these is the path of a file or folder here."""

CODE_BLOCK = re.compile(r"^```.*?^```$|(?:(?<=\n\n)|(?<=\A))(?: {4,}[^\n]*\n|\n)+", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SPAN = re.compile(r"`([^`]+)`")
COMMIT = re.compile(r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7}\b")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


each_page = pytest.mark.parametrize("page", PAGES, ids=name)
each_document = pytest.mark.parametrize("page", ALL, ids=name)


def prose(page: Path) -> str:
    """Return the text of a page without its blocks of code."""
    return CODE_BLOCK.sub("\n", page.read_text())


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield the file and the anchor of every link of a page to a file."""
    for target in LINK.findall(SPAN.sub("code", prose(page))):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) <= README_LINES


@each_document
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for target, anchor in links(page):
        assert target.exists(), f"{name(page)} links to {target}"
        assert not anchor or anchor in anchors(target), f"{name(page)} links to {name(target)}#{anchor}"


def test_every_page_is_reached_from_the_index() -> None:
    reached, waiting = set(), [README, INDEX]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            waiting += [target for target, _ in links(page) if target in PAGES]
    assert not set(PAGES) - reached


@each_document
def test_paths_exist(page: Path) -> None:
    for path in SPAN.findall(prose(page)):
        if path.startswith(FOLDERS) and " " not in path:
            found = [*ROOT.glob(path.rstrip("/")), *page.parent.glob(path.rstrip("/"))]
            assert found, f"{name(page)} names {path}"


# ---- commits ----


@cache
def has_history() -> bool:
    """Return whether all commits of the project are here."""
    try:
        command = ["git", "-C", str(ROOT), "rev-parse", "--is-shallow-repository"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "false"
    except (OSError, subprocess.CalledProcessError):
        return False


@each_document
def test_commits_exist(page: Path) -> None:
    named = set(COMMIT.findall(prose(page)))
    if not named:
        return
    if not has_history():
        pytest.skip("the project's history is not here")
    for commit in sorted(named):
        command = ["git", "-C", str(ROOT), "rev-parse", "--quiet", "--verify", commit + "^{commit}"]
        assert subprocess.run(command, capture_output=True).returncode == 0, f"{name(page)} names commit {commit}"


# ---- commands ----


@cache
def help_of(command: tuple[str, ...]) -> str | None:
    """Return what a command's --help prints, or None where there is no such command."""
    words = [sys.executable, "-m", "mipsrec", *command, "--help"]
    result = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return result.stdout if result.returncode == 0 else None


def options_of(command: tuple[str, ...]) -> dict[str, bool]:
    """Return the options of a command, and whether each takes a value."""
    found = {}
    for line in re.findall(r"^  (-.*)$", help_of(command) or "", re.MULTILINE):
        for option in re.split(r"\s{2,}", line)[0].split(", "):
            word, _, value = option.partition(" ")
            found[word] = bool(value)
    return found


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of the mipsrec commands that a page shows, in blocks at a prompt and in its text."""
    for block in CODE_BLOCK.findall(page.read_text()):
        for line in re.findall(r"^ *[$#] (?:\w+=\S+ |sudo )*mipsrec (.*)$", block, re.MULTILINE):
            yield shlex.split(re.split(r" {2,}| [|>] ?", line)[0], comments=True)
    for span in SPAN.findall(prose(page)):
        words = span.split()
        if words[:1] == ["mipsrec"] and len(words) > 1 and not words[1].isupper():
            yield words[1:]


@each_document
def test_commands_and_their_options_exist(page: Path) -> None:
    for words in commands(page):
        shown = f"{name(page)}: mipsrec {' '.join(words)}"
        if words[0].startswith("-"):
            continue
        count = 2 if words[0] == "cache" and len(words) > 1 else 1
        assert help_of(tuple(words[:count])) is not None, shown
        options = options_of(tuple(words[:count]))
        rest = iter(words[count:])
        for word in rest:
            if not word.startswith("-") and words[0] in ("run", "verify", "profile", "call"):
                break  # what follows belongs to the program
            if word == "--":
                break
            if word.startswith("-"):
                option, equals, _ = word.partition("=")
                assert option in options, f"{shown}: {option}"
                if options[option] and not equals:
                    next(rest, None)


@cache
def known_options() -> set[str]:
    """Return the options of all commands and of the host."""
    names = re.findall(r"^    ([a-z-]+)(?: |$)", help_of(()) or "", re.MULTILINE)
    cache_names = [("cache", name) for name in ("list", "verify", "prune", "warm", "path")]
    found = {option for command in [*((name,) for name in names), *cache_names] for option in options_of(command)}
    for source in RUNTIME.glob("option_table.c"):
        found |= set(re.findall(r'"(--[a-z-]+)', source.read_text()))
    return found


def qemu_options() -> set[str]:
    """Return the options of the host by a name of qemu-user."""
    rows = re.findall(r'^    \{"([\w-]+)", (?:NULL|"QEMU_)', (RUNTIME / "qemu_options.c").read_text(), re.MULTILINE)
    return {f"-{row}" for row in rows}


@pytest.mark.parametrize("page", [README, *(page for page in DOCS if page.parent.name == "usage")], ids=name)
def test_options_in_the_text_exist(page: Path) -> None:
    known = known_options() | (qemu_options() if page.stem == "qemu-names" else set())
    for span in SPAN.findall(prose(page)):
        if re.match(r"--?\w", span):
            assert span.split()[0] in known, f"{name(page)} names {span}"


def test_the_page_of_qemu_user_names_all_its_options_and_variables() -> None:
    [page] = (page for page in DOCS if page.stem == "qemu-names")
    spans = {word.strip(",") for span in SPAN.findall(page.read_text()) for word in span.split()}
    variables = set(re.findall(r'"(QEMU_[A-Z0-9_]+)"', (RUNTIME / "qemu_options.c").read_text()))
    without = {"QEMU_DFILTER", "QEMU_ONE_INSN_PER_TB"}  # of options that change nothing
    assert qemu_options() | (variables - without) <= spans


# ---- language ----


def sentences(page: Path) -> Iterator[str]:
    """Yield the sentences of a page's paragraphs and lists."""
    text = SPAN.sub("code", LINK.sub("link", prose(page)))
    lines = [line for line in text.splitlines() if not line.startswith(("|", "#", "<", "!"))]
    for paragraph in re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) ", "\n".join(lines)):
        yield from (part for part in re.split(r"(?<=[.:;?!])\s+", paragraph.strip()) if len(part.split()) > 2)


@each_page
def test_sentences_are_short(page: Path) -> None:
    counts = [len(sentence.split()) for sentence in sentences(page)]
    assert not counts or sum(counts) / len(counts) < SENTENCE_WORDS
