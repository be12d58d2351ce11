"""Builds what an installed mipsrec carries ready-made: commands of setuptools that pyproject.toml names.

Enters: the sources. Leaves, in a wheel for this platform: the stencils in the package, and the native commands
`mipsrec`, `mipsrec-run` and `mipsrec-host`. Where no C compiler works, or LLVM's package is missing, the wheel has
commands in Python, and the host is built when it is first needed. An editable install always has commands in Python,
which use the sources as they are.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

from distutils.command.build_scripts import build_scripts  # isort: skip  # that of setuptools, once it is imported

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


def is_native(distribution: Distribution) -> bool:
    """Return whether the wheel is to have native commands: where they can be built, and the sources are copied."""
    if "editable_wheel" in distribution.commands:
        return False
    try:
        import capstone  # noqa: F401
        import elftools  # noqa: F401
        import llvmlite  # noqa: F401

        from mipsrec.native.compiler import find_compiler

        find_compiler()
    except Exception as error:
        print(f"mipsrec: no native commands, the host is built when it is needed: {error}", file=sys.stderr)
        return False
    return True


class BuildPy(build_py):
    """Adds the stencils to the package."""

    def run(self) -> None:
        if not self.editable_mode:  # what an earlier build of this folder left: modules that are gone would be carried
            shutil.rmtree(Path(self.build_lib) / "mipsrec", ignore_errors=True)
        super().run()
        if is_native(self.distribution):
            os.environ.setdefault("MIPSREC_CACHE", str(Path(self.build_lib).resolve().parent / "cache"))
            from mipsrec import stencils

            stencils.ship(Path(self.build_lib) / "mipsrec")


class BuildScripts(build_scripts):
    """Puts native commands in the place of those in Python."""

    def run(self) -> None:
        super().run()
        if not is_native(self.distribution):
            return
        from mipsrec.errors import MipsrecError
        from mipsrec.host_build import build_commands

        try:
            build_commands(Path(self.build_dir))
        except MipsrecError as error:
            print(f"mipsrec: no native commands, the host is built when it is needed: {error}", file=sys.stderr)


class BdistWheel(bdist_wheel):
    """Names the platform where the wheel has native commands. They are of no one Python, as the package is not."""

    def get_tag(self) -> tuple[str, str, str]:
        python, abi, platform = super().get_tag()
        if is_native(self.distribution):
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        return python, abi, platform
