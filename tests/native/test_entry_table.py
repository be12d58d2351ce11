"""The table of entries of a library."""

from __future__ import annotations

from mipsrec.native.linking import GuestFile, LibraryIdentity, table_text
from mipsrec.target.cpu import chosen_cpu


def test_an_entry_of_two_functions_is_in_the_table_once() -> None:
    """The host refuses a table whose pcs do not grow; functions of glibc share the ends of loops."""
    guest_file = GuestFile("prog", "00" * 32, 0, 0, False, False, ((4194304, 0, 4096),))
    identity = LibraryIdentity(guest_file, "flat", "direct", "2", chosen_cpu("generic"))
    found = [(4194312, "second"), (4194304, "first"), (4194312, "first")]
    once = table_text([(4194304, "first"), (4194312, "first")], identity, "x86_64-linux-gnu")
    assert table_text(found, identity, "x86_64-linux-gnu") == once and once.count("i32 4194312") == 1
