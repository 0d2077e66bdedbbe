"""Layouts of a new user's tables: lists in a cell, numbered columns, names of columns for one file, empty captions."""

import warnings

import pytest

from manycaps import load
from manycaps.caption_tables import caption_lists, columns, good_rows, open_captions, open_source
from manycaps.command_line import main
from tests.each_case import each_case
from tests.user_files import IDS, N_CAPTIONS, PEOPLE, SYSTEM, faults, layouts, write_lines, write_table


def read(*arguments, **options):
    return list(good_rows(open_source(*arguments, **options).rows()))


@pytest.mark.filterwarnings("ignore:captions. cells hold lists")
@pytest.mark.parametrize("name", ["wide", "json", "python", "numpy", "numpy_list"])
def test_every_layout_gives_the_same_captions(name, tmp_path):
    path = layouts(tmp_path)[name]
    rows = read([path])
    assert [row.id for row in rows] == IDS
    assert [row.predictions for row in rows] == SYSTEM
    assert list(caption_lists(open_captions([path]))) == SYSTEM
    references = write_lines(tmp_path / "people.jsonl", PEOPLE)
    assert [row.predictions for row in read([references], [path])] == PEOPLE
    assert [row.references for row in read([references], [path])] == SYSTEM


def test_numbered_columns_of_both_sides_are_read(tmp_path):
    header = ["id", "prediction_1", "prediction_2", "reference1", "reference2", "reference10"]
    path = write_table(tmp_path / "both.csv", header, [["1", "a", "b", "c", "d", "e"], ["2", "f", "", "g", "", "h"]])
    with pytest.warns(UserWarning, match="is empty") as caught:
        rows = read([path])
    assert [(row.predictions, row.references) for row in rows] == [(["a", "b"], ["c", "d", "e"]), (["f"], ["g", "h"])]
    assert [str(each.message) for each in caught] == [
        f"{path}: 1 of 4 captions is empty, in 1 row, and left out.",
        f"{path}: 1 of 6 captions is empty, in 1 row, and left out.",
    ]
    assert [row.predictions for row in read([path], columns={"predictions": "prediction_1"})] == [["a"], ["f"]]


@each_case(
    "cell",
    ["['a dog', 'a cat'", "['a dog', nan]", '["a dog", 3]', "[['a dog'], ['a cat']]", "['a dog', a cat']", "['\\x']"],
)
def test_a_cell_that_looks_like_a_list_and_is_none_is_refused(cell, tmp_path):
    path = write_table(tmp_path / "a.csv", ["id", "captions"], [["1", "['a dog' 'a cat']"], ["2", cell]])
    with pytest.raises(ValueError, match="looks like a list") as raised, pytest.warns(UserWarning, match="cells hold"):
        read([path])
    assert str(raised.value).startswith(f"{path}, id '2': captions[1]: expected a caption or a list of captions, got ")
    assert str(raised.value).endswith(
        'which looks like a list and cannot be read as one. Write it as JSON, ["a dog", "a cat"], or leave the row out.'
    )


@each_case("cell", ["[music] plays", "[inaudible]", "a 'dog' and a [cat]", "[0.5, 1]"])
def test_a_caption_with_brackets_stays_a_caption(cell, tmp_path):
    path = write_table(tmp_path / "a.csv", ["id", "captions"], [["1", cell]])
    assert [row.predictions for row in read([path])] == [[cell]]


def test_columns_are_named_for_all_files_or_for_one(tmp_path):
    ours = write_table(tmp_path / "ours.csv", ["clip", "answer"], [["1", "a dog"]])
    theirs = write_table(tmp_path / "theirs.csv", ["name", "answer"], [["1", "a cat"]])
    chosen = columns.parsed_columns(f"id=clip,predictions=answer,{theirs}:references=answer,{theirs}:id=name")
    assert [(row.predictions, row.references) for row in read([ours], [theirs], chosen)] == [(["a dog"], ["a cat"])]
    with pytest.raises(
        ValueError, match=r"^--columns: expected one of the files .*ours.csv before the colon, got 'x.csv'\. "
    ):
        open_source([ours], columns={"x.csv": {"id": "clip"}})


@each_case(
    "line",
    [
        "rows empties.jsonl -r people.jsonl --metric rouge_l -o rows.html",
        "splits empties.jsonl --by length -o splits.jsonl",
        "core-set empties.jsonl --test people.jsonl -o core.json",
        "plan empties.jsonl -r people.jsonl --distance cider",
        "diversity empties.jsonl --output diversity.html",
        "score -m bleu_rouge -i empties.jsonl -r people.jsonl -o scores --processes 1",
        "decoding empties.jsonl system.jsonl -r people.jsonl --distance cider --n-resamples 9 -o decoded",
    ],
)
def test_every_command_counts_empty_captions(line, tmp_path, monkeypatch, capsys):
    # Twice the rows: `decoding` needs 20.
    ids, empties = [*IDS, *map("b{}".format, IDS)], [["", " ", *row[2:]] for row in SYSTEM[:3]] + SYSTEM[3:]
    for name, rows in (("empties", [*empties, *SYSTEM]), ("system", 2 * SYSTEM), ("people", 2 * PEOPLE)):
        write_lines(tmp_path / f"{name}.jsonl", rows, ids)
    monkeypatch.chdir(tmp_path)
    assert main(line.split()) == 0, capsys.readouterr().err
    n_captions = 2 * N_CAPTIONS * len(SYSTEM) * (2 if line.startswith("score") else 1)
    assert capsys.readouterr().err.count(f": 6 of {n_captions} captions are empty, in 3 rows.") == 1


def test_empty_captions_are_counted_by_files_and_modules(tmp_path):
    message = f"6 of {N_CAPTIONS * len(SYSTEM)} captions are empty, in 3 rows."
    path = faults(tmp_path)["empties"]
    with pytest.warns(UserWarning, match=f"^{path}: {message}$"):
        predictions = [row.predictions for row in read([path])]
    with pytest.warns(UserWarning, match=f"^predictions: {message}$"):
        load("bleu_rouge").compute(predictions=predictions, references=PEOPLE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load("bleu_rouge").compute(predictions=SYSTEM, references=PEOPLE)
