"""Saved-register handoff: callers store the registers that a function saves, and load them again.

Needs: the function's blocks; `frame`, which facts/frames.py makes of them and policy.py gives to functions that call
themselves or are in a small cycle of calls.
Sets: `Op.by_caller` of the saves of a body, and `Op.checked` of stores that may go to where registers are saved.
Keeps: memory is at each moment what the guest would have made it. An unwinder, a debugger or a stray pointer finds in a
frame what MIPS would have there, and a value that was overwritten on the stack arrives overwritten. The rules:

- sp changes by constants only, and is at a return what it was at the entry. Callees put sp back (o32 ABI), which the
  code checks.
- A save counts if it lies in the block at the start, which is performed once, before its register is written and before
  any store that might go to the same place: the caller's stores come first. A load in between may read the place
  early. It lies below the sp of the caller, where nobody keeps a value.
- A return counts if on all paths to it the registers are loaded from where they are, and no later store might go there.
  The code checks the addresses of stores in the return block. If one goes near a saved register, the function returns
  with a complete state. So do returns that do not count.
- The function does not jump to other functions, and makes no system call: what follows those is not known here.

Off when: the function has no frame, it is in no small cycle of calls, or calls or memory are not the usual ones
(`LiftOptions.has_frames`).
"""

from __future__ import annotations

from ..ir import FunctionPlan


def run(plan: FunctionPlan) -> None:
    """Mark what the callers of a body do, and the stores that may go where registers are saved."""
    if plan.frame is None:
        return
    saves = {saved.pc for saved in plan.frame.saved}
    for pc, block in plan.blocks.items():
        watched = plan.frame.returns.get(pc, frozenset())
        for op in block.ops:
            op.by_caller, op.checked = op.pc in saves, op.pc in watched
