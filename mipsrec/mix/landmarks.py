"""Landmarks: places on the way of a thread that tell where the guest is."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ..target.running_code import Kind


class Tier(Enum):
    """What a host instruction is of; the values are how reports name them."""

    RECOMPILED = "recompiled code"
    BASELINE = "baseline tier"
    HOST = "interpreter and host"


class Landmark(NamedTuple):
    """A place on the way of a window that tells where the guest is.

    In recompiled code it is a jump of that kind, at an offset of the library `path`; of no kind, it is what a call has
    led to. In the baseline tier it is where the code of an instruction begins, at an offset of the guest's file;
    without a path, at that guest pc.
    """

    tier: Tier
    path: str
    offset: int
    kind: Kind | None
