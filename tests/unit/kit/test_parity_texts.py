"""Human parity of texts: repetition, odd wording, length, and counts of faults."""

import math

import numpy as np
import pytest

from manycaps.kit.parity_faults import SplitFaults, counted_fault, quantile_fault, score_groups
from manycaps.kit.parity_texts import (
    captions_as_sentences,
    corpus_faults,
    length_gap,
    odd_values,
    odd_widening,
    repeated_phrases,
    repeated_values,
    repetitions,
    sentences_of_rows,
    text_words,
)
from manycaps.kit.words_predictability import number_texts, sentence_scores
from tests.oracles.faults_loop import repeated_shares

OPTIONS = {"confidence_level": 0.95, "clusters": None, "seed": 0}


WORDS = ["a", "dog", "cat", "runs", "sits", "on", "the", "sand"]


def drawn_texts(seed, n_rows, m, n):
    """Rows of texts of one to three sentences of up to six of a few words, in which repetitions are frequent."""
    rng = np.random.default_rng(seed)

    def text():
        return [[str(word) for word in rng.choice(WORDS, size=rng.integers(1, 7))] for _ in range(rng.integers(1, 4))]

    rows = [[text() for _ in range(m + n)] for _ in range(n_rows)]
    return [row[:m] for row in rows], [row[m:] for row in rows]


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 4), (3, 2)])
def test_repetition_equals_the_slow_loop(m, n):
    candidates, references = drawn_texts(m, 30, m, n)
    candidates[0][0] = [["the", "dog"], ["a", "cat"], ["the", "dog"]]
    sentences = sentences_of_rows(candidates, references)
    sides = repeated_values(repetitions(sentences), np.array([(m, n)] * 30))
    found = np.stack([side.row_means(side.values, 30) for side in sides], axis=1)
    expected = [repeated_shares(*row) for row in zip(candidates, references, strict=True)]
    assert found == pytest.approx(np.array(expected), abs=1e-12)
    assert [0, 0, "the dog"] in repeated_phrases(sentences)


def test_repetition_of_rows_of_different_sizes_equals_the_slow_loop():
    sizes = [(1, 2), (3, 1), (2, 5), (1, 1)] * 8
    drawn = [drawn_texts(seed, 1, m, n) for seed, (m, n) in enumerate(sizes)]
    candidates, references = ([side[0] for side in sides] for sides in zip(*drawn, strict=True))
    sides = repeated_values(repetitions(sentences_of_rows(candidates, references)), np.array(sizes))
    found = np.stack([side.row_means(side.values, len(sizes)) for side in sides], axis=1)
    expected = [repeated_shares(*row) for row in zip(candidates, references, strict=True)]
    assert found == pytest.approx(np.array(expected), abs=1e-12)
    assert set(np.unique(sides.candidates.values)) > {0.0, 1.0}


def test_phrases_are_named():
    rows = [[[["a", "a", "dog"]]], [[["on", "the", "sand", "on", "the", "sand"]]], [[["a", "dog"]]]]
    found = repeated_phrases(sentences_of_rows(rows, [[[["a", "dog"]]]] * 3))
    assert found == [[0, 0, "a a"], [1, 0, "on the sand"]]


def test_nonsense_makes_a_sentence_odder_not_less_odd():
    rng = np.random.default_rng(0)
    animals, places = ["dog", "cat", "cow", "horse"], ["beach", "road", "lawn", "snow"]

    def caption():
        return ["a", str(rng.choice(animals)), "runs", "on", "the", str(rng.choice(places))]

    people = [[caption() for _ in range(4)] for _ in range(60)]
    shares = []
    for damage in ([], ["blorf", "wug", "snarp", "tiv"]):
        texts = number_texts([[[*caption(), *damage]] for _ in people], people)
        words = text_words(captions_as_sentences(texts), is_tested=True)
        faults = corpus_faults(None, None, words, [(1, 4)] * 60, OPTIONS)
        shares.append(faults.kinds["odd_wording_share"])
    assert shares[0].share.value < 0.2
    assert shares[1].share.value > 0.9
    assert shares[1].p_value < 0.001


def test_the_shared_model_widens_and_never_narrows():
    candidates, references = drawn_texts(0, 40, 1, 3)
    sentences = sentences_of_rows(candidates, references)
    scores = sentence_scores(sentences.texts, is_tested=True)
    values = odd_values(sentences, scores)
    plain_fault = quantile_fault(values, -1, 40, None, 0.95)
    widened = quantile_fault(values, -1, 40, None, 0.95, odd_widening(sentences, scores, None))
    assert widened.share.value == plain_fault.share.value
    assert widened.share.differences.standard_error >= plain_fault.share.differences.standard_error
    splits = SplitFaults(score_groups(values, [(1, 3)] * 40), -1, None)
    assert splits.shares(None)[0] == pytest.approx(plain_fault.share.value)


def test_people_are_oddly_worded_in_no_more_and_no_fewer_draws_than_said():
    """120 rows, by Student's t: the shared model of 12 words adds to the error, but not several times the error."""
    p_values, ratios = [], []
    for seed in range(60):
        words = np.random.default_rng(seed).choice(12, size=(120, 5, 8)).astype(str).tolist()
        candidates, references = [[[row[0]]] for row in words], [[[text] for text in row[1:]] for row in words]
        sentences = sentences_of_rows(candidates, references)
        scores = sentence_scores(sentences.texts, is_tested=True)
        values = odd_values(sentences, scores)
        plain = quantile_fault(values, -1, 120, None, None).share
        widened = quantile_fault(values, -1, 120, None, None, odd_widening(sentences, scores, None)).share
        ratios.append(widened.differences.standard_error / plain.differences.standard_error)
        p_values.append(widened.student_p_value)
    assert 1 <= np.mean(ratios) < 1.3
    assert 1 <= np.sum(np.array(p_values) <= 0.1) <= 13  # 99.8% of counts of 60 by 10%


def test_length_is_compared_by_rows():
    gap = length_gap(np.array([4.0, 2, 2, 6, 8, 4]), np.array([[1, 2], [2, 1]]), None, 0.95)
    assert (gap.words, gap.people, gap.gap) == (5.5, 3.0, 2.5)
    assert gap.low < 2.5 < gap.high


def test_the_level_of_length():
    """Of 300 corpora of people, four standard errors around 5%."""
    rng, sizes = np.random.default_rng(0), np.array([[1, 4]] * 30)
    p_values = [length_gap(rng.poisson(10, size=150).astype(float), sizes, None, None).p_value for _ in range(300)]
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.05, abs=0.05)
    assert length_gap(np.full(150, 9.0), sizes, None, None).p_value != 0


def test_sentences_far_longer_than_people_s_have_no_threshold():
    people = [[[["a", "dog", "runs"]]] * 2] * 12
    candidates = [[[["a", "dog", "runs", "and"] * 5]]] * 12
    words = text_words(sentences_of_rows(candidates, people), is_tested=True)
    with pytest.warns(UserWarning, match="more than 2 times as long as the longest of the references"):
        faults = corpus_faults(None, None, words, [(1, 2)] * 12, OPTIONS)
    assert set(faults.kinds) == {"repeated_share"}
    assert math.isnan(faults.result(None)["odd_wording_share"])


def test_counted_faults_have_people_s_own_rate():
    candidates, references = drawn_texts(9, 50, 2, 3)
    sides = repeated_values(repetitions(sentences_of_rows(candidates, references)), np.array([(2, 3)] * 50))
    fault = counted_fault(sides, 50, None, 0.95)
    assert fault.low < fault.excess < fault.high
    assert 0 <= fault.share.low <= fault.share.value <= fault.share.high <= 1
