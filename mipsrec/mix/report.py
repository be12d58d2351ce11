"""The counts of an instruction mix as text, and as data for JSON.

Enters: `Counts`, and guest instructions by tier. Leaves: text in which shares are per cent of all instructions, and
data with counts, whose keys are the names of the enumerations in lower case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..errors import one_line
from ..target.running_code import Kind
from .counts import Counts, Where
from .guest_way import GuestCounts
from .landmarks import Tier

_MOST_REGISTERS = 20


@dataclass(frozen=True)
class Mix:
    """What a report is of; `guest` is None for a native program."""

    program: str
    counts: Counts
    guest: GuestCounts | None

    def share(self, count: int) -> str:
        return f"{100 * count / max(1, self.counts.steps):.2f}"

    def per_guest_instruction(self, tier: Tier) -> float | None:
        """Return how many host instructions of a tier there are for a guest instruction; None where too few were."""
        passed = self.guest.instructions[tier] if self.guest is not None else 0
        return self.counts.tiers[tier] / passed if passed else None

    @property
    def knows_guest(self) -> bool:
        return self.guest is not None and self.counts.guest_threads > 0


def _head(mix: Mix) -> Iterator[str]:
    counts = mix.counts
    line = f"{one_line(mix.program)}: {counts.steps:,} host instructions in {counts.windows} windows"
    if not mix.knows_guest:
        yield line
        if mix.guest is not None:
            yield "(the host has no symbol table, so what is the guest's is not told apart)"
        return
    yield line + "; " + ", ".join(f"{mix.share(counts.tiers[tier])} % {tier.value}" for tier in Tier)
    rates = ((mix.per_guest_instruction(tier), tier) for tier in Tier)
    known = [f"{rate:.2f} in {tier.value}" for rate, tier in rates if rate is not None]
    if known:
        yield f"host instructions for a guest instruction: {', '.join(known)}"


def _kinds(mix: Mix) -> Iterator[str]:
    yield f"{'%':>7}  what an instruction does"
    for kind, count in mix.counts.kinds.most_common():
        yield f"{mix.share(count):>7}  {kind.value}"


def _accesses(mix: Mix) -> Iterator[str]:
    counts = mix.counts
    yield f"{'loads %':>8} {'stores %':>8}  memory accessed"
    for where in Where:
        if mix.knows_guest or where not in (Where.GUEST, Where.STATE):
            yield f"{mix.share(counts.loads[where]):>8} {mix.share(counts.stores[where]):>8}  {where.value}"
    stores = counts.stores.total()
    yield f"{mix.share(counts.loads.total()):>8} {mix.share(stores):>8}  all"
    yield ""
    bound = counts.steps / max(1, counts.commits)
    yield (f"{mix.share(stores)} % stores in {mix.share(counts.commits)} % commits: a core that does one in a cycle "
           f"performs at most {bound:.2f} instructions in a cycle")  # fmt: skip


def _registers(mix: Mix) -> Iterator[str]:
    loaded, stored = mix.counts.loaded, mix.counts.stored
    names = [name for name, _ in (loaded + stored).most_common()]
    if not mix.knows_guest or not names:
        return
    yield ""
    yield f"{'loads %':>8} {'stores %':>8}  guest's register"
    for name in names[:_MOST_REGISTERS]:
        yield f"{mix.share(loaded[name]):>8} {mix.share(stored[name]):>8}  {name}"
    rest = names[_MOST_REGISTERS:]
    if rest:
        sums = (sum(counter[name] for name in rest) for counter in (loaded, stored))
        yield " ".join(f"{mix.share(count):>8}" for count in sums) + f"  ({len(rest)} more)"


def report_text(mix: Mix) -> str:
    """Return the tables, one below the other."""
    parts: tuple[Iterable[str], ...] = (_head(mix), ("",), _kinds(mix), ("",), _accesses(mix), _registers(mix))
    return "\n".join(line for part in parts for line in part)


def _named(counter: Counter[Any], names: type[Enum]) -> dict[str, int]:
    return {one.name.lower(): counter[one] for one in names}


def report_data(mix: Mix) -> dict[str, Any]:
    """Return the same for JSON: all are counts. What is the guest's is None for a native program."""
    counts, guest = mix.counts, mix.guest if mix.knows_guest else None
    registers = sorted(counts.loaded.keys() | counts.stored.keys())
    return {
        "program": mix.program,
        "windows": counts.windows,
        "instructions": counts.steps,
        "kinds": _named(counts.kinds, Kind),
        "loads": _named(counts.loads, Where),
        "stores": _named(counts.stores, Where),
        "store_commits": counts.commits,
        "tiers": _named(counts.tiers, Tier) if guest is not None else None,
        "registers": {
            name: {"loads": counts.loaded[name], "stores": counts.stored[name]} for name in registers
        } if guest is not None else None,
        "guest_instructions": _named(guest.instructions, Tier) if guest is not None else None,
        "landmarks": guest.landmarks if guest is not None else None,
        "landmarks_unconnected": guest.unconnected if guest is not None else None,
    }  # fmt: skip
