"""A folder with dynamic programs and libraries of one byte order, interpreted or recompiled into a store."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mipsrec.cache.folders import cache_folder, variant_of
from mipsrec.elf import load_elf
from mipsrec.fill_store import store_all
from mipsrec.options import Options
from tests.support.compiled import ORDERS
from tests.support.dynamic import recompiled_files
from tests.support.tools import need

LIGHT = Options(opt="light", jobs=1)
ENGINES = ("interp", "recompiled")
TIMEOUT = 600


@dataclass
class World:
    """A folder with programs and libraries of one byte order, and how they are run."""

    host: Path
    folder: Path
    byte_order: str
    engine: str
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def triple(self) -> str:
        return ORDERS[self.byte_order]

    def compile(self, source: str | Path, name: str, *options: str) -> Path:
        """Compile a source (a text, or a file of tests/guests) to a program or library of this world."""
        output = self.folder / name
        text = source if isinstance(source, str) else source.read_text()
        language = "g++" if (isinstance(source, Path) and source.suffix == ".cc") or "<string>" in text else "gcc"
        compiler = need(f"{self.triple}-{language}", f"{language}-{self.triple}")
        file = self.folder / (name + (".cc" if language == "g++" else ".c"))
        file.write_text(text)
        system = f"/usr/{self.triple}/lib"
        link = () if "-shared" in options else (f"-Wl,--dynamic-linker={system}/ld.so.1",)
        paths = (
            "-Wl,--disable-new-dtags", f"-Wl,-rpath,{self.folder}:{system}", f"-L{self.folder}",
            "-Wl,--allow-shlib-undefined",
        )  # fmt: skip
        words = [compiler, "-O2", "-w", "-D_GNU_SOURCE", str(file), "-o", str(output), *link, *paths, *options]
        result = subprocess.run(words, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return output

    def library(self, source: str, name: str, *options: str) -> Path:
        return self.compile(source, name, "-shared", "-fPIC", *options)

    def recompile(self, *files: Path) -> None:
        """Put code of these files into the store, if that is how programs run here."""
        if self.engine == "recompiled":
            report = store_all([(file, load_elf(file)) for file in files], LIGHT)
            assert report.skipped == []

    def words(self, program: Path, *arguments: str, options: Iterable[str] = ()) -> list[str]:
        engine = ["--engine", "interp"]
        if self.engine == "recompiled":
            engine = ["--tier", "aot", "--cache", str(cache_folder()), "--variant", variant_of(LIGHT)]
        return [str(self.host), *engine, *options, str(program), *arguments]

    def run(
        self, program: Path, *arguments: str, options: Iterable[str] = (), environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words(program, *arguments, options=options), capture_output=True, text=True, timeout=TIMEOUT,
            cwd=self.folder, stdin=subprocess.DEVNULL, env=environment,
        )  # fmt: skip

    def assert_code_of(self, result: subprocess.CompletedProcess[str], *files: Path) -> None:
        """Compare the files that had recompiled code in a run with --stats."""
        had = set(recompiled_files(result.stderr))
        expected = {str(file) for file in files} if self.engine == "recompiled" else set()
        assert had == expected
