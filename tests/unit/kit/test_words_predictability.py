"""Predictability of captions: SLOR against the slow loop, models of other corpora, and influences."""

import json
import math

import numpy as np
import pytest

import manycaps
from manycaps.commands.command_line import main
from manycaps.files.frequency_tables import write_ngram_counts
from manycaps.kit.words_predictability import (
    _changes,
    caption_trigrams,
    load_language_model,
    number_texts,
    sentence_scores,
    wording_rows,
)
from tests.oracles.wording_loop import LoopModel, caption_ngrams, loop_influences, loop_slor
from tests.refusals import assert_refused
from tests.unit.kit.text_cases import exchangeable, len_distance


def drawn_captions(rng, sizes, n_words=12):
    """Captions of a row share a topic; words follow Zipf's law, and some captions have none."""
    chances = 1 / np.arange(1, n_words + 1)

    def caption(topic):
        words = rng.choice(n_words, size=rng.integers(0, 7), p=chances / chances.sum())
        return [f"w{topic if rng.random() < 0.2 else word}" for word in words]

    rows = [[caption(rng.integers(n_words)) for _ in range(m + n)] for m, n in sizes]
    return tuple([row[s] for row, (m, _) in zip(rows, sizes, strict=True)] for s in (slice(0, 1), slice(1, None)))


@pytest.mark.parametrize("clusters", [None, ["a", "b", "a", "c", "c"]])
def test_slor_equals_the_slow_loop(clusters):
    """Rows of several sizes, single references, empty and equal captions, and clusters that are left out together."""
    rng = np.random.default_rng(0)
    candidates, references = drawn_captions(rng, [(1, 1), (1, 4), (1, 2), (1, 3), (1, 2)])
    candidates[1] = [references[1][0], ["unknown", "w1"]]
    rows = wording_rows(candidates, references, clusters)
    np.testing.assert_allclose(rows.slor, loop_slor(candidates, references, clusters), rtol=0, atol=1e-12)
    assert rows.sizes.tolist() == [[1, 1], [2, 4], [1, 2], [1, 3], [1, 2]]
    assert rows.candidate_slor()[1] == rows.slor[2:4].tolist()


def test_model_of_another_corpus_equals_the_slow_loop():
    """No row is in it, so none is subtracted, and no row influences another."""
    candidates, references = [[["a", "dog"]], [["x"]]], [[["a", "cat"]], [["a", "dog", "runs"]]]
    corpus = [["a", "dog", "runs"], ["a", "dog"], ["two", "dogs"]]
    counts = {}
    for trigram in (trigram for text in corpus for trigram in caption_trigrams(text)):
        counts[trigram] = counts.get(trigram, 0) + 1
    rows = wording_rows(candidates, references, model=load_language_model({"n_captions": 3, "trigrams": counts}))
    model = LoopModel([ngram for text in corpus for ngram in caption_ngrams(text)], n_words=6)
    texts = [text for mine, people in zip(candidates, references, strict=True) for text in (*mine, *people)]
    np.testing.assert_allclose(rows.slor, [model.slor(text) for text in texts], rtol=0, atol=1e-12)
    assert not rows.influence.any()


def test_counts_of_a_corpus_are_written_and_read(tmp_path):
    """`manycaps count-ngrams`, whose file is the model of wording, of human_parity and of compare."""
    rows = [{"captions": ["A dog runs.", "a dog"]}, {"captions": ["two dogs"]}]
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    table = write_ngram_counts(str(tmp_path / "train.jsonl"), tmp_path / "model.json", column="captions")
    assert table == json.loads((tmp_path / "model.json").read_text())
    assert (table["n_captions"], table["trigrams"]["  a"], table["trigrams"][" a dog"]) == (3, 2, 2)
    people = [[f"a dog runs to {place}", f"a dog sleeps at {place}"] for place in "abcdefghijkl"]
    columns = {"predictions": [["dog a"]] * 12, "references": people, "details": True}
    wording = manycaps.load("wording", language_model=str(tmp_path / "model.json")).compute(**columns)
    parity = manycaps.load("human_parity", distance=len_distance, language_model=table).compute(**columns)
    assert "|language_model:file" in wording["signature"]
    assert wording["wording_per_candidate"] == parity["wording_per_candidate"]
    assert wording["wording_gap"] == parity["wording_gap"] < 0
    pruned = write_ngram_counts(str(tmp_path / "train.jsonl"), tmp_path / "model.json", column="captions", least=2)
    assert pruned["trigrams"] == {"  a": 2, " a dog": 2}
    sentence = {"raw": "a dog", "tokens": [], "sentid": 0}
    images = [{"filename": name, "split": name, "sentids": [0], "sentences": [sentence]} for name in "ab"]
    (tmp_path / "karpathy.json").write_text(json.dumps({"images": images}))
    of_split = ["--column", "captions", "--split", "b", "--output", str(tmp_path / "model.json")]
    assert main(["count-ngrams", str(tmp_path / "karpathy.json"), *of_split]) == 0
    assert json.loads((tmp_path / "model.json").read_text())["n_captions"] == 1


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"trigrams": {}}, "language_model: expected the layout"),
        ({"n_captions": 1, "trigrams": {"a dog": 1}}, "language_model['a dog']: expected three tokens joined by blan"),
        ({"n_captions": 1, "trigrams": {"  a": 0}}, "language_model[' a']: .* from 1 on, got 0"),
    ],
)
def test_a_bad_language_model_is_refused(table, message):
    assert_refused(ValueError, message, load_language_model, table)


@pytest.mark.slow
def test_influences_are_those_of_adding_and_removing_a_text():
    """To first order: additive over positions, so not equal, but of the same size."""
    rng = np.random.default_rng(1)
    candidates, references = exchangeable(rng, 8, 1, 3, n_words=12)
    exact, rows = np.array(loop_influences(candidates, references)), wording_rows(candidates, references)
    is_reference = rows.is_reference
    assert not rows.influence[~is_reference].any()
    texts = number_texts(candidates, references)
    added = texts.influence(is_reference, _changes(texts.counts, texts.n_words, 1))
    for influences, chosen in ((rows.influence, is_reference), (added, ~is_reference)):
        toggled, influences = exact[chosen], influences[chosen]
        assert np.corrcoef(toggled, influences)[0, 1] > 0.85
        assert np.polyfit(toggled, influences, 1)[0] == pytest.approx(1, abs=0.35)


def test_the_split_of_the_variance_does_not_depend_on_the_order_of_rows_or_texts():
    candidates, references = exchangeable(np.random.default_rng(5), 30, 3, 4)
    whole = wording_rows(candidates, references).covariance.sum()
    rows = wording_rows(candidates[::-1], references[::-1])
    texts = wording_rows([row[::-1] for row in candidates], [row[::-1] for row in references])
    assert [rows.covariance.sum(), texts.covariance.sum()] == pytest.approx([whole] * 2, abs=1e-12)


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
