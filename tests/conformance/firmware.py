"""Firmwares after chroot: init boots each, it serves pages and logins, its programs do as native ones do.

Enters: words of the command line. Leaves: a table of the seconds that each check took in each way on standard output,
what failed on standard error, and exit status 0 when nothing did. firmware_root.py builds the firmware from Debian's
sources; the judges are the same sources built for this machine, and this machine's own HTTP and ssh clients.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.conformance import (
    firmware_lighttpd,
    firmware_openssl,
    firmware_programs,
    firmware_services,
    firmware_vi,
)
from tests.conformance.debian_roots import WAYS, Root, Way, qemu_static, table
from tests.conformance.firmware_programs import SCRIPTS, Failed, Firmware
from tests.conformance.firmware_root import KINDS, PROGRAMS, Machine, machine_of, make_firmware, native_programs
from tests.conformance.firmware_services import free_port
from tests.support.compiled import ORDERS
from tests.support.hosts import plain_host

CHECKS = {
    "services": firmware_services.services, "dns": firmware_services.dns, "applets": firmware_programs.applets,
    "lua": firmware_programs.lua, "sqlite": firmware_programs.sqlite, "zlib": firmware_programs.zlib,
    "tcpdump": firmware_programs.tcpdump, "lighttpd": firmware_lighttpd.lighttpd, "vi": firmware_vi.vi,
    "openssl": firmware_openssl.openssl, "testsuite": firmware_programs.testsuite,
}  # fmt: skip
USUAL = tuple(name for name in CHECKS if name != "testsuite")
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
