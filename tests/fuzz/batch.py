"""One batch of a differential run: cases and states of one mode, all executors, what differs without a reason.

Enters: a mode, a seed, counts. Leaves: `Tally`, which batches add up in, and `Failure`s.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from mipsrec.isa import ROWS
from tests.fuzz.case import Case
from tests.fuzz.cases import make_case, reserved_case
from tests.fuzz.guest import CASES, EngineError, Mode, culprit, library, link, run_host, run_qemu, run_tier
from tests.fuzz.maker import is_dsp
from tests.fuzz.mips16_cases import make_case16
from tests.fuzz.reasons import View, unexplained
from tests.fuzz.states import NUMBER_AT, STATE_BYTES, States, unpack
from tests.fuzz.unicorn_guest import UNSEEN, run_unicorn
from tests.support.tiers import BASELINE

Opts = tuple[int | str, ...]
OPTS: Opts = (0, "light", 3)
"""The levels of recompiled executors."""
_RESERVED_SHARE = 0.02


@dataclass(frozen=True)
class Failure:
    """A difference nobody explains: between the interpreter and the executor, from one state."""

    mode: Mode
    case: Case
    state: bytes
    executor: str
    differences: dict[str, tuple[int, int]]


@dataclass
class Tally:
    """What a run has done. `rows` counts executions of each row that are certain: not those a branch may skip."""

    executions: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    equal: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    judged: int = 0
    reasons: set[str] = field(default_factory=set)
    failures: list[Failure] = field(default_factory=list)


def make_cases(random: Random, mode: Mode, count: int, first_row: int, at: int = CASES) -> list[Case]:
    """Return cases, laid out from an address on, of all rows from one on, and some of words that may be no row's."""
    cases: list[Case] = []
    rows = [row for row in ROWS if mode.has_dsp or not is_dsp(row)]
    for number in range(count):
        if mode.mips16:
            case: Case = make_case16(random, at)
        elif random.random() < _RESERVED_SHARE and not mode.nan2008:  # that CPU has extensions
            case = reserved_case(random, mode.fr, at)
        else:
            case = make_case(random, rows[(first_row + number) % len(rows)], mode.fr, at, mode.has_dsp)
        cases.append(case)
        at += case.size_bytes
    return cases


def execute(
    folder: Path, host: Path, mode: Mode, cases: list[Case], states: bytes, opts: Opts = OPTS
) -> dict[str, bytes]:
    """Return what each executor leaves behind the states; the interpreter is "interp"."""
    guest = link(folder, mode, cases)
    executors: dict[str, Callable[[bytes], bytes]] = {"interp": lambda part: run_host(host, guest, part, None)}
    for opt in opts:
        executors[f"lifted {opt}"] = partial(_run_lifted, host, guest, library(guest, opt))
    for name, tier in BASELINE.items():
        executors[name] = partial(run_tier, host, guest, tier)
    changeable = link(folder, mode, cases, writable=True)
    executors["baseline writable"] = partial(run_tier, host, changeable, BASELINE["baseline"])
    executors["qemu"] = lambda part: run_qemu(mode, guest, part)
    executors["unicorn"] = lambda part: run_unicorn(mode, guest, part)
    results = {}
    for name, executor in executors.items():
        try:
            results[name] = executor(states)
        except EngineError as error:
            state = unpack(culprit(executor, states), mode.order)
            raise EngineError(f"{name} {error}: {cases[state.number].listing()}") from error
    return results


def _run_lifted(host: Path, guest: Path, recompiled: Path, states: bytes) -> bytes:
    return run_host(host, guest, states, recompiled)


def run_batch(
    folder: Path, host: Path, mode: Mode, seed: str, case_count: int, states_per_case: int, tally: Tally,
    opts: Opts = OPTS,
) -> None:  # fmt: skip
    """Make and execute a batch, and add what it shows to the tally."""
    random = Random(seed)
    cases = make_cases(random, mode, case_count, random.randrange(len(ROWS)))
    run_cases(folder, host, mode, cases, random, states_per_case, tally, opts)


def run_cases(
    folder: Path, host: Path, mode: Mode, cases: list[Case], random: Random, states_per_case: int, tally: Tally,
    opts: Opts = OPTS,
) -> None:  # fmt: skip
    """Execute cases on random states, and add what they show to the tally."""
    drawn = States(random, mode.order, mode.fr, mode.has_dsp)
    states = b"".join(drawn.draw(case, number) for number, case in enumerate(cases) for _ in range(states_per_case))
    results = execute(folder, host, mode, cases, states, opts)
    interpreted = results.pop("interp")
    count_rows(cases, interpreted, mode, tally)
    agreeing: set[int] = set()
    for executor, output in results.items():
        agreed = _compare(mode, cases, states, interpreted, executor, output, tally)
        tally.executions[f"{mode} {executor}"] += len(states) // STATE_BYTES
        tally.equal[executor] += len(agreed)
        if executor in ("qemu", "unicorn"):
            agreeing |= agreed
    tally.judged += len(agreeing)


def _compare(
    mode: Mode, cases: list[Case], states: bytes, interpreted: bytes, executor: str, output: bytes, tally: Tally
) -> set[int]:
    """Return the indices of the states after which an executor agrees with the interpreter in all that it shows."""
    kind = executor.partition(" ")[0]
    agreed = set()
    for index in range(len(states) // STATE_BYTES):
        at = slice(index * STATE_BYTES, (index + 1) * STATE_BYTES)
        if interpreted[at] == output[at]:
            agreed.add(index)
            continue
        before, ours, other = (unpack(part[at], mode.order) for part in (states, interpreted, output))
        view = View(mode, cases[ours.number], before, ours, other, UNSEEN if kind == "unicorn" else ())
        if not view.differences:
            agreed.add(index)
            continue
        left = unexplained(view, kind, tally.reasons)
        if left:
            tally.failures.append(Failure(mode, view.case, states[at], executor, left))
        else:
            tally.explained[executor] += 1
    return agreed


def count_rows(cases: list[Case], output: bytes, mode: Mode, tally: Tally) -> None:
    """Count the executions of rows that are certain, up to the instruction that raised a signal."""
    names = [[(case.pc(index), name) for index, name in case.names() if index in case.certain] for case in cases]
    ends: Counter[tuple[int, int]] = Counter()
    form = struct.Struct(f"{mode.order}5I")
    for at in range(NUMBER_AT, len(output), STATE_BYTES):
        number, signal, _, pc, _ = form.unpack_from(output, at)
        ends[number, pc if signal else 0xFFFFFFFF] += 1
    for (number, end), times in ends.items():
        for pc, name in names[number]:
            if pc <= end:
                tally.rows[name] += times
