"""Faults by sentence: shares against the slow loop, people's own rates, tests, intervals, and what is found."""

import math

import numpy as np
import pytest

from manycaps.kit.parity_faults import (
    CorpusFaults,
    Fault,
    SplitFaults,
    counted_fault,
    more_faults_than,
    quantile_fault,
    score_groups,
    support_groups,
)
from manycaps.kit.parity_sentences import (
    DistanceSupport,
    RowSpans,
    are_single_sentences,
    compared_values,
    nearest_span,
    row_spans,
    sentence_support,
    text_spans,
)
from manycaps.kit.parity_tails import corpus_tails, tail_share
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
from tests.oracles.faults_loop import repeated_shares, text_shares
from tests.oracles.wording_loop import LoopModel, caption_ngrams
from tests.simulated_people import drawn_distances, kept_distances

OPTIONS = {"confidence_level": 0.95, "clusters": None, "seed": 0}


def plain(steps, **_):
    return steps


class World:
    """Rows of texts whose sentences are points around one of a few topics of the row; people name some of them."""

    def __init__(self, seed, n_rows, m, n, most=3, n_wrong=0):
        rng = np.random.default_rng(seed)
        self.rows, self.points = [], {}
        for row in range(n_rows):
            topics = 3 * rng.normal(size=(4, 4))
            texts = []
            for text in range(m + n):
                named = rng.choice(4, size=rng.integers(1, most + 1), replace=False)
                points = topics[named] + 0.5 * rng.normal(size=(len(named), 4))
                if text < m:
                    points[:n_wrong] += 30
                texts.append(points)
            self.rows.append(self._spans(row, texts, m))
        self.sizes = [(m, n)] * n_rows

    def _spans(self, row, texts, m):
        names, counts, n_spans = [], [], []
        for text, points in enumerate(texts):
            pairs = [points[i : i + 2].mean(axis=0) for i in range(len(points) - 1)]
            whole = [points.mean(axis=0)] if len(points) > 2 else []
            spans = [*points, *pairs, *whole]
            for place, point in enumerate(spans):
                names.append(f"{row} {text} {place}")
                self.points[names[-1]] = point
            counts.append(len(points))
            n_spans.append(len(spans))
        return RowSpans(m, counts, n_spans, names)

    def distances(self, row):
        """Distances of the sentences of a row from its spans."""
        points = np.stack([self.points[name] for name in row.texts])
        return np.linalg.norm(points[row.sentences][:, None] - points, axis=-1)

    def support(self):
        return sentence_support(self.rows, self.distances, plain)

    def plain_rows(self):
        """The rows as the slow loop takes them."""
        rows = []
        for row in self.rows:
            texts, first = [], 0
            for n_sentences, n_spans in zip(row.n_sentences, row.n_spans, strict=True):
                spans = row.texts[first : first + n_spans]
                texts.append((spans[:n_sentences], spans))
                first += n_spans
            rows.append((texts[: row.n_candidates], texts[row.n_candidates :]))
        return rows

    def distance(self, first, second):
        return float(np.linalg.norm(self.points[first] - self.points[second]))

    def faults(self, *, level=0.95):
        """Both faults of support, with tests."""
        support = self.support()
        found = {}
        for name, is_omitted in (("unsupported_share", False), ("omitted_share", True)):
            blocks = [block.left_out() if is_omitted else block for block in support.blocks()]
            fault = quantile_fault(compared_values(blocks), 1, len(self.rows), None, level)
            splits = SplitFaults(support_groups(blocks), 1, None)
            found[name] = fault._replace(p_value=splits.p_value(0))
        return found


@pytest.mark.parametrize(("m", "n", "most"), [(1, 2, 3), (2, 4, 3), (3, 3, 4), (1, 5, 1)])
def test_shares_equal_the_slow_loop(m, n, most):
    world = World(m, 12, m, n, most, n_wrong=m % 2)
    expected = np.array(text_shares(world.plain_rows(), world.distance))
    faults = world.faults()
    for column, name in enumerate(("unsupported_share", "omitted_share")):
        assert faults[name].share.rows == pytest.approx(expected[:, column], abs=1e-12), name
        assert faults[name].share.people.mean == pytest.approx(0.05, abs=1e-12)


@pytest.mark.parametrize(("m", "n"), [(1, 2), (2, 3), (5, 2)])
def test_texts_of_one_sentence_have_the_shares_of_captions(m, n):
    kept = kept_distances((drawn_distances(np.random.default_rng(0), 40, m, n), m))
    tails = corpus_tails(kept, 0.95, None)
    fault = quantile_fault(compared_values(DistanceSupport(kept).blocks()), 1, 40, None, 0.95)
    unlike = tails.shares["unlike_people_share"]
    assert fault.share.rows == pytest.approx(unlike.rows, abs=1e-12)
    assert fault.share.high == pytest.approx(unlike.high, abs=0.03)
    assert corpus_faults(tails, None, None, [(m, n)] * 40, OPTIONS).kinds["unsupported_share"].share is unlike


@pytest.mark.slow
@pytest.mark.parametrize(("m", "n"), [(1, 2), (3, 3), (1, 6)])
def test_people_give_people_s_share_of_every_kind(m, n):
    """Four standard errors of many rows."""
    for fault in World(n, 1_500, m, n).faults().values():
        error = fault.share.candidates.standard_error + fault.share.people.standard_error
        assert fault.share.value == pytest.approx(0.05, abs=4 * error)


@pytest.mark.parametrize("n_rows", [12, 60])
def test_a_wrong_sentence_is_found_and_true_ones_are_not_named(n_rows):
    faults = World(5, n_rows, 1, 5, n_wrong=1).faults()
    fault, world = faults["unsupported_share"], World(5, n_rows, 1, 5, n_wrong=1)
    shares = np.array([1 / row.n_sentences[0] for row in world.rows])
    assert fault.share.value == pytest.approx(shares.mean(), abs=0.06)
    assert fault.p_value < 0.001
    assert fault.low > 0


def test_the_order_of_rows_changes_nothing():
    world, turned = World(2, 20, 2, 3, n_wrong=1), World(2, 20, 2, 3, n_wrong=1)
    turned.rows.reverse()
    for name, fault in world.faults().items():
        other = turned.faults()[name]
        assert other.p_value == fault.p_value
        assert other.share.rows[::-1] == pytest.approx(fault.share.rows, abs=1e-12)
        assert (other.low, other.high) == pytest.approx((fault.low, fault.high), abs=1e-9)


def test_the_observed_split_has_the_share():
    world = World(3, 15, 2, 4)
    for blocks in (list(world.support().blocks()), [block.left_out() for block in world.support().blocks()]):
        fault = quantile_fault(compared_values(blocks), 1, 15, None, None)
        assert SplitFaults(support_groups(blocks), 1, None).shares(None)[0] == pytest.approx(fault.share.value)


@pytest.mark.slow
@pytest.mark.parametrize(("m", "n", "level"), [(1, 2, 0.2), (1, 4, 0.2), (5, 3, 0.2)])
def test_the_level_of_few_rows(m, n, level):
    """Of 60 corpora of people, 20% in the lowest fifth; four standard errors."""
    p_values = [World(seed, 12, m, n, most=2).faults(level=None)["unsupported_share"].p_value for seed in range(60)]
    assert np.mean(np.array(p_values) <= level) <= level + 4 * math.sqrt(level * (1 - level) / 60)


def test_one_row_of_a_cluster_stands_for_all():
    """Copies of every row say nothing new."""
    world = World(4, 12, 1, 4, n_wrong=0)
    blocks = list(world.support().blocks())
    doubled = [block._replace(rows=block.rows + 12 * copy) for copy in (0, 1) for block in blocks]
    once = SplitFaults(support_groups(blocks), 1, None).p_value(0)
    twice = SplitFaults(support_groups(doubled), 1, [row % 12 for row in range(24)]).p_value(0)
    assert twice == pytest.approx(once, abs=0.1)


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


@pytest.mark.parametrize("text", ["a dog runs", "A dog (wet) runs.", "Dr. Li runs.", "", "狗在跑。"])
def test_captions_of_one_sentence_are_not_divided(text):
    assert are_single_sentences([text, "a cat"], "en")
    assert not are_single_sentences(["a cat", f"{text} A cat sleeps. It rains."], "en")


def test_phrases_are_named():
    rows = [[[["a", "a", "dog"]]], [[["on", "the", "sand", "on", "the", "sand"]]], [[["a", "dog"]]]]
    found = repeated_phrases(sentences_of_rows(rows, [[[["a", "dog"]]]] * 3))
    assert found == [[0, 0, "a a"], [1, 0, "on the sand"]]


def test_a_word_behind_an_unknown_one_costs_what_a_new_continuation_costs_people():
    """One term of the slow model's log ratio is the mean over people's words of log(D t / c)."""
    people = [[["a", "dog", "runs"]], [["a", "cat", "sits"]], [["the", "dog", "sits"]]]
    candidates = [[["a", "wug", "sits"]], [["a", "dog"]], [["a", "dog"]]]
    texts = number_texts(candidates, people)
    scores = sentence_scores(texts, is_tested=True).scores
    words = len({word for row in people for text in row for word in text}) + 1
    masses = []
    for row, texts_of_row in enumerate(people):
        others = [
            ngram for other in people[:row] + people[row + 1 :] for text in other for ngram in caption_ngrams(text)
        ]
        model = LoopModel(others, words)
        for text in texts_of_row:
            for _, before, _ in caption_ngrams(text):
                following = [n for ngram, n in model.counts.items() if len(ngram) == 2 and ngram[0] == before]
                if following:
                    masses.append(math.log(0.75 * len(following) / sum(following)))
    model = LoopModel([ngram for other in people[1:] for text in other for ngram in caption_ngrams(text)], words)
    terms = {ngram: math.log(model.p(ngram) / model.p(ngram[2:])) for ngram in caption_ngrams(candidates[0][0])}
    assert terms["a", "wug", "sits"] == 0
    assert scores[0] == pytest.approx((sum(terms.values()) + np.mean(masses)) / 4)
    assert scores[2] > scores[0]


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


def share_of(rows, people, p_value):
    share = tail_share(np.array(rows), np.array(people), None, len(rows))
    return Fault(share, share.differences.mean - 0.1, share.differences.mean + 0.1, p_value)


def test_faults_add_up_what_lies_beyond_people():
    rows = [0.0, 0.5] * 10
    kinds = {"unsupported_share": share_of(rows, [0.05] * 20, 0.01), "repeated_share": share_of([0.0] * 20, rows, 0.9)}
    faults = CorpusFaults(kinds, 20)
    assert faults.faults == pytest.approx(0.2)
    assert faults.interval() == pytest.approx((0.2 - 0.1 * math.sqrt(2), 0.2 + 0.1 * math.sqrt(2)))
    assert faults.p_value == pytest.approx(0.02)
    result = faults.result(0.95)
    assert math.isnan(result["omitted_share"])
    assert result["repeated_share_of_people"] == 0.25


def test_more_faults_than_another_needs_more_than_people_too():
    many, few = [0.0, 1.0, 1.0, 1.0] * 10, [0.0, 0.0, 0.5, 0.0] * 10
    people = [0.05] * 40
    first, second = (
        CorpusFaults({"unsupported_share": share_of(rows, people, p)}, 40) for rows, p in ((many, 1e-9), (few, 0.1))
    )
    assert more_faults_than(first, second, None) < 0.001
    assert more_faults_than(second, first, None) > 0.9
    assert more_faults_than(first, first, None) == 1.0
    third = CorpusFaults({"unsupported_share": share_of(many, people, 0.2)}, 40)
    assert more_faults_than(third, second, None) == 0.2


def test_the_nearest_span_is_named():
    rows = row_spans([["A dog. A cow runs."]], [["A cat. A cow."]], "en")
    distances = np.array([[0, 9, 9, 2, 1, 3], [9, 0, 9, 5, 4, 0.5]], dtype=float)
    assert nearest_span(rows[0], distances, 0) == "A cow."
    assert nearest_span(rows[0], distances, 1) == "A cat. A cow."


def test_a_text_of_three_sentences_has_six_spans():
    assert len(text_spans("A dog. A cat. It rains.").texts) == 6
    assert text_spans(" A dog. ").texts == [" A dog. "]


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
