"""Joins lifted functions into an LLVM module that stands on its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..abi import llvm_declaration
from .calls import LIFTED_ATTRIBUTES, LOOKUP, LOOKUP_MIPS16_DECLARATION, RESULT_DEFINITION, declaration
from .doors import DOOR_DECLARATIONS
from .floats import CONSTRAINED_DECLARATIONS
from .function import LiftedFunction
from .lanes import VECTOR_DECLARATIONS
from .nans import REPLAY
from .packed import PACKED_DECLARATIONS
from .places import METADATA_PER_FUNCTION, variables
from .writer import ALL_KEPT, DELTA, FIRST_FREE_METADATA, MODULE_METADATA, pool_text

_CALLED = (
    "mr_call", "mr_watch_call", "mr_watch_place", "mr_fp_again", "mr_fp_replay", "mr_load8", "mr_load16", "mr_load32",
    "mr_load64", "mr_store8", "mr_store16", "mr_store32", "mr_store64", "mr_compare_exchange",
)  # fmt: skip
_ATTRIBUTES_OF = {"mr_fp_again": "#4", "mr_fp_replay": "#5"}
"""Of functions of the host that leave memory alone, or only read it; all others have #0."""


def _declarations(*names: str) -> str:
    return "".join(f"{llvm_declaration(name)} {_ATTRIBUTES_OF.get(name, '#0')}\n" for name in names)


DECLARATIONS = f"""\
{_declarations(*_CALLED)}\
{DOOR_DECLARATIONS}\
declare i16 @llvm.bswap.i16(i16)
declare i32 @llvm.bswap.i32(i32)
declare i64 @llvm.bswap.i64(i64)
declare i32 @llvm.fshr.i32(i32, i32, i32)
declare i32 @llvm.ctlz.i32(i32, i1)
declare i32 @llvm.bitreverse.i32(i32)
declare {{ i32, i1 }} @llvm.sadd.with.overflow.i32(i32, i32)
declare {{ i32, i1 }} @llvm.ssub.with.overflow.i32(i32, i32)
declare float @llvm.fabs.f32(float)
declare double @llvm.fabs.f64(double)
{PACKED_DECLARATIONS}"""

# Guest address 0 is host address 0 under model flat: an access there must fault, not vanish as undefined. And no access
# may become part of memset or the like: faults are known by the line tables of lifted code.
ATTRIBUTES = f"""\
attributes #0 = {{ {LIFTED_ATTRIBUTES} }}
attributes #2 = {{ cold noinline nounwind strictfp {ALL_KEPT}
                  memory(read, argmem: readwrite, inaccessiblemem: readwrite) }}
attributes #3 = {{ strictfp }}
attributes #5 = {{ nounwind strictfp memory(read, argmem: readwrite, inaccessiblemem: readwrite) }}
attributes #4 = {{ nounwind strictfp memory(inaccessiblemem: readwrite) }}
attributes #6 = {{ cold nounwind strictfp null_pointer_is_valid }}
"""

TRIPLE_LINE = "target triple = "


def subprogram_number(index: int) -> int:
    """Return the metadata number of the subprogram of the index-th function of a module."""
    return FIRST_FREE_METADATA + 4 + METADATA_PER_FUNCTION * index


def _quoted(name: str) -> str:
    """Return what stands for a name within quotation marks; that of a file may be no UTF-8."""
    data = name.encode("utf-8", "surrogateescape")
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)


@dataclass
class _Seen:
    """What the end of a module needs to know of the functions before it, whose text need not be kept."""

    subprograms: list[tuple[str, int]] = field(default_factory=list)
    """The guest's name and the first guest pc of each function, in order."""
    defined: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    pcs: set[int] = field(default_factory=set)

    def add(self, function: LiftedFunction) -> None:
        self.subprograms.append((function.guest_name, function.line))
        self.defined.add(function.symbol)
        self.called |= function.calls
        self.pcs |= function.pcs


def _debug_metadata(subprograms: Iterable[tuple[str, int]], file_name: str) -> Iterator[str]:
    """Yield the compile unit, and per function a subprogram and its variables; a location's line is the guest pc.

    The source is `guest`, or for a file among others `FILE/guest`: debuggers take the last parts of a path, too.
    """
    first = FIRST_FREE_METADATA
    source = f"{file_name}/guest" if file_name else "guest"
    yield f"""\
!llvm.dbg.cu = !{{!{first}}}
!llvm.module.flags = !{{!9, !10}}
!{first} = distinct !DICompileUnit(language: DW_LANG_C, file: !{first + 1}, producer: "mipsrec", isOptimized: true, \
runtimeVersion: 0, emissionKind: FullDebug, nameTableKind: None)
!{first + 1} = !DIFile(filename: "{_quoted(source)}", directory: "")
!{first + 2} = !DISubroutineType(types: !{{}})
!{first + 3} = !DIBasicType(name: "word", size: 32, encoding: DW_ATE_unsigned)
"""
    for index, (name, line) in enumerate(subprograms):
        number = subprogram_number(index)
        yield (
            f'!{number} = distinct !DISubprogram(name: "{_quoted(name)}", '
            f"scope: !{first + 1}, file: !{first + 1}, line: {line}, "
            f"scopeLine: {line}, type: !{first + 2}, unit: !{first}, spFlags: DISPFlagDefinition)\n"
        )
        yield from variables(number, first + 1, first + 3)


def called_elsewhere(functions: list[LiftedFunction]) -> set[str]:
    """Return the symbols of lifted functions that these call, and that are none of them."""
    called: set[str] = set().union(*(function.calls for function in functions))
    return called.difference(function.symbol for function in functions)


def module_text(functions: Iterable[LiftedFunction], triple: str, file_name: str = "") -> str:
    """Return a module with these functions, written for subprograms 0, 1, ... in this order."""
    return "".join(module_parts(functions, triple, file_name))


def module_parts(functions: Iterable[LiftedFunction], triple: str, file_name: str = "") -> Iterator[str]:
    """Yield the text of that module in pieces, those of each function as soon as it is lifted."""
    seen = _Seen()
    yield f'{TRIPLE_LINE}"{triple}"\n\n{RESULT_DEFINITION}\n'
    for function in functions:
        seen.add(function)
        yield f"{function.text}\n"
    yield f"{DELTA} = external hidden externally_initialized constant i32, align 4\n"
    yield pool_text(seen.pcs)
    yield f"{LOOKUP_MIPS16_DECLARATION}{LOOKUP}\n"
    for symbol in (*sorted(seen.called - seen.defined), "call_computed", "call_host", "run_nested"):
        yield f"{declaration(symbol)} #0\n"
    yield from (DECLARATIONS, CONSTRAINED_DECLARATIONS, VECTOR_DECLARATIONS, REPLAY, ATTRIBUTES, MODULE_METADATA)
    yield from _debug_metadata(seen.subprograms, file_name)
