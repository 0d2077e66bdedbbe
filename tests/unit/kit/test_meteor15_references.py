"""The best reference of each candidate, in batches of any size; and the results of the module."""

import pytest
from tqdm import tqdm

from manycaps.kit import meteor15_references
from manycaps.kit.meteor15_data import load_meteor15_data
from manycaps.kit.meteor15_references import best_statistics
from manycaps.kit.meteor15_texts import Meteor15Lexicon
from tests.large_packages import evaluate
from tests.meteor15_data import small_lexicon, write_data
from tests.oracles import meteor15_loop
from tests.tools import ROOT

CANDIDATES = [["a big dog runs.", "films"], ["the chef cooks"], [""]]
REFERENCES = [["the large puppy", "a puppy ran", "a dog"], ["a cook, a chef"], ["a couch", ""]]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("meteor15"))


def expected_statistics():
    lexicon = small_lexicon()

    def words(text):
        return meteor15_loop.words_of(meteor15_loop.normalized(text, lexicon))

    return [
        [meteor15_loop.best_statistics(words(text), [words(other) for other in others], lexicon) for text in texts]
        for texts, others in zip(CANDIDATES, REFERENCES, strict=True)
    ]


@pytest.mark.parametrize("size", [1, 4, 57_600])
def test_batches_of_any_size(data, monkeypatch, size):
    monkeypatch.setattr(meteor15_references, "PAIRS_PER_BATCH", size)
    found = best_statistics(CANDIDATES, REFERENCES, Meteor15Lexicon(load_meteor15_data(data, tqdm)), tqdm)
    assert found.tolist() == [statistics for row in expected_statistics() for statistics in row]


def load(**options):
    return evaluate.load(str(ROOT / "metrics" / "meteor15"), **options)


def test_the_module_returns_corpus_mean_and_statistics(data):
    module = load(meteor15_data=str(data), tokenizer="raw")
    result = module.compute(predictions=CANDIDATES, references=REFERENCES, details=True)
    expected = expected_statistics()
    per_candidate = [[meteor15_loop.score_of(statistics) for statistics in row] for row in expected]
    assert result["meteor15_statistics"] == expected
    assert result["meteor15_per_candidate"] == per_candidate
    assert result["meteor15"] == meteor15_loop.corpus_score([statistics for row in expected for statistics in row])
    per_row = [sum(row) / len(row) for row in per_candidate]
    assert result["meteor15_per_row"] == per_row
    assert result["meteor15_mean"] == pytest.approx(sum(per_row) / 3, abs=1e-15)
    assert result["meteor15_mean"] != result["meteor15"]


def test_ptb_tokens_have_no_punctuation(data):
    columns = {"predictions": ["a dog !"], "references": [["a dog"]]}
    module = load(meteor15_data=str(data))
    assert module.compute(**columns)["meteor15"] == 1.0
    assert module.compute(**columns, tokenizer="raw")["meteor15"] < 1.0


def test_swapping_candidates_and_references_changes_the_score(data):
    """Recall weighs more than precision: a candidate that says more is the better one."""
    module = load(meteor15_data=str(data))
    short, long = "a dog", "a dog runs in front of the couch"
    more = module.compute(predictions=[long], references=[[short]])["meteor15"]
    less = module.compute(predictions=[short], references=[[long]])["meteor15"]
    assert more > less
