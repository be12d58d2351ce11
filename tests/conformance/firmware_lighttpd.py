"""lighttpd of a firmware answers requests as one built for this machine does, which serves the same files.

Enters: a firmware that firmware_root.py built, and a way of running it; tests/guests/firmware/lighttpd.conf. Leaves:
Failed, with the first request that has another answer.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.conformance.debian_roots import Way, end_all
from tests.conformance.firmware_programs import ENVIRONMENT, SCRIPTS, Failed, Firmware
from tests.conformance.firmware_services import PATIENCE, free_port, until

LARGE = "/large.txt"
SINCE = f"GET {LARGE} HTTP/1.1\nIf-Modified-Since: Sun, 06 Nov"
BASIC = "GET /secret/ HTTP/1.1\nAuthorization: Basic"
SECRET, WRONG = f"{BASIC} cm91dGVyOnNlY3JldA==", f"{BASIC} cm91dGVyOno="
"""The user `router` with the right password, and with another one."""
REQUESTS = (
    "GET / HTTP/1.1", "HEAD / HTTP/1.1", "GET /index.html HTTP/1.0", "GET /index.html?a=b#c HTTP/1.1",
    f"GET {LARGE} HTTP/1.1", f"HEAD {LARGE} HTTP/1.1", f"GET {LARGE} HTTP/1.1\nRange: bytes=100-199",
    f"GET {LARGE} HTTP/1.1\nRange: bytes=-50", f"GET {LARGE} HTTP/1.1\nRange: bytes=3199990-",
    f"GET {LARGE} HTTP/1.1\nRange: bytes=0-9,100-109,5000-", f"GET {LARGE} HTTP/1.1\nRange: bytes=99999999-",
    f"GET {LARGE} HTTP/1.1\nRange: lines=1-2", f"{SINCE} 2094 08:49:37 GMT",
    f"{SINCE} 1994 08:49:37 GMT", f"GET {LARGE} HTTP/1.1\nIf-None-Match: *",
    "GET /missing HTTP/1.1", "GET /listed HTTP/1.1", "GET /listed/ HTTP/1.1", "GET /cgi-bin HTTP/1.1",
    "GET /listed/users.inc HTTP/1.1", "GET /index.html~ HTTP/1.1", "GET /other/one.txt HTTP/1.1", "GET /old HTTP/1.1",
    "GET /secret/ HTTP/1.1", SECRET, WRONG,
    "GET /one.txt HTTP/1.1\nHost: other.example", "GET /listed/page.shtml HTTP/1.1", "OPTIONS * HTTP/1.1",
    "GET /listed/sp%61ce%20%C3%A4.txt HTTP/1.1", "GET /../../etc/passwd HTTP/1.1", "GET /%2e%2e/etc/passwd HTTP/1.1",
    "GET //index.html HTTP/1.1", "GET /a%00b HTTP/1.1", "POST /index.html HTTP/1.1\nContent-Length: 3\n\nabc",
    "POST / HTTP/1.1\nTransfer-Encoding: chunked\n\n3\nabc\n0\n\n", "POST / HTTP/1.1\nContent-Length: 99999999",
    "DELETE / HTTP/1.1", "NONSENSE / HTTP/1.1", "GET / HTTP/1.1\nHost: a b", "GET / HTTP/9.9", "GET /", "nonsense",
    "GET / HTTP/1.1\nBroken", f"GET /{'x' * 5000} HTTP/1.1", f"GET / HTTP/1.1\nLong: {'x' * 20000}",
    "GET / HTTP/1.1\nConnection: keep-alive\nHost: a\n\nGET /one HTTP/1.1\nConnection: keep-alive\nHost: a\n\n"
    "HEAD / HTTP/1.1",
)  # fmt: skip
"""Each ends with a host's name and the wish to close the connection, if it names none."""


def _ask(port: int, request: str) -> bytes:
    """Return the answer to a request, without its times and its tag, which depends on the byte order."""
    lines = request.replace("\n", "\r\n")
    if "\n\n" not in request or request.endswith("HTTP/1.1"):
        host = "" if "Host:" in request.rpartition("\n\n")[2] else "Host: router\r\n"
        lines += f"\r\n{host}Connection: close\r\n\r\n"
    else:
        lines = lines.replace("\r\n\r\n", "\r\nHost: router\r\nConnection: close\r\n\r\n", 1)
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
        client.sendall(lines.encode())
        with client.makefile("rb") as stream:
            answer = stream.read()
    return re.sub(rb"\r\n(Date|Expires|ETag): [^\r]*", rb"\r\n\1: other", answer)


def _make_pages(www: Path) -> None:
    pages = {
        "one.txt": "one\n", "two.html": "<p>two</p>\n", "space ä.txt": "a name with a space\n",
        "users.inc": "router:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n",
        "page.shtml": 'size <!--#fsize file="one.txt"-->; <!--#echo var="REQUEST_URI"-->',
    }  # fmt: skip
    for name, text in pages.items():
        path = www / "listed" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        os.utime(path, (1e9, 1e9))


def _same_answers(native: int, ours: int, www: Path) -> None:
    for request in REQUESTS:
        expected, found = _ask(native, request), _ask(ours, request)
        if found != expected:
            raise Failed(f"{request[:200]!r}: {found[:1000]!r} instead of {expected[:1000]!r}")
    wanted = [_ask(native, f"GET {LARGE} HTTP/1.1"), _ask(native, "GET / HTTP/1.1")]
    contents = (www / LARGE.strip("/")).read_bytes()
    if not wanted[0].endswith(contents) or not wanted[1].startswith(b"HTTP/1.1 200 OK\r\n"):
        raise Failed(f"the native server answers {wanted[1]!r}")
    with ThreadPoolExecutor(16) as pool:
        if set(pool.map(lambda place: _ask(ours, REQUESTS[4 if place % 8 == 0 else 0]), range(400))) != set(wanted):
            raise Failed("many requests at once: other answers")


def _programs(port: int) -> None:
    """A CGI program and the status page, which know the machine."""
    body = "x" * 5000
    answer = _ask(port, f"POST /cgi-bin/echo?a=b HTTP/1.1\nContent-Length: {len(body)}\n\n{body}")
    if b"POST a=b 127.0.0.1 mips\n" not in answer or body.encode() not in answer:
        raise Failed(f"CGI: {answer[:500]!r}")
    if b"Server-Status" not in _ask(port, "GET /status HTTP/1.1"):
        raise Failed("no status page")


def lighttpd(firmware: Firmware, way: Way) -> None:
    """lighttpd serves pages, ranges, a listing, an alias, a redirection, a password's page and a CGI program."""
    native, ours, www = free_port(), free_port(), firmware.root.folder / "www"
    program = firmware.native["lighttpd"]
    _make_pages(www)
    server = subprocess.Popen([program, "-D", "-f", SCRIPTS / "lighttpd.conf", "-m", program.parent / ".libs"],
                              env={**ENVIRONMENT, "WWW": str(www), "PORT": str(native)},
                              stderr=subprocess.DEVNULL)  # fmt: skip
    command = f"WWW=/www PORT={ours} exec lighttpd -D -f /root/checks/lighttpd.conf -m /usr/lib/lighttpd"
    with server, firmware.root.started(way, command) as process:
        try:
            for port in (native, ours):
                until(lambda port=port: socket.create_connection(("127.0.0.1", port), 1).close())  # type: ignore[misc]
            _same_answers(native, ours, www)
            _programs(ours)
        except (Failed, OSError) as error:
            end_all(process)
            assert process.stdout is not None
            raise Failed(f"{error}\nits log:\n{process.stdout.read()[-1000:]}") from error
        finally:
            server.terminate()
