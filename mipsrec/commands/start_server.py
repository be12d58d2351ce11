"""Starts the compile server, wherever this package lies: python -I PATH/start_server.py [--jobs N] [--idle S]."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from mipsrec.cli import main

if __name__ == "__main__":
    sys.exit(main(["compile-server", *sys.argv[1:]]))
