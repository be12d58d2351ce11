"""How to translate a program: the choices that every stage from the command line to the library knows."""

from __future__ import annotations

from dataclasses import dataclass

MEMORY_MODELS = ("flat", "paged", "thunk")
CALL_MODELS = ("direct", "thunked", "watched")
CPUS = ("native", "generic", "x86-64-v2", "x86-64-v3")


@dataclass(frozen=True)
class Options:
    """`opt` is 0 to 3; `memory`, `calls` and `cpu` are of the above; `jobs` worker processes (0: all processors).

    `reuse` takes what earlier builds have compiled where it is the same.
    """

    opt: int = 2
    memory: str = "flat"
    calls: str = "direct"
    jobs: int = 0
    cpu: str = "native"
    reuse: bool = True
