"""Human parity of arrays of distances: levels, power, intervals and messages; and faults of sentences as a function."""

import math
import warnings

import numpy as np
import pytest
import scipy.stats

import manycaps
from manycaps import functional
from manycaps.functional import human_gaps, human_parity_test, human_tails
from manycaps.kit import vectors_sentences
from manycaps.kit.parity_gaps import gaps_test, row_gaps
from manycaps.kit.parity_tails import corpus_tails
from tests.refusals import assert_refused, refusals
from tests.simulated_people import distances_of, drawn_distances, kept_distances
from tests.unit.kit.parity_cases import wrong


def test_candidates_of_people_give_five_percent_with_any_number_of_captions():
    """Of many rows; four standard errors."""
    for m, n in ((1, 2), (1, 5), (5, 2), (4, 4)):
        tails = human_tails(drawn_distances(np.random.default_rng(n), 4_000, m, n), m)
        shares = [share for share in tails[:4] if not math.isnan(share)]
        assert shares == pytest.approx([0.05] * len(shares), abs=0.014)


def test_wrong_captions_are_bounded_from_below():
    """A fifth of the captions far away: (share - 0.05) / 0.95 is the fifth, and its lower end seldom above it."""
    rng = np.random.default_rng(4)
    distances = drawn_distances(rng, 4_000, 1, 4, wrong(0.2))
    assert (human_tails(distances, 1).unlike_people_share - 0.05) / 0.95 == pytest.approx(0.2, abs=0.03)
    tails = [corpus_tails(kept_distances((part, 1)), 0.95, None) for part in np.split(distances, 100)]
    lows = [part_tails.shares["unlike_people_share"].low for part_tails in tails]
    assert np.mean((np.array(lows) - 0.05) / 0.95 > 0.2) <= 0.06


def bland_and_wrong(rng, texts):
    return np.where(rng.random((len(texts), 1, 1)) < 0.12, texts + 4, 0.2 * texts)


def test_gaps_that_cancel_are_found_by_the_tails():
    """Bland captions, some of them wrong: the gaps of 200 rows find few, both tests together nearly all."""
    rng = np.random.default_rng(5)
    tests = [human_parity_test(drawn_distances(rng, 200, 1, 4, bland_and_wrong), 1) for _ in range(40)]
    assert np.mean([test.gaps_p_value <= 0.05 for test in tests]) < 0.6
    assert np.mean([test.p_value <= 0.05 for test in tests]) > 0.95


def equal_captions(rng, n_rows, m, n):
    """Texts of people are eight of each row, the k-th of them 1 / k times as often as the first."""
    weights = 1 / np.arange(1, 9)
    chosen = rng.choice(8, size=(n_rows, m + n), p=weights / weights.sum())
    return distances_of(np.take_along_axis(rng.normal(size=(n_rows, 8, 4)), chosen[:, :, None], axis=1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("m", "n", "n_rows", "draw"),
    [
        (1, 4, 20, drawn_distances),
        (5, 5, 10, drawn_distances),
        (1, 2, 40, drawn_distances),
        (10, 3, 10, drawn_distances),
        (10, 5, 20, equal_captions),
    ],
)
def test_the_level_of_both_tests_is_kept(m, n, n_rows, draw):
    """Student's t of ten candidates beside three references finds 15 to 19% of people, and of equal captions 11%."""
    distances = draw(np.random.default_rng(m + n), 150 * n_rows, m, n)
    tests = [human_parity_test(part, m) for part in np.split(distances, 150)]
    most = scipy.stats.binom.interval(0.999, 150, 0.05)[1]
    assert sum(test.tails_p_value <= 0.05 for test in tests) <= most
    assert sum(test.p_value <= 0.05 for test in tests) <= most


@pytest.mark.slow
@pytest.mark.parametrize(
    ("m", "n", "n_rows", "damage"),
    [(1, 4, 30, bland_and_wrong), (3, 3, 30, wrong(0.1)), (1, 3, 30, None), (10, 2, 20, None), (5, 2, 20, wrong(0.1))],
)
def test_intervals_hold_the_share_of_all_rows(m, n, n_rows, damage):
    """In 93% or more of 300 corpora, within three standard errors; two references say little of people's quantile."""
    distances = drawn_distances(np.random.default_rng(m * n), 300 * n_rows, m, n, damage)
    true = human_tails(distances, m)[:4]
    held = np.zeros(4)
    for part in np.split(distances, 300):
        shares = corpus_tails(kept_distances((part, m)), 0.95, None).shares.values()
        held += [share.low <= value <= share.high for share, value in zip(shares, true, strict=True)]
    least = 300 * (0.93 - 3 * math.sqrt(0.07 * 0.93 / 300))
    assert all(count >= least for count, value in zip(held, true, strict=True) if not math.isnan(value))


@pytest.mark.parametrize(("n_rows", "m", "n"), [(9, 5, 5), (19, 1, 2)])
def test_few_rows_are_not_tested(n_rows, m, n):
    """Below ten rows, and below 20 with two references, the gaps alone."""
    rng = np.random.default_rng(6)
    few, more = (human_parity_test(drawn_distances(rng, size, m, n), m) for size in (n_rows, n_rows + 1))
    assert (math.isnan(few.tails_p_value), few.p_value) == (True, few.gaps_p_value)
    assert more.p_value == pytest.approx(min(1, more.gaps_p_value / 0.8, more.tails_p_value / 0.2))


def test_clusters_of_equal_rows_are_no_more_than_one():
    """Thirty rows three times over: interval and p-value are the same as for thirty."""
    distances = drawn_distances(np.random.default_rng(7), 30, 2, 4, wrong(0.2))
    once = human_tails(distances, 2, 0.95)
    thrice = human_tails(np.repeat(distances, 3, axis=0), 2, 0.95, np.repeat(np.arange(30), 3).tolist())
    assert thrice.unlike_people_share == pytest.approx(once.unlike_people_share)
    assert thrice.p_values == pytest.approx(once.p_values, rel=0.5, abs=0.002)  # of draws
    assert thrice.low == pytest.approx(once.low, abs=0.01)


def test_texts_that_are_all_equal_are_on_no_side():
    tails = human_tails(np.zeros((12, 5, 5)), 2, 0.95)
    assert tails[:4] == pytest.approx((0.05,) * 4)
    assert tails.low < (0.05,) * 4 < tails.high


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (1e155, "distances[0][0][1]: expected a number of size at most 1e+100, got 2.18106e+155. Divide all of them"),
        (1e-200, "distances[0]: expected a largest distance from 1e-100 to 1e+100, or 0, got.*Give the distances in"),
    ],
)
def test_distances_whose_squares_leave_the_range_are_refused(scale, message):
    distances = drawn_distances(np.random.default_rng(1), 5, 2, 3) * scale
    for function in (human_tails, human_parity_test):
        assert_refused(ValueError, message, function, distances, 2)


def shifted(_, candidates):
    """All captions moved in one direction by 0.3 standard deviations of people's."""
    return candidates + 0.3 * (np.arange(candidates.shape[2]) == 0)


def test_a_shift_of_all_rows_in_one_direction_is_what_the_joint_test_hardly_finds():
    """Distances have no direction: 5 + 5 captions, 100 rows, 100 corpora; docs/human_parity.md has the shares.

    The same test finds a tenth of wrong captions in these points, and one caption said for half of them.
    """
    found = {}
    for name, damage in {"shift": shifted, "wrong": wrong(0.1), "half repeated": repeat_half}.items():
        rng, counts = np.random.default_rng(0), np.zeros(2)
        for _ in range(100):
            texts = rng.normal(size=(100, 10, 32))
            texts[:, :5] = damage(rng, texts[:, :5])
            differences = texts[:, :5, 0].mean(axis=1) - texts[:, 5:, 0].mean(axis=1)
            joint = human_parity_test(distances_of(texts), n_candidates=5).p_value
            counts += joint <= 0.05, scipy.stats.ttest_1samp(differences, 0).pvalue <= 0.05
        found[name] = counts / 100
    assert found["shift"][0] <= 0.12
    assert found["shift"][1] >= 0.98
    assert min(found["wrong"][0], found["half repeated"][0]) >= 0.98
    assert max(found["wrong"][1], found["half repeated"][1]) <= 0.15


def repeat_half(_, candidates):
    """The first of five stands for three."""
    return np.where(np.arange(candidates.shape[1])[:, None] < 3, candidates, candidates[:, :1])


@pytest.mark.slow
def test_clusters_keep_the_level_that_rows_do_not():
    """Forty clusters of three equal rows: three times the gaps, and nine times their covariance."""
    distances = drawn_distances(np.random.default_rng(2), 400 * 40, 3, 3).reshape(400, 40, 6, 6)
    clusters = np.repeat(np.arange(40), 3).tolist()
    counts = np.zeros(2)
    for corpus in distances:
        copied = np.repeat(corpus, 3, axis=0)
        tests = human_parity_test(copied, 3, clusters), human_parity_test(copied, 3)
        counts += [test.p_value <= 0.05 for test in tests]
    low, high = scipy.stats.binom.interval(0.999, 400, 0.05)
    assert low <= counts[0] <= high < counts[1]


def test_parts_and_units_change_nothing():
    rng = np.random.default_rng(3)
    distances = drawn_distances(rng, 12, 3, 4)
    whole = human_parity_test(distances, 3)
    parts = gaps_test([row_gaps(distances[:5], 3), row_gaps(distances[5:], 3)])
    assert (parts.p_value, *parts[1:]) == (whole.gaps_p_value, *whole[3:])
    assert human_parity_test(distances * 2.0**-40, 3) == whole
    assert human_parity_test(distances[::-1], 3) == pytest.approx(whole, rel=1e-12)
    assert (human_gaps(distances * 2.0**40, 3).energy / 2.0**40).tolist() == human_gaps(distances, 3).energy.tolist()


def test_what_cannot_be_said_is_nan():
    equal = np.zeros((5, 4, 4))
    test = human_parity_test(equal, 2)
    assert (test.degrees, math.isnan(test.p_value)) == (0, True)
    one = human_parity_test(drawn_distances(np.random.default_rng(4), 8, 1, 4), 1)
    assert (one.degrees, math.isnan(one.diversity_p_value), one.gaps_p_value) == (1, True, one.fidelity_p_value)
    # One split into one and two: the diversity of three texts follows from the rest.
    distances = drawn_distances(np.random.default_rng(5), 6, 2, 3)
    assert math.isnan(human_parity_test(distances, 2, ["a"] * 6).p_value)


NOT_SYMMETRIC = "distances[0]: expected symmetric distances of at least 0 with zeros on the"


@pytest.mark.parametrize(
    ("distances", "n_candidates", "error", "message"),
    [
        (np.zeros((1, 3, 4)), 1, ValueError, "distances: expected shape (n_rows, n, n), got (1, 3, 4). Give a value"),
        (
            np.zeros((1, 3, 3)),
            2,
            ValueError,
            "n_candidates: expected at most 1 of 3 texts, got 2. References are compared",
        ),
        (np.zeros((1, 3, 3)), 1.5, TypeError, "n_candidates: expected a whole number, got float. Give an int."),
        (np.eye(4)[None], 1, ValueError, NOT_SYMMETRIC),
        (np.triu(np.ones((1, 4, 4)), 1), 1, ValueError, NOT_SYMMETRIC),
        (-1.0 + np.eye(4)[None], 1, ValueError, NOT_SYMMETRIC),
        (np.full((1, 4, 4), np.nan), 1, ValueError, "distances[0][0][0]: expected a finite number, got NaN or"),
    ],
)
def test_messages(distances, n_candidates, error, message):
    for function in (human_gaps, human_parity_test):
        assert_refused(error, message, function, distances, n_candidates)


WORDS = ("dog", "cat", "car", "sea", "boat", "tree", "man", "bus")


def embed(texts):
    return np.array([[float(word in text.lower()) for word in WORDS] for text in texts]) + 0.01


def drawn_rows(n_rows, most, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n_rows):
        said = rng.permutation(WORDS)[:4]
        texts = [
            " ".join(f"A {word}." for word in rng.choice(said, size=rng.integers(1, most + 1), replace=False))
            for _ in range(4)
        ]
        rows.append(texts)
    return [row[:1] for row in rows], [row[1:] for row in rows]


@pytest.mark.parametrize(
    ("candidate", "unsupported", "omitted"),
    [
        ("A dog. A cat.", 0.05, 0.05),
        ("A dog. A car.", 0.525, 1.0),
        ("A bus. A car.", 1.0, 1.0),
        ("A dog. A cat. A car. A bus.", 0.525, 0.05),
    ],
)
def test_shares_by_hand(candidate, unsupported, omitted):
    """People say the same two things, at distance 0: what is at 0, too, counts for 5%."""

    def one_hot(texts):
        return [[float(word in text.lower()) for word in WORDS] for text in texts]

    found = functional.sentence_faults([[candidate]], [["A dog. A cat.", "A cat. A dog."]], one_hot)
    assert (found.unsupported_share, found.omitted_share) == pytest.approx((unsupported, omitted))
    assert found.unsupported_per_row == pytest.approx([unsupported])


@pytest.mark.parametrize(("most", "clusters"), [(3, None), (3, [i // 2 for i in range(30)]), (1, None)])
def test_values_are_the_module_s(monkeypatch, most, clusters):
    monkeypatch.setattr(vectors_sentences.SentenceEncoder, "embed", lambda self, texts, options, progress: embed(texts))
    candidates, references = drawn_rows(30, most)
    clusters = list(range(30)) if clusters is None else clusters
    module = manycaps.load("human_parity")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few words, and so equal texts
        result = module.compute(
            predictions=candidates, references=references, confidence_level=0.95, clusters=clusters, details=True
        )
        found = functional.sentence_faults(candidates, references, embed, confidence_level=0.95, clusters=clusters)
    names = ["unsupported_share", "omitted_share"]
    assert found[:2] == pytest.approx([result[name] for name in names], nan_ok=True)
    assert math.isnan(found.omitted_share) == (most == 1)
    for end in ("low", "high"):
        assert getattr(found, end) == pytest.approx([result[f"{name}_ci_{end}"] for name in names], nan_ok=True)
    np.testing.assert_allclose(found.unsupported_per_row, result["unsupported_share_per_row"])
    if most > 1:
        p_values = [result["unsupported_p_value"], result["omitted_p_value"]]
        assert found.p_values == pytest.approx(p_values)


ERRORS_OF_SENTENCE_FAULTS = [
    (
        "references[0]: expected at least two texts, got one (1 such rows in all). Leave the row out.",
        lambda: functional.sentence_faults([["a"]], [["a"]], embed),
    ),
    (
        "references: expected one row for each of the 2 rows of candidates, got 1.",
        lambda: functional.sentence_faults([["a"], ["b"]], [["a", "b"]], embed),
    ),
    (
        "embed: expected vectors of shape (2, d), got (1, 1). Return one per text.",
        lambda: functional.sentence_faults([["a"]], [["a", "b"]], lambda texts: [[1.0]]),
    ),
    (
        "embed: expected vectors that are not all zeros, got zeros of 'a'.",
        lambda: functional.sentence_faults([["a"]], [["a", "b"]], lambda texts: np.zeros((2, 3))),
    ),
    (
        "embed[0][0]: expected a finite number, got NaN or infinity.",
        lambda: functional.sentence_faults([["a"]], [["a", "b"]], lambda texts: [[math.nan], [1.0]]),
    ),
]


test_messages_of_sentence_faults = refusals({ValueError: ERRORS_OF_SENTENCE_FAULTS})
