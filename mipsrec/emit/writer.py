"""Appends lines of LLVM IR to one function and numbers its values. IR is text: builder objects are 30 times slower."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from ..architecture import INSTRUCTION_BYTES
from ..target import this_target

STATE_TAG = "!tbaa !1"
GUEST_TAG = "!tbaa !2"
TABLE_TAG = "!tbaa !3"
LIKELY = "!prof !4"
UNLIKELY = "!prof !5"
UNROLLED = "!llvm.loop !11"

ALL_KEPT = this_target().lifted.all_kept
"""An attribute for definitions with preserve_allcc."""

MODULE_METADATA = """\
!0 = !{!"mipsrec"}
!1 = !{!6, !6, i64 0}
!2 = !{!7, !7, i64 0}
!3 = !{!8, !8, i64 0}
!4 = !{!"branch_weights", i32 2000, i32 1}
!5 = !{!"branch_weights", i32 1, i32 2000}
!6 = !{!"guest registers", !0, i64 0}
!7 = !{!"guest memory", !0, i64 0}
!8 = !{!"host tables", !0, i64 0}
!9 = !{i32 2, !"Debug Info Version", i32 3}
!10 = !{i32 7, !"Dwarf Version", i32 4}
!11 = distinct !{!11, !12}
!12 = !{!"llvm.loop.unroll.count", i32 4}
"""
FIRST_FREE_METADATA = 13


_SAME_ACCESS = (
    "sext ", "zext ", "trunc ", "bitcast ", "shufflevector ", *(f"call i{bits} @llvm.bswap" for bits in (16, 32, 64)),
)  # fmt: skip
"""What begins an operation that may become one host instruction with a load, and then with what uses that."""

_LOADED = re.compile(r"%l[0-9]+\.")


DELTA = "@mr_delta"
"""A word of the library: what the guest's actual addresses are more than those that the code was made for."""

POOL_SECTION = "mr_pcs"
"""Holds the guest pcs that relocatable code compares and stores; the host adds the delta to each when it binds it."""

_POOL_NAME = "@pc.{:08x}".format


def pool_text(pcs: Iterable[int]) -> str:
    """Return the definitions of the pool's words for some guest pcs."""
    kind = f'internal externally_initialized constant i32 %d, section "{POOL_SECTION}", align 4'
    return "".join(f"{_POOL_NAME(pc)} = {kind % pc}\n" for pc in sorted(pcs))


STORED = 1
"""The column of an access before which all that a landing pad may need has been stored to the state."""

DEPTH, LINKS = 0x8000, 0x4000
"""What a column is above that says how far sp is below where the function was entered: by so many words. LINKS is added
at a call that returns BEHIND_SLOT bytes behind its pc."""
BEHIND_SLOT = 2 * INSTRUCTION_BYTES


def location(pc: int, scope: int, column: int = 0) -> str:
    """Return the annotation that gives an LLVM instruction its guest pc; `scope` is the number of a subprogram.

    The column of an access may be STORED. Of a call whose return address is in ra, it says how far behind the pc that
    is: so the host knows ra in a callee that LLVM has put in the place of the call. Where it is known that sp is below
    the entry, all but STORED are above DEPTH.
    """
    place = f"column: {column}, " if column else ""
    return f", !dbg !DILocation(line: {pc}, {place}scope: !{scope})"


Value = str | int
"""Of an i32: the name of an LLVM value, or a constant."""


def text(value: Value) -> str:
    """Return an i32 operand."""
    if isinstance(value, int):
        return str(value - (1 << 32) if value & 0x80000000 else value)
    return value


def operands(values: Iterable[Value]) -> str:
    """Return several i32 operands, with their types."""
    return ", ".join(["i32 " + (value if value.__class__ is str else text(value)) for value in values])


_Known = dict[Any, Any] | set[Any] | list[Any]
_K = TypeVar("_K", bound=_Known)


class Writer:
    """Values are strings such as `%12`, or Python ints where they are known i32 constants.

    A host instruction that LLVM makes of a load and its only user has the user's location. So that a fault is the
    load's, the first user of a loaded value in a block gets the location of the load.
    """

    def __init__(self, relocatable: bool = False) -> None:
        self.lines: list[str] = []
        self.pcs: set[int] = set()
        """Guest pcs that the text takes from the pool."""
        self._relocatable = relocatable
        self._values = 0
        self._loaded = 0
        self._labels = 0
        self.debug = ""  # ", !dbg ..." of the current guest instruction
        self._loads: dict[str, str] = {}  # locations of values loaded in this block and not used yet
        self._of_block: list[_Known] = []

    def value(self, text: str) -> str:
        """Append `%n = text` and return `%n`."""
        debug = ""
        if "%l" in text:
            text, debug = self._located(text)
        if debug:
            return self._append_loaded(text, debug)
        name = f"%{self._values}"
        self._values += 1
        self.lines.append(f"  {name} = {text}")
        return name

    def loaded(self, text: str) -> str:
        """Append a load of guest memory, as `value`."""
        return self._append_loaded(text + self.debug, self.debug)

    def _append_loaded(self, text: str, debug: str) -> str:
        """Append what the first user shall have the location of. LLVM before 19 takes no gaps among numbered values."""
        name = f"%l{self._loaded}."
        self._loaded += 1
        self.lines.append(f"  {name} = {text}")
        self._loads[name] = debug
        return name

    def _located(self, text: str) -> tuple[str, str]:
        """Return the text of a user of loaded values, and its location if its own first user shall have that, too."""
        for operand in _LOADED.findall(text):
            debug = self._loads.pop(operand, "")
            if debug and "!dbg" not in text:
                return text + debug, debug if text.startswith(_SAME_ACCESS) else ""
        return text, ""

    def values(self, texts: Sequence[str]) -> list[str]:
        """Append several instructions that use nothing loaded, and return their values."""
        names = [f"%{number}" for number in range(self._values, self._values + len(texts))]
        self._values += len(texts)
        self.lines += [f"  {name} = {text}" for name, text in zip(names, texts, strict=True)]
        return names

    def of_block(self, known: _K) -> _K:
        """Return a container of what is known in the block that is being written, which `start_block` empties."""
        self._of_block.append(known)
        return known

    def start_block(self) -> None:
        """Forget what is known of values: code before this is not on every way here."""
        for known in self._of_block:
            known.clear()

    def pc(self, address: int) -> int | str:
        """Return the guest address that is known as `address`, as a value: from the pool where code may be anywhere.

        One operand in memory costs as much as a constant in the instruction, and code stays shared by all processes.
        """
        if not self._relocatable:
            return address
        self.pcs.add(address)
        return self.value(f"load i32, ptr {_POOL_NAME(address)}, !invariant.load !0")

    def cold_pc(self, address: int) -> int | str:
        """Return the same for code that is hardly ever executed, which takes no place in the pool."""
        return self.value(f"add i32 {self._delta()}, {address}") if self._relocatable else address

    def known_pc(self, value: int | str) -> int | str:
        """Return a guest pc as the translator knows it, for a switch: its cases are constants."""
        return self.value(f"sub i32 {value}, {self._delta()}") if self._relocatable else value

    def _delta(self) -> str:
        return self.value(f"load i32, ptr {DELTA}, !invariant.load !0")

    def void(self, text: str) -> None:
        """Append `text`; branches get a location, or else code that accesses no memory would have none at all."""
        if text.startswith("br ") and self.debug and "!dbg" not in text:
            text += self.debug
        self.lines.append("  " + text)

    def fresh_label(self) -> str:
        self._labels += 1
        return f"x{self._labels}"

    def label(self, name: str) -> None:
        self._loads.clear()
        self.lines.append(f"{name}:")
