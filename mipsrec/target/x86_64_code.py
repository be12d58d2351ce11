"""The machine code of x86-64, as far as stencils need it (machine_code.MachineCode)."""

from __future__ import annotations

from collections.abc import Mapping

import capstone
import capstone.x86

from .machine_code import Item, Unfit

_decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
_detailed = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
_detailed.detail = True


def _parts(register: str) -> list[str]:
    """Return the names of a host register of 64 bits and of its parts."""
    if register[1].isdigit():
        return [register, f"{register}d", f"{register}w", f"{register}b"]
    name = register[1:]
    low = f"{name[0]}l" if name.endswith("x") else f"{name}l"
    return [register, f"e{name}", name, low, f"{name[0]}h"]


def _accesses_guest(instruction: capstone.CsInsn) -> bool:
    """Return whether an instruction accesses other memory than the state and the stack."""
    return instruction.mnemonic != "lea" and any(
        operand.type == capstone.x86.X86_OP_MEM and instruction.reg_name(operand.mem.base) not in ("r12", "rsp")
        for operand in instruction.operands
    )


class X86Code:
    """Implements MachineCode. Conditions are 0 to 15, as jcc has them in its lowest bits."""

    short_reach = 127

    def items(self, code: bytes, relocations: Mapping[int, str]) -> list[Item]:
        items, left = [], dict(relocations)
        for address, size, mnemonic, operands in _decoder.disasm_lite(code, 0):
            raw = code[address : address + size]
            inside = [offset for offset in left if address <= offset < address + size]
            if mnemonic[0] == "j" and not (mnemonic == "jmp" and raw[0] not in (0xEB, 0xE9)):
                target: str | int = left.pop(inside[0]) if inside else int(operands, 16)
                condition = -1 if mnemonic == "jmp" else (raw[1] if raw[0] == 0x0F else raw[0]) & 15
                items.append(Item(address, condition=condition, target=target))
            elif inside or mnemonic in ("call", "ret") or "rip" in operands:
                raise Unfit(f"{mnemonic} {operands}")
            else:
                items.append(Item(address, raw, far=mnemonic == "jmp"))
        if left:
            raise Unfit("relocations outside instructions")
        return items

    def jump_bytes(self, condition: int, short: bool) -> int:
        return 2 if short else 5 if condition < 0 else 6

    def jump(self, condition: int, short: bool, displacement: int) -> bytes:
        always = condition < 0
        if short:
            return bytes([0xEB if always else 0x70 | condition, displacement & 0xFF])
        code = b"\xe9" if always else bytes([0x0F, 0x80 | condition])
        return code + displacement.to_bytes(4, "little", signed=True)

    def loses(self, code: bytes, registers: tuple[str, ...], floats: int) -> bool:
        pinned = {part for register in registers for part in _parts(register)}
        pinned |= {f"xmm{number}" for number in range(floats)}
        instructions = list(_detailed.disasm(code, 0))
        last = max((n for n, instruction in enumerate(instructions) if _accesses_guest(instruction)), default=0)
        written = (number for instruction in instructions[:last] for number in instruction.regs_access()[1])
        return any(_detailed.reg_name(number) in pinned for number in written)
