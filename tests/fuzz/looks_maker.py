"""Makes programs of random control flow whose registers are looked at: by handlers of faults, traps and signals.

Enters: a seed and a byte order. Leaves: a Program as flow_maker.py makes it, with another driver and other data.

Each function runs on random registers, in memory that the seed gives. What it accesses, and its stack, lies in an area
of which one page is open at a time: an access of another page faults. The handler writes a note of all registers, opens
the page, closes the others, and returns, so the access is made again. Further looks are instructions of the functions:
traps, whose handler changes a register and goes on behind, or throws as flow_maker.py's `throw` does; and signals that
a system call sends to its own process. In other modes a timer or another thread sends signals at random times.

The mode is the number of words of the command line (looks_handlers.py). Notes go to standard output.
"""

from __future__ import annotations

import struct
from random import Random
from typing import NamedTuple

from tests.fuzz.flow_maker import (
    ARENA_BYTES,
    ODD_CALLEES,
    RUNS,
    SPARE_BYTES,
    STACK_BYTES,
    STATE_WORDS,
    Maker,
    Part,
    Program,
    register_after,
)
from tests.fuzz.flow_parts import Function
from tests.fuzz.flow_single import FREE
from tests.fuzz.looks_handlers import (
    DRIVER,
    LEFT_BYTES,
    NOTE_WORDS,
    NOTES,
    PAGE,
    ROUNDS,
    TRAP_WORDS,
    USR1,
    driver,
    load,
    store,
)


class Note(NamedTuple):
    """What a handler saw; lo and hi are registers 32 and 33. Of RUN_ENDS, the pc is the number of the run."""

    kind: int
    pc: int
    address: int
    registers: tuple[int, ...]


def notes_in(output: bytes, order: str) -> tuple[list[Note], bytes]:
    """Return the notes in the output of a program, and what it has left in memory."""
    size = len(output) - LEFT_BYTES
    layout = struct.Struct(f"{'<' if order == 'little' else '>'}{NOTE_WORDS}I")
    found = []
    for kind, pc, address, hi, lo, *registers in layout.iter_unpack(output[: max(0, size - size % layout.size)]):
        found.append(Note(kind, pc, address, (0, *registers, lo, hi)))
    return found, output[max(0, size) :]


def left_at(offset: int) -> str:
    """Return what lies that far in what a program has left in memory."""
    run, word = divmod(offset // 4, STATE_WORDS)
    if run >= RUNS:
        return f"area + {offset - RUNS * 4 * STATE_WORDS:#x}"
    return register_after(run, word)


class LookMaker(Maker):
    """The choices of one seed."""

    def __init__(self, seed: str, order: str) -> None:
        super().__init__(seed)
        more = Random(f"looks {seed}")
        self.big = order == "big"
        self.before_page = more.choice((0x18, 0x40, 0x80, 0x100, 0x200))  # bytes of the arena in its first page
        self.above_page = [more.choice((8, 24, 48, 72, 104, 200, 400)) for _ in range(RUNS)]
        self.flipped = int(more.choice(FREE)[1:])
        self.microseconds = more.choice((60, 100, 170))

    def program(self, functions: list[Part]) -> Program:
        """Return the program of these functions."""
        data = [*ODD_CALLEES.split("\n"), *driver(self.big, self.flipped), *self.tables, *self.data()]
        options = (f"-Wl,--section-start=.driver={DRIVER:#x}",)
        return Program(self.start(), functions, data, self.fpu, self.fr, options)

    def start(self) -> list[str]:
        """Return the driver: it runs all functions, many times where signals come at random times."""
        lines = [*self.modes(), '.section .driver, "ax", @progbits']
        lines += [".word throw, ends_run", ".globl __start", ".type __start, @function", "__start:"]
        lines += ["lw $16, 0($29)", *store("$16", "mode")]
        lines += ["beq $16, $0, again", "nop", "jal sets_up", "nop", "again: jal fills_memory", "nop"]
        for run in range(RUNS):
            lines += ["jal begins_run", "nop", *self.begins(run, f"stack_end - {PAGE} + {self.above_page[run]}")]
            lines += [f"jal {self.names[run % len(self.names)]}", "nop", *self.ends(run), f"addiu $4, $0, {run}"]
            lines += ["jal ends_run", "nop"]
        lines += [*load("$16", "rounds"), "addiu $16, $16, -1", *store("$16", "rounds"), "bgtz $16, again", "nop"]
        return [*lines, "j ends", "nop", ".size __start, . - __start", ".text"]

    def data(self) -> list[str]:
        """Return the registers that functions begin with, their memory, and what handlers use."""
        lines = [*self.states("first_states"), "states:", f".space {(RUNS + 1) * 4 * STATE_WORDS}", "memory:"]
        lines += [f".word {self.word()}" for _ in range((ARENA_BYTES + SPARE_BYTES) // 4)]
        lines += [f"pointers: .word {', '.join(self.random.choice(self.names) for _ in range(8))}, 0, 0, 0, 0"]
        lines += ["mode: .word 0", f"rounds: .word {ROUNDS}", "open_page: .word 0", "last_pc: .word 0"]
        lines += ["note_at: .word notes"]
        lines += ["own_pid: .word 0", "own_tid: .word 0", "action: .word 0x08000008, takes_note, -1, -1, -1, -1"]
        lines += ["all_signals: .word -1, -1, -1, -1", "no_signals: .word 0, 0, 0, 0", "pause: .word 0, 20000"]
        lines += ["own_stack: .word handler_stack, 32768, 0"]
        lines += [f"timer: .word 0, {self.microseconds}, 0, {self.microseconds}"]
        lines += [".align 3", "results:", f".space {RUNS * 4 * STATE_WORDS}", ".align 12", "area:"]
        lines += [f".space {PAGE - self.before_page}", "arena:", f".space {self.before_page + PAGE + STACK_BYTES}"]
        lines += ["stack_end:", "functions: .space 32", f"jumps: .space {PAGE - 32}", ".align 3"]
        lines += [f"notes: .space {4 * NOTE_WORDS * NOTES}", "notes_end: .space 8", "handler_stack: .space 32768"]
        return [*lines, "thread_stack: .space 4096", "thread_stack_end: .space 16"]


class LookFunction(Function):
    """The choices within one function."""

    def any_part(self, depth: int) -> Part:
        """Return a part of a random kind, which may be a look."""
        return self._look() if self.chance(0.15) else super().any_part(depth)

    def _look(self) -> Part:
        kind = self.random.random()
        if kind < 0.3 and not self.leaf:
            around = self.maker.label()
            return Part([f"{self.compare()}{around}", self.one(), f".word {TRAP_WORDS['throws']:#x}", f"{around}:"])
        if kind < 0.5:
            return Part([f".word {TRAP_WORDS['skips']:#x}"])
        if kind < 0.6:
            return Part([f"{self.random.choice(('add', 'sub'))} {self.target()}, {self.source()}, {self.source()}"])
        if kind < 0.7:
            name = self.random.choice(("teq", "tne", "tlt", "tge", "tltu", "tgeu"))
            return Part([f"{name} {self.source()}, {self.source()}"])
        sends = ["addiu $2, $0, 4020", "syscall", "addu $4, $2, $0", f"addiu $5, $0, {USR1}", "addiu $2, $0, 4037"]
        return Part([*sends, "syscall", "addu $4, $0, $0"])


def make_looks(seed: str, order: str) -> Program:
    """Return the program of a seed."""
    maker = LookMaker(seed, order)
    return maker.program([LookFunction(maker, name).make() for name in maker.names])
