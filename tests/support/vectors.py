"""Reads the test vectors in vectors/*.txt: one instruction, or a few, with the state before and what changes.

Enters: text files; their format stands at the top of vectors/integer.txt. Leaves: `Vector`s, and of each the `Cpu`s
before and after, for any executor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mipsrec.state import GPR_NAMES
from tests.support.guest_cpu import CODE, DATA_BYTES, Cpu
from tests.support.paths import VECTORS

DATA = bytes((0x5A + 37 * n) & 0xFF for n in range(DATA_BYTES))
"""Memory that a vector does not name."""


@dataclass(frozen=True)
class Vector:
    """One line. `order` and `fr` are None when the vector holds in both byte orders, or with both Status.FRs."""

    place: str
    text: str
    code: tuple[int, ...]
    inputs: dict[str, str]
    outputs: dict[str, str]
    exception: str
    order: str | None
    fr: int | None
    modes: tuple[tuple[bool, int], ...] = field(init=False)

    def __post_init__(self) -> None:
        orders = [order == "big" for order in ("big", "little") if self.order in (None, order)]
        values = [fr for fr in (0, 1) if self.fr in (None, fr)]
        object.__setattr__(self, "modes", tuple((big_endian, fr) for big_endian in orders for fr in values))

    def before(self, fr: int) -> Cpu:
        """Return the state before: registers that are not named hold arbitrary values.

        FCSR, condition codes and DSPControl are 0.
        """
        cpu = Cpu(fr=fr, data=DATA)
        cpu.gpr = [0, *(0x9E3779B9 * n & 0xFFFFFFFF for n in range(1, 32))]
        cpu.fpr = [0x9E3779B97F4A7C15 * (n + 1) % 2**63 if fr or n % 2 == 0 else 0 for n in range(32)]
        cpu.hilo = 0x123456789ABCDEF0
        cpu.accumulators = [cpu.hilo * n & 0xFFFFFFFFFFFFFFFF for n in (3, 5, 7)]
        return _changed(cpu, self.inputs)

    def after(self, fr: int) -> Cpu:
        """Return the state that must be there afterwards."""
        return _changed(self.before(fr), self.outputs)


def _value(text: str) -> int:
    return CODE + int(text[1:], 16) if text.startswith("@") else int(text, 16)


def _changed(cpu: Cpu, values: dict[str, str]) -> Cpu:
    cpu = cpu.copy()
    for name, text in values.items():
        if name.startswith("m"):
            at, new = int(name[1:], 16), bytes.fromhex(text)
            cpu.data = cpu.data[:at] + new + cpu.data[at + len(new) :]
            continue
        value = _value(text)
        if name in GPR_NAMES:
            cpu.gpr[GPR_NAMES.index(name)] = value
        elif name == "hi":
            cpu.hilo = cpu.hilo & 0xFFFFFFFF | value << 32
        elif name == "lo":
            cpu.hilo = cpu.hilo >> 32 << 32 | value
        elif name in ("hi1", "hi2", "hi3"):
            number = int(name[2:]) - 1
            cpu.accumulators[number] = cpu.accumulators[number] & 0xFFFFFFFF | value << 32
        elif name in ("lo1", "lo2", "lo3"):
            number = int(name[2:]) - 1
            cpu.accumulators[number] = cpu.accumulators[number] >> 32 << 32 | value
        elif name == "dspctl":
            cpu.dsp_control = value
        elif name == "fcsr":
            cpu.fcsr = value
        elif name.startswith("fcc"):
            cpu.fcc[int(name[3:])] = value
        elif name.startswith("d"):
            cpu.fpr[int(name[1:])] = value
        else:
            _set_single(cpu, int(name[1:]), value)
    return cpu


def _set_single(cpu: Cpu, number: int, value: int) -> None:
    shift = 32 if number % 2 and not cpu.fr else 0
    slot = number if cpu.fr else number & 30
    cpu.fpr[slot] = cpu.fpr[slot] & ~(0xFFFFFFFF << shift) | value << shift


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in text.split())


def parse(line: str, place: str) -> Vector:
    """Return the vector that a line holds."""
    text, *parts = (part.strip() for part in line.split(";"))
    named = {name.strip(): value for name, value in (part.split(":") for part in parts)}
    inputs, outputs = _pairs(named["in"]), _pairs(named["out"])
    fr = inputs.pop("fr", None)
    return Vector(
        place=place,
        text=text,
        code=tuple(int(word, 16) for word in named["code"].split()),
        order=inputs.pop("order", None),
        fr=None if fr is None else int(fr),
        inputs=inputs,
        exception=outputs.pop("exception", ""),
        outputs=outputs,
    )


def load(path: Path) -> Iterator[Vector]:
    """Yield the vectors of a file; `#` begins a comment that is a line."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield parse(line, f"{path.name}:{number}")


def load_all() -> list[Vector]:
    """Return the vectors of all files."""
    return [vector for path in sorted(VECTORS.glob("*.txt")) for vector in load(path)]
