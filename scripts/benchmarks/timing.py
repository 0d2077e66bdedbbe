"""Timing of two programs side by side: alternate runs in one process, ratios of medians, never an absolute claim."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple


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


def compare(
    work: str,
    peer: str,
    unit: str,
    target: float | None,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    n_ours: int,
    n_theirs: int,
    repeats: int = 5,
) -> Comparison:
    """Time two functions in turn, A B A B ..., and compare the medians.

    Args:
        work, peer, unit, target: as in `Comparison`.
        ours: does `n_ours` units of work; run once more beforehand, uncounted, as is `theirs`.
        theirs: does `n_theirs` units; may do fewer where the peer is slow.
        n_ours: units of one run of `ours`.
        n_theirs: units of one run of `theirs`.
        repeats: counted runs of each.

    Returns:
        The comparison, in units per second.
    """
    ours()
    theirs()
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for function, measured in zip((ours, theirs), seconds, strict=True):
            start = time.perf_counter()
            function()
            measured.append(time.perf_counter() - start)
    ours_per_second, theirs_per_second = (
        n / statistics.median(measured) for n, measured in zip((n_ours, n_theirs), seconds, strict=True)
    )
    return Comparison(work, peer, unit, ours_per_second, theirs_per_second, target)


def from_scratch(module: Any, **columns: Any) -> Any:
    """Compute while the module's encoder remembers nothing of earlier runs."""
    module.encoder.forget()
    return module.compute(**columns)


def compare_remembered(work: str, module: Any, systems: Sequence[Mapping[str, Any]], repeats: int = 3) -> Comparison:
    """Time several systems on the same images or references, scored by one module, beside one module each."""

    def one_module() -> None:
        module.encoder.forget()
        for columns in systems:
            module.compute(**columns)

    return compare(
        work,
        "each system from scratch",
        "systems",
        None,
        one_module,
        lambda: [from_scratch(module, **columns) for columns in systems],
        n_ours=len(systems),
        n_theirs=len(systems),
        repeats=repeats,
    )
