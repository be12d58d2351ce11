"""The interpreter as a shared library: builds it with stubs for the rest of the host, and runs guest words in it.

Enters: a `Cpu`, the words of a few instructions. Leaves: the `Cpu` after them, and the exception that ended them, if
any.
"""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
from pathlib import Path

from mipsrec.abi import c_headers
from mipsrec.architecture import c_names
from mipsrec.state import OFFSETS, SLOT_BYTES, c_header
from tests.support.compiler_runs import made_once_of
from tests.support.guest_cpu import CODE, DATA, DATA_BYTES, STOP, Cpu
from tests.support.paths import RUNTIME, TESTS
from tests.support.tools import need

SOURCES = ["cpu/interp.c", "cpu/interp_integer.c", "cpu/interp_memory.c", "cpu/interp_float.c", "cpu/fpu.c"]
SOURCES += ["cpu/interp_dsp.c", "cpu/interp_dsp_accumulators.c", "cpu/mips16.c", "cpu/interp_mips16.c"]
SOURCES += ["cpu/fpu_arithmetic.c", "run/interpret.c", "base/host_thread.c", "base/observe.c"]
SOURCES += ["base/options.c", "base/counters.c", "base/marks.c", "cpu/model.c", "memory/shadow.c"]
FLAGS = ["-std=c11", "-O2", "-g", "-D_GNU_SOURCE=", "-fPIC", "-shared", "-frounding-math", "-ffp-contract=off"]
CAUSES = {1: "overflow", 2: "trap", 3: "break", 4: "reserved", 5: "address", 6: "fpe", 7: "coprocessor", 100: "syscall",
          101: "synci", 102: "signal"}  # fmt: skip


class Event(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("count", "cause", "pc", "word", "after")]


def build(folder: Path, *flags: str) -> Path:
    """Return the path of the shared library in `folder`; it is compiled once in a run of the tests.

    `flags` are options of the compiler, and further sources.
    """
    compiler = need(os.environ.get("CC", "cc"), "gcc")
    output = folder / "libinterp.so"
    sources = [RUNTIME / name for name in SOURCES] + [TESTS / "support" / "interp_stubs.c"]
    words = [compiler, *FLAGS, "-Wall", "-Wextra", "-Werror", *flags, f"-I{RUNTIME}", *map(str, sources)]

    def compile_now() -> None:
        for name, text in {"mr_state.h": c_header(), "mr_modules.h": c_names(), **c_headers()}.items():
            (folder / name).write_text(text)
        result = subprocess.run([*words, f"-I{folder}", "-o", str(output)], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr

    made_once_of(words, output, folder, compile_now)
    return output


class Interpreter:
    """Runs words in the library; one at a time per process, since the library has one guest memory."""

    def __init__(self, library: Path, big_endian: bool, interpret_all: bool = True) -> None:
        self.library = ctypes.CDLL(str(library))
        self.library.mr_interpret.restype = ctypes.c_uint32
        self.event = Event.in_dll(self.library, "stub_event")
        self.order = ">" if big_endian else "<"
        self.library.stub_begin(big_endian, interpret_all)
        self.state = ctypes.create_string_buffer(OFFSETS["size"])
        self.pc = 0  # where the last run ended

    def run(
        self,
        cpu: Cpu,
        words: list[int],
        after: int = STOP,
        stop_pc: int = STOP,
        stop_sp: int = 0xFFFFFFFF,
    ) -> tuple[Cpu, str]:
        """Run `words` at CODE until stop_pc, exceptions going on at `after`.

        Returns the state then, and the name of the last exception, or "". Leaves the pc in self.pc.
        """
        code = struct.pack(f"{self.order}{len(words)}I", *words)
        self.library.stub_write(CODE, code, len(code))
        self.library.stub_write(DATA, cpu.data, DATA_BYTES)
        self.put(cpu)
        self.event.cause, self.event.after, self.event.count = 0, after, 0
        self.pc = self.library.mr_interpret(self.state, CODE, stop_pc, ctypes.c_uint32(stop_sp))
        return self.get(cpu), CAUSES.get(self.event.cause, "")

    def put(self, cpu: Cpu) -> None:
        """Make `cpu` the state, and its FCSR the host's modes."""
        memory = self.state
        for number, value in enumerate(cpu.gpr):
            struct.pack_into("<I", memory, OFFSETS["gpr"] + SLOT_BYTES * number, value)
        for number, value in enumerate(cpu.fcc):
            struct.pack_into("<I", memory, OFFSETS["fcc"] + SLOT_BYTES * number, value)
        struct.pack_into("<32Q", memory, OFFSETS["fpr"], *cpu.fpr)
        struct.pack_into("<4Q", memory, OFFSETS["hilo"], cpu.hilo, *cpu.accumulators)
        struct.pack_into("<I", memory, OFFSETS["dsp_control"], cpu.dsp_control)
        struct.pack_into("<I", memory, OFFSETS["fcsr"], cpu.fcsr)
        struct.pack_into("<I", memory, OFFSETS["fr"], cpu.fr)
        struct.pack_into("<I", memory, OFFSETS["ll_valid"], 0)
        self.library.mr_fpu_enter(memory)

    def get(self, before: Cpu) -> Cpu:
        memory = self.state
        self.library.mr_fpu_collect(memory)
        slots = struct.unpack_from("<64I", memory, OFFSETS["gpr"])
        accumulators = struct.unpack_from("<4Q", memory, OFFSETS["hilo"])
        codes = struct.unpack_from("<16I", memory, OFFSETS["fcc"])
        data = ctypes.create_string_buffer(DATA_BYTES)
        self.library.stub_read(DATA, data, DATA_BYTES)
        return Cpu(
            gpr=list(slots[::2]),
            hilo=accumulators[0],
            accumulators=list(accumulators[1:]),
            dsp_control=struct.unpack_from("<I", memory, OFFSETS["dsp_control"])[0],
            fpr=list(struct.unpack_from("<32Q", memory, OFFSETS["fpr"])),
            fcc=list(codes[::2]),
            fcsr=struct.unpack_from("<I", memory, OFFSETS["fcsr"])[0],
            fr=before.fr,
            data=data.raw,
        )
