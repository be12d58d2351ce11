"""Profiles: what is read, what is refused, and that it takes one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from mipsrec import profiles
from mipsrec.errors import ProfileError

IDENTITY = "0f" * 32


def _written(folder: Path, *lines: str) -> Path:
    path = folder / "out.prof"
    path.write_text("".join(line + "\n" for line in lines))
    return path


def test_counts(tmp_path: Path) -> None:
    path = _written(
        tmp_path, f"mipsrec profile 1 {IDENTITY}", "# 1000 Hz", "", "00400100 3 lifted", "00400100 2 interp",
        "7fff0000 1 host", "00400100 1 lifted",
    )  # fmt: skip
    profile = profiles.read(path)
    assert profile.identity == IDENTITY
    assert profile.counts == {0x400100: 6, 0x7FFF0000: 1} and profile.total == 7
    assert profile.samples["lifted"] == {0x400100: 4}
    profile.check_program(IDENTITY, "prog.elf")
    with pytest.raises(ProfileError, match="another program than prog.elf"):
        profile.check_program("00" * 32, "prog.elf")


def test_files(tmp_path: Path) -> None:
    """Samples of other files, also of one that was mapped at two places, and such as are of none."""
    library, unused = "1e" * 32, "2d" * 32
    path = _written(
        tmp_path, f"mipsrec profile 2 {IDENTITY}", "file - -", "00000000 2 host", f"file {IDENTITY} /bin/two words",
        "00400100 3 lifted", f"file {library} /lib/libc.so.6", "00400100 5 interp", f"file {unused} /lib/ld.so.1",
        f"file {library} /lib/libc.so.6", "00400100 1 interp",
    )  # fmt: skip
    profile = profiles.read(path)
    assert profile.counts == {0x400100: 3} and profile.total == 11
    assert [(file.identity, file.path) for file in profile.files] == [
        (IDENTITY, "/bin/two words"), (None, "-"), (library, "/lib/libc.so.6"), (unused, "/lib/ld.so.1"),
    ]  # fmt: skip
    assert profile.of(library, "libc.so.6").counts == {0x400100: 6}
    assert profile.of(unused, "ld.so.1").counts == {} and profile.names(unused)
    with pytest.raises(ProfileError, match="another program than other.so"):
        profile.of("3c" * 32, "other.so")


def test_without_samples(tmp_path: Path) -> None:
    assert profiles.read(_written(tmp_path, f"mipsrec profile 1 {IDENTITY}")).total == 0


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ((), "not a profile"),
        (("hello",), "not a profile"),
        (("mipsrec profile 1 abc",), "not a profile"),
        ((f"mipsrec profile 3 {IDENTITY}",), "version 3"),
        ((f"mipsrec profile 2 {IDENTITY}", "file 12 /lib/libc.so.6"), r"prof:2: damaged"),
        ((f"mipsrec profile 1 {IDENTITY}", "00400100 3"), r"prof:2: damaged"),
        ((f"mipsrec profile 1 {IDENTITY}", "#", "00400100 -3 lifted"), r"prof:3: damaged"),
        ((f"mipsrec profile 1 {IDENTITY}", "00400100 3 qemu"), r"prof:2: damaged"),
    ],
)
def test_refused(lines: tuple[str, ...], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=reason) as caught:
        profiles.read(_written(tmp_path, *lines))
    assert "\n" not in str(caught.value)


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="cannot be read"):
        profiles.read(tmp_path / "none.prof")
    (tmp_path / "binary.prof").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProfileError, match="not a profile"):
        profiles.read(tmp_path / "binary.prof")
