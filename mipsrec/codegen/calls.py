"""The calling convention of lifted functions, in one place so that another can take its stead.

`i32 f(ptr state)`: all guest registers pass through the state, and the value returned is the guest pc that the function
returns to. The caller compares it with the pc it expects; on a mismatch it returns that pc itself, until somebody who
knows it is found: so longjmp, exceptions and context switches need no special care. Calls of pcs that are not known
when the code is made go through the host's dispatch table (`@dispatch` in every module), which falls back on the
host's `mr_call`. With `--calls thunked` every call goes through `mr_call`.
"""

from __future__ import annotations

from collections.abc import Callable

from ..state import OFFSETS
from .memory_models import Value, text
from .options import CodegenOptions
from .writer import LIKELY, STATE_TAG, TABLE_TAG, Writer

DISPATCH = f"""\
define internal i32 @dispatch(ptr noalias %s, i32 %target) #1 {{
  %pc = getelementptr i8, ptr %s, i64 {OFFSETS["pc"]}
  store i32 %target, ptr %pc, {STATE_TAG}
  %index = call i32 @llvm.fshr.i32(i32 %target, i32 %target, i32 2)
  %inside = icmp ult i32 %index, 536870912
  br i1 %inside, label %look, label %slow, {LIKELY}
look:
  %field = getelementptr i8, ptr %s, i64 {OFFSETS["dispatch"]}
  %table = load ptr, ptr %field, {STATE_TAG}, !invariant.load !0
  %wide = zext i32 %index to i64
  %entry = getelementptr ptr, ptr %table, i64 %wide
  %function = load ptr, ptr %entry, {TABLE_TAG}
  %known = icmp ne ptr %function, null
  br i1 %known, label %fast, label %slow, {LIKELY}
fast:
  %a = tail call i32 %function(ptr %s)
  ret i32 %a
slow:
  %b = tail call i32 @mr_call(ptr %s, i32 %target)
  ret i32 %b
}}
"""
"""Calls the lifted function at a guest pc, or the host."""


class StateCalls:
    """Writes calls and tail calls; the state must be complete before each of them."""

    def __init__(self, writer: Writer, options: CodegenOptions, symbol: Callable[[int], str | None]) -> None:
        self._writer = writer
        self._thunked = options.calls == "thunked"
        self._symbol = symbol

    def _direct(self, target: Value) -> str | None:
        return self._symbol(target) if isinstance(target, int) and not self._thunked else None

    def call(self, target: Value, guess: int | None) -> str:
        """Call a guest pc; return the pc that comes back."""
        writer = self._writer
        symbol = self._direct(target)
        if symbol is not None:
            return writer.value(f"call i32 @{symbol}(ptr %s){writer.debug}")
        likely = self._direct(guess) if guess is not None else None
        if likely is None:
            return self._unknown(target)
        hit, miss, done = writer.fresh_label(), writer.fresh_label(), writer.fresh_label()
        flag = writer.value(f"icmp eq i32 {text(target)}, {guess}")
        writer.void(f"br i1 {flag}, label %{hit}, label %{miss}, {LIKELY}")
        writer.label(hit)
        quick = writer.value(f"call i32 @{likely}(ptr %s){writer.debug}")
        writer.void(f"br label %{done}")
        writer.label(miss)
        slow = self._unknown(target)
        writer.void(f"br label %{done}")
        writer.label(done)
        return writer.value(f"phi i32 [ {quick}, %{hit} ], [ {slow}, %{miss} ]")

    def _unknown(self, target: Value) -> str:
        callee = "mr_call" if self._thunked else "dispatch"
        return self._writer.value(f"call i32 @{callee}(ptr %s, i32 {text(target)}){self._writer.debug}")

    def tail_call(self, target: Value, guess: int | None) -> None:
        """Go to a guest pc for good; ends the block."""
        writer = self._writer
        likely = self._direct(guess) if guess is not None else None
        if likely is not None and not isinstance(target, int):
            hit, miss = writer.fresh_label(), writer.fresh_label()
            flag = writer.value(f"icmp eq i32 {text(target)}, {guess}")
            writer.void(f"br i1 {flag}, label %{hit}, label %{miss}, {LIKELY}")
            writer.label(hit)
            self._tail_to(likely)
            writer.label(miss)
        symbol = self._direct(target)
        if symbol is not None:
            self._tail_to(symbol)
            return
        callee = "mr_call" if self._thunked else "dispatch"
        result = writer.value(f"tail call i32 @{callee}(ptr %s, i32 {text(target)}){writer.debug}")
        writer.void(f"ret i32 {result}")

    def _tail_to(self, symbol: str) -> None:
        result = self._writer.value(f"musttail call i32 @{symbol}(ptr %s){self._writer.debug}")
        self._writer.void(f"ret i32 {result}")
