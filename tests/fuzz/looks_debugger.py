"""Stops a program of looks_maker.py under the host's --gdb, at breakpoints and signals, and reads its registers.

Enters: a program and its trace, of which it takes the places of breakpoints. Leaves: notes, as handlers write them.
"""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from random import Random

from tests.fuzz.looks_handlers import DRIVER, RUN_ENDS, SEGV, TRAP, TRAP_WORDS, USR1
from tests.fuzz.looks_maker import Note
from tests.fuzz.looks_trace import Trace
from tests.gdb.debugger import Client, DebuggedGuest

BREAKPOINTS = 8
MOST_STOPS = 400
_LO, _HI, _PC = 33, 34, 37  # gdb's numbers
_KINDS = {b"0b": SEGV, b"05": TRAP, b"1e": USR1}
"""By gdb's numbers of signals."""


def debugged_notes(host: Path, program: Path, order: str, trace: Trace, seed: str) -> tuple[list[Note], int]:
    """Return what the debugger saw at each stop, and the process that was debugged."""
    random = Random(f"debugger {seed}")
    places = sorted(pc for pc in trace.places if pc < DRIVER and trace.memory.word(pc) not in TRAP_WORDS.values())
    chosen = random.sample(places, min(BREAKPOINTS, len(places)))
    ends = trace.ends_run
    notes: list[Note] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "socket"
        with DebuggedGuest([host, "--gdb", path, program], path) as guest:
            guest.wait_until_it_listens()
            with Client(path) as client:
                for pc in (*chosen, ends):
                    assert client.ask(b"Z0,%x,4" % pc) == b"OK"
                answer = client.ask(b"c")
                while answer.startswith(b"T") and len(notes) < MOST_STOPS:
                    note = _note(client.ask(b"g"), answer[1:3], order, ends)
                    notes.append(note)
                    stopped_by_signal = note.pc not in (*chosen, ends) or answer[1:3] != b"05"
                    answer = client.ask(b"C" + answer[1:3] if stopped_by_signal else b"c")
        return notes, guest.process.pid


def _note(answer: bytes, signal: bytes, order: str, ends: int) -> Note:
    """Return the note of a stop; one at `ends` tells that a run has ended."""
    layout = struct.Struct(f"{'<' if order == 'little' else '>'}{_PC + 1}I")
    words = layout.unpack_from(bytes.fromhex(answer.decode()))
    kind = _KINDS.get(signal, TRAP)
    if words[_PC] == ends:
        return Note(RUN_ENDS, 0, 0, ())
    return Note(kind, words[_PC], 0, (*words[:32], words[_LO], words[_HI]))
