"""N-grams as numbers, and documents: tables of frequencies, warnings, and bits that do not depend on other rows."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manycaps import functional, load
from manycaps.catalog.modules import MODULES
from manycaps.commands.command_line import main
from manycaps.integrations import coco
from manycaps.kit import ngrams
from manycaps.kit.clip_emscore import TokenFrequency, check_idf, load_token_frequency
from manycaps.kit.ngrams import (
    DocumentFrequency,
    NgramIndex,
    RowTexts,
    check_document_frequency,
    document_frequencies,
    load_document_frequency,
    number_keys,
)
from manycaps.kit.ngrams_bleu import bleu_statistics
from manycaps.kit.ngrams_cider import cider_scores
from manycaps.rewards import CiderReward, EnergyReward
from tests.meteor15_data import write_data
from tests.refusals import assert_refused

VOCABULARY = {"a</w>": 320, "dog</w>": 1929, "cat</w>": 2368}


def load_tokens(source):
    return load_token_frequency(source, VOCABULARY)


# By option: how a table is read and checked, an entry, and what the table of this entry is.
TABLES = {
    "document_frequency": (
        load_document_frequency,
        check_document_frequency,
        "a dog",
        DocumentFrequency({"a dog": 1}, 3),
    ),
    "idf": (load_tokens, check_idf, "dog</w>", TokenFrequency({1929: 1}, 3)),
}


every_table = pytest.mark.parametrize("name", TABLES)


@every_table
def test_a_file_and_a_mapping_give_the_same(name, tmp_path):
    load, check, entry, expected = TABLES[name]
    table = {"n_documents": 3, "document_frequency": {entry: 1}}
    path = tmp_path / "table.json"
    path.write_text(json.dumps(table))
    for source in (path, str(path), table):
        check(source)
        assert load(source) == expected
    path.write_bytes(b"\x80\x04\x95pickle")
    assert_refused(ValueError, f"{name}: expected a JSON file, got", load, path)
    assert_refused(ValueError, f"{name}: expected a JSON file, got no file at '/no/such/file'", check, "/no/such/file")
    assert_refused(TypeError, f"{name}: expected .*a path to a JSON file or a mapping, got int", check, 3)


# Tables of n-grams and of tokens are read by one function.
@pytest.mark.parametrize(
    "table",
    [
        {"a": 3},
        {"n_documents": 0, "document_frequency": {}},
        {"n_documents": 3.0, "document_frequency": {"a": 1}},
        {"n_documents": True, "document_frequency": {"a": 1}},
        {"n_documents": 3, "document_frequency": [1]},
    ],
)
def test_another_layout_is_refused(table):
    message = 'document_frequency: expected the layout {"n_documents": 8092'
    assert_refused(ValueError, message, load_document_frequency, table)


@pytest.mark.parametrize("count", [0, 4, 1.5, "2", True])
def test_impossible_counts_are_named(count):
    message = "document_frequency['a dog']: expected a whole number from 1 to n_documents=3, got"
    table = {"n_documents": 3, "document_frequency": {"a dog": count}}
    assert_refused(ValueError, message, load_document_frequency, table)


def test_what_only_one_of_the_tables_refuses():
    single = {"n_documents": 1, "document_frequency": {"a": 1}}
    assert_refused(ValueError, "document_frequency: expected the layout", load_document_frequency, single)
    for token in ("dog", ""):
        table = {"n_documents": 3, "document_frequency": {token: 1}}
        message = "idf[.*]: expected a token of CLIP, such as 'dog</w>'"
        assert_refused(ValueError, message, load_tokens, table)


# Two rows with the same human captions: every n-gram is in both documents, and CIDEr is 0 for the best caption.
SAME = [["a red dog runs", "the dog runs on sand"]] * 2


TOKENS = [[text.split() for text in row] for row in SAME]


COCO = dict(enumerate(SAME))


BEST = {key: own[:1] for key, own in COCO.items()}


def added_pairs():
    scorer = coco.CiderD().cider_scorer
    for own in SAME:
        scorer += (own[0], own)
    return scorer.compute_score()[0]


def parity_rows():
    module = load("human_parity", distance="cider")
    return len(module.rows_of(SAME, SAME, module.load_options).sizes) - 2


WEIGHTLESS = {
    "Cider": lambda: coco.Cider().compute_score(COCO, BEST)[0],
    "CiderD": lambda: coco.CiderD().compute_score(
        COCO, [{"image_id": key, "caption": own} for key, own in BEST.items()]
    )[0],
    "cider_scorer": added_pairs,
    "CiderReward": lambda: CiderReward(SAME)([["a red dog runs"]], SAME[:1])[0, 0],
    "EnergyReward": lambda: EnergyReward("cider", document_frequency=SAME) and 0,
    "functional": lambda: functional.cider_d([row[:1] for row in TOKENS], TOKENS).mean(),
    "trm_cider": lambda: load("trm_cider").compute(predictions=SAME, references=SAME)["cider_d"],
    "cider_d": lambda: load("cider_d").compute(predictions=SAME, references=SAME)["cider_d"],
    "human_parity": parity_rows,
    "set_diversity": lambda: load("set_diversity", kernels=["ngram"]).compute(predictions=SAME, references=SAME) and 0,
    "leave one out": lambda: load("vdtk_leave_one_out", metrics=["cider_d"], n_iterations=2).compute(data=SAME)[
        "cider_d"
    ],
}


@pytest.mark.parametrize("name", WEIGHTLESS)
def test_rows_with_the_same_references_have_no_cider_and_a_warning(name):
    with pytest.warns(UserWarning, match=r"weight is log\(1\) = 0, and so is CIDEr"):
        assert WEIGHTLESS[name]() == 0


def test_coco_caption_warns_of_the_same_references_and_of_no_other_rows(tmp_path, recwarn):
    module = load("coco_caption", meteor15_data=str(write_data(tmp_path)))
    module.compute(predictions=["a dog", "a cat"], references=[["a dog"], ["a cat", "a dog"]])
    assert not [each for each in recwarn if "CIDEr" in str(each.message)]
    with pytest.warns(UserWarning, match=r"^references: expected rows with different captions to count document"):
        assert module.compute(predictions=["a red dog runs"] * 2, references=SAME)["CIDEr"] == 0


def test_commands_that_count_documents_warn_too(tmp_path, capsys):
    lines = [json.dumps({"id": i, "predictions": SAME[0], "references": SAME[0]}) for i in range(3)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for command in (
        ["score", "-m", "trm_cider", "-i", str(tmp_path / "a.jsonl"), "-o", str(tmp_path / "o"), "--processes", "1"],
        ["compare", str(tmp_path / "a.jsonl"), "-m", "trm_cider", "-o", str(tmp_path / "report")],
    ):
        main(command)
        assert capsys.readouterr().err.count("weight is log(1) = 0, and so is CIDEr") == 1, command


def test_every_module_that_counts_documents_is_tried():
    assert {name for name, record in MODULES.items() if record.counts_documents} <= {*WEIGHTLESS, "coco_caption"}


# Masks of texts, and n-grams of candidates and their references.


@pytest.mark.parametrize("sizes", [[1], [3, 1, 2], [64, 65, 1], [130, 2]], ids=lambda sizes: "_".join(map(str, sizes)))
def test_members_are_those_of_the_masks(sizes):
    texts, rng = RowTexts(sizes), np.random.default_rng(0)
    sets = [np.flatnonzero(rng.random(size) < 0.5) for size in sizes]
    group = np.repeat(np.arange(len(sizes)), [len(own) for own in sets])
    masks = texts.masks(group, np.concatenate(sets), len(sizes))
    position, text = texts.members(np.arange(len(sizes)), masks)
    assert [(text[position == i] - texts.first[i]).tolist() for i in range(len(sizes))] == [s.tolist() for s in sets]


@given(st.integers(0, 62), st.data())
def test_keys_are_numbered_as_numpy_numbers_them(bits, data):
    """Small keys are counted, others sorted with their place in them, and those with no bits left by NumPy."""
    keys = np.array(data.draw(st.lists(st.integers(0, 1 << bits), max_size=9)), np.int64)
    for found, expected in zip(number_keys(keys), np.unique(keys, return_inverse=True), strict=True):
        assert found.dtype == np.int64
        assert found.tolist() == expected.tolist()


TEXT = st.lists(st.sampled_from("a the dog cat runs".split()), max_size=9)


ROWS = st.lists(
    st.tuples(st.lists(TEXT, min_size=1, max_size=3), st.lists(TEXT, min_size=1, max_size=4)), min_size=2, max_size=4
)


def index_of(rows):
    return NgramIndex.of_rows(*zip(*rows, strict=True))


@given(ROWS)
def test_rows_by_themselves_have_the_same_bits(rows):
    """Neither the other rows nor what is kept changes a digit."""
    counts = document_frequencies([own for _, own in rows])
    given = {"frequency": ngrams.joined_frequency(counts), "n_documents": len(rows)}
    counted = cider_scores(index_of(rows)).tolist()
    assert cider_scores(index_of(rows), **given).tolist() == counted
    alone = [value for row in rows for value in cider_scores(index_of([row]), **given).tolist()]
    assert alone == counted


def test_nothing_kept_and_every_way_to_sort(monkeypatch):
    rows = [([["a", "dog", "a", "dog"], []], [["a", "dog"], ["dog", "a", "dog"]]), ([["a"]], [["a", "cat", "runs"]])]
    texts = index_of(rows)
    expected = bleu_statistics(texts), cider_scores(texts)
    assert texts.orders(4) is not texts.orders(4)
    monkeypatch.setattr(ngrams, "MOST_KEPT_WORDS", 0)
    monkeypatch.setattr(ngrams, "KEY_BITS", 1)
    texts = index_of(rows)
    for first, second in zip(expected, (bleu_statistics(texts), cider_scores(texts)), strict=True):
        assert first.tolist() == second.tolist()
    assert texts._kept == []
