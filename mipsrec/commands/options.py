"""From parsed arguments to translation options."""

from __future__ import annotations

import argparse

from ..options import Options


def options_of(arguments: argparse.Namespace) -> Options:
    """Return the translation options among parsed arguments; those a command does not have keep their defaults."""
    names = ("opt", "memory", "calls", "jobs", "cpu", "reuse", "into")
    chosen = {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}
    return Options(**chosen, profile=getattr(arguments, "use_profile", None))
