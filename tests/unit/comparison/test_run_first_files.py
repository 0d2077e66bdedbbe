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


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder, with files of every layout and fault, and of systems that repeat themselves or are wrong."""
    monkeypatch.chdir(tmp_path)
    people_and_system(tmp_path)
    layouts(tmp_path)
    faults(tmp_path)
    write_lines(tmp_path / "repeating.jsonl", [[row[0]] * 5 for row in SYSTEM])
    write_lines(tmp_path / "mixed.jsonl", [[*SYSTEM[i][:1], *SYSTEM[i - 1][1:]] for i in range(len(SYSTEM))])
    for name, rows in (("people", PEOPLE), ("system", SYSTEM), ("repeating", [SYSTEM[0]] * len(SYSTEM))):
        write_lines(tmp_path / f"{name}_twice.jsonl", rows * 2, [f"{i}.wav" for i in range(2 * len(rows))])
    return tmp_path


def run(line):
    """Compare files with those of people.jsonl, if the line names no others, by METEOR."""
    people = "" if "-r " in line else " -r people.jsonl"
    return main(["compare", *f"{line}{people} -o report --distance meteor --overwrite".split()])


def page_of(folder):
    return (folder / "report" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("system.jsonl empties.jsonl", "empties.jsonl: 6 of 70 captions are empty, in 3 rows."),
        ("system.jsonl short.jsonl --common-rows", "4 of 14 rows are left out: not every file has them."),
        (
            "system.jsonl shifted.jsonl -r one_reference.jsonl -m trm_cider",
            "Human parity is not tested: that takes two references or more in every row, and 14 of 14 have "
            "one. Systems are compared with each other, by TRM-CIDEr, CIDEr-D.",
        ),
        (
            "system.jsonl leak.jsonl",
            "leak and system are not compared: captions of leak also occur among the references.",
        ),
    ],
)
def test_what_is_said_of_files_is_said_once_on_screen_and_page(folder, capsys, line, sentence):
    assert run(line) == 0
    said = capsys.readouterr()
    # Lines break where the path of the folder makes them too long.
    assert " ".join((said.out + said.err).split()).count(sentence) == 1
    assert page_of(folder).count(sentence) == 1
    if "short" in line:
        numbers = json.loads((folder / "report" / "comparison.json").read_text(encoding="utf-8"))
        assert (numbers["ids"], numbers["notes"]) == (IDS[:10], [sentence])
    if "leak" in line:
        assert re.search(r"leak: .*100 % also among the references\.", " ".join(said.out.split()))
        assert "of its captions also occur among the references of their row (people 0 %)" in page_of(folder)


@pytest.mark.parametrize("option", ["", "--common-rows"])
def test_rows_that_differ_are_an_error_that_names_the_option(option, folder, capsys):
    write_table(folder / "others.csv", ["id", "caption", "reference"], [["x", "a dog", "a cat"]])
    write_table(folder / "mine.csv", ["id", "caption", "reference"], [[IDS[0], "a dog", PEOPLE[0][0]]])
    assert main(["compare", "mine.csv", "others.csv", "-o", "report", *option.split()]) != 0
    message = "--common-rows: expected ids that all files have, got none. Check the ids of the files."
    assert (message if option else "or compare those that all have: --common-rows.") in capsys.readouterr().err


def test_columns_may_be_named_for_one_file(folder):
    mine = in_cells(folder / "mine.csv", json.dumps)
    (folder / "odd.csv").write_text((folder / "mine.csv").read_text().replace("id,captions", "clip,answers"))
    assert run(f"{mine} odd.csv --columns odd.csv:id=clip,odd.csv:predictions=answers") == 0
    assert run(f"{mine} system.jsonl --columns nowhere.csv:id=clip") == 2


def test_wrong_captions_are_never_painted_as_nearer_to_people():
    """Four wrong captions of five have an excess nearer to 0 than five: that is no merit."""
    options = CompareOptions(
        ["shifted.jsonl", "mixed.jsonl"], references=["people.jsonl"], metrics=["trm_cider"], distance="meteor"
    )
    compared = compare(options)
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


def test_what_cannot_be_tested_has_no_p_value_of_1():
    """Sets of one candidate and one reference have no test; beside a small p of the answer, 1 would contradict it."""
    options = CompareOptions(["system.jsonl", "shifted.jsonl"], references=["people.jsonl"], metrics=["trm_cider"])
    compared = compare(options)
    untested = [AgainstPeople(*each[:-2], 1.0, 1.0) for each in compared.people]
    compared = compared._replace(people=untested)
    assert [row[-2].text for row in people_table(compared).rows] == ["not testable"] * 2
    assert [row[2].text for row in system_table(compared).rows] == ["not testable"] * 2


def test_one_system_is_compared_with_people(folder, capsys):
    assert run("shifted.jsonl --full -m trm_cider,bleu_rouge") == 0
    printed, page = capsys.readouterr().out, page_of(folder)
    assert re.search(r"\n- shifted: p < 0\.001\. \d+ % unlike people's", printed)
    for text in ("shifted (a)", "best one", "baseline", "Two systems differ", "difference to", "pairs-beside"):
        assert text not in printed + page, text
    assert "shifted on 14 rows." in page
    assert '"first"' not in (folder / "report" / "comparison.json").read_text(encoding="utf-8")


def test_screen_page_and_map_show_the_same_numbers_and_the_captions_behind_them(folder, capsys):
    assert run("system.jsonl repeating.jsonl shifted.jsonl --full") == 0
    printed, page = capsys.readouterr().out, page_of(folder)
    # The answer has the table once, also with --full.
    [table] = re.findall(r"(?m)^(?:system .*near-duplicates)\n(?:.+\n)+", printed)
    described = page.partition('data-plot="map"')[0].rpartition("aria-label=")[2]
    for line in table.splitlines()[1:4]:
        name, faults, *_, duplicates = re.split(r"  +", line)
        shares = [text.partition(" [")[0].rstrip("*") for text in (duplicates, faults)]
        for text, share in ((duplicates, shares[0]), (faults, shares[1])):
            assert re.search(rf">{share}</span> \[{text.partition('[')[2][:-1]}\]<", page), line
        assert f"{name}: near-duplicates {shares[0]}, faults {shares[1]}" in described
    screen = printed.partition("\n\nMeans over rows")[0]
    assert max(map(len, screen.splitlines())) <= 100
    of_systems = dict(re.findall(r"(?m)^- (\w+): .*\n((?:  .*\n)+)", screen))
    wrong = re.findall(r'  (\S+): "(.*?)…?"; people: "(.*?)…?"\n', of_systems["shifted"])
    assert len(wrong) == 3
    for name, caption, reference in wrong:
        row = IDS.index(name)
        assert any(each.startswith(caption) for each in SYSTEM[(row + 1) % len(SYSTEM)])
        assert PEOPLE[row][0].startswith(reference)
    assert re.search(r'  \d+\.wav: ".*" twice\n', of_systems["repeating"])
    for i in range(3):
        for kind in ("unlike", "alike"):
            rows = page.partition(f'<table id="table-{kind}-of-{i}">')[2].partition("</table>")[0]
            # A caption that is said again counts once: of 100 places, 14 captions and ten pairs are left.
            assert rows.count("<tr>") - 1 == {("unlike", 1): 14, ("alike", 1): 10}.get((kind, i), 20)
            assert page.count(f'href="#{kind}-of-{i}"') == page.count(f'id="{kind}-of-{i}"') == 1
    # Without --full it fits a terminal.
    assert run("system.jsonl repeating.jsonl shifted.jsonl") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 26
    assert max(map(len, lines)) <= 100
    assert (lines[1].split()[0], lines[4].split()[0]) == ("system", "people")
    assert sum('; people: "' in line or '" twice' in line for line in lines) >= 3


def test_captions_on_the_page_have_their_images(folder):
    ids = [f"{i}.png" for i in range(len(SYSTEM))]
    (folder / "images").mkdir()
    for i, name in enumerate(ids):
        Image.new("RGB", (8, 8), (10 * i, 0, 0)).save(folder / "images" / name)
    rows = {"people": PEOPLE, "system": SYSTEM, "shifted": [*SYSTEM[1:], SYSTEM[0]]}
    people, *systems = [write_lines(folder / f"{name}.jsonl", rows[name], ids) for name in rows]
    options = CompareOptions(systems, references=[people], images="images", metrics=["trm_cider"], distance="meteor")
    table = comparison_page(compare(options)).partition('<table id="table-unlike-of-1">')[2].partition("</table>")[0]
    shown = re.findall(r'<th scope="row">(\S+)<br><img src="(data:image/[^"]+)"', table)
    assert len(shown) == 20
    assert len(set(shown)) == len(dict(shown)) == len(set(dict(shown).values())), "a picture of its own for each row"


def test_rows_that_are_equal_are_said_behind_the_answer(capsys):
    assert run("system_twice.jsonl repeating_twice.jsonl -r people_twice.jsonl") == 0
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


def test_compare_names_an_encoder_for_captions_that_are_not_english(folder, capsys):
    captions = [caption for caption, _ in segments("de", 60)]
    rows = [captions[i : i + 2] for i in range(0, 60, 2)]
    files = {"people": rows[:10], "a": rows[10:20], "b": rows[20:30]}
    people, *systems = [write_lines(folder / f"{name}.jsonl", files[name], IDS[:10]) for name in files]
    assert main(["compare", *systems, "-r", people, "-o", "report", "-m", "trm_cider"]) == 0
    assert " ".join(capsys.readouterr().out.split()).count(NOT_ENGLISH) == 1


def test_each_warning_is_one_line_and_said_once(monkeypatch, capsys):
    def warn(_):
        for number in (1, 1, 2):
            warnings.warn(f"warning {number}", stacklevel=1)
            logging.getLogger("manycaps.kit").warning("model %d", number)

    monkeypatch.setattr(list_command, "run", warn)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # those of pytest
    assert main(["list"]) == 0
    expected = ["manycaps list: warning 1", "model 1", "manycaps list: warning 2", "model 2"]
    assert capsys.readouterr().err.splitlines() == expected
