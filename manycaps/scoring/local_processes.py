"""Processes of this machine that begin with their packages loaded: a server imports them once, and forks."""

import concurrent.futures
import contextlib
import itertools
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import BaseContext
from typing import TYPE_CHECKING, Any

from manycaps.catalog.installed_modules import progress_bars
from manycaps.kit.errors import InputOSError

if TYPE_CHECKING:
    from manycaps.scoring.run_settings import PartReport, RunPart, RunSettings, Step

# What the server imports.
PACKAGES = "manycaps.scoring.worker_packages"

# Variables that say how many threads of arithmetic a process may have.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def process_context(n_processes: int) -> BaseContext:
    """Return how processes are started: forked by a running server where that is safe, else each from scratch."""
    if not sys.platform.startswith("linux"):
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PACKAGES])
    with threads_for(n_processes), _without_ctrl_c():
        forkserver.ensure_running()
    return context


@contextlib.contextmanager
def threads_for(n_processes: int) -> Iterator[None]:
    """Share the cores out among processes that are started now: more threads than cores would wait for each other."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    for name in THREAD_VARIABLES:
        os.environ.setdefault(name, str(max(1, (os.cpu_count() or 1) // n_processes)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)


@contextlib.contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Ctrl-C is for the parent: what is started now inherits that it is ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


class LocalEngine:
    """Runs steps in several processes, which stay for all steps."""

    def __init__(self, n_processes: int):
        """Take the number of processes."""
        self.n_processes = n_processes
        self._threads = contextlib.ExitStack()

    def __enter__(self) -> "LocalEngine":
        context = process_context(self.n_processes)
        self._others = set(multiprocessing.active_children())
        self._threads.enter_context(threads_for(self.n_processes))
        self._pool = concurrent.futures.ProcessPoolExecutor(self.n_processes, context, prepare_process)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        processes = set(multiprocessing.active_children()) - self._others if kind is not None else ()
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
        for process in processes:
            process.terminate()
        self._threads.close()

    def run(self, step: "Step", settings: "RunSettings", parts: Sequence["RunPart"]) -> "Iterator[PartReport]":
        """Run a step on all parts, and yield each part with its report as it is finished.

        Raises the errors of the step, and an InputOSError if a process was killed.
        """
        waiting = iter(parts)
        try:
            # Every process is kept busy, with one part more waiting for each.
            first = itertools.islice(waiting, 2 * self.n_processes)
            running = {self._pool.submit(do_part, step, settings, part): part for part in first}
            while running:
                done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
                # Of several errors the first part's is shown.
                for future in sorted(done, key=lambda one: running[one].number):
                    part = running.pop(future)
                    yield part, future.result()
                    for later in itertools.islice(waiting, 1):
                        running[self._pool.submit(do_part, step, settings, later)] = later
        except BrokenProcessPool:
            got, fix = "one that was killed (out of memory?)", "Rerun with fewer --processes; finished parts are kept."
            raise InputOSError("processes", "worker processes that run to the end", got, fix) from None


def do_part(step: "Step", settings: "RunSettings", part: "RunPart") -> dict[str, Any]:
    """Run a step on one part: only the run has a progress bar."""
    with progress_bars(shown=False):
        return step(settings, part)


def prepare_process() -> None:
    """Leave ctrl-C to the parent, and end with it, however it ends: nobody else would write the same files."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)
