"""What was stepped through in a window, as counts that add up over windows.

Enters: a `Window`. Leaves: `Counts`. Each instruction has one kind, for what it does besides memory; its accesses are
counted beside that, by where they go. A repeated string instruction counts once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from ..state import name_at
from ..target import this_target
from ..target.running_code import Access, HostInstruction, Kind
from .guest_code import GuestCode
from .landmarks import Landmark, Tier
from .running import WINDOW_BYTES, Mapping, RunningProcess
from .windows import Window


class Where(Enum):
    """What an access is to."""

    GUEST = "guest memory"
    STATE = "guest's registers"
    PUSHED = "host stack, by call and push"
    STACK = "host stack, else"
    OTHER = "other"


@dataclass
class Counts:
    """Of one window or more. `ways` are of one window each."""

    windows: int = 0
    steps: int = 0
    tiers: Counter[Tier] = field(default_factory=Counter)
    kinds: Counter[Kind] = field(default_factory=Counter)
    loads: Counter[Where] = field(default_factory=Counter)
    stores: Counter[Where] = field(default_factory=Counter)
    commits: int = 0
    loaded: Counter[str] = field(default_factory=Counter)
    stored: Counter[str] = field(default_factory=Counter)
    """Accesses to the state, by register or field."""
    guest_threads: int = 0
    """In how many windows the thread ran a guest."""
    guest_paths: set[str] = field(default_factory=set)
    ways: list[list[Landmark]] = field(default_factory=list)

    def add(self, other: Counts) -> None:
        for counter in ("tiers", "kinds", "loads", "stores", "loaded", "stored"):
            getattr(self, counter).update(getattr(other, counter))
        self.windows += other.windows
        self.steps += other.steps
        self.commits += other.commits
        self.guest_threads += other.guest_threads
        self.guest_paths |= other.guest_paths
        self.ways += other.ways


def total(windows: list[Counts]) -> Counts:
    result = Counts()
    for one in windows:
        result.add(one)
    return result


def commits(lines: list[int], joined: int) -> int:
    """Return in how many parts a core writes to these cache lines, `joined` in a row to one line at most together."""
    count, together, before = 0, 0, None
    for line in lines:
        together = together + 1 if line == before and together < joined else 1
        count += together == 1
        before = line
    return count


class _Counting:
    """The working state of one window's count."""

    def __init__(self, process: RunningProcess, window: Window, code: GuestCode) -> None:
        self.window, self.code = window, code
        self.host = this_target().running_code()
        self.executable = process.executable
        self.counts = Counts(windows=1, guest_threads=int(window.state is not None))
        self.decoded: dict[int, tuple[HostInstruction, Tier, list[Landmark]]] = {}
        self.stack: Mapping | None = None
        self.lines: list[int] = []
        """Which cache lines stores went to, in order."""

    def _tier(self, mapping: Mapping | None) -> Tier:
        state = self.window.state
        if state is None or mapping is None or mapping.path == self.executable:
            return Tier.HOST
        if mapping.start <= state.code < mapping.end:
            return Tier.BASELINE
        return Tier.RECOMPILED if self.code.is_library(mapping.path) else Tier.HOST

    def _guest_landmark(self, guest_pc: int) -> Landmark:
        """Return the landmark that the code of an instruction of the baseline tier is."""
        assert self.window.state is not None
        mapping = self.window.mappings.at(self.window.state.base + guest_pc)
        if mapping is None or not mapping.path.startswith("/"):
            return Landmark(Tier.BASELINE, "", guest_pc, None)
        offset = self.window.state.base + guest_pc - mapping.start + mapping.offset
        return Landmark(Tier.BASELINE, mapping.path, offset, None)

    def _called(self, pc: int) -> Landmark:
        """Return the landmark that recompiled code is where a call leads to it."""
        mapping = self.window.mappings.at(pc)
        assert mapping is not None
        return Landmark(Tier.RECOMPILED, mapping.path, pc - mapping.start + mapping.offset, None)

    def _landmarks(self, pc: int, mapping: Mapping | None, tier: Tier, kind: Kind) -> Iterator[Landmark]:
        if tier is Tier.BASELINE:
            yield from map(self._guest_landmark, self.window.entries.get(pc, ()))
        elif tier is Tier.RECOMPILED and kind in (Kind.BRANCH, Kind.JUMP, Kind.CALL, Kind.RETURN):
            assert mapping is not None
            yield Landmark(tier, mapping.path, pc - mapping.start + mapping.offset, kind)

    def _decode(self, pc: int) -> tuple[HostInstruction, Tier, list[Landmark]]:
        if pc not in self.decoded:
            instruction = self.host.decode(self.window.code[pc], pc)
            mapping = self.window.mappings.at(pc)
            tier = self._tier(mapping)
            self.decoded[pc] = instruction, tier, list(self._landmarks(pc, mapping, tier, instruction.kind))
        return self.decoded[pc]

    def _where(self, access: Access, address: int, sp: int) -> Where:
        state = self.window.state
        if access.pushes:
            return Where.PUSHED
        if state is not None and state.holds(address):
            return Where.STATE
        if state is not None and state.is_guest_memory(address):
            return Where.GUEST
        if self.stack is None or not self.stack.start <= sp < self.stack.end:
            self.stack = self.window.mappings.at(sp)
        return Where.STACK if self.stack is not None and self.stack.start <= address < self.stack.end else Where.OTHER

    def _access(self, access: Access, registers: tuple[int, ...]) -> None:
        address = access.displacement
        for position, scale in access.registers:
            address += registers[position] * scale
        address &= (1 << 64) - 1
        where = self._where(access, address, registers[self.host.sp])
        state = self.window.state
        name = name_at(address - state.address) if where is Where.STATE and state is not None else None
        if access.loads:
            self.counts.loads[where] += 1
            self.counts.loaded.update((name,) if name else ())
        if access.stores:
            self.counts.stores[where] += 1
            self.counts.stored.update((name,) if name else ())
            first, last = address // self.host.line_bytes, (address + access.size_bytes - 1) // self.host.line_bytes
            self.lines += range(first, last + 1)

    def count(self) -> Counts:
        counts, way, before, called = self.counts, list[Landmark](), -1, False
        for registers in self.window.steps:
            pc = registers[self.host.pc]
            instruction, tier, landmarks = self._decode(pc)
            if pc == before and instruction.repeats:
                continue
            before = pc
            counts.steps += 1
            counts.tiers[tier] += 1
            counts.kinds[instruction.kind] += 1
            if called and tier is Tier.RECOMPILED:
                way.append(self._called(pc))
            called = instruction.kind is Kind.CALL
            way += landmarks
            for access in instruction.accesses:
                self._access(access, registers)
        counts.commits = commits(self.lines, self.host.joined_stores)
        counts.ways.append(way)
        state = self.window.state
        if state is not None:
            guest = self.window.mappings.within(state.base, WINDOW_BYTES)
            counts.guest_paths = {mapping.path for mapping in guest if mapping.path.startswith("/")}
        return counts


def count(process: RunningProcess, window: Window, code: GuestCode) -> Counts:
    """Return the counts of one window."""
    return _Counting(process, window, code).count()
