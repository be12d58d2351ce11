"""The samples print what they are expected to: natively, and under qemu-user in both byte orders.

By default a few of the samples are run in one byte order with one set of flags, and natively with one, which change
from sample to sample. With MIPSREC_SAMPLES=all and MIPSREC_TIERS=all every sample is run with every set in both orders,
and those of source packages as well, where these are. Also: committed ELF files belong to their sources.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.compiler_runs import KEPT
from tests.support.paths import ROOT, SAMPLES
from tests.support.samples import load_samples
from tests.support.sampling import sampled
from tests.support.tools import missing, need

pytestmark = pytest.mark.sampled

build = load_samples()
ALL = os.environ.get("MIPSREC_SAMPLES") == "all"
CHOSEN = {name: sample for name, sample in build.load_samples().items() if ALL or not sample.package}
FLAG_SETS = (
    ("-O2",),
    ("-O0",),
    ("-O3",),
    ("-O2", "-march=mips1", "-mfp32"),
    ("-O2", "-march=mips2"),
    ("-O2", "-march=mips32r2"),
)
QEMU = {"mips": "qemu-mips", "mipsel": "qemu-mipsel"}


def _guest_cases() -> list[tuple[str, str, tuple[str, ...]]]:
    if ALL:
        return [(name, target, flags) for name in CHOSEN for target in QEMU for flags in FLAG_SETS]
    every = [(target, flags) for flags in FLAG_SETS for target in QEMU]
    cases = [(name, *every[5 * number % len(every)]) for number, name in enumerate(CHOSEN)]
    return [case for number, case in enumerate(cases) if number % 8 < 2]  # every second one has one byte order


def _native_cases() -> list[tuple[str, str]]:
    levels = ("-O0", "-O2")
    if ALL:
        return [(name, level) for name in CHOSEN for level in levels]
    some = sampled(sampled([*CHOSEN]))
    chosen = [name for name, sample in CHOSEN.items() if sample.kind != "freestanding" or name in some]
    return [(name, levels[number % 2]) for number, name in enumerate(chosen)]


def _need_for(name: str, target: str) -> None:
    """Ends the test when what building this sample takes is not installed."""
    for path, package in CHOSEN[name].needs:
        need(path, package)
    if CHOSEN[name].missing():
        pytest.skip(CHOSEN[name].missing())
    compiler = build.COMPILERS[target]
    for tool in (compiler, compiler.replace("gcc", "g++")) if CHOSEN[name].is_cxx else (compiler,):
        need(tool, build.PACKAGES[tool])


def _output(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr}"
    return done.stdout


@pytest.mark.parametrize("name, level", _native_cases())
def test_native(name: str, level: str, tmp_path: Path) -> None:
    _need_for(name, "native")
    assert _output(build.build_native(name, (level,), tmp_path)) == build.expected_output(name)


@pytest.mark.parametrize("name, target, flags", _guest_cases())
def test_guest(name: str, target: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    _need_for(name, target)
    qemu = need(QEMU[target], "qemu-user")
    processor = ("-cpu", "74Kf") if build.find_sample(name).guest_flags else ()
    guest = build.build_guest(name, target, flags, tmp_path)
    assert _output(qemu, *processor, guest) == build.expected_output(name)


@pytest.mark.parametrize("target", QEMU)
@pytest.mark.parametrize("name", ["jumptable", "structs", "virtual", "replay_vm"])
def test_guest_from_clang(name: str, target: str, tmp_path: Path) -> None:
    """Other shapes of code from another compiler: jump tables above all."""
    _need_for(name, target)
    need("clang")
    guest = build.build_guest(name, target, ("-O2",), tmp_path, clang=True)
    assert _output(need(QEMU[target], "qemu-user"), guest) == build.expected_output(name)


@pytest.mark.parametrize("name", [name for name, sample in CHOSEN.items() if sample.kind == "freestanding"])
def test_no_undefined_behaviour(name: str, tmp_path: Path) -> None:
    """A sample whose meaning C leaves open would test compilers, not us."""
    _need_for(name, "native")
    sanitize = ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all")
    assert _output(build.build_native(name, sanitize, tmp_path)) == build.expected_output(name)


@pytest.mark.parametrize("target", QEMU)
@pytest.mark.parametrize("name", [name for name, sample in CHOSEN.items() if sample.prebuilt is not None])
def test_prebuilt_runs(name: str, target: str) -> None:
    qemu = need(QEMU[target], "qemu-user")
    assert _output(qemu, build.prebuilt_path(name, target)) == build.expected_output(name)


def test_prebuilt_matches_sources() -> None:
    """Sources, flags and files are those recorded. A third is built again, all of them by `make samples`."""
    assert build.check_prebuilt(every=1 if ALL else 3) == []


@pytest.mark.parametrize("target", QEMU)
def test_builds_are_reproducible(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _need_for("crunch", target)
    monkeypatch.delenv(KEPT, raising=False)  # the compiler is to run twice
    first, second = (build.build_guest("crunch", target, ("-O2",), tmp_path / folder) for folder in ("one", "other"))
    assert first.read_bytes() == second.read_bytes()
    assert str(ROOT).encode() not in first.read_bytes()


@pytest.mark.parametrize("name", [name for name, sample in build.load_samples().items() if sample.package])
def test_packages_are_configured_by_headers_of_ours(name: str) -> None:
    """Each source of a sample gets its config.h, flags and defines, for guests as natively."""
    sample = build.load_samples()[name]
    config = ["-isystem", sample.config, "-include", f"{sample.config}/config.h"] if sample.config else []
    assert not config or (SAMPLES / sample.config / "config.h").is_file()
    for target in (*QEMU, "native"):
        for command in build._compile_commands(sample, target, ("-O2",)):
            assert not config or command[command.index("-include") - 2 :][:4] == config
            assert {*sample.flags, *(f"-D{define}" for define in sample.defines)} <= {*command}


def test_errors_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(build.SampleError, match="no sample 'nonesuch'; there are: hello"):
        build.build_guest("nonesuch", "mips", ("-O2",), tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(build.MissingTool, match="mips-linux-gnu-gcc is not installed.*gcc-mips-linux-gnu"):
        build.build_guest("crunch", "mips", ("-O2",), tmp_path)


def test_missing_tools_fail_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    with pytest.raises(pytest.fail.Exception, match="apt-get install some-package"):
        missing("some-tool", "some-package")
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="apt-get install some-package"):
        need("some-tool", "some-package")
