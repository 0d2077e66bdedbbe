"""`compare` as a notebook calls it: what it returns, shows and saves, and what it refuses."""

import doctest
import json

import pytest

import manycaps.comparison
from manycaps.comparison import CompareOptions, compare
from tests.comparison_cases import caption_rows, write_captions


def test_example_runs():
    assert doctest.testmod(manycaps.comparison).failed == 0


def test_what_a_notebook_gets(tmp_path):
    files = write_captions(tmp_path, caption_rows(6))
    options = CompareOptions(
        [files["base"], files["other"]],
        references=[files["references"]],
        metrics=["trm_cider"],
        names=["<one>", "two"],
        columns={"predictions": "captions"},
        n_resamples=99,
    )
    comparison = compare(options)
    numbers = comparison.to_dict()
    assert (numbers["systems"], numbers["n_rows"], list(numbers["metrics"])) == (
        ["<one>", "two"],
        6,
        ["trm_cider_excess", "cider_d"],
    )
    shown = comparison._repr_html_()
    assert shown.count("<table>") == shown.count("</table>") == 4
    assert "<td>two (b)</td>" in shown
    assert "&lt;one&gt; (a)" in shown
    assert "<one>" not in shown
    assert len(shown) < 10_000
    comparison.save(tmp_path / "new" / "report")
    assert json.loads((tmp_path / "new" / "report" / "comparison.json").read_text(encoding="utf-8")) == numbers
    assert (tmp_path / "new" / "report" / "index.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"references": "r.jsonl"}, 'references: expected a list of strings, got \'r.jsonl\'. Give ["a", "b"].'),
        ({"n_resamples": 0}, "--n-resamples: expected a whole number of at least 1, got 0."),
        ({"seed": 0.5}, "--seed: expected a whole number, got float."),
        ({"baseline": "c"}, "--baseline: expected one of a, b, got 'c'. Check the spelling."),
    ],
)
def test_options_are_checked_before_a_file_is_read(options, message):
    with pytest.raises((TypeError, ValueError)) as found:
        CompareOptions(["a.jsonl", "b.jsonl"], **options)
    assert str(found.value).startswith(message)


def test_roles_of_columns_are_checked(tmp_path):
    with pytest.raises(ValueError, match="columns: expected roles out of predictions, references, id, image"):
        compare(CompareOptions(["a.jsonl", "b.jsonl"], columns={"captions": "text"}))
