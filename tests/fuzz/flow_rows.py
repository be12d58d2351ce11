"""Parts of functions of random control flow without choices: rows of instructions that lifted code treats as one.

Enters: a Maker's choices. Leaves: Parts that compute, load and store, none of which calls or leaves the function.
"""

from __future__ import annotations

from tests.fuzz.flow_maker import ARENA_BYTES, Maker, Part
from tests.fuzz.flow_single import KEPT, Single

_REACH = 64  # bytes behind an address from address() that are there


class Rows(Single):
    """Makes these parts for one function."""

    def __init__(self, maker: Maker) -> None:
        super().__init__(maker.random, maker.fpu, maker.dsp)
        self.maker = maker
        self.kept = list(KEPT)  # those that no loop around uses

    def part_straight(self, depth: int) -> Part:
        """Instructions that have nothing to do with each other."""
        return Part([], [[Part([self.operation()]) for _ in range(self.random.randint(1, 5))]])

    def address(self, register: str) -> list[str]:
        """Return how a register gets an address in the arena that eight divides."""
        if self.chance(0.3):
            place = f"arena + {self.random.randrange(0, ARENA_BYTES - _REACH, 8)}"
            return [f"lui {register}, %hi({place})", f"addiu {register}, {register}, %lo({place})"]
        mask = f"andi $27, {self.source()}, {self.random.choice((0x7F8, 0x78, 0x38))}"
        return [mask, "lui $26, %hi(arena)", "addiu $26, $26, %lo(arena)", f"addu {register}, $26, $27"]

    def part_arena(self, depth: int) -> Part:
        """Accesses to the arena through a register."""
        (base,) = self.some(1)
        lines = self.address(base)
        self.guarded.add(base)
        row = [Part([self.access(base, 0, _REACH)]) for _ in range(self.random.randint(1, 5))]
        self.guarded.discard(base)
        return Part(lines, [row])

    def part_run(self, depth: int) -> Part:
        """Words stored or copied one behind the other, as memset and memcpy of a few bytes; they may overlap."""
        to, source, through = self.some(3)
        lines = [*self.address(source), *self.address(to)]
        if self.chance(0.3):
            lines.append(f"addiu {to}, {source}, {self.random.randrange(-16, 17, 4)}")
        steps = [4 * number for number in range(self.random.choice((2, 4, 5, 8)))]
        if self.chance(0.3):
            self.random.shuffle(steps)
        elif self.chance(0.3):
            steps.reverse()
        if self.chance(0.5):
            value = self.random.choice(("$0", self.source()))
            row = [Part([f"sw {value}, {step}({to})"]) for step in steps]
        else:
            row = [Part([f"lw {through}, {step}({source})", f"sw {through}, {step}({to})"]) for step in steps]
        return Part(lines, [row])

    def part_unaligned(self, depth: int) -> Part:
        """A word at any address in two halves, in either order; sometimes not quite."""
        base, register = self.some(2)
        lines = self.address(base)
        kind, first, second = self.random.choice("ls"), *self.random.sample(("wl", "wr"), 2)
        place, far = self.random.randrange(56), self.random.randrange(8) if self.chance(0.1) else 3
        self.guarded.add(base)
        between = [Part([self.operation()])] if self.chance(0.3) else []
        self.guarded.discard(base)
        row = [Part([f"{kind}{first} {register}, {place}({base})"]), *between]
        return Part(lines, [[*row, Part([f"{kind}{second} {register}, {place + far}({base})"])]])

    def part_wide_shift(self, depth: int) -> Part:
        """The shift of 64 bits in two words, as gcc writes it, or nearly so."""
        far, near, amount, come, by, sign = self.some(6)
        own, back = self.random.choice((("sll", "srl"), ("srl", "sll")))
        signed = own == "srl" and self.chance(0.5)
        lines = [f"sra {sign}, {near}, 31"] if signed else []
        lines += [f"{back} {come}, {near}, 1", f"nor {by}, $0, {amount}", f"{back}v {come}, {come}, {by}"]
        lines += [f"{own}v {far}, {far}, {amount}", f"{'sra' if signed else own}v {near}, {near}, {amount}"]
        lines += [f"or {far}, {come}, {far}", f"andi {amount}, {amount}, 0x20", f"movn {far}, {near}, {amount}"]
        lines += [f"movn {near}, {sign if signed else '$0'}, {amount}"]
        if self.chance(0.3):
            lines.insert(self.random.randrange(len(lines)), self.operation())
        if self.chance(0.2):
            at = self.random.randrange(len(lines) - 1)
            lines[at : at + 2] = reversed(lines[at : at + 2])
        return Part([], [[Part([line]) for line in lines]])

    def part_floats(self, depth: int) -> Part:
        """Instructions of the FPU that have nothing to do with each other."""
        return Part([], [[Part([self.float_operation()]) for _ in range(self.random.randint(1, 4))]])

    def part_elements(self, depth: int) -> Part | None:
        """A loop over arrays, element by element; the arrays may overlap."""
        if len(self.kept) < len(KEPT):
            return None
        fmt, size = self.random.choice((("s", 4), ("d", 8)))
        load, store = ("lwc1", "swc1") if fmt == "s" else ("ldc1", "sdc1")
        places = [self.random.randrange(256, ARENA_BYTES // 2, 8) for _ in range(3)]
        if self.chance(0.5):
            places[2] = places[self.random.randrange(2)] + size * self.random.randint(-3, 3)
        count, *pointers = KEPT
        lines = [f"addiu {count}, $0, {self.random.choice((1, 2, 3, 7, 8, 9, 16, 31))}"]
        for register, place in zip(pointers, places):
            lines += [f"lui {register}, %hi(arena + {place})", f"addiu {register}, {register}, %lo(arena + {place})"]
        first, second, to = pointers
        a, b, c, d = (f"$f{number}" for number in self.random.sample(range(0, 32, 2), 4))
        name, other = (self.random.choice(("add", "sub", "mul", "div")) for _ in range(2))
        row = [f"{load} {a}, {size * self.random.randrange(2)}({first})", f"{load} {b}, 0({second})"]
        row.append(f"{name}.{fmt} {c}, {a}, {b}")
        if self.chance(0.5):
            row.append(f"{other}.{fmt} {c}, {c}, {self.random.choice((a, b, d))}")
        if self.chance(0.3):
            row.append(f"{self.random.choice(('abs', 'neg', 'sqrt'))}.{fmt} {c}, {c}")
        if self.chance(0.2):
            row.append(f"add.{fmt} {d}, {d}, {c}")
        row.append(f"{store} {c}, 0({to})")
        steps = (1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 0, -1)
        row += [f"addiu {name}, {name}, {size * self.random.choice(steps)}" for name in pointers]
        slot = row.pop(-1 if self.chance(0.8) else -4) if self.chance(0.8) else "nop"
        top = self.maker.label()
        close = [f"addiu {count}, {count}, -1", f"bne {count}, $0, {top}", slot]
        return Part([*lines, f"{top}:"], [[Part([line]) for line in row]], [close])
