"""How many rows a second? Table 2 of the distribution paper, with what people use today in the same run.

python -m scripts.studies.efficiency [--rows 448] [--output FOLDER]

Chan et al. (2022), table 2, https://arxiv.org/abs/2209.07518: samples a second of 10 candidates and 5 references. Here
modules of the collection on captions of the bundled scenes (image and video modules with tiny-pac), and beside them
NLTK's METEOR pair by pair, pycocoevalcap's CIDEr-D, and the published formulas of the authors' program (random
triangles over NLTK's METEOR; MMD and Frechet distance in torch). Models are loaded before the clock starts, and every
row and every repeat has captions of its own, so that nothing is embedded or tokenized before it. "p": with exact
p-values, 3,003 splits a row.

Written: efficiency.csv, medians and ranges over --repeats; the columns rows_per_second differ from run to run. And the
picture.
"""

import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

import evaluate
import numpy as np
import torch
from nltk.translate.meteor_score import single_meteor_score
from pycocoevalcap.cider.cider_scorer import CiderScorer

import manycaps
from manycaps.catalog.modules import MODULES
from manycaps.comparison.quickstart.image_metrics import CHECKPOINT
from manycaps.kit.vectors_sentences import ENCODER_DEFAULTS, SentenceEncoder
from manycaps.kit.words_ptb import ptb_tokenize
from scripts.benchmarks.kernels import authors_frechet, authors_mmd
from scripts.benchmarks.triangle_rank import authors_statistic, nltk_distances
from scripts.studies.caption_rows import bundled_images, draw_rows
from scripts.studies.study_frame import StudyTable, study_settings
from scripts.studies.study_options import Options, study_parser
from scripts.studies.study_pictures import BLUE, ORANGE, label_axes, new_picture
from scripts.toy.toy_scenes import draw_toy_scene

parser = study_parser(__doc__)
parser.add_argument("--rows", type=int, default=448, metavar="N", help="of 10 + 5 captions, default 448")
parser.add_argument("--scenes", type=int, default=24, metavar="N", help="of the made world, default 24")
parser.add_argument("--no-encoder", action="store_true", help="leave out what embeds captions")
parser.add_argument("--repeats", type=int, default=3, metavar="N", help="timed runs of each, default 3")
parse = parser.parse_args

NAME = "efficiency"
KEY = ("who", "what")
COLUMNS = ("n_rows", "rows_per_second", "rows_per_second_low", "rows_per_second_high")

# Candidates and references of a row, as in the paper's table.
SIZE = (10, 5)

# Rows at most of modules with a sentence encoder, of exact p-values, and of slow programs.
N_EMBEDDED, N_TESTED, N_SLOW = 64, 16, 4

OURS, AUTHORS = "this collection", "authors' formulas"

Rows = list[list[str]]

# Something that is timed: rows, and what takes the number of the repeat and returns what is run on the clock.
Work = tuple[int, Callable[[int], Callable[[], object]]]


def sample_rows(n_rows: int, repeat: int) -> tuple[Rows, Rows]:
    """Return rows of 10 + 5 captions that no other row and no other repeat has: each ends with a number."""
    images = bundled_images()
    rng = np.random.default_rng(0)
    sides = draw_rows(images, [i % len(images) for i in range(n_rows)], SIZE, "human", rng)
    predictions, references = (
        [[f"{caption} {i + repeat * n_rows}" for caption in row] for i, row in enumerate(rows)] for rows in sides
    )
    return predictions, references


def module_work(options: Options) -> Iterator[tuple[str, Work]]:
    """Yield the modules of the collection on captions, and on pictures of the made world with tiny-pac."""
    exact = {"p_value": "exact"}
    for name in ("trm_meteor", "trm_cider", "meteor15", "vdtk_diversity"):
        yield name, text_module(name, options.rows)
    if not options.no_encoder:
        for name in ("trm_bert", "mmd_bert", "fid_bert", "set_diversity"):
            yield name, text_module(name, min(options.rows, N_EMBEDDED))
    for name in ("trm_meteor",) if options.no_encoder else ("trm_meteor", "mmd_bert", "fid_bert"):
        yield f"{name}, p", text_module(name, min(options.rows, N_TESTED), **exact)
    scenes = [draw_toy_scene(0, number) for number in range(options.scenes)]
    columns = {
        "predictions": [scene.captions for scene in scenes],
        "references": [scene.references for scene in scenes],
        "images": [scene.picture for scene in scenes],
        "videos": [scene.frames for scene in scenes],
    }
    for name in ("pac_score", "ref_pac_score", "emscore_pac"):
        given = {column: columns[column] for column in MODULES[name].columns}
        yield f"{name}, tiny-pac", (len(scenes), functools.partial(prepare_toy, name, given))


def text_module(name: str, n_rows: int, **options: Any) -> Work:
    """Return a module on captions."""
    module = functools.cache(lambda: manycaps.load(name, **options))

    def prepare(repeat: int) -> Callable[[], object]:
        predictions, references = sample_rows(n_rows, repeat)
        columns = {"predictions": predictions, "references": references, "data": predictions}
        return functools.partial(module().compute, **{column: columns[column] for column in MODULES[name].columns})

    return n_rows, prepare


def prepare_toy(name: str, columns: dict[str, list[Any]], _repeat: int) -> Callable[[], object]:
    """Return a module with tiny-pac; a fresh one for each repeat, which has seen no picture and no caption."""
    module = manycaps.load(name, checkpoint=str(CHECKPOINT), device="cpu")
    # One row loads the network; its features are a small part of all.
    module.compute(**{column: values[:1] for column, values in columns.items()})
    return functools.partial(module.compute, **columns)


def peer_work(options: Options) -> Iterator[tuple[tuple[str, str], Work]]:
    """Yield what people use today."""
    n, rng, encoder = SIZE[0], np.random.default_rng(0), SentenceEncoder()

    def nltk_meteor(rows: list[Rows]) -> float:
        return float(np.mean([max(single_meteor_score(r, c) for r in row[n:]) for row in rows for c in row[:n]]))

    def coco_cider(rows: list[Rows]) -> object:
        scorer = CiderScorer(n=4, sigma=6.0)
        for row in rows:
            for candidate in row[:n]:
                scorer += (" ".join(candidate), [" ".join(reference) for reference in row[n:]])
        return scorer.compute_score()

    def triangles(rows: list[Rows]) -> object:
        return [authors_statistic(nltk_distances(row), n, rng) for row in rows]

    def token_work(run: Callable[[list[Rows]], object], most: int) -> Work:
        n_rows = min(options.rows, most)

        def prepare(repeat: int) -> Callable[[], object]:
            return functools.partial(
                run, [ptb_tokenize(p + r) for p, r in zip(*sample_rows(n_rows, repeat), strict=True)]
            )

        return n_rows, prepare

    def vector_work(formula: Callable[[torch.Tensor, torch.Tensor], object], most: int) -> Work:
        """Return a formula of the authors on the embeddings of one row after the other."""
        n_rows = min(options.rows, most)

        def embed(texts: list[str]) -> torch.Tensor:
            return torch.tensor(encoder.embed(texts, ENCODER_DEFAULTS, lambda steps, **_: steps))

        def prepare(repeat: int) -> Callable[[], object]:
            rows = [mine + theirs for mine, theirs in zip(*sample_rows(n_rows, repeat), strict=True)]
            embed(["a caption that loads the model"])
            return lambda: [formula(vectors[:n], vectors[n:]) for vectors in map(embed, rows)]

        return n_rows, prepare

    yield ("NLTK", "METEOR"), token_work(nltk_meteor, N_SLOW)
    yield ("pycocoevalcap", "CIDEr-D"), token_work(coco_cider, options.rows)
    yield (AUTHORS, "TRM-METEOR"), token_work(triangles, N_SLOW)
    if not options.no_encoder:
        yield (AUTHORS, "MMD-BERT"), vector_work(authors_mmd, N_EMBEDDED)
        yield (AUTHORS, "FID-BERT"), vector_work(authors_frechet, N_SLOW)


def time_work(work: Work, repeats: int) -> list[list[Any]]:
    """Return the line of a cell: rows, and rows a second, median and range; a first run is not counted."""
    n_rows, prepare = work
    prepare(0)()
    rates = []
    for repeat in range(1, repeats + 1):
        run = prepare(repeat)
        start = time.perf_counter()
        run()
        rates.append(n_rows / (time.perf_counter() - start))
    return [[n_rows, np.median(rates), min(rates), max(rates)]]


def main(options: Options) -> None:
    """Time what the table does not have yet, then draw it."""
    evaluate.utils.logging.disable_progress_bar()
    work = {(OURS, what): our_work for what, our_work in module_work(options)} | dict(peer_work(options))
    table = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options))
    lines = table.fill(work, lambda *key: time_work(work[key], options.repeats))
    lines = sorted(lines, key=lambda line: float(line["rows_per_second"]))
    with new_picture(options.output, NAME, 9, 0.32 * len(lines) + 1.2) as figure:
        axes = figure.subplots()
        rates = [float(line["rows_per_second"]) for line in lines]
        colors = [BLUE if line["who"] == OURS else ORANGE for line in lines]
        axes.barh([f"{line['what']} ({line['who']})" for line in lines], rates, color=colors)
        for place, rate in enumerate(rates):
            axes.text(rate, place, f" {rate:,.3g}", va="center", fontsize=8)
        axes.set_xscale("log")
        axes.set_xlim(right=10 * max(rates))
        label_axes(axes, "rows a second (higher is better)", "what is computed (who does it)")
        axes.set_title("10 candidates and 5 references per row; orange: what people use today")


if __name__ == "__main__":
    main(parse())
