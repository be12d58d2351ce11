"""A dynamically linked program of three small libraries, one of them opened at run time, for tests of tools."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from mipsrec.cache.folders import cache_folder, variant_of
from mipsrec.elf import load_elf
from mipsrec.fill_store import store
from mipsrec.options import Options
from tests.support.compiled import ORDERS
from tests.support.tools import need

TWO = """
__attribute__((noipa)) int two_step(int n) { return n * 7 - 3; }
"""
ONE = """
int two_step(int n);
__attribute__((noipa)) int one_mix(int a, int b) { return (a ^ b) + 5; }
__attribute__((noipa)) int one_walk(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += one_mix(i, n) + two_step(i);
    return sum;
}
__attribute__((noipa)) unsigned one_spin(unsigned rounds)
{
    unsigned sum = 1;
    while (rounds-- > 0)
        sum = sum * 1664525 + (sum >> 7) + 5;
    return sum;
}
__attribute__((noipa)) int one_crash(volatile int *p) { return *p + 1; }
"""
PLUG = """
int plug_key = 6;
__attribute__((noipa)) int plug_in(int n) { return (n ^ plug_key) * 9; }
__attribute__((noipa)) unsigned plug_spin(unsigned rounds)
{
    unsigned sum = 1;
    while (rounds-- > 0)
        sum = sum * 69069 + (sum >> 9) + 1;
    return sum;
}
"""
PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int one_walk(int n), one_crash(volatile int *p);
unsigned one_spin(unsigned rounds);
static void *plug_symbol(void **library, const char *path, const char *name)
{
    *library = dlopen(path, RTLD_NOW);
    if (*library == NULL)
        exit(99);
    return dlsym(*library, name);
}
__attribute__((noipa)) int own(int n) { return n + one_walk(n); }
__attribute__((noipa)) unsigned own_spin(unsigned rounds)
{
    unsigned sum = 1;
    while (rounds-- > 0)
        sum = sum * 22695477 + (sum >> 5) + 1;
    return sum;
}
static int in_child(int (*body)(const char *), const char *argument)
{
    fflush(stdout);
    int child = fork(), status = 0;
    if (child == 0)
        _exit(body(argument));
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
static int plug_thrice(const char *path)
{
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        void *library;
        int (*plug_in)(int) = (int (*)(int))plug_symbol(&library, path, "plug_in");
        sum += plug_in(i);
        dlclose(library);
    }
    return sum;
}
static int spin_plug(const char *path)
{
    void *library;
    unsigned (*spin)(unsigned) = (unsigned (*)(unsigned))plug_symbol(&library, path, "plug_spin");
    unsigned sum = 0;
    for (int i = 0; i < 40; i++)
        sum += spin(1000000);
    return sum == 1;
}
static int own_status(const char *unused) { return unused != NULL && own(3) & 63; }
int main(int count, char **words)
{
    const char *way = words[1];
    if (strcmp(way, "walk") == 0)
        printf("%d %d\\n", own(20), in_child(own_status, ""));
    if (strcmp(way, "plug") == 0)
        printf("%d\\n", plug_thrice(words[2]));
    if (strcmp(way, "child") == 0)
        printf("%d\\n", in_child(plug_thrice, words[2]) != 0);
    /* One after the other: turns of a few milliseconds can keep step with the sampling clock. */
    if (strcmp(way, "spin") == 0)
        for (int i = 0; i < 80; i++)
            if ((i < 40 ? own_spin(1000000) : one_spin(1000000)) == 1)
                puts("unlikely");
    if (strcmp(way, "spin") == 0 && count > 2)
        printf("%d\\n", in_child(spin_plug, words[2]));
    if (strcmp(way, "crash") == 0)
        return one_crash(NULL);
    return 7;
}
"""


@dataclass(frozen=True)
class DynamicGuest:
    """The program, the libraries that it needs, and the one that it opens."""

    byte_order: str
    program: Path
    one: Path
    two: Path
    plug: Path

    @property
    def own_files(self) -> tuple[Path, ...]:
        return self.program, self.one, self.two, self.plug

    def stored(self, options: Options | None = None) -> list[str]:
        """Put the code of these files into the store; return the host's options that find it."""
        options = options or Options(opt=1, jobs=1)
        for path in self.own_files:
            store(load_elf(path), options)
        return ["--cache", str(cache_folder()), "--variant", variant_of(options)]


def _compile(order: str, folder: Path, name: str, source: str, *options: str) -> Path:
    triple = ORDERS[order]
    text, output = folder / f"{name}.c", folder / name
    text.write_text(source)
    compiler = need(f"{triple}-gcc", f"gcc-{triple}")
    subprocess.run([compiler, "-O2", "-g", text, "-o", output, *options], check=True)
    return output


def dynamic_guest(order: str, folder: Path) -> DynamicGuest:
    """Return the program; its libc is that of the cross compiler."""
    root = f"/usr/{ORDERS[order]}"
    need(f"{root}/lib/ld.so.1", f"libc6-{'mips' if order == 'big' else 'mipsel'}-cross")
    shared = ("-shared", "-fPIC", f"-L{folder}", f"-Wl,-rpath,{folder}")
    two = _compile(order, folder, "libtwo.so", TWO, *shared)
    one = _compile(order, folder, "libone.so", ONE, *shared, "-ltwo")
    plug = _compile(order, folder, "libplug.so", PLUG, *shared)
    program = _compile(
        order, folder, "dynamic", PROGRAM, f"-L{folder}", "-lone", "-ltwo", f"-Wl,--dynamic-linker={root}/lib/ld.so.1",
        f"-Wl,-rpath,{os.fspath(folder)}:{root}/lib",
    )  # fmt: skip
    return DynamicGuest(order, program, one, two, plug)
