"""How many rows a second? Table 2 of the distribution paper, with what people use today in the same run.

python -m scripts.studies.efficiency [--rows 448] [--output FOLDER]

Chan et al. (2022), table 2, https://arxiv.org/abs/2209.07518: samples a second of 10 candidates and 5 references. Here
every module of the collection on captions of the bundled scenes (image and video modules with tiny-pac, a toy whose
network is far smaller than a real CLIP), and beside them what is installed: NLTK's METEOR pair by pair, pycocoevalcap's
CIDEr-D, and the published formulas of the authors' program (random triangles over NLTK's METEOR; MMD and Frechet
distance in torch). All in one process and one run, in turn. Models are loaded before the clock starts, and every row
and every repeat has captions of its own, so that nothing is embedded or tokenized before it. "p": with exact p-values,
3,003 splits a row.

Written: efficiency.csv, medians and ranges over --repeats; the columns rows_per_second differ from run to run. And the
picture. Needs tests/requirements.txt, metrics/emscore_pac/requirements.txt and
measurements/vdtk_leave_one_out/requirements.txt.
"""

import argparse
import functools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from scripts.command_line import start_tool
from scripts.studies.study_frame import StudyTable, add_frame_options, study_settings


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_frame_options(parser)
    parser.add_argument("--rows", type=int, default=448, metavar="N", help="of 10 + 5 captions, default 448")
    parser.add_argument("--scenes", type=int, default=24, metavar="N", help="of the made world, default 24")
    parser.add_argument("--no-encoder", action="store_true", help="leave out what embeds captions")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="timed runs of each, default 3")
    return parser.parse_args(arguments)


start_tool(
    __name__,
    parsed,
    "tests/requirements.txt",
    "metrics/emscore_pac/requirements.txt",
    "measurements/vdtk_leave_one_out/requirements.txt",
    needs_wordnet=True,
)

import evaluate
import numpy as np
import torch
from nltk.translate.meteor_score import single_meteor_score
from pycocoevalcap.cider.cider_scorer import CiderScorer

import manycaps
from manycaps.catalog import MODULES
from manycaps.kit.text_ptb_tokenizer import tokenize_captions
from manycaps.kit.text_sentence_encoder import ENCODER_DEFAULTS, SentenceEncoder
from manycaps.made_world.toy_scores import CHECKPOINT, ToyScene, draw_toy_scene
from scripts.benchmarks.kernels import authors_frechet, authors_mmd
from scripts.benchmarks.triangle_rank import authors_statistic, nltk_distances
from scripts.studies.caption_rows import draw_rows
from scripts.studies.study_inputs import Captions, bundled_images
from scripts.studies.study_pictures import BLUE, ORANGE, label_axes, new_picture

NAME = "efficiency"
KEY = ("who", "what")
COLUMNS = ("n_rows", "rows_per_second", "rows_per_second_low", "rows_per_second_high")

# Options of the test run.
SMALL = ("--rows", "2", "--scenes", "1", "--repeats", "1", "--no-encoder")

# Candidates and references of a row, as in the paper's table.
SIZE = (10, 5)

# Modules without a sentence encoder do all rows, the others at most 64.
NEED_NO_MODEL = ("trm_meteor", "trm_cider", "meteor15", "vdtk_diversity")

# Rows that slow programs do: enough for a few tenths of a second.
N_SLOW = 4


class Work(NamedTuple):
    """Something that is timed: `prepare` takes the number of the repeat and returns what is run on the clock."""

    n_rows: int
    prepare: Callable[[int], Callable[[], object]]


def sample_rows(n_rows: int, repeat: int) -> tuple[Captions, Captions]:
    """Return rows of 10 + 5 captions that no other row and no other repeat has: each ends with a number."""
    images = bundled_images()
    rng = np.random.default_rng(0)
    predictions, references = draw_rows(images, [i % len(images) for i in range(n_rows)], SIZE, "human", rng)
    numbered = [
        [[f"{caption} {i + repeat * n_rows}" for caption in row] for i, row in enumerate(rows)]
        for rows in (predictions, references)
    ]
    return numbered[0], numbered[1]


def module_work(options: argparse.Namespace) -> Iterator[tuple[str, str, Work]]:
    """Yield the modules of the collection."""
    for name in NEED_NO_MODEL:
        yield "this collection", name, _module(name, options.rows)
    for name in () if options.no_encoder else ("trm_bert", "mmd_bert", "fid_bert", "set_diversity"):
        yield "this collection", name, _module(name, min(options.rows, 64))
    for name in NEED_NO_MODEL[:1] if options.no_encoder else (NEED_NO_MODEL[0], "mmd_bert", "fid_bert"):
        yield "this collection", f"{name}, p", _module(name, min(options.rows, 16), p_value="exact")
    yield from clip_work([draw_toy_scene(0, number) for number in range(options.scenes)])


def _module(name: str, n_rows: int, **options: Any) -> Work:
    """A module on captions."""

    @functools.cache
    def module() -> Any:
        return manycaps.load(name, **options)

    def prepare(repeat: int) -> Callable[[], object]:
        predictions, references = sample_rows(n_rows, repeat)
        columns = {"predictions": predictions, "references": references, "data": predictions}
        return functools.partial(module().compute, **{column: columns[column] for column in MODULES[name].columns})

    return Work(n_rows, prepare)


def clip_work(scenes: Sequence[ToyScene]) -> Iterator[tuple[str, str, Work]]:
    """Yield the image and video modules, three candidates a row, with tiny-pac."""
    columns: dict[str, list[Any]] = {
        "predictions": [scene.captions for scene in scenes],
        "references": [scene.references for scene in scenes],
        "images": [scene.picture for scene in scenes],
        "videos": [scene.frames for scene in scenes],
    }
    for name in ("pac_score", "ref_pac_score", "emscore_pac"):
        given = {column: columns[column] for column in MODULES[name].columns}
        yield "this collection", f"{name}, tiny-pac", _toy_module(name, given, len(scenes))


def _toy_module(name: str, columns: dict[str, Any], n_rows: int) -> Work:
    """A module with tiny-pac; a fresh one for each repeat, which has seen no picture and no caption."""

    def prepare(_: int) -> Callable[[], object]:
        module = manycaps.load(name, checkpoint=str(CHECKPOINT), device="cpu")
        # One row loads the network; its features are a small part of all.
        module.compute(**{column: values[:1] for column, values in columns.items()})
        return functools.partial(module.compute, **columns)

    return Work(n_rows, prepare)


def peer_work(options: argparse.Namespace) -> Iterator[tuple[str, str, Work]]:
    """Yield what people use today."""
    n, rng = SIZE[0], np.random.default_rng(0)

    def tokens(n_rows: int, repeat: int) -> list[list[list[str]]]:
        return [tokenize_captions(p + r) for p, r in zip(*sample_rows(n_rows, repeat), strict=True)]

    def nltk_meteor(rows: list[list[list[str]]]) -> float:
        return float(np.mean([max(single_meteor_score(r, c) for r in row[n:]) for row in rows for c in row[:n]]))

    def coco_cider(rows: list[list[list[str]]]) -> object:
        scorer = CiderScorer(n=4, sigma=6.0)
        for row in rows:
            for candidate in row[:n]:
                scorer += (" ".join(candidate), [" ".join(reference) for reference in row[n:]])
        return scorer.compute_score()

    def triangles(rows: list[list[list[str]]]) -> object:
        return [authors_statistic(nltk_distances(row), n, rng) for row in rows]

    for who, what, n_rows, run in (
        ("NLTK", "METEOR", N_SLOW, nltk_meteor),
        ("pycocoevalcap", "CIDEr-D", options.rows, coco_cider),
        ("authors' formulas", "TRM-METEOR", N_SLOW, triangles),
    ):
        few = min(options.rows, n_rows)
        yield who, what, Work(few, lambda repeat, few=few, run=run: functools.partial(run, tokens(few, repeat)))
    if options.no_encoder:
        return
    encoder = SentenceEncoder()
    for what, formula, most in (("MMD-BERT", authors_mmd, 64), ("FID-BERT", authors_frechet, N_SLOW)):
        yield "authors' formulas", what, _embedded(formula, encoder, min(options.rows, most))


def _embedded(formula: Callable[[torch.Tensor, torch.Tensor], object], encoder: SentenceEncoder, n_rows: int) -> Work:
    """A formula of the authors on the embeddings of one row after the other."""

    def prepare(repeat: int) -> Callable[[], object]:
        rows = list(zip(*sample_rows(n_rows, repeat), strict=True))
        encoder.embed(["a caption that loads the model"], ENCODER_DEFAULTS, _no_bar)

        def run() -> object:
            found = []
            for mine, theirs in rows:
                vectors = torch.tensor(encoder.embed([*mine, *theirs], ENCODER_DEFAULTS, _no_bar))
                found.append(formula(vectors[: len(mine)], vectors[len(mine) :]))
            return found

        return run

    return Work(n_rows, prepare)


def _no_bar(steps: Any, **_: Any) -> Any:
    return steps


def timed(work: Work, repeats: int) -> list[list[Any]]:
    """Return the line of a cell: rows, and rows a second, median and range; a first run is not counted."""
    work.prepare(0)()
    rates = []
    for repeat in range(1, repeats + 1):
        run = work.prepare(repeat)
        start = time.perf_counter()
        run()
        rates.append(work.n_rows / (time.perf_counter() - start))
    return [[work.n_rows, np.median(rates), min(rates), max(rates)]]


def main(options: argparse.Namespace) -> int:
    """Time what the table does not have yet, then draw it."""
    evaluate.utils.logging.disable_progress_bar()
    table = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options))
    work = {(who, what): job for found in (module_work, peer_work) for who, what, job in found(options)}
    lines = table.fill(work, lambda *key: timed(work[key], options.repeats))
    lines = sorted(lines, key=lambda line: float(line["rows_per_second"]))
    with new_picture(options.output, NAME, 9, 0.32 * len(lines) + 1.2) as figure:
        axes = figure.subplots()
        rates = [float(line["rows_per_second"]) for line in lines]
        colors = [BLUE if line["who"] == "this collection" else ORANGE for line in lines]
        axes.barh([f"{line['what']} ({line['who']})" for line in lines], rates, color=colors)
        for place, rate in enumerate(rates):
            axes.text(rate, place, f" {rate:,.3g}", va="center", fontsize=8)
        axes.set_xscale("log")
        axes.set_xlim(right=10 * max(rates))
        label_axes(axes, "rows a second (higher is better)", "what is computed (who does it)")
        axes.set_title("10 candidates and 5 references a row; orange: what people use today")
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
