"""`manycaps compare` on the files of a new user: what is said of them, once, in the terminal and on the page."""

import json

import pytest

from manycaps.command_line import main
from tests.user_files import IDS, PEOPLE, faults, in_cells, layouts, people_and_system, write_table


def run(folder, *arguments):
    return main(["compare", *map(str, arguments), "-o", str(folder / "report"), "--distance", "meteor"])


def test_tables_of_every_layout_are_compared_as_one(tmp_path, capsys):
    people, system = people_and_system(tmp_path)
    files = layouts(tmp_path)
    assert run(tmp_path, system, files["wide"], files["numpy"], files["json"], "-r", people) == 0
    said = capsys.readouterr()
    values = {line.split("  ", 1)[1].strip() for line in said.out.splitlines()[1:5]}
    assert len(values) == 1, said.out
    assert (said.out + said.err).count("cells hold lists of captions, and each item is read as a caption.") == 1


def test_empty_captions_are_said_once_on_screen_and_page(tmp_path, capsys):
    people, system = people_and_system(tmp_path)
    assert run(tmp_path, system, faults(tmp_path)["empties"], "-r", people) == 0
    said = capsys.readouterr()
    assert (said.out + said.err).count("captions are empty") == 1
    assert "empties.jsonl: 6 of 70 captions are empty, in 3 rows." in said.out.replace("\n  ", " ")
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert page.count("empties.jsonl: 6 of 70 captions are empty, in 3 rows.") == 1


def test_common_rows_are_those_that_all_files_have(tmp_path, capsys):
    people, system = people_and_system(tmp_path)
    short = faults(tmp_path)["short"]
    assert run(tmp_path, system, short, "-r", people, "--common-rows") == 0
    assert "4 of 14 rows are left out: not every file has them." in capsys.readouterr().out
    numbers = json.loads((tmp_path / "report" / "comparison.json").read_text(encoding="utf-8"))
    assert numbers["ids"] == IDS[:10]
    assert numbers["notes"] == ["4 of 14 rows are left out: not every file has them."]


@pytest.mark.parametrize("option", [[], ["--common-rows"]])
def test_rows_that_differ_are_an_error_that_names_the_option(option, tmp_path, capsys):
    others = write_table(tmp_path / "others.csv", ["id", "caption", "reference"], [["x", "a dog", "a cat"]])
    with_people = write_table(tmp_path / "mine.csv", ["id", "caption", "reference"], [[IDS[0], "a dog", PEOPLE[0][0]]])
    assert run(tmp_path, with_people, others, *option) != 0
    message = "--common-rows: expected ids that all files have, got none. Check the ids of the files."
    assert (message if option else "or compare those that all have: --common-rows.") in capsys.readouterr().err


def test_columns_may_be_named_for_one_file(tmp_path):
    people, system = people_and_system(tmp_path)
    mine = in_cells(tmp_path / "mine.csv", json.dumps)
    odd = tmp_path / "odd.csv"
    odd.write_text((tmp_path / "mine.csv").read_text().replace("id,captions", "clip,answers"))
    assert run(tmp_path, mine, odd, "-r", people, "--columns", f"{odd}:id=clip,{odd}:predictions=answers") == 0
    assert run(tmp_path, mine, system, "-r", people, "--columns", "nowhere.csv:id=clip") == 2
