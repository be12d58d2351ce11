"""The comparison of random programs sees differences, and one program goes all its ways."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.gcc_batch import ways
from tests.fuzz.csmith import DEFAULT_LEVELS, Found, try_seeds
from tests.support.compiled import QEMU

SEED = 5
ENGINES = ("qemu", "recompiled", "interpreted")
WAYS = ("qemu", *ways([["--opt", "1"]]))


def _outputs(**others: str) -> dict[str, str]:
    places = [f"{level} {order} {engine}" for level in DEFAULT_LEVELS for order in QEMU for engine in ENGINES]
    return {
        "native": "1",
        **dict.fromkeys(places, "1"),
        **{place.replace("_", " "): value for place, value in others.items()},
    }


def test_differences() -> None:
    """What seeds that are not divisible by 4 print may depend on the byte order; nothing else may."""
    assert Found(4, _outputs()).differences() == []
    assert Found(4, _outputs(O2_little_recompiled="2")).differences() == ["O2 little recompiled: 2, not 1"]
    assert len(Found(5, _outputs(O3_big_recompiled="2")).differences()) == 1
    assert Found(5, _outputs(**dict.fromkeys([f"O3_big_{engine}" for engine in ENGINES], "2"))).differences() == []
    assert len(Found(4, _outputs(O3_big_recompiled="2", O3_big_qemu="2")).differences()) == 3
    assert len(Found(5, _outputs(O3_little_recompiled="2", O3_little_qemu="2")).differences()) == 3


def test_unaligned() -> None:
    """Where qemu-user ends with SIGBUS, the interpreter and the native program are left as judges."""
    assert Found(4, _outputs(O2_big_qemu="signal 10")).differences() == []
    assert len(Found(4, _outputs(O2_big_qemu="signal 10", O2_big_interpreted="2")).differences()) == 2
    assert len(Found(5, _outputs(O2_big_qemu="signal 10", O2_big_recompiled="signal 10")).differences()) == 1


def test_one_seed(host: Path, tmp_path: Path) -> None:
    levels = ["O2", "O2-mips16"]
    (found,) = try_seeds([SEED], tmp_path / "seeds", host, [["--opt", "1"]], levels)
    assert len(found.outputs) == 1 + len(levels) * len(QEMU) * len(WAYS)
    assert found.outputs["native"].startswith("checksum = ")
    assert found.differences() == []
