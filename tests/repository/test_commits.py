"""Subjects of commits fit into the lists that tools show."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.paths import ROOT

SUBJECT_LENGTH = 72
COMMITS = 20


def test_subjects_of_the_last_commits_are_short() -> None:
    words = ["git", "-C", str(ROOT), "log", "--no-merges", f"-{COMMITS}", "--format=%h %s"]
    try:
        log = subprocess.run(words, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no history: this is no checkout, or git is missing")
    long = [line for line in log.splitlines() if len(line.partition(" ")[2]) > SUBJECT_LENGTH]
    assert long == [], f"more than {SUBJECT_LENGTH} characters; say the rest in the body"
