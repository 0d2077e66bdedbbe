"""Tables of scores of other programs: every layout gives the same scores, and what is wrong is named."""

import json

import pytest

from manycaps.commands.command_line import main
from manycaps.comparison import CompareOptions
from manycaps.comparison.foreign_scores import compare_score_tables
from manycaps.comparison.foreign_scores.score_tables import read_score_tables

SCORES = {"base": {"1": [0.0, 1.0], "2": [0.5, 0.5]}, "mine": {"1": [1.0, 1.0], "2": [0.25, 0.75]}}


def lines(system, *, key="id", with_system=True):
    """A line for each sample."""
    return [
        {key: item, "score": value, "sample": i, "answer": "a text"} | ({"system": system} if with_system else {})
        for item, values in SCORES[system].items()
        for i, value in enumerate(values)
    ]


def write_lines(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def long_lines(folder):
    return [write_lines(folder / "scores.jsonl", [*lines("base"), *lines("mine")])]


def lists_of_samples(folder):
    rows = [
        {"model": system, "doc_id": int(item), "score": values}
        for system, items in SCORES.items()
        for item, values in items.items()
    ]
    return [write_lines(folder / "scores.jsonl", rows)]


def wide_csv(folder):
    rows = [f"{item},{i},{SCORES['base'][item][i]},{SCORES['mine'][item][i]}" for item in "12" for i in range(2)]
    (folder / "scores.csv").write_text("\n".join(["id,sample,base,mine", *rows]) + "\n")
    return [str(folder / "scores.csv")]


def a_file_for_each_system(folder):
    return [
        write_lines(folder / f"{system}.jsonl", lines(system, key="doc_id", with_system=False)) for system in SCORES
    ]


def files_with_systems(folder):
    return [write_lines(folder / f"{i}.jsonl", lines(system)) for i, system in enumerate(SCORES)]


LAYOUTS = [long_lines, lists_of_samples, wide_csv, a_file_for_each_system, files_with_systems]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_scores(tmp_path, layout):
    table = read_score_tables(layout(tmp_path))
    assert (table.names, table.systems, table.items) == (["score"], ["base", "mine"], ["1", "2"])
    found = table.samples("score")
    assert {system: {item: found[system, item] for item in "12"} for system in SCORES} == SCORES


def test_truth_values_and_texts_of_numbers_are_scores(tmp_path):
    (tmp_path / "scores.csv").write_text("id,model,correct\n1,a,True\n1,b,false\n2,a,1\n2,b,\n")
    table = read_score_tables([str(tmp_path / "scores.csv")])
    assert table.samples("correct") == {("a", "1"): [1.0], ("b", "1"): [0.0], ("a", "2"): [1.0]}


def test_items_of_objects_are_scores(tmp_path):
    for name, values in (("a", (1.0, 0.0)), ("b", (0.5, 0.5))):
        rows = [{"doc_id": i, "mme": {"score": value, "category": "x"}} for i, value in enumerate(values)]
        write_lines(tmp_path / f"{name}.jsonl", rows)
    table = read_score_tables([str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")], ["mme.score"])
    assert table.samples("mme.score")["b", "1"] == [0.5]
    assert read_score_tables([str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]).names == ["mme.score"]


BAD = {
    "no id": ("system,score\na,1\nb,2\n", "expected a column id, which says what each score is of"),
    "no numbers": ("system,id,score\na,1,good\nb,1,bad\n", "expected a column of numbers"),
    "one column": ("id,mine\n1,0.5\n", "expected a column system, or a column of numbers for each of several systems"),
    "no name": ("system,id,score\n,1,2\n", r"system\[0\]: expected a name, got"),
    "missing": (
        "id,a,b\n1,1,2\n2,1,\n",
        "--scores: expected score of every system for every item, got none of 'b' for '2' \\(1 such in all\\). "
        "Add them, or leave out items that a system lacks with --common-rows.",
    ),
    "nothing in common": ("system,id,score\na,1,1\nb,2,1\n", "No item has scores of all systems: check the ids."),
    "one system": ("system,id,score\na,1,1\n", "expected at least two systems, got 1"),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_cannot_be_compared_is_named(tmp_path, bad):
    content, message = BAD[bad]
    (tmp_path / "scores.csv").write_text(content)
    with pytest.raises(ValueError, match=message):
        compare_score_tables(CompareOptions(scores=[str(tmp_path / "scores.csv")]))


def test_a_cell_of_a_chosen_column_that_is_no_number_is_named(tmp_path):
    (tmp_path / "scores.csv").write_text("system,id,score\na,1,1\nb,1,bad\n")
    with pytest.raises(ValueError, match=r"score\[1\]: expected a finite number, got 'bad'"):
        read_score_tables([str(tmp_path / "scores.csv")], ["score"])


def test_items_that_a_system_lacks_are_left_out_where_that_is_asked_for(tmp_path):
    (tmp_path / "scores.csv").write_text("id,a,b\n1,1,2\n2,1,\n3,1,0\n")
    comparison = compare_score_tables(CompareOptions(scores=[str(tmp_path / "scores.csv")], common_rows=True))
    assert comparison.rankings[0].n_items == 2
    assert comparison.notes == ["score: left out 1 of 3 items, which some systems lack."]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--scores", "scores.csv", "-r", "people.jsonl"], "--references: expected none beside --scores"),
        (["mine.jsonl", "--scores", "scores.csv"], "systems: expected none beside --scores"),
        (["--scores", "scores.csv", "--figures", "plots"], "--figures: expected none beside --scores"),
        (["mine.jsonl", "--lower-is-better"], "--lower-is-better: expected tables of scores (--scores), got none"),
        ([], "systems: expected captions of a system, or --scores, got none"),
    ],
)
def test_options_of_captions_are_refused(tmp_path, monkeypatch, capsys, given, message):
    monkeypatch.chdir(tmp_path)
    wide_csv(tmp_path)
    assert main(["compare", *given]) != 0
    assert message in capsys.readouterr().err


def test_the_command_prints_tables_and_writes_every_number(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    wide_csv(tmp_path)
    assert main(["compare", "--scores", "scores.csv"]) == 0
    printed = capsys.readouterr().out
    assert "base - mine" in printed or "mine - base" in printed
    numbers = json.loads((tmp_path / "report" / "comparison.json").read_text())
    assert numbers["rankings"][0]["systems"][0] == {
        "name": "mine", "mean": 0.75, "ci_low": None, "ci_high": None, "n_samples": 4,
        "best_rank": 1, "worst_rank": 2, "groups": "a",
    } | {key: numbers["rankings"][0]["systems"][0][key] for key in ("ci_low", "ci_high")}  # fmt: skip
    page = (tmp_path / "report" / "index.html").read_text()
    assert page.count("<table") == 2
    assert "mine - base" in page
    assert "http" not in page
    assert main(["compare", "--scores", "scores.csv"]) == 2
    assert "--output: expected a folder without a report" in capsys.readouterr().err
    assert main(["compare", "--scores", "scores.csv", "--overwrite", "-f", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == numbers
