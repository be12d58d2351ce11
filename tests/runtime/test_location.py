"""The host evaluates location expressions of DWARF: the results follow from DWARF 5, sections 2.5 and 2.6."""

from __future__ import annotations

import ctypes
import subprocess

import pytest

from mipsrec.host_build import write_generated_headers
from tests.support.paths import RUNTIME, TESTS
from tests.support.tools import need

BASE, SP = 6, 7
"""The registers that point into the stack: at its middle, and at its begin."""
STACK = bytes(range(0x81, 0xC1))
MIDDLE = len(STACK) // 2
REGISTERS = [0x1112131415161718 * number % 2**64 for number in range(33)]

DEREF, DUP, DROP, OVER, SWAP = b"\x06", b"\x12", b"\x13", b"\x14", b"\x16"
AND, MINUS, MUL, NEG, NOT, OR, PLUS = b"\x1a", b"\x1c", b"\x1e", b"\x1f", b"\x20", b"\x21", b"\x22"
SHL, SHR, SHRA, XOR, NOP, VALUE = b"\x24", b"\x25", b"\x26", b"\x27", b"\x96", b"\x9f"
ONE, TWO, THREE = b"\x31", b"\x32", b"\x33"  # DW_OP_lit1 to lit3


class Bytes(ctypes.Structure):
    """struct mr_bytes."""

    _fields_ = [("bytes", ctypes.c_char_p), ("size_bytes", ctypes.c_size_t)]

    def __init__(self, data: bytes) -> None:
        super().__init__(data, len(data))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("location")
    write_generated_headers(folder)
    options = ["-std=c11", "-D_GNU_SOURCE=", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    options += ["-fsanitize=undefined", "-fno-sanitize-recover", f"-I{folder}", f"-I{RUNTIME}"]
    sources = [TESTS / "runtime" / "location_stub.c", RUNTIME / "lifted" / "location.c"]
    subprocess.run([need("cc", "gcc"), *options, *sources, "-o", folder / "location.so"], check=True)
    found = ctypes.CDLL(str(folder / "location.so"))
    words = ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(ctypes.c_uint32)
    found.evaluate.argtypes = Bytes, Bytes, *words
    found.evaluate.restype = ctypes.c_bool
    return found


def evaluated(
    library: ctypes.CDLL, expression: bytes, frame_base: bytes = bytes([0x50 + SP]), *, no_stack: bool = False
) -> int | None:
    """Return the word that an expression finds; None where the host refuses it."""
    stack = ctypes.create_string_buffer(STACK, len(STACK))
    start = ctypes.addressof(stack)
    registers = (ctypes.c_uint64 * len(REGISTERS))(*REGISTERS)
    registers[BASE], registers[SP] = start + MIDDLE, start
    value = ctypes.c_uint32(0)
    ends = (0, 0) if no_stack else (start, start + len(STACK))
    found = library.evaluate(Bytes(expression), Bytes(frame_base), registers, *ends, ctypes.byref(value))
    return value.value if found else None


def sleb(number: int) -> bytes:
    """Return a number as DWARF's signed LEB128."""
    data = bytearray()
    while not -0x40 <= number < 0x40:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*data, number & 0x7F])


def breg(number: int, offset: int) -> bytes:
    return bytes([0x70 + number]) + sleb(offset)


def fbreg(offset: int) -> bytes:
    return b"\x91" + sleb(offset)


def const8(number: int) -> bytes:
    """Return DW_OP_const8u."""
    return b"\x0e" + (number % 2**64).to_bytes(8, "little")


def upper(expression: bytes) -> bytes:
    """Return the expression whose value is the upper half of another one's 64 bits."""
    return expression + b"\x08\x20" + SHR + VALUE


def stacked(at: int, size: int = 4) -> int:
    return int.from_bytes(STACK[at : at + size], "little") & 0xFFFFFFFF


def low(number: int) -> int:
    return number & 0xFFFFFFFF


BIG, NEGATIVE = 0x123456789ABCDEF0, -0x123456789
FOUND = {
    "reg0": (b"\x50", low(REGISTERS[0])),
    "reg3": (b"\x53", low(REGISTERS[3])),
    "reg31": (b"\x6f", low(REGISTERS[31])),
    "regx": (b"\x90\x20", low(REGISTERS[32])),
    "breg, a value": (breg(3, -5) + VALUE, low(REGISTERS[3] - 5)),
    "breg, upper half": (upper(breg(5, 0)), REGISTERS[5] >> 32),
    "breg, negative": (breg(BASE, -MIDDLE), stacked(0)),
    "breg, long offset": (breg(3, 0x12345) + VALUE, low(REGISTERS[3] + 0x12345)),
    "breg, the last word": (breg(SP, len(STACK) - 4), stacked(len(STACK) - 4)),
    "bregx": (b"\x92\x06" + sleb(-12), stacked(MIDDLE - 12)),
    "fbreg": (fbreg(8), stacked(8)),
    "fbreg, a value": (fbreg(-70) + breg(SP, -90) + MINUS + VALUE, 20),
    "lit0": (b"\x30" + VALUE, 0),
    "lit31": (b"\x4f" + VALUE, 31),
    "const1u": (b"\x08\xfe" + VALUE, 0xFE),
    "const1s": (b"\x09\xfe" + VALUE, low(-2)),
    "const2u": (b"\x0a\xfe\xff" + VALUE, 0xFFFE),
    "const2s": (b"\x0b\xfe\xff" + VALUE, low(-2)),
    "const4u": (b"\x0c\xfe\xff\xff\xff" + VALUE, low(-2)),
    "const4u, upper half": (upper(b"\x0c\xfe\xff\xff\xff"), 0),
    "const4s": (b"\x0d\x01\x02\x03\x84" + VALUE, 0x84030201),
    "const4s, upper half": (upper(b"\x0d\x01\x02\x03\x84"), low(-1)),
    "const8u": (const8(BIG) + VALUE, low(BIG)),
    "const8u, upper half": (upper(const8(BIG)), BIG >> 32),
    "const8s": (upper(b"\x0f" + const8(NEGATIVE)[1:]), low(NEGATIVE >> 32)),
    "constu": (b"\x10\xe5\x8e\x26" + VALUE, 624485),
    "consts": (b"\x11" + sleb(-123456) + VALUE, low(-123456)),
    "deref": (breg(SP, 8) + DEREF + VALUE, stacked(8)),
    "deref, upper half": (upper(breg(SP, 8) + DEREF), stacked(12)),
    "deref, an address": (breg(SP, 3) + DEREF + breg(SP, 3) + DEREF + MINUS + breg(SP, 5) + PLUS, stacked(5)),
    "deref_size 1": (breg(SP, 8) + b"\x94\x01" + VALUE, stacked(8, 1)),
    "deref_size 2": (breg(SP, 8) + b"\x94\x02" + VALUE, stacked(8, 2)),
    "deref_size 4": (upper(breg(SP, 8) + b"\x94\x04"), 0),
    "deref_size 8": (upper(breg(SP, 8) + b"\x94\x08"), stacked(12)),
    "deref_size, the last byte": (breg(SP, len(STACK) - 1) + b"\x94\x01" + VALUE, STACK[-1]),
    "and": (b"\x3c" + b"\x3a" + AND + VALUE, 8),
    "or": (b"\x3c" + b"\x3a" + OR + VALUE, 14),
    "xor": (b"\x3c" + b"\x3a" + XOR + VALUE, 6),
    "plus": (THREE + TWO + PLUS + VALUE, 5),
    "minus": (ONE + THREE + MINUS + VALUE, low(-2)),
    "mul": (upper(const8(BIG) + const8(NEGATIVE) + MUL), low(BIG * NEGATIVE >> 32)),
    "neg": (THREE + NEG + VALUE, low(-3)),
    "not": (THREE + NOT + VALUE, low(~3)),
    "plus_uconst": (THREE + b"\x23\x80\x01" + VALUE, 131),
    "shl": (upper(THREE + b"\x4f" + TWO + PLUS + SHL), 3 << 33 >> 32),
    "shr": (upper(const8(NEGATIVE) + TWO + SHR), NEGATIVE % 2**64 >> 34),
    "shra": (upper(const8(NEGATIVE) + TWO + SHRA), low(NEGATIVE >> 34)),
    "shl, all bits": (THREE + b"\x08\x40" + SHL + VALUE, 0),
    "shr, all bits": (THREE + b"\x08\x40" + SHR + VALUE, 0),
    "shra, all bits": (const8(NEGATIVE) + b"\x08\x40" + SHRA + VALUE, low(-1)),
    "shr of a word": (breg(SP, 8) + b"\x94\x04" + TWO + SHR + VALUE, stacked(8) >> 2),
    "shr of either size": (b"\x0c\xfe\xff\xff\x7f" + TWO + SHRA + VALUE, 0x7FFFFFFE >> 2),
    "shr, what is above left out": (breg(5, 0) + TWO + SHR + b"\x08\xff" + AND + VALUE, REGISTERS[5] >> 2 & 0xFF),
    "dup": (THREE + DUP + MUL + VALUE, 9),
    "drop": (THREE + TWO + DROP + VALUE, 3),
    "over": (THREE + ONE + OVER + MINUS + VALUE, low(1 - 3)),
    "swap": (THREE + ONE + SWAP + MINUS + VALUE, low(1 - 3)),
    "nop": (NOP + THREE + NOP + VALUE, 3),
    "implicit_value": (b"\x9e\x04\x78\x56\x34\x12", 0x12345678),
    "implicit_value 2": (b"\x9e\x02\x78\x56", 0x5678),
    "implicit_value 8": (b"\x9e\x08\x78\x56\x34\x12\xff\xff\xff\xff", 0x12345678),
    "16 words": (ONE * 16 + PLUS * 15 + VALUE, 16),
}
REFUSED = {
    "empty": b"",
    "nothing": NOP,
    "no such register": b"\x90\x21",
    "no such base": b"\x92\x21\x00" + VALUE,
    "a great number": b"\x90\x80\x80\x80\x80\x10",
    "below the stack": breg(SP, -1),
    "beyond the stack": breg(SP, len(STACK) - 3),
    "at its end": breg(SP, len(STACK)),
    "deref beyond": breg(SP, len(STACK) - 7) + DEREF + VALUE,
    "deref_size beyond": breg(SP, len(STACK) - 1) + b"\x94\x02" + VALUE,
    "deref at 0": b"\x30" + DEREF + VALUE,
    "deref at the last address": const8(-1) + DEREF + VALUE,
    "deref_size 0": breg(SP, 8) + b"\x94\x00" + VALUE,
    "deref_size 9": breg(SP, 8) + b"\x94\x09" + VALUE,
    "17 words": ONE * 17 + PLUS * 16 + VALUE,
    "dup of 16 words": ONE * 16 + DUP + PLUS * 16 + VALUE,
    "nothing to drop": DROP + ONE + VALUE,
    "nothing to copy": DUP + VALUE,
    "nothing below": ONE + OVER + VALUE,
    "nothing to swap": ONE + SWAP + VALUE,
    "nothing to negate": NEG + VALUE,
    "one of two": ONE + PLUS + VALUE,
    "no value": VALUE,
    "no address": DEREF + VALUE,
    "shr of what has something above": breg(SP, 8) + DEREF + TWO + SHR + VALUE,
    "shra of a word": b"\x0c\xfe\xff\xff\xff" + TWO + SHRA + VALUE,
    "a byte with its sign, of a word": breg(SP, 8) + DEREF + b"\x48" + SHL + b"\x48" + SHRA + VALUE,
    "implicit_value 9": b"\x9e\x09" + bytes(9),
    "a piece": b"\x53\x93\x04",
    "pieces": b"\x53\x93\x02\x54\x93\x02",
    "behind the value": ONE + VALUE + ONE,
    "skip": b"\x2f\x00\x00" + ONE + VALUE,
    "bra": ONE + b"\x28\xfa\xff" + ONE + VALUE,
    "call_frame_cfa": b"\x9c",
    "entry_value": b"\xa3\x01\x55" + VALUE,
    "unknown": b"\xff",
}
WITH_OPERANDS = [
    b"\x90\x80\x01", b"\x76\x80\x01", b"\x92\x06\x80\x01", b"\x91\x80\x01", b"\x08\x01", b"\x0b\x01\x02",
    b"\x0c\x01\x02\x03\x04", const8(BIG), b"\x10\x80\x01", b"\x11\x80\x01", b"\x23\x80\x01", b"\x94\x04",
    b"\x9e\x04\x01\x02\x03\x04",
]  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_found(library: ctypes.CDLL, name: str) -> None:
    expression, expected = FOUND[name]
    assert evaluated(library, expression) == expected


@pytest.mark.parametrize("name", REFUSED)
def test_refused(library: ctypes.CDLL, name: str) -> None:
    assert evaluated(library, REFUSED[name]) is None


@pytest.mark.parametrize("expression", WITH_OPERANDS, ids=bytes.hex)
def test_truncated(library: ctypes.CDLL, expression: bytes) -> None:
    for size in range(1, len(expression)):
        assert evaluated(library, breg(SP, 0) + expression[:size]) is None


def test_frame_base(library: ctypes.CDLL) -> None:
    assert evaluated(library, fbreg(-8), bytes([0x50 + BASE])) == stacked(MIDDLE - 8)
    for base in (b"", breg(SP, 0), b"\x9c", b"\x57\x96"):
        assert evaluated(library, fbreg(8), base) is None


def test_no_stack(library: ctypes.CDLL) -> None:
    for read in (b"", DEREF, b"\x94\x00", b"\x94\x01"):
        assert evaluated(library, b"\x30" + read + (VALUE if read else b""), no_stack=True) is None
        assert evaluated(library, breg(SP, 0) + read, no_stack=True) is None
    assert evaluated(library, b"\x53", no_stack=True) == low(REGISTERS[3])
