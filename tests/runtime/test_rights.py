"""A guest has the rights of its user, and no less: neither a sysroot nor the host keeps it from anything."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.compiled import ORDERS, compile_guest

SOURCE = """
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static void say(const char *what, int result)
{
    printf("%s: %s\\n", what, result < 0 ? strerror(errno) : "done");
}
int main(int count, char **words)
{
    int file = open(words[1], O_WRONLY | O_CREAT | O_TRUNC, 0644);
    say("write outside", file < 0 ? file : (int)write(file, "guest\\n", 6));
    say("give it away", chmod(words[1], 0666));
    say("change the cache", (file = open(words[2], O_WRONLY | O_TRUNC)) < 0 ? file : (int)write(file, "guest\\n", 6));
    say("remove from the cache", unlink(words[3]));
    say("end a process", kill(atoi(words[4]), SIGTERM));
    fflush(stdout);
    execl("/bin/sh", "sh", "-c", "echo native", (char *)0);
    return 1;
}
"""
EXPECTED = """\
write outside: done
give it away: done
change the cache: done
remove from the cache: done
end a process: done
native
"""


@pytest.mark.parametrize("order", ORDERS)
def test_rights_of_the_user(host: Path, tmp_path: Path, order: str) -> None:
    """Outside of the sysroot, in the cache that the host was given, and with the user's other processes."""
    guest = compile_guest(tmp_path, order, SOURCE, "-static")
    outside, cache, root = tmp_path / "outside", tmp_path / "cache", tmp_path / "root"
    for folder in (outside, cache, root):
        folder.mkdir()
    for name in ("kept", "gone"):
        (cache / name).write_text("code")
    with subprocess.Popen(["sleep", "600"]) as other:
        words = [host, "--cache", cache, "-L", root, guest, outside / "new", cache / "kept", cache / "gone", other.pid]
        result = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=600, check=False)
        other.terminate() if result.stdout != EXPECTED else None
        assert (result.returncode, result.stdout, result.stderr) == (0, EXPECTED, "")
        assert other.wait(600) == -signal.SIGTERM
    assert ((outside / "new").read_text(), (outside / "new").stat().st_mode & 0o777) == ("guest\n", 0o666)
    assert [(path.name, path.read_text()) for path in cache.iterdir()] == [("kept", "guest\n")]
