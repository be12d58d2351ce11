"""Dynamic programs: what the guest's dynamic linker loads, opens, closes and shares, recompiled and interpreted.

The guests are linked against the cross compilers' own C library, which is interpreted; the programs and libraries made
here are recompiled into a store of the test's own. Every output is compared with what the program says of itself, or
with a native build of the same source.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.runtime.dynamic_world import ENGINES, TIMEOUT, World
from tests.support.compiled import ORDERS
from tests.support.compiler_runs import run_compiler
from tests.support.dynamic import recompiled_files
from tests.support.hosts import sanitized_host
from tests.support.sampling import ALL
from tests.support.tools import need

pytestmark = pytest.mark.sampled


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=ORDERS)
def world(request: pytest.FixtureRequest, host: Path, tmp_path: Path, engine: str) -> World:
    return World(host, tmp_path, request.param, engine)


def assert_says(result: subprocess.CompletedProcess[str], output: str, status: int = 0) -> None:
    assert (result.stdout, result.returncode) == (output, status), result.stderr[-2000:]


HELLO = '#include <stdio.h>\nint main(int c, char **v) { printf("%s %d\\n", v[1], c); return 7; }\n'


def test_a_program_and_its_interpreter(world: World) -> None:
    program = world.compile(HELLO, "hello")
    world.recompile(program)
    result = world.run(program, "word", options=["--stats"])
    assert_says(result, "word 2\n", 7)
    world.assert_code_of(result, program)


@pytest.mark.parametrize("kind", ["-no-pie", "-pie"])
def test_programs_of_every_kind(world: World, kind: str) -> None:
    pic = ("-fno-pie",) if kind == "-no-pie" else ("-fPIE",)
    source = """#include <stdio.h>
        static int one(int x) { return x + 1; } static int two(int x) { return 2 * x; }
        int (*volatile table[])(int) = {one, two};
        int pick(int n) { switch (n) { case 0: return 10; case 1: return 21; case 2: return 5; case 3: return 77;
            case 4: return 3; case 5: return 8; case 6: return 13; default: return -1; } }
        int main(int count, char **words) { int n, sum = 0;
            for (n = 0; n < 100; n++) sum += table[n & 1](n) + pick(n % 9);
            printf("%d\\n", sum); return 0; }"""
    program = world.compile(source, "program", kind, *pic)
    world.recompile(program)
    assert_says(world.run(program), "8995\n")


def test_exceptions_through_three_libraries(world: World) -> None:
    head = "#include <string>\n#include <cstdio>\n"
    first = head + """
        struct Loud { std::string name; ~Loud() { printf("~%s\\n", name.c_str()); } };
        void first(int n) {
            Loud l{"first"}; if (n > 2) throw std::string("thrown in the first"); printf("%d\\n", n); }"""
    second = head + """
        void first(int); struct Quiet { ~Quiet() { puts("~second"); } };
        void second(int n, void (*back)(int)) { Quiet q;
            try { back(n); first(n); }
            catch (int e) { printf("int %d\\n", e); throw std::string("from the second"); } }"""
    third = head + """
        void second(int, void (*)(int));
        int third(int n, void (*back)(int)) {
            try { second(n, back); } catch (std::string &s) { printf("%s\\n", s.c_str());
                if (n == 9) throw; return (int)s.size(); } return 0; }"""
    main = head + """
        int third(int, void (*)(int)); static void back(int n) { if (n == 5) throw 5; }
        int main() { int sum = 0; for (int n = 0; n < 9; n++) sum += third(n, back);
            try { third(9, back); } catch (std::string &s) { printf("main: %s\\n", s.c_str()); }
            printf("%d\\n", sum); }"""
    libraries = [world.library(first, "libfirst.so")]
    libraries.append(world.library(second, "libsecond.so", "-lfirst"))
    libraries.append(world.library(third, "libthird.so", "-lsecond"))
    program = world.compile(main, "main", "-lthird", "-lsecond", "-lfirst")
    world.recompile(program, *libraries)
    native = world.folder / "native"
    sources = [str(world.folder / f"{name}.cc") for name in ("libfirst.so", "libsecond.so", "libthird.so", "main")]
    run_compiler([need("g++"), "-w", *sources, "-o", native], native)
    expected = subprocess.run([native], capture_output=True, text=True).stdout
    result = world.run(program, options=["--stats"])
    assert_says(result, expected)
    world.assert_code_of(result, program, *libraries)


PLUGIN = """
#include <stdio.h>
static __thread int calls; static int (*self)(int);
__attribute__((constructor)) static void begin(void) { self = 0; }
__attribute__((noipa)) int twice(int x) { return 2 * x; }
int work(int n) { int i, sum = VERSION; calls++; for (i = 0; i < n; i++) sum += twice(i) ^ calls; return sum; }
"""

OPENER = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words) {
    int rounds = atoi(words[2]), n, sum = 0;
    for (n = 0; n < rounds; n++) {
        void *plugin = dlopen(words[1], RTLD_NOW);
        if (!plugin) { puts(dlerror()); return 1; }
        int (*work)(int) = (int (*)(int))dlsym(plugin, "work");
        sum += work(n % 10);
        if (dlclose(plugin)) return 2;
    }
    printf("%d\\n", sum);
    return 0;
}
"""


def test_opening_and_closing_in_a_loop(world: World) -> None:
    plugin, program = world.library(PLUGIN, "plugin.so", "-DVERSION=3"), world.compile(OPENER, "opener")
    world.recompile(plugin, program)
    result = world.run(program, str(plugin), "300", options=["--stats"])
    expected = sum(3 + sum(2 * i ^ 1 for i in range(n % 10)) for n in range(300))
    assert_says(result, f"{expected}\n")
    if world.engine == "recompiled":
        assert recompiled_files(result.stderr).count(str(plugin)) == 1  # one module, bound again and again


REOPENER = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words) {
    char line[8];
    do {
        void *plugin = dlopen(words[1], RTLD_NOW);
        int (*work)(int) = (int (*)(int))dlsym(plugin, "work");
        int sum = work(4);
        dlclose(plugin);
        printf("%d\\n", sum);
        fflush(stdout);
    } while (fgets(line, sizeof line, stdin));
    return 0;
}
"""


def test_a_library_replaced_while_the_program_runs(world: World) -> None:
    """By another file, and by other contents of the same file: each time the next mapping has the new code."""
    versions = [world.library(PLUGIN, f"plugin-{n}.so", f"-DVERSION={n}00") for n in (1, 2, 3)]
    program = world.compile(REOPENER, "reopener")
    world.recompile(program, *versions)
    used = world.folder / "plugin.so"
    shutil.copy(versions[0], used)
    words = world.words(program, str(used), options=["--stats"])
    pipe = subprocess.PIPE
    with subprocess.Popen(words, text=True, stdin=pipe, stdout=pipe, stderr=pipe) as run:
        assert run.stdin is not None and run.stdout is not None and run.stderr is not None
        found = [run.stdout.readline()]
        shutil.copy(versions[1], world.folder / "next.so")
        (world.folder / "next.so").rename(used)
        for contents in (None, versions[2], None):
            if contents is not None:
                used.write_bytes(contents.read_bytes())  # the same inode
            run.stdin.write("\n")
            run.stdin.flush()
            found.append(run.stdout.readline())
        run.stdin.close()
        stats = run.stderr.read()
        assert run.wait(TIMEOUT) == 0
    values = [int(text) - sum(2 * i ^ 1 for i in range(4)) for text in found]
    assert values == [100, 200, 300, 300]
    if world.engine == "recompiled":
        assert recompiled_files(stats).count(str(used)) == 3


def test_two_hundred_libraries(world: World) -> None:
    source = """
        #include <dlfcn.h>
        #include <stdio.h>
        int main(int count, char **words) { int n, sum = 0; char name[4096];
            for (n = 0; n < 200; n++) {
                snprintf(name, sizeof name, "%s/many-%d.so", words[1], n);
                void *plugin = dlopen(name, RTLD_NOW);
                if (!plugin) { puts(dlerror()); return 1; }
                sum += ((int (*)(int))dlsym(plugin, "work"))(5);
            }
            printf("%d\\n", sum); return 0; }"""
    plugin, program = world.library(PLUGIN, "many.so", "-DVERSION=1"), world.compile(source, "program")
    for n in range(200):
        shutil.copy(plugin, world.folder / f"many-{n}.so")
    world.recompile(plugin, program)
    result = world.run(program, str(world.folder), options=["--stats"])
    assert_says(result, f"{200 * (1 + sum(2 * i ^ 1 for i in range(5)))}\n")
    if world.engine == "recompiled":
        assert len([path for path in recompiled_files(result.stderr) if "/many-" in path]) == 200


PATCHER = """
#include <stdint.h>
#include <stdio.h>
#include <sys/cachectl.h>
#include <sys/mman.h>
__attribute__((noipa, aligned(4096))) int number(void) { return 1111; }
__attribute__((noipa)) int ask(int n) { int i, sum = 0; for (i = 0; i < n; i++) sum += number(); return sum; }
int main(void) {
    int i, before = ask(3);
    uint32_t *code = (uint32_t *)number, *page = (uint32_t *)((uintptr_t)number & ~4095ul);
    if (mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC)) return 1;
    for (i = 0; i < 16 && (code[i] & 0xffff) != 1111; i++) ;
    code[i] = (code[i] & ~0xffffu) | 2222;
    cacheflush(page, 4096, BCACHE);
    printf("%d %d\\n", before, ask(3));
    return 0;
}
"""


def test_code_that_is_changed_where_it_stands(world: World) -> None:
    """Also calls of it that its own library makes without a look at where they go."""
    program = world.compile(PATCHER, "patcher")
    world.recompile(program)
    assert_says(world.run(program), "3333 6666\n")


FORKER = """
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int stop; int work(int);
static void *spin(void *which) {
    unsigned n, sum = 0;
    while (!stop) { for (n = 0; n < 100; n++) sum += work(7); sched_yield(); }
    return (void *)(long)(sum != 0);
}
int main(void) {
    pthread_t threads[100]; int n, good = 0, status;
    for (n = 0; n < 100; n++) if (pthread_create(&threads[n], 0, spin, 0)) return 1;
    for (n = 0; n < 6; n++) {
        pid_t child = fork();
        if (child == 0) _exit(work(3) == 100 + 0 + (2 ^ 1) + (4 ^ 1) ? 42 : 1);
        if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 42) good++;
    }
    stop = 1;
    for (n = 0; n < 100; n++) pthread_join(threads[n], 0);
    printf("%d children\\n", good);
    return 0;
}
"""


def test_forks_beside_a_hundred_threads(world: World) -> None:
    source = PLUGIN.replace("calls++;", "calls = 1;")
    plugin = world.library(source, "libplugin.so", "-DVERSION=100")
    program = world.compile(FORKER.replace("+ 0 +", "+ (0 ^ 1) +"), "forker", "-lplugin", "-pthread")
    world.recompile(plugin, program)
    assert_says(world.run(program), "6 children\n")


LAZY = """
#include <stdio.h>
#include <stdlib.h>
int work(int);
int main(int count, char **words) {
    int n, sum = 0, rounds = atoi(words[1]);
    for (n = 0; n < rounds; n++)
        sum += work(n & 3);
    printf("%d\\n", sum); return 0;
}
"""


def test_a_first_call_binds_and_goes_on(world: World) -> None:
    """The caller's loop stays recompiled, though the dynamic linker, which finds the callee, has no code."""
    plugin = world.library(PLUGIN.replace("calls++;", ""), "libplugin.so", "-DVERSION=0")
    program = world.compile(LAZY, "lazy", "-lplugin", "-Wl,-z,lazy")
    world.recompile(plugin, program)
    counts = []
    for rounds in ("1", "20001"):
        result = world.run(program, rounds, options=["--stats"], environment={"LD_BIND_NOW": ""})
        assert result.returncode == 0, result.stderr
        found = re.search(r"(\d+) instructions interpreted", result.stderr)
        assert found is not None
        counts.append(int(found[1]))
    assert (counts[1] - counts[0] < 5_000) == (world.engine == "recompiled")


PARENT = """
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    volatile int n;
    for (n = 0; n < 300000; n++) ;
    if (fork() == 0) _exit(0);
    return wait(0) > 0 ? 0 : 1;
}
"""


def test_a_child_counts_what_it_does(host: Path, tmp_path: Path) -> None:
    world = World(host, tmp_path, "little", "interp")
    result = world.run(world.compile(PARENT, "parent"), options=["--stats"])
    child, parent = map(int, re.findall(r"(\d+) instructions interpreted", result.stderr))
    assert result.returncode == 0 and child < 100_000 and parent > 1_000_000


STORM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words) {
    int n = atoi(words[1]), good = 0, status;
    if (n == 0) return 3;
    while (n-- > 0) {
        char *arguments[] = {words[0], "0", 0};
        pid_t child = fork();
        if (child == 0) { execv("/proc/self/exe", arguments); _exit(9); }
        if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3) good++;
    }
    printf("%d\\n", good);
    return 0;
}
"""


def test_a_storm_of_processes(world: World) -> None:
    program = world.compile(STORM, "storm")
    world.recompile(program)
    many = "1000" if ALL else "300"
    count = many if (world.byte_order, world.engine) == ("little", "recompiled") else "100"
    assert_says(world.run(program, count), f"{count}\n")


LAYOUT = """
#include <link.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
    unsigned long base = getauxval(AT_BASE), entry = getauxval(AT_ENTRY), phdr = getauxval(AT_PHDR);
    int local; char *first = sbrk(0), *heap = sbrk(1 << 20), *mapped = mmap(0, 1 << 20, 3, 0x802, -1, 0);
    printf("program %d interpreter %d heap %d mapped %d stack %d\\n", entry >> 16 == 0x5555, base > 0x70000000,
        heap == first && (unsigned long)first > entry && (unsigned long)first < 0x60000000,
        (unsigned long)mapped < base && (unsigned long)mapped > 0x60000000, (unsigned long)&local > base);
    printf("phdr %d phnum %d execfn %s secure %lu sysinfo %lu random %d\\n", (phdr & 0xffff) == 0x34,
        getauxval(AT_PHNUM) > 5, (char *)getauxval(AT_EXECFN), getauxval(AT_SECURE), getauxval(AT_SYSINFO_EHDR),
        getauxval(AT_RANDOM) != 0);
    return 0;
}
"""


def test_the_address_space_is_laid_out_as_by_a_kernel(world: World) -> None:
    program = world.compile(LAYOUT, "layout", "-fPIE", "-pie")
    expected = "program 1 interpreter 1 heap 1 mapped 1 stack 1\n"
    expected += f"phdr 1 phnum 1 execfn {program} secure 0 sysinfo 0 random 1\n"
    assert_says(world.run(program), expected)


@pytest.mark.parametrize("byte_order", ORDERS)
def test_under_sanitizers(tmp_path: Path, byte_order: str) -> None:
    """Of model flat nothing runs there: the shadow memory is in its place. Loading and unloading are the same."""
    world = World(sanitized_host(), tmp_path, byte_order, "interp")
    plugin, program = world.library(PLUGIN, "plugin.so", "-DVERSION=3"), world.compile(OPENER, "opener")
    expected = sum(3 + sum(2 * i ^ 1 for i in range(n % 10)) for n in range(20))
    assert_says(world.run(program, str(plugin), "20"), f"{expected}\n")
