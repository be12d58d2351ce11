"""Compares what handlers saw of registers with what the interpreter has, instruction by instruction.

Enters: the notes of a program (looks_maker.py), and its Trace. Leaves: counts by kind, and lines about differences.

What is promised is docs/limits.md. Interpreted, in the baseline tier, under qemu and in the debugger all registers are
true. In recompiled code they are so at traps and system calls; where a signal arrives at a safepoint, those that are
read before they are written. At a fault the pc is that of an access, and a carried register has a value that it has had
in this run: its own, in general. It may have an old one where it has no use any more, where its block writes it, and
where LLVM has lost it; how often that is so is counted. LLVM leaves accesses out and changes their order, so a fault is
compared with all steps at the same pc that have the same sp, or a higher one where there is none.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mipsrec.lift.convention import CARRIED
from mipsrec.state import GPR_NAMES, SP
from tests.fuzz.looks_handlers import ALRM, DRIVER, FPE, RUN_ENDS, SEGV, TRAP, USR1, USR2
from tests.fuzz.looks_maker import Note
from tests.fuzz.looks_trace import PID, STEP_WORDS, Trace

KINDS = {SEGV: "fault", TRAP: "trap", FPE: "trap", USR1: "system call", ALRM: "timer", USR2: "thread"}
NAMES = (*GPR_NAMES, "lo", "hi")
EVERYTHING = tuple(range(1, 34))
_A0, _GP = 4, 28
_MOST_CANDIDATES = 1000
_BLOCK = 40  # steps behind an access that its block, or the loop around it, may have run before it


@dataclass
class Looks:
    """What came of the looks of one or more runs."""

    seen: Counter[str] = field(default_factory=Counter)
    registers: Counter[str] = field(default_factory=Counter)
    """Of faults in recompiled code: carried registers with a use which their block does not write, by what was seen."""
    differences: list[str] = field(default_factory=list)
    seeds: int = 0

    def add(self, other: Looks) -> None:
        self.seen += other.seen
        self.registers += other.registers
        self.differences += other.differences


class Judge:
    """The trace of one program, and where its runs begin."""

    def __init__(self, trace: Trace, written_in_block: dict[int, int]) -> None:
        self.trace, self.written_in_block = trace, written_in_block
        ends = [index + 1 for index, pc in enumerate(trace.pcs) if pc >= DRIVER]
        self.runs = list(zip([0, *ends], ends))
        self._by_pc: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._by_place: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        self._by_fuel: dict[tuple[int, int, int, int], list[int]] = defaultdict(list)
        for number, (start, end) in enumerate(self.runs):
            for index in range(start, end):
                sp = trace.words[STEP_WORDS * index + 1 + SP]
                gp = trace.words[STEP_WORDS * index + 1 + _GP]
                self._by_pc[number, trace.pcs[index]].append(index)
                self._by_place[number, trace.pcs[index], sp].append(index)
                self._by_fuel[number, trace.pcs[index], sp, gp].append(index)
        self._had: dict[tuple[int, int], dict[int, int]] = {}
        self._values: dict[int, frozenset[int]] = {}

    def judge(self, notes: Iterable[Note], pid: int, is_recompiled: bool, is_by_host: bool = False) -> Looks:
        """Return what came of the looks of a process. is_by_host: the host performs the accesses of the code."""
        looks, run, place = Looks(), 0, 0
        for note in notes:
            if note.kind == RUN_ENDS:
                run, place = (run + 1) % len(self.runs), 0
                continue
            if note.pc >= DRIVER:
                continue
            kind = KINDS[note.kind]
            looks.seen[kind] += 1
            if is_recompiled and note.kind == SEGV:
                steps = self._by_place.get((run, note.pc, note.registers[SP])) or self._deeper(run, note)
                found = self._fault(note, pid, run, steps, place, looks.registers, is_by_host)
            else:
                found = self._exact(note, pid, run, place, is_recompiled and note.kind in (ALRM, USR2))
            if isinstance(found, int):
                place = found
            else:
                looks.differences.append(f"{kind} at {note.pc:#x} in run {run}: {found}")
        return looks

    def _deeper(self, run: int, note: Note) -> list[int]:
        """Return the steps at the pc of a note with a higher sp: an old one may lie below, as a handler's frame begins
        there."""
        steps, sp = self._by_pc.get((run, note.pc), ()), note.registers[SP]
        return [step for step in steps if self.trace.words[STEP_WORDS * step + 1 + SP] > sp]

    def _near(self, steps: Iterable[int], place: int) -> Iterator[int]:
        """Yield steps of a place: those from the last look on, then those before it."""
        steps = list(steps)
        at = bisect_left(steps, place)
        yield from steps[at : at + _MOST_CANDIDATES]
        yield from reversed(steps[max(0, at - _MOST_CANDIDATES) : at])

    def _expected(self, note: Note, step: int) -> array[int]:
        """Return the registers of a step, for a look at its slot those behind its branch."""
        registers = self.trace.registers(step)
        link = self.trace.places[note.pc].link
        if note.kind == SEGV and link:
            registers[link] = note.pc + 8
        return registers

    def _wrong(self, note: Note, pid: int, step: int, which: Iterable[int]) -> list[int]:
        expected, seen = self._expected(note, step), note.registers
        wrong = [number for number in which if seen[number] != expected[number]]
        return [
            number for number in wrong
            if not (seen[number] == pid and (expected[number] == PID or (number == _A0 and note.kind == USR1)))
        ]  # fmt: skip

    def _exact(self, note: Note, pid: int, run: int, place: int, only_live: bool) -> int | str:
        """Return the step that a look was at; what differs from the most similar one where there is none."""
        gp, sp = note.registers[_GP], note.registers[SP]
        steps = self._by_fuel.get((run, note.pc, sp, gp)) or self._by_place.get((run, note.pc, sp), ())
        best, best_step = None, 0
        for step in self._near(steps, place):
            wrong = self._wrong(note, pid, step, EVERYTHING)
            if only_live and wrong:
                live = self.trace.live[step]
                wrong = [n for n in wrong if live >> min(n, 32) & 1 or not self._is_old(n, note, pid, run, step)]
            if not wrong:
                return step
            if best is None or len(wrong) < len(best):
                best, best_step = wrong, step
        return self._text(note, best, best_step)

    def _fault(
        self, note: Note, pid: int, run: int, steps: Iterable[int], place: int, registers: Counter[str],
        is_by_host: bool,
    ) -> int | str:  # fmt: skip
        """As _exact, for a fault in recompiled code; count what was seen."""
        best, best_step = None, 0
        written = self.written_in_block.get(note.pc, 0)
        for step in self._near(steps, place):
            wrong = self._wrong(note, pid, step, CARRIED)
            promised = 0 if is_by_host else written | ~self.trace.live[step]
            false = [number for number in wrong if is_by_host or not self._is_old(number, note, pid, run, step)]
            found = false, [number for number in wrong if not promised >> number & 1], wrong
            if best is None or [*map(len, found)] < [*map(len, best)]:
                best, best_step = found, step
            if not wrong:
                break
        if best is None:
            return self._text(note, None, 0)
        false, lost, _ = best
        promised = self.trace.live[best_step] & ~written
        registers["true"] += sum(promised >> number & 1 for number in CARRIED) - len(lost)
        registers["old"] += len(lost)
        return self._text(note, false, best_step) if false else best_step

    def _is_old(self, number: int, note: Note, pid: int, run: int, step: int) -> bool:
        """Return whether a register has had the value in the run before a step, or gets it in the block; one without a
        use, whether it ever had it: it is as the state last got it, perhaps in an earlier run."""
        value = note.registers[number]
        if value == pid:
            value = PID
        if not self.trace.live[step] >> number & 1 and value in self._values_of(number):
            return True
        known = self._had.get((run, number))
        if known is None:
            start, end = self.runs[run]
            column = self.trace.words[STEP_WORDS * start + 1 + number : STEP_WORDS * end : STEP_WORDS]
            known = self._had[run, number] = {}
            for index, one in enumerate(column, start):
                known.setdefault(one, index)
        first = known.get(value)
        return first is not None and first < step + _BLOCK

    def _values_of(self, number: int) -> frozenset[int]:
        """Return all values that a register has in the trace."""
        if number not in self._values:
            self._values[number] = frozenset(self.trace.words[1 + number :: STEP_WORDS])
        return self._values[number]

    def _text(self, note: Note, wrong: list[int] | None, step: int) -> str:
        if wrong is None:
            return f"never there with sp {note.registers[SP]:#x}"
        expected = self._expected(note, step)
        words = [f"{NAMES[n]} {note.registers[n]:#x}, not {expected[n]:#x}" for n in wrong]
        return f"{', '.join(words)} (step {step})"
