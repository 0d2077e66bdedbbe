"""What holds for any captions: the loop oracle, the order of rows and captions, duplicated data, chunks."""

import math
import unittest.mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manycaps.kit import diversity_counts
from manycaps.kit.diversity_captions import CaptionDiversity
from manycaps.kit.diversity_counts import NumberTable, row_chunks, vocabulary_head
from tests.oracles import diversity_loop

WORDS = st.sampled_from("a b c d e".split())
CAPTIONS = st.lists(WORDS, max_size=6).map(" ".join)
ROWS = st.lists(st.lists(CAPTIONS, min_size=1, max_size=4), min_size=1, max_size=6)


def vector_of(caption):
    """A vector that depends on the caption alone."""
    return np.random.default_rng(list(caption.encode())).normal(size=4)


def tags_of(caption):
    return [(word, "VERB" if word == "c" else "NOUN") for word in caption.split() if word != "e"]


def measure(rows, chunk=None):
    diversity = CaptionDiversity(
        str.split,
        encoder=lambda captions: np.array([vector_of(caption) for caption in captions]),
        tagger=lambda captions: map(tags_of, captions),
    )
    for part in row_chunks(rows, chunk) if chunk else [rows]:
        diversity.update(part)
    return diversity.figures((0.5, 0.9, 1), (5, 10))


def same(found, expected, **tolerance):
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, nan_ok=True, **(tolerance or {"rel": 1e-12, "abs": 1e-12})), key


@settings(max_examples=150, deadline=None)
@given(ROWS)
def test_agrees_with_the_loops(rows):
    expected = diversity_loop.figures([[caption.split() for caption in row] for row in rows])
    found = measure(rows)
    # The weights of the likelihoods are multiples of 2^-40.
    same({key: found[key] for key in expected}, expected, rel=1e-11, abs=1e-11)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_rows_and_captions_and_chunks_are_irrelevant(rows, random):
    shuffled = [random.sample(row, len(row)) for row in rows]
    random.shuffle(shuffled)
    found = measure(rows)
    same(measure(shuffled), found)
    same(measure(rows[::-1]), found, rel=0, abs=0)  # the order of rows changes no digit
    same(measure(rows, random.randint(1, 5)), found)


@settings(max_examples=100, deadline=None)
@given(ROWS)
def test_duplicated_rows_keep_evs_and_ed_and_end_novelty(rows):
    once, twice = measure(rows), measure([*rows, *rows])
    same_keys = [key for key in once if key.startswith(("evs_", "ed_", "log_likelihood", "n_contexts", "head_5"))]
    same_keys += ["n_types", "distinct_within_row", "novel_within_row", "within_row_uniqueness_of_tokens"]
    same_keys += ["n_distinct_captions", "caption_distance_minimum", "row_distance_variance", "head_90"]
    same({key: twice[key] for key in same_keys}, {key: once[key] for key in same_keys})
    assert twice["novel_in_data"] == 0
    assert twice["n_duplicate_captions"] == once["n_duplicate_captions"] + once["n_captions"]
    between = twice["between_row_uniqueness_by_caption"]
    assert between == 0 or math.isnan(between)


@settings(max_examples=100, deadline=None)
@given(ROWS)
def test_ranges(rows):
    found = measure(rows)
    shares = [value for key, value in found.items() if "uniqueness" in key or "within_row" in key or "evs" in key]
    assert all(math.isnan(share) or 0 <= share <= 1 for share in shares)
    assert 1 <= found["ed_5"] <= 6
    assert found["ed_5_as_printed"] <= found["ed_5"] <= found["ed_10"] <= 11
    assert found["within_row_uniqueness_of_tokens"] <= found["within_row_uniqueness_of_types"] or not found["n_tokens"]
    assert found["novel_within_row"] <= found["distinct_within_row"]
    for side in ("caption", "row"):
        if found[f"n_{side}s_with_distances"]:
            least, mean, most = (found[f"{side}_distance_{kind}"] for kind in ("minimum", "mean", "maximum"))
            assert 0 <= least <= mean + 1e-12 <= most + 2e-12 <= 2 + 2e-12


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=30), st.floats(0.01, 1))
def test_head_agrees_with_the_loop(counts, share):
    assert vocabulary_head(np.array(counts), share) == diversity_loop.head(counts, share)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 20), max_size=40), max_size=5))
def test_number_table_is_a_dictionary_that_grows(batches):
    with unittest.mock.patch.multiple(diversity_counts, FEWEST_SLOTS=2, BLOCK=3):
        table, expected = NumberTable(), {}
        for batch in batches:
            keys = np.array(batch, dtype=np.uint64)
            for key, number in zip(batch, table.numbers(keys).tolist(), strict=True):
                assert expected.setdefault(key, number) == number
    assert len(table) == len(expected) == len(set(expected.values()))
    keys = np.array(list(expected), dtype=np.uint64)
    assert table.find(keys).tolist() == list(expected.values())
    assert table.keys[list(expected.values())].tolist() == keys.tolist()
    unknown = {31, 2**40} - expected.keys()
    assert table.find(np.array(list(unknown), dtype=np.uint64)).tolist() == [-1] * len(unknown)
