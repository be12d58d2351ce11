"""What vectors do not show of the interpreter: where it stops, delay slots, exceptions, and the host's FPU."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import pytest

from mipsrec.state import OFFSETS
from tests.support.guest_cpu import CODE, DATA, STOP, Cpu
from tests.support.interpreter import Interpreter, build

NOP, ADD_ONE = 0, 0x24420001  # addiu $v0, $v0, 1
V0, T1 = 2, 9
JR_T1, JALR_T1 = 0x01200008, 0x0120F809
STOP_HERE = [0x08000000 | STOP >> 2, NOP]  # j STOP


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter as a shared library."""
    return build(tmp_path_factory.mktemp("interp"))


@pytest.fixture
def interpreter(library: Path) -> Interpreter:
    """One that runs everything itself."""
    return Interpreter(library, big_endian=True)


@pytest.fixture
def mixed(library: Path) -> Iterator[Interpreter]:
    """One that stops at lifted entries; CODE and CODE + 0x20 are."""
    interpreter = Interpreter(library, big_endian=True, interpret_all=False)
    for pc in (CODE, CODE + 0x20):
        interpreter.library.stub_lift(pc, True)
    yield interpreter
    for pc in (CODE, CODE + 0x20):
        interpreter.library.stub_lift(pc, False)


def cpu_with(**registers: int) -> Cpu:
    """Return a state with some general-purpose registers set, named r1 to r31."""
    cpu = Cpu()
    for name, value in registers.items():
        cpu.gpr[int(name[1:])] = value
    return cpu


# ---- where it stops ----


def test_stops_at_lifted_jump_target_only(mixed: Interpreter) -> None:
    """CODE is lifted too, but the caller who asks to begin there knows."""
    after, _ = mixed.run(cpu_with(r9=CODE + 0x20), [ADD_ONE, JR_T1, ADD_ONE, *[NOP] * 5, ADD_ONE])
    assert (mixed.pc, after.gpr[V0]) == (CODE + 0x20, 2)


def test_falls_through_into_lifted_entry(mixed: Interpreter) -> None:
    mixed.run(cpu_with(), [*[ADD_ONE] * 10, *STOP_HERE])
    assert mixed.pc == STOP


def test_engine_interp_ignores_lifted_entries(library: Path, mixed: Interpreter) -> None:
    interpreter = Interpreter(library, big_endian=True, interpret_all=True)
    after, _ = interpreter.run(cpu_with(r9=CODE + 0x20), [JR_T1, *[NOP] * 7, ADD_ONE, *STOP_HERE])
    assert (interpreter.pc, after.gpr[V0]) == (STOP, 1)


def test_stops_when_sp_is_above(interpreter: Interpreter) -> None:
    """As after longjmp: only at a jump, and equal is not above."""
    code = [0x27BD0010, ADD_ONE, 0x10000002, NOP, NOP, ADD_ONE, *STOP_HERE]  # addiu $sp, $sp, 16; b .+12
    after, _ = interpreter.run(cpu_with(r29=0x1000), code, stop_sp=0x100F)
    assert (interpreter.pc, after.gpr[V0]) == (CODE + 20, 1)
    interpreter.run(cpu_with(r29=0x1000), code, stop_sp=0x1010)
    assert interpreter.pc == STOP


def test_stops_at_stop_pc_after_a_branch_not_taken(interpreter: Interpreter) -> None:
    interpreter.run(cpu_with(), [0x14000003, NOP, ADD_ONE], stop_pc=CODE + 8)  # bne $zero, $zero
    assert interpreter.pc == CODE + 8


def test_misaligned_stop_pc_is_never(interpreter: Interpreter) -> None:
    """A jump there is an address exception at the target, and its handler goes on."""
    cpu = cpu_with(r9=CODE + 2, r29=1)
    _, exception = interpreter.run(cpu, [JR_T1, NOP], after=CODE + 8, stop_pc=CODE + 2, stop_sp=0)
    assert exception == "address"
    assert (interpreter.event.pc, interpreter.event.word) == (CODE + 2, 0)


def test_counts_instructions(interpreter: Interpreter) -> None:
    interpreted = interpreter.library.stub_instructions
    interpreted.restype = ctypes.c_uint64
    before = interpreted()
    interpreter.run(cpu_with(), [ADD_ONE, 0x14000003, ADD_ONE, ADD_ONE, *STOP_HERE])
    assert interpreted() - before == 6


# ---- delay slots and exceptions ----


def test_branch_in_slot_is_reserved(interpreter: Interpreter) -> None:
    for branch in (0x10000001, 0x08000000, 0x0C000000, JR_T1, JALR_T1, 0x04100001, 0x04110001, 0x45000001, 0x50000001):
        _, exception = interpreter.run(cpu_with(r9=STOP), [0x10000002, branch, NOP, *STOP_HERE])
        assert (exception, interpreter.event.pc, interpreter.event.word) == ("reserved", CODE, branch)


def test_branch_in_its_own_slot(interpreter: Interpreter) -> None:
    _, exception = interpreter.run(cpu_with(), [0x10000000, 0x1000FFFF, *STOP_HERE])  # b .+4; b .
    assert (exception, interpreter.event.pc) == ("reserved", CODE)


def test_branch_to_its_slot_runs_it_twice(interpreter: Interpreter) -> None:
    after, _ = interpreter.run(cpu_with(), [0x10000000, ADD_ONE, *STOP_HERE])
    assert after.gpr[V0] == 2


@pytest.mark.parametrize("slot", [0x0000000D, 0x00000034, 0x46C20000, 0x40086000, 0xC0000001])
def test_exception_in_slot_reports_the_branch(interpreter: Interpreter, slot: int) -> None:
    """break, teq, add.ps, mfc0, ll of a misaligned address."""
    interpreter.run(cpu_with(), [NOP, 0x10000002, slot, NOP, *STOP_HERE])
    assert (interpreter.event.pc, interpreter.event.word) == (CODE + 4, slot)


def test_exception_goes_on_at_its_handler(interpreter: Interpreter) -> None:
    after, exception = interpreter.run(cpu_with(), [0x0000000D, ADD_ONE, ADD_ONE, *STOP_HERE], after=CODE + 8)
    assert (exception, after.gpr[V0]) == ("break", 1)


def test_syscall_returns_and_jumps(interpreter: Interpreter) -> None:
    code = [0x0000000C, ADD_ONE, ADD_ONE, *STOP_HERE]
    after, exception = interpreter.run(cpu_with(), code, after=0)
    assert (exception, after.gpr[V0], interpreter.event.pc) == ("syscall", 2, CODE)
    after, _ = interpreter.run(cpu_with(), code, after=CODE + 8)
    assert after.gpr[V0] == 1


def test_syscall_in_slot_goes_on_at_the_target(interpreter: Interpreter) -> None:
    after, exception = interpreter.run(cpu_with(), [0x10000002, 0x0000000C, ADD_ONE, *STOP_HERE], after=0)
    assert (exception, after.gpr[V0], interpreter.event.pc) == ("syscall", 0, CODE)


def test_signal_interrupts_a_loop(interpreter: Interpreter) -> None:
    interpreter.library.stub_queue_signal()
    after, exception = interpreter.run(cpu_with(), [0x1000FFFF, ADD_ONE, *STOP_HERE], after=CODE + 8)  # b .
    assert (exception, interpreter.event.pc, after.gpr[V0]) == ("signal", CODE, 1)


def test_jalr_with_one_register(interpreter: Interpreter) -> None:
    """The manual calls it unpredictable; the target is that from before the link."""
    after, _ = interpreter.run(cpu_with(r9=STOP), [0x01204809, NOP])  # jalr $t1, $t1
    assert (interpreter.pc, after.gpr[T1]) == (STOP, CODE + 8)


def test_self_modifying_code(interpreter: Interpreter) -> None:
    after, _ = interpreter.run(cpu_with(r8=ADD_ONE, r9=CODE), [0xAD280008, NOP, NOP, *STOP_HERE])  # sw $t0, 8($t1)
    assert after.gpr[V0] == 1


def test_zero_stays_zero(interpreter: Interpreter) -> None:
    """addiu and lw into it, and jalr $zero, $t2."""
    after, _ = interpreter.run(cpu_with(r9=DATA, r10=STOP), [0x24000001, 0x8D200000, 0x01400009, 0x00001025])
    assert (after.gpr[0], after.gpr[V0], interpreter.pc) == (0, 0, STOP)


# ---- what needs the host ----


def test_synci(interpreter: Interpreter) -> None:
    _, exception = interpreter.run(cpu_with(r9=DATA), [0x053F0010, *STOP_HERE])  # synci 16($t1)
    assert (exception, interpreter.event.word) == ("synci", DATA + 16)


def test_rdhwr(interpreter: Interpreter) -> None:
    ctypes.c_uint32.from_buffer(interpreter.state, OFFSETS["tls"]).value = 0x12345678
    for number, value in ((0, 0), (1, 32), (3, 1), (29, 0x12345678)):
        after, exception = interpreter.run(cpu_with(r2=7), [0x7C02003B | number << 11, *STOP_HERE])
        assert (exception, after.gpr[V0]) == ("", value)
    first, _ = interpreter.run(cpu_with(), [0x7C02103B, *STOP_HERE])
    second, _ = interpreter.run(cpu_with(), [0x7C02103B, *STOP_HERE])
    assert first.gpr[V0] != second.gpr[V0]
    for number in (4, 5, 28, 30, 31):
        assert interpreter.run(cpu_with(), [0x7C02003B | number << 11, *STOP_HERE])[1] == "reserved"


def raise_inexact() -> float:
    """Compute on the host, in the thread and the FPU that lifted code would use."""
    return 1.0 / float(len(b"abc"))


def test_flags_of_lifted_code_are_kept(interpreter: Interpreter) -> None:
    library, state = interpreter.library, interpreter.state
    inexact, division = 1 << 2, 1 << 5
    interpreter.put(Cpu())
    raise_inexact()
    assert library.mr_cfc1(state, 31) == inexact
    library.mr_ctc1(state, 31, 0)
    assert library.mr_cfc1(state, 31) == 0
    raise_inexact()
    library.mr_ctc1(state, 28, 0)  # FENR has no flags: they stay
    assert library.mr_cfc1(state, 26) == inexact
    raise_inexact()
    library.mr_ctc1(state, 26, 0)
    assert library.mr_cfc1(state, 31) == 0
    cpu = Cpu()
    cpu.fpr[2] = 0x3F800000
    after, _ = interpreter.run(cpu, [0x46041003, *STOP_HERE])  # div.s $f0, $f2, $f4
    assert after.fcsr == division | 8 << 12
    raise_inexact()
    assert library.mr_cfc1(state, 31) == after.fcsr | inexact


def test_interpreter_keeps_flags_of_lifted_code(interpreter: Interpreter) -> None:
    library, state = interpreter.library, interpreter.state
    cpu = Cpu()
    cpu.fpr[2] = 0x3F800000
    interpreter.run(cpu, STOP_HERE)
    raise_inexact()
    library.mr_interpret(state, CODE, STOP, ctypes.c_uint32(0xFFFFFFFF))
    code = [0x46021000, *STOP_HERE]  # add.s $f0, $f2, $f2: exact
    library.stub_write(CODE, b"".join(word.to_bytes(4, "big") for word in code), 4 * len(code))
    library.mr_interpret(state, CODE, STOP, ctypes.c_uint32(0xFFFFFFFF))
    assert library.mr_cfc1(state, 31) == 1 << 2


def test_rounding_mode_reaches_the_host(interpreter: Interpreter) -> None:
    """Python's own floats round as lifted code would."""
    library, state, third = interpreter.library, interpreter.state, float(len(b"abc"))
    interpreter.put(Cpu())
    results = []
    for mode in (0, 1, 2, 3):
        library.mr_ctc1(state, 31, mode)
        result = (1.0 / third, -1.0 / third)
        library.mr_ctc1(state, 31, 0)
        results.append(result)
    near, zero, up, down = results
    assert near == zero == (zero[0], -zero[0])
    assert up[0] > near[0] and up[1] == near[1]
    assert down[0] == near[0] and down[1] < near[1]


def test_flushing_reaches_the_host(interpreter: Interpreter) -> None:
    library, state, tiny = interpreter.library, interpreter.state, 2.0**-1022
    interpreter.put(Cpu())
    library.mr_ctc1(state, 31, 1 << 24)
    result = tiny * float(len(b"abc")) / 4.0
    library.mr_ctc1(state, 31, 0)
    assert result == 0.0 and tiny * float(len(b"abc")) / 4.0 > 0.0
