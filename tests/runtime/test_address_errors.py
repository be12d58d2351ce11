"""Accesses that no program should make end as Linux ends them (guests/address_errors.c).

What is expected is what the kernel's source says. arch/mips/kernel/unaligned.c: do_ade sends SIGBUS by force_sig, so
with SI_KERNEL and without an address, for the kernel's half of the address space. Otherwise emulate_load_store_MIPS16e
makes the access, but for those of save and restore: SIGBUS. What is not there then is the kernel's own fault: SIGSEGV
by force_sig. arch/mips/mm/fault.c: do_page_fault sends SIGSEGV with an address. qemu-user ends misaligned accesses by
BUS_ADRALN.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from mipsrec import pipeline
from tests.support.compiled import ORDERS, compile_guest, library_at, printed_alone
from tests.support.paths import GUESTS
from tests.support.tiers import AUTO, BASELINE, INTERPRETED

SOURCE = GUESTS / "address_errors.c"
DATA = 0x20000000
BUS, NOT_MAPPED, UNMENDED = "10 128 00000000", "11 1", "11 128 00000000"
"""si_signo and si_code, and si_addr where it is none: SIGBUS is 10, SIGSEGV 11, SI_KERNEL 128."""


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
        *found, data[:24].hex(), f"load_half 20001001: {UNMENDED} at +1", f"load_word 80000000: {BUS} at +1",
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


FUNCTIONS = ("load_*", "store_*", "save_*", "restore_*", "try", "main")


@pytest.mark.parametrize("order", ORDERS)
def test_address_errors(host: Path, tmp_path: Path, order: Literal["little", "big"]) -> None:
    guest = compile_guest(tmp_path, order, SOURCE.read_text(), "-static")
    expected = [*accesses(order), *frames()]
    for tier in (INTERPRETED, *BASELINE.values()):
        assert printed_alone(host, *tier, guest).splitlines() == expected
    opened = pipeline.open_guest(guest)
    for opt, memory in ((0, "flat"), (1, "flat"), (2, "flat"), (1, "paged"), (1, "thunk")):
        library = library_at(opened, tmp_path, opt, *FUNCTIONS, memory=memory)
        for tier in ((), AUTO["auto at random"]):
            assert printed_alone(host, *tier, "--library", library, guest).splitlines() == expected
