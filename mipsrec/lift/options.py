"""What a library is generated for. Enters every part of code generation; stands in the library as text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LiftOptions:
    """`big_endian`, `fr` and `nan2008` come from the guest; `comments` adds the disassembly of every block.

    `relocatable`: the guest's file may be loaded anywhere, so no guest pc is a constant (writer.py). Debuggers are then
    told `file_name`, as there are many such files in one process. `counters` is the seed of the file's counters
    (mipsrec/counters.py), None where nothing is counted. `without` are names of passes to leave out,
    `last_pass` that of the last one to run (pipeline.py).
    """

    big_endian: bool
    fr: int = 0
    memory: str = "flat"
    calls: str = "direct"
    comments: bool = False
    nan2008: bool = False
    relocatable: bool = False
    file_name: str = ""
    counters: int | None = None
    without: tuple[str, ...] = ()
    last_pass: str | None = None
