"""A script that stands for the compile server: it goes on when it has become modest, and says what it is."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from tests.server.serving import Serving

SCRIPT = """#!/bin/sh
until [ "$(cut -d' ' -f19,41 /proc/$$/stat)" = "19 3" ]; do :; done
{{ cut -d' ' -f6 /proc/$$/stat; ls /proc/$$/fd; env | grep -v '^_=\\|^PWD='; }} > {fifo}
"""
"""Fields 19 and 41 are the niceness, and the policy: 3 is SCHED_BATCH; 6 is the session."""


class Script(Serving):
    """A server that only says what it is, through a pipe."""

    @property
    def fifo(self) -> Path:
        return self.cache.with_name("fifo")

    def prepare(self) -> None:
        os.mkfifo(self.fifo)
        script = self.cache.with_name("script")
        script.write_text(SCRIPT.format(fifo=self.fifo))
        script.chmod(0o755)

    def server_command(self) -> list[str]:
        return [str(self.cache.with_name("script")), "word"]

    def starts(self) -> list[int]:
        """Return when processes started a server, as they tell each other."""
        files = sorted((self.cache / "server").glob("*.start"))
        return [started for path in files if (started := struct.unpack_from("<q", path.read_bytes())[0]) != 0]
