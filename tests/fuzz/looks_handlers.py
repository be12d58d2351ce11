"""The driver's functions and the handlers of looks_maker.py's programs, in assembly.

Leaves: lines in a section of their own, which begins at DRIVER. A handler may change all registers: sigreturn has them.
"""

from __future__ import annotations

from tests.fuzz.flow_maker import ARENA_BYTES, HI, LO, RUNS, SPARE_BYTES, STACK_BYTES, STATE_WORDS

PAGE = 4096
DRIVER = 0x500000
AREA_BYTES = PAGE + PAGE + STACK_BYTES + PAGE
"""The arena on both sides of the start of a page, the stack, and the pointers of the functions."""
NOTE_WORDS, NOTES = 36, 256  # NOTES: that the buffer has room for
LEFT_BYTES = RUNS * 4 * STATE_WORDS + AREA_BYTES
FAULTS, ALARMS, THREADS, QUIET = 1, 2, 4, 8
"""Modes: pages are closed; a timer sends signals; another thread does; only traps and system calls look.

0: nothing looks (looks_tracer.c)."""
ROUNDS = 4
MORE_ROUNDS = 12  # times as many where signals come at random times
SEGV, TRAP, FPE, ALRM, USR1, USR2 = 11, 5, 8, 14, 16, 17
"""Kinds of notes: MIPS's numbers of signals."""
RUN_ENDS = 0x100
"""The kind of a note that is no look: what a function has left in the registers."""
FLIP = 0x5A5
"""What the handler of a trap changes a register by."""
TRAP_WORDS = {"skips": 0x0200000D, "throws": 0x0201000D}
"""break 512 and break 513."""
_WRITE, _GETPID, _KILL, _SETITIMER, _CLONE, _MPROTECT = 4004, 4020, 4037, 4104, 4120, 4125
_NANOSLEEP, _SIGACTION, _SIGPROCMASK, _SIGALTSTACK, _GETTID, _EXIT, _TGKILL = 4166, 4194, 4195, 4206, 4222, 4246, 4266
_SETMASK, _THREAD, _UNEXPECTED = 3, 0x50F00, 99
_PC, _REGISTERS, _HI_AT, _LO_AT = 32, 40, 576, 584  # in the context of a signal


def place(register: str, symbol: str) -> list[str]:
    """Return how a register gets an address."""
    return [f"lui {register}, %hi({symbol})", f"addiu {register}, {register}, %lo({symbol})"]


def load(register: str, symbol: str) -> list[str]:
    """Return how a register gets a word of memory."""
    return [f"lui {register}, %hi({symbol})", f"lw {register}, %lo({symbol})({register})"]


def store(register: str, symbol: str) -> list[str]:
    """Return how a word of memory gets a register; by k0."""
    return [f"lui $26, %hi({symbol})", f"sw {register}, %lo({symbol})($26)"]


def call(number: int, *operands: str | int) -> list[str]:
    """Return a system call of registers, numbers of at most 31 bits, and addresses of symbols."""
    lines = []
    for to, operand in zip(("$4", "$5", "$6", "$7"), operands):
        if isinstance(operand, int):
            lines += [f"lui {to}, {operand >> 16}", f"ori {to}, {to}, {operand & 0xFFFF}"]
        else:
            lines += [f"addu {to}, {operand}, $0"] if operand.startswith("$") else place(to, operand)
    return [*lines, f"addiu $2, $0, {number}", "syscall"]


def function(name: str, *lines: str) -> list[str]:
    """Return a function."""
    return [f".type {name}, @function", f"{name}:", *lines, f".size {name}, . - {name}"]


def driver(big: bool, flipped: int) -> list[str]:
    """Return all functions. flipped: the register that the handler of a trap changes."""
    lines = ['.section .driver, "ax", @progbits']
    for one in (_fills_memory(), _sets_up(), _begins_run(), _ends_run(), _ends(), _flushes(), _takes_note(big, flipped),
                _thread()):  # fmt: skip
        lines += one
    return [*lines, ".text"]


def _copies(to: str, source: str, size: int) -> list[str]:
    """Return a loop that fills words: from memory, or with 0 where source is $0."""
    lines = [*place("$8", to), *(place("$9", source) if source != "$0" else []), f"addiu $10, $8, {size}"]
    step = ["lw $11, 0($9)", "addiu $9, $9, 4"] if source != "$0" else ["addu $11, $0, $0"]
    return [*lines, "5:", *step, "addiu $8, $8, 4", "bne $8, $10, 5b", "sw $11, -4($8)"]


def _fills_memory() -> list[str]:
    """Memory is as in each round. The registers that each run begins with are those of the next run in the last round;
    after ROUNDS they are the first ones again."""
    lines = [*_copies("arena", "memory", ARENA_BYTES + SPARE_BYTES), *_copies("functions", "pointers", 48)]
    lines += _copies("stack_end - 16384", "$0", STACK_BYTES)
    size = 4 * STATE_WORDS
    lines += [*load("$8", "rounds"), f"addiu $9, $0, {ROUNDS}", "divu $0, $8, $9", "mfhi $8", "bne $8, $0, 1f", "nop"]
    lines += [*_copies("states", "first_states", RUNS * size), "jr $31", "nop", "1:"]
    lines += [*_copies(f"states + {RUNS * size}", "states", size), *_copies("states", f"states + {size}", RUNS * size)]
    return function("fills_memory", *lines, "jr $31", "nop")


def _sets_up() -> list[str]:
    lines = call(_SIGALTSTACK, "own_stack", 0)
    for number in (SEGV, TRAP, FPE, ALRM, USR1, USR2):
        lines += call(_SIGACTION, number, "action", 0, 16)
    lines += [*call(_SIGPROCMASK, _SETMASK, "all_signals", 0, 16), *call(_GETPID), *store("$2", "own_pid")]
    lines += [*call(_GETTID), *store("$2", "own_tid"), *load("$16", "mode")]
    lines += [f"andi $8, $16, {FAULTS}", "bne $8, $0, 1f", "nop", *load("$8", "rounds")]
    lines += [f"addiu $9, $0, {MORE_ROUNDS}", "mul $8, $8, $9", *store("$8", "rounds"), "1:"]
    lines += [f"addiu $8, $0, {THREADS}", "beq $16, $8, 3f", f"andi $8, $16, {ALARMS}", "beq $8, $0, 4f", "nop"]
    lines += [*call(_SETITIMER, 0, "timer", 0), "4: jr $31", "nop"]
    lines += ["3:", *call(_CLONE, _THREAD, "thread_stack_end", 0, 0), "beq $2, $0, sends", "nop", "jr $31", "nop"]
    return function("sets_up", *lines)


def _begins_run() -> list[str]:
    """Pages are closed, and signals may come."""
    lines = [*load("$16", "mode"), "beq $16, $0, 1f", f"andi $16, $16, {FAULTS}", "beq $16, $0, 2f", "nop"]
    lines += [*store("$0", "open_page"), *store("$0", "last_pc"), *call(_MPROTECT, "area", AREA_BYTES, 0)]
    lines += ["2:", *call(_SIGPROCMASK, _SETMASK, "no_signals", 0, 16), "1: jr $31", "nop"]
    return function("begins_run", *lines)


def _ends_run() -> list[str]:
    """a0: the number of the run."""
    lines = ["addu $16, $4, $0", *load("$17", "mode"), "beq $17, $0, 1f", "nop"]
    lines += [*call(_SIGPROCMASK, _SETMASK, "all_signals", 0, 16), *call(_MPROTECT, "area", AREA_BYTES, 3)]
    lines += [f"addiu $8, $0, {4 * STATE_WORDS}", "mul $8, $16, $8", *place("$9", "results"), "addu $9, $9, $8"]
    lines += [*load("$10", "note_at"), f"addiu $8, $0, {RUN_ENDS}", "sw $8, 0($10)", "sw $16, 4($10)", "sw $0, 8($10)"]
    for number, at in [(HI, 3), (LO, 4), *((number, 4 + number) for number in range(1, 32))]:
        lines += [f"lw $8, {4 * number}($9)", f"sw $8, {4 * at}($10)"]
    return function("ends_run", *lines, "j flushes", "nop", "1: jr $31", "nop")


def _flushes() -> list[str]:
    """t2: the note that has been written. Goes back when there is room for another one."""
    lines = [f"addiu $10, $10, {4 * NOTE_WORDS}", *store("$10", "note_at"), *place("$8", "notes_end")]
    lines += ["bne $8, $10, 1f", "nop", *place("$8", "notes"), *store("$8", "note_at")]
    lines += call(_WRITE, 1, "notes", 4 * NOTE_WORDS * NOTES)
    return function("flushes", *lines, "1: jr $31", "nop")


def _ends() -> list[str]:
    lines = [*load("$8", "note_at"), *place("$9", "notes"), "subu $16, $8, $9", *call(_WRITE, 1, "notes", "$16")]
    lines += call(_WRITE, 1, "results", RUNS * 4 * STATE_WORDS)
    return function("ends", *lines, *call(_WRITE, 1, "area", AREA_BYTES), *call(_EXIT, 0))


def _takes_note(big: bool, flipped: int) -> list[str]:
    """The handler of all signals."""
    low = 4 if big else 0
    lines = ["addu $16, $4, $0", "addu $17, $5, $0", "addu $18, $6, $0", "addu $21, $31, $0"]
    lines.append(f"lw $19, {_PC + low}($18)")
    lines += [*load("$10", "note_at"), "sw $16, 0($10)", "sw $19, 4($10)", f"addiu $20, $16, -{SEGV}", "sw $0, 8($10)"]
    lines += ["bne $20, $0, 1f", f"lw $8, {_HI_AT + low}($18)", "lw $9, 12($17)", "sw $9, 8($10)", "1: sw $8, 12($10)"]
    lines += [f"lw $8, {_LO_AT + low}($18)", "sw $8, 16($10)"]
    for number in range(1, 32):
        lines += [f"lw $8, {_REGISTERS + 8 * number + low}($18)", f"sw $8, {16 + 4 * number}($10)"]
    lines += ["jal flushes", "nop", "beq $20, $0, 3f", f"addiu $8, $0, {TRAP}", "beq $16, $8, 2f"]
    lines += [f"addiu $8, $0, {FPE}", "bne $16, $8, 4f", "nop", "2: lw $8, 0($19)", "addiu $9, $19, 4"]
    throws = TRAP_WORDS["throws"]
    lines += [f"lui $10, {throws >> 16}", f"ori $10, $10, {throws & 0xFFFF}", "beq $8, $10, 5f", "nop"]
    at = _REGISTERS + 8 * flipped + low
    lines += [f"lw $8, {at}($18)", f"xori $8, $8, {FLIP}", f"sw $8, {at}($18)", "b 4f", f"sw $9, {_PC + low}($18)"]
    lines += ["5:", f"sw $9, {_REGISTERS + 8 * 31 + low}($18)", *place("$8", "throw"), f"sw $8, {_PC + low}($18)"]
    lines += ["4: addu $31, $21, $0", "jr $31", "nop", "3:"]
    return function("takes_note", *lines, *_moves_page(), "b 4b", "nop")


def _moves_page() -> list[str]:
    """Opens the page of the address that s1's information has, and closes the others. Where an access misses two pages
    one after the other, both stay open: it may cross from one to the other."""
    lines = ["lw $16, 12($17)", "srl $16, $16, 12", "sll $16, $16, 12", *place("$8", "area"), "subu $8, $16, $8"]
    lines += [f"lui $9, {AREA_BYTES >> 16}", f"ori $9, $9, {AREA_BYTES & 0xFFFF}", "sltu $8, $8, $9"]
    lines += ["bne $8, $0, 6f", "nop", *call(_EXIT, _UNEXPECTED), "6:", *call(_MPROTECT, "area", AREA_BYTES, 0)]
    lines += [*load("$8", "last_pc"), *load("$20", "open_page"), "bne $8, $19, 7f", "nop"]
    lines += [*call(_MPROTECT, "$20", PAGE, 3), "7:", *store("$16", "open_page"), *store("$19", "last_pc")]
    return [*lines, *call(_MPROTECT, "$16", PAGE, 3)]


def _thread() -> list[str]:
    """Sends signals to the first thread, without end."""
    lines = [*load("$16", "own_pid"), *load("$17", "own_tid"), "1:", *call(_TGKILL, "$16", "$17", USR2)]
    return function("sends", *lines, *call(_NANOSLEEP, "pause", 0), "b 1b", "nop")
