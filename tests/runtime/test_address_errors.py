"""Accesses and jumps that no program should make end as Linux ends them (guests/address_errors.c).

What is expected is what the kernel's source says. arch/mips/kernel/unaligned.c: do_ade sends SIGBUS by force_sig, so
with SI_KERNEL and without an address, where an instruction cannot be fetched from its address, and for the kernel's
half of the address space. Otherwise emulate_load_store_MIPS16e makes the access, but for those of save and restore:
SIGBUS. What is not there then is the kernel's own fault: SIGSEGV by force_sig. arch/mips/mm/fault.c: do_page_fault
sends SIGSEGV with an address, which never has the bit that says MIPS16. traps.c: do_ri sends SIGILL by force_sig.
qemu-user ends misaligned accesses by BUS_ADRALN, and all jumps by SEGV_MAPERR.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from mipsrec import pipeline
from tests.support.compiled import ORDERS, compile_guest, library_at, printed_alone
from tests.support.paths import GUESTS
from tests.support.sampling import sampled
from tests.support.tiers import AUTO, BASELINE, INTERPRETED

SOURCE = GUESTS / "address_errors.c"
DATA, KERNEL = 0x20000000, 0x80000000
BUS, NOT_MAPPED, DENIED, ILLEGAL, UNMENDED = "10 128 00000000", "11 1", "11 2", "4 128 00000000", "11 128 00000000"
"""si_signo and si_code, and si_addr where it is none: SIGBUS, SIGSEGV and SIGILL are 10, 11 and 4; SI_KERNEL is 128."""


def accesses(order: Literal["little", "big"]) -> list[str]:
    data = bytearray((number * 7 + 128) % 256 for number in range(4096))

    def number(at: int, size: int, signed: bool = False) -> str:
        return f"{int.from_bytes(data[at : at + size], order, signed=signed) & 0xFFFFFFFF:08x}"

    code = bytes.fromhex("f000b201e820" if order == "big" else "00f001b220e8")
    found = [
        f"load_word 20000001: {number(1, 4)}", f"load_half 20000003: {number(3, 2, signed=True)}",
        f"load_unsigned 20000005: {number(5, 2)}", f"load_extended 20000004: {number(105, 4)}",
        f"load_in_slot 20000002: {number(2, 4)}", f"load_relative 00000000: {int.from_bytes(code[1:5], order):08x}",
        "store_word 20000009: 00000009", "store_half 2000000f: 00000008", f"load_by_sp 20000001: {number(5, 4)}",
        "store_by_sp 20000011: 00000007",
    ]  # fmt: skip
    for at, size, value in ((9, 4, 9), (15, 2, 8), (21, 4, 7)):
        data[at : at + size] = value.to_bytes(size, order)
    return [
        *found, data[:24].hex(), f"load_half 20001001: {UNMENDED} at +1",
        f"load_relative_nowhere 00000000: {UNMENDED} at +1",
        f"load_and_store 10000000: {NOT_MAPPED} 10000000 at +1",
        f"load_and_store_later 10000000: {NOT_MAPPED} 10000000 at +1",
        f"load_and_store_soon 10000000: {NOT_MAPPED} 10000000 at +5",
        f"load_and_store 20000000: {DENIED} 20000000 at +5", f"load_and_store_later 20000000: {DENIED} 20000000 at +9",
        f"load_and_store_soon 20000000: {DENIED} 20000000 at +9", f"load_word 80000000: {BUS} at +1",
        f"load_word 80000001: {BUS} at +1", f"load_byte 80000000: {BUS} at +1", f"store_half 80000001: {BUS} at +3",
    ]  # fmt: skip


def frames() -> list[str]:
    found = []
    for sp in (DATA + 65, DATA + 66, DATA + 67):
        found += [f"save_two {sp:08x}: {BUS} at +5", f"save_argument {sp:08x}: {BUS} at +5"]
        found += [f"save_nothing {sp:08x}: {sp - 32:08x}"]
        found += [f"restore_two {sp:08x}: {BUS} at +5", f"restore_static {sp:08x}: {BUS} at +5"]
        found += [f"restore_nothing {sp:08x}: {sp + 32:08x}"]
    return [
        *found,
        f"save_two 20000000: {NOT_MAPPED} 1ffffffc at +5", f"save_two 20000004: {NOT_MAPPED} 1ffffffc at +5",
        f"save_argument 20001000: {NOT_MAPPED} 20001000 at +5", f"save_two 00000000: {BUS} at +5",
        f"save_two 80000004: {BUS} at +5", f"restore_two 20000fe4: {NOT_MAPPED} 20001000 at +5",
        f"restore_two 1fffffe4: {NOT_MAPPED} 1ffffffc at +5", f"restore_static 7fffffe4: {BUS} at +5",
        f"restore_two 20001002: {BUS} at +5",
    ]  # fmt: skip


def jumps(order: str) -> list[str]:
    found = []
    for way in ("long_jump", "long_call", "short_jump", "short_compact", "short_call"):
        for target in (KERNEL, KERNEL + 1, KERNEL + 2, 0xFFFFFFFC, 0xFFFFFFFF):
            found.append(f"{way} {target:08x}: {BUS} at {target:08x}")
        for target in (0x10000000, 0x10000001, 0x10000002, 0x10000003):
            said = BUS if target % 4 == 2 else f"{NOT_MAPPED} {target & ~1:08x}"
            found.append(f"{way} {target:08x}: {said} at {target:08x}")
        for target, said in ((0x28000000, DENIED), (0x28000001, DENIED), (0, NOT_MAPPED), (1, NOT_MAPPED)):
            found.append(f"{way} {target:08x}: {said} {target & ~1:08x} at {target:08x}")
        found.append(f"{way} 7fffeffd: {NOT_MAPPED} 7fffeffc at 7fffeffd")
    half = 1 if order == "little" else 3  # which half of the word comes first
    return [
        *found,
        f"exchange_to_short 00000000: {NOT_MAPPED} 0ffffffc at 0ffffffd",
        f"exchange_to_long 00000000: {NOT_MAPPED} 0ffffffc at 0ffffffc",
        *(f"extended_{name} 00000000: {ILLEGAL} at +3" for name in ("jump", "twice", "move")),
        "is_long 00000000: 0000e801",
        f"not short 00000000: {ILLEGAL} at +{half}",
    ]


def ends_of_pages() -> list[str]:
    ends = (("extend", 1), ("jal", 1), ("jr ra", 1), ("nop", 3), ("jr ra long", 0))
    return [f"{name} 00000000: {how} 30001000 at +{pc}" for how in (NOT_MAPPED, DENIED) for name, pc in ends]


def data_as_code() -> list[str]:
    """Return what processors without RIXI do (has_rixi in access_error of fault.c): they execute what they may read."""
    readable = [f"{name} {protection:08x}: 00000009" for protection in (3, 1) for name in ("data", "short data")]
    denied = (("data", 0x30000000, 0), ("short data", 0x30000008, 1))
    return [*readable, *(f"{name} 00000000: {DENIED} {address:08x} at +{pc}" for name, address, pc in denied)]


FUNCTIONS = (
    "load_*", "store_*", "save_*", "restore_*", "long_*", "short_*", "exchange_*", "extended_*", "is_long", "try",
    "main",
)  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
def test_address_errors(host: Path, tmp_path: Path, order: Literal["little", "big"]) -> None:
    guest = compile_guest(tmp_path, order, SOURCE.read_text(), "-static")
    expected = [*accesses(order), *frames(), *jumps(order), *ends_of_pages(), *data_as_code()]
    for tier in (INTERPRETED, *BASELINE.values()):
        assert printed_alone(host, *tier, guest).splitlines() == expected
    opened = pipeline.open_guest(guest)
    for opt, memory in sampled([(2, "flat"), (1, "flat"), (1, "thunk"), (0, "flat"), (1, "paged")]):
        library = library_at(opened, tmp_path, opt, *FUNCTIONS, memory=memory)
        for tier in ((), AUTO["auto at random"]):
            assert printed_alone(host, *tier, "--library", library, guest).splitlines() == expected
