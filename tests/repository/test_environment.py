"""make makes .venv when it has to, and keeps it where only another python3 stands first in PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.tools import need

PYTHON = """\
#!/bin/sh
case "$*" in
*'-m venv --clear .venv') echo "$0" >> made; rm -rf .venv; mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
*print*) echo "$0 3.11" ;;
esac
"""
"""Stands for a Python that makes environments, and for the one in an environment."""


class _Checkout:
    """A folder with the Makefile, and two Pythons."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bin = folder / "checkout", folder / "bin"
        for name in ("one", "two"):
            path = folder / name / "python3"
            path.parent.mkdir()
            path.write_text(PYTHON)
            path.chmod(0o755)
        self.folder.mkdir()
        shutil.copy(ROOT / "Makefile", self.folder)
        shutil.copy(ROOT / "pyproject.toml", self.folder)

    def made_by(self, first: str, *words: str) -> list[str]:
        """Run `make venv` with a Python first in PATH; return which have made environments since the last time."""
        made = self.folder / "made"
        made.unlink(missing_ok=True)
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "PYTHON"))
        }
        environment["PATH"] = f"{self.folder.parent / first}:{environment['PATH']}"
        done = subprocess.run(
            [need("make"), "venv", *words], cwd=self.folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return [Path(line).parent.name for line in made.read_text().splitlines()] if made.exists() else []

    def python(self, name: str) -> str:
        return f"PYTHON={self.folder.parent / name / 'python3'}"


@pytest.fixture
def checkout(tmp_path: Path) -> _Checkout:
    made = _Checkout(tmp_path)
    assert made.made_by("one") == ["one"]
    return made


def test_it_is_kept(checkout: _Checkout) -> None:
    assert checkout.made_by("one") == []
    assert checkout.made_by("two") == []


def test_a_python_that_is_named_makes_it_anew(checkout: _Checkout) -> None:
    assert checkout.made_by("one", checkout.python("two")) == ["two"]
    assert checkout.made_by("one", checkout.python("two")) == []
    assert checkout.made_by("one") == []


def test_other_needs_or_another_folder_make_it_anew(checkout: _Checkout) -> None:
    with (checkout.folder / "pyproject.toml").open("a") as project:
        project.write("# another\n")
    assert checkout.made_by("one") == ["one"]
    checkout.folder = checkout.folder.rename(checkout.folder.with_name("moved"))
    assert checkout.made_by("one") == ["one"]


def test_one_that_does_not_work_is_made_anew(checkout: _Checkout) -> None:
    (checkout.folder / ".venv/bin/python").write_text("#!/bin/sh\nexit 1\n")
    assert checkout.made_by("two") == ["two"]
    (checkout.folder / ".venv/identity").unlink()
    assert checkout.made_by("two") == ["two"]
