"""The glossary has one head for each word, and only words that the project uses."""

from __future__ import annotations

import re

import pytest

from tests.support.paths import ROOT, RUNTIME

PAGE = ROOT / "docs" / "design" / "glossary.md"


def heads(text: str) -> list[str]:
    """Return the words that the tables of a glossary explain; what stands in brackets only says of what they are."""
    cells = re.findall(r"^\| ([^|]*?) \|", text, re.MULTILINE)
    words = [word for cell in cells for word in re.sub(r" \(.*?\)", "", cell).split(", ")]
    return [word for word in words if word != "term" and not word.startswith("---")]


def used_text() -> str:
    """Return all that sources and the other pages say, as words in lower case with single spaces around them."""
    sources = [*(ROOT / "mipsrec").rglob("*.py"), *RUNTIME.rglob("*.[ch]"), *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(path.read_text() for path in sorted(sources) if path != PAGE)
    return words_of(text)


def words_of(text: str) -> str:
    return f" {re.sub('[^a-z0-9]+', ' ', text.lower()).strip()} "


HEADS = heads(PAGE.read_text())


def test_each_word_has_one_head() -> None:
    assert len(HEADS) > 80
    assert sorted(HEADS) == sorted(set(HEADS))


@pytest.fixture(scope="module")
def used() -> str:
    return used_text()


@pytest.mark.parametrize("word", HEADS)
def test_words_are_used(word: str, used: str) -> None:
    plain = words_of(word).rstrip()
    assert any(f"{plain}{end} " in used for end in ("", "s", "es")), f"{word} is in the glossary only"


def test_the_search_sees_a_word_with_two_heads() -> None:
    text = "| term | meaning |\n|---|---|\n| layer (of the cache) | one |\n| unit, stack | two |\n| layer | three |\n"
    assert heads(text) == ["layer", "unit", "stack", "layer"]


def test_actors_are_named() -> None:
    """Sentences name who does something: the caller, the dispatcher, the host."""
    vague = re.compile(r"\b(?:whoever|somebody|someone)\b", re.IGNORECASE)
    sources = [*(ROOT / "mipsrec").rglob("*.py"), *RUNTIME.rglob("*.[ch]"), *(ROOT / "docs").rglob("*.md")]
    found = [(path, number) for path in sources for number, line in enumerate(path.read_text().splitlines(), 1)
             if vague.search(line)]  # fmt: skip
    assert found == []
