"""`manycaps score` beside a plain Python loop over the same file, and beside decoding and encoding one after the other.

The plain loop reads a file of JSON Lines into lists and calls the module once. The command does the same in one
process, with parts, checks of every row, and results on the disk. For images the peer is the way of a simple embedding
program (clip-retrieval without its loader's processes): every image of a tar is decoded, then the model encodes all.

Two processes are measured as a user runs them: whole programs, from their start to the summary. Beside them stand one
process, and the most that two can reach on this machine, where two busy cores may slow each other: two programs of one
process at the same time, each with half of the rows.
"""

import contextlib
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from manycaps.catalog.installed_modules import load
from manycaps.commands.command_line import main
from manycaps.kit.clip_encoder import with_prompt
from manycaps.kit.clip_pac import PAC_PROMPT, PAC_WEIGHT, pac_s
from manycaps.kit.images import as_image_source, as_model_pixels, as_rgb_image
from manycaps.kit.vectors_sentences import paired_cosines
from manycaps.scoring.scorer import load_scorer
from scripts.benchmarks import clip, triangle_rank
from scripts.benchmarks.timing import Comparison, Work

# Rows of a file, drawn as in the suite `triangle_rank`.
N_ROWS = 4_032

N_IMAGES = 32

# The same for two processes, which must have started long before they end.
N_PROGRAM_ROWS = 268_800

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_ROWS": 14, "N_IMAGES": 2, "N_PROGRAM_ROWS": 14}


def comparisons() -> Iterator[Comparison]:
    """Yield the suite's lines."""
    with tempfile.TemporaryDirectory() as folder:
        yield _captions(pathlib.Path(folder))
        yield _images(pathlib.Path(folder))
        yield from _processes(pathlib.Path(folder))


def _captions(folder: pathlib.Path) -> Comparison:
    """Rows of 10 + 5 captions by trm_meteor."""
    module = load("trm_meteor")
    lines = _write_rows(folder / "rows.jsonl", _sample(N_ROWS))

    def plain_loop() -> None:
        with lines.open(encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        columns = {name: [row[name] for row in rows] for name in ("predictions", "references")}
        triangle_rank.compute_from_scratch(module, **columns)

    name = f"trm_meteor, {N_ROWS:,} rows of 10 + 5 captions, one process"
    work = Work(name, "rows", N_ROWS, _command("trm_meteor", lines, folder, {}))
    return work.beside("a loop that calls the module", plain_loop, claim=0.75)


def _sample(n_rows: int) -> list[tuple[list[str], list[str]]]:
    return list(zip(*triangle_rank.sample_rows(n_rows=n_rows), strict=True))


def _write_rows(path: pathlib.Path, rows: list[tuple[list[str], list[str]]]) -> pathlib.Path:
    with path.open("w", encoding="utf-8") as file:
        for i, (p, r) in enumerate(rows):
            file.write(json.dumps({"id": i, "predictions": p, "references": r}) + "\n")
    return path


def _processes(folder: pathlib.Path) -> Iterator[Comparison]:
    """Rows of 10 + 5 captions by trm_meteor, by programs of one and of two processes."""
    rows = _sample(N_PROGRAM_ROWS)
    whole = _write_rows(folder / "all.jsonl", rows)
    halves = [_write_rows(folder / f"half_{i}.jsonl", rows[i::2]) for i in range(2)]
    two = len(rows) / _seconds(folder, [whole], 2)
    one, parted = (len(rows) / _seconds(folder, sources, 1) for sources in ([whole], halves))
    work = f"trm_meteor, {len(rows):,} rows of 10 + 5 captions, two processes"
    yield Comparison(work, "one process", "rows", two, one, 1.6)
    yield Comparison(work, "two programs of half the rows at the same time", "rows", two, parted, None)


def _seconds(folder: pathlib.Path, sources: Sequence[pathlib.Path], n_processes: int) -> float:
    """Time programs that run at the same time, each with a file and so many processes."""
    start = time.perf_counter()
    programs = []
    for i, source in enumerate(sources):
        output = folder / f"scores_{i}"
        shutil.rmtree(output, ignore_errors=True)
        command = [sys.executable, "-m", "manycaps", "score", "-m", "trm_meteor", "-i", str(source), "-o", str(output)]
        command += ["--processes", str(n_processes)]
        programs.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    if any(program.wait() for program in programs):
        raise RuntimeError(f"manycaps score of {[str(source) for source in sources]}: failed")
    return time.perf_counter() - start


def _images(folder: pathlib.Path) -> Comparison:
    """Images of a tar, with a caption each, by pac_score with the shape of ViT-B/32 and random weights."""
    tar = folder / "images.tar"
    options = {"checkpoint": clip.save_clip(clip.random_clip(), folder), "device": "cpu"}
    paths, texts = clip.write_photographs(folder, N_IMAGES), clip.captions(N_IMAGES)
    with tarfile.open(tar, "w") as archive:
        for i, (path, text) in enumerate(zip(paths, texts, strict=True)):
            for ending, data in (("jpg", pathlib.Path(path).read_bytes()), ("txt", text.encode())):
                member = tarfile.TarInfo(f"{i:05}.{ending}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    module = load("pac_score", **options)
    model = module.encoder.model

    def decode_then_encode() -> np.ndarray:
        with tarfile.open(tar) as archive:
            contents = [archive.extractfile(member) for member in archive]
            data = [content.read() for content in contents if content is not None]
        images = [as_rgb_image(as_image_source(image, "images"), "images") for image in data[::2]]
        pixels = np.stack([as_model_pixels(image, model.image_size) for image in images])
        texts = [model.tokenize(text) for text in with_prompt(PAC_PROMPT, [text.decode() for text in data[1::2]])]
        captions = model.text_features(texts, clip.BATCH_SIZE, lambda batches: batches)
        pictures, numbers = model.image_features(pixels), np.arange(len(texts))
        return pac_s(paired_cosines(captions, pictures, numbers, numbers), PAC_WEIGHT)

    name = f"pac_score, {N_IMAGES} images of 640 x 480 out of a tar"
    work = Work(name, "pairs", N_IMAGES, _command("pac_score", tar, folder, options))
    return work.beside("decode, then encode", decode_then_encode, claim=0.9, repeats=3)


def _command(metric: str, source: pathlib.Path, folder: pathlib.Path, options: dict[str, str]) -> Callable[[], None]:
    """Return a function that scores a file by the command, in this process; only the model stays loaded."""
    output = folder / "scores"
    arguments = ["score", "-m", metric, "-i", str(source), "-o", str(output), "--processes", "1"]
    for name, value in options.items():
        arguments += ["--option", f"{name}={value}"]
    scorer = load_scorer(metric, json.dumps(options, sort_keys=True), are_single=False)

    def run() -> None:
        shutil.rmtree(output, ignore_errors=True)
        triangle_rank.forget_texts()
        if scorer.has_model:
            scorer.module.encoder.forget()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            if main(arguments):
                raise RuntimeError(f"manycaps {' '.join(arguments)}: failed")

    return run
