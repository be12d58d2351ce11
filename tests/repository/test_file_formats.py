"""The page of file formats names each field and folder, and files that have to do with it."""

from __future__ import annotations

import re

import pytest

from mipsrec import abi
from mipsrec.cache import folders, notes
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "design" / "file-formats.md").read_text()
ROWS = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE))
FOLDERS = (folders.CODE, folders.LIBRARIES, folders.OBJECTS, folders.RECORDS, folders.HOSTS, notes.FOLDER)


def test_the_page_has_all_fields_and_folders_in_order() -> None:
    struct = re.search(r"^struct mr_library \{\n(.*?)^};", abi.library_header(), re.MULTILINE | re.DOTALL)
    assert struct is not None
    assert [*ROWS] == [*re.findall(r"^    [\w ]* (\w+)(?:\[\d*\])?;", struct[1], re.MULTILINE), *FOLDERS]


@pytest.mark.parametrize("field", [name for name in ROWS if name not in FOLDERS])
def test_fields_are_read_where_the_page_says(field: str) -> None:
    files = re.findall(r"`((?:runtime|mipsrec)/[^`]+)`", ROWS[field])
    assert files
    for file in files:
        text = (ROOT / file).read_text().lower()
        assert re.search(rf"(?<![a-z]){field}(?![a-z])", text), f"{file} does not name {field}"
