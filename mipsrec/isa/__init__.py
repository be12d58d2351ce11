"""The instruction set: rows, and the decoders of MIPS32 words and of MIPS16e halves."""

from __future__ import annotations

from .mips16 import decode16, is_long
from .row import Flow, Instruction, Row
from .words import BUCKETS, NOP, RANGES, ROWS, decode

__all__ = ["BUCKETS", "NOP", "RANGES", "ROWS", "Flow", "Instruction", "Row", "decode", "decode16", "is_long"]
