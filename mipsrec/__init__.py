"""mipsrec: recompiles 32-bit MIPS Linux programs ahead of time, by way of LLVM IR.

The pipeline, each stage a module or package of its own, in the order of the imports:
`elf` -> `memory` -> `isa` -> `analysis` -> `lift` -> `emit` -> `native` -> `cli`. See README.md for the picture.
"""

__version__ = "0.1.0"
