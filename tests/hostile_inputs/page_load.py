"""Demo pages under many requests of their largest input at once: do they keep answering, and in how much memory?

python -m tests.hostile_inputs.page_load trm_cider vdtk_diversity compare --requests 50

Starts each page as its Space does, asks once, then from as many threads as there are requests, and prints what was
answered, how long it took, and the largest resident memory of the page before and after. Needs tests/requirements.txt.
"""

import argparse
import json
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from scripts.repository import push_to_hub

# Seconds within which a page must be there, and a request be answered while others wait.
PATIENCE = 1200

WORDS = "a dog runs on the beach near two cats that sleep in warm sand while people watch".split()


class Load(NamedTuple):
    """What a page answered."""

    n_answered: int
    errors: list[str]
    seconds_of_one: float
    seconds: float
    # Largest resident memory, in megabytes, after one request and after all.
    megabytes_of_one: float
    megabytes: float


def caption(rng: random.Random, letters: int) -> str:
    """Return a caption of exactly so many letters."""
    words = [rng.choice(WORDS)]
    while sum(map(len, words)) + len(words) < letters:
        words.append(rng.choice(WORDS))
    return " ".join(words)[:letters].ljust(letters, "x")


def two_boxes(folder: pathlib.Path, seed: int) -> list[Any]:
    """20 rows of 20 + 20 captions of 300 letters, and random splits."""
    rng = random.Random(seed)
    sides = ["\n\n".join("\n".join(caption(rng, 300) for _ in range(20)) for _ in range(20)) for _ in range(2)]
    return [*sides, "per_side", "permutation", 0]


def caption_file(folder: pathlib.Path, seed: int) -> list[Any]:
    """A file of nearly 5 MB with 50,000 captions."""
    from gradio_client import handle_file

    rng, path = random.Random(seed), folder / f"{seed}.txt"
    rows = ("\n".join(caption(rng, 97) for _ in range(50)) for _ in range(1000))
    path.write_text("\n\n".join(rows), encoding="utf-8")
    return [handle_file(str(path)), ""]


def system_files(folder: pathlib.Path, seed: int) -> list[Any]:
    """Three systems and people, each a file of nearly 2 MB with 500 rows of 20 captions."""
    from gradio_client import handle_file

    rng, files = random.Random(seed), []
    for name in ("first", "second", "third", "references"):
        path = folder / f"{name}-{seed}.jsonl"
        key = "references" if name == "references" else "captions"
        rows = ({"id": i, key: [caption(rng, 190) for _ in range(20)]} for i in range(500))
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        files.append(handle_file(str(path)))
    return [*files, "CIDEr-D and TRM-CIDEr"]


# From the name of a Space to its largest input.
LARGEST: dict[str, Callable[[pathlib.Path, int], list[Any]]] = {
    "trm_cider": two_boxes,
    "trm_meteor": two_boxes,
    "vdtk_diversity": caption_file,
    "compare": system_files,
}


def loaded(name: str, n_requests: int) -> Load:
    """Start a page, and ask it many times at once."""
    from gradio_client import Client

    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        page, port = started(name, folder)
        try:
            client = Client(f"http://127.0.0.1:{port}/", verbose=False, httpx_kwargs={"timeout": PATIENCE})
            inputs = [LARGEST[name](folder, seed) for seed in range(n_requests)]
            begin = time.monotonic()
            client.predict(*inputs[0], api_name="/compute")
            seconds_of_one, megabytes_of_one = time.monotonic() - begin, most_megabytes(page.pid)
            errors: list[str] = []
            threads = [threading.Thread(target=ask, args=(client, given, errors)) for given in inputs]
            begin = time.monotonic()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            seconds, megabytes = time.monotonic() - begin, most_megabytes(page.pid)
        finally:
            page.terminate()
            page.wait()
    return Load(n_requests - len(errors), errors, seconds_of_one, seconds, megabytes_of_one, megabytes)


def ask(client: Any, given: Sequence[Any], errors: list[str]) -> None:
    """Ask once, and keep what went wrong."""
    try:
        client.submit(*given, api_name="/compute").result(timeout=PATIENCE)
    except Exception as error:
        errors.append(f"{type(error).__name__}: {str(error)[:200]}")


def started(name: str, folder: pathlib.Path) -> tuple["subprocess.Popen[bytes]", int]:
    """Write the files of a Space, and run its page; return it when it is served."""
    for inside, content in push_to_hub.space_files(push_to_hub.space_folders()[name]).items():
        (folder / "app" / inside).parent.mkdir(parents=True, exist_ok=True)
        (folder / "app" / inside).write_bytes(content)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    environment = os.environ | {"GRADIO_SERVER_PORT": str(port), "GRADIO_TEMP_DIR": str(folder / "uploads")}
    environment |= {"HF_HOME": str(folder / "cache"), "PYTHONPATH": str(folder / "app"), "HF_EVALUATE_OFFLINE": "1"}
    with (folder / "log").open("wb") as log:
        page = subprocess.Popen([sys.executable, "app.py"], cwd=folder / "app", env=environment, stdout=log, stderr=log)
    end = time.monotonic() + PATIENCE
    while page.poll() is None and time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE).close()
            return page, port
        except OSError:
            time.sleep(0.5)
    page.kill()
    raise SystemExit(f"{name}: expected a page, got {(folder / 'log').read_text()[-2000:]}")


def most_megabytes(process: int) -> float:
    """Largest resident memory that a process has had (Linux)."""
    found = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{process}/status").read_text())
    return int(found.group(1)) / 1024 if found else float("nan")


def main() -> int:
    """Try pages and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", choices=tuple(LARGEST), metavar="SPACE", help=", ".join(LARGEST))
    parser.add_argument("--requests", type=int, default=50, help="at once (default %(default)s)")
    arguments = parser.parse_args()
    n_errors = 0
    for name in arguments.pages:
        load = loaded(name, arguments.requests)
        n_errors += len(load.errors)
        print(
            f"{name}: {load.n_answered} of {arguments.requests} answered in {load.seconds:.0f} s (one alone "
            f"{load.seconds_of_one:.1f} s), at most {load.megabytes:.0f} MB (after one {load.megabytes_of_one:.0f} MB)",
            flush=True,
        )
        for error in load.errors[:5]:
            print(f"    {error}", flush=True)
    return int(n_errors > 0)


if __name__ == "__main__":
    sys.exit(main())
