"""Tools that are killed, or run out of disk, at a random moment: each output is the old one or the whole new one.

Tools that resume where they were stopped are given the same command again, which must end with the same bits as a
run that nothing stopped.

python -m tests.hostile_inputs.killed_tools --each 20

Every tool runs in a fork of a process that has loaded its libraries. A full disk is a limit of the size of files.
"""

import argparse
import functools
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from typing import Any

import tqdm

from tests.hostile_inputs.command_lines import FILES
from tests.hostile_inputs.commands import OLD, prepare, run_command

# Arguments of every tool that writes, and its output files.
TOOLS: dict[str, tuple[list[str], list[str]]] = {
    "count-document-frequency": ("count-document-frequency captions.jsonl --output out.json".split(), ["out.json"]),
    "count-token-frequency": ("count-token-frequency captions.jsonl --output out.json".split(), ["out.json"]),
    "diversity": (
        "diversity captions.jsonl --column references --output out.html --json out.json".split(),
        ["out.html", "out.json"],
    ),
    "make-world": ("make-world out.parquet --rows 30".split(), ["out.parquet"]),
    "quickstart": (
        "quickstart --captions scenes.json --output . --no-images".split(),
        ["table.csv", "null_distributions.png"],
    ),
    "convert-checkpoint": ("convert-checkpoint {checkpoint} out".split(), ["out"]),
    "compare": (
        "compare captions.jsonl others.jsonl -m trm_cider --distance cider -o report --overwrite".split(),
        ["report/index.html", "report/comparison.json"],
    ),
    "decoding": (
        "decoding cold.jsonl hot.jsonl -r people.jsonl --distance cider --n-resamples 99 -o decoded".split(),
        ["decoded/index.html", "decoded/decoding.json"],
    ),
    "rows": (["rows", "captions.jsonl", "--metric", "rouge_l", "-o", "rows.html"], ["rows.html"]),
    "core-set": (["core-set", "captions.jsonl", "--test", "others.jsonl", "-o", "core.json"], ["core.json"]),
    "splits": (["splits", "captions.jsonl", "--by", "length", "-o", "splits.jsonl"], ["splits.jsonl"]),
    "sample": (
        "sample {pipelines}/captioner {pictures} -n 3 --batch-size 1 --max-new-tokens 6 --device cpu "
        "-o sampled.jsonl".split(),
        ["sampled.jsonl", "sampled.jsonl.settings"],
    ),
    "score": (
        "score -m trm_cider,vdtk_diversity -i captions.jsonl -o scores --part-size 0.0002 --processes 1".split(),
        ["scores/summary.json", "scores/rows"],
    ),
    "make-positives": (
        "make-positives {pictures} positives --captioner {pipelines}/captioner --painter {pipelines}/painter/pipeline "
        "--steps 2 --batch-size 3 --shard-size 2 --device cpu --workers 1".split(),
        [f"positives/train-0000{shard}-of-00003.parquet" for shard in range(3)],
    ),
    "train-pac": (
        "train-pac {pictures} trained --checkpoint {checkpoint} --batch-size 4 --max-iterations 8 --validate-every 4 "
        "--save-every 3 --device cpu --workers 1".split(),
        ["trained/open_clip_model.safetensors", "trained/history.json", "trained/open_clip_config.json"],
    ),
    # Stands for the studies of docs/studies.md, which fill their tables and draw their pictures by these functions.
    "study": (["study"], ["results/powers.csv", "results/powers.png"]),
}

# Tools that resume where they were stopped. The first output of them is not there before it is whole; the table of
# a study is there after its first cell, and holds whole lines.
RESUMED = {"sample", "score", "make-positives", "train-pac", "study"}

# Outputs that are not there before: those of tools that go on, in folders and by themselves.
MADE_FOLDERS = ("scores/", "positives/", "trained/", "results/", "sampled.")

# Captions of two systems, eight rows each.
WORDS = "a dog runs on the beach near two cats that sleep in warm sand".split()
CAPTIONS = {
    f"{name}.jsonl": "".join(
        json.dumps(
            {
                "id": str(i),
                "predictions": [" ".join(WORDS[i : i + 4 + shift]), " ".join(WORDS[i + shift : i + 6])],
                "references": [" ".join(WORDS[i : i + 5]), " ".join(WORDS[i + 1 : i + 7])],
            }
        )
        + "\n"
        for i in range(8)
    ).encode()
    for name, shift in (("captions", 1), ("others", 2))
}

# Samples of two settings, and references: as many rows as two halves need.
CAPTIONS |= {
    f"{name}.jsonl": "".join(
        json.dumps({"id": str(i), role: [" ".join(WORDS[(i + k * step) % 7 :][:5]) for k in range(3)]}) + "\n"
        for i in range(20)
    ).encode()
    for name, role, step in (("cold", "captions", 0), ("hot", "captions", 2), ("people", "references", 1))
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


def run_tool(arguments: list[str], folder: pathlib.Path) -> int:
    """Run a tool in this process, and return its status."""
    if arguments != ["study"]:
        return run_command(arguments, folder)[0]
    os.chdir(folder)
    try:
        small_study()
    except OSError:
        return 1
    return 0


def small_study() -> None:
    """Fill a table of thirty cells and draw it, as the studies do."""
    from scripts.studies.study_frame import StudyTable, numbers
    from scripts.studies.study_pictures import new_picture

    folder = pathlib.Path("results")
    table = StudyTable(folder, "powers", ("number",), ("power", "value"), {"seed": 0})
    lines = table.fill(((i,) for i in range(30)), lambda i: [[power, i**power] for power in range(20)])
    with new_picture(folder, "powers", 4, 3) as figure:
        figure.subplots().plot(numbers(lines, "value", power=2))


def content_of(path: pathlib.Path) -> Any:
    """Return what lies at a path: bytes, those of each file of a folder, or None; of a summary all but its input."""
    if path.name == "summary.json" and path.exists() and path.read_bytes() != OLD.encode():
        return json.dumps(json.loads(path.read_bytes()) | {"inputs": None})
    if path.is_dir():
        return {child.name: child.read_bytes() for child in sorted(path.iterdir())}
    return path.read_bytes() if path.exists() else None


def fill(folder: pathlib.Path, outputs: list[str]) -> None:
    """Put input files and old outputs into a folder; a folder that a tool makes must not be there."""
    old = {name: OLD.encode() for name in outputs if "." in name and not name.startswith(MADE_FOLDERS)}
    for name, content in {**FILES, **CAPTIONS, **old}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def run_in_fork(arguments: list[str], folder: pathlib.Path, delay: float | None, most_bytes: int | None) -> int:
    """Run a tool in a fork; kill it after a delay, or let it write no file beyond a size. Return how it ended."""
    process = os.fork()
    if not process:
        status = 99
        # That of the bars is shared by all forks: one that was killed would hold it for ever.
        tqdm.tqdm.set_lock(threading.RLock())
        try:
            if most_bytes is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
            status = run_tool(arguments, folder)
        finally:
            os._exit(status)
    end = time.monotonic() + (PATIENCE if delay is None else delay)
    while time.monotonic() < end:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def complaints(tool: str, each: int, seed: int = 0) -> list[str]:
    """Kill a tool at random moments, and fill its disk at random sizes; say what was lost, and when."""
    arguments, outputs = TOOLS[tool]
    for name, made in made_inputs().items():
        arguments = [argument.replace(name, made) for argument in arguments]
    rng, found = random.Random(f"{tool} {seed}"), []
    base = pathlib.Path(tempfile.mkdtemp(prefix="killed-"))
    try:
        whole, seconds = _whole(arguments, outputs, base / "whole")
        sizes = [len(content) for content in whole.values() if isinstance(content, bytes)] or [100_000]
        for i in range(2 * each):
            folder = base / str(i)
            folder.mkdir()
            fill(folder, outputs)
            old = {name: content_of(folder / name) for name in outputs}
            delay = rng.uniform(0, 1.2 * seconds) if i < each else None
            most_bytes = rng.randrange(max(sizes)) if i >= each else None
            status = run_in_fork(arguments, folder, delay, most_bytes)
            if tool in RESUMED:
                lost = _not_resumed(tool, arguments, outputs, folder, whole)
            else:
                lost = [
                    f"{name}: neither old nor whole"
                    for name in outputs
                    if content_of(folder / name) not in (old[name], whole[name])
                ]
            if i >= each and status not in (0, 1):
                lost.append(f"status {status}")
            found += [f"{what}, {i=} {delay=} {most_bytes=} {status=}" for what in lost]
            shutil.rmtree(folder)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return found


def _not_resumed(
    tool: str, arguments: list[str], outputs: list[str], folder: pathlib.Path, whole: dict[str, Any]
) -> list[str]:
    """Say what is wrong with the outputs of a tool that was stopped, and after the same command again."""
    found = []
    first = content_of(folder / outputs[0])
    if tool == "study" and first:
        # Its table grows by whole cells.
        first = whole[outputs[0]] if whole[outputs[0]].startswith(first) and first.endswith(b"\n") else first
    if first not in (None, whole[outputs[0]]):
        found.append(f"{outputs[0]}: neither missing nor whole")
    status = run_in_fork(arguments, folder, None, None)
    if status:
        found.append(f"the same command again: status {status}")
    return found + [f"{name}: not as without a stop" for name in outputs if content_of(folder / name) != whole[name]]


def _whole(arguments: list[str], outputs: list[str], folder: pathlib.Path) -> tuple[dict[str, Any], float]:
    """Outputs of a run that nothing stops, and its seconds."""
    folder.mkdir()
    fill(folder, outputs)
    start = time.monotonic()
    status = run_in_fork(arguments, folder, None, None)
    assert status == 0, f"{arguments[0]} ended with {status}"
    return {name: content_of(folder / name) for name in outputs}, time.monotonic() - start


def several(tool: str, each: int) -> list[str]:
    """Return `complaints`; called in a process that has loaded the libraries."""
    return complaints(tool, each)


def main() -> int:
    """Try all tools and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--each", type=int, default=20, help="kills, and full disks, of each tool (default %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS), metavar="TOOL")
    arguments = parser.parse_args()
    prepare()
    n_found = 0
    for tool in arguments.tools:
        found = complaints(tool, arguments.each, arguments.seed)
        n_found += len(found)
        print(f"{tool}: {arguments.each} kills and {arguments.each} full disks, {len(found)} outputs lost", flush=True)
        for line in found[:10]:
            print(f"    {line}", flush=True)
    return int(n_found > 0)


if __name__ == "__main__":
    sys.exit(main())
