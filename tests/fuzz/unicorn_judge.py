"""unicorn as the judge of single instructions: the same `Cpu` in and out as support/interpreter.py.

unicorn runs in kernel mode on a 74Kf (or a P5600 for IEEE 754-2008 NaNs, which has no DSP module), so privileged
instructions are not for it.
"""

from __future__ import annotations

import struct

import unicorn
import unicorn.mips_const as mips

from tests.fuzz.unicorn_dsp import STATUS, STATUS_FR, STATUS_MX, DspRegisters, load, load_dsp
from tests.support.guest_cpu import CODE, DATA, DATA_BYTES, STOP, Cpu

WITH_DSP = mips.UC_CPU_MIPS32_74KF
EXCEPTIONS = {12: "address", 13: "address", 17: "syscall", 18: "break", 19: "coprocessor", 20: "reserved",
               21: "overflow", 22: "trap", 23: "fpe"}  # fmt: skip
_GPRS = [mips.UC_MIPS_REG_0 + n for n in range(32)]
_FPRS = [mips.UC_MIPS_REG_F0 + n for n in range(32)]
_OTHERS = [mips.UC_MIPS_REG_HI, mips.UC_MIPS_REG_LO, mips.UC_MIPS_REG_FCSR]
_CODES = 0xFE800000
_AT = 1


class Judge:
    """One unicorn CPU of a byte order and Status.FR."""

    def __init__(self, big_endian: bool, fr: int, model: int = WITH_DSP) -> None:
        self.order = ">" if big_endian else "<"
        self.fr = fr
        mode = unicorn.UC_MODE_MIPS32 | (unicorn.UC_MODE_BIG_ENDIAN if big_endian else unicorn.UC_MODE_LITTLE_ENDIAN)
        self.cpu = unicorn.Uc(unicorn.UC_ARCH_MIPS, mode)
        self.cpu.ctl_set_cpu_model(model)
        self.cpu.mem_map(CODE & ~0xFFF, 0x11000)
        self.cpu.hook_add(unicorn.UC_HOOK_INTR, self._on_exception)
        self.exception = 0
        self._dsp = DspRegisters(big_endian, model) if model == WITH_DSP else None
        status = STATUS | (STATUS_FR if fr else 0) | (STATUS_MX if self._dsp else 0)
        self._start([*load(8, status), 0x40886000, 0, 0])  # mtc0 $t0, $12
        self.context = self.cpu.context_save()

    def _on_exception(self, cpu: unicorn.Uc, number: int, _data: object) -> None:
        self.exception = number
        cpu.emu_stop()

    def _start(self, words: list[int], pc: int = CODE, entry: int = CODE) -> None:
        words = [*words, 0x08000000 | STOP >> 2, 0]
        self.cpu.mem_write(pc, struct.pack(f"{self.order}{len(words)}I", *words))
        self.cpu.emu_start(entry, STOP)

    def run(self, cpu: Cpu, words: list[int]) -> tuple[Cpu, str]:
        """Run `words` at CODE until STOP; return the state then and the name of the exception, or ""."""
        self.cpu.context_restore(self.context)
        self.cpu.ctl_flush_tb()  # the context brings back what unicorn knew of older code
        single = [cpu.fpr[n] if self.fr else cpu.fpr[n & 30] >> 32 * (n & 1) & 0xFFFFFFFF for n in range(32)]
        self.cpu.reg_write_batch([*zip(_GPRS, cpu.gpr), *zip(_FPRS, single),
                                  *zip(_OTHERS, (cpu.hilo >> 32, cpu.hilo & 0xFFFFFFFF))])  # fmt: skip
        self.cpu.mem_write(DATA, cpu.data)
        codes = sum(bit << (23 if n == 0 else 24 + n) for n, bit in enumerate(cpu.fcc))
        halves = [half for value in cpu.accumulators for half in (value >> 32, value & 0xFFFFFFFF)]
        dsp = load_dsp(halves, cpu.dsp_control, _AT) if self._dsp else []
        prefix = [*dsp, *load(_AT, cpu.fcsr | codes), 0x44C00000 | _AT << 16 | 31 << 11, *load(_AT, cpu.gpr[_AT])]
        self.exception = 0
        self._start([*prefix, *words], CODE - 4 * len(prefix), CODE - 4 * len(prefix))
        return self._get(), EXCEPTIONS.get(self.exception, f"exception {self.exception}") if self.exception else ""

    def _get(self) -> Cpu:
        read = self.cpu.reg_read_batch
        hi, lo, fcsr = (value & 0xFFFFFFFF for value in read(_OTHERS))
        fpr = [value & 0xFFFFFFFFFFFFFFFF for value in read(_FPRS)]
        if not self.fr:
            fpr = [fpr[n] & 0xFFFFFFFF | (fpr[n + 1] & 0xFFFFFFFF) << 32 if n % 2 == 0 else 0 for n in range(32)]
        dsp = self._dsp.read(self.cpu.context_save()) if self._dsp else [0] * 7
        return Cpu(
            gpr=[value & 0xFFFFFFFF for value in read(_GPRS)],
            hilo=hi << 32 | lo,
            accumulators=[high << 32 | low for high, low in zip(dsp[:6:2], dsp[1:6:2])],
            dsp_control=dsp[6],
            fpr=fpr,
            fcc=[fcsr >> (23 if n == 0 else 24 + n) & 1 for n in range(8)],
            fcsr=fcsr & ~_CODES,
            fr=self.fr,
            data=bytes(self.cpu.mem_read(DATA, DATA_BYTES)),
        )
