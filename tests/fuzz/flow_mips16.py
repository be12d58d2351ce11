"""Functions of random control flow in MIPS16e code, beside those in MIPS32 code (flow_parts.py).

Enters: a Maker's choices. Leaves: Parts: a function each, which calls functions of both kinds.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.flow_maker import ARENA_BYTES, Maker, Part, some_parts
from tests.fuzz.flow_single import FREE

_SMALL = tuple(f"${number}" for number in range(2, 8))
_COUNTERS = ("$16", "$17")
_BYTES = {"lb": 1, "lbu": 1, "sb": 1, "lh": 2, "lhu": 2, "sh": 2, "lw": 4, "sw": 4}
_THREE, _TWO = ("addu", "subu"), ("and", "or", "xor", "neg", "not", "sllv", "srlv", "srav", "slt", "sltu", "cmp")
_ONE, _HI_LO = ("seb", "seh", "zeb", "zeh", "mfhi", "mflo"), ("mult", "multu", "div $0,", "divu $0,")
_LOCALS, _WORDS = 16, 6
_ROUNDS = ((1, 3, 8), (1, 2, 3))
_FRAME = 64
_REACH = 64  # bytes behind an address of the arena


class Function16:
    """The choices within one function."""

    def __init__(self, maker: Maker, name: str) -> None:
        self.maker, self.random, self.name = maker, maker.random, name
        self.leaf = name in maker.leaves
        self.end = maker.label()
        self.budget = self.random.choice((6, 12, 20))
        self.pool: list[str] = []
        self.counters = list(_COUNTERS)
        self.saves = f"{_FRAME}, $31, $16, $17"

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def make(self) -> Part:
        """Return the function."""
        before = [".set mips16", ".align 2", f".type {self.name}, @function"]
        if self.name in self.maker.others:
            before += [f".type other_{self.name}, @function", f"other_{self.name}:", self.operation(), ".align 2"]
        before += [f"{self.name}:", f"save {self.saves}", "move $2, $28", "addiu $2, -1", "move $28, $2"]
        before += ["slti $2, 0", f"btnez {self.end}"]
        body = self.body(0)
        last = [f"{self.end}:", *self._last(), ".align 2", *self.pool, f".size {self.name}, . - {self.name}"]
        return Part(before, [body], [[*last, ".set nomips16"]])

    def _last(self) -> list[str]:
        """Return the way out: a return, or a tail call by a register."""
        kind = self.random.random()
        if kind < 0.4:
            return [f"restore {self.saves}", "jrc $31"]
        if kind < 0.8 or self.leaf:
            return [f"restore {self.saves}", "jr $31", self.short()]
        place = f"functions + {4 * self.random.randrange(8)}"
        return [f"lw $3, {self.constant(place)}", "lw $3, 0($3)", f"restore {self.saves}", "jr $3", "nop"]

    def constant(self, value: int | str) -> str:
        """Return the label of a word behind the function."""
        label = self.maker.label()
        self.pool += [f"{label}: .word {value}"]
        return label

    # instructions

    def small(self) -> str:
        return self.random.choice(_SMALL)

    def short(self) -> str:
        """Return an instruction of one half, as slots want it."""
        random, a, b = self.random, self.small(), self.small()
        kind = random.random()
        if kind < 0.3:
            return f"{random.choice(_THREE)} {a}, {b}, {self.small()}"
        if kind < 0.6:
            return f"{random.choice(_TWO)} {a}, {b}"
        if kind < 0.7:
            return f"{random.choice(('sll', 'srl', 'sra'))} {a}, {b}, {random.randint(1, 8)}"
        if kind < 0.8:
            return f"addiu {a}, {random.choice((1, 4, -1, 127))}"
        return f"move {a}, {random.choice(FREE)}" if kind < 0.9 else f"move {random.choice(FREE)}, {a}"

    def operation(self) -> str:
        """Return one instruction that computes with registers."""
        random, a = self.random, self.small()
        kind = random.random()
        if kind < 0.45:
            return self.short()
        if kind < 0.55:
            return f"{random.choice(_ONE)} {a}"
        if kind < 0.62:
            return f"{random.choice(_HI_LO)} {a}, {self.small()}"
        if kind < 0.7:
            return f"{random.choice(('sll', 'srl', 'sra'))} {a}, {self.small()}, {random.randrange(32)}"
        if kind < 0.76:
            return f"addiu {a}, {self.small()}, {random.randint(-16384, 16383)}"
        if kind < 0.82:
            return f"{random.choice(('slti', 'sltiu'))} {a}, {random.randint(-32768, 32767)}"
        if kind < 0.88:
            return f"{random.choice(('li', 'cmpi'))} {a}, {random.getrandbits(16)}"
        if kind < 0.94:
            return f"lw {a}, {self.constant(self.maker.word())}"
        return f"addiu {a}, {random.choice((1, -1, 1000, -20000))}"

    def local(self) -> str:
        """Return an access to a word of the frame."""
        name = self.random.choice(("lw", "sw"))
        return f"{name} {self.small()}, {_LOCALS + 4 * self.random.randrange(_WORDS)}($29)"

    def one(self) -> str:
        return self.local() if self.chance(0.25) else self.operation()

    # parts

    def body(self, depth: int) -> list[Part]:
        return some_parts(self, depth)

    def any_part(self, depth: int) -> Part:
        """Return a part of a random kind."""
        kinds: dict[Callable[[int], Part], int] = {self.straight: 4, self.arena: 2, self.choice: 3}
        if depth < len(_ROUNDS):
            kinds |= {self.loop: 2, self.switch: 1}
        if not self.leaf:
            kinds[self.call] = 4
        (part,) = self.random.choices(list(kinds), list(kinds.values()))
        return part(depth)

    def straight(self, depth: int) -> Part:
        return Part([], [[Part([self.one()]) for _ in range(self.random.randint(1, 5))]])

    def arena(self, depth: int) -> Part:
        """Accesses through a register."""
        base, *others = self.random.sample(_SMALL, 4)
        place = self.random.randrange(0, ARENA_BYTES - _REACH, 8)
        row = []
        for _ in range(self.random.randint(1, 4)):
            name = self.random.choice(list(_BYTES))
            offset = self.random.randrange(0, _REACH, _BYTES[name])
            row.append(Part([f"{name} {self.random.choice(others)}, {offset}({base})"]))
        return Part([f"lw {base}, {self.constant(f'arena + {place}')}"], [row])

    def compare(self) -> str:
        """Return a conditional branch without its target."""
        if self.chance(0.6):
            return f"{self.random.choice(('beqz', 'bnez'))} {self.random.choice((*_SMALL, *_COUNTERS))}, "
        return self.random.choice(("bteqz ", "btnez "))

    def choice(self, depth: int) -> Part:
        """A branch over one way, or between two, or to the end."""
        other, end = self.maker.label(), self.maker.label()
        if self.chance(0.15):
            return Part([f"{self.compare()}{self.end}"])
        first = [f"{self.compare()}{other}"]
        if self.chance(0.5):
            return Part(first, [self.body(depth + 1)], [[f"{other}:"]])
        return Part(first, [self.body(depth + 1), self.body(depth + 1)], [[f"b {end}", f"{other}:"], [f"{end}:"]])

    def loop(self, depth: int) -> Part:
        """A loop that counts in a register which callees give back."""
        if not self.counters:
            return self.straight(depth)
        counter, top = self.counters.pop(), self.maker.label()
        row = self.body(depth + 1)
        self.counters.append(counter)
        first = [f"li {counter}, {self.random.choice(_ROUNDS[depth])}", f"{top}:"]
        return Part(first, [row], [[f"addiu {counter}, -1", f"bnez {counter}, {top}"]])

    def switch(self, depth: int) -> Part:
        """A jump by a table of odd addresses."""
        count = self.random.choice((2, 4))
        labels, table, end = [self.maker.label() for _ in range(count)], self.maker.label(), self.maker.label()
        self.maker.tables += [".section .rodata", ".align 2", f"{table}: .word {', '.join(labels)}"]
        index, place = self.random.sample(_SMALL, 2)
        first = [f"li {place}, {count - 1}", f"and {index}, {place}", f"sll {index}, {index}, 2"]
        first += [f"lw {place}, {self.constant(table)}", f"addu {place}, {index}, {place}", f"lw {place}, 0({place})"]
        first += [*self.random.choice(([f"jrc {place}"], [f"jr {place}", self.short()])), f"{labels[0]}:"]
        rows, behind = [], []
        for label in [*labels[1:], end]:
            rows.append(self.body(depth + 2))
            behind.append([*([f"b {end}"] if self.chance(0.7) else []), f"{label}:"])
        return Part(first, rows, behind)

    def call(self, depth: int) -> Part:
        """A call of a function of either kind: by jal, which the linker makes jalx if it must, or by a register."""
        if self.chance(0.6):
            return Part([f"jal {self.random.choice(self.maker.names)}", self.short()])
        place = self.constant(f"functions + {4 * self.random.randrange(8)}")
        jump = self.random.choice((["jalrc $2"], ["jalr $2", self.short()]))
        return Part([f"lw $2, {place}", "lw $2, 0($2)", *jump])
