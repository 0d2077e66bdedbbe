"""The closed form of human parity beside the exact p-values of the triangle ranks, and beside random splits.

Rows of 10 candidates and 10 references, random points; the distances are ready. And what faults by sentence add to
captions of one sentence, beside what their wording takes.
"""

from collections.abc import Iterator

import numpy as np

from manycaps.kit.parity_corpus import row_columns
from manycaps.kit.parity_gaps import DrawnGaps, gaps_test, row_gaps
from manycaps.kit.parity_sentences import are_single_sentences
from manycaps.kit.parity_texts import captions_as_sentences, corpus_faults, text_words
from manycaps.kit.sets_tests import RowTester
from manycaps.kit.triangle_rank import triangle_rank_comparison
from manycaps.kit.words_predictability import number_texts, wording_of
from manycaps.kit.words_tests import corpus_wording
from scripts.benchmarks.timing import Comparison, Work
from scripts.toy.speakers import zipf_probabilities

N_TEXTS, N_ROWS, N_EXACT, N_DRAWN = 10, 2_000, 4, 50

# Rows of one caption and four references of one sentence, and their words.
N_CAPTION_ROWS, N_OTHERS, N_WORDS, N_KNOWN = 10_000, 4, 15, 2_000

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_TEXTS": 4, "N_ROWS": 8, "N_DRAWN": 2, "N_CAPTION_ROWS": 20}

OPTIONS = {"p_value": "exact", "max_partitions": 1_000_000, "n_resamples": 9_999, "seed": 0}


def row_key(row: int) -> bytes:
    """Return what the draws of a row depend on."""
    return row.to_bytes(8, "big")


def comparisons() -> Iterator[Comparison]:
    """Yield the suite's lines."""
    points = np.random.default_rng(0).normal(size=(N_ROWS, 2 * N_TEXTS, 8))
    distances = np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)
    size = (N_TEXTS, N_TEXTS)

    def closed_form() -> float:
        return gaps_test([row_gaps(distances, N_TEXTS)]).p_value

    def exact_ranks() -> float:
        compared = triangle_rank_comparison(distances[:N_EXACT], N_TEXTS, "per_side", None)
        splits = RowTester([size] * N_EXACT, OPTIONS)
        splits.add(size, range(N_EXACT), row_key, compared)
        return splits.test(compared.statistic).corpus_p_value

    def draw() -> None:
        splits = DrawnGaps({**OPTIONS, "p_value": "permutation"}, N_DRAWN)
        splits.add(distances[:N_DRAWN], size, range(N_DRAWN), row_key)

    work = Work("p-value of the corpus, 10 + 10 captions, closed form", "rows", N_ROWS, closed_form)
    yield work.beside("exact p-value of the triangle ranks", exact_ranks, N_EXACT, claim=100)
    yield work.beside("9,999 random splits", draw, N_DRAWN, claim=20)
    work = Work("the same with all shares and copies", "rows", N_ROWS, lambda: row_columns(distances, N_TEXTS))
    yield work.beside("the p-value alone", closed_form)
    yield faults_beside_wording()


def faults_beside_wording() -> Comparison:
    """Compare the time of the faults of captions of one sentence with that of their wording."""
    rng, known = np.random.default_rng(0), [f"w{i}" for i in range(N_KNOWN)]
    shape = (N_CAPTION_ROWS, 1 + N_OTHERS, N_WORDS)
    rows = rng.choice(known, p=zipf_probabilities(N_KNOWN, 1), size=shape).tolist()
    candidates, references = [row[:1] for row in rows], [row[1:] for row in rows]
    captions = [" ".join(words) for row in rows for words in row]
    texts, sizes = number_texts(candidates, references), [(1, N_OTHERS)] * N_CAPTION_ROWS

    def wording() -> None:
        corpus_wording(wording_of(number_texts(candidates, references), is_tested=True), None, 0.95)

    def faults() -> None:
        if not are_single_sentences(captions, "en"):
            raise ValueError("captions have one sentence")
        words = text_words(captions_as_sentences(texts), is_tested=True)
        corpus_faults(None, None, words, sizes, {"confidence_level": 0.95, "clusters": None, "seed": 0})

    work = Work(f"faults of {len(captions):,} captions of one sentence", "captions", len(captions), faults)
    return work.beside("their wording", wording, claim=2)
