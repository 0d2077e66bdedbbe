"""Sheets of .xlsx files, as VLMEvalKit writes its answers."""

import json
import sys
import zipfile

import pytest

pytest.importorskip("openpyxl", reason="openpyxl is not installed: pip install 'manycaps[tables]'")
import openpyxl

from manycaps.commands.command_line import main
from manycaps.files.caption_tables import BadRow, good_rows, open_source, sheet_records
from manycaps.files.caption_tables.files import table_files
from tests.refusals import assert_refused
from tests.table_files import WRITERS
from tests.user_files import PEOPLE, SYSTEM

ROWS = [
    {"index": i, "question": "Describe the image.", "answer": str(PEOPLE[i]), "prediction": SYSTEM[i][0]}
    for i in range(len(SYSTEM))
]


def vlmevalkit(path, rows=ROWS):
    """Write what `vlmeval.smp.dump` writes for each ending."""
    WRITERS[path.suffix[1:]](path, rows)
    return str(path)


def write_sheets(path, **sheets):
    """Write rows of cells by the names of sheets."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return str(path)


def read(path):
    return [(row.id, row.predictions, row.references) for row in good_rows(open_source([path]).rows())]


@pytest.mark.filterwarnings("ignore:answer. cells hold lists")
@pytest.mark.parametrize("ending", ["xlsx", "tsv"])
def test_a_table_of_vlmevalkit(ending, tmp_path):
    """`answer` is a written list there."""
    path = vlmevalkit(tmp_path / f"model_COCO_VAL.{ending}")
    assert read(path) == [(str(i), [row[0]], PEOPLE[i]) for i, row in enumerate(SYSTEM)]


@pytest.mark.parametrize(
    ("line", "numbers"),
    [
        ("compare {} --distance cider -m bleu_rouge -f json --overwrite", ["metrics", "human_parity"]),
        ("score -m bleu_rouge -i {} -o scores --processes 1", ["metrics", "n_rows"]),
        ("diversity {} --column prediction -f json --output page.html", ["model"]),
    ],
)
def test_a_sheet_is_the_table_of_its_cells_in_commands(line, numbers, tmp_path, monkeypatch, capsys, undrawn_plots):
    monkeypatch.chdir(tmp_path)
    found = []
    for ending in ("xlsx", "tsv"):
        path = vlmevalkit(tmp_path / f"model.{ending}")
        assert main(line.replace("scores", ending).format(path).split()) == 0, capsys.readouterr().err
        printed = json.loads(capsys.readouterr().out)
        found.append({name: printed[name] for name in numbers})
    assert found[0] == found[1]


def test_cells_are_text_and_empty_ones_no_value(tmp_path):
    rows = [["id", "caption_1", "caption_2", None], [7, "a dog", None, "a note"], [None] * 3, ["b", 12, 2.5]]
    path = write_sheets(tmp_path / "a.xlsx", captions=rows, Sheet2=[])
    with pytest.warns(UserWarning, match="1 of 4 captions is empty"):
        assert read(path) == [("7", ["a dog"], None), ("b", ["12", "2.5"], None)]


def test_a_formula_that_fails_is_a_bad_row_of_its_own(tmp_path):
    rows = [["id", "caption"], ["a", "a dog"], ["b", "#NAME?"], ["c", "a cat"]]
    path = write_sheets(tmp_path / "a.xlsx", captions=rows)
    *good, bad = sorted(open_source([path]).rows(), key=lambda row: isinstance(row, BadRow))
    assert [row.id for row in good] == ["a", "c"]
    assert str(bad.reason) == (
        "caption[1]: expected a value, got the error #NAME? of a formula. Write a text into the cell."
    )


def test_sheets_that_are_refused(tmp_path, monkeypatch):
    two = write_sheets(tmp_path / "two.xlsx", captions=[["id", "caption"], [1, "a dog"]], notes=[["by me"]])
    message = f"{two}: expected one sheet with content, got 2: captions, notes. Save the sheet of the capt"
    assert_refused(ValueError, message, open_source, [two])
    twice = write_sheets(tmp_path / "twice.xlsx", a=[["caption", "caption"], ["a dog", "a cat"]])
    assert_refused(ValueError, f"{twice}: expected every column name once, got 'caption' 2 ", open_source, [twice])
    text = tmp_path / "text.xlsx"
    text.write_text("id,caption\n")
    message = f"{text}: expected an .xlsx file, got one that cannot be read (BadZipFile: "
    assert_refused(ValueError, message, open_source, [str(text)])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    message = f"{text}: expected the package openpyxl, got none. Run `pip install 'manycaps[tables]'`, or save it as"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert_refused(ImportError, message, table_files, [str(text)])


def change_part(path, name, change):
    """Write one part of an .xlsx file anew."""
    with zipfile.ZipFile(path) as book:
        parts = {part: book.read(part) for part in book.namelist()}
    parts[name] = change(parts[name])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for part, content in parts.items():
            book.writestr(part, content)


def test_a_sheet_is_read_within_limits_and_up_to_its_damage(tmp_path, monkeypatch):
    path = write_sheets(tmp_path / "a.xlsx", a=[["id", "caption"], [1, "a dog"], [2, "a cat"]])
    change_part(path, "xl/worksheets/sheet1.xml", lambda text: text.replace(b'<row r="3"', b'<row r="999999999"'))
    monkeypatch.setattr(sheet_records, "MOST_ROWS", 100)
    bad, good = open_source([path]).rows()
    assert good.predictions == ["a dog"]
    assert str(bad.reason) == "row[1]: expected a sheet of at most 100 rows, got more. Save it as .csv."
    monkeypatch.setattr(sheet_records, "EXPANSION_BYTES", 100)
    change_part(path, "xl/worksheets/sheet1.xml", lambda text: text + b" " * 10_000_000)
    message = f"{path}: expected an .xlsx file that expands to at most 200 times its size, got one of 10,0"
    assert_refused(ValueError, message, open_source, [path])
