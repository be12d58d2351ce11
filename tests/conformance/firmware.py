"""Firmwares after chroot: init boots each, it serves pages and logins, its programs do as native ones do.

Enters: words of the command line. Leaves: a table of the seconds that each check took in each way on standard output,
what failed on standard error, and exit status 0 when nothing did. firmware_root.py builds the firmware from Debian's
sources; the judges are the same sources built for this machine, and this machine's own HTTP and ssh clients.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.debian_roots import WAYS, Root, Way, end_all, qemu_static, table
from tests.conformance.firmware_root import KINDS, PROGRAMS, Machine, machine_of, make_firmware, native_programs
from tests.support.compiled import ORDERS
from tests.support.hosts import plain_host
from tests.support.paths import GUESTS
from tests.support.tools import need

SCRIPTS = GUESTS / "firmware"
SLOW_APPLETS = {"bc", "dc", "factor", "tar", "du"}  # minutes, or what they print depends on the file system
ENVIRONMENT = {"TZ": "UTC", "LC_ALL": "C", "HOME": "/root", "TERM": "dumb"}
PATIENCE = 120  # seconds to boot, answer and log in


class Failed(Exception):
    """A check did not do what it should."""


@dataclass
class Firmware:
    """All that checks need."""

    state: Path
    root: Root
    native: dict[str, Path]
    web_port: int
    ssh_port: int

    def natively(self, words: list[str | Path], text: str | None = None) -> str:
        """Return what a program of this machine prints in an empty folder, where busybox is all there is in PATH."""
        links, folder = self.state / "native-bin", self.state / "native-work"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if not links.exists():
            links.mkdir()
            subprocess.run([self.native["busybox"], "--install", "-s", links], check=True)
        result = subprocess.run(words, cwd=folder, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, errors="replace", env={**ENVIRONMENT, "PATH": str(links)})  # fmt: skip
        return result.stdout + f"status {result.returncode}\n"

    def in_root(self, way: Way, script: str, timeout: float = 600) -> str:
        """Return what a script prints in the root, in an empty folder."""
        ended = self.root.run(way, f"rm -rf /tmp/work; mkdir /tmp/work; cd /tmp/work; {script}", timeout)
        return ended.output + f"status {ended.status}\n"


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def must_equal(found: str, expected: str) -> None:
    """Raises Failed with the lines that differ."""
    if found == expected:
        return
    ours, theirs = found.splitlines(), expected.splitlines()
    lines = [f"-{line}" for line in theirs if line not in ours] + [f"+{line}" for line in ours if line not in theirs]
    raise Failed("\n".join(lines[:30]) or "the same lines in another order")


# ---- programs ----


def applets(firmware: Firmware, way: Way) -> None:
    """A script of many applets."""
    expected = firmware.natively([firmware.native["busybox"], "sh", SCRIPTS / "applets.sh"])
    must_equal(firmware.in_root(way, "sh /root/checks/applets.sh"), expected)


def _test_lines(output: str) -> str:
    kinds = ("PASS:", "FAIL:", "SKIPPED:", "UNTESTED:")
    return "".join(f"{line}\n" for line in output.splitlines() if line.startswith(kinds))


def testsuite(firmware: Firmware, way: Way) -> None:
    """busybox's own tests pass where they pass natively; qemu may fail some that natively pass, too."""
    source = firmware.native["busybox"].parent
    names = sorted(
        path.name.removesuffix(".tests") for path in (source / "testsuite").iterdir()
        if (path.suffix == ".tests" or path.is_dir()) and not path.name.startswith(".")
    )  # fmt: skip
    wanted = " ".join(name for name in names if name not in SLOW_APPLETS)
    for top, program in ((firmware.state / "native-tests", firmware.native["busybox"]),
                         (firmware.root.folder / "root/tests", firmware.root.folder / "bin/busybox")):  # fmt: skip
        shutil.rmtree(top, ignore_errors=True)
        shutil.copytree(source / "testsuite", top / "testsuite", symlinks=True)
        shutil.copy2(program, top / "busybox")
        shutil.copy2(source / ".config", top / ".config")
    top = firmware.state / "native-tests"
    script = f"cd {top}/testsuite && PATH=/nowhere:$PATH ./runtest {wanted}"
    expected = _test_lines(firmware.natively([firmware.native["busybox"], "sh", "-c", script]))
    found = _test_lines(firmware.in_root(way, f"cd /root/tests/testsuite && sh ./runtest {wanted}", 3600))
    if expected.count("PASS:") < 100:
        raise Failed(f"the tests do not run natively:\n{expected[-500:]}")
    must_equal(found, expected)


def lua(firmware: Firmware, way: Way) -> None:
    """A script for Lua."""
    must_equal(firmware.in_root(way, "lua /root/checks/checks.lua"),
               firmware.natively([firmware.native["lua"], SCRIPTS / "checks.lua"]))  # fmt: skip


def sqlite(firmware: Firmware, way: Way) -> None:
    """Queries; then each side reads the file that the other one wrote."""
    program, work = firmware.native["sqlite3"], firmware.state / "native-work"
    expected = firmware.natively([program, "own.db"], (SCRIPTS / "checks.sql").read_text())
    must_equal(firmware.in_root(way, "sqlite3 own.db < /root/checks/checks.sql"), expected)
    guests = firmware.root.folder / "tmp/work/own.db"
    copy = guests.with_name("native.db")
    shutil.copy2(work / "own.db", copy)
    script = "cd /tmp/work; sqlite3 native.db .dump | md5sum; sqlite3 own.db .dump | md5sum"
    there = firmware.root.run(way, script).output
    if len(set(there.split()) - {"-"}) != 1 or len(there.split()) != 4:
        raise Failed(f"the guest reads other things from the files:\n{there}")
    dumps = [subprocess.run([program, path, ".dump"], capture_output=True).stdout for path in (work / "own.db", guests)]
    if dumps[0] != dumps[1] or len(dumps[0]) < 100_000:
        raise Failed(f"the native program reads other things from the guest's file ({[len(dump) for dump in dumps]})")


# ---- services ----


def _until(action: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Repeat what raises OSError until it does not."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            action()
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise Failed(f"no service: {error}") from error
            time.sleep(0.05)


def _web(firmware: Firmware) -> None:
    base = f"http://127.0.0.1:{firmware.web_port}"

    def get(path: str, data: bytes | None = None) -> bytes:
        with urllib.request.urlopen(base + path, data, timeout=PATIENCE) as answer:
            return bytes(answer.read())

    www = firmware.root.folder / "www"
    for path in ("/index.html", "/large.txt"):
        if get(path) != (www / path.lstrip("/")).read_bytes():
            raise Failed(f"{path}: other contents")
    answer = get("/cgi-bin/echo?a=b", b"x" * 5000).decode()
    if not answer.startswith("POST a=b ") or "127.0.0.1 mips\n" not in answer or not answer.endswith("x" * 5000):
        raise Failed(f"CGI: {answer[:200]!r}")
    with ThreadPoolExecutor(8) as pool:
        if set(pool.map(get, ["/index.html"] * 64)) != {b"<h1>It works</h1>\n"}:
            raise Failed("many requests at once: other contents")


COMMAND = "uname -m; echo $((6 * 7)); md5sum; ls /nowhere 2> /dev/null; exit 5"
ANSWER = "mips\n42\n0f343b0931126a20f133d67c2b018a3b  -\n"  # of 1024 zeros


def _login(words: list[str], text: str | None, expected: str, status: int) -> None:
    result = subprocess.run(words, input=text, capture_output=True, text=True, timeout=PATIENCE)
    if (result.returncode, result.stdout) != (status, expected):
        raise Failed(f"{words[-1]}: status {result.returncode}\n{result.stdout}{result.stderr[-1500:]}")


def _ssh(firmware: Firmware, way: Way) -> None:
    home, key = firmware.root.folder / "root/.ssh", firmware.state / "key"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(mode=0o700)
    if not key.exists():
        subprocess.run([need("ssh-keygen", "openssh-client"), "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    made = firmware.root.run(way, "dropbearkey -t ecdsa -f /root/.ssh/own 2> /dev/null | grep ^ecdsa").output
    (home / "authorized_keys").write_text(key.with_suffix(".pub").read_text() + made)
    (home / "authorized_keys").chmod(0o600)
    options = "BatchMode=yes StrictHostKeyChecking=no UserKnownHostsFile=/dev/null IdentitiesOnly=yes LogLevel=ERROR"
    ssh = [need("ssh", "openssh-client"), "-F", "none", *(f"-o{option}" for option in options.split()), "-i", str(key),
           "-p", str(firmware.ssh_port), "root@127.0.0.1"]  # fmt: skip
    _login([*ssh, COMMAND], "\0" * 1024, ANSWER, 5)
    ssh.insert(1, "-tt")
    _login([*ssh, "stty rows 31 cols 99; stty size; test -t 0 && echo a terminal"], None, "31 99\na terminal\n", 0)
    client = f"dbclient -y -y -i /root/.ssh/own -p {firmware.ssh_port} root@127.0.0.1"
    ended = firmware.root.run(way, f"head -c 1024 /dev/zero | {client} '{COMMAND}' 2> /tmp/client.log", PATIENCE)
    if (ended.status, ended.output) != (5, ANSWER):
        log = (firmware.root.folder / "tmp/client.log").read_text()
        raise Failed(f"dbclient: status {ended.status}\n{ended.output}{log}")


def services(firmware: Firmware, way: Way) -> None:
    """init starts the servers; clients of this machine and of the firmware reach them."""
    with firmware.root.started(way, "exec /sbin/init") as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if line != "booted by init on mips\n":
            raise Failed(f"init: {line!r}")
        try:
            for port in (firmware.web_port, firmware.ssh_port):
                _until(lambda port=port: socket.create_connection(("127.0.0.1", port), 1).close())  # type: ignore[misc]
            _web(firmware)
            if os.geteuid() == 0:
                _ssh(firmware, way)
            else:
                print("ssh: not tried, since only root can make namespaces that have users", file=sys.stderr)
        except (Failed, OSError, subprocess.TimeoutExpired) as error:
            end_all(process)
            raise Failed(f"{error}\nits log:\n{process.stdout.read()[-1000:]}") from error


CHECKS = {"services": services, "applets": applets, "lua": lua, "sqlite": sqlite, "testsuite": testsuite}
USUAL = ("services", "applets", "lua", "sqlite")
"""What runs when no check is named: busybox's own tests take very long where they are interpreted."""


def parse(words: list[str]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="make conformance ARGS=firmware", description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("build/firmware"),
                        help="kept between runs (default: %(default)s)")  # fmt: skip
    parser.add_argument("--order", action="append", choices=ORDERS, help="only this byte order (repeatable)")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this kind of code (repeatable)")
    parser.add_argument("--way", action="append", choices=[str(way) for way in WAYS], help="only this one (repeatable)")
    parser.add_argument("--check", action="append", choices=CHECKS, help="only this one (repeatable)")
    parser.add_argument("--opt", default="light", help="effort of recompilation (light)")
    return parser.parse_args(words)


def prepare(chosen: argparse.Namespace, machine: Machine, ways: list[Way]) -> Firmware:
    """Return the firmware of a machine, ready to run."""
    state = chosen.folder.absolute()
    state.mkdir(parents=True, exist_ok=True)
    web_port, ssh_port = free_port(), free_port()
    root = Root(make_firmware(state, machine, web_port, ssh_port), chosen.opt, {"TZ": "UTC"})
    qemu = qemu_static(state, machine.byte_order) if any(way.start == "qemu" for way in ways) else None
    root.install(plain_host(), qemu)
    shutil.copytree(SCRIPTS, root.folder / "root/checks", dirs_exist_ok=True)
    if any(way.recompiled for way in ways):
        root.build(*PROGRAMS)
    return Firmware(state, root, native_programs(state), web_port, ssh_port)


def main(words: list[str]) -> int:
    """Run what the words say; return the exit status."""
    chosen = parse(words)
    ways = [way for way in WAYS if not chosen.way or str(way) in chosen.way]
    failed = 0
    for order in chosen.order or ORDERS:
        for kind in chosen.kind or KINDS:
            failed += check(chosen, machine_of(order, kind), ways)
    return 1 if failed else 0


def check(chosen: argparse.Namespace, machine: Machine, ways: list[Way]) -> int:
    """Check the firmware of a machine, and print its table; return how many checks failed."""
    firmware = prepare(chosen, machine, ways)
    rows: dict[str, dict[str, str]] = {}
    failed = 0
    for name in chosen.check or USUAL:
        for way in ways:
            begin = time.monotonic()
            try:
                CHECKS[name](firmware, way)
                cell = ""
            except (Failed, OSError, subprocess.TimeoutExpired) as error:
                cell, failed = " FAILED", failed + 1
                print(f"{machine.name} {name} {way}: {error}", file=sys.stderr, flush=True)
            rows.setdefault(name, {})[str(way)] = f"{time.monotonic() - begin:.2f}{cell}"
            print(f"{machine.name} {name} {way}: {rows[name][str(way)]} s", file=sys.stderr, flush=True)
    title = f"{machine.name}: seconds; FAILED: other than it should be"
    print("\n".join([title, "", *table(rows, [str(way) for way in ways]), ""]), flush=True)
    return failed
