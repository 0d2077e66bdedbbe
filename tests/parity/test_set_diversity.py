"""set_diversity against vendi-score, the BLEU of the COCO caption code, NLTK, and self-CIDEr as its definition.

Golden values: golden/set_diversity.json, made with vendi-score 0.0.3, pycocoevalcap 1.2 and NLTK. Tolerance 1e-9 for
Vendi scores, whose eigenvalues come from another program, and 1e-12 for BLEU.
"""

import gzip
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import manycaps
from manycaps.functional import utility_k
from manycaps.kit.ngrams import NgramIndex, document_frequencies
from manycaps.kit.ngrams_bleu import corpus_mbleu_4, self_bleu_values, self_statistics
from manycaps.kit.ngrams_cider import document_weights
from manycaps.kit.sets_distinct import (
    feature_eigenvalues,
    ngram_features,
    self_cider_of_features,
    unit_rows,
    vendi_scores,
)
from manycaps.kit.vectors_sentences import ENCODER_DEFAULTS, SentenceEncoder
from tests.golden_folders import OWN_GOLDEN
from tests.oracles import self_cider_loop
from tests.parity.golden.golden_file import caption_rows, token_row

GOLDEN = json.loads((OWN_GOLDEN / "set_diversity.json").read_text(encoding="utf-8"))
ORDERS = {"1": 1, "2": 2, "3": 3, "inf": math.inf}

TOKENS = st.lists(st.sampled_from("a the dog cat runs red".split()), max_size=8)


@pytest.fixture(scope="module")
def sides():
    rows = [token_row(row) for row in caption_rows()]
    return {name: [list(row[side]) for row in rows] for side, name in enumerate(("candidates", "references"))}


def test_vendi_scores_of_ngrams(sides):
    sets = [captions for pair in zip(*sides.values(), strict=True) for captions in pair]
    index, n_compared = NgramIndex.of_sets(sets), 0
    for i, golden in enumerate(GOLDEN["sets"]):
        if "vendi_ngram" in golden:
            found = vendi_scores(feature_eigenvalues(unit_rows(ngram_features(index, i, None))), list(ORDERS.values()))
            assert dict(zip(ORDERS, found, strict=True)) == pytest.approx(golden["vendi_ngram"], abs=1e-9)
            n_compared += 1
    assert n_compared > 100


def test_vendi_scores_of_embeddings():
    vectors = np.load(OWN_GOLDEN / "minilm_embeddings.npz")["embeddings"].astype(np.float64)
    for golden in GOLDEN["vendi_embedding"]:
        own = unit_rows(vectors[golden["first"] : golden["first"] + 10])
        found = vendi_scores(feature_eigenvalues(own), list(ORDERS.values()))
        assert found == pytest.approx([golden[name] for name in ORDERS], abs=1e-9)


def test_the_smaller_gram_matrix_has_the_same_eigenvalues():
    vectors = np.load(OWN_GOLDEN / "minilm_embeddings.npz")["embeddings"].astype(np.float64)
    tall = unit_rows(vectors[:, :20])
    assert np.sort(feature_eigenvalues(tall)) == pytest.approx(np.linalg.eigvalsh(tall @ tall.T), abs=1e-9)


@pytest.mark.parametrize("name", ["mbleu_4", "self_bleu_4"])
@pytest.mark.parametrize("side", ["candidates", "references"])
def test_bleu_of_each_set(sides, side, name):
    found = self_bleu_values(self_statistics(sides[side]))[name]
    assert found == pytest.approx([golden[name] for golden in GOLDEN["sets"] if golden["side"] == side], abs=1e-12)


@pytest.mark.parametrize("side", ["candidates", "references"])
def test_a_module_without_references_has_the_packages_values(sides, side):
    rows = [[" ".join(tokens) for tokens in row] for row in sides[side]]
    module = manycaps.load("set_diversity", kernels=("ngram",), tokenizer=str.split, details=True)
    result = module.compute(predictions=rows)
    golden = [each for each in GOLDEN["sets"] if each["side"] == side]
    assert result["self_bleu_4_per_row"] == pytest.approx([each["self_bleu_4"] for each in golden], abs=1e-9)
    compared = [i for i, each in enumerate(golden) if "vendi_ngram" in each]
    assert len(compared) > 50
    for order in ("1", "2", "inf"):
        found = [result[f"vendi_ngram_{order}_per_row"][i] for i in compared]
        assert found == pytest.approx([golden[i]["vendi_ngram"][order] for i in compared], abs=1e-9)


@pytest.mark.parametrize("side", ["candidates", "references"])
def test_bleu_of_the_corpus(sides, side):
    expected = GOLDEN["corpus_mbleu_4"][side]
    assert corpus_mbleu_4(self_statistics(sides[side])) == pytest.approx(sum(expected) / len(expected), abs=1e-12)


@given(st.lists(st.lists(TOKENS, min_size=1, max_size=4), min_size=2, max_size=4))
def test_self_cider_is_its_definition(sets):
    frequencies = document_frequencies(sets)
    index = NgramIndex.of_sets(sets)
    weights = document_weights(index, len(sets))
    for i, captions in enumerate(sets):
        expected = self_cider_loop.self_cider(captions, frequencies, len(sets))
        # The loop takes roots of eigenvalues, which have errors of 1e-16: of 1e-8 after the root.
        assert self_cider_of_features(ngram_features(index, i, weights)) == pytest.approx(
            expected, abs=1e-6, nan_ok=True
        )


@pytest.fixture(scope="module")
def noveltybench(data_folder):
    with gzip.open(data_folder / "real_systems" / "noveltybench.json.gz") as file:
        return json.load(file)["rows"]


def published_classes(row):
    """Partition of the answers of a prompt, and the quality of each answer: its class's."""
    return np.equal.outer(row["partition"], row["partition"]), [row["partition_scores"][c] for c in row["partition"]]


@pytest.mark.slow
@pytest.mark.realdata
def test_utility_of_the_published_partitions_is_the_published_one(noveltybench):
    classes, quality = zip(*map(published_classes, noveltybench), strict=True)
    published = [row["utility"] for row in noveltybench]
    assert utility_k(classes, 10, quality, "given") == pytest.approx(published, abs=1e-12)
    judged = {
        (first, second): bool(are_equal[i, j])
        for row, are_equal in zip(noveltybench, classes, strict=True)
        for i, first in enumerate(row["generations"])
        for j, second in enumerate(row["generations"])
    }
    answers = [row["generations"] for row in noveltybench]
    options = {"kernels": (), "equivalent": lambda *pair: judged[pair], "answer_order": "given", "quality": quality}
    result = manycaps.load("set_diversity").compute(predictions=answers, references=answers, details=True, **options)
    assert result["quality_utility_k_per_row"] == pytest.approx(published, abs=1e-12)
    assert result["distinct_k"] == pytest.approx(np.mean([len(set(row["partition"])) for row in noveltybench]))


@pytest.mark.realdata
@pytest.mark.slow
@pytest.mark.parametrize(("threshold", "correlation", "n_classes"), [(0.1, 0.57, 3.36), (0.2, 0.49, 2.14)])
def test_classes_by_a_distance_agree_in_part_with_the_published_partitions(
    noveltybench, threshold, correlation, n_classes
):
    """Tolerance: the last digit that the document gives.

    A prompt asks for emoji, of which the encoder knows nothing: given as a function, it may embed them.
    """
    answers, encoder = [row["generations"] for row in noveltybench], SentenceEncoder()

    def embed(texts):
        return encoder.embed(texts, ENCODER_DEFAULTS, lambda steps, **_: steps)

    module = manycaps.load("set_diversity", kernels=(), equivalent=threshold, details=True, encoder=embed)
    result = module.compute(predictions=answers, references=answers)
    published = [len(set(row["partition"])) for row in noveltybench]
    assert np.corrcoef(result["distinct_k_per_row"], published)[0, 1] == pytest.approx(correlation, abs=0.005)
    assert result["distinct_k"] == pytest.approx(n_classes, abs=0.005)
