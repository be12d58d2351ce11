"""What an installed mipsrec needs is listed in pyproject.toml: every package, C source and sample."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10, where pytest brings tomli
    import tomli as tomllib  # type: ignore[import-not-found, no-redef, unused-ignore]

ROOT = Path(__file__).resolve().parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS: dict[str, Any] = PROJECT["tool"]["setuptools"]


def test_every_package_is_listed() -> None:
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in ROOT.glob("mipsrec/**/__init__.py")}
    assert sorted(SETUPTOOLS["packages"]) == sorted(found | {"mipsrec._runtime", "mipsrec._samples"})


@pytest.mark.parametrize("package", ["mipsrec._runtime", "mipsrec._samples"])
def test_every_file_beside_the_package_is_shipped(package: str) -> None:
    folder = ROOT / SETUPTOOLS["package-dir"][package]
    listing = subprocess.run(["git", "ls-files", "--", folder], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode != 0 or not listing.stdout:
        pytest.skip("not in a git checkout: there is no list of files to compare with")
    shipped = {path for pattern in SETUPTOOLS["package-data"][package] for path in folder.glob(pattern)}
    assert {ROOT / name for name in listing.stdout.splitlines()} <= shipped


def test_versions_agree() -> None:
    import mipsrec

    assert PROJECT["project"]["version"] == mipsrec.__version__


@pytest.mark.parametrize("name", ["Makefile", "pyproject.toml", ".ci/run"])
def test_no_registry_is_named(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text and "--index-url" not in text
