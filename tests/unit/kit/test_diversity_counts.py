"""Counts of a stream of captions: likelihoods, memory, and bins of novelty."""

import math
import tracemalloc

import numpy as np
import pytest

from manycaps.kit.diversity_captions import CaptionDiversity
from manycaps.kit.diversity_counts import CaptionNovelty, NgramModel, number_captions, row_chunks
from manycaps.kit.ngrams import WordNumbers


def test_the_least_log_probability_is_minus_twelve():
    # "a" follows the mark in one of 200,001 captions: log(1 / 200,001) = -12.2.
    model = NgramModel()
    model.update(number_captions([[["b"]] * 200_000 + [["a"]]], WordNumbers()))
    rare = model.log_likelihoods(number_captions([[["a"]]], WordNumbers(b=0, a=1)), 2)
    assert rare.tolist() == [-6.0]  # (-12 + 0) / 2
    assert model.log_likelihood(2) == pytest.approx((2e5 * math.log(2e5 / 200_001) / 2 - 6) / 200_001)


# ---- memory ----


def random_rows(seed, n_rows, n_words):
    """Rows of five captions of eight random words."""
    words = np.random.default_rng(seed).integers(0, n_words, (n_rows, 5, 8))
    return [[" ".join(f"w{word}" for word in caption) for caption in row] for row in words.tolist()]


def bytes_in_use(diversity, rows):
    for chunk in row_chunks(rows, 1000):
        diversity.update(chunk)
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.slow
def test_memory_grows_with_new_ngrams_and_not_with_captions():
    diversity, rows = CaptionDiversity(str.split), random_rows(0, 1000, 300)
    tracemalloc.start()
    try:
        twice = bytes_in_use(diversity, rows + rows)  # the tables make room for a chunk of new n-grams beforehand
        twelve_times = bytes_in_use(diversity, (row for _ in range(10) for row in rows))
        other = bytes_in_use(diversity, random_rows(1, 1000, 300))
    finally:
        tracemalloc.stop()
    assert diversity.vocabulary.n_captions == 65_000
    # Nothing is kept of 50,000 captions that bring no new n-gram; 5,000 with new ones take room.
    assert twelve_times - twice < 20_000
    assert other - twelve_times > 500_000


# ---- captions ----


def test_bins_of_novelty():
    # Row 0 has 2 distinct captions of 3, row 1 has 2 of 2: 2/3 lies in 0.65 to 0.7, 1 in the last bin.
    novelty = CaptionNovelty(keep_rows=True)
    novelty.update(number_captions([[["x"], ["x"], ["y"]], [["y"], ["z"]]], WordNumbers()))
    counts, edges = novelty.histogram
    assert (counts[13], counts[19], sum(counts), edges[0], edges[-1]) == (1, 1, 2, 0, 1)
