"""What Python and the host state alike has one owner, mipsrec/abi.py."""

from __future__ import annotations

import re
from pathlib import Path

from mipsrec import abi, emit, options

SOURCES = [path.read_text() for path in sorted(Path(str(emit.__file__)).parent.glob("*.py"))]
OWN = {"mr_enter", "mr_library", "mr_pcs_first"}
"""Symbols that a library defines itself."""
CALL = r"(?:call [^\n]*?@|door\([\"'])(mr_[a-z0-9_]+)[(\"']"
"""A call, by itself or through a door (emit/doors.py)."""


def test_emit_declares_no_function_of_the_host_by_itself() -> None:
    assert [line for text in SOURCES for line in re.findall(r"declare .*@mr_\w+.*", text)] == []


def test_emit_calls_what_the_owner_lists() -> None:
    called = {name for text in SOURCES for name in re.findall(CALL, text)} - OWN
    assert called <= {function.name for function in abi.FUNCTIONS}
    assert len(called) > 10


def test_both_languages_are_told_the_same() -> None:
    assert abi.llvm_declaration("mr_fp_replay") == "declare void @mr_fp_replay(ptr, ptr, i32, i32, ptr)"
    header = abi.abi_header()
    assert "uint64_t mr_load64(struct mr_state *s, uint32_t guest);" in header
    assert all(f"X({function.name})" in header for function in abi.FUNCTIONS)


def test_sizes_of_what_is_written_to_files_and_sockets() -> None:
    assert abi.LIBRARY_HEADER_BYTES == 340 and abi.library_word("entry_count") == 11
    assert abi.request_head().size == 1176


def test_models_are_those_of_the_options() -> None:
    assert tuple(abi.MEMORY_MODELS) == options.MEMORY_MODELS and tuple(abi.CALL_MODELS) == options.CALL_MODELS
