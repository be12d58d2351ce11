"""How many modules and functions the printing of one `jalr` goes through: the measure of how much a change touches.

What its delay slot does is not counted, as that is any instruction.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from mipsrec import pipeline
from mipsrec.emit import call_ends, instructions
from mipsrec.options import Options
from tests.support.paths import PREBUILT

MOST_FILES, MOST_CALLS = 12, 120
GUEST = PREBUILT / "mipsel" / "virtual.elf"


@pytest.fixture(scope="module")
def ways() -> list[list[tuple[str, str]]]:
    """What is called to print each jalr of a program: the files of the callee and of the caller."""
    found: list[list[tuple[str, str]]] = []
    end_call, instruction = call_ends.CallEnds.end_call, instructions.InstructionWriter.instruction

    def module(frame: FrameType | None) -> str:
        _, _, path = frame.f_code.co_filename.rpartition("/mipsrec/") if frame is not None else ("", "", "")
        return path

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and "/mipsrec/" in frame.f_code.co_filename:
            found[-1].append((module(frame), module(frame.f_back)))

    def slot(*words: Any) -> None:
        sys.setprofile(None)
        instruction(*words)
        sys.setprofile(note)

    def counted(self: call_ends.CallEnds, plan: Any) -> None:
        if plan.block.target is not None or plan.block.terminator.row.name != "jalr":
            return end_call(self, plan)
        found.append([])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(instructions.InstructionWriter, "instruction", slot)
            sys.setprofile(note)
            try:
                end_call(self, plan)
            finally:
                sys.setprofile(None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(call_ends.CallEnds, "end_call", counted)
        for _ in pipeline.lifted_modules(pipeline.open_guest(GUEST), Options()):
            pass
    return found


def test_few_modules_and_functions(ways: list[list[tuple[str, str]]]) -> None:
    assert len(ways) > 5
    assert max(len({callee for callee, _ in way}) for way in ways) <= MOST_FILES
    assert max(map(len, ways)) <= MOST_CALLS


def test_lift_is_asked_nothing(ways: list[list[tuple[str, str]]]) -> None:
    asked = [callee for way in ways for callee, caller in way if caller.startswith("emit/")]
    assert [callee for callee in asked if callee.startswith(("lift/", "flow/", "analysis/"))] == []
