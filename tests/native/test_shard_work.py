"""Shards whose compiler process dies: what is found of it and said, and what is built without them."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.errors import BuildError, LiftError
from mipsrec.native import codegen, shard_work, workers
from mipsrec.native.codegen import compile_text
from mipsrec.native.shards import Shard
from mipsrec.options import LIGHT
from mipsrec.target.cpu import chosen_cpu
from tests.support.commandline import mipsrec_here
from tests.support.compiled import BARE, ORDERS, compile_guest
from tests.support.dying import SOURCE, abort, die_of
from tests.support.hosts import plain_host
from tests.support.tiers import AUTO

NOT_OF_THIS_MACHINE = """
declare void @llvm.mips.wrdsp(i32, i32)
define void @not_of_this_machine() { call void @llvm.mips.wrdsp(i32 1, i32 2) ret void }
"""
"""LLVM verifies it, and aborts where it is to become code."""
DIED = "a compiler process died (SIGABRT) at level 2 with "


@pytest.fixture(autouse=True)
def deaths_are_meant() -> Iterator[None]:
    """Without pytest's report of where a process died."""
    enabled = faulthandler.is_enabled()
    faulthandler.disable()
    yield
    if enabled:
        faulthandler.enable()


def shard(names: str, number: int = 0) -> Shard:
    return Shard(number, tuple(map(ord, names)), (), len(names), "2", tuple(names))


def work(one: Shard) -> str:
    """Die of b, and of m beside n."""
    if "b" in one.names or {"m", "n"} <= set(one.names):
        abort()
    return "".join(one.names)


def test_the_smallest_parts_are_found() -> None:
    shards = [shard("abcdefg"), shard("hi", 1), shard("klmnop", 2)]
    with pytest.raises(shard_work.CompilerDied) as caught:
        shard_work.results_of(shards, work, 2)
    parts = shard_work.smallest_dying(caught.value.dead, work, 2)
    assert [str(part) for part in parts] == [f"{DIED}b", f"{DIED}k, l, m, n and 2 more"]
    assert shard_work.results_of([shard("ac"), shard("x", 1)], work, 2) == ["ac", "x"]


def test_the_search_ends(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Where everything dies, parts stay large; and what callers copy is left out before the callers are."""
    monkeypatch.setattr(shard_work, "_MOST_TRIES", 20)
    shards = [shard("abcdefghijklmnop", number) for number in range(2)]
    with pytest.raises(shard_work.CompilerDied) as caught:
        shard_work.results_of(shards, lambda one: abort(), 2)
    parts = shard_work.smallest_dying(caught.value.dead, lambda one: abort(), 2)
    assert [part.names() for part in parts] == ["a, b, c, d", "e, f, g, h", "i, j, k, l", "m, n, o, p"] * 2
    monkeypatch.undo()
    died = shard_work.CompilerDied(caught.value.dead[:1])
    assert shard_work.starts_to_leave_out("file", died, work, 2, {ord("b")}).keys() == {ord("b")}
    assert shard_work.starts_to_leave_out("file", died, lambda one: abort(), 2, {ord("d")}).keys() == {ord("d")}
    looking = f"mipsrec: file: {DIED}a, b, c, d and 12 more; looking for the function that it dies of\n"
    left_out = f"mipsrec: file: {DIED}X: left out, slower tiers run it\n"
    assert capfd.readouterr().err == "".join(looking + left_out.replace("X", name) for name in "bd")


def killed(marks: Path, times: int) -> Callable[[Shard], str]:
    def dies(one: Shard) -> str:
        if "k" in one.names and len(list(marks.iterdir())) < times:
            (marks / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return "".join(one.names)

    return dies


@pytest.mark.parametrize("workers", [1, 2])
def test_who_is_killed_gets_another_try_alone(workers: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shards = [shard("ak"), shard("b", 1)]
    assert shard_work.results_of(shards, killed(tmp_path, 1), workers) == ["ak", "b"]
    said = "a compiler process died (SIGKILL, perhaps for want of memory) at level 2 with a, k; alone it was done"
    assert capfd.readouterr().err == f"mipsrec: {said}{'; --jobs 1 needs less memory' if workers > 1 else ''}\n"
    with pytest.raises(shard_work.CompilerDied) as caught:
        shard_work.results_of(shards, killed(tmp_path, 100), workers)
    (part,) = shard_work.smallest_dying(caught.value.dead, killed(tmp_path, 100), workers)
    assert part.names() == "k" and "--jobs" not in str(caught.value) + capfd.readouterr().err


def take_all_memory() -> None:
    """Leave neither address space nor room in what is mapped."""
    c = ctypes.CDLL(None)
    c.malloc.restype = ctypes.c_void_p
    resource.setrlimit(resource.RLIMIT_AS, (1 << 20, resource.RLIM_INFINITY))
    for size_bytes in (1 << 20, 1 << 16, 1 << 12):
        while c.malloc(ctypes.c_size_t(size_bytes)):
            pass


def compile_much(one: Shard) -> object:
    """Compile a large function, for x where a process has little memory, for y once in vain."""
    if "a" in one.names:
        abort()
    lines = [f"%v{number} = mul i32 %v{number - 1}, %v{max(0, number - 7)}" for number in range(1, 3000)]
    text = "\n".join(["define i32 @f(i32 %v0) {", *lines, "ret i32 %v2999", "}"])
    if "x" in one.names:
        take_all_memory()
    return compile_text(text, "0", chosen_cpu("generic"))


def test_who_wants_memory_is_told_apart(capfd: pytest.CaptureFixture[str]) -> None:
    """The library of C++, or LLVM, says so before it aborts; who is done alone wanted it as well."""
    with pytest.raises(shard_work.CompilerDied) as caught:
        shard_work.results_of([shard("ax")], compile_much, 1)
    died = shard_work.CompilerDied([*caught.value.dead, shard_work.DeadShard(shard("y", 1), workers.Death(-6))])
    found = shard_work.starts_to_leave_out("file", died, compile_much, 1, ())
    assert {chr(start): death.lacks_memory for start, death in found.items()} == {"a": False, "x": True, "y": True}
    assert ", for want of memory) at level 2 with x: left out" in capfd.readouterr().err


@pytest.mark.parametrize("order", ORDERS)
def test_the_rest_is_built(
    order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The library is the one without the function, which runs in the tiers below, called from everywhere."""
    program = compile_guest(tmp_path, order, SOURCE, *BARE)
    guest, expected = pipeline.open_guest(program), tmp_path / "expected.so"
    options = pipeline.Options(2 if order == "big" else LIGHT, jobs=1, reuse=False)
    fatal = guest.function("fatal")
    rest = [guest.program.functions[start] for start in guest.starts if start != fatal.start]
    pipeline.build(guest, expected, options, functions=rest)
    die_of(monkeypatch, {fatal.start})
    before, library = {path.name for path in tmp_path.iterdir()}, tmp_path / "lib.so"
    words = ["build", program, "-o", library, "--jobs", "1", "--no-reuse", "--opt", str(options.opt)]
    result = mipsrec_here(*words)
    assert (result.returncode, result.stdout) == (0, f"{library}: {library.stat().st_size} bytes\n")
    first, second = result.stderr.splitlines()
    said = f"mipsrec: {program}: a compiler process died (SIGABRT) at level {options.opt} with "
    assert first.startswith(said) and first.endswith("more; looking for the function that it dies of")
    assert second == f"{said}fatal: left out, slower tiers run it"
    assert library.read_bytes() == expected.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == before | {"lib.so"}
    for tiers in ((), *AUTO.values()):
        subprocess.run([plain_host(), *tiers, "--library", library, program], timeout=600, check=True)


def test_what_cannot_be_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the function; and a dump, whose files call each other by name, of which LLVM itself aborts."""
    guest = pipeline.open_guest(compile_guest(tmp_path, "little", SOURCE, *BARE))
    fatal, options = guest.function("fatal"), pipeline.Options(2, jobs=2, reuse=False)
    pipeline.dump_llvm(guest, tmp_path / "ir", options)
    (file,) = (tmp_path / "ir").glob("*_fatal.ll")
    file.write_text(f"{file.read_text()}{NOT_OF_THIS_MACHINE}")
    die_of(monkeypatch, {fatal.start})
    before = set(tmp_path.iterdir())
    with pytest.raises(LiftError, match="guest: there is nothing else to recompile"):
        pipeline.build(guest, tmp_path / "lib.so", options, functions=[fatal])
    monkeypatch.undo()
    with pytest.raises(shard_work.CompilerDied, match=rf"SIGABRT\) at level 2 with {file.name}$"):
        pipeline.build(tmp_path / "ir", tmp_path / "lib.so", options)
    assert set(tmp_path.iterdir()) == before


def test_a_dump_of_optimized_ir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM takes neither the command nor the caller in Python with it; a folder without an index is no dump."""
    guest = pipeline.open_guest(compile_guest(tmp_path, "little", SOURCE, *BARE))
    monkeypatch.setattr(codegen, "optimize", lambda module, machine, level: abort())
    with pytest.raises(BuildError, match=r"guest: a compiler process died \(SIGABRT\) at level 2 with fatal$"):
        pipeline.dump_llvm(guest, tmp_path / "ir", pipeline.Options(2), [guest.function("fatal")], optimized=True)
    assert not (tmp_path / "ir").exists()
