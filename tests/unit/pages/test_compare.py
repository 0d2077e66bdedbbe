"""The page of the comparison without a browser: number of systems, nothing opened that a file names, every message."""

import json
import pathlib
import re

import pytest

pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
import PIL.Image

from manycaps.pages import compare as page
from tests.comparison_cases import caption_rows, write_captions
from tests.large_packages import gradio as gr

pytestmark = pytest.mark.usefixtures("undrawn_plots")

METRIC = "CIDEr-D and TRM-CIDEr"


@pytest.fixture(scope="module")
def compute():
    """What the page does when its button is pressed."""
    built = page.COMPARE.build(str(pathlib.Path(__file__).resolve().parents[3] / "spaces" / "compare" / "app.py"))
    (event,) = (event for event in built.fns.values() if event.api_name == "compute")
    return event.fn


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_captions(tmp_path_factory.mktemp("captions"), caption_rows())


def report_of(results):
    """The answer and the tables above the report, and the report."""
    answer, *_, tables, file = results
    return f"{answer}\n\n{tables}", pathlib.Path(file.value["path"]).read_text(encoding="utf-8")


def test_compares_one_to_three_systems(compute, files):
    text, _ = report_of(compute(files["repeating"], None, None, files["references"], METRIC))
    assert "| repeating |" in text
    text, report = report_of(compute(files["base"], files["repeating"], None, files["references"], METRIC))
    assert "| base (a) |" in text
    assert re.search(r"^- .*base is closer to people in .*near-duplicates ", text, re.MULTILINE)
    assert "Rows in which repeating and base differ most" in report
    text, _ = report_of(compute(*(files[name] for name in ("base", "repeating", "other", "references")), METRIC))
    assert "| other (c) |" in text


def test_files_of_one_name_are_distinguished_and_names_are_no_html(compute, files, tmp_path):
    for name, shown in (("base", "| base 2 (b) |"), ("<img src=x>", "| &lt;img src=x> (b) |")):
        twin = tmp_path / f"{name}.jsonl"
        twin.write_bytes(pathlib.Path(files["repeating"]).read_bytes())
        text, report = report_of(compute(files["base"], str(twin), None, files["references"], METRIC))
        assert shown in text
        assert "<img" not in text + report


def test_nothing_that_a_file_names_is_opened(compute, tmp_path):
    """An image in a column would be shown on the report, if it were opened."""
    PIL.Image.new("RGB", (40, 40)).save(tmp_path / "secret.png")
    paths = []
    for name in ("a", "b"):
        image = str(tmp_path / "secret.png")
        rows = [
            {"id": i, "captions": [f"a dog {i}", "a cat"], "references": ["a dog", f"cat {i}"], "image": image}
            for i in range(3)
        ]
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    _, report = report_of(compute(*map(str, paths), None, None, METRIC))
    assert "<img" not in report


def test_reports_of_an_hour_ago_are_deleted(monkeypatch):
    report = page.new_folder()
    (report / "index.html").write_text("report", encoding="utf-8")
    now = report.stat().st_mtime
    monkeypatch.setattr(page.time, "time", lambda: now + page.UPLOAD_LIFE - 60)
    page.new_folder()
    assert report.exists()
    monkeypatch.setattr(page.time, "time", lambda: now + page.UPLOAD_LIFE + 60)
    page.new_folder()
    assert not report.exists()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("other.jsonl", None, "references: expected human captions for every row, got"),
        ("fewer.jsonl", None, "fewer.jsonl: expected the rows of base.jsonl, got none with the id "),
        ("notes.txt", "a dog\n", "systems: expected files of the kinds .jsonl, .json, .csv, .tsv, "),
        ("broken.jsonl", '{"id": 1, "captions": ["a dog"]\n', "broken.jsonl"),
    ],
)
def test_messages_name_files_as_the_user_does(name, text, message, compute, files, tmp_path):
    lines = pathlib.Path(files["other"]).read_text("utf-8").splitlines(True)
    (tmp_path / name).write_text(text or "".join(lines[: -1 if name == "fewer.jsonl" else None]), encoding="utf-8")
    with pytest.raises(gr.Error) as raised:
        compute(files["base"], str(tmp_path / name), None, None, METRIC)
    assert str(raised.value.message).startswith(message), raised.value.message
    assert str(tmp_path) not in raised.value.message
    assert str(pathlib.Path(files["base"]).parent) not in raised.value.message
