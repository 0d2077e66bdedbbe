"""CIDEr-D, BLEU and ROUGE-L by hand and by loops, and tables of document frequencies."""

import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manycaps import functional, load
from manycaps.catalog.modules import MODULES
from manycaps.commands.command_line import main
from manycaps.integrations import coco
from manycaps.kit import ngrams, ngrams_rouge
from manycaps.kit.clip_emscore import TokenFrequency, check_idf, load_token_frequency
from manycaps.kit.ngrams import (
    DocumentFrequency,
    NgramIndex,
    check_document_frequency,
    document_frequencies,
    load_document_frequency,
)
from manycaps.kit.ngrams_bleu import CrossBleu, bleu_scores, bleu_statistics
from manycaps.kit.ngrams_cider import cider_d_scores
from manycaps.kit.ngrams_rouge import common_lengths
from manycaps.rewards import CiderReward, EnergyReward
from tests.meteor15_data import write_data
from tests.oracles import bleu_rouge_loop
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


# CIDEr-D distances: what a row is worth does not depend on the rows beside it.

WORDS = "a the dog cat man woman red small runs sits cooks on beach street with and".split()


def test_a_row_has_the_same_bits_alone_and_among_others():
    generator = random.Random(0)
    rows = [[generator.choices(WORDS, k=generator.randint(4, 14)) for _ in range(5)] for _ in range(40)]
    frequencies = document_frequencies(rows)
    together = cider_d_scores(rows, frequencies, len(rows))
    for order in (range(39, -1, -1), generator.sample(range(40), 40)):
        shuffled = cider_d_scores([rows[i] for i in order], frequencies, len(rows))
        assert [scores.tolist() for scores in shuffled] == [together[i].tolist() for i in order]
    alone = [cider_d_scores([row], frequencies, len(rows))[0] for row in rows]
    assert [scores.tolist() for scores in alone] == [scores.tolist() for scores in together]


# BLEU by hand: clipping, lengths and sets by themselves; and each candidate with each row.

TEXT = st.lists(st.sampled_from("abc"), max_size=7)
ROWS = st.lists(st.lists(TEXT, min_size=1, max_size=3), min_size=1, max_size=4)


def test_a_word_matches_as_often_as_one_reference_has_it():
    # Papineni et al. (2002), section 2.1: "the" occurs twice in one reference, once in the other, so 2 of 7 match.
    candidate = ["the"] * 7
    references = ["the cat is on the mat".split(), "there is a cat on the mat".split()]
    statistics = bleu_statistics(NgramIndex.of_rows([[candidate]], [references]))[0]
    assert statistics.tolist() == [2, 0, 0, 0, 7, 6, 5, 4, 7, 7]
    assert bleu_scores(statistics[None])[0, 0] == pytest.approx(2 / 7, abs=1e-9)
    assert bleu_statistics(NgramIndex.of_rows([], [])).shape == (0, 10)


@settings(max_examples=40, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=4), ROWS, st.integers(1, 4))
def test_every_candidate_with_every_row_equals_its_own_score(candidates, rows, order):
    expected = [
        [bleu_scores(bleu_statistics(NgramIndex.of_rows([[candidate]], [row])))[0, order - 1] for row in rows]
        for candidate in candidates
    ]
    found = CrossBleu(candidates, rows, order).scores(0, len(candidates))
    assert found == pytest.approx(np.array(expected), abs=1e-12)


# Longest common subsequences of ROUGE-L, by a loop.


def test_batches_do_not_matter(monkeypatch):
    texts = [list("abcabcabc"[:n]) for n in range(10)] + [["b", "a"] * 30]
    pairs = np.array([(i, j) for i in range(1, 11) for j in range(1, 11)])
    index = NgramIndex.of_sets([texts])
    whole = common_lengths(index, *pairs.T)
    monkeypatch.setattr(ngrams_rouge, "MAX_CELLS", 64)
    assert common_lengths(index, *pairs.T).tolist() == whole.tolist()
    assert whole.tolist() == [bleu_rouge_loop.common_length(texts[i], texts[j]) for i, j in pairs.tolist()]


def test_parts_of_pairs_do_not_matter(monkeypatch):
    rows = [[list("abcabc"[:n]) for n in (1, 4, 6)], [], [list("cab")]], [[list("bca"), list("ab")], [["a"]], [["c"]]]
    whole, statistics = ngrams_rouge.candidate_scores(*rows)
    monkeypatch.setattr(ngrams, "MAX_PAIRS", 3)
    scores, statistics_of_parts = ngrams_rouge.candidate_scores(*rows)
    assert len(list(NgramIndex.of_rows(*rows).pair_parts())) == 3
    assert {key: values.tolist() for key, values in scores.items()} == {key: whole[key].tolist() for key in whole}
    assert statistics_of_parts.tolist() == statistics.tolist()


def test_texts_of_more_words_than_a_number_has_bits(monkeypatch):
    generator = np.random.default_rng(0)
    texts = [generator.choice(list("abc"), n).tolist() for n in (1, 62, 63, 64, 65, 130)]
    pairs = np.array([(i, j) for i in range(6) for j in range(6)])
    expected = [bleu_rouge_loop.common_length(texts[i], texts[j]) for i, j in pairs.tolist()]
    index = NgramIndex.of_sets([texts])
    # A call by itself for each pair, so that short ones meet no long one; then all by Python's numbers.
    assert [common_lengths(index, pair[:1], pair[1:]).tolist()[0] for pair in pairs] == expected
    assert common_lengths(index, *pairs.T).tolist() == expected
    monkeypatch.setattr(ngrams_rouge, "N_BITS", 0)
    assert common_lengths(index, *pairs.T).tolist() == expected
