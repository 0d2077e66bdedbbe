"""A process of its own with limits of time and memory: what hangs in it, or eats the memory, is ended from outside."""

import importlib
import multiprocessing
import os
import resource
import signal
import time
import traceback

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
        self.prepare = prepare
        self.process = self.pipe = None

    def call(self, name, *arguments, seconds):
        """Return what a function answers within so many seconds of computing, or a sentence that says how it failed."""
        if self.process is None:
            self._start()
        self.pipe.send((name, arguments, seconds))
        if not self.pipe.poll(PATIENCE):
            self.close()
            return f"hang: no answer within {PATIENCE} s"
        try:
            return self.pipe.recv()
        except EOFError:
            self.process.join()
            code, self.process = self.process.exitcode, None
            is_hang = code == -signal.SIGXCPU
            return f"hang: no answer within {seconds} s of computing" if is_hang else f"crash: ended with {code}"

    def close(self):
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None

    def _start(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, self.prepare), daemon=True)
        self.process.start()
        other.close()
        assert self.pipe.recv() == "ready"


def _serve(pipe, prepare):
    """Answer calls until the other side hangs up."""
    os.environ["OMP_NUM_THREADS"] = "1"
    _function(prepare)()
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + EXTRA_BYTES, used + EXTRA_BYTES))
    pipe.send("ready")
    while True:
        try:
            name, arguments, seconds = pipe.recv()
        except EOFError:
            return
        # The system ends the process at this number of seconds, all its threads together.
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + seconds + 1, resource.RLIM_INFINITY))
        try:
            answer = _function(name)(*arguments)
        except BaseException:
            answer = f"harness: {traceback.format_exc()}"
        pipe.send(answer)


def _function(name):
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(module), function)
