"""How a plan begins and its blocks end, both ways: a line for each node (nodes.py), and one for each way on.

Enters: nodes, or lines. Leaves: lines, or nodes. A mask that is not there is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ..convention import Callee
from ..facts.dirty import with_dirty
from ..facts.shared_switches import shared_cases
from ..ir import BlockPlan, FunctionPlan
from ..nodes import (
    Branch,
    Call,
    Destination,
    Edge,
    Entry,
    Goto,
    Hub,
    Interpret,
    Jump,
    Node,
    Return,
    Stop,
    Syscall,
)
from .words import Line, Lines, line_text, numbers_text, pcs_text, registers_text, some

_Fields = dict[str, str | bool]
_DESTINATION = re.compile(
    r"(?P<pc>register|[0-9a-f]{8})(?: likely (?P<guess>[0-9a-f]{8}))?(?: as (?P<symbol>\S+))?(?P<copied> copied)?"
    r" with (?P<arguments>.*)\Z"
)


def entry_line(entry: Entry) -> str:
    """Return the line that says how a plan begins."""
    return line_text("  begins", {name: some(getattr(entry, name)) for name in ("takes", "gives", "stores", "loads")})


def hub_lines(plan: FunctionPlan) -> Iterator[str]:
    """Yield the lines of what jumps share."""
    for number, hub in enumerate(plan.hubs.values()):
        fields = {"sources": pcs_text(hub.sources), "dirty": some(hub.dirty), "stores": some(hub.stores)}
        yield line_text(f"  hub {number}", fields | {"elsewhere": _destination_text(hub.elsewhere)})
        for edge in hub.edges.values():
            yield from _edge_lines(edge, None)


def end_lines(plan: FunctionPlan, block: BlockPlan) -> Iterator[str]:
    """Yield the lines of the node at the end of a block."""
    end, source = block.end, block.block.start
    if isinstance(end, Goto):
        yield line_text("  goto", {"saves": some(end.saves)})
        yield from _edge_lines(end.edge, source)
    elif isinstance(end, Branch):
        yield line_text("  branch", {"saves": some(end.saves), "repeats": end.repeats})
        yield from _edge_lines(end.taken, source)
        yield from _edge_lines(end.other, source)
    elif isinstance(end, Jump):
        yield line_text("  jump", _jump_fields(plan, end))
        for edge in end.edges.values():
            yield from _edge_lines(edge, source)
    elif isinstance(end, Return):
        yield _return_line(end, "  ")
    elif isinstance(end, Syscall):
        yield line_text("  syscall", {"stores": some(end.stores), "loads": some(end.loads)})
        yield from _edge_lines(end.after, source)
    elif isinstance(end, Call):
        yield from _call_lines(end, source)
    elif end is not None:
        yield line_text("  stop" if isinstance(end, Stop) else "  interpret", {"stores": some(end.stores)})


def _jump_fields(plan: FunctionPlan, end: Jump) -> _Fields:
    hubs = list(plan.hubs.values())
    return {
        "hub": str(next(n for n, hub in enumerate(hubs) if hub is end.hub)) if end.hub is not None else "",
        "saves": some(end.saves),
        "stores": some(end.stores),
        "elsewhere": _destination_text(end.elsewhere),
        "unwinds": end.unwinds,
        "results": numbers_text(end.results),
    }


def _return_line(end: Return, indent: str) -> str:
    return line_text(f"{indent}return", {"stores": some(end.stores), "results": numbers_text(end.results)})


def _call_lines(end: Call, source: int) -> Iterator[str]:
    fields: _Fields = {
        "to": _destination_text(end.to),
        "conditional": end.conditional,
        "exposes": registers_text(end.exposes) if end.exposes is not None else "",
        "stores": some(end.stores),
        "missed": some(end.missed),
        "returned": some(end.returned),
        "loads": some(end.loads),
    }
    yield line_text("  call", fields)
    yield from _edge_lines(end.after, source)


def _edge_lines(edge: Edge, source: int | None) -> Iterator[str]:
    fields: _Fields = {
        "from": f"{edge.source:08x}" if edge.source != source else "",
        "dirty": some(edge.dirty),
        "stores": some(edge.stores),
        "loads": some(edge.loads),
        "safepoint": edge.has_safepoint,
        "polls": some(edge.polls),
        "leaves": _destination_text(edge.leaves) if edge.leaves is not None else "",
        "copied": edge.copy is not None,
    }
    yield line_text(f"  -> {edge.target:08x}", fields)
    if edge.copy is not None and isinstance(edge.copy.end, Return):
        yield _return_line(edge.copy.end, "     ")


def _destination_text(to: Destination) -> str:
    likely = f" likely {to.guess:08x}" if to.guess is not None else ""
    callee = f" as {to.callee.symbol}" if to.callee is not None else ""
    place = f"{to.pc:08x}" if to.pc is not None else "register"
    return f"{place}{likely}{callee}{' copied' if to.is_copied else ''} with {numbers_text(to.arguments) or '-'}"


# ---- reading ----


class Ends:
    """Reads the nodes of a plan. `callees` are those that it may lead to, by pc."""

    def __init__(self, plan: FunctionPlan, callees: Mapping[int, Callee]) -> None:
        self._plan = plan
        self._callees = callees
        self._hubs: list[Hub] = []

    def entry(self, line: Line) -> Entry:
        """Return how a plan begins."""
        takes, gives, stores, loads = map(line.registers, ("takes", "gives", "stores", "loads"))
        return Entry(takes, gives, stores, loads)

    def hub(self, line: Line, lines: Lines) -> None:
        """Read a hub, and its edges from the front of the lines."""
        sources, dirty, stores = line.pcs("sources"), line.registers("dirty"), line.registers("stores")
        first = self._plan.function.blocks.get(sources[0]) if sources else None
        table = self._plan.function.jump_tables.get(first.terminator_pc) if first is not None else None
        if first is None or table is None:
            line.refuse("its first source ends in no jump by a table")
        hub = Hub(shared_cases(table, first), self._destination(line, line.value("elsewhere")), sources, dirty, stores)
        while lines.next_is("->"):
            edge = self._edge(lines, 0)
            hub.edges[edge.target] = edge
        self._hubs.append(hub)
        self._plan.hubs[hub.cases] = hub

    def end(self, block: BlockPlan, lines: Lines) -> Node:
        """Return the node that the lines at the end of a block say."""
        source = block.block.start
        line = lines.take()
        kind = line.word(0)
        if kind == "call":
            return self._call(line, lines, source)
        if kind == "goto":
            saves = line.registers("saves")
            return Goto(self._edge(lines, source), saves)
        if kind == "branch":
            return self._branch(line, lines, source)
        if kind == "jump":
            return self._jump(line, lines, source)
        if kind == "return":
            return _read_return(line)
        if kind == "syscall":
            stores, loads = line.registers("stores"), line.registers("loads")
            return Syscall(stores, loads, self._edge(lines, source))
        if kind not in ("stop", "interpret"):
            line.refuse("no line of the end of a block begins so")
        stores = line.registers("stores")
        return Stop(stores) if kind == "stop" else Interpret(stores)

    def _branch(self, line: Line, lines: Lines, source: int) -> Branch:
        saves, repeats = line.registers("saves"), line.has("repeats")
        return Branch(self._edge(lines, source), self._edge(lines, source), saves, repeats)

    def _jump(self, line: Line, lines: Lines, source: int) -> Jump:
        number, hub = line.value("hub"), None
        if number is not None:
            at = line.integer(number)
            if not 0 <= at < len(self._hubs):
                line.refuse(f"there is no hub {number}")
            hub = self._hubs[at]
        saves, stores, unwinds = line.registers("saves"), line.registers("stores"), line.has("unwinds")
        elsewhere, results = self._destination(line, line.value("elsewhere")), line.numbers(line.value("results") or "")
        edges: dict[int, Edge] = {}
        while lines.next_is("->"):
            edge = self._edge(lines, source)
            edges[edge.target] = edge
        return Jump(edges, hub, saves, stores, elsewhere, unwinds, results)

    def _call(self, line: Line, lines: Lines, source: int) -> Call:
        exposes = line.registers("exposes") if line.is_there("exposes") else None
        to, conditional = self._destination(line, line.value("to")), line.has("conditional")
        stores, missed, returned, loads = map(line.registers, ("stores", "missed", "returned", "loads"))
        after = self._edge(lines, source)
        return Call(conditional, to, exposes, stores, missed, returned, loads, after)

    def _edge(self, lines: Lines, source: int) -> Edge:
        line = lines.take("->")
        target, start, dirty = line.pc(line.word(1)), line.one_pc("from"), line.registers("dirty")
        stores, loads, polls = map(line.registers, ("stores", "loads", "polls"))
        has_safepoint, copy = line.has("safepoint"), None
        leaves = self._destination(line, line.value("leaves")) if line.is_there("leaves") else None
        if line.has("copied"):
            if target not in self._plan.blocks:
                line.refuse("what is copied is no block of the function")
            copy = with_dirty(self._plan, self._plan.blocks[target], dirty)
            copy.end = _read_return(lines.take("return"))
        source = source if start is None else start
        return Edge(source, target, dirty, stores, loads, has_safepoint, polls, leaves, copy)

    def _destination(self, line: Line, text: str | None) -> Destination:
        found = _DESTINATION.match(text or "")
        if found is None:
            line.refuse("it says nowhere where it leads")
        pc = None if found["pc"] == "register" else line.pc(found["pc"])
        guess = line.pc(found["guess"]) if found["guess"] is not None else None
        symbol, place, callee = found["symbol"], guess if pc is None else pc, None
        if symbol is not None:
            callee = self._callees.get(place) if place is not None else None
            if callee is None or callee.symbol != symbol:
                line.refuse(f"no callee at this place is {symbol}")
        arguments = line.numbers(found["arguments"] if found["arguments"] != "-" else "")
        return Destination(pc, arguments, callee, guess, found["copied"] is not None)


def _read_return(line: Line) -> Return:
    stores = line.registers("stores")
    return Return(stores, line.numbers(line.value("results") or ""))
