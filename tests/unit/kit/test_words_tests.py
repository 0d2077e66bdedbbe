"""Tests of wording: gaps and shares by hand, level, golden values, and the phrases that are named."""

import dataclasses
import gzip
import json
import math

import numpy as np
import pytest

import manycaps
from manycaps.kit import words_tests
from manycaps.kit.parity_tails import TAIL
from manycaps.kit.words_predictability import WordingRows, number_texts, side_sums, wording_rows
from manycaps.kit.words_tests import _split_variance, telling_phrases, wording_shares, wording_test
from tests.oracles.wording_loop import phrase_p_value
from tests.unit.kit.text_cases import exchangeable, len_distance


def test_human_parity_of_single_references_is_that_of_wording():
    """Where people cannot be compared with each other; rows of captions alone."""
    rows = [[f"a {animal} runs on the {place}"] for animal in ("dog", "cat", "cow") for place in "abcdefgh"]
    columns = {"predictions": [[" ".join(text.split()[::-1])] for (text,) in rows], "references": rows}
    module = manycaps.load("human_parity", distance=len_distance, details=True, confidence_level=0.95)
    with pytest.warns(UserWarning, match="Wording alone is measured"):
        parity = module.compute(**columns)
    wording = manycaps.load("wording", details=True, confidence_level=0.95).compute(**columns)
    assert math.isnan(parity["unlike_people_share"])
    assert math.isnan(parity["human_parity_p_value"])
    # The odd ones are counted by sentence.
    same = [key for key in wording if key != "signature" and not key.startswith("odd_wording")]
    assert {key: parity[key] for key in same} == {key: wording[key] for key in same}
    assert parity["wording_gap"] < 0
    assert parity["wording_p_value"] < 0.01


def test_a_fault_of_all_captions_is_certain_with_many_rows():
    """Candidates that are odd in one way would be predictable as references: the variance is over splits."""
    candidates, people = exchangeable(np.random.default_rng(7), 200, 1, 3)
    broken = [[["of", *text] for text in row] for row in candidates]
    assert wording_test(wording_rows(broken, people)).p_value < 1e-12


@pytest.mark.parametrize(("m", "n", "n_words"), [(10, 3, 40), (5, 5, 2_000), (1, 2, 40)])
def test_the_variance_of_the_gap_is_that_of_random_splits(m, n, n_words):
    """Rows share the model: the variances of their gaps alone are too small."""
    rng = np.random.default_rng(m)
    texts = [[*mine, *people] for mine, people in zip(*exchangeable(rng, 30, m, n, n_words), strict=True)]
    sums, variances, own = [], [], []
    for _ in range(500):
        rows = [[row[i] for i in rng.permutation(m + n)] for row in texts]
        scored = wording_rows([row[:m] for row in rows], [row[m:] for row in rows])
        sums.append(scored.gaps.sum())
        variances.append(_split_variance(scored))
        own.append(_split_variance(dataclasses.replace(scored, covariance=np.zeros_like(scored.slor))))
    assert np.mean(variances) == pytest.approx(np.var(sums), rel=0.2)  # 3 standard errors of a variance of 500
    assert np.mean(own) < 0.93 * np.mean(variances)


def test_gap_and_its_variance_by_hand():
    """One candidate and two references, without influences: (1 + 1 / 2) times the variance of the three."""
    rows = WordingRows(np.array([[1, 2]] * 12), np.tile([2.0, 1.0, 0.0], 12), *np.zeros((2, 36)))
    assert rows.gaps.tolist() == [1.5] * 12
    assert _split_variance(rows) == pytest.approx(12 * 1.5)
    assert wording_test(rows).p_value == pytest.approx(math.erfc(18 / math.sqrt(18) / math.sqrt(2)))
    assert side_sums(rows.slor, rows.sizes)[0].tolist() == [2.0, 1.0]


def test_too_few_rows_and_equal_captions_have_no_p_value():
    candidates, references = exchangeable(np.random.default_rng(0), 9, 1, 4)
    assert all(map(math.isnan, wording_test(wording_rows(candidates, references), None, 0.95)))
    rows = wording_rows([[["a", "dog"]]] * 20, [[["a", "dog"]] * 3] * 20)
    tested = wording_test(rows, None, 0.95)
    assert (tested.gap, tested.low, tested.high) == (0, 0, 0)
    assert math.isnan(tested.p_value)


def test_order_of_rows_and_of_words_in_the_vocabulary_changes_nothing():
    candidates, references = exchangeable(np.random.default_rng(2), 40, 2, 3)
    rows = wording_rows(candidates, references)
    backwards = wording_rows(candidates[::-1], references[::-1])
    assert wording_test(rows, None, 0.95) == pytest.approx(wording_test(backwards, None, 0.95), abs=1e-12)
    assert rows.part([0, 3]).slor.tolist() == [*rows.slor[:5], *rows.slor[15:20]]


@pytest.mark.parametrize(("m", "n"), [(1, 4), (10, 3), (1, 1)])
def test_people_are_odd_in_five_percent_by_construction(m, n):
    candidates, references = exchangeable(np.random.default_rng(3), 60, m, n)
    for share in wording_shares(wording_rows(candidates, references), None, 0.95).shares.values():
        assert share.people.mean == pytest.approx(TAIL)
        assert 0 <= share.low <= share.value <= share.high <= 1


def test_shuffled_words_are_odd_and_frequent_ones_predictable():
    rng = np.random.default_rng(4)
    starts = ["a dog runs on the beach", "two cats sleep under a table", "the man cooks in a kitchen"]
    people = [[f"{starts[rng.integers(3)]} {rng.geometric(0.1)}".split() for _ in range(3)] for _ in range(60)]
    shuffled = [[rng.permutation(row[0]).tolist()] for row in people]
    tested = {}
    for name, candidates in (("odd", shuffled), ("predictable", [[f"{starts[0]} 1".split()]] * 60)):
        rows = wording_rows(candidates, people)
        shares = wording_shares(rows).shares
        tested[name] = wording_test(rows), shares["odd_wording_share"].value, shares["predictable_share"].value
    assert tested["odd"][0].gap < 0 < tested["predictable"][0].gap
    assert tested["odd"][0].p_value < 1e-6
    assert tested["odd"][1] > 0.9
    assert tested["predictable"][2] > 2 * TAIL


def bounds_of(rows, monkeypatch, clusters=None):
    """The bound on the p-value of the phrase "x" in rows as `phrase_p_value` takes them; unadjusted, one-sided."""
    monkeypatch.setattr(words_tests, "LEAST_TEXTS", 1)
    monkeypatch.setattr(words_tests, "DISCOVERY_RATE", 1.0)
    texts = [(m, [["a", *(["x"] if x else [])] for x in has]) for m, has in rows]
    phrases = telling_phrases(number_texts([t[:m] for m, t in texts], [t[m:] for m, t in texts]), clusters)
    return next(phrase for phrase in phrases if phrase.phrase == "x" or "x" in phrase.phrase.split())


def test_phrases_have_valid_p_values(monkeypatch):
    """Never below the share of splits, and within the power of ten that Chernoff's bound costs."""
    rows = [(2, [1, 1, 0, 0, 0]), (2, [1, 1, 0, 0]), (1, [1, 0, 0, 0]), (1, [1, 0, 0]), (2, [1, 0, 0, 0])]
    exact = phrase_p_value(rows)
    p_value = bounds_of(rows, monkeypatch).p_value
    assert 2 * exact <= p_value <= 20 * exact
    assert bounds_of(rows, monkeypatch, ["a", "a", "b", "c", "c"]).p_value > p_value


def test_phrases_that_give_away_are_named():
    rng = np.random.default_rng(5)
    candidates, people = exchangeable(rng, 80, 2, 3)
    candidates = [
        [["close", "up", "of", *text] if rng.random() < 0.4 else [*text, '"'] for text in row] for row in candidates
    ]
    first, second = telling_phrases(number_texts(candidates, people))[:2]
    assert (first.phrase, first.ends, second.phrase, second.begins) == ('"', True, "close up", True)
    assert (first.share_of_people, second.share_of_people) == (0, 0)
    assert first.share + second.share == pytest.approx(1)
    # The same with rows in clusters of four, where fewer are named.
    named = telling_phrases(number_texts(candidates, people), [i // 4 for i in range(80)])
    assert named[0].phrase == '"'


def test_people_have_no_phrases():
    """In 40 draws of exchangeable rows, none is named: the bound is valid however rare the phrase."""
    for seed in range(40):
        candidates, people = exchangeable(np.random.default_rng(seed), 60, 1, 4, n_words=400)
        assert telling_phrases(number_texts(candidates, people)) == []


@pytest.mark.realdata
def test_golden_values(data_folder):
    with gzip.open(data_folder / "golden" / "wording.json.gz") as file:
        golden = json.load(file)
    rows = wording_rows(*([row[side] for row in golden["rows"]] for side in ("candidates", "references")))
    np.testing.assert_allclose(rows.slor, [slor for row in golden["rows"] for slor in row["slor"]], rtol=0, atol=1e-9)
    assert wording_test(rows).gap == pytest.approx(golden["wording_gap"], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "m", "n"), [(10, 10, 3), (20, 1, 4), (60, 2, 3), (60, 1, 1)])
def test_level(n_rows, m, n):
    """People against people, of captions that share many phrases: p <= .05 in at most what 200 draws of 5% give."""
    rng = np.random.default_rng(6)
    p_values = [wording_test(wording_rows(*exchangeable(rng, n_rows, m, n, 30))).p_value for _ in range(200)]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.1  # 99.8% of such draws have less
