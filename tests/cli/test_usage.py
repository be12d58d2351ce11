"""A command line that means nothing is one line with the wrong word, the help that explains it, and status 2."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import cli
from tests.support.commandline import assert_one_line
from tests.support.hosts import plain_host
from tests.support.paths import PREBUILT

SAMPLE = str(PREBUILT / "mipsel" / "crc32.elf")

MISSPELT = [
    ("build --fucntion f prog", "no option --fucntion; did you mean --function?; see mipsrec build --help"),
    ("build --fucntion=f prog", "no option --fucntion; did you mean --function?; see mipsrec build --help"),
    ("build prog -o lib.so --no-reuze", "no option --no-reuze; did you mean --no-reuse?; see mipsrec build --help"),
    ("run --sysrot DIR prog --also-not", "no option --sysrot; did you mean --sysroot?; see mipsrec run --help"),
    ("run --zzz prog", "no option --zzz; see mipsrec run --help"),
    ("verify -x prog", "no option -x; see mipsrec verify --help"),
    ("call prog --teir interp f -5", "no option --teir; did you mean --tier?; see mipsrec call --help"),
    ("bench --rouds 3 prog native -- --rouds", "no option --rouds; did you mean --rounds?; see mipsrec bench --help"),
    ("bench prog native --rouds -- 3", "no option --rouds; did you mean --rounds?; see mipsrec bench --help"),
    ("cache prune --dry-rum", "no option --dry-rum; did you mean --dry-run?; see mipsrec cache prune --help"),
    ("cache lst", "no command 'lst'; did you mean list?; see mipsrec cache --help"),
    ("biuld prog", "no command 'biuld'; did you mean build?; see mipsrec --help"),
    ("--verison", "no option --verison; did you mean --version?; see mipsrec --help"),
]


@pytest.mark.parametrize("words, said", MISSPELT)
def test_the_word_that_is_misspelt_is_named(capsys: pytest.CaptureFixture[str], words: str, said: str) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words.split())
    assert (ended.value.code, capsys.readouterr()) == (2, ("", f"mipsrec: {said}\n"))


WRONG = [
    ("", "COMMAND"),
    ("run", "prog.elf"),
    ("run --tier jit prog", "--tier"),
    ("run --profile-rate 0 prog", "less than 1"),
    ("run --profile-rate 10001 prog", "more than 10000"),
    ("run --gdb 0 --gdb-on-crash 0 prog", "not allowed with"),
    ("run --library a.so --build prog", "--build has nothing to do"),
    ("run --library a.so --server prog", "--server has nothing to do"),
    ("run --library a.so --opt 2 prog", "--opt has nothing to do"),
    ("run --library a.so --tier interp prog", "--tier interp runs no recompiled code"),
    ("run --build --gdb 0 prog", "--gdb runs no recompiled code"),
    ("profile --library a.so --memory paged prog", "--memory has nothing to do"),
    ("profile --from out.prof -o other.prof prog", "neither -o"),
    ("profile --from out.prof prog argument", "neither -o"),
    ("profile", "name a program, or a profile with --from FILE"),
    ("profile --top 0 prog", "less than 1"),
    ("verify --scan -1 prog", "--scan"),
    ("call prog", "FUNCTION"),
    (f"call {SAMPLE} main twelve", "twelve"),
    (f"call {SAMPLE} main 4294967296", "32 bits"),
    (f"call {SAMPLE} main --tier interp", "--tier: is not an integer"),
    ("build", "name a program"),
    ("build --opt 9 prog", "--opt"),
    ("build --jobs -1 prog", "--jobs"),
    ("build --jobs two prog", "--jobs: 'two' is no whole number"),
    ("build --memory far prog", "--memory"),
    ("build --into layer -o lib.so prog", "--into stores what programs load"),
    ("build --dask tcp://x:1 --function f prog", "--dask stores what programs load"),
    ("build --sysroot . -o lib.so", "without a program stores"),
    ("build --with plugin.so -o lib.so prog", "--with stores"),
    ("build --function f .", "is a dump"),
    ("info", "prog.elf|lib.so"),
    ("info prog other", "other is one too many"),
    ("cfg prog", "FUNCTION"),
    ("cfg prog main -o graph.gif", ".dot, .svg, .png, .pdf"),
    ("cfg prog main -o graph", ".dot, .svg, .png, .pdf"),
    ("bench --rounds 0", "less than 1"),
    ("bench --only nonesuch", "no kernel nonesuch"),
    ("bench --contender tcc", "no contender tcc"),
    ("bench prog", "a guest and its native build"),
    ("bench -- 3", "a guest and its native build"),
    ("bench prog native 3", "3 is one too many; arguments of the pair stand behind `--`"),
    ("bench prog native --only crc32", "--only is for the programs of samples/"),
    ("bench prog native --contender clang", "--contender clang is for"),
    ("cache", "list|verify|prune"),
    ("cache path here", "here is one too many"),
    ("cache prune --older-than never", "--older-than"),
    ("cache prune --max-size much", "--max-size"),
    ("cache prune --max-size= --dry-run", "--max-size: its argument is empty"),
    ("disasm --function , prog", "--function: ',' names nothing"),
    ("verify --functions= prog", "--functions: its argument is empty"),
    ("verify --ignore , prog", "--ignore: ',' names nothing"),
    ("verify --ignore fcsr,pc prog", "--ignore: no register is named 'pc'; there are zero at v0 v1 "),
    (f"verify --with nonesuch {SAMPLE}", "--with nonesuch: the program is static"),
    ("bench --only ,", "--only: ',' names nothing"),
    ("bench --without=, prog native", "--without: ',' names nothing"),
    ("bench --with ,", "--with: ',' names nothing"),
    ("build --dask nowhere prog", "'nowhere' is no address"),
    ("build --dask tcp://host prog", "'tcp://host' is no address"),
    ("compile-server --idle 1e3", "'1e3' is no time"),
    ("binfmt --install --uninstall", "not allowed with"),
    ("binfmt --flags PX", "--flags"),
    ("binfmt --name a:b", "--name"),
    ("compile-server --idle nan", "--idle"),
    ("compile-server --jobs -2", "--jobs"),
]


@pytest.mark.parametrize("words, said", WRONG, ids=[words or "nothing" for words, _ in WRONG])
def test_usage(capsys: pytest.CaptureFixture[str], words: str, said: str) -> None:
    try:
        status = cli.main(words.split())
    except SystemExit as ended:
        status = int(str(ended.code))
    printed = capsys.readouterr()
    assert (status, printed.out) == (2, ""), printed
    assert printed.err.startswith("mipsrec: ") and printed.err.count("\n") == 1 and said in printed.err, printed
    command = " ".join(["mipsrec", *words.split()[:1]]) if words else "mipsrec"
    assert f"see {command}" in printed.err and printed.err.endswith(" --help\n"), printed


@pytest.mark.parametrize(
    "words, said",
    [
        (["build", "-o", "", SAMPLE], "-o: its argument is empty"),
        (["dump-llvm", SAMPLE, "-o", ""], "-o: its argument is empty"),
        (["run", "-L", "", SAMPLE], "-L: its argument is empty"),
        (["run", "--gdb", "", SAMPLE], "--gdb: its argument is empty"),
        (["bench", "--json", "", "--only", ""], "--json: its argument is empty"),
        (["bench", "--only", ""], "--only: its argument is empty"),
        (["info", ""], "an empty word is no name"),
        (["run", ""], "an empty word is no name"),
        (["cache", "warm", ""], "an empty word is no name"),
    ],
)
def test_words_that_are_empty(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(words)
    printed = capsys.readouterr()
    assert printed.out == "" and said in printed.err and printed.err.count("\n") == 1


@pytest.mark.parametrize("variable", ["MIPSREC_SERVER", "MIPSREC_SERVER_IDLE", "MIPSREC_CACHE_LIMIT"])
def test_variables_that_mean_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv("MIPSREC_SERVER", "1")
    monkeypatch.setenv(variable, "maybe")
    assert cli.main(["run", SAMPLE]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"mipsrec: {variable}") and printed.err.count("\n") == 1 and printed.out == ""


FILES = [
    ("build --sysroot empty", "no MIPS programs or libraries are below it"),
    (f"build --sysroot absent {SAMPLE}", "absent: is no folder"),
    (f"profile --function nonesuch {SAMPLE}", "no function nonesuch"),
    ("cache warm absent", "absent: cannot be read"),
]


@pytest.mark.parametrize("words, said", FILES)
def test_files_are_looked_at_before_any_work(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str, said: str
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    assert cli.main(words.split()) == 1
    printed = capfd.readouterr()
    assert printed.out == "" and said in printed.err and printed.err.count("\n") == 1


OF_HOST = [
    "", "--nonsense prog", "--strace=yes prog", "--tier jit prog", "--engine aot prog", "--threshold 0 prog",
    "--threshold 256 prog", "--threshold random:x prog", "--code-cache 1 prog", "--window wide prog", "--library",
    "--memory wide prog", "--profile-rate 0 prog", "--call main prog", "--verify-scan -1 prog",
    "--verify-ignore pc prog", "-E =1 prog", "--gdb 0 --tier aot prog", "--gdb 0 --gdb-on-crash 0 prog",
    "--gdb 0 --call 400000 prog", "--verify 3 prog", "--profile out.prof --call 400000 prog", "--call 400000 1 2",
]  # fmt: skip


def test_usage_of_the_host() -> None:
    for words in OF_HOST:
        result = subprocess.run([plain_host(), *words.split()], capture_output=True, text=True, check=False)
        assert_one_line(result, "mipsrec-host: ", status=2)
