"""What an installed mipsrec needs is listed in pyproject.toml, and is enough to run programs anywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from tools import need

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


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the `bin` folder of a new environment with mipsrec in it, and nothing of the checkout on its path.

    Dependencies are those of the environment that runs the tests, so that nothing is fetched.
    """
    folder = tmp_path_factory.mktemp("installed")
    for name in ("mipsrec", "runtime", "samples"):
        shutil.copytree(ROOT / name, folder / "source" / name, ignore=shutil.ignore_patterns("__pycache__", "build"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "source")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "venv" / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python), "install"]
    result = subprocess.run([*install, "--quiet", "--no-deps", "--no-build-isolation", "--no-index", folder / "source"],
                            capture_output=True, text=True, env=_bare_environment(folder))  # fmt: skip
    assert result.returncode == 0, result.stderr
    shutil.rmtree(folder / "source")
    return python.parent


def _bare_environment(folder: Path) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MIPSREC"))}
    return environment | {"MIPSREC_CACHE": str(folder / "cache")}


def _run(installed: Path, *words: str | Path) -> str:
    folder = installed.parent.parent
    result = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=_bare_environment(folder))
    assert (result.returncode, result.stderr) == (0, ""), result
    return result.stdout


def test_installed_package_runs_programs(installed: Path) -> None:
    """From an empty cache: the host is built from the sources that were installed, and so is a library."""
    need("cc", "gcc")
    guest = ROOT / "samples" / "prebuilt" / "mipsel" / "crc32.elf"
    expected = (ROOT / "samples" / "expected" / "crc32.txt").read_text()
    where = _run(installed, installed / "python", "-c", "import mipsrec; print(mipsrec.__file__)")
    assert Path(where.strip()).is_relative_to(installed.parent)
    assert _run(installed, installed / "mipsrec", "run", guest) == expected
    assert _run(installed, installed / "mipsrec", "run", guest) == expected
    cache = installed.parent.parent / "cache"
    assert sorted(path.name for path in cache.iterdir()) == ["code", "host", "objects"]


def test_installed_demo(installed: Path) -> None:
    """The samples are part of the package."""
    need("cc", "gcc")
    printed = _run(installed, installed / "python", "-m", "mipsrec.demo", "sha256")
    for word in ("functions", "translated", "checksum 7a45a713", "times the native build's time", "mipsrec run"):
        assert word in printed
