"""A function that a compiler process dies of is left out of a growing library, and not tried again."""

from __future__ import annotations

from pathlib import Path

import pytest

from mipsrec.cache.library_file import read_library
from mipsrec.options import Options
from mipsrec.pipeline import open_guest
from mipsrec.server import growth
from mipsrec.server.choice import FileIndex
from tests.support.compiled import BARE, compile_guest
from tests.support.dying import SOURCE, die_of


def test_it_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path / "cache"))
    index = FileIndex(open_guest(compile_guest(tmp_path, "little", SOURCE, *BARE)))
    starts = {name: index.guest.function(name).start for name in ("fatal", "caller", "other", "bottom")}
    identity, options = index.guest.image.identity, Options()

    def grow(*names: str) -> set[int]:
        library = growth.read_state(identity, options)
        growth.grow(index, options, library, {starts[name]: frozenset() for name in names}, 1)
        assert growth.read_state(identity, options).refused == {starts["fatal"]}
        return set(growth.read_state(identity, options).functions)

    die_of(monkeypatch, {starts["fatal"]})
    assert grow("fatal") == set()
    assert "(SIGABRT) at level 2 with fatal: left out, slower tiers run it" in capfd.readouterr().err
    assert grow("fatal", "caller") == {starts["caller"]}
    assert grow("bottom", "other") == {starts[name] for name in ("caller", "other", "bottom")}
    library = growth.read_state(identity, options)
    growth.compact(index, options, library, 1)
    assert grow("fatal") == {starts[name] for name in ("caller", "other", "bottom")}
    assert read_library(library.path, whole=True).identity == identity and capfd.readouterr().err == ""


def test_for_want_of_memory_it_is_put_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The same worker does not try again, another one does."""
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path / "cache"))
    index = FileIndex(open_guest(compile_guest(tmp_path, "little", SOURCE, *BARE)))
    fatal, other = (index.guest.function(name).start for name in ("fatal", "other"))
    identity, options = index.guest.image.identity, Options()
    wanted: growth.Functions = {fatal: frozenset(), other: frozenset()}
    library = growth.read_state(identity, options)
    with monkeypatch.context() as short:
        die_of(short, {fatal}, "LLVM ERROR: out of memory")
        for said in ("(SIGABRT, for want of memory) at level 2 with fatal: left out", ""):
            growth.grow(index, options, library, wanted, 1)
            errors = capfd.readouterr().err
            assert library.functions.keys() == {other} and said in errors and bool(said) == bool(errors)
    library = growth.read_state(identity, options)
    growth.grow(index, options, library, wanted, 1)
    assert library.functions.keys() == {fatal, other} and not library.refused
