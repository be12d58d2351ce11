"""docs/security.md: each rule names the files of tests that hold it; they exist and have tests."""

from __future__ import annotations

import re

from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "security.md"
ROW = re.compile(r"^\| (.*) \| (.*) \|$", re.MULTILINE)


def test_each_rule_names_a_test_that_exists() -> None:
    rows = [(rule, test) for rule, test in ROW.findall(PAGE.read_text()) if rule != "rule"]
    assert len(rows) > 15
    for rule, tests in rows:
        for test in tests.split(", "):
            path = ROOT / test.strip("`")
            assert test == f"`{path.relative_to(ROOT)}`" and path.is_file(), rule
            assert "\ndef test_" in path.read_text(), test
