"""Folders that stand for / of a MIPS Linux, and programs run in them after chroot.

Enters: names of Debian packages. Leaves: their files or sources in folders, and what shells print that run there. Each
shell has namespaces of its own (users, mounts, processes; binfmt_misc with the users since Linux 6.7), so nothing of it
stays behind and this machine's packages are left alone. Needs apt, dpkg-deb and unshare; no rights but to make them.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mipsrec.cache.folders import source_digest
from mipsrec.commands.binfmt import FOLDER, kinds, registration
from tests.support.paths import ROOT
from tests.support.tools import need

MIRROR = "http://deb.debian.org/debian"
SUITE = "bookworm"
NO_CODE = "/none"  # a cache folder that does not exist: all is interpreted

APT = """APT::Sandbox::User "root";
APT::Install-Recommends "false";
Dir::Etc::sourcelist "{state}/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::status "{state}/status";
Dir::State::lists "{state}/lists";
Dir::Cache "{state}";
Dir::Cache::archives "{state}/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
"""
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


def _apt(state: Path, arch: str | None, words: Sequence[str]) -> None:
    """Run apt-get with its state in a folder of its own; downloads go to archives/ there, or sources to the folder."""
    for name in ("lists/partial", "archives/partial"):
        (state / name).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    lines = [f"{kind} [signed-by={KEYS}] {MIRROR} {SUITE} main\n" for kind in ("deb", "deb-src")]
    (state / "sources.list").write_text("".join(lines))
    text = APT.format(state=state)
    if arch is not None:
        text += f'APT::Architecture "{arch}";\nAPT::Architectures {{"{arch}";}};\n'
    (state / "apt.conf").write_text(text)
    environment = {**os.environ, "APT_CONFIG": str(state / "apt.conf")}
    apt = need("apt-get", "apt")
    if not list((state / "lists").glob("*_Packages*")):
        subprocess.run([apt, "-qq", "update"], check=True, env=environment, cwd=state)
    subprocess.run([apt, "-qq", "-y", *words], check=True, env=environment, cwd=state, stdout=subprocess.DEVNULL)


def unpack_packages(folder: Path, arch: str, packages: Sequence[str]) -> list[Path]:
    """Unpack packages and what they depend on below a folder, without their scripts; return the archives."""
    state = folder.with_name(folder.name + ".debs").absolute()
    done = state / "unpacked"
    if not done.exists() or done.read_text().split() != list(packages):
        _apt(state, arch, ["--download-only", "install", *packages])
        folder.mkdir(parents=True, exist_ok=True)
        for archive in sorted((state / "archives").glob("*.deb")):
            subprocess.run([need("dpkg-deb", "dpkg"), "-x", archive, folder], check=True)
        done.write_text(" ".join(packages))
    return sorted((state / "archives").glob("*.deb"))


def unpack_source(state: Path, package: str) -> Path:
    """Return the folder of a source package, Debian's patches applied; made anew when it is not there."""
    folder = state.absolute() / package
    if not folder.exists():
        _apt(state.absolute(), None, ["source", "--download-only", package])
        description = max(state.absolute().glob(f"{package}_*.dsc"), key=lambda path: path.stat().st_mtime)
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        words = [need("dpkg-source", "dpkg-dev"), "--no-check", "-x", str(description), str(partial)]
        subprocess.run(words, check=True, capture_output=True)
        partial.rename(folder)
    return folder


def qemu_static(state: Path, byte_order: str) -> Path | None:
    """Return Debian's static qemu-user for a byte order; None on a machine of another kind."""
    arch = subprocess.run([need("dpkg"), "--print-architecture"], capture_output=True, text=True, check=True).stdout
    folder = state / "qemu"
    unpack_packages(folder, arch.strip(), ["qemu-user-static"])
    path = folder / "usr/bin" / ("qemu-mips-static" if byte_order == "big" else "qemu-mipsel-static")
    return path if path.exists() else None


# ---- running in a root ----


@dataclass(frozen=True)
class Way:
    """How programs of a root come to run. `start`: hand (the host is named), binfmt (the kernel starts it), or qemu."""

    start: str
    recompiled: bool = False

    def __str__(self) -> str:
        return self.start if self.start == "qemu" else f"{self.start}-{'recompiled' if self.recompiled else 'interp'}"


WAYS = [Way(start, recompiled) for recompiled in (False, True) for start in ("hand", "binfmt")] + [Way("qemu")]


@dataclass
class Ended:
    """What a shell in the root did."""

    status: int
    output: str
    """Both streams."""
    seconds: float


@dataclass(frozen=True)
class Root:
    """A folder to chroot to; host and qemu are copied to its /."""

    folder: Path
    opt: str = "light"
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def cache(self) -> Path:
        """Where hosts in the root look for code when no variable names another folder."""
        return self.folder / "var/cache/mipsrec"

    def install(self, host: Path, qemu: Path | None) -> None:
        """Copy what runs the root's programs."""
        for name in ("proc", "dev", "tmp", "root", "var/cache"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        for path, name in ((host, "mipsrec-host"), (qemu, "qemu-static")):
            if path is not None:
                copy = self.folder / (name + ".new")
                shutil.copy2(path, copy)
                copy.rename(self.folder / name)

    def build(self, *files: str) -> None:
        """Recompile files (paths below the root) and all that they load into the root's cache."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "MIPSREC_CACHE": str(self.cache)}
        for file in files:
            path = os.path.realpath(self.folder / file)
            words = [sys.executable, "-m", "mipsrec", "build", "-L", self.folder, "--opt", self.opt, path]
            print(f"building {file} and what it loads", file=sys.stderr, flush=True)
            subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)
        code = self.cache / "code" / source_digest()
        for variant in code.glob(f"flat-direct-{self.opt}-*"):  # the kernel cannot tell the host --variant
            usual = code / variant.name.replace(f"-{self.opt}-", "-auto-")
            if not usual.exists():
                usual.symlink_to(variant.name)

    def _outer(self, way: Way, script: str) -> str:
        """Return the script that prepares the namespaces and goes into the root."""
        folder = shlex.quote(str(self.folder))
        lines = ["read -r go", f"mount -t proc proc {folder}/proc", f"mount --rbind /dev {folder}/dev"]
        if way.start != "hand":
            host = self.folder / ("qemu-static" if way.start == "qemu" else "mipsrec-host")
            flags = "F" if way.start == "qemu" else "PF"
            lines.append(f"mount -t binfmt_misc none {FOLDER}")
            for kind in kinds("root"):
                lines.append(f"printf %s {shlex.quote(registration(kind, host, flags))} > {FOLDER}/register")
        variables = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C", "TERM": "dumb",
            **({} if way.recompiled else {"MIPSREC_CACHE": NO_CODE}), **self.environment,
        }  # fmt: skip
        by_hand = ["/mipsrec-host"] if way.start == "hand" else []
        words = ["env", "-i", *(f"{name}={value}" for name, value in variables.items()), "/usr/sbin/chroot",
                 str(self.folder), *by_hand, "/bin/sh", "-c", script]  # fmt: skip
        return "\n".join([*lines, f"exec {shlex.join(words)}"])

    @contextmanager
    def started(self, way: Way, script: str) -> Iterator[subprocess.Popen[str]]:
        """A shell of the root as process 1 of its namespace; all of it ends with the context."""
        words = [need("unshare", "util-linux"), "--user", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec"]
        with subprocess.Popen([*words, self._outer(way, script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace") as process:  # fmt: skip
            try:
                _map_users(process)
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.close()
                process.stdin = None
                yield process
            finally:
                end_all(process)

    def run(self, way: Way, script: str, timeout: float = 600) -> Ended:
        """Run a shell script in the root to its end; status 124 when it takes too long."""
        begin = time.monotonic()
        with self.started(way, script) as process:
            try:
                output, _ = process.communicate(timeout=timeout)
                status = process.returncode
            except subprocess.TimeoutExpired:
                end_all(process)
                output, status = process.communicate()[0], 124
        return Ended(status, output, time.monotonic() - begin)


def end_all(process: subprocess.Popen[str]) -> None:
    """Kill process 1 of the namespace of an unshare, and so all there; after chroot --kill-child may fail to."""
    if process.poll() is None:
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        process.kill()


def _map_users(process: subprocess.Popen[str]) -> None:
    """Root has all users of this machine in the namespace, which logins need; others have themselves as root."""
    while os.readlink(f"/proc/{process.pid}/ns/user") == os.readlink("/proc/self/ns/user"):
        if process.poll() is not None:
            raise RuntimeError("no user namespace: not allowed on this machine")
        time.sleep(0.01)
    folder = Path(f"/proc/{process.pid}")
    if os.geteuid() == 0:
        for name in ("uid_map", "gid_map"):
            (folder / name).write_text("0 0 65536\n")
    else:
        (folder / "setgroups").write_text("deny\n")
        (folder / "uid_map").write_text(f"0 {os.geteuid()} 1\n")
        (folder / "gid_map").write_text(f"0 {os.getegid()} 1\n")


def table(rows: dict[str, dict[str, str]], columns: Sequence[str]) -> list[str]:
    """Return rows of cells as lines of Markdown."""
    lines = ["| " + " | ".join(["", *columns]) + " |", "|" + " --- |" * (len(columns) + 1)]
    return lines + ["| " + " | ".join([name, *(row.get(c, "") for c in columns)]) + " |" for name, row in rows.items()]
