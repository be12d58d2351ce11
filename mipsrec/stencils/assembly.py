"""The machine code of a stencil, taken apart at its jumps and put together so that it falls through.

Enters: the bytes of a compiled function and its relocations. Leaves: bytes whose only references outwards are 32-bit
displacements of jumps to `EXITS` (functions.py). The compiler ends a function with jumps to those; the one to `next` is
left out where it stands last, and jumps to jumps go where those go. How instructions look is the target's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..target import this_target
from ..target.machine_code import Item
from .convention import CALLS, FLOAT_PINS

_NEXT = "next"
_CODE = this_target().machine_code()


@dataclass(frozen=True)
class Assembled:
    """`plain` are the ranges of bytes that were compiled, from and to; `exits` the places of displacements."""

    code: bytes
    plain: tuple[tuple[int, int], ...]
    exits: tuple[tuple[int, str], ...]


def assemble(code: bytes, relocations: dict[int, str]) -> Assembled:
    """Return a stencil's code; raises Unfit. `relocations` are symbols by offset."""
    return _laid_out(_shortened(_CODE.items(code, relocations)))


def loses_pins(code: bytes) -> bool:
    """Return whether a pinned register has another value before the last access to guest memory, which may fault."""
    return _CODE.loses(code, CALLS.registers, len(FLOAT_PINS))


def _shortened(items: list[Item]) -> list[Item]:
    """Make jumps to jumps direct, leave out what nothing reaches, and let the code end with the jump to `next`."""
    by_offset = {item.offset: item for item in items}
    for index, item in enumerate(items):
        while isinstance(item.target, int):
            there = by_offset[item.target]
            if not there.jumps or there.condition >= 0 or there is item:
                break
            item = items[index] = replace(item, target=there.target)
    reached = {item.target for item in items if isinstance(item.target, int)}
    kept: list[Item] = []
    for item in items:
        if not kept or not kept[-1].ends or item.offset in reached:
            kept.append(item)
    ends_with_jump = bool(kept) and kept[-1].jumps and kept[-1].condition < 0
    if ends_with_jump and len(kept) > 1 and kept[-2].condition >= 0 and kept[-2].target == _NEXT:
        last = kept.pop()
        kept[-1] = replace(kept[-1], condition=kept[-1].condition ^ 1, target=last.target)
    elif ends_with_jump and kept[-1].target == _NEXT:
        last_offset = kept.pop().offset
        if any(item.target == last_offset for item in kept):
            kept.append(Item(last_offset))
    return kept


def _is_inside(item: Item) -> bool:
    """Return whether a jump stays in the stencil."""
    return isinstance(item.target, int) or item.target == _NEXT


def _size(item: Item, short: bool) -> int:
    if not item.jumps:
        return len(item.code)
    return _CODE.jump_bytes(item.condition, short and _is_inside(item))


def _laid_out(items: list[Item]) -> Assembled:
    short = sum(_size(item, False) for item in items) <= _CODE.short_reach
    places, end = {}, 0
    for item in items:
        places[item.offset] = end
        end += _size(item, short)
    code, plain, exits = bytearray(), [], []
    for item in items:
        if not item.jumps:
            plain.append((len(code), len(code) + len(item.code)))
            code += item.code
            continue
        inside, size = _is_inside(item), _size(item, short)
        target = places[item.target] if isinstance(item.target, int) else end
        displacement = target - len(code) - size if inside else 0
        code += _CODE.jump(item.condition, short and inside, displacement)
        if not inside:
            exits.append((len(code) - 4, str(item.target)))
    return Assembled(bytes(code), tuple(plain), tuple(exits))
