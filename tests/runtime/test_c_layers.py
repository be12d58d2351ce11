"""The folders of the host are layers: what a file includes, and what it refers to, lies in its own folder or below it.

A folder may also refer to what is declared in its own `upcalls.h`, and to the functions that recompiled code calls
(mr_abi.h): those are defined in folders above. So no folder needs another one that needs it. `make check` compiles the
files for their warnings, and runs this on the objects: MIPSREC_C_OBJECTS names their folder.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from mipsrec.abi import FUNCTIONS
from mipsrec.host_build import runtime_folder
from mipsrec.target import this_target
from tests.support.tools import need

RUNTIME = runtime_folder()
LAYERS = (
    "host", "base", "memory", "cpu", "baseline", "lifted", "run", "linux", "linux/calls", "strace", "growth", "profile",
    "coverage", "heap", "verify", "gdb", "",
)  # fmt: skip
"""Lowest first; the last one is runtime/ itself. runtime/README.md says what each is for."""
APART = {"launcher"}
"""Another program."""

Symbols = dict[str, dict[str, str]]
"""By file: names, with the letters of nm."""


def folder_of(path: str) -> str:
    """Return the folder of a file, both relative to runtime/. Those of host/ are one: a build takes one of them."""
    return "host" if path.startswith("host/") else os.path.dirname(path)


def sources(folder: Path) -> list[str]:
    """Return the files of the host, relative to the folder."""
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.[ch]"))
    return [path for path in found if path.split("/")[0] not in APART]


def includes(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield (file, file that it includes), but for generated headers, which lie below all folders."""
    for path in sources(folder):
        for name in re.findall(r'^\s*#\s*include "([^"]+)"', (folder / path).read_text(), re.MULTILINE):
            if not re.fullmatch(r"mr_\w+\.h", name):
                yield path, name


def forbidden_includes(folder: Path) -> list[str]:
    """Return the includes that do not go downward."""
    found = []
    for path, name in includes(folder):
        if not (folder / name).exists():
            found.append(f"{path} includes {name}, which is not there: name it from runtime/ on")
        elif LAYERS.index(folder_of(name)) > LAYERS.index(folder_of(path)):
            found.append(f"{path} includes {name}, which is in a folder above")
    return found


def upcalls(folder: Path, layer: str) -> set[str]:
    """Return the symbols that a layer may leave to folders above: its own upcalls, and those of folders below."""
    found = {function.name for function in FUNCTIONS}
    for below in LAYERS[: LAYERS.index(layer) + 1]:
        header = folder / below / "upcalls.h"
        if header.exists():
            found |= set(re.findall(r"\b(mr_\w+)(?:\(|;|\[\];)", header.read_text()))
    return found


def symbols_of(objects: Path) -> tuple[Symbols, Symbols]:
    """Return the symbols that each file defines, and those that it refers to."""
    defines: Symbols = {}
    refers: Symbols = {}
    nm = need("nm", "binutils")
    for path in sources(RUNTIME):
        if not path.endswith(".c") or (folder_of(path) == "host" and this_target().machine not in path.split("/")):
            continue  # a header, or of another host
        compiled = objects / path.replace(".c", ".o")
        lines = subprocess.run([nm, compiled], capture_output=True, text=True, check=True).stdout.splitlines()
        pairs = [line.split()[-2:] for line in lines]
        defines[path] = {name: kind for kind, name in pairs if kind.isupper() and kind != "U"}
        refers[path] = {name: kind for kind, name in pairs if kind == "U"}
    return defines, refers


def forbidden_references(folder: Path, defines: Symbols, refers: Symbols) -> list[str]:
    """Return the references that do not go downward, and are no upcalls."""
    owner = {name: path for path, names in defines.items() for name in names}
    found = []
    for path, names in refers.items():
        layer = folder_of(path)
        allowed = upcalls(folder, layer)
        for name in sorted(set(names) & set(owner)):
            above = LAYERS.index(folder_of(owner[name])) > LAYERS.index(layer)
            if above and name not in allowed:
                found.append(f"{path} refers to {name} of {owner[name]}, which is in a folder above")
    return found


def test_every_folder_is_a_layer() -> None:
    assert {folder_of(path) for path in sources(RUNTIME)} == set(LAYERS)


def test_includes_go_downward() -> None:
    assert forbidden_includes(RUNTIME) == []


def test_a_forbidden_include_is_found(tmp_path: Path) -> None:
    for name in ("base/low.h", "base/low.c", "run/high.h"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "base/low.c").write_text('#include "base/low.h"\n#include "run/high.h"\n#include "missing.h"\n')
    assert [line.split(",")[0] for line in forbidden_includes(tmp_path)] == [
        "base/low.c includes run/high.h", "base/low.c includes missing.h",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def symbols() -> tuple[Symbols, Symbols]:
    if "MIPSREC_C_OBJECTS" not in os.environ:
        pytest.skip("`make check` compiles the files, and runs this on the objects")
    return symbols_of(Path(os.environ["MIPSREC_C_OBJECTS"]))


def test_references_go_downward(symbols: tuple[Symbols, Symbols]) -> None:
    assert forbidden_references(RUNTIME, *symbols) == []


def test_a_forbidden_reference_is_found() -> None:
    defines = {"base/low.c": {"mr_low": "T"}, "run/high.c": {"mr_high": "T", "mr_call": "T"}}
    refers = {"base/low.c": {"mr_high": "U", "mr_call": "U", "memcpy": "U"}, "run/high.c": {"mr_low": "U"}}
    assert [line.split(",")[0] for line in forbidden_references(RUNTIME, defines, refers)] == [
        "base/low.c refers to mr_high of run/high.c",
    ]


def test_every_upcall_is_answered_above(symbols: tuple[Symbols, Symbols]) -> None:
    defines, _ = symbols
    owners = defaultdict(list)
    for path, names in defines.items():
        for name in names:
            owners[name].append(path)
    for number, layer in enumerate(LAYERS):
        header = RUNTIME / layer / "upcalls.h"
        if not header.exists():
            continue
        for name in re.findall(r"^[^/\n]*?\b(mr_\w+)(?:\(|;|\[\];)", header.read_text(), re.MULTILINE):
            if name in owners:  # else it is inline
                (path,) = owners[name]
                assert LAYERS.index(folder_of(path)) > number, f"{layer}/upcalls.h: {name} is defined in {path}"


def test_global_names_have_our_prefix(symbols: tuple[Symbols, Symbols]) -> None:
    defines, _ = symbols
    found = {name for names in defines.values() for name in names}
    assert {name for name in found if not re.match(r"mr_|op_|main$|__", name)} == set()


def test_readme_names_every_global_variable(symbols: tuple[Symbols, Symbols]) -> None:
    defines, _ = symbols
    text = (RUNTIME / "README.md").read_text()
    for path, names in defines.items():
        for name, kind in names.items():
            if kind in "BDC":
                assert f"`{name}`" in text, f"runtime/README.md does not say what guards {name} of {path}"
