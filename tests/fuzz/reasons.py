"""Every known reason why an executor leaves another state behind a case than the interpreter does.

Enters: one execution of a case, as the interpreter and another executor end it. Leaves: the differences that nothing
here explains, and which reasons were met; a reason that is met no more has to go (tests/fuzz/test_instructions.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from mipsrec.analysis.symbolic import constant_condition
from mipsrec.isa import Flow, Instruction, decode
from mipsrec.isa.effects import effects
from tests.fuzz import random_words
from tests.fuzz.case import Case
from tests.fuzz.guest import CASES, HANDLER, Mode
from tests.fuzz.judge_faults import FAULTS, FLUSH, Fault
from tests.fuzz.judge_faults import is_float as computes
from tests.fuzz.states import Outcome
from tests.support.guest_cpu import Cpu

SIGILL, SIGTRAP, SIGFPE, SIGBUS, SIGSEGV = 4, 5, 8, 10, 11
_ENABLES, _UNIMPLEMENTED = 0xF80, 0x20000
_KERNEL, _MISALIGNED, _BEYOND = 0x80, 1, 2  # si_codes
_BRK_BUG = 12
_REGISTERS = ("gpr", "fpr", "hi", "lo", "dspctl", "fcsr")
_ALL = ("",)
_WITH_CODE = (0x0D, 0x30, 0x31, 0x32, 0x33, 0x34, 0x36)  # break, and traps that compare registers
_FRAME = (29, 30)  # sp, fp
_NOT_HERE = ("jalx", "sdbbp", "COP2")  # never among the cases; another exception, but the same signal
_RESERVED_BITS = {25: 0xFFFFFF00, 26: 0x007C0000, 28: 0x007C0000}
_DEFAULT_NANS = (0x7FBFFFFF, 0x7FF7FFFFFFFFFFFF)


@dataclass
class View:
    """One execution: the case, the state before, our state after and the other executor's."""

    mode: Mode
    case: Case
    before: Outcome
    ours: Outcome
    other: Outcome
    unseen: tuple[str, ...] = ()
    differences: dict[str, tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        found = self.ours.differences(self.other)
        hidden = self.unseen if self.ours.signal and self.other.signal else ()
        self.differences = {name: pair for name, pair in found.items() if name not in hidden}

    @property
    def single(self) -> bool:
        """Whether the state before its only instruction is known."""
        return len(self.case.words) == 1

    def any_word(self, test: Callable[[int], bool]) -> bool:
        return any(map(test, self.case.words))

    def words_at(self, pc: int) -> tuple[int, int]:
        """Return the words of the instruction at a pc and of the one behind it, its slot if it has one; 0 for none."""
        index = self.case.index_at(pc)
        here, behind = [0, 0] if index is None else [*self.case.words[index : index + 2], 0][:2]
        return here, behind

    def word_at(self, pc: int) -> int:
        return self.words_at(pc)[0]

    def instructions_at(self, pc: int) -> list[Instruction]:
        """Return the instruction at a pc and the one behind it, as far as they are some."""
        index = self.case.index_at(pc)
        return [] if index is None else [*filter(None, self.case.instructions()[index : index + 2])]

    def cpu(self) -> Cpu:
        """Return the state before for judge_faults.py, which knows no memory."""
        before = self.before
        cpu = Cpu(gpr=before.gpr[:], hilo=before.hi << 32 | before.lo, fpr=before.fpr[:], fr=self.mode.fr)
        cpu.accumulators = [high << 32 | low for high, low in zip(before.dsp[:6:2], before.dsp[1:6:2])]
        cpu.dsp_control = before.dsp[6]
        cpu.fcsr = before.fcsr | (0xC0000 if self.mode.nan2008 else 0)
        return cpu


@dataclass(frozen=True)
class Reason:
    """`explains` returns the beginnings of the names that it explains, or nothing."""

    text: str
    executors: tuple[str, ...]
    explains: Callable[[View], tuple[str, ...]]


def _of_judge(fault: Fault) -> Reason:
    """Return the reason that a fault of judge_faults.py is; in a sequence any of its words may have met it."""

    def explains(view: View) -> tuple[str, ...]:
        if view.single:
            return _ALL if fault.applies(view.case.words[0], view.cpu()) else ()
        return _ALL if view.any_word(fault.concerns) and _possible(fault.reason, view) else ()

    narrowed = "cvt.s.d" in fault.reason
    return Reason(fault.reason, ("unicorn",) if narrowed else ("unicorn", "qemu"), explains)


def _possible(reason: str, view: View) -> bool:
    if "FR=0" in reason:
        return view.mode.fr == 0
    if "ABS2008" in reason or "cvt.s.d" in reason:
        return not view.mode.nan2008
    if "flushed" in reason:
        return bool(view.before.fcsr & FLUSH) or view.any_word(_writes_control)
    return True


def _row_name(word: int) -> str:
    instruction = decode(word)
    return instruction.row.name if instruction is not None else ""


def _writes_control(word: int) -> bool:
    return _row_name(word) == "ctc1"


def _must_be_aligned(word: int) -> bool:
    name = _row_name(word)
    return name in random_words.ACCESS_BYTES and name not in ("ll", "sc")


def _unaligned(view: View) -> tuple[str, ...]:
    other = view.other
    if other.signal != SIGBUS or other.code not in (0, _MISALIGNED):
        return ()
    return _ALL if view.any_word(_must_be_aligned) else ()


def _address_error(view: View) -> tuple[str, ...]:
    """do_ade: SI_KERNEL without an address, and SIGBUS for the kernel's half."""
    ours, other = view.ours, view.other
    if ours.signal in (SIGBUS, SIGSEGV) and ours.code in (_KERNEL, _BEYOND) and other.signal in (SIGBUS, SIGSEGV):
        return ("signal", "code", "address")
    return ()


def _in_kernel_mode(view: View) -> tuple[str, ...]:
    ours = view.ours
    return _ALL if ours.signal == SIGBUS and ours.code in (_KERNEL, _BEYOND) else ()


def _trap_code(view: View) -> tuple[str, ...]:
    ours, other = view.ours, view.other
    return ("signal",) if (ours.signal, other.signal) == (SIGFPE, SIGTRAP) and ours.code in (1, 2) else ()


def _lost_code(view: View) -> tuple[str, ...]:
    ours, other = view.ours, view.other
    words = view.words_at(ours.pc)
    told = any(word >> 26 == 0 and word & 63 in _WITH_CODE for word in words)
    return ("signal", "code", "address") if told and (ours.signal, other.signal) == (SIGFPE, SIGTRAP) else ()


def _mdmx(view: View) -> tuple[str, ...]:
    return _ALL if view.ours.signal == SIGILL and view.word_at(view.ours.pc) >> 26 == 0x1E else ()


def _multiply_field(view: View) -> tuple[str, ...]:
    word = view.word_at(view.ours.pc)
    ignored = word >> 26 == 0 and word & 63 in (0x18, 0x19) and word >> 6 & 31 != 0
    return _ALL if view.ours.signal == SIGILL and ignored else ()


def _no_user_local(view: View) -> tuple[str, ...]:
    return _ALL if view.any_word(lambda word: _row_name(word) == "rdhwr" and word >> 11 & 31 == 29) else ()


def _break_address(view: View) -> tuple[str, ...]:
    return ("address",) if view.ours.signal == view.other.signal == SIGTRAP and not view.ours.address else ()


def _kernel_bug(view: View) -> tuple[str, ...]:
    both = view.ours.signal == view.other.signal == SIGTRAP
    code = view.word_at(view.ours.pc) >> 6 & 0xFFFFF
    return ("code",) if both and view.ours.code == _KERNEL and code in (_BRK_BUG, _BRK_BUG << 10) else ()


def _slot_address(view: View) -> tuple[str, ...]:
    ours, other = view.ours, view.other
    if ours.signal in (SIGTRAP, SIGFPE) and other.address == ours.pc + 4 and ours.pc == other.pc:
        return ("address",)
    return ()


def _float_code(view: View) -> tuple[str, ...]:
    both = view.ours.signal == view.other.signal == SIGFPE
    words = view.words_at(view.ours.pc)
    return ("code",) if both and any(word >> 26 in (0x11, 0x13) for word in words) else ()


def _causes_that_trapped(view: View) -> tuple[str, ...]:
    ours, other = view.differences.get("fcsr", (0, 0))
    trapped = (other & _ENABLES) << 5 & other | other & _UNIMPLEMENTED
    return ("fcsr",) if view.ours.signal == SIGFPE and trapped and ours == other & ~trapped else ()


def _dropped_branch(view: View) -> tuple[str, ...]:
    instruction = decode(view.word_at(view.ours.pc))
    if instruction is None or instruction.row.flow is not Flow.BRANCH or view.other.pc != view.ours.pc + 4:
        return ()
    return ("pc", "address") if constant_condition(instruction) == 0 else ()


def _control_views(view: View) -> tuple[str, ...]:
    for word in filter(_writes_control, view.case.words):
        bits = _RESERVED_BITS.get(word >> 11 & 31, 0)
        if view.single and not view.before.gpr[word >> 16 & 31] & bits:
            continue
        if bits:
            return _ALL
    return ()


def _propagates(word: int) -> bool:
    """Bits 20 to 16 have to be 0 where there is one operand; no executor looks at them, but the decoder does."""
    name = (_row_name(word) or (_row_name(word & ~0x1F0000) if word >> 26 == 0x11 else "")).split(".")[0]
    return name in ("add", "sub", "mul", "div", "sqrt", "recip", "rsqrt", "madd", "msub", "nmadd", "nmsub") or (
        computes(word, 0x20, 0x21) and word >> 26 == 0x11
    )


def _default_nan(view: View) -> tuple[str, ...]:
    if view.mode.nan2008 or not view.any_word(_propagates):
        return ()
    if not view.single:
        return _ALL
    return tuple(name for name, (_, b) in view.differences.items() if name.startswith("fpr") and _is_default(b))


def _is_default(value: int) -> bool:
    halves = (value & 0x7FFFFFFF, value >> 32 & 0x7FFFFFFF, value & (1 << 63) - 1)
    return any(half in _DEFAULT_NANS for half in halves)


def _unlinked(view: View) -> tuple[str, ...]:
    words = view.words_at(view.ours.pc)
    unaligned = view.ours.signal == SIGBUS and view.ours.code == _KERNEL
    return _ALL if unaligned and any(_row_name(word) == "sc" for word in words) else ()


def _linked_twice(view: View) -> tuple[str, ...]:
    names = [_row_name(word) for word in view.case.words]
    again = names.count("sc") > 1 or bool(view.case.counters)  # or in a loop
    return _ALL if "ll" in names and "sc" in names and again else ()


def _word_address(view: View) -> tuple[str, ...]:
    ours, other = view.ours, view.other
    near = ours.signal == other.signal == SIGSEGV and abs(ours.address - other.address) <= 3
    words = view.words_at(ours.pc)
    return ("address",) if near and any(_row_name(word) in ("lwl", "lwr", "swl", "swr") for word in words) else ()


def _goes_on(view: View) -> tuple[str, ...]:
    words = view.words_at(view.ours.pc)
    faulted = view.ours.signal == view.other.signal == SIGSEGV
    return _ALL if faulted and any(_row_name(word) in ("swl", "swr") for word in words) else ()


def _dropped_load(view: View) -> tuple[str, ...]:
    if view.ours.signal not in (SIGBUS, SIGSEGV):
        return ()
    dropped = any(effects(i.row).loads and i.rs in _FRAME for i in view.instructions_at(view.ours.pc))
    return _ALL if dropped and view.other.pc != view.ours.pc else ()


def _between_segments(view: View) -> tuple[str, ...]:
    both = view.ours.signal == view.other.signal == SIGSEGV and (view.ours.code, view.other.code) == (1, 2)
    return ("code",) if both and CASES < view.ours.address < HANDLER else ()


def _base_in_slot(view: View) -> tuple[str, ...]:
    found = view.case.instructions()
    for index, (jump, slot) in enumerate(pairwise(found)):
        of_both = jump is not None and slot is not None and jump.row.name == "jal" and view.case.pc(index) & 2
        if of_both and slot.row.name in ("lwpc", "addiupc"):
            return _ALL
    return ()


def _fault_registers(view: View) -> tuple[str, ...]:
    ours, other = view.ours, view.other
    if ours.signal not in (SIGBUS, SIGSEGV):
        return ()
    of_neighbour = ours.pc != other.pc and _KERNEL in (ours.code, other.code)
    return (*_REGISTERS, "pc", *(("code", "address") if of_neighbour else ()))


def _fault_memory(view: View) -> tuple[str, ...]:
    found = [effects(instruction.row) for instruction in filter(None, view.case.instructions())]
    stores = [does for does in found if does.stores]
    several = len(stores) > 1 or any(does.access is None for does in stores)
    return ("window",) if view.ours.signal in (SIGBUS, SIGSEGV) and several else ()


REASONS: tuple[Reason, ...] = (
    Reason("do_fpe clears the causes that trap before a handler runs; qemu and unicorn leave them", ("qemu", "unicorn"),
           _causes_that_trapped),
    *(_of_judge(fault) for fault in FAULTS if not fault.reason.startswith(_NOT_HERE)),  # never among the cases
    Reason("the kernel mends unaligned accesses; qemu and unicorn raise an address error", ("qemu", "unicorn"),
           _unaligned),
    Reason("do_ade sends SI_KERNEL without an address, and SIGBUS for the kernel's half; qemu tells of addresses",
           ("qemu",), _address_error),
    Reason("an unaligned sc raises an address error; qemu fails it first when nothing is linked", ("qemu", "unicorn"),
           _unlinked),
    Reason("an sc without an ll since the last sc is unpredictable (volume II-A), and fails here; qemu remembers "
           "the ll: gen_st_cond", ("qemu", "unicorn"), _linked_twice),
    Reason("unicorn runs in kernel mode, where the kernel's half is memory", ("unicorn",), _in_kernel_mode),
    Reason("swl and swr end at a fault; unicorn finishes them and what follows: store_helper in cputlb.c returns",
           ("unicorn",), _goes_on),
    Reason("unicorn's CPUs have no UserLocal, which rdhwr $29 reads", ("unicorn",), _no_user_local),
    Reason("codes 6 and 7 of traps and breaks make SIGFPE; unicorn_guest.py does not see the word", ("unicorn",),
           _trap_code),
    Reason("SIGTRAP of break has no si_addr (do_trap_or_bp); qemu-user gives the pc", ("qemu",), _break_address),
    Reason("SIGTRAP of break 12 (BRK_BUG) has no si_code (do_trap_or_bp); qemu-user gives TRAP_BRKPT", ("qemu",),
           _kernel_bug),
    Reason("si_addr is the branch's address when its slot traps, as EPC is; qemu-user gives the slot's", ("qemu",),
           _slot_address),
    Reason("si_code of SIGFPE tells of enabled exceptions only (force_fcr31_sig); qemu-user looks at all causes",
           ("qemu",), _float_code),
    Reason("qemu leaves out branches that are never taken; what follows is no delay slot then", ("qemu",),
           _dropped_branch),
    Reason("ctc1 to FCCR, FEXR, FENR ignores reserved bits; qemu ignores the whole value then", ("qemu", "unicorn"),
           _control_views),
    Reason("a quiet NaN operand is the result without NAN2008 (volume I-A); qemu 7 makes its default NaN", ("qemu",),
           _default_nan),
    Reason("codes 6 and 7 of traps and breaks make SIGFPE (do_trap_or_bp); qemu 7 stores a code and then raises the "
           "exception with 0 for it: gen_trap, generate_exception_break in translate.c", ("qemu",), _lost_code),
    Reason("opcode 0x1e is MDMX's, which a 74Kf has not: it is reserved (volume I-A, opcode tables); qemu 7 does "
           "nothing: OPC_MDMX in decode_opc_legacy", ("qemu",), _mdmx),
    Reason("bits 10 to 6 of mult and multu must be 0 (volume II-A), and other words are reserved; qemu 7 does not look "
           "at them: decode_opc_special_legacy", ("qemu",), _multiply_field),
    Reason("between a program's segments there is nothing (SEGV_MAPERR); qemu-user reserves all from the first to the "
           "last: load_elf_image", ("qemu",), _between_segments),
    Reason("lwpc and addiupc in the slot of a jal count from the jal's first half (volume IV-a); qemu counts from its "
           "second one: pc_relative_pc", ("qemu", "unicorn"), _base_in_slot),
    Reason("recompiled code drops loads by sp and fp with their faults when nobody reads what they load "
           "(lift/passes/trapping_loads.py)", ("lifted",), _dropped_load),
    Reason("at a fault of memory, lifted code may lack stores from before, or have them overwritten: LLVM joins "
           "stores, and drops those that later ones cover", ("lifted",), _fault_memory),
    Reason("BadVAddr of lwl, lwr, swl and swr is the byte's address; recompiled code accesses the word, at once for a "
           "pair", ("lifted",), _word_address),
    Reason("registers at a fault of memory are those lifted code last wrote to memory; its pc is that of a neighbour "
           "where LLVM dropped the line, and what do_ade tells goes by the instruction there",
           ("lifted",), _fault_registers),
)  # fmt: skip


def unexplained(view: View, executor: str, met: set[str]) -> dict[str, tuple[int, int]]:
    """Return the differences without a reason, and note in `met` which reasons explain the others."""
    left = dict(view.differences)
    for reason in REASONS:
        if not left:
            break
        if executor not in reason.executors:
            continue
        beginnings = reason.explains(view)
        explained = [name for name in left if name.startswith(beginnings)] if beginnings else []
        if explained:
            met.add(f"{executor}: {reason.text}")
            for name in explained:
                del left[name]
    return left
