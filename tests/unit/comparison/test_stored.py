"""A comparison that is read again from its folder: the same words and tables, and what cannot be changed."""

import dataclasses
import json
import math

import pytest

from manycaps.commands import command_line
from manycaps.comparison.render import SystemComparison
from manycaps.comparison.significance import Comparison
from manycaps.comparison.stored import NUMBERS, SHOWN, as_files, read_report
from tests.comparison_cases import comparison

FORMS = ("text", "md", "latex", "json")


def write_report(folder, result, **options):
    folder.mkdir(exist_ok=True)
    for name, text in as_files(result, **{"are_asked_for": False, **options}).items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


CASES = {
    "metrics alone": lambda: comparison(n_rows=12),
    "clusters": lambda: comparison(n_rows=12, clusters=[str(i // 2) for i in range(12)]),
    "two systems": lambda: comparison(n_rows=5, names=("one", "other")),
    "one row": lambda: comparison(n_rows=1),
    "beside people": None,
}


@pytest.mark.parametrize("case", CASES)
def test_a_report_is_read_as_it_was_written(case, with_people, tmp_path):
    result = with_people if CASES[case] is None else CASES[case]()
    again, are_asked_for = read_report(str(write_report(tmp_path / "report", result, are_asked_for=True)))
    assert are_asked_for
    assert isinstance(again, Comparison)
    # NaN is not equal to itself: texts of all numbers are.
    assert repr(dataclasses.asdict(again)) == repr(dataclasses.asdict(result))
    first, second = SystemComparison.of(result), SystemComparison.of(again)
    assert [first.write(form, full=True) for form in FORMS] == [second.write(form, full=True) for form in FORMS]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_come_back(value, tmp_path):
    result = comparison(n_rows=4)
    key, metric = next(iter(result.metrics.items()))
    name = result.systems[0]
    changed = dataclasses.replace(
        metric, systems={**metric.systems, name: {"mean": value, "ci_low": 0.0, "ci_high": 1.0}}
    )
    result = dataclasses.replace(result, metrics={**result.metrics, key: changed})
    folder = write_report(tmp_path / "report", result)
    assert json.loads((folder / NUMBERS).read_text())["metrics"][key]["systems"][name]["mean"] is None
    again, _ = read_report(str(folder))
    assert repr(again.metrics[key].systems[name]["mean"]) == repr(value)


def test_captions_of_any_letters_come_back(tmp_path):
    result = comparison(n_rows=3)
    odd = [row._replace(references=["caf\u00e9 \ud800 \u2028 \x00", '"']) for row in result.shown.rows]
    result = dataclasses.replace(result, shown=dataclasses.replace(result.shown, rows=odd))
    again, _ = read_report(str(write_report(tmp_path / "report", result)))
    assert [row.references for row in again.shown.rows] == [row.references for row in odd]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / SHOWN).unlink(), "expected a report with shown.json, got one without"),
        (lambda folder: (folder / NUMBERS).write_text("{}"), "expected comparison.json as it was written"),
        (lambda folder: (folder / SHOWN).write_text('{"version": "0.0"}'), "expected a report of manycaps"),
        (lambda folder: (folder / SHOWN).write_text("[]"), "expected a report of manycaps"),
        (lambda folder: (folder / SHOWN).write_text("{"), "shown.json"),
    ],
    ids=["missing", "other numbers", "other version", "a list", "no JSON"],
)
def test_a_folder_that_is_no_whole_report_is_refused_in_one_line(spoil, message, tmp_path, capsys):
    folder = write_report(tmp_path / "report", comparison(n_rows=3))
    spoil(folder)
    assert command_line.main(["compare", str(folder)]) in (1, 2)
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("-m meteor15", "--metrics: expected none beside a report, whose numbers are fixed, got ['meteor15']."),
        ("-r people.jsonl", "--references: expected none beside a report"),
        ("--margin 0.1", "--margin: expected none beside a report"),
        ("--n-resamples 99", "--n-resamples: expected none beside a report"),
        ("-o elsewhere", "--output: expected none beside a report"),
        ("--cache", "--cache: expected none beside a report"),
        ("--table foo", "--table: expected some of faults, group,"),
        ("--table cider", "--table: expected some of faults, group,"),
        ("--table CIDEr-D", "--table: expected some of TRM-METEOR excess, p people, METEOR, got 'CIDEr-D'."),
        ("--table METEOR,meteor", "--table: expected different columns, got 'meteor' twice."),
        ("--table a,b,c,d,e,f,g,h,i", "--table: expected 1 to 8 columns, got 9."),
        ("--table METEOR -f json", "--table: expected -f latex, md or text, got -f json"),
    ],
)
def test_what_a_report_cannot_change_is_refused(more, message, tmp_path, capsys):
    folder = write_report(tmp_path / "report", comparison(n_rows=6))
    assert command_line.main(["compare", str(folder), *more.split()]) == 2
    error = capsys.readouterr().err
    assert error.startswith(message)
    assert error.count("\n") == 1


def test_a_report_is_printed_in_another_order_and_with_chosen_columns(with_people, tmp_path, capsys):
    folder = write_report(tmp_path / "report", with_people)
    written = {path.name: path.read_bytes() for path in folder.iterdir()}
    names = {}
    for order in ("faults", "likeness"):
        line = ["compare", str(folder), "--sort", order, "-f", "md", "--table", "rows_to-detect"]
        assert command_line.main(line) == 0
        table = [each for each in capsys.readouterr().out.splitlines() if each.startswith("|")]
        assert table[0] == "| system | rows to detect |"
        names[order] = [line.split("|")[1].strip() for line in table[2:]]
    assert sorted(names["faults"]) == sorted(names["likeness"])
    assert names["faults"] != names["likeness"]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == written
