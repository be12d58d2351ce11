"""Functions of random control flow: branches, loops, tables, calls (flow_maker.py).

Enters: a seed. Leaves: a Program.
"""

from __future__ import annotations

from tests.fuzz.flow_maker import JUMP_BUFFER_BYTES, Maker, Part, Program, some_parts
from tests.fuzz.flow_mips16 import Function16
from tests.fuzz.flow_rows import Rows
from tests.fuzz.flow_single import KEPT, SIZES

_LOCALS = 16  # where the words of a frame begin that are free to use
_ROUNDS = ((1, 3, 8, 17), (1, 2, 3, 5), (1, 2))
"""Of loops, by depth."""


def make(seed: str) -> Program:
    """Return the program of a seed."""
    maker = Maker(seed)
    kinds = {name: Function16 if name in maker.mips16 else Function for name in maker.names}
    return maker.program([kind(maker, name).make() for name, kind in kinds.items()])


class Function(Rows):
    """The choices within one function."""

    def __init__(self, maker: Maker, name: str) -> None:
        super().__init__(maker)
        self.name = name
        self.leaf = name in maker.leaves
        self.late = self.chance(0.5)  # looks at its fuel when it has saved its registers
        self.words = self.random.choice((1, 2, 4, 8))
        self.buffer = _LOCALS + 4 * self.words
        self.saved = self.buffer + JUMP_BUFFER_BYTES
        self.ra = self.saved + 16
        self.counter = self.saved + 20
        self.frame = (self.saved + 24 + 7 & ~7) + 8 * self.random.randint(0, 3)
        self.end = maker.label()
        self.budget = self.random.choice((6, 12, 12, 25))
        self.loops: list[tuple[str, str]] = []  # labels that leave each loop, and that go on with it
        self.counting = False  # in a loop that counts in the word of the stack for that

    def make(self) -> Part:
        """Return the function."""
        before = [f".type {self.name}, @function"]
        if self.name in self.maker.others:
            before += [f".type other_{self.name}, @function", f"other_{self.name}:", self.operation()]
        before += [f"{self.name}:"]
        burn = "addiu $28, $28, -1"
        if not self.leaf and not self.late:
            out = self.maker.label()
            before += [f"blez $28, {out}", burn, ".subsection 1", f"{out}: jr $31", self.operation(), ".previous"]
        before += [f"addiu $29, $29, -{self.frame}"]
        if not self.leaf:
            before += [f"sw $31, {self.ra}($29)"]
        body = self.body(0)
        text = " ".join(line for part in body for line in part.lines())
        used = [number for number, name in enumerate(KEPT) if name in text]
        before += [f"sw {KEPT[number]}, {self.saved + 4 * number}($29)" for number in used]
        if not self.leaf and self.late:
            before += [f"blez $28, {self.end}", burn]
        loads = [f"lw {KEPT[number]}, {self.saved + 4 * number}($29)" for number in used]
        return Part(before, [body], [[f"{self.end}:", *loads, *self._last()]])

    def _last(self) -> list[str]:
        """Return the way out: a return or a tail call."""
        back = [] if self.leaf else [f"lw $31, {self.ra}($29)"]
        slot = [f"addiu $29, $29, {self.frame}", f".size {self.name}, . - {self.name}"]
        kind = self.random.random()
        if self.leaf or self.late or kind < 0.6:
            return [*back, "jr $31", *slot]
        if kind < 0.8:
            name = self.random.choice(self.maker.names)
            if name in self.maker.mips16:  # which j cannot reach
                return [*back, f"lui $25, %hi({name})", f"addiu $25, $25, %lo({name})", "jr $25", *slot]
            return [*back, f"j {name}", *slot]
        place = f"functions + {4 * self.random.randrange(8)}"
        return [*back, f"lui $25, %hi({place})", f"lw $25, %lo({place})($25)", "jr $25", *slot]

    def one(self) -> str:
        """Return one instruction that may stand anywhere."""
        if self.chance(0.25):
            return self.access("$29", _LOCALS, _LOCALS + 4 * self.words)
        return self.operation()

    def body(self, depth: int) -> list[Part]:
        return some_parts(self, depth)

    def any_part(self, depth: int) -> Part:
        """Return a part of a random kind."""
        weights = {"straight": 4, "arena": 2, "run": 1, "unaligned": 1, "wide_shift": 1, "choice": 3, "leave": 1}
        if depth < len(_ROUNDS):
            weights |= {"loop": 3, "switch": 1, "stack_loop": 1, "stack_pointer": 1}
        if not self.leaf:
            weights |= {"call": 3, "itself": 1, "odd_call": 1, "system_call": 1, "catch": int(depth < 2)}
        if self.fpu:
            weights |= {"floats": 2, "float_choice": 1, "elements": 2}
        favourites = [name for name in weights if name in self.maker.favourites]
        if favourites and self.chance(0.5):
            name = self.random.choice(favourites)
        else:
            (name,) = self.random.choices(list(weights), list(weights.values()))
        part: Part | None = getattr(self, f"part_{name}")(depth)
        return part or self.part_straight(depth)

    # -- branches

    def part_choice(self, depth: int) -> Part:
        """A branch over one way, or between two."""
        other, end = self.maker.label(), self.maker.label()
        first = [f"{self.compare()}{other}", self.one()]
        if self.chance(0.5):
            return Part(first, [self.body(depth + 1)], [[f"{other}:"]])
        return self._two_ways(first, other, end, depth)

    def _two_ways(self, first: list[str], other: str, end: str, depth: int) -> Part:
        between = [f"b {end}", self.one(), f"{other}:"]
        return Part(first, [self.body(depth + 1), self.body(depth + 1)], [between, [f"{end}:"]])

    def part_leave(self, depth: int) -> Part:
        """A branch to the end of the function, or out of a loop, or to its next round."""
        labels = [label for labels in self.loops for label in labels]
        target = self.random.choice(labels) if labels and self.chance(0.8) else self.end
        return Part([f"{self.compare()}{target}", self.one()])

    def part_float_choice(self, depth: int) -> Part:
        """A comparison, and what hangs on it."""
        compare = self.float_compare(self.random.choice("sd"), 0)
        if self.chance(0.3):
            return Part([compare, f"{self.random.choice(('movf', 'movt'))} {self.target()}, {self.source()}, $fcc0"])
        end, branch = self.maker.label(), self.random.choice(("bc1t", "bc1f", "bc1tl", "bc1fl"))
        return Part([compare, f"{branch} {end}", self.one()], [self.body(depth + 1)], [[f"{end}:"]])

    def part_switch(self, depth: int) -> Part:
        """A jump by a table; some cases fall into the next one."""
        count = self.random.choice((2, 3, 5, 8))
        labels, table, end = [self.maker.label() for _ in range(count)], self.maker.label(), self.maker.label()
        entries = [self.random.choice(labels) if self.chance(0.2) else label for label in labels]
        section = self.random.choice((".rodata", ".data"))
        self.maker.tables += [f".section {section}", ".align 2", f"{table}: .word {', '.join(entries)}"]
        first = [f"andi $1, {self.source()}, 7", f"sltiu $27, $1, {count}", f"beq $27, $0, {end}", "sll $1, $1, 2"]
        first += [f"lui $27, %hi({table})", "addu $27, $27, $1", f"lw $25, %lo({table})($27)", "jr $25", self.one()]
        rows, behind = [], []
        for label in [*labels[1:], end]:
            rows.append(self.body(depth + 2))
            behind.append([*([f"b {end}", self.one()] if self.chance(0.7) else []), f"{label}:"])
        return Part([*first, f"{labels[0]}:"], rows, behind)

    # -- loops

    def part_loop(self, depth: int) -> Part | None:
        """A loop that counts in a register which callees give back; it may walk through memory."""
        if not self.kept:
            return None
        counter = self.kept.pop()
        top, middle, on, end = (self.maker.label() for _ in range(4))
        first = [f"addiu {counter}, $0, {self.random.choice(_ROUNDS[depth])}"]
        close = [f"addiu {counter}, {counter}, -1", f"bgtz{self.random.choice(('', '', '', 'l'))} {counter}, {top}"]
        walk = self._walk() if self.kept and self.chance(0.4) else None
        if walk:
            first += walk[0]
            close.append(walk[2])
        elif self.chance(0.3):  # the slot counts, after the comparison
            close.reverse()
        else:
            close.append(self.one())
        entered = self.chance(0.15)  # in its middle
        first += [*([f"b {middle}", self.one()] if entered else []), f"{top}:"]
        self.loops.append((end, on))
        rows = [[*([walk[1]] if walk else []), *self.body(depth + 1)], self.body(depth + 1) if entered else []]
        self.loops.pop()
        if walk:
            self.kept.append(walk[3])
        self.kept.append(counter)
        return Part(first, rows, [[f"{middle}:"], [f"{on}:", *close, f"{end}:"]])

    def _walk(self) -> tuple[list[str], Part, str, str]:
        """Return how a pointer is set, an access by it, how it goes on, and its name."""
        name = self.kept.pop()
        step = self.random.choice((1, 2, 4, 4, 8, -4, -8))
        start = f"arena + {512 if step < 0 else 0}"
        size = min(4, abs(step))
        access = self.random.choice([access for access, width in SIZES.items() if width <= size])
        register = self.source() if access.startswith("s") else self.target()
        body = Part([f"{access} {register}, {size * self.random.randrange(3)}({name})"])
        first = [f"lui {name}, %hi({start})", f"addiu {name}, {name}, %lo({start})"]
        return first, body, f"addiu {name}, {name}, {step}", name

    def part_stack_loop(self, depth: int) -> Part | None:
        """A loop that counts, and may sum, in words of the stack, as code that nobody optimised does."""
        if self.counting:
            return None
        self.counting = True
        top, on, end = (self.maker.label() for _ in range(3))
        counter, other = self.some(2)
        row = []
        for _ in range(self.random.randint(0, 2)):
            place = f"{_LOCALS + 4 * self.random.randrange(self.words)}($29)"
            add = f"addu {other}, {other}, {self.source()}"
            row.append(Part([f"lw {other}, {place}", add, f"sw {other}, {place}"]))
        self.loops.append((end, on))
        row += self.body(depth + 1) if self.chance(0.5) else [Part([self.one()]) for _ in range(3)]
        self.loops.pop()
        self.counting = False
        first = [f"addiu {counter}, $0, {self.random.randint(1, 9)}", f"sw {counter}, {self.counter}($29)", f"{top}:"]
        close = [f"{on}:", f"lw {counter}, {self.counter}($29)", f"addiu {counter}, {counter}, -1"]
        close += [f"bgtz {counter}, {top}", f"sw {counter}, {self.counter}($29)", f"{end}:"]
        return Part(first, [row], [close])

    def part_stack_pointer(self, depth: int) -> Part | None:
        """Accesses to the words of the stack by sp and by another register."""
        if not self.kept:
            return None
        name = self.kept.pop()
        row: list[Part] = []
        for _ in range(self.random.randint(1, 3)):
            row += [*self.body(depth + 1), Part([self.access(name, 0, 4 * self.words)])]
        self.kept.append(name)
        return Part([f"addiu {name}, $29, {_LOCALS}"], [row])

    # -- calls

    def part_call(self, depth: int) -> Part:
        """A call of any function."""
        others = [f"other_{name}" for name in self.maker.names if name in self.maker.others]
        name, kind = self.random.choice([*self.maker.names, *others]), self.random.random()
        if kind < 0.6:
            return Part([f"jal {name}", self.one()])
        if kind < 0.7:
            return Part([f"lui $25, %hi({name})", f"addiu $25, $25, %lo({name})", "jalr $25", self.one()])
        if kind < 0.8 and name.removeprefix("other_") not in self.maker.mips16:
            return Part([f"{self.random.choice(('bltzal', 'bgezal'))} {self.source()}, {name}", self.one()])
        index = [f"andi $27, {self.source()}, 0x1c", "lui $26, %hi(functions)", "addu $26, $26, $27"]
        return Part([*index, "lw $25, %lo(functions)($26)", "jalr $25", self.one()])

    def part_itself(self, depth: int) -> Part:
        """A call of the function itself."""
        return Part([f"jal {self.name}", self.one()])

    def part_odd_call(self, depth: int) -> Part:
        """A call that may come back elsewhere, that comes back by another register, or that throws."""
        kind = self.random.random()
        if kind < 0.4:
            other, end = self.maker.label(), self.maker.label()
            return self._two_ways(["jal skip", self.one(), f"b {other}", self.one()], other, end, depth)
        if kind < 0.6:
            return Part(["lui $25, %hi(by_t8)", "addiu $25, $25, %lo(by_t8)", "jalr $24, $25", "nop"])
        around = self.maker.label()
        return Part([f"{self.compare()}{around}", self.one(), "jal throw", "nop", f"{around}:"])

    def part_catch(self, depth: int) -> Part | None:
        """What a throw, here or in a callee, ends: control goes to the second row."""
        if self.loops:
            return None
        caught, end = self.maker.label(), self.maker.label()
        first = [f"addiu $4, $29, {self.buffer}", "jal catch", "nop", f"bne $2, $0, {caught}", self.one()]
        ended, self.end = self.end, self.maker.label()  # who leaves takes the buffer out first
        row = self.body(depth + 1)
        out = [f"{self.end}:", f"lw $1, {self.buffer + 24}($29)", "lui $26, %hi(jumps)", "sw $1, %lo(jumps)($26)"]
        self.end = ended
        return Part(first, [row, self.body(depth + 1)], [[*out, f"b {end}", "nop", f"{caught}:"], [f"{end}:"]])

    def part_system_call(self, depth: int) -> Part:
        """sched_yield, which changes nothing but v0 and a3."""
        return Part(["addiu $2, $0, 4162", "syscall"])
