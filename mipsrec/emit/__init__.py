"""LLVM IR for guest functions, as text; the only package that knows of it.

Enters: functions and what `lift` decided about them. Leaves: `LiftedFunction`s, and modules of any selection of them.
"""
