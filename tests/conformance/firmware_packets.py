"""Captures of packets for tcpdump, written as files of libpcap in both byte orders and precisions of time.

Enters: a folder. Leaves: the same files each time. Packets are those of a router's day, and random ones of as many
protocols as have a number; nothing is captured.
"""

from __future__ import annotations

import random
import struct
from pathlib import Path

ETHERNET, RAW_IP = 1, 101
"""Types of links, as in pcap-linktype(7)."""
MAGIC = {"microseconds": 0xA1B2C3D4, "nanoseconds": 0xA1B23C4D}
HOSTS = (bytes.fromhex("020000000001"), bytes.fromhex("020000000002"))
ADDRESSES = (bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2)))
LONG_ADDRESSES = (bytes.fromhex("20010db8") + bytes(11) + b"\1", bytes.fromhex("20010db8") + bytes(11) + b"\2")
# Not 123: a time of NTP may be one that only a 64-bit time_t can hold.
PORTS = (53, 67, 69, 88, 111, 1646, 137, 138, 161, 162, 179, 500, 514, 520, 521, 546, 547, 623, 646, 1645, 1701, 1812,
         1985, 2049, 3784, 4341, 4789, 5353, 5060, 6081, 6343, 9995, 21, 25, 80, 110, 139, 143, 389, 443, 445, 554,
         1723, 1883)  # fmt: skip
ETHERTYPES = (0x0800, 0x0806, 0x86DD, 0x8100, 0x8035, 0x8137, 0x809B, 0x8847, 0x8863, 0x8864, 0x888E, 0x88A8, 0x88CC,
              0x8902, 0x8906, 0x9000, 0x0026, 0x0100)  # fmt: skip


def _checksum(data: bytes) -> int:
    """Return the Internet checksum of RFC 1071."""
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def _ip4(protocol: int, payload: bytes, fragment: int = 0) -> bytes:
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 7, fragment, 64, protocol, 0, *ADDRESSES)
    return head[:10] + struct.pack(">H", _checksum(head)) + head[12:] + payload


def _ip6(protocol: int, payload: bytes) -> bytes:
    return struct.pack(">IHBB16s16s", 0x60000000, len(payload), protocol, 64, *LONG_ADDRESSES) + payload


def _ethernet(kind: int, payload: bytes) -> bytes:
    return HOSTS[1] + HOSTS[0] + struct.pack(">H", kind) + payload


def _udp(source: int, target: int, payload: bytes) -> bytes:
    return struct.pack(">4H", source, target, 8 + len(payload), 0) + payload


def _tcp(source: int, target: int, flags: int, payload: bytes = b"", options: bytes = b"") -> bytes:
    offset = (20 + len(options)) << 10
    return struct.pack(">HHIIHHHH", source, target, 1000, 2000, offset | flags, 8192, 0, 0) + options + payload


def _known() -> list[bytes]:
    """Return frames that obey their protocols."""
    question = b"\3www\7example\3com\0" + struct.pack(">2H", 1, 1)
    query = struct.pack(">6H", 77, 0x0100, 1, 0, 0, 0) + question
    answer = struct.pack(">6H", 77, 0x8180, 1, 1, 0, 0) + question + b"\xc0\x0c" + struct.pack(
        ">2HIH4s", 1, 1, 300, 4, ADDRESSES[1])  # fmt: skip
    dhcp = struct.pack(">BBBBIHH16x6s202xI", 1, 1, 6, 0, 0x12345678, 3, 0, HOSTS[0], 0x63825363)
    dhcp += bytes((53, 1, 1, 55, 4, 1, 3, 6, 15, 12, 4)) + b"host" + b"\xff"
    clock = struct.pack(">BBbb11I", 0x23, 2, 6, -20, 0x1234, 0x5678, 0xC0000201, *(0xE0000000 + i for i in range(8)))
    options = bytes.fromhex("020405b40402080a000012340000567801030307")
    ask = struct.pack(">HHBBH6s4s6s4s", 1, 0x0800, 6, 4, 1, HOSTS[0], ADDRESSES[0], bytes(6), ADDRESSES[1])
    echo = struct.pack(">BBHHH", 8, 0, 0, 1, 2) + bytes(range(48))
    return [
        _ethernet(0x0806, ask), _ethernet(0x0800, _ip4(1, echo[:2] + struct.pack(">H", _checksum(echo)) + echo[4:])),
        _ethernet(0x0800, _ip4(17, _udp(40000, 53, query))), _ethernet(0x0800, _ip4(17, _udp(53, 40000, answer))),
        _ethernet(0x0800, _ip4(17, _udp(68, 67, dhcp))), _ethernet(0x0800, _ip4(17, _udp(123, 123, clock))),
        _ethernet(0x0800, _ip4(6, _tcp(40000, 80, 2, options=options))),
        _ethernet(0x0800, _ip4(6, _tcp(40000, 80, 24, b"GET / HTTP/1.1\r\nHost: www.example.com\r\n\r\n"))),
        _ethernet(0x0800, _ip4(6, _tcp(80, 40000, 17))), _ethernet(0x0800, _ip4(17, bytes(64), 0x2010)),
        _ethernet(0x86DD, _ip6(58, bytes.fromhex("870000000000000020010db8") + bytes(11) + b"\2\1\1" + HOSTS[0])),
        _ethernet(0x86DD, _ip6(17, _udp(40000, 53, query))),
        _ethernet(0x8100, struct.pack(">HH", 7, 0x0800) + _ip4(17, _udp(1, 9, b"in a VLAN"))),
        _ethernet(0x0800, _ip4(47, bytes.fromhex("00000800") + _ip4(4, _ip4(50, bytes(40))))),
    ]  # fmt: skip


def _random(generator: random.Random) -> bytes:
    """Return a frame with a proper head and a payload of random bytes, most of them small."""
    limit = generator.choice((4, 32, 256))
    payload = bytes(generator.randrange(limit) for _ in range(generator.randrange(160)))
    ports = generator.sample((generator.choice(PORTS), generator.randrange(1024, 65536)), 2)
    version, kind = generator.choice(((_ip4, 0x0800), (_ip6, 0x86DD))), generator.randrange(5)
    if kind == 0:
        return _ethernet(generator.choice(ETHERTYPES), payload)
    if kind == 1:
        return _ethernet(version[1], version[0](generator.randrange(140), payload))
    if kind == 2:
        return _ethernet(version[1], version[0](6, _tcp(*ports, 24, payload)))
    return _ethernet(version[1], version[0](17, _udp(*ports, payload)))


def _write(path: Path, order: str, precision: str, link: int, packets: list[bytes]) -> Path:
    parts = [struct.pack(f"{order}IHHiIII", MAGIC[precision], 2, 4, 0, 0, 65535, link)]
    for number, packet in enumerate(packets):
        kept = packet[: 40 if number % 11 == 10 else None]
        fraction = number * 7919 % 1_000_000
        parts += [struct.pack(f"{order}4I", 1_700_000_000 + number, fraction, len(kept), len(packet)), kept]
    path.write_bytes(b"".join(parts))
    return path


def write_captures(folder: Path) -> list[Path]:
    """Return the files; the last one ends amid a packet."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = random.Random(1)
    frames = [_random(generator) for _ in range(800)]
    files = [
        _write(folder / "known.pcap", "<", "microseconds", ETHERNET, _known()),
        _write(folder / "big.pcap", ">", "nanoseconds", ETHERNET, _known() + frames[:400]),
        _write(folder / "raw.pcap", ">", "microseconds", RAW_IP, [frame[14:] for frame in _known()[1:10]]),
        _write(folder / "random.pcap", "<", "nanoseconds", ETHERNET, frames[400:]),
    ]
    files[-1].write_bytes(files[-1].read_bytes()[:-5])
    return files
