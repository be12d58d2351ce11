"""The layout of one guest CPU in host memory; the only place that knows it.

Enters: nothing. Leaves: byte offsets for the code generator, and the text of the C header `mr_state.h` that the
runtime is compiled against. Every 32-bit guest register has an 8-byte slot of its own: with 4-byte slots LLVM merges
neighbours into 64-bit loads of two fresh 32-bit stores, and store forwarding fails.

Floating-point registers are 64 bits wide. With FR=1 register n is `fpr[n]`. With FR=0 the even slot holds the pair:
the single in register 2k is the low word of `fpr[2k]`, the single in 2k+1 its high word; odd slots are unused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

GPR_NAMES = "zero at v0 v1 a0 a1 a2 a3 t0 t1 t2 t3 t4 t5 t6 t7 s0 s1 s2 s3 s4 s5 s6 s7 t8 t9 k0 k1 gp sp fp ra".split()
"""The o32 names of the general-purpose registers 0 to 31."""


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
    Field("hilo", "uint64_t", 8, 1, "HI in the upper half, LO in the lower"),
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
    Field("fp_operands", "uint64_t", 8, 3, "bits of its operands fs, ft and fr"),
    Field("dispatch", "int32_t *", 8, 1, "lifted functions by pc >> 2, as displacements from `fallback`"),
    Field("fallback", "uint8_t *", 8, 1, "the lifted function that has the host go to a pc"),
    Field("translated", "int32_t *", 8, 1, "translated code by pc, as displacements from `code`; 0: there is none"),
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
        *c_struct("mr_state", ((f.name, f.c_type, f.count, f.meaning) for f in _FIELDS)),
    ]
    lines += [f'_Static_assert(offsetof(struct mr_state, {f.name}) == {OFFSETS[f.name]}, "{f.name}");' for f in _FIELDS]
    lines.append(f'_Static_assert(sizeof(struct mr_state) == {OFFSETS["size"]}, "size");')
    lines += [f"#define MR_REG_{name.upper()} {number}" for number, name in enumerate(GPR_NAMES)]
    lines.append("#define MR_GPR_NAMES " + ", ".join(f'"{name}"' for name in GPR_NAMES))
    return "\n".join(lines + ["#endif", ""])
