"""Parts by processes of this machine."""

import concurrent.futures
import contextlib
import itertools
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from manycaps.scoring.fork_server import process_context, threads_for
from manycaps.scoring.run_settings import Part, RunSettings

# A step over a part: `survey_part` or `score_part`.
Step = Callable[[RunSettings, Part], dict[str, Any]]


class LocalEngine:
    """Runs steps in this process, or in several others that stay for all steps."""

    def __init__(self, n_processes: int):
        """Take the number of processes; with 1, this one does the work."""
        self.n_processes = n_processes
        self._pool: concurrent.futures.ProcessPoolExecutor | None = None
        self._threads = contextlib.ExitStack()

    def __enter__(self) -> "LocalEngine":
        if self.n_processes > 1:
            context = process_context(self.n_processes)
            self._threads.enter_context(threads_for(self.n_processes))
            self._pool = concurrent.futures.ProcessPoolExecutor(self.n_processes, context, prepare_process)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._pool is None:
            return
        processes = multiprocessing.active_children() if kind is not None else []
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
        for process in processes:
            process.terminate()
        self._threads.close()

    def run(self, step: Step, settings: RunSettings, parts: Sequence[Part]) -> Iterator[tuple[Part, dict[str, Any]]]:
        """Do a step for all parts.

        Yields:
            Each part and its report, as they are finished.

        Raises:
            ValueError, OSError: as the step.
            ChildProcessError: a process was killed.
        """
        if self._pool is None:
            for part in parts:
                yield part, step(settings, part)
            return
        try:
            yield from self._run_in_pool(self._pool, step, settings, parts)
        except BrokenProcessPool:
            raise ChildProcessError(
                "processes: expected them to live until the end, got one that was killed, perhaps for want of memory. "
                "Give the same command again, with fewer --processes if need be: finished parts stay."
            ) from None

    def _run_in_pool(
        self, pool: concurrent.futures.ProcessPoolExecutor, step: Step, settings: RunSettings, parts: Sequence[Part]
    ) -> Iterator[tuple[Part, dict[str, Any]]]:
        """Keep every process busy, with one part more waiting for each."""
        waiting = iter(parts)
        running = {pool.submit(step, settings, part): part for part in itertools.islice(waiting, 2 * self.n_processes)}
        while running:
            done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            # Of several errors that of the first part is shown.
            for future in sorted(done, key=lambda one: running[one].number):
                part = running.pop(future)
                yield part, future.result()
                for later in itertools.islice(waiting, 1):
                    running[pool.submit(step, settings, later)] = later


def prepare_process() -> None:
    """Leave ctrl-C to the parent, and end with it, however it ends: nobody else would write the same files."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)
