"""Tables of counts record their tokenizer, and another one in use is refused where they are read."""

import json
import pathlib
import warnings

import pytest

from manycaps.catalog.installed_modules import load
from manycaps.commands.command_line import main
from manycaps.files.frequency_tables import token_table, write_document_counts, write_ngram_counts
from manycaps.kit.clip_emscore import load_token_frequency
from manycaps.kit.errors import InputError
from manycaps.kit.words_tokenizers import check_same_tokenizer
from manycaps.rewards import CiderReward, EnergyReward
from tests.tools import write_jsonl

ROWS = [["a dog runs", "a dog"], ["a cat", "the cat sits"], ["two men walk", "men in the street"]]
OTHER = (
    "expected a table made with the tokenizer 'char', which is in use, got one made with 'ptb'. Give tokenizer='ptb'"
)


@pytest.fixture
def tables(tmp_path):
    file = str(write_jsonl(tmp_path / "a.jsonl", [{"references": row} for row in ROWS]))
    write_document_counts(file, tmp_path / "documents.json")
    write_ngram_counts(file, tmp_path / "ngrams.json")
    return {"document_frequency": tmp_path / "documents.json", "language_model": tmp_path / "ngrams.json"}


def content(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def test_tables_name_their_tokenizer(tables, tmp_path):
    assert [content(path)["tokenizer"] for path in tables.values()] == ["ptb", "ptb"]
    main(
        ["count-document-frequency", str(tmp_path / "a.jsonl"), "--tokenizer", "char", "--output", str(tmp_path / "b")]
    )
    assert content(tmp_path / "b")["tokenizer"] == "char"
    assert token_table(["a dog"])["tokenizer"] == "clip"


@pytest.mark.parametrize(
    ("module", "option", "others"),
    [
        ("cider_d", "document_frequency", {}),
        ("trm_cider", "document_frequency", {}),
        ("set_diversity", "document_frequency", {"kernels": ("ngram",)}),
        ("human_parity", "document_frequency", {"distance": "cider"}),
        ("human_parity", "language_model", {"distance": "meteor"}),
        ("wording", "language_model", {}),
    ],
)
@pytest.mark.parametrize("is_mapping", [False, True], ids=["file", "mapping"])
def test_modules_refuse_a_table_of_another_tokenizer(module, option, others, is_mapping, tables):
    source = content(tables[option]) if is_mapping else str(tables[option])
    given = {"predictions": ROWS, "references": ROWS}
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "document_frequency|language_model")
        load(module, **{option: source}, **others).compute(**given)
        loaded = load(module, **{option: source}, **others)
        with pytest.raises(ValueError, match=rf"^{option}: {OTHER}"):
            loaded.compute(**given, tokenizer="char")
        loaded.compute(**given, tokenizer="none")  # texts that are tokens already


def test_a_table_that_stays_loaded_is_compared_with_the_tokenizer_of_each_call(tables):
    loaded = load("cider_d", document_frequency=str(tables["document_frequency"]))
    loaded.compute(predictions=ROWS, references=ROWS)
    with pytest.raises(ValueError, match=OTHER):
        loaded.compute(predictions=ROWS, references=ROWS, tokenizer="char")


def test_rewards_refuse_a_table_of_another_tokenizer(tables):
    for make in (
        lambda: CiderReward(str(tables["document_frequency"]), tokenizer="char"),
        lambda: EnergyReward("cider", document_frequency=str(tables["document_frequency"]), tokenizer="char"),
        lambda: CiderReward(ROWS, tokenizer="char").with_language_model(str(tables["language_model"])),
    ):
        with pytest.raises(ValueError, match=OTHER):
            make()


def test_a_command_refuses_a_table_of_another_tokenizer(tables, tmp_path, capsys):
    lines = [{"id": str(i), "predictions": row, "references": row} for i, row in enumerate(ROWS)]
    file = str(write_jsonl(tmp_path / "both.jsonl", lines))
    status = main(
        [
            "compare",
            file,
            "--option",
            "tokenizer=char",
            "--option",
            f"language_model={tables['language_model']}",
            "-o",
            str(tmp_path / "c"),
        ]
    )
    assert status
    assert "which is in use, got one made with 'ptb'" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("table", "tokenizer", "message"),
    [
        ({}, "ptb", None),
        ({}, "none", None),
        ({}, None, None),
        ({}, "char", "got one which does not say its tokenizer"),
        ({"tokenizer": "none"}, "char", None),
        ({"tokenizer": "split"}, str.split, None),
        ({"tokenizer": "ptb"}, str.split, "expected a table made with 'split', got one made with 'ptb'"),
    ],
)
def test_what_cannot_be_compared_is_warned_of(table, tokenizer, message):
    if message is None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_same_tokenizer(table, "document_frequency", tokenizer)
    else:
        with pytest.warns(UserWarning, match=message):
            check_same_tokenizer(table, "document_frequency", tokenizer)


def test_clips_table_is_no_table_of_words():
    table = {"n_documents": 2, "tokenizer": "ptb", "document_frequency": {"dog</w>": 1}}
    with pytest.raises(InputError, match="^idf: expected a table of CLIP's tokens, got one made with 'ptb'"):
        load_token_frequency(table, {"dog</w>": 1929})
    clips = {"n_documents": 2, "tokenizer": "clip", "document_frequency": {"a": 1}}
    with pytest.raises(ValueError, match="which is in use, got one made with 'clip'"):
        load("cider_d", document_frequency=clips).compute(predictions=ROWS, references=ROWS)


def test_score_counts_once_and_refuses_metrics_of_different_tokenizers(tmp_path, capsys):
    lines = [{"id": str(i), "predictions": row, "references": row} for i, row in enumerate(ROWS)]
    file = str(write_jsonl(tmp_path / "both.jsonl", lines))
    assert not main(["score", "-i", file, "-m", "cider_d", "--option", "tokenizer=char", "-o", str(tmp_path / "one")])
    assert "does not say" not in capsys.readouterr().err
    options = ["--option", "cider_d.tokenizer=char"]
    assert main(["score", "-i", file, "-m", "trm_cider,cider_d", *options, "-o", str(tmp_path / "two")])
    assert "which is in use, got one made with 'ptb'" in " ".join(capsys.readouterr().err.split())
