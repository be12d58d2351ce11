"""A guest CPU as the tests of single instructions see it, the same for every executor.

Enters: nothing. Leaves: `Cpu`, and the guest addresses that tests use.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

CODE = 0x10100
STOP = 0x1F000  # the words end here, and exceptions
DATA = 0x20000
DATA_BYTES = 0x100


@dataclass
class Cpu:
    """A guest CPU with the rules of state.py, and the few bytes of memory at DATA that tests use."""

    gpr: list[int] = field(default_factory=lambda: [0] * 32)
    hilo: int = 0
    accumulators: list[int] = field(default_factory=lambda: [0] * 3)
    dsp_control: int = 0
    fpr: list[int] = field(default_factory=lambda: [0] * 32)
    fcc: list[int] = field(default_factory=lambda: [0] * 8)
    fcsr: int = 0
    fr: int = 0
    data: bytes = bytes(DATA_BYTES)

    def copy(self) -> Cpu:
        """Return a Cpu that shares no list with this one."""
        return replace(self, gpr=self.gpr[:], fpr=self.fpr[:], fcc=self.fcc[:],
                       accumulators=self.accumulators[:])  # fmt: skip

    def differences(self, other: Cpu) -> list[str]:
        """Return one line for each register or memory byte that differs."""
        lines = []
        for name in ("gpr", "accumulators", "fpr", "fcc", "data"):
            for number, (a, b) in enumerate(zip(getattr(self, name), getattr(other, name))):
                if a != b:
                    lines.append(f"{name}[{number}]: {a:#x} {b:#x}")
        for name in ("hilo", "dsp_control", "fcsr"):
            if getattr(self, name) != getattr(other, name):
                lines.append(f"{name}: {getattr(self, name):#x} {getattr(other, name):#x}")
        return lines
