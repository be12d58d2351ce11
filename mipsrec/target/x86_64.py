"""x86-64 under Linux. Sources: the psABI for x86-64, and LLVM's X86CallingConv.td and X86 options."""

from __future__ import annotations

from .machine_code import MachineCode
from .running_code import RunningCode
from .target import Level, LiftedCalls, StencilCalls, Target

_PINNED = ("r13", "r14", "r15", "rdi", "rsi", "rdx", "r8", "r9", "r11", "rax")


def _machine_code() -> MachineCode:
    from .x86_64_code import X86Code

    return X86Code()


def _running_code() -> RunningCode:
    from .x86_64_running import X86Running

    return X86Running()


X86_64 = Target(
    machine="x86_64",
    triple="x86_64-unknown-linux-gnu",
    levels=(
        Level("x86-64", frozenset()),
        Level("x86-64-v2", frozenset(("cx16", "pni", "ssse3", "sse4_1", "sse4_2", "popcnt"))),
        Level("x86-64-v3", frozenset(("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"))),
    ),
    cpu_flags="flags",
    llvm_options=(
        "-x86-cmov-converter=0", "-two-entry-phi-node-folding-threshold=5", "-cgpp-huge-func=20",
        "-cgp-max-address-users-to-scan=2000",
    ),
    lifted=LiftedCalls(
        "x86_regcallcc", registers=11, words=("ra", "a0", "a1", "a2", "a3", "sp", "s0", "s1"),
        floats=("s2", "s3", "s4", "s5", "s6", "s7", "fp"), middle=128, all_kept='"target-features"="-vzeroupper"',
    ),
    stencils=StencilCalls(
        "preserve_nonecc", _PINNED, tuple(f"REG_{name.upper()}" for name in _PINNED), temporary_at=6,
        access_registers=("rbx", "r10"),
    ),
    counter_space=256,
    relocations={1: 8, 10: 4},
    machine_code=_machine_code,
    running_code=_running_code,
)  # fmt: skip
"""Levels: those of the psABI; code for v4 (AVX-512) was slower.

LLVM's options. Conditional moves stay: which way a condition goes, lifted code does not tell, and a wrong guess costs
more. And one instruction more than usual may be executed for nothing to make them: 64-bit values are pairs here.

And in functions of more than 20 blocks CodeGenPrepare goes on where it changed something, not over all blocks again:
the code is as good, and a function with a thousand blocks takes a third less time.

And addresses in the state are part of the access that uses them, also of registers that a large function stores in more
than a hundred places: with LLVM's limit they are computed ahead and spilled.

Lifted calls. Callees of `x86_regcallcc` preserve those of its eleven registers that are neither parameters nor results,
so the result has as many parts: functions would push and pop them for callers that have nothing in them. The state,
the pc and t9 leave eight of them for `words`. A callee preserves no vector register, and the guest's code uses few of
them around calls: there are homes for the other registers that o32 has callees preserve. From `middle`
all general-purpose registers are a signed byte away, and loads and stores of half of them three bytes shorter. For
functions with preserve_allcc LLVM would clear the upper halves of the registers that they have just loaded back.

Counters: address space 256 is relative to gs, whose base the host sets to the map. So a counter takes no register, and
the map may lie anywhere.

Relocations: R_X86_64_64 and R_X86_64_32.

Stencils. TEMPORARY is the parameter that preserve_nonecc has in rcx, by which shifts go; r12 has the first one. The
floats are in xmm0 and up."""
