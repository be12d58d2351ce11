"""FP pair forms: each edge has the form of the uses next to it, and loops count more than what is around them."""

from __future__ import annotations

from mipsrec.isa.effects import ALL_BITS, FPR_BIT
from mipsrec.lift.ir import FunctionPlan
from tests.lift.plans import Snippets

F2 = 3 << FPR_BIT + 2
F4 = 3 << FPR_BIT + 4
RETURN = "jr $31\n nop"
LOOP = "addiu $4, $4, -1\n bnez $4, 1b\n nop"
CODE = Snippets(
    {
        "singles_in_loop": f"add.d $f2, $f2, $f2\n 1: add.s $f2, $f2, $f2\n {LOOP}\n {RETURN}",
        "doubles_in_loop": f"add.s $f2, $f2, $f2\n 1: add.d $f2, $f2, $f2\n {LOOP}\n {RETURN}",
        "as_many_of_both": f"add.d $f2, $f2, $f2\n beqz $4, 1f\n nop\n 1: add.s $f2, $f2, $f2\n {RETURN}",
        "inner_loop": f"""
            add.d  $f2, $f2, $f2
        2:  add.d  $f2, $f2, $f2
            add.d  $f2, $f2, $f2
        1:  add.s  $f2, $f2, $f2
            {LOOP}
            add.d  $f2, $f2, $f2
            addiu  $5, $5, -1
            bnez   $5, 2b
            nop
            {RETURN}""",
        "block_without_uses": f"""
        1:  add.s  $f2, $f2, $f2
            beqz   $5, 2f
            nop
            addiu  $6, $6, 1
        2:  {LOOP}
            add.d  $f2, $f2, $f2
            {RETURN}""",
        "blocks_without_uses_around_an_exit": f"""
        1:  add.s  $f2, $f2, $f2
            b      2f
            nop
        2:  beqz   $5, 3f
            nop
            b      1b
            addiu  $5, $5, -1
        3:  b      4f
            nop
        4:  add.d  $f2, $f2, $f2
            {RETURN}""",
        "two_pairs": f"""
            add.d  $f2, $f4, $f4
        1:  add.s  $f2, $f2, $f2
            add.d  $f4, $f4, $f4
            {LOOP}
            mov.s  $f4, $f2
            {RETURN}""",
        "first_and_last_use": f"1: add.s $f2, $f2, $f2\n add.d $f2, $f2, $f2\n beqz $4, 2f\n nop\n nop\n 2: {RETURN}",
        # idle
        "only_doubles": f"1: add.d $f2, $f2, $f2\n {LOOP}\n {RETURN}",
        "only_singles": f"1: add.s $f2, $f2, $f2\n {LOOP}\n {RETURN}",
    }
)


def forms(plan: FunctionPlan) -> list[tuple[int, int]]:
    """Return what is two floats into each block and out of it."""
    into, out = plan.pair_forms.into, plan.pair_forms.out
    for source, targets in plan.graph.successors.items():
        assert all(out[source] == into[target] for target in targets)  # an edge has one form
    return [(into[pc], out[pc]) for pc in plan.graph.order]


def test_singles_in_a_loop() -> None:
    assert forms(CODE.plan("singles_in_loop")) == [(0, F2), (F2, F2), (F2, F2)]


def test_doubles_in_a_loop() -> None:
    assert forms(CODE.plan("doubles_in_loop")) == [(F2, 0), (0, 0), (0, 0)]


def test_as_many_uses_of_both_kinds() -> None:
    """The edge between them stays whole: no form is better, and a whole pair is one register of the host."""
    assert forms(CODE.plan("as_many_of_both")) == [(0, 0), (0, F2)]


def test_inner_loop_counts_more() -> None:
    entry, outer, inner, *_ = forms(CODE.plan("inner_loop"))
    assert (entry, outer[1], inner) == ((0, 0), F2, (F2, F2))


def test_block_without_uses_takes_the_form_of_the_loop() -> None:
    first, idle, latch, last = forms(CODE.plan("block_without_uses"))
    assert first == idle == latch == (F2, F2)
    assert last == (F2, 0)


def test_blocks_without_uses_take_the_form_of_the_innermost_loop() -> None:
    single, test, latch, after, double = forms(CODE.plan("blocks_without_uses_around_an_exit"))
    assert single == test == latch == (F2, F2)
    assert after == (F2, 0) and double == (0, 0)


def test_entries_have_one_form() -> None:
    assert forms(CODE.plan("doubles_in_loop", entries=(0, 1)))[:2] == [(0, 0), (0, 0)]


def test_pairs_by_themselves() -> None:
    assert forms(CODE.plan("two_pairs"))[1] == (F2, F2)


def test_first_and_last_use_of_a_block() -> None:
    assert forms(CODE.plan("first_and_last_use"))[0] == (F2, 0)


def test_idle() -> None:
    for name in ("only_doubles", "only_singles"):
        assert set(forms(CODE.plan(name))) == {(0, 0)}, name
    assert set(forms(CODE.plan("singles_in_loop", memory_resident=ALL_BITS))) == {(0, 0)}
