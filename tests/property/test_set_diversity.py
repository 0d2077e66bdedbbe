"""What holds of set_diversity for any captions: ranges, orders that do not matter, and directions that are known."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manycaps.kit.sets_distinct import unit_rows
from manycaps.kit.sets_diversity import Kernels, Sets, linear_values, set_values

CAPTIONS = st.lists(
    st.lists(st.sampled_from("a the dog cat runs red sleeps".split()), min_size=1, max_size=9).map(" ".join),
    min_size=1,
    max_size=6,
)
ROWS = st.lists(CAPTIONS, min_size=2, max_size=4)
# Also without a word.
ODD_CAPTIONS = st.lists(st.sampled_from(["", "a", "a dog", "\u00e9"]), min_size=1, max_size=4)
ODD_ROWS = st.lists(ODD_CAPTIONS, min_size=1, max_size=3)

ORDERS = (1, 2, 3.5, math.inf)

# Largest value of each key for a set of n captions; the smallest is 1 for Vendi scores, 0 elsewhere.
LARGEST = {
    "self_cider": lambda n: 1.0,
    "div_1": lambda n: 1.0,
    "div_2": lambda n: 1.0,
    "unique_share": lambda n: 1.0,
    "mbleu_4": lambda n: 1.0,
    "self_bleu_4": lambda n: 1.0,
    "pairwise_distance": lambda n: 1.0 + 1.0 / (n - 1) if n > 1 else math.nan,
    "compression_ratio": lambda n: 1033.0,
}

# Which way a value moves when every caption stands twice: not at all, down, or up.
DUPLICATED = {"vendi": 0, "self_cider": -1, "div": -1, "unique": -1, "pairwise": -1, "compression": 1, "self_bleu": 1}


def embed(rows):
    """A vector for each caption: the same for the same text, of any direction."""
    texts = sorted({text for row in rows for text in row})
    vectors = [np.random.default_rng([*text.encode(), 1]).normal(size=6) for text in texts]
    return dict(zip(texts, unit_rows(np.array(vectors)), strict=True))


def sets_of(name, rows):
    return Sets(name, rows, [[text.split() for text in row] for row in rows])


def values_of(candidates, references):
    """Values of both sides, rows and corpus, with every kernel."""
    function_of = embed([*candidates, *references])
    kernels = Kernels(True, function_of, lambda texts: np.array([[a == b for b in texts] for a in texts]) + 0.0, ORDERS)
    sides = [sets_of("predictions", candidates), sets_of("references", references)]
    rows = set_values(sides, kernels, None, lambda items, **_: items)
    return rows, [linear_values(side, kernels) for side in sides]


def check_range(name, value, n):
    if math.isnan(value):
        return
    if "vendi" in name:
        assert 1.0 <= value <= n, name
    else:
        assert 0.0 <= value <= LARGEST[name](n), name


@settings(deadline=None, max_examples=25)
@given(st.one_of(st.tuples(ROWS, ROWS), st.tuples(ODD_ROWS, ODD_ROWS)))
def test_every_value_is_in_the_range_of_the_card(rows):
    n_rows = min(map(len, rows))
    rows = [side[:n_rows] for side in rows]
    row_values, corpus_values = values_of(*rows)
    for side, values, corpus in zip(rows, row_values, corpus_values, strict=True):
        for name, found in values.items():
            for texts, value in zip(side, found, strict=True):
                check_range(name, value, len(texts))
        for name, value in corpus.items():
            check_range(name, value, sum(map(len, side)))


@settings(deadline=None, max_examples=25)
@given(ROWS, st.randoms(use_true_random=False))
def test_neither_the_side_nor_the_order_of_rows_and_of_captions_changes_a_bit(rows, random):
    order = random.sample(range(len(rows)), len(rows))
    shuffled = [random.sample(rows[i], len(rows[i])) for i in order]
    (found, reference_values), (corpus, reference_corpus) = values_of(rows, rows)
    assert (repr(found), repr(corpus)) == (repr(reference_values), repr(reference_corpus))
    (moved, _), (moved_corpus, _) = values_of(shuffled, shuffled)
    for name, values in moved.items():
        assert repr(values) == repr([found[name][i] for i in order]), name
    del corpus["mbleu_4"], moved_corpus["mbleu_4"]  # it is a corpus of first captions, one of second ones, and so on
    assert repr(corpus) == repr(moved_corpus)


@settings(deadline=None, max_examples=25)
@given(ROWS)
def test_captions_that_stand_twice_move_each_value_in_its_direction(rows):
    once = values_of(rows, rows)[0][0]
    twice = values_of([row * 2 for row in rows], rows)[0][0]
    for name, before in once.items():
        direction = next((d for start, d in DUPLICATED.items() if name.startswith(start)), None)
        for first, second in zip(before, twice[name], strict=True):
            if direction == 0:
                assert second == pytest.approx(first, abs=1e-9), name
            elif direction is not None and not math.isnan(first):
                assert direction * (second - first) >= -1e-9, name


@settings(deadline=None, max_examples=25)
@given(CAPTIONS)
def test_one_caption_repeated_is_the_least_diverse_set(captions):
    rows = [captions, ["a dog runs on the beach", "two cats"]]
    found = values_of([[captions[0]] * len(captions), rows[1]], rows)[0][0]
    for name, values in found.items():
        if name.startswith("vendi"):
            assert values[0] == pytest.approx(1.0, abs=1e-9), name
    assert found["unique_share"][0] == 1 / len(captions)
    if len(captions) > 1:
        assert found["pairwise_distance"][0] == 0
        assert found["self_cider"][0] == pytest.approx(0, abs=1e-12) or math.isnan(found["self_cider"][0])
        if len(captions[0].split()) > 3:
            assert found["self_bleu_4"][0] == pytest.approx(1.0)
            assert found["mbleu_4"][0] == pytest.approx(1.0, abs=1e-6)


def test_nothing_in_common_is_the_most_diverse_set():
    rows = [["one red dog runs", "two cats sleep here", "a boat is at sea"], ["x y z w", "p q r s"]]
    found = values_of(rows, rows)[0][0]
    assert found["self_cider"] == pytest.approx([1.0, 1.0])
    assert [found[f"vendi_ngram_{order}"] for order in ("1", "2", "3.5", "inf")] == [pytest.approx([3.0, 2.0])] * 4
    assert found["div_1"] == found["unique_share"] == [1.0, 1.0]
    assert found["self_bleu_4"] == [0.0, 0.0]
