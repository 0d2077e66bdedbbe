"""Concept overlap by plain loops: shares of labels, transfer from training captions, files and messages."""

import numpy as np
import pytest

import manycaps
from manycaps.kit import concept_overlap
from manycaps.kit.concept_overlap import WAYS, best_transfer, check_labels, concept_matches, load_labels, row_matches
from manycaps.kit.words_ptb import ptb_tokens
from tests.modules.sample_inputs import CAPTION_ROWS
from tests.oracles import concept_overlap_loop

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
