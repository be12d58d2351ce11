"""Access merging: words that a block copies, or fills with one register, are loaded and stored as vectors.

Needs: the instructions of each block by themselves; the marks of ops, `promoted` and `vectorized`.
Sets: `BlockPlan.merged`.
Keeps: what registers and memory have after the last access. The loads of a merged load are performed where its first
is. Between them only instructions stand that compute; of these only additions of constants change the base. So nothing
can happen in between that the guest would notice. Stores follow each other directly, the last perhaps in a delay slot
of a branch. A fault has the lowest address and the first pc (docs/limits.md, Faults).
Off when: the memory model is not `flat`, the access has another mark, or the loop has promoted variables or is
vectorized.

Compilers and C libraries copy and fill memory by four to sixteen words: `lw` of consecutive words into registers, then
`sw` of these in the same order, or of one register. LLVM joins them by itself only where nothing reads the registers
afterwards; here a later call or return mostly does. It does join stores of constants, such as of register 0.
"""

from __future__ import annotations

from ...analysis import Block, End
from ...isa import Instruction
from ...isa.effects import LOAD, STORE, added_constant, based_access, effects, masks
from ..ir import NOT_MERGED, FunctionPlan, MergedAccesses, MergedLoad, MergedStore

WIDTHS = (8, 4)
"""Words of a vector. Fewer accesses gain nothing."""


def _word(instruction: Instruction) -> str:
    """Return LOAD or STORE where an instruction is lw or sw."""
    access = based_access(instruction)
    return access.kind if access is not None and access.type == "word" else ""


def find_merged(block: Block, excluded: set[int], fr: int) -> MergedAccesses:
    """Return the merged accesses of a block; instructions with indices in `excluded` are part of none."""
    has_slot = block.end in (End.BRANCH, End.JUMP)
    links = block.terminator is not None and block.terminator.link_register() != 0  # the slot may store that
    body = block.body_and_slot() if has_slot and not links else block.body
    words = [_word(instruction) if at not in excluded else "" for at, instruction in enumerate(body)]
    if len(words) - words.count("") < WIDTHS[-1]:
        return NOT_MERGED
    loads: dict[int, MergedLoad] = {}
    stores: dict[int, MergedStore] = {}
    at = 0
    while at < len(body):
        for width in WIDTHS:
            found = _store(body, words, at, width, fr)
            if found is not None and not (found.loaded is not None and _overlaps(found.loaded, loads)):
                stores[at] = found
                if found.loaded is not None:
                    loads[found.loaded.indices[0]] = found.loaded
                break
        at += stores[at].count if at in stores else 1
    return MergedAccesses(loads, stores)


def _overlaps(load: MergedLoad, loads: dict[int, MergedLoad]) -> bool:
    """Return whether others, not the same load, have some of its words."""
    taken = {at for other in loads.values() if other != load for at in other.indices}
    return not taken.isdisjoint(load.indices)


def _store(body: list[Instruction], words: list[str], at: int, width: int, fr: int) -> MergedStore | None:
    """Return the merged store of `width` words that begins at an index."""
    stores = body[at : at + width]
    if words[at : at + width] != [STORE] * width:
        return None
    first = stores[0]
    if any(store.rs != first.rs or store.imm != first.imm + 4 * number for number, store in enumerate(stores)):
        return None
    registers = [store.rt for store in stores]
    if len(set(registers)) == 1:
        return MergedStore(width, None) if registers[0] else None  # LLVM joins stores of constants
    load = _load_of(body, words, at, registers, fr)
    return MergedStore(width, load) if load is not None else None


def _load_of(
    body: list[Instruction], words: list[str], before: int, registers: list[int], fr: int
) -> MergedLoad | None:
    """Return the merged load of these registers from consecutive words, which they still hold at an index."""
    indices = []
    for register in registers:
        at = next((at for at in range(before - 1, -1, -1) if masks(body[at], fr)[1] >> register & 1), None)
        if at is None or words[at] != LOAD or body[at].rt != register:
            return None
        indices.append(at)
    if indices != sorted(set(indices)):
        return None
    first = body[indices[0]]
    base, address = first.rs, first.imm
    for at in range(indices[0], indices[-1] + 1):
        instruction = body[at]
        if at in indices:
            if instruction.rs != base or instruction.imm != address + 4 * indices.index(at):
                return None
            if instruction.rt == base and at != indices[-1]:
                return None
        elif not effects(instruction.row).is_pure:
            return None
        elif masks(instruction, fr)[1] >> base & 1:
            added = added_constant(instruction)
            if added is None or instruction.rs != base:
                return None
            address -= added
    return MergedLoad(tuple(indices))


def run(plan: FunctionPlan) -> None:
    """Merge accesses, but for those about which other passes have decided something, and those of promoted loops."""
    if plan.options.memory != "flat":
        return
    apart_loops = plan.loops_apart
    for pc, block in plan.blocks.items():
        ops = block.ops
        if pc in apart_loops or len(ops) < WIDTHS[-1]:
            continue
        apart = {n for n, op in enumerate(ops) if op.volatile or op.spin}
        block.merged = find_merged(block.block, apart, plan.options.fr)
