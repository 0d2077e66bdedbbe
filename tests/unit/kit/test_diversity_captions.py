"""Figures of vdtk_diversity by hand: captions, distances within rows, parts of speech."""

import math
import re

import numpy as np
import pytest

from manycaps.kit.diversity_captions import CaptionDiversity, SemanticRedundancy
from manycaps.kit.diversity_counts import CountDistribution, NgramModel, RunningMean, number_captions
from manycaps.kit.ngrams import WordNumbers
from manycaps.kit.words_tokenizers import as_tagger


def figures(rows, **options):
    diversity = CaptionDiversity(str.split, **options)
    diversity.update(rows)
    return diversity.figures((0.9,), (10,))


# ---- n-grams ----


def test_without_captions_there_are_no_figures():
    model = NgramModel()
    assert math.isnan(model.effective_vocabulary(2))
    assert math.isnan(model.log_likelihood(2))
    assert math.isnan(RunningMean().value)
    assert all(math.isnan(value) for value in CountDistribution().summary("x").values())


def test_an_empty_caption_is_unseen_where_none_was():
    numbers, model = WordNumbers(), NgramModel()
    model.update(number_captions([[["a"]]], numbers))
    empty = number_captions([[[]]], numbers)
    assert [model.log_likelihoods(empty, order).tolist() for order in (2, 3, 4)] == [[-12.0]] * 3
    model.update(empty)
    assert model.log_likelihoods(empty, 2).tolist() == [math.log(0.5)]


# ---- meaning ----

VECTORS = {"east": [1, 0], "north": [0, 2], "west": [-3, 0], "east again": [5, 0]}


def encoder(captions):
    return np.array([VECTORS[caption] for caption in captions], dtype=np.float32)


def test_distances_by_hand():
    # East to north 1, east to west 2, north to west 1; the second "east" is no other caption.
    redundancy = SemanticRedundancy(encoder, keep_rows=True)
    redundancy.update([["east", "north", "west", "east"], ["east"]])
    per_caption = {kind: mean.value for kind, mean in redundancy.per_caption.items()}
    assert per_caption == pytest.approx(
        {"minimum": 1, "mean": 4 / 3, "maximum": 5 / 3, "variance": 0.5 / 3, "spread": 2 * (0.5 / 1.5) / 3}
    )
    per_row = {kind: mean.value for kind, mean in redundancy.per_row.items()}
    assert per_row == pytest.approx(
        {"minimum": 1, "mean": 4 / 3, "maximum": 2, "variance": 2 / 9, "spread": (1 / 3) / (4 / 3)}
    )
    assert np.isnan(redundancy.per_row["minimum"].values).tolist() == [False, True]
    counts, edges = redundancy.histogram("minimum")
    assert counts[50] == 3 == sum(counts)
    assert edges[50] == 1
    assert sum(redundancy.histogram("spread")[0]) == 3


def test_equal_vectors_have_distance_zero_and_equal_captions_none():
    redundancy = SemanticRedundancy(encoder)
    redundancy.update([["east", "east again"]])
    assert redundancy.per_caption["minimum"].value == 0
    assert math.isnan(redundancy.per_caption["spread"].value)
    assert redundancy.histogram("minimum")[0][0] == 2
    result = figures([["east"], ["west", "west"]], encoder=encoder)
    assert math.isnan(result["caption_distance_minimum"])
    assert math.isnan(result["row_distance_variance"])
    assert result["n_rows_with_distances"] == result["n_captions_with_distances"] == 0


def test_a_vector_of_zeros_is_named():
    message = "encoder: expected vectors that are not all zeros, got zeros for the caption 'b' (1 such"
    with pytest.raises(ValueError, match=re.escape(message)):
        SemanticRedundancy(lambda _: np.array([[1.0], [0.0]])).update([["a", "b"]])


# ---- parts of speech ----

TAGS = {"dog": "NOUN", "rex": "PROPN", "runs": "VERB", "is": "AUX", "a": "DET", "cat": "NOUN"}


def tag_words(caption):
    return [(word, TAGS[word]) for word in caption.split()]


def test_parts_of_speech_by_hand():
    result = figures([["a dog runs", "rex is a dog"], ["a cat"]], tagger=as_tagger(tag_words))
    assert (result["noun_n_types"], result["noun_n_tokens"], result["verb_n_types"]) == (3, 4, 1)
    assert (result["noun_head_90"], result["verb_head_90"]) == (3, 1)
    assert result["noun_tokens_per_caption"] == pytest.approx(4 / 3)
    assert result["verb_tokens_per_caption"] == pytest.approx(1 / 3)
    # Nouns of row 0: dog twice, rex once; of row 1: cat.
    assert result["noun_within_row_uniqueness_of_tokens"] == pytest.approx((1 / 3 + 1) / 2)
    assert result["noun_between_row_uniqueness_by_count"] == pytest.approx((1 / 3 + 1) / 2)
    assert result["verb_n_rows_with_tokens"] == 1
