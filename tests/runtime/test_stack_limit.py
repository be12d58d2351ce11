"""RLIMIT_STACK: a guest whose stack grows, in every tier, prints what its native build prints."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.runtime.twins import compile_guest, compile_native
from tests.support import compiled
from tests.support.compiled import ORDERS
from tests.support.hosts import sanitized_host
from tests.support.tiers import BASELINE, INTERPRETED

pytestmark = pytest.mark.sampled

RECOMPILED = ("main", "deep*", "end_of*", "fault_below*")


def output(*command: str | Path) -> str:
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stderr) == (0, ""), result
    return result.stdout


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> str:
    return output(compile_native(tmp_path_factory.mktemp("native"), "deep"))


@pytest.fixture(scope="module")
def guest_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], pipeline.Guest]:
    """The guest of a byte order, analysed once."""
    return cache(lambda order: pipeline.open_guest(compile_guest(tmp_path_factory.mktemp(order), order, "deep")))


@pytest.mark.parametrize("order", ORDERS)
def test_the_stack_grows_without_recompiled_code(host: Path, tmp_path: Path, native: str, order: str) -> None:
    guest = compile_guest(tmp_path, order, "deep")
    for tier in (INTERPRETED, BASELINE["baseline"]):
        assert output(host, *tier, guest) == native


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("memory", ["flat", "paged", "thunk"])
def test_the_stack_grows_in_recompiled_code(
    host: Path, tmp_path: Path, native: str, guest_of: Callable[[str], pipeline.Guest], memory: str, order: str
) -> None:
    guest, library = guest_of(order), tmp_path / "deep.so"
    options = pipeline.Options(memory=memory, opt=1, jobs=1)
    pipeline.build(guest, library, options, functions=guest.functions_like(list(RECOMPILED)))
    assert output(host, "--library", library, guest.image.path) == native


def test_the_stack_grows_under_sanitizers(tmp_path: Path, native: str) -> None:
    """What they say of the large limit itself goes to standard error."""
    guest = compile_guest(tmp_path, "big", "deep")
    result = subprocess.run([sanitized_host(), *INTERPRETED, guest], capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stdout) == (0, native), result


FILL = """
#include <stdio.h>
#include <sys/mman.h>
int main(void) {
    int count = 0;
    while (mmap(0, 64 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED)
        count++;
    printf("%d\\n", count);
    return 0;
}
"""


def test_mappings_take_the_room_of_an_endless_stack_last(host: Path, tmp_path: Path) -> None:
    """With an infinite limit most of the 2 GiB is kept for the stack, but no mapping fails for that."""
    guest = compiled.compile_guest(tmp_path, "big", FILL, "-static")
    script = 'ulimit -s "$1" && shift && exec "$@"'
    for limit in ("8192", "unlimited"):
        assert int(output("sh", "-c", script, "sh", limit, host, *INTERPRETED, guest)) >= 28
