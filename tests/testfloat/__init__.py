"""Floating point against SoftFloat, on the operands of TestFloat."""
