"""The plan of a function: what recompiled code will do, decided as data before any text is written.

Enters: an analysed `Program`. Leaves: what `emit` writes. No LLVM text here.
"""
