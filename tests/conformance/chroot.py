"""Debian for mipsel after chroot: apt, dpkg, shells, gcc, and a package built from its source by MIPS programs alone.

Enters: words of the command line. Leaves: a table of the seconds that each check took in each way on standard output,
what failed on standard error, and exit status 0 when nothing did. The ways: the host started by hand or by the kernel
(binfmt_misc), interpreted or with code for all but what --interpret names; and qemu-user. What compilers make must be
the same to the byte in all ways.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.debian_roots import WAYS, Root, Way, qemu_static, table, unpack_packages, unpack_source
from tests.support.hosts import plain_host
from tests.support.tools import need

PACKAGES = (
    "apt dpkg bash dash coreutils sed grep gawk mawk tar gzip xz-utils make gcc libc6-dev perl-base findutils "
    "diffutils patch debianutils base-files base-passwd libc-bin"
).split()  # fmt: skip
TOOLS = (
    "bin/dash bin/bash usr/bin/make usr/bin/gcc usr/lib/gcc/mipsel-linux-gnu/12/collect2 usr/bin/as usr/bin/ld "
    "usr/bin/ar bin/sed bin/grep usr/bin/expr usr/bin/sort usr/bin/uniq usr/bin/cut usr/bin/head usr/bin/tr "
    "usr/bin/tee bin/cat bin/rm bin/cp bin/mv bin/ln bin/ls bin/mkdir bin/chmod bin/uname bin/true bin/echo bin/sleep "
    "usr/bin/basename usr/bin/dirname usr/bin/sha256sum usr/bin/mawk usr/bin/env usr/bin/apt-get usr/bin/dpkg "
    "usr/bin/dpkg-query"
).split()  # fmt: skip
COMPILER = "usr/lib/gcc/mipsel-linux-gnu/12/cc1"
ARCHIVE_LINKS = {"awk": "mawk"}

PROCESSES = r"""
total=0 i=0
while [ $i -lt 40 ]; do
    ten=$(/bin/echo $i | sed 's/$/0/' | cut -c 1-4)
    [ "$(expr 1 + $ten / 10)" = $((i + 1)) ] || exit 1
    total=$((total + ten)); i=$((i + 1))
done
/bin/echo total $total
for n in 1 2 3 4 5 6 7 8; do (sleep 0.0$n; exit $n) & list="$list $!"; done
for child in $list; do wait $child; printf '%s ' $?; done
yes | head -n 5 | sort | uniq -c
"""  # 40 times four and two subshells, and twenty more
HELLO = r"""
#include <stdio.h>
int main(void) { printf("hello from %d bits\n", (int)sizeof(void *) * 8); return 7; }
"""
ZLIB = """
cd /tmp/zlib && ./configure > configure.log 2>&1 && make -j2 > make.log 2>&1 && make test > test.log 2>&1 || {
    tail -n 20 *.log; exit 1; }
grep -c 'test OK' test.log
sha256sum libz.a libz.so.1.2.13
"""
LUA = r"""
: > /tmp/lua/src/lua5.4-deb-multiarch.h
cd /tmp/lua/src && make -j2 -f ../plain.mk > make.log 2>&1 || { tail -n 20 make.log; exit 1; }
./lua -e 'print(_VERSION, math.pi)'
sha256sum lua
"""
LUA_MAKEFILE = """
CC = gcc
CFLAGS = -O2 -DLUA_USE_POSIX -I. '-DDEB_HOST_MULTIARCH="mipsel-linux-gnu"'
lua: $(patsubst %.c,%.o,$(filter-out luac.c,$(wildcard *.c)))
\t$(CC) -o $@ $^ -lm
"""  # Debian's needs libtool, and makes that header
THOUSAND = "i=0; while [ $i -lt 1000 ]; do /bin/true || exit 1; i=$((i + 1)); done; echo $i"


@dataclass(frozen=True)
class Check:
    """A shell script, and what its output must match."""

    name: str
    script: str
    expected: str
    status: int = 0
    timeout: float = 300
    same_everywhere: bool = False
    prepare: Callable[[Root, Path], None] = lambda root, state: None


def _source(package: str, name: str, makefile: str = "") -> Callable[[Root, Path], None]:
    def prepare(root: Root, state: Path) -> None:
        target = root.folder / "tmp" / name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(unpack_source(state, package), target, symlinks=True)
        (target / "plain.mk").write_text(makefile)

    return prepare


def _write(name: str, text: str) -> Callable[[Root, Path], None]:
    return lambda root, state: (root.folder / "tmp" / name).write_text(text) and None


def checks(package_count: int) -> list[Check]:
    """Return all checks."""
    return [
        Check("apt", "apt-get --version", r"apt [\d.]+ \(mipsel\)\n.*Ver: Standard \.deb\n.* Idx: EIPP [^\n]*\n"),
        Check("dpkg", "dpkg -l | grep -c '^ii '; dpkg -s zlib1g | grep ^Arch",
              rf"{package_count}\nArchitecture: mipsel\n"),
        Check("sh-200", "dash /tmp/processes.sh", r"total 7800\n1 2 3 4 5 6 7 8 \s+5 y\n",
              prepare=_write("processes.sh", PROCESSES)),
        Check("bash-200", "bash /tmp/processes.sh", r"total 7800\n1 2 3 4 5 6 7 8 \s+5 y\n",
              prepare=_write("processes.sh", PROCESSES)),
        Check("perl", "perl -e 'printf qq(%.3f %s\\n), exp(1), join q(,), map {$_ ** 2} 1 .. 5'",
              r"2\.718 1,4,9,16,25\n"),
        Check("gcc", "cd /tmp && rm -f a.out && gcc -O2 hello.c && sha256sum a.out && ./a.out",
              r"[0-9a-f]{64}  a\.out\nhello from 32 bits\n", status=7, same_everywhere=True,
              prepare=_write("hello.c", HELLO)),
        Check("true-1000", THOUSAND, r"1000\n"),
        Check("zlib", ZLIB, r"3\n([0-9a-f]{64}  libz\S+\n){2}", timeout=3600, same_everywhere=True,
              prepare=_source("zlib", "zlib")),
        Check("lua", LUA, r"Lua 5\.4\t3\.1415926535898\n[0-9a-f]{64}  lua\n", timeout=3600, same_everywhere=True,
              prepare=_source("lua5.4", "lua", LUA_MAKEFILE)),
    ]  # fmt: skip


def make_root(folder: Path, archives: list[Path]) -> None:
    """Do what the packages' scripts would, as far as the checks need it."""
    for name in ("dpkg/info", "dpkg/updates", "apt/lists/partial"):
        (folder / "var/lib" / name).mkdir(parents=True, exist_ok=True)
    status = []
    for archive in archives:
        fields = subprocess.run([need("dpkg-deb", "dpkg"), "-f", archive], check=True, capture_output=True, text=True)
        name, _, rest = fields.stdout.strip().partition("\n")
        status.append(f"{name}\nStatus: install ok installed\n{rest}\n")
        package = name.removeprefix("Package: ")
        for listed in (package, f"{package}:mipsel"):
            (folder / "var/lib/dpkg/info" / f"{listed}.list").touch()
    (folder / "var/lib/dpkg/status").write_text("\n".join(status))
    for name, target in ARCHIVE_LINKS.items():
        link = folder / "usr/bin" / name
        if not link.is_symlink():
            link.symlink_to(target)


def parse(words: list[str]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="make conformance ARGS=chroot", description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("build/chroot"), help="kept between runs (build/chroot)")
    parser.add_argument("--way", action="append", choices=[str(way) for way in WAYS], help="only this one (repeatable)")
    parser.add_argument("--check", action="append", metavar="NAME", help="only this one (repeatable)")
    parser.add_argument("--opt", default="light", help="effort of recompilation (light)")
    parser.add_argument("--with-compiler", action="store_true", help="recompile cc1, too: six million instructions")
    return parser.parse_args(words)


def judge(check: Check, way: Way, root: Root, seen: dict[str, str]) -> tuple[str, str | None]:
    """Run a check; return a cell of the table, and what is wrong."""
    ended = root.run(way, check.script, check.timeout)
    wrong = None
    if ended.status != check.status or not re.fullmatch(check.expected, ended.output, re.DOTALL):
        wrong = f"status {ended.status}, output:\n{ended.output[-2000:]}"
    elif check.same_everywhere and seen.setdefault(check.name, ended.output) != ended.output:
        wrong = f"other files than before:\n{ended.output}{seen[check.name]}"
    return f"{ended.seconds:.2f}" + (" FAILED" if wrong else ""), wrong


def main(words: list[str]) -> int:
    """Run what the words say; return the exit status."""
    chosen = parse(words)
    state = chosen.folder.absolute()
    state.mkdir(parents=True, exist_ok=True)
    root = Root(state / "root", chosen.opt)
    archives = unpack_packages(root.folder, "mipsel", PACKAGES)
    make_root(root.folder, archives)
    ways = [way for way in WAYS if not chosen.way or str(way) in chosen.way]
    root.install(plain_host(), qemu_static(state, "little") if any(way.start == "qemu" for way in ways) else None)
    if any(way.recompiled for way in ways):
        root.build(*TOOLS, *([COMPILER] if chosen.with_compiler else []))
    rows: dict[str, dict[str, str]] = {}
    seen: dict[str, str] = {}
    failed = 0
    for check in checks(len(archives)):
        if chosen.check and check.name not in chosen.check:
            continue
        for way in ways:  # one after the other: so times can be compared
            check.prepare(root, state)
            cell, wrong = judge(check, way, root, seen)
            rows.setdefault(check.name, {})[str(way)] = cell
            print(f"{check.name} {way}: {cell} s", file=sys.stderr, flush=True)
            if wrong:
                failed += 1
                print(f"{check.name} {way}: {wrong}", file=sys.stderr, flush=True)
    print("\n".join(["Seconds; FAILED: wrong output or status", "", *table(rows, [str(way) for way in ways])]))
    return 1 if failed else 0
