"""Fetches the Debian source packages that some samples are built of.

Enters: the samples module, which knows packages and folder. Leaves: the packages' original sources, prepared for
compiling, each in a folder of its name. apt-get downloads and checks them; nothing is installed.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from ..errors import BuildError
from ..files import trust
from ..files.temporary_folder import temporary_folder
from ..files.trusted_tree import distrust_all
from ..native.compiler import find_tool, run_tool

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_ARCHIVE = "$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)"


def fetch(samples: ModuleType) -> list[str]:
    """Unpack the packages that are not there yet; return one line for each; raises BuildError with what failed.

    One whose recipe takes a tool that is missing is named and left out.
    """
    folder = samples.sources_folder()
    lines = []
    for package, recipe in samples.load_packages().items():
        if (folder / package).is_dir():
            reason = distrust_all(folder / package)
            if reason is not None:
                raise BuildError(f"{reason}, so nothing is built of it; name a folder of your own in MIPSREC_SOURCES")
            lines.append(f"{folder / package}: is there already")
            continue
        missing = [f"{tool}; on Debian: apt-get install {provider}" for tool, provider in recipe["tools"].items()
                   if not find_tool(tool)]  # fmt: skip
        if missing:
            lines.append(f"{package}: not fetched: needs {', '.join(missing)}")
            continue
        try:
            trust.resolve(folder, make=True)
        except OSError as error:
            raise BuildError(f"{folder}: cannot be written ({error.strerror or error})") from error
        with temporary_folder(".fetch-", folder) as unpacking:
            sources = _unpacked(package, unpacking)
            for command in recipe["prepare"]:
                words = [word.replace("$SAMPLES", str(samples.SAMPLES)) for word in shlex.split(command)]
                _run(words, sources, f"{package}: {command}")
            sources.rename(folder / package)
        lines.append(f"{folder / package}: fetched")
    return lines


def _unpacked(package: str, folder: Path) -> Path:
    """Return the folder of the package's original sources, without Debian's changes."""
    _download(package, folder)
    archives = sorted(folder.glob("*.orig.tar.*"))
    archives = [archive for archive in archives if not archive.name.endswith(".asc")]
    if len(archives) != 1:
        raise BuildError(f"{package}: its source package has {len(archives)} archives of original sources")
    sources = folder / "sources"
    sources.mkdir()
    unpack = ["tar", "--no-same-owner", "--no-same-permissions", "--strip-components=1", "-xf", str(archives[0])]
    _run(unpack, sources, f"{archives[0].name}: unpacking")
    return sources


def _download(package: str, folder: Path) -> None:
    """Download by the machine's own lists of sources where it has any, else from where its programs come from."""
    get = ["apt-get", "-qq", "source", "--download-only", package]
    otherwise = f"put it into $MIPSREC_SOURCES/{package} otherwise"
    if not find_tool("apt-get"):
        raise BuildError(f"{package}: no apt-get to fetch it; {otherwise}")
    if run_tool(get, cwd=folder, capture_output=True).returncode == 0:
        return
    sources = source_list(archives())
    if not sources:
        raise BuildError(f"{package}: apt-get knows no archive of Debian; run apt-get update, or {otherwise}")
    state = folder / "apt"
    for name in ("lists/partial", "archives/partial"):
        (state / name).mkdir(parents=True)
    (state / "sources.list").write_text(sources)
    settings = {
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": state / "lists",
        "Dir::Cache": state,
    }
    options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
    if os.geteuid() == 0:
        options += ["-o", "APT::Sandbox::User=root"]  # the sandbox's user may not write here
    _run(["apt-get", "-qq", *options, "update"], folder, "apt-get update")
    _run([*get, *options], folder, f"apt-get source {package}")


def archives() -> str:
    """Return the archives that apt-get has programs of, an _ARCHIVE on each line."""
    ask = ["apt-get", "indextargets", "--format", _ARCHIVE, "Created-By: Packages"]
    return str(run_tool(ask, capture_output=True, text=True).stdout)


def source_list(targets: str) -> str:
    """Return a list of sources of Debian's archives: of those among `targets`, which is as `archives` has it.

    Only suites without a suffix count, where there are any: those of updates and of security do not keep the files of
    earlier versions, and their packages differ from the main ones in Debian's changes, which are not taken.
    """
    rows = {tuple(line.split()[1:]) for line in targets.splitlines() if line.startswith("Debian ")}
    signed = f"[signed-by={_KEYRING}] " if _KEYRING.exists() else ""
    main = sorted(row for row in rows if row[-1] == "main")
    kept = [row for row in main if "-" not in row[1]] or main
    return "".join(f"deb-src {signed}{' '.join(row)}\n" for row in kept)


def _run(command: Sequence[str], folder: Path, what: str) -> None:
    done = run_tool(command, cwd=folder, capture_output=True, text=True, errors="replace")
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise BuildError(f"{what} failed: {said[-1] if said else f'exit status {done.returncode}'}")
