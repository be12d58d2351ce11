"""How to translate a program: the choices that every stage from the command line to the library knows."""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import NoneType

from .errors import MipsrecError
from .target.cpu import CHOICES

MEMORY_MODELS = ("flat", "paged", "thunk")
CALL_MODELS = ("direct", "thunked", "instrumented")
LIGHT, AUTO = "light", "auto"
LEVELS = (LIGHT, "0", "1", "2", "3", AUTO)


@dataclass(frozen=True)
class Options:
    """`opt` is one of LEVELS, numbers may be ints; `memory` and `calls` are of the above, `cpu` of target.cpu.CHOICES.

    `jobs` is how many worker processes there are (0: one per processor).

    `into` is the folder that a build fills in place of the cache.

    `reuse` takes what earlier builds have compiled where it is the same. `profile` is the path of one of this
    program: functions that it has samples of get what `opt` says (`auto`: full effort), the others little.

    `cover`: the code counts decisions (mipsrec/counters.py).

    `without` are names of passes to leave out (mipsrec/lift/pipeline.py).
    """

    opt: int | str = AUTO
    memory: str = "flat"
    calls: str = "direct"
    jobs: int = 0
    cpu: str = "native"
    reuse: bool = True
    profile: str | None = None
    into: str | None = None
    cover: bool = False
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise MipsrecError for what the command line would refuse."""
        choices = (("opt", LEVELS), ("memory", MEMORY_MODELS), ("calls", CALL_MODELS), ("cpu", CHOICES))
        for name, allowed in choices:
            value = getattr(self, name)
            if isinstance(value, bool) or str(value) not in allowed:
                raise MipsrecError(f"Options: {name} is {value!r}; choose among {', '.join(allowed)}")
        if type(self.cover) is not bool:
            raise MipsrecError(f"Options: cover is {self.cover!r}; give True or False")
        if type(self.jobs) is not int or self.jobs < 0:
            raise MipsrecError(f"Options: jobs is {self.jobs!r}; give a number from 0 on")
        if not isinstance(self.without, tuple) or not all(isinstance(name, str) for name in self.without):
            raise MipsrecError(f"Options: without is {self.without!r}; give a tuple of names of passes")
        for name in ("profile", "into"):
            if not isinstance(getattr(self, name), (str, os.PathLike, NoneType)):
                raise MipsrecError(f"Options: {name} is {getattr(self, name)!r}; give a path")
