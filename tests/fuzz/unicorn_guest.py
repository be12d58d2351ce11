"""Runs a guest of cases (guest.py) on unicorn, which is no Linux: system calls and signals are played here.

Enters: the guest's path, the bytes of states. Leaves: the bytes of the states after them. The CPU is a 74Kf, or a P5600
for IEEE 754-2008 NaNs, in kernel mode, so privileged instructions are not for it. It runs in a process of its own
(this file as a program), which some guests kill.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import unicorn
import unicorn.mips_const as mips
from elftools.elf.constants import P_FLAGS
from elftools.elf.elffile import ELFFile

from tests.fuzz.guest import Mode, run_command
from tests.fuzz.states import SIGNAL_AT
from tests.fuzz.unicorn_dsp import STATUS, STATUS_FR, STATUS_MX, DspRegisters
from tests.fuzz.unicorn_judge import EXCEPTIONS, WITH_DSP

_GPRS = [mips.UC_MIPS_REG_0 + n for n in range(32)]
_V0, _A0, _A1, _A2, _A3 = _GPRS[2], _GPRS[4], _GPRS[5], _GPRS[6], _GPRS[7]
_EXIT, _READ, _WRITE = 4001, 4003, 4004
_SYSCALL = 17
_ENOSYS = 89
_SIGNALS = {"address": 10, "reserved": 4, "coprocessor": 4, "overflow": 8, "fpe": 8, "trap": 5, "break": 5}
_PAGE = 0xFFF
_RIGHTS = {P_FLAGS.PF_R: unicorn.UC_PROT_READ, P_FLAGS.PF_W: unicorn.UC_PROT_WRITE, P_FLAGS.PF_X: unicorn.UC_PROT_EXEC}
UNSEEN = ("code", "pc", "address")
"""What unicorn does not show of an exception."""
_START = 0x300000  # code of our own, and the stack


class Machine:
    """One guest on one CPU."""

    def __init__(self, guest: Path, mode: Mode, states: bytes) -> None:
        big = mode.order == ">"
        self._order, self._states, self._output = mode.order, states, bytearray()
        self._read_at = 0
        self._cpu = cpu = unicorn.Uc(
            unicorn.UC_ARCH_MIPS,
            unicorn.UC_MODE_MIPS32 | (unicorn.UC_MODE_BIG_ENDIAN if big else unicorn.UC_MODE_LITTLE_ENDIAN),
        )
        cpu.ctl_set_cpu_model(WITH_DSP if mode.has_dsp else mips.UC_CPU_MIPS32_P5600)
        self._dsp = DspRegisters(big, WITH_DSP) if mode.has_dsp else None
        self._fr = mode.fr
        self._symbols: dict[str, int] = {}
        entry = self._map(guest)
        self._pending: tuple[int, int, int] | None = None
        self._context: unicorn.unicorn.UcContext | None = None
        cpu.hook_add(unicorn.UC_HOOK_INTR, self._on_exception)
        cpu.hook_add(unicorn.UC_HOOK_MEM_INVALID, self._on_unmapped)
        self._pc = self._with_floats(entry)

    def _map(self, guest: Path) -> int:
        with guest.open("rb") as file:
            elf = ELFFile(file)
            table = elf.get_section_by_name(".symtab")
            for name in ("result", "left"):
                self._symbols[name] = table.get_symbol_by_name(name)[0]["st_value"]
            pages: dict[int, int] = {}
            for segment in elf.iter_segments("PT_LOAD"):
                start, size, flags = segment["p_vaddr"], segment["p_memsz"], segment["p_flags"]
                for page in range(start & ~_PAGE, start + size, _PAGE + 1):
                    if page not in pages:
                        self._cpu.mem_map(page, _PAGE + 1)
                    pages[page] = pages.get(page, 0) | flags
                self._cpu.mem_write(start, segment.data())
            for page, flags in pages.items():
                self._cpu.mem_protect(page, _PAGE + 1, sum(right for flag, right in _RIGHTS.items() if flags & flag))
            self._cpu.mem_map(_START, 0x10000)
            self._cpu.reg_write(_GPRS[29], _START + 0xF000)
            return int(elf["e_entry"])

    def _with_floats(self, entry: int) -> int:
        """Write code that sets Status and then goes to the entry; return its address."""
        value = STATUS | (STATUS_FR if self._fr else 0) | (STATUS_MX if self._dsp else 0)
        words = [0x3C080000 | value >> 16, 0x35080000 | value & 0xFFFF, 0x40886000, 0, 0, 0x08000000 | entry >> 2, 0]
        self._cpu.mem_write(_START, struct.pack(f"{self._order}{len(words)}I", *words))
        self._cpu.reg_write(mips.UC_MIPS_REG_PC, _START)
        return _START

    def _on_exception(self, cpu: unicorn.Uc, number: int, _data: object) -> None:
        if self._pending is None:  # a store that faulted may have gone on
            self._pending = (number, 0, cpu.reg_read(mips.UC_MIPS_REG_PC))
        cpu.emu_stop()

    def _on_unmapped(self, cpu: unicorn.Uc, _access: int, address: int, *_rest: object) -> bool:
        self._pending = (-1, address, cpu.reg_read(mips.UC_MIPS_REG_PC))
        cpu.emu_stop()
        return False

    def run(self) -> bytes:
        """Run until the guest ends; return what it has written."""
        while True:
            self._pending = None
            try:
                self._cpu.emu_start(self._pc, 0xFFFFFFFC)
            except unicorn.UcError:
                if self._pending is None:
                    raise
            assert self._pending is not None
            number, address, pc = self._pending
            if number == _SYSCALL:
                if not self._system_call():
                    return bytes(self._output)
            else:
                self._signal(number, address, pc)

    def _system_call(self) -> bool:
        cpu = self._cpu
        number, a1, a2 = (cpu.reg_read(register) for register in (_V0, _A1, _A2))
        self._pc = cpu.reg_read(mips.UC_MIPS_REG_PC)
        if self._context is None:
            self._context = cpu.context_save()
        result, error = 0, 0
        if number == _EXIT:
            return False
        if number == _READ:
            data = self._states[self._read_at : self._read_at + a2]
            cpu.mem_write(a1, data)
            self._read_at += len(data)
            result = len(data)
        elif number == _WRITE:
            self._output += cpu.mem_read(a1, a2)
            result = a2
        elif not 4000 <= number < 5000:
            result, error = _ENOSYS, 1
        cpu.reg_write(_V0, result)
        cpu.reg_write(_A3, error)
        return True

    def _signal(self, number: int, address: int, pc: int) -> None:
        """Do what the guest's handler of signals and `trapped` do (guests/fuzz.c and fuzz.S)."""
        cpu = self._cpu
        signal = 11 if number < 0 else _SIGNALS.get(EXCEPTIONS.get(number, ""), 11)
        gpr = [value & 0xFFFFFFFF for value in cpu.reg_read_batch(_GPRS)]
        others = [mips.UC_MIPS_REG_HI, mips.UC_MIPS_REG_LO, mips.UC_MIPS_REG_FCSR]
        hi, lo, fcsr = (value & 0xFFFFFFFF for value in cpu.reg_read_batch(others))
        at = struct.unpack(f"{self._order}I", cpu.mem_read(self._symbols["result"], 4))[0]
        cpu.mem_write(at, struct.pack(f"{self._order}35I", *gpr, hi, lo, fcsr))
        dsp = self._dsp.read(cpu.context_save()) if self._dsp else [0] * 7
        record = struct.pack(
            f"{self._order}4I7I4x32Q", signal, 0, pc & 0xFFFFFFFF, address, *dsp, *self._floats()
        )  # fmt: skip
        cpu.mem_write(at + SIGNAL_AT, record)
        cpu.context_restore(self._context)  # the way into a delay slot is part of a CPU's state here
        self._pc = self._symbols["left"]

    def _floats(self) -> list[int]:
        values = self._cpu.reg_read_batch([mips.UC_MIPS_REG_F0 + n for n in range(32)])
        if self._fr:
            return [value & 0xFFFFFFFFFFFFFFFF for value in values]
        pairs = zip(values[::2], values[1::2])
        return [value for even, odd in pairs for value in (even & 0xFFFFFFFF | (odd & 0xFFFFFFFF) << 32, 0)]


def run_unicorn(mode: Mode, guest: Path, states: bytes) -> bytes:
    """Run the guest; si_code is 0 in its states, and si_addr is known for unmapped addresses only."""
    words = [mode.byte_order, str(mode.fr), "2008" if mode.nan2008 else "legacy", str(guest)]
    return run_command([sys.executable, "-m", "tests.fuzz.unicorn_guest", *words], states)


if __name__ == "__main__":
    byte_order, fr, nans, path = sys.argv[1:]
    machine = Machine(Path(path), Mode(byte_order, int(fr), nans == "2008"), sys.stdin.buffer.read())
    sys.stdout.buffer.write(machine.run())
