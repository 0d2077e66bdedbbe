"""Plain text whose lines belong together by their numbers, as shared tasks of generation release it: --aligned."""

import json

import pytest

from manycaps.commands.command_line import main
from manycaps.comparison import CompareOptions, compare
from manycaps.files.caption_tables import open_source
from tests.refusals import assert_refused
from tests.user_files import PEOPLE, SYSTEM, people_and_system, write_lines

ONE_CAPTION = [row[0] for row in SYSTEM]


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def write_references(folder, form):
    """References as WebNLG has them, a file for each, and as E2E, with an empty line behind those of a row."""
    if form == "files":
        columns = zip(*PEOPLE, strict=True)
        return [write(folder / f"reference{k}.txt", column) for k, column in enumerate(columns)]
    return [write(folder / "devel-conc.txt", [line for row in PEOPLE for line in (*row, "")])]


@pytest.mark.parametrize("form", ["files", "runs"])
def test_aligned_files_are_compared_as_rows_with_ids(form, tmp_path, undrawn_plots):
    options = {"metrics": ["bleu_rouge"], "distance": "cider", "n_resamples": 99}
    references = write_references(tmp_path, form)
    system = write(tmp_path / "system.txt", ONE_CAPTION)
    found = compare(CompareOptions([system], references=references, aligned=True, **options)).to_dict()
    people, _ = people_and_system(tmp_path)
    own = write_lines(tmp_path / "system.jsonl", [[text] for text in ONE_CAPTION])
    expected = compare(CompareOptions([own], references=[people], **options)).to_dict()
    assert found["ids"] == [str(i) for i in range(len(PEOPLE))]
    assert found["human_parity"] == expected["human_parity"]


def test_aligned_files_are_scored_and_read_again(tmp_path, capsys, undrawn_plots):
    references = write_references(tmp_path, "files")
    for name, texts in (("a", ONE_CAPTION), ("b", ONE_CAPTION[::-1])):
        path = write(tmp_path / f"{name}.txt", texts)
        line = ["score", "-m", "bleu_rouge", "-i", path, "-r", *references, "--aligned", "-o", str(tmp_path / name)]
        assert main([*line, "--processes", "1"]) == 0
        assert json.loads(capsys.readouterr().out)["n_rows"] == len(PEOPLE)
    folders = [str(tmp_path / name) for name in "ab"]
    assert main(["compare", *folders, "--with-captions", "-o", str(tmp_path / "report")]) == 0


def test_an_empty_line_is_an_empty_caption_of_its_row(tmp_path):
    system = write(tmp_path / "a.txt", ["a dog", "", "a man", ""])
    references = write(tmp_path / "r.txt", ["dogs", "cats", "men", "hens"])
    with pytest.warns(UserWarning, match="2 of 4 captions are empty"):
        rows = list(open_source([system], [references], by_line=True).rows())
    assert [(row.id, row.predictions, row.references) for row in rows] == [
        ("0", ["a dog"], ["dogs"]),
        ("1", [""], ["cats"]),
        ("2", ["a man"], ["men"]),
        ("3", [""], ["hens"]),
    ]


@pytest.mark.parametrize(
    ("references", "message"),
    [
        (["dogs"], ".*r.txt: expected as many rows as .*a.txt, 2, got 1 lines. Give files whose lines belong together"),
        (["x", "y", "", "z", "", "u"], ".*r.txt: expected as many rows as .*a.txt, 2, got 3 runs of lines. "),
    ],
)
def test_files_of_another_length_are_refused(references, message, tmp_path):
    system, people = write(tmp_path / "a.txt", ["a dog", "a cat"]), write(tmp_path / "r.txt", references)
    assert_refused(ValueError, message, open_source, [system], [people], by_line=True)


def test_other_files_are_refused(tmp_path):
    people, system = people_and_system(tmp_path)
    message = f"--aligned: expected plain text (.txt), got {system}. Leave it out: ids match other files."
    assert_refused(ValueError, message, open_source, [system], [people], by_line=True)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["id\tcaption", "1\ta dog"], ["id\tcaption", "1\ta dog"]),
        (["mv89psg6zh4_33_46 a dog", "captions"], ["mv89psg6zh4_33_46 a dog", "captions"]),
    ],
    ids=["header", "clips"],
)
def test_lines_that_look_like_a_table_are_lines(lines, expected, tmp_path):
    rows = list(open_source([write(tmp_path / "a.txt", lines)], by_line=True).rows())
    assert [row.predictions for row in rows] == [[text] for text in expected]
