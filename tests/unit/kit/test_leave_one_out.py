"""Leave-one-out by hand, by the COCO caption code and by the plain functions: draws, scores, masking, messages."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge
from tqdm import tqdm

import manycaps
from manycaps import functional
from manycaps.kit import leave_one_out, ngrams
from manycaps.kit.leave_one_out import (
    Sources,
    check_interval,
    check_metrics,
    count_statistics,
    draws,
    iteration_values,
    mask_captions,
    summary,
    without_tail,
)
from manycaps.kit.meteor15_data import load_lexicon
from manycaps.kit.ngrams import NgramIndex, RowTexts
from manycaps.kit.ngrams_cider import drawn_cider_d
from tests.meteor15_data import write_data
from tests.oracles import triangle_rank_loop
from tests.refusals import assert_refused

NAMES = ("trm_bert", "mmd_bert", "fid_bert")


WORDS = "a the dog cat runs red".split()


ROWS = st.lists(st.lists(st.lists(st.sampled_from(WORDS), max_size=8), min_size=2, max_size=5), min_size=2, max_size=4)


SIZES = st.lists(st.integers(5, 8), min_size=2, max_size=4)


class SuffixLexicon:
    """Stems without an s, and no synonyms."""

    def stem(self, word):
        return word.removesuffix("s")

    def synonyms(self, stem):
        return frozenset()


def rows_of(sizes, seed=0):
    """Token rows and vectors of them."""
    rng = np.random.default_rng(seed)
    tokens = [[list(rng.choice(WORDS, rng.integers(1, 7))) for _ in range(size)] for size in sizes]
    return tokens, [rng.normal(size=(size, 3)) for size in sizes]


def score_draws(tokens, vectors, metrics, drawn, estimator="unbiased", meteor15=None):
    sources = Sources(SuffixLexicon, lambda: meteor15, lambda: vectors, estimator)
    return iteration_values(count_statistics(tokens, metrics, sources), RowTexts(map(len, tokens)), drawn)


def score_once(tokens, draw, metrics, meteor15=None):
    """Values of one iteration by metrics of tokens."""
    values = score_draws(tokens, None, metrics, [draw], meteor15=meteor15)
    return {key: value for key, (value,) in values.corpus.items()}


def draws_of(tokens, n_iterations, n_references, n_hypotheses=1, seed=0):
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


def as_columns(tokens, draw):
    """Hypotheses and references of every row of a draw, as token lists."""
    places = places_of(tokens, draw)
    return [[[row[j] for j in side[k]] for row, side in zip(tokens, places, strict=True)] for k in (0, 1)]


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
    drawn = draws_of(tokens, 2, n_references, n_hypotheses)
    estimator = "biased" if n_hypotheses == 1 else "unbiased"
    names = NAMES[: 2 if n_hypotheses == 1 else 3]
    found = score_draws(tokens, vectors, names, drawn, estimator)
    expected = [
        [set_values(row, *places, estimator) for row, places in zip(vectors, places_of(tokens, draw), strict=True)]
        for draw in drawn
    ]
    for name in names:
        matrix = np.array([[row[name] for row in draw_rows] for draw_rows in expected])
        assert found.corpus[name] == pytest.approx(matrix.mean(axis=1), abs=1e-12)
        if n_hypotheses > 1 or n_references is not None:
            assert found.rows[name] == pytest.approx(matrix.mean(axis=0), abs=1e-12)


def test_parts_do_not_matter(monkeypatch):
    tokens, vectors = rows_of([5, 7, 5, 6])
    drawn = draws_of(tokens, 3, None, 2)
    whole = score_draws(tokens, vectors, NAMES, drawn)
    monkeypatch.setattr(leave_one_out, "MAX_PAIRS", 1)
    parts = score_draws(tokens, vectors, NAMES, drawn)
    for name in NAMES:
        assert parts.corpus[name] == pytest.approx(whole.corpus[name], abs=1e-12)


def test_the_frechet_distance_of_equal_texts_is_zero_far_from_the_origin():
    vectors = np.full((4, 3), 1e8)
    products = leave_one_out.inner_products(vectors)[None]
    assert leave_one_out.frechet_of_products(products, 2).tolist() == [0.0]


@pytest.mark.parametrize("n_references", [None, 2])
def test_several_hypotheses_are_one_corpus(n_references):
    tokens, vectors = rows_of([5, 6, 7], seed=3)
    (draw,) = draws_of(tokens, 1, n_references, 2)
    found = score_draws(tokens, vectors, ("bleu", "rouge_l", "cider_d"), [draw])
    sides = as_columns(tokens, draw)
    bleu = functional.corpus_bleu(*sides)
    assert [found.corpus[f"bleu_{n}"][0] for n in (1, 2, 3, 4)] == pytest.approx(bleu, abs=1e-12)
    assert found.corpus["rouge_l"][0] == pytest.approx(functional.rouge_l(*sides).mean(), abs=1e-12)
    cider_d = functional.cider_d(*sides)
    assert found.corpus["cider_d"][0] == pytest.approx(cider_d.mean(), abs=1e-9)
    assert found.rows["cider_d"] == pytest.approx(np.asarray(cider_d).reshape(3, -1).mean(axis=1), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(ROWS, st.sampled_from([None, 1, 2]))
def test_an_iteration_equals_the_coco_caption_code(rows, n_references):
    (draw,) = draws_of(rows, 1, n_references)
    hypotheses, references = as_columns(rows, draw)
    assume(any(tokens for row in references for tokens in row))  # else the COCO caption code fails
    values = score_once(rows, draw, ("bleu", "rouge_l", "cider_d", "meteor"))
    theirs = [{i: [" ".join(t) for t in row] for i, row in enumerate(column)} for column in (references, hypotheses)]
    bleu = Bleu(4).compute_score(*theirs, verbose=0)[0]
    assert [values[f"bleu_{n}"] for n in (1, 2, 3, 4)] == pytest.approx(bleu, abs=1e-12)
    assert values["rouge_l"] == pytest.approx(Rouge().compute_score(*theirs)[0], abs=1e-12)
    assert values["cider_d"] == pytest.approx(Cider().compute_score(*theirs)[0], abs=1e-12)
    meteor = functional.meteor(hypotheses, references, SuffixLexicon())
    assert values["meteor"] == pytest.approx(meteor.mean(), abs=1e-12)


@pytest.mark.parametrize("n_references", [None, 2])
def test_meteor15_and_triangle_ranks_of_an_iteration(tmp_path, n_references):
    rows = [["a big dog runs", "a large puppy ran", "the dog", "a dog"], ["the movie", "the film", "a film", "films"]]
    rows = [[text.split() for text in row] for row in rows]
    data = write_data(tmp_path)
    (draw,) = draws_of(rows, 1, n_references, seed=3)
    values = score_once(rows, draw, ("meteor15", "trm_meteor", "trm_cider"), load_lexicon(data, tqdm))
    hypotheses, references = as_columns(rows, draw)
    # Of two rows with as many words the corpus is not the mean: the module meteor15 has it.
    columns = {"predictions": hypotheses, "references": references}
    joined = {name: [[" ".join(tokens) for tokens in row] for row in column] for name, column in columns.items()}
    expected = manycaps.load("meteor15", meteor15_data=data).compute(**joined)["meteor15"]
    assert values["meteor15"] == pytest.approx(expected, abs=1e-12)
    assert expected > 0
    texts = [[*h, *r] for h, r in zip(hypotheses, references, strict=True)]
    distances = functional.meteor_distances(texts, SuffixLexicon())
    each = [triangle_rank_loop.statistic(d, [0], range(1, len(d)), "per_side") for d in distances]
    assert values["trm_meteor"] == pytest.approx(np.mean(each), abs=1e-12)
    assert 0 <= values["trm_cider"] <= 4 / 3


def test_parts_of_cider_d_do_not_matter(monkeypatch):
    rows = [[["a", "dog", "runs"], ["a", "dog"], ["the", "dog", "runs"]], [["a", "cat"], ["a", "cat", "runs"]]]
    (draw,) = draws_of(rows, 1, None)
    whole = drawn_cider_d(NgramIndex.of_sets(rows), draw.hypotheses[:, 0], draw.references)
    monkeypatch.setattr(ngrams, "MAX_TERMS", 1)
    assert drawn_cider_d(NgramIndex.of_sets(rows), draw.hypotheses[:, 0], draw.references) == pytest.approx(
        whole, abs=1e-15
    )


@pytest.mark.parametrize(
    ("sizes", "n_hypotheses", "n_references", "n_drawn"),
    [([3, 2], 1, None, [2, 1]), ([6, 2], 1, 3, [3, 1]), ([5, 6], 3, 2, [2, 2])],
)
def test_draws_take_every_caption_equally_often_and_none_twice(sizes, n_hypotheses, n_references, n_drawn):
    rows, texts, n = [[f"{i} {k}" for k in range(size)] for i, size in enumerate(sizes)], RowTexts(sizes), 600
    hypotheses, others = np.zeros(sum(sizes)), np.zeros(sum(sizes))
    for draw in draws(rows, texts, n, n_references, 1, n_hypotheses):
        position, members = texts.members(np.arange(2), draw.references)
        assert np.bincount(position).tolist() == n_drawn
        assert (texts.row[draw.hypotheses] == [[0], [1]]).all()
        assert len({*members.tolist(), *draw.hypotheses.ravel().tolist()}) == sum(n_drawn) + 2 * n_hypotheses
        hypotheses[draw.hypotheses] += 1
        others[members] += 1
    for counted, shares in ((hypotheses, [n_hypotheses] * 2), (others, n_drawn)):
        expected = np.repeat([share / size for share, size in zip(shares, sizes, strict=True)], sizes)
        assert counted == pytest.approx(n * expected, abs=4 * np.sqrt(n / 4))


def test_what_is_drawn_for_a_row_does_not_depend_on_its_place():
    rows = [["a", "b", "c"], ["d", "e"], ["a", "b", "c"]]
    first = [d.hypotheses[:, 0] for d in draws(rows, RowTexts([3, 2, 3]), 60, None, 0)]
    second = [d.hypotheses[:, 0] for d in draws(rows[1:] + rows[:1], RowTexts([2, 3, 3]), 60, None, 0)]
    places = np.array(first) - [0, 3, 5]
    assert (places == (np.array(second) - [0, 2, 5])[:, [1, 0, 2]]).all()
    assert (places[:, 0] != places[:, 2]).any()  # equal rows draw independently
    other = [d.hypotheses[:, 0] for d in draws(rows, RowTexts([3, 2, 3]), 60, None, 1)]
    assert not np.array_equal(first, other)


def test_one_iteration_has_no_standard_error():
    assert summary([0.5], 0.95)[:3] == (0.5, 0.5, 0.5)
    assert np.isnan(summary([0.5], 0.95)[3])


TAGS = {"a": "DET", "the": "DET", "red": "ADJ", "dog": "NOUN", "runs": "VERB", "rex": "PROPN", ".": "PUNCT"}


def tag_words(caption):
    return [(word, TAGS[word.lower()]) for word in caption.replace(".", " .").split()]


def test_nouns_proper_nouns_and_verbs_are_masked_and_nothing_else():
    rows = [["A dog runs.", "the red dog"], ["Rex runs"]]
    masked = mask_captions(rows, tag_words)
    tokens = functional.ptb_tokenize([caption for row in masked for caption in row])
    assert [["unknown" if t.startswith("unknown") else t for t in row] for row in tokens] == [
        ["a", "unknown", "unknown"],
        ["the", "red", "unknown"],
        ["unknown", "unknown"],
    ]
    unknown = [token for row in tokens for token in row if token.startswith("unknown")]
    assert len(set(unknown)) == len(unknown) == 5
    # No unknown is a word of the captions.
    words = mask_captions([["unknown0x dog"]], lambda c: [("unknown0x", "ADJ"), ("dog", "NOUN")])
    assert words == [["unknown0x  unknownq0x "]]
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("attribute_ruler")
    for word, tag in TAGS.items():
        ruler.add(patterns=[[{"LOWER": word}]], attrs={"POS": tag})
    assert mask_captions(rows, pipeline) == masked


def test_the_tail_becomes_unknown():
    rows = [[["a", "dog"], ["a", "cat"]], [["a", "dog"], ["b"]]]
    # 7 tokens: a (3) and dog (2) make up 5/7; b and cat, once each, are the tail.
    assert without_tail(rows, 5 / 7) == [[["a", "dog"], ["a", "unknown0x"]], [["a", "dog"], ["unknown1x"]]]
    assert without_tail(rows, 0.72) == [[["a", "dog"], ["a", "unknown0x"]], [["a", "dog"], ["b"]]]


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
        "|confidence_level:0.95|tokenizer:ptb|head_share:1.0|estimator:unbiased|encoder:ready arrays|seed:0"
    )
    assert ready.pop("rouge_l_per_row") == pytest.approx(encoded.pop("rouge_l_per_row"), nan_ok=True)
    for key, value in ready.items():
        assert encoded[key] == pytest.approx(value, nan_ok=True), key


def test_scores_of_rows_are_means_of_their_captions(module):
    rows = [row for row in DATA if len(row) > 1]
    result = module.compute(data=DATA, metrics=("bleu", "rouge_l"), details=True)
    tokens = [functional.ptb_tokenize(row) for row in rows]
    for key, score in (
        ("bleu_4", lambda caption, others: functional.bleu([[caption]], [others])[0, 3]),
        ("rouge_l", lambda caption, others: functional.rouge_l([[caption]], [others])[0]),
    ):
        expected = [np.mean([score(row[i], row[:i] + row[i + 1 :]) for i in range(len(row))]) for row in tokens]
        assert result[f"{key}_per_row"] == pytest.approx([expected[0], math.nan, expected[1]], abs=1e-12, nan_ok=True)


TRM = {"metrics": ["trm_bert"]}


VECTORS = [np.ones((4, 2)), np.ones((1, 2)), np.ones((4, 2))]


# Options of a call by the message that refuses them.
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
    "data[0]: expected at least 5 captions for bleu, 4 of them drawn, got 4 (2 such r": {
        "n_hypotheses": 4
    },
    "data_embeddings: expected one of trm_bert, mmd_bert, fid_bert among the metrics, got bleu, rouge_": {
        "data_embeddings": VECTORS[:1]
    },
    "data_embeddings: expected one array for each of the 3 rows of data, got 1. Row i of both belongs ": {
        **TRM, "data_embeddings": VECTORS[:1]
    },
    "data_embeddings[1]: expected 1 vectors, one per caption of data[1], got 2. Give one vector pe": {
        **TRM, "data_embeddings": [VECTORS[0], np.ones((2, 2)), VECTORS[2]]
    },
    "data_embeddings[1]: expected 2 dimensions as in data_embeddings[0], got 3. Use one encoder for al": {
        **TRM, "data_embeddings": [VECTORS[0], np.ones((1, 3)), VECTORS[2]]
    },
    "data[2][0]: expected an embedding that is not all zeros, which has no cosine (4 such texts in all": {
        **TRM, "data_embeddings": [*VECTORS[:2], np.zeros((4, 2))]
    },
}  # fmt: skip


@pytest.mark.parametrize(("message", "options"), BAD_OPTIONS.items(), ids=list(BAD_OPTIONS))
def test_options_that_do_not_go_together(module, options, message):
    assert_refused(ValueError, message, module.compute, data=DATA, **options)


def test_rows_added_before_are_not_mixed_with_ready_vectors():
    module = manycaps.load("vdtk_leave_one_out", metrics=["trm_bert"])
    module.add_batch(data=DATA)
    message = "data_embeddings: expected all rows in this call, got rows added before"
    vectors = [letters(row) for row in DATA]
    assert_refused(ValueError, message, module.compute, data=DATA, data_embeddings=vectors)


# Calls with the message that refuses them.
REFUSED = {
    TypeError: [
        (lambda: check_metrics("bleu"), "metrics: expected a list or tuple of names, got str. Give for"),
        (lambda: check_interval(None), "confidence_level: expected a number, got None. Give a float such"),
        (
            lambda: mask_captions([["a dog"]], lambda c: "NOUN"),
            "pos: expected a list of (word, tag) pairs for the caption 'a dog', got 'NOUN'",
        ),
    ],
    ValueError: [
        (lambda: check_metrics(()), "metrics: expected at least one name, got none. Give for example"),
        (lambda: check_metrics(["spice"]), "metrics[0]: expected one of 'bleu', 'rouge_l', 'cider_d', "),
        (lambda: check_metrics(["bleu", "bleu"]), "metrics[1]: expected each metric once, got 'bleu' aga"),
        (
            lambda: mask_captions([["a dog"]], lambda c: [("cat", "NOUN")]),
            "pos: expected the words of the caption 'a dog' in their order, got 'cat'. Return them as they are",
        ),
    ],
}


@pytest.mark.parametrize(
    ("error", "call", "message"), [(error, *case) for error, cases in REFUSED.items() for case in cases]
)
def test_messages(error, call, message):
    assert_refused(error, message, call)
