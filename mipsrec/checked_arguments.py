"""Checks what Python programs hand to the functions of `import mipsrec`, as the command line checks its words.

Enters: a function, and of each argument what it may be. Leaves: the function, which raises MipsrecError with the name
of the argument, what it got, and what to give, before it does anything.
"""

from __future__ import annotations

import inspect
import os
import reprlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import ParamSpec, TypeVar

from .errors import MipsrecError, one_line

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Kind:
    """What an argument may be: of some types, or with `each`, a list or tuple whose members are."""

    types: tuple[type, ...]
    what: str
    each: bool = False
    or_none: bool = False

    def fits(self, value: object) -> bool:
        if value is None:
            return self.or_none
        if self.each:
            return isinstance(value, (list, tuple)) and all(isinstance(one, self.types) for one in value)
        return isinstance(value, self.types) and value != ""

    def optional(self) -> Kind:
        return replace(self, what=f"{self.what}, or None", or_none=True)


PATH = Kind((str, os.PathLike), "a path")


def checked(**kinds: Kind) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Return a decorator that checks the arguments of these names at each call, also of a generator."""

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        signature = inspect.signature(function)

        @wraps(function)
        def call(*values: Parameters.args, **named: Parameters.kwargs) -> Result:
            given = signature.bind(*values, **named).arguments
            for name, kind in kinds.items():
                if name in given and not kind.fits(given[name]):
                    got = one_line(reprlib.repr(given[name]))
                    raise MipsrecError(f"{function.__name__}: {name} is {got}; give {kind.what}")
            return function(*values, **named)

        return call

    return decorate
