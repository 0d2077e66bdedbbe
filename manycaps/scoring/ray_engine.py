"""Parts on a Ray cluster: tasks, or actors that load a model once. The folder alone tells what is finished.

Ray's own checkpoints, and its way to pass over bad blocks, are not used: a bad row is caught where it is read, and a
part whose worker or node was lost is done again by another.
"""

import functools
import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from manycaps.catalog.installed_modules import OWN_PROCESS, progress_bars
from manycaps.kit.errors import InputError, InputImportError, InputLookupError, InputOSError, InputTypeError
from manycaps.scoring.run_settings import PartReport, RunPart, RunSettings, Step

# Errors of a part that end the run with their own message.
INPUT_ERRORS = (InputTypeError, InputOSError, InputImportError, InputLookupError, InputError)
ERRORS = {error.__name__: error for error in (*INPUT_ERRORS, ValueError, TypeError, OSError, ImportError, LookupError)}

# Parts by their numbers, as Ray Data takes and gives them: columns of a batch.
RayBatch = dict[str, Any]


class RayEngine:
    """Runs steps on a cluster; a worker has one part at a time."""

    def __init__(self, address: str | None, n_workers: int | None, n_gpus: float, *, has_model: bool):
        """Take what the command line says; workers with a model stay for many parts."""
        self.address, self.n_workers, self.n_gpus, self.has_model = address, n_workers, n_gpus, has_model

    def __enter__(self) -> "RayEngine":
        import ray

        ray.init(address=self.address, log_to_driver=False, logging_level=logging.ERROR)
        # Its plans and hints would stand between the lines of our bar.
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        return self

    def __exit__(self, *_: object) -> None:
        import ray

        ray.shutdown()

    def run(self, step: Step, settings: RunSettings, parts: Sequence[RunPart]) -> Iterator[PartReport]:
        """Run a step on all parts, and yield each part with its report as it is finished.

        Raises the errors of the step, and an InputOSError if the cluster gave up.
        """
        if not parts:
            return
        import ray.data

        ray.data.DataContext.get_current().enable_progress_bars = False
        by_number = {part.number: part for part in parts}
        work = functools.partial(do_parts, step, settings, by_number)
        try:
            numbers = ray.data.from_items([{"part": number} for number in by_number], override_num_blocks=len(parts))
            for done in self._map(numbers, work).iter_rows():
                report = json.loads(done["report"])
                if "error" in report:
                    raise ERRORS[report["error"]](*report["arguments"])
                yield by_number[done["part"]], report
        except ray.exceptions.RayError as error:
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            fix = "Give the same command again: finished parts are kept."
            raise InputOSError("--engine ray", "a cluster to do every part", reason, fix) from error

    def _map(self, numbers: Any, work: Callable[[RayBatch], RayBatch]) -> Any:
        """The work on all numbers of parts, not started."""
        import ray

        resources = {"num_cpus": 1, "num_gpus": self.n_gpus or None}
        if not self.has_model:
            tasks = ray.data.TaskPoolStrategy(self.n_workers) if self.n_workers else None
            return numbers.map_batches(work, batch_size=1, compute=tasks, **resources)
        there: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        most = self.n_workers or int(there.get("GPU", 0) // self.n_gpus if self.n_gpus else there.get("CPU", 1))
        actors = ray.data.ActorPoolStrategy(min_size=1, max_size=max(1, most))
        return numbers.map_batches(PartActor, batch_size=1, compute=actors, fn_constructor_args=(work,), **resources)


class PartActor:
    """Stays alive for many parts, and with it the models that its process has loaded."""

    def __init__(self, work: Callable[[RayBatch], RayBatch]):
        self.work = work

    def __call__(self, batch: RayBatch) -> RayBatch:
        """Run the parts of a batch."""
        return self.work(batch)


def do_parts(step: Step, settings: RunSettings, parts: dict[int, RunPart], batch: RayBatch) -> RayBatch:
    """Run a step on the parts of a batch; an error becomes a report, so that it arrives as it was raised."""
    os.environ[OWN_PROCESS] = "1"
    reports = []
    for number in batch["part"]:
        try:
            with progress_bars(shown=False):  # of modules
                report = step(settings, parts[int(number)])
        except tuple(ERRORS.values()) as error:
            kind = next(name for name, known in ERRORS.items() if isinstance(error, known))
            report = {"error": kind, "arguments": error.args if isinstance(error, InputError) else [str(error)]}
        reports.append(json.dumps(report))
    return {"part": batch["part"], "report": reports}
