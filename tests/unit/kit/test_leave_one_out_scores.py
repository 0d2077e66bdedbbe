"""Several hypotheses at once, metrics of embeddings, scores of rows, ready vectors: against the plain functions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manycaps
from manycaps import functional
from manycaps.kit import leave_one_out_draws, leave_one_out_scores
from manycaps.kit.leave_one_out_draws import draws, iteration_values
from manycaps.kit.leave_one_out_scores import Sources, scored_texts
from manycaps.kit.text_ngrams import RowTexts
from tests.each_case import each_case
from tests.oracles import triangle_rank_loop
from tests.refusals import assert_refused

SIZES = st.lists(st.integers(5, 8), min_size=2, max_size=4)
NAMES = ("trm_bert", "mmd_bert", "fid_bert")


def rows_of(sizes, seed=0):
    """Token rows and vectors of them."""
    rng = np.random.default_rng(seed)
    words = np.array("a the dog cat runs red".split())
    tokens = [[list(rng.choice(words, rng.integers(1, 7))) for _ in range(size)] for size in sizes]
    return tokens, [rng.normal(size=(size, 3)) for size in sizes]


def scored(tokens, vectors, metrics, drawn, estimator="unbiased"):
    tables = scored_texts(tokens, metrics, Sources(None, None, lambda: vectors, estimator))
    return iteration_values(tables, RowTexts(map(len, tokens)), drawn)


def drawn_of(tokens, n_iterations, n_references, n_hypotheses, seed=0):
    names = [[str(text) for text in row] for row in tokens]
    return list(draws(names, RowTexts(map(len, tokens)), n_iterations, n_references, seed, n_hypotheses))


def places_of(tokens, draw):
    """Of each row the places of its hypotheses and of its references."""
    texts = RowTexts(map(len, tokens))
    position, other = texts.members(np.arange(len(tokens)), draw.references)
    return [
        ((draw.hypotheses[i] - texts.first[i]).tolist(), (other[position == i] - texts.first[i]).tolist())
        for i in range(len(tokens))
    ]


def set_values(vectors, hypotheses, references, estimator):
    """TRM, MMD and the Fréchet distance of one row, by the loop and by the plain functions."""
    n, sides = len(hypotheses), [vectors[[*rows]][None] for rows in (hypotheses, references)]
    distances = functional.cosine_distances(np.concatenate(sides, axis=1))[0]
    ranks = triangle_rank_loop.statistic(distances, range(n), range(n, len(distances)), "per_side")
    values = {"trm_bert": ranks, "mmd_bert": functional.mmd_squared(*sides, estimator=estimator)[0]}
    if n > 1:
        values["fid_bert"] = functional.frechet_squared(*sides)[0]
    return values


@settings(max_examples=25, deadline=None)
@given(SIZES, st.sampled_from([1, 2, 3]), st.sampled_from([None, 2]), st.integers(0, 99))
def test_sets_equal_the_plain_functions(sizes, n_hypotheses, n_references, seed):
    tokens, vectors = rows_of(sizes, seed)
    drawn = drawn_of(tokens, 2, n_references, n_hypotheses)
    estimator = "biased" if n_hypotheses == 1 else "unbiased"
    names = NAMES[: 2 if n_hypotheses == 1 else 3]
    found = scored(tokens, vectors, names, drawn, estimator)
    expected = [
        [set_values(row, *places, estimator) for row, places in zip(vectors, places_of(tokens, draw), strict=True)]
        for draw in drawn
    ]
    for name in names:
        matrix = np.array([[row[name] for row in of_draw] for of_draw in expected])
        assert found.corpus[name] == pytest.approx(matrix.mean(axis=1), abs=1e-12)
        if n_hypotheses > 1 or n_references is not None:
            assert found.rows[name] == pytest.approx(matrix.mean(axis=0), abs=1e-12)


def test_parts_do_not_matter(monkeypatch):
    tokens, vectors = rows_of([5, 7, 5, 6])
    drawn = drawn_of(tokens, 3, None, 2)
    whole = scored(tokens, vectors, NAMES, drawn)
    assert leave_one_out_draws.MAX_PAIRS == leave_one_out_scores.MAX_PAIRS
    monkeypatch.setattr(leave_one_out_scores, "MAX_PAIRS", 1)
    parts = scored(tokens, vectors, NAMES, drawn)
    for name in NAMES:
        assert parts.corpus[name] == pytest.approx(whole.corpus[name], abs=1e-12)


def test_the_frechet_distance_of_equal_texts_is_zero_far_from_the_origin():
    vectors = np.full((4, 3), 1e8)
    products = leave_one_out_scores.inner_products(vectors)[None]
    assert leave_one_out_scores.frechet_of_products(products, 2).tolist() == [0.0]


@pytest.mark.parametrize("n_references", [None, 2])
def test_several_hypotheses_are_one_corpus(n_references):
    tokens, vectors = rows_of([5, 6, 7], seed=3)
    (draw,) = drawn_of(tokens, 1, n_references, 2)
    found = scored(tokens, vectors, ("bleu", "rouge_l", "cider_d"), [draw])
    places = places_of(tokens, draw)
    sides = [[[row[j] for j in side[k]] for row, side in zip(tokens, places, strict=True)] for k in (0, 1)]
    bleu = functional.corpus_bleu(*sides)
    assert [found.corpus[f"bleu_{n}"][0] for n in (1, 2, 3, 4)] == pytest.approx(bleu, abs=1e-12)
    assert found.corpus["rouge_l"][0] == pytest.approx(functional.rouge_l(*sides).mean(), abs=1e-12)
    cider_d = functional.cider_d(*sides)
    assert found.corpus["cider_d"][0] == pytest.approx(cider_d.mean(), abs=1e-9)
    assert found.rows["cider_d"] == pytest.approx(np.asarray(cider_d).reshape(3, -1).mean(axis=1), abs=1e-9)


def test_hypotheses_are_drawn_without_replacement():
    tokens = rows_of([5, 6])[0]
    texts, counts = RowTexts([5, 6]), np.zeros(11)
    for draw in drawn_of(tokens, 300, 2, 3):
        references = texts.members(np.arange(2), draw.references)[1].tolist()
        used = [*draw.hypotheses.ravel().tolist(), *references]
        assert len(set(used)) == len(used) == 10
        assert (texts.row[draw.hypotheses] == [[0], [1]]).all()
        counts[draw.hypotheses] += 1
    assert counts[:5] == pytest.approx(180, abs=4 * math.sqrt(300 * 0.24))
    assert counts[5:] == pytest.approx(150, abs=4 * math.sqrt(300 * 0.25))


DATA = [
    ["a dog runs on the beach", "a brown dog plays in the sand", "two people watch a dog", "the dog runs"],
    ["alone"],
    ["a man cooks", "a man flips a pancake", "a father makes breakfast", "pancakes in a pan"],
]


def letters(captions):
    """Counts of letters: a stand-in for an encoder."""
    return np.array([[float(caption.count(letter)) for letter in "adeinost"] for caption in captions])


@pytest.fixture(scope="module")
def module():
    return manycaps.load("vdtk_leave_one_out", n_iterations=20)


def test_ready_vectors_are_those_of_an_encoder(module):
    options = {"metrics": ("rouge_l", *NAMES), "n_hypotheses": 2, "details": True}
    ready = module.compute(data=DATA, data_embeddings=[letters(row) for row in DATA], **options)
    encoded = module.compute(data=DATA, encoder=letters, **options)
    assert encoded.pop("signature").endswith("|encoder:letters|seed:0")
    assert ready.pop("signature").endswith(
        "n_hypotheses:2|tokenizer:ptb|head_share:1.0|estimator:unbiased|encoder:ready arrays|seed:0"
    )
    assert ready.pop("rouge_l_per_row") == pytest.approx(encoded.pop("rouge_l_per_row"), nan_ok=True)
    for key, value in ready.items():
        assert encoded[key] == pytest.approx(value, nan_ok=True), key


def test_scores_of_rows_are_means_of_their_captions(module):
    rows = [row for row in DATA if len(row) > 1]
    result = module.compute(data=DATA, metrics=("bleu", "rouge_l"), details=True)
    tokens = [functional.ptb_tokenize(row) for row in rows]
    for key, of_pair in (
        ("bleu_4", lambda caption, others: functional.bleu([[caption]], [others])[0, 3]),
        ("rouge_l", lambda caption, others: functional.rouge_l([[caption]], [others])[0]),
    ):
        expected = [np.mean([of_pair(row[i], row[:i] + row[i + 1 :]) for i in range(len(row))]) for row in tokens]
        assert result[f"{key}_per_row"] == pytest.approx([expected[0], math.nan, expected[1]], abs=1e-12, nan_ok=True)


TRM = {"metrics": ["trm_bert"]}
VECTORS = [np.ones((4, 2)), np.ones((1, 2)), np.ones((4, 2))]

# Options by the message that refuses them; those of a wrong type are a TypeError.
BAD_OPTIONS = {
    "n_hypotheses: expected at least 2 for the metric fid_bert, got 1. Give": {"metrics": ["fid_bert"]},
    "n_hypotheses: expected at least 2 for the metric mmd_bert, got 1. Give n_hypotheses=2, or estimat": {
        "metrics": ["mmd_bert"]
    },
    "n_references: expected at least 2 for the metric trm_bert, got 1. Give n_references=2, or leave t": {
        **TRM, "n_references": 1
    },
    "metrics: expected metrics of tokens where words are masked by pos or head_share, got 'trm_bert'. Leave it": {
        **TRM, "head_share": 0.9
    },
    "data[0]: expected at least 5 captions for bleu, 4 drawn and 1 or more references, got 4 (2 such r": {
        "n_hypotheses": 4
    },
    "n_hypotheses: expected a whole number of at least 1, got 0. Give a larger": {"n_hypotheses": 0},
    "estimator: expected one of 'unbiased', 'biased', 'authors', got 'x'. Check": {"estimator": "x"},
    "data_embeddings: expected one of trm_bert, mmd_bert, fid_bert among the metrics, got bleu, rouge_": {
        "data_embeddings": VECTORS[:1]
    },
    "data_embeddings: expected a list of arrays of shape (n, d), got int. Give one array per row.": {
        **TRM, "data_embeddings": 5
    },
    "data_embeddings: expected one array for each of the 3 rows of data, got 1. Row i of both belongs ": {
        **TRM, "data_embeddings": VECTORS[:1]
    },
    "data_embeddings[1]: expected 1 vectors, as many as captions in data[1], got 2. Give one vector pe": {
        **TRM, "data_embeddings": [VECTORS[0], np.ones((2, 2)), VECTORS[2]]
    },
    "data_embeddings[1]: expected 2 dimensions as in data_embeddings[0], got 3. Use one encoder for al": {
        **TRM, "data_embeddings": [VECTORS[0], np.ones((1, 3)), VECTORS[2]]
    },
    "data[2][0]: expected an embedding that is not all zeros, which has no cosine (4 such captions in ": {
        **TRM, "data_embeddings": [*VECTORS[:2], np.zeros((4, 2))]
    },
}  # fmt: skip


@each_case(("message", "options"), BAD_OPTIONS.items(), ids=list(BAD_OPTIONS))
def test_messages(module, options, message):
    error = TypeError if isinstance(options.get("data_embeddings"), int) else ValueError
    assert_refused(error, message, module.compute, data=DATA, **options)


def test_rows_added_before_are_not_mixed_with_ready_vectors():
    module = manycaps.load("vdtk_leave_one_out", metrics=["trm_bert"])
    module.add_batch(data=DATA)
    message = "data_embeddings: expected all rows in this call, got rows added before"
    vectors = [letters(row) for row in DATA]
    assert_refused(ValueError, message, module.compute, data=DATA, data_embeddings=vectors)
