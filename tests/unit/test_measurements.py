"""Measurements by hand and by plain loops: every figure of vdtk_diversity, and concept overlap."""

import math
import re
import sys
import tracemalloc

import numpy as np
import pytest

import manycaps
from manycaps.kit import concept_overlap
from manycaps.kit.concept_overlap import WAYS, best_transfer, check_labels, concept_matches, load_labels, row_matches
from manycaps.kit.diversity_captions import CaptionDiversity, PartOfSpeechCount, SemanticRedundancy
from manycaps.kit.diversity_counts import (
    CaptionNovelty,
    CountDistribution,
    NgramModel,
    RunningMean,
    number_captions,
    row_chunks,
)
from manycaps.kit.ngrams import WordNumbers
from manycaps.kit.words_ptb import ptb_tokens
from manycaps.kit.words_tokenizers import as_tagger, load_spacy_tokenizer
from tests.modules.sample_inputs import CAPTION_ROWS
from tests.oracles import concept_overlap_loop
from tests.refusals import assert_refused


def figures(rows, **options):
    diversity = CaptionDiversity(str.split, **options)
    diversity.update(rows)
    return diversity.figures((0.9,), (10,))


# ---- n-grams ----


def test_without_captions_there_are_no_figures():
    model = NgramModel()
    assert math.isnan(model.effective_vocabulary(2))
    assert math.isnan(model.log_likelihood(2))
    assert math.isnan(RunningMean().value)
    assert all(math.isnan(value) for value in CountDistribution().summary("x").values())


def test_an_empty_caption_is_unseen_where_none_was():
    numbers, model = WordNumbers(), NgramModel()
    model.update(number_captions([[["a"]]], numbers))
    empty = number_captions([[[]]], numbers)
    assert [model.log_likelihoods(empty, order).tolist() for order in (2, 3, 4)] == [[-12.0]] * 3
    model.update(empty)
    assert model.log_likelihoods(empty, 2).tolist() == [math.log(0.5)]


def test_the_least_log_probability_is_minus_twelve():
    # "a" follows the mark in one of 200,001 captions: log(1 / 200,001) = -12.2.
    model = NgramModel()
    model.update(number_captions([[["b"]] * 200_000 + [["a"]]], WordNumbers()))
    rare = model.log_likelihoods(number_captions([[["a"]]], WordNumbers(b=0, a=1)), 2)
    assert rare.tolist() == [-6.0]  # (-12 + 0) / 2
    assert model.log_likelihood(2) == pytest.approx((2e5 * math.log(2e5 / 200_001) / 2 - 6) / 200_001)


# ---- memory ----


def random_rows(seed, n_rows, n_words):
    """Rows of five captions of eight random words."""
    words = np.random.default_rng(seed).integers(0, n_words, (n_rows, 5, 8))
    return [[" ".join(f"w{word}" for word in caption) for caption in row] for row in words.tolist()]


def bytes_in_use(diversity, rows):
    for chunk in row_chunks(rows, 1000):
        diversity.update(chunk)
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.slow
def test_memory_grows_with_new_ngrams_and_not_with_captions():
    diversity, rows = CaptionDiversity(str.split), random_rows(0, 1000, 300)
    tracemalloc.start()
    try:
        twice = bytes_in_use(diversity, rows + rows)  # the tables make room for a chunk of new n-grams beforehand
        twelve_times = bytes_in_use(diversity, (row for _ in range(10) for row in rows))
        other = bytes_in_use(diversity, random_rows(1, 1000, 300))
    finally:
        tracemalloc.stop()
    assert diversity.vocabulary.n_captions == 65_000
    # Nothing is kept of 50,000 captions that bring no new n-gram; 5,000 with new ones take room.
    assert twelve_times - twice < 20_000
    assert other - twelve_times > 500_000


# ---- captions ----


def test_bins_of_novelty():
    # Row 0 has 2 distinct captions of 3, row 1 has 2 of 2: 2/3 lies in 0.65 to 0.7, 1 in the last bin.
    novelty = CaptionNovelty(keep_rows=True)
    novelty.update(number_captions([[["x"], ["x"], ["y"]], [["y"], ["z"]]], WordNumbers()))
    counts, edges = novelty.histogram
    assert (counts[13], counts[19], sum(counts), edges[0], edges[-1]) == (1, 1, 2, 0, 1)


# ---- meaning ----

VECTORS = {"east": [1, 0], "north": [0, 2], "west": [-3, 0], "east again": [5, 0]}


def encoder(captions):
    return np.array([VECTORS[caption] for caption in captions], dtype=np.float32)


def test_distances_by_hand():
    # East to north 1, east to west 2, north to west 1; the second "east" is no other caption.
    redundancy = SemanticRedundancy(encoder, keep_rows=True)
    redundancy.update([["east", "north", "west", "east"], ["east"]])
    per_caption = {kind: mean.value for kind, mean in redundancy.per_caption.items()}
    assert per_caption == pytest.approx(
        {"minimum": 1, "mean": 4 / 3, "maximum": 5 / 3, "variance": 0.5 / 3, "spread": 2 * (0.5 / 1.5) / 3}
    )
    per_row = {kind: mean.value for kind, mean in redundancy.per_row.items()}
    assert per_row == pytest.approx(
        {"minimum": 1, "mean": 4 / 3, "maximum": 2, "variance": 2 / 9, "spread": (1 / 3) / (4 / 3)}
    )
    assert np.isnan(redundancy.per_row["minimum"].values).tolist() == [False, True]
    counts, edges = redundancy.histogram("minimum")
    assert counts[50] == 3 == sum(counts)
    assert edges[50] == 1
    assert sum(redundancy.histogram("spread")[0]) == 3


def test_equal_vectors_have_distance_zero_and_equal_captions_none():
    redundancy = SemanticRedundancy(encoder)
    redundancy.update([["east", "east again"]])
    assert redundancy.per_caption["minimum"].value == 0
    assert math.isnan(redundancy.per_caption["spread"].value)
    assert redundancy.histogram("minimum")[0][0] == 2
    result = figures([["east"], ["west", "west"]], encoder=encoder)
    assert math.isnan(result["caption_distance_minimum"])
    assert math.isnan(result["row_distance_variance"])
    assert result["n_rows_with_distances"] == result["n_captions_with_distances"] == 0


def test_a_vector_of_zeros_is_named():
    message = "encoder: expected vectors that are not all zeros, got zeros for the caption 'b' (1 such"
    with pytest.raises(ValueError, match=re.escape(message)):
        SemanticRedundancy(lambda _: np.array([[1.0], [0.0]])).update([["a", "b"]])


# ---- parts of speech ----

TAGS = {"dog": "NOUN", "rex": "PROPN", "runs": "VERB", "is": "AUX", "a": "DET", "cat": "NOUN"}


def tag_words(caption):
    return [(word, TAGS[word]) for word in caption.split()]


def test_parts_of_speech_by_hand():
    result = figures([["a dog runs", "rex is a dog"], ["a cat"]], tagger=as_tagger(tag_words))
    assert (result["noun_n_types"], result["noun_n_tokens"], result["verb_n_types"]) == (3, 4, 1)
    assert (result["noun_head_90"], result["verb_head_90"]) == (3, 1)
    assert result["noun_tokens_per_caption"] == pytest.approx(4 / 3)
    assert result["verb_tokens_per_caption"] == pytest.approx(1 / 3)
    # Nouns of row 0: dog twice, rex once; of row 1: cat.
    assert result["noun_within_row_uniqueness_of_tokens"] == pytest.approx((1 / 3 + 1) / 2)
    assert result["noun_between_row_uniqueness_by_count"] == pytest.approx((1 / 3 + 1) / 2)
    assert result["verb_n_rows_with_tokens"] == 1


def test_spacy_pipelines_count_lemmas_or_words(tmp_path):
    spacy = pytest.importorskip("spacy", reason="spaCy is optional and not installed")

    @spacy.Language.component("tag_by_table")
    def tag_by_table(document):
        for token in document:
            token.pos_ = TAGS.get(token.lower_, "X")
            token.lemma_ = "run" if token.lower_ == "runs" else ""
        return document

    pipeline = spacy.blank("en")
    with pytest.raises(ValueError, match=r"pos: expected a pipeline that sets parts of speech, got none for 'a dog'"):
        list(as_tagger(pipeline)(["a dog"]))
    pipeline.add_pipe("tag_by_table")
    count = PartOfSpeechCount(as_tagger(pipeline))
    count.update([["A Dog runs", "Rex is a dog", "A Dog runs"]])
    assert count.parts["noun"].counts.tolist() == [3, 1]
    assert list(count._word_numbers["verb"]) == ["run"]
    assert list(count._word_numbers["noun"]) == ["dog", "rex"]
    # By its name.
    pipeline.to_disk(tmp_path / "tagger")
    assert list(as_tagger(str(tmp_path / "tagger"))(["a dog"])) == [[("a", "DET"), ("dog", "NOUN")]]
    assert_refused(ValueError, "pos: expected the name of an installed spaCy pipeline, ", as_tagger, "no_such_pipeline")
    assert load_spacy_tokenizer()("A  Dog.") == ["a", " ", "dog", "."]


def test_without_spacy_the_message_has_the_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    message = r"tokenizer='spacy': expected the package spacy, got none\. Run `pip install sp"
    with pytest.raises(ImportError, match=message):
        CaptionDiversity("spacy")
    assert_refused(ImportError, ".*pos='en_core_web_sm': expected the package spacy", as_tagger, "en_core_web_sm")


@pytest.mark.parametrize("tags", [3, ["dog"], [("dog",)], [("dog", 3)], "dog"])
def test_bad_tags_are_named(tags):
    with pytest.raises(TypeError) as error:
        list(as_tagger(lambda _: tags)(["a dog"]))
    assert str(error.value).startswith("pos: expected a list of (word, tag) pairs for the caption 'a dog', got ")


# Concept overlap by hand and by a plain loop: ways to match, files of labels, the best transfer, messages.

LABELS = ["dog", "pancake", "red kite", "running dog", "train, railroad train", "platforms", "cat", "s", "the station"]
ROWS = CAPTION_ROWS["references"]


@pytest.mark.parametrize("way", WAYS)
def test_shares_equal_a_plain_loop(way):
    labels = load_labels("x", LABELS)
    found = row_matches(ROWS, labels, way).sum(axis=1) > 0
    assert found.mean() == concept_overlap_loop.share(ROWS, labels, way)
    each = [concept_overlap_loop.share(ROWS, [names], way) > 0 for names in labels]
    assert (row_matches(ROWS, labels, way).sum(axis=0) > 0).tolist() == each


@pytest.mark.parametrize("training", [None, CAPTION_ROWS["predictions"] + ROWS[:1]], ids=["own", "training"])
def test_the_transfer_equals_a_plain_loop(training):
    module = manycaps.load("vdtk_concept_overlap", labels={"x": LABELS}, transfer=True, details=True)
    result = module.compute(data=ROWS, training=training)
    expected = concept_overlap_loop.transfer(ROWS, training or ROWS, load_labels("x", LABELS))
    best = [np.nan if pair is None else pair[0] for pair in expected]
    assert result["x_transfer_bleu_4_per_row"] == pytest.approx(best, abs=1e-12, nan_ok=True)
    assert result["x_transfer_n_rows"] == sum(pair is not None for pair in expected)
    some = [pair for pair in expected if pair]
    assert result["x_transfer_bleu_4"] == pytest.approx(np.mean([pair[0] for pair in some]), abs=1e-12)
    assert result["x_transfer_mean_bleu_4"] == pytest.approx(np.mean([pair[1] for pair in some]), abs=1e-12)


def test_parts_do_not_matter(monkeypatch):
    rows = [[ptb_tokens(caption) for caption in row] for row in ROWS]
    captions = [caption for row in ROWS for caption in row]
    labels = load_labels("x", LABELS)
    given = [ptb_tokens(c) for c in captions], rows, concept_matches(captions, labels, "exact")
    whole = best_transfer(*given, row_matches(ROWS, labels, "exact"))
    monkeypatch.setattr(concept_overlap, "MAX_CELLS", 1)
    parts = best_transfer(*given, row_matches(ROWS, labels, "exact"))
    assert np.array_equal(whole.best, parts.best, equal_nan=True)
    assert whole.n_candidates.tolist() == parts.n_candidates.tolist()


def test_files_are_read_as_they_are_published(tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("n01440764 tench, Tinca tinca\n\n/b/bus_station/indoor 68\nplaying guitar\nPerson\nperson\n")
    assert load_labels("x", path) == [("tench", "tinca tinca"), ("bus station",), ("playing guitar",), ("person",)]
    assert load_labels("x", str(path)) == load_labels("x", path.read_text().splitlines())


def test_no_row_with_a_candidate():
    module = manycaps.load("vdtk_concept_overlap", labels={"x": ["zebra"]})
    result = module.compute(data=ROWS, transfer=True)
    assert (result["x_exact"], result["x_transfer_n_rows"]) == (0.0, 0)
    assert np.isnan(result["x_transfer_bleu_4"])


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (None, TypeError, "labels: expected lists of labels, or files, by name, got NoneType. Give"),
        ({}, ValueError, "labels: expected at least one list, got none. Give for example"),
        ({"a b": ["x"]}, ValueError, "labels: expected names of letters, digits and _, got 'a b'. Rename it"),
        ({"a": 3}, TypeError, "labels['a']: expected a list of texts, or a path, got 3. Write one text"),
        ({"a": [" "]}, ValueError, "labels['a']: expected at least one label, got none. Give texts that are not bl"),
        ({"a": "/no/such"}, ValueError, "labels['a']: expected a text file, one label per line, got '/no/such"),
        ({"a": ["x"], "a_labels": ["y"]}, ValueError, "labels: expected names whose keys differ, got 'a_labels' and "),
        ({"a": [","]}, ValueError, "labels['a']: expected at least one label, got none. Write one per line."),
    ],
    ids=["none", "empty", "name", "number", "blank", "file", "keys", "commas"],
)
def test_messages(labels, error, message):
    with pytest.raises(error) as found:
        [load_labels(*item) for item in (check_labels(labels), *labels.items())[1:]]
    assert str(found.value).startswith(message)
