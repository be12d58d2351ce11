"""bench: the programs of samples/, or the user's own pair, recompiled and timed beside native code and qemu-user."""

from __future__ import annotations

import argparse
import dataclasses
import errno
import importlib.util
import json
import os
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import pipeline
from ..cache.library_file import code_bytes
from ..elf.header import ET_DYN
from ..errors import BuildError, MipsrecError, UsageError, one_line
from ..files.temporary_folder import temporary_folder, write_result
from ..host_build import host_executable
from ..long_work import bar_for_people
from ..native.compiler import find_tool
from ..timing import Contender, compare
from . import (
    bench_chart,
    bench_compare,
    bench_contenders,
    bench_goals,
    bench_markdown,
    bench_page,
    bench_report,
    bench_sources,
)
from .arguments import add_build, add_models, add_old_name, names_with_commas, number_from, options_of
from .bench_report import NO_KERNELS, OF_PAIR, Results

BRIEF_SHARE = 10  # slow contenders get this much less work
BRIEF_SECONDS = 0.05  # of the native run: below, start-up outweighs what is measured
FLAGS = ("-O2",)
_BAR = "bench: {n_fmt}/{total_fmt} programs [{elapsed}<{remaining}{postfix}]"

DESCRIPTION = """\
Times recompiled programs beside native builds and qemu-user: those of samples/, or a pair of your own, which must print
the same. Each ratio is the median of runs that are paired; outputs are compared.

  mipsrec bench                                     all programs, both byte orders
  mipsrec bench --only crc32,floating --rounds 5    some programs, or groups of them
  mipsrec bench prog.elf native-prog -- ARG...      a program of your own and its native build
  mipsrec bench --json new.json --compare old.json  what became slower or faster since then?
"""


def _json_file(text: str) -> str:
    """Return the name of a file, which ends in .json: any other word after --json is the guest."""
    if text != "-" and not text.endswith(".json"):
        raise argparse.ArgumentTypeError(f"{text}: the file is to be called *.json")
    return text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "mipsrec bench [OPTION]... [prog.elf native-prog [-- ARG...]]"
    parser.add_argument("programs", nargs="*", metavar="prog.elf native-prog [-- ARG...]",
                        help="your own pair, and the arguments of both; without one, the programs of "
                        "samples/")  # fmt: skip
    parser.set_defaults(arguments=[])
    parser.add_argument("--only", metavar="NAME,...", action="append", type=names_with_commas,
                        help="only these programs or groups (integer, floating, control, memory, calls, numeric, dsp, "
                        "program), or all kernels, which are of the first four (repeatable)")  # fmt: skip
    parser.add_argument("--target", choices=("mips", "mipsel", "both"), default="both", help="byte order of the guests")
    parser.add_argument("--rounds", type=number_from(1), default=3, metavar="N",
                        help="timed runs of each program (default 3)")  # fmt: skip
    contender = parser.add_argument("--contender", metavar="NAME,...", action="append", default=[],
                                    type=names_with_commas, help=bench_contenders.HELP)  # fmt: skip
    add_old_name(parser, "--with", contender)
    parser.add_argument("--without", metavar="NAME,...", action="append", default=[], type=names_with_commas,
                        help="all but these of them")  # fmt: skip
    parser.add_argument("--json", metavar="FILE.json", nargs="?", const="-", type=_json_file,
                        help="machine-readable, into a file; else on standard output, not the table")  # fmt: skip
    add_old_name(parser, "--plot", parser.add_argument("--chart", metavar="out.svg", help="draw a bar chart"))
    parser.add_argument("--markdown", metavar="out.md",
                        help="write the tables as a section of a Markdown page, with the commit and this command "
                        "line")  # fmt: skip
    parser.add_argument("--page", metavar="page.md",
                        help="put the tables between the marks of a page, such as docs/performance.md, whose other "
                        "text stays")  # fmt: skip
    parser.add_argument("--compare", metavar="old.json",
                        help="name what became slower or faster since then, beyond the spread")  # fmt: skip
    goals = parser.add_argument("--goals", action="store_true", help="say which of the speeds aimed at are reached")
    add_old_name(parser, "--targets", goals)
    parser.add_argument("--fetch", action="store_true",
                        help="first get from Debian the sources that some programs are built of")  # fmt: skip
    add_build(parser)
    add_models(parser)


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


@dataclass
class _Bench:
    """A run that is going on: what it times with, where it builds, what it found, where it shows how far it is."""

    arguments: argparse.Namespace
    samples: ModuleType
    contenders: tuple[str, ...]
    results: Results
    folder: Path
    bar: Any

    def say(self, line: str, file: Any = None) -> None:
        """Print a line, above the progress bar where there is one."""
        self.bar.clear()
        print(one_line(line), file=file or sys.stdout, flush=True)
        self.bar.refresh()

    def doing(self, what: str) -> None:
        self.bar.set_postfix_str(one_line(what))

    def skip(self, name: str, reason: str) -> None:
        self.results.skipped[name] = reason
        self.say(f"mipsrec: bench: without {name}: {reason}", sys.stderr)

    def fail(self, name: str, label: str, error: Exception) -> None:
        reason = " ".join(str(error).splitlines()[:3]) or type(error).__name__
        self.results.failed.setdefault(name, []).append(f"{label}: {reason}" if label else reason)
        self.say(f"mipsrec: bench: {name} failed: {self.results.failed[name][-1]}", sys.stderr)


def _add_guest(
    run: _Bench, entrants: bench_contenders.Field, name: str, label: str, guest: Path, work: Sequence[str],
    brief_work: Sequence[str],
) -> None:  # fmt: skip
    """Translate a guest and add it to the contenders, and qemu when it takes part."""
    run.doing(f"{name}: translating {label}")
    opened = pipeline.open_guest(guest)
    library = run.folder / f"{label.replace(' ', '-')}-{guest.name}.so"
    start = time.perf_counter()
    built = pipeline.build(opened, library, run.results.options)
    run.results.translations.setdefault(name, {})[label] = {
        "seconds": round(time.perf_counter() - start, 3),
        "shards": built.shards,
        "reused": built.reused,
        "library_bytes": library.stat().st_size,
        "code_bytes": code_bytes(library),
        "text_bytes": sum(end - begin for begin, end in opened.image.executable_ranges),
    }
    host = str(host_executable())
    entrants.add_host(label, (host, "--library", str(library), str(guest), *work))
    others: dict[str, tuple[pipeline.Guest, dict[str, Any], tuple[str, ...]]] = {
        "relocatable": (pipeline.Guest(dataclasses.replace(opened.image, e_type=ET_DYN)), {}, ()),
        "counters": (opened, {"cover": True}, ("--counters", str(run.folder / "counters"))),
    }
    for other in (other for other in others if other in run.contenders):
        variant, options, words = others[other]
        another = library.with_name(f"{library.stem}-{other}.so")
        pipeline.build(variant, another, dataclasses.replace(run.results.options, **options))
        command = (host, *words, "--library", str(another), str(guest), *work)
        entrants.add_host(f"{label} {bench_contenders.LABELS[other]}", command)
    if "baseline" in run.contenders:
        entrants.add_host(f"{label} baseline", (host, "--tier", "baseline", str(guest), *work))
    qemu = find_tool(bench_contenders.QEMU[opened.image.byte_order])
    if "qemu" in run.contenders and qemu:
        processor = bench_contenders.qemu_processor(opened.image.modules)
        entrants.brief.append(Contender(f"{label} qemu", (qemu, *processor, str(guest), *brief_work)))


def _time(run: _Bench, name: str, group: str, entrants: bench_contenders.Field) -> None:
    """Run a program's contenders, keep the result, and print its row."""
    brief = entrants.brief if len(entrants.brief) > 1 else []
    result = compare(name, entrants.full, run.arguments.rounds, brief, lambda label: run.doing(f"{name}: {label}"))
    results = run.results
    results.comparisons.append(result)
    results.groups[name] = group
    for label, complaint in result.wrong.items():
        run.fail(name, label, MipsrecError(complaint))
    native_seconds = min(result.seconds[result.reference], default=BRIEF_SECONDS)
    if native_seconds < BRIEF_SECONDS:
        run.say(
            f"mipsrec: bench: {name}: the native run takes {native_seconds:.3f} s, and below {BRIEF_SECONDS} s the "
            "ratio is mostly of start-up: give it more to do", sys.stderr,
        )  # fmt: skip
    if run.arguments.json != "-":
        if len(results.comparisons) == 1:
            for line in [*bench_report.heading(results), "", bench_report.table_head(results.labels)]:
                run.say(line)
        translated = [label for label in bench_compare.TRANSLATED if label in results.labels]
        run.say(bench_report.table_row(result, results.labels, translated))


# ---- the programs of samples/ ----


def _chosen(samples: ModuleType, only: Sequence[str] | None) -> list[Any]:
    """Return the samples that a user names, by name or by group; `kernels` are of none of NO_KERNELS."""
    every = [sample for sample in samples.load_samples().values() if sample.bench is not None]
    names = {sample.name for sample in every}
    groups = dict.fromkeys(sample.group for sample in every)
    words = [word for given in only or () for word in given.split(",") if word]
    unknown = [word for word in words if word not in names and word not in groups and word != "kernels"]
    if unknown:
        known = ", ".join(sample.name for sample in every)
        raise UsageError(f"bench: no kernel {', '.join(unknown)}; there are {known}; and kernels, {', '.join(groups)}")
    return [
        sample for sample in every
        if not words or sample.name in words or sample.group in words
        or ("kernels" in words and sample.group not in NO_KERNELS)
    ]  # fmt: skip


def _sample(run: _Bench, sample: Any, targets: Sequence[str]) -> None:
    """Build a sample in all ways that take part, and time it; what cannot be built is named and left out."""
    samples, name, work = run.samples, sample.name, sample.bench
    brief_work = sample.brief or (str(max(1, int(work[0]) // BRIEF_SHARE)), *work[1:])
    if sample.missing():
        run.skip(name, sample.missing().partition(": ")[2])
        return
    entrants = bench_contenders.Field()
    ways = ["native", *(label for label in run.contenders if label in bench_contenders.NATIVE), *targets]
    for label in ways:
        run.doing(f"{name}: building {label}")
        try:
            if label in targets:
                for guest_label, flags in bench_contenders.guests_of(label, run.contenders).items():
                    guest = samples.build_guest(name, label, (*FLAGS, *flags), run.folder)
                    _add_guest(run, entrants, name, guest_label, guest, work, brief_work)
                continue
            program = samples.build_native(name, FLAGS, run.folder, "gcc" if label == "native" else label)
            entrants.full.append(Contender(label, (str(program), *work)))
            if label == "native":
                entrants.brief.append(Contender(label, (str(program), *brief_work)))
        except samples.MissingTool as error:
            run.skip(f"{name} ({label})", str(error))
        except (samples.SampleError, MipsrecError) as error:
            run.fail(name, label, error)
        except Exception as error:  # a bug of ours keeps its traceback, and the others their times
            traceback.print_exc()
            run.fail(name, label, error)
        if not entrants.full:
            return  # nothing to compare with
    _time(run, name, sample.group, entrants)


def _targets(samples: ModuleType, wanted: str, results: Results) -> list[str]:
    """Return the byte orders whose cross compiler is there; note those that are missing."""
    targets = []
    for target in ("mipsel", "mips") if wanted == "both" else (wanted,):
        try:
            samples.require_tool(samples.COMPILERS[target])
            targets.append(target)
        except samples.MissingTool as error:
            results.absent[target] = str(error)
    if not targets:
        raise BuildError(f"bench: no guests: {'; '.join(results.absent.values())}")
    return targets


# ---- the whole run ----


def _check_outputs(*paths: str | None) -> None:
    """Raise BuildError for a file that could not be written after a long run."""
    for path in (path for path in paths if path and path != "-"):
        if not os.access(Path(path).resolve().parent, os.W_OK):
            raise BuildError(f"{path}: cannot be written: no folder to write in")
        if os.path.isdir(path):
            raise BuildError(f"{path}: is a folder; name a file")


def _run(arguments: argparse.Namespace, samples: ModuleType, results: Results) -> None:
    """Time everything; results are complete program by program."""
    pair = _pair_of(arguments)
    chosen = [] if pair else _chosen(samples, arguments.only)
    contenders = bench_contenders.chosen(arguments.contender, arguments.without)
    if pair:
        contenders = tuple(name for name in contenders if name in bench_contenders.OF_GUESTS)
    reasons = {name: bench_contenders.absence(name, samples) for name in contenders}
    results.absent |= {name: reason for name, reason in reasons.items() if reason}
    contenders = tuple(name for name, reason in reasons.items() if not reason)
    targets = [OF_PAIR] if pair else _targets(samples, arguments.target, results)
    for name, reason in results.absent.items():
        print(f"mipsrec: bench: without {name}: {one_line(reason)}", file=sys.stderr)
    guests = [label for target in targets for label in bench_contenders.guests_of(target, contenders)]
    results.labels += [*guests, *(name for name in contenders if name in bench_contenders.NATIVE)]
    for what in (what for name, what in bench_contenders.LABELS.items() if name in contenders):
        results.labels += [f"{guest} {what}" for guest in guests]
    with temporary_folder("mipsrec-bench-") as folder, bar_for_people(total=len(chosen) or 1, bar_format=_BAR) as bar:
        run = _Bench(arguments, samples, contenders, results, folder, bar)
        if pair:
            guest, native, words = pair
            reference = Contender("native", (str(native), *words))
            entrants = bench_contenders.Field([reference], [reference])
            _add_guest(run, entrants, guest.name, "recompiled", guest, words, words)
            _time(run, guest.name, "", entrants)
        for sample in chosen:
            _sample(run, sample, targets)
            bar.update()


def _pair_of(arguments: argparse.Namespace) -> tuple[Path, Path, list[str]] | None:
    """Return guest, native program and their arguments, None without any; raises UsageError."""
    words: list[str] = arguments.programs
    if not words and not arguments.arguments:
        return None
    usage = "mipsrec bench prog.elf native-prog [-- ARG...]"
    if len(words) < 2:
        raise UsageError(f"bench: give a guest and its native build, or neither: {usage}")
    if len(words) > 2:
        raise UsageError(f"bench: {words[2]} is one too many; arguments of the pair stand behind `--`: {usage}")
    named = [name for words in arguments.contender for name in words.split(",")]
    idle = [option for option, given in (("--only", arguments.only), ("--target", arguments.target != "both"),
                                         ("--fetch", arguments.fetch)) if given]  # fmt: skip
    of_samples = (*bench_contenders.NATIVE, bench_contenders.MIPS16)
    idle += [f"--contender {name}" for name in of_samples if name in named]
    if idle:
        raise UsageError(f"bench: {idle[0]} is for the programs of samples/, not for a pair of your own")
    guest, native = Path(words[0]).resolve(), Path(words[1]).resolve()
    for path, access in ((guest, os.R_OK), (native, os.X_OK)):
        if not os.access(path, access) or (path == native and not path.is_file()):
            reason = os.strerror(errno.EACCES if path.exists() else errno.ENOENT)
            raise BuildError(f"{path}: cannot be run ({reason})")
    return guest, native, arguments.arguments


def _write(path: str, text: str) -> None:
    try:
        write_result(Path(path), text.encode())
    except OSError as error:
        raise BuildError(f"{path}: cannot be written ({error.strerror or error})") from error


def _report(arguments: argparse.Namespace, results: Results, old: dict[str, Any] | None) -> None:
    """Print and write what was asked for."""
    document = bench_report.document(results)
    judged = sys.stdout
    if arguments.json == "-":
        print(json.dumps(document, indent=2))
        judged = sys.stderr
    elif results.comparisons:
        print("\n".join(bench_report.mean_rows(results)))
    if not results.comparisons:
        return
    if arguments.json not in (None, "-"):
        _write(arguments.json, json.dumps(document, indent=2) + "\n")
    if arguments.chart is not None:
        _write(arguments.chart, bench_chart.chart(document))
    if arguments.markdown is not None:
        _write(arguments.markdown, bench_markdown.section(results, arguments.command_line))
    if arguments.page is not None:
        page = bench_page.read(arguments.page)
        _write(arguments.page, bench_page.updated(page, results, arguments.command_line))
        judged.writelines(f"{arguments.page}: {line}\n" for line in bench_page.complaints(page, results))
    if arguments.goals:
        print("\n".join(["", "goals:", *bench_goals.goals(document)]), file=judged)
    if old is not None:
        lines = ["", f"against {arguments.compare}:", *bench_compare.against(old, document)]
        print("\n".join(map(one_line, lines)), file=judged)


def main(arguments: argparse.Namespace) -> int:
    """Time, print, and say at the end what failed (exit status 1 then). Ctrl-C ends the run early, with its report."""
    _check_outputs(arguments.json, arguments.chart, arguments.markdown, arguments.page)
    if arguments.page is not None:
        bench_page.read(arguments.page)
    old = bench_compare.read(arguments.compare) if arguments.compare else None
    samples = load_samples_module()
    if arguments.fetch:
        for line in bench_sources.fetch(samples):
            print(f"mipsrec: bench: {one_line(line)}", file=sys.stderr)
    results = Results(options_of(arguments), arguments.rounds, bench_contenders.machine(samples), [])
    results.commit = bench_markdown.version()
    try:
        _run(arguments, samples, results)
    except KeyboardInterrupt:
        _report(arguments, results, old)
        raise
    _report(arguments, results, old)
    if results.failed:
        failed = "; ".join(f"{name} ({', '.join(reasons)})" for name, reasons in results.failed.items())
        raise MipsrecError(f"bench: failed: {failed}")
    return 0
