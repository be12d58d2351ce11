"""Runs commands where a folder is read-only, small, or notes no accesses: in a mount namespace of their own."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.powers import need_to


def in_namespace(
    mounts: Sequence[str], command: Sequence[object], environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command after shell commands that mount, none of which is seen outside; skips where it may not mount."""
    need_to("mount file systems")
    script = "\n".join([*mounts, "exec " + shlex.join(map(str, command))])
    return subprocess.run(
        ["unshare", "-m", "sh", "-ec", script], capture_output=True, text=True, timeout=600,
        stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})},
    )  # fmt: skip


def read_only(folder: Path) -> list[str]:
    """Return the commands that make a folder read-only."""
    name = shlex.quote(str(folder))
    return [f"mount --bind {name} {name}", f"mount -o remount,ro,bind {name}"]


def image_of(folder: Path) -> list[str]:
    """Return the commands that mount an image with a copy of what is in a folder on it."""
    name, image = shlex.quote(str(folder)), shlex.quote(f"{folder}.image")
    return [f"truncate -s 1M {image}", f"mke2fs -q -F -d {name} {image}", f"mount -o loop {image} {name}"]


def small(folder: Path, size_bytes: int, fill: bool = False, options: str = "") -> list[str]:
    """Return the commands that mount a small file system on a folder, with a copy of what is in it, perhaps full."""
    name = shlex.quote(str(folder))
    commands = [
        f"mkdir -p {name}.copy && cp -a {name}/. {name}.copy/",
        f"mount -t tmpfs -o size={size_bytes}{',' + options if options else ''} tmpfs {name}",
        f"cp -a {name}.copy/. {name}/",
    ]
    return [*commands, f"dd if=/dev/zero of={name}/filler bs=4096 2>/dev/null || true"] if fill else commands
