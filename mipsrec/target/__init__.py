"""The machine that code is made for: one `Target` for each host, and the one of this machine.

Nothing else in mipsrec names a processor, its registers or LLVM's options for it. `runtime/host/` has the same hosts
in C.
"""

from __future__ import annotations

import platform
from functools import cache

from ..errors import BuildError
from .target import Target
from .x86_64 import X86_64

TARGETS = (X86_64,)


@cache
def this_target() -> Target:
    """Return the target that this machine is; raises BuildError where there is none."""
    machine = platform.machine()
    for target in TARGETS:
        if target.machine == machine:
            return target
    known = ", ".join(target.machine for target in TARGETS)
    raise BuildError(f"this machine is {machine}, and there are hosts for {known} only; see docs/howto/add-a-host.md")
