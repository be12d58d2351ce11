"""Builds on many machines: the shards of files go to the workers of a dask scheduler, libraries are linked here.

Enters: files that the store lacks, the address of a scheduler (dask.distributed). Leaves: libraries in the store. The
client sends the contents of each file once. A worker that gets work on a file analyses it, keeps that analysis for the
file's other shards, and compiles each shard in a child process, since LLVM's options are of the process. Workers must
run the same mipsrec and LLVM. What a lost worker had to do, another does again: dask sees to it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import logging
import socket
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from . import __version__, recompile
from .cache.entries import describe
from .cache.folders import code_path, source_digest
from .cache.layers import check_trust
from .cache.limit import Room
from .cache.store import is_sound, locked, root_of
from .elf import Image, load_elf, parse_elf
from .errors import BuildError, LiftError, MipsrecError, UsageError
from .files import trust
from .files.trusted_tree import distrust_all
from .fill_store import StoreProgress, StoreReport, Wanted, check_room, missing_of
from .guest import Guest
from .native.codegen import recipe
from .native.kept_parts import Entries
from .native.library import BuildOptions, compile_shard, link_objects
from .native.linking import GuestFile, LibraryIdentity
from .native.plan import Plan
from .native.shard_work import DeadShard
from .native.shards import Shard
from .native.workers import WorkerDied, result_in_child
from .options import Options
from .target.cpu import choice_of, chosen_cpu

CONNECT_SECONDS = 10
WORKER_SECONDS = 10
"""How long to wait for the scheduler, and for a first worker."""


def version() -> str:
    """Return what the client and all workers must agree on: this source code, LLVM, and the kind of machine."""
    return f"mipsrec {__version__} ({source_digest()[:12]}), LLVM {recipe()}"


@dataclass(frozen=True)
class Order:
    """A file to recompile, as it is sent to workers. Two with the same contents and options are the same."""

    identity: str
    options: Options
    version: str
    path: str = field(compare=False)
    content: bytes = field(compare=False, repr=False)


# ---- on a worker ----

_analysing = threading.Lock()


@lru_cache(maxsize=4)
def _analysed(order: Order) -> tuple[Plan, list[Shard]]:
    gc.unfreeze()  # the analysis of each file is frozen while it is made; those of files that are done may go
    gc.collect()
    guest = Guest(parse_elf(Path(order.path), order.content))
    plan = recompile.plan_of(guest, order.options, guest.starts)
    return plan, plan.shards()


def _analysis_of(order: Order) -> tuple[Plan, list[Shard]]:
    if order.version != version():
        raise BuildError(f"{_refusal(socket.gethostname(), version())}; this one has {order.version}")
    with _analysing:
        return _analysed(order)


def _refusal(worker: str, its_version: str) -> str:
    return f"the worker {worker} has {its_version}: install the same mipsrec and llvmlite on all workers"


def pass_on(order: Order) -> Order:
    """Return the order: so the scheduler keeps it, and a copy that is lost with a worker is made again."""
    return order


def cut(order: Order) -> list[Shard]:
    return _analysis_of(order)[1]


def compile_part(order: Order, number: int) -> tuple[bytes, Entries, bool]:
    """Return the object of one shard, its entries, and whether it was there from an earlier build."""
    plan, shards = _analysis_of(order)
    build = BuildOptions(1, chosen_cpu(order.options.cpu), order.options.reuse)
    work = partial(compile_shard, plan=plan, build=build)
    try:
        return result_in_child(work, shards[number])
    except WorkerDied as died:
        shard = DeadShard(shards[number], died.death)
        raise LiftError(
            f"{order.path}: {shard}; build it without --dask, which finds what that is and leaves it out"
        ) from died


# ---- on the client ----


@dataclass
class _OpenFile:
    """A file on its way through the farm."""

    wanted: Wanted
    image_facts: GuestFile
    soname: str | None
    order: Any
    """The future of its Order."""
    shards: list[Shard] = field(default_factory=list)
    parts: dict[int, tuple[bytes, Entries, bool]] = field(default_factory=dict)


def store_on_farm(
    images: Iterable[tuple[Path, Image]], options: Options, address: str, progress: StoreProgress | None = None
) -> StoreReport:
    """Build what the store lacks of some files with the workers of a scheduler; the rest is as in `store_all`."""
    if options.profile is not None:
        raise UsageError("--dask does not go with --use-profile: a profile is of one program")
    report = StoreReport()
    wanted = missing_of(images, options, report)
    if not wanted:
        return report
    with _connected(address) as client, _gone_is_an_error(address):
        _Farm(client, options, report, progress or StoreProgress()).run(wanted)
    return report


class _Farm:
    """One build: files are opened while the workers have too little to do, and linked when all parts are there."""

    def __init__(self, client: Any, options: Options, report: StoreReport, progress: StoreProgress) -> None:
        from distributed import as_completed

        cpu = chosen_cpu(options.cpu).name
        self.client, self.report, self.progress = client, report, progress
        self.local_options = options
        self.options = replace(options, jobs=1, cpu=choice_of(cpu), profile=None, into=None)
        self.room = Room(report.needed, bounded=options.into is None)
        self.completed = as_completed(loop=client.loop)
        self.waiting: dict[Any, Callable[[Any], None]] = {}
        """What to do with the result of each future."""

    def run(self, wanted: list[Wanted]) -> None:
        self.progress.begin(len(wanted), sum(one.size for one in wanted))
        queue = deque(wanted)
        while queue or self.waiting:
            enough = 2 * sum(self.client.nthreads().values()) + 4 if queue else 0
            while queue and len(self.waiting) < enough:
                self._open(queue.popleft())
            if self.waiting:
                future = next(self.completed)
                self.waiting.pop(future)(future)

    def _submit(self, then: Callable[[Any], None], function: Callable[..., Any], *arguments: Any) -> None:
        future = self.client.submit(function, *arguments, pure=False)
        self.waiting[future] = then
        self.completed.add(future)

    def _open(self, one: Wanted) -> None:
        self.progress.file(one.path)
        try:
            check_room(one.path, self.room)
            image = load_elf(one.path)
        except MipsrecError as error:
            self._skip(one, error)
            return
        order = Order(image.identity, self.options, version(), str(one.path), image.content)
        future = self.client.submit(pass_on, order, pure=False)
        file = _OpenFile(one, GuestFile.of(image), image.soname, future)
        self._submit(partial(self._cut_is_done, file), cut, future)

    def _cut_is_done(self, file: _OpenFile, future: Any) -> None:
        shards = self._result(file, future)
        if shards is None:
            return
        file.shards = shards
        for shard in sorted(shards, key=lambda shard: -shard.cost):
            self._submit(partial(self._part_is_done, file, shard), compile_part, file.order, shard.number)
        if not shards:
            self._link(file)

    def _part_is_done(self, file: _OpenFile, shard: Shard, future: Any) -> None:
        part = self._result(file, future)
        if part is None:
            return
        file.parts[shard.number] = part
        self.progress.part(file.wanted.path, len(shard.starts), shard.weight)
        if len(file.parts) == len(file.shards):
            self._link(file)

    def _result(self, file: _OpenFile, future: Any) -> Any:
        """Return a result; None where the file is given up, now or before."""
        from distributed import KilledWorker

        if file.order is None:
            return None
        try:
            return future.result()
        except KilledWorker:
            self._skip(file.wanted, LiftError(f"{file.wanted.path}: ended several workers, perhaps for want of memory"))
        except BuildError:
            raise
        except MipsrecError as error:
            self._skip(file.wanted, error)
        except OSError as error:
            if future.status == "error":  # the worker's own; else the scheduler is gone
                raise BuildError(f"{file.wanted.path}: a worker failed ({_first_line(error)})") from error
            raise
        file.order = None
        return None

    def _skip(self, one: Wanted, error: MipsrecError) -> None:
        self.report.skipped.append(str(error))
        self.progress.end(one.path, one.size)

    def _link(self, file: _OpenFile) -> None:
        file.order = None
        options, one, made_of = self.local_options, file.wanted, file.image_facts.identity
        check_trust(root_of(options))
        path, cpu = code_path(made_of, options), chosen_cpu(options.cpu)
        identity = LibraryIdentity(
            file.image_facts, options.memory, options.calls, str(options.opt), cpu, options.cover
        )
        parts = [file.parts[shard.number] for shard in file.shards]
        with locked(path, root_of(options)):
            if not is_sound(path, made_of):
                entries = [entry for _, found, _ in parts for entry in found]
                link_objects([data for data, _, _ in parts], entries, cpu, identity, path)
                describe(path, one.path, file.soname)
        self.room.add(path)
        file.parts.clear()
        self.report.built.append(one.path)
        self.progress.end(one.path, one.size)


def _check_settings() -> None:
    """Raise BuildError where others choose dask's settings: they name code, and dask writes what is missing there.

    Where others can make names in HOME, what is missing now may be there when dask looks.
    """
    home = Path("~").expanduser()
    folder = home / ".config/dask"
    reason = trust.distrust(home) or distrust_all(folder)
    if reason is not None:
        raise BuildError(f"{folder}: {reason}, and dask would take its settings there; set HOME (sudo -H)")


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Yield a client of the scheduler whose workers all run this mipsrec."""
    _check_settings()
    try:
        import dask
        from distributed import Client
        from distributed.comm.addressing import resolve_address
    except ImportError as error:
        raise BuildError("--dask needs the package distributed, which is missing: pip install mipsrec[farm]") from error
    for name in logging.root.manager.loggerDict:
        if name.startswith(("distributed", "tornado")):  # tornado logs what fails in distributed's callbacks
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # what is wrong is said here, in one line
    warnings.filterwarnings("ignore", message="Sending large graph")
    with dask.config.set({"distributed.comm.timeouts.connect": CONNECT_SECONDS}):
        try:
            resolve_address(address)
            client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise BuildError(f"{address}: no dask scheduler answers there ({_first_line(error)})") from error
        try:
            with _gone_is_an_error(address):
                _check_workers(client, address)
            yield client
        finally:
            client.close(timeout=2)


def _check_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except (TimeoutError, asyncio.TimeoutError) as error:
        raise BuildError(f"{address}: the dask scheduler has no workers; start some with `dask worker`") from error
    for worker, found in client.run(version, on_error="return").items():
        if isinstance(found, BaseException):
            reason = _first_line(found)
            raise BuildError(f"the worker {worker} cannot run this mipsrec ({reason}): install it there")
        if found != version():
            raise BuildError(f"{_refusal(worker, found)}; this one has {version()}")


@contextmanager
def _gone_is_an_error(address: str) -> Iterator[None]:
    """Turn what dask raises when its scheduler is lost into one line."""
    try:
        yield
    except (concurrent.futures.CancelledError, asyncio.CancelledError, OSError, TimeoutError) as error:
        raise BuildError(f"{address}: the dask scheduler is gone; what is finished stays; start again") from error


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
