"""`manycaps compare` on the files of a new user: what is said of them, once, in the terminal and on the page."""

import json
import logging
import re
import warnings

import numpy as np
import pytest
from PIL import Image

from manycaps.command_line import main
from manycaps.commands import list as list_command
from manycaps.comparison import CompareOptions, compare
from manycaps.comparison.compared_systems import AgainstPeople
from manycaps.comparison.comparison_tables import people_table, system_table
from manycaps.comparison.parity_scores import NOT_ENGLISH, looks_english, note_of_language
from manycaps.comparison.systems import SystemRow
from manycaps.report.comparison_page import comparison_page
from tests.each_case import each_case
from tests.language_captions import PARTS, segments
from tests.user_files import IDS, PEOPLE, SYSTEM, faults, in_cells, layouts, people_and_system, write_lines, write_table


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
    # Lines break where the path of the folder makes them too long.
    assert " ".join((said.out + said.err).split()).count("captions are empty") == 1
    assert "empties.jsonl: 6 of 70 captions are empty, in 3 rows." in " ".join(said.out.split())
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


def test_wrong_captions_are_never_painted_as_nearer_to_people(tmp_path):
    """Four wrong captions of five have an excess nearer to 0 than five: that is no merit."""
    people, _ = people_and_system(tmp_path)
    shifted = faults(tmp_path)["shifted"]
    mixed = write_lines(tmp_path / "mixed.jsonl", [[*SYSTEM[i][:1], *SYSTEM[i - 1][1:]] for i in range(len(SYSTEM))])
    compared = compare(CompareOptions([shifted, mixed], references=[people], metrics=["trm_cider"], distance="meteor"))
    excess, score = compared.metrics
    is_unlike = excess.row_p_values["mixed"] <= 0.05
    assert sum(is_unlike & (abs(excess.values["mixed"]) < abs(excess.values["shifted"]))) >= 5
    gains = [[metric.row_gain("mixed", "shifted", i) for i in range(len(SYSTEM))] for metric in (excess, score)]
    assert gains[0] == (1 * (excess.row_p_values["shifted"] <= 0.05) - is_unlike).tolist()
    assert gains[1] == (1 * np.sign(score.values["mixed"] - score.values["shifted"])).tolist()
    cells = re.findall(r'<span class="((?:above|below|equal)[^"]*)">', comparison_page(compared))
    for of_metric, painted in zip(gains, (cells[::2], cells[1::2]), strict=True):
        assert sum("nearer" in kinds for kinds in painted) == of_metric.count(1)
        assert sum("farther" in kinds for kinds in painted) == of_metric.count(-1)


def test_screen_page_and_map_show_the_same_numbers(tmp_path, capsys):
    people, system = people_and_system(tmp_path)
    assert run(tmp_path, system, faults(tmp_path)["shifted"], "-r", people, "--full") == 0
    # The answer has the table once, also with --full.
    [screen] = re.findall(r"(?m)^(?:system .*near-duplicates)\n(?:.+\n)+", capsys.readouterr().out)
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    described = page.partition('data-plot="map"')[0].rpartition("aria-label=")[2]
    for line in screen.splitlines()[1:3]:
        name, _, _, unlike, _, duplicates = re.split(r"  +", line)
        assert all(f"<span>{text}</span>" in page for text in (unlike, duplicates)), line
        assert (
            f"{name}: near-duplicates {duplicates.partition(' [')[0]}, unlike people {unlike.partition(' [')[0]}"
            in described
        )


def test_what_cannot_be_tested_has_no_p_value_of_1(tmp_path):
    """Sets of one candidate and one reference have no test; beside a small p of the answer, 1 would contradict it."""
    people, system = people_and_system(tmp_path)
    options = CompareOptions([system, faults(tmp_path)["shifted"]], references=[people], metrics=["trm_cider"])
    compared = compare(options)
    untested = [AgainstPeople(*each[:-2], 1.0, 1.0) for each in compared.people]
    compared = compared._replace(people=untested)
    assert [row[-2].text for row in people_table(compared).rows] == ["not testable"] * 2
    assert [row[2].text for row in system_table(compared).rows] == ["not testable"] * 2


def test_the_captions_behind_each_verdict_are_shown(tmp_path, capsys):
    people, system = people_and_system(tmp_path)
    repeating = write_lines(tmp_path / "repeating.jsonl", [[row[0]] * 5 for row in SYSTEM])
    assert run(tmp_path, system, repeating, faults(tmp_path)["shifted"], "-r", people, "--full") == 0
    screen = capsys.readouterr().out.partition("\n\nMeans over rows")[0]
    assert max(map(len, screen.splitlines())) <= 100
    of_systems = dict(re.findall(r"(?m)^(\w+): (?:p|Cannot).*\n((?:  .*\n)+)", screen))
    wrong = re.findall(r'  (\S+): "(.*?)…?"; people: "(.*?)…?"\n', of_systems["shifted"])
    assert len(wrong) == 3
    for name, caption, reference in wrong:
        row = IDS.index(name)
        assert any(each.startswith(caption) for each in SYSTEM[(row + 1) % len(SYSTEM)])
        assert PEOPLE[row][0].startswith(reference)
    assert re.search(r'  \d+\.wav: ".*" twice\n', of_systems["repeating"])
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    for i in range(3):
        for kind in ("unlike", "alike"):
            table = page.partition(f'<table id="table-{kind}-of-{i}">')[2].partition("</table>")[0]
            # A caption that is said again counts once: of 100 places, 14 captions and ten pairs are left.
            assert table.count("<tr>") - 1 == {("unlike", 1): 14, ("alike", 1): 10}.get((kind, i), 20)
            assert page.count(f'href="#{kind}-of-{i}"') == page.count(f'id="{kind}-of-{i}"') == 1


def test_captions_on_the_page_have_their_images(tmp_path):
    ids = [f"{i}.png" for i in range(len(SYSTEM))]
    (tmp_path / "images").mkdir()
    for i, name in enumerate(ids):
        Image.new("RGB", (8, 8), (10 * i, 0, 0)).save(tmp_path / "images" / name)
    shifted = [*SYSTEM[1:], SYSTEM[0]]
    rows = {"people": PEOPLE, "system": SYSTEM, "shifted": shifted}
    people, *systems = [write_lines(tmp_path / f"{name}.jsonl", rows[name], ids) for name in rows]
    images = str(tmp_path / "images")
    options = CompareOptions(systems, references=[people], images=images, metrics=["trm_cider"], distance="meteor")
    table = comparison_page(compare(options)).partition('<table id="table-unlike-of-1">')[2].partition("</table>")[0]
    shown = re.findall(r'<th scope="row">(\S+)<br><img src="(data:image/[^"]+)"', table)
    assert len(shown) == 20
    assert len(set(shown)) == len(dict(shown)) == len(set(dict(shown).values())), "a picture of its own for each row"


def test_the_answer_with_captions_fits_a_terminal(tmp_path, capsys):
    people, system = people_and_system(tmp_path)
    repeating = write_lines(tmp_path / "repeating.jsonl", [[row[0]] * 5 for row in SYSTEM])
    files = faults(tmp_path)
    assert run(tmp_path, system, repeating, files["shifted"], "-r", people) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24
    assert sum('; people: "' in line or '" twice' in line for line in lines) >= 3


def test_one_reference_per_row_is_said_with_what_is_still_compared(tmp_path, capsys):
    _, system = people_and_system(tmp_path)
    files = faults(tmp_path)
    assert run(tmp_path, system, files["shifted"], "-r", files["one_reference"], "-m", "trm_cider") == 0
    sentence = (
        "Systems are not compared with people: that takes two references or more in every row, and 14 of 14 have one. "
        "They are compared with each other, by TRM-CIDEr, CIDEr-D."
    )
    assert capsys.readouterr().out.startswith(sentence)
    assert sentence in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")


def test_a_leak_is_said_and_not_ranked(tmp_path, capsys):
    people, system = people_and_system(tmp_path)
    assert run(tmp_path, system, faults(tmp_path)["leak"], "-r", people) == 0
    screen = " ".join(capsys.readouterr().out.split())
    of_row = "also occur among the references of their row"
    assert re.search(rf"leak: p .*100 % \[\d+, 100\] of its captions {of_row} \(people 0 %\)", screen)
    assert "leak and system are not ranked: captions of leak also occur among the references." in screen


def test_rows_that_are_equal_are_said_behind_the_answer(tmp_path, capsys):
    ids = [f"{i}.wav" for i in range(28)]
    twice = [write_lines(tmp_path / f"{name}.jsonl", rows * 2, ids) for name, rows in (("r", PEOPLE), ("a", SYSTEM))]
    same = write_lines(tmp_path / "b.jsonl", [SYSTEM[0]] * 28, ids)
    assert run(tmp_path, twice[1], same, "-r", twice[0]) == 0
    lines = capsys.readouterr().out.splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("14 of 28 rows have the captions of an earlier"))
    assert place > max(i for i, line in enumerate(lines) if line.startswith("- "))


@each_case("language", [*PARTS])
def test_captions_that_are_not_english_are_noticed(language):
    assert not looks_english(caption for caption, _ in segments(language, 50))


def test_english_captions_are_english():
    assert looks_english(caption for row in PEOPLE for caption in row)
    assert looks_english(["dog barking", "wind blowing hard"])
    rows = [SystemRow("1", {}, ["ein Hund am Strand", "der Hund ist nass"])]
    assert note_of_language(rows, "bert", None) == NOT_ENGLISH
    assert [note_of_language(rows, *given) for given in (("meteor", None), ("bert", "mine"))] == ["", ""]


def test_compare_names_an_encoder_for_captions_that_are_not_english(tmp_path, capsys):
    captions = [caption for caption, _ in segments("de", 60)]
    rows = [captions[i : i + 2] for i in range(0, 60, 2)]
    files = {"people": rows[:10], "a": rows[10:20], "b": rows[20:30]}
    people, *systems = [write_lines(tmp_path / f"{name}.jsonl", files[name], IDS[:10]) for name in files]
    assert main(["compare", *systems, "-r", people, "-o", str(tmp_path / "report"), "-m", "trm_cider"]) == 0
    assert " ".join(capsys.readouterr().out.split()).count(NOT_ENGLISH) == 1


def test_each_warning_is_one_line_and_said_once(monkeypatch, capsys):
    def warn(_):
        for number in (1, 1, 2):
            warnings.warn(f"warning {number}", stacklevel=1)
            logging.getLogger("manycaps.kit").warning("model %d", number)

    monkeypatch.setattr(list_command, "run", warn)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # those of pytest
    assert main(["list"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "manycaps list: warning 1",
        "model 1",
        "manycaps list: warning 2",
        "model 2",
    ]


def test_progress_is_shown_while_files_are_read(tmp_path, capsys):
    people, system = people_and_system(tmp_path)
    assert run(tmp_path, system, faults(tmp_path)["shifted"], "-r", people) == 0
    assert capsys.readouterr().err.lstrip("\r").startswith("rows of system: 0row")
