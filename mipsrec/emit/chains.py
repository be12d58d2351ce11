"""What an iteration of vectors performs in order: steps that depend on the iteration before, as sums do.

Enters: the vectors of an iteration, and what its carried registers and cells have where it begins. Leaves: a number for
each serial step and iteration, and vectors of those where a vector is wanted. What leaves the iteration is stored by
vectors.py.
"""

from __future__ import annotations

from ..lift.passes.vectorize.iteration import Iteration
from .lanes import Lanes, computed
from .types import TYPES
from .writer import Writer


class Chains:
    """The serial steps of an iteration of `lanes`; `vectors` has its other steps."""

    def __init__(self, writer: Writer, done: Iteration, lanes: int, vectors: dict[int, str]) -> None:
        self._writer = writer
        self._iteration = done
        self._lanes = Lanes(lanes)
        self._vectors = vectors
        self._numbers: dict[tuple[int, int], str] = {}  # by step and lane

    def perform(self, heads: dict[int, str]) -> None:
        """Compute all; `heads` are the values of what is carried into the first lane."""
        found = self._iteration
        for lane in range(self._lanes.count):
            for number in sorted(found.serial):
                step = found.steps[number]
                if number in found.carried:
                    value = heads[number] if lane == 0 else self._number(found.carried[number], lane - 1)
                else:
                    operands = [self._number(operand, lane) for operand in step.operands]
                    value = computed(self._writer, Lanes(1), step, self._type(step.operands[0]), operands)
                self._numbers[number, lane] = value

    def last(self, number: int) -> str:
        """Return what a step has in the last lane."""
        return self._number(number, self._lanes.count - 1)

    def vector(self, number: int) -> str:
        """Return what a step has in all lanes."""
        if number not in self._iteration.serial:
            return self._vectors[number]
        type_ = self._type(number)
        value = "poison"
        for lane in range(self._lanes.count):
            one = f"{type_} {self._number(number, lane)}, i32 {lane}"
            value = self._writer.value(f"insertelement {self._lanes.type(type_)} {value}, {one}")
        return value

    def _type(self, number: int) -> str:
        return TYPES[self._iteration.steps[number].type]

    def _number(self, number: int, lane: int) -> str:
        if (number, lane) not in self._numbers:
            vector = f"{self._lanes.type(self._type(number))} {self._vectors[number]}"
            self._numbers[number, lane] = self._writer.value(f"extractelement {vector}, i32 {lane}")
        return self._numbers[number, lane]
