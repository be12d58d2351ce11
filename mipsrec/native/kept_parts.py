"""What earlier builds were made of, so that an unchanged build, or part of one, takes neither analysis nor lifting.

Enters: keys, of all that a build or a part is made from. Leaves: the keys of the parts of a build; of a part, its
object and its entries. Both are records in the cache, which have the form and the checks of objects (cache/objects.py).
A record names objects and holds none: the object of a part is found by the hash of its IR (codegen.py), and libraries
are linked anew from objects. So no version of the linker or of the C library is in a key.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from string import hexdigits
from typing import Any

from ..cache import objects
from ..cache.folders import RECORDS
from ..lift.build import CHECK
from .shard_inputs import made_by
from .shards import Shard

_KEY_DIGITS = 40
Entries = list[tuple[int, str]]
"""Guest pcs, each with the symbol that serves it."""


@dataclass(frozen=True)
class KeptPart:
    """A part of an earlier build: its object, its entries, how many functions and guest instructions it has."""

    data: bytes
    entries: Entries
    functions: int
    instructions: int


def may_find() -> bool:
    """Return whether code may be taken without lifting it: not where each plan is to be checked (lift/build.py)."""
    return not os.environ.get(CHECK)


def find_part(key: str) -> KeptPart | None:
    """Return the part of a key; None where there is none, or its object has gone."""
    record = _read(key)
    try:
        object_key, entries = str(record["object"]), [(int(pc), str(symbol)) for pc, symbol in record["entries"]]
        functions, instructions = int(record["functions"]), int(record["instructions"])
    except (LookupError, TypeError, ValueError):
        return None
    data = objects.find(object_key) if _is_key(object_key) else None
    return KeptPart(data, entries, functions, instructions) if data is not None else None


def keep_part(key: str, object_key: str, entries: Entries, shard: Shard) -> None:
    """Keep which object a part has."""
    sizes = {"functions": len(shard.names), "instructions": shard.weight}
    _write(key, {"object": object_key, "entries": entries, **sizes})


def build_key(made_from: Sequence[object]) -> str:
    """Return the name under which the record of a whole build is kept; of what it is made from, `repr` says all."""
    return hashlib.blake2b(f"build {made_by()} {list(made_from)!r}".encode(), digest_size=20).hexdigest()


def find_build(key: str) -> list[str] | None:
    """Return the keys of the parts of a build, in the shards' order."""
    record = _read(key)
    parts = record.get("parts") if isinstance(record, dict) else None
    return parts if isinstance(parts, list) and all(_is_key(part) for part in parts) else None


def keep_build(key: str, parts: Sequence[str]) -> None:
    """Keep which parts a build has."""
    _write(key, {"parts": list(parts)})


def _is_key(text: Any) -> bool:
    return isinstance(text, str) and len(text) == _KEY_DIGITS and set(text) <= set(hexdigits)


def _read(key: str) -> Any:
    """Return what the record of a key says; None where there is none, or it is damaged."""
    data = objects.find(key, RECORDS)
    if data is None:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _write(key: str, record: dict[str, Any]) -> None:
    objects.keep(key, json.dumps(record, separators=(",", ":")).encode(), RECORDS)
