"""Scores of METEOR 1.5: of any batch, of a corpus, with PTB tokens, and under trm_meteor."""

import numpy as np
import pytest
from tqdm import tqdm

import manycaps
from manycaps.kit import meteor15_scores
from manycaps.kit.meteor15_data import load_meteor15_data
from manycaps.kit.meteor15_scores import best_statistics
from manycaps.kit.meteor15_words import Meteor15Lexicon
from manycaps.kit.words_ptb import ptb_tokenize
from tests.meteor15_data import small_lexicon
from tests.modules.sample_inputs import small_meteor15_data
from tests.oracles import meteor15_loop
from tests.refusals import assert_refused

pytestmark = pytest.mark.usefixtures("own_cache")


# METEOR 1.5 of all pairs of a row and of the best reference, as the modules meteor15 and trm_meteor return them.

ROWS = [
    ["a big dog runs", "the large puppy ran in front of the sofa", "a film, before a movie!", "a big dog runs"],
    ["the chef cooks", "a person near the couch"],
]


SIDES = {"predictions": [ROWS[0][:2]], "references": [ROWS[0][2:]]}


# Nothing matches "films": of references with the score 0 the first counts.
CANDIDATES = [["a big dog runs.", "films"], ["the chef cooks"], [""]]


REFERENCES = [["the large puppy", "a puppy ran", "a dog"], ["a cook, a chef"], ["a couch", ""]]


LEXICON = small_lexicon()


def words(text):
    return meteor15_loop.words_of(meteor15_loop.normalize(text, LEXICON))


def expected_matrix(row):
    texts = [words(" ".join(tokens)) for tokens in row]
    return [
        [meteor15_loop.score_of(meteor15_loop.statistics(hypothesis, reference, LEXICON)) for hypothesis in texts]
        for reference in texts
    ]


def expected_statistics():
    return [
        [meteor15_loop.best_statistics(words(text), list(map(words, others)), LEXICON) for text in texts]
        for texts, others in zip(CANDIDATES, REFERENCES, strict=True)
    ]


def new_lexicon():
    return Meteor15Lexicon(load_meteor15_data(small_meteor15_data(), tqdm))


def load(name="meteor15", **options):
    return manycaps.load(name, meteor15_data=small_meteor15_data(), **options)


@pytest.mark.parametrize("size", [1, 4, 57_600])
def test_batches_of_any_size(monkeypatch, size):
    monkeypatch.setattr(meteor15_scores, "PAIRS_PER_BATCH", size)
    found = best_statistics(CANDIDATES, REFERENCES, new_lexicon(), tqdm)
    assert found.tolist() == [statistics for row in expected_statistics() for statistics in row]


def test_the_module_returns_corpus_mean_and_statistics():
    result = load(tokenizer="raw").compute(predictions=CANDIDATES, references=REFERENCES, details=True)
    expected = expected_statistics()
    per_candidate = [[meteor15_loop.score_of(statistics) for statistics in row] for row in expected]
    assert result["meteor15_statistics"] == expected
    assert result["meteor15_per_candidate"] == per_candidate
    assert result["meteor15"] == meteor15_loop.corpus_score([statistics for row in expected for statistics in row])
    per_row = [sum(row) / len(row) for row in per_candidate]
    assert result["meteor15_per_row"] == per_row
    assert result["meteor15_mean"] == pytest.approx(sum(per_row) / 3, abs=1e-15)
    assert result["meteor15_mean"] != result["meteor15"]


def test_ptb_tokens_have_no_punctuation_and_recall_weighs_more_than_precision():
    module = load()
    columns = {"predictions": ["a dog !"], "references": [["a dog"]]}
    assert module.compute(**columns)["meteor15"] == 1.0
    assert module.compute(**columns, tokenizer="raw")["meteor15"] < 1.0
    # A candidate that says more is the better one.
    short, long = "a dog", "a dog runs in front of the couch"
    more = module.compute(predictions=[long], references=[[short]])["meteor15"]
    assert more > module.compute(predictions=[short], references=[[long]])["meteor15"]


def test_trm_meteor_takes_these_scores_on_request():
    module = load("trm_meteor", meteor="1.5", details=True)
    result = module.compute(**SIDES)
    matrix = np.array(expected_matrix(ptb_tokenize(ROWS[0])))
    assert result["meteor"] == matrix[2:, :2].max(axis=0).mean()
    assert "|meteor:1.5|data:" in result["signature"]
    assert "wordnet" not in result["signature"]
    examined = module.examine(**SIDES, p_value="exact")
    equal = np.array([[i == j or {i, j} == {0, 3} for j in range(4)] for i in range(4)])
    assert examined.pair_values.tolist() == np.where(equal, 0.0, 1.0 - matrix).tolist()
    assert examined.statistic == result["trm_meteor"]
    nltk_result = manycaps.load("trm_meteor", details=True).compute(**SIDES)
    assert "|meteor:nltk-" in nltk_result["signature"]
    assert nltk_result["meteor"] != result["meteor"]
    message = "meteor: expected one of 'nltk', '1.5', got '1.4'. Check the spelling.$"
    assert_refused(ValueError, message, load, "trm_meteor", meteor="1.4")
