"""docs/usage/programs.md has a row for each name that `mipsrec info` prints, and the words of each refusal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mipsrec.architecture import MODULES
from mipsrec.elf import header, load_elf, marks
from mipsrec.errors import ElfError
from tests.elf.refused import REFUSED
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "usage" / "programs.md"
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in PAGE.read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| what |")
]
"""What, by what it is told, in `mipsrec info`, what happens."""

REFUSED_HERE = {
    "x86-64": "x86-64", "i386": "i386", "arm": "ARM", "unheard-of machine": "other machines", "n64": "n64",
    "n32": "n32", "o64": "o64", "eabi": "eabi32", "r6": "MIPS R6", "r6 of 64 bits": "MIPS R6",
    "unheard-of architecture": "other architectures than those above", "microMIPS": "microMIPS", "NetBSD": "NetBSD",
    "IRIX": "IRIX", "IRIX by its interpreter": "IRIX", "OpenBSD by its note": "OpenBSD",
    "the Hurd by its note": "GNU Hurd", "r6 by .MIPS.abiflags": "MIPS R6", "object file": "object file",
    "core dump": "core dump",
}  # fmt: skip
"""The rows that say of these refusals; all others are of files that are broken."""
_BROKEN = re.compile(
    "cut off|broken|not in a loaded segment|program headers|no loadable segment|in the file|segment at|no program "
)


def row_of(name: str) -> list[str]:
    """Return the only row of what has a name."""
    (found,) = (row for row in ROWS if name in row[0].split(", "))
    return found


def names() -> Iterator[str]:
    """Yield what can be the first word, or words, of a row: modules, ABIs, processors, systems and machines."""
    yield from (module.name for module in MODULES)
    yield from ("n32", "n64", *header._ABIS.values(), *header.MACHINES.values(), *marks._OF_MACHINES.values())
    yield from (*marks._SYSTEMS.values(), *marks._TAGGED_SYSTEMS.values())
    yield from (owner[:-1].decode() for owner in marks._NOTE_OWNERS)


@pytest.mark.parametrize("name", sorted(set(names())))
def test_each_name_has_a_row(name: str) -> None:
    assert len(row_of(name)) == 4


def test_each_word_of_info_is_shown() -> None:
    """Of the facts with few values: isa, abi, byte_order, float and nan2008 (commands/info.py)."""
    runs = [module for module in MODULES if module.archs and not module.happens.startswith("refused")]
    wanted = {f"isa {arch}" for module in runs for _, arch in module.archs}
    wanted |= {"abi o32", "byte_order big", "byte_order little", "float soft", "float FR=0", "float FR=1"}
    wanted |= {"nan2008 True", "nan2008 False"}
    assert wanted <= {word for row in ROWS for word in re.findall(r"`([^`]+)`", row[2])}


def test_every_refusal_is_here_or_of_a_broken_file() -> None:
    others = {name: words for name, (_, words) in REFUSED.items() if name not in REFUSED_HERE}
    assert [name for name, words in others.items() if not _BROKEN.search(words)] == []


@pytest.mark.parametrize("name", REFUSED_HERE)
def test_refusals_have_the_words_of_their_rows(tmp_path: Path, name: str) -> None:
    row = row_of(REFUSED_HERE[name])
    assert row[2] == "the refusal" and row[3].startswith("refused: `")
    (tmp_path / "guest").write_bytes(REFUSED[name][0].build())
    with pytest.raises(ElfError) as refusal:
        load_elf(tmp_path / "guest")
    assert any(words in str(refusal.value) for words in re.findall(r"`([^`]+)`", row[3]))
