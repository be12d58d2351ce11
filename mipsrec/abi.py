"""What Python and the C host must state alike, beside the state's layout (state.py): both take it from here.

Enters: nothing. Leaves: constants for Python, and the text of four headers for the host: `mr_abi.h` (what recompiled
code calls), `mr_library.h` (the table in a library), `mr_request.h` (the message to the compile server) and
`mr_marks.h` (marks of executed code). A change of the table or of the message gives it another version.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from . import counters
from .files.checksum import FOOTER_BYTES, FOOTER_MAGIC
from .state import c_struct, c_variable

# ---- the guest's address space ----

PAGE_BYTES = 4096
LOWEST_GUEST = 0x10000
"""First address of the guest's user space: Linux's default vm.mmap_min_addr."""
USER_END = 0x7FFF0000
"""First address above it."""

# ---- what recompiled code calls ----

CAUSES = {"overflow": 1, "trap": 2, "break": 3, "reserved": 4, "address": 5, "fpe": 6, "coprocessor": 7}
"""Exceptions that an instruction raises: the argument `cause` of mr_exception."""

STAY = 2
"""What some functions return in place of a pc: the caller goes on."""

FP_STEP_FIELDS = (
    ("word", "uint32_t", 1, "the instruction; of a load, the displacement from the guest address in the slot"),
    ("operands", "uint8_t", 3, "slots of fs, ft and fr; of a load, its size in bytes"),
    ("result", "uint8_t", 1, "slot"),
)
"""A step of mr_fp_replay. Slots hold operands and results; the first steps load operands."""

_C_TYPES = {
    "void": "void", "i32": "uint32_t", "i64": "uint64_t", "state": "struct mr_state *",
    "steps": "const struct mr_fp_step *", "slots": "uint64_t *",
}  # fmt: skip
_POINTERS = ("state", "steps", "slots")


@dataclass(frozen=True)
class Function:
    """A function of the host that recompiled code calls. Its first parameter is the state; `parameters` are the others.

    Types are those of LLVM, or a kind of pointer.
    """

    name: str
    result: str
    parameters: tuple[tuple[str, str], ...]
    meaning: str

    def llvm_declaration(self) -> str:
        """Return the declaration for LLVM, without attributes."""
        return f"declare {self.result} @{self.name}({', '.join(type_ for type_, _ in self.llvm_parameters())})"

    def llvm_parameters(self) -> list[tuple[str, str]]:
        """Return the types and names of all parameters, for LLVM."""
        return [("ptr" if kind in _POINTERS else kind, name) for kind, name in (("state", "s"), *self.parameters)]

    def c_prototype(self) -> str:
        parameters = ", ".join(c_variable(_C_TYPES[kind], name) for kind, name in (("state", "s"), *self.parameters))
        return f"{_C_TYPES[self.result]} {self.name}({parameters});"


def _function(name: str, result: str, parameters: str, meaning: str) -> Function:
    kinds = tuple((kind, variable) for kind, variable in (pair.split() for pair in parameters.split(",") if pair))
    return Function(name, result, kinds, meaning)


FUNCTIONS = (
    _function("mr_call", "i32", "i32 target",
              "Goes to a target without a lifted entry: until the guest returns at gpr[31], or lets a loop below go on "
              "there."),
    _function("mr_syscall", "i32", "i32 pc", "The syscall instruction at pc."),
    _function("mr_watch_call", "void", "i32 pc", "Of --calls instrumented: the function that begins at pc is entered."),
    _function("mr_watch_place", "void", "i32 pc", "The same: control goes to pc, an entry or a return."),
    _function("mr_exception", "i32", "i32 pc, i32 cause, i32 word",
              "Exception raised by the instruction at pc; word is its encoding (break and trap codes are taken from "
              "it)."),
    _function("mr_interpret", "i32", "i32 pc, i32 stop_pc, i32 stop_sp",
              "The interpreter: runs from pc until pc == stop_pc, or until the guest's sp is above stop_sp after a "
              "jump, or at a jump target that has a lifted entry (unless engine_interp); returns the pc then."),
    _function("mr_cfc1", "i32", "i32 fs", "Returns a control register of the FPU."),
    _function("mr_ctc1_lifted", "i32", "i32 fs, i32 value, i32 pc, i32 next_pc",
              "The ctc1 at pc. next_pc: where the interpreter goes on after it; pc itself for one in that branch's "
              "slot. May return MR_STAY."),
    _function("mr_fp_again", "i64", "i32 word, i64 a, i64 b, i64 c",
              "Performs an arithmetic instruction on the bits of fs, ft and fr: one whose result is a NaN, or for the "
              "host alone."),
    _function("mr_fp_replay", "void", "steps steps, i32 load_count, i32 step_count, slots slots",
              "The same for what a piece of code has computed."),
    _function("mr_rdhwr", "i32", "i32 rd", "Returns a hardware register."),
    _function("mr_synci", "void", "i32 guest", "The guest says that it may have written code in this line."),
    _function("mr_load8", "i32", "i32 guest",
              "Accesses of models thunk (always) and paged (when the page tables say null). Guest byte order, any "
              "alignment; loads come zero-extended. The state is as last flushed. An access the guest may not make "
              "raises its SIGSEGV and does not return; the guest pc is found from the return address, so these must "
              "not be tail-called."),
    _function("mr_load16", "i32", "i32 guest", ""),
    _function("mr_load32", "i32", "i32 guest", ""),
    _function("mr_load64", "i64", "i32 guest", ""),
    _function("mr_store8", "void", "i32 guest, i32 value", ""),
    _function("mr_store16", "void", "i32 guest, i32 value", ""),
    _function("mr_store32", "void", "i32 guest, i32 value", ""),
    _function("mr_store64", "void", "i32 guest, i64 value", ""),
    _function("mr_compare_exchange", "i32", "i32 guest, i32 expected, i32 value",
              "sc: stores value if the aligned word there equals expected, atomically; returns whether it did."),
    _function("mr_run_nested", "i32", "i32 pc, i32 sp",
              "Goes on from pc, which is below sp, until the guest is at sp."),
    _function("mr_poll", "i32", "i32 pc",
              "Signals may wait, and pc is next; returns where to go on, or MR_STAY, with no register changed."),
)  # fmt: skip
"""All of them are called with a complete state, unless they say otherwise. Those that return a pc: execution goes on
there."""

_BY_NAME = {function.name: function for function in FUNCTIONS}


def host_function(name: str) -> Function:
    """Return one of FUNCTIONS."""
    return _BY_NAME[name]


def llvm_declaration(name: str) -> str:
    """Return how LLVM is told of a function of the host, without attributes."""
    return host_function(name).llvm_declaration()


# ---- the table in a library ----

LIBRARY_MAGIC = 0x4352494D
"""MIRC"""
LIBRARY_VERSION = 8
LIBRARY_SEGMENTS = 4
MEMORY_MODELS = {"flat": 0, "paged": 1, "thunk": 2}
CALL_MODELS = {"direct": 0, "thunked": 1, "instrumented": 2}

LIBRARY_WORDS = (
    ("magic", "uint32_t", ""),
    ("version", "uint32_t", ""),
    ("layout", "uint32_t", "MR_STATE_LAYOUT the code was made for"),
    ("memory_model", "uint32_t", "enum mr_memory_model"),
    ("call_model", "uint32_t", "enum mr_call_model"),
    ("cpu_level", "uint32_t", "of the processors that it needs: number in mipsrec/target, from 1 on"),
    ("bias", "uint32_t", "load bias of an ET_DYN guest that guest pcs here include"),
    ("fr", "uint32_t", "Status.FR the code was made for"),
    ("nan2008", "uint32_t", "whether the code was made for NaNs of IEEE 754-2008"),
    ("relocatable", "uint32_t", "1: the guest's file may be loaded with any bias (see delta)"),
    ("counts", "uint32_t", "1: the code counts decisions (mipsrec/counters.py)"),
    ("entry_count", "uint32_t", ""),
    ("enter", "int32_t", "mr_enter, as a displacement from the address of this field"),
    ("fallback", "int32_t", "the lifted function that calls mr_call, likewise"),
    ("delta", "int32_t", "of relocatable code, likewise: a word, to be the actual bias minus `bias`"),
    ("pcs", "int32_t", "likewise: guest pcs that the delta is to be added to, from here on"),
    ("pcs_end", "int32_t", "likewise: up to here"),
)
"""The words that `mr_library` begins with. Segments, identity, three texts and then the entries follow."""
LIBRARY_IDENTITY_BYTES, LIBRARY_TEXT_BYTES = 32, 64
LIBRARY_IDENTITY_AT = 4 * len(LIBRARY_WORDS) + 12 * LIBRARY_SEGMENTS
LIBRARY_HEADER_BYTES = LIBRARY_IDENTITY_AT + LIBRARY_IDENTITY_BYTES + 3 * LIBRARY_TEXT_BYTES


def library_word(name: str) -> int:
    """Return the position of a word of `mr_library`."""
    return [word for word, _, _ in LIBRARY_WORDS].index(name)


C_LIBRARY_FUNCTIONS = ("memcpy", "memmove", "memset", "sqrt", "sqrtf")
"""What LLVM makes of operations, and the host has as well."""


def imported_functions() -> set[str]:
    """Return the functions of the host that recompiled code may call by name."""
    return {function.name for function in FUNCTIONS}.union(C_LIBRARY_FUNCTIONS)


# ---- the message to the compile server ----

REQUEST_MAGIC = 0x5352494D
"""MIRS"""
REQUEST_VERSION = 2
REQUEST_KINDS = {"hot": 1, "status": 2, "stop": 3, "finish": 4}
MOST_PCS = 4096
ARRIVED = 1 << 31
"""Added to a pc that control came to from elsewhere: from recompiled code, or from the host."""
REQUEST_HEAD = (
    ("magic", "uint32_t", 1), ("version", "uint32_t", 1), ("kind", "uint32_t", 1), ("count", "uint32_t", 1),
    ("key", "char", 40), ("variant", "char", 96), ("path", "char", 1024),
)  # fmt: skip
"""What a message begins with; texts are NUL-padded. `count` pcs follow, each with its samples."""


def request_head() -> struct.Struct:
    """Return the head of a message for Python."""
    return struct.Struct("<" + "".join("I" if c_type == "uint32_t" else f"{n}s" for _, c_type, n in REQUEST_HEAD))


# ---- marks of executed code (run --coverage) ----

MARKS_MAGIC = 0x4B52414D
"""MARK"""
MOST_MARKED_FILES = 4096
MARKED_FILES_AT = PAGE_BYTES
MARKS_AT = 64 << 20
"""Where the marks of the first file begin. The descriptions of the files lie before."""
MARKS_BYTES = 1 << 40
"""Of the file of marks, of which next to nothing is in memory: each file of the guest has as many as it has bytes."""
MARK_ENDS = 0x80
"""Bit of a mark, beside the instruction's size: no other instruction follows it, as far as that is known."""
MARKS_HEAD = (
    ("magic", "uint32_t", 1, ""),
    ("file_count", "uint32_t", 1, "of descriptions that were asked for; perhaps more than there are"),
    ("unmarked", "uint32_t", 1, "mappings of code that have no marks: there was no room"),
    ("unused", "uint32_t", 1, ""),
    ("next", "uint64_t", 1, "where the marks of another file may begin"),
)
MARKED_FILE_NUMBERS = (
    ("ready", "uint32_t", 1, "all below is written"),
    ("bias", "uint32_t", 1, "guest addresses minus those in the file, where it was mapped first"),
    ("device", "uint64_t", 1, "this and the next three: which file, in which state"),
    ("inode", "uint64_t", 1, ""),
    ("seconds", "int64_t", 1, "of its last change"),
    ("fraction", "int64_t", 1, ""),
    ("size_bytes", "uint64_t", 1, ""),
    ("marks", "uint64_t", 1, "where they begin"),
)
MARKED_PATH_BYTES, MARKED_HEAD_BYTES = 4096, 4096
MARKED_FILE = (
    *MARKED_FILE_NUMBERS,
    ("path", "char", MARKED_PATH_BYTES, "on this machine, NUL-padded"),
    ("head", "uint8_t", MARKED_HEAD_BYTES, "the first bytes of the file"),
)
_STRUCT_LETTERS = {"uint32_t": "I", "uint64_t": "Q", "int64_t": "q"}


def marked_file() -> struct.Struct:
    """Return the description of a file in a file of marks, for Python."""
    numbers = "".join(_STRUCT_LETTERS[c_type] for _, c_type, _, _ in MARKED_FILE_NUMBERS)
    return struct.Struct(f"<{numbers}{MARKED_PATH_BYTES}s{MARKED_HEAD_BYTES}s")


def marks_head() -> struct.Struct:
    """Return what a file of marks begins with, for Python."""
    return struct.Struct("<" + "".join(_STRUCT_LETTERS[c_type] for _, c_type, _, _ in MARKS_HEAD))


# ---- the headers ----


def _header(name: str, includes: Sequence[str], lines: Sequence[str]) -> str:
    guard = "GENERATED_" + name.upper().replace(".", "_")
    top = ["/* Generated from mipsrec/abi.py. */", f"#ifndef {guard}", f"#define {guard}"]
    return "\n".join([*top, *(f"#include {include}" for include in includes), *lines, "#endif", ""])


def _enum(name: str, prefix: str, numbers: Mapping[str, int]) -> str:
    constants = ", ".join(f"{prefix}{key.upper()} = {number}" for key, number in numbers.items())
    return f"enum {name} {{ {constants} }};"


def abi_header() -> str:
    lines = [
        f"#define MR_PAGE_BYTES {PAGE_BYTES}u",
        f"#define MR_LOWEST_GUEST 0x{LOWEST_GUEST:x}u /* first address of the guest's user space */",
        f"#define MR_USER_END 0x{USER_END:x}u /* first address above it */",
        f"#define MR_COUNTER_BITS {counters.MAP_POWER}",
        "#define MR_COUNTER_BYTES (1u << MR_COUNTER_BITS) /* of the map of counters */",
        f"#define MR_COUNTER_MULTIPLIER 0x{counters.MULTIPLIER:x}u",
        f"#define MR_MARK_ENDS 0x{MARK_ENDS:x}u /* of a mark (base/marks.h) */",
        _enum("mr_cause", "MR_", CAUSES),
        f"#define MR_STAY {STAY}u /* no pc: the caller goes on */",
        *c_struct("mr_fp_step", FP_STEP_FIELDS),
    ]
    for function in FUNCTIONS:
        if function.meaning:
            lines.append(f"/* {function.meaning} */")
        lines.append(function.c_prototype())
    lines.append("#define MR_ABI_FUNCTIONS(X) " + " ".join(f"X({function.name})" for function in FUNCTIONS))
    lines.append("#define MR_C_LIBRARY_FUNCTIONS(X) " + " ".join(f"X({name})" for name in C_LIBRARY_FUNCTIONS))
    return _header("mr_abi.h", ['"mr_state.h"'], lines)


def library_header() -> str:
    entry = (
        ("guest_pc", "uint32_t", 1, ""),
        ("function", "int32_t", 1, "host code, as a displacement from the address of this field"),
    )
    segment = tuple((name, "uint32_t", 1, "") for name in ("guest", "offset", "size_bytes"))
    library = [
        *((name, c_type, 1, meaning) for name, c_type, meaning in LIBRARY_WORDS),
        ("segments", "struct mr_library_segment", LIBRARY_SEGMENTS, "those that are not used have no bytes"),
        ("guest_identity", "uint8_t", LIBRARY_IDENTITY_BYTES, "BLAKE2b-256 of the guest's file"),
        ("producer", "char", LIBRARY_TEXT_BYTES, '"mipsrec 0.1.0", NUL-padded'),
        ("options", "char", LIBRARY_TEXT_BYTES,
         '"--opt 2 --cpu NAME --memory flat --calls direct", NUL-padded'),
        ("guest_name", "char", LIBRARY_TEXT_BYTES, "what the guest's file was called, NUL-padded"),
        ("entries[]", "struct mr_entry", 1, "entry_count of them, sorted by guest_pc"),
    ]  # fmt: skip
    lines = [
        f'#define MR_LIBRARY_MAGIC 0x{LIBRARY_MAGIC:08x}u /* "MIRC" */',
        f"#define MR_LIBRARY_VERSION {LIBRARY_VERSION}u",
        f"#define MR_LIBRARY_SEGMENTS {LIBRARY_SEGMENTS}u",
        f'#define MR_FOOTER_MAGIC "{FOOTER_MAGIC.decode()}"',
        "/* A finished library ends in the magic, then mr_checksum of every byte before it, little-endian. */",
        f"#define MR_FOOTER_BYTES {FOOTER_BYTES}u",
        _enum("mr_memory_model", "MR_", MEMORY_MODELS),
        f"#define MR_MEMORY_MODEL_NAMES {', '.join(map(json.dumps, MEMORY_MODELS))} /* in the order of the numbers */",
        _enum("mr_call_model", "MR_CALLS_", CALL_MODELS),
        *c_struct("mr_entry", entry),
        "/* An executable part of the guest's file: mapped from `offset` of the file to `guest`, plus the delta. */",
        *c_struct("mr_library_segment", segment),
        *c_struct("mr_library", library),
        f'_Static_assert(sizeof(struct mr_library) == {LIBRARY_HEADER_BYTES}, "mr_library");',
    ]
    return _header("mr_library.h", ["<stdint.h>"], lines)


def request_header() -> str:
    pair = (("pc", "uint32_t", 1, "as `mipsrec disasm` shows it, and MR_ARRIVED where control came from elsewhere"),
            ("samples", "uint32_t", 1, "0: code that was executed often enough to be translated"))  # fmt: skip
    lines = [
        f'#define MR_REQUEST_MAGIC 0x{REQUEST_MAGIC:08x}u /* "MIRS" */',
        f"#define MR_REQUEST_VERSION {REQUEST_VERSION}u",
        _enum("mr_request_kind", "MR_REQUEST_", REQUEST_KINDS),
        f"enum {{ MR_MOST_PCS = {MOST_PCS} }};",
        f"#define MR_ARRIVED 0x{ARRIVED:x}u",
        *c_struct("mr_request_head", [(name, c_type, count, "") for name, c_type, count in REQUEST_HEAD]),
        *c_struct("mr_hot_pc", pair),
        f'_Static_assert(sizeof(struct mr_request_head) == {request_head().size}, "mr_request_head");',
    ]
    return _header("mr_request.h", ["<stdint.h>"], lines)


def marks_header() -> str:
    lines = [
        f'#define MR_MARKS_MAGIC 0x{MARKS_MAGIC:08x}u /* "MARK" */',
        f"enum {{ MR_MOST_MARKED_FILES = {MOST_MARKED_FILES}, MR_MARKED_FILES_AT = {MARKED_FILES_AT} }};",
        f"#define MR_MARKS_AT ((uint64_t){MARKS_AT}) /* where the marks of the first file begin */",
        f"#define MR_MARKS_BYTES ((uint64_t){MARKS_BYTES})",
        *c_struct("mr_marks_head", MARKS_HEAD),
        *c_struct("mr_marked_file", MARKED_FILE),
        f'_Static_assert(sizeof(struct mr_marks_head) == {marks_head().size}, "mr_marks_head");',
        f'_Static_assert(sizeof(struct mr_marked_file) == {marked_file().size}, "mr_marked_file");',
    ]
    return _header("mr_marks.h", ["<stdint.h>"], lines)


def c_headers() -> dict[str, str]:
    """Return the text of the headers, by file name."""
    return {
        "mr_abi.h": abi_header(), "mr_library.h": library_header(), "mr_request.h": request_header(),
        "mr_marks.h": marks_header(),
    }  # fmt: skip
