"""Work of more than two seconds says what it is before it starts, and only where standard error is a terminal."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mipsrec import guest, host_build, pipeline, stencils
from mipsrec.errors import BuildError
from mipsrec.stencils import maker
from tests.support.paths import PREBUILT


class _Stopped(Exception):
    """Raised by what stands for the work, which is not what these tests are about."""


def _stop(*_: object) -> None:
    raise _Stopped


def _build_a_host(folder: Path) -> None:
    """The compiler fails: what is said was said before."""
    with pytest.raises(BuildError, match="building the host failed"):
        host_build._build("/bin/false", [folder / "a.c"], folder / "mipsrec-host", (), {}, {})


def _make_tables(folder: Path) -> None:
    with pytest.raises(_Stopped):
        stencils.make_tables()


def _analyze(folder: Path) -> None:
    with pytest.raises(_Stopped):
        _ = pipeline.open_guest(PREBUILT / "mips" / "crc32.elf").program


KINDS = pytest.mark.parametrize(
    ("work", "said"),
    [
        (_build_a_host, "mipsrec: building mipsrec-host (once"),
        (_make_tables, "mipsrec: making the tables of the baseline tier (once"),
        (_analyze, "crc32.elf: finding the functions in 0 MiB of code..."),
    ],
)


class _StandardError(io.StringIO):
    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


def _said(work: Callable[[Path], None], folder: Path, monkeypatch: pytest.MonkeyPatch, is_terminal: bool) -> str:
    """Return what is written to standard error by work that ends at once."""
    monkeypatch.setattr(maker, "make_stencils", _stop)
    monkeypatch.setattr(guest, "analyze", _stop)
    monkeypatch.setattr(host_build, "_object_name", lambda source: "a.o")
    written = _StandardError(is_terminal)
    monkeypatch.setattr(sys, "stderr", written)
    work(folder)
    return written.getvalue()


@KINDS
def test_people_read_what_is_done(
    work: Callable[[Path], None], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest, "_LONG_TO_ANALYZE", 1)
    assert said in _said(work, tmp_path, monkeypatch, True)


@KINDS
def test_scripts_read_nothing(
    work: Callable[[Path], None], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest, "_LONG_TO_ANALYZE", 1)
    assert _said(work, tmp_path, monkeypatch, False) == ""


def test_a_short_analysis_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _said(_analyze, tmp_path, monkeypatch, True) == ""
