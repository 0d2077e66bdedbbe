"""Tools that are killed, or run out of disk, at a random moment: each output is the old one or the whole new one.

Tools that resume where they were stopped are given the same command again, which must end with the same bits as a
run that nothing stopped.

Every tool runs in a fork of a process that has loaded its libraries. A full disk is a limit of the size of files.
"""

import functools
import multiprocessing
import os
import pathlib
import random
import resource
import signal
import tempfile
import threading
import time
from typing import Any

import tqdm

from tests.hostile_inputs.command_lines import FILES, lines_of
from tests.hostile_inputs.command_lines import TOOLS as GOOD
from tests.hostile_inputs.commands import OLD, run_command

# Commands that write what their good line says.
WRITERS = (
    *("count-document-frequency", "count-ngrams", "count-token-frequency", "diversity", "quickstart", "rows"),
    *("core-set", "splits", "judge", "convert-checkpoint-folder"),
)

# Command line of every tool that writes, and its output files; tests/e2e/test_score_runs.py kills `manycaps score`.
TOOLS: dict[str, tuple[str, str]] = {
    **{name: (" ".join(GOOD[name].arguments()).replace("{folder}/", ""), GOOD[name].outputs) for name in WRITERS},
    "compare": (
        "compare many.jsonl others.jsonl -m trm_cider --distance cider -o report --overwrite",
        "report/index.html report/comparison.json",
    ),
    "decoding": (
        "decoding many.jsonl others.jsonl -r many.jsonl --distance cider --n-resamples 99 -o decoded",
        "decoded/index.html decoded/decoding.json",
    ),
    "sample": (
        "sample {pipelines}/captioner {pictures} -n 3 --batch-size 1 --max-new-tokens 6 --device cpu -o sampled.jsonl",
        "sampled.jsonl",  # its settings lack the counts of a killed run
    ),
    "make-positives": (
        "make-positives {pictures} positives --captioner {pipelines}/captioner --painter {pipelines}/painter/pipeline "
        "--steps 2 --batch-size 3 --shard-size 2 --device cpu --workers 1",
        " ".join(f"positives/train-0000{shard}-of-00003.parquet" for shard in range(3)),
    ),
    "train-pac": (
        "train-pac {pictures} trained --checkpoint {checkpoint} --batch-size 4 --max-iterations 8 --validate-every 4 "
        "--save-every 3 --device cpu --workers 1",
        "trained/open_clip_model.safetensors trained/history.json trained/open_clip_config.json",
    ),
}

# Tools that resume where they were stopped. The first output of them is missing until it is whole.
RESUMED = {"sample", "make-positives", "train-pac"}

# Outputs that are not there before, of tools that go on: in folders and by themselves.
MADE_FOLDERS = ("positives/", "trained/", "sampled.")

# Captions of two systems, as many rows as `decoding` needs.
WORDS = "a dog runs on the beach near two cats that sleep in warm sand".split()
CAPTIONS = {
    f"{name}.jsonl": lines_of(
        [
            {
                "id": str(i),
                "predictions": [" ".join(WORDS[(i + k * step) % 7 :][:5]) for k in range(3)],
                "references": [" ".join([*WORDS[(i + k) % 7 :][:6], str(i)]) for k in range(3)],
            }
            for i in range(20)
        ]
    )
    for name, step in (("many", 0), ("others", 2))
}

# Ends a fork that hangs.
PATIENCE = 120


@functools.cache
def made_inputs() -> dict[str, str]:
    """Return what stands in place of names in braces: inputs that take long to make, made once."""
    import torch

    from tests.modules.sample_inputs import small_checkpoint
    from tests.tiny_pipelines import save_captioner, save_painter
    from tests.training_data import save_data

    # A fork of a process with threads of OpenMP waits for them for ever.
    torch.set_num_threads(1)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="killed-inputs-"))
    save_captioner(folder / "captioner")
    save_painter(folder / "painter")
    pictures = save_data(folder / "pictures", 6, 12)
    return {"{checkpoint}": small_checkpoint(), "{pipelines}": str(folder), "{pictures}": str(pictures)}


def content_of(path: pathlib.Path) -> Any:
    """Return what lies at a path: a file's bytes, the bytes of each file of a folder, or None."""
    if path.is_dir():
        return {child.name: child.read_bytes() for child in sorted(path.iterdir())}
    return path.read_bytes() if path.exists() else None


def fill(folder: pathlib.Path, outputs: list[str]) -> None:
    """Put input files and old outputs into a folder; a folder that a tool makes must not be there."""
    old = {name: OLD.encode() for name in outputs if "." in name and not name.startswith(MADE_FOLDERS)}
    for name, content in {**FILES, **CAPTIONS, **old}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def run_in_fork(arguments: list[str], folder: pathlib.Path, delay: float | None, most_bytes: int | None) -> int | None:
    """Run a tool in a fork; kill it after a delay, or let it write no file beyond a size. Return how it ended."""
    process = multiprocessing.get_context("fork").Process(target=_run, args=(arguments, folder, most_bytes))
    process.start()
    process.join(PATIENCE if delay is None else delay)
    process.kill()
    process.join()
    return process.exitcode


def _run(arguments: list[str], folder: pathlib.Path, most_bytes: int | None) -> None:
    # The lock of the bars is shared by all forks: one that was killed would hold it for ever.
    tqdm.tqdm.set_lock(threading.RLock())
    if most_bytes is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    os._exit(run_command(arguments, folder)[0])


def complaints(tool: str, each: int) -> list[str]:
    """Kill a tool at random moments, and fill its disk at random sizes; say what was lost, and when."""
    line, outputs = TOOLS[tool][0], TOOLS[tool][1].split()
    for name, made in made_inputs().items():
        line = line.replace(name, made)
    arguments = line.split()
    rng, found = random.Random(tool), []
    with tempfile.TemporaryDirectory(prefix="killed-") as base:
        whole, seconds = _whole(arguments, outputs, pathlib.Path(base, "whole"))
        sizes = [len(content) for content in whole.values() if isinstance(content, bytes)] or [100_000]
        for i in range(2 * each):
            folder = pathlib.Path(base, str(i))
            fill(folder, outputs)
            old = {name: content_of(folder / name) for name in outputs}
            delay = rng.uniform(0, 1.2 * seconds) if i < each else None
            most_bytes = rng.randrange(max(sizes)) if i >= each else None
            status = run_in_fork(arguments, folder, delay, most_bytes)
            if tool in RESUMED:
                lost = _resume_faults(arguments, outputs, folder, whole)
            else:
                lost = [
                    f"{name}: neither old nor whole"
                    for name in outputs
                    if content_of(folder / name) not in (old[name], whole[name])
                ]
            if i >= each and status not in (0, 1):
                lost.append(f"status {status}")
            found += [f"{what}, {i=} {delay=} {most_bytes=} {status=}" for what in lost]
    return found


def _resume_faults(arguments: list[str], outputs: list[str], folder: pathlib.Path, whole: dict[str, Any]) -> list[str]:
    """Say what is wrong with the outputs of a tool that was stopped, and after the same command again."""
    found = []
    if content_of(folder / outputs[0]) not in (None, whole[outputs[0]]):
        found.append(f"{outputs[0]}: neither missing nor whole")
    status = run_in_fork(arguments, folder, None, None)
    if status:
        found.append(f"the same command again: status {status}")
    return found + [f"{name}: not as without a stop" for name in outputs if content_of(folder / name) != whole[name]]


def _whole(arguments: list[str], outputs: list[str], folder: pathlib.Path) -> tuple[dict[str, Any], float]:
    """Outputs of a run that nothing stops, and its seconds."""
    fill(folder, outputs)
    start = time.monotonic()
    status = run_in_fork(arguments, folder, None, None)
    assert status == 0, f"{arguments[0]} ended with {status}"
    return {name: content_of(folder / name) for name in outputs}, time.monotonic() - start
