"""Where a program's libraries are found below a sysroot, as ld.so(8) looks for them, and which files are MIPS."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mipsrec.dynamic_linker import Closure, DynamicLinker, closure_of, configured_folders
from mipsrec.errors import ElfError
from mipsrec.sysroot import Sysroot, is_mips, mips_files
from tests.support.compiled import ORDERS
from tests.support.deep import deep_folder
from tests.support.dynamic import library, program

EF_MIPS_ABI2 = 0x20


@pytest.fixture(params=ORDERS)
def order(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path, order: str) -> Path:
    """A sysroot with a dynamic linker."""
    library(tmp_path / "root/lib/ld.so.1", order)
    return tmp_path / "root"


def found(closure: Closure, root: Path) -> list[str]:
    return sorted("/" + str(path.relative_to(root)) for path in closure.images)


def with_flags(path: Path, order: str, flags: int) -> None:
    """Set bits of e_flags."""
    content = bytearray(path.read_bytes())
    byte_order = "big" if order == "big" else "little"
    word = int.from_bytes(content[36:40], byte_order) | flags
    content[36:40] = word.to_bytes(4, byte_order)
    path.write_bytes(content)


def test_closure_has_interpreter_and_needed(root: Path, order: str) -> None:
    b = library(root / "usr/lib/libb.so", order)
    a = library(root / "lib/liba.so", order, b)
    main = program(root / "bin/main", order, a)
    closure = closure_of([main], Sysroot(root))
    assert found(closure, root) == ["/bin/main", "/lib/ld.so.1", "/lib/liba.so", "/usr/lib/libb.so"]
    assert closure.missing == []


def test_several_programs_share_a_library(root: Path, order: str) -> None:
    a = library(root / "lib/liba.so", order)
    programs = [program(root / f"bin/{name}", order, a) for name in ("one", "two")]
    closure = closure_of(programs, Sysroot(root))
    assert found(closure, root) == ["/bin/one", "/bin/two", "/lib/ld.so.1", "/lib/liba.so"]


@pytest.mark.parametrize("tag", ["--enable-new-dtags", "--disable-new-dtags"])
@pytest.mark.parametrize("origin", ["$ORIGIN", "${ORIGIN}"])
def test_origin_is_the_folder_of_the_file(root: Path, order: str, tag: str, origin: str) -> None:
    """Of the file that names the library, not of the program."""
    b = library(root / "opt/app/deep/libb.so", order)
    a = library(root / "opt/app/lib/liba.so", order, b, f"-Wl,{tag},-rpath,{origin}/../deep")
    main = program(root / "opt/app/bin/main", order, a, f"-Wl,{tag},-rpath,{origin}/../lib")
    closure = closure_of([main], Sysroot(root))
    assert found(closure, root) == [
        "/lib/ld.so.1",
        "/opt/app/bin/main",
        "/opt/app/deep/libb.so",
        "/opt/app/lib/liba.so",
    ]


@pytest.mark.parametrize("tag", ["--enable-new-dtags", "--disable-new-dtags"])
def test_run_paths_that_are_inherited(root: Path, order: str, tag: str) -> None:
    """DT_RPATH counts for what libraries need, too; DT_RUNPATH for its own file (ld.so(8)). musl takes both so."""
    library(root / "lib/ld-musl-mips.so.1", order)
    b = library(root / "hidden/libb.so", order)
    a = library(root / "lib/liba.so", order, b)
    options = ("-Wl,-rpath,/hidden", f"-Wl,{tag}", "-Wl,--no-as-needed")
    main = program(root / "bin/main", order, a, *options)
    missing = [f"libb.so: not found (wanted by {a})"] if "enable" in tag else []
    assert closure_of([main], Sysroot(root)).missing == missing
    main = program(root / "bin/other", order, a, *options, interpreter="/lib/ld-musl-mips.so.1")
    assert closure_of([main], Sysroot(root)).missing == []


def test_folders_of_uclibc(root: Path, order: str) -> None:
    """uClibc searches the folder of its linker, and knows no multiarch folders."""
    library(root / "opt/uclibc/ld-uClibc.so.0", order)
    a = library(root / "opt/uclibc/liba.so", order)
    library(root / f"lib/{ORDERS[order]}/liba.so", order)
    main = program(root / "bin/main", order, a, interpreter="/opt/uclibc/ld-uClibc.so.0")
    assert "/opt/uclibc/liba.so" in found(closure_of([main], Sysroot(root)), root)


def test_folders_of_musl(root: Path, order: str) -> None:
    """musl's own file names folders; its linker is the C library, by whatever name that goes."""
    library(root / "lib/ld-musl-mips-sf.so.1", order)
    libraries = [library(root / f"opt/{name}.so", order) for name in ("liba", "libc", "libpthread")]
    (root / "etc").mkdir()
    (root / "etc/ld-musl-mips-sf.path").write_text("/nowhere:/opt\n/more\n")
    main = program(root / "bin/main", order, *libraries, "-Wl,--no-as-needed", interpreter="/lib/ld-musl-mips-sf.so.1")
    for name in ("libc", "libpthread"):
        (root / f"opt/{name}.so").unlink()
    closure = closure_of([main], Sysroot(root))
    assert found(closure, root) == ["/bin/main", "/lib/ld-musl-mips-sf.so.1", "/opt/liba.so"]
    assert closure.missing == []


def test_lib_is_the_multiarch_folder(root: Path, order: str) -> None:
    a = library(root / f"opt/lib/{ORDERS[order]}/liba.so", order)
    main = program(root / "bin/main", order, a, "-Wl,-rpath,/opt/$LIB")
    assert f"/opt/lib/{ORDERS[order]}/liba.so" in found(closure_of([main], Sysroot(root)), root)


def test_run_path_comes_before_the_default_folders(root: Path, order: str) -> None:
    library(root / "lib/liba.so", order)
    a = library(root / "first/liba.so", order)
    main = program(root / "bin/main", order, a, "-Wl,-rpath,/nowhere:/first")
    assert "/first/liba.so" in found(closure_of([main], Sysroot(root)), root)


def test_configured_folders_with_includes(root: Path, order: str) -> None:
    """Files that are included stand where the include stands; comments and nonsense are passed over."""
    (root / "etc/ld.so.conf.d").mkdir(parents=True)
    (root / "etc/ld.so.conf").write_text("# all\ninclude /etc/ld.so.conf.d/*.conf\nhwcap 1 x\n/last # why\n")
    (root / "etc/ld.so.conf.d/b.conf").write_text("/second\ninclude more/*.conf\ninclude b.conf\n")
    (root / "etc/ld.so.conf.d/a.conf").write_text("/first\n\n")
    (root / "etc/ld.so.conf.d/other").write_text("/other\n")
    (root / "etc/ld.so.conf.d/more").mkdir()
    (root / "etc/ld.so.conf.d/more/c.conf").write_text("/third\n")
    folders = DynamicLinker(None, order, Sysroot(root)).folders
    assert folders[:4] == ["/first", "/second", "/third", "/last"]
    assert folders[4:6] == [f"/lib/{ORDERS[order]}", "/lib"]
    a = library(root / "third/liba.so", order)
    main = program(root / "bin/main", order, a)
    assert "/third/liba.so" in found(closure_of([main], Sysroot(root)), root)


def test_configured_folders_without_end(root: Path, order: str) -> None:
    """Each file counts once, however often and by whatever name it includes itself, and so many files."""
    (root / "etc").mkdir(exist_ok=True)
    (root / "etc/more").symlink_to("/etc")
    lines = ["include ld.so.conf", "include more/ld.so.*", "include /*/../*/../*/../*/../*/../*/../etc/x"] * 60
    (root / "etc/ld.so.conf").write_text("\n".join([*lines, "include many/*", "/last"]))
    (root / "etc/many").mkdir()
    for number in range(300):
        (root / f"etc/many/{number}").write_text(f"/{number}\n")
    folders = configured_folders(Sysroot(root))
    assert folders.index("/last") == 199 and folders.count("/last") == 1
    lines = ["include /etc/many/" + "[a-" * 300000, *(f"include /etc/many/*[0-9]*{n}?x" for n in range(99999)), "/last"]
    (root / "etc/ld.so.conf").write_text("\n".join(lines))
    assert "/last" in configured_folders(Sysroot(root))
    (root / "etc/ld.so.conf").write_text("\n".join(f"/{number}" for number in range(999999)))
    assert len(configured_folders(Sysroot(root))) < 300


def test_folders_without_end(root: Path, order: str) -> None:
    with deep_folder(root) as deep:
        a = library(deep / "liba.so", order)
        assert a in list(mips_files(root))


def test_links_lead_inside(root: Path, order: str) -> None:
    a = library(root / "real/liba.so", order)
    main = program(root / "bin/main", order, a)
    a.rename(root / "real/liba.so.1.2")
    (root / "lib/liba.so").symlink_to("/real/liba.so.1")  # absolute: inside
    (root / "real/liba.so.1").symlink_to("../../../../real/./liba.so.1.2")  # no further up than the root
    assert "/real/liba.so.1.2" in found(closure_of([main], Sysroot(root)), root)


def test_cyclic_links_are_missing_libraries(root: Path, order: str) -> None:
    a = library(root / "lib/liba.so", order)
    main = program(root / "bin/main", order, a)
    a.unlink()
    (root / "lib/liba.so").symlink_to("/usr/lib/liba.so")
    (root / "usr/lib").mkdir(parents=True)
    (root / "usr/lib/liba.so").symlink_to("../../lib/liba.so")
    closure = closure_of([main], Sysroot(root))
    assert closure.missing == [f"liba.so: not found (wanted by {main})"]
    assert list(mips_files(root)) == [root / "bin/main", root / "lib/ld.so.1"]


def test_missing_library_and_interpreter_are_named(root: Path, order: str) -> None:
    a = library(root / "lib/liba.so", order)
    main = program(root / "bin/main", order, a, interpreter="/lib/ld-other.so.1")
    a.unlink()
    closure = closure_of([main], Sysroot(root))
    assert closure.missing == [
        f"/lib/ld-other.so.1: not found (wanted by {main})",
        f"liba.so: not found (wanted by {main})",
    ]


def test_loaded_library_serves_where_none_is_found(root: Path, order: str) -> None:
    """The program's own path led to libb; liba, which has none, gets the same."""
    b = library(root / "hidden/libb.so", order)
    a = library(root / "lib/liba.so", order, b)
    main = program(root / "bin/main", order, b, a, "-Wl,-rpath,/hidden")
    assert closure_of([main], Sysroot(root)).missing == []


def test_other_byte_order_is_passed_over(root: Path, order: str) -> None:
    other = next(name for name in ORDERS if name != order)
    a = library(root / "usr/lib/liba.so", order)
    main = program(root / "bin/main", order, a)
    library(root / "lib/liba.so", other)
    closure = closure_of([main], Sysroot(root))
    assert "/usr/lib/liba.so" in found(closure, root) and closure.missing == []


def test_sysroot_of_the_other_byte_order_has_nothing(root: Path, order: str, tmp_path: Path) -> None:
    other = next(name for name in ORDERS if name != order)
    a = library(tmp_path / "liba.so", other)
    library(root / "lib/liba.so", order)
    main = program(tmp_path / "main", other, a)
    closure = closure_of([main], Sysroot(root))
    assert closure.missing == [f"liba.so: not found (wanted by {main})"]


def test_n32_and_n64_are_passed_over(root: Path, order: str) -> None:
    a = library(root / "usr/lib/liba.so", order)
    main = program(root / "bin/main", order, a)
    n32 = library(root / "first/liba.so", order)
    with_flags(n32, order, EF_MIPS_ABI2)
    n64 = library(root / "lib/liba.so", order)
    n64.write_bytes(b"\x7fELF\x02" + n64.read_bytes()[5:])
    (root / "etc").mkdir()
    (root / "etc/ld.so.conf").write_text("/first\n")
    closure = closure_of([main], Sysroot(root))
    assert "/usr/lib/liba.so" in found(closure, root) and closure.missing == []
    assert is_mips(n32) and not is_mips(n64)


def test_unfit_library_is_named(root: Path, order: str) -> None:
    a = library(root / "lib/liba.so", order)
    main = program(root / "bin/main", order, a)
    a.write_bytes(a.read_bytes()[:60])
    closure = closure_of([main], Sysroot(root))
    assert len(closure.missing) == 1 and str(a) in closure.missing[0]


def test_program_itself_must_be_fit(root: Path) -> None:
    (root / "text").write_text("no program")
    with pytest.raises(ElfError, match="text"):
        closure_of([root / "text"], Sysroot(root))


def test_files_of_a_sysroot(root: Path, order: str) -> None:
    """Each file once, whatever names it has; other kinds of files are left out, and nothing blocks."""
    program(root / "bin/main", order)
    os.link(root / "bin/main", root / "bin/same")
    (root / "bin/link").symlink_to("main")
    (root / "bin/text").write_text("\x7fELF")
    os.mkfifo(root / "bin/pipe")
    (root / "loop").symlink_to("..")
    assert list(mips_files(root)) == [root / "bin/main", root / "lib/ld.so.1"]
    assert list(mips_files(root / "nowhere")) == []


def test_guest_path(root: Path) -> None:
    assert Sysroot(root).guest_path(root / "lib/x") == "/lib/x"
    assert Sysroot(root).guest_path(Path("/elsewhere/x")) == "/elsewhere/x"
    assert Sysroot(root).host_path("/../..//lib/./ld.so.1") == root / "lib/ld.so.1"
    assert Sysroot(root).host_path("/lib/none") is None
