"""The layout of one guest CPU in host memory; the only place that knows it.

Enters: nothing. Leaves: byte offsets for the code generator, the table of registers, and the text of the C headers
`mr_state.h` and `mr_registers.h` that the runtime is compiled against. Every 32-bit guest register has an 8-byte slot
of its own: with 4-byte slots LLVM merges neighbours into 64-bit loads of two fresh 32-bit stores, and store forwarding
fails.

Floating-point registers are 64 bits wide. With FR=1 register n is `fpr[n]`. With FR=0 the even slot holds the pair:
the single in register 2k is the low word of `fpr[2k]`, the single in 2k+1 its high word; odd slots are unused.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter

GPR_NAMES = "zero at v0 v1 a0 a1 a2 a3 t0 t1 t2 t3 t4 t5 t6 t7 s0 s1 s2 s3 s4 s5 s6 s7 t8 t9 k0 k1 gp sp fp ra".split()
"""The o32 names of the general-purpose registers 0 to 31."""
V0, A0, T0, S0, S7, T9, GP, SP, FP, RA = map(GPR_NAMES.index, "v0 a0 t0 s0 s7 t9 gp sp fp ra".split())
CALLEE_SAVED = (*range(S0, S7 + 1), GP, SP, FP)
"""Registers that callees preserve (MIPS ABI supplement, 3-11)."""


@dataclass(frozen=True)
class Field:
    """One member of `struct mr_state`: `count` slots of `size_bytes` bytes each, declared in C as `c_type`."""

    name: str
    c_type: str
    size_bytes: int
    count: int
    meaning: str


_FIELDS = (
    Field("gpr", "struct mr_slot", 8, 32, "general-purpose registers, one 8-byte slot each"),
    Field("hilo", "uint64_t", 8, 4, "accumulators, the first is HI (upper half) and LO; the DSP module has four"),
    Field("fpr", "union mr_fpr", 8, 32, "floating-point registers; see the FR rule in state.py"),
    Field("fcc", "struct mr_slot", 8, 8, "floating-point condition codes, 0 or 1 each"),
    Field("signalled", "struct mr_slot", 8, 1, "1 when a signal may wait to be delivered; lifted loops look at it"),
    Field("fcsr", "uint32_t", 4, 1, "FCSR without its condition codes"),
    Field("fr", "uint32_t", 4, 1, "1 when Status.FR is set (64-bit floating-point registers)"),
    Field("pc", "uint32_t", 4, 1, "guest pc, true at every call into the runtime that takes one"),
    Field("tls", "uint32_t", 4, 1, "UserLocal, read by rdhwr $29"),
    Field("ll_address", "uint32_t", 4, 1, "address of the last ll"),
    Field("ll_value", "uint32_t", 4, 1, "value the last ll read, as sc expects to find it"),
    Field("ll_valid", "uint32_t", 4, 1, "1 from ll until sc or an exception"),
    Field("fp_word", "uint32_t", 4, 1, "last arithmetic instruction, whose causes FCSR does not have yet; 0: none"),
    Field("dsp_control", "struct mr_slot", 8, 1, "DSPControl of the DSP module"),
    Field("fp_operands", "uint64_t", 8, 3, "bits of its operands fs, ft and fr"),
    Field("dispatch", "int32_t *", 8, 1, "lifted functions by pc >> 2, as displacements from `fallback`"),
    Field("dispatch16", "int32_t *", 8, 1, "the same of MIPS16e code, by pc >> 1"),
    Field("fallback", "uint8_t *", 8, 1, "the lifted function that has the host go to a pc"),
    Field("translated", "int32_t *", 8, 1, "translated code by pc, as displacements from `code`; 0: there is none"),
    Field("translated16", "int32_t *", 8, 1, "the same of MIPS16e code, by half"),
    Field("code", "uint8_t *", 8, 1, "where the code that the baseline tier makes begins"),
    Field("base", "uint8_t *", 8, 1, "host address of guest address 0"),
    Field("read_pages", "uint8_t **", 8, 1, "host address of each readable guest page, or null (model paged)"),
    Field("write_pages", "uint8_t **", 8, 1, "host address of each writable guest page, or null (model paged)"),
)

SLOT_BYTES = 8


def _offsets() -> dict[str, int]:
    result, offset = {}, 0
    for field in _FIELDS:
        assert offset % field.size_bytes == 0, field.name
        result[field.name] = offset
        offset += field.size_bytes * field.count
    result["size"] = offset
    return result


OFFSETS = _offsets()
"""Byte offset of each field in `struct mr_state`, and its whole `size`."""


def slot_offset(field: str, number: int) -> int:
    """Return where the slot of a register is in the state."""
    return OFFSETS[field] + SLOT_BYTES * number


# ---- registers ----


@dataclass(frozen=True)
class Registers:
    """Registers that are alike, and who sees them as what. Of several, numbers and places are those of the first.

    A register has `size_bytes` from byte `part` of its slot of `field` on; without a field, who shows it computes it.
    `kind` says how the debugger and the frame of a signal see it: `plain` as in the state, `float` by the FR rule,
    `fcsr` with the condition codes, `computed`. `bit` is its place in sets of registers (isa/effects.py).
    """

    names: tuple[str, ...]
    field: str = ""
    size_bytes: int = 4
    part: int = 0
    kind: str = "plain"
    bit: int | None = None
    gdb: tuple[str, int] | None = None  # feature org.gnu.gdb.mips.*, and number (gdb's manual, "MIPS Features")
    frame: tuple[int, int] | None = None  # offset in struct sigcontext (asm/sigcontext.h), and bytes: 8, or 4
    verified: bool = True  # mipsrec verify compares it, and the handler of a signal can restore it
    dumped: bool = False  # --report, verify and call print it


def _computed(name: str, feature: str, number: int) -> Registers:
    return Registers((name,), kind="computed", gdb=(feature, number), verified=False)


def _numbered(prefix: str, count: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{number}" for number in range(count))


REGISTERS = (
    Registers(tuple(GPR_NAMES), "gpr", bit=0, gdb=("cpu", 0), frame=(16, 8), dumped=True),
    Registers(("hi",), "hilo", part=4, bit=32, gdb=("cpu", 34), frame=(552, 8), dumped=True),
    Registers(("lo",), "hilo", bit=32, gdb=("cpu", 33), frame=(560, 8), dumped=True),
    *(
        Registers((f"{half}{number}",), "hilo", part=SLOT_BYTES * number + place, bit=73 + number,
                  gdb=("dsp", 72 + 2 * (number - 1) + index), frame=(560 + 8 * number + 4 * index, 4))
        for number in (1, 2, 3) for index, (half, place) in enumerate((("hi", 4), ("lo", 0)))
    ),
    Registers(("dspctl",), "dsp_control", bit=77, gdb=("dsp", 78), frame=(544, 4)),
    Registers(_numbered("f", 32), "fpr", 8, kind="float", bit=33, gdb=("fpu", 38), frame=(272, 8)),
    Registers(_numbered("fcc", 8), "fcc", bit=65),
    Registers(("fcsr",), "fcsr", kind="fcsr", gdb=("fpu", 70), frame=(532, 4)),
    Registers(("tls",), "tls"),
    Registers(("pc",), "pc", gdb=("cpu", 37), verified=False),
    Registers(("last",), "fp_word", bit=73, verified=False),
    _computed("status", "cp0", 32),
    _computed("badvaddr", "cp0", 35),
    _computed("cause", "cp0", 36),
    _computed("fir", "fpu", 71),
    _computed("restart", "linux", 79),
)
"""All registers. Those that are verified stand first; `last` is the record of the last instruction that computed."""


GUEST_BYTES = OFFSETS["dispatch"]
"""Bytes of the state that are the guest's, of which verify keeps copies: `dispatch` is the host's first field."""
assert all(OFFSETS[row.field] < GUEST_BYTES for row in REGISTERS if row.verified), "a register among the host's fields"


def first_bit(field: str) -> int:
    """Return the bit of the first register of a field in sets of registers."""
    return next(row.bit for row in REGISTERS if row.field == field and row.bit is not None)


def bit_of(field: str, number: int) -> int:
    """Return the bit of the register at a slot of a field in sets of registers."""
    return next(
        row.bit + number - row.part // SLOT_BYTES
        for row in REGISTERS
        if row.field == field and row.bit is not None
        and row.part // SLOT_BYTES <= number < row.part // SLOT_BYTES + len(row.names)
    )  # fmt: skip


def _bit_names() -> dict[int, str]:
    names: dict[int, str] = {}
    for row in REGISTERS:
        if row.bit is not None:
            for bit, name in enumerate(row.names, row.bit):
                names[bit] = names.get(bit, "") + name  # HI and LO share one
    return names


BIT_NAMES = _bit_names()
"""The name of each bit in sets of registers."""


def _places() -> list[tuple[int, str]]:
    """Return where each register begins in the state, and each field that is none, in order."""
    places = {OFFSETS[field.name]: field.name for field in _FIELDS}
    for row in REGISTERS:
        if row.field:
            first = OFFSETS[row.field] + row.part
            places |= {first + SLOT_BYTES * number: name for number, name in enumerate(row.names)}
    return sorted(places.items())


_PLACES = _places()


def name_at(offset: int) -> str:
    """Return the register that has a byte of the state, or the field that has it."""
    return _PLACES[bisect_right(_PLACES, offset, key=itemgetter(0)) - 1][1]


def layout_id() -> int:
    """Return a 32-bit number that changes whenever the layout does; libraries carry it, the host compares it."""
    text = ";".join(f"{f.name}:{f.c_type}:{f.size_bytes}:{f.count}" for f in _FIELDS)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")


def c_variable(c_type: str, name: str) -> str:
    return c_type + ("" if c_type.endswith("*") else " ") + name


def c_struct(name: str, fields: Iterable[tuple[str, str, int, str]]) -> list[str]:
    """Return the lines of a structure of (name, type, count, meaning)."""
    lines = [f"struct {name} {{"]
    for field, c_type, count, meaning in fields:
        array = f"[{count}]" if count > 1 else ""
        lines.append(f"    {c_variable(c_type, field)}{array};" + (f" /* {meaning} */" if meaning else ""))
    return [*lines, "};"]


def c_header() -> str:
    lines = [
        "/* Generated from mipsrec/state.py. */",
        "#ifndef MR_STATE_H",
        "#define MR_STATE_H",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "struct mr_state;",
        "typedef void (*mr_function)(void); /* of another convention: only to be given to mr_enter */",
        "struct mr_slot { uint32_t value, unused; };",
        "union mr_fpr { uint64_t bits; struct { uint32_t low, high; } word; };",
        f"#define MR_STATE_LAYOUT 0x{layout_id():08x}u",
        f"#define MR_STATE_GUEST_BYTES {GUEST_BYTES}",
        *c_struct("mr_state", ((f.name, f.c_type, f.count, f.meaning) for f in _FIELDS)),
    ]
    lines += [f'_Static_assert(offsetof(struct mr_state, {f.name}) == {OFFSETS[f.name]}, "{f.name}");' for f in _FIELDS]
    lines.append(f'_Static_assert(sizeof(struct mr_state) == {OFFSETS["size"]}, "size");')
    names = [name for row in REGISTERS for name in row.names]
    verified = [row for row in REGISTERS if row.verified]
    assert verified == list(REGISTERS[: len(verified)])
    lines += ["enum {", *(f"    MR_REG_{name.upper()}," for name in names), "    MR_REGISTERS,"]
    numbers = [row.gdb[1] + index for row in REGISTERS if row.gdb for index in range(len(row.names))]
    assert sorted(numbers) == list(range(len(numbers)))
    lines.append(f"    MR_GDB_NUMBERS = {len(numbers)},")
    lines += [f"    MR_VERIFIED_REGISTERS = {sum(len(row.names) for row in verified)},", "};"]
    fields = dict.fromkeys(row.field for row in verified)
    lines.append("#define MR_VERIFIED_FIELDS(F) " + " ".join(f"F({field})" for field in fields))
    return "\n".join(lines + ["#endif", ""])


def c_registers() -> str:
    """Return the text of `mr_registers.h`: the initialisers of the table that runtime/cpu/registers.h declares."""
    lines = ["/* Generated from mipsrec/state.py. */"]
    for row in REGISTERS:
        offset = OFFSETS[row.field] + row.part if row.field else 0
        feature, number = row.gdb or ("", 0)
        frame, frame_bytes = row.frame or (0, 0)
        for index, name in enumerate(row.names):
            place = offset + SLOT_BYTES * index
            lines.append(
                f'{{"{name}", MR_KIND_{row.kind.upper()}, {row.size_bytes}, {int(row.dumped)}, {place}, '
                f'"{feature}", {number + index}, {frame + SLOT_BYTES * index if frame else 0}, {frame_bytes}}},'
            )
    return "\n".join([*lines, ""])
