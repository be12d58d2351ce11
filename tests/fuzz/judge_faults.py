"""Where unicorn and qemu are no judges of single instructions: they are wrong, or the manual leaves it open.

Leaves: `FAULTS`, for both (unicorn is qemu 5). What shows only in sequences, or under Linux, stands in reasons.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mipsrec.isa import ROWS, decode
from mipsrec.isa.effects import is_reserved
from tests.fuzz.maker import is_dsp
from tests.support.guest_cpu import Cpu

FLUSH = 1 << 24
_DSP_FUNCTIONS = (0x0A, 0x0C, 0x10, 0x11, 0x12, 0x13, 0x18, 0x31, 0x38)
_DSP_RESULT_IN_RT = (0x0C, 0x31, 0x38)
_OPERATION = 0xFC0007FF
_DSP_OPERATIONS = {row.value & _OPERATION for row in ROWS if is_dsp(row) and row.value >> 26 == 0x1F}
NAN2008 = 0xC0000  # NAN2008 and ABS2008


@dataclass(frozen=True)
class Fault:
    """A class of cases in which unicorn is no judge. `concerns` gets a word, `covers` the state before it as well."""

    reason: str
    concerns: Callable[[int], bool]
    covers: Callable[[int, Cpu], bool] = lambda word, cpu: True

    def applies(self, word: int, cpu: Cpu) -> bool:
        return self.concerns(word) and self.covers(word, cpu)


def _field(word: int, low: int) -> int:
    return word >> low & 31


def is_float(word: int, *functions: int) -> bool:
    """Return whether the word computes in format s or d, with one of the functions."""
    return word >> 26 == 0x11 and _field(word, 21) in (16, 17) and word & 63 in functions


def _source(word: int, cpu: Cpu) -> tuple[int, int]:
    """Return operand fs without its sign, and infinity, of a floating-point instruction."""
    number = _field(word, 11)
    if _field(word, 21) == 17:
        return cpu.fpr[number] & (1 << 63) - 1, 0x7FF << 52
    whole = cpu.fpr[number] if cpu.fr else cpu.fpr[number & 30] >> 32 * (number & 1)
    return whole & 0x7FFFFFFF, 0xFF << 23


def _sign_of_nan(word: int, cpu: Cpu) -> bool:
    magnitude, infinity = _source(word, cpu)
    return not cpu.fcsr & NAN2008 and magnitude > infinity


def _narrowed_nan(word: int, cpu: Cpu) -> bool:
    magnitude, infinity = _source(word, cpu)
    return infinity < magnitude < infinity + (1 << 29)


def _long_format(word: int) -> bool:
    if word >> 26 == 0x13:
        return word & 63 in (0x05, 0x0D)
    return is_float(word, 0x08, 0x09, 0x0A, 0x0B, 0x25) or (word >> 26 == 0x11 and _field(word, 21) == 21)


def _uses_hilo(word: int) -> bool:
    """Return whether a word is a move of HI or LO, or adds to them, whatever is in its reserved fields."""
    move = word >> 26 == 0 and word & 63 in (0x10, 0x11, 0x12, 0x13)
    return move or (word >> 26 == 0x1C and word & 63 in (0x00, 0x01, 0x04, 0x05))


def _dsp_result_in_zero(word: int) -> bool:
    if word >> 26 != 0x1F:
        return False
    return _field(word, 16 if word & 63 in _DSP_RESULT_IN_RT else 11) == 0 and word & 63 in _DSP_FUNCTIONS


def _dsp_fields_set(word: int) -> bool:
    return word & _OPERATION in _DSP_OPERATIONS and decode(word) is None and not _dsp_result_in_zero(word)


def _beyond_register(word: int, cpu: Cpu) -> bool:
    return (cpu.dsp_control & 31) + (cpu.dsp_control >> 7 & 63) > 32


def _to_no_register(word: int) -> bool:
    return (word >> 26, word & 63) in ((0x1F, 0x20), (0, 0x10), (0, 0x12)) and _field(word, 11) == 0


def _odd_double(word: int) -> bool:
    instruction = decode(word)
    return instruction is not None and is_reserved(instruction, 0)


def _fr0(word: int, cpu: Cpu) -> bool:
    return not cpu.fr


FAULTS = (
    Fault("abs and neg of NaNs are arithmetic without ABS2008 (volume II-A); qemu only changes the sign",
          lambda word: is_float(word, 0x05, 0x07), _sign_of_nan),
    Fault("cvt.s.d of a NaN whose payload does not fit must stay a NaN; qemu 5 makes it infinity",
          lambda word: is_float(word, 0x20) and _field(word, 21) == 17, _narrowed_nan),
    Fault("odd registers of doubles are reserved with FR=0; qemu lets some instructions use them", _odd_double, _fr0),
    Fault("format L, luxc1, suxc1 with FR=0 are open; here even registers work, qemu reserves them",
          _long_format, _fr0),
    Fault("a flushed result is tiny and inexact, and on x86 says so; qemu raises no flags for it",
          lambda word: word >> 26 in (0x11, 0x13), lambda word, cpu: bool(cpu.fcsr & FLUSH)),
    Fault("COP2 is an unusable coprocessor; qemu reserves it", lambda word: word >> 26 == 0x12),
    Fault("recip1, recip2, rsqrt1, rsqrt2 and cabs are MIPS-3D's; qemu does not look at the CPU",
          lambda word: is_float(word, *range(28, 32)) or (is_float(word, *range(48, 64)) and word & 64 != 0)),
    Fault("function 5 of SPECIAL calls a boot monitor on qemu", lambda word: word >> 26 == 0 and word & 63 == 5),
    Fault("reserved forms of bshfl and of mfhi and mflo do nothing on qemu when rd is 0", _to_no_register),
    Fault("instructions of the DSP module whose result is in register 0 set flags by the manual (volume IV-e); on "
          "qemu they do nothing: gen_mipsdsp_arith and others return at once", _dsp_result_in_zero),
    Fault("balign of 2 bytes is unpredictable (volume IV-e): it shifts here, and does nothing on qemu",
          lambda word: word & 0xFC00FFFF == 0x7C001431),
    Fault("fields of DSP instructions that must be 0 (volume IV-e): other words are reserved here; qemu does not "
          "look at the fields: decode_opc_special3_legacy", _dsp_fields_set),
    Fault("insv of bits beyond 31 is unpredictable (volume IV-e), and does nothing here; qemu's helper_insv takes 33",
          lambda word: word & 0xFC00FFFF == 0x7C00000C, _beyond_register),
    Fault("bits 10 to 6 of moves of HI and LO, and of what adds to them, must be 0: SmartMIPS has instructions there; "
          "qemu does not look at them",
          lambda word: _uses_hilo(word) and _field(word, 6) != 0 and not _to_no_register(word)),
    Fault("sdbbp stops for a debugger on qemu", lambda word: word >> 26 == 0x1C and word & 63 == 0x3F),
)  # fmt: skip
