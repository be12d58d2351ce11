"""Makes random assembly programs whose functions change each other and themselves, and which end by themselves.

Enters: a seed. Leaves: a `SelfModifying`, with parts that can be left out one by one, as flow_maker.py has them.

Functions lie in pages that the guest may write, with data between them. Most instructions are *places*: each has some
other instructions that may be put there, assembled beforehand. What a program does meanwhile, in its functions and
between calls of them, is to put them there, by stores of all kinds, by read(2), or by another mapping of the pages; to
flush; and to take away and give back rights. The output is all registers after each call, then the pages.

A change is flushed unless it is of another function by a plain store: that counts at once where caches are coherent, as
under qemu and in the interpreter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.fuzz.flow_maker import Part

AREA, ALIAS, DONORS = 0x10000000, 0x20000000, 0x10100000
AREA_BYTES = 6 * 4096
FUNCTIONS = 9
LEAVES = 3
"""The last functions change nothing, call nothing and store nothing: they run in pages that may not be written, too."""
_FUEL = 40
_STEPS = 150
_DATA_BYTES = 64
_STATE_BYTES = 128
_STACK_BYTES = 4096
_PLAIN = [3, *range(10, 22), 24, 25]
_SOURCES = [0, 2, 4, 5, 6, 7, *_PLAIN]
_FUEL_REGISTER, _DATA, _COUNTER = 28, 23, 30
_CALLS = {"exit": 4001, "read": 4003, "write": 4004, "lseek": 4019, "mprotect": 4125, "cacheflush": 4147}
_CALLS |= {"mmap2": 4210, "memfd_create": 4354}
_READ_EXECUTE, _ALL_RIGHTS, _READ_WRITE = 5, 7, 3
_SHARED_FIXED = 0x11
_STORES = ("sw", "sh", "sb", "swl", "sc", "swc1", "read")
_FLUSHES = ("word", "all", "synci")


def _load(register: int, value: int | str) -> list[str]:
    """Return the two instructions that load an address or a number."""
    if isinstance(value, int):
        return [f"lui ${register}, {value >> 16 & 0xFFFF:#x}", f"ori ${register}, ${register}, {value & 0xFFFF:#x}"]
    return [f"lui ${register}, %hi({value})", f"addiu ${register}, ${register}, %lo({value})"]


def _load_word(register: int, label: str) -> list[str]:
    return [f"lui ${register}, %hi({label})", f"lw ${register}, %lo({label})(${register})"]


def _call(name: str, *arguments: int | str) -> list[str]:
    """Return the instructions of a system call; an argument in brackets is what lies at that label."""
    lines = []
    for number, value in enumerate(arguments):
        register = 4 + number if number < 4 else 8
        if isinstance(value, str) and value.startswith("["):
            lines += _load_word(register, value[1:-1])
        else:
            lines += _load(register, value)
        lines += [f"sw $8, {4 * number}($29)"] if number >= 4 else []
    return [*lines, f"addiu $2, $0, {_CALLS[name]}", "syscall"]


def _share(at: int, rights: int) -> list[str]:
    return _call("mmap2", at, AREA_BYTES, rights, _SHARED_FIXED, "[area_file]", 0)


def _new_file(label: str, contents: int | str, size_bytes: int) -> list[str]:
    """Return what makes a file in memory, and puts its descriptor at a label."""
    made = [*_call("memfd_create", "nothing", 0), "lui $8, %hi(" + label + ")", "sw $2, %lo(" + label + ")($8)"]
    return [*made, *_call("write", f"[{label}]", contents, size_bytes)]


@dataclass
class Place:
    """An instruction that may be replaced: its label, and what may stand there, as text."""

    function: int
    label: str
    donors: list[str] = field(default_factory=list)
    double: bool = False
    """Whether another place follows it, both in one aligned double word."""

    def donor(self, number: int) -> str:
        return f"{self.label}_donor_{number}"


@dataclass
class SelfModifying:
    """A program: its functions, what happens between their calls, and the words that are put into places."""

    functions: list[list[Part]]
    main: list[Part]
    places: list[Place]
    aliased: bool
    calls: int
    registers: dict[int, int]
    fr: int = 0

    @property
    def in_qemu(self) -> bool:
        """Return whether qemu-user does the same: it sees no writes by another mapping."""
        return not self.aliased

    @property
    def link_options(self) -> tuple[str, ...]:
        return (f"-Wl,--section-start=.changing={AREA:#x},--section-start=.donors={DONORS:#x}",)

    def place_of(self, offset: int) -> str:
        """Return what lies that far in the output."""
        run, at = divmod(offset, _STATE_BYTES)
        return f"${at // 4} after call {run}" if run < self.calls else f"area + {offset - self.calls * _STATE_BYTES:#x}"

    def parts(self) -> list[Part]:
        """Return all that may be left out."""
        return [found for row in (self.main, *self.functions) for part in row for found in (part, *part.parts())]

    def assembly(self) -> str:
        """Return the program."""
        code: list[str] = []
        for number, parts in enumerate(self.functions):
            code += [f"data_{number}: .space {_DATA_BYTES}, {number + 1}", f"f{number}:", *_prologue(number)]
            code += [line for part in parts for line in part.lines()] + _epilogue(number)
        present = {line[:-1] for line in code if line.endswith(":")}
        donors = [
            f"{place.donor(number)}: {text}"
            for place in self.places
            if place.label in present
            for number, text in enumerate(place.donors)
        ]
        lines = [".set noreorder", ".set noat", ".set nomacro", ".text", ".globl __start", "__start:"]
        lines += [*_load(29, "stack_end"), *_new_file("donor_file", "donors", 4 * len(donors))]
        if self.aliased:
            lines += [
                *_new_file("area_file", AREA, AREA_BYTES),
                *_share(AREA, _ALL_RIGHTS),
                *_share(ALIAS, _READ_WRITE),
            ]
        lines += [line for number, value in self.registers.items() for line in _load(number, value)]
        lines += [line for part in self.main for line in part.lines()]
        lines += [*_call("write", 1, "results", self.calls * _STATE_BYTES), *_call("write", 1, AREA, AREA_BYTES)]
        lines += [*_call("exit", 0), '.section .changing, "awx", @progbits', ".align 12", *code, f".org {AREA_BYTES}"]
        lines += ['.section .donors, "aw", @progbits', "donors:", *donors, "nothing: .word 0"]
        lines += ["donor_file: .word 0", "area_file: .word 0", ".bss", "results:"]
        lines += [f".space {self.calls * _STATE_BYTES}", f".space {_STACK_BYTES}", "stack_end: .space 64"]
        return "\n".join([*lines, ""])


def _prologue(number: int) -> list[str]:
    """Save what a function must keep, and go back when the fuel is used up."""
    return [
        f"addiu ${_FUEL_REGISTER}, ${_FUEL_REGISTER}, -1", f"bltz ${_FUEL_REGISTER}, f{number}_out", "nop",
        "addiu $29, $29, -32", "sw $31, 28($29)", f"sw ${_COUNTER}, 24($29)", f"sw ${_DATA}, 20($29)",
        *_load(_DATA, f"data_{number}"),
    ]  # fmt: skip


def _epilogue(number: int) -> list[str]:
    return [
        "lw $31, 28($29)", f"lw ${_COUNTER}, 24($29)", f"lw ${_DATA}, 20($29)", "addiu $29, $29, 32",
        f"f{number}_out: jr $31", "nop",
    ]  # fmt: skip


class Maker:
    """The choices of one seed."""

    def __init__(self, seed: str, big: bool) -> None:
        self.random, self.big = Random(seed), big
        self.aliased = self.random.random() < 0.3
        self.unflushed = self.random.choice((0.3, 0.7, 1.0))  # of the changes that need no flush
        self.places: list[Place] = []
        self.calls = 0
        self._labels = 0
        self._changes: list[tuple[Part, int]] = []

    def _label(self) -> str:
        self._labels += 1
        return f"L{self._labels}"

    # ---- instructions ----

    def _plain(self, function: int) -> str:
        """Return an instruction that neither jumps nor traps."""
        random = self.random
        stores = function < FUNCTIONS - LEAVES
        words, others = (("lw", "sw"), ("lb", "sb", "lhu", "sh")) if stores else (("lw",), ("lb", "lhu"))
        d, s, t = random.choice(_PLAIN), random.choice(_SOURCES), random.choice(_SOURCES)
        return random.choice((
            f"addiu ${d}, ${s}, {random.randint(-32768, 32767)}", f"xori ${d}, ${s}, {random.getrandbits(16)}",
            f"{random.choice('addu subu xor or nor and slt sltu mul movz movn'.split())} ${d}, ${s}, ${t}",
            f"{random.choice('sll srl sra rotr'.split())} ${d}, ${s}, {random.randrange(32)}",
            f"lui ${d}, {random.getrandbits(16)}", f"mult ${s}, ${t}", f"mflo ${d}", f"mfhi ${d}", "nop",
            f"{random.choice(words)} ${d}, {4 * random.randrange(16)}(${_DATA})",
            f"{random.choice(others)} ${d}, {2 * random.randrange(32)}(${_DATA})",
        ))  # fmt: skip

    def _branch(self, words: int) -> str:
        """Return a branch that goes `words` instructions on, if it is taken."""
        random = self.random
        s, t = random.choice(_SOURCES), random.choice(_SOURCES)
        target = f".+{4 * words}"
        return random.choice((
            f"beq ${s}, ${t}, {target}", f"bne ${s}, ${t}, {target}", f"beq $0, $0, {target}", f"bgtz ${s}, {target}",
            f"blez ${s}, {target}", f"bnel ${s}, ${t}, {target}", f"bgezl ${s}, {target}", "nop",
        ))  # fmt: skip

    def _jump(self, function: int) -> str:
        """Return a call of a function that lies further on, or none."""
        return "nop" if self.random.random() < 0.1 else f"jal f{self.random.randrange(function + 1, FUNCTIONS)}"

    def _place(self, function: int, texts: list[str]) -> list[str]:
        place = Place(function, self._label(), texts)
        self.places.append(place)
        return [f"{place.label}:", texts[0]]

    def _plain_place(self, function: int) -> list[str]:
        return self._place(function, [self._plain(function) for _ in range(4)])

    # ---- parts of functions ----

    def _body(self, function: int, depth: int = 0) -> list[Part]:
        kinds = ["plain"] * 6 + ["branch"] * 3 + ["double"]
        if function < FUNCTIONS - LEAVES:
            kinds += ["call"] * 2 + ["change"] * 3
        if depth == 0:
            kinds += ["loop"] * 2
        wanted = [self.random.choice(kinds) for _ in range(self.random.randint(3, 8))]
        return [getattr(self, f"_part_{kind}")(function) for kind in wanted]

    def _part_plain(self, function: int) -> Part:
        return Part([line for _ in range(self.random.randint(1, 4)) for line in self._plain_place(function)])

    def _part_branch(self, function: int) -> Part:
        between = self.random.randint(1, 4)
        lines = self._place(function, [self._branch(2 + between) for _ in range(4)])
        return Part([*lines, *(line for _ in range(1 + between) for line in self._plain_place(function))])

    def _part_double(self, function: int) -> Part:
        """Two places that sdc1 may change at once."""
        first, second = self._plain_place(function), self._plain_place(function)
        self.places[-2].double = True
        return Part([".align 3", *first, *second])  # .align puts a nop there where it must

    def _part_call(self, function: int) -> Part:
        lines = self._place(function, [self._jump(function) for _ in range(4)])
        return Part([*lines, *self._plain_place(function)])

    def _part_loop(self, function: int) -> Part:
        label = self._label()
        begin = [f"addiu ${_COUNTER}, $0, {self.random.randint(2, 12)}", f"{label}:"]
        end = [f"addiu ${_COUNTER}, ${_COUNTER}, -1", f"bgtz ${_COUNTER}, {label}", *self._plain_place(function)]
        return Part(begin, [self._body(function, 1)], [end])

    def _part_change(self, function: int) -> Part:
        """What is changed, and how, is said when all places are known."""
        part = Part([])
        self._changes.append((part, function))
        return part

    # ---- changes ----

    def _change(self, function: int | None) -> list[str]:
        """Return what puts a word into a place, in a function or between calls."""
        random = self.random
        place = random.choice(self.places)
        donor = place.donor(random.randrange(len(place.donors)))
        moved = self.aliased and random.random() < 0.4
        address = f"{place.label} + {ALIAS - AREA}" if moved else place.label
        store = random.choice(_STORES)
        if place.double and random.random() < 0.6:
            lines = self._store_double(place, donor, address)
        else:
            lines = [*_load_word(8, donor), *_load(9, address), *self._store(store, donor)]
        may_wait = function != place.function and not moved
        flush = "none" if may_wait and random.random() < self.unflushed else random.choice(_FLUSHES)
        return [*lines, *self._flush(flush, place)]

    def _store_double(self, place: Place, donor: str, address: str) -> list[str]:
        """Two places at once: the one after it gets a word as well."""
        other = self.places[self.places.index(place) + 1]
        both = [donor, other.donor(self.random.randrange(len(other.donors)))]
        lines = []
        for register, name in zip((1, 0) if self.big else (0, 1), both):
            lines += [*_load_word(8, name), f"mtc1 $8, $f{register}"]
        return [*lines, *_load(9, address), "sdc1 $f0, 0($9)"]

    def _store(self, store: str, donor: str) -> list[str]:
        """Return what stores $8 at $9."""
        first = 0 if self.big else 3
        again = self._label()
        return {
            "sw": ["sw $8, 0($9)"],
            "sh": [f"sh $8, {2 if self.big else 0}($9)", "srl $8, $8, 16", f"sh $8, {0 if self.big else 2}($9)"],
            "sb": [
                line for byte in range(4) for line in (f"sb $8, {3 - byte if self.big else byte}($9)", "srl $8, $8, 8")
            ],
            "swl": [f"swl $8, {first}($9)", f"swr $8, {3 - first}($9)"],
            "sc": [f"{again}:", "ll $2, 0($9)", "addu $2, $8, $0", "sc $2, 0($9)", f"beq $2, $0, {again}", "nop"],
            "swc1": ["mtc1 $8, $f2", "swc1 $f2, 0($9)"],
            "read": [
                "addu $3, $9, $0",
                *_call("lseek", "[donor_file]", f"{donor} - {DONORS}", 0),
                *(*_load_word(4, "donor_file"), "addu $5, $3, $0", "addiu $6, $0, 4"),
                *(f"addiu $2, $0, {_CALLS['read']}", "syscall"),
            ],
        }[store]

    def _flush(self, flush: str, place: Place) -> list[str]:
        on = self._label()
        return {
            "none": [],
            "word": _call("cacheflush", place.label, 8, 3),
            "all": _call("cacheflush", AREA, AREA_BYTES, 3),
            "synci": [
                *(*_load(9, place.label), "synci 0($9)", "synci 4($9)", "sync"),
                *(*_load(9, on), "jr.hb $9", "nop", f"{on}:"),
            ],
        }[flush]

    # ---- the program ----

    def _called(self, function: int) -> Part:
        """Return a call, and what stores all registers after it."""
        lines = [f"addiu ${_FUEL_REGISTER}, $0, {_FUEL}", *_load(2, f"f{function}"), "jalr $2", "nop"]
        lines += _load(27, f"results + {self.calls * _STATE_BYTES}")
        self.calls += 1
        kept = (number for number in range(1, 32) if number not in (26, 27))
        return Part([*lines, *(f"sw ${number}, {4 * number}($27)" for number in kept)])

    def _step(self) -> list[Part]:
        """Return what happens between calls, and a call, or several so that code becomes hot."""
        random, found = self.random, []
        for _ in range(random.randrange(5)):
            found.append(Part(self._change(None)))
        if random.random() < 0.08:
            found.append(Part(_call("mprotect", AREA, AREA_BYTES, _READ_EXECUTE)))
            leaves = [random.randrange(FUNCTIONS - LEAVES, FUNCTIONS) for _ in range(random.choice((1, 9)))]
            found += map(self._called, leaves)
            found.append(Part(_call("mprotect", AREA, AREA_BYTES, _ALL_RIGHTS)))
        if self.aliased and random.random() < 0.05:
            found.append(Part(_share(AREA, _ALL_RIGHTS)))
        return [*found, self._called(random.randrange(FUNCTIONS))]

    def program(self) -> SelfModifying:
        functions = [self._body(number) for number in range(FUNCTIONS)]
        for part, function in self._changes:
            part.before = self._change(function)
        main = [part for _ in range(_STEPS) for part in self._step()]
        registers = {number: self.random.getrandbits(32) for number in (*_SOURCES[1:], 22, 23, 30)}
        return SelfModifying(functions, main, self.places, self.aliased, self.calls, registers)


def make(seed: str, big: bool) -> SelfModifying:
    """Return the program of a seed for a byte order."""
    return Maker(seed, big).program()
