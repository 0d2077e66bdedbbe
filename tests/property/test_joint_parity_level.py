"""The joint p-value of gaps, tails, wording and length: people are distinguished from people in 5% at most.

The study `sentence_levels` has 400 draws of each cell, with sentences, clusters, 200 and 1,000 rows; here are fewer,
which find what goes wrong by much: a cell fails where 14 of 100 draws are found, as 95% of cells are whose level is
20%, and 54% of those whose level is 14%.
"""

import math

import numpy as np
import pytest

from manycaps import functional
from manycaps.kit.parity_gaps import WEIGHT_OF_LENGTH, joint_p_value
from manycaps.kit.parity_texts import length_gap
from manycaps.kit.words_predictability import wording_rows
from manycaps.kit.words_tests import wording_test
from tests.simulated_people import distances_of

# Draws of a cell, and standard errors above what is stated.
N_DRAWS, N_ERRORS = 100, 4

N_ROWS = (10, 20, 60)
SIZES = ((1, 2), (1, 4), (2, 3), (5, 5), (10, 3))

# Words by Zipf's law, and how many a text has at least.
N_WORDS, LEAST_WORDS = 40, 3


def drawn_words(rng, n_rows, n_texts):
    """Texts as lists of words, whose lengths depend on the row: shape (n_rows, n_texts)."""
    chances = 1 / np.arange(1, N_WORDS + 1)
    lengths = LEAST_WORDS + rng.poisson(rng.gamma(4, 2, size=(n_rows, 1)), size=(n_rows, n_texts))
    words = iter(rng.choice(N_WORDS, p=chances / chances.sum(), size=lengths.sum()))
    return [[[str(next(words)) for _ in range(length)] for length in row] for row in lengths]


def p_values_of_people(rng, n_rows, m, n):
    """p-values of gaps, tails, wording and length; long texts are far from short ones by their distances, too."""
    texts = drawn_words(rng, n_rows, m + n)
    lengths = np.array([[len(text) for text in row] for row in texts], dtype=np.float64)
    points = np.concatenate([rng.normal(size=(n_rows, m + n, 3)), lengths[..., None] / 3], axis=2)
    distances = functional.human_parity_test(distances_of(points), m)
    wording = wording_test(wording_rows([row[:m] for row in texts], [row[m:] for row in texts]))
    length = length_gap(lengths.ravel(), np.full((n_rows, 2), (m, n)), None, None)
    return distances.gaps_p_value, distances.tails_p_value, wording.p_value, length.p_value


def most_found(level, n_draws=N_DRAWS):
    return level + N_ERRORS * math.sqrt(level * (1 - level) / n_draws)


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", N_ROWS)
@pytest.mark.parametrize("size", SIZES, ids="{0[0]}+{0[1]}".format)
def test_people_are_distinguished_from_people_in_five_percent(n_rows, size):
    rng = np.random.default_rng((n_rows, *size))
    p_values = [joint_p_value(*p_values_of_people(rng, n_rows, *size)) for _ in range(N_DRAWS)]
    assert np.mean(np.array(p_values) <= 0.05) <= most_found(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids="{0[0]}+{0[1]}".format)
def test_the_length_gap_holds_its_part_of_the_level(size):
    """20 rows: p of the length at the whole level, and at its part of it."""
    rng, n_draws, sizes = np.random.default_rng(size), 4000, np.full((20, 2), size)
    lengths = LEAST_WORDS + rng.poisson(rng.gamma(4, 2, size=(n_draws, 20, 1)), size=(n_draws, 20, sum(size)))
    p_values = np.array([length_gap(drawn.ravel().astype(float), sizes, None, None).p_value for drawn in lengths])
    for level in (0.05, 0.05 * WEIGHT_OF_LENGTH):
        assert np.mean(p_values <= level) <= most_found(level, n_draws)
