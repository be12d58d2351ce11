"""The samples that spend their time in calls print the same in every tier and under qemu-user, in both byte orders."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.samples import load_samples
from tests.support.tiers import BASELINE, INTERPRETED
from tests.support.tools import need

samples = load_samples()
CALLS = {name: sample for name, sample in samples.load_samples().items() if sample.group == "calls"}
QEMU = {"mips": "qemu-mips", "mipsel": "qemu-mipsel"}
OF_A_LIBRARY = ("main", "*GLOBAL__N*", "out_*", "sample_*", "_Unwind_*", "__cxa_*", "__gxx_*")
"""What is recompiled of a program with a C library: its own functions, and those that throw and unwind."""


@pytest.mark.parametrize("target", QEMU)
@pytest.mark.parametrize("name", CALLS)
def test_all_tiers_agree(host: Path, tmp_path: Path, name: str, target: str) -> None:
    compiler = samples.COMPILERS[target]
    for tool in (compiler, compiler.replace("gcc", "g++")) if CALLS[name].is_cxx else (compiler,):
        need(tool, samples.PACKAGES[tool])
    guest = samples.build_guest(name, target, ("-O2",), tmp_path)
    library = tmp_path / "library.so"
    program = pipeline.open_guest(guest)
    functions = program.functions_like(list(OF_A_LIBRARY)) if CALLS[name].kind == "libc" else None
    pipeline.build(program, library, pipeline.Options(jobs=1), functions=functions)
    ways: dict[str, tuple[object, ...]] = {
        "recompiled": (host, "--library", library),
        "interpreted": (host, *INTERPRETED),
        **{tier: (host, *options) for tier, options in BASELINE.items()},
        "qemu": (need(QEMU[target], "qemu-user"),),
    }
    for way, words in ways.items():
        result = subprocess.run([*map(str, words), str(guest)], capture_output=True, text=True, timeout=600)
        assert (result.returncode, result.stdout) == (0, samples.expected_output(name)), f"{way}: {result.stderr}"
