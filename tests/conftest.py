"""What all tests share: a cache of their own for each run of the tests, and the host, built once in it."""

from __future__ import annotations

import functools
import gc
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from mipsrec import stencils
from mipsrec.cache.folders import HOSTS, cache_folder
from mipsrec.errors import BuildError
from tests.support.compiler_runs import KEPT
from tests.support.hosts import plain_host
from tests.support.module_code import compile_modules
from tests.support.paths import TESTS
from tests.support.sampling import cases_left_out

_own_folders: list[str] = []
LONGEST_FIRST = """
analysis/test_cost lift/test_check
gdb/test_packets programs/test_programs server/test_server_faults programs/test_samples fuzz/test_instructions
runtime/test_threads conformance/test_gcc emit/test_vectorize server/test_compile_server runtime/test_profile_samples
cli/test_build_store runtime/test_changed_code cli/test_build_farm repository/test_packaging cli/test_verify_agreement
native/test_kept_builds cli/test_fuzz cli/test_fuzz_triage emit/test_jump_table_guesses runtime/test_check_memory
runtime/test_dynamic_tools emit/test_vectors_lifted emit/test_scalar_promotion cli/test_bad_input emit/test_unwinding
runtime/test_store server/test_setting_aside testfloat/test_testfloat runtime/test_dynamic programs/test_policy
runtime/test_guest_ends runtime/test_sockets fuzz/test_interpreter_beside_unicorn cli/test_launcher
runtime/test_system_calls runtime/test_host_library emit/test_float_branches conformance/test_debian_programs
cli/test_profile_page cli/test_cache_obstacles cli/test_without_cache runtime/test_c_layers
""".split()
"""The modules that take long: what begins last must not be. `make test` gives a process a module.

The first two need no host: they run while it is built.
"""


def pytest_configure(config: pytest.Config) -> None:
    """Give all processes of this run one cache folder, unless MIPSREC_CACHE names one that is to be kept."""
    os.environ["MIPSREC_SERVER"] = "0"  # who wants one says so
    if "MIPSREC_CACHE" not in os.environ:
        made = _made_stencils()
        cache = os.environ["MIPSREC_CACHE"] = _own_folder()
        if made is not None:
            (Path(cache) / HOSTS).mkdir()
            shutil.copy(made, Path(cache) / HOSTS)
    if KEPT not in os.environ:
        os.environ[KEPT] = _own_folder()
    if getattr(config.option, "numprocesses", None):  # before they start
        compile_modules(Path(word.partition("::")[0]).absolute() for word in config.args)


def _own_folder() -> str:
    """Return a new folder, which this process removes at its end."""
    _own_folders.append(tempfile.mkdtemp(prefix="mipsrec-tests-"))
    return _own_folders[-1]


def _made_stencils() -> Path | None:
    """Return the stencil tables of this version that the user's cache has: they take half a minute to make."""
    with suppress(BuildError):
        path = cache_folder() / HOSTS / stencils.cached_name()
        return path if path.exists() else None
    return None


def pytest_unconfigure() -> None:
    for folder in _own_folders:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = any("::" in word for word in config.args)  # by name: all of it
    left_out = [] if chosen else cases_left_out(item for item in items if _is_sampled(item))
    config.hook.pytest_deselected(items=left_out)
    gone = set(left_out)
    items[:] = [item for item in items if item not in gone]
    order = {name: number for number, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: order.get(str(item.path.relative_to(TESTS).with_suffix("")), len(order)))


def pytest_collection_finish() -> None:
    gc.freeze()  # else each full collection of garbage would look at some thousand tests


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Function) -> None:
    """Build the host before the first test that may need it, where several processes run tests.

    A test that starts `mipsrec run` takes no lock. Without this hook one process makes the stencil tables and the host
    for such a test while another makes the same for its own, and each takes twice as long.
    """
    if getattr(item.config, "workerinput", {"workercount": 1})["workercount"] > 1 and _runs_guests(item):
        _build_host()


@functools.cache
def _build_host() -> None:
    if shutil.which("cc"):
        with suppress(BuildError):  # tests that need the host say what is wrong
            plain_host()


def _is_sampled(item: pytest.Function) -> bool:
    """Return whether `make test` may take some of the cases of a test: it costs, and is not marked `every_case`."""
    costs = item.get_closest_marker("sampled") is not None or _runs_guests(item)
    return costs and item.get_closest_marker("every_case") is None


def _runs_guests(item: pytest.Function) -> bool:
    """Return whether a test, or its module, knows the host or the command line."""
    known = {*vars(item.module), *item.fixturenames}
    return not known.isdisjoint({"mipsrec", "host", "plain_host", "sanitized_host"})


@pytest.fixture(scope="session")
def host() -> Path:
    """The host executable."""
    return plain_host()
