"""Tables of document frequencies, of n-grams and of CLIP's tokens: what is read, what is refused."""

import json

import pytest

from manycaps import coco, functional, load
from manycaps.catalog import MODULES
from manycaps.command_line import main
from manycaps.kit.clip_scores import TokenFrequency, check_idf, load_token_frequency
from manycaps.kit.ngram_scores import DocumentFrequency, check_document_frequency, load_document_frequency
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
of_every_table = pytest.mark.parametrize("name", TABLES)


@of_every_table
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
        message = "idf[.*]: expected a token of CLIP's vocabulary, such as 'dog</w>'"
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
