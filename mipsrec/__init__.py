"""mipsrec: recompiles 32-bit MIPS Linux programs ahead of time, by way of LLVM IR.

The functions for Python programs are those of `pipeline`, and can be had from here: `mipsrec.open_guest("prog.elf")`.

The pipeline, each stage a module or package of its own, in the order of the imports:
`elf` -> `memory` -> `isa` -> `analysis` -> `lift` -> `emit` -> `native` -> `cli`. See README.md for the picture.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import MipsrecError
    from .pipeline import (
        Guest,
        Options,
        build,
        cached_library,
        dump_llvm,
        lifted_modules,
        llvm_module,
        open_guest,
        optimized_modules,
        plans,
    )

__version__ = "0.1.0"

__all__ = [
    "Guest", "MipsrecError", "Options", "build", "cached_library", "dump_llvm", "lifted_modules", "llvm_module",
    "open_guest", "optimized_modules", "plans",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import what is asked for now: `mipsrec run` starts in less time without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(".errors" if name == "MipsrecError" else ".pipeline", __name__), name)
