"""Grouping of rows, and the result's keys."""

import numpy as np
import pytest

from manycaps.kit.sets_corpus import CorpusTest
from manycaps.kit.sets_module import (
    CAPTION_COLUMNS,
    DISTRIBUTION_DEFAULTS,
    check_row_totals,
    distribution_result,
    rows_by_size,
)
from manycaps.kit.vectors_checks import ARRAY_COLUMNS
from tests.refusals import assert_refused


def test_rows_are_grouped_by_size_in_batches():
    sizes = [(2, 1), (1, 2), (2, 1), (2, 1)]
    groups = rows_by_size(sizes, lambda n_texts: 2)
    assert groups == [((2, 1), [0, 2]), ((2, 1), [3]), ((1, 2), [1])]


def test_all_keys():
    options = {**DISTRIBUTION_DEFAULTS, "confidence_level": 0.9, "details": True, "n_resamples": 20}
    result = distribution_result(
        {"q": np.array([0.1, 0.3]), "plain": np.array([1.0, 2.0])},
        CorpusTest(np.array([0.5, 1]), np.array([0.1, 0.2]), 0.25, 1.5, 0.1, 0.01),
        options,
    )
    expected = """
        q plain n_rows q_corpus_p_value q_z q_excess q_p_value q_harmonic_mean_p q_smallest_p q_smallest_corpus_p
        q_ci_low q_ci_high q_excess_ci_low q_excess_ci_high q_per_row plain_per_row q_excess_per_row q_p_value_per_row
    """
    assert list(result) == expected.split()
    assert result["plain"] == 1.5
    assert result["q_excess"] == pytest.approx(0.15)
    assert result["q_p_value_per_row"] == [0.5, 1.0]


def test_small_rows_are_named():
    check_row_totals([(1, 2)], CAPTION_COLUMNS, 3)
    message = (
        "prediction_embeddings[1], reference_embeddings[1]: expected at least 3 captions in all, got 1 candidate and 1 "
        "reference (1 such rows in all). Sample more"
    )
    assert_refused(ValueError, message, check_row_totals, [(2, 1), (1, 1)], ARRAY_COLUMNS, 3)
