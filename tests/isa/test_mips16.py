"""The decoder of MIPS16e code, beside the interpreter's: two statements of the manual's volume IV-a, made apart."""

from __future__ import annotations

import ctypes
import random
import subprocess

import pytest

from mipsrec.isa import Flow, decode16, is_long
from mipsrec.isa.mips16_jump import Instruction16
from mipsrec.state import c_header
from tests.support.paths import RUNTIME
from tests.support.tools import need

PLAIN, PC_LOAD, PC_ADD, BRANCH, JUMP, JUMP_REGISTER, JUMP_COMPACT, SAVE, RESTORE, RESERVED = range(10)
KINDS = {
    "lwpc": PC_LOAD, "addiupc": PC_ADD, "beqz": BRANCH, "bnez": BRANCH, "jal": JUMP, "jalx": JUMP, "jr": JUMP_REGISTER,
    "jalr": JUMP_REGISTER, "jrc": JUMP_COMPACT, "jalrc": JUMP_COMPACT, "save": SAVE, "restore": RESTORE,
}  # fmt: skip


class Decoded(ctypes.Structure):
    """struct mr_mips16."""

    _fields_ = (
        ("kind", ctypes.c_uint), ("size_bytes", ctypes.c_uint8), ("number", ctypes.c_uint8), ("word", ctypes.c_uint32),
        ("value", ctypes.c_uint32),
    )  # fmt: skip


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("mips16")
    (folder / "mr_state.h").write_text(c_header())
    output = folder / "mips16.so"
    source = RUNTIME / "cpu" / "mips16.c"
    command = [need("cc", "gcc"), "-shared", "-fPIC", "-O1", f"-I{folder}", f"-I{RUNTIME}", str(source), "-o"]
    subprocess.run([*command, str(output)], check=True)
    library = ctypes.CDLL(str(output))
    library.mr_mips16_decode.restype = Decoded
    return library


def differences(decoder: ctypes.CDLL, first: int, second: int) -> str:
    """Return what the two decoders say, if that is not the same."""
    said, found = decoder.mr_mips16_decode(first, second), decode16(first, second)
    if found is None:
        # An `aregs` of 15 is found when the host performs it.
        is_none = said.kind == RESERVED or (said.kind in (SAVE, RESTORE) and first & 15 == 15)
        return "" if is_none else f"{first:04x} {second:04x}: {said.kind}"
    kind = KINDS.get(found.row.name, PLAIN)
    size = 4 if is_long(first) else 2
    same = said.kind == kind and said.size_bytes == size == found.size_bytes and same_operands(kind, said, found)
    return "" if same else f"{first:04x} {second:04x}: {said.kind} {said.word:08x} {found} {found.displacement:x}"


def same_operands(kind: int, said: Decoded, found: Instruction16) -> bool:
    if kind == PLAIN:
        return bool(said.word == found.word)
    if kind in (PC_LOAD, PC_ADD):
        return bool(said.number == found.rt and said.value == found.displacement & 0xFFFFFFFF)
    if kind == BRANCH:
        return bool(said.word == found.word and said.value == found.displacement & 0xFFFFFFFF)
    if kind == JUMP:
        return bool(said.value == found.displacement and found.slot_bytes == 2 and found.row.flow is Flow.JUMP)
    if kind in (JUMP_REGISTER, JUMP_COMPACT):
        slot = 0 if kind == JUMP_COMPACT else 2
        return bool(said.number == found.rs and said.word == found.word and found.slot_bytes == slot)
    return True  # of save and restore what is saved is compared where guests run


def test_halves(decoder: ctypes.CDLL) -> None:
    found = (differences(decoder, first, 0) for first in range(1 << 16) if not is_long(first))
    assert [line for line in found if line] == []


def test_pairs_of_halves(decoder: ctypes.CDLL) -> None:
    choice = random.Random(37)
    extended = ((0xF000 | choice.getrandbits(11), second) for second in range(1 << 16))
    jumps = ((0x1800 | choice.getrandbits(11), choice.getrandbits(16)) for _ in range(4096))
    found = (differences(decoder, first, second) for first, second in (*extended, *jumps))
    assert [line for line in found if line] == []


SAVED = [
    # manual, SAVE and RESTORE (extended): aregs, xsregs, s0, s1, ra: registers from the top of the frame down
    (0xF000, 0x64F4, [31, 17, 16], 32),
    (0xF700, 0x6480 | 0x40 | 0x4, [31, 30, 23, 22, 21, 20, 19, 18], 32),
    (0xF10A, 0x6480 | 0x30 | 0x6, [18, 17, 16, 7, 6], 48),
    (0xF01B, 0x6480 | 0x2, [7, 6, 5, 4], 144),
]


@pytest.mark.parametrize("first,second,registers,frame", SAVED)
def test_what_save_saves(first: int, second: int, registers: list[int], frame: int) -> None:
    class Memory:
        """Notes stores."""

        def __init__(self) -> None:
            self.stored: dict[int, int] = {}
            self.sp = 0

        def gpr(self, number: int) -> int:
            return number

        def const(self, value: int) -> int:
            return value

        def fault_unless_aligned(self, address: int, bits: int) -> None:
            assert (address, bits) == (29, 32)

        def add(self, a: int, b: int) -> int:
            return b

        def store(self, base: int, displacement: int, bits: int, value: int) -> None:
            assert (base, bits) == (29, 32)
            self.stored[displacement] = value

        def set_gpr(self, number: int, value: int) -> None:
            assert number == 29
            self.sp = value

    found, memory = decode16(first, second), Memory()
    assert found is not None and found.row.meaning is not None
    found.row.meaning(memory, found)  # type: ignore[arg-type]
    below = {-4 * number: register for number, register in enumerate(registers, start=1)}
    assert {place: register for place, register in memory.stored.items() if place < 0} == below
    assert memory.sp == -frame
