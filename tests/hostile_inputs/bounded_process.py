"""A process of its own with limits of time and memory: what hangs in it, or eats the memory, is ended from outside."""

import concurrent.futures
import importlib
import multiprocessing
import os
import resource
import time
from concurrent.futures.process import BrokenProcessPool

# Seconds after which a call that does not compute is taken for blocked, on however busy a machine.
PATIENCE = 600

# Address space that a call may take beyond what the process has when its libraries are loaded.
EXTRA_BYTES = 3 << 30


class BoundedProcess:
    """Calls functions in another process, which is started again after a call that it did not survive.

    Args:
        prepare: dotted name of a function that loads what the calls need, before the memory is limited.
    """

    def __init__(self, prepare):
        self.prepare, self.pool = prepare, None

    def call(self, name, *arguments, seconds):
        """Return what a function answers within so many seconds of computing, or a sentence that says how it failed."""
        if self.pool is None:
            context = multiprocessing.get_context("spawn")
            self.pool = concurrent.futures.ProcessPoolExecutor(1, context, _prepare, [self.prepare])
        future = self.pool.submit(_answer, name, arguments, seconds)
        (process,) = self.pool._processes.values()
        try:
            return future.result(PATIENCE)
        except (concurrent.futures.TimeoutError, BrokenProcessPool):
            self.close()
            return f"no answer within {seconds} s of computing, or a crash: the process ended with {process.exitcode}"

    def close(self):
        """End the process."""
        if self.pool is not None:
            for process in self.pool._processes.values():
                process.kill()
            self.pool.shutdown()
            self.pool = None


def _prepare(prepare):
    """Load what calls need, and limit the memory."""
    os.environ["OMP_NUM_THREADS"] = "1"
    _function(prepare)()
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + EXTRA_BYTES, used + EXTRA_BYTES))


def _answer(name, arguments, seconds):
    """Call a function; the system ends the process at this number of seconds, all its threads together."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + seconds + 1, resource.RLIM_INFINITY))
    return _function(name)(*arguments)


def _function(name):
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(module), function)
