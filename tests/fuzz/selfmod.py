"""`make fuzz-selfmod`: random programs that change their own code do the same in all tiers, and under qemu-user.

Each seed is a program for one byte order (selfmod_maker.py), which runs in the baseline tier with a threshold of 1 and
with random ones. Registers after each call, and the code in the end, must be as when it is interpreted; under qemu-user
too, unless another mapping of the pages is written. A program that differs is made small and kept in build/fuzz/.
"""

from __future__ import annotations

import argparse
import sys

from tests.fuzz.flow import TestProgram, try_seeds
from tests.fuzz.selfmod_maker import make
from tests.support.tools import outside_pytest


def make_selfmod(seed: str, order: str) -> TestProgram:
    """Return the program of a seed."""
    return make(seed, order == "big")


def main(words: list[str]) -> int:
    """Try seeds; return 1 when there was a difference."""
    parser = argparse.ArgumentParser(prog="make fuzz-selfmod", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("--count", type=int, default=100, help="how many programs (default 100)")
    chosen = parser.parse_args(words)
    seeds = [f"selfmod {number}" for number in range(chosen.seed, chosen.seed + chosen.count)]
    return try_seeds(seeds, lambda number: [], make_selfmod)


if __name__ == "__main__":
    sys.exit(outside_pytest(lambda: main(sys.argv[1:])))
