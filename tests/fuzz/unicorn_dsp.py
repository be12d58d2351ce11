"""The DSP module's registers on unicorn, which has no names for them.

Enters: words that a CPU runs. Leaves: words that load the accumulators ac1 to ac3 and DSPControl, and how they are read
from a saved context. Where a context has them is found out by a CPU that has known numbers there.
"""

from __future__ import annotations

import struct

import unicorn

STATUS, STATUS_FR = 0x20400004, 0x04000000  # CU1, BEV, ERL: user addresses are not mapped by the TLB
STATUS_MX = 0x01000000
DSP_CONTROL = 0x0FFF7FBF
"""The bits that DSPControl has."""
_REGISTER = 8
_MARKS = (0x5A17C0D1, 0x6B28D1E2, 0x7C39E2F3, 0x0D4AF304, 0x1E5B0415, 0x2F6C1526)
_CONTROL_MARK = 0x0A5A2A95


def load(register: int, value: int) -> list[int]:
    """Return words that give a register a value."""
    return [0x3C000000 | register << 16 | value >> 16, 0x34000000 | register * 0x210000 | value & 0xFFFF]


def load_dsp(halves: list[int], control: int, register: int = _REGISTER) -> list[int]:
    """Return words that load hi1, lo1, hi2, lo2, hi3, lo3 and DSPControl through a register."""
    words = []
    for number, value in enumerate(halves):
        move = 0x13 if number % 2 else 0x11  # mtlo, mthi
        words += [*load(register, value), register << 21 | (1 + number // 2) << 11 | move]
    return [*words, *load(register, control), 0x7C0004F8 | register << 21 | 63 << 11]  # wrdsp


class DspRegisters:
    """Where saved contexts of a CPU have the registers."""

    def __init__(self, big_endian: bool, model: int) -> None:
        order = unicorn.UC_MODE_BIG_ENDIAN if big_endian else unicorn.UC_MODE_LITTLE_ENDIAN
        cpu = unicorn.Uc(unicorn.UC_ARCH_MIPS, unicorn.UC_MODE_MIPS32 | order)
        cpu.ctl_set_cpu_model(model)
        cpu.mem_map(0x10000, 0x1000)
        status = [*load(_REGISTER, STATUS | STATUS_MX), 0x40806000 | _REGISTER << 16, 0, 0]  # mtc0 to $12
        words = [*status, *load_dsp(list(_MARKS), _CONTROL_MARK), *load(_REGISTER, 0), 0]
        cpu.mem_write(0x10000, struct.pack(f"{'>' if big_endian else '<'}{len(words)}I", *words))
        cpu.emu_start(0x10000, 0x10000 + 4 * len(words))
        context = bytes(cpu.context_save())
        self._places = [context.index(struct.pack("=I", value)) for value in (*_MARKS, _CONTROL_MARK)]

    def read(self, context: unicorn.unicorn.UcContext) -> list[int]:
        """Return hi1, lo1, hi2, lo2, hi3, lo3, DSPControl as rddsp shows it: unicorn keeps bits beside pos."""
        content = bytes(context)
        *halves, control = (struct.unpack_from("=I", content, place)[0] for place in self._places)
        return [*halves, control & DSP_CONTROL]
