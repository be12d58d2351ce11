"""What programs of a firmware print, beside the same programs built for this machine.

Enters: a firmware that firmware_root.py built, and a way of running it. Leaves: Failed, with what differs. Each check
runs in an empty folder of the root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.debian_roots import Root, Way
from tests.conformance.firmware_packets import write_captures
from tests.support.paths import GUESTS

SCRIPTS = GUESTS / "firmware"
SLOW_APPLETS = {"bc", "dc", "factor", "tar", "du"}  # minutes, or what they print depends on the file system
ENVIRONMENT = {"TZ": "UTC", "LC_ALL": "C", "HOME": "/root", "TERM": "dumb"}


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
        for name in ("minigzip", "example", "tcpdump", "openssl"):
            if not os.path.lexists(links / name):
                (links / name).symlink_to(self.native[name])
        result = subprocess.run(words, cwd=folder, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, errors="replace", env={**ENVIRONMENT, "PATH": str(links)})  # fmt: skip
        return result.stdout + f"status {result.returncode}\n"

    def in_root(self, way: Way, script: str, timeout: float = 600) -> str:
        """Return what a script prints in the root, in an empty folder."""
        ended = self.root.run(way, f"rm -rf /tmp/work; mkdir /tmp/work; cd /tmp/work; {script}", timeout)
        return ended.output + f"status {ended.status}\n"


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
    if not expected.endswith("ok\nstatus 0\n"):
        raise Failed(f"the queries fail natively:\n{expected[-500:]}")
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


def zlib(firmware: Firmware, way: Way) -> None:
    """minigzip compresses to the same bytes, which others unpack; zlib's own test passes."""
    expected = firmware.natively([firmware.native["busybox"], "sh", SCRIPTS / "zlib.sh"])
    must_equal(firmware.in_root(way, "sh /root/checks/zlib.sh"), expected)


FILTERS = ("tcp[13] & 2 != 0 and not ip6", "(udp port 53 or vlan 7) and greater 60", "ether[12:2] * 3 % 7 = 5",
           "ip6 proto 17 or arp or icmp[icmptype] = icmp-echo")  # fmt: skip


def tcpdump(firmware: Firmware, way: Way) -> None:
    """Prints captures of known and of random packets, all of them and those that filters take; compiles the filters."""
    captures = write_captures(firmware.root.folder / "root/captures")
    for capture in captures:
        lines = [f"tcpdump -nn -tttt -vvv -e -XX -r /root/captures/{capture.name}"]
        for words in FILTERS:
            lines += [f"tcpdump -nn -t -r /root/captures/{capture.name} '{words}'",
                      f"tcpdump -d -r /root/captures/{capture.name} '{words}'"]  # fmt: skip
        script = "\n".join(f"{line} 2>&1; echo status $?" for line in lines)
        natively = script.replace("/root/captures", str(capture.parent))
        expected = firmware.natively([firmware.native["busybox"], "sh", "-c", natively])
        must_equal(firmware.in_root(way, script), expected.replace(str(capture.parent), "/root/captures"))
