"""Tables of frequencies, as commands write them."""

import json

import pytest

from manycaps.commands.command_line import main

ROWS = [{"references": ["a dog", "the dog"]}, {"references": ["a cat"]}]
DOCUMENTS = {
    "n_documents": 2,
    "tokenizer": "ptb",
    "document_frequency": {"a": 2, "dog": 1, "a dog": 1, "the": 1, "the dog": 1, "cat": 1, "a cat": 1},
}
# Each caption is a document.
TOKENS = {
    "n_documents": 3,
    "tokenizer": "clip",
    "document_frequency": {"a</w>": 2, "cat</w>": 1, "the</w>": 1, "dog</w>": 2},
}


@pytest.mark.parametrize(
    ("line", "said", "table"),
    [
        ("count-document-frequency lists.jsonl", "2 documents", DOCUMENTS),
        ("count-document-frequency single.csv --column caption --document image", "2 documents", DOCUMENTS),
        pytest.param(  # imports torch
            "count-token-frequency lists.jsonl --column references",
            "4 tokens in 3 captions",
            TOKENS,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_frequencies_of_rows_and_of_single_captions(line, said, table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lists.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    (tmp_path / "single.csv").write_text("image,caption\n1,a dog\n2,a cat\n1,the dog\n")
    assert main([*line.split(), "--output", "table.json"]) == 0
    assert said in "".join(capsys.readouterr())
    assert json.loads((tmp_path / "table.json").read_text()) == table
