"""Several iterations of a loop at once: vectors of the numbers of loops whose iterations are each by themselves
(recognize.py).

LLVM makes no vectors of arithmetic whose flags and NaNs count. The rules here:

- An iteration of vectors loads everything, computes, has one NaN guard, and only then stores. Where there is a NaN,
  it has done nothing, and the loop itself performs these iterations one by one. Flags gather, so that their order is
  nobody's business.
- Up to its guard it raises no flag that MIPS would not. So no operation takes in the bits of a NaN, or of a number that
  was out of range, as another kind of number: there this machine's are not MIPS's (recognize.py).
- If the loop stores, it touches no page that the iteration before it, performed by the loop itself, has not touched. So
  it never faults.
- Iterations are performed together only if none stores what a later one of them loads, or stores before it.
- What depends on the iteration before is performed in order (chains.py), and gathers in its register or word of memory.
- The loop itself performs the last iteration: it leaves all registers as they are then, and the last instruction that
  computed. Where the last iteration ends before the latch, the loop performs the last but one as well, for what the
  cell leaves.

The loop counts its own iterations: after the first, and then after as many as an iteration of vectors does, vectors
are tried.
"""

from __future__ import annotations

from ..abi import PAGE_BYTES
from ..lift.passes.vectorize.iteration import (
    Access,
    Iteration,
    Step,
    Sum,
    conflicts,
    lanes_of,
    near,
)
from .chains import Chains
from .emission import Emission
from .lanes import Lanes, computed
from .types import TYPES
from .writer import GUEST_TAG, UNLIKELY, text

REST = "rest.{:08x}".format
"""What a loop has its count of iterations in."""


class VectorWriter:
    """Writes the iterations of vectors of one loop."""

    def __init__(self, emission: Emission, done: Iteration) -> None:
        self._machine = emission.machine
        self._swaps = emission.plan.options.big_endian
        self._writer = emission.writer
        self._iteration = done
        self._at = emission.at
        self._lanes = lanes_of(done)
        self._values: dict[int, str] = {}  # of steps
        self._scalars: dict[int, str] = {}  # of steps
        self._pointers: dict[Access, str] = {}

    # ways between the loop and its vectors

    def write(self, pc: int, entry: str, gate: str, loop: str, split: int) -> None:
        """Write the entry, and what the branch back goes to.

        `loop` is the label of the loop, `split` has the pairs that are two floats on the way into it.
        """
        writer, machine = self._writer, self._machine
        rest = "%" + REST(pc)
        self._at(pc)
        machine.start_block()
        machine.registers.split_in = machine.registers.split_out = split
        writer.label(entry)
        check, plain, again, miss = (writer.fresh_label() for _ in range(4))
        enough = writer.value(f"icmp ugt i32 {self._count()}, {self._lanes}")
        writer.void(f"br i1 {enough}, label %{check}, label %{plain}")
        writer.label(check)
        first = self._any([self._within(*conflict) for conflict in conflicts(self._iteration, self._lanes)])
        writer.void(f"store i32 {writer.value(f'select i1 {first}, i32 0, i32 1')}, ptr {rest}")
        writer.void(f"br label %{loop}")
        writer.label(plain)
        writer.void(f"store i32 0, ptr {rest}")
        writer.void(f"br label %{loop}")
        writer.label(gate)
        left = writer.value(f"add i32 {writer.value(f'load i32, ptr {rest}')}, -1")
        writer.void(f"store i32 {left}, ptr {rest}")
        writer.void(f"br i1 {writer.value(f'icmp eq i32 {left}, 0')}, label %{again}, label %{loop}")
        writer.label(again)
        machine.start_block()
        self._vectors(miss)
        writer.label(miss)
        writer.void(f"store i32 {lanes_of(self._iteration)}, ptr {rest}")
        writer.void(f"br label %{loop}")

    def _vectors(self, miss: str) -> None:
        """Write two loops, of vectors and of vectors half as long, for what the first leave."""
        writer = self._writer
        iterations = self._iterations()
        self._skip(self._any([self._within(*conflict) for conflict in near(self._iteration)]), miss)
        count = writer.value(f"zext i32 {iterations} to i64")
        for access in dict.fromkeys((*self._iteration.loads(), *self._iteration.writes())):
            self._point(access)
        for number in self._iteration.needed:
            if number not in self._iteration.serial:
                self._scalars[number] = self._scalar(self._iteration.steps[number])
        done = "0"
        for lanes in (self._lanes, self._lanes // 2):
            self._lanes = lanes
            done = self._loop(done, count)
        iterations_done = writer.value(f"trunc i64 {done} to i32")
        for register, advance in self._iteration.advances.items():
            way = writer.value(f"mul i32 {iterations_done}, {text(advance)}")
            value = writer.value(f"add i32 {text(self._machine.gpr(register))}, {way}")
            self._machine.registers.write(register, value)
        writer.void(f"br label %{miss}")

    def _skip(self, flag: str, label: str) -> None:
        """Go to a label under a condition."""
        following = self._writer.fresh_label()
        self._writer.void(f"br i1 {flag}, label %{label}, label %{following}")
        self._writer.label(following)

    def _loop(self, first: str, count: str) -> str:
        """Write a loop of vectors that begins with the iteration `first`; return the number of the iteration where it
        ends."""
        writer = self._writer
        before, start, loop, store, after = (writer.fresh_label() for _ in range(5))
        writer.void(f"br label %{before}")
        writer.label(before)
        left = writer.value(f"sub i64 {count}, {self._lanes}")
        none = writer.value(f"icmp sgt i64 {first}, {left}")
        writer.void(f"br i1 {none}, label %{after}, label %{start}")
        writer.label(start)
        together = [number for number in self._iteration.needed if number not in self._iteration.serial]
        for number in together:
            self._prepare(number, self._iteration.steps[number])
        writer.void(f"br label %{loop}")
        writer.label(loop)
        index = writer.value(f"phi i64 [ {first}, %{start} ], [ %next{loop}, %{store} ]")
        for number in together:
            self._perform(number, self._iteration.steps[number], index)
        chains = Chains(writer, self._iteration, self._lanes, self._values)
        if self._iteration.serial:
            self._machine.start_block()
            chains.perform({number: self._head(number) for number in self._iteration.carried})
        writer.void(f"br i1 {self._look(chains)}, label %{after}, label %{store}, {UNLIKELY}")
        writer.label(store)
        for access, number in self._iteration.stores:
            self._store(access, chains.vector(number), index)
        self._leave_carried(chains)
        writer.void(f"%next{loop} = add i64 {index}, {self._lanes}")
        more = writer.value(f"icmp sle i64 %next{loop}, {left}")
        writer.void(f"br i1 {more}, label %{loop}, label %{after}")
        writer.label(after)
        return writer.value(f"phi i64 [ {first}, %{before} ], [ {index}, %{loop} ], [ %next{loop}, %{store} ]")

    # integers

    def _sum(self, value: Sum) -> str:
        """Return a sum of registers as they are now."""
        machine, writer = self._machine, self._writer
        total = text(value.constant)
        for register, factor in value.terms:
            term = text(machine.gpr(register))
            if factor != 1:
                term = writer.value(f"mul i32 {term}, {text(factor)}")
            total = term if total == "0" else writer.value(f"add i32 {term}, {total}")
        return total

    def _any(self, flags: list[str]) -> str:
        total = "false"
        for flag in flags:
            total = flag if total == "false" else self._writer.value(f"or i1 {total}, {flag}")
        return total

    def _within(self, value: Sum, first: int, last: int) -> str:
        distance = self._writer.value(f"sub i32 {self._sum(value)}, {first}")
        return self._writer.value(f"icmp ule i32 {distance}, {last - first}")

    def _count(self) -> str:
        """Return how many iterations from here on are sure to be followed by another."""
        writer, test = self._writer, self._iteration.test
        down = test.b.plus(test.a, -1) if test.kind in ("slt", "ult") else test.a.plus(test.b, -1)
        step = self._iteration.advance(down)
        if step > 0:  # towards zero from the other side
            down = Sum().plus(down, -1)
        distance, step = self._sum(down), abs(step)
        if test.kind == "ne":
            exact = writer.value(f"icmp eq i32 {writer.value(f'urem i32 {distance}, {step}')}, 0")
            return writer.value(f"select i1 {exact}, i32 {writer.value(f'udiv i32 {distance}, {step}')}, i32 0")
        if test.kind in ("slt", "ult"):
            distance = writer.value(f"add i32 {distance}, -1")
        holds = writer.value(f"icmp {test.kind} i32 {self._sum(test.a)}, {self._sum(test.b)}")
        count = writer.value(f"add i32 {writer.value(f'udiv i32 {distance}, {step}')}, 1")
        return writer.value(f"select i1 {holds}, i32 {count}, i32 0")

    def _iterations(self) -> str:
        """Return how many iterations the vectors may do now."""
        writer = self._writer
        count = self._count()
        for address, advance in dict.fromkeys(
            (access.address, self._iteration.advance(access.address)) for access in self._iteration.accesses
        ):
            if advance and self._iteration.writes():
                last = self._sum(address.plus(Sum((), -advance & 0xFFFFFFFF)))
                before = writer.value(f"and i32 {last}, {PAGE_BYTES - 1}")
                room = writer.value(f"sub i32 {PAGE_BYTES - advance}, {before}")
                fits = writer.value(f"ashr i32 {room}, {advance.bit_length() - 1}")
                positive = writer.value(f"call i32 @llvm.smax.i32(i32 {fits}, i32 0)")
                count = writer.value(f"call i32 @llvm.umin.i32(i32 {count}, i32 {positive})")
        if self._iteration.ends_before_latch:
            count = writer.value(f"call i32 @llvm.usub.sat.i32(i32 {count}, i32 1)")
        return count

    # vectors

    def _vector(self, type_: str) -> str:
        return Lanes(self._lanes).type(type_)

    def _splat(self, type_: str, value: str) -> str:
        vector = self._vector(type_)
        one = self._writer.value(f"insertelement {vector} poison, {type_} {value}, i32 0")
        return self._writer.value(
            f"shufflevector {vector} {one}, {vector} poison, <{self._lanes} x i32> zeroinitializer"
        )

    def _swapped(self, type_: str, value: str, lanes: Lanes) -> str:
        """Return numbers, each with its bytes reversed if the guest's order is the other one."""
        if not self._swaps:
            return value
        writer, word = self._writer, "i64" if type_ in ("double", "i64") else "i32"
        words = value
        if type_ != word:
            words = writer.value(f"bitcast {lanes.type(type_)} {value} to {lanes.type(word)}")
        words = writer.value(f"call {lanes.type(word)} @llvm.bswap.{lanes.suffix(word)}({lanes.type(word)} {words})")
        return words if type_ == word else writer.value(f"bitcast {lanes.type(word)} {words} to {lanes.type(type_)}")

    def _point(self, access: Access) -> None:
        wide = self._writer.value(f"zext i32 {self._sum(access.address)} to i64")
        self._pointers[access] = self._writer.value(f"inttoptr i64 {wide} to ptr")

    def _scalar(self, step: Step) -> str:
        """Return what a step has in all iterations: the value of a register, or the first of numbers that count."""
        if step.name == "register":
            registers = self._machine.operations
            return str(registers.single(step.number) if step.type == "single" else registers.double(step.number))
        return self._sum(step.sum) if step.name == "integer" else ""

    def _prepare(self, number: int, step: Step) -> None:
        """Write the vectors that are the same in all iterations."""
        if self._scalars[number]:
            self._values[number] = self._splat(TYPES[step.type], self._scalars[number])
        if step.name == "integer":
            advance = self._iteration.advance(step.sum)
            ramp = ", ".join(f"i32 {text(lane * advance & 0xFFFFFFFF)}" for lane in range(self._lanes))
            vector = self._vector("i32")
            self._values[number] = self._writer.value(f"add {vector} {self._values[number]}, <{ramp}>")

    def _element(self, access: Access, index: str) -> str:
        return self._writer.value(f"getelementptr {TYPES[access.type]}, ptr {self._pointers[access]}, i64 {index}")

    def _perform(self, number: int, step: Step, index: str) -> None:
        writer = self._writer
        if step.access is not None:
            self._values[number] = self._load(step.access, index)
        elif step.name == "integer":
            advance = text(self._iteration.advance(step.sum) & 0xFFFFFFFF)
            way = writer.value(f"mul i32 {writer.value(f'trunc i64 {index} to i32')}, {advance}")
            vector = self._vector("i32")
            self._values[number] = writer.value(f"add {vector} {self._values[number]}, {self._splat('i32', way)}")
        elif step.name != "register":
            source = TYPES[self._iteration.steps[step.operands[0]].type]
            operands = [self._values[operand] for operand in step.operands]
            self._values[number] = computed(writer, Lanes(self._lanes), step, source, operands)

    def _load(self, access: Access, index: str) -> str:
        writer, type_, advance = self._writer, TYPES[access.type], self._iteration.advance(access.address)
        self._at(access.pc)
        how = f"align 1, {GUEST_TAG}{writer.debug}"
        if advance == 0:
            value = self._splat(type_, writer.value(f"load {type_}, ptr {self._pointers[access]}, {how}"))
        elif advance == access.size_bytes:
            value = writer.value(f"load {self._vector(type_)}, ptr {self._element(access, index)}, {how}")
        else:
            value = "poison"
            first = writer.value(f"mul i64 {index}, {advance}")
            pointer = writer.value(f"getelementptr i8, ptr {self._pointers[access]}, i64 {first}")
            for lane in range(self._lanes):
                place = writer.value(f"getelementptr i8, ptr {pointer}, i64 {lane * advance}")
                one = writer.value(f"load {type_}, ptr {place}, {how}")
                value = writer.value(f"insertelement {self._vector(type_)} {value}, {type_} {one}, i32 {lane}")
        return self._swapped(type_, value, Lanes(self._lanes))

    def _store(self, access: Access, value: str, index: str) -> None:
        writer, type_ = self._writer, TYPES[access.type]
        self._at(access.pc)
        value = self._swapped(type_, value, Lanes(self._lanes))
        pointer = self._element(access, index)
        writer.void(f"store {self._vector(type_)} {value}, ptr {pointer}, align 1, {GUEST_TAG}{writer.debug}")

    def _head(self, number: int) -> str:
        """Return what a carried register or cell has when an iteration of vectors begins."""
        step, writer = self._iteration.steps[number], self._writer
        if step.access is None:
            return self._scalar(step)
        self._at(step.access.pc)
        pointer, type_ = self._pointers[step.access], TYPES[step.type]
        value = writer.value(f"load {type_}, ptr {pointer}, align 1, {GUEST_TAG}{writer.debug}")
        return self._swapped(type_, value, Lanes(1))

    def _leave_carried(self, chains: Chains) -> None:
        """Give registers and cells what the next iteration finds there."""
        writer, machine = self._writer, self._machine
        for number, made_by in self._iteration.carried.items():
            step, value = self._iteration.steps[number], chains.last(made_by)
            if step.access is not None:
                self._at(step.access.pc)
                type_, pointer = TYPES[step.type], self._pointers[step.access]
                value = self._swapped(type_, value, Lanes(1))
                writer.void(f"store {type_} {value}, ptr {pointer}, align 1, {GUEST_TAG}{writer.debug}")
            elif step.type == "single":
                machine.operations.set_single(step.number, value)
            else:
                machine.operations.set_double(step.number, value)
        if self._iteration.carried:
            machine.registers.save_all()

    def _look(self, chains: Chains) -> str:
        """Return whether one of the results is a NaN, or may be of a number out of range."""
        writer, found = self._writer, self._iteration
        last_only = found.serial & found.taken_in()
        flags, total = [], ""
        for type_ in ("float", "double"):
            wanted = [number for number in found.unchecked if TYPES[found.steps[number].type] == type_]
            flags += self._unordered(
                self._vector(type_), [chains.vector(number) for number in wanted if number not in last_only]
            )
            for flag in self._unordered(type_, [chains.last(number) for number in wanted if number in last_only]):
                total = flag if not total else writer.value(f"or i1 {total}, {flag}")
        lowest = Lanes(self._lanes).constant("i32", str(-(1 << 31)))
        for number in found.limits:
            flags.append(writer.value(f"icmp eq {self._vector('i32')} {self._values[number]}, {lowest}"))
        if not flags:
            return total
        lanes = ""
        for flag in flags:
            bits = writer.value(f"bitcast {self._vector('i1')} {flag} to i{self._lanes}")
            lanes = bits if not lanes else writer.value(f"or i{self._lanes} {lanes}, {bits}")
        some = writer.value(f"icmp ne i{self._lanes} {lanes}, 0")
        return some if not total else writer.value(f"or i1 {total}, {some}")

    def _unordered(self, type_: str, results: list[str]) -> list[str]:
        """Return flags that say where a result is a NaN, for two results each."""
        pairs = [(results[index], results[min(index + 1, len(results) - 1)]) for index in range(0, len(results), 2)]
        return [self._writer.value(f"fcmp uno {type_} {a}, {b}") for a, b in pairs]
