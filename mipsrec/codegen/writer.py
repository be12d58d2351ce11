"""Appends lines of LLVM IR to one function and numbers its values. IR is text: builder objects are 30 times slower."""

from __future__ import annotations

STATE_TAG = "!tbaa !1"
GUEST_TAG = "!tbaa !2"
TABLE_TAG = "!tbaa !3"
LIKELY = "!prof !4"
UNLIKELY = "!prof !5"

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
"""
FIRST_FREE_METADATA = 11


class Writer:
    """Values are strings such as `%12`, or Python ints where they are known i32 constants."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._values = 0
        self._labels = 0
        self.debug = ""  # ", !dbg ..." of the current guest instruction

    def value(self, text: str) -> str:
        """Append `%n = text` and return `%n`."""
        name = f"%{self._values}"
        self._values += 1
        self.lines.append(f"  {name} = {text}")
        return name

    def void(self, text: str) -> None:
        self.lines.append("  " + text)

    def fresh_label(self) -> str:
        self._labels += 1
        return f"x{self._labels}"

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
