"""bench: the kernels of samples/, or the user's own pair, recompiled and timed beside native code and qemu-user."""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import pipeline
from ..errors import BuildError, MipsrecError
from ..host import host_executable
from ..timing import Comparison, Contender, compare, geometric_mean
from .options import options_of


def load_samples_module() -> ModuleType:
    """Return samples/build.py of the checkout or of the installation as a module."""
    here = Path(__file__).resolve().parent.parent
    for folder in (here.parent / "samples", here / "_samples"):
        if (folder / "build.py").exists():
            spec = importlib.util.spec_from_file_location("mipsrec_samples_build", folder / "build.py")
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module
            spec.loader.exec_module(module)
            return module
    raise BuildError(f"{here}: the samples are missing; install mipsrec again")


def _guest_contenders(
    label: str, guest: Path, arguments: Sequence[str], options: pipeline.Options, folder: Path
) -> list[Contender]:
    """Return the recompiled guest, and the guest under qemu when that is installed."""
    opened = pipeline.open_guest(guest)
    library = folder / f"{label}-{guest.name}.so"
    pipeline.build(opened, library, options)
    host = str(host_executable())
    found = [Contender(label, (host, "--library", str(library), str(guest), *arguments))]
    qemu = shutil.which("qemu-mips" if opened.image.byte_order == "big" else "qemu-mipsel")
    if qemu:
        found.append(Contender(f"{label} qemu", (qemu, str(guest), *arguments)))
    return found


def _kernels(arguments: argparse.Namespace, folder: Path) -> list[Comparison]:
    samples = load_samples_module()
    targets = ("mipsel", "mips") if arguments.target == "both" else (arguments.target,)
    options = options_of(arguments)
    results = []
    chosen = [s for s in samples.load_samples().values() if s.bench is not None]
    if arguments.only:
        unknown = set(arguments.only) - {sample.name for sample in chosen}
        if unknown:
            known = ", ".join(sample.name for sample in chosen)
            raise BuildError(f"bench: no kernel {', '.join(sorted(unknown))}; there are {known}")
        chosen = [sample for sample in chosen if sample.name in arguments.only]
    for sample in chosen:
        try:
            native = samples.build_native(sample.name, ("-O2",), folder)
            contenders = [Contender("native", (str(native), *sample.bench))]
            for target in targets:
                guest = samples.build_guest(sample.name, target, ("-O2",), folder)
                contenders += _guest_contenders(target, guest, sample.bench, options, folder)
        except samples.SampleError as error:
            raise BuildError(str(error)) from error
        results.append(compare(sample.name, contenders, arguments.rounds))
        if not arguments.json:
            _print_row(results[-1], _labels(results))
    return results


def _pair(arguments: argparse.Namespace, folder: Path) -> list[Comparison]:
    words = arguments.programs
    if len(words) < 2:
        usage = "mipsrec bench prog.elf native-prog [-- ARG...]"
        raise BuildError(f"bench: give a guest and its native build, or neither: {usage}")
    guest, native, rest = Path(words[0]), Path(words[1]), words[2:]
    if rest[:1] == ["--"]:
        rest = rest[1:]
    contenders = [Contender("native", (str(native.resolve()), *rest))]
    contenders += _guest_contenders("recompiled", guest.resolve(), rest, options_of(arguments), folder)
    results = [compare(guest.name, contenders, arguments.rounds)]
    if not arguments.json:
        _print_row(results[0], _labels(results))
    return results


def _labels(results: list[Comparison]) -> list[str]:
    return [label for label in results[0].seconds if label != results[0].reference]


_header_done = False


def _print_row(result: Comparison, labels: list[str]) -> None:
    global _header_done
    if not _header_done:
        print(f"{'program':16} {'native s':>9}" + "".join(f" {label:>20}" for label in labels), flush=True)
        _header_done = True
    cells = []
    for label in labels:
        low, high = result.spread(label)
        mark = " WRONG" if label in result.wrong else ""
        cells.append(f"{result.ratio(label):.2f} ({low:.2f}-{high:.2f}){mark}")
    seconds = min(result.seconds[result.reference])
    print(f"{result.name:16} {seconds:9.3f}" + "".join(f" {cell:>20}" for cell in cells), flush=True)


def _means(results: list[Comparison]) -> dict[str, float | None]:
    return {
        label: geometric_mean([r for r in (result.ratio(label) for result in results) if r is not None])
        for label in _labels(results)
    }


def _as_json(results: list[Comparison]) -> dict[str, Any]:
    return {
        "programs": {
            result.name: {
                "seconds": result.seconds,
                "ratio": {label: result.ratio(label) for label in _labels(results)},
                "wrong": sorted(result.wrong),
            }
            for result in results
        },
        "geometric_mean": _means(results),
    }


def _plot(results: list[Comparison], output: str) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise BuildError("--plot needs matplotlib: pip install mipsrec[plot]") from error
    labels = _labels(results)
    figure, axes = pyplot.subplots(figsize=(max(6, len(results) * 0.7), 4))
    width = 0.8 / len(labels)
    for index, label in enumerate(labels):
        positions = [n + index * width for n in range(len(results))]
        axes.bar(positions, [result.ratio(label) or 0 for result in results], width, label=label)
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_xticks([n + 0.4 - width / 2 for n in range(len(results))], [r.name for r in results], rotation=60)
    axes.set_ylabel("time / native gcc -O2")
    axes.legend()
    figure.tight_layout()
    figure.savefig(output)


def bench(arguments: argparse.Namespace) -> int:
    """Time, print the table, and say whether every output was right (exit status 1 if not)."""
    with tempfile.TemporaryDirectory(prefix="mipsrec-bench-") as name:
        results = (_pair if arguments.programs else _kernels)(arguments, Path(name))
    if arguments.json:
        print(json.dumps(_as_json(results), indent=2))
    else:
        means = _means(results)
        cells = "".join(f" {f'{means[label]:.2f}':>20}" for label in _labels(results))
        print(f"{'geometric mean':26}{cells}")
    if arguments.plot:
        _plot(results, arguments.plot)
    wrong = [f"{result.name} ({', '.join(sorted(result.wrong))})" for result in results if result.wrong]
    if wrong:
        raise MipsrecError(f"bench: other output than the native build: {'; '.join(wrong)}")
    return 0
