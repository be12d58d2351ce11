"""The rows of the instruction set."""
