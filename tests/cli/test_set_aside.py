"""What others could write in a cache is set aside with all in it: it is neither used nor removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mipsrec.cache import notes, objects
from mipsrec.cache.folders import source_digest
from mipsrec.files import trust
from tests.cli.others import snapshot
from tests.support.commandline import mipsrec
from tests.support.paths import PREBUILT

SAMPLE = PREBUILT / "mips/hello.elf"


@pytest.mark.parametrize("place", ["objects", "objects/ab"])
def test_what_others_could_write_is_set_aside(place: str, mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They may have exchanged what is in it, put links there, and moved what is this user's there: nothing goes."""
    (mine / "objects/ab").mkdir(parents=True)
    (mine / "objects/ab" / ("0" * 38)).write_text("exchanged")
    (mine / place / "link").symlink_to(mine.with_name("elsewhere"))
    (mine / place / "private").mkdir()
    (mine / place / "private/file").write_text("kept")
    before = snapshot(mine.with_name("elsewhere"))
    mine.chmod(0o755)
    (mine / place).chmod(0o777)
    objects.keep("ab" + "0" * 38, b"data")
    (aside,) = (path for path in mine.iterdir() if path.name != "objects")
    assert aside.name.startswith(trust.WAS_OPEN) and aside.stat().st_mode & 0o777 == 0o700
    assert (aside / "private/file").read_text() == "kept" and snapshot(mine.with_name("elsewhere")) == before
    assert (mine / "objects/ab").stat().st_mode & 0o777 == 0o755 and os.listdir(mine / "objects/ab") == ["0" * 38]
    assert objects.find("ab" + "0" * 38) == b"data"
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"{mine / place}: others could write it" in said and str(aside) in said


@pytest.mark.parametrize("place", ["identities/1-2", f"objects/ab/{'0' * 38}", "libraries/x.so", "libraries/.x"])
def test_an_open_folder_in_place_of_a_file_is_set_aside(place: str, mine: Path) -> None:
    """Pruning removes what is in a folder that was closed, and nothing of one that others could write."""
    for mode, kept in ((0o755, []), (0o777, ["kept"]), (0o333, ["kept", "kept"])):
        (mine / place).mkdir(parents=True)
        (mine / place / "file").write_text("kept")
        (mine / place).chmod(mode)
        for path in (mine / place / "file", mine / place):
            os.utime(path, (1, 1))
        mine.chmod(0o755)
        result = mipsrec("cache", "prune", "--max-size", "0", "--other-versions", "--older-than", "0s")
        assert (result.returncode, result.stderr.count("others could write it")) == (0, int(mode != 0o755)), result
        assert not (mine / place).exists()
        assert [path.read_text() for path in mine.glob(f"{trust.WAS_OPEN}*/file")] == kept


@pytest.mark.parametrize("place", ["objects/ab", "identities", "libraries", "code/key/variant/ab", "host/key"])
def test_what_was_set_aside_stays(place: str, mine: Path) -> None:
    """Room for a file is made in the file's own folder. What was there may be this user's, moved there by others."""
    (mine / place).mkdir(parents=True)
    file = mine / place / "file"
    file.mkdir()
    (file / "private").write_text("kept")
    mine.chmod(0o755)
    file.chmod(0o777)
    trust.write(file, b"data")
    for path in (*mine.glob(f"{place}/*/private"), *mine.glob(f"{place}/*"), mine / place):
        os.utime(path, (1, 1), follow_symlinks=False)
    for path in mine.glob(f"{place}/{trust.WAS_OPEN}*"):
        os.utime(path, (1, 1))
    assert mipsrec("cache", "prune", "--max-size", "0", "--other-versions", "--older-than", "0s").returncode == 0
    assert [path.read_text() for path in mine.rglob("private")] == ["kept"]
    (mine / place).rename(mine / "rest")
    trust.remove(mine / "rest", mine)
    assert [path.read_text() for path in mine.rglob("private")] == ["kept"] and not (mine / "rest").exists()


def test_the_servers_folder_that_others_could_write_is_set_aside(mine: Path) -> None:
    """They may have moved files of this user's there: the log would empty them."""
    (mine / "server").mkdir()
    log = mine / "server" / f"{source_digest()[:16]}.log"
    log.write_text("kept")
    (mine / "server").chmod(0o777)
    mine.chmod(0o755)
    result = mipsrec("compile-server", "--idle", "0")
    assert result.returncode == 0 and f"{mine / 'server'}: others could write it" in result.stderr
    assert [path.read_text() for path in mine.glob(f"{trust.WAS_OPEN}*/*")] == ["kept"]
    assert (mine / "server").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("place", ["open", "link"])
def test_no_note_is_removed_where_others_chose_it(place: str, mine: Path) -> None:
    elsewhere = mine.with_name("elsewhere")
    note = (elsewhere if place == "link" else mine / notes.FOLDER) / notes.name_of(SAMPLE.stat())
    if place == "link":
        (mine / notes.FOLDER).symlink_to(elsewhere)
    else:
        note.parent.mkdir()
    note.write_text("kept")
    mine.chmod(0o755)
    note.parent.chmod(0o777)
    notes.forget_wrong(SAMPLE, "0" * 64)
    assert note.read_text() == "kept"
