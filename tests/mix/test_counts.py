"""Instructions are of one kind each, accesses go where their addresses say, and stores become commits."""

from __future__ import annotations

import platform

import pytest

from mipsrec.mix.counts import Counts, commits, total
from mipsrec.mix.landmarks import Tier
from mipsrec.mix.report import Mix, report_data, report_text
from mipsrec.mix.running import Mappings, parse_mapping
from mipsrec.state import OFFSETS, name_at, slot_offset
from mipsrec.target import this_target
from mipsrec.target.running_code import Access, Kind

X86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="words of x86-64")
DECODED = (
    ("488b4610", Kind.MEMORY, "l"),  # mov rax, [rsi + 16]
    ("48894610", Kind.MEMORY, "s"),  # mov [rsi + 16], rax
    ("0fb607", Kind.MEMORY, "l"),  # movzx eax, byte [rdi]
    ("f20f1006", Kind.MEMORY, "l"),  # movsd xmm0, [rsi]
    ("38f00f38f006", Kind.COMPARE, ""),  # cmp al, dh
    ("01442410", Kind.ARITHMETIC, "ls"),  # add [rsp + 16], eax
    ("83bf0004000000", Kind.COMPARE, "l"),  # cmp dword [rdi + 1024], 0
    ("f00fb10f", Kind.ARITHMETIC, "ls"),  # lock cmpxchg [rdi], ecx
    ("870f", Kind.MEMORY, "ls"),  # xchg [rdi], ecx
    ("0fc8", Kind.ARITHMETIC, ""),  # bswap eax
    ("89c8", Kind.MOVE, ""),  # mov eax, ecx
    ("66480f6ec0", Kind.MOVE, ""),  # movq xmm0, rax
    ("488d0480", Kind.ADDRESS, ""),  # lea rax, [rax + 4 * rax]
    ("0f44c1", Kind.SELECT, ""),  # cmove eax, ecx
    ("0f94c0", Kind.SELECT, ""),  # sete al
    ("7400", Kind.BRANCH, ""),
    ("eb00", Kind.JUMP, ""),
    ("ff24c500000000", Kind.JUMP, "l"),  # jmp [8 * rax]
    ("e800000000", Kind.CALL, "S"),
    ("ff1500000000", Kind.CALL, "lS"),  # call [rip]
    ("c3", Kind.RETURN, "L"),
    ("f3c3", Kind.RETURN, "L"),
    ("50", Kind.STACK, "S"),
    ("5b", Kind.STACK, "L"),
    ("ff36", Kind.STACK, "lS"),  # push [rsi]
    ("f20f5806", Kind.FLOAT, "l"),  # addsd xmm0, [rsi]
    ("f20f1106", Kind.MEMORY, "s"),  # movsd [rsi], xmm0
    ("c5fc2907", Kind.MEMORY, "s"),  # vmovaps [rdi], ymm0
    ("c4e37d390701", Kind.FLOAT, "s"),  # vextracti128 [rdi], ymm0, 1
    ("f20f2c07", Kind.FLOAT, "l"),  # cvttsd2si eax, [rdi]
    ("d91f", Kind.FLOAT, "s"),  # fstp [rdi]
    ("d907", Kind.FLOAT, "l"),  # fld [rdi]
    ("0fae5c2404", Kind.FLOAT, "s"),  # stmxcsr [rsp + 4]
    ("f348ab", Kind.MEMORY, "s"),  # rep stosq
    ("f3a4", Kind.MEMORY, "sl"),  # rep movsb
    ("0f1f440000", Kind.NOTHING, ""),  # nop [rax + rax]
    ("f30f1efa", Kind.NOTHING, ""),
    ("0f05", Kind.OTHER, ""),
    ("06", Kind.OTHER, ""),  # no instruction
    ("", Kind.OTHER, ""),  # no memory
)


def letters(access: Access) -> str:
    """l and s for a load and a store, in capitals for those of a push, pop, call or return."""
    text = "l" * access.loads + "s" * access.stores
    return text.upper() if access.pushes else text


@X86_64
@pytest.mark.parametrize("code, kind, accesses", DECODED, ids=[row[0] or "none" for row in DECODED])
def test_kinds(code: str, kind: Kind, accesses: str) -> None:
    instruction = this_target().running_code().decode(bytes.fromhex(code), 0x1000)
    assert (instruction.kind, "".join(map(letters, instruction.accesses))) == (kind, accesses)
    assert instruction.repeats == (code in ("f348ab", "f3a4", "f3c3"))


@X86_64
def test_addresses() -> None:
    host = this_target().running_code()

    def address(code: str, **registers: int) -> int:
        (access,) = host.decode(bytes.fromhex(code), 0x1000).accesses
        return access.displacement + sum(registers[host.registers[at]] * scale for at, scale in access.registers)

    assert address("488b44c8f0", rax=0x100, rcx=3) == 0x100 + 24 - 16
    assert address("488b0510000000") == 0x1017  # relative to the end of the instruction
    assert address("64488b042508000000", fs_base=0x7000) == 0x7008
    assert address("50", rsp=0x100) == 0xF8
    assert address("c3", rsp=0x100) == 0x100
    assert host.thread_local(0x10000, 0x123, 0x40, 0x20) == 0x10000 - 0x140 + 0x20


COMMITS = (
    ([], 2, 0), ([1], 2, 1), ([1, 1], 2, 1), ([1, 1, 1], 2, 2), ([1, 2, 1], 2, 3), ([1, 1, 1], 1, 3), ([5, 5, 6], 2, 2),
)  # fmt: skip


@pytest.mark.parametrize("lines, joined, count", COMMITS)
def test_commits(lines: list[int], joined: int, count: int) -> None:
    assert commits(lines, joined) == count


def test_state_is_told_by_name() -> None:
    assert [name_at(slot_offset("gpr", number)) for number in (0, 2, 29, 31)] == ["zero", "v0", "sp", "ra"]
    assert name_at(slot_offset("fpr", 4) + 4) == "f4"
    assert (name_at(OFFSETS["hilo"]), name_at(OFFSETS["hilo"] + 4)) == ("lo", "hi")
    assert (name_at(OFFSETS["signalled"]), name_at(OFFSETS["size"] - 1)) == ("signalled", "write_pages")


def test_mappings() -> None:
    lines = (
        "00400000-00452000 r-xp 00001000 08:02 173521      /usr/lib/a b.so\n", "00e03000-00e24000 rw-p 0 00:00 0 \n",
    )  # fmt: skip
    mappings = Mappings([parse_mapping(line) for line in lines])
    code, data = mappings.at(0x451FFF), mappings.at(0xE03000)
    assert code is not None and (code.path, code.offset, code.executable, code.writable) == (
        "/usr/lib/a b.so", 0x1000, True, False,
    )  # fmt: skip
    assert data is not None and (data.path, data.executable, data.writable) == ("", False, True)
    assert (mappings.at(0x3FFFFF), mappings.at(0x452000), mappings.at(0xE24000)) == (None, None, None)
    assert mappings.within(0x400000, 0x100000) == [code]


def test_sums_and_reports_of_nothing() -> None:
    one = Counts(windows=1, steps=3)
    one.tiers[Tier.HOST] = 3
    both = total([one, one])
    assert (both.windows, both.steps, both.tiers[Tier.HOST]) == (2, 6, 6)
    mix = Mix("prog", Counts(), None)
    assert report_text(mix).startswith("prog: 0 host instructions in 0 windows")
    assert report_data(mix)["tiers"] is None
