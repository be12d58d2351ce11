"""Services of a firmware, beside clients and servers of this machine.

Enters: a firmware that firmware_root.py built, and a way of running it. Leaves: Failed, with what a service did not do.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from tests.conformance.debian_roots import Way, end_all
from tests.conformance.firmware_programs import SCRIPTS, Failed, Firmware
from tests.support.tools import need

PATIENCE = 120  # seconds to boot, answer and log in


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def until(action: Callable[[], object], seconds: float = PATIENCE) -> None:
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
                until(lambda port=port: socket.create_connection(("127.0.0.1", port), 1).close())  # type: ignore[misc]
            _web(firmware)
            if os.geteuid() == 0:
                _ssh(firmware, way)
            else:
                print("ssh: not tried, since only root can make namespaces that have users", file=sys.stderr)
        except (Failed, OSError, subprocess.TimeoutExpired) as error:
            end_all(process)
            raise Failed(f"{error}\nits log:\n{process.stdout.read()[-1000:]}") from error


# ---- names ----

NAMES = ("one.example", "alias.example", "example", "text.example", "_sip._udp.example", "a.b.wild.example",
         "1.2.0.192.in-addr.arpa", "phone.example", "www.up.example", "gone.example", "OnE.eXaMpLe",
         "x" * 63 + ".example", "one.large.example", "version.bind")  # fmt: skip
TYPES = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33, "NAPTR": 35,
         "ANY": 255, "CAA": 257}  # fmt: skip


def _queries() -> list[bytes]:
    """Return queries of all names and types, some with an OPT record of EDNS, and some that break the rules."""
    found = []
    for name in NAMES:
        labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
        for number in TYPES.values():
            place, kind = len(found), 3 if name == "version.bind" else 1
            edns = b"\0\0\x29\x04\xd0\0\0\x80\0\0\0" if place % 3 == 0 else b""
            head = (1000 + place, 0x0100 if place % 5 else 0x0000, 1, 0, 0, int(bool(edns)))
            found.append(struct.pack(">6H", *head) + labels + struct.pack(">2H", number, kind) + edns)
    plain = found[1]
    opcode, questions = plain[:2] + b"\x11\0" + plain[4:], plain[:4] + b"\0\2" + plain[6:]
    return [*found, opcode, questions, plain[:-3], plain[:12] + b"\xc0\x0c" + plain[-4:], plain[:8]]


def _ask(port: int, query: bytes, seconds: float) -> bytes:
    """Return a server's answer to a datagram; nothing when none comes in time."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", port))
        client.settimeout(seconds)
        client.send(query)
        try:
            return client.recv(65536)
        except TimeoutError:
            return b""


def _ask_by_tcp(port: int, query: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
        client.sendall(len(query).to_bytes(2, "big") + query)
        client.shutdown(socket.SHUT_WR)
        with client.makefile("rb") as answer:
            return answer.read()


@contextlib.contextmanager
def _native_server(firmware: Firmware, port: int, *options: str) -> Iterator[None]:
    with subprocess.Popen([firmware.native["dnsmasq"], *DNSMASQ, f"--port={port}", *options], stderr=subprocess.DEVNULL,
                          stdin=subprocess.DEVNULL) as process:  # fmt: skip
        try:
            until(lambda: socket.create_connection(("127.0.0.1", port), 1).close())
            yield
        finally:
            process.terminate()


DNSMASQ = ("--keep-in-foreground", "--user=root", "--group=root", "--pid-file=", "--log-facility=-",
           "--bind-interfaces", "--listen-address=127.0.0.1", "--no-resolv", "--no-hosts")  # fmt: skip


def dns(firmware: Firmware, way: Way) -> None:
    """dnsmasq answers as the native one does, by UDP and TCP: what it knows, and what a third one tells it."""
    above, native, ours = free_port(), free_port(), free_port()
    names = SCRIPTS / "dnsmasq.conf"
    forward = f"--server=/up.example/127.0.0.1#{above}"
    with (
        _native_server(firmware, above, "--address=/up.example/192.0.2.99", "--local-ttl=100000"),
        _native_server(firmware, native, forward, f"--conf-file={names}"),
    ):
        words = ["dnsmasq", *DNSMASQ, f"--port={ours}", forward, "--conf-file=/root/checks/dnsmasq.conf"]
        with firmware.root.started(way, f"exec {shlex.join(words)}") as process:
            try:
                until(lambda: socket.create_connection(("127.0.0.1", ours), 1).close())
                _same_answers(native, ours)
            except (Failed, OSError) as error:
                end_all(process)
                assert process.stdout is not None
                raise Failed(f"{error}\nits log:\n{process.stdout.read()[-1000:]}") from error


def _same_answers(native: int, ours: int) -> None:
    queries, answered = _queries(), 0
    for query in queries:
        expected = _ask(native, query, 1)
        found = _ask(ours, query, PATIENCE if expected else 1)
        answered += bool(expected)
        if found != expected:
            raise Failed(f"{query!r} by UDP: {found!r} instead of {expected!r}")
        expected, found = _ask_by_tcp(native, query), _ask_by_tcp(ours, query)
        if found != expected:
            raise Failed(f"{query!r} by TCP: {found!r} instead of {expected!r}")
    if answered < 100:
        raise Failed(f"the native server answers only {answered} of {len(queries)} queries")
    with ThreadPoolExecutor(16) as pool:
        if set(pool.map(lambda _: _ask(ours, queries[0], PATIENCE), range(200))) != {_ask(native, queries[0], 1)}:
            raise Failed("many queries at once: other answers")
