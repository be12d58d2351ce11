"""The server knows the options of the variants that it adds to, and refuses others."""

from __future__ import annotations

import pytest

from mipsrec.cache.folders import partial_variant, variant_of
from mipsrec.options import Options
from mipsrec.server.protocol import Refused, options_of

CHOSEN = (Options(), Options(opt="light", memory="thunk", cpu="generic"), Options(opt=0, calls="instrumented"))


@pytest.mark.parametrize("options", CHOSEN, ids=variant_of)
def test_a_variant_has_the_options_that_it_is_named_after(options: Options) -> None:
    found = options_of(variant_of(options))
    assert (found.memory, found.calls, found.opt) == (options.memory, options.calls, str(options.opt))
    assert variant_of(found) == variant_of(options)


@pytest.mark.parametrize("variant", [
    "", "flat-direct-auto-none", partial_variant(Options(), []), variant_of(Options(without=("no-wrap",))),
])  # fmt: skip
def test_other_variants_are_refused(variant: str) -> None:
    with pytest.raises(Refused, match="there is no variant"):
        options_of(variant)
