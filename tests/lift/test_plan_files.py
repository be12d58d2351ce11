"""Plan in, plan out: from the guest part of each file of plans/ the passes decide what the file says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mipsrec.lift.check import findings
from mipsrec.lift.parse import parse, split_plans
from mipsrec.lift.pipeline import PIPELINE, Pass
from tests.lift.plan_files import decided, differences, files, text_as_decided
from tests.support.paths import ROOT

LINES = """
    guess table callee in-ssa begins promoted variable vectorized access step hub two-floats words iterations switch
    site goto branch jump return syscall stop interpret call ->
""".split()
FIELDS = """
    entries order fr memory calls resident start limit guarded takes copied tiny overwrites ignores load index writable
    cases to next slot-of live dirty terminator delay-slot volatile exposed no-wrap spin promoted
    loads-words word-of stores-words loaded-at unaligned second-half stores then-stores passes lacks unwinds saves
    run repeats results elsewhere safepoint polls leaves conditional exposes missed returned loads
    shared weights from gives
""".split()


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_plan(path: Path) -> None:
    assert not differences(path), f"{differences(path)}\npython -m tests.lift.plan_files --write {path}"
    for symbol, plan in decided(path):
        assert findings(plan) == [], symbol
    for line_before, text in split_plans(path.read_text()):
        parse(text, path.name, line_before)
    assert path.read_text().startswith("# "), "a file begins with a comment that says what it shows"


@pytest.mark.parametrize("one", PIPELINE, ids=lambda one: one.name)
def test_each_pass_decides_something(one: Pass) -> None:
    assert any(text_as_decided(path, one.name) != path.read_text() for path in files())


def test_the_files_show_all_words() -> None:
    """Each kind of line, and each field, is in a file: so what the parser reads is read."""
    text = "".join(path.read_text() for path in files())
    lines = {line.split()[0].rstrip(":") for line in text.splitlines() if line}
    assert [word for word in LINES if word not in lines] == []
    parts = (part for line in text.splitlines() for part in re.split(r": | ; |; ", line)[1:])
    fields = {part.split()[0] for part in parts if part.strip()}
    assert [word for word in FIELDS if word not in fields] == []


def test_the_page_explains_all_words() -> None:
    page = (ROOT / "docs" / "design" / "plan.md").read_text().partition("## Looking at a plan")[2]
    prose = re.sub(r"\n    .*", "", page)
    assert [word for word in LINES + FIELDS if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", prose)] == []
