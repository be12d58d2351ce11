"""The plan as text: what is known of a function, and what was decided about it, to read, to compare and to parse.

Enters: a plan. Leaves: lines. They say all that the plan is made from (guest.py) and all that passes and terminators
have decided (ops.py, loops.py, ends.py). What is computed from the guest part and not decided, as `live` and `dirty`,
stands there for readers. `..parse` makes the plan again.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir import BlockPlan, CallSite, FunctionPlan
from .ends import end_lines, entry_line, hub_lines
from .guest import block_fields, guest_lines, head_line
from .loops import loop_lines
from .ops import op_lines
from .words import line_text, registers_text, some

__all__ = ["plan_text", "registers_text"]


def plan_text(plan: FunctionPlan, symbol: str) -> str:
    """Return a plan as lines."""
    return "\n".join(_lines(plan, symbol)) + "\n"


def _lines(plan: FunctionPlan, symbol: str) -> Iterator[str]:
    yield head_line(plan, symbol)
    yield from guest_lines(plan)
    in_ssa = (f"{unit.name}:{unit.type}" for unit in plan.units.all if unit.bits & plan.in_ssa)
    yield f"  in-ssa: {' '.join(in_ssa) or '-'}"
    if plan.entry is not None:
        yield entry_line(plan.entry)
    yield from loop_lines(plan)
    yield from hub_lines(plan)
    for pc, block in sorted(plan.function.blocks.items()):
        if pc in plan.blocks:
            yield from _block_lines(plan, pc, plan.blocks[pc])
        else:
            yield line_text(f"other block {pc:08x} {block.end.value}", block_fields(block))
            yield from op_lines(plan, BlockPlan.of(block), 0)


def _block_lines(plan: FunctionPlan, pc: int, block: BlockPlan) -> Iterator[str]:
    context = plan.context
    facts = {"live": registers_text(context.live_in[pc]), "dirty": registers_text(context.dirty_in[pc])}
    yield line_text(f"block {pc:08x} {block.block.end.value}", block_fields(block.block) | facts)
    split_in, split_out = plan.pair_forms.into[pc], plan.pair_forms.out[pc]
    if split_in or split_out:
        yield line_text("  two-floats", {"in": some(split_in), "out": some(split_out)})
    words_in, words_out = plan.word_forms.into[pc], plan.word_forms.out[pc]
    if words_in or words_out:
        yield line_text("  words", {"in": some(words_in), "out": some(words_out)})
    if pc in plan.changing:
        yield line_text("  iterations", {"change": registers_text(plan.changing[pc])})
    yield from op_lines(plan, block, context.dirty_in[pc])
    if block.case_weights or block.shares_switch:
        weights = " ".join(map(str, block.case_weights))
        yield line_text("  switch", {"weights": weights, "shared": block.shares_switch})
    yield from _site_lines(plan.sites[pc])
    yield from end_lines(plan, block)


def _site_lines(site: CallSite) -> Iterator[str]:
    fields: dict[str, str | bool] = {
        "passes": some(site.passed),
        "lacks": some(site.not_in_state),
        "exposed": site.exposed,
        "unwinds": site.unwinds,
    }
    if any(fields.values()):
        yield line_text("  site", fields)
