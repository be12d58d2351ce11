"""The stencils that a package carries are those that the maker writes, and only those of its own version count."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import FrameType

import pytest

from mipsrec import stencils
from mipsrec.stencils import catalogue, header, maker
from tests.support.commandline import mipsrec


def test_shipped_stencils_are_what_the_maker_writes() -> None:
    """Where `make stencils` has shipped some; elsewhere this run has made those that it uses itself."""
    shipped = stencils.shipped_tables()
    if shipped is None:
        pytest.skip("this checkout ships no stencils of its version (make stencils)")
    assert shipped == stencils.make_tables()


def test_the_version_knows_all_that_writes_stencils() -> None:
    """Each module whose functions run while stencils are written has a part in their version, but for what runs LLVM.

    A stale table would give guests wrong results, so what is left out must not run at all.
    """
    ran: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            ran.add(frame.f_code.co_filename)

    names: dict[str, str] = {}
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for entry in catalogue.entries():
            maker._write(entry, next(iter(entry.combinations())), True, True, names)
        maker.glue()
        header.numbers_header()
    finally:
        sys.setprofile(before)
    package = Path(stencils.__file__).parent.parent
    ours = {name for name in ran if name.startswith(str(package))}
    assert names and ours
    assert ours <= set(map(str, stencils.sources()))


def test_stencils_of_another_version_are_not_used(tmp_path: Path) -> None:
    stencils.ship(tmp_path)
    text, path = stencils.shipped_tables(tmp_path), tmp_path / stencils.SHIPPED / stencils.TABLES
    assert text is not None
    path.write_text(text.replace(stencils.version(), "0" * 32))
    assert stencils.shipped_tables(tmp_path) is None
    stencils.ship(tmp_path)
    assert stencils.shipped_tables(tmp_path) == text


def test_shipped_stencils_come_before_those_of_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which are made only where none of this version are shipped."""
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path / "cache"))
    kept = tmp_path / "cache/host" / stencils.cached_name()
    kept.parent.mkdir(parents=True)
    of_cache = f"/* Stencils of version {stencils.version()}. */\nthose of the cache"
    kept.write_text(of_cache)
    monkeypatch.setattr(stencils, "shipped_tables", lambda: "those of the package")
    assert stencils.headers()[stencils.TABLES] == "those of the package"
    monkeypatch.setattr(stencils, "shipped_tables", lambda: None)
    assert stencils.headers()[stencils.TABLES] == of_cache


def test_stale_stencils_of_the_cache_are_pruned(tmp_path: Path) -> None:
    folder = tmp_path / "host"
    folder.mkdir()
    own, other, partial = stencils.cached_name(), f"stencils-{'0' * 32}.h", f"{stencils.cached_name()}.77"
    for name in (own, other, partial):
        (folder / name).write_text("text")
    output = mipsrec("cache", "prune", MIPSREC_CACHE=str(tmp_path)).stdout
    assert "1 leftovers: stencils, 4 bytes" in output
    assert sorted(path.name for path in folder.iterdir()) == sorted((own, partial)), "that one may be in the making"
    then = time.time() - 7200
    os.utime(folder / partial, (then, then))
    mipsrec("cache", "prune", MIPSREC_CACHE=str(tmp_path))
    assert [path.name for path in folder.iterdir()] == [own]
