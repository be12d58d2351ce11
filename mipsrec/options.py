"""How to translate a program: the choices that every stage from the command line to the library knows."""

from __future__ import annotations

from dataclasses import dataclass

MEMORY_MODELS = ("flat", "paged", "thunk")
CALL_MODELS = ("direct", "thunked", "instrumented")
LIGHT, AUTO = "light", "auto"
LEVELS = (LIGHT, "0", "1", "2", "3", AUTO)
CPUS = ("native", "generic", "x86-64-v2", "x86-64-v3")


@dataclass(frozen=True)
class Options:
    """`opt` is one of LEVELS, numbers may be ints; `memory`, `calls` and `cpu` are of the above.

    `jobs` is how many worker processes there are (0: one per processor).

    `into` is the folder that a build fills in place of the cache.

    `reuse` takes what earlier builds have compiled where it is the same. `profile` is the path of one of this
    program: functions that it has samples of get what `opt` says (`auto`: full effort), the others little.
    """

    opt: int | str = AUTO
    memory: str = "flat"
    calls: str = "direct"
    jobs: int = 0
    cpu: str = "native"
    reuse: bool = True
    profile: str | None = None
    into: str | None = None
