"""Debian packages unpacked into folders: sysroots of mipsel, twins of this machine's kind, and shells inside them.

Enters: names of packages. Leaves: a folder that has them and all that they depend on, made once and kept below
build/debian, or below $XDG_CACHE_HOME/mipsrec-tests where that is set. Needs apt and the network the first time, no
root, and touches nothing of this machine's own packages. Debian 12 is the last release with mipsel.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from mipsrec.commands.binfmt import FOLDER, kinds, registration
from tests.support.locks import locked
from tests.support.paths import ROOT
from tests.support.tools import missing, need

RELEASE = "bookworm"
SAMPLE = ("busybox-static", "dash", "lua5.4", "sed", "coreutils", "patch", "diffutils")
"""A few small packages, some 10 MB with what they depend on: what samples of long suites download."""
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
MOST_WAIT_SECONDS = 600
CODE = "var/cache/mipsrec"
"""Where the host looks for recompiled code in a chroot."""
OUTSIDE = ("lib64", "usr/lib/x86_64-linux-gnu")
"""Folders of this machine's libraries."""
MERGED = ("bin", "sbin", "lib")
"""Links to those of /usr, as on any Debian 12; else a guest with a sysroot would find this machine's /usr/bin/ls."""


def kept_folder() -> Path:
    """Return where downloads and what is made of them stay."""
    named = os.environ.get("XDG_CACHE_HOME")
    return Path(named) / "mipsrec-tests" / "debian" if named else ROOT / "build" / "debian"


def _is_release() -> bool:
    try:
        lines = Path("/etc/os-release").read_text().splitlines()
    except OSError:
        return False
    return f"VERSION_CODENAME={RELEASE}" in lines


def _configuration(state: Path, architecture: str) -> str:
    """Return apt's configuration: all of its state in a folder of our own, the sources as this machine has them."""
    settings = {
        "APT::Architecture": architecture, "APT::Sandbox::User": "root", "APT::Install-Recommends": "false",
        "APT::Get::AllowUnauthenticated": "false", "Acquire::Languages": "none", "Acquire::Retries": "3",
        "Dir::State": str(state), "Dir::State::status": str(state / "status"),
        "Dir::State::lists": str(state / "lists"), "Dir::Cache": str(state),
        "Dir::Cache::archives": str(state / "archives"), "Dir::Cache::srcpkgcache": "",
    }  # fmt: skip
    if not _is_release():
        if not Path(KEYRING).exists():
            missing("Debian's keyring", "debian-archive-keyring")
        source = f"deb [signed-by={KEYRING}] http://deb.debian.org/debian {RELEASE} main\n"
        (state / "sources.list").write_text(source)
        settings |= {"Dir::Etc::sourcelist": str(state / "sources.list"), "Dir::Etc::sourceparts": "-"}
    lines = [f'{name} "{value}";' for name, value in settings.items()]
    return "\n".join([*lines, f'APT::Architectures {{"{architecture}";}};', ""])


def _run_apt(state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "APT_CONFIG": str(state / "apt.conf"), "LC_ALL": "C"}
    lists = f"Dir::Cache::pkgcache={state / 'pkgcache.bin'}"  # not in APT_CONFIG: files of apt.conf.d come after that
    command = [need("apt-get", "apt"), "-q", "-y", "-o", lists, *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=MOST_WAIT_SECONDS)


def _apt(state: Path, what: str, *words: str) -> str:
    result = _run_apt(state, *words)
    if result.returncode != 0:
        reason = (result.stderr.strip() or result.stdout.strip()).splitlines()[-1:]
        missing(f"{what} (apt-get {words[0]}: {' '.join(reason)})", "apt, with the network,")
    return result.stdout


def downloads(packages: Sequence[str], architecture: str) -> list[Path]:
    """Return the files of some packages and all they depend on, downloaded if need be."""
    state = kept_folder() / architecture
    with locked(state):
        for folder in ("archives/partial", "lists/partial"):
            (state / folder).mkdir(parents=True, exist_ok=True)
        (state / "status").touch()
        (state / "apt.conf").write_text(_configuration(state, architecture))
        what = f"Debian {RELEASE}'s packages of {architecture}"
        if not list((state / "lists").glob(f"*_binary-{architecture}_Packages*")):
            _apt(state, what, "update")
        if not list((state / "lists").glob(f"*{RELEASE}*_binary-{architecture}_Packages*")):
            missing(f"{what} (apt's sources have none)", "apt, with the network,")
        choice = ("--no-install-recommends", "install", *packages)
        _fetch(state, what, choice)
        return _files(state, what, choice)


def _fetch(state: Path, what: str, choice: Sequence[str]) -> None:
    """Download; where a mirror has dropped a version that the lists name, once more with new lists."""
    if _run_apt(state, "--download-only", *choice).returncode != 0:
        _apt(state, what, "update")
        _apt(state, what, "--download-only", *choice)


def _files(state: Path, what: str, choice: Sequence[str]) -> list[Path]:
    """Return the archives that an installation consists of: `Inst NAME (VERSION ...` for each."""
    found = []
    for line in _apt(state, what, "--simulate", *choice).splitlines():
        words = line.split()
        if len(words) > 2 and words[0] == "Inst":
            name, version = words[1].split(":")[0], words[2].lstrip("(").replace(":", "%3a")
            found += sorted((state / "archives").glob(f"{name}_{version}_*.deb"))[:1]
    return found


def sample() -> Path:
    """Return a folder with SAMPLE unpacked."""
    return unpacked(SAMPLE, name="sample")


def _extract(archive: Path, folder: Path) -> None:
    """Unpack what a package installs, through the links of a merged /usr."""
    words = ["tar", "--extract", "--no-same-owner", "--keep-directory-symlink", "--directory", str(folder)]
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(archive)], stdout=subprocess.PIPE) as contents:
        subprocess.run(words, stdin=contents.stdout, check=True, timeout=600)
    if contents.returncode != 0:
        raise OSError(f"{archive}: dpkg-deb cannot read it")


def unpacked(packages: Sequence[str], architecture: str = "mipsel", name: str = "") -> Path:
    """Return a folder with packages and all they depend on, unpacked once; nothing of them is configured."""
    key = hashlib.blake2b(" ".join(sorted(packages)).encode(), digest_size=6).hexdigest()
    folder = kept_folder() / f"root-{name or key}-{architecture}"
    with locked(folder):
        if (folder / ".packages").exists() and (folder / ".packages").read_text() == key:
            return folder
        need("dpkg-deb", "dpkg")
        archives = downloads(packages, architecture)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for merged in MERGED:
            (folder / "usr" / merged).mkdir(parents=True)
            (folder / merged).symlink_to(f"usr/{merged}")
        for archive in archives:
            _extract(archive, folder)
        for place in ("proc", "dev", "tmp", "w", CODE, *OUTSIDE):  # fmt: skip
            (folder / place).mkdir(parents=True, exist_ok=True)
        (folder / ".packages").write_text(key)
    return folder


# ---- namespaces ----

ROOT_OF_A_NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")
BY_HAND = "mipsrec-host"
"""Where the host is in a chroot whose kernel does not start it."""


def _succeeds(*words: str) -> bool:
    return shutil.which(words[0]) is not None and subprocess.run(words, capture_output=True).returncode == 0


@cache
def namespace_words() -> tuple[str, ...]:
    """Return the command before what runs as root of a mount namespace of its own."""
    for words in (ROOT_OF_A_NAMESPACE, ("unshare", "--mount")):
        if _succeeds(*words, "true"):
            return words
    missing("a mount namespace (unshare --user --mount, or root's unshare --mount)", "util-linux")


@cache
def has_own_binfmt() -> bool:
    """Return whether a user namespace has a binfmt_misc of its own, as since Linux 6.7."""
    return _succeeds(
        *ROOT_OF_A_NAMESPACE, "sh", "-ec", f"mount -t binfmt_misc none {FOLDER} && test -w {FOLDER}/register"
    )


def chroot_words(
    root: Path, folder: str, interpreter: Path | None = None, binds: Sequence[tuple[Path, str]] = ()
) -> list[str]:
    """Return the command before what runs in a chroot, which has /proc, /dev and what `binds` names besides.

    folder: where the program begins. interpreter: registered for MIPS programs; where the kernel cannot do that, it is
    started by hand.
    """
    lines = []
    places = [(Path("/proc"), "proc"), (Path("/dev"), "dev"), *binds]
    by_hand = ""
    if interpreter is not None and has_own_binfmt():
        lines.append(f"mount -t binfmt_misc none {FOLDER}")
        lines += [f"printf '%s\\n' {shlex.quote(registration(kind, interpreter, 'F'))} > {FOLDER}/register"
                  for kind in kinds("conformance")]  # fmt: skip
    elif interpreter is not None:
        (root / BY_HAND).touch()
        places.append((interpreter, BY_HAND))
        by_hand = f"/{BY_HAND}"
    lines += [f"mount --rbind {shlex.quote(str(source))} {shlex.quote(str(root / place))}" for source, place in places]
    enter = f"exec unshare --root={shlex.quote(str(root))} --wd={shlex.quote(folder)} {by_hand}"
    return [*namespace_words(), "sh", "-ec", "\n".join([*lines, f'{enter} "$@"']), "chroot"]


def outside_libraries() -> list[tuple[Path, str]]:
    """Return what to bind in a chroot so that this machine's dynamic programs run there."""
    return [(Path("/") / place, place) for place in OUTSIDE if (Path("/") / place).exists()]
