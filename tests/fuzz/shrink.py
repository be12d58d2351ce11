"""Makes a failing case small, and a line for tests/vectors of it.

Enters: a `Failure`. Leaves: the same with fewer words and plainer operands, as long as the executor still differs
without a reason; and the text of a vector, whose outputs are those of the executor that is not ours.
"""

from __future__ import annotations

import dataclasses
import re
import struct
from pathlib import Path

from mipsrec.isa import Flow, decode
from mipsrec.isa.disassembly import disassemble
from mipsrec.isa.effects import ACCUMULATOR_BITS, ALL_BITS, DSP_BIT, FCC_BIT, FPR_BIT, HILO_BIT, masks
from mipsrec.state import GPR_NAMES
from tests.fuzz.batch import Failure, execute
from tests.fuzz.case import Case
from tests.fuzz.guest import CASES
from tests.fuzz.reasons import View, unexplained
from tests.fuzz.states import DSP_AT, DSP_NAMES, FLOATS_AT, NUMBER_AT, WINDOW, WINDOW_AT, Outcome, unpack
from tests.fuzz.unicorn_guest import UNSEEN
from tests.support.guest_cpu import CODE, DATA
from tests.support.vectors import DATA as VECTOR_DATA

_WINDOW_BYTES = 256
_REGISTERS = re.compile(rf"(?<![$\w])({'|'.join(GPR_NAMES)})\b")
_DSP_BITS = (*(bit for bit in ACCUMULATOR_BITS[1:] for _ in range(2)), 1 << DSP_BIT)
"""The bits of the registers of DSP_NAMES."""
_TARGET = re.compile(r"0x[0-9a-f]+$")
_SIGNAL_NAMES = {4: "reserved", 5: "trap", 8: "fpe", 10: "address", 11: "address"}


class Shrinker:
    """Tries smaller cases; every try links and runs a guest of one case and one state."""

    def __init__(self, folder: Path, host: Path, tries: int = 60) -> None:
        self._folder, self._host, self._tries = folder, host, tries

    def results(self, failure: Failure) -> dict[str, Outcome]:
        """Return how each executor ends the case; raises OSError and others when one cannot."""
        state = bytearray(failure.state)
        struct.pack_into(f"{failure.mode.order}I", state, NUMBER_AT, 0)
        outputs = execute(self._folder, self._host, failure.mode, [failure.case], bytes(state))
        return {name: unpack(output, failure.mode.order) for name, output in outputs.items()}

    def _still_fails(self, failure: Failure) -> bool:
        self._tries -= 1
        if self._tries < 0:
            return False
        try:
            results = self.results(failure)
        except Exception:  # a smaller case that does not even run is no smaller failure
            return False
        kind = failure.executor.partition(" ")[0]
        before = unpack(failure.state, failure.mode.order)
        unseen = UNSEEN if kind == "unicorn" else ()
        view = View(failure.mode, failure.case, before, results["interp"], results[failure.executor], unseen)
        return bool(unexplained(view, kind, set()))

    def shrink(self, failure: Failure) -> Failure:
        """Return the failure with what it does not need taken away."""
        failure = _moved(failure)
        for index in reversed(range(len(failure.case.words))):
            words = failure.case.words
            jumps = {at: target for at, target in failure.case.jumps.items() if at != index}
            smaller = dataclasses.replace(failure.case, words=[*words[:index], 0, *words[index + 1 :]], jumps=jumps)
            candidate = dataclasses.replace(failure, case=smaller)
            if words[index] and self._still_fails(candidate):
                failure = candidate
        words = [word for word in failure.case.words if word]
        candidate = dataclasses.replace(failure, case=dataclasses.replace(failure.case, words=words, jumps={}))
        if not any(map(_jumps, words)) and self._still_fails(candidate):
            failure = candidate
        candidate = dataclasses.replace(failure, state=failure.state[:WINDOW_AT] + VECTOR_DATA)
        if self._still_fails(candidate):
            failure = candidate
        dsp = range(DSP_AT, DSP_AT + 4 * len(DSP_NAMES), 4)
        for at in (*range(FLOATS_AT, WINDOW_AT, 8), *dsp, *range(4, 128, 4)):
            size = 8 if at >= FLOATS_AT else 4
            plain = failure.state[:at] + bytes(size) + failure.state[at + size :]
            if not _is_read(failure, at) or plain == failure.state:
                continue
            candidate = dataclasses.replace(failure, state=plain)
            if self._still_fails(candidate):
                failure = candidate
        return failure


def _moved(failure: Failure) -> Failure:
    """Return the failure with its case at the start of the cases, where a guest of one case has it."""
    case, order = failure.case, failure.mode.order
    distance = CASES - case.start
    words = case.words[:]
    for index, target in case.jumps.items():
        words[index] = words[index] & ~0x3FFFFFF | (CASES + 4 * target) >> 2 & 0x3FFFFFF
    gpr = list(struct.unpack_from(f"{order}32I", failure.state))
    for register in (*case.labels, case.home):
        gpr[register] += distance
    state = struct.pack(f"{order}32I", *gpr) + failure.state[128:]
    return dataclasses.replace(failure, case=dataclasses.replace(case, start=CASES, words=words), state=state)


def _jumps(word: int) -> bool:
    instruction = decode(word)
    return instruction is not None and instruction.row.flow not in (Flow.NEXT, Flow.SYSCALL, Flow.STOP)


def _read_mask(failure: Failure) -> int:
    mask = 0
    for word in failure.case.words:
        instruction = decode(word)
        mask |= masks(instruction, failure.mode.fr)[0] if instruction is not None else ALL_BITS
    return mask


def _is_read(failure: Failure, at: int) -> bool:
    if DSP_AT <= at < FLOATS_AT:
        return bool(_read_mask(failure) & _DSP_BITS[(at - DSP_AT) // 4])
    number = FPR_BIT + (at - FLOATS_AT) // 8 if at >= FLOATS_AT else at // 4
    bits = 3 if at >= FLOATS_AT and not failure.mode.fr else 1
    return bool(_read_mask(failure) >> number & bits)


# ---- vectors ----


def vector_line(failure: Failure, after: Outcome) -> str:
    """Return the case as a vector (format: vectors/integer.txt) that ends as `after`."""
    case, mode = failure.case, failure.mode
    before = unpack(failure.state, mode.order)
    words = _relocated(case)
    text = " | ".join(_assembly(word, CODE + 4 * index) for index, word in enumerate(words))
    inputs, mask = [], _read_mask(failure)
    accesses, floats = (
        any(map(_accesses, words)),
        any(word >> 26 in (0x11, 0x13, 0x31, 0x35, 0x39, 0x3D) for word in words),
    )
    if floats:
        inputs.append(f"fr={mode.fr}")
    if accesses:
        inputs.append(f"order={mode.byte_order}")
    for number in range(1, 32):
        if mask >> number & 1:
            inputs.append(f"{GPR_NAMES[number]}={_address(case, before.gpr[number])}")
    if mask >> HILO_BIT & 1:
        inputs += [f"hi={before.hi:x}", f"lo={before.lo:x}"]
    inputs += [f"{name}={value:x}" for name, value, bit in zip(DSP_NAMES, before.dsp, _DSP_BITS) if mask & bit]
    for number in range(32):
        if mask >> FPR_BIT + number & 1 or (not mode.fr and number % 2 == 0 and mask >> FPR_BIT + number & 3):
            inputs.append(f"d{number}={before.fpr[number]:x}")
    for number in range(8):
        if mask >> FCC_BIT + number & 1:
            inputs.append(f"fcc{number}={_condition(before.fcsr, number)}")
    if floats:
        inputs.append(f"fcsr={_plain(before.fcsr):x}")
    if before.window != VECTOR_DATA:
        inputs.append(f"m00={before.window.hex()}")
    code = " ".join(f"{word:08x}" for word in words)
    return f"{text} ; code: {code} ; in: {' '.join(inputs)} ; out: {' '.join(_outputs(failure, before, after))}"


def _outputs(failure: Failure, before: Outcome, after: Outcome) -> list[str]:
    case = failure.case
    found = []
    for number in range(1, 32):
        if number != case.home and after.gpr[number] != before.gpr[number]:
            found.append(f"{GPR_NAMES[number]}={_address(case, after.gpr[number])}")
    found += [
        f"{name}={getattr(after, name):x}" for name in ("hi", "lo") if getattr(after, name) != getattr(before, name)
    ]
    found += [f"{name}={b:x}" for name, a, b in zip(DSP_NAMES, before.dsp, after.dsp) if a != b]
    for number in range(32):
        if after.fpr[number] != before.fpr[number]:
            found.append(f"d{number}={after.fpr[number]:x}")
    for number in range(8):
        if _condition(after.fcsr, number) != _condition(before.fcsr, number):
            found.append(f"fcc{number}={_condition(after.fcsr, number)}")
    if _plain(after.fcsr) != _plain(before.fcsr):
        found.append(f"fcsr={_plain(after.fcsr):x}")
    changed = [at for at in range(_WINDOW_BYTES) if after.window[at] != before.window[at]]
    found += [f"m{at:02x}={after.window[at]:02x}" for at in changed]
    if after.signal:
        found.append(f"exception={_SIGNAL_NAMES[after.signal]}")
    return found


def _assembly(word: int, pc: int) -> str:
    """Return an instruction as the assembler reads it, branch targets relative to itself."""
    instruction = decode(word)
    mnemonic, _, operands = disassemble(instruction, pc, word).partition(" ")
    operands = _REGISTERS.sub(r"$\1", operands)
    if instruction is not None and instruction.row.assembly.endswith(("offset", "target")):
        operands = _TARGET.sub(lambda found: f".+{int(found[0], 16) - pc}".replace("+-", "-"), operands)
    return f"{mnemonic} {operands}".strip()


def _accesses(word: int) -> bool:
    instruction = decode(word)
    return instruction is not None and instruction.row.assembly.endswith("mem")


def _relocated(case: Case) -> list[int]:
    words = case.words[:]
    for index, target in case.jumps.items():
        words[index] = words[index] & ~0x3FFFFFF | (CODE + 4 * target) >> 2
    return words


def _address(case: Case, value: int) -> str:
    """Return a value as text, addresses of the window and of the case moved to where vectors have them."""
    if case.start <= value <= case.pc(len(case.words)):
        return f"@{value - case.start:x}"
    if WINDOW - 0x8000 <= value < WINDOW + _WINDOW_BYTES + 0x8000:
        value += DATA - WINDOW
    return f"{value:x}"


def _condition(fcsr: int, number: int) -> int:
    return fcsr >> (23 if number == 0 else 24 + number) & 1


def _plain(fcsr: int) -> int:
    return fcsr & ~0xFE800000
