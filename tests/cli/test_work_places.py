"""Nothing that a command executes comes from its working folder, TMPDIR or beside a file, where others can write."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mipsrec import timing
from mipsrec.commands.host_process import run_to_end
from mipsrec.errors import BuildError
from mipsrec.files import temporary_folder as temporary_folder_module
from mipsrec.files.temporary_folder import move_file, opened_output, temporary_folder
from mipsrec.files.trust import Distrusted
from tests.support.commandline import assert_one_line, environment, mipsrec
from tests.support.hosts import cache_with_host
from tests.support.paths import PREBUILT, ROOT
from tests.support.powers import NOBODY, only_who_may
from tests.support.tools import need

pytestmark = pytest.mark.every_case

SAMPLE = PREBUILT / "mips" / "hello.elf"
SPY = """\
#!/bin/sh
echo "$PWD $TMPDIR" >> {log}
for word in "$@"; do
    echo "$word" >> {log}
    case "$word" in @*) cat "${{word#@}}" >> {log} ;; esac
done
exec {compiler} "$@"
"""


@pytest.fixture
def spy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that gets what the C compiler is given: its working folder, TMPDIR and words."""
    log, script = tmp_path / "log", tmp_path / "compiler"
    script.write_text(SPY.format(log=log, compiler=need("cc", "gcc")))
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    return log


def test_a_folder_is_made_and_removed_where_it_was_found(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others exchange their folder with a link to one of the user's: nothing is made there, and nothing left."""
    theirs, own = shared / "theirs", shared / "own"
    own.mkdir(mode=0o700)
    theirs.mkdir()

    def exchanged(folder: str | os.PathLike[str]) -> Iterator[int]:
        with opened_output(folder) as place:
            theirs.rename(shared / "moved")
            theirs.symlink_to(own)
            yield place

    monkeypatch.setattr(temporary_folder_module, "opened_output", contextmanager(exchanged))
    monkeypatch.setattr(temporary_folder_module, "is_ours", lambda folder: False)
    assert temporary_folder_module.made_if_ours("x-", theirs) is None
    assert os.listdir(own) == [] and os.listdir(shared / "moved") == []


def test_no_place_of_others_is_used(open_folder: Path, spy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library appears in the open folder all the same, whole, and alone."""
    monkeypatch.setenv("TMPDIR", str(open_folder))
    library = open_folder / "hello.so"
    result = mipsrec("build", SAMPLE, "--no-reuse", "-o", library, cwd=open_folder)
    assert (result.returncode, os.listdir(open_folder)) == (0, ["hello.so"]), result
    assert str(open_folder) not in spy.read_text()
    assert library.stat().st_mode & 0o022 == 0


@pytest.mark.parametrize("name", ['p" "-B{evil}/" "-DX', "back\\slash", 'quo"te', "@file", "-o"])
def test_no_name_of_a_folder_is_a_word_for_the_linker(tmp_path: Path, name: str) -> None:
    """An archive of another user may have such folders: `-B` names a folder of programs that the compiler executes."""
    evil = tmp_path / "evil"
    evil.mkdir()
    (evil / "collect2").write_text(f"#!/bin/sh\ntouch {evil}/done\n")
    (evil / "collect2").chmod(0o755)
    folder = tmp_path / "work" / name.format(evil=evil)
    folder.mkdir(parents=True)
    shutil.copy(SAMPLE, folder / "hello.elf")
    program = f"./{folder.relative_to(tmp_path / 'work')}/hello.elf"
    result = mipsrec("build", program, "--no-reuse", cwd=tmp_path / "work")
    assert (result.returncode, result.stderr, (evil / "done").exists()) == (0, "", False), result
    assert (folder / "hello.elf.so").exists()


@pytest.mark.parametrize("way", [("run", "--tier", "interp"), ("run", "--tier", "aot"), ("verify",), ("profile",)])
def test_no_name_of_a_program_is_an_option_of_the_host(tmp_path: Path, way: tuple[str, ...]) -> None:
    shutil.copy(SAMPLE, tmp_path / "--version")
    expected = mipsrec("run", SAMPLE).stdout
    result = mipsrec(*way, "--", "--version", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, expected), result


def test_objects_of_the_working_folder_are_not_linked(open_folder: Path) -> None:
    """ld looks there first for what a linker script of the compiler's own names."""
    (open_folder / "libgcc_s.so.1").write_text("nonsense")
    for way in (("build", SAMPLE, "--no-reuse", "-o", "hello.so"), ("run", "--tier", "aot", SAMPLE)):
        result = mipsrec(*way, cwd=open_folder)
        assert (result.returncode, result.stderr) == (0, ""), result


COMMAND = "import sys; sys.path[0] = sys.argv.pop(1); from mipsrec.cli import main; sys.exit(main())"
"""What the installed command does, which has no working folder in its path."""
MODULES = ("mipsrec", "json", "multiprocessing", "subprocess", "tqdm", "llvmlite", "elftools", "capstone", "pickle")


def test_no_module_of_the_working_folder_is_taken(open_folder: Path, host: Path, tmp_path: Path) -> None:
    """By the command, its workers, and the compile server that it starts."""
    log = tmp_path / "log"
    for name in MODULES:
        (open_folder / f"{name}.py").write_text(f"open({str(log)!r}, 'a').write(__name__)\nraise SystemExit(77)\n")
    cache = cache_with_host(tmp_path / "cache")
    variables = environment(PYTHONPATH=None, MIPSREC_CACHE=str(cache), MIPSREC_SERVER_IDLE="1")
    library = tmp_path / "lib.so"
    for words in (["build", "--jobs", "2", "--no-reuse", SAMPLE, "-o", library], ["cache", "warm", SAMPLE]):
        command = [sys.executable, "-c", COMMAND, ROOT, *words]
        result = subprocess.run(command, cwd=open_folder, env=variables, capture_output=True, text=True, timeout=600)
        assert (result.returncode, result.stderr, log.exists()) == (0, "", False), result


def test_temporary_folders(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(open_folder))
    for parent in (None, open_folder):
        with temporary_folder("mipsrec-test-", parent) as folder:
            assert folder.is_dir() and not folder.is_relative_to(open_folder)
        assert not folder.exists()


@only_who_may("give files away")
def test_links_to_temporary_folders(open_folder: Path, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shared / "closed").mkdir(mode=0o700)
    me = os.geteuid()
    for place, owner, inside in ((shared, me, True), (shared, NOBODY, False), (open_folder, me, False)):
        link = place / f"link-{owner}"
        link.symlink_to(shared / "closed")
        monkeypatch.setenv("TMPDIR", str(link))
        os.lchown(link, owner, owner)
        with temporary_folder("mipsrec-test-") as folder:
            assert folder.is_relative_to(shared / "closed") == inside


def test_what_takes_the_name_of_a_temporary_folder_stays(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others exchange it with a folder of this user before it is judged."""
    precious, is_ours = open_folder / "precious", temporary_folder_module.is_ours
    precious.mkdir()
    (precious / "file").write_text("kept")

    def judge(folder: str) -> bool:
        if folder.startswith(str(open_folder)):
            os.rename(folder, open_folder / "taken")
            os.rename(precious, folder)
        return is_ours(folder)

    monkeypatch.setattr(temporary_folder_module, "is_ours", judge)
    with temporary_folder("mipsrec-test-", open_folder) as folder:
        assert not folder.is_relative_to(open_folder)
    assert [path.read_text() for path in open_folder.rglob("file")] == ["kept"]
    assert os.listdir(open_folder) == ["precious"]  # what others could exchange is not made at all


def test_the_host_is_judged_at_each_start(shared: Path, tmp_path: Path) -> None:
    """A cache in a sticky folder may go while a command works, and be made anew by others."""
    (shared / "host").write_text("#!/bin/sh\n")
    (shared / "host").chmod(0o755)
    contender = timing.Contender("recompiled", (str(shared / "host"),), is_host=True)
    assert run_to_end(list(contender.command)) == timing._run(contender, tmp_path, None).status == 0
    (shared / "host").chmod(0o777)
    for start in (lambda: run_to_end(list(contender.command)), lambda: timing._run(contender, tmp_path, None)):
        with pytest.raises(BuildError, match="others can write it"):
            start()


def test_what_takes_the_name_of_a_new_folder_stays(tmp_path: Path) -> None:
    """A folder for results goes where the work fails, and no other folder with its name."""
    for exchanged in (False, True):
        with pytest.raises(KeyError), opened_output(tmp_path / "new/inner"):
            if exchanged:
                (tmp_path / "new").rename(tmp_path / "taken")
                (tmp_path / "new/inner").mkdir(parents=True)
            raise KeyError
        assert {path.name for path in tmp_path.iterdir()} == ({"new", "taken"} if exchanged else set())
    assert (tmp_path / "new/inner").is_dir()


def test_what_takes_the_name_of_a_folder_at_once_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others exchange a folder for results with another one before it is opened."""
    mkdir, precious = os.mkdir, tmp_path / "precious"

    def exchange(name: str, *words: int, dir_fd: int | None = None) -> None:
        mkdir(name, *words, dir_fd=dir_fd)
        if dir_fd is not None:
            os.rename(name, "taken", src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
            os.rename(precious, name, dst_dir_fd=dir_fd)

    precious.mkdir()
    (precious / "file").write_text("kept")
    monkeypatch.setattr(os, "mkdir", exchange)
    with pytest.raises(Distrusted), opened_output(tmp_path / "new"):
        pass
    (path,) = tmp_path.glob("*/file")
    assert path.read_text() == "kept"


def test_no_layer_is_made_below_what_others_write(open_folder: Path) -> None:
    layer = open_folder / "new/deep"
    assert_one_line(mipsrec("build", "--into", layer, SAMPLE), str(layer), "no code is taken from it")
    assert os.listdir(open_folder) == []


def test_a_finished_file_replaces_a_link(open_folder: Path, tmp_path: Path) -> None:
    """From another file system, too, where there is one."""
    precious = tmp_path / "precious"
    precious.write_text("kept")
    places = [tmp_path, *(place for place in (Path("/dev/shm"),) if os.access(place, os.W_OK))]
    for place in places:
        (open_folder / "out").unlink(missing_ok=True)
        (open_folder / "out").symlink_to(precious)
        with temporary_folder("mipsrec-test-", place) as folder:
            (folder / "made").write_text("made")
            (folder / "made").chmod(0o640)
            move_file(folder / "made", open_folder / "out")
        made = open_folder / "out"
        assert (made.read_text(), made.is_symlink(), made.stat().st_mode & 0o777) == ("made", False, 0o640)
        assert (precious.read_text(), os.listdir(open_folder)) == ("kept", ["out"])


def test_code_is_made_of_trusted_ir_alone(shared: Path, tmp_path: Path) -> None:
    dump, library = shared / "ir", tmp_path / "lib.so"
    assert mipsrec("dump-llvm", SAMPLE, "-o", dump).returncode == 0
    file, index = next(dump.glob("*.ll")), dump / "index.json"
    for path, mode in ((dump, 0o777), (file, 0o666), (index, 0o666)):
        before = path.stat().st_mode & 0o777
        path.chmod(mode)
        assert_one_line(mipsrec("build", dump, "-o", library), str(path), "no code is made of it")
        path.chmod(before)
    file.rename(shared / "outside.ll")
    said = json.loads(index.read_text())
    next(record for record in said["functions"] if record["file"] == file.name)["file"] = "../outside.ll"
    index.write_text(json.dumps(said))
    assert_one_line(mipsrec("build", dump, "-o", library), "../outside.ll", "is no name of a file in it")
    assert not library.exists()


def test_no_compiler_of_a_working_folder_of_others(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CC may have been set for another folder."""
    (open_folder / "tools").mkdir()
    (open_folder / "tools/cc").symlink_to(need("cc", "gcc"))
    monkeypatch.setenv("CC", "tools/cc")
    monkeypatch.delenv("MIPSREC_CACHE")
    result = mipsrec("build", SAMPLE, "-o", open_folder / "hello.so", cwd=open_folder)
    assert_one_line(result, "others can write it, or a folder above it; give the compiler's whole path")
