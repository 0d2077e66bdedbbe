"""Texts of several lines in webdataset tars: captions of their own, or one caption where the JSON beside it says so."""

import json
import warnings

import pytest

from manycaps.commands.command_line import main
from manycaps.files.caption_tables import caption_lists, good_rows, open_captions, open_source
from tests.table_files import write_tar

DENSE = "A dog runs on the beach.\n\nBehind it is the sea.\nThe sky is grey."
LINES = [line for line in DENSE.split("\n") if line]


def write_samples(path, samples):
    return write_tar(path, {f"{i:05}": members for i, members in enumerate(samples)})


def read(path):
    rows = [row.predictions for row in good_rows(open_source([path]).rows())]
    assert list(caption_lists(open_captions([path]))) == rows
    return rows


@pytest.mark.parametrize("is_first", [False, True], ids=["json_last", "json_first"])
@pytest.mark.parametrize(
    ("ending", "facts"),
    [
        ("txt", {"caption": DENSE}),
        ("txt", {"captions": [DENSE]}),
        ("txt", {"caption": DENSE.replace("\n", "\r\n") + "\r\n"}),
        ("caption", {"caption": DENSE}),
        ("text", {"text": DENSE}),
    ],
    ids=["text", "list_of_one", "other_line_ends", "member_of_the_same_name", "text_of_the_same_name"],
)
def test_a_text_that_the_json_has_as_one_caption_is_one(ending, facts, is_first, tmp_path):
    members = [("json", json.dumps(facts)), (ending, DENSE)]
    path = write_samples(tmp_path / "a.tar", [dict(members if is_first else members[::-1])] * 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(path) == [[DENSE]] * 3


@pytest.mark.parametrize(
    "facts",
    [{"caption": LINES[0]}, {"captions": LINES}, {"url": "https://example.org/1.jpg"}],
    ids=["first_line", "list_of_lines", "no_caption"],
)
def test_other_texts_with_empty_lines_are_lines_and_this_is_said(facts, tmp_path):
    path = write_samples(
        tmp_path / "a.tar", [{"txt": DENSE, "json": json.dumps(facts)}] * 3 + [{"txt": "a cat\na dog"}]
    )
    with pytest.warns(UserWarning, match=r"a\.tar: 3 of the first 4 texts have empty lines within, and every "):
        assert read(path) == [LINES] * 3 + [["a cat", "a dog"]]


def test_lines_without_an_empty_one_are_captions_without_a_word(tmp_path, recwarn):
    path = write_samples(tmp_path / "a.tar", [{"txt": "\na cat\na dog\n\n", "json": '{"caption": "a cat"}'}])
    assert read(path) == [["a cat", "a dog"]]
    assert not recwarn.list


@pytest.mark.parametrize(
    "line",
    [
        "diversity dense.tar -o page.html",
        "count-ngrams dense.tar --output counts.json --column txt",
        "score -m bleu_rouge -i dense.tar -o scores --processes 1",
        "splits dense.tar --by length -o splits.json",
    ],
)
def test_commands_warn_of_texts_with_empty_lines(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    facts = json.dumps({"references": ["a dog", "a wet dog"]} if "score" in line else {})
    write_samples(tmp_path / "dense.tar", [{"txt": f"{i} {DENSE}", "json": facts} for i in range(30)])
    assert main(line.split()) == 0, capsys.readouterr().err
    assert capsys.readouterr().err.count("30 of the first 30 texts have empty lines within") == 1
