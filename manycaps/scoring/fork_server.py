"""Processes that begin with their packages loaded: a server imports them once, beside the parent, and forks.

Light: it is imported before anything else, so that the server starts first.
"""

import contextlib
import multiprocessing
import os
import pathlib
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from multiprocessing.context import BaseContext

# What the server imports.
PACKAGES = "manycaps.scoring.worker_packages"

# Variables that say how many threads of arithmetic a process may have.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

# Bytes of input from which on there are parts for several processes: a smaller one is done when they have started.
ENOUGH_BYTES = 1 << 23

# Vendored files that tell modules with a network from others; those are run by one process where nothing else is asked.
MODEL_FILES = ("shared_sentence_encoder.py", "shared_clip_model.py")


def process_context(n_processes: int) -> BaseContext:
    """Return how processes are started: forked by a server where that is safe, else each from scratch.

    Args:
        n_processes: how many there will be; the server runs when this returns, unless it did before.
    """
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


def start_early(inputs: Sequence[str], folders: Sequence[pathlib.Path | None], n_processes: int | None) -> bool:
    """Start the server if processes will be wanted, as far as can be told before anything is read.

    Args:
        inputs: sources, as they were given.
        folders: of the modules; None for one that is not there.
        n_processes: as they were asked for; None: one for each core.

    Returns:
        Whether it was started.
    """
    n_processes = n_processes or len(os.sched_getaffinity(0)) if sys.platform.startswith("linux") else 1
    has_model = any(folder is None or any((folder / name).exists() for name in MODEL_FILES) for folder in folders)
    n_bytes = sum(os.path.getsize(source) for source in inputs if os.path.isfile(source))
    if n_processes < 2 or has_model or n_bytes < ENOUGH_BYTES:
        return False
    process_context(n_processes)
    return True


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
