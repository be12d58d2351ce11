"""Random instructions, programs and broken files: makers, judges, drivers, and fixed samples of what they find."""
