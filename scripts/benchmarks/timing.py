"""Time and memory of two programs side by side: alternate runs in one process, ratios of medians.

Beside them stand limits: of the time per unit (`within`), and of seconds and GiB of a program of its own (`alone`).
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from manycaps.catalog.installed_modules import OWN_PROCESS

# Most runs of which a median is taken; a run that shows only that a suite works (--small) has one.
MOST_REPEATS = 100


class Comparison(NamedTuple):
    """One line of the benchmark's table: the same work done by this project and by its peer (or its limit)."""

    # What is measured, for example "METEOR, 10 + 5 captions per row".
    work: str
    # What it is measured beside, for example "NLTK 3.10 single_meteor_score, pair by pair".
    peer: str
    # Units of work per second, for example pairs.
    unit: str
    ours_per_second: float
    peer_per_second: float
    # Least ratio ours / peer that the project claims; None where the line only states a figure.
    target: float | None
    # What the rates are per: seconds, or MiB where memory is compared.
    per: str = "s"

    @property
    def ratio(self) -> float:
        """How many times the peer's rate ours is."""
        return self.ours_per_second / self.peer_per_second


class Work(NamedTuple):
    """Work of this project: its name in the table, its unit, and a function that does `n` units of it."""

    name: str
    unit: str
    n: float
    run: Callable[[], object]

    def beside(
        self,
        peer: str,
        theirs: Callable[[], object],
        n_theirs: float | None = None,
        claim: float | None = None,
        repeats: int = 5,
    ) -> Comparison:
        """Time the work beside a peer that does `n_theirs` units, by default as many; both run once more beforehand."""
        warm_up(self.run, theirs)
        ours_seconds, their_seconds = medians(self.run, theirs, repeats=repeats)
        n_theirs = self.n if n_theirs is None else n_theirs
        return Comparison(self.name, peer, self.unit, self.n / ours_seconds, n_theirs / their_seconds, claim)

    def within(self, milliseconds: float) -> Comparison:
        """Time the work beside a fixed time per unit, which the project claims as a limit."""
        warm_up(self.run)
        [seconds] = medians(self.run, repeats=5)
        limit = 1000 / milliseconds
        return Comparison(self.name, f"{milliseconds:g} ms a row", self.unit, self.n / seconds, limit, 1)


def alone(name: str, program: str, arguments: list[str], seconds: float, gibibytes: float) -> Iterator[Comparison]:
    """Run a program in a process of its own, and compare its time and its peak of memory with limits.

    The program ends by printing the seconds of its work, without its imports.
    """
    # Not `ru_maxrss`, which a process inherits from the one that starts it.
    peak_of_linux = "print(int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) / 2**20)"
    line = [sys.executable, "-c", f"{program}\n{peak_of_linux}", *arguments]
    environment = os.environ | {OWN_PROCESS: "1"}  # as a command has it
    printed = subprocess.run(line, capture_output=True, text=True, check=True, env=environment).stdout.split()
    taken, peak = map(float, printed[-2:])
    yield Comparison(name, f"{seconds:g} s", "runs", 1 / taken, 1 / seconds, 1)
    yield Comparison(name, f"{gibibytes:g} GiB", "runs", 1 / peak, 1 / gibibytes, 1, "GiB")


def warm_up(*works: Callable[[], object]) -> None:
    """Run each work once, untimed; not where a run shows only that the suite works."""
    for work in works if MOST_REPEATS > 1 else ():
        work()


def medians(
    *works: Callable[[], object], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, ...]:
    """Return the median seconds of each of several works, run in turn: A B A B ..."""
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(min(repeats, MOST_REPEATS)):
        for work, measured in zip(works, seconds, strict=True):
            start = clock()
            work()
            measured.append(clock() - start)
    return tuple(map(statistics.median, seconds))


def from_scratch(module: Any, **columns: Any) -> Any:
    """Compute while the module's encoder remembers nothing of earlier runs."""
    module.encoder.forget()
    return module.compute(**columns)
