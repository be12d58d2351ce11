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

from mipsrec import stencils
from tests.support.paths import PREBUILT, ROOT, SAMPLES
from tests.support.tools import need

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10, where pytest brings tomli
    import tomli as tomllib  # type: ignore[import-not-found, no-redef, unused-ignore]

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS: dict[str, Any] = PROJECT["tool"]["setuptools"]


def test_every_package_is_listed() -> None:
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in ROOT.glob("mipsrec/**/__init__.py")}
    assert sorted(SETUPTOOLS["packages"]) == sorted(found | {"mipsrec._runtime", "mipsrec._samples"})


@pytest.mark.parametrize("package", ["mipsrec._runtime", "mipsrec._samples"])
def test_every_file_beside_the_package_is_shipped(package: str) -> None:
    folder = ROOT / SETUPTOOLS["package-dir"][package]
    listing = subprocess.run([need("git"), "ls-files", "--", folder], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode != 0 or not listing.stdout:
        pytest.skip("not in a git checkout: there is no list of files to compare with")
    shipped = {path for pattern in SETUPTOOLS["package-data"][package] for path in folder.glob(pattern)}
    assert {ROOT / name for name in listing.stdout.splitlines()} <= shipped


def test_a_build_has_what_the_package_needs() -> None:
    """A build makes stencils and a host with the package's own modules, in an environment of its own."""
    assert set(PROJECT["project"]["dependencies"]) <= set(PROJECT["build-system"]["requires"])


def test_versions_agree() -> None:
    import mipsrec

    assert PROJECT["project"]["version"] == mipsrec.__version__


@pytest.mark.parametrize("name", ["Makefile", "pyproject.toml", ".ci/run"])
def test_no_registry_is_named(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text and "--index-url" not in text


def _source(folder: Path) -> Path:
    """Return a copy of what a package is built from, with stencils: so no build has to make them."""
    for name in ("mipsrec", "runtime", "samples"):
        shutil.copytree(ROOT / name, folder / "source" / name, ignore=shutil.ignore_patterns("__pycache__", "build"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "source")
    stencils.ship(folder / "source/mipsrec")
    return folder / "source"


def _install(folder: Path, *words: str | Path, **variables: str) -> Path:
    """Return the `bin` folder of a new environment with mipsrec in it, and nothing of the checkout on its path.

    Dependencies are those of the environment that runs the tests, so that nothing is fetched.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "venv" / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python), "install"]
    result = subprocess.run([*install, "--quiet", "--no-deps", "--no-build-isolation", "--no-index", *words],
                            capture_output=True, text=True, env=_bare_environment(folder, **variables))  # fmt: skip
    assert result.returncode == 0, result.stderr
    return python.parent


def _quick_compiler(folder: Path) -> Path:
    """Return a C compiler that does not optimise, which takes half the time: what is tested is not a fast host."""
    path = folder / "quick-cc"
    path.write_text(f'#!/bin/sh\nexec {need("cc", "gcc")} "$@" -O0\n')
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the commands of an installation whose source is gone."""
    folder = tmp_path_factory.mktemp("installed")
    source = _source(folder)
    (source / "build/lib/mipsrec").mkdir(parents=True)
    (source / "build/lib/mipsrec/gone.py").touch()  # as an earlier build leaves a module that is there no more
    commands = _install(folder, source, CC=str(_quick_compiler(folder)))
    shutil.rmtree(folder / "source")
    return commands


def test_nothing_of_an_earlier_build_is_installed(installed: Path) -> None:
    """The host would have another version than the package, and no compile server would be found."""
    assert not list(installed.parent.glob("lib/python*/site-packages/mipsrec/gone.py"))


def _bare_environment(folder: Path, **variables: str) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MIPSREC"))}
    return environment | {"MIPSREC_CACHE": str(folder / "cache")} | variables


def _run(installed: Path, *words: str | Path, **variables: str) -> str:
    folder = installed.parent.parent
    result = subprocess.run(words, capture_output=True, text=True, cwd=folder,
                            env=_bare_environment(folder, **variables))  # fmt: skip
    assert (result.returncode, result.stderr) == (0, ""), result
    return result.stdout


def _is_native(path: Path) -> bool:
    return path.read_bytes()[:4] == b"\x7fELF"


CRC32 = PREBUILT / "mipsel" / "crc32.elf"
CRC32_PRINTS = (SAMPLES / "expected" / "crc32.txt").read_text()


def test_installed_package_runs_programs(installed: Path) -> None:
    """From an empty cache, which then has code alone: the host came with the package."""
    where = _run(installed, installed / "python", "-c", "import mipsrec; print(mipsrec.__file__)")
    assert Path(where.strip()).is_relative_to(installed.parent)
    assert _run(installed, installed / "mipsrec", "run", "--no-server", CRC32) == CRC32_PRINTS
    assert _run(installed, installed / "mipsrec", "run", "--no-server", CRC32) == CRC32_PRINTS
    cache = installed.parent.parent / "cache"
    assert {path.name for path in cache.iterdir()} - {"identities"} == {"code", "objects", "records"}


def test_installed_commands_are_native(installed: Path, tmp_path: Path) -> None:
    """Running needs neither Python nor a compiler: here are none, and there is no cache either."""
    for name in ("mipsrec", "mipsrec-run", "mipsrec-host"):
        assert _is_native(installed / name)
        shutil.copy(installed / name, tmp_path)
    words = [tmp_path / "mipsrec", "run", "--tier", "baseline", CRC32]
    result = subprocess.run(words, capture_output=True, text=True, env={"PATH": "/nonexistent"})
    assert (result.returncode, result.stdout, result.stderr) == (0, CRC32_PRINTS, "")
    assert "mipsrec 0." in _run(installed, installed / "mipsrec", "--version")


def test_names_of_qemu_user_lead_to_the_native_command(installed: Path, tmp_path: Path) -> None:
    _run(installed, installed / "mipsrec", "qemu-names", tmp_path)
    assert os.readlink(tmp_path / "qemu-mipsel") == str(installed / "mipsrec")
    assert not (tmp_path / ".mipsrec-qemu").exists()
    assert _run(installed, tmp_path / "qemu-mipsel", CRC32, MIPSREC_SERVER="0") == CRC32_PRINTS


def test_stencils_are_installed(installed: Path) -> None:
    (package,) = installed.parent.glob("lib/python*/site-packages/mipsrec")
    assert stencils.shipped_tables(package) == stencils.headers()[stencils.TABLES]


def test_a_host_of_another_version_is_not_used(installed: Path, tmp_path: Path) -> None:
    """One whose code key is another's; then a host is built from the installed sources."""
    script = "from mipsrec import host_build; print(host_build.shipped_host())"
    assert _run(installed, installed / "python", "-c", script) == f"{installed}/mipsrec-host\n"
    script = script.replace(";", "; host_build.source_digest = lambda: 'another';")
    assert _run(installed, installed / "python", "-c", script) == "None\n"


def test_installed_demo(installed: Path) -> None:
    """The samples are part of the package. One round of the demo's three does."""
    script = "from mipsrec import demo; demo.ROUNDS = 1; raise SystemExit(demo.main(['sha256']))"
    printed = _run(installed, installed / "python", "-c", script)
    for word in ("functions", "translated", "checksum 7a45a713", "times the native build's time", "mipsrec run"):
        assert word in printed


def test_installation_without_a_compiler(tmp_path: Path) -> None:
    """The commands are in Python; what is missing is said when the host has to be built."""
    (tmp_path / "empty").mkdir()
    nothing = {"PATH": str(tmp_path / "empty"), "CC": "/nonexistent"}
    commands = _install(tmp_path, _source(tmp_path), **nothing)
    assert not _is_native(commands / "mipsrec") and not (commands / "mipsrec-host").exists()
    assert "mipsrec 0." in _run(commands, commands / "mipsrec", "--version")
    for command in ([commands / "mipsrec", "run"], [commands / "mipsrec-run"]):
        result = subprocess.run([*command, "--tier", "interp", CRC32], capture_output=True, text=True,
                                env=_bare_environment(tmp_path, **nothing))  # fmt: skip
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr.startswith("mipsrec: no C compiler found") and result.stderr.count("\n") == 1


def test_editable_installation(tmp_path: Path) -> None:
    """It uses the sources as they are now: nothing is built beforehand, and no module is looked for elsewhere."""
    source = _source(tmp_path)
    commands = _install(tmp_path, "--editable", source)
    for name in ("mipsrec", "mipsrec-run", "mipsrec-python"):
        assert not _is_native(commands / name)
    (source / "mipsrec/__init__.py").write_text('__version__ = "0.changed"\n')
    assert _run(commands, commands / "mipsrec", "--version") == "mipsrec 0.changed\n"
    script = "from mipsrec import host_build; print(host_build.runtime_folder(), host_build.shipped_host())"
    assert _run(commands, commands / "python", "-c", script) == f"{source}/runtime None\n"
    relative = "import sys; print([path for path in sys.path if path and path[0] != '/'])"  # in the caller's folder
    assert _run(commands, commands / "python", "-c", relative) == "[]\n"
