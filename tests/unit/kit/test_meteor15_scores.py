"""METEOR 1.5 of all pairs of a row, and the option of trm_meteor that asks for it."""

import pathlib

import numpy as np
import pytest
from tqdm import tqdm

from manycaps.kit.meteor15_data import load_meteor15_data
from manycaps.kit.meteor15_scores import meteor15_scores
from manycaps.kit.meteor15_texts import Meteor15Lexicon
from manycaps.kit.text_ptb_tokenizer import tokenize_captions
from tests.large_packages import evaluate
from tests.meteor15_data import small_lexicon, write_data
from tests.oracles import meteor15_loop
from tests.tools import ROOT

ROWS = [
    ["a big dog runs", "the large puppy ran in front of the sofa", "a film, before a movie!", "a big dog runs"],
    ["the chef cooks", "a person near the couch"],
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("meteor15"))


def loop_matrix(row):
    lexicon = small_lexicon()
    words = [meteor15_loop.words_of(meteor15_loop.normalized(" ".join(tokens), lexicon)) for tokens in row]
    return [
        [meteor15_loop.score_of(meteor15_loop.statistics(hypothesis, reference, lexicon)) for hypothesis in words]
        for reference in words
    ]


def test_the_first_index_is_the_reference(data):
    rows = [tokenize_captions(row) for row in ROWS]
    found = meteor15_scores(rows, Meteor15Lexicon(load_meteor15_data(data, tqdm)))
    assert [matrix.tolist() for matrix in found] == [loop_matrix(row) for row in rows]
    assert (found[0] != found[0].T).any()


def load(**options):
    return evaluate.load(str(pathlib.Path(ROOT) / "metrics" / "trm_meteor"), **options)


def test_the_module_takes_these_scores(data):
    module = load(meteor="1.5", meteor15_data=str(data), details=True)
    columns = {"predictions": [ROWS[0][:2]], "references": [ROWS[0][2:]]}
    result = module.compute(**columns)
    matrix = np.array(loop_matrix(tokenize_captions(ROWS[0])))
    assert result["meteor"] == matrix[2:, :2].max(axis=0).mean()
    assert "|meteor:1.5|data:" in result["signature"]
    assert "wordnet" not in result["signature"]
    examined = module.examine(**columns, p_value="exact")
    equal = np.array([[i == j or {i, j} == {0, 3} for j in range(4)] for i in range(4)])
    assert examined.pair_values.tolist() == np.where(equal, 0.0, 1.0 - matrix).tolist()
    assert examined.statistic == result["trm_meteor"]


def test_the_default_is_the_meteor_of_nltk(data):
    columns = {"predictions": [ROWS[0][:2]], "references": [ROWS[0][2:]]}
    module = load(meteor15_data=str(data), details=True)
    assert "|meteor:nltk-" in module.compute(**columns)["signature"]
    assert module.compute(**columns)["meteor"] != module.compute(**columns, meteor="1.5")["meteor"]


def test_another_meteor_is_refused_by_name():
    with pytest.raises(ValueError, match=r"^meteor: expected one of 'nltk', '1.5', got '1.4'. Check the spelling.$"):
        load(meteor="1.4")
