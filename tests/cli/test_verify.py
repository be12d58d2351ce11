"""mipsrec verify: lifted code that is right agrees with the interpreter; planted faults are found and named.

Faults are planted in the IR of `dump-llvm`, or in a row of the instruction set while a process builds a library. Where
a libc is linked, only the guest's own functions are lifted by default, and with MIPSREC_PROGRAMS=all everything.
"""

from __future__ import annotations

import os
import pty
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.commandline import assert_one_line, command, environment, mipsrec
from tests.support.compiled import ORDERS, compile_guest, readelf_symbols
from tests.support.hosts import plain_host, sanitized_host
from tests.support.paths import GUESTS, PREBUILT, SAMPLES

ALL = os.environ.get("MIPSREC_PROGRAMS") == "all"
AGREES = "mipsrec verify: lifted code and the interpreter agree at "

FREESTANDING = """
__attribute__((noipa)) int leaf(int a) { return a * 3 + 1; }
__attribute__((noipa)) int mix(int a, int b) { return (a ^ b) + 5; }
__attribute__((noipa)) int pick(int n)
{
    switch (n) {
    case 0: return leaf(n) + 2;
    case 1: return leaf(n + 9) - 7;
    case 2: return mix(n, 3);
    case 3: return leaf(n * n);
    case 4: return mix(n, n + 4) * 3;
    case 5: return leaf(-n);
    case 6: return 100 - mix(n, 1);
    default: return 11;
    }
}
__attribute__((noipa)) int chain(int a, int b) { return leaf(a + b) + mix(leaf(b), a); }
int cells[64], far_away[4096];
__attribute__((noipa)) void keep(int n) { cells[n & 3] += n; }
__attribute__((used)) void __start(void)
{
    int sum = 0;
    for (int i = 0; i < 9; i++) {
        sum += mix(i, 12) + pick(i) + chain(i, i + 1);
        keep(sum);
    }
    register int number __asm__("$2") = 4001, status __asm__("$4") = (sum + cells[1]) & 63;
    __asm__ volatile("syscall" : : "r"(number), "r"(status));
    for (;;) ;
}
"""
STATUS = 10  # as under qemu-user


BARE = ("-nostdlib", "-static", "-mno-abicalls", "-fno-pic", "-G0")


class Planted:
    """The guest above and the folder of its IR, in which faults are planted."""

    def __init__(self, folder: Path, byte_order: str, calls: str) -> None:
        self.folder = folder
        self.guest = compile_guest(folder, byte_order, FREESTANDING, *BARE)
        self.ir = folder / "ir"
        pipeline.dump_llvm(pipeline.open_guest(self.guest), self.ir, pipeline.Options(calls=calls))
        self.at = {name: value for name, value, *_ in readelf_symbols(byte_order, self.guest)}

    def edit(self, function: str, pattern: str, replacement: str) -> None:
        """Replace the first match in the IR of a function."""
        (file,) = self.ir.glob(f"*_{function}.ll")
        text, count = re.subn(pattern, replacement, file.read_text(), count=1, flags=re.DOTALL)
        assert count == 1, f"nothing like {pattern} in {file.read_text()}"
        file.write_text(text)

    def verify(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Build the IR as it is now and verify a run."""
        library = self.folder / "lib.so"
        pipeline.build(self.ir, library, pipeline.Options(opt=1, jobs=1))
        return mipsrec("verify", "--library", library, *options, self.guest)


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    plain_host()
    return Planted(tmp_path, "big", "watched")


def assert_found(result: subprocess.CompletedProcess[str], *words: str) -> None:
    """Exit status 1, and a report with these words."""
    assert result.returncode == 1, result
    assert result.stderr.startswith("mipsrec verify: divergence after "), result.stderr
    for word in words:
        assert word in result.stderr, f"no {word} in {result.stderr}"


# ---- faults ----


def test_without_a_fault(planted: Planted) -> None:
    result = planted.verify()
    assert (result.returncode, result.stdout) == (STATUS, "")
    assert result.stderr.startswith(AGREES) and result.stderr.count("\n") == 1


WRONG_ROW = """
import sys
from mipsrec import isa, pipeline
(row,) = [row for row in isa.ROWS if row.name == "xor"]
right = row.meaning
object.__setattr__(row, "meaning", lambda m, i: m.set_gpr(i.rd, m.or_(m.gpr(i.rs), m.gpr(i.rt))))
options = pipeline.Options(opt=1, memory=sys.argv[3], calls="watched", jobs=1)
pipeline.build(pipeline.open_guest(sys.argv[1]), sys.argv[2], options)
"""


def build_wrong(folder: Path, guest: Path, memory: str = "flat") -> Path:
    """Return a library in which xor computes or."""
    library = folder / "wrong.so"
    words = [sys.executable, "-c", WRONG_ROW, str(guest), str(library), memory]
    subprocess.run(words, check=True, env=environment(), timeout=60)
    return library


@pytest.mark.parametrize("byte_order", ORDERS)
def test_fault_in_a_row(tmp_path: Path, byte_order: str) -> None:
    """xor computes or."""
    plain_host()
    guest = compile_guest(tmp_path, byte_order, FREESTANDING, *BARE)
    result = mipsrec("verify", "--library", build_wrong(tmp_path, guest), guest)
    assert_found(result, "in function mix (0x", "registers differ at control at", "; the interpreter's by ")
    assert re.search(r"> [0-9a-f]{8}: [0-9a-f]{8}  xor ", result.stderr), result.stderr
    assert re.search(r"last agreed at the call of 0x[0-9a-f]{8} <mix>", result.stderr), result.stderr


def test_fault_in_a_jump_table(planted: Planted) -> None:
    """Two cases change places: pick goes to the wrong block."""
    case = r"(i32 \d+), (label %b_[0-9a-f]+)"
    planted.edit("pick", rf"(switch i32 [^\n]* \[ ){case} {case}", r"\1\2, \5 \4, \3")
    result = planted.verify()
    assert_found(result, "in function pick (0x", "pick, block", "jr ")


@pytest.mark.parametrize("calls", ["watched", "thunked"])
def test_fault_in_the_flush_before_a_call(tmp_path: Path, calls: str) -> None:
    """One argument of a call is not in the state when the callee begins."""
    plain_host()
    planted = Planted(tmp_path, "big", calls)
    planted.edit("chain", r"  store i32 %?\w+, ptr %s\.r5, [^\n]*\n", "")
    result = planted.verify()
    assert_found(result, "in function chain (0x", "registers differ at the call of", "<mix>", "a1*")
    assert re.search(r"  a1 +lifted 0x[0-9a-f]{8}, interpreter 0x[0-9a-f]{8}; the interpreter's by", result.stderr)
    assert f"mipsrec verify --library {planted.folder / 'lib.so'} {planted.guest}" in result.stderr


def test_wrong_store(planted: Planted) -> None:
    """The value a function stores is seen where it returns, with the instruction that stores it."""
    planted.edit("keep", r"(  store i32 )%\d+(, ptr %\d+, align 1)", r"\g<1>77\2")
    result = planted.verify()
    assert_found(result, "in function keep (0x", "memory differs at 0x", "last written by the interpreter at", "sw ")


@pytest.mark.parametrize("options", [(), ("--scan", "1")], ids=["at the end", "at once"])
def test_stray_store(planted: Planted, options: tuple[str, ...]) -> None:
    """What only lifted code stores is found by comparing all memory: when keep returns, or else at the end."""
    address = planted.at["far_away"] + 4100
    planted.edit("keep", r"(\nb_[0-9a-f]+:\n)", rf"\g<1>  store i8 1, ptr inttoptr (i64 {address} to ptr)\n")
    result = planted.verify(*options)
    assert_found(
        result, f"memory differs at 0x{address:08x}", "the interpreter has not written there lately", "--scan 1"
    )
    assert f"in function {'keep' if options else '__start'} (0x" in result.stderr


def test_wrong_branch(planted: Planted) -> None:
    """Lifted code returns where the interpreter calls."""
    planted.edit("pick", r"br i1 (%\w+), label (%\w+), label (%\w+)", r"br i1 \1, label \3, label \2")
    assert_found(planted.verify(), "in function pick (0x", "lifted code came to", "the interpreter to")


FORKS = """
__attribute__((noipa)) int call(int number, int a, int b)
{
    register int v0 __asm__("$2") = number, a0 __asm__("$4") = a, a1 __asm__("$5") = b, a2 __asm__("$6") = 0;
    register int a3 __asm__("$7");
    __asm__ volatile("syscall" : "+r"(v0), "=r"(a3) : "r"(a0), "r"(a1), "r"(a2)
                     : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "memory");
    return v0;
}
__attribute__((noipa)) int mix(int a, int b) { return (a ^ b) + 5; }
__attribute__((used)) void __start(void)
{
    int status = 0, child = call(4002, 0, 0);
    if (child == 0)
        call(4001, mix(6, 3), 0);
    call(4007, child, (int)&status);
    call(4001, status >> 8 == 10 ? 3 : 4, 0);
}
"""


def test_forked_children_are_verified(tmp_path: Path) -> None:
    """A fault in the child alone: 6 ^ 3 is 5, the child's status 10."""
    plain_host()
    guest = compile_guest(tmp_path, "big", FORKS, *BARE)
    right = mipsrec("verify", "--jobs", "1", guest)
    assert right.returncode == 3 and right.stderr.startswith(AGREES), right
    assert_found(mipsrec("verify", "--library", build_wrong(tmp_path, guest), guest), "in function mix (0x")


# ---- the command ----


def test_refusals(tmp_path: Path) -> None:
    plain_host()
    program = compile_guest(tmp_path, "big", FREESTANDING, *BARE)
    assert_one_line(mipsrec("verify", "--function", "leaf,nonesuch", program), "nonesuch", "mipsrec disasm")
    assert_one_line(mipsrec("verify", "--function", "leaf", "--library", "x.so", program), "give one of them")
    result = mipsrec("verify", "--ignore", "fcsr,f77", "--opt", "0", "--jobs", "1", program)
    assert_one_line(result, "no register is named 'f77'", status=2)


def test_only_some_functions(tmp_path: Path) -> None:
    """The rest is interpreted: two functions have one entry each, and are seen at their calls and returns."""
    plain_host()
    guest = compile_guest(tmp_path, "little", FREESTANDING, *BARE)
    result = mipsrec("verify", "--function", "leaf,mix", "--jobs", "1", guest)
    assert result.returncode == STATUS and "; 2 lifted entries used, " in result.stderr, result.stderr


def test_ends_by_a_signal(tmp_path: Path) -> None:
    source = FREESTANDING.replace('"syscall"', '"break 7"')
    result = mipsrec("verify", "--jobs", "1", compile_guest(tmp_path, "little", source, *BARE))
    assert result.returncode == 128 + signal.SIGFPE and result.stderr.startswith(AGREES), result


ENABLES_EXCEPTIONS = """
__attribute__((noipa)) static int pass(int control) {
    int passed = 0;
    __asm__ volatile(".set push\\n.set noreorder\\n"
                     "ctc1 $0, $31\\nctc1 %2, $25\\nctc1 %1, $31\\nctc1 $0, $31\\nctc1 %2, $25\\n"
                     "bc1t $fcc5, 1f\\nctc1 %1, $31\\naddiu %0, %0, 1\\n1: addiu %0, %0, 16\\nctc1 $0, $31\\n"
                     ".set pop" : "+r"(passed) : "r"(control), "r"(0x20));
    return passed;
}
__attribute__((used)) void __start(void)
{
    int passed = pass(0) + pass(0x80) + pass(0);
    register int number __asm__("$2") = 4001, status __asm__("$4") = passed;
    __asm__ volatile("syscall" : : "r"(number), "r"(status));
    for (;;) ;
}
"""


def test_enabled_exceptions(tmp_path: Path) -> None:
    """Both sides go on where a ctc1 enables exceptions of the FPU: in straight code, and in a slot."""
    result = mipsrec("verify", "--jobs", "1", compile_guest(tmp_path, "big", ENABLES_EXCEPTIONS, *BARE))
    assert result.returncode == 48 and result.stderr.startswith(AGREES), result


def test_progress_is_for_terminals() -> None:
    """A display where standard error is a terminal, with the guest's own output untouched."""
    plain_host()
    terminal, other_end = pty.openpty()
    words = command("verify", "--jobs", "1", PREBUILT / "mipsel" / "callbacks.elf")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=other_end, env=environment()) as process:
        os.close(other_end)
        seen = b""
        try:
            while data := os.read(terminal, 1 << 16):
                seen += data
        except OSError:
            pass  # the other end is closed
        assert process.stdout is not None and b"verify" not in process.stdout.read()
    assert re.search(rb"verify: .* points", seen) and AGREES.encode() in seen, seen


# ---- equal runs ----


CASES = [
    ("callbacks", "mips", ("--opt", "1")),
    ("jumptable", "mipsel", ("--opt", "2", "--memory", "paged")),
    ("virtual", "mips", ("--opt", "0", "--memory", "thunk", "--scan", "50")),
    ("recursion", "mipsel", ("--opt", "1", "--calls", "thunked")),
    ("floats", "mips", ("--opt", "2")),
    ("crunch", "mipsel", ("--opt", "1", "--calls", "direct")),
]
if ALL:
    CASES += [(path.stem, path.parent.name, ()) for path in sorted(PREBUILT.glob("mips*/*.elf"))]


@pytest.mark.parametrize(("name", "target", "options"), CASES)
def test_samples(name: str, target: str, options: tuple[str, ...]) -> None:
    result = mipsrec("verify", *options, "--jobs", "1", PREBUILT / target / f"{name}.elf")
    assert result.stdout == (SAMPLES / "expected" / f"{name}.txt").read_text(), result.stderr
    assert result.returncode == 0 and result.stderr.startswith(AGREES), result.stderr


def own_options(byte_order: str, guest: Path, source: Path) -> list[str]:
    """Return the options that lift what the guest's source defines, or everything."""
    if ALL:
        return ["--opt", "0"]
    text = source.read_text()
    names = sorted(name for name, _, _, kind, _ in readelf_symbols(byte_order, guest) if kind == "FUNC")
    if source.suffix == ".cc":
        words = {f"{len(word)}{word}" for word in re.findall(r"\b([a-z_]\w*)\(", text)}
        mangled = [name for name in names if name.startswith("_Z") and not re.match("_ZN?K?S", name)]
        own = ["main", *(name for name in mangled if any(word in name for word in words))]
    else:
        own = [name for name in names if re.search(rf"^[a-z].*\b{re.escape(name)}\(.*\)\n", text, re.M)]
    return ["--opt", "1", "--function", ",".join(own)]


@pytest.mark.parametrize(
    ("name", "byte_order"), [(n, o) for n in ("signals", "mappings", "processes", "files") for o in ORDERS]
    if ALL else [("signals", "little"), ("mappings", "big")],
)  # fmt: skip
def test_programs(name: str, byte_order: str, tmp_path: Path) -> None:
    """Signals, longjmp out of handlers, faults that a handler mends, mappings, files, fork: the output is the same as
    that of the interpreter, which runtime/test_system_calls.py compares with native builds."""
    host = plain_host()
    source = GUESTS / f"{name}.c"
    guest = compile_guest(tmp_path, byte_order, source.read_text(), "-static", "-w", "-D_GNU_SOURCE", f"-I{GUESTS}")
    options = own_options(byte_order, guest, source)
    outputs = []
    for number, words in enumerate(([host, guest], command("verify", *options, "--jobs", "1", guest))):
        folder = tmp_path / str(number)
        folder.mkdir()
        done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
                              env=environment())  # fmt: skip
        outputs.append((done.returncode, done.stdout))
    assert done.stderr.startswith(AGREES), done.stderr
    assert outputs[0] == outputs[1]


NANS = ("-O2", "-O3 -march=mips2 -mfp32", "-O2 -march=mips32r2 -mfp64", "-O2 -march=mips32r2 -mnan=2008")


@pytest.mark.parametrize(
    ("byte_order", "flags", "opt"), [(order, flags, opt) for order in ORDERS for flags in NANS for opt in "02"]
    if ALL else [("little", NANS[0], "2"), ("big", NANS[1], "2"), ("big", NANS[0], "2"), ("little", NANS[2], "0")],
)  # fmt: skip
def test_nans(byte_order: str, flags: str, opt: str, tmp_path: Path) -> None:
    """Numbers among which are infinities and NaNs, in the shapes of loops that are treated in ways of their own."""
    options = (*flags.split(), "-nostdlib", "-static", "-ffreestanding", "-fno-math-errno", "-mno-abicalls", "-fno-pic")
    guest = compile_guest(tmp_path, byte_order, (GUESTS / "nans.c").read_text(), *options)
    result = mipsrec("verify", "--opt", opt, "--jobs", "1", guest)
    assert result.returncode == 0 and result.stderr.startswith(AGREES), result.stderr


def test_exceptions(tmp_path: Path) -> None:
    """C++ exceptions and longjmp through frames of lifted code: landing pads are entered from the interpreter."""
    source, byte_order = GUESTS / "everything.cc", "big"
    guest = compile_guest(tmp_path, byte_order, source.read_text(), "-static", "-std=gnu++17", language="c++")
    result = mipsrec("verify", *own_options(byte_order, guest, source), "--jobs", "1", guest)
    assert result.returncode == 7 and result.stderr.startswith(AGREES), result.stderr
    assert result.stdout.endswith("destroyed after main\n")


RETURNS_TWICE = """
#include <setjmp.h>
#include <stdio.h>
jmp_buf here;
volatile int sink;
#define FOUR(x) x x x x
__attribute__((noipa)) void go_back(int n) { FOUR(FOUR(sink += n;)) longjmp(here, n); }
void (*volatile goes_back)(int) = go_back;
__attribute__((noipa)) int twice(int a, int b, int c, int d, int e, int f)
{
    volatile int kept = a + e * f;
    if (setjmp(here))
        return kept + sink;
    FOUR(FOUR(FOUR(sink += a * c; sink ^= b - d;)))
    goes_back(kept);
    return 0;
}
int main(void) { printf("%d\\n", twice(1, 2, 3, 4, 5, 6)); return 0; }
"""


def test_one_entry_besides_the_start(tmp_path: Path) -> None:
    """A cold function that longjmp comes back to in one place: there registers are in the state, not in parameters."""
    guest = compile_guest(tmp_path, "little", RETURNS_TWICE, "-static")
    source, library = pipeline.open_guest(guest), tmp_path / "lib.so"
    options = pipeline.Options("light", calls="watched", jobs=1)
    chosen = source.functions_like(["twice", "go_back", "main", "*setjmp*", "*longjmp*"])
    pipeline.build(source, library, options, functions=chosen)
    result = mipsrec("verify", "--library", library, guest)
    assert (result.returncode, result.stdout) == (0, "463\n") and result.stderr.startswith(AGREES), result.stderr


def test_under_sanitizers(tmp_path: Path) -> None:
    """The host itself: its two memories, the logs, and the report of a fault."""
    guest = compile_guest(tmp_path, "little", FREESTANDING, *BARE)
    library = tmp_path / "lib.so"
    pipeline.build(pipeline.open_guest(guest), library, pipeline.Options(0, "paged", "thunked", 1))
    right = run_host(sanitized_host(), library, guest)
    assert (right.returncode, right.stderr) == (STATUS, "")
    result = run_host(sanitized_host(), build_wrong(tmp_path, guest, "paged"), guest)
    assert (result.returncode, result.stderr) == (1, "") and '"kind":"divergence"' in result.stdout


def run_host(host: Path, library: Path, guest: Path) -> subprocess.CompletedProcess[str]:
    """Run the host by itself; the records it sends stand for standard output."""
    here, there = socket.socketpair()
    with here, there:
        words = [host, "--library", library, "--verify", str(there.fileno()), "--verify-scan", "10", guest]
        done = subprocess.run(words, capture_output=True, text=True, pass_fds=(there.fileno(),), timeout=60)
        there.shutdown(socket.SHUT_WR)
        done.stdout = "".join(iter(lambda: here.recv(1 << 16).decode(), ""))
    return done
