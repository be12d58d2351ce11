"""The folder of a campaign: a folder for each fuzzer, as AFL++ lays them out, what was fuzzed, and sorted crashes.

Enters: the folder's name and the target. Leaves: paths and counts. AFL++ reads folders beside a fuzzer's own only where
they have a `queue`, so it passes over ours.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import BuildError, MipsrecError, WriteError
from ..files.temporary_folder import write_result
from .afl import Target

MAIN = "main"
SORTED = "crashes"
"""The folder of groups of crashes."""

_SESSION = "mipsrec-fuzz.json"
_MINIMAL_SEED = b"\n"


@dataclass(frozen=True)
class Figures:
    """How far fuzzers are: executions, how many a second, inputs that are kept, crashes and hangs."""

    executions: int = 0
    per_second: float = 0
    corpus: int = 0
    crashes: int = 0
    hangs: int = 0


def is_folder_of_fuzzer(path: Path) -> bool:
    return (path / "queue").is_dir() or (path / "fuzzer_setup").exists()


def _words_of(target: Target) -> dict[str, object]:
    return {"program": target.program.name, "arguments": list(target.arguments)}


@contextmanager
def opened(folder: Path, target: Target, seeds: Path | None) -> Iterator[Findings]:
    """Yield the findings in a folder, made if it is not there or empty; what was made goes where no fuzzer has started.

    Raises BuildError for a folder that is none of a campaign of this target, and for seeds that are none.
    """
    if folder.exists() and not folder.is_dir():
        raise BuildError(f"{folder}: is no folder; name another one with -o")
    is_old = folder.is_dir() and any(folder.iterdir())
    if is_old:
        _check_session(folder, target)
    elif seeds is not None:
        _check_seeds(seeds)
    was_there = folder.exists()
    findings = Findings(folder, seeds, is_old)
    try:
        if not is_old:
            folder.mkdir(parents=True, exist_ok=True)
            write_result(folder / _SESSION, json.dumps(_words_of(target), indent=1).encode() + b"\n")
        yield findings
    except OSError as error:
        raise WriteError(f"{error.filename or folder}: cannot be written ({error.strerror or error})") from error
    finally:
        if not is_old and not findings.executed():
            _remove(folder, was_there)


def _remove(folder: Path, was_there: bool) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    if not was_there:
        with suppress(OSError):
            folder.rmdir()


def _check_session(folder: Path, target: Target) -> None:
    try:
        known = json.loads((folder / _SESSION).read_bytes())
    except (OSError, ValueError):
        raise BuildError(f"{folder}: is no folder of mipsrec fuzz; name a new one with -o") from None
    if known != _words_of(target):
        fuzzed = " ".join(map(str, (known.get("program"), *known.get("arguments", ())))) if known else "another program"
        raise BuildError(f"{folder}: has a campaign of `{fuzzed}`; name another folder with -o")


def _check_seeds(seeds: Path) -> None:
    if not seeds.is_dir():
        raise BuildError(f"{seeds}: is no folder; --seeds names one with inputs that the program reads")
    if not any(path.is_file() and path.stat().st_size for path in seeds.rglob("*")):
        raise BuildError(
            f"{seeds}: has no file with something in it; put a small valid input there, or leave --seeds out"
        )


def crash_files(folder: Path) -> list[Path]:
    """Return the inputs that crashed, of all fuzzers in a folder; raises MipsrecError where it has no fuzzer's."""
    fuzzers = [path for path in sorted(folder.iterdir()) if is_folder_of_fuzzer(path)] if folder.is_dir() else []
    if not fuzzers:
        raise MipsrecError(f"{folder}: has no findings of AFL++; name the folder that afl-fuzz or mipsrec fuzz wrote")
    return sorted(path for fuzzer in fuzzers for path in fuzzer.glob("crashes*/id*"))


@dataclass(frozen=True)
class Findings:
    """The folder, which is there. `is_old`: an earlier campaign goes on."""

    folder: Path
    seeds: Path | None
    is_old: bool

    def log(self, name: str) -> Path:
        """Return where a fuzzer's words go."""
        return self.folder / f"{name}.log"

    def source(self, name: str) -> str:
        """Return where a fuzzer takes its first inputs from, as its -i has it; makes the minimal seed.

        A fuzzer that was there goes on; one that joins an earlier campaign begins with what the main one has kept.
        """
        if is_folder_of_fuzzer(self.folder / name):
            return "-"
        if self.is_old and any((self.folder / MAIN / "queue").glob("id*")):
            return str(self.folder / MAIN / "queue")
        if self.seeds is not None:
            return str(self.seeds)
        minimal = self.folder / "minimal-seed"
        minimal.mkdir(exist_ok=True)
        (minimal / "seed").write_bytes(_MINIMAL_SEED)
        return str(minimal)

    def executed(self) -> bool:
        """Return whether a fuzzer has got as far as trying inputs."""
        return any(path.stat().st_size for path in self.folder.glob("*/fuzzer_stats"))

    def count(self, kind: str) -> int:
        """Return how many inputs all fuzzers have in their folders of a kind: crashes or hangs.

        Where a fuzzer goes on, it puts those of before into a folder with the date behind its name.
        """
        return sum(1 for _ in self.folder.glob(f"*/{kind}*/id*"))

    def corpus(self) -> int:
        """Return how many inputs the fuzzer with most of them has kept: they tell each other what they find."""
        return max((sum(1 for _ in queue.glob("id*")) for queue in self.folder.glob("*/queue")), default=0)

    def figures(self) -> Figures:
        told = [_told(path) for path in self.folder.iterdir() if is_folder_of_fuzzer(path)]
        return Figures(sum(int(one.get("execs_done", 0)) for one in told),
                       sum(one.get("execs_per_sec", 0.0) for one in told),
                       self.corpus(), self.count("crashes"), self.count("hangs"))  # fmt: skip


def _told(fuzzer: Path) -> dict[str, float]:
    """Return what a fuzzer tells of its executions: plot_data is written each 5 s, fuzzer_stats each minute."""
    found: dict[str, float] = {}
    with suppress(OSError, ValueError):
        pairs = (line.partition(":")[::2] for line in (fuzzer / "fuzzer_stats").read_text().splitlines())
        found = {name.strip(): float(text) for name, text in pairs if name.strip() in ("execs_done", "execs_per_sec")}
    with suppress(OSError, ValueError), open(fuzzer / "plot_data", "rb") as stream:
        names = [name.strip(" #") for name in stream.readline().decode().strip().split(",")]
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - 512))
        last = dict(zip(names, stream.read().decode().strip().rpartition("\n")[2].split(","), strict=True))
        total = float(last["total_execs"])
        if total >= found.get("execs_done", 0):
            found = {"execs_done": total, "execs_per_sec": float(last["execs_per_sec"].strip(" %"))}
    return found
