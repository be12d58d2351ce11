"""The plan as text: what was decided about a function, to read and to compare.

Registers are named as the assembler names them; `f4` is a word of the floating-point file, `fcc1` a condition code,
`last` the record of the last instruction that computed with floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..isa.disassembly import disassemble
from ..state import BIT_NAMES, GPR_NAMES
from .ir import BlockPlan, CallSite, FunctionPlan, Op
from .nodes import Branch, Call, Edge, Goto, Jump, Node, Return, Stop, Syscall


def registers_text(bits: int) -> str:
    """Return the names of a set of registers, or `-` for none."""
    found = []
    while bits > 0:
        number = (bits & -bits).bit_length() - 1
        bits &= bits - 1
        found.append(BIT_NAMES[number])
    return " ".join(found) or "-"


def plan_text(plan: FunctionPlan, symbol: str) -> str:
    """Return a plan as lines."""
    return "\n".join(_lines(plan, symbol)) + "\n"


def _lines(plan: FunctionPlan, symbol: str) -> Iterator[str]:
    options = plan.options
    entries = " ".join(f"{pc:08x}" for pc in plan.graph.entries)
    yield f"plan {symbol}: entries {entries}; memory {options.memory}, calls {options.calls}"
    in_ssa = (f"{unit.name}:{unit.type}" for unit in plan.units.all if unit.bits & plan.in_ssa)
    yield f"  in SSA: {' '.join(in_ssa) or '-'}"
    if plan.memory_resident:
        yield f"  in the state between blocks: {registers_text(plan.memory_resident & plan.units.bits)}"
    if plan.frame is not None:
        yield f"  callers save {registers_text(plan.frame.bits)}"
        yield f"  dead at self calls: {registers_text(plan.frame.dead_at_self_call)}"
    for head, loop in plan.promoted.items():
        places = ", ".join(f"{one.displacement}({GPR_NAMES[one.base]}) {one.type}" for one in loop.variables)
        yield f"  loop {head:08x}: promoted {places}"
    for pc in plan.vectorized:
        yield f"  loop {pc:08x}: vectorized"
    for pc in plan.graph.order:
        yield from _block_lines(plan, pc)


def _block_lines(plan: FunctionPlan, pc: int) -> Iterator[str]:
    context, block = plan.context, plan.blocks[pc]
    yield f"block {pc:08x}: live {registers_text(context.live_in[pc])}; dirty {registers_text(context.dirty_in[pc])}"
    split_in, split_out = plan.pair_forms.into[pc], plan.pair_forms.out[pc]
    if split_in or split_out:
        yield f"  as two floats: in {registers_text(split_in)}; out {registers_text(split_out)}"
    yield from _op_lines(block)
    yield from _site_lines(plan.sites[pc])
    yield from _end_lines(block.end)


def _end_lines(end: Node | None) -> Iterator[str]:
    """Yield what happens to registers on all ways from a block."""
    if isinstance(end, Goto):
        yield _way("->", end.edge)
    elif isinstance(end, Branch):
        yield _way("->", end.taken)
        yield _way("->", end.other)
    elif isinstance(end, Jump):
        for edge in (end.hub or end).edges.values():
            yield _way("->", edge)
        yield f"  elsewhere:{_parts(stores=end.stores)}"
    elif isinstance(end, Return):
        if end.to_caller is not None:
            yield f"  returns to a caller of the body:{_parts(stores=end.to_caller)}"
        yield f"  returns:{_parts(stores=end.stores)}"
    elif isinstance(end, Syscall):
        yield f"  system call:{_parts(stores=end.stores)}"
        yield _way("->", end.after, end.loads)
    elif isinstance(end, Call):
        yield from _call_lines(end)
    elif end is not None:
        yield f"  {'stops' if isinstance(end, Stop) else 'interpreted'}:{_parts(stores=end.stores)}"


def _call_lines(end: Call) -> Iterator[str]:
    if end.inlined is not None:
        yield _way("in place of the call ->", end.inlined.way.edge)
    if end.body is not None:
        yield f"  call of the body:{_parts(stores=end.body.stores)}"
        yield _way("->", end.body.after, end.body.loads)
        yield _way("elsewhere ->", end.body.elsewhere, end.body.loads_elsewhere)
    yield f"  call:{_parts(stores=end.all_stores)}{f'; keeps {registers_text(end.keeps)}' if end.keeps else ''}"
    yield _way("->", end.after, end.loads)


def _way(arrow: str, edge: Edge, loads: int = 0) -> str:
    marks = [mark for mark, is_so in (("safepoint", edge.has_safepoint), ("leaves", edge.leaves)) if is_so]
    marks += ["copied"] if edge.copy is not None else []
    marks += [f"stores {registers_text(edge.polls)} where a signal waits"] if edge.polls else []
    return f"  {arrow} {edge.target:08x}{_parts(stores=edge.stores, loads=edge.loads | loads, marks=marks)}"


def _parts(stores: int = 0, loads: int = 0, marks: Sequence[str] = ()) -> str:
    parts = [f"stores {registers_text(stores)}"] if stores else []
    parts += [f"loads {registers_text(loads)}"] if loads else []
    return "".join(f" {part};" for part in [*parts, *marks]).rstrip(";")


def _op_lines(block: BlockPlan) -> Iterator[str]:
    first_of = {load.indices[0]: f"load {len(load.indices)} words" for load in block.merged.loads.values()}
    first_of |= {index: f"store {store.count} words" for index, store in block.merged.stores.items()}
    for index, op in enumerate(block.body):
        decided = [first_of[index]] if index in first_of else []
        decided += ["unaligned word"] if index in block.unaligned else []
        decided += ["delay slot"] if block.block.slot_of is not None else []
        yield _op_line(op, decided)
    terminator = block.block.terminator
    if terminator is not None:
        at = block.block.terminator_pc
        yield f"  {at:08x}  {disassemble(terminator, at)}"
    if block.slot is not None:
        yield _op_line(block.slot, ["delay slot"])
    if block.case_weights:
        yield f"  cases weigh {' '.join(map(str, block.case_weights))}"
    if block.shares_switch:
        yield "  all jumps by this table share one switch"


def _op_line(op: Op, decided: list[str]) -> str:
    names = ("volatile", "exposed", "no_wrap", "spin", "by_caller", "checked")
    decided = decided + [name.replace("_", " ") for name in names if getattr(op, name)]
    if op.promoted is not None:
        decided.append("promoted")
    decided += [f"stores {registers_text(op.stores)} before"] if op.stores else []
    decided += [f"{registers_text(op.stores_after)} stored after"] if op.stores_after else []
    text = f"  {op.pc:08x}  {disassemble(op.instruction, op.pc)}"
    return f"{text:48} ; {', '.join(decided)}" if decided else text


def _site_lines(site: CallSite) -> Iterator[str]:
    if site.body is not None:
        yield f"  calls the body {site.body.body}; not in the state afterwards: {registers_text(site.not_in_state)}"
    if site.passed:
        yield f"  passes {registers_text(site.passed)}"
    if site.exposed:
        yield "  may come back to a landing pad"
    if site.unwinds:
        yield "  may leave the caller's frame"
    for copy in site.inlined or ():
        yield f"  in place of the call, block {copy.block.start:08x}:"
        yield from (f"  {line}" for line in _op_lines(copy))
