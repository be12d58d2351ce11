"""Word forms: whether a register that calls pass in a vector register crosses from block to block as a word.

Needs: the graph, the units, the live registers.
Sets: `word_forms`: the registers of CARRIED_FLOATS that are words at the start and at the end of each block.
Keeps: each edge has one form at both its ends, and no entry has words. The bits are the same in both forms, so results
do not depend on it.
Off when: some registers are in the state between blocks (`memory_resident`).

Such a register has a float as its variable, so that it stays where it is from call to call. A loop that counts in it
would move it between the host's two kinds of registers twice in each iteration, and wait for that. The form matters
where different values meet. There it is that of most of them and of their uses, as often as these are executed. Only
loops have words, and only if what they use most of the time fits into the host's general-purpose registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...analysis import Block, End
from ...flow.frequency import Frequencies
from ...flow.graph import Graph
from ...flow.ways import ways_of
from ...isa.effects import effects, masks
from ..convention import CARRIED_FLOATS
from ..ir import FunctionPlan

_PASSES = (End.CALL, End.RETURN, End.INDIRECT)
_OFTEN = 1 / 4
"""Of the iterations: what fewer execute may be spilled."""
_MOST_REGISTERS = 12
"""Of the guest, in use at once. The host has two more, of which LLVM takes some for addresses."""
_MOST_ROUNDS = 8
_GPR_BITS = 0xFFFFFFFE
_WORD, _FLOAT, _EITHER, _MEETING = range(4)
"""What a value is made as. What is loaded is as good as either; where values meet, one of them comes."""
_Value = tuple[int, int]
"""The pc of the block that makes it, and as what."""


@dataclass(frozen=True, slots=True)
class _Use:
    """What a block does with a register: it reads what comes in as a word, passes that on as a float, makes another."""

    reads: bool
    passes: bool
    made: int | None


@dataclass
class _Meetings:
    """Where values of a register meet: what comes into each block and out of it, and the blocks at whose start."""

    into: dict[int, _Value] = field(default_factory=dict)
    out: dict[int, _Value] = field(default_factory=dict)
    at: set[int] = field(default_factory=set)


def run(plan: FunctionPlan) -> None:
    """Decide the forms of all registers that calls pass in vector registers."""
    if plan.memory_resident or not plan.graph.loops:
        return
    chooser = None
    for number in CARRIED_FLOATS:
        uses = {pc: _use_of(plan.graph.blocks[pc], number, plan.options.fr) for pc in plan.graph.order}
        if any(use.made == _WORD for use in uses.values()):
            chooser = chooser or _Chooser(plan)
            chooser.choose(number, uses)


def _use_of(block: Block, number: int, fr: int) -> _Use:
    reads, made, bit = False, None, 1 << number
    for instruction in block.instructions():
        read, written = masks(instruction, fr)
        if not (read | written) & bit:
            continue
        does = effects(instruction.row)
        is_stored = does.stores and not does.loads and instruction.rs != number  # as good as a float
        reads |= bool(read & bit) and made is None and not is_stored
        if written & bit:
            made = _EITHER if does.loads else _WORD
    passes = made is None and block.end in _PASSES
    return _Use(reads, passes, _FLOAT if block.end is End.CALL else made)


def _meetings(graph: Graph, uses: Mapping[int, _Use]) -> _Meetings:
    """Return where values meet, and what comes to each block."""
    found, order = _Meetings(dict.fromkeys(graph.entries, (-1, _FLOAT))), graph.topological_order()
    changed = True
    while changed:
        changed = False
        for pc in order:
            if pc not in graph.entries and pc not in found.at:
                values = {found.out[source] for source in graph.predecessors[pc] if source in found.out}
                if len(values) > 1:
                    found.at.add(pc)
                if values:
                    found.into[pc] = (pc, _MEETING) if len(values) > 1 else values.pop()
            made = uses[pc].made
            value = found.into.get(pc) if made is None else (pc, made)
            if value is not None and found.out.get(pc) != value:
                found.out[pc] = value
                changed = True
    return found


class _Chooser:
    """Chooses the forms of one register after another."""

    def __init__(self, plan: FunctionPlan) -> None:
        self._plan = plan
        self._graph = plan.graph
        self._frequencies = Frequencies(plan.graph)
        self._ways = ways_of(plan.graph)
        self._registers: dict[int, int] = {}  # by head of a loop: how many its iterations use often

    def choose(self, number: int, uses: Mapping[int, _Use]) -> None:
        """Decide the form of a register."""
        bit, forms, graph, ways = 1 << number, self._plan.word_forms, self._graph, self._ways
        meetings = _meetings(graph, uses)
        meetings.at = {pc for pc in meetings.at if self._plan.context.live_in[pc] & bit}
        words = self._words(meetings, uses)
        for pc in graph.order if words else ():
            if ways.into[pc] in words:
                forms.into[pc] |= bit
            if ways.out[pc] in words:
                forms.out[pc] |= bit

    def _words(self, meetings: _Meetings, uses: Mapping[int, _Use]) -> set[int]:
        """Return the classes of ways on which a register is a word."""
        ways, often, into = self._ways, self._frequencies.of_block, self._ways.into
        reads, passes = dict.fromkeys(meetings.at, 0.0), dict.fromkeys(meetings.at, 0.0)
        for pc, (origin, kind) in meetings.into.items():
            if kind == _MEETING and origin in meetings.at:
                if uses[pc].reads:  # LLVM moves it once, for all reads after that
                    reads[origin] = max(reads[origin], often[pc])
                if uses[pc].passes:
                    passes[origin] += often[pc]
        balance = {into[pc]: 0.0 for pc in meetings.at}
        links: dict[int, list[tuple[int, float]]] = {way: [] for way in balance}
        for pc in meetings.at:
            balance[into[pc]] += reads[pc] - passes[pc]
            for source in self._graph.predecessors[pc]:
                origin, kind = meetings.out[source]
                if kind in (_WORD, _FLOAT):
                    balance[into[pc]] += often[source] if kind == _WORD else -often[source]
                elif origin in meetings.at and into[origin] != into[pc]:
                    links[into[pc]].append((into[origin], often[source]))
                    links[into[origin]].append((into[pc], often[source]))
        never = {ways.into[pc] for pc in self._graph.entries}
        never |= {into[pc] for pc in meetings.at if not self._has_room(pc)}
        return _settled({way: total for way, total in balance.items() if way not in never}, links)

    def _has_room(self, pc: int) -> bool:
        """Return whether the innermost loop around a block has host registers left."""
        head = self._frequencies.loop_of.get(pc)
        if head is None:
            return False
        if head not in self._registers:
            used = 0
            for block, often in self._frequencies.of_loop[head].items():
                if often >= _OFTEN:
                    for instruction in self._graph.blocks[block].instructions():
                        read, written = masks(instruction, self._plan.options.fr)
                        used |= read | written
            self._registers[head] = (used & _GPR_BITS).bit_count()
        return self._registers[head] <= _MOST_REGISTERS


def _settled(balance: Mapping[int, float], links: Mapping[int, list[tuple[int, float]]]) -> set[int]:
    """Return the classes that are words, where those that are linked would rather have the same form."""
    words = {way for way, total in balance.items() if total > 0}
    for _ in range(_MOST_ROUNDS):
        before = words
        words = set()
        for way, total in balance.items():
            total += sum(weight if other in before else -weight for other, weight in links[way])
            if total > 0:
                words.add(way)
        if words == before:
            break
    return words
