"""A process of its own with limits of time and memory: what hangs in it, or eats the memory, is ended from outside."""

import importlib
import multiprocessing
import os
import resource
import time
import traceback

# Seconds without any work after which a process is taken for blocked, on however busy a machine.
PATIENCE = 20

# Address space that a call may take beyond what the process has when its libraries are loaded.
EXTRA_BYTES = 3 << 30


class BoundedProcess:
    """Calls functions in another process, which is started again after a call that it did not survive.

    Args:
        prepare: dotted name of a function that loads what the calls need, before the memory is limited.
        extra_bytes: address space of the calls beyond what the process has by then.
    """

    def __init__(self, prepare, extra_bytes=EXTRA_BYTES):
        self.prepare, self.extra_bytes = prepare, extra_bytes
        self.process = self.pipe = None

    def call(self, name, *arguments, seconds):
        """Return what a function answers within so many seconds of computing, or a sentence that says how it failed."""
        if self.process is None:
            self._start()
        self.pipe.send((name, arguments))
        start = last = _seconds_computed(self.process.pid)
        progress = time.monotonic()
        while not self.pipe.poll(0.25):
            used = _seconds_computed(self.process.pid)
            if used > last + 0.05:
                last, progress = used, time.monotonic()
            if used - start > seconds or time.monotonic() - progress > PATIENCE:
                self.close()
                return f"hang: no answer within {seconds} s of computing"
        try:
            return self.pipe.recv()
        except EOFError:
            self.process.join()
            code, self.process = self.process.exitcode, None
            return f"crash: the process ended with {code}"

    def close(self):
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None

    def _start(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, self.prepare, self.extra_bytes), daemon=True)
        self.process.start()
        other.close()
        assert self.pipe.recv() == "ready"


def _serve(pipe, prepare, extra_bytes):
    """Answer calls until the other side hangs up."""
    os.environ["OMP_NUM_THREADS"] = "1"
    _function(prepare)()
    limit = _address_space() + extra_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    pipe.send("ready")
    while True:
        try:
            name, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer = _function(name)(*arguments)
        except BaseException:
            answer = f"harness: {traceback.format_exc()}"
        pipe.send(answer)


def _function(name):
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(module), function)


def _seconds_computed(process):
    """Seconds of computing of a process, all its threads together."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _address_space():
    """Bytes of address space of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
