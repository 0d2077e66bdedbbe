"""Tools that are killed, or run out of disk, at a random moment: each output is the old one or the whole new one.

`manycaps score` also goes on afterwards: the same command ends with the same bits as a run that nothing stopped.

python -m tests.hostile_inputs.killed_tools --each 20

Every tool runs in a fork of a process that has loaded its libraries. A full disk is a limit of the size of files.
"""

import argparse
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from typing import Any

from tests.hostile_inputs.commands import OLD, OPTION_FILES, prepare, run_command

# Arguments of every tool that writes, and its output files.
TOOLS: dict[str, tuple[list[str], list[str]]] = {
    "count-document-frequency": (["count-document-frequency", "in.jsonl", "--output", "out.json"], ["out.json"]),
    "count-token-frequency": (["count-token-frequency", "in.jsonl", "--output", "out.json"], ["out.json"]),
    "diversity": (["diversity", "in.jsonl", "--output", "out.html", "--json", "out.json"], ["out.html", "out.json"]),
    "make-world": (["make-world", "out.parquet", "--rows", "30"], ["out.parquet"]),
    "quickstart": (
        ["quickstart", "--captions", "scenes.json", "--output", ".", "--no-images"],
        ["table.csv", "null_distributions.png"],
    ),
    "convert-checkpoint": (["convert-checkpoint", "{checkpoint}", "out"], ["out"]),
    "compare": (
        ["compare", "captions.jsonl", "others.jsonl", "-m", "trm_cider", "--n-resamples", "99", "-o", "report"],
        ["report/index.html", "report/comparison.json"],
    ),
    "rows": (["rows", "captions.jsonl", "--metric", "rouge_l", "-o", "rows.html"], ["rows.html"]),
    "score": (
        "score -m trm_cider,vdtk_diversity -i captions.jsonl -o scores --part-size 0.0002 --processes 1".split(),
        ["scores/summary.json", "scores/rows"],
    ),
}

# Tools that go on from where they were stopped.
RESUMED = {"score"}

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

# Ends a fork that hangs.
PATIENCE = 120


def content_of(path: pathlib.Path) -> Any:
    """Return what lies at a path: bytes, those of each file of a folder, or None; of a summary all but its input."""
    if path.name == "summary.json" and path.exists() and path.read_bytes() != OLD.encode():
        return json.dumps(json.loads(path.read_bytes()) | {"inputs": None})
    if path.is_dir():
        return {child.name: child.read_bytes() for child in sorted(path.iterdir())}
    return path.read_bytes() if path.exists() else None


def fill(folder: pathlib.Path, outputs: list[str]) -> None:
    """Put input files and old outputs into a folder; a folder that a tool makes must not be there."""
    old = {name: OLD.encode() for name in outputs if "." in name and not name.startswith("scores/")}
    for name, content in {**OPTION_FILES, **CAPTIONS, **old}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def run_in_fork(arguments: list[str], folder: pathlib.Path, delay: float | None, most_bytes: int | None) -> int:
    """Run a tool in a fork; kill it after a delay, or let it write no file beyond a size. Return how it ended."""
    process = os.fork()
    if not process:
        status = 99
        try:
            if most_bytes is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
            status, _ = run_command(arguments, folder)
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
    """Kill a tool at random moments, and fill its disk at random sizes; say what was neither old nor whole."""
    from tests.modules.sample_inputs import small_checkpoint

    arguments, outputs = TOOLS[tool]
    arguments = [argument.replace("{checkpoint}", small_checkpoint()) for argument in arguments]
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
            for name in [] if tool in RESUMED else outputs:
                content = content_of(folder / name)
                if content not in (old[name], whole[name]):
                    found.append(f"{name}: neither old nor whole, after {delay=} {most_bytes=}, status {status}")
            if tool in RESUMED:
                found += _not_resumed(arguments, outputs, folder, whole)
            if i >= each and status not in (0, 1):
                found.append(f"status {status} with {most_bytes=}")
            shutil.rmtree(folder)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return found


def _not_resumed(arguments: list[str], outputs: list[str], folder: pathlib.Path, whole: dict[str, Any]) -> list[str]:
    """Say what is wrong with the outputs of a tool that was stopped, and after the same command again."""
    found = []
    summary = content_of(folder / outputs[0])
    if summary not in (None, whole[outputs[0]]):
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
    arguments = parser.parse_args()
    prepare()
    n_found = 0
    for tool in TOOLS:
        found = complaints(tool, arguments.each, arguments.seed)
        n_found += len(found)
        print(f"{tool}: {arguments.each} kills and {arguments.each} full disks, {len(found)} outputs lost", flush=True)
        for line in found[:10]:
            print(f"    {line}", flush=True)
    return int(n_found > 0)


if __name__ == "__main__":
    sys.exit(main())
