"""The machine code of a stencil for x86-64, taken apart at its jumps and put together so that it falls through.

Enters: the bytes of a compiled function and its relocations. Leaves: bytes whose only references outwards are 32-bit
displacements of jumps to `EXITS` (functions.py). The compiler ends a function with jumps to those; the one to `next` is
left out where it stands last, and jumps to jumps go where those go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import capstone
import capstone.x86

from .convention import FLOAT_PINS, HOST_REGISTERS

_NEXT = "next"
_SHORT_REACH = 127


class Unfit(Exception):
    """The code does what no stencil may."""


@dataclass(frozen=True)
class _Item:
    """An instruction: plain bytes, or a jump under a condition (0 to 15, as x86 numbers them) or under none (-1).

    `target` is an exit, or the offset of an instruction in the compiled code. `far`: a jump to what a register holds.
    """

    offset: int
    code: bytes = b""
    condition: int = -1
    target: str | int | None = None
    far: bool = False

    @property
    def jumps(self) -> bool:
        return self.target is not None

    @property
    def ends(self) -> bool:
        """Whether nothing goes on behind it."""
        return self.far or (self.jumps and self.condition < 0)


@dataclass(frozen=True)
class Assembled:
    """`plain` are the ranges of bytes that were compiled, from and to; `exits` the places of displacements."""

    code: bytes
    plain: tuple[tuple[int, int], ...]
    exits: tuple[tuple[int, str], ...]


_decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
_detailed = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
_detailed.detail = True


def assemble(code: bytes, relocations: dict[int, str]) -> Assembled:
    """Return a stencil's code; raises Unfit. `relocations` are symbols by offset."""
    return _laid_out(_shortened(_items(code, relocations)))


def _parts(register: str) -> list[str]:
    """Return the names of a host register of 64 bits and of its parts."""
    if register[1].isdigit():
        return [register, f"{register}d", f"{register}w", f"{register}b"]
    name = register[1:]
    low = f"{name[0]}l" if name.endswith("x") else f"{name}l"
    return [register, f"e{name}", name, low, f"{name[0]}h"]


_PINNED = {part for register in HOST_REGISTERS for part in _parts(register)}
_PINNED |= {f"xmm{number}" for number in range(len(FLOAT_PINS))}
"""The host registers that pinned registers are in, by the names of their parts."""


def loses_pins(code: bytes) -> bool:
    """Return whether a pinned register has another value before the last access to guest memory, which may fault."""
    instructions = list(_detailed.disasm(code, 0))
    last = max((n for n, instruction in enumerate(instructions) if _accesses_guest(instruction)), default=0)
    written = (number for instruction in instructions[:last] for number in instruction.regs_access()[1])
    return any(_detailed.reg_name(number) in _PINNED for number in written)


def _accesses_guest(instruction: capstone.CsInsn) -> bool:
    """Return whether an instruction accesses other memory than the state and the stack."""
    return instruction.mnemonic != "lea" and any(
        operand.type == capstone.x86.X86_OP_MEM and instruction.reg_name(operand.mem.base) not in ("r12", "rsp")
        for operand in instruction.operands
    )


def _items(code: bytes, relocations: dict[int, str]) -> list[_Item]:
    items, left = [], dict(relocations)
    for address, size, mnemonic, operands in _decoder.disasm_lite(code, 0):
        raw = code[address : address + size]
        inside = [offset for offset in left if address <= offset < address + size]
        if mnemonic[0] == "j" and not (mnemonic == "jmp" and raw[0] not in (0xEB, 0xE9)):
            target: str | int = left.pop(inside[0]) if inside else int(operands, 16)
            condition = -1 if mnemonic == "jmp" else (raw[1] if raw[0] == 0x0F else raw[0]) & 15
            items.append(_Item(address, condition=condition, target=target))
        elif inside or mnemonic in ("call", "ret") or "rip" in operands:
            raise Unfit(f"{mnemonic} {operands}")
        else:
            items.append(_Item(address, raw, far=mnemonic == "jmp"))
    if left:
        raise Unfit("relocations outside instructions")
    return items


def _shortened(items: list[_Item]) -> list[_Item]:
    """Make jumps to jumps direct, leave out what nothing reaches, and let the code end with the jump to `next`."""
    by_offset = {item.offset: item for item in items}
    for index, item in enumerate(items):
        while isinstance(item.target, int):
            there = by_offset[item.target]
            if not there.jumps or there.condition >= 0 or there is item:
                break
            item = items[index] = replace(item, target=there.target)
    reached = {item.target for item in items if isinstance(item.target, int)}
    kept: list[_Item] = []
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
            kept.append(_Item(last_offset))
    return kept


def _is_inside(item: _Item) -> bool:
    """Return whether a jump stays in the stencil."""
    return isinstance(item.target, int) or item.target == _NEXT


def _size(item: _Item, short: bool) -> int:
    if not item.jumps:
        return len(item.code)
    return 2 if short and _is_inside(item) else 5 if item.condition < 0 else 6


def _laid_out(items: list[_Item]) -> Assembled:
    short = sum(_size(item, False) for item in items) <= _SHORT_REACH
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
        always, inside = item.condition < 0, _is_inside(item)
        target = places[item.target] if isinstance(item.target, int) else end
        if inside and short:
            code += bytes([0xEB if always else 0x70 | item.condition, (target - len(code) - 2) & 0xFF])
            continue
        code += b"\xe9" if always else bytes([0x0F, 0x80 | item.condition])
        if not inside:
            exits.append((len(code), str(item.target)))
        code += (target - len(code) - 4 if inside else 0).to_bytes(4, "little", signed=True)
    return Assembled(bytes(code), tuple(plain), tuple(exits))
