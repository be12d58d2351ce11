"""Runs guest words as lifted code in the test's own process, beside the interpreter that helps it out.

Enters: a `Cpu`, and code that a `Lifter` has compiled. Leaves: the `Cpu` after it, the exception that ended it, if any,
and how often the interpreter had to help.
"""

from __future__ import annotations

import ctypes
import dataclasses
import struct
import subprocess
from pathlib import Path

from mipsrec.abi import c_headers
from mipsrec.analysis import analyze
from mipsrec.architecture import c_names
from mipsrec.elf import load_elf
from mipsrec.emit.calls import HOST_EDGES, declaration
from mipsrec.emit.doors import DOORS
from mipsrec.emit.function import LiftedFunction
from mipsrec.emit.lifted import lift_function
from mipsrec.emit.module import module_text
from mipsrec.emit.writer import MODULE_METADATA
from mipsrec.lift.options import LiftOptions
from mipsrec.lift.policy import lifted_starts, with_cold
from mipsrec.memory import AddressSpace
from mipsrec.native.codegen import compile_text
from mipsrec.state import OFFSETS, c_header
from mipsrec.target import this_target
from mipsrec.target.cpu import chosen_cpu
from tests.support.guest_cpu import CODE, DATA, DATA_BYTES, STOP, Cpu
from tests.support.interpreter import CAUSES, FLAGS, SOURCES, Event, Interpreter
from tests.support.paths import RUNTIME, TESTS
from tests.support.tiny_elf import PT_LOAD, TinyElf
from tests.support.tools import need

MODULE_FUNCTIONS = 250


def build_stubs(folder: Path) -> Path:
    """Return the path of the shared library with the interpreter and what else lifted code calls."""
    for name, text in {"mr_state.h": c_header(), "mr_modules.h": c_names(), **c_headers()}.items():
        (folder / name).write_text(text)
    output = folder / "liblifted_stubs.so"
    sources = [RUNTIME / name for name in SOURCES] + [TESTS / "emit" / "lifted_stubs.c"]
    command = [need("cc", "gcc"), *FLAGS, "-Wall", "-Wextra", "-Werror", "-Dmr_interpret=interpret_inside"]
    command += [f"-I{folder}", f"-I{RUNTIME}", *map(str, sources), "-o", str(output)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return output


class Lifter:
    """Collects pieces of code, each lifted for itself as a program at CODE, and compiles them into one library.

    At level light they are cold: most have their registers in the state between blocks.
    """

    def __init__(self, folder: Path, opt: int | str) -> None:
        self._folder = folder
        self._opt = opt
        self._waiting: list[LiftedFunction] = []
        self._objects: list[Path] = []
        self.entries: list[list[tuple[int, str]]] = []
        """Of each piece: the guest pcs that lifted code serves, and its symbols."""

    def add(self, words: list[int], options: LiftOptions) -> None:
        """Lift words at CODE."""
        order = ">" if options.big_endian else "<"
        code = struct.pack(f"{order}{len(words)}I", *words)
        path = self._folder / "words.elf"
        path.write_bytes(TinyElf(order, entry=CODE, segments=[(PT_LOAD, CODE, code, len(code), 5)]).build())
        image = dataclasses.replace(load_elf(path), fr=options.fr)
        program = analyze(image, AddressSpace(image))
        starts = lifted_starts(program)
        if self._opt == "light":
            starts = with_cold(program, starts, starts)
        prefix = f"piece{len(self.entries)}_"
        starts = {start: dataclasses.replace(one, symbol=prefix + one.symbol) for start, one in starts.items()}
        entries = []
        for start in sorted(starts):
            for function in lift_function(program.functions[start], starts, options, len(self._waiting)):
                self._waiting.append(function)
                entries += [(pc, function.symbol) for pc in function.entries]
        self.entries.append(entries)
        if len(self._waiting) >= MODULE_FUNCTIONS:
            self._compile(module_text(self._waiting, this_target().triple), self._opt)
            self._waiting = []

    def _compile(self, text: str, opt: int | str) -> None:
        self._objects.append(self._folder / f"{len(self._objects)}.o")
        self._objects[-1].write_bytes(compile_text(text, str(opt), chosen_cpu("native")))

    def finish(self, stubs: Path) -> Path:
        """Return the library, linked with the stubs; its `table` points to mr_enter, two functions that call the
        host, and the entries, in order."""
        if self._waiting:
            self._compile(module_text(self._waiting, this_target().triple), self._opt)
        symbols = [symbol for entries in self.entries for _, symbol in entries]
        declarations = "".join(declaration(symbol) + "\n" for symbol in dict.fromkeys(symbols))
        begin = HOST_EDGES.rindex("define", 0, HOST_EDGES.index("@call_unlifted"))
        stopped = HOST_EDGES[begin : HOST_EDGES.index("define", begin + 1)]
        helpers = HOST_EDGES + DOORS + stopped.replace("@call_unlifted", "@stopped") + MODULE_METADATA
        pointers = ", ".join(f"ptr @{symbol}" for symbol in ["mr_enter", "call_unlifted", "stopped", *symbols])
        table = f"@table = constant [{3 + len(symbols)} x ptr] [{pointers}]\n"
        self._compile(f'target triple = "{this_target().triple}"\n{helpers}{declarations}{table}', 0)
        output = self._folder / "lifted.so"
        command = [need("cc", "gcc"), "-shared", "-o", str(output), *map(str, self._objects), str(stubs), "-lm"]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return output


class Runner(Interpreter):
    """Runs lifted pieces against the stubs. One in a process: model flat wants the guest's memory at host address 0."""

    def __init__(self, stubs: Path) -> None:
        self.stubs = stubs
        self.library = ctypes.CDLL(str(stubs))
        self.library.stub_run.restype = ctypes.c_uint32
        self.event = Event.in_dll(self.library, "stub_event")
        self.state = ctypes.create_string_buffer(OFFSETS["size"])
        assert self.library.stub_identity(), "guest addresses are not free in this process"
        self._pieces: list[list[tuple[int, int]]] = []
        self._libraries: list[ctypes.CDLL] = []

    def load(self, path: Path, entries: list[list[tuple[int, str]]]) -> None:
        """Make the pieces of a lifter's library those that run_piece numbers."""
        library = ctypes.CDLL(str(path))
        self._libraries.append(library)  # never unloaded: its code may be anywhere
        enter, host, stopped, *rest = (ctypes.c_void_p * (3 + sum(map(len, entries)))).in_dll(library, "table")
        self.library.stub_convention(*map(ctypes.c_void_p, (enter, host, stopped)))
        pointers = iter(rest)
        self._pieces = [[(pc, next(pointers)) for pc, _ in piece] for piece in entries]

    def run_piece(self, number: int, cpu: Cpu, words: list[int], big_endian: bool) -> tuple[Cpu, str, int]:
        """Run one piece until it jumps to STOP or raises an exception.

        Returns the state then, the name of the last exception or "", and how often the interpreter had to help.
        """
        self.library.stub_order(big_endian)
        code = struct.pack(f"{'>' if big_endian else '<'}{len(words)}I", *words)
        self.library.stub_write(CODE, code, len(code))
        self.library.stub_write(DATA, cpu.data, DATA_BYTES)
        for pc, function in self._pieces[number]:
            self.library.stub_enter_at(pc, ctypes.c_void_p(function))
        self.put(cpu)
        self.event.cause, self.event.after, self.event.count = 0, STOP, 0
        helped = self.library.stub_run(self.state, CODE, STOP)
        for pc, _ in self._pieces[number]:
            self.library.stub_enter_at(pc, None)
        return self.get(cpu), CAUSES.get(self.event.cause, ""), helped
