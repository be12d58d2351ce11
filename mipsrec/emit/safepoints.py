"""Writes safepoints: where recompiled code looks whether a signal waits."""

from __future__ import annotations

from ..abi import STAY
from ..state import OFFSETS
from .doors import door
from .emission import Emission
from .writer import LIKELY, location, text


def write_safepoint(emission: Emission, pc: int, stores: int) -> None:
    """Let the host deliver what waits before control goes on at a guest pc; the state gets what it lacks there."""
    writer, machine = emission.writer, emission.machine
    wait, go_on = writer.fresh_label(), writer.fresh_label()
    writer.void('fence syncscope("singlethread") acquire')  # the host's signal handler writes it
    field = writer.value(f"getelementptr i8, ptr %s, i64 {OFFSETS['signalled']}")
    flag = writer.value(f"icmp eq i32 {writer.value(f'load i32, ptr {field}')}, 0")
    writer.void(f"br i1 {flag}, label %{go_on}, label %{wait}, {LIKELY}")
    writer.label(wait)
    machine.registers.flush(stores)
    at = text(writer.cold_pc(pc))
    after = writer.value(f"call {door('mr_poll')}(ptr %s, i32 {at}){location(pc, emission.scope)}")
    leave = machine.way_out(after)
    stay = writer.value(f"icmp eq i32 {after}, {STAY}")
    writer.void(f"br i1 {stay}, label %{go_on}, label %{leave}")
    writer.label(go_on)
    machine.start_block()
