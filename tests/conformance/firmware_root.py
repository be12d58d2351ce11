"""A small firmware like a router's: busybox, dropbear, dnsmasq, lighttpd, openssl and more, from Debian's sources.

Enters: a folder to keep it in, a byte order, a kind of code. Leaves: a root of dynamic programs with the cross
compiler's C library, and the same programs for this machine, which tell what the others should print.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.debian_roots import unpack_source
from tests.support.compiled import ORDERS
from tests.support.paths import GUESTS
from tests.support.tools import need

MIPS16 = ("-mips16", "-fno-ipa-ra")
"""gcc 12 forgets that a MIPS16e function's first instructions, which compute its GP, change $v1: a caller that keeps
something there across a call of a static function loses it."""
KINDS = {
    "plain": (), "mips16": MIPS16, "dsp": ("-mdsp", "-march=24kec"), "dspr2": ("-mdspr2", "-march=74kc"),
    "mixed": (*MIPS16, "-minterlink-mips16", "-wrapper", str(GUESTS / "firmware" / "mixed.sh")),
}  # fmt: skip
"""What a firmware's own programs are compiled with; `mixed`: one source file in two becomes MIPS16e code."""
LIBRARIES = ("ld.so.1", "libc.so.6", "libm.so.6", "libresolv.so.2", "libgcc_s.so.1", "libnss_files.so.2",
             "libatomic.so.1")  # fmt: skip
PROGRAMS = ("bin/busybox", "usr/bin/lua", "usr/bin/sqlite3", "usr/bin/minigzip", "usr/bin/example", "usr/bin/dbclient",
            "usr/sbin/dropbear", "usr/sbin/dropbearkey", "usr/sbin/dnsmasq", "usr/sbin/tcpdump", "usr/sbin/lighttpd",
            "usr/bin/openssl", "usr/lib/openssl/bntest", "usr/lib/openssl/evp_test")  # fmt: skip
"""What to recompile, with all that it loads by name; modules of lighttpd are not among it."""

BUSYBOX = {"USE_BB_CRYPT": "y", "USE_BB_CRYPT_SHA": "y", "TC": "n", "FEATURE_MOUNT_NFS": "n"}
"""What differs from Debian's: tc does not compile with all kernels' headers, and the cross glibc has no crypt."""
DROPBEAR = "#define DROPBEAR_SVR_PASSWORD_AUTH 0\n#define DROPBEAR_CLI_PASSWORD_AUTH 0\n"
DROPBEAR_WITHOUT = ("zlib", "harden", "syslog", "lastlog", "utmp", "utmpx", "wtmp", "wtmpx")
SQLITE = ("-DSQLITE_THREADSAFE=1", "-DSQLITE_ENABLE_FTS5", "-DSQLITE_ENABLE_RTREE", "-DSQLITE_ENABLE_MATH_FUNCTIONS")
LIGHTTPD_WITHOUT = ("pcre", "pcre2", "zlib", "bzip2")
LIGHTTPD_MODULES = ("access", "alias", "auth", "authn_file", "cgi", "dirlisting", "expire", "indexfile", "redirect",
                    "setenv", "simple_vhost", "ssi", "staticfile", "status")  # fmt: skip
OPENSSL_WITHOUT = (
    "afalgeng", "aria", "async", "camellia", "cast", "cmp", "cms", "comp", "ct", "dtls", "ec2m", "engine", "gost",
    "idea", "legacy", "md4", "mdc2", "module", "nextprotoneg", "ocsp", "psk", "rc2", "rc4", "rc5", "rmd160", "sctp",
    "seed", "siphash", "sm2", "sm3", "sm4", "srp", "srtp", "ssl3", "ts", "ui-console", "whirlpool",
)  # fmt: skip
"""What would take long to build, and routers' programs seldom need."""
OPENSSL_TESTS = ("aesgcmtest", "asn1_encode_test", "bio_enc_test", "bntest", "evp_test", "exptest", "lhash_test",
                 "sanitytest", "secmemtest", "sha_test", "threadstest")  # fmt: skip
"""Some of its own tests that the shared library is enough for."""
INITTAB = """::sysinit:/etc/init.d/rcS
::respawn:/bin/httpd -f -p 127.0.0.1:{web} -h /www
::respawn:/usr/sbin/dropbear -F -r /etc/dropbear/key -p 127.0.0.1:{ssh}
"""
RC = r"""#!/bin/sh
mkdir -p /etc/dropbear /var/run /tmp
[ -f /etc/dropbear/key ] || dropbearkey -t ed25519 -f /etc/dropbear/key > /tmp/key.log 2>&1
lua -e 'io.write("booted by ", io.open("/proc/1/comm"):read("l"), " on ", io.popen("uname -m"):read("l"), "\n")'
"""
CGI = r"""#!/bin/sh
printf 'Content-Type: text/plain\r\n\r\n'
echo "$REQUEST_METHOD $QUERY_STRING $REMOTE_ADDR $(uname -m)"
cat
"""


@dataclass(frozen=True)
class Machine:
    """What programs are built for: guests of a byte order (a triple) and a kind of code, or this machine."""

    triple: str = ""
    kind: str = "plain"

    @property
    def name(self) -> str:
        return f"{self.triple}-{self.kind}" if self.triple else "native"

    @property
    def byte_order(self) -> str:
        return next(order for order, triple in ORDERS.items() if triple == self.triple)

    @property
    def prefix(self) -> str:
        return f"{self.triple}-" if self.triple else ""

    @property
    def flags(self) -> tuple[str, ...]:
        return KINDS[self.kind]

    @property
    def compiler(self) -> list[str]:
        return [f"{self.prefix}gcc", "-O2", "-w", *self.flags]


NATIVE = Machine()


def machine_of(byte_order: str, kind: str) -> Machine:
    """Return the machine of a byte order and a kind of code."""
    return Machine(ORDERS[byte_order], kind)


def _run(words: Sequence[object], folder: Path) -> None:
    """Run a step of a build in a folder; its output goes to log.txt there."""
    with (folder / "log.txt").open("a") as log:
        result = subprocess.run([*map(str, words)], cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    if result.returncode != 0:
        tail = "\n".join((folder / "log.txt").read_text(errors="replace").splitlines()[-15:])
        raise RuntimeError(f"{' '.join(map(str, words))}: failed:\n{tail}")


def _configure(source: Path, machine: Machine, *options: str, folder: Path | None = None) -> None:
    """Run a configure script for a machine; in the folder of the sources when no other is named."""
    for_machine = [f"--host={machine.triple}"] if machine.triple else []
    flags = f"CFLAGS=-O2 -w {' '.join(machine.flags)}"
    _run([source / "configure", *for_machine, flags, *options], folder or source)


def _busybox(source: Path, folder: Path, machine: Machine) -> None:
    shutil.copytree(source, folder, dirs_exist_ok=True, symlinks=True)
    config = (source / "debian/config/pkg/deb").read_text()
    for name, value in BUSYBOX.items():
        line = f"CONFIG_{name}=y" if value == "y" else f"# CONFIG_{name} is not set"
        old = rf"^(# CONFIG_{name} is not set|CONFIG_{name}=.*)\n"
        config = re.sub(old, "", config, flags=re.MULTILINE) + line + "\n"
    config = re.sub(r"^CONFIG_EXTRA_CFLAGS=.*$", f'CONFIG_EXTRA_CFLAGS="{" ".join(machine.flags)}"', config, flags=re.M)
    (folder / ".config").write_text(config)
    words = f"make ARCH={'mips' if machine.prefix else 'x86_64'} CROSS_COMPILE={machine.prefix}"
    _run(["sh", "-c", f"yes '' | {words} oldconfig"], folder)
    _run(["sh", "-c", f"{words} busybox"], folder)


def _lua(source: Path, folder: Path, machine: Machine) -> None:
    (folder / "lua5.4-deb-multiarch.h").write_text('#define DEB_HOST_MULTIARCH "none"\n')
    library = [path for path in (source / "src").glob("*.c") if path.name not in ("lua.c", "luac.c")]
    compiler = [*machine.compiler, "-I", folder, "-DLUA_USE_LINUX", "-DLUA_COMPAT_5_3"]
    name = "liblua5.4.so.0"
    _run([*compiler, "-fPIC", "-shared", f"-Wl,-soname,{name}", "-o", name, *library, "-lm"], folder)
    _run([*compiler, "-o", "lua", source / "src/lua.c", "./liblua5.4.so.0", "-lm", "-Wl,-rpath,$ORIGIN"], folder)


def _sqlite(source: Path, folder: Path, machine: Machine) -> None:
    need("tclsh", "tcl")  # the sources are put together by it
    _run([source / "configure", "--disable-readline"], folder)
    _run(["make", "-s", "sqlite3.c", "shell.c", "sqlite3.h"], folder)
    compiler = [*machine.compiler, *SQLITE]
    name = "libsqlite3.so.0"
    _run([*compiler, "-fPIC", "-shared", f"-Wl,-soname,{name}", "-o", name, "sqlite3.c", "-lm"], folder)
    _run([*compiler, "-o", "sqlite3", "shell.c", "./libsqlite3.so.0", "-lm", "-Wl,-rpath,$ORIGIN"], folder)


def _dropbear(source: Path, folder: Path, machine: Machine) -> None:
    (folder / "localoptions.h").write_text(DROPBEAR)
    _configure(source, machine, *(f"--disable-{name}" for name in DROPBEAR_WITHOUT), folder=folder)
    _run(["make", "-s", "PROGRAMS=dropbear dbclient dropbearkey"], folder)


def _dnsmasq(source: Path, folder: Path, machine: Machine) -> None:
    compiler, *flags = machine.compiler
    _run(["make", "-C", source, f"BUILDDIR={folder}", f"CC={compiler}", f"CFLAGS={' '.join(flags)}"], folder)


def _zlib(source: Path, folder: Path, machine: Machine) -> None:
    compiler = [*machine.compiler, "-I", source, "-DHAVE_UNISTD_H", "-D_LARGEFILE64_SOURCE=1"]
    name = "libz.so.1"
    _run([*compiler, "-fPIC", "-shared", f"-Wl,-soname,{name}", "-o", name, *source.glob("*.c")], folder)
    for program in ("minigzip", "example"):
        _run([*compiler, "-o", program, source / f"test/{program}.c", f"./{name}", "-Wl,-rpath,$ORIGIN"], folder)


def _tcpdump(source: Path, folder: Path, machine: Machine) -> None:
    """libpcap becomes a part of the program: its configure script finds what lies beside it."""
    for tool in ("flex", "bison"):
        need(tool)
    for part in (unpack_source(source.parent, "libpcap"), source):
        shutil.copytree(part, folder / part.name, symlinks=True)
    options = ("--disable-dbus", "--disable-usb", "--disable-bluetooth", "--disable-rdma", "--without-libnl",
               "--without-dpdk", "--without-dag", "--disable-shared")  # fmt: skip
    _configure(folder / "libpcap", machine, "--with-pcap=linux", *options)
    _run(["make", "-s", "libpcap.a"], folder / "libpcap")
    _configure(folder / "tcpdump", machine, "--without-crypto", "--without-smi", "--without-cap-ng")
    _run(["make", "-s", "tcpdump"], folder / "tcpdump")


def _lighttpd(source: Path, folder: Path, machine: Machine) -> None:
    _configure(source, machine, "--disable-static", *(f"--without-{name}" for name in LIGHTTPD_WITHOUT), folder=folder)
    _run(["make", "-s", f"-j{os.cpu_count()}", "-C", "src"], folder)


def _openssl(source: Path, folder: Path, machine: Machine) -> None:
    """Its code in assembly, which perl writes, is never MIPS16e code: only the assembler hears of that."""
    without = [f"no-{name}" for name in OPENSSL_WITHOUT]
    flags = f"CFLAGS=-O2 -w {' '.join(machine.flags)} -Wa,-no-mips16"
    _run([need("perl"), source / "Configure", "linux-mips32", f"--cross-compile-prefix={machine.prefix}",
          "--prefix=/usr", "--openssldir=/etc/ssl", "shared", *without, flags], folder)  # fmt: skip
    programs = ["apps/openssl", *(f"test/{name}" for name in OPENSSL_TESTS)]
    _run(["make", "-s", f"-j{os.cpu_count()}", "build_libs", *programs], folder)


BUILDERS: dict[str, Callable[[Path, Path, Machine], None]] = {
    "busybox": _busybox, "lua5.4": _lua, "sqlite3": _sqlite, "dropbear": _dropbear, "dnsmasq": _dnsmasq,
    "zlib": _zlib, "tcpdump": _tcpdump, "lighttpd": _lighttpd, "openssl": _openssl,
}  # fmt: skip


def _built(state: Path, package: str, machine: Machine) -> Path:
    """Return the folder in which a package was built for a machine."""
    folder = state / "build" / f"{package}-{machine.name}"
    if not (folder / "done").exists():
        print(f"building {package} for {machine.name}", file=sys.stderr, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        BUILDERS[package](unpack_source(state / "sources", package), folder, machine)
        (folder / "done").touch()
    return folder


def _write(root: Path, name: str, text: str, mode: int = 0o644) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def native_programs(state: Path) -> dict[str, Path]:
    """Return the programs for this machine that are judges."""
    places = {
        "busybox": "busybox", "lua": "lua5.4", "sqlite3": "sqlite3", "dnsmasq": "dnsmasq", "minigzip": "zlib",
        "example": "zlib", "tcpdump": "tcpdump/tcpdump", "lighttpd": "lighttpd/src",
    }  # fmt: skip
    found = {}
    for program, place in places.items():
        package, _, below = place.partition("/")
        found[program] = _built(state, package, NATIVE) / below / program
    return found | {"openssl": Path(need("openssl"))}


def make_firmware(state: Path, machine: Machine, web_port: int, ssh_port: int) -> Path:
    """Return the root, built where it is not yet."""
    need(f"{machine.triple}-gcc", f"gcc-{machine.triple}")
    root = state / f"root-{machine.name}"
    folders = {package: _built(state, package, machine) for package in BUILDERS}
    copies = {f"lib/{name}": Path(f"/usr/{machine.triple}/lib", name) for name in LIBRARIES} | {
        "bin/busybox": folders["busybox"] / "busybox", "usr/bin/lua": folders["lua5.4"] / "lua",
        "lib/liblua5.4.so.0": folders["lua5.4"] / "liblua5.4.so.0", "usr/bin/sqlite3": folders["sqlite3"] / "sqlite3",
        "lib/libsqlite3.so.0": folders["sqlite3"] / "libsqlite3.so.0",
        "usr/sbin/dropbear": folders["dropbear"] / "dropbear", "usr/bin/dbclient": folders["dropbear"] / "dbclient",
        "usr/sbin/dropbearkey": folders["dropbear"] / "dropbearkey", "lib/libz.so.1": folders["zlib"] / "libz.so.1",
        "usr/bin/minigzip": folders["zlib"] / "minigzip", "usr/bin/example": folders["zlib"] / "example",
        "usr/sbin/dnsmasq": folders["dnsmasq"] / "dnsmasq", "usr/sbin/tcpdump": folders["tcpdump"] / "tcpdump/tcpdump",
        "usr/sbin/lighttpd": folders["lighttpd"] / "src/lighttpd",
        "usr/bin/openssl": folders["openssl"] / "apps/openssl",
        "etc/ssl/openssl.cnf": state / "sources/openssl/apps/openssl.cnf",
    }  # fmt: skip
    for name in LIGHTTPD_MODULES:
        copies[f"usr/lib/lighttpd/mod_{name}.so"] = folders["lighttpd"] / f"src/.libs/mod_{name}.so"
    for name in OPENSSL_TESTS:
        copies[f"usr/lib/openssl/{name}"] = folders["openssl"] / "test" / name
    for name in ("libcrypto.so.3", "libssl.so.3"):
        copies[f"lib/{name}"] = folders["openssl"] / name
    for name, path in copies.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if not (root / name).exists():
            shutil.copy2(path, root / name)
    for applet in _applets(state):
        link = root / "bin" / applet
        if not os.path.lexists(link):
            link.symlink_to("busybox")
    (root / "sbin").mkdir(exist_ok=True)
    if not os.path.lexists(root / "sbin/init"):
        (root / "sbin/init").symlink_to("../bin/busybox")
    _write(root, "etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
    _write(root, "etc/group", "root:x:0:\n")
    _write(root, "etc/shells", "/bin/sh\n")
    _write(root, "etc/inittab", INITTAB.format(web=web_port, ssh=ssh_port))
    _write(root, "etc/init.d/rcS", RC, 0o755)
    _write(root, "www/index.html", "<h1>It works</h1>\n")
    _write(root, "www/large.txt", "".join(f"{number:07d}\n" for number in range(400_000)))
    _write(root, "www/cgi-bin/echo", CGI, 0o755)
    (root / "root").mkdir(mode=0o700, exist_ok=True)
    return root


def _applets(state: Path) -> list[str]:
    """Return the names of busybox's applets; both builds have the same."""
    busybox = native_programs(state)["busybox"]
    return subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True).stdout.split()
